"""What both clients do to their ZeroMQ sockets: options, keys, events of the connection, addresses."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from time import monotonic  # noqa: TID251  how long a daemon takes to answer is real time
from types import MappingProxyType
from typing import Any

import zmq

from nuc_engine.client.conversation import Link
from nuc_engine.machine.rundir import TELEMETRY
from nuc_engine.messages.errors import ClientError, KeysError

TELEMETRY_PORT = 9872
_GOODBYE_MS = 200
_OWN_MACHINE = frozenset({"127.0.0.1", "localhost", "[::1]", "*", "0.0.0.0", "[::]"})  # noqa: S104  compared only

_LINKS: Mapping[int, Link] = MappingProxyType(
    {
        zmq.EVENT_HANDSHAKE_SUCCEEDED: Link.UP,
        zmq.EVENT_DISCONNECTED: Link.DOWN,
        zmq.EVENT_HANDSHAKE_FAILED_AUTH: Link.KEYS,
        zmq.EVENT_HANDSHAKE_FAILED_PROTOCOL: Link.KEYS,
    }
)
_EVENTS = int(
    zmq.EVENT_HANDSHAKE_SUCCEEDED
    | zmq.EVENT_DISCONNECTED
    | zmq.EVENT_HANDSHAKE_FAILED_AUTH
    | zmq.EVENT_HANDSHAKE_FAILED_PROTOCOL
)


@dataclass(frozen=True, slots=True)
class Keys:
    """CURVE keys of a client, Z85 text: the daemon's public key, and one's own pair."""

    server: bytes
    public: bytes
    secret: bytes


def load_keys(folder: Path, name: str = "") -> Keys:
    """Return the keys in a folder: `server.key`, and `NAME.key_secret` (without a name: the only one there is).

    Raises KeysError.
    """
    from nuc_engine.messages import keys

    if not folder.is_dir():
        raise KeysError(f"{folder}: no folder of keys; make keys there: nuc keys new NAME --folder {folder}")
    own = [folder / f"{name}.key_secret"] if name else []
    if not own or not own[0].is_file():
        own = sorted(set(folder.glob("*.key_secret")) - {folder / f"{keys.SERVER}.key_secret"})
    if len(own) != 1:
        found = ", ".join(path.name for path in own) or "none"
        raise KeysError(
            f"{folder}: expected one NAME.key_secret, found {found}; choose with --name, or nuc keys new NAME"
        )
    try:
        pair = keys.load_secret(own[0])
        return Keys(keys.load_public(folder / f"{keys.SERVER}.key"), pair.public, pair.secret)
    except keys.KeyFileError as error:
        raise KeysError(
            f"{error}; a client needs its own pair, and a copy of the daemon's {keys.SERVER}.key"
        ) from error


def open_commands(context: zmq.Context[Any], address: str, own: Keys | None, identity: bytes) -> tuple[Any, Any]:
    """Return a socket for requests that is being connected, and one that tells what happens to the connection.

    Raises ClientError for an address that is none.
    """
    socket: Any = context.socket(zmq.DEALER)
    watched = socket.get_monitor_socket(_EVENTS)
    watched.setsockopt(zmq.LINGER, 0)
    # A request must not wait in a queue for a daemon that comes later: its sender has given up by then.
    socket.setsockopt(zmq.IMMEDIATE, 1)
    if identity:
        socket.setsockopt(zmq.ROUTING_ID, identity)
    try:
        _connect(socket, address, own)
    except BaseException:
        # What stays open keeps the context from ending, for ever.
        watched.close()
        socket.close()
        raise
    return socket, watched


def close_commands(socket: Any, goodbye: bytes | None) -> None:
    """Close a socket for requests; a goodbye has a moment to get out."""
    if goodbye is not None:
        with suppress(zmq.ZMQError):
            socket.setsockopt(zmq.LINGER, _GOODBYE_MS)
            zmq.Socket.send(socket, goodbye, zmq.DONTWAIT)
    socket.close()


def open_telemetry(context: zmq.Context[Any], address: str, topic: str, own: Keys | None) -> Any:
    """Return a socket that receives one topic. Raises ClientError for a malformed address."""
    socket: Any = context.socket(zmq.SUB)
    socket.setsockopt(zmq.SUBSCRIBE, topic.encode())
    return _connect(socket, address, own)


def link_event(frames: Sequence[bytes]) -> Link | None:
    """Return what a monitor's message says; None for what does not matter."""
    # zmq_socket_monitor(3): 16 bits of event in the machine's order, and its value. pyzmq's reader would load asyncio.
    return _LINKS.get(int.from_bytes(frames[0][:2], sys.byteorder))


def _connect(socket: Any, address: str, own: Keys | None) -> Any:
    socket.setsockopt(zmq.LINGER, 0)
    socket.setsockopt(zmq.RECONNECT_IVL_MAX, 1000)
    socket.setsockopt(zmq.HEARTBEAT_IVL, 2000)
    socket.setsockopt(zmq.HEARTBEAT_TIMEOUT, 6000)
    if own is not None:
        socket.setsockopt(zmq.CURVE_SERVERKEY, own.server)
        socket.setsockopt(zmq.CURVE_PUBLICKEY, own.public)
        socket.setsockopt(zmq.CURVE_SECRETKEY, own.secret)
    try:
        socket.connect(address)
    except zmq.ZMQError as error:
        socket.close()
        raise ClientError(f"{address!r} is no address ({error}); expected ipc://PATH or tcp://HOST:PORT") from error
    return socket


def telemetry_address(commands: str, told: str = "") -> str:
    """Return where to listen to the telemetry of a daemon whose command socket is at `commands`.

    `told` is the address as the daemon was given it, which may be one that only its own machine can use: the folder of
    its sockets may be mounted elsewhere, or be forwarded.
    """
    if commands.startswith("ipc://"):
        beside = Path(commands.removeprefix("ipc://")).with_name(TELEMETRY)
        return told if told and not beside.exists() else f"ipc://{beside}"
    host = commands.removeprefix("tcp://").rpartition(":")[0]
    if not told:
        return f"tcp://{host}:{TELEMETRY_PORT}"
    at, _, port = told.removeprefix("tcp://").rpartition(":")
    return f"tcp://{host}:{port}" if told.startswith("tcp://") and at in _OWN_MACHINE else told


def monotonic_s() -> float:
    """Return seconds on a clock that only moves forward."""
    return monotonic()
