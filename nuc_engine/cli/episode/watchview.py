"""What `nuc episode watch` shows, from snapshots alone: where it is and was, beside where it was to be, and numbers."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from math import dist

from nuc_engine.cli.terminal.legview import Canvas, Color, Painter, PlaneWindow
from nuc_engine.messages.snapshots import DONE, RUNNING, EpisodeSnapshot

FLIGHT = (9, 7, 4)
"""How many numbers of each kind a flight has: position, velocity, roll, pitch, yaw; what it was to be; the control."""

TRACE = 3000
_PLACE: Color = (0.95, 0.85, 0.35)
_FLOWN: Color = (0.45, 0.70, 0.95)
_WANTED: Color = (0.45, 0.45, 0.48)
_LEAST_M = 0.5
_OTHER_LINES = 7
MIN_COLUMNS, MIN_ROWS = 60, 14

Point = tuple[float, float, float]


class FlightView:
    """Takes snapshots as they come, in any order, and draws the newest. What was missed is counted."""

    def __init__(self, paint: Painter) -> None:
        self._paint = paint
        self.newest: EpisodeSnapshot | None = None
        self.missed = self.stale = 0
        self._flown: deque[Point] = deque(maxlen=TRACE)
        self._wanted: deque[Point] = deque(maxlen=TRACE)
        self._windows: dict[str, PlaneWindow] = {}

    def take(self, snapshot: EpisodeSnapshot) -> None:
        """Take a snapshot; one that is older than another that came is only counted."""
        last = self.newest
        if last is not None and snapshot.order <= last.order:
            self.stale += 1
            return
        if last is None or last.episode != snapshot.episode:
            self.missed = self.stale = 0
            self._flown.clear()
            self._wanted.clear()
            self._windows.clear()
        else:
            self.missed += snapshot.sequence - last.sequence - 1
        self.newest = snapshot
        if _is_flight(snapshot):
            self._flown.append(_place(snapshot.state))
            self._wanted.append(_place(snapshot.reference))

    def lines(self, columns: int, rows: int, age_s: float) -> list[str]:
        """Return one picture as lines of at most `columns` characters; `age_s` is since the newest snapshot came."""
        newest = self.newest
        if newest is None:
            return ["no snapshot yet; a server sends them with --udp"]
        told = [plain_line(newest), f"{self.missed} missed, {self.stale} came late; the newest is {age_s:.1f} s old"]
        if not _is_flight(newest):
            return [line[:columns] for line in told]
        if columns < MIN_COLUMNS or rows < MIN_ROWS:
            return [line[:columns] for line in told][:rows]
        gap, height = 2, rows - _OTHER_LINES
        left = (columns - gap + 1) // 2
        above, side = Canvas(left, height), Canvas(columns - gap - left, height)
        self._draw(above, "above", 0, 1)
        self._draw(side, "side", 0, 2)
        pictures = zip(above.lines(self._paint), side.lines(self._paint), strict=True)
        return [
            f"{'from above: x >, y ^':<{left}}{'':{gap}}from the side: x >, z ^",
            *(f"{a}{'':{gap}}{b}" for a, b in pictures),
            *_numbers(newest, columns),
            told[1][:columns],
            "Ctrl-C ends",
        ]

    def _draw(self, canvas: Canvas, name: str, u: int, v: int) -> None:
        half, (cu, cv) = _LEAST_M / 2, (self._flown[-1][u], self._flown[-1][v])
        window = self._windows.get(name, PlaneWindow(cu - half, cu + half, cv - half, cv + half))
        for points in (self._wanted, self._flown):
            for point in points:
                window = window.including(point[u], point[v], 0.1 * (window.right - window.left))
        self._windows[name] = window
        for points, color in ((self._wanted, _WANTED), (self._flown, _FLOWN)):
            for point in points:
                x, y = window.on(canvas, point[u], point[v])
                canvas.dot(round(x), round(y), color)
        x, y = window.on(canvas, self._flown[-1][u], self._flown[-1][v])
        canvas.disc((x, y), 2.0, _PLACE)


def _numbers(newest: EpisodeSnapshot, columns: int) -> list[str]:
    state, reference, control = newest.state, newest.reference, newest.control
    phase = {RUNNING: "runs", DONE: "done"}.get(newest.phase, "failed")
    rows = [
        f"episode {newest.episode}, {phase}, {newest.time_s:.2f} s;"
        f" {dist(_place(state), _place(reference)):.3f} m from its reference",
        "place    {:8.3f} {:8.3f} {:8.3f} m      wanted {:8.3f} {:8.3f} {:8.3f}".format(*state[:3], *reference[:3]),
        "attitude {:8.3f} {:8.3f} {:8.3f} rad    thrust {:.2f} N".format(*state[6:9], control[2]),
    ]
    return [row[:columns] for row in rows]


def plain_line(newest: EpisodeSnapshot) -> str:
    """Return a snapshot in one line, for where no picture can be drawn."""
    phase = {RUNNING: "runs", DONE: "done"}.get(newest.phase, "failed")
    start = f"episode {newest.episode}, {phase}, {newest.time_s:.2f} s"
    if not _is_flight(newest):
        return f"{start}: {', '.join(f'{number:.4g}' for number in newest.state)}"
    place = ", ".join(f"{number:.3f}" for number in newest.state[:3])
    return f"{start}: at {place} m, {dist(newest.state[:3], newest.reference[:3]):.3f} m from its reference"


def _is_flight(snapshot: EpisodeSnapshot) -> bool:
    return (len(snapshot.state), len(snapshot.reference), len(snapshot.control)) == FLIGHT


def _place(numbers: Sequence[float]) -> Point:
    return numbers[0], numbers[1], numbers[2]
