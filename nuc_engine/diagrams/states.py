"""Global state diagrams: the nominal one of a configuration, the actual ones of a bout (figures 4-8, 7-12 to 7-16)."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from nuc_engine.diagrams.nominal import GlobalState, Nominal, Transition, nominal
from nuc_engine.diagrams.ring import places
from nuc_engine.diagrams.seen import Seen, Stay
from nuc_engine.diagrams.svg import FAINT, INK, PAPER, Paper, Point, paint, text_width, xy
from nuc_engine.diagrams.wiring import Module, Wiring

PANEL_WIDTH, PANEL_HEIGHT, HEAD, FOOT = 760.0, 620.0, 66.0, 92.0
ROW = 19.0
RARE = 0.03
"""A passage is rare when it is this small a share of the most frequent one: drawn faint and without a number."""
SURPRISE = "#c2410c"


@dataclass(frozen=True, slots=True)
class Window:
    """One panel of an actual diagram: what was seen in a span of time, and the control system then in force."""

    name: str
    wiring: Wiring
    seen: Seen


@dataclass(frozen=True, slots=True)
class _Pen:
    color: str
    weight: float
    dash: str = ""
    head: float = 9.0


@dataclass(frozen=True, slots=True)
class _Curve:
    """A curved arrow from one box to another, with the point its label is written at."""

    begin: Point
    control: Point
    end: Point
    angle: float
    label: Point


def nominal_diagram(wiring: Wiring) -> bytes:
    """Return the nominal global state diagram as SVG. Raises DiagramError for too many global states."""
    found = nominal(wiring)
    told = "Which global states should follow which, by the entry rules; the cycle they lead into is drawn heavy."
    paper = Paper(PANEL_WIDTH, PANEL_HEIGHT, f"Nominal global states of {wiring.label}", told)
    paper.text(24, 28, f"Nominal global states: {wiring.label}, {_moment(wiring)}", size=16, bold=True)
    paper.text(24, 50, _cycle_sentence(wiring, found), size=12, fill=FAINT)
    sheet = _Sheet(paper, wiring.modules, (0.0, HEAD), (PANEL_WIDTH, PANEL_HEIGHT - HEAD - FOOT))
    others = [state for state in found.states if state not in found.cycle]
    sheet.place(found.cycle, others, [(t.begin, t.end) for t in found.transitions])
    pairs = {(t.begin, t.end) for t in found.transitions}
    order = sorted(found.transitions, key=found.in_cycle)
    for transition in order:
        sheet.arrow(transition.begin, transition.end, pairs, _nominal_pen(found, transition))
    for state in found.states:
        sheet.box(state, heavy=state in found.cycle or state == found.stop)
    for transition in order:
        heavy = found.in_cycle(transition)
        words = [cause.text for cause in transition.causes]
        words = [words[0], *(f"or {word}" for word in words[1:])]
        sheet.label(transition.begin, transition.end, pairs, words, 11.0 if heavy else 9.0, INK if heavy else FAINT)
    _nominal_key(paper, wiring, PANEL_HEIGHT - FOOT + 22)
    return paper.to_bytes()


def actual_diagram(label: str, windows: Sequence[Window]) -> bytes:
    """Return the actual global state diagrams of a bout as SVG, one panel beside the other."""
    told = "Which global states did follow which; arrows are as wide as they are frequent."
    paper = Paper(PANEL_WIDTH * len(windows), PANEL_HEIGHT, f"Actual global states of {label}", told)
    for k, window in enumerate(windows):
        _actual_panel(paper, PANEL_WIDTH * k, label, window)
    _actual_key(paper, windows[0].wiring, PANEL_HEIGHT - FOOT + 22)
    return paper.to_bytes()


def _actual_panel(paper: Paper, left: float, label: str, window: Window) -> None:
    seen, found = window.seen, nominal(window.wiring)
    begin, end = seen.span
    name = f"{window.name}, " if window.name else ""
    paper.text(left + 24, 28, f"Actual global states: {label}, {name}{begin:.1f} to {end:.1f} s", size=16, bold=True)
    cycle = [state for state in found.cycle if any(stay.state == state for stay in seen.stays)]
    paper.text(left + 24, 50, _share_sentence(seen, found), size=12, fill=FAINT)
    sheet = _Sheet(paper, window.wiring.modules, (left, HEAD), (PANEL_WIDTH, PANEL_HEIGHT - HEAD - FOOT))
    others = sorted(stay.state for stay in seen.stays if stay.state not in cycle)
    sheet.place(cycle, others, [(p.begin, p.end) for p in seen.passages])
    most = max((passage.count for passage in seen.passages), default=1)
    pairs = {(p.begin, p.end) for p in seen.passages}
    predicted = {(t.begin, t.end): found.in_cycle(t) for t in found.transitions if not t.own_limit}
    predicted |= {(t.begin, t.end): False for t in found.transitions if (t.begin, t.end) not in predicted}
    for passage in reversed(seen.passages):
        pen = _actual_pen(predicted.get((passage.begin, passage.end)), passage.count, most)
        sheet.arrow(passage.begin, passage.end, pairs, pen)
    for stay in seen.stays:
        sheet.box(stay.state, heavy=stay.state in found.cycle, note=_stay_note(stay))
    for passage in seen.passages:
        if passage.count > RARE * most:
            sheet.label(passage.begin, passage.end, pairs, [str(passage.count)], 11.0, INK)


def _actual_pen(in_cycle: bool | None, count: int, most: int) -> _Pen:
    """Return the pen for a passage: predicted in the cycle, predicted elsewhere, or (None) not predicted."""
    weight = 1.0 + 7.0 * math.sqrt(count / most)
    head = 7.0 + 1.6 * weight
    if count <= RARE * most:
        return _Pen("#c9c9cd", 1.0, "" if in_cycle is not None else "3 3", 6.0)
    if in_cycle:
        return _Pen(INK, weight, "", head)
    return _Pen(FAINT, weight, "", head) if in_cycle is not None else _Pen(SURPRISE, weight, "7 4", head)


def _nominal_pen(found: Nominal, transition: Transition) -> _Pen:
    if found.in_cycle(transition):
        return _Pen(INK, 3.6, "", 13.0)
    return _Pen(FAINT, 1.2, "5 4" if transition.own_limit else "", 8.0)


class _Sheet:
    """One panel: boxes for global states, and arrows between them."""

    def __init__(self, paper: Paper, modules: Sequence[Module], corner: Point, size: Point) -> None:
        self._paper, self._modules = paper, modules
        self._centre = corner[0] + size[0] / 2, corner[1] + size[1] / 2
        words = [action.short for module in modules for action in module.actions]
        self._width = 34.0 + max(text_width(word, 11.5) for word in words)
        self._height = ROW * len(modules) + 6.0
        self._reach = size[0] / 2 - self._width / 2 - 14.0, size[1] / 2 - self._height / 2 - 14.0
        self._at: dict[GlobalState, Point] = {}

    def place(
        self,
        cycle: Sequence[GlobalState],
        others: Sequence[GlobalState],
        joined: Sequence[tuple[GlobalState, GlobalState]],
    ) -> None:
        (cx, cy), (rx, ry) = self._centre, self._reach
        unit: Mapping[GlobalState, Point] = places(cycle, others, joined)
        self._at = {state: (cx + rx * x, cy + ry * y) for state, (x, y) in unit.items()}

    def box(self, state: GlobalState, *, heavy: bool, note: str = "") -> None:
        x, y = self._at[state]
        left, top = x - self._width / 2, y - self._height / 2
        weight = 3.0 if heavy else 1.0
        self._paper.rectangle(left, top, self._width, self._height, line=INK, weight=weight, radius=7)
        for k, (module, code) in enumerate(zip(self._modules, state, strict=True)):
            action = module.action(code)
            middle = top + 3.0 + ROW * (k + 0.5)
            self._paper.rectangle(left + 7, middle - 6, 15, 12, fill=paint(action.color), weight=0.6, told=action.name)
            self._paper.text(left + 28, middle, action.short, size=11.5, bold=heavy)
        if note:
            self._paper.text(x, top + self._height + 9, note, size=10, anchor="middle", fill=INK, halo=PAPER)

    def arrow(
        self, begin: GlobalState, end: GlobalState, pairs: set[tuple[GlobalState, GlobalState]], pen: _Pen
    ) -> None:
        curve = self._curve(begin, end, pairs, pen.head)
        data = f"M{xy(curve.begin)}Q{xy(curve.control)} {xy(curve.end)}"
        self._paper.path(data, line=pen.color, weight=pen.weight, dash=pen.dash)
        tip = (
            curve.end[0] + pen.head * 0.8 * math.cos(curve.angle),
            curve.end[1] + pen.head * 0.8 * math.sin(curve.angle),
        )
        self._paper.arrow_head(tip, curve.angle, size=pen.head, fill=pen.color)

    def label(
        self,
        begin: GlobalState,
        end: GlobalState,
        pairs: set[tuple[GlobalState, GlobalState]],
        words: Sequence[str],
        size: float,
        fill: str,
    ) -> None:
        x, y = self._curve(begin, end, pairs, 9.0).label
        for k, word in enumerate(words):
            row = y + (k - (len(words) - 1) / 2) * (size + 2)
            self._paper.text(x, row, word, size=size, anchor="middle", fill=fill, halo=PAPER)

    def _curve(
        self, begin: GlobalState, end: GlobalState, pairs: set[tuple[GlobalState, GlobalState]], head: float
    ) -> _Curve:
        a, b = self._at[begin], self._at[end]
        dx, dy = b[0] - a[0], b[1] - a[1]
        bend = 0.16 if (end, begin) in pairs else 0.06
        control = (a[0] + b[0]) / 2 - bend * dy, (a[1] + b[1]) / 2 + bend * dx
        start, stop = self._edge(a, control, 0.0), self._edge(b, control, head * 0.8 + 1.5)
        angle = math.atan2(b[1] - control[1], b[0] - control[0])
        near = 0.25 * start[0] + 0.5 * control[0] + 0.25 * stop[0], 0.25 * start[1] + 0.5 * control[1] + 0.25 * stop[1]
        return _Curve(start, control, stop, angle, near)

    def _edge(self, centre: Point, towards: Point, gap: float) -> Point:
        """Return where the line from a box's middle leaves the box, `gap` farther out."""
        dx, dy = towards[0] - centre[0], towards[1] - centre[1]
        length = max(math.hypot(dx, dy), 1e-9)
        half = self._width / 2 + 2, self._height / 2 + 2
        share = min(half[0] / max(abs(dx), 1e-9), half[1] / max(abs(dy), 1e-9)) + gap / length
        return centre[0] + dx * share, centre[1] + dy * share


