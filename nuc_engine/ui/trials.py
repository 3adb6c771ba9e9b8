"""Bouts of an emulated leg from what is in force, in a process of their own: dry runs, and those that are steered."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Annotated, Any

from msgspec import Meta, Struct
from starlette.requests import Request
from starlette.responses import Response

from nuc_engine.analysis.errors import AnalysisError
from nuc_engine.ui import scripting
from nuc_engine.ui.answers import MOST_LONG, asked_of, problem
from nuc_engine.ui.bouts import BoutReaders
from nuc_engine.ui.jobs import Job, JobQueue, too_many
from sccils_schemas.names import printable

LONGEST_S = 3600.0
NOTE = "from the values and the pose in force, on the plant's ground"

Name = Annotated[str, Meta(pattern=r"\A[A-Za-z0-9_-]{0,64}\Z")]


class TrialRequest(Struct, forbid_unknown_fields=True):
    """What a bout begins from: values and joint angles (degrees) in force, and a script where there is to be one."""

    name: str
    documents: dict[str, str]
    values: dict[str, Any]
    angles: dict[str, float]
    duration_s: Annotated[float, Meta(gt=0, le=LONGEST_S)]
    seed: Annotated[int, Meta(ge=0, lt=1 << 32)] = 0
    script: str | None = None
    script_name: Name = ""
    """What the script is called, for a line that does the same."""


async def begin_trial(
    request: Request,
    kind: str,
    readers: BoutReaders,
    jobs: JobQueue,
    *,
    held: Callable[[], bool] = lambda: False,
    apart: bool = False,
) -> tuple[TrialRequest, Job] | Response:
    """Begin what a request asks for, as a job; or answer why not. One that is `apart` is steered."""
    wanted = await asked_of(request, TrialRequest, MOST_LONG)
    if isinstance(wanted, Response):
        return wanted
    try:
        found: tuple[Mapping[str, bytes], Mapping[str, float]] = await readers.ask(
            "documents",
            scripting.trial_files,
            wanted.name,
            wanted.documents,
            wanted.values,
            wanted.angles,
            wanted.script,
        )
    except AnalysisError as error:
        return problem(422, "failed", printable(str(error)))
    files, plant = found
    numbers = ["--duration", repr(wanted.duration_s), "--seed", str(wanted.seed)]
    numbers += [word for key, value in plant.items() for word in ("--plant", f"{key}={value!r}")]
    scripted = wanted.script is not None
    own = [f"{{folder}}/{wanted.name}", *(("--script", f"{{folder}}/{scripting.SCRIPT}") if scripted else ())]
    told = ["--out", "{folder}/bout", "--json", "--label", f"kind={kind}", "--note", NOTE]
    steered = ["--steered", "{folder}/cycles"] if apart else []
    # Whoever types it has the values in force as a configuration of their own: `nuc ctl save`.
    theirs = [f"{wanted.name}_now", *(("--script", f"{wanted.script_name}.xml") if scripted else ())]
    job = jobs.start(
        kind,
        wanted.name,
        ["run", *own, *numbers, *told, *steered],
        files=files,
        held=held,
        apart=apart,
        typed=["run", *theirs, *numbers, *(("--steered", "cycles") if apart else ())],
    )
    return too_many() if job is None else (wanted, job)
