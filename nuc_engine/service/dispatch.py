"""How a request is checked, carried out and answered, in MessagePack or in JSON.

Request: {id, method, params}. Answer: {id, ok: true, result} or {id, ok: false, error: {kind, text, hint}}; `note` says
that control came with the request.
"""

from __future__ import annotations

import reprlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, cast

import msgpack
import msgspec

from nuc_engine.datalogger.logger import LogRefused
from nuc_engine.messages.checked import check_request
from nuc_engine.messages.errors import Refused
from nuc_engine.messages.limits import MAX_ITEMS, MAX_NUMBERS
from nuc_engine.messages.requests import Request
from nuc_engine.service.channel_hub import ChannelHub
from nuc_engine.service.clients import ConnectedClient
from nuc_engine.service.method import GAINED, Handlers, Noted, authorise
from nuc_engine.service.pack import pack_answer
from sccils_schemas.names import did_you_mean, printable_lines, shorten

MAX_ID = 256
_KEYS = frozenset({"id", "method", "params"})

ReplyCallback = Callable[[bytes], None]


@dataclass(frozen=True, slots=True)
class MethodRequest:
    """One request, taken apart."""

    id: int | str
    method: str
    params: Mapping[Any, Any]


def is_whole(value: Any) -> bool:
    """Say whether this is a whole number; true and false are not."""
    return isinstance(value, int) and not isinstance(value, bool)


class _Room:
    """Refuses a message whose lists have too much in them, while it is read."""

    def __init__(self) -> None:
        self._left = 2 * MAX_NUMBERS

    def __call__(self, items: list[Any]) -> list[Any]:
        self._left -= len(items) + 1
        if self._left < 0:
            raise ValueError(f"more than {2 * MAX_NUMBERS} items")
        return items


def read_request(payload: bytes) -> MethodRequest:
    """Return the request in a payload of MessagePack. Raises Refused where it is malformed."""
    try:
        found: Any = msgpack.unpackb(
            payload,
            strict_map_key=False,
            max_str_len=len(payload),
            # Room is made for all of a list before the first of it is read: however deep they nest, it stays small.
            max_array_len=min(len(payload), MAX_NUMBERS),
            max_map_len=MAX_ITEMS,
            list_hook=_Room(),
        )
    except (ValueError, TypeError, msgpack.UnpackException, UnicodeDecodeError, RecursionError) as error:
        hint = "expected a map {id, method, params}, or a SCCILS document beginning with <"
        raise Refused("bad_request", f"this is no MessagePack ({type(error).__name__})", hint) from error
    return _request_of(found)


def read_json(payload: bytes) -> MethodRequest:
    """Return the request in a payload of JSON. Raises Refused where it is malformed."""
    try:
        found: Any = msgspec.json.decode(payload)
    except (msgspec.DecodeError, UnicodeError, RecursionError) as error:
        raise Refused("bad_request", f"this is no JSON ({error})", "expected a map {id, method, params}") from error
    return _request_of(found)


def _request_of(found: Any) -> MethodRequest:
    if not isinstance(found, dict):
        raise Refused("bad_request", f"this is a {type(found).__name__}", "expected a map {id, method, params}")
    request = cast(dict[Any, Any], found)
    number, method, params = request.get("id"), request.get("method"), request.get("params")
    if extra := [key for key in request if key not in _KEYS]:
        raise Refused("bad_request", f"a request has no {reprlib.repr(extra[0])}", "expected id, method and params")
    if not (is_whole(number) or (isinstance(number, str) and len(number) <= MAX_ID)):
        raise Refused("bad_request", "id is missing or no whole number or short text")
    if not isinstance(method, str):
        raise Refused("bad_request", "method is missing or no text")
    if params is not None and not isinstance(params, dict):
        raise Refused("bad_request", "params is no map")
    return MethodRequest(cast(Any, number), method, cast(dict[Any, Any], params or {}))


def request_id(payload: bytes) -> int | str | None:
    """Return the id of a request that is otherwise bad, where it has one, so that its error can be told apart."""
    unpacker = msgpack.Unpacker(strict_map_key=False, max_str_len=4 * MAX_ID, max_array_len=0, max_map_len=len(_KEYS))
    unpacker.feed(payload)
    try:
        for _ in range(unpacker.read_map_header()):
            if unpacker.unpack() == "id":
                number: Any = unpacker.unpack()
                return number if is_whole(number) or (isinstance(number, str) and len(number) <= MAX_ID) else None
            unpacker.skip()
    except Exception:  # whatever it is, there is no id in it
        return None
    return None


@dataclass(frozen=True, slots=True)
class MethodTable:
    """What a server answers: the requests by name, and what does each. `always` is done for whoever asks, if any is."""

    requests: Mapping[str, type[Request[Any]]]
    handlers: Handlers
    always: str = ""


@dataclass(frozen=True, slots=True)
class WireFormat:
    """How requests come and answers go; `id_of` finds the id of a request that is otherwise bad."""

    read: Callable[[bytes], MethodRequest]
    id_of: Callable[[bytes], int | str | None]
    pack: Callable[[Mapping[str, Any]], bytes]


MESSAGEPACK = WireFormat(read_request, request_id, pack_answer)
JSON = WireFormat(read_json, lambda _: None, msgspec.json.encode)


def serve(
    hub: ChannelHub,
    table: MethodTable,
    client: ConnectedClient,
    payload: bytes,
    reply: ReplyCallback,
    only: Refused | None = None,
    form: WireFormat = MESSAGEPACK,
) -> None:
    """Carry out a request; `reply` gets exactly one answer, now or later. Raises nothing.

    With `only`, the one thing that is done is what the table always does; all else is refused so.
    """
    try:
        request = form.read(payload)
    except Refused as error:
        client.rubbish += 1
        reply(_failure(form, form.id_of(payload), error))
        return
    note: list[str] = []

    def done(result: Any, error: Exception | None) -> None:
        reply(_answer(hub, form, request, result, error, note))

    try:
        if only is not None and (not table.always or request.method != table.always):
            raise only
        kind = table.requests.get(request.method)
        if kind is None:
            hint = did_you_mean(request.method, table.requests) or "see docs/channel.md for all methods"
            raise Refused("unknown_method", f"there is no method {shorten(request.method)!r}", hint)
        asked = check_request(kind, request.params)
        if authorise(hub, client, kind.method, kind.needs, control=kind.control):
            note.append(GAINED)
    except Refused as error:
        reply(_failure(form, request.id, error))
        return
    hub.waiting.start(table.handlers[kind](hub, client, asked), done)


def _answer(
    hub: ChannelHub,
    form: WireFormat,
    request: MethodRequest,
    result: Any,
    error: Exception | None,
    note: list[str],
) -> bytes:
    if isinstance(error, LogRefused):
        error = Refused("refused", str(error))
    if isinstance(error, Refused):
        return _failure(form, request.id, error)
    if error is not None:
        hub.recent.add("service_error", f"{request.method}: {type(error).__name__}: {error}")
        return _failure(form, request.id, Refused("failed", f"{request.method}: {type(error).__name__}: {error}"))
    if isinstance(result, Noted):
        result, note = result.answer, [result.note]
    return form.pack({"id": request.id, "ok": True, "result": result} | ({"note": note[0]} if note else {}))


def _failure(form: WireFormat, number: int | str | None, error: Refused) -> bytes:
    said = {"kind": error.kind, "text": printable_lines(error.text), "hint": printable_lines(error.hint)}
    return form.pack({"id": number, "ok": False, "error": said})
