"""A bout on virtual time: every instant follows.

Of the tasks that are due the first in the order of TASKS runs, to its end. Only when an exchange was complete, and with
what replies, is the bus's to say.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence
from typing import Any

from nuc_engine.verify.course import (
    LONGEST_EXCHANGE_NS,
    NEVER,
    TASKS,
    Border,
    Changeset,
    Progress,
    Run,
    compare_verdict,
    periods_behind,
    replaced,
    tell_missed,
    tell_write,
)
from nuc_engine.verify.leg import Leg
from nuc_engine.verify.logs import Logs, Report
from nuc_engine.verify.record import RECORD, Numbered, Record
from nuc_engine.verify.store import Values


class Virtual:
    """A bout on virtual time. `replies` are the recorded cycles, `edits` the recorded edits, `costs` of tasks in ns."""

    def __init__(
        self,
        leg: Leg,
        logs: Logs,
        report: Report,
        record: Record,
        script: Sequence[Changeset],
        costs: Mapping[str, int],
    ) -> None:
        self.leg, self.logs, self.report, self.costs = leg, logs, report, costs
        self.border = Border(leg, report)
        self.cycles, self.edits = deque(record.of("cycle")), deque(record.of("edit"))
        self.controls = deque(record.of("control"))
        self.starts, self.happened = deque(record.ran("start")), deque(record.of("happened"))
        self.cut_ns = NEVER
        self.taken = 0
        """The number of the entry that was taken last."""
        self.script = deque(script)
        self.requests: deque[tuple[int | None, int]] = deque()
        self.due: dict[str, int] = dict.fromkeys(TASKS, NEVER)
        self.due |= {"motor_action": 0, "state_transition": 0, "script": script[0].time_ns if script else NEVER}
        self.counts: dict[str, Run] = {task: Run() for task in TASKS}
        self.periods: dict[str, int] = {"state_transition": leg.model.ids["statetrans_period_ns"]}
        """The HDSOs of the periods of tasks."""
        if leg.model.muscle_period is not None:
            self.periods["muscle_conversion"] = leg.model.muscle_period
            self.due["muscle_conversion"] = 0
        self.last_ns, self.told_ns = dict.fromkeys(self.periods, 0), dict.fromkeys(self.periods, -(10**9))
        """When they were due last, and when it was told last that they had overrun."""
        self.begun_ns = -(10**9)
        self.ended_ns = 0

    def run(self, end_ns: int, progress: Progress, cut_ns: int = NEVER) -> bool:
        """Run everything before `end_ns`; return whether it ended earlier, since a motor fell silent.

        Of what is at `cut_ns`, or later, the record may lack anything.
        """
        self.cut_ns = cut_ns
        now = told = 0
        while now < end_ns:
            while self.happened and self.happened[0][1][2] <= now:
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
        while self.happened and self.happened[0][1][2] < end_ns:
            self._happen()
        if self.due["motor_reply"] == NEVER and end_ns - self.begun_ns > LONGEST_EXCHANGE_NS and self.begun_ns >= 0:
            self.report.differ(RECORD, 0, self.begun_ns, "cycle", "an exchange is complete", "none")
        for number, entry in (*self.edits, *self.controls, *self.cycles, *self.starts):
            self.report.differ(RECORD, number, entry[2], entry[1] if entry[0] == "ran" else entry[0], "none", entry)
        return False

    def _take(self, entries: deque[Numbered]) -> Numbered:
        """Take the next entry of a kind: it stands behind all that were taken before."""
        number, entry = entries.popleft()
        if number < self.taken:
            self.report.differ(RECORD, number, entry[2], "order", f"behind entry {self.taken}", entry[:2])
        self.taken = max(self.taken, number)
        return number, entry

    def _lack(self, now: int, column: str, computed: object) -> None:
        if now < self.cut_ns:
            self.report.differ(RECORD, 0, now, column, computed, "none")

    def _happen(self) -> None:
        number, (_, cycle, time_ns, event) = self._take(self.happened)
        if cycle != self.leg.cycle:
            self.report.differ(RECORD, number, time_ns, "cycle of what happened", self.leg.cycle, cycle)
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
            for number, value in changeset.senses:
                self._sense(now, number, value)
            self.requests.extend(changeset.requests)
        self.leg.note(now)
        self.due["script"] = self.script[0].time_ns if self.script else NEVER
        for task, period in self.periods.items():
            if period in touched and self.counts[task].runs:
                # A new period counts from the last run.
                self.due[task] = max(now, self.last_ns[task] + self._period(task))
        if self.requests:
            self.due["hdso_server"] = now
        return True

    def _sense(self, now: int, number: int, value: float | str) -> None:
        self.leg.control("sense", number, value)
        computed: list[Any] = ["control", self.leg.cycle, now, "sense", number, value, ""]
        if not self.controls:
            self._lack(now, "control", number)
        else:
            at, found = self._take(self.controls)
            if computed != found:
                self.report.differ(RECORD, at, now, "control", computed, found)
        name = self.leg.model.hdsos[number].name
        self.logs.event(now, "control", f"{name}: sense {value}, cycle {self.leg.cycle}")

    def _edit(self, now: int, number: int, values: Values, *, bad: bool, lost: bool) -> None:
        computed: list[Any] = ["edit", self.leg.cycle, now, number, list(values)]
        if not self.edits:
            self._lack(now, "edit", number)
            tell_write(self.leg, self.logs, now, number, values, "refused" if bad else "", "", lost=lost)
            return
        at, edit = self._take(self.edits)
        for name, a, b in zip(("kind", "cycle", "time_ns", "hdso", "values"), computed, edit, strict=False):
            if a != b:
                self.report.differ(RECORD, at, now, f"edit {name}", a, b)
        why = compare_verdict(self.report, at, edit, bad=bad)
        tell_write(self.leg, self.logs, now, number, values, why, "", lost=lost)

    def _motor_action(self, now: int) -> bool:
        self.due["motor_action"], self.begun_ns = NEVER, now
        self.leg.begin(now)
        if not self.starts:
            self._lack(now, "time of start", now)
        else:
            number, (*_, time_ns, level, goals) = self._take(self.starts)
            if time_ns != now:
                self.report.differ(RECORD, number, now, "time of start", now, time_ns)
            self.border.told(number, level, goals, now)
        self.due["motor_reply"] = self.cycles[0][1][2] if self.cycles else NEVER
        return True

    def _motor_reply(self, now: int) -> bool:
        self.due["motor_reply"] = NEVER
        number, (_, cycle, time_ns, *replies) = self._take(self.cycles)
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
        self.leg.judge(now)
        if "muscle_conversion" not in self.periods:
            self.due["muscle_conversion"] = now
        return self._again("state_transition", now)

    def _muscle_conversion(self, now: int) -> bool:
        self.leg.pull(now)
        if "muscle_conversion" in self.periods:
            return self._again("muscle_conversion", now)
        self.due["muscle_conversion"] = NEVER
        return True

    def _period(self, task: str) -> int:
        return int(self.leg.store.held[self.periods[task]][0])

    def _again(self, task: str, now: int) -> bool:
        """Let a task that has a period be due again, and count the periods for which it came too late."""
        self.last_ns[task] = self.due[task]
        period, done = self._period(task), now + self.costs.get(task, 0)
        periods = periods_behind(self.due[task], now, done, period)
        self.due[task] += periods * period
        if periods > 1:
            run = self.counts[task]
            run.overruns, run.skipped = run.overruns + 1, run.skipped + periods - 1
            if done - self.told_ns[task] >= 10**9:
                self.told_ns[task] = done
                self.logs.event(done, "overrun", f"{task} overran; {run.skipped} periods skipped so far")
        return True

    def _hdso_server(self, now: int) -> bool:
        number, count = self.requests.popleft()
        for each in self.leg.model.hdsos if number is None else (number,):
            values = self.leg.store.values(each)
            self.logs.answered(now, self.leg.cycle, each, values[:count] if count else values)
        self.due["hdso_server"] = now if self.requests else NEVER
        return True
