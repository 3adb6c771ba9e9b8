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
from nuc_engine.verify.documents import read_model
from nuc_engine.verify.leg import Leg
from nuc_engine.verify.logs import DATA, EVENTS, SCRIPTS, Difference, Logs, Report
from nuc_engine.verify.scripts import by_hand, read_script
from nuc_engine.verify.servos import Unverifiable
from nuc_engine.verify.shaft import LIMP, READ
from nuc_engine.verify.store import Store
from nuc_engine.verify.weight import Weight

MANIFEST, SCRIPT, PLANT = "manifest.json", "scriptfile.xml", "plant.toml"
BEYOND_NS = 2_000_000_000
"""How far behind the last record it is computed what should be there."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """What was found.

    `changed_files` are not what the manifest's sums say. `records` were compared, by file; `counts` are differences by
    file, of which `differences` keeps some; `unchecked` says what no equation covers, or could not be covered here.
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
    sums: dict[str, str] = {**manifest["inputs"], **manifest.get("files", {})}
    changed = tuple(sorted(name for name, expected in sums.items() if _sum(folder / Path(name).name) != expected))
    report = Report()
    try:
        return _Check(folder, manifest, report, progress).verdict(changed)
    except Exception as error:  # whatever a damaged directory leads to, it is told, not died of
        known = isinstance(error, Unverifiable)
        why = str(error) if known else f"its files do not fit one another ({type(error).__name__}: {error})"
        if not changed and not report.counts:
            raise Unverifiable(f"{folder}: {why}") from error
        told = (f"everything from there on: {why}",)
        return Verdict(changed, {}, dict(report.counts), tuple(report.differences), told)


