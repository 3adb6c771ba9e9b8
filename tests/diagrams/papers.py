"""Drawings taken apart: what is written, and where things are."""

from __future__ import annotations

import re
from dataclasses import dataclass
from xml.etree import ElementTree

SVG = "{http://www.w3.org/2000/svg}"


@dataclass(frozen=True)
class Sheet:
    root: ElementTree.Element

    @property
    def size(self) -> tuple[float, float]:
        return float(self.root.attrib["width"]), float(self.root.attrib["height"])

    def texts(self) -> list[str]:
        return [e.text or "" for e in self.root.iter(f"{SVG}text") if not e.get("aria-hidden")]

    def texts_outside(self) -> list[str]:
        """Words that stick out of the paper, by an estimate of their width that is rather short."""
        found = []
        for e in self.root.iter(f"{SVG}text"):
            if e.get("transform") or e.get("aria-hidden"):
                continue
            width = 0.5 * float(e.attrib["font-size"]) * len(e.text or "")
            x = float(e.attrib["x"]) - {None: 0.0, "middle": 0.5, "end": 1.0}[e.get("text-anchor")] * width
            if x < 0 or x + width > self.size[0]:
                found.append(e.text or "")
        return found

    def boxes_of(self, *beginnings: str) -> list[tuple[str, tuple[float, float, float, float]]]:
        """Words in the middle of their place that begin so, with where they are, by a rather short estimate."""
        found = []
        for e in self.root.iter(f"{SVG}text"):
            if e.get("aria-hidden") or e.get("text-anchor") != "middle" or not (e.text or "").startswith(beginnings):
                continue
            size = float(e.attrib["font-size"])
            width = 0.5 * size * len(e.text or "")
            x, y = float(e.attrib["x"]) - width / 2, float(e.attrib["y"]) - 0.7 * size
            found.append((e.text or "", (x, y, width, 0.7 * size)))
        return found

    def all_rectangles(self) -> list[ElementTree.Element]:
        defined = {id(e) for e in self.root.iterfind(f"{SVG}defs//{SVG}rect")}
        return [e for e in self.root.iter(f"{SVG}rect") if id(e) not in defined]

    def rectangles(self, **attributes: str) -> list[tuple[float, float, float, float]]:
        found = [e for e in self.all_rectangles() if all(e.get(k) == v for k, v in attributes.items())]
        return [
            (float(e.attrib["x"]), float(e.attrib["y"]), float(e.attrib["width"]), float(e.attrib["height"]))
            for e in found
        ]

    def paths(self, **attributes: str) -> list[ElementTree.Element]:
        return [
            e
            for e in self.root.findall(f".//{SVG}path")
            if all(e.get(k.replace("_", "-")) == v for k, v in attributes.items())
        ]


def read(svg: bytes) -> Sheet:
    assert svg.startswith(b"<?xml")
    assert not re.search(rb"nan|inf[^o]", svg.split(b"<desc>")[0])
    numbers = re.findall(rb'(?:x|y|width|height|d|points)="([^"]*)"', svg)
    assert not any(b"nan" in n or b"inf" in n for n in numbers)
    return Sheet(ElementTree.fromstring(svg))


def curve_points(data: str, count: int = 200) -> list[tuple[float, float]]:
    """Points along a path of one quadratic curve, `M x y Q x y x y`."""
    x0, y0, x1, y1, x2, y2 = (float(n) for n in re.findall(r"-?\d+(?:\.\d+)?", data))
    steps = [k / count for k in range(count + 1)]
    return [
        ((1 - t) ** 2 * x0 + 2 * t * (1 - t) * x1 + t**2 * x2, (1 - t) ** 2 * y0 + 2 * t * (1 - t) * y1 + t**2 * y2)
        for t in steps
    ]


def apart(boxes: list[tuple[float, float, float, float]]) -> bool:
    """Whether no two boxes lie over each other."""
    for k, (x, y, w, h) in enumerate(boxes):
        for u, v, a, b in boxes[k + 1 :]:
            if x < u + a and u < x + w and y < v + b and v < y + h:
                return False
    return True


def within(sheet: Sheet, boxes: list[tuple[float, float, float, float]]) -> bool:
    width, height = sheet.size
    return all(x >= 0 and y >= 0 and x + w <= width and y + h <= height for x, y, w, h in boxes)