def _moment(wiring: Wiring) -> str:
    return "as configured" if not wiring.time_s else f"at {wiring.time_s:g} s"


def _cycle_sentence(wiring: Wiring, found: Nominal) -> str:
    if found.cycle:
        return f"{len(found.states)} global states can be reached; the rules lead into a cycle of {len(found.cycle)}."
    if found.stop is None:
        return "The rules lead nowhere."
    names = ", ".join(m.action(code).short for m, code in zip(wiring.modules, found.stop, strict=True))
    return f"No cycle: the rules lead to {names}, which nothing that is predicted here leaves."


def _share_sentence(seen: Seen, found: Nominal) -> str:
    share = sum(stay.share for stay in seen.stays if stay.state in found.cycle)
    steps = sum(p.count for p in seen.passages)
    if not found.cycle:
        return f"{len(seen.stays)} global states, {steps} passages; the rules predict no cycle."
    return f"{len(seen.stays)} global states, {steps} passages; {100 * share:.0f} % of the time in the nominal cycle."


def _stay_note(stay: Stay) -> str:
    median = "" if stay.median_s is None else f", {stay.median_s:.2g} s"
    return f"{100 * stay.share:.0f} %{median}"


def _rows_sentence(wiring: Wiring) -> str:
    return "Rows of a box, from the top: " + ", ".join(module.name for module in wiring.modules) + "."


