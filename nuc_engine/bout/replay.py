"""Repeating a bout from its own data directory, and saying where the repetition differs.

Two ways: the whole bout again on the virtual clock (`replay_bout`), or the recorded replies through the tasks
(`replay_inputs`), which also works for a bout on hardware. What the directory holds is checked before it is used: it
may be damaged, or come from a stranger.
"""

from __future__ import annotations

import tempfile
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any, cast, get_args, get_origin, get_type_hints

from drivers.errors import BusError
from drivers.units import NS_PER_S
from nuc_engine.bout.run import BoutProgress, BoutRefused, BoutSpec, advance, prepare_bout, prepare_spec, run_bout
from nuc_engine.bout.spec import read_events, read_plant, read_run_record, read_stop, read_values
from nuc_engine.control.executive import Executive
from nuc_engine.control.faults import EngineFault
from nuc_engine.control.tasks import TASKS
from nuc_engine.machine.locations import PLANT_SPEC_FILE, NotFound
from nuc_engine.model.extensions import installed
from nuc_engine.model.plan import PlanError
from nuc_engine.model.store import Store
from nuc_engine.plants import PlantSpecError
from nuc_engine.plants.events import PlantEvent, read_event
from nuc_engine.plants.gravity import compensated
from nuc_engine.recording import inputs, manifest
from nuc_engine.recording.compare import FileDifference, compare_file
from nuc_engine.recording.files import DATA_LOGS, INPUT_RECORD, MANIFEST_FILE, SCRIPT_FILE, SCRIPT_LOG
from nuc_engine.recording.manifest import Manifest
from nuc_engine.recording.playback import RecordedBus, split_inputs
from nuc_engine.recording.reach import LastRecords, find_reach
from nuc_engine.recording.recorder import BoutRecorder
from nuc_engine.recording.repetition import Repetition

_TASK_FILES = (*DATA_LOGS, SCRIPT_LOG)
_VIRTUAL = ("emulated:", "loopback:")
_GIVEN_HERE = frozenset({"config", "out", "script", "name", "overwrite", "run_text"})
_NEEDED = frozenset({"duration_s", "seed", "bus"})
_UNUSABLE = (BoutRefused, NotFound, PlanError, PlantSpecError, BusError)
"""What comes of a configuration or a script that cannot be run."""
_READ = MappingProxyType(
    {"values": read_values, "plant": read_plant, "events": read_events, "stop": read_stop, "run": read_run_record}
)
"""Keys of the specification with a form of their own."""
_FROM_REPLIES = ("", "motor_silent")
"""Ends of a bout that follow from its recorded replies alone: without a fault, or with this one."""
_SERVED_ALWAYS = frozenset({"approach_deg_s", "limits"})
"""What a daemon's settings always hold; what came later may be missing from older ones."""
_MOST = 2**62
"""No number of ticks, nanoseconds or seconds is as large; two of them can be added in the store."""
_SLACK_NS = NS_PER_S
"""How far past the last record a repetition goes on: far enough to see that the bout should have ended."""


class ReplayRefused(Exception):
    """A directory that cannot be repeated; the message says why."""


@dataclass(frozen=True, slots=True)
class ReplayReport:
    """What a repetition found.

    `changed_files` differ from the sums in the manifest (or are missing), so the directory is no longer what the bout
    left; `changed_versions` maps a name to (then, now); `difference` is the earliest record that came out otherwise.
    `compared` is empty when the inputs were changed into something that cannot be run.
    """

    changed_files: tuple[str, ...]
    changed_versions: Mapping[str, tuple[str, str]]
    difference: FileDifference | None
    compared: tuple[str, ...]

    @property
    def identical(self) -> bool:
        """Whether the directory is untouched and the repetition gave the same bytes."""
        return not self.changed_files and self.difference is None


