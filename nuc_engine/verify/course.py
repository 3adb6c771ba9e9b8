"""What happens when: the tasks of a leg in their order, on virtual time by computation, in real time as recorded.

On virtual time every instant follows: of the tasks that are due the first in the order of TASKS runs, to its end.
Only when an exchange was complete, and with what replies, is the bus's to say.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from nuc_engine.verify.leg import Leg
from nuc_engine.verify.logs import Logs, Report
from nuc_engine.verify.shaft import OK
from nuc_engine.verify.store import Store, Values

NEVER = 2**63
SILENT = 5
"""Replies missed in a row that end a bout."""
LONGEST_EXCHANGE_NS = 10**9
"""An exchange that is not complete by then was never made: every bus gives up long before."""
RECORD = "InputRecord.msgpack"

TASKS = (
    "script",
    "motor_reply",
    "motor_action",
    "motor_conversion",
    "state_transition",
    "muscle_conversion",
    "hdso_server",
)
Progress = Callable[[float, float], None]


@dataclass(slots=True)
class Changeset:
    """Writes and requests (number or None for all, how many elements) of one instant."""

    time_ns: int
    writes: list[tuple[int, Values]]
    requests: list[tuple[int | None, int]]


@dataclass(slots=True)
class Run:
    """How often a task ran, and how often it came too late for whole periods."""

    runs: int = 0
    overruns: int = 0
    skipped: int = 0


class Border:
    """Holds what crossed to the bus and back against what is computed, and against time."""

    def __init__(self, leg: Leg, report: Report) -> None:
        self.leg, self.report = leg, report
        self.before: Sequence[Sequence[int]] = ([0] * len(leg.shafts),) * 3

    def told(self, number: int, level: int, goals: Sequence[int], now: int) -> None:
        """The bus is told what was computed, and the torque level in force."""
        for k, (shaft, goal) in enumerate(zip(self.leg.shafts, goals, strict=True)):
            if goal != shaft.sent:
                self.report.differ(RECORD, number, now, f"goal {k}", shaft.sent, goal)
        if level != self.leg.value("motor_speed"):
            self.report.differ(RECORD, number, now, "level", self.leg.value("motor_speed"), level)

    def gave(self, number: int, begun_ns: int, now: int, cycle: int, replies: Sequence[Sequence[int]]) -> None:
        """What was believed came within this exchange, all else is as before."""
        if cycle != self.leg.cycle + 1:
            self.report.differ(RECORD, number, now, "cycle", self.leg.cycle + 1, cycle)
        *values, status, stamps = replies
        kept = (*values, stamps)
        for k, state in enumerate(status):
            found, before = ([column[k] for column in columns] for columns in (kept, self.before))
            if state == OK and not begun_ns < stamps[k] <= now:
                self.report.differ(RECORD, number, now, f"stamp {k}", f"from {begun_ns} to {now}", stamps[k])
            if state != OK and found != before:
                self.report.differ(RECORD, number, now, f"reply {k}", before, found)
        self.before = kept


class Virtual:
    """A bout on virtual time. `replies` are the recorded cycles, `edits` the recorded edits, `costs` of tasks in ns."""

    def __init__(
        self,
        leg: Leg,
        logs: Logs,
        report: Report,
        record: Sequence[Sequence[Any]],
        script: Sequence[Changeset],
        costs: Mapping[str, int],
    ) -> None:
        self.leg, self.logs, self.report, self.costs = leg, logs, report, costs
        self.border = Border(leg, report)
        self.cycles = deque((n, r) for n, r in enumerate(record, 1) if r[0] == "cycle")
        self.edits = deque((n, r) for n, r in enumerate(record, 1) if r[0] in ("edit", "control"))
        self.starts = deque((n, r) for n, r in enumerate(record, 1) if r[:2] == ["ran", "start"])
        self.happened = deque(r for r in record if r[0] == "happened")
        self.script = deque(script)
        self.requests: deque[tuple[int | None, int]] = deque()
        self.due = dict.fromkeys(TASKS, NEVER)
        self.due |= {"motor_action": 0, "state_transition": 0, "script": script[0].time_ns if script else NEVER}
        self.counts = {task: Run() for task in TASKS}
        self.begun_ns = self.judged_ns = self.told_ns = -(10**9)
        self.ended_ns = 0

    def run(self, end_ns: int, progress: Progress) -> bool:
        """Run everything before `end_ns`; return whether it ended earlier, since a motor fell silent."""
        now = told = 0
        while now < end_ns:
            while self.happened and self.happened[0][2] <= now:
                self._happen()
            task = next((task for task in TASKS if self.due[task] <= now), None)
            if task is None:
                now = min(end_ns, *self.due.values())
                continue
            self.counts[task].runs += 1
            if not getattr(self, f"_{task}")(now):
                return True
            now += self.costs.get(task, 0)
            if now - told > 10**9:
                told = now
                progress(now / 1e9, end_ns / 1e9)
        self.ended_ns = now
        progress(end_ns / 1e9, end_ns / 1e9)
        while self.happened and self.happened[0][2] < end_ns:
            self._happen()
        if self.due["motor_reply"] == NEVER and end_ns - self.begun_ns > LONGEST_EXCHANGE_NS and self.begun_ns >= 0:
            self.report.differ(RECORD, 0, self.begun_ns, "cycle", "an exchange is complete", "none")
        for number, edit in self.edits:
            self.report.differ(RECORD, number, edit[2], "edit", "none", edit[3])
        for number, entry in (*self.cycles, *self.starts):
            self.report.differ(RECORD, number, entry[2], entry[1] if entry[0] == "ran" else entry[0], "none", entry)
        return False

    def _happen(self) -> None:
        _, cycle, time_ns, event = self.happened.popleft()
        if cycle != self.leg.cycle:
            self.report.differ(RECORD, 0, time_ns, "cycle of what happened", self.leg.cycle, cycle)
        self.logs.happened(time_ns, self.leg.cycle, event)

    def _script(self, now: int) -> bool:
        touched: set[int] = set()
        while self.script and self.script[0].time_ns <= now:
            changeset = self.script.popleft()
            refused = self.leg.write(changeset.writes)
            gone = replaced(changeset.writes, refused)
            for (number, values), bad, lost in zip(changeset.writes, refused, gone, strict=True):
                self._edit(now, number, values, bad=bad, lost=lost)
                touched |= set() if bad else {number}
            self.requests.extend(changeset.requests)
        self.due["script"] = self.script[0].time_ns if self.script else NEVER
        if self.leg.model.ids["statetrans_period_ns"] in touched and self.counts["state_transition"].runs:
            # A new period counts from the last evaluation.
            self.due["state_transition"] = max(now, self.judged_ns + self.leg.value("statetrans_period_ns"))
        if self.requests:
            self.due["hdso_server"] = now
        return True

    def _edit(self, now: int, number: int, values: Values, *, bad: bool, lost: bool) -> None:
        computed: list[Any] = ["edit", self.leg.cycle, now, number, list(values)]
        at, edit = self.edits.popleft() if self.edits else (0, [*computed, "refused" if bad else ""])
        for name, a, b in zip(("kind", "cycle", "time_ns", "hdso", "values"), computed, edit, strict=False):
            if a != b:
                self.report.differ(RECORD, at, now, f"edit {name}", a, b)
        if bad != bool(edit[5]):
            self.report.differ(RECORD, at, now, "edit refused", bad, edit[5])
        if not at:
            self.report.differ(RECORD, 0, now, "edit", number, "none")
        tell_write(self.leg, self.logs, now, number, values, edit[5] if bad else "", "", lost=lost)

    def _motor_action(self, now: int) -> bool:
        self.due["motor_action"], self.begun_ns = NEVER, now
        self.leg.begin(now)
        number, (*_, time_ns, level, goals) = self.starts.popleft() if self.starts else (0, ("none", 0, []))
        if time_ns != now:
            self.report.differ(RECORD, number, now, "time of start", now, time_ns)
        if number:
            self.border.told(number, level, goals, now)
        self.due["motor_reply"] = self.cycles[0][1][2] if self.cycles else NEVER
        return True

    def _motor_reply(self, now: int) -> bool:
        self.due["motor_reply"] = NEVER
        number, (_, cycle, time_ns, *replies) = self.cycles.popleft()
        if time_ns != now:
            self.report.differ(RECORD, number, time_ns, "time_ns", f"{now} or later", time_ns)
        self.border.gave(number, self.begun_ns, now, cycle, replies)
        self.leg.take(now, replies)
        pause = self.leg.value("motor_control_delay_ns")
        self.due["motor_action"] = max(now + pause, self.begun_ns + self.leg.cycle_min_ns)
        self.due["motor_conversion"] = now
        return tell_missed(self.leg, self.logs, now, last=not self.cycles)

    def _motor_conversion(self, now: int) -> bool:
        self.due["motor_conversion"] = NEVER
        self.leg.convert(now)
        return True

    def _state_transition(self, now: int) -> bool:
        self.judged_ns = self.due["state_transition"]
        self.leg.judge(now)
        self.due["muscle_conversion"] = now
        period, done = self.leg.value("statetrans_period_ns"), now + self.costs.get("state_transition", 0)
        periods = _periods(self.judged_ns, now, done, period)
        self.due["state_transition"] += periods * period
        if periods > 1:
            run = self.counts["state_transition"]
            run.overruns, run.skipped = run.overruns + 1, run.skipped + periods - 1
            if done - self.told_ns >= 10**9:
                self.told_ns = done
                text = f"state_transition overran; {run.skipped} periods skipped so far"
                self.logs.event(done, "overrun", text)
        return True

    def _muscle_conversion(self, now: int) -> bool:
        self.due["muscle_conversion"] = NEVER
        self.leg.pull(now)
        return True

    def _hdso_server(self, now: int) -> bool:
        number, count = self.requests.popleft()
        for each in self.leg.model.hdsos if number is None else (number,):
            values = self.leg.store.values(each)
            self.logs.answered(now, self.leg.cycle, each, values[:count] if count else values)
        self.due["hdso_server"] = now if self.requests else NEVER
        return True


def _periods(due: int, begun: int, done: int, period: int) -> int:
    """Return how many periods later it is due again: after the instant it ran at, and not before its end."""
    return max(1, -(-(max(done, begun + 1) - due) // period))


def replaced(writes: Sequence[tuple[int, Values]], refused: Sequence[bool]) -> list[bool]:
    """Return of which writes of one changeset a later one has overwritten all, with something else (reading C2)."""

    def over(place: int, later: int) -> bool:
        (number, values), (other, new) = writes[place], writes[later]
        same = number == other and not refused[place] and not refused[later]
        return same and len(new) >= len(values) and tuple(new[: len(values)]) != tuple(values)

    places = range(len(writes))
    return [any(over(place, later) for later in places[place + 1 :]) for place in places]


def tell_write(
    leg: Leg, logs: Logs, now: int, number: int, values: Values, refused: str, author: str, *, lost: bool
) -> None:
    """Compare what the logs say of a write; `lost`: a later one of its changeset replaced it."""
    logs.wrote(now, leg.cycle, number, values, refused, author, lost=lost)
    if refused:
        name = leg.model.hdsos[number].name
        logs.event(now, "write_refused", f"HDSO {number} ({name}) was not written: {refused}")


def tell_missed(leg: Leg, logs: Logs, now: int, *, last: bool = False, told: bool = True) -> bool:
    """Count missing replies and tell of the first of a row; return whether the bout goes on.

    Servos with registers may have answered one request of an exchange and missed the next, which begins a row anew. No
    record tells of that, so only where `last` says that nothing follows has one fallen silent.
    """
    for shaft in leg.shafts:
        motor, rows = shaft.motor, not shaft.motor.servo.wraps
        shaft.missed += shaft.misses > 0
        if told and (shaft.misses == 1 or (shaft.misses and rows)):
            text = f"{motor.name} (bus id {motor.bus_id}): no usable reply"
            logs.event(now, "reply_missed", text, sure=shaft.misses == 1)
        if shaft.misses >= SILENT and (last or not rows):
            return False
    return True


class Real:
    """A bout in real time, as its record says: when its tasks ran is given, and held against when they were due."""

    def __init__(self, leg: Leg, logs: Logs, report: Report, record: Sequence[Sequence[Any]], *, latched: int) -> None:
        self.leg, self.logs, self.report, self.record, self.latched = leg, logs, report, record, latched
        self.border = Border(leg, report)
        self.due = {"start": 0, "states": 0}
        self.begun_ns = self.judged_ns = 0
        self.period_ns = leg.value("statetrans_period_ns")
        self.pending: list[tuple[int, Sequence[Any]]] = []
        self.next = ""
        """What must run before anything else but changesets: the conversion of a cycle, the muscles of a state."""
        self.sure = True
        """Whether rules are due exactly when it stands in `due`, or perhaps later: their last end is not recorded."""
        self.ended: tuple[int, int] | None = None
        """When the last evaluation began, and its period, until the next record tells by when it had ended."""

    def run(self, until_ns: int, progress: Progress) -> None:
        """Do everything before `until_ns`."""
        told, last = 0, max(entry[2] for entry in self.record[1:])
        for number, entry in enumerate(self.record[1:], 2):
            kind, what, now = entry[0], entry[1], entry[2]
            if now >= until_ns:
                break
            if now - told > 10**9:
                told = now
                progress(now / 1e9, last / 1e9)
            if self.ended is not None:
                (begun, period), self.ended = self.ended, None
                self.sure &= _periods(self.judged_ns, begun, now, period) == _periods(
                    self.judged_ns, begun, begun, period
                )
            if kind in ("edit", "control"):
                self.pending.append((number, entry))
            elif kind == "store":
                self._store(number, entry)
            elif kind == "cycle":
                self._order(number, now, "cycle")
                self._cycle(number, entry)
            elif kind == "ran":
                self._order(number, now, what)
                getattr(self, f"_{what}")(number, now)

    def _order(self, number: int, now: int, what: str) -> None:
        between = ("changeset", "start") if self.next == "sensors" else ("changeset",)
        if self.next and what not in (self.next, *between):
            self.report.differ(RECORD, number, now, "order", self.next, what)
        if what in ("sensors", "muscles") and self.next != what:
            self.report.differ(RECORD, number, now, "order", f"no {what}", what)
        if not self.next:
            self._turn(number, now, what)
        self.next = "" if what == self.next else self.next

    def _turn(self, number: int, now: int, what: str) -> None:
        """An exchange waits for rules that are due; but one that has waited since before the last ones goes first."""
        released = {"start": self.due["start"], "cycle": self.begun_ns}
        if what in released and self.sure and self.judged_ns <= released[what] and self.due["states"] <= now:
            self.report.differ(RECORD, number, now, "order", f"states, due at {self.due['states']}", what)
        if what == "states" and self.due["start"] < self.judged_ns:
            self.report.differ(RECORD, number, now, "order", f"start, due at {self.due['start']}", what)

    def _wait(self, number: int, now: int, what: str) -> None:
        if now < self.due[what]:
            self.report.differ(RECORD, number, now, f"time of {what}", f"{self.due[what]} or later", now)

    def _store(self, number: int, entry: Sequence[Any]) -> None:
        if number == 2:
            for each in self.leg.model.hdsos:
                self.logs.answered(entry[2], entry[1], each, self.leg.store.values(each))
            return
        dumped = Store(self.leg.model.hdsos)
        dumped.load(entry[3])
        for each, hdso in self.leg.model.hdsos.items():
            computed, found = self.leg.store.values(each), dumped.values(each)
            if computed != found:
                self.report.differ(RECORD, number, entry[2], hdso.name, computed, found)

    def _start(self, number: int, now: int) -> None:
        self._wait(number, now, "start")
        if number >= self.latched:
            for shaft in self.leg.shafts:
                shaft.switch("limp")
        self.begun_ns, self.due["start"] = now, NEVER
        self.leg.begin(now)
        *_, level, goals = self.record[number - 1]
        self.border.told(number, level, goals, now)

    def _cycle(self, number: int, entry: Sequence[Any]) -> None:
        _, cycle, now, *replies = entry
        self.border.gave(number, self.begun_ns, now, cycle, replies)
        self.leg.take(now, replies)
        pause = self.leg.value("motor_control_delay_ns")
        self.due["start"], self.next = max(now + pause, self.begun_ns + self.leg.cycle_min_ns), "sensors"
        driven = any(shaft.drive not in ("limp", "none") for shaft in self.leg.shafts)
        tell_missed(self.leg, self.logs, now, told=driven)

    def _sensors(self, _: int, now: int) -> None:
        self.leg.convert(now)

    def _states(self, number: int, now: int) -> None:
        self._wait(number, now, "states")
        self.leg.judge(now)
        period, due = self.leg.value("statetrans_period_ns"), self.due["states"]
        self.sure |= now < due + self.period_ns
        self.judged_ns, self.period_ns, self.ended = due, period, (now, period)
        self.due["states"] = due + _periods(due, now, now, period) * period
        self.next = "muscles" if self.leg.sensed else ""

    def _muscles(self, _: int, now: int) -> None:
        self.leg.pull(now)

    def _changeset(self, number: int, now: int) -> None:
        edits = [(at, entry) for at, entry in self.pending if entry[0] == "edit"]
        writes = [(entry[3], tuple(entry[4])) for _, entry in edits]
        refused = self.leg.write(writes)
        for (at, entry), bad, lost in zip(edits, refused, replaced(writes, refused), strict=True):
            self._compare(at, entry, bad=bad)
            author = "".join(entry[6:])
            tell_write(self.leg, self.logs, entry[2], entry[3], tuple(entry[4]), entry[5], author, lost=lost)
        for at, entry in self.pending:
            if entry[0] == "control":
                self._control(at, entry)
        written = [number for (number, _), bad in zip(writes, refused, strict=True) if not bad]
        if self.leg.model.ids["statetrans_period_ns"] in written and self.judged_ns != self.due["states"]:
            self.period_ns = self.leg.value("statetrans_period_ns")
            self.due["states"] = max(now, self.judged_ns + self.period_ns)
        self.pending.clear()

    def _control(self, at: int, entry: Sequence[Any]) -> None:
        what, joint_id, value, why = entry[3:7]
        self._compare(at, entry, bad=self.leg.control(what, joint_id, value))
        name = next((joint.name for joint in self.leg.model.joints if joint.number == joint_id), joint_id)
        by = f" by {entry[7]}" if entry[7:] else ""
        kind, reason = ("control_refused", f": {why}") if why else ("control", "")
        self.logs.event(entry[2], kind, f"{name}: {what} {value}{by}{reason}")

    def _compare(self, at: int, entry: Sequence[Any], *, bad: bool) -> None:
        if entry[1] != self.leg.cycle:
            self.report.differ(RECORD, at, entry[2], f"{entry[0]} cycle", self.leg.cycle, entry[1])
        why = entry[5] if entry[0] == "edit" else entry[6]
        if bad != bool(why):
            self.report.differ(RECORD, at, entry[2], f"{entry[0]} refused", "refused" if bad else "made", why or "made")
