"""A data directory, verified: first its sums, then every record against the equations."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgpack

from nuc_engine.verify.course import NEVER, RECORD, Progress, Real, Virtual
from nuc_engine.verify.documents import Model, Store, read_model
from nuc_engine.verify.leg import LIMP, Leg
from nuc_engine.verify.logs import DATA, EVENTS, SCRIPTS, Difference, Logs, Report
from nuc_engine.verify.scripts import by_hand, read_script
from nuc_engine.verify.servos import Unverifiable
from nuc_engine.verify.weight import Weight

MANIFEST, SCRIPT, PLANT = "manifest.json", "scriptfile.xml", "plant.toml"


@dataclass(frozen=True, slots=True)
class Verdict:
    """What was found. `records` were compared by file, `counts` are differences by file, of which some are kept.

    `changed_files` are not what the manifest's sums say; `unchecked` says what no equation covers.
    """

    changed_files: tuple[str, ...]
    records: Mapping[str, int]
    counts: Mapping[str, int]
    differences: tuple[Difference, ...]
    unchecked: tuple[str, ...]

    @property
    def good(self) -> bool:
        """Whether every file is what the bout left and every record is as computed."""
        return not self.changed_files and not self.counts


def verify_bout(folder: Path, progress: Progress = lambda _now, _end: None) -> Verdict:
    """Verify the bout in a data directory. Raises Unverifiable where nothing can be computed."""
    manifest = _read_manifest(folder)
    sums = {**manifest["inputs"], **manifest.get("files", {})}
    changed = sorted(name for name, expected in sums.items() if _sum(folder / name) != expected)
    report, unchecked = Report(), list[str]()
    try:
        records = _compute(folder, manifest, report, unchecked, progress)
    except Unverifiable as error:
        if not changed:
            raise
        records, unchecked = {}, [f"everything else: {error}"]
    except (KeyError, IndexError, TypeError, ValueError, ArithmeticError) as error:
        raise Unverifiable(f"{folder}: the record does not fit its documents: {type(error).__name__} {error}") from error
    return Verdict(tuple(changed), records, dict(report.counts), tuple(report.differences), tuple(unchecked))


def _compute(
    folder: Path, manifest: Mapping[str, Any], report: Report, unchecked: list[str], progress: Progress
) -> dict[str, int]:
    spec, virtual = manifest["spec"], manifest["clock"] == "virtual"
    model = read_model(folder, manifest["families"])
    record = _read_record(folder / RECORD, len(model.motors), virtual=virtual)
    lost_ns = next((entry[3] for entry in record if entry[0] == "lost"), None)
    logs = Logs(folder, model, manifest["configuration"], report, lost_ns)
    store = Store(model.hdsos)
    if virtual:
        for number, values in model.initial:
            store.write(number, values)
        if "engine_start_time" in model.ids:
            store.write(model.ids["engine_start_time"], [0])
        for number in model.hdsos:
            logs.answered(0, 0, number, store.values(number))
    else:
        store.load(record[1][3])
    share = spec["gravity_compensation"]
    weight = Weight(model, folder / PLANT, spec.get("plant", {}), share) if share else None
    leg = Leg(model, store, logs, limits=spec["limits"], approach_deg_s=spec.get("approach_deg_s"), weight=weight)
    if virtual:
        _run_virtual(folder, manifest, leg, logs, report, record, progress)
    else:
        Real(leg, logs, report, record, latched=_latched(logs, manifest)).run(lost_ns or NEVER, progress)
    return {}


def _run_virtual(
    folder: Path,
    manifest: Mapping[str, Any],
    leg: Leg,
    logs: Logs,
    report: Report,
    record: Sequence[Sequence[Any]],
    progress: Progress,
) -> None:
    spec = manifest["spec"]
    path = folder / SCRIPT if SCRIPT in manifest["inputs"] else None
    script = read_script(path, spec["values"], leg.model, leg.store)
    even = manifest["families"].get("") == "aimotor" and not any(word in manifest["bus"] for word in ("sync", "ten_bit"))
    course = Virtual(leg, logs, report, record, script, spec["costs"], even=even)
    end_ns = round(spec["duration_s"] * 1e9)
    course.run(end_ns, progress)
    logs.end(whole=True)


def _latched(logs: Logs, manifest: Mapping[str, Any]) -> int:
    return NEVER


def _sum(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else "missing"


def _read_manifest(folder: Path) -> dict[str, Any]:
    path = folder / MANIFEST
    try:
        manifest = json.loads(path.read_bytes())
    except (OSError, ValueError, RecursionError) as error:
        raise Unverifiable(f"{path}: cannot be read ({error}); expected the data directory of a bout") from error
    return manifest


def _read_record(path: Path, motors: int, *, virtual: bool) -> list[Any]:
    try:
        with path.open("rb") as file:
            record: list[Any] = list(msgpack.Unpacker(file, use_list=True))
    except (OSError, ValueError, msgpack.UnpackException) as error:
        raise Unverifiable(f"{path}: cannot be read ({error})") from error
    if not record or record[0] != ["head", 1, motors]:
        raise Unverifiable(f"{path}: does not begin with the head of a record of {motors} motors")
    if not virtual and (len(record) < 2 or record[1][0] != "store"):
        raise Unverifiable(f"{path}: the store at the start of the bout is not in it; logging began later")
    return record
