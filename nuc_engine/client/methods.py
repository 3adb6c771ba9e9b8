"""The methods of both clients, from one description.

Each entry of `Methods` turns a function of `calls` into a method with the same arguments: on a blocking client it
returns the result, on an asyncio client a coroutine of it. Type checkers see both.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from functools import wraps
from typing import Any, Generic, ParamSpec, Protocol, TypeVar, overload

from nuc_engine.messages import calls
from nuc_engine.messages.calls import Call

P = ParamSpec("P")
T = TypeVar("T")


class Blocking(Protocol):
    """A client whose methods return results. `blocking` tells it from the other for type checkers."""

    blocking: bool

    def do(self, call: Call[T], /) -> T:
        """Send a request and return its result."""
        ...


class Awaiting(Protocol):
    """A client whose methods are coroutines."""

    awaiting: bool

    async def do(self, call: Call[T], /) -> T:
        """Send a request and return its result."""
        ...


class Method(Generic[P, T]):
    """One function of `calls` as a method of a client."""

    def __init__(self, build: Callable[P, Call[T]]) -> None:
        self._build = build
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
        build, do = self._build, client.do

        @wraps(build)
        def method(*args: P.args, **kwargs: P.kwargs) -> Any:
            return do(build(*args, **kwargs))

        return method


class Methods:
    """What both clients can be asked; arguments and meaning stand in `nuc_engine.messages.calls`."""

    status = Method(calls.status)
    tasks = Method(calls.tasks)
    configurations = Method(calls.configurations)
    configure = Method(calls.configure)
    documents = Method(calls.documents)
    model = Method(calls.model)
    run = Method(calls.run)
    stop = Method(calls.stop)
    arm = Method(calls.arm)
    off = Method(calls.off)
    log = Method(calls.log)
    stoplog = Method(calls.stoplog)
    get = Method(calls.get)
    set = Method(calls.set_values)
    script = Method(calls.script)
    pending = Method(calls.pending)
    forget = Method(calls.forget)
    undo = Method(calls.undo)
    redo = Method(calls.redo)
    joint_mode = Method(calls.joint_mode)
    tweak = Method(calls.tweak)
    pose = Method(calls.pose)
    pose_named = Method(calls.pose_named)
    pose_save = Method(calls.pose_save)
    park = Method(calls.park)
    poses = Method(calls.poses)
    save = Method(calls.save)
    record_start = Method(calls.record_start)
    record_stop = Method(calls.record_stop)
    mark = Method(calls.mark)
    notes = Method(calls.notes)
    labels = Method(calls.labels)
    events = Method(calls.events)
    unsubscribe = Method(calls.unsubscribe)
    take_control = Method(calls.take_control)
    hand_over = Method(calls.hand_over)
    release_control = Method(calls.release_control)
    shutdown = Method(calls.shutdown)