class _Check:
    """One directory being verified."""

    def __init__(self, folder: Path, manifest: Mapping[str, Any], report: Report, progress: Progress) -> None:
        self.folder, self.manifest, self.report, self.progress = folder, manifest, report, progress
        self.spec: Mapping[str, Any] = manifest["spec"]
        self.virtual = manifest["clock"] == "virtual"
        self.state, self.reason = manifest["state"], manifest.get("reason", "")
        self.torn = self.state in ("running", "torn") or self.reason.startswith("logging_failed:")
        self.model = model = read_model(folder, manifest["families"])
        self.record = _read_record(folder / RECORD, len(model.motors), virtual=self.virtual)
        self.lost_ns: int | None = next((entry[3] for entry in self.record if entry[0] == "lost"), None)
        events = EVENTS if self.virtual else EVENTS - {"overrun"}
        self.logs = Logs(folder, model, manifest["configuration"], report, self.lost_ns, events)
        self.store = Store(model.hdsos)
        self.more: list[str] = []
        share = self.spec.get("gravity_compensation", 0.0)
        self.weight = Weight(model, folder / PLANT, self.spec.get("plant", {}), share) if share else None

    def verdict(self, changed: tuple[str, ...]) -> Verdict:
        (self._virtual if self.virtual else self._real)()
        compared = {name: min(lines.at, len(lines.all)) for name, lines in self.logs.lines.items()}
        return Verdict(
            changed, compared, dict(self.report.counts), tuple(self.report.differences), tuple(self._unchecked())
        )

    def _leg(self) -> Leg:
        rate = self.spec.get("approach_deg_s")
        limits = self.spec["limits"]
        return Leg(self.model, self.store, self.logs, limits=limits, approach_deg_s=rate, weight=self.weight)

    def _virtual(self) -> None:
        spec, model, store = self.spec, self.model, self.store
        for number, values in model.initial:
            store.write(number, values)
        path = self.folder / SCRIPT if SCRIPT in self.manifest["inputs"] else None
        script = read_script(path, spec["values"], model, store)
        if "engine_start_time" in model.ids:
            store.write(model.ids["engine_start_time"], [0])
        for number in model.hdsos:
            self.logs.answered(0, 0, number, store.values(number))
        leg = self._leg()
        course = Virtual(leg, self.logs, self.report, self.record, script, spec["costs"])
        last_ns, slack_ns = self._last_ns(), None
        # Far enough to see that more should be there, however long the manifest says that it was.
        asked_ns = round(spec["duration_s"] * 1e9)
        end_ns = min(asked_ns, last_ns + BEYOND_NS)
        own = self.state == "complete" or self.reason.startswith("motor_silent:")
        if self.torn:
            end_ns, slack_ns = max(entry[2] for entry in [[0, 0, 0], *self.record[1:]]) + 1, 0
        elif not own:
            end_ns, slack_ns = last_ns + 1, last_ns
        silent = course.run(end_ns, self.progress)
        self._by_hand(path, end_ns)
        self.logs.end(slack_ns)
        if self.reason.startswith("engine_error:"):
            self._manifest("reason", "no error of the engine itself", self.reason)
        if own and silent != (self.state == "fault"):
            self._manifest("reason", "motor_silent" if silent else "no fault", self.reason)
        if own:
            self._manifest("counts.tasks", {k: _run(v) for k, v in course.counts.items()}, self._said("tasks"))
            self._counts(leg, self.manifest["losses"]["missed_replies"])
            left = len(course.script)
            self._manifest("changesets_not_reached", left, self.manifest["losses"]["changesets_not_reached"])
        if self.state == "complete":
            self._manifest("simulated_s", max(course.ended_ns, asked_ns) / 1e9, self.manifest["simulated_s"])

    def _last_ns(self) -> int:
        """Return the last instant there is anything of: what ended the bout then is not computed."""
        times = [entry[2] for entry in self.record[1:]]
        times += [int(self.logs.lines[file].all[-1].split(" ")[0]) for file in DATA if self.logs.lines[file].all]
        return max(times, default=0)

    def _by_hand(self, path: Path | None, end_ns: int) -> None:
        told = [event for event in by_hand(path, self.spec["events"]) if event["at_ns"] < end_ns]
        found = [entry[3] for entry in self.record if entry[0] == "happened"]
        for k in range(max(len(told), len(found))):
            computed, event = (events[k] if k < len(events) else {} for events in (told, found))
            if not computed or not computed.items() <= event.items():
                self.report.differ(RECORD, 0, event.get("at_ns"), "happened", computed or "nothing", event or "nothing")

    def _real(self) -> None:
        self.store.load(self.record[1][3])
        leg = self._leg()
        course = Real(leg, self.logs, self.report, self.record, latched=self._latched())
        course.run(NEVER if self.lost_ns is None else self.lost_ns, self.progress)
        self.logs.end(0 if self.torn else None, files=(*DATA, "Scriptlog.xml"))
        if not self.torn and self.lost_ns is None and self._said("tasks") is not None:
            self._counts(leg, self._said("missed_replies"))
        else:
            self.more.append("the manifest's counts: the bout did not come to tell them, or records are missing")

    def _latched(self) -> int:
        """Return from which entry on a fault that was latched had the torque taken off; NEVER where none had."""
        found = NEVER
        starts = [(number, entry) for number, entry in enumerate(self.record, 1) if entry[:2] == ["ran", "start"]]
        for number, entry in reversed(starts if self.state == "fault" else []):
            if not (goals := set(entry[4])) <= {LIMP, READ}:
                break
            found = number if goals == {LIMP} else found
        return found

    def _said(self, name: str) -> Any:
        return self.manifest["counts"].get(name)

    def _manifest(self, name: str, computed: object, found: object) -> None:
        if computed != found:
            self.report.differ(MANIFEST, 0, None, name, computed, found)

    def _counts(self, leg: Leg, missed: object) -> None:
        """Hold what the manifest counts against what was counted here."""
        model, shafts = self.model, leg.shafts
        computed = {
            "cycles": leg.cycle,
            "rule_overlaps": {joint.name: leg.overlaps[joint.name] for joint in model.joints if joint.states},
            "negative_forces": {muscle.name: leg.negative[muscle.name] for muscle in model.muscles},
            "guard_interventions": {shaft.motor.name: shaft.interventions for shaft in shafts},
        }
        for name, value in computed.items():
            self._manifest(f"counts.{name}", value, self._said(name))
        beyond = {shaft.motor.name: shaft.beyond for shaft in shafts if shaft.motor.servo.table}
        self._manifest("counts.beyond_torque_table", beyond, self._said("beyond_torque_table") or {})
        self._manifest("missed_replies", {shaft.motor.name: shaft.missed for shaft in shafts}, missed)
        self._manifest("refused_writes", leg.refused, self.manifest["losses"]["refused_writes"])
        self._manifest("start_pose_deg", leg.pose, self.manifest["start_pose_deg"])
        records = {RECORD: len(self.record), **(self.logs.entries if self.virtual else {})}
        for name, count in self._said("records").items():
            path = self.folder / Path(name).name
            lines = path.read_bytes().count(b"\n") if path.suffix == ".txt" and path.is_file() else count
            self._manifest(f"counts.records.{name}", records.get(name, lines), count)
        kinds = Counter(line.split(" ", 2)[1] for line in self.logs.lines["Infolog.txt"].all)
        self._manifest("counts.events", dict(kinds), self._said("events"))

    def _unchecked(self) -> list[str]:
        computed = {*DATA, *SCRIPTS, "Infolog.txt", RECORD}
        others = sorted(set(self.manifest.get("files", {})) - computed - set(self.manifest["inputs"]))
        told = [*self.more, *(f"{name}: held against its sum only" for name in others)]
        told.append(f"{RECORD}: when exchanges were complete, and with what replies, is given")
        told.append("Infolog.txt: of its events only " + ", ".join(sorted(kind for [kind] in self.logs.told)))
        if not self.virtual:
            told.append(f"{RECORD}: when tasks ran is given; it is held against when they were due")
            told.append("HDSOlog.xml: what is in it besides the store at the start")
        if not self.manifest.get("files"):
            told.append("the manifest has no sums of the logs: the bout did not come to its end")
        if self.lost_ns is not None:
            told.append(f"everything from {self.lost_ns / 1e9:.9g} s on: records were lost")
        return told


