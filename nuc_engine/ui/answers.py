"""Bodies of HTTP requests within bounds, and answers in JSON."""

from __future__ import annotations

from typing import Any

import msgspec
from starlette.requests import Request
from starlette.responses import Response

MOST_BODY = 65_536


async def body_of(request: Request, most: int = MOST_BODY) -> bytes:
    """Return a request's body; nothing of one that is longer than `most` bytes."""
    content = b""
    async for chunk in request.stream():
        content += chunk
        if len(content) > most:
            return b""
    return content


def answer(content: Any, status: int = 200) -> Response:
    """Return an answer in JSON."""
    return Response(msgspec.json.encode(content), status, media_type="application/json")


def problem(status: int, kind: str, text: str, hint: str = "") -> Response:
    """Return what went wrong, in JSON."""
    return answer({"error": {"kind": kind, "text": text, "hint": hint}}, status)
