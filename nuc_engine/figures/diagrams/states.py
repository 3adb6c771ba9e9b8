"""Global state diagrams: the nominal one of a configuration, the actual ones of a bout (figures 4-8, 7-12 to 7-16)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from nuc_engine.figures.diagrams.nominal import GlobalState, Nominal, Transition, nominal
from nuc_engine.figures.diagrams.seen import ObservedStates, Passage, Stay
from nuc_engine.figures.diagrams.sheet import Arrow, ArrowStyle, StateBox, StateGraph
from nuc_engine.figures.diagrams.svg import FAINT, INK, Paper, text_width
from nuc_engine.figures.diagrams.wiring import Wiring

PANEL_WIDTH, PANEL_HEIGHT, HEAD, FOOT = 960.0, 720.0, 66.0, 86.0
RARE = 0.03
"""A passage is rare when it is this small a share of the most frequent one: drawn faint and without a number."""
SURPRISE, PALE_LINE = "#c2410c", "#c9c9cd"


@dataclass(frozen=True, slots=True)
class DiagramPanel:
    """One panel of an actual diagram: what was seen in a span of time, and the control system then in force."""

    name: str
    wiring: Wiring
    seen: ObservedStates


def nominal_diagram(wiring: Wiring) -> bytes:
    """Return the nominal global state diagram as SVG. Raises DiagramError for too many global states."""
    found = nominal(wiring)
    told = "Which global states should follow which, by the entry rules; the cycle they lead into is drawn heavy."
    paper = Paper(PANEL_WIDTH, PANEL_HEIGHT, f"Nominal global states of {wiring.label}", told)
    paper.text(24, 28, f"Nominal global states: {wiring.label}, {wiring.moment}", size=16, bold=True)
    paper.text(24, 50, _cycle_sentence(wiring, found), size=12, fill=FAINT)
    sheet = StateGraph(paper, wiring.modules, (0.0, HEAD), (PANEL_WIDTH, PANEL_HEIGHT - HEAD - FOOT))
    boxes = [StateBox(state, state in found.cycle or state == found.stop) for state in found.states]
    sheet.draw(found.cycle, boxes, _nominal_arrows(found))
    _nominal_key(paper, wiring, PANEL_HEIGHT - FOOT + 22)
    return paper.to_bytes()


def actual_diagram(label: str, windows: Sequence[DiagramPanel]) -> bytes:
    """Return the actual global state diagrams of a bout as SVG, one panel below the other."""
    told = "Which global states did follow which; arrows are as wide as they are frequent."
    tall = PANEL_HEIGHT - FOOT
    paper = Paper(PANEL_WIDTH, tall * len(windows) + FOOT, f"Actual global states of {label}", told)
    for k, window in enumerate(windows):
        _actual_panel(paper, tall * k, label, window)
    _actual_key(paper, windows[0].wiring, tall * len(windows) + 22)
    return paper.to_bytes()


def nominal_data(wiring: Wiring) -> dict[str, Any]:
    """Return what the nominal diagram shows, in JSON's own types; a global state is the list of its actions' names."""
    found = nominal(wiring)
    return {
        "joints": [module.name for module in wiring.modules],
        "cycle": [_names(wiring, state) for state in found.cycle],
        "stops_in": None if found.stop is None else _names(wiring, found.stop),
        "transitions": [
            {
                "from": _names(wiring, transition.begin),
                "to": _names(wiring, transition.end),
                "events": [cause.text for cause in transition.causes],
                "own_limit": transition.own_limit,
                "in_cycle": found.in_cycle(transition),
            }
            for transition in found.transitions
        ],
    }


def actual_data(window: DiagramPanel) -> dict[str, Any]:
    """Return what a panel of the actual diagram shows, in JSON's own types."""
    wiring, seen = window.wiring, window.seen
    return {
        "name": window.name,
        "begin_s": seen.span[0],
        "end_s": seen.span[1],
        "joints": [module.name for module in wiring.modules],
        "nominal_cycle": [_names(wiring, state) for state in nominal(wiring).cycle],
        "states": [
            {"state": _names(wiring, s.state), "share": s.share, "visits": s.visits, "median_s": s.median_s}
            for s in seen.stays
        ],
        "passages": [
            {"from": _names(wiring, p.begin), "to": _names(wiring, p.end), "count": p.count} for p in seen.passages
        ],
    }


def _names(wiring: Wiring, state: GlobalState) -> list[str]:
    return [module.action(code).name for module, code in zip(wiring.modules, state, strict=True)]


