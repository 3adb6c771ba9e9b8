"""Sensory flow diagram: which sensors each module listens to, and its rules (figures 4-2 B, 4-23 and 4-24).

It shows the structure only: that a signal has an influence, not its sign or strength (section 4.5.2).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from nuc_engine.analysis.tracks import JointRole
from nuc_engine.figures.diagrams.svg import FAINT, PALE, Paper, Point, paint, text_width, wrap, xy
from nuc_engine.figures.diagrams.wiring import (
    Color,
    Module,
    Sense,
    WiredAction,
    Wiring,
    any_text,
    leaves,
    rule_text,
    senses_of,
    when_text,
)

MARGIN, HEAD, WIDTH, GAP = 32.0, 64.0, 326.0, 44.0
PILL_WIDTH, PILL_HEIGHT, DROP, LANE = 122.0, 24.0, 46.0, 18.0
LINE = 16.0

SOURCE_COLORS: Mapping[JointRole, Color] = {
    "ThC": (0.00, 0.45, 0.30),
    "CTr": (0.05, 0.36, 0.68),
    "FTi": (0.80, 0.25, 0.12),
    "": (0.40, 0.40, 0.42),
}
"""Colours of what comes from a joint: the same as its curves in the figures."""


def flow_diagram(wiring: Wiring) -> bytes:
    """Return the sensory flow diagram as SVG."""
    return _Flow(wiring).draw()


def source_color(wiring: Wiring, sense: Sense) -> str:
    """Return the colour of the joint a sensor belongs to."""
    own = [SOURCE_COLORS[module.role] for module in wiring.modules if module.joint == sense.joint]
    return paint(own[0] if own else SOURCE_COLORS[""])


def sense_dash(sense: Sense) -> str:
    """Return the dash of a sensor's lines: loads are dashed, angles are not."""
    return "7 4" if sense.what == "load" else "" if sense.what == "angle" else "2 3"