def _nominal_key(paper: Paper, wiring: Wiring, y: float) -> None:
    items = (
        (_Pen(INK, 3.6, "", 11), "nominal cycle"),
        (_Pen(FAINT, 1.2, "", 8), "other transitions by what another joint does"),
        (_Pen(FAINT, 1.2, "5 4", 8), "a joint's own limit"),
    )
    _key(paper, items, y)
    paper.text(24, y + 22, _rows_sentence(wiring), size=11, fill=FAINT)
    words = (
        "Predicted from rules, thresholds and the direction of each action's drive, without ground, weight or inertia."
    )
    paper.text(24, y + 40, words, size=11, fill=FAINT)


def _actual_key(paper: Paper, wiring: Wiring, y: float) -> None:
    items = (
        (_Pen(INK, 3.6, "", 11), "in the nominal cycle"),
        (_Pen(FAINT, 2.4, "", 9), "predicted besides"),
        (_Pen(SURPRISE, 2.4, "7 4", 9), "not predicted"),
        (_Pen("#c9c9cd", 1.0, "", 6), f"rare (at most {100 * RARE:.0f} % of the most frequent)"),
    )
    _key(paper, items, y)
    paper.text(24, y + 22, _rows_sentence(wiring), size=11, fill=FAINT)
    words = (
        "Numbers at arrows: how often. Under a box: share of the time, median stay. Heavy box: in the nominal cycle."
    )
    paper.text(24, y + 40, words, size=11, fill=FAINT)


def _key(paper: Paper, items: Sequence[tuple[_Pen, str]], y: float) -> None:
    x = 24.0
    for pen, words in items:
        paper.lines([(x, y), (x + 30, y)], line=pen.color, weight=pen.weight, dash=pen.dash)
        paper.arrow_head((x + 34 + pen.head * 0.4, y), 0.0, size=pen.head, fill=pen.color)
        paper.text(x + 48, y, words, size=11)
        x += 48 + text_width(words, 11) + 26