def _nominal_arrows(found: Nominal) -> list[Arrow]:
    """Return one arrow for each pair of states, those of the cycle last, so that they lie on top."""
    pairs: dict[tuple[GlobalState, GlobalState], list[Transition]] = {}
    for transition in sorted(found.transitions, key=lambda t: t.own_limit):
        pairs.setdefault((transition.begin, transition.end), []).append(transition)
    arrows: list[Arrow] = []
    for (begin, end), members in pairs.items():
        heavy = any(found.in_cycle(member) for member in members)
        events = list(dict.fromkeys(cause.text for member in members for cause in member.causes))
        words = (events[0], *(f"or {event}" for event in events[1:]))
        if heavy:
            arrows.append(Arrow(begin, end, ArrowStyle(INK, 3.6, "", 13.0), words, 11.0, INK))
        else:
            dash = "5 4" if members[0].own_limit else ""
            arrows.append(Arrow(begin, end, ArrowStyle(FAINT, 1.2, dash, 8.0), words, 9.0, FAINT))
    return sorted(arrows, key=lambda arrow: arrow.size)


def _actual_panel(paper: Paper, top: float, label: str, window: DiagramPanel) -> None:
    seen, found = window.seen, nominal(window.wiring)
    begin, end = seen.span
    name = f"{window.name}, " if window.name else ""
    paper.text(24, top + 28, f"Actual global states: {label}, {name}{begin:.1f} to {end:.1f} s", size=16, bold=True)
    paper.text(24, top + 50, _share_sentence(seen, found), size=12, fill=FAINT)
    sheet = StateGraph(paper, window.wiring.modules, (0.0, top + HEAD), (PANEL_WIDTH, PANEL_HEIGHT - HEAD - FOOT))
    cycle = [state for state in found.cycle if any(stay.state == state for stay in seen.stays)]
    boxes = [StateBox(stay.state, stay.state in found.cycle, _stay_note(stay)) for stay in seen.stays]
    sheet.draw(cycle, boxes, _actual_arrows(seen, found))


def _actual_arrows(seen: ObservedStates, found: Nominal) -> list[Arrow]:
    most = max((passage.count for passage in seen.passages), default=1)
    arrows: list[Arrow] = []
    for passage in reversed(seen.passages):
        words = (str(passage.count),) if passage.count > RARE * most else ()
        arrows.append(Arrow(passage.begin, passage.end, _actual_pen(found, passage, most), words))
    return arrows


def _actual_pen(found: Nominal, passage: Passage, most: int) -> ArrowStyle:
    predicted = [t for t in found.transitions if (t.begin, t.end) == (passage.begin, passage.end)]
    if passage.count <= RARE * most:
        return ArrowStyle(PALE_LINE, 1.0, "" if predicted else "3 3", 6.0)
    weight = 1.0 + 7.0 * math.sqrt(passage.count / most)
    head = 7.0 + 1.6 * weight
    if not predicted:
        return ArrowStyle(SURPRISE, weight, "7 4", head)
    return ArrowStyle(INK if any(found.in_cycle(t) for t in predicted) else FAINT, weight, "", head)


def _cycle_sentence(wiring: Wiring, found: Nominal) -> str:
    if found.cycle:
        return f"{len(found.states)} global states can be reached; the rules lead into a cycle of {len(found.cycle)}."
    if found.stop is None:
        return "The rules lead nowhere."
    names = ", ".join(m.action(code).short for m, code in zip(wiring.modules, found.stop, strict=True))
    return f"No cycle: the rules lead to {names}, and no event of another joint leads away from it for good."


def _share_sentence(seen: ObservedStates, found: Nominal) -> str:
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
        (ArrowStyle(INK, 3.6, "", 11), "nominal cycle"),
        (ArrowStyle(FAINT, 1.2, "", 8), "other transitions by what another joint does"),
        (ArrowStyle(FAINT, 1.2, "5 4", 8), "a joint's own limit"),
    )
    _key(paper, items, y)
    paper.text(24, y + 22, _rows_sentence(wiring), size=11, fill=FAINT)
    words = (
        "Predicted from rules, thresholds and the direction of each action's drive, without ground, weight or inertia."
    )
    paper.text(24, y + 40, words, size=11, fill=FAINT)


def _actual_key(paper: Paper, wiring: Wiring, y: float) -> None:
    items = (
        (ArrowStyle(INK, 3.6, "", 11), "in the nominal cycle"),
        (ArrowStyle(FAINT, 2.4, "", 9), "predicted besides"),
        (ArrowStyle(SURPRISE, 2.4, "7 4", 9), "not predicted"),
        (ArrowStyle(PALE_LINE, 1.0, "", 6), f"rare (at most {100 * RARE:.0f} % of the most frequent)"),
    )
    _key(paper, items, y)
    paper.text(24, y + 22, _rows_sentence(wiring), size=11, fill=FAINT)
    words = (
        "Numbers at arrows: how often. Under a box: share of the time, median stay. Heavy box: in the nominal cycle."
    )
    paper.text(24, y + 40, words, size=11, fill=FAINT)


def _key(paper: Paper, items: Sequence[tuple[ArrowStyle, str]], y: float) -> None:
    x = 24.0
    for pen, words in items:
        paper.lines([(x, y), (x + 30, y)], line=pen.color, weight=pen.weight, dash=pen.dash)
        paper.arrow_head((x + 34 + pen.head * 0.4, y), 0.0, size=pen.head, fill=pen.color)
        paper.text(x + 48, y, words, size=11)
        x += 48 + text_width(words, 11) + 26
