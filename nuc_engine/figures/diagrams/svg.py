"""Paper and pen: SVG elements with plain numbers, so that the same diagram gives the same bytes.

Lengths are pixels at 96 per inch; y grows downwards.
"""

from __future__ import annotations

import math
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from xml.etree import ElementTree

from nuc_engine.figures.diagrams.wiring import Color

Point = tuple[float, float]

INK, FAINT, PAPER, PALE = "#26262b", "#6b6b72", "#ffffff", "#f4f4f2"
HIGHLIGHT = "#ffe14d"
FONT = "DejaVu Sans, Verdana, Arial, sans-serif"
_NARROW, _WIDE = frozenset("iljtf.,:;'|!()[] "), frozenset("mwMWOQ@%")


class Paper:
    """One drawing; elements lie over each other in the order they are drawn."""

    def __init__(self, width: float, height: float, title: str, told: str) -> None:
        self.width, self.height = width, height
        self._root = ElementTree.Element(
            "svg",
            {
                "xmlns": "http://www.w3.org/2000/svg",
                "width": _number(width),
                "height": _number(height),
                "viewBox": f"0 0 {_number(width)} {_number(height)}",
                "font-family": FONT,
                "role": "img",
            },
        )
        ElementTree.SubElement(self._root, "title").text = title
        ElementTree.SubElement(self._root, "desc").text = told
        self._definitions = ElementTree.SubElement(self._root, "defs")
        self._into = self._root
        self._clips = 0
        self.rectangle(0, 0, width, height, fill=PAPER, line="none")

    @contextmanager
    def part(self, kind: str, **told: str) -> Generator[None]:
        """Group what is drawn meanwhile, for who looks for it: `data-part` is its kind, `told` more of such attributes.

        docs/diagrams.md lists them. They are the same however often something is drawn, and nothing looks another way.
        """
        outer = self._into
        names = {f"data-{name.replace('_', '-')}": value for name, value in told.items()}
        self._into = ElementTree.SubElement(outer, "g", {"data-part": kind, **names})
        try:
            yield
        finally:
            self._into = outer

    def rectangle(
        self,
        x: float,
        y: float,
        width: float,
        height: float,
        *,
        fill: str = PAPER,
        line: str = INK,
        weight: float = 1.2,
        radius: float = 0.0,
        dash: str = "",
        told: str = "",
    ) -> None:
        """Draw a rectangle; `told` appears when the pointer rests on it."""
        shape = self._element("rect", x=x, y=y, width=width, height=height, fill=fill, stroke=line)
        _pen(shape, weight, dash)
        if radius:
            shape.set("rx", _number(radius))
        if told:
            ElementTree.SubElement(shape, "title").text = told

    def circle(self, x: float, y: float, radius: float, *, fill: str = INK, line: str = "none") -> None:
        """Draw a disc."""
        self._element("circle", cx=x, cy=y, r=radius, fill=fill, stroke=line)

    def path(
        self, data: str, *, line: str = INK, weight: float = 1.2, dash: str = "", fill: str = "none", told: str = ""
    ) -> None:
        """Draw a path given in SVG's own letters."""
        shape = self._element("path", d=data, fill=fill, stroke=line)
        _pen(shape, weight, dash)
        if told:
            ElementTree.SubElement(shape, "title").text = told

    def lines(self, points: Sequence[Point], *, line: str = INK, weight: float = 1.2, dash: str = "") -> None:
        """Draw straight lines from point to point."""
        self.path("M" + "L".join(f"{_number(x)} {_number(y)}" for x, y in points), line=line, weight=weight, dash=dash)

    def arrow_head(self, tip: Point, angle_rad: float, *, size: float = 8.0, fill: str = INK) -> None:
        """Draw the head of an arrow that points in a direction (0 right, growing clockwise on paper)."""
        back = [(math.cos(angle_rad + s), math.sin(angle_rad + s)) for s in (math.pi - 0.42, math.pi + 0.42)]
        corners = [tip, *((tip[0] + size * x, tip[1] + size * y) for x, y in back)]
        self.path("M" + "L".join(f"{_number(x)} {_number(y)}" for x, y in corners) + "Z", line="none", fill=fill)

    def text(
        self,
        x: float,
        y: float,
        words: str,
        *,
        size: float = 12.0,
        anchor: str = "start",
        bold: bool = False,
        fill: str = INK,
        halo: str = "",
        turn: float = 0.0,
    ) -> None:
        """Write one line of text, its middle at height y; `halo` is a colour that keeps it apart from what is below."""
        if halo:  # As a text of its own below: not every program knows which of line and filling to draw first.
            self._words(x, y, words, size, anchor, bold, turn, {"fill": halo, "stroke": halo, "stroke-width": "4"})
        self._words(x, y, words, size, anchor, bold, turn, {"fill": fill})

    def _words(
        self,
        x: float,
        y: float,
        words: str,
        size: float,
        anchor: str,
        bold: bool,
        turn: float,
        style: Mapping[str, str],
    ) -> None:
        shape = self._element("text", x=x, y=y + 0.35 * size, **style)
        shape.set("font-size", _number(size))
        if anchor != "start":
            shape.set("text-anchor", anchor)
        if bold:
            shape.set("font-weight", "bold")
        if "stroke" in style:
            shape.set("stroke-linejoin", "round")
            shape.set("aria-hidden", "true")
        if turn:
            shape.set("transform", f"rotate({_number(turn)} {_number(x)} {_number(y)})")
        shape.text = words

    def hatch(self, name: str, color: str, kind: int) -> str:
        """Define a pattern once and return the paint that uses it: 0 rising, 1 falling, 2 dotted, 3 crossed lines."""
        if any(known.get("id") == name for known in self._definitions):
            return f"url(#{name})"
        pattern = ElementTree.SubElement(
            self._definitions,
            "pattern",
            {"id": name, "width": "10", "height": "10", "patternUnits": "userSpaceOnUse"},
        )
        ElementTree.SubElement(pattern, "rect", {"width": "10", "height": "10", "fill": color, "fill-opacity": "0.28"})
        rising, falling = "M-2 2L2 -2M0 10L10 0M8 12L12 8", "M-2 8L2 12M0 0L10 10M8 -2L12 2"
        if kind % 4 == 2:
            ElementTree.SubElement(pattern, "circle", {"cx": "5", "cy": "5", "r": "2", "fill": color})
        else:
            data = (rising, falling, "", f"{rising}{falling}")[kind % 4]
            style = {"d": data, "stroke": color, "stroke-width": "2", "fill": "none"}
            ElementTree.SubElement(pattern, "path", style)
        return f"url(#{name})"

    def clip(self, x: float, y: float, width: float, height: float) -> str:
        """Define a window and return its name for `polyline_in`."""
        self._clips += 1
        name = f"window{self._clips}"
        window = ElementTree.SubElement(self._definitions, "clipPath", {"id": name})
        size = {"x": _number(x), "y": _number(y), "width": _number(width), "height": _number(height)}
        ElementTree.SubElement(window, "rect", size)
        return name

    def polyline_in(self, window: str, points: Sequence[Point], *, line: str, weight: float) -> None:
        """Draw lines from point to point, only inside a window."""
        shape = self._element("polyline", fill="none", stroke=line)
        shape.set("points", " ".join(f"{_number(x)},{_number(y)}" for x, y in points))
        shape.set("clip-path", f"url(#{window})")
        _pen(shape, weight, "")

    def to_bytes(self) -> bytes:
        """Return the file's content."""
        ElementTree.indent(self._root, " ")
        return ElementTree.tostring(self._root, encoding="utf-8", xml_declaration=True) + b"\n"

    def _element(self, tag: str, **attributes: float | str) -> ElementTree.Element:
        plain = {k: v if isinstance(v, str) else _number(v) for k, v in attributes.items()}
        return ElementTree.SubElement(self._into, tag, plain)