def _run(run: Any) -> dict[str, int]:
    """Return a task's counts as the manifest has them."""
    return {"runs": run.runs, "overruns": run.overruns, "skipped": run.skipped}


def _sum(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else "missing"


def _read_manifest(folder: Path) -> dict[str, Any]:
    path = folder / MANIFEST
    try:
        manifest: Any = json.loads(path.read_bytes())
    except (OSError, ValueError, RecursionError) as error:
        raise Unverifiable(f"{path}: cannot be read ({error}); expected the data directory of a bout") from error
    kinds = {
        "files": dict,
        "spec": dict,
        "inputs": dict,
        "families": dict,
        "clock": str,
        "state": str,
        "configuration": str,
    }
    fits = isinstance(manifest, dict) and all(
        isinstance({"files": {}, **manifest}.get(name), kind) for name, kind in kinds.items()
    )
    if not fits:
        raise Unverifiable(f"{path}: is not the manifest of a bout")
    return manifest


def _read_record(path: Path, motors: int, *, virtual: bool) -> Sequence[Sequence[Any]]:
    try:
        with path.open("rb") as file:
            record: list[Any] = list(msgpack.Unpacker(file, use_list=True))
    except (OSError, ValueError, msgpack.UnpackException) as error:
        raise Unverifiable(f"{path.name}: cannot be read ({error})") from error
    if not record or record[0] != ["head", 1, motors]:
        raise Unverifiable(f"{path.name}: does not begin with the head of a record of {motors} motors")
    if not virtual and (len(record) < 2 or record[1][0] != "store"):
        raise Unverifiable(f"{path.name}: the store at the start of the bout is not in it; logging began later")
    return record
