"""Repeating a bout from its own data directory, and saying where the repetition differs.

Two ways: the whole bout again on the virtual clock (`replay_bout`), or the recorded replies through the tasks
(`replay_inputs`), which also works for a bout on hardware.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from drivers.port import NEVER
from drivers.servo import ReplyStatus
from nuc_engine.bout import SCRIPT_FILE, BoutSpec, Progress, prepare_bout, run_bout
from nuc_engine.changes import Changeset, Write
from nuc_engine.executive import Executive
from nuc_engine.faults import EngineFault
from nuc_engine.plan import Plan
from nuc_engine.recording import columns, inputs, manifest
from nuc_engine.recording.recorder import BoutRecorder
from nuc_engine.store import Store

_NS = 1_000_000_000
_TASK_FILES = ("MotorData.txt", "SensData.txt", "StateData.txt", "MuscleData.txt", "Scriptlog.xml")


class ReplayRefused(Exception):
    """A directory that can not be repeated; the message says why."""


@dataclass(frozen=True, slots=True)
class Difference:
    """Where a file first differs: `record` counts lines from 1; `field` is named by columns.json where it can be."""

    file: str
    record: int
    time_ns: int | None
    field: str
    then: str
    now: str


@dataclass(frozen=True, slots=True)
class ReplayReport:
    """What a repetition found.

    `changed_files` differ from the sums in the manifest (or are missing), so the directory is no longer what the bout
    left; `changed_versions` maps a name to (then, now); `difference` is the earliest record that came out otherwise.
    """

    changed_files: tuple[str, ...]
    changed_versions: Mapping[str, tuple[str, str]]
    difference: Difference | None
    compared: tuple[str, ...]

    @property
    def identical(self) -> bool:
        """Whether the directory is untouched and the repetition gave the same bytes."""
        return not self.changed_files and self.difference is None


def replay_bout(folder: Path, progress: Progress | None = None) -> ReplayReport:
    """Run the bout of a data directory again and compare every file its manifest lists.

    A bout that was interrupted is repeated as far as it went. Raises ReplayRefused for a directory that is no
    repeatable bout, and what `run_bout` raises when its configuration no longer loads.
    """
    record = _read_manifest(folder)
    if record["clock"] != "virtual":
        raise ReplayRefused(f"{folder}: ran on real hardware; repeat the recorded replies instead (--recorded)")
    spec: dict[str, Any] = dict(record["spec"])
    whole = record["state"] in ("complete", "fault")
    if not whole:
        spec["duration_s"] = _reached_s(folder, record)
    script = folder / SCRIPT_FILE
    with tempfile.TemporaryDirectory(prefix="nuc-replay-") as scratch:
        out = Path(scratch) / "bout"
        run_bout(
            BoutSpec(
                config=str(folder),
                out=out,
                script=str(script) if script.exists() else None,
                name=record["configuration"],
                **spec,
            ),
            progress,
        )
        names = sorted(set(record["files"]) - set(record["inputs"])) if whole else list(_TASK_FILES)
        return _report(folder, out, record, names, whole=whole)


def replay_inputs(folder: Path) -> ReplayReport:
    """Feed the recorded replies and edits through the tasks and compare what the tasks logged.

    Raises ReplayRefused for a directory without an input record.
    """
    record = _read_manifest(folder)
    path = folder / inputs.FILE
    if not path.exists():
        raise ReplayRefused(f"{folder}: has no {inputs.FILE}; nothing to feed through the tasks")
    prepared = prepare_bout(str(folder), None, record["configuration"])
    plan = prepared.plan
    cycles, changesets = _read_inputs(path, plan)
    with tempfile.TemporaryDirectory(prefix="nuc-replay-") as scratch:
        out = Path(scratch)
        store = Store(plan)
        recorder = BoutRecorder(out, prepared.model, plan, store)
        costs, limits = record["spec"]["costs"], record["spec"]["limits"]
        executive = Executive(
            plan,
            _RecordedBus(plan, cycles),
            recorder,
            store=store,
            costs=costs,
            limits=[limits.get(motor.name) for motor in plan.motors],
        )
        executive.load(changesets)
        try:
            executive.run_until(round(_reached_s(folder, record) * _NS))
        except EngineFault as fault:
            recorder.event(executive.clock.now_ns, "fault", str(fault))
        recorder.close()
        return _report(folder, out, record, list(_TASK_FILES), whole=record["state"] in ("complete", "fault"))


class _RecordedBus:
    """A bus that gives the recorded replies at their recorded times, whatever is sent."""

    def __init__(self, plan: Plan, cycles: Sequence[Sequence[Any]]) -> None:
        count = len(plan.motors)
        self._cycles = cycles
        self._next = 0
        self.position_raw, self.current_raw = [0] * count, [0] * count
        self.status, self.stamp_ns, self.misses = [0] * count, [0] * count, [0] * count

    def start(self, now_ns: int, goals: list[int]) -> None:
        """Make the next recorded cycle the one under way."""
        del now_ns, goals
        self._next += 1

    def run_until(self, horizon_ns: int) -> int:
        """Return when the recorded cycle was complete; NEVER when that is past the horizon, or nothing is left."""
        if not 0 < self._next <= len(self._cycles):
            return NEVER
        _, _, time_ns, positions, currents, status, stamps = self._cycles[self._next - 1]
        if time_ns > horizon_ns:
            return NEVER
        self.position_raw, self.current_raw, self.status, self.stamp_ns = positions, currents, status, stamps
        ok = int(ReplyStatus.OK)
        self.misses = [0 if s == ok else misses + 1 for s, misses in zip(status, self.misses, strict=True)]
        return time_ns

    def set_level(self, level: int) -> None:
        """Nothing to set: the replies are given."""

    def torque_off(self, now_ns: int) -> None:
        """Nothing to switch off."""


def _read_inputs(path: Path, plan: Plan) -> tuple[list[list[Any]], list[Changeset]]:
    cycles: list[list[Any]] = []
    edits: dict[int, list[Write]] = {}
    for record in inputs.read_inputs(path):
        if record[0] == "cycle":
            cycles.append(record)
        elif record[0] == "edit":
            edits.setdefault(record[2], []).append(Write(plan.hdso(record[3]).index, tuple(record[4])))
    return cycles, [Changeset(time, tuple(writes)) for time, writes in sorted(edits.items())]


def _read_manifest(folder: Path) -> dict[str, Any]:
    path = folder / manifest.FILE
    try:
        record = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError as error:
        raise ReplayRefused(f"{folder}: has no {manifest.FILE}; expected a data directory of `nuc run`") from error
    except (OSError, ValueError) as error:
        raise ReplayRefused(f"{path}: can not be read ({error})") from error
    if not isinstance(record, dict) or record.get("format") != manifest.FORMAT:
        raise ReplayRefused(f"{path}: is not a manifest of format {manifest.FORMAT}")
    missing = {"clock", "spec", "state", "configuration", "versions"} - set(record)
    if missing:
        raise ReplayRefused(f"{path}: lacks {', '.join(sorted(missing))}")
    return {"files": {}, "inputs": {}, **record}


def _reached_s(folder: Path, record: Mapping[str, Any]) -> float:
    if "simulated_s" in record:
        return float(record["simulated_s"])
    # The bout was killed: its last whole motor record says how far it came.
    lines = (folder / "MotorData.txt").read_text(encoding="utf-8").splitlines()
    if not lines:
        raise ReplayRefused(f"{folder}: nothing was recorded")
    return (int(lines[-1].split()[0]) + 1) / _NS


def _report(folder: Path, out: Path, record: Mapping[str, Any], names: Sequence[str], *, whole: bool) -> ReplayReport:
    sums: Mapping[str, str] = record["files"]
    changed = [name for name, expected in sums.items() if _sum(folder / name) != expected]
    now = manifest.versions()
    versions = {
        name: (then, now.get(name, "")) for name, then in record["versions"].items() if now.get(name, "") != then
    }
    found = [
        difference
        for name in names
        if name not in changed and (difference := compare_file(folder, out, name, whole=whole)) is not None
    ]
    earliest = min(found, key=lambda item: (item.time_ns is None, item.time_ns or 0), default=None)
    return ReplayReport(tuple(sorted(changed)), versions, earliest, tuple(names))


def _sum(path: Path) -> str:
    return manifest.sha256(path) if path.exists() else "missing"


def compare_file(folder: Path, out: Path, name: str, *, whole: bool = True) -> Difference | None:
    """Return where a file of one data directory first differs from its namesake in another, None where it does not.

    Without `whole`, the first one's last line may be torn and what follows it in the second one does not count.
    """
    then, now = folder / name, out / name
    if not then.exists() or not now.exists():
        if then.exists() == now.exists():
            return None
        return Difference(name, 0, None, "file", *("there" if path.exists() else "missing" for path in (then, now)))
    a, b = then.read_bytes(), now.read_bytes()
    if a == b:
        return None
    if name == inputs.FILE:
        return _first_record(then, now)
    old, new = a.decode(errors="replace").splitlines(), b.decode(errors="replace").splitlines()
    if not whole:
        # The last line may be torn, and a log that was cut off lacks its end.
        old = old[:-1]
        new = new[: len(old)]
    return _first_line(name, old, new, _column_names(folder, name))


def _first_record(then: Path, now: Path) -> Difference | None:
    old, new = list(inputs.read_inputs(then)), list(inputs.read_inputs(now))
    for number, (a, b) in enumerate(zip(old, new, strict=False), 1):
        if a != b:
            return Difference(then.name, number, a[2] if len(a) > 2 else None, str(a[0]), str(a), str(b))
    return Difference(then.name, min(len(old), len(new)) + 1, None, "length", f"{len(old)} records", f"{len(new)}")


def _first_line(name: str, old: list[str], new: list[str], names: Sequence[str]) -> Difference | None:
    for number, (a, b) in enumerate(zip(old, new, strict=False), 1):
        if a != b:
            return _first_field(name, number, a, b, names)
    if len(old) == len(new):
        return None
    return Difference(name, min(len(old), len(new)) + 1, None, "length", f"{len(old)} records", f"{len(new)} records")


def _first_field(name: str, number: int, a: str, b: str, names: Sequence[str]) -> Difference:
    old, new = a.split(), b.split()
    time = int(old[0]) if old and old[0].isdigit() else None
    if not names or len(old) != len(new):
        return Difference(name, number, time, "line", a.strip(), b.strip())
    at = next(k for k, (x, y) in enumerate(zip(old, new, strict=True)) if x != y)
    return Difference(name, number, time, names[at] if at < len(names) else f"column {at + 1}", old[at], new[at])


def _column_names(folder: Path, name: str) -> list[str]:
    path = folder / columns.FILE
    try:
        described = json.loads(path.read_text(encoding="utf-8"))["files"].get(name, {"columns": []})
        return [str(column["name"]) for column in described["columns"]]
    except (OSError, ValueError, KeyError):
        return []
