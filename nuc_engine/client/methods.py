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


class ClientMethod(Generic[P, T]):
    """A request, or a function that makes one, as a method of a client."""

    def __init__(self, build: Callable[P, Request[T]]) -> None:
        self.build = build
        self.__doc__ = build.__doc__

    @overload
    def __get__(self, client: None, owner: type) -> ClientMethod[P, T]: ...
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

    status = ClientMethod(requests.StatusRequest)
    tasks = ClientMethod(requests.TasksRequest)
    configurations = ClientMethod(requests.ConfigurationsRequest)
    configure = ClientMethod(requests.ConfigureRequest)
    documents = ClientMethod(requests.DocumentsRequest)
    store_configuration = ClientMethod(requests.StoreConfigurationRequest)
    validate = ClientMethod(requests.ValidateRequest)
    model = ClientMethod(requests.ModelRequest)
    run = ClientMethod(requests.RunRequest)
    stop = ClientMethod(requests.StopRequest)
    arm = ClientMethod(requests.ArmRequest)
    off = ClientMethod(requests.OffRequest)
    log = ClientMethod(requests.LogRequest)
    stoplog = ClientMethod(requests.StoplogRequest)
    get = ClientMethod(requests.GetRequest)
    set = ClientMethod(requests.set_values)
    script = ClientMethod(requests.ScriptRequest)
    scripts = ClientMethod(requests.ScriptsRequest)
    script_text = ClientMethod(requests.ScriptTextRequest)
    store_script = ClientMethod(requests.StoreScriptRequest)
    pending = ClientMethod(requests.PendingRequest)
    forget = ClientMethod(requests.ForgetRequest)
    undo = ClientMethod(requests.UndoRequest)
    redo = ClientMethod(requests.RedoRequest)
    history = ClientMethod(requests.HistoryRequest)
    keep_values = ClientMethod(requests.KeepValuesRequest)
    kept_values = ClientMethod(requests.KeptValuesRequest)
    recall_values = ClientMethod(requests.RecallValuesRequest)
    rules = ClientMethod(requests.RulesRequest)
    joint_mode = ClientMethod(requests.JointModeRequest)
    tweak = ClientMethod(requests.TweakRequest)
    sense = ClientMethod(requests.SenseRequest)
    pose = ClientMethod(requests.PoseRequest)
    pose_named = ClientMethod(requests.pose_named)
    pose_save = ClientMethod(requests.PoseSaveRequest)
    park = ClientMethod(requests.ParkRequest)
    poses = ClientMethod(requests.PosesRequest)
    save = ClientMethod(requests.SaveRequest)
    record_start = ClientMethod(requests.RecordStartRequest)
    record_stop = ClientMethod(requests.RecordStopRequest)
    mark = ClientMethod(requests.MarkRequest)
    notes = ClientMethod(requests.NotesRequest)
    labels = ClientMethod(requests.LabelsRequest)
    events = ClientMethod(requests.EventsRequest)
    bouts = ClientMethod(requests.BoutsRequest)
    bout_files = ClientMethod(requests.BoutFilesRequest)
    fetch = ClientMethod(requests.FetchRequest)
    unsubscribe = ClientMethod(requests.UnsubscribeRequest)
    take_control = ClientMethod(requests.TakeControlRequest)
    hand_over = ClientMethod(requests.HandOverRequest)
    release_control = ClientMethod(requests.ReleaseControlRequest)
    shutdown = ClientMethod(requests.ShutdownRequest)
