"""Sensory flow diagram: which sensors each module listens to, and its rules (figures 4-2 B, 4-23 and 4-24).

It shows the structure only: that a signal has an influence, not its sign or strength (section 4.5.2). What is not
sensed, central entries and what joints tell each other of their actions (section 9.4.1), has lines of its own.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass

from nuc_engine.analysis.tracks import JointRole
from nuc_engine.figures.diagrams.nerves import CENTRAL, CENTRAL_DASH, draw_sections, nerve_sections, section_width
from nuc_engine.figures.diagrams.svg import FAINT, PALE, Paper, Point, paint, text_width, wrap, xy
from nuc_engine.figures.diagrams.wiring import (
    Color,
    Condition,
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
    if sense.what == "action":
        return CENTRAL
    own = [SOURCE_COLORS[module.role] for module in wiring.modules if module.joint == sense.joint]
    return paint(own[0] if own else SOURCE_COLORS[""])


def sense_dash(sense: Sense) -> str:
    """Return the dash of a sensor's lines: loads are dashed, angles are not, what tells of actions is neither."""
    if sense.what == "action":
        return CENTRAL_DASH
    return "7 4" if sense.what == "load" else "" if sense.what == "angle" else "2 3"


@dataclass(frozen=True, slots=True)
class _Link:
    """A line from a sensor to a module whose entry rules, or central rules, read it."""

    sense: Sense
    module: Module
    central: bool


def _entries(module: Module, *, central: bool) -> list[Condition]:
    if central:
        return [action.central for action in module.actions if action.central is not None]
    return [action.rule for action in module.actions]


