"""Experiments over HTTP: which there are, what came of them, and running one in the background."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Annotated, Any

from msgspec import Meta, Struct
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from nuc_engine.analysis.errors import AnalysisError
from nuc_engine.ui import experimenting
from nuc_engine.ui.answers import answer, asked_of, problem
from nuc_engine.ui.bouts import BoutReaders
from nuc_engine.ui.jobs import JobQueue, too_many
from sccils_schemas.names import printable

MOST_REPETITIONS = 1000


class ExperimentRun(Struct, forbid_unknown_fields=True):
    """What is to be run: how many repetitions of each row, from which seed; `beside` a bout that drives hardware."""

    repeat: Annotated[int, Meta(ge=1, le=MOST_REPETITIONS)] = 20
    seed: Annotated[int, Meta(ge=0, lt=1 << 32)] | None = None
    keep: bool = False
    beside: bool = False


class ExperimentPages:
    """Its readers and jobs are those of the bouts; what is run is written below `data`, as `nuc experiment` does it.

    `drives` says whether a bout drives real servos now: nothing runs beside it that was not asked to.
    """

    def __init__(self, readers: BoutReaders, jobs: JobQueue, data: Path, drives: Callable[[], bool]) -> None:
        self._readers, self._jobs, self._data, self._drives = readers, jobs, data / "experiments", drives

    def routes(self) -> Sequence[BaseRoute]:
        """Return what is served."""
        return [
            Route("/api/experiments", self._list, methods=["GET"]),
            Route("/api/experiments/{name}", self._run, methods=["POST"]),
            Route("/api/experiments/{name}/{whose}", self._one, methods=["GET"]),
            Route("/api/experiments/{name}/{whose}/{file}", self._figure, methods=["GET"]),
        ]

    async def _list(self, request: Request) -> Response:
        del request
        try:
            found = await self._readers.ask("documents", experimenting.listed, self._data)
        except AnalysisError as error:
            return problem(422, "failed", printable(str(error)))
        return answer({"experiments": found, "folder": printable(str(self._data)), "drives": self._drives()})

    async def _one(self, request: Request) -> Response:
        return await self._read(request, experimenting.described)

    async def _figure(self, request: Request) -> Response:
        return await self._read(request, experimenting.figure, request.path_params["file"])

    async def _read(self, request: Request, function: Callable[..., Any], *more: str) -> Response:
        name, whose = request.path_params["name"], request.path_params["whose"]
        if whose not in ("published", "own"):
            return problem(404, "not_found", "there is nothing of this name")
        try:
            found = await self._readers.ask("documents", function, name, whose, self._data, *more)
        except AnalysisError as error:
            return problem(404, "not_found", printable(str(error)))
        return Response(found, media_type="image/png") if isinstance(found, bytes) else answer(found)

    async def _run(self, request: Request) -> Response:
        wanted = await asked_of(request, ExperimentRun)
        if isinstance(wanted, Response):
            return wanted
        name = request.path_params["name"]
        try:
            known = [each["name"] for each in await self._readers.ask("documents", experimenting.listed, self._data)]
        except AnalysisError as error:
            return problem(422, "failed", printable(str(error)))
        if name not in known:
            return problem(404, "not_found", "no such experiment")
        if self._drives() and not wanted.beside:
            text = "a bout drives real servos now, and an experiment takes the processors' time"
            return problem(409, "not_now", text, "wait for its end, or ask for it all the same")
        # One that was begun stands still while a bout drives servos that was begun after it.
        held = (lambda: False) if wanted.beside else self._drives
        job = self._jobs.start("experiment", name, words(name, wanted, self._data), held=held)
        return too_many() if job is None else answer(job.told(), 202)


def words(name: str, wanted: ExperimentRun, data: Path) -> list[str]:
    """Return the words after `nuc` that run an experiment."""
    seed = [] if wanted.seed is None else ["--seed", str(wanted.seed)]
    keep = ["--keep"] if wanted.keep else []
    return ["experiment", name, "--repeat", str(wanted.repeat), *seed, *keep, "--out", str(data), "--json"]