def replay_bout(folder: Path, progress: BoutProgress | None = None) -> ReplayReport:
    """Run the bout of a data directory again and compare every file of either.

    A bout that was interrupted is repeated as far as it went. Where the inputs were changed into something that cannot
    be run, the report names what was changed and compares nothing. Raises ReplayRefused for a directory that is no
    repeatable bout, and what `run_bout` raises when it refuses inputs that are as the bout left them.
    """
    record = _witness(folder)
    if record.clock != "virtual":
        raise ReplayRefused(
            f"{folder}: ran in real time; repeat it from its recorded replies (--recorded), or as a new bout (--again)"
        )
    reach = _reach(folder)
    finished = record.state in ("complete", "fault") and not record.torn
    watch = _Watch(reach.last_ns + _SLACK_NS, progress)
    with tempfile.TemporaryDirectory(prefix="nuc-replay-") as scratch:
        out = Path(scratch) / "bout"
        spec = _spec(folder, record, out, None if finished else (reach.last_ns + 1) / NS_PER_S)
        if not spec.bus.startswith(_VIRTUAL):
            raise ReplayRefused(f"{folder}: bus {spec.bus!r}; expected one that begins {' or '.join(_VIRTUAL)}")
        try:
            result = run_bout(spec, watch)
        except _UNUSABLE:
            if _changed(folder, record.inputs):
                return _report(folder, record, None, ())
            raise
        if result.state == "interrupted" and not watch.stopped:
            raise KeyboardInterrupt
        names = list(_TASK_FILES)
        if finished:
            names = sorted({*record.files, *manifest.hash_files(out)} - set(record.inputs))
        return _report(folder, record, out, names, whole=finished)


def replay_inputs(folder: Path) -> ReplayReport:
    """Feed the recorded replies and edits through the tasks and compare what the tasks logged.

    A bout of the daemon is repeated from its dumped store, every task at the time it really ran at, up to the first
    loss of records. Changed inputs are reported as `replay_bout` does. Raises ReplayRefused for a directory without a
    usable input record, and what `prepare_bout` raises when it refuses inputs that are as the bout left them.
    """
    record = _witness(folder)
    path = folder / INPUT_RECORD
    if record.clock != "virtual":
        return _replay_real(folder, record, _entries(path))
    reach = _reach(folder)
    entries = _entries(path)
    with tempfile.TemporaryDirectory(prefix="nuc-replay-") as scratch:
        out = Path(scratch)
        spec = _spec(folder, record, out)
        try:
            prepared = prepare_spec(spec, scripted=False)
            cycles, changesets = split_inputs(path, entries, prepared.plan)
        except (*_UNUSABLE, inputs.InputRecordError) as error:
            if _changed(folder, record.inputs):
                return _report(folder, record, None, ())
            if isinstance(error, inputs.InputRecordError):
                raise ReplayRefused(str(error)) from error
            raise
        plan, store = prepared.plan, Store(prepared.plan)
        recorder = BoutRecorder(out, prepared.model, plan, store)
        limits = [spec.limits.get(motor.name) for motor in plan.motors]
        bus = RecordedBus(plan, cycles)
        executive = Executive(plan, bus, recorder, store=store, costs=spec.costs, limits=limits, seed=spec.seed)
        executive.load(changesets)
        end_ns = _end_ns(record, reach, entries)
        happened = deque(read_event(entry[3]) for entry in entries if entry[0] == "happened")
        ended = _run(executive, recorder, happened, end_ns)
        recorder.close()
        return _report(
            folder,
            record,
            out,
            _TASK_FILES,
            whole=record.state == "complete",
            until_ns=end_ns if record.torn else None,
            end=_other_end(record, executive.clock.now_ns, ended),
        )


@dataclass(frozen=True, slots=True)
class _Served:
    """A daemon's settings in the manifest.

    The guard's limits by motor, how fast positions are approached, and the share of the weight that is carried.
    """

    approach_deg_s: float
    limits: Mapping[str, int]
    gravity_compensation: float = 0.0


