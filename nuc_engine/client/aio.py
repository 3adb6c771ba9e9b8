"""The client for asyncio."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from types import TracebackType
from typing import Any, TypeVar

import zmq
import zmq.asyncio

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


class AsyncClient(Methods):
    """Talks to one daemon from asyncio; as `Client`, with coroutines. Several tasks may use it: their requests queue.

    To be made inside a running event loop.
    """

    awaiting = True

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
        self._context = zmq.asyncio.Context()
        try:
            self._socket, self._monitor = open_commands(self._context, address, keys, identity)
        except BaseException:
            self._context.term()
            raise
        self._streams: list[AsyncSubscription] = []
        self._turn = asyncio.Lock()

    @property
    def greeting(self) -> Greeting | None:
        """What the daemon said at the beginning of this connection; None before the first request."""
        return self._talk.greeting

    async def do(self, request: Request[T], /) -> T:
        """Send a request and return its result. Raises NotAnswered, Refused or BadAnswer."""
        async with self._turn:
            return await self._drive(self._talk.ask(request))

    async def sccils(
        self, text: str, wait_s: float = 10.0, *, seen: Callable[[str], object] | None = None
    ) -> list[str]:
        """Send a SCCILS document and return the documents that come back, once all of it is answered.

        `seen` gets each document when it comes.
        """
        async with self._turn:
            return await self._drive(self._talk.sccils(text.encode(), wait_s, seen))

    async def subscribe(self, names: Sequence[Ref], rate_hz: float = 10.0) -> AsyncSubscription:
        """Ask for a stream of these values and open it."""
        return self._stream(await self.do(SubscribeRequest(names, rate_hz)))

    def listen(self, topic: str = "nuc.event") -> AsyncSubscription:
        """Open a stream that is there anyhow: `nuc.event`, or `nuc`, the telemetry that every client gets."""
        return self._stream(SubscribeAnswer(topic, {}))

    def close(self) -> None:
        """Say goodbye and close every socket. A request that is still on its way is not called back."""
        for stream in self._streams:
            stream.close()
        self._monitor.close()
        close_commands(self._socket, None if self._stays else self._talk.goodbye())
        self._context.term()

    async def __aenter__(self) -> AsyncClient:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None
    ) -> None:
        self.close()

    def _stream(self, what: SubscribeAnswer) -> AsyncSubscription:
        address = self._telemetry or telemetry_address(self._address, what.address)
        stream = AsyncSubscription(what, open_telemetry(self._context, address, what.topic, self._keys), address)
        self._streams.append(stream)
        return stream

    async def _drive(self, steps: IoSteps[T]) -> T:
        happened: WaitResult | None = None
        while True:
            try:
                effect = steps.send(happened)
            except StopIteration as done:
                return done.value
            happened = await self._perform(effect)

    async def _perform(self, effect: IoAction) -> WaitResult | None:
        if isinstance(effect, Send):
            try:
                await self._socket.send(effect.payload, zmq.DONTWAIT)
            except zmq.Again:  # it went away since there was room
                raise NotAnswered(f"the daemon at {self._address} went away") from None
            return None
        wanted = zmq.POLLOUT if effect.room else zmq.POLLIN
        poller = zmq.asyncio.Poller()
        poller.register(self._socket, wanted)
        poller.register(self._monitor, zmq.POLLIN)
        ready = dict(await poller.poll(max(0, round(1000 * effect.seconds))))
        links: list[Link] = []
        while self._monitor in ready and await self._monitor.poll(0):
            link = link_event(await self._monitor.recv_multipart())
            links += [] if link is None else [link]
        if self._socket not in ready or (effect.room and Link.DOWN in links):
            return WaitResult(tuple(links))
        if effect.room:
            return WaitResult(tuple(links), room=True)
        return WaitResult(tuple(links), payload=(await self._socket.recv_multipart())[-1])


class AsyncSubscription:
    """A stream of samples: `async for sample in subscription`, or `await receive(timeout)`."""

    def __init__(self, what: SubscribeAnswer, socket: Any, address: str) -> None:
        self.topic, self.fields, self.address = what.topic, what.fields, address
        self._socket = socket

    async def receive(self, timeout_s: float | None = None) -> Sample | None:
        """Return the next sample, or None when none came in time (None: wait for ever)."""
        while await self._socket.poll(None if timeout_s is None else round(1000 * timeout_s)):
            sample = decode_sample(await self._socket.recv_multipart())
            if sample is not None and sample.topic == self.topic:
                return sample
        return None

    async def __aiter__(self) -> AsyncIterator[Sample]:
        while (sample := await self.receive()) is not None:
            yield sample

    def close(self) -> None:
        """End it."""
        self._socket.close()
