"""The client's side of the command channel without any socket: both clients drive the same steps.

Each piece of a conversation is a generator. It yields what it needs (`Send`, or to `Wait`) and is sent what happened;
its return value is the result. So there is one place that decides what is sent, when, and what an answer means, and a
request is sent by exactly one `Send`.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any, TypeVar, cast

import msgspec

from nuc_engine.messages.answers import Greeting, Sample
from nuc_engine.messages.errors import BadAnswer, NotAnswered, Refused, nobody
from nuc_engine.messages.limits import RoleName
from nuc_engine.messages.requests import HelloRequest, LeaveRequest, Request

T = TypeVar("T")

MAX_PAYLOAD = 4 << 20
"""Bytes the daemon reads in one message."""

_BEHIND_S = 0.1


class Link(Enum):
    """What happens to the connection."""

    UP = "up"
    DOWN = "down"
    KEYS = "keys"  # the daemon does not know these keys


@dataclass(frozen=True, slots=True)
class Send:
    """Hand one frame to the socket; it takes it, since a `Wait` for room came before."""

    payload: bytes


@dataclass(frozen=True, slots=True)
class Wait:
    """Wait until a message is there, or (`room`) until one can be sent; at most this long."""

    seconds: float
    room: bool = False


@dataclass(frozen=True, slots=True)
class WaitResult:
    """What a `Wait` ended with: changes of the connection in order, then room or a message; nothing: time is up."""

    link: tuple[Link, ...] = ()
    room: bool = False
    payload: bytes | None = None


IoAction = Send | Wait
IoSteps = Generator[IoAction, WaitResult | None, T]


class Conversation:
    """What one client has said so far: numbers of its requests, and whether it has said hello on this connection."""

    def __init__(
        self, address: str, name: str, role: RoleName | None, timeout_s: float, now_s: Callable[[], float]
    ) -> None:
        self.address = address
        self.greeting: Greeting | None = None
        self.remarks: list[str] = []
        self._hello = HelloRequest(name, role)
        self._timeout_s = timeout_s
        self._now_s = now_s
        self._number = 0
        self._greeted = False

    def ask(self, request: Request[T]) -> IoSteps[T]:
        """Ask one thing. Raises NotAnswered, Refused or BadAnswer."""
        yield from self._ready()
        return (yield from self._one(request))

    def greet(self, within_s: float) -> IoSteps[Greeting]:
        """Say hello, unless this connection has heard it."""
        yield from self._ready(within_s)
        if self.greeting is None:
            raise BadAnswer("hello: no answer was kept")
        return self.greeting

    def goodbye(self) -> bytes | None:
        """Return what says goodbye on this connection, None where nobody was greeted. Nothing waits for its answer."""
        if not self._greeted:
            return None
        self._greeted = False
        self._number += 1
        return _pack(self._number, LeaveRequest())

    def sccils(self, document: bytes, wait_s: float, seen: Callable[[str], object] | None) -> IoSteps[list[str]]:
        """Send a SCCILS document; collect the documents that come back until all of it is answered.

        `seen` gets each of them when it comes.
        """
        from nuc_engine.client.sccils import Dialogue  # the whole language: for those alone who speak it

        yield from self._ready()
        yield Send(document)
        dialogue = Dialogue(document)
        answers: list[str] = []

        def take(payload: bytes) -> bool:
            """Keep a payload that is a document; say whether it is one."""
            if not payload.lstrip().startswith(b"<"):
                return False
            answers.append(payload.decode(errors="replace"))
            if seen is not None:
                seen(answers[-1])
            return True

        end_s = self._now_s() + max(wait_s, self._timeout_s)
        while not dialogue.over:
            payload = yield from self._message(end_s, "the SCCILS document")
            reply = dialogue.take(payload) if take(payload) else None
            if reply is not None:
                yield Send(reply)
        # Data come right behind the answer they belong to.
        while (happened := (yield Wait(_BEHIND_S))) is not None and happened.payload is not None:
            take(happened.payload)
        return answers

    def _ready(self, within_s: float | None = None) -> IoSteps[None]:
        """Wait for a connection, and say hello on one that is new: the daemon knows each connection anew."""
        while True:
            yield from self._room(self._now_s() + self._timeout_s)
            if self._greeted:
                return
            self.greeting = yield from self._one(self._hello, within_s)
            self._greeted = True

    def _one(self, request: Request[T], within_s: float | None = None) -> IoSteps[T]:
        self._number += 1
        number, method = self._number, request.method
        payload = _pack(number, request)
        if len(payload) > MAX_PAYLOAD:
            raise Refused("too_large", f"{method}: {len(payload)} bytes; the daemon reads {MAX_PAYLOAD} at most")
        yield Send(payload)
        end_s = self._now_s() + (max(self._timeout_s, request.at_least_s) if within_s is None else within_s)
        while True:
            answer = _answer((yield from self._message(end_s, method)), number)
            if answer is not None:
                # For instance that control came with the request.
                self.remarks += [str(answer["note"])] if answer.get("note") else []
                return _result(request, answer)

    def _room(self, end_s: float) -> IoSteps[None]:
        while True:
            happened = yield Wait(max(0.0, end_s - self._now_s()), room=True)
            if self._lost(happened) is Link.KEYS:
                raise self._locked_out()
            if happened is not None and happened.room:
                return
            if self._now_s() >= end_s:
                raise nobody(f"at {self.address}", ", and its keys with --keys")

    def _message(self, end_s: float, what: str) -> IoSteps[bytes]:
        while True:
            happened = yield Wait(max(0.0, end_s - self._now_s()))
            lost = self._lost(happened)
            if happened is not None and happened.payload is not None:
                return happened.payload
            if lost is Link.KEYS:
                raise self._locked_out()
            if lost is Link.DOWN:
                raise NotAnswered(
                    f"the daemon at {self.address} went away before it answered {what}{_MAYBE}", sent=True
                )
            if self._now_s() >= end_s:
                raise NotAnswered(f"the daemon at {self.address} did not answer {what} in time{_MAYBE}", sent=True)

    def _lost(self, happened: WaitResult | None) -> Link | None:
        """Note that a new connection has to be greeted; return what ended the old one."""
        worst = [link for link in (happened.link if happened is not None else ()) if link is not Link.UP]
        if worst:
            self._greeted = False
        # A connection that is refused also goes down.
        return Link.KEYS if Link.KEYS in worst else Link.DOWN if worst else None

    def _locked_out(self) -> NotAnswered:
        return NotAnswered(
            f"the daemon at {self.address} does not accept these keys (ask its keeper: nuc keys allow; and check the "
            "folder given with --keys; a socket of its own machine may want none)"
        )


_MAYBE = ": it may or may not have taken effect (nuc ctl status, nuc ctl events)"


def decode_sample(frames: Sequence[bytes]) -> Sample | None:
    """Return a message of the telemetry, or None for other frames."""
    if len(frames) != 3:
        return None
    topic, content, stamp = frames
    values = _unpack(content)
    try:
        unix_time_s = float(stamp)
    except ValueError:
        return None
    if not isinstance(values, Mapping):
        return None
    return Sample(topic.decode(errors="replace"), cast(Mapping[str, Any], values), unix_time_s)


def _pack(number: int, request: Request[Any]) -> bytes:
    try:
        return msgspec.msgpack.encode({"id": number, "method": request.method, "params": request}, enc_hook=_plain)
    except (TypeError, ValueError, OverflowError) as error:
        raise Refused("bad_params", f"{request.method}: a value can not be sent: {error}") from error


def _plain(value: object) -> object:
    if isinstance(value, Mapping):
        return dict(cast(Mapping[Any, Any], value))
    raise TypeError(f"a {type(value).__name__}")


def _unpack(payload: bytes) -> object:
    try:
        return msgspec.msgpack.decode(payload)
    except (msgspec.DecodeError, ValueError, TypeError, RecursionError):
        return None


def _answer(payload: bytes, number: int) -> Mapping[str, Any] | None:
    """Return the answer to this request; None for late answers to others and for messages nobody asked for."""
    message = _unpack(payload)
    if not isinstance(message, Mapping):
        return None
    answer = cast(Mapping[str, Any], message)
    return answer if answer.get("id") == number else None


def _result(request: Request[T], answer: Mapping[str, Any]) -> T:
    ok, method = answer.get("ok"), request.method
    if ok is True:
        try:
            return msgspec.convert(answer.get("result"), request.answer)
        except msgspec.ValidationError as error:
            raise BadAnswer(f"{method}: the answer is not as expected: {error}") from error
    if ok is not False:
        raise BadAnswer(f"{method}: the answer says neither ok nor error: {answer!r:.200}")
    error = answer.get("error")
    if not isinstance(error, Mapping):
        raise Refused("error", str(error))
    told = cast(Mapping[str, Any], error)
    raise Refused(str(told.get("kind", "error")), str(told.get("text", "no reason given")), str(told.get("hint") or ""))
