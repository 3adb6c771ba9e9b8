"""Drawing with Braille characters: eight dots to a character cell, one colour to a cell."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

Color = Sequence[float]
Painter = Callable[[str, Color | None], str]
"""Returns text in a colour (red, green, blue in 0..1), or as it is for None."""

_BITS = ((0x01, 0x08), (0x02, 0x10), (0x04, 0x20), (0x40, 0x80))
_BLANK = 0x2800


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
class Frame:
    """A window on a plane in cm: what is seen of it in a canvas, at the same scale both ways."""

    left: float
    right: float
    bottom: float
    top: float

    def including(self, u: float, v: float, margin: float) -> Frame:
        """Return the smallest larger frame that holds a point and a margin around it."""
        if self.left <= u <= self.right and self.bottom <= v <= self.top:
            return self
        return Frame(
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
