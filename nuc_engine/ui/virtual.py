"""Bouts on the virtual clock that somebody watches and steers: slower, cycle by cycle, or standing still.

An emulated leg in a process of its own (`nuc run --steered`), from what is in force; nothing of it reaches a daemon,
whose clock is never slowed. What it leaves is opened like a bout.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from time import monotonic
from typing import Annotated, Any

from msgspec import Meta, Struct
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from nuc_engine.ui import scripting
from nuc_engine.ui.answers import answer, asked_of, problem
from nuc_engine.ui.bouts import BoutReaders
from nuc_engine.ui.bridge import pack
from nuc_engine.ui.cycles import CycleFollower
from nuc_engine.ui.jobs import Job, JobQueue
from nuc_engine.ui.trials import begin_trial

ABANDONED_S = 120.0
"""A bout whose records nobody has asked for so long is ended. Pages in the background ask once a minute."""

_LOOK_S = 5.0


class SteerRequest(Struct, forbid_unknown_fields=True):
    """How it is to go on: one of these."""

    speed: Annotated[float, Meta(ge=0.001, le=100)] | None = None
    step: Annotated[int, Meta(gt=0, le=100_000)] | None = None
    pause: bool = False
    end: bool = False


@dataclass(slots=True)
class WatchedBout:
    """One of them. `scene` is what stands around its leg."""

    job: Job
    cycles: CycleFollower
    scene: Mapping[str, float] | None
    asked_s: float
    missed: int = 0
    seen: int = 0
    columns: Sequence[Mapping[str, str]] = ()


class VirtualPages:
    """Its readers and jobs are those of the bouts; `drives` says whether a bout drives real servos now."""

    def __init__(self, readers: BoutReaders, jobs: JobQueue, drives: Callable[[], bool]) -> None:
        self._readers, self._jobs, self._drives = readers, jobs, drives
        self._bouts: dict[str, WatchedBout] = {}
        self._looking: asyncio.Task[None] | None = None

    def routes(self) -> Sequence[BaseRoute]:
        """Return what is served."""
        return [
            Route("/api/virtual", self._begin, methods=["POST"]),
            Route("/api/virtual/{id}", self._one, methods=["GET"]),
            Route("/api/virtual/{id}", self._steer, methods=["POST"]),
            Route("/api/virtual/{id}/records", self._records, methods=["GET"]),
        ]

    async def close(self) -> None:
        """Let go of everything."""
        if self._looking is not None:
            self._looking.cancel()
        for bout in self._bouts.values():
            bout.cycles.close()

    async def _begin(self, request: Request) -> Response:
        begun = await begin_trial(request, "virtual clock", self._readers, self._jobs, held=self._drives, apart=True)
        if isinstance(begun, Response):
            return begun
        wanted, job = begun
        scene = await self._readers.ask("documents", scripting.scene, wanted.name, wanted.documents)
        self._forget()
        self._bouts[job.id] = WatchedBout(job, CycleFollower(job.folder / "cycles", earlier=True), scene, monotonic())
        if self._looking is None:
            self._looking = asyncio.create_task(self._look())
        return answer(self._told(self._bouts[job.id]), 202)

    async def _one(self, request: Request) -> Response:
        bout = self._bouts.get(request.path_params["id"])
        return _none() if bout is None else answer(self._told(bout))

    async def _steer(self, request: Request) -> Response:
        bout = self._bouts.get(request.path_params["id"])
        if bout is None:
            return _none()
        wanted = await asked_of(request, SteerRequest)
        if isinstance(wanted, Response):
            return wanted
        said = {key: value for key, value in _fields(wanted).items() if value}
        if len(said) != 1:
            return problem(400, "bad_request", "expected one of speed, step, pause, end")
        if not bout.job.say(said):
            return problem(409, "not_now", "this bout has ended, or has not begun yet")
        return answer(self._told(bout))

    async def _records(self, request: Request) -> Response:
        """Give the records since the last time, for the one page that watches."""
        bout = self._bouts.get(request.path_params["id"])
        if bout is None:
            return _none()
        bout.asked_s = monotonic()
        batch = bout.cycles.read(monotonic())
        bout.missed += batch.missed
        bout.seen += batch.missed + len(batch.records)
        if batch.records:
            bout.job.say({"seen": bout.seen})
        if batch.columns:
            bout.columns = [{"name": column.name, "unit": column.unit} for column in batch.columns]
        headers = {
            "x-nuc-columns": str(len(bout.columns)),
            "x-nuc-missed": str(bout.missed),
            "x-nuc-state": bout.job.state,
        }
        return Response(pack(0, batch.records), media_type="application/octet-stream", headers=headers)

    def _told(self, bout: WatchedBout) -> dict[str, Any]:
        return {**bout.job.told(), "columns": bout.columns, "plant": bout.scene, "missed": bout.missed}

    def _forget(self) -> None:
        for number, bout in list(self._bouts.items()):
            if self._jobs.find(number) is not bout.job:
                bout.cycles.close()
                del self._bouts[number]

    async def _look(self) -> None:
        while True:
            await asyncio.sleep(_LOOK_S)
            for bout in self._bouts.values():
                if monotonic() - bout.asked_s > ABANDONED_S:
                    bout.job.say({"end": True})


def _fields(wanted: SteerRequest) -> dict[str, Any]:
    return {"speed": wanted.speed, "step": wanted.step, "pause": wanted.pause, "end": wanted.end}


def _none() -> Response:
    return problem(404, "not_found", "no such bout on the virtual clock")
