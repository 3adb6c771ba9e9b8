"""Diagrams over HTTP: of a configuration with values in force. Those of a bout are among its other parts (`bouts`)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from msgspec import Struct
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from nuc_engine.analysis.errors import AnalysisError
from nuc_engine.ui import drawing
from nuc_engine.ui.answers import MOST_LONG, answer, asked_of, problem
from nuc_engine.ui.bouts import BoutReaders
from sccils_schemas.names import printable


class DiagramRequest(Struct, forbid_unknown_fields=True):
    """A configuration, by texts of its files, and values in force, by name; of `regions`, one joint ("": all)."""

    name: str
    documents: dict[str, str]
    values: dict[str, Any]
    what: str
    joint: str = ""


class DiagramPages:
    """What the page of diagrams asks for; its readers are those of the bouts."""

    def __init__(self, readers: BoutReaders) -> None:
        self._readers = readers

    def routes(self) -> Sequence[BaseRoute]:
        """Return what is served."""
        return [Route("/api/diagrams", self._draw, methods=["POST"])]

    async def _draw(self, request: Request) -> Response:
        wanted = await asked_of(request, DiagramRequest, MOST_LONG)
        if isinstance(wanted, Response):
            return wanted
        try:
            words = (wanted.name, wanted.documents, wanted.values, wanted.what, wanted.joint)
            return answer(await self._readers.ask("documents", drawing.in_force, *words))
        except AnalysisError as error:
            return problem(422, "failed", printable(str(error)))