def paint(color: Color) -> str:
    """Return a colour (red, green, blue in 0..1) as SVG writes it."""
    return "#" + "".join(f"{round(255 * min(max(part, 0.0), 1.0)):02x}" for part in color)


def text_width(words: str, size: float) -> float:
    """Return about how wide a line of text is."""
    widths = [0.36 if c in _NARROW else 0.95 if c in _WIDE else 0.72 if c.isupper() else 0.61 for c in words]
    return size * sum(widths)


def wrap(words: str, width: float, size: float) -> list[str]:
    """Return text in lines of at most about this width; a word that is longer stands alone."""
    rows: list[str] = []
    for word in words.split():
        if rows and text_width(f"{rows[-1]} {word}", size) <= width:
            rows[-1] = f"{rows[-1]} {word}"
        else:
            rows.append(word)
    return rows


def xy(point: Point) -> str:
    """Return a point as path data."""
    return f"{_number(point[0])} {_number(point[1])}"


def _number(value: float) -> str:
    text = f"{value:.1f}"
    return text.removesuffix(".0") if text != "-0.0" else "0"


def _pen(shape: ElementTree.Element, weight: float, dash: str) -> None:
    if shape.get("stroke") == "none":
        return
    if weight != 1.0:
        shape.set("stroke-width", f"{weight:.2g}")
    if dash:
        shape.set("stroke-dasharray", dash)