class _Flow:
    def __init__(self, wiring: Wiring) -> None:
        self._wiring = wiring
        self._left = {module.joint: MARGIN + k * (WIDTH + GAP) for k, module in enumerate(wiring.modules)}
        self._rules = {a.index: _rule_lines(a) for module in wiring.modules for a in module.actions}
        self._forced = {a.index: _central_lines(a) for module in wiring.modules for a in module.actions}
        heights = [sum(26 + LINE * self._rows(a) for a in module.actions) for module in wiring.modules]
        self._height = 40.0 + max(heights)
        both = ((module, central) for module in wiring.modules for central in (False, True))
        self._links = [
            _Link(sense, module, central)
            for module, central in both
            for sense in dict.fromkeys(s for rule in _entries(module, central=central) for s in senses_of(rule))
        ]
        last = len(wiring.plan.joints)
        found = {link.sense for link in self._links}
        self._senses = tuple(sorted(found, key=lambda s: (last if s.joint is None else s.joint, s.hdso)))
        strangers = [sense for sense in self._senses if sense.joint not in self._left]
        width = 2 * MARGIN + len(wiring.modules) * (WIDTH + GAP) - GAP + (WIDTH / 2 + GAP if strangers else 0.0)
        self._sections = nerve_sections(wiring)
        width = max(width, 2 * MARGIN + section_width(self._sections))
        lanes = [s for s in self._senses if any(k.module.joint != s.joint for k in self._links if k.sense == s)]
        self._lane = {sense: k for k, sense in enumerate(lanes)}
        self._bottom = HEAD + self._height
        self._lanes_top = self._bottom + DROP + PILL_HEIGHT + 20
        self._words_top = self._lanes_top + LANE * len(lanes) + 30
        self._telling = any(self._forced.values()) or any(sense.what == "action" for sense in self._senses)
        self._sections_top = self._words_top + (52 if self._telling else 36)
        height = self._sections_top + sum(section.height for section in self._sections)
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
                wide, radius = self._wide[sense], 4 if sense.what == "action" else 12
                dash = sense_dash(sense)
                paper.rectangle(x, y, wide, PILL_HEIGHT, line=color, weight=2, radius=radius, dash=dash)
                size = min(11.0, 11.0 * (wide - 4) / text_width(sense.name, 11))
                paper.text(x + wide / 2, y + PILL_HEIGHT / 2, sense.name, size=size, anchor="middle")
        y = self._words_top
        words = (
            "Each module stands for one joint, from the body (left) to the foot. Below it are the sensors rules read:"
        )
        paper.text(MARGIN, y, words, size=11)
        words = "angles with full, loads with dashed lines, in the colour of the joint they come from."
        paper.text(MARGIN, y + 16, words, size=11)
        if self._telling:
            words = "Violet: what is central. Entries by it come only where no sensory rule leads to another action."
            paper.text(MARGIN, y + 32, words, size=11, fill=CENTRAL)
        draw_sections(paper, self._sections, MARGIN, self._sections_top)
        return paper.to_bytes()

    def _rows(self, action: WiredAction) -> int:
        return len(self._rules[action.index]) + len(self._forced[action.index])

    def _when(self, sense: Sense, modules: Sequence[Module]) -> str:
        """Return what is true while any comparison of a sensor is, in these modules' rules."""
        rules = [rule for module in modules for c in (False, True) for rule in _entries(module, central=c)]
        return self._any(sense, rules)

    def _any(self, sense: Sense, rules: Iterable[Condition]) -> str:
        return any_text(leaf for rule in rules for leaf in leaves(rule) if sense in senses_of(leaf))

    def _module(self, module: Module) -> None:
        paper, left = self._paper, self._left[module.joint]
        color = paint(SOURCE_COLORS[module.role])
        paper.rectangle(left, HEAD, WIDTH, self._height, fill=PALE, line=color, weight=2.4, radius=10)
        paper.text(left + 14, HEAD + 19, module.name, size=14, bold=True)
        y = HEAD + 38
        for action in module.actions:
            tall = 24 + LINE * self._rows(action)
            with paper.part("action", action=str(action.index), name=action.name, when=when_text(action.rule)):
                paper.rectangle(left + 7, y - 3, WIDTH - 14, tall, fill="none", line="none", radius=5)
                paper.rectangle(left + 14, y, 16, 16, fill=paint(action.color), weight=0.6)
                paper.text(left + 37, y + 8, action.short, size=12, bold=True)
                paper.text(left + 43 + text_width(action.short, 12.6), y + 8, "is entered when", size=10, fill=FAINT)
                for k, line in enumerate(self._rules[action.index]):
                    paper.text(left + 37, y + 25 + LINE * k, line, size=11)
            self._central(action, (left + 37, y + 25 + LINE * len(self._rules[action.index])))
            y += 26 + LINE * self._rows(action)

    def _central(self, action: WiredAction, at: Point) -> None:
        """Write by what an action is entered centrally, with a line beside it."""
        lines, (x, y) = self._forced[action.index], at
        if action.central is None:
            return
        told = {"action": str(action.index), "name": action.name, "when": when_text(action.central)}
        with self._paper.part("central", **told):
            end = y + LINE * (len(lines) - 1) + 6
            self._paper.lines([(x - 15, y - 6), (x - 15, end)], line=CENTRAL, weight=2.4, dash=CENTRAL_DASH)
            for k, line in enumerate(lines):
                self._paper.text(x, y + LINE * k, line, size=10 if k == 0 else 11, fill=CENTRAL)

    def _influence(self, sense: Sense) -> None:
        paper, color, dash = self._paper, source_color(self._wiring, sense), sense_dash(sense)
        x, y = self._pills[sense]
        middle = x + self._wide[sense] / 2
        links = [link for link in self._links if link.sense == sense]
        for link in links:
            if link.module.joint == sense.joint:
                own = middle + 8 if link.central and sense.what != "action" else middle
                ink, style = (CENTRAL, CENTRAL_DASH) if link.central else (color, dash)
                with self._line(link):
                    paper.lines([(own, y), (own, self._bottom + 9)], line=ink, weight=2, dash=style)
                    paper.arrow_head((own, self._bottom + 1), -1.5708, size=10, fill=ink)
        others = [link for link in links if link.module.joint != sense.joint]
        if not others:
            return
        lane = self._lanes_top + LANE * self._lane[sense]
        paper.lines([(middle, y + PILL_HEIGHT), (middle, lane)], line=color, weight=2, dash=dash)
        for link in others:
            port, ink, style = self._ports[link], *((CENTRAL, CENTRAL_DASH) if link.central else (color, dash))
            corner = 7.0 if port > middle else -7.0
            bend: list[Point] = [(middle, lane), (port - corner, lane)]
            data = (
                f"M{xy(bend[0])}L{xy(bend[1])}Q{xy((port, lane))} {xy((port, lane - 7))}L{xy((port, self._bottom + 9))}"
            )
            with self._line(link):
                paper.path(data, line=ink, weight=2, dash=style)
                paper.arrow_head((port, self._bottom + 1), -1.5708, size=10, fill=ink)
        paper.circle(middle, lane, 3.2, fill=color)

    def _line(self, link: _Link) -> AbstractContextManager[None]:
        kind = "coupling" if link.central else "influence"
        when = self._any(link.sense, _entries(link.module, central=link.central))
        return self._paper.part(kind, sense=link.sense.name, joint=link.module.name, when=when)

    def _place_pills(self, strangers: Sequence[Sense]) -> dict[Sense, Point]:
        y = self._bottom + DROP
        found: dict[Sense, Point] = {}
        self._wide = dict.fromkeys(self._senses, PILL_WIDTH)
        for module in self._wiring.modules:
            own = [sense for sense in self._senses if sense.joint == module.joint]
            # Beside three and more there must be room for what comes from other joints.
            step = PILL_WIDTH + 10 if len(own) < 3 else (WIDTH - 80) / len(own)
            self._wide |= dict.fromkeys(own, step - (10 if len(own) < 3 else 6))
            begin = self._left[module.joint] + (WIDTH - len(own) * step + 10) / 2
            found |= {sense: (begin + k * step, y) for k, sense in enumerate(own)}
        right = MARGIN + len(self._wiring.modules) * (WIDTH + GAP)
        return found | {sense: (right, y + (k - len(strangers) + 1) * 32) for k, sense in enumerate(strangers)}

    def _place_ports(self) -> dict[_Link, float]:
        """Return where each influence from another joint enters its module: on the side it comes from."""
        found: dict[_Link, float] = {}
        for module in self._wiring.modules:
            left = self._left[module.joint]
            own = [k for k in self._links if k.module == module and k.sense.joint != module.joint]
            reading = sorted(own, key=lambda k: (self._senses.index(k.sense), k.central))
            before = [k for k in reading if self._pills[k.sense][0] < left]
            after = [k for k in reading if k not in before]
            found |= {k: left + 10 + 13 * place for place, k in enumerate(before)}
            found |= {k: left + WIDTH - 10 - 13 * place for place, k in enumerate(reversed(after))}
        return found


def _central_lines(action: WiredAction) -> list[str]:
    if action.central is None:
        return []
    return ["and centrally when", *wrap(rule_text(action.central), WIDTH - 52, 11)]


def _rule_lines(action: WiredAction) -> list[str]:
    return wrap(rule_text(action.rule), WIDTH - 52, 11)
