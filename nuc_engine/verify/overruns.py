"""Overruns of state transition in real time, as far as the record tells by when its evaluations had ended."""

from __future__ import annotations

import re

from nuc_engine.verify.logs import Logs, Report

INFO = "Infolog.txt"
TOLD_AGAIN_NS = 10**9
_SAID = re.compile(r"state_transition overran; (\d+) periods skipped so far( \(.*\))?")
_GIVEN = re.compile(r"muscle_conversion overran; \d+ periods skipped so far( \(.*\))?")


class Overruns:
    """Counts overruns and the periods they skip, and holds the events that tell of them against that.

    `vague` counts evaluations that may have ended before or after the next one was due.
    """

    def __init__(self, logs: Logs, report: Report) -> None:
        self.report = report
        self.count = self.skipped = self.vague = 0
        words = ((number, line.split(" ", 2)) for number, line in enumerate(logs.lines[INFO].all, 1))
        told = [(number, int(said[0]), said[2]) for number, said in words if said[1:2] == ["overrun"]]
        # Those of muscles that have a period of their own are given: when they are due is not always known.
        own = logs.model.muscle_period is not None
        self.events = [each for each in told if not (own and _GIVEN.fullmatch(each[2]))]
        self.events.reverse()
        self.told_ns = -TOLD_AGAIN_NS
        self.untold: list[int] = []

    def take(self, begun_ns: int, by_ns: int, skipped: int, *, sure: bool) -> None:
        """An evaluation began, had ended by then, and has skipped so many periods (not `sure`: or others)."""
        if sure:
            self.count, self.skipped = self.count + (skipped > 0), self.skipped + skipped
            if not skipped:
                return
        else:
            self.vague += 1
        if self.events and begun_ns <= self.events[-1][1] <= by_ns:
            self._compare(*self.events.pop())
        elif sure and begun_ns - self.told_ns >= TOLD_AGAIN_NS:
            self.untold.append(begun_ns)
            self.told_ns = begun_ns

    def _compare(self, number: int, time_ns: int, text: str) -> None:
        said = _SAID.fullmatch(text)
        if said is None or (not self.vague and int(said[1]) != self.skipped):
            computed = f"state_transition overran; {self.skipped} periods skipped so far"
            self.report.differ(INFO, number, time_ns, "line", computed, text)
        if time_ns - self.told_ns < TOLD_AGAIN_NS:
            self.report.differ(INFO, number, time_ns, "line", f"none within 1 s of {self.told_ns}", text)
        self.told_ns = time_ns

    def end(self, until_ns: int, *, whole: bool) -> None:
        """Note events before `until_ns` that no overrun was behind and, of a `whole` log, overruns nothing told of."""
        for number, time_ns, text in reversed(self.events):
            if time_ns < until_ns:
                self.report.differ(INFO, number, time_ns, "line", "no overrun", text)
        for begun_ns in self.untold if whole else ():
            self.report.differ(INFO, 0, begun_ns, "line", "state_transition overran", "none")
