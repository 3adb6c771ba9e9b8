"""Reference programs (002 5.3): position, velocity and yaw at t, read from the tables that describe them.

A velocity is the derivative of its position wherever that has one: a program that jumps has the velocity of what it
jumps between. Every program has `yaw_rad` and `yaw_rate_rad_s` (default 0).
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Mapping
from math import cos, sin, tau
from types import MappingProxyType

from nuc_engine.episode.fields import Fields
from nuc_engine.episode.system import Program
from nuc_engine.flight.appendix import Numbers

DUE_S = 1e-9
"""What is to happen at a time happens in the first step that is no more than this before it: k dt is rounded."""
NEAR_M = 1e-9
"""How far apart ends may be that are to meet."""
DEEPEST = 8
"""How many sums and sequences may stand in one another."""

Path = Callable[[float], Numbers]
"""Position and velocity at t."""


def read_reference(table: Fields) -> Program:
    """Return the program that a table describes; what is wrong is noted in the table."""
    return _program(table, 1)


def _program(table: Fields, depth: int) -> Program:
    kind = table.word("kind", KINDS)
    reader = _LEAVES.get(kind)
    if not kind:
        return _nothing
    if depth > DEEPEST:
        table.wrong("kind", f"more than {DEEPEST} programs in one another", "fewer")
        return _nothing
    program = reader(table) if reader is not None else _NESTED[kind](table, depth)
    table.close()
    return program


def _nothing(_t: float) -> Numbers:
    """Stand in for a program that could not be read."""
    return (0.0,) * 7


def _turning(table: Fields, path: Path) -> Program:
    start, rate = table.number("yaw_rad", default=0.0), table.number("yaw_rate_rad_s", default=0.0)
    return lambda t: (*path(t), start + rate * t)


def _hover(table: Fields) -> Program:
    x, y, z = table.vector("position_m")
    return _turning(table, lambda _t: (x, y, z, 0.0, 0.0, 0.0))


def _step(table: Fields) -> Program:
    before = (*table.vector("from_m"), 0.0, 0.0, 0.0)
    after = (*table.vector("to_m"), 0.0, 0.0, 0.0)
    due_s = table.number("at_s", 0.0) - DUE_S
    return _turning(table, lambda t: after if t >= due_s else before)


def _waypoints(table: Fields) -> Program:
    times: list[float] = []
    points: list[Numbers] = []
    for point in table.tables("points"):
        at_s = point.number("at_s", 0.0)
        if times and at_s <= times[-1] + DUE_S:
            point.wrong("at_s", f"{at_s:g}", f"a time after {times[-1] + DUE_S:g}")
        times.append(at_s - DUE_S)
        points.append((*point.vector("position_m"), 0.0, 0.0, 0.0, point.number("yaw_rad", default=0.0)))
        point.close()
    if times and times[0] > 0:
        table.wrong("points.0.at_s", f"{times[0] + DUE_S:g}", "0: there is a reference from the beginning")
    return (lambda t: points[max(bisect_right(times, t) - 1, 0)]) if points else _nothing


def _circle(table: Fields) -> Program:
    return _round(table, 0.0)


def _helix(table: Fields) -> Program:
    return _round(table, table.number("climb_m_s"))


def _round(table: Fields, climb: float) -> Program:
    x, y, z = table.vector("centre_m")
    radius = table.number("radius_m", 0.0, above=True)
    omega = tau / table.number("period_s", 0.0, above=True)
    if table.flag("clockwise"):
        omega = -omega
    phase = table.number("phase_rad", default=0.0)
    speed = radius * omega

    def path(t: float) -> Numbers:
        angle = phase + omega * t
        c, s = cos(angle), sin(angle)
        return x + radius * c, y + radius * s, z + climb * t, -speed * s, speed * c, climb

    return _turning(table, path)


def _eight(table: Fields) -> Program:
    x, y, z = table.vector("centre_m")
    length = table.number("length_m", 0.0, above=True) / 2
    width = table.number("width_m", 0.0, above=True) / 2
    omega = tau / table.number("period_s", 0.0, above=True)

    def path(t: float) -> Numbers:
        angle = omega * t
        there, across = length * sin(angle), width * sin(2 * angle)
        along, aside = length * omega * cos(angle), 2 * width * omega * cos(2 * angle)
        return x + there, y + across, z, along, aside, 0.0

    return _turning(table, path)


def _probe(table: Fields) -> Program:
    """A boundary probe: to and fro about a point, faster and faster from `from_hz` to `to_hz`, then at `to_hz`."""
    x, y, z = table.vector("centre_m")
    ax, ay, az = table.vector("amplitude_m")
    first, last = table.number("from_hz", 0.0), table.number("to_hz", 0.0)
    over_s = table.number("over_s", 0.0, above=True)
    gain = (last - first) / over_s

    def path(t: float) -> Numbers:
        within = min(t, over_s)
        angle = tau * (first * within + gain * within * within / 2 + last * (t - within))
        share, change = sin(angle), tau * (first + gain * within) * cos(angle)
        return x + ax * share, y + ay * share, z + az * share, ax * change, ay * change, az * change

    return _turning(table, path)


def _sum(table: Fields, depth: int) -> Program:
    parts = [_program(part, depth + 1) for part in table.tables("parts")]
    return lambda t: tuple(map(sum, zip(*(part(t) for part in parts), strict=True)))


def _later(table: Fields, depth: int) -> Program:
    """A program from a later instant on."""
    by_s = table.number("by_s", 0.0)
    program = _program(table.table("of"), depth + 1)
    return lambda t: program(t + by_s)


def _sequence(table: Fields, depth: int) -> Program:
    """One program after another, each on its own time. They meet, unless they `may_jump`."""
    may_jump = table.flag("may_jump")
    parts: list[Program] = []
    begins: list[float] = []
    begin_s = 0.0
    for number, part in enumerate(tables := table.tables("parts")):
        lasts_s = part.number("for_s", 0.0, above=True) if number < len(tables) - 1 or part.has("for_s") else 0.0
        one = _program(part, depth + 1)
        if parts and not may_jump and not table.problems:
            apart = _apart(parts[-1](begin_s - begins[-1]), one(0.0))
            if apart > NEAR_M:
                part.wrong("", f"begins {apart:.6g} m from where the one before ends", "the same place, or may_jump")
        begins.append(begin_s)
        parts.append(one)
        begin_s += lasts_s
    due = [begin - DUE_S for begin in begins]

    def program(t: float) -> Numbers:
        k = max(bisect_right(due, t) - 1, 0)
        return parts[k](max(t - begins[k], 0.0))

    return program if parts else _nothing


def _apart(a: Numbers, b: Numbers) -> float:
    return max(abs(one - other) for one, other in zip(a[:3], b[:3], strict=True))


_LEAVES: Mapping[str, Callable[[Fields], Program]] = MappingProxyType(
    {
        "hover": _hover,
        "step": _step,
        "waypoints": _waypoints,
        "circle": _circle,
        "eight": _eight,
        "helix": _helix,
        "probe": _probe,
    }
)
_NESTED: Mapping[str, Callable[[Fields, int], Program]] = MappingProxyType(
    {"sum": _sum, "sequence": _sequence, "later": _later}
)
KINDS = (*_LEAVES, *_NESTED)
"""The kinds of programs there are."""
