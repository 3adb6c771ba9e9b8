"""A recorded bout as a new one: from the values it began with, with the edits it was given, on another bus or leg.

What it was does not come back, since a leg is no calculation; what can be compared is how it stepped.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from drivers.factory import DEFAULT_FAMILY
from drivers.units import NS_PER_S
from nuc_engine.analysis.errors import AnalysisError
from nuc_engine.analysis.summary import Summary, summarise
from nuc_engine.bout.replay import ReplayRefused
from nuc_engine.bout.run import BoutProgress, BoutSpec, prepare_bout, run_bout
from nuc_engine.machine.locations import PLANT_SPEC_FILE, NotFound, find_configuration
from nuc_engine.model.plan import Plan
from nuc_engine.model.planning import companion_files
from nuc_engine.model.store import Store, StoreError
from nuc_engine.plants.spec import spec_file
from nuc_engine.recording import inputs, manifest
from nuc_engine.recording.files import INPUT_RECORD
from nuc_engine.recording.reach import find_reach
from nuc_engine.recording.scriptlog import hdso_mod
from sccils_schemas.model import MODEL_FILES

if TYPE_CHECKING:
    from nuc_engine.client import Client
    from nuc_engine.messages.answers import Status

_LOOK_S = 0.5
_LOOKS = 20
_HEAD = """<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE hdsoscript SYSTEM "hdsoscript.dtd">
<hdsoscript ScriptType="LegScript" name="again">
"""


@dataclass(frozen=True, slots=True)
class AgainReport:
    """A new bout, how the old and the new one stepped (None: could not be judged), and what was not repeated.

    `folder` is where the new one is, as the daemon says where a daemon ran it; `state` and `reason` how it ended.
    """

    folder: Path
    state: str
    reason: str
    then: Summary | None
    now: Summary | None
    left_out: tuple[str, ...]


def run_again(
    folder: Path, out: Path, *, bus: str | None = None, seed: int = 0, progress: BoutProgress | None = None
) -> AgainReport:
    """Run a bout of the daemon again, on virtual time, into a directory of its own.

    Without `bus` the emulated leg of the bout's own plant.toml, or else of its configuration's. Raises ReplayRefused
    for a directory that is none of a daemon's bout from its start, and what `run_bout` raises when it refuses.
    """
    record, entries, duration_s = _read(folder)
    plant = _find_plant(folder, record.configuration) if bus is None else None
    prepared = prepare_bout(str(folder), None, record.configuration, families=record.families)
    text = _text(folder, prepared.plan, entries)
    gravity = float(record.spec.get("gravity_compensation", 0.0))
    if plant is None and gravity:
        # The masses, where servos without a leg need no other description of it.
        plant = _find_plant(folder, record.configuration)
    with tempfile.TemporaryDirectory(prefix="nuc-again-") as scratch:
        config, script = Path(scratch) / "config", Path(scratch) / "again.xml"
        script.write_text(text, encoding="utf-8", newline="\n")
        config.mkdir()
        for name in (*MODEL_FILES, *companion_files(prepared.model)):
            shutil.copy(folder / name, config)
        if plant is not None:
            shutil.copy(plant, config / PLANT_SPEC_FILE)
        limits: dict[str, int] = dict(record.spec.get("limits", {}))
        spec = BoutSpec(
            config=str(config),
            out=out,
            script=str(script),
            duration_s=duration_s,
            seed=seed,
            bus=bus or _emulated(record),
            gravity_compensation=gravity,
            name=record.configuration,
            limits=limits,
        )
        result = run_bout(spec, progress)
    left_out = tuple(_left_out(entries, plant if plant is not None and plant.parent != folder else None))
    return AgainReport(out, result.state, result.reason, _summary(folder), _summary(out), left_out)


def run_again_on(
    folder: Path, daemon: Client, *, sleep: Callable[[float], None], progress: BoutProgress | None = None
) -> AgainReport:
    """Let a daemon run a bout again, on whatever bus it has. It must be allowed to drive: nothing is armed here.

    `sleep` passes the time between two looks at how far it is. Raises ReplayRefused as `run_again` does, and what the
    daemon's client raises.
    """
    record, entries, duration_s = _read(folder)
    prepared = prepare_bout(str(folder), None, record.configuration, families=record.families)
    text = _text(folder, prepared.plan, entries)
    names = (*MODEL_FILES, *companion_files(prepared.model))
    documents = {name: (folder / name).read_text(encoding="utf-8") for name in names}
    daemon.configure(record.configuration, documents)
    daemon.script(text)
    started = daemon.run(stop_s=duration_s, labels={"again": folder.name})
    place, status = str(started.folder), daemon.status()
    while status.bout == started.bout:
        place = place or str(status.logging.get("folder") or "")
        if progress is not None:
            progress(min(max(0.0, status.engine_time_s or 0.0), duration_s), duration_s)
        sleep(_LOOK_S)
        status = daemon.status()
    out = Path(place)
    left_out = tuple(_left_out(entries, None))
    return AgainReport(out, *_await_end(out, status, sleep), _summary(folder), _summary(out), left_out)


def _await_end(out: Path, status: Status, sleep: Callable[[float], None]) -> tuple[str, str]:
    """Return how the bout ended by its manifest, where that can be read from here, else by the daemon's mode."""
    for _ in range(_LOOKS):
        try:
            record = manifest.read_manifest(out)
        except manifest.ManifestError:
            break
        if record.state != "running":
            return record.state, record.reason
        sleep(_LOOK_S)
    if status.latched:
        return "fault" if status.mode == "FAULT" else "interrupted", status.latch_reason
    return "complete", f"the daemon is {status.mode}"


