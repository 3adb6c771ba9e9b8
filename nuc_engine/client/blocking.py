"""The blocking client."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from types import TracebackType
from typing import Any, TypeVar

import zmq

from nuc_engine.client.address import find_address
from nuc_engine.client.conversation import Conversation, IoAction, IoSteps, Link, Send, WaitResult, decode_sample
from nuc_engine.client.methods import Methods
from nuc_engine.client.sockets import (
    Keys,
    close_commands,
    link_event,
    monotonic_s,
    open_commands,
    open_telemetry,
    telemetry_address,
)
from nuc_engine.messages.answers import Greeting, Sample, SubscribeAnswer
from nuc_engine.messages.errors import NotAnswered
from nuc_engine.messages.limits import Ref, RoleName
from nuc_engine.messages.requests import Request, SubscribeRequest

T = TypeVar("T")


class Client(Methods):
    """Talks to one daemon; its methods block until they are answered. Not to be shared between threads.

    Without an `address` the one daemon of this machine is looked for (ClientError: there is none, or more than one).
    `name` is who one is in logs and for control (with keys, the name they were allowed under counts), `timeout_s` how
    long the daemon may take for an answer. Nothing is sent before the first method is called. Connections come back by
    themselves; a request that was not answered is never sent again. `identity` makes connections that follow one
    another the same client to the daemon; two at a time must not share one.
    """

    blocking = True

    def __init__(
        self,
        address: str = "",
        *,
        name: str,
        role: RoleName | None = None,
        keys: Keys | None = None,
        timeout_s: float = 2.0,
        telemetry: str = "",
        identity: bytes = b"",
        now_s: Callable[[], float] = monotonic_s,
    ) -> None:
        address = address or find_address()
        self._address, self._keys, self._telemetry = address, keys, telemetry
        # A client that reconnects with the same identity keeps its control: one command takes it, the next uses it.
        self._stays = bool(identity)
        self._talk = Conversation(address, name, role, timeout_s, now_s)
        self._context: zmq.Context[Any] = zmq.Context()
        try:
            self._socket, self._monitor = open_commands(self._context, address, keys, identity)
        except BaseException:
            self._context.term()
            raise
        self._pollers = {
            room: _poller(self._socket, zmq.POLLOUT if room else zmq.POLLIN, self._monitor) for room in (False, True)
        }
        self._streams: list[Subscription] = []

    @property
    def greeting(self) -> Greeting | None:
        """What the daemon said at the beginning of this connection; None before the first request."""
        return self._talk.greeting

    @property
    def remarks(self) -> list[str]:
        """What the daemon said beside its results so far, such as that control came with a request."""
        return self._talk.remarks

    def greet(self, within_s: float) -> Greeting:
        """Say hello, on a connection that is new, and return what was answered. Raises NotAnswered."""
        return self._drive(self._talk.greet(within_s))

    def do(self, request: Request[T], /) -> T:
        """Send a request and return its result. Raises NotAnswered, Refused or BadAnswer."""
        return self._drive(self._talk.ask(request))

    def sccils(self, text: str, wait_s: float = 10.0, *, seen: Callable[[str], object] | None = None) -> list[str]:
        """Send a SCCILS document and return the documents that come back, once all of it is answered.

        `wait_s` is how long that may take: a timed script is answered when its last change has been made. Documents of
        a configuration that is being started are acknowledged. `seen` gets each document when it comes.
        """
        return self._drive(self._talk.sccils(text.encode(), wait_s, seen))

    def subscribe(self, names: Sequence[Ref], rate_hz: float = 10.0) -> Subscription:
        """Ask for a stream of these values and open it."""
        return self._stream(self.do(SubscribeRequest(names, rate_hz)))

    def listen(self, topic: str = "nuc.event") -> Subscription:
        """Open a stream that is there anyhow: `nuc.event`, or `nuc`, the telemetry that every client gets."""
        return self._stream(SubscribeAnswer(topic, {}))

    def close(self) -> None:
        """Say goodbye and close every socket. A request that is still on its way is not called back."""
        for stream in self._streams:
            stream.close()
        self._monitor.close()
        close_commands(self._socket, None if self._stays else self._talk.goodbye())
        self._context.term()

    def __enter__(self) -> Client:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    def _stream(self, what: SubscribeAnswer) -> Subscription:
        address = self._telemetry or telemetry_address(self._address, what.address)
        stream = Subscription(what, open_telemetry(self._context, address, what.topic, self._keys), address)
        self._streams.append(stream)
        return stream

    def _drive(self, steps: IoSteps[T]) -> T:
        happened: WaitResult | None = None
        while True:
            try:
                effect = steps.send(happened)
            except StopIteration as done:
                return done.value
            happened = self._perform(effect)

    def _perform(self, effect: IoAction) -> WaitResult | None:
        if isinstance(effect, Send):
            try:
                self._socket.send(effect.payload, zmq.DONTWAIT)
            except zmq.Again:  # it went away since there was room
                raise NotAnswered(f"the daemon at {self._address} went away") from None
            return None
        if effect.room and self._idle():
            return _ROOM
        ready = dict(self._pollers[effect.room].poll(max(0, round(1000 * effect.seconds))))
        links: list[Link] = []
        while self._monitor in ready and self._monitor.get(zmq.EVENTS) & zmq.POLLIN:
            link = link_event(self._monitor.recv_multipart())
            links += [] if link is None else [link]
        if self._socket not in ready or (effect.room and Link.DOWN in links):
            return WaitResult(tuple(links))
        if effect.room:
            return WaitResult(tuple(links), room=True)
        return WaitResult(tuple(links), payload=self._socket.recv_multipart()[-1])

    def _idle(self) -> bool:
        """Say whether there is room to send and nothing new of the connection: the usual case, told without a poll."""
        return bool(self._socket.get(zmq.EVENTS) & zmq.POLLOUT) and not self._monitor.get(zmq.EVENTS) & zmq.POLLIN


class Subscription:
    """A stream of samples; iterate over it, or `receive` with a time limit. `fields` says what was found."""

    def __init__(self, what: SubscribeAnswer, socket: Any, address: str) -> None:
        self.topic, self.fields, self.address = what.topic, what.fields, address
        self._socket = socket

    def receive(self, timeout_s: float | None = None) -> Sample | None:
        """Return the next sample, or None when none came in time (None: wait for ever)."""
        while self._socket.poll(None if timeout_s is None else round(1000 * timeout_s)):
            sample = decode_sample(self._socket.recv_multipart())
            # ZeroMQ subscribes to what a topic begins with.
            if sample is not None and sample.topic == self.topic:
                return sample
        return None

    def __iter__(self) -> Iterator[Sample]:
        while True:
            sample = self.receive()
            if sample is None:
                raise NotAnswered(f"the stream {self.topic} of {self.address} ended")
            yield sample

    def close(self) -> None:
        """End it."""
        self._socket.close()


def _poller(socket: Any, wanted: int, watched: Any) -> zmq.Poller:
    poller = zmq.Poller()
    poller.register(socket, wanted)
    poller.register(watched, zmq.POLLIN)
    return poller


_ROOM = WaitResult(room=True)