def _replay_real(folder: Path, record: Manifest, entries: Sequence[Sequence[Any]]) -> ReplayReport:
    path = folder / INPUT_RECORD
    spec = _served(folder, record)
    lost_ns = next((entry[3] for entry in entries if entry[0] == "lost"), None)
    with tempfile.TemporaryDirectory(prefix="nuc-replay-") as scratch:
        out = Path(scratch)
        try:
            prepared = prepare_bout(str(folder), None, record.configuration, families=record.families)
            plan = compensated(prepared.plan, folder / PLANT_SPEC_FILE, spec.gravity_compensation)
            limits = [spec.limits.get(motor.name) for motor in plan.motors]
            again = Repetition(
                path,
                prepared.model,
                plan,
                out,
                entries,
                limits=limits,
                approach_deg_s=spec.approach_deg_s,
            )
        except (*_UNUSABLE, inputs.InputRecordError) as error:
            if _changed(folder, record.inputs):
                return _report(folder, record, None, ())
            if isinstance(error, inputs.InputRecordError):
                raise ReplayRefused(str(error)) from error
            raise
        try:
            again.repeat(_MOST if lost_ns is None else lost_ns)
        except inputs.InputRecordError as error:
            raise ReplayRefused(str(error)) from error
        finally:
            again.recorder.close()
        if record.torn and lost_ns is None:
            # Logs are written one after another: a kill may have left the others further ahead.
            lost_ns = max(entry[2] for entry in entries if entry[0] in ("cycle", "ran"))
        whole = record.state == "complete" and lost_ns is None
        return _report(folder, record, out, _TASK_FILES, whole=whole, until_ns=lost_ns)


def _served(folder: Path, record: Manifest) -> _Served:
    """Return a daemon's settings from its manifest, with every key and type as `_Served` has them."""
    place = f"{folder / MANIFEST_FILE}: spec"
    kinds = get_type_hints(_Served)
    if not _SERVED_ALWAYS <= set(record.spec) <= set(kinds):
        raise ReplayRefused(f"{place} has {', '.join(map(repr, sorted(record.spec)))}; expected {', '.join(kinds)}")
    for key, value in record.spec.items():
        if not _fits(value, kinds[key]):
            raise ReplayRefused(f"{place}: {key} is {str(value)[:80]!r}; expected {_words(kinds[key])}")
    return _Served(**record.spec)


class _Watch:
    """Stops a repetition that goes on where the bout had long ended; passes the progress on until then."""

    def __init__(self, limit_ns: int, progress: BoutProgress | None) -> None:
        self._limit_s, self._progress = limit_ns / NS_PER_S, progress
        self.stopped = False

    def __call__(self, simulated_s: float, duration_s: float, /) -> None:
        if simulated_s > self._limit_s:
            self.stopped = True
            # The one way to end a bout early that leaves its directory in order.
            raise KeyboardInterrupt
        if self._progress is not None:
            self._progress(simulated_s, duration_s)


def _witness(folder: Path) -> Manifest:
    try:
        return manifest.read_manifest(folder)
    except manifest.ManifestError as error:
        raise ReplayRefused(str(error)) from error


def _reach(folder: Path) -> LastRecords:
    reach = find_reach(folder)
    if reach is None:
        raise ReplayRefused(f"{folder}: nothing was recorded")
    return reach


def _spec(folder: Path, record: Manifest, out: Path, duration_s: float | None = None) -> BoutSpec:
    """Return the bout's specification from its manifest, with every key and type as BoutSpec has them."""
    place = f"{folder / MANIFEST_FILE}: spec"
    kinds = {key: kind for key, kind in get_type_hints(BoutSpec).items() if key not in _GIVEN_HERE}
    unknown, missing = set(record.spec) - set(kinds), _NEEDED - set(record.spec)
    if unknown or missing:
        names = ", ".join(map(repr, sorted(unknown))) or "no " + ", ".join(sorted(missing))
        raise ReplayRefused(f"{place} has {names}; expected {', '.join(kinds)}")
    for key, value in record.spec.items():
        if key not in _READ and not _fits(value, kinds[key]):
            raise ReplayRefused(f"{place}: {key} is {str(value)[:80]!r}; expected {_words(kinds[key])}")
    try:
        given: dict[str, Any] = {key: read(record.spec[key]) for key, read in _READ.items() if key in record.spec}
    except ValueError as error:
        raise ReplayRefused(f"{place}: {error}") from error
    if unknown := set(record.spec.get("costs", {})) - set(TASKS):
        raise ReplayRefused(f"{place}: costs of {', '.join(sorted(unknown))}; expected of {', '.join(TASKS)}")
    script = str(folder / SCRIPT_FILE) if SCRIPT_FILE in record.inputs else None
    spec = BoutSpec(config=str(folder), out=out, script=script, name=record.configuration, **{**record.spec, **given})
    return spec if duration_s is None else replace(spec, duration_s=duration_s)