class _Flow:
    def __init__(self, wiring: Wiring) -> None:
        self._wiring = wiring
        self._left = {module.joint: MARGIN + k * (WIDTH + GAP) for k, module in enumerate(wiring.modules)}
        self._rules = {a.index: _rule_lines(a) for module in wiring.modules for a in module.actions}
        heights = [sum(26 + LINE * len(self._rules[a.index]) for a in module.actions) for module in wiring.modules]
        self._height = 40.0 + max(heights)
        self._senses = wiring.senses()
        self._targets = {
            sense: tuple(m for m in wiring.modules if any(sense in senses_of(a.rule) for a in m.actions))
            for sense in self._senses
        }
        strangers = [sense for sense in self._senses if sense.joint not in self._left]
        width = 2 * MARGIN + len(wiring.modules) * (WIDTH + GAP) - GAP + (WIDTH / 2 + GAP if strangers else 0.0)
        lanes = [sense for sense in self._senses if any(m.joint != sense.joint for m in self._targets[sense])]
        self._lane = {sense: k for k, sense in enumerate(lanes)}
        self._bottom = HEAD + self._height
        self._lanes_top = self._bottom + DROP + PILL_HEIGHT + 20
        height = self._lanes_top + LANE * len(lanes) + 66
        told = "Arrows lead from the sensors to the modules whose rules read them."
        self._paper = Paper(width, height, f"Sensory flow of {wiring.label}", told)
        self._pills = self._place_pills(strangers)
        self._ports = self._place_ports()

    def draw(self) -> bytes:
        paper, wiring = self._paper, self._wiring
        paper.text(MARGIN, 30, f"Sensory flow: {wiring.label}, {wiring.moment}", size=16, bold=True)
        for sense in self._senses:
            self._influence(sense)
        for module in wiring.modules:
            self._module(module)
        for sense, (x, y) in self._pills.items():
            color = source_color(wiring, sense)
            with paper.part("sense", sense=sense.name, when=self._when(sense, wiring.modules)):
                paper.rectangle(x, y, PILL_WIDTH, PILL_HEIGHT, line=color, weight=2, radius=12, dash=sense_dash(sense))
                paper.text(x + PILL_WIDTH / 2, y + PILL_HEIGHT / 2, sense.name, size=11, anchor="middle")
        y = paper.height - 36
        words = (
            "Each module stands for one joint, from the body (left) to the foot. Below it are the sensors rules read:"
        )
        paper.text(MARGIN, y, words, size=11)
        words = "angles with full, loads with dashed lines, in the colour of the joint they come from."
        paper.text(MARGIN, y + 16, words, size=11)
        return paper.to_bytes()

    def _when(self, sense: Sense, modules: Sequence[Module]) -> str:
        """Return what is true while any comparison of a sensor is, in these modules' rules."""
        found = [leaf for module in modules for action in module.actions for leaf in leaves(action.rule)]
        return any_text(leaf for leaf in found if sense in senses_of(leaf))

    def _module(self, module: Module) -> None:
        paper, left = self._paper, self._left[module.joint]
        color = paint(SOURCE_COLORS[module.role])
        paper.rectangle(left, HEAD, WIDTH, self._height, fill=PALE, line=color, weight=2.4, radius=10)
        paper.text(left + 14, HEAD + 19, module.name, size=14, bold=True)
        y = HEAD + 38
        for action in module.actions:
            tall = 24 + LINE * len(self._rules[action.index])
            with paper.part("action", action=str(action.index), name=action.name, when=when_text(action.rule)):
                paper.rectangle(left + 7, y - 3, WIDTH - 14, tall, fill="none", line="none", radius=5)
                paper.rectangle(left + 14, y, 16, 16, fill=paint(action.color), weight=0.6)
                paper.text(left + 37, y + 8, action.short, size=12, bold=True)
                paper.text(left + 43 + text_width(action.short, 12.6), y + 8, "is entered when", size=10, fill=FAINT)
                for k, line in enumerate(self._rules[action.index]):
                    paper.text(left + 37, y + 25 + LINE * k, line, size=11)
            y += 26 + LINE * len(self._rules[action.index])

    def _influence(self, sense: Sense) -> None:
        paper, color, dash = self._paper, source_color(self._wiring, sense), sense_dash(sense)
        x, y = self._pills[sense]
        middle = x + PILL_WIDTH / 2
        for module in self._targets[sense]:
            if module.joint == sense.joint:
                with paper.part("influence", sense=sense.name, joint=module.name, when=self._when(sense, [module])):
                    paper.lines([(middle, y), (middle, self._bottom + 9)], line=color, weight=2, dash=dash)
                    paper.arrow_head((middle, self._bottom + 1), -1.5708, size=10, fill=color)
        others = [module for module in self._targets[sense] if module.joint != sense.joint]
        if not others:
            return
        lane = self._lanes_top + LANE * self._lane[sense]
        paper.lines([(middle, y + PILL_HEIGHT), (middle, lane)], line=color, weight=2, dash=dash)
        for module in others:
            port = self._ports[sense, module.joint]
            corner = 7.0 if port > middle else -7.0
            bend: list[Point] = [(middle, lane), (port - corner, lane)]
            data = (
                f"M{xy(bend[0])}L{xy(bend[1])}Q{xy((port, lane))} {xy((port, lane - 7))}L{xy((port, self._bottom + 9))}"
            )
            with paper.part("influence", sense=sense.name, joint=module.name, when=self._when(sense, [module])):
                paper.path(data, line=color, weight=2, dash=dash)
                paper.arrow_head((port, self._bottom + 1), -1.5708, size=10, fill=color)
        paper.circle(middle, lane, 3.2, fill=color)

    def _place_pills(self, strangers: Sequence[Sense]) -> dict[Sense, Point]:
        y = self._bottom + DROP
        found: dict[Sense, Point] = {}
        for module in self._wiring.modules:
            own = [sense for sense in self._senses if sense.joint == module.joint]
            step = PILL_WIDTH + 10
            begin = self._left[module.joint] + (WIDTH - len(own) * step + 10) / 2
            found |= {sense: (begin + k * step, y) for k, sense in enumerate(own)}
        right = MARGIN + len(self._wiring.modules) * (WIDTH + GAP)
        return found | {sense: (right, y + (k - len(strangers) + 1) * 32) for k, sense in enumerate(strangers)}

    def _place_ports(self) -> dict[tuple[Sense, int], float]:
        """Return where each influence from another joint enters its module: on the side it comes from."""
        found: dict[tuple[Sense, int], float] = {}
        for module in self._wiring.modules:
            left = self._left[module.joint]
            reading = [s for s in self._senses if module in self._targets[s] and s.joint != module.joint]
            before = [s for s in reading if self._pills[s][0] < left]
            after = [s for s in reading if s not in before]
            found |= {(s, module.joint): left + 10 + 13 * k for k, s in enumerate(before)}
            found |= {(s, module.joint): left + WIDTH - 10 - 13 * k for k, s in enumerate(reversed(after))}
        return found


def _rule_lines(action: WiredAction) -> list[str]:
    return wrap(rule_text(action.rule), WIDTH - 52, 11)
