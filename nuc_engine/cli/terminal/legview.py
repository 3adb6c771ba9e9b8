"""A leg drawn with Braille characters: from the side and from above, states in their colours, what the foot does."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from nuc_engine.cli.terminal.live import JointView, LegSnapshot, Point

Color = Sequence[float]
Painter = Callable[[str, Color | None], str]
"""Returns text in a colour (red, green, blue in 0..1), or as it is for None."""

_BITS = ((0x01, 0x08), (0x02, 0x10), (0x04, 0x20), (0x40, 0x80))
_BLANK = 0x2800

MIN_COLUMNS, MIN_HEIGHT = 64, 6
"""Smallest terminal the picture fits in: columns in all, lines for the leg alone."""

_GROUND: Color = (0.55, 0.45, 0.30)
_TRACE: Color = (0.62, 0.62, 0.66)
_FRESH: Color = (0.95, 0.85, 0.35)
_BONE: Color = (0.80, 0.80, 0.82)
_JOINT: Color = (1.0, 1.0, 1.0)
_LOADED: Color = (0.95, 0.35, 0.25)
_FRESH_RECORDS = 40
_OTHER_LINES = 6
_AXES = {"side": (0, 2), "above": (0, 1)}


def fits(columns: int, rows: int, joints: int) -> bool:
    """Say whether a terminal is large enough for the picture."""
    return columns >= MIN_COLUMNS and rows - joints - _OTHER_LINES >= MIN_HEIGHT


class Canvas:
    """Characters in rows and columns, drawn on by dots: x to the right, y downwards, from the upper left corner."""

    def __init__(self, columns: int, rows: int) -> None:
        self.columns, self.rows = columns, rows
        self.width, self.height = 2 * columns, 4 * rows
        self._bits = [0] * (columns * rows)
        self._colors: list[Color | None] = [None] * (columns * rows)

    def dot(self, x: int, y: int, color: Color | None = None) -> None:
        """Set one dot; the cell takes its colour. Nothing happens outside."""
        if 0 <= x < self.width and 0 <= y < self.height:
            at = (y // 4) * self.columns + x // 2
            self._bits[at] |= _BITS[y % 4][x % 2]
            self._colors[at] = color

    def line(self, start: tuple[float, float], end: tuple[float, float], color: Color | None = None) -> None:
        """Draw a straight line."""
        (x0, y0), (x1, y1) = start, end
        steps = max(1, round(max(abs(x1 - x0), abs(y1 - y0))))
        for k in range(steps + 1):
            self.dot(round(x0 + (x1 - x0) * k / steps), round(y0 + (y1 - y0) * k / steps), color)

    def thick_line(self, start: tuple[float, float], end: tuple[float, float], color: Color | None = None) -> None:
        """Draw a straight line two dots wide."""
        (x0, y0), (x1, y1) = start, end
        steep = abs(y1 - y0) > abs(x1 - x0)
        dx, dy = (1, 0) if steep else (0, 1)
        self.line(start, end, color)
        self.line((x0 + dx, y0 + dy), (x1 + dx, y1 + dy), color)

    def disc(self, centre: tuple[float, float], radius: float, color: Color | None = None) -> None:
        """Fill a disc; a small one is a single dot."""
        reach = int(radius + 1)
        for dy in range(-reach, reach + 1):
            for dx in range(-reach, reach + 1):
                if dx * dx + dy * dy <= radius * radius:
                    self.dot(round(centre[0]) + dx, round(centre[1]) + dy, color)

    def lines(self, paint: Painter) -> list[str]:
        """Return the rows as text."""
        return [self._row(row, paint) for row in range(self.rows)]

    def _row(self, row: int, paint: Painter) -> str:
        start = row * self.columns
        parts: list[str] = []
        run, color = "", None
        for at in range(start, start + self.columns):
            bits = self._bits[at]
            if bits and self._colors[at] != color:
                parts.append(paint(run, color))
                run, color = "", self._colors[at]
            run += chr(_BLANK + bits) if bits else " "
        return "".join([*parts, paint(run, color)])


@dataclass(frozen=True, slots=True)
class PlaneWindow:
    """A window on a plane in cm: what is seen of it in a canvas, at the same scale both ways."""

    left: float
    right: float
    bottom: float
    top: float

    def including(self, u: float, v: float, margin: float) -> PlaneWindow:
        """Return the smallest larger frame that holds a point and a margin around it."""
        if self.left <= u <= self.right and self.bottom <= v <= self.top:
            return self
        return PlaneWindow(
            min(self.left, u - margin),
            max(self.right, u + margin),
            min(self.bottom, v - margin),
            max(self.top, v + margin),
        )

    def scale(self, canvas: Canvas) -> float:
        """Return dots per cm."""
        return min((canvas.width - 1) / (self.right - self.left), (canvas.height - 1) / (self.top - self.bottom))

    def on(self, canvas: Canvas, u: float, v: float) -> tuple[float, float]:
        """Return where a point is on the canvas, in dots; the frame is centred."""
        scale = self.scale(canvas)
        x = (canvas.width - 1) / 2 + scale * (u - (self.left + self.right) / 2)
        return x, (canvas.height - 1) / 2 - scale * (v - (self.bottom + self.top) / 2)


class LegView:
    """Draws views of one leg; remembers how large a picture it needed so far."""

    def __init__(self, title: str, paint: Painter) -> None:
        self._title, self._paint = title, paint
        self._frames: dict[str, PlaneWindow] = {}

    def lines(self, view: LegSnapshot, columns: int, rows: int, speed: float) -> list[str]:
        """Return one picture as `rows` lines of at most `columns` characters."""
        gap = 2
        height = rows - len(view.joints) - _OTHER_LINES
        if not fits(columns, rows, len(view.joints)):
            return [_step_line(view), f"the picture needs {MIN_COLUMNS} columns and more lines"][:rows]
        left = (columns - gap + 1) // 2
        side, above = Canvas(left, height), Canvas(columns - gap - left, height)
        self._draw(side, "side", view)
        self._draw(above, "above", view)
        pictures = zip(side.lines(self._paint), above.lines(self._paint), strict=True)
        clock = f"{view.time_s:7.1f} s   {speed:.1f} x real time"
        return [
            f"{self._title[: columns - len(clock) - 1]:<{columns - len(clock)}}{clock}",
            f"{'from the side, forward >':<{left}}{'':{gap}}from above; - - midline",
            *(f"{a}{'':{gap}}{b}" for a, b in pictures),
            *(self._joint_line(joint, columns, view) for joint in view.joints),
            self._foot_line(view, columns),
            _step_line(view),
            view.told[:columns],
            "Ctrl-C stops",
        ]

    def _draw(self, canvas: Canvas, name: str, view: LegSnapshot) -> None:
        u, v = _AXES[name]
        foot = view.foot
        points = [(p[u], p[v]) for p in view.points]
        trace = [(p[u], p[v]) for p in view.trace]
        frame = self._frame(name, [*points, *trace], view)
        if name == "side":
            _ground(canvas, frame, view.ground_cm)
        else:
            _dashes(canvas, frame, 0.0)
        for k, (x, y) in enumerate(frame.on(canvas, *point) for point in trace):
            fresh = k >= len(trace) - _FRESH_RECORDS
            canvas.dot(round(x), round(y), _FRESH if fresh else _TRACE)
        on_canvas = [frame.on(canvas, *point) for point in points]
        # A segment moves with the joint before it, so it wears that joint's colour.
        for joint, start, end in zip(view.joints, on_canvas, on_canvas[1:], strict=False):
            canvas.thick_line(start, end, joint.color or _BONE)
        # From the foot inwards: the first joints lie close together, and the one at the body is to be seen.
        for joint, point in reversed(list(zip(view.joints, on_canvas, strict=False))):
            canvas.disc(point, 2.0, joint.color or _BONE)
        if foot is not None:
            radius = max(1.0, view.foot_radius_cm * frame.scale(canvas))
            canvas.disc(frame.on(canvas, foot[u], foot[v]), radius, _LOADED if view.contact_n > 0 else _JOINT)

    def _frame(self, name: str, points: Sequence[tuple[float, float]], view: LegSnapshot) -> PlaneWindow:
        if not points:
            return self._frames.get(name, PlaneWindow(-1.0, 1.0, -1.0, 1.0))
        size = _extent(view.points)
        frame = self._frames.get(name)
        if frame is None:
            u, v = points[0]
            frame = PlaneWindow(u, u + 1e-6, v, v + 1e-6)
        for u, v in points:
            frame = frame.including(u, v, 0.04 * size)
        if name == "side":
            frame = frame.including(points[0][0], view.ground_cm - view.foot_radius_cm / 2, 0.01 * size)
        else:
            frame = frame.including(points[0][0], 0.0, 0.03 * size)
        self._frames[name] = frame
        return frame

    def _joint_line(self, joint: JointView, columns: int, view: LegSnapshot) -> str:
        width = min(20, max(len(other.name) for other in view.joints))
        names = max(len(other.state or "") for other in view.joints)
        state = self._paint(f"{joint.state or 'held':<{names}}", joint.color)
        angle = "" if joint.angle_deg is None else f"{joint.angle_deg:6.1f} deg"
        load = "" if joint.load is None else f"{joint.load:+6.1f}"
        used = width + 2 + names + 2 + 10 + 2 + 6 + 2
        strip = self._strip(joint.history, columns - used) if joint.state else ""
        return f"{joint.name[:width]:<{width}}  {state}  {angle:>10}  {load:>6}  {strip}"

    def _foot_line(self, view: LegSnapshot, columns: int) -> str:
        if view.foot is None:
            return ""
        x, y, z = view.foot
        where = f"on the ground {view.contact_n:4.1f} N" if view.contact_n > 0 else "in the air"
        text = f"{'foot':<6}{x:6.1f} {y:6.1f} {z - view.ground_cm:5.1f} cm  {where:<20}"
        history = [_LOADED if touching else None for touching in view.contacts]
        return text + "  " + self._strip(history, columns - len(text) - 2)

    def _strip(self, history: Sequence[Color | None], width: int) -> str:
        """Return the last moments as a strip of coloured blocks, the present at its right end."""
        if width <= 0:
            return ""
        recent = list(history)[-width:]
        blocks = "".join(self._paint("\u2588", color) if color is not None else "\u00b7" for color in recent)
        return " " * (width - len(recent)) + blocks


def plain_line(view: LegSnapshot) -> str:
    """Return the leg in one line, for where no picture can be drawn."""
    joints = ", ".join(
        f"{joint.name} {joint.state or 'held'}" + ("" if joint.angle_deg is None else f" {joint.angle_deg:.1f} deg")
        for joint in view.joints
    )
    where = f"on the ground {view.contact_n:.1f} N" if view.contact_n > 0 else "in the air"
    return f"{view.time_s:.0f} s: {joints}; foot {where}; {_step_line(view)}"


def _step_line(view: LegSnapshot) -> str:
    period = "" if view.period_s is None else f", the last took {view.period_s:.2f} s"
    return f"{view.steps} {'step' if view.steps == 1 else 'steps'}{period}"


def _ground(canvas: Canvas, frame: PlaneWindow, height_cm: float) -> None:
    _, y = frame.on(canvas, 0.0, height_cm)
    canvas.line((0, y), (canvas.width - 1, y), _GROUND)
    for x in range(0, canvas.width, 4):
        canvas.line((x, y + 3), (x + 2, y + 1), _GROUND)


def _dashes(canvas: Canvas, frame: PlaneWindow, height_cm: float) -> None:
    _, y = frame.on(canvas, 0.0, height_cm)
    for x in range(0, canvas.width, 6):
        canvas.line((x, y), (x + 2, y), _GROUND)


def _extent(points: Sequence[Point]) -> float:
    if not points:
        return 1.0
    return max(1.0, *(max(p[k] for p in points) - min(p[k] for p in points) for k in range(3)))
