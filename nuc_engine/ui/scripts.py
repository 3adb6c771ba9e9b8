"""Scripts and configurations that are edited, over HTTP: what there is to write in them, what they do, dry runs.

What is read, checked, stored or sent is asked of the daemon by the tab itself; nothing here speaks to one.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from msgspec import Struct
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from nuc_engine.analysis.errors import AnalysisError
from nuc_engine.ui import scripting
from nuc_engine.ui.answers import MOST_LONG, answer, asked_of, problem
from nuc_engine.ui.bouts import BoutReaders
from nuc_engine.ui.jobs import JobQueue
from nuc_engine.ui.trials import begin_trial
from sccils_schemas.names import printable


class SavedRequest(Struct, forbid_unknown_fields=True):
    """A configuration, by texts of its files, of which the values are to be told that a bout begins with."""

    documents: dict[str, str]


class TimelineRequest(Struct, forbid_unknown_fields=True):
    """An hdsoscript whose changes are to be told."""

    text: str


class DifferencesRequest(Struct, forbid_unknown_fields=True):
    """Two configurations, by texts of their files; `values` are in force in the first, by name."""

    name: str
    before: dict[str, str]
    after: dict[str, str]
    values: dict[str, Any] | None = None


class ScriptPages:
    """What the page of scripts and configurations asks for; its readers and jobs are those of the bouts."""

    def __init__(self, readers: BoutReaders, jobs: JobQueue) -> None:
        self._readers, self._jobs = readers, jobs

    def routes(self) -> Sequence[BaseRoute]:
        """Return what is served."""
        return [
            Route("/api/saved", self._saved, methods=["POST"]),
            Route("/api/schema", self._schema, methods=["GET"]),
            Route("/api/timeline", self._timeline, methods=["POST"]),
            Route("/api/differences", self._differences, methods=["POST"]),
            Route("/api/dryruns", self._dry_run, methods=["POST"]),
        ]

    async def _saved(self, request: Request) -> Response:
        wanted = await asked_of(request, SavedRequest, MOST_LONG)
        if isinstance(wanted, Response):
            return wanted
        return await self._worked_out(scripting.saved_values, wanted.documents)

    async def _schema(self, request: Request) -> Response:
        del request
        return await self._worked_out(scripting.schema)

    async def _timeline(self, request: Request) -> Response:
        wanted = await asked_of(request, TimelineRequest, MOST_LONG)
        if isinstance(wanted, Response):
            return wanted
        return await self._worked_out(scripting.timeline, wanted.text)

    async def _differences(self, request: Request) -> Response:
        wanted = await asked_of(request, DifferencesRequest, MOST_LONG)
        if isinstance(wanted, Response):
            return wanted
        return await self._worked_out(scripting.differences, wanted.name, wanted.before, wanted.values, wanted.after)

    async def _dry_run(self, request: Request) -> Response:
        begun = await begin_trial(request, "dry run", self._readers, self._jobs)
        return begun if isinstance(begun, Response) else answer(begun[1].told(), 202)

    async def _worked_out(self, function: Any, *given: Any) -> Response:
        try:
            return answer(await self._readers.ask("documents", function, *given))
        except AnalysisError as error:
            return problem(422, "failed", printable(str(error)))
