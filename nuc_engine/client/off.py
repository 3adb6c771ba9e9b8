"""Torque off, and nothing else: for one who must not wait for what all other requests need.

The same as `nuc_engine.messages.requests.OffRequest`, with ZeroMQ and MessagePack alone. Nothing is waited for before
it is sent but the connection itself: the daemon takes messages in their order, so that the name is known when `off`
comes.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from time import monotonic  # noqa: TID251  how long a daemon takes to answer is real time
from typing import TYPE_CHECKING, Any, cast

import msgpack
import zmq

from nuc_engine.messages.errors import BadAnswer, ClientError, NotAnswered, Refused

if TYPE_CHECKING:
    from nuc_engine.client.sockets import Keys

ANSWER_S = 6.0
"""The daemon itself waits for its servos, and says which have not confirmed: that is the better message."""

AGAIN_S = 2.0
"""How long before it is asked for again, on a connection that may be another one: twice off does no harm."""

_HELLO, _OFF, _LEAVE = 1, 2, 3
_GOODBYE_MS = 200
_LONGEST = 4000


def take_torque_off(
    address: str, *, name: str, why: str, timeout_s: float = 2.0, keys: Keys | None = None, again_s: float = AGAIN_S
) -> Mapping[str, Any]:
    """Take the torque off, latched until `arm`; return the daemon's answer: `mode`, `torque`, `unconfirmed`.

    `timeout_s` is how long a connection may take. Raises NotAnswered, Refused, BadAnswer, or ClientError for an address
    that is none.
    """
    context: zmq.Context[Any] = zmq.Context()
    socket: Any = context.socket(zmq.DEALER)
    try:
        _connect(socket, address, keys)
        if not socket.poll(round(1000 * timeout_s), zmq.POLLOUT):
            raise NotAnswered(
                f"torque off was NOT asked for: nothing took it at {address} within {timeout_s:g} s "
                "(no daemon is there, or it wants other keys: --address, --keys); cut the power of the servos"
            )
        answer = _ask(socket, name, why, again_s)
        if answer is None:
            raise NotAnswered(
                f"the daemon at {address} did not answer off within {ANSWER_S:g} s: it may or may not have taken "
                "effect; cut the power of the servos",
                sent=True,
            )
        socket.setsockopt(zmq.LINGER, _GOODBYE_MS)
        _send(socket, _LEAVE, "leave", {})
        return _result(answer)
    finally:
        socket.close()
        context.term()


def _ask(socket: Any, name: str, why: str, again_s: float) -> Mapping[str, Any] | None:
    """Ask until it is answered; return the answer to `off`, None where there is none in time."""
    now_s = monotonic()
    end_s = now_s + ANSWER_S
    while now_s < end_s:
        _send(socket, _HELLO, "hello", {"name": name})
        _send(socket, _OFF, "off", {"why": why})
        again_at_s = min(end_s, now_s + again_s)
        while socket.poll(max(0, round(1000 * (again_at_s - monotonic())))):
            answer = _unpack(socket.recv_multipart()[-1])
            if answer.get("id") == _OFF:
                return answer
        now_s = monotonic()
    return None


def _connect(socket: Any, address: str, keys: Keys | None) -> None:
    socket.setsockopt(zmq.LINGER, 0)
    # Room to send means then that there is a daemon at the other end.
    socket.setsockopt(zmq.IMMEDIATE, 1)
    if keys is not None:
        socket.setsockopt(zmq.CURVE_SERVERKEY, keys.server)
        socket.setsockopt(zmq.CURVE_PUBLICKEY, keys.public)
        socket.setsockopt(zmq.CURVE_SECRETKEY, keys.secret)
    try:
        socket.connect(address)
    except zmq.ZMQError as error:
        raise ClientError(f"{address!r} is no address ({error}); expected ipc://PATH or tcp://HOST:PORT") from error


def _send(socket: Any, number: int, method: str, params: Mapping[str, str]) -> None:
    with suppress(zmq.Again):  # a connection that broke is another one the next time
        # No reason is too long, or too odd, for it to be received.
        words = {name: text[:_LONGEST].encode(errors="replace").decode() for name, text in params.items()}
        socket.send(msgpack.packb({"id": number, "method": method, "params": words}), zmq.DONTWAIT)


def _result(answer: Mapping[str, Any]) -> Mapping[str, Any]:
    error, result = answer.get("error"), answer.get("result")
    if answer.get("ok") is True and isinstance(result, Mapping):
        return cast(Mapping[str, Any], result)
    if isinstance(error, Mapping):
        told = cast(Mapping[str, Any], error)
        raise Refused(str(told.get("kind")), str(told.get("text")), str(told.get("hint") or ""))
    raise BadAnswer(f"off: the answer says neither ok nor error: {answer!r:.200}")


def _unpack(payload: bytes) -> Mapping[str, Any]:
    try:
        message: object = msgpack.unpackb(payload, strict_map_key=False)
    except (ValueError, TypeError, RecursionError, msgpack.UnpackException):
        return {}
    return cast(Mapping[str, Any], message) if isinstance(message, Mapping) else {}
