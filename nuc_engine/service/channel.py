"""The sockets: commands (ROUTER), telemetry (XPUB), keys (ZAP). Frames and limits, nothing of what is said.

A client may send with or without an empty frame before its payload. Nothing here ever waits: what a client does not
take is dropped once its queue is full, what is too large ends its connection.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import zmq
from zmq.utils.monitor import parse_monitor_message

from nuc_engine.service.access import DOMAIN, LOCAL_DOMAIN, Access, Address, read_address
from nuc_engine.service.errors import ServiceError

MAX_PAYLOAD = 4 << 20
"""Bytes of one message; a larger one is not read, and its connection closed."""

IPC_MODE_MASK = 0o117
"""Leaves a socket file readable and writable for owner and group: mode 0660."""

_TAKEN_AT_ONCE = 200
_IN_QUEUE, _OUT_QUEUE = 1000, 500
Ready = frozenset[Any]
"""Sockets and descriptors that can be read."""

_ZAP = "inproc://zeromq.zap.01"


@dataclass(frozen=True, slots=True)
class Message:
    """One message of a client: what tells the client apart, what goes before an answer, who it is, and the payload.

    `who` is name and role where a key vouches for them. `payload` None: the frames make no message.
    """

    key: bytes
    address: list[bytes]
    who: tuple[str, str] | None
    payload: bytes | None


class Sockets:
    """Everything the service listens at; `urls` are the addresses as they are, those for commands first.

    Raises ServiceError when an address can not be opened.
    """

    def __init__(self, commands: Sequence[str], telemetry: Sequence[str], access: Access) -> None:
        addresses, published = [read_address(url) for url in commands], [read_address(url) for url in telemetry]
        for address in (*addresses, *published):
            access.check(address)
        self._access = access
        self.urls: list[str] = []
        self._context: Any = zmq.Context()
        self._open: list[Any] = []
        self._topics: set[bytes] = set()
        self.closed_connections = self.failed_handshakes = self.dropped = 0
        try:
            self._zap = self._socket(zmq.REP)
            self._zap.bind(_ZAP)
            local = [address for address in addresses if address.local]
            remote = [address for address in addresses if not address.local]
            groups = [group for group in (local, remote) if group]
            self._asks_for_keys = [group is remote for group in groups]
            self._routers = [self._router(group) for group in groups]
            self._publisher = self._socket(zmq.XPUB)
            for address in published:
                self._bind(self._publisher, address)
            self._monitors = [self._monitor(router) for router in self._routers]
        except BaseException:
            self.close()
            raise
        self.poller = zmq.Poller()
        for socket in (self._zap, *self._routers, self._publisher, *self._monitors):
            self.poller.register(socket, zmq.POLLIN)

    def poll(self, timeout_ms: int) -> Ready:
        """Wait for anything to come, at most so long; return what may be read."""
        return frozenset(socket for socket, _ in self.poller.poll(timeout_ms))

    # --- commands ---

    def messages(self, ready: Ready) -> Iterator[Message]:
        """Yield what has come, a bounded number from each socket."""
        for which, router in enumerate(self._routers):
            if router not in ready:
                continue
            for _ in range(_TAKEN_AT_ONCE):
                try:
                    frames: Any = router.recv_multipart(zmq.NOBLOCK, copy=False)
                except zmq.Again:
                    break
                who = self._who(frames[-1]) if self._asks_for_keys[which] else None
                if who is None and self._asks_for_keys[which]:
                    self._access.denied += 1  # taken off the list since it connected
                    continue
                yield self._message(which, who, frames)

    def _message(self, which: int, who: tuple[str, str] | None, frames: Any) -> Message:
        identity = bytes(frames[0].bytes)
        # A client chooses its identity itself; with its name in the key it can not pass for one that keys vouch for.
        key = bytes([which]) + (b"" if who is None else who[0].encode() + b"\0") + identity
        if len(frames) == 2:
            return Message(key, [identity], who, bytes(frames[1].bytes))
        if len(frames) == 3 and not frames[1].bytes:
            return Message(key, [identity, b""], who, bytes(frames[2].bytes))
        return Message(key, [identity], who, None)

    def _who(self, frame: Any) -> tuple[str, str] | None:
        try:
            name: Any = frame.get("User-Id")
        except (zmq.ZMQError, AttributeError):
            return None
        return self._access.who(str(name)) if name else None

    def send(self, key: bytes, address: Sequence[bytes], payload: bytes) -> None:
        """Send a payload to a client; it is dropped when the client is gone or takes nothing."""
        try:
            self._routers[key[0]].send_multipart([*address, payload], zmq.NOBLOCK)
        except zmq.ZMQError:
            self.dropped += 1

    # --- telemetry ---

    def listened(self, topic: str) -> bool:
        """Say whether anybody listens to a topic."""
        name = topic.encode()
        return any(name.startswith(prefix) for prefix in self._topics)

    def publish(self, frames: Sequence[bytes]) -> None:
        """Send to all who listen; whoever takes nothing misses it."""
        try:
            self._publisher.send_multipart(frames, zmq.NOBLOCK)
        except zmq.ZMQError:
            self.dropped += 1

    # --- housekeeping ---

    def step(self, ready: Ready) -> None:
        """Answer questions about keys, note who listens and which connections ended."""
        if self._zap in ready:
            request: Any = self._zap.recv_multipart(zmq.NOBLOCK)
            self._zap.send_multipart(self._access.answer(request))
        if self._publisher in ready:
            for _ in range(_TAKEN_AT_ONCE):
                try:
                    message: Any = self._publisher.recv(zmq.NOBLOCK)
                except zmq.Again:
                    break
                self._listening(message)
        for monitor in self._monitors:
            if monitor in ready:
                self._watch(monitor)

    def _listening(self, message: bytes) -> None:
        topic = message[1:]
        if message[:1] == b"\x01":
            self._topics.add(topic)
        elif message[:1] == b"\x00":
            self._topics.discard(topic)

    def _watch(self, monitor: Any) -> None:
        for _ in range(_TAKEN_AT_ONCE):
            try:
                event: Any = parse_monitor_message(monitor.recv_multipart(zmq.NOBLOCK))
            except zmq.Again:
                return
            if event["event"] == zmq.EVENT_DISCONNECTED:
                self.closed_connections += 1
            elif event["event"] in (zmq.EVENT_HANDSHAKE_FAILED_AUTH, zmq.EVENT_HANDSHAKE_FAILED_PROTOCOL):
                self.failed_handshakes += 1

    def close(self) -> None:
        """Close everything; what is on its way has a moment to get out."""
        for socket in self._open:
            with suppress(zmq.ZMQError):
                socket.disable_monitor()
            socket.close(linger=200)
        self._context.term()

    # --- opening ---

    def _socket(self, kind: int) -> Any:
        socket: Any = self._context.socket(kind)
        self._open.append(socket)
        socket.linger = 0
        socket.maxmsgsize = MAX_PAYLOAD
        socket.rcvhwm, socket.sndhwm = _IN_QUEUE, _OUT_QUEUE
        return socket

    def _router(self, addresses: Sequence[Address]) -> Any:
        socket = self._socket(zmq.ROUTER)
        for address in addresses:
            self._bind(socket, address)
        return socket

    def _bind(self, socket: Any, address: Address) -> None:
        socket.zap_domain = LOCAL_DOMAIN.encode()
        if not address.local:
            pair = self._access.pair
            if pair is None:
                raise ServiceError(f"{address.url} needs keys")
            socket.curve_server, socket.curve_secretkey, socket.curve_publickey = True, pair.secret, pair.public
            socket.zap_domain = DOMAIN.encode()
        mask = os.umask(IPC_MODE_MASK) if address.is_ipc else None
        try:
            socket.bind(address.url)
            self.urls.append(str(socket.last_endpoint.decode()))
        except zmq.ZMQError as error:
            hint = "does another daemon run?" if error.errno == zmq.EADDRINUSE else "check the address"
            raise ServiceError(f"{address.url} can not be opened: {error.strerror} ({hint})") from error
        finally:
            if mask is not None:
                os.umask(mask)

    def _monitor(self, router: Any) -> Any:
        events = zmq.EVENT_DISCONNECTED | zmq.EVENT_HANDSHAKE_FAILED_AUTH | zmq.EVENT_HANDSHAKE_FAILED_PROTOCOL
        monitor: Any = router.get_monitor_socket(events)
        self._open.append(monitor)
        return monitor
