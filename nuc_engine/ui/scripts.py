"""Scripts and configurations that are edited, over HTTP: what there is to write in them, what they do, dry runs.

What is read, checked, stored or sent is asked of the daemon by the tab itself; nothing here speaks to one.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from msgspec import Struct
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from nuc_engine.analysis.errors import AnalysisError
from nuc_engine.ui import scripting
from nuc_engine.ui.answers import MOST_LONG, answer, asked_of, problem
from nuc_engine.ui.bouts import BoutReaders
from nuc_engine.ui.jobs import JobQueue, too_many
from sccils_schemas.names import printable

LONGEST_S = 3600.0
"""Longest dry run."""


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


class DryRunRequest(Struct, forbid_unknown_fields=True):
    """A script to be tried from values and joint angles (degrees) in force, on the virtual clock."""

    name: str
    documents: dict[str, str]
    values: dict[str, Any]
    angles: dict[str, float]
    script: str
    duration_s: float
    seed: int = 0


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
        wanted = await asked_of(request, DryRunRequest, MOST_LONG)
        if isinstance(wanted, Response):
            return wanted
        if not 0 < wanted.duration_s <= LONGEST_S or not 0 <= wanted.seed < 1 << 32:
            return problem(400, "bad_request", f"expected a duration up to {LONGEST_S:g} s, and a seed of 32 bits")
        if not all(math.isfinite(angle) for angle in wanted.angles.values()):
            return problem(400, "bad_request", "expected finite angles")
        try:
            files: Mapping[str, bytes] = await self._readers.ask(
                "documents", scripting.dry_run_files, wanted.name, wanted.documents, wanted.values, wanted.script
            )
            plant = await self._readers.ask("documents", scripting.start_pose, wanted.documents, wanted.angles)
        except AnalysisError as error:
            return problem(422, "failed", printable(str(error)))
        words = scripting.words("{folder}", wanted.name, plant, wanted.duration_s, wanted.seed)
        job = self._jobs.start("dry run", wanted.name, words, files=files)
        if job is None:
            return too_many()
        return answer(job.told(), 202)

    async def _worked_out(self, function: Any, *given: Any) -> Response:
        try:
            return answer(await self._readers.ask("documents", function, *given))
        except AnalysisError as error:
            return problem(422, "failed", printable(str(error)))
