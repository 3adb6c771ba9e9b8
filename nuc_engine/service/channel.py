"""The sockets: commands (ROUTER), telemetry (XPUB), keys (ZAP). Frames and limits, nothing of what is said.

A client may send with or without an empty frame before its payload. Nothing here ever waits: what a client does not
take is dropped once its queue is full, what is too large ends its connection.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import zmq
from zmq.utils.monitor import parse_monitor_message

from nuc_engine.service.access import DOMAIN, LOCAL_DOMAIN, Access, Address, read_address
from nuc_engine.service.connections import Connections
from nuc_engine.service.errors import ServiceError

MAX_PAYLOAD = 4 << 20
"""Bytes of one message; a larger one is not read, and its connection closed."""

IPC_MODE_MASK = 0o117
"""Leaves a socket file readable and writable for owner and group: mode 0660."""

_TAKEN_AT_ONCE = 200
_SUBSCRIPTIONS_IN_QUEUE = 100
_HANDSHAKE_MS = 2000
_HEARTBEAT_MS, _HEARTBEAT_LOST_MS = 5000, 15_000
_EVENTS = int(
    zmq.EVENT_ACCEPTED
    | zmq.EVENT_HANDSHAKE_SUCCEEDED
    | zmq.EVENT_DISCONNECTED
    | zmq.EVENT_HANDSHAKE_FAILED_NO_DETAIL
    | zmq.EVENT_HANDSHAKE_FAILED_AUTH
    | zmq.EVENT_HANDSHAKE_FAILED_PROTOCOL
)
# Plain numbers: those of the library are made anew at each use, which took a tenth of a request's time.
_STATE, _READABLE, _AT_ONCE = int(zmq.EVENTS), int(zmq.POLLIN), int(zmq.NOBLOCK)
_LOCAL_PEER = re.compile(r"localhost:(\d+):\d+:(\d+)")
"""How ZeroMQ writes who is at the other end of a Unix socket: user, group and process, as the kernel says."""

_IN_QUEUE, _OUT_QUEUE = 1000, 500
ReadySockets = frozenset[Any]
"""Sockets and descriptors that can be read."""

_ZAP = "inproc://zeromq.zap.01"


@dataclass(frozen=True, slots=True)
class Message:
    """One message of a client: what tells the client apart, what goes before an answer, who it is, and the payload.

    `who` is name and role where a key vouches for them, `peer` the user and process that the kernel names where it is
    on this machine. `payload` None: the frames make no message.
    """

    key: bytes
    address: list[bytes]
    who: tuple[str, str] | None
    payload: bytes | None
    peer: str = ""


class Sockets:
    """Everything the service listens at; `urls` are the addresses as they are, those for commands first.

    Raises ServiceError when an address cannot be opened.
    """

    def __init__(self, commands: Sequence[str], telemetry: Sequence[str], access: Access) -> None:
        addresses, published = [read_address(url) for url in commands], [read_address(url) for url in telemetry]
        for address in addresses:
            access.check(address, commands=True)
        for address in published:
            access.check(address)
        self._access = access
        self.urls: list[str] = []
        self._context: Any = zmq.Context()
        self._open: list[Any] = []
        self._topics: set[bytes] = set()
        self.connections = Connections()
        self.failed_handshakes = self.dropped = 0
        self.more: Callable[[], object] = bool
        """Called where there is something to read that no descriptor tells of."""
        try:
            self._zap = self._socket(zmq.REP)
            self._zap.bind(_ZAP)
            files = [address for address in addresses if not address.is_tcp]
            ports = [address for address in addresses if address.is_tcp]
            groups = [group for group in (files, ports) if group]
            self._asks_for_keys = [group is ports for group in groups]
            self._monitors: list[Any] = []
            self._routers = [self._router(group, keys=group is ports) for group in groups]
            self._publisher = self._watched(zmq.XPUB)
            self._publisher.rcvhwm = _SUBSCRIPTIONS_IN_QUEUE
            for address in published:
                self._bind(self._publisher, address, keys=not address.local)
        except BaseException:
            self.close()
            raise
        self._read = (self._zap, *self._routers, self._publisher, *self._monitors)
        self.descriptors: tuple[int, ...] = tuple(socket.get(zmq.FD) for socket in self._read)
        """Each becomes readable when something happens to a socket: then `ready` says whether there is something."""

    def ready(self, among: Iterable[Any] | None = None) -> ReadySockets:
        """Return what may be read, of all or `among` some."""
        looked_at = self._read if among is None else among
        return frozenset(socket for socket in looked_at if socket.get(_STATE) & _READABLE)

    # --- commands ---

    def messages(self, ready: ReadySockets) -> Iterator[Message]:
        """Yield what has come, a bounded number from each socket."""
        for which, router in enumerate(self._routers):
            if router not in ready:
                continue
            for _ in range(_TAKEN_AT_ONCE):
                if not router.get(_STATE) & _READABLE:
                    break
                frames: Any = router.recv_multipart(_AT_ONCE, copy=False)
                who = self._who(frames[-1]) if self._asks_for_keys[which] else None
                if who is None and self._asks_for_keys[which]:
                    self._access.denied += 1  # taken off the list since it connected
                    continue
                yield self._message(which, who, frames)

    def _message(self, which: int, who: tuple[str, str] | None, frames: Any) -> Message:
        peer = "" if who is not None else _peer(frames[-1])
        identity = bytes(frames[0].bytes)
        # A client chooses its identity itself; with its name, or its user, in the key it cannot pass for another's.
        whose = who[0] if who is not None else peer.partition(",")[0]
        key = bytes([which]) + whose.encode() + b"\0" + identity
        if len(frames) == 2:
            return Message(key, [identity], who, bytes(frames[1].bytes), peer)
        if len(frames) == 3 and not frames[1].bytes:
            return Message(key, [identity, b""], who, bytes(frames[2].bytes), peer)
        return Message(key, [identity], who, None, peer)

    def _who(self, frame: Any) -> tuple[str, str] | None:
        try:
            name: Any = frame.get("User-Id")
        except (zmq.ZMQError, AttributeError):
            return None
        return self._access.who(str(name)) if name else None

    def send(self, key: bytes, address: Sequence[bytes], payload: bytes) -> None:
        """Send a payload to a client; it is dropped when the client is gone or takes nothing."""
        router = self._routers[key[0]]
        try:
            router.send_multipart([*address, payload], _AT_ONCE)
        except zmq.ZMQError:
            self.dropped += 1
        self._look_again(router)

    # --- telemetry ---

    def listened(self, topic: str) -> bool:
        """Say whether any client listens to a topic."""
        name = topic.encode()
        return any(name[:length] in self._topics for length in range(len(name) + 1))

    def publish(self, frames: Sequence[bytes]) -> None:
        """Send to all who listen; a client that reads too slowly misses it."""
        try:
            self._publisher.send_multipart(frames, _AT_ONCE)
        except zmq.ZMQError:
            self.dropped += 1
        self._look_again(self._publisher)

    def _look_again(self, socket: Any) -> None:
        """See what came while something was sent: the descriptor has told of it already, and does not again."""
        if socket.get(_STATE) & _READABLE:
            self.more()

    # --- housekeeping ---

    def step(self, ready: ReadySockets) -> None:
        """Answer questions about keys, note who listens and which connections ended."""
        if self._zap in ready:
            request: Any = self._zap.recv_multipart(_AT_ONCE)
            self._zap.send_multipart(self._access.answer(request))
        for which, monitor in enumerate(self._monitors):
            if monitor in ready:
                self._watch(which, monitor)
        if self._publisher in ready:
            for _ in range(_TAKEN_AT_ONCE):
                try:
                    frame: Any = self._publisher.recv(_AT_ONCE, copy=False)
                except zmq.Again:
                    break
                self._listening(frame)

    def _listening(self, frame: Any) -> None:
        message = bytes(frame.bytes)
        topic = message[1:]
        if message[:1] == b"\x01":
            self._topics.add(topic)
            self.connections.subscribed(self._key(frame), 1)
        elif message[:1] == b"\x00":
            self._topics.discard(topic)
            self.connections.subscribed(self._key(frame), -1)

    def _key(self, frame: Any) -> tuple[int, int]:
        """Return which connection of the telemetry a frame came over."""
        try:
            return len(self._monitors) - 1, int(frame.get(zmq.SRCFD))
        except zmq.ZMQError:
            return -1, -1

    def _watch(self, which: int, monitor: Any) -> None:
        for _ in range(_TAKEN_AT_ONCE):
            try:
                told: Any = parse_monitor_message(monitor.recv_multipart(_AT_ONCE))
            except zmq.Again:
                return
            event, key = told["event"], (which, int(told["value"]))
            if event == zmq.EVENT_ACCEPTED:
                self.connections.accepted(key)
            elif event == zmq.EVENT_HANDSHAKE_SUCCEEDED:
                self.connections.greeted(key)
            elif event == zmq.EVENT_DISCONNECTED:
                self.connections.ended(key)
            else:
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
        socket.handshake_ivl = _HANDSHAKE_MS
        socket.heartbeat_ivl, socket.heartbeat_timeout = _HEARTBEAT_MS, _HEARTBEAT_LOST_MS
        return socket

    def _watched(self, kind: int) -> Any:
        """Return a socket whose connections are told of, from the first on."""
        socket = self._socket(kind)
        monitor: Any = socket.get_monitor_socket(_EVENTS)
        # Telling of connections must not wait for the reader.
        monitor.rcvhwm = 0
        self._open.append(monitor)
        self._monitors.append(monitor)
        return socket

    def _router(self, addresses: Sequence[Address], *, keys: bool) -> Any:
        socket = self._watched(zmq.ROUTER)
        for address in addresses:
            self._bind(socket, address, keys=keys)
        return socket

    def _bind(self, socket: Any, address: Address, *, keys: bool) -> None:
        socket.zap_domain = LOCAL_DOMAIN.encode()
        if keys:
            pair = self._access.pair
            if pair is None:
                raise ServiceError(f"{address.url} needs keys")
            socket.curve_server, socket.curve_secretkey, socket.curve_publickey = True, pair.secret, pair.public
            socket.zap_domain = DOMAIN.encode()
        mask = None if address.is_tcp else os.umask(IPC_MODE_MASK)
        try:
            socket.bind(address.url)
            self.urls.append(str(socket.last_endpoint.decode()))
        except zmq.ZMQError as error:
            hint = "does another daemon run?" if error.errno == zmq.EADDRINUSE else "check the address"
            raise ServiceError(f"{address.url} cannot be opened: {error.strerror} ({hint})") from error
        finally:
            if mask is not None:
                os.umask(mask)


def _peer(frame: Any) -> str:
    try:
        return _named(str(frame.get("Peer-Address")))
    except zmq.ZMQError:
        return ""


@lru_cache(256)
def _named(address: str) -> str:
    found = _LOCAL_PEER.fullmatch(address)
    return "" if found is None else f"user {found[1]}, process {found[2]}"