def _text(folder: Path, plan: Plan, entries: Sequence[Sequence[Any]]) -> str:
    return _HEAD + "".join(f"  {line}\n" for line in _script(folder, plan, entries)) + "</hdsoscript>\n"


def _find_plant(folder: Path, configuration: str) -> Path:
    """Return the leg to emulate: the bout's own, else that of the configuration of this name."""
    places = [folder]
    with suppress(NotFound):
        places.append(find_configuration(configuration))
    for place in places:
        if (place / PLANT_SPEC_FILE).exists():
            return spec_file(place / PLANT_SPEC_FILE)
    raise ReplayRefused(f"{folder}: has no {PLANT_SPEC_FILE}, so there is no leg to emulate; choose --bus loopback:")


def _emulated(record: manifest.Manifest) -> str:
    """Return the bus of the same servos, emulated. Raises ReplayRefused where there were several families."""
    families = sorted(set(record.families.values()))
    if len(families) > 1:
        raise ReplayRefused(f"its buses were of the families {' and '.join(families)}; choose one with --bus")
    return f"emulated:{families[0]}" if families and families[0] != DEFAULT_FAMILY else "emulated:"


def _read(folder: Path) -> tuple[manifest.Manifest, list[list[Any]], float]:
    try:
        record = manifest.read_manifest(folder)
        entries = list(inputs.read_inputs(folder / INPUT_RECORD))
    except (manifest.ManifestError, inputs.InputRecordError) as error:
        raise ReplayRefused(str(error)) from error
    except OSError as error:
        raise ReplayRefused(f"{folder / INPUT_RECORD}: {error.strerror}; nothing to repeat") from error
    reach = find_reach(folder)
    first = next((entry for entry in entries if entry[0] in ("store", "cycle")), None)
    if reach is None or first is None or first[0] != "store":
        raise ReplayRefused(
            f"{folder}: the store at the start is not in it; a bout of `nuc run` is repeated without --again"
        )
    return record, entries, max(1, reach.last_ns) / NS_PER_S


def _script(folder: Path, plan: Plan, entries: Sequence[Sequence[Any]]) -> list[str]:
    """Return hdsoMods: at 0 what the bout began with where the configuration says otherwise, then its edits."""
    began, given = Store(plan), Store(plan)
    for write in plan.initial:
        given.write(write.hdso, write.values)
    try:
        began.load_bytes(next(entry[3] for entry in entries if entry[0] == "store"))
    except StoreError as error:
        raise ReplayRefused(f"{folder / INPUT_RECORD}: {error}") from error
    lines: list[str] = []
    for hdso in plan.hdsos:
        values = began.values(hdso.index)
        writable = hdso.kind in ("parameter", "boolstring")
        if writable and values is not None and values != given.values(hdso.index):
            lines.append(hdso_mod(hdso, values, 0))
    made = (entry for entry in entries if entry[0] == "edit" and not entry[5])
    return lines + [hdso_mod(plan.hdso(entry[3]), tuple(entry[4]), entry[2]) for entry in made]


def _left_out(entries: Sequence[Sequence[Any]], plant: Path | None) -> list[str]:
    controls = sum(entry[0] == "control" and not entry[6] for entry in entries)
    lost = sum(sum(entry[4].values()) for entry in entries if entry[0] == "lost")
    found: list[str] = []
    if plant is not None:
        found.append(f"the leg: it is that of {plant} as it is now")
    if controls:
        found.append(f"{controls} joint mode(s), target(s) or tweak(s): a script has no words for them")
    if lost:
        found.append(f"what stood in {lost} record(s) that were lost")
    return found


def _summary(folder: Path) -> Summary | None:
    try:
        return summarise(folder)
    except AnalysisError:
        return None
