"""The methods of both clients: a request's arguments are its method's.

On a blocking client it returns the answer, on an asyncio client a coroutine of it. Type checkers see both.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from functools import wraps
from typing import Any, Generic, ParamSpec, Protocol, TypeVar, overload

from nuc_engine.messages import requests
from nuc_engine.messages.requests import Request

P = ParamSpec("P")
T = TypeVar("T")


class Blocking(Protocol):
    """A client whose methods return results. `blocking` tells it from the other for type checkers."""

    blocking: bool

    def do(self, request: Request[T], /) -> T:
        """Send a request and return its result."""
        ...


class Awaiting(Protocol):
    """A client whose methods are coroutines."""

    awaiting: bool

    async def do(self, request: Request[T], /) -> T:
        """Send a request and return its result."""
        ...


class Method(Generic[P, T]):
    """A request, or a function that makes one, as a method of a client."""

    def __init__(self, build: Callable[P, Request[T]]) -> None:
        self.build = build
        self.__doc__ = build.__doc__

    @overload
    def __get__(self, client: None, owner: type) -> Method[P, T]: ...
    @overload
    def __get__(self, client: Blocking, owner: type) -> Callable[P, T]: ...
    @overload
    def __get__(self, client: Awaiting, owner: type) -> Callable[P, Coroutine[Any, Any, T]]: ...
    def __get__(self, client: Blocking | Awaiting | None, owner: type) -> Any:
        """Return the method of one client."""
        if client is None:
            return self
        build, do = self.build, client.do

        @wraps(build)
        def method(*args: P.args, **kwargs: P.kwargs) -> Any:
            return do(build(*args, **kwargs))

        return method


class Methods:
    """What both clients can be asked; arguments and meaning stand in `nuc_engine.messages.requests`."""

    status = Method(requests.StatusRequest)
    tasks = Method(requests.TasksRequest)
    configurations = Method(requests.ConfigurationsRequest)
    configure = Method(requests.ConfigureRequest)
    documents = Method(requests.DocumentsRequest)
    model = Method(requests.ModelRequest)
    run = Method(requests.RunRequest)
    stop = Method(requests.StopRequest)
    arm = Method(requests.ArmRequest)
    off = Method(requests.OffRequest)
    log = Method(requests.LogRequest)
    stoplog = Method(requests.StoplogRequest)
    get = Method(requests.GetRequest)
    set = Method(requests.set_values)
    script = Method(requests.ScriptRequest)
    pending = Method(requests.PendingRequest)
    forget = Method(requests.ForgetRequest)
    undo = Method(requests.UndoRequest)
    redo = Method(requests.RedoRequest)
    joint_mode = Method(requests.JointModeRequest)
    tweak = Method(requests.TweakRequest)
    pose = Method(requests.PoseRequest)
    pose_named = Method(requests.pose_named)
    pose_save = Method(requests.PoseSaveRequest)
    park = Method(requests.ParkRequest)
    poses = Method(requests.PosesRequest)
    save = Method(requests.SaveRequest)
    record_start = Method(requests.RecordStartRequest)
    record_stop = Method(requests.RecordStopRequest)
    mark = Method(requests.MarkRequest)
    notes = Method(requests.NotesRequest)
    labels = Method(requests.LabelsRequest)
    events = Method(requests.EventsRequest)
    unsubscribe = Method(requests.UnsubscribeRequest)
    take_control = Method(requests.TakeControlRequest)
    hand_over = Method(requests.HandOverRequest)
    release_control = Method(requests.ReleaseControlRequest)
    shutdown = Method(requests.ShutdownRequest)