def _fits(value: Any, kind: Any) -> bool:
    """Say whether a value from JSON is of the type a field of BoutSpec has, and small enough to count with."""
    if isinstance(value, bool):
        return kind is bool
    if kind is float:
        return isinstance(value, int | float) and -_MOST < value < _MOST
    if kind is int:
        return isinstance(value, int) and value >= 0
    if get_origin(kind) is Mapping:
        inner = get_args(kind)[1]
        items: list[Any] = list(cast(dict[str, Any], value).values()) if isinstance(value, dict) else [None]
        return all(_fits(item, inner) and (inner is not int or item < _MOST) for item in items)
    return kind is str and isinstance(value, str)


def _words(kind: Any) -> str:
    words = {float: "a number", int: "a whole number, 0 or more", str: "a text", bool: "true or false"}
    return words[kind] if kind in words else f"{words[get_args(kind)[1]]} by name"


def _entries(path: Path) -> list[list[Any]]:
    if not path.is_file():
        raise ReplayRefused(f"{path.parent}: has no {INPUT_RECORD}; nothing to feed through the tasks")
    try:
        entries = list(inputs.read_inputs(path))
    except inputs.InputRecordError as error:
        raise ReplayRefused(str(error)) from error
    if not any(entry[0] == "cycle" for entry in entries):
        raise ReplayRefused(f"{path}: holds no cycle; nothing to feed through the tasks")
    return entries


def _end_ns(record: Manifest, reach: LastRecords, entries: Sequence[Sequence[Any]]) -> int:
    """Return when a repetition from recorded replies ends: what that instant itself may have done counts no more."""
    if record.torn:
        # Logs are written one after another: a kill may have left the others further ahead.
        return 1 + max(entry[2] for entry in entries if entry[0] != "head")
    if record.state == "complete" and reach.stop_ns is not None:
        return min(reach.stop_ns, reach.data_ns + _SLACK_NS)
    return reach.last_ns + 1


def _run(executive: Executive, recorder: BoutRecorder, events: deque[PlantEvent], end_ns: int) -> str:
    try:
        advance(executive, recorder, events, end_ns)
    except EngineFault as fault:
        return f"{fault.name}: {fault}"
    except Exception as error:  # a bout that ended so is repeated too; any other is told that it did
        return f"engine_error: {type(error).__name__}: {error}"
    return ""


def _other_end(record: Manifest, now_ns: int, ended: str) -> FileDifference | None:
    """Return the difference between two ends; one that bus or plant brought about does not come back."""
    then = record.reason.partition(":")[0] if record.state == "fault" else ""
    now = ended.partition(":")[0]
    if then == now or then not in _FROM_REPLIES or record.torn:
        return None
    return FileDifference(
        MANIFEST_FILE, 0, now_ns, "reason", record.reason if then else "no fault", ended or "no fault"
    )


def _changed(folder: Path, sums: Mapping[str, str]) -> list[str]:
    return sorted(name for name, expected in sums.items() if _sum(folder / name) != expected)


def _sum(path: Path) -> str:
    return manifest.sha256(path) if path.is_file() else "missing"


def _report(
    folder: Path,
    record: Manifest,
    out: Path | None,
    names: Sequence[str],
    *,
    whole: bool = True,
    until_ns: int | None = None,
    end: FileDifference | None = None,
) -> ReplayReport:
    changed = _changed(folder, {**record.inputs, **record.files})
    now = {**manifest.versions(), **installed(record.extensions)}
    then = {**record.versions, **record.extensions}
    versions = {name: (old, now.get(name, "")) for name, old in then.items() if now.get(name, "") != old}
    found = [] if end is None else [end]
    if out is not None:
        compared = [
            compare_file(folder, out, name, whole=whole, until_ns=until_ns) for name in names if name not in changed
        ]
        found += [difference for difference in compared if difference is not None]
    earliest = min(found, key=lambda item: (item.time_ns is None, item.time_ns or 0), default=None)
    return ReplayReport(tuple(changed), versions, earliest, tuple(names))
