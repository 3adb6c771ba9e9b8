"""What happens when: the tasks of a leg in their order, on virtual time by computation, in real time as recorded.

What both have in common: the border to the bus, periods, and what is told of writes and of missed replies.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from nuc_engine.verify.leg import Leg
from nuc_engine.verify.logs import Logs, Report
from nuc_engine.verify.record import RECORD
from nuc_engine.verify.shaft import OK
from nuc_engine.verify.store import Values

NEVER = 2**63
SILENT = 5
"""Replies missed in a row that end a bout."""
LONGEST_EXCHANGE_NS = 10**9
"""An exchange that is not complete by then was never made: every bus gives up long before."""

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
    """Writes and requests (number or None for all, how many elements) of one instant, and what is sensed of sensors."""

    time_ns: int
    writes: list[tuple[int, Values]]
    requests: list[tuple[int | None, int]]
    senses: list[tuple[int, float | str]] = field(default_factory=list[tuple[int, float | str]])


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


def periods_behind(due: int, begun: int, done: int, period: int) -> int:
    """Return how many periods later it is due again: after the instant it ran at, and not before its end."""
    return max(1, -(-(max(done, begun + 1) - due) // period))


def replaced(writes: Sequence[tuple[int, Values]], refused: Sequence[bool]) -> list[bool]:
    """Return of which writes of one changeset a later one has overwritten all, with something else (reading C2).

    Of the later writes of an HDSO the longest is kept, and the lengths up to which any of them differs from it.
    """
    found = [False] * len(writes)
    behind: dict[int, tuple[Values, set[int]]] = {}
    for place in reversed(range(len(writes))):
        number, values = writes[place]
        if refused[place]:
            continue
        longest, differing = behind.get(number, ((), set[int]()))
        short, long = sorted((tuple(values), longest), key=len)
        same = next((k for k, (a, b) in enumerate(zip(short, long, strict=False)) if a != b), len(short))
        found[place] = len(values) <= len(longest) and (same < len(values) or len(values) in differing)
        differing.update(range(same + 1, len(short) + 1))
        behind[number] = (long, differing)
    return found


def compare_verdict(report: Report, number: int, entry: Sequence[Any], *, bad: bool) -> str:
    """Hold whether an edit or a control was made against what is computed; return the record's words of a refusal."""
    kind, time_ns, why = entry[0], entry[2], entry[5 if entry[0] == "edit" else 6]
    if bad != (why != "") or not isinstance(why, str):
        report.differ(RECORD, number, time_ns, f"{kind} refused", "why it is refused" if bad else "''", repr(why))
    return str(why) if bad else ""


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
