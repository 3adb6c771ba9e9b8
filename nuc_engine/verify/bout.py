"""A data directory, verified: first its sums, then every record against the equations."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, cast

from nuc_engine.verify.course import NEVER, TASKS, Progress
from nuc_engine.verify.documents import read_model
from nuc_engine.verify.episode import RUN, content_sum, draw, verify_episode
from nuc_engine.verify.files import MANIFEST, changed_files, compare_files, lines_in, read_manifest
from nuc_engine.verify.leg import Leg
from nuc_engine.verify.logs import DATA, EVENTS, HINTED, SCRIPTS, SENSED, Logs, Report
from nuc_engine.verify.real import Real
from nuc_engine.verify.record import RECORD, compare_losses, read_record
from nuc_engine.verify.rules import code_of, text_of, tokens_of, tree_of
from nuc_engine.verify.scripts import by_hand, read_script
from nuc_engine.verify.servos import Unverifiable
from nuc_engine.verify.shaft import LIMP, READ
from nuc_engine.verify.start import compare_start
from nuc_engine.verify.store import Store
from nuc_engine.verify.verdict import Verdict
from nuc_engine.verify.virtual import Virtual
from nuc_engine.verify.weight import Weight

SCRIPT, PLANT = "scriptfile.xml", "plant.toml"
STOPPED = "stopped at "
BEYOND_NS = 2_000_000_000
"""How far behind the last record it is computed what should be there."""
OURS = {"motor_action": "start", "motor_conversion": "sensors", "state_transition": "states"}
"""The tasks of which every run stands in the record of a bout in real time, and as what."""
GIVEN = ("bus", "counts.bus", "script", "started", "stopped", "versions")
GIVEN_REAL = (
    *("runs of script, motor_reply and hdso_server", "engine_time_s", "losses.core_restarts"),
    *("losses.unlogged_answers", "labels", "notes", "options", "script_writes", "window_s", "written_before"),
)
"""What the manifest says that is not computed."""


def verify_bout(folder: Path, progress: Progress = lambda _now, _end: None) -> Verdict:
    """Verify the bout in a data directory. Raises Unverifiable where nothing can be computed."""
    manifest = read_manifest(folder)
    if added := manifest.get("extensions"):
        names = ", ".join(map(str, added))
        raise Unverifiable(f"{folder}: {names}: code that was added to the engine is not computed here")
    changed = changed_files(folder, manifest)
    if RUN in manifest["inputs"] and "joints.xml" not in manifest["inputs"]:
        return verify_episode(folder, manifest, changed)
    report = Report()
    try:
        return _Check(folder, manifest, report, progress).verdict(changed)
    except Exception as error:  # whatever a damaged directory leads to, it is told, not died of
        broken = "" if isinstance(error, Unverifiable) else f"{type(error).__name__}: {error}"
        why = f"its files do not fit one another ({broken})" if broken else str(error)
        if not changed and not report.counts:
            raise Unverifiable(f"{folder}: {why}", broken) from error
        told = (f"everything from there on: {why}",)
        return Verdict(changed, {}, dict(report.counts), tuple(report.differences), told, broken=broken)


class _Check:
    """One directory being verified."""

    def __init__(self, folder: Path, manifest: Mapping[str, Any], report: Report, progress: Progress) -> None:
        self.folder, self.manifest, self.report, self.progress = folder, manifest, report, progress
        self.spec: Mapping[str, Any] = manifest["spec"]
        self.virtual = manifest["clock"] == "virtual"
        self.state, self.reason = manifest["state"], manifest.get("reason", "")
        self.torn = self.state in ("running", "torn") or self.reason.startswith("logging_failed:")
        compare_files(folder, manifest, report, torn=self.torn)
        self.model = model = read_model(folder, manifest["families"])
        self.record = read_record(folder / RECORD, len(model.motors), report, virtual=self.virtual)
        losses = manifest["losses"].get("records", {})
        self.lost_ns = compare_losses(self.record, losses, report, torn=self.torn)
        events = EVENTS if self.virtual else EVENTS - {"overrun"}
        self.logs = Logs(folder, model, manifest["configuration"], report, self.lost_ns, events)
        self.store = Store(model.hdsos)
        self.more: list[str] = []
        share = self.spec.get("gravity_compensation", 0.0)
        self.weight = Weight(model, folder / PLANT, self.spec.get("plant", {}), share) if share else None

    def verdict(self, changed: tuple[str, ...]) -> Verdict:
        (self._virtual if self.virtual else self._real)()
        if self.reason.startswith("engine_error:"):
            self._manifest("reason", "no error of the engine itself", self.reason)
        if self.reason.partition(":")[0] in HINTED:
            self._manifest("reason", "a fault that ends a bout", self.reason)
        lines = self.logs.lines
        compared = {name: min(each.at, len(each.all)) for name, each in lines.items()}
        said = self.manifest["counts"].get("records", {})
        present = {name: max(len(each.all), said.get(name, 0) if name in DATA else 0) for name, each in lines.items()}
        differences = tuple(self.report.differences)
        unchecked = tuple(self._unchecked())
        return Verdict(changed, compared, dict(self.report.counts), differences, unchecked, present)

    def _leg(self) -> Leg:
        rate = self.spec.get("approach_deg_s")
        limits = self.spec["limits"]
        seed = self.spec["seed"] if self.virtual else 0
        return Leg(self.model, self.store, self.logs, limits=limits, approach_deg_s=rate, weight=self.weight, seed=seed)

    def _virtual(self) -> None:
        spec, model, store = self.spec, self.model, self.store
        for number, values in model.initial:
            store.write(number, values)
        path = self.folder / SCRIPT if SCRIPT in self.manifest["inputs"] else None
        script = read_script(path, spec["values"], model, store)
        if "engine_start_time" in model.ids:
            store.write(model.ids["engine_start_time"], [0])
        leg = self._leg()
        for number in model.hdsos:
            self.logs.answered(0, 0, number, store.values(number))
        self._described()
        course = Virtual(leg, self.logs, self.report, self.record, script, spec["costs"])
        last_ns, slack_ns = self._last_ns(), None
        # Far enough to see that more should be there, however long the manifest says that it was.
        asked_ns = round(spec["duration_s"] * 1e9)
        stopped = bool(spec.get("stop")) and self.state == "complete" and self.reason.startswith(STOPPED)
        if stopped:
            asked_ns = min(asked_ns, round(self.manifest["engine_time_s"] * 1e9))
        end_ns = min(asked_ns, last_ns + BEYOND_NS)
        own = self.state == "complete" or self.reason.startswith("motor_silent:")
        if self.torn:
            end_ns, slack_ns = self.record.last_ns + 1, 0
        elif not own:
            end_ns, slack_ns = last_ns + 1, last_ns
        silent = course.run(end_ns, self.progress, NEVER if own and not self.torn else end_ns - 1)
        self._by_hand(path, end_ns)
        self.logs.end(slack_ns)
        if own and silent != (self.state == "fault"):
            self._manifest("reason", "motor_silent" if silent else "no fault", self.reason)
        if own:
            self._manifest("counts.tasks", {k: _run(v) for k, v in course.counts.items()}, self._said("tasks"))
            losses = self.manifest["losses"]
            self._counts(leg)
            self._manifest("changesets_not_reached", len(course.script), losses.get("changesets_not_reached"))
        else:
            self.more.append("manifest.json: counts; the bout did not come to its own end")
        if stopped:
            self._stopped(leg, asked_ns)
        if self.state == "complete":
            # Once called otherwise on the virtual clock.
            said = self.manifest.get("engine_time_s", self.manifest.get("simulated_s"))
            self._manifest("engine_time_s", max(course.ended_ns, asked_ns) / 1e9, said)

    def _described(self) -> None:
        """Hold what decided the bout against the RunConfig that described it, where one did."""
        spec = self.spec
        run: Mapping[str, Any] = spec.get("run", {})
        if not run:
            return
        told: Mapping[str, Any] = run["resolved"]
        leg: Mapping[str, Any] = told["leg"]
        drawn = {key: draw(told.get("seed", 0), key, one) for key, one in told.get("random", {}).items()}
        for key, value in drawn.items():
            self._manifest(f"spec.run.resolved.{key}", value, _at(told, key))
        computed: dict[str, Any] = {
            "run.sha256": {"resolved": content_sum(told)},
            "run.drawn": drawn,
            "seed": told.get("seed", 0),
            "duration_s": told["timing"]["duration_s"],
            "bus": leg.get("bus", "emulated:"),
            "gravity_compensation": leg.get("gravity_compensation", 0.0),
            "plant": dict(_numbers(told.get("plant", {}))),
            **{name: told.get(name, {}) for name in ("values", "limits", "costs")},
        }
        for name, value in computed.items():
            self._manifest(f"spec.{name}", value, _at(spec, name))

    def _stopped(self, leg: Leg, now_ns: int) -> None:
        """Hold the reason against what the stop condition of a bout says of the end."""
        stop, model = self.spec["stop"], self.model
        value = {name: self.store.held[number][0] for name, number in model.ids.items()}
        true = [f"{name} > {bound:g}" for name, bound in stop["above"].items() if value[name] > bound]
        true += [f"{name} < {bound:g}" for name, bound in stop["below"].items() if value[name] < bound]
        if stop["rule"] and leg.true(tree := tree_of(code_of(tokens_of(stop["rule"], model.ids), 200))):
            names = {str(number): name for name, number in model.ids.items()}
            true.append(re.sub(r"\d+", lambda found: names.get(found[0], found[0]), text_of(tree)))
        self._manifest("reason", f"{STOPPED}{now_ns / 1e9:.9g} s: {', '.join(true)}", self.reason)
        self.more.append(f"{MANIFEST}: that its stop condition did not end it before; what it says of the end was held")

    def _last_ns(self) -> int:
        """Return the last instant there is anything of: what ended the bout then is not computed."""
        times = [self.record.last_ns]
        times += [int(self.logs.lines[file].all[-1].split(" ")[0]) for file in DATA if self.logs.lines[file].all]
        return max(times)

    def _by_hand(self, path: Path | None, end_ns: int) -> None:
        told = [event for event in by_hand(path, self.spec["events"]) if event["at_ns"] < end_ns]
        found = [entry[3] for _, entry in self.record.of("happened")]
        for k in range(max(len(told), len(found))):
            computed, event = (events[k] if k < len(events) else {} for events in (told, found))
            if not computed or not computed.items() <= event.items():
                self.report.differ(RECORD, 0, event.get("at_ns"), "happened", computed or "nothing", event or "nothing")

    def _real(self) -> None:
        self.store.load(self.record.entries[0][1][3])
        self.more += compare_start(self.model, self.store, self.manifest, self.report)
        begun = {each.number: self.store.values(each.number) for each in self.model.of_actions}
        leg = self._leg()
        for number, found in begun.items():
            if (computed := self.store.values(number)) != found:
                self.report.differ(RECORD, 2, 0, self.model.hdsos[number].name, computed, found)
        course = Real(leg, self.logs, self.report, self.record, latched=self._latched())
        until_ns = NEVER if self.lost_ns is None else self.lost_ns
        course.run(until_ns, self.progress, round(self.manifest.get("engine_time_s", 0.0) * 1e9))
        whole = not self.torn and self.lost_ns is None
        course.overruns.end(until_ns, whole=whole)
        for number, entry in course.pending if whole else ():
            self.report.differ(RECORD, number, entry[2], entry[0], "then its changeset", "none")
        self.logs.end(0 if self.torn else None, files=(*DATA, "Scriptlog.xml"))
        if whole and self._said("tasks") is not None:
            self._counts(leg)
            self._tasks(course)
        else:
            self.more.append("manifest.json: counts; the bout did not come to tell them, or records are missing")

    def _tasks(self, course: Real) -> None:
        """Hold runs and overruns against those that the record shows."""
        said, late = self._said("tasks"), course.overruns
        seen, own = course.runs["muscles"] + course.blind, self.model.muscle_period is not None
        if own:
            text = "runs before every sensor had a value, overruns and skipped periods are given"
            self.more.append(f"{MANIFEST}: counts.tasks.muscle_conversion; {text}")
        runs = {name: {course.runs[what]} for name, what in OURS.items()}
        runs["muscle_conversion"] = set(range(seen - course.doubt, seen + course.unseen + 1))
        for name in sorted({*TASKS, *said}):
            found = said.get(name, {})
            if own and name == "muscle_conversion":
                if found.get("runs", 0) < course.runs["muscles"]:
                    computed = f"{course.runs['muscles']} or more"
                    self._manifest(f"counts.tasks.{name}.runs", computed, found.get("runs"))
                continue
            if found.get("runs") not in runs.get(name, {found.get("runs")} - {None}):
                computed = " or ".join(map(str, sorted(runs.get(name, {0}))))
                self._manifest(f"counts.tasks.{name}.runs", computed, found.get("runs"))
            rules = name == "state_transition"
            least, most = (late.count, late.count + late.vague) if rules else (0, 0)
            if found.get("overruns") not in range(least, most + 1):
                self._manifest(f"counts.tasks.{name}.overruns", f"{least} to {most}", found.get("overruns"))
            if not (rules and late.vague):
                self._manifest(f"counts.tasks.{name}.skipped", late.skipped if rules else 0, found.get("skipped"))
        if late.vague:
            text = f"{late.vague} evaluations may have ended before or after the next was due: its skipped periods"
            self.more.append(f"{MANIFEST}: counts.tasks.state_transition; {text} are given")

    def _latched(self) -> int:
        """Return from which entry on a fault that was latched had the torque taken off; NEVER where none had."""
        found = NEVER
        for number, entry in reversed(list(self.record.ran("start")) if self.state == "fault" else []):
            if not (goals := set(entry[4])) <= {LIMP, READ}:
                break
            found = number if goals == {LIMP} else found
        return found

    def _said(self, name: str) -> Any:
        return self.manifest["counts"].get(name)

    def _manifest(self, name: str, computed: object, found: object) -> None:
        if computed != found:
            self.report.differ(MANIFEST, 0, None, name, computed, found)

    def _counts(self, leg: Leg) -> None:
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
        # Bouts of the virtual clock once counted these among the losses.
        missed = self._said("missed_replies") or self.manifest["losses"].get("missed_replies")
        self._manifest("missed_replies", {shaft.motor.name: shaft.missed for shaft in shafts}, missed)
        self._manifest("refused_writes", leg.refused, self.manifest["losses"].get("refused_writes"))
        self._manifest("start_pose_deg", leg.pose, self.manifest.get("start_pose_deg"))
        records = {RECORD: self.record.size, **(self.logs.entries if self.virtual else {})}
        for name, count in (self._said("records") or {}).items():
            lines = lines_in(self.folder / Path(name).name) if name.endswith((".txt", ".jsonl")) else count
            self._manifest(f"counts.records.{name}", records.get(name, lines), count)
        kinds = Counter(line.split(" ", 2)[1] for line in self.logs.lines["Infolog.txt"].all)
        self._manifest("counts.events", dict(kinds), self._said("events"))

    def _unchecked(self) -> list[str]:
        read = {*self.model.read, *DATA, SENSED, *SCRIPTS, "Infolog.txt", RECORD}
        read |= {SCRIPT} if self.virtual else set[str]()
        read |= {PLANT} if self.weight is not None else set[str]()
        others = sorted({*self.manifest["files"], *self.manifest["inputs"]} - read)
        told = [*self.more, *(f"{name}: held against its sum only" for name in others)]
        told.append(f"{RECORD}: when exchanges were complete, and with what replies, is given")
        told.append("Infolog.txt: of its events only " + ", ".join(sorted(EVENTS)))
        told.append(f"{MANIFEST}: " + ", ".join(GIVEN if self.virtual else (*GIVEN, *GIVEN_REAL)) + " are given")
        if not self.virtual:
            told.append(f"{RECORD}: when tasks ran is given; it is held against when they were due")
            told.append("HDSOlog.xml: what is in it besides the store at the start")
        if not self.manifest["files"]:
            told.append("the manifest has no sums of the logs: the bout did not come to its end")
        if self.lost_ns is not None:
            told.append(f"everything from {self.lost_ns / 1e9:.9g} s on: records were lost")
        return told


def _at(table: Mapping[str, Any], key: str) -> Any:
    """Return what stands in tables within each other at a dotted key."""
    found: Any = table
    for name in key.split("."):
        found = found[name]
    return found


def _numbers(table: Mapping[str, Any], path: str = "") -> Iterator[tuple[str, float]]:
    """Yield the numbers of tables within each other, by their dotted keys."""
    for key, value in table.items():
        if isinstance(value, dict):
            yield from _numbers(cast(dict[str, Any], value), f"{path}{key}.")
        else:
            yield f"{path}{key}", value


def _run(run: Any) -> dict[str, int]:
    """Return a task's counts as the manifest has them."""
    return {"runs": run.runs, "overruns": run.overruns, "skipped": run.skipped}
