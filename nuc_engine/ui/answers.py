"""Bodies of HTTP requests within bounds, and answers in JSON."""

from __future__ import annotations

from typing import Any, TypeVar

import msgspec
from msgspec import Struct
from starlette.requests import Request
from starlette.responses import Response

MOST_BODY = 65_536

MOST_LONG = 4 << 20
"""Bytes of a body with documents in it."""

T = TypeVar("T", bound=Struct)


async def body_of(request: Request, most: int = MOST_BODY) -> bytes | None:
    """Return a request's body, None where it is longer than `most` bytes."""
    content = bytearray()
    async for chunk in request.stream():
        content += chunk
        if len(content) > most:
            return None
    return bytes(content)


async def asked_of(request: Request, kind: type[T], most: int = MOST_BODY) -> T | Response:
    """Return what a request's body asks for, which may be nothing at all, or the answer that says why it is none."""
    content = await body_of(request, most)
    if content is None:
        return problem(413, "bad_request", f"expected a body of at most {most:,} bytes")
    try:
        return msgspec.json.decode(content or b"{}", type=kind)
    except (msgspec.MsgspecError, UnicodeError, RecursionError) as error:
        return problem(400, "bad_request", str(error))


def answer(content: Any, status: int = 200) -> Response:
    """Return an answer in JSON."""
    return Response(msgspec.json.encode(content), status, media_type="application/json")


def problem(status: int, kind: str, text: str, hint: str = "") -> Response:
    """Return what went wrong, in JSON."""
    return answer({"error": {"kind": kind, "text": text, "hint": hint}}, status)
