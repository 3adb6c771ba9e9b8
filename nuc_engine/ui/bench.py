"""Around servos, over HTTP: what faults and counts mean, and the commands that look at a bus or at the machine.

The commands are fixed ones, which read and move nothing; what the page may choose of them is checked here, word by
word, before it becomes part of a command line. A port that a daemon drives is in use, and the command says so.
"""

from __future__ import annotations

import glob
import os
import re
import stat
from collections.abc import Sequence
from typing import Annotated, Any, TypeVar

from msgspec import Meta, Struct
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from drivers.bus import COUNTS
from drivers.errors import BusUrlError
from drivers.factory import EMULATED, family_names, is_emulated, parse_line
from drivers.servo import ReplyStatus
from drivers.url import split_url
from nuc_engine.control.faults import FAULTS, OFF, hint_of
from nuc_engine.daemon.modes import Input, Mode, Refusal, transition
from nuc_engine.ui.answers import answer, asked_of, problem
from nuc_engine.ui.jobs import JobQueue, too_many

T = TypeVar("T", bound=Struct)

_LONGEST = 512
_ADAPTERS = ("/dev/serial/by-id/*", "/dev/ttyUSB[0-9]*", "/dev/ttyACM[0-9]*")
_MOST_ADAPTERS = 32
_EMULATED_OPTIONS = re.compile(r"[a-z_]+=[-+.0-9eE]{1,20}(&[a-z_]+=[-+.0-9eE]{1,20}){0,19}")

BusAddress = Annotated[str, Meta(min_length=1, max_length=_LONGEST)]
ServoId = Annotated[int, Meta(ge=0, le=255)]
ModelName = Annotated[str, Meta(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,39}\Z")]
"""No option of a command line, nor anything else than a name."""


class DoctorRequest(Struct, forbid_unknown_fields=True):
    """Look at this machine."""


class ScanRequest(Struct, forbid_unknown_fields=True):
    """Look who is on a bus."""

    url: BusAddress
    all_rates: bool = False
    config: ModelName | None = None


class RegistersRequest(Struct, forbid_unknown_fields=True):
    """Read what a servo is set to."""

    url: BusAddress
    id: ServoId
    model: ModelName | None = None


class BenchTools:
    """Routes; the jobs are begun in the queue that all others of the page wait in too."""

    def __init__(self, jobs: JobQueue) -> None:
        self._jobs = jobs

    def routes(self) -> Sequence[BaseRoute]:
        """Return what is served."""
        return [
            Route("/api/bench", self._known, methods=["GET"]),
            Route("/api/bench/doctor", self._doctor, methods=["POST"]),
            Route("/api/bench/scan", self._scan, methods=["POST"]),
            Route("/api/bench/registers", self._registers, methods=["POST"]),
        ]

    async def _known(self, request: Request) -> Response:
        adapters = [path for pattern in _ADAPTERS for path in sorted(glob.glob(pattern))][:_MOST_ADAPTERS]
        told = {"faults": faults(), "counts": {**COUNTS}, "refused": refusals(), "families": family_names()}
        statuses = {str(int(status)): status.name.lower() for status in ReplyStatus}
        return answer({**told, "statuses": statuses, "adapters": adapters})

    async def _doctor(self, request: Request) -> Response:
        return await self._begin(request, DoctorRequest, lambda _: ["doctor", "--json"])

    async def _scan(self, request: Request) -> Response:
        return await self._begin(request, ScanRequest, scan_words)

    async def _registers(self, request: Request) -> Response:
        return await self._begin(request, RegistersRequest, register_words)

    async def _begin(self, request: Request, kind: type[T], words_of: Any) -> Response:
        wanted = await asked_of(request, kind)
        if isinstance(wanted, Response):
            return wanted
        try:
            words = words_of(wanted)
        except BusUrlError as error:
            return problem(400, "bad_request", str(error))
        job = self._jobs.start(kind.__name__.removesuffix("Request").lower(), "", words)
        return too_many() if job is None else answer(job.told(), 202)


def faults() -> list[dict[str, Any]]:
    """Return the table of faults, and torque off that was asked for, as docs/faults.md has them."""
    rows = [
        {
            "name": name,
            "does": {process.value: effect.told for process, effect in fault.effects.items()},
            "once": fault.once,
            "hint": fault.hint,
        }
        for name, fault in FAULTS.items()
    ]
    return [*rows, {"name": OFF, "does": {}, "once": "somebody asks for it", "hint": hint_of(OFF)}]


def refusals() -> dict[str, str]:
    """Return why joints can not be moved, by mode; `latched`: in any other, while torque is off and latched."""
    found: dict[str, str] = {}
    for mode in Mode:
        for latched in (False, True):
            try:
                transition(mode, Input.POSE, latched=latched)
            except Refusal as error:
                found.setdefault("latched" if latched and mode.name not in found else mode.name, str(error))
    return found


def scan_words(wanted: ScanRequest) -> list[str]:
    """Return the words after `nuc` that look who is on a bus. Raises BusUrlError."""
    words = ["bus", "scan", checked_url(wanted.url), "--json"]
    words += ["--all-rates"] if wanted.all_rates else []
    return words + ([] if wanted.config is None else [f"--config={wanted.config}"])


def register_words(wanted: RegistersRequest) -> list[str]:
    """Return the words after `nuc` that read what a servo is set to. Raises BusUrlError."""
    words = ["bus", "set", checked_url(wanted.url), str(wanted.id), "--json"]
    return words + ([] if wanted.model is None else [f"--model={wanted.model}"])


def checked_url(url: str) -> str:
    """Return the URL of a bus: emulated servos, or a serial port that is there. Raises BusUrlError."""
    if not url.isprintable():
        raise BusUrlError("a bus URL has nothing in it but what can be printed")
    if is_emulated(url):
        _, family, query = split_url(url)
        if family not in ("", *family_names()) or (query and not _EMULATED_OPTIONS.fullmatch(query)):
            raise BusUrlError(f"{url!r}: expected {EMULATED}:[FAMILY][?OPTION=NUMBER&...]")
        return url
    path = parse_line(url).path
    try:
        if stat.S_ISCHR(os.stat(path).st_mode):
            return url
    except (OSError, ValueError):
        pass
    raise BusUrlError(f"{path}: no such device; plug the adapter in, or give the path of one that is there")
