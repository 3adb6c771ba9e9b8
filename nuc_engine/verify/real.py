"""A bout in real time: when its tasks ran is as recorded, and held against when they were due."""

from __future__ import annotations

from collections import Counter

from nuc_engine.verify.course import (
    NEVER,
    Border,
    Progress,
    compare_verdict,
    periods_behind,
    replaced,
    tell_missed,
    tell_write,
)
from nuc_engine.verify.leg import Leg
from nuc_engine.verify.logs import Logs, Report
from nuc_engine.verify.overruns import Overruns
from nuc_engine.verify.record import RECORD, Entry, Numbered, Record
from nuc_engine.verify.store import Store


class Real:
    """A bout in real time, as its record says: when its tasks ran is given, and held against when they were due."""

    def __init__(self, leg: Leg, logs: Logs, report: Report, record: Record, *, latched: int) -> None:
        self.leg, self.logs, self.report, self.record, self.latched = leg, logs, report, record, latched
        self.border = Border(leg, report)
        self.due = {"start": 0, "states": 0, "muscles": 0}
        self.own = leg.model.muscle_period
        """The HDSO of the muscles' own period, None where they follow rules."""
        self.pulled_ns: int | None = None
        """When the last run of these that is recorded was due, None where that is not known."""
        self.dated, self.prompt = True, False
        """Whether it is known when they are due, skipped periods aside; and whether none was skipped since."""
        self.begun_ns = self.judged_ns = 0
        self.period_ns = leg.value("statetrans_period_ns")
        self.pending: list[Numbered] = []
        self.next = ""
        """What must run before anything else but changesets: the conversion of a cycle, the muscles of a state."""
        self.sure = True
        """Whether rules are due exactly when it stands in `due`, or perhaps later: their last end is not recorded."""
        self.ended: tuple[int, int] | None = None
        """When the last evaluation began, and its period, until the next entry tells by when it had ended."""
        self.runs: Counter[str] = Counter()
        self.blind, self.doubt, self.unseen = 0, 0, False
        """How many times muscles had nothing to do, since not every sensor had a value; how many of these perhaps never
        came, since rules were due again; and whether they are about to."""
        self.overruns = Overruns(logs, report)

    def run(self, until_ns: int, progress: Progress, end_ns: int) -> None:
        """Do everything before `until_ns`; the bout ended at `end_ns`."""
        told, last = 0, self.record.last_ns
        for number, entry in self.record.entries:
            kind, what, now = entry[0], entry[1], entry[2]
            if now >= until_ns:
                break
            if now - told > 10**9:
                told = now
                progress(now / 1e9, last / 1e9)
            self._evaluated(now)
            self.prompt |= now < self.due["muscles"]  # their last run had ended by now
            if kind in ("edit", "control"):
                self.pending.append((number, entry))
            elif kind == "store":
                self._store(number, entry)
            elif kind == "cycle":
                self._order(number, now, "cycle")
                self._cycle(number, entry)
            elif kind == "ran":
                self._order(number, now, what)
                self.runs[what] += 1
                getattr(self, f"_{what}")(number, entry)
        self._evaluated(max(last, end_ns))

    def _evaluated(self, by_ns: int) -> None:
        """Take note of by when the last evaluation had ended."""
        if self.ended is None:
            return
        (begun, period), self.ended = self.ended, None
        least, most = (periods_behind(self.judged_ns, begun, done, period) for done in (begun, by_ns))
        self.overruns.take(begun, by_ns, least - 1, sure=self.sure and least == most)
        self.sure &= least == most

    def _order(self, number: int, now: int, what: str) -> None:
        if what != "changeset":
            self.blind, self.doubt = self.blind + self.unseen, self.doubt + (self.unseen and what == "states")
            self.unseen = False
        between = ("changeset", "start" if self.next == "sensors" else "")
        if self.next == "muscles" and self.due["states"] <= now:
            between = ("changeset", "states")  # rules that are due again go first
        if self.next and what not in (self.next, *between):
            self.report.differ(RECORD, number, now, "order", self.next, what)
        bound = ("sensors", "muscles") if self.own is None else ("sensors",)
        if what in bound and self.next != what:
            self.report.differ(RECORD, number, now, "order", f"no {what}", what)
        if not self.next:
            self._turn(number, now, what)
        self.next = "" if what == self.next else self.next

    def _turn(self, number: int, now: int, what: str) -> None:
        """An exchange waits for rules that are due; but one that has waited since before the last ones goes first."""
        released = {"start": self.due["start"], "cycle": self.begun_ns}
        if what in released and self.sure and self.judged_ns <= released[what] and self.due["states"] <= now:
            self.report.differ(RECORD, number, now, "order", f"states, due at {self.due['states']}", what)
        if self.own is not None and self._turn_of_muscles(number, now, what):
            return
        if what == "states" and self.due["start"] < self.judged_ns:
            self.report.differ(RECORD, number, now, "order", f"start, due at {self.due['start']}", what)

    def _turn_of_muscles(self, number: int, now: int, what: str) -> bool:
        """Muscles with a period of their own wait for rules; return whether they may be due: then rules go first."""
        if what == "muscles" and self.sure and self.due["states"] <= now:
            self.report.differ(RECORD, number, now, "order", f"states, due at {self.due['states']}", what)
        if what in ("start", "cycle") and self.dated and self.prompt and self.due["muscles"] <= now:
            self.report.differ(RECORD, number, now, "order", f"muscles, due at {self.due['muscles']}", what)
        return not self.dated or self.due["muscles"] <= now

    def _wait(self, number: int, now: int, what: str) -> None:
        if now < self.due[what]:
            self.report.differ(RECORD, number, now, f"time of {what}", f"{self.due[what]} or later", now)

    def _store(self, number: int, entry: Entry) -> None:
        if number == 2:  # the start's, which was loaded
            for each in self.leg.model.hdsos:
                self.logs.answered(entry[2], entry[1], each, self.leg.store.values(each))
            return
        dumped = Store(self.leg.model.hdsos)
        dumped.load(entry[3])
        for each, hdso in self.leg.model.hdsos.items():
            computed, found = self.leg.store.values(each), dumped.values(each)
            if computed != found:
                self.report.differ(RECORD, number, entry[2], hdso.name, computed, found)

    def _start(self, number: int, entry: Entry) -> None:
        _, _, now, level, goals = entry
        self._wait(number, now, "start")
        if number >= self.latched:
            for shaft in self.leg.shafts:
                shaft.switch("limp")
        self.begun_ns, self.due["start"] = now, NEVER
        self.leg.begin(now)
        self.border.told(number, level, goals, now)

    def _cycle(self, number: int, entry: Entry) -> None:
        _, cycle, now, *replies = entry
        self.border.gave(number, self.begun_ns, now, cycle, replies)
        self.leg.take(now, replies)
        pause = self.leg.value("motor_control_delay_ns")
        self.due["start"], self.next = max(now + pause, self.begun_ns + self.leg.cycle_min_ns), "sensors"
        driven = any(shaft.drive not in ("limp", "none") for shaft in self.leg.shafts)
        tell_missed(self.leg, self.logs, now, told=driven)

    def _sensors(self, _: int, entry: Entry) -> None:
        self.leg.convert(entry[2])

    def _states(self, number: int, entry: Entry) -> None:
        now = entry[2]
        self._wait(number, now, "states")
        self.leg.judge(now)
        period, due = self.leg.value("statetrans_period_ns"), self.due["states"]
        self.sure |= now < due + self.period_ns
        self.judged_ns, self.period_ns, self.ended = due, period, (now, period)
        self.due["states"] = due + periods_behind(due, now, now, period) * period
        self.next = "muscles" if self.leg.sensed and self.own is None else ""
        self.unseen = not self.leg.sensed

    def _muscles(self, number: int, entry: Entry) -> None:
        now = entry[2]
        self.leg.pull(now)
        if self.own is None:
            return
        if self.dated:
            self._wait(number, now, "muscles")
        period, due = int(self.leg.store.held[self.own][0]), self.due["muscles"]
        # Before every sensor had a value they ran unseen; so late that two periods had passed, it may be either's.
        self.pulled_ns = due if due and now < due + period else None
        self.due["muscles"], self.prompt = due + periods_behind(due, now, now, period) * period, False

    def _changeset(self, _: int, ran: Entry) -> None:
        now = ran[2]
        edits = [(at, entry) for at, entry in self.pending if entry[0] == "edit"]
        writes = [(entry[3], tuple(entry[4])) for _, entry in edits]
        refused = self.leg.write(writes)
        self.leg.note(now)
        for (at, entry), bad, lost in zip(edits, refused, replaced(writes, refused), strict=True):
            why, author = self._compare(at, entry, now, bad=bad), "".join(entry[6:])
            tell_write(self.leg, self.logs, entry[2], entry[3], tuple(entry[4]), why, author, lost=lost)
        for at, entry in self.pending:
            if entry[0] == "control":
                self._control(at, entry, now)
        written = [number for (number, _), bad in zip(writes, refused, strict=True) if not bad]
        if self.leg.model.ids["statetrans_period_ns"] in written and self.judged_ns != self.due["states"]:
            self.period_ns = self.leg.value("statetrans_period_ns")
            self.due["states"] = max(now, self.judged_ns + self.period_ns)
        if self.own is not None and self.own in written:
            self._pace(now, int(self.leg.store.held[self.own][0]))
        self.pending.clear()

    def _pace(self, now: int, period: int) -> None:
        """Let a new period of muscles count from when they were due last; of what is not known nothing is held."""
        self.dated &= self.pulled_ns is not None
        self.due["muscles"], self.prompt = max(now, (self.pulled_ns or 0) + period), True

    def _control(self, at: int, entry: Entry, now: int) -> None:
        what, joint_id, value = entry[3:6]
        why = self._compare(at, entry, now, bad=self.leg.control(what, joint_id, value))
        model, told = self.leg.model, ""
        name = next((joint.name for joint in model.joints if joint.number == joint_id), joint_id)
        if what == "sense":
            name, told = model.hdsos[joint_id].name, f", cycle {self.leg.cycle}"
        by = f" by {entry[7]}" if entry[7:] else ""
        kind, reason = ("control_refused", f": {why}") if why else ("control", "")
        self.logs.event(entry[2], kind, f"{name}: {what} {value}{told}{by}{reason}")

    def _compare(self, at: int, entry: Entry, now: int, *, bad: bool) -> str:
        for name, computed, found in (("cycle", self.leg.cycle, entry[1]), ("time_ns", now, entry[2])):
            if computed != found:
                self.report.differ(RECORD, at, entry[2], f"{entry[0]} {name}", computed, found)
        return compare_verdict(self.report, at, entry, bad=bad)
