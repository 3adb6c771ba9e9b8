"""Event space diagram: which sensory events promote which actions (figures 4-4, 4-20, 4-25, 7-13, 7-15 and 7-17).

On the left the input events, grouped by the joint that leads to them; in the middle what compounds them; on the right
the modules with their actions. Beside another moment or configuration, what is different is highlighted.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from nuc_engine.figures.diagrams.drive import DriveSigns, drives
from nuc_engine.figures.diagrams.flow import SOURCE_COLORS, sense_dash, source_color
from nuc_engine.figures.diagrams.svg import FAINT, HIGHLIGHT, INK, PALE, PAPER, Paper, Point, paint, text_width, xy
from nuc_engine.figures.diagrams.wiring import (
    AllOf,
    AnyOf,
    Condition,
    Leaf,
    Limit,
    Module,
    Sense,
    WiredAction,
    Wiring,
    any_text,
    leaves,
    when_text,
)
from nuc_engine.model.values import value_text

EVENT_LEFT, EVENT_WIDTH, EVENT_HEIGHT = 28.0, 196.0, 40.0
LABEL_LEFT, LABEL_WIDTH, GATE_WIDTH = 380.0, 282.0, 34.0
ACTION_WIDTH, ROW, HEAD, FOOT = 250.0, 24.0, 62.0, 96.0
NOTE = 15.0

_Key = tuple[int, bool] | str
"""An event: sensor (by HDSO index) and sense, or the text of what is no threshold."""


@dataclass(frozen=True, slots=True)
class ActionChange:
    """What is different in one action, compared with an earlier moment or another configuration."""

    fresh: frozenset[str]
    """Texts of the conditions that are new or have another threshold."""
    was: Mapping[str, str]
    """Condition -> what it was, where only the threshold or its parameter is another."""
    gone: tuple[str, ...]
    rule: bool
    drive: tuple[str, ...]
    """Activations with old and new value."""


def event_diagram(wiring: Wiring, against: Wiring | None = None) -> bytes:
    """Return the event space diagram as SVG; `against` is what differences are shown to."""
    changes = {} if against is None else {c.index: compare_action(against, wiring, c) for c in _actions(wiring)}
    return _Events(wiring, against, changes).draw()


def compare_action(before: Wiring, after: Wiring, action: WiredAction) -> ActionChange:
    """Return what is different in an action; actions are matched by name. One that was not there is all new."""
    old = next((other for other in _actions(before) if other.name == action.name), None)
    found = list(leaves(action.rule))
    if old is None:
        return ActionChange(frozenset(leaf.text for leaf in found), {}, (), rule=True, drive=())
    earlier = {_event(leaf): leaf for leaf in leaves(old.rule)}
    fresh = {leaf.text for leaf in found if not _same(earlier.get(_event(leaf)), leaf)}
    was = {leaf.text: earlier[_event(leaf)].text for leaf in found if leaf.text in fresh and _event(leaf) in earlier}
    gone = tuple(leaf.text for key, leaf in earlier.items() if key not in {_event(leaf) for leaf in found})
    rule = _shape(old.rule) != _shape(action.rule)
    return ActionChange(frozenset(fresh), was, gone, rule, _drive_changes(before, old, after, action))


def _actions(wiring: Wiring) -> list[WiredAction]:
    return [action for module in wiring.modules for action in module.actions]


def _event(leaf: Leaf) -> tuple[str, bool] | str:
    return (leaf.sense.name, leaf.above) if isinstance(leaf, Limit) else leaf.text


def _same(old: Leaf | None, new: Leaf) -> bool:
    if isinstance(old, Limit) and isinstance(new, Limit):
        return old.threshold == new.threshold
    return old is not None


def _shape(rule: Condition) -> object:
    """Return what a rule says apart from its thresholds."""
    if isinstance(rule, AllOf | AnyOf):
        return isinstance(rule, AllOf), tuple(_shape(term) for term in rule.terms)
    return _event(rule)


def _drive_changes(before: Wiring, old: WiredAction, after: Wiring, new: WiredAction) -> tuple[str, ...]:
    told: list[str] = []
    earlier = _activation_texts(before, old)
    for name, value in _activation_texts(after, new).items():
        if name in earlier and earlier[name] != value:
            told.append(f"{name}: {earlier[name]} \u2192 {value}")
    return tuple(told)


def _activation_texts(wiring: Wiring, action: WiredAction) -> dict[str, str]:
    """Return the parameters of an action's activations, by muscle, as text."""
    found: dict[str, str] = {}
    for activation in wiring.plan.states[action.index].activations:
        hdsos = dict.fromkeys(slot.hdso for slot in activation.parameters)
        values = [value_text(wiring.plan.hdsos[index], wiring.values[index]) for index in hdsos]
        found[wiring.plan.muscles[activation.muscle].name] = ", ".join(values)
    return found


class _Events:
    """Places everything first, then draws: lines below, boxes and words above."""

    def __init__(self, wiring: Wiring, against: Wiring | None, changes: Mapping[int, ActionChange]) -> None:
        self._wiring, self._against, self._changes = wiring, against, changes
        self._drives = drives(wiring.plan, wiring.values)
        self._depth = max((_depth(action.rule) for action in _actions(wiring)), default=0)
        self._gates_left = LABEL_LEFT + LABEL_WIDTH + 14
        self._actions_left = self._gates_left + (GATE_WIDTH + 26) * self._depth + 30
        self._boxes, bottom = self._place_actions()
        self._events, events_bottom = self._place_events(bottom)
        width = self._actions_left + ACTION_WIDTH + 74
        told = "Lines lead from sensory events over compound events to the actions they promote."
        height = max(bottom, events_bottom) + FOOT
        self._paper = Paper(width, height, f"Event space of {wiring.label}", told)

    def draw(self) -> bytes:
        paper, wiring = self._paper, self._wiring
        paper.text(EVENT_LEFT, 28, f"Event space: {wiring.label}, {wiring.moment}", size=16, bold=True)
        for x, words in (
            (EVENT_LEFT, "sensory events"),
            (LABEL_LEFT, "switching events"),
            (self._actions_left, "modules"),
        ):
            paper.text(x, 52, words, size=11, fill=FAINT)
        for module in wiring.modules:
            self._frame(module)
        for glow in (True, False):
            for action in _actions(wiring):
                self._inputs(action, glow=glow)
        for action in _actions(wiring):
            self._labels(action)
            with paper.part("action", action=str(action.index), name=action.name, when=when_text(action.rule)):
                self._action(action)
        for key, at in self._events.items():
            found = [leaf for action in _actions(wiring) for leaf in leaves(action.rule) if _key(leaf) == key]
            with paper.part("event", when=any_text(found)):
                self._event(key, at)
        self._footer()
        return paper.to_bytes()

    def _place_actions(self) -> tuple[dict[int, tuple[float, float]], float]:
        """Return top and height of every action's box, and where the last module ends."""
        found: dict[int, tuple[float, float]] = {}
        y = HEAD
        for module in self._wiring.modules:
            y += 34
            for action in module.actions:
                change = self._changes.get(action.index)
                rows = len(list(leaves(action.rule))) + (len(change.gone) if change else 0)
                height = max(ROW * rows + 4, 34.0 + (NOTE * len(change.drive) if change else 0.0))
                found[action.index] = (y, height)
                y += height + 16
            y += 10
        return found, y

    def _place_events(self, bottom: float) -> tuple[dict[_Key, Point], float]:
        """Return the place of every input event, spread over the height of the modules."""
        found = [leaf for action in _actions(self._wiring) for leaf in leaves(action.rule)]
        present = {_key(leaf) for leaf in found}
        keys: list[_Key] = [
            (sense.hdso, above)
            for sense in self._wiring.senses()
            for above in (True, False)
            if (sense.hdso, above) in present
        ]
        keys += sorted(key for key in present if isinstance(key, str))
        step = max(EVENT_HEIGHT + 10, (bottom - HEAD) / max(len(keys), 1))
        first = HEAD + (step - EVENT_HEIGHT) / 2
        places: dict[_Key, Point] = {key: (EVENT_LEFT, first + k * step) for k, key in enumerate(keys)}
        return places, HEAD + step * len(keys)

    def _frame(self, module: Module) -> None:
        tops = [self._boxes[action.index] for action in module.actions]
        top, end = tops[0][0] - 30, tops[-1][0] + tops[-1][1] + 10
        color = paint(SOURCE_COLORS[module.role])
        left = self._actions_left - 14
        self._paper.rectangle(left, top, ACTION_WIDTH + 62, end - top, fill=PALE, line=color, weight=2.2, radius=10)
        self._paper.text(left + 12, top + 14, module.name, size=13, bold=True)
        if len(module.actions) < 2:
            return
        bus = self._actions_left + ACTION_WIDTH + 26
        middles = [y + height / 2 for y, height in tops]
        self._paper.lines([(bus, middles[0]), (bus, middles[-1])], weight=2)
        for middle in middles:
            self._paper.lines([(bus, middle), (bus - 14, middle)], weight=2)
            self._paper.arrow_head((bus - 22, middle), 3.14159, size=10)

    def _inputs(self, action: WiredAction, *, glow: bool) -> None:
        """Draw lines and gates of one action; `glow` draws the highlight below them instead."""
        rows = list(leaves(action.rule))
        top = self._boxes[action.index][0] + 2 + ROW / 2
        heights = {id(leaf): top + ROW * k for k, leaf in enumerate(rows)}
        for leaf in rows:
            self._event_line(leaf, heights[id(leaf)], self._is_fresh(action, leaf), glow=glow)
        end = self._actions_left, top + ROW * (len(rows) - 1) / 2
        self._tree(action.rule, heights, end, 0, glow=glow)

    def _tree(self, rule: Condition, heights: Mapping[int, float], end: Point, level: int, *, glow: bool) -> float:
        """Draw a rule from its leaves to where it leads, and return the height it arrives at."""
        if not isinstance(rule, AllOf | AnyOf):
            y = heights[id(rule)]
            if not glow:
                with self._paper.part("line", when=when_text(rule)):
                    self._paper.lines([(LABEL_LEFT + LABEL_WIDTH, y), (end[0] - 8, y)], line=INK, weight=1.6)
                    if level == 0:
                        self._paper.arrow_head((end[0], y), 0.0, size=10)
            return y
        left = self._gates_left + (GATE_WIDTH + 26) * (self._depth - 1 - level)
        own = [self._tree(term, heights, (left + 8, 0.0), level + 1, glow=glow) for term in rule.terms]
        y = sum(own) / len(own)
        if not glow:
            box_top, box_end = min(own) - 9, max(own) + 9
            word = "and" if isinstance(rule, AllOf) else "or"
            with self._paper.part("gate", when=when_text(rule)):
                self._paper.rectangle(left, box_top, GATE_WIDTH, box_end - box_top, fill=PAPER, radius=6, weight=1.6)
                self._paper.text(left + GATE_WIDTH / 2, y, word, size=11, anchor="middle", bold=True)
                self._paper.lines([(left + GATE_WIDTH, y), (end[0] - 8, y)], line=INK, weight=1.6)
                if level == 0:
                    self._paper.arrow_head((end[0], y), 0.0, size=10)
        return y

    def _event_line(self, leaf: Leaf, y: float, fresh: bool, *, glow: bool) -> None:
        place = self._events[_key(leaf)]
        start = place[0] + EVENT_WIDTH, place[1] + EVENT_HEIGHT / 2
        end = LABEL_LEFT - 6, y
        half = (start[0] + end[0]) / 2
        data = f"M{xy(start)}C{xy((half, start[1]))} {xy((half, end[1]))} {xy(end)}"
        if glow:
            if fresh:
                self._paper.path(data, line=HIGHLIGHT, weight=9)
            return
        color, dash = self._source(leaf)
        with self._paper.part("line", when=when_text(leaf)):
            self._paper.path(data, line=color, weight=2.6 if self._is_double(leaf) else 1.8, dash=dash)
            if self._is_double(leaf):
                self._paper.path(data, line=PAPER, weight=0.9)

    def _labels(self, action: WiredAction) -> None:
        change = self._changes.get(action.index)
        top = self._boxes[action.index][0] + 2 + ROW / 2
        rows = list(leaves(action.rule))
        for k, leaf in enumerate(rows):
            y = top + ROW * k
            fresh = self._is_fresh(action, leaf)
            fill = HIGHLIGHT if fresh else PAPER
            side = change.was.get(leaf.text) if change else None
            words = f"was {side}" if side else f"{leaf.parameter} ({leaf.id_num})" if isinstance(leaf, Limit) else ""
            ink = INK if side else FAINT
            with self._paper.part("comparison", action=str(action.index), when=when_text(leaf)):
                self._paper.rectangle(
                    LABEL_LEFT - 4, y - 10, LABEL_WIDTH + 4, 20, fill=fill, line="#d6d6d3", weight=0.8, radius=4
                )
                self._paper.text(LABEL_LEFT + 4, y, leaf.text, size=11.5, bold=True)
                self._paper.text(LABEL_LEFT + LABEL_WIDTH - 6, y, words, size=9, anchor="end", fill=ink)
        for k, text in enumerate(change.gone if change else ()):
            y = top + ROW * (len(rows) + k)
            self._paper.text(LABEL_LEFT + 4, y, f"no longer: {text}", size=10, fill=FAINT)

    def _action(self, action: WiredAction) -> None:
        paper, (y, height), x = self._paper, self._boxes[action.index], self._actions_left
        paper.rectangle(x, y, ACTION_WIDTH, height, line=INK, weight=1.6, radius=5)
        if self._is_second(action.index):
            paper.rectangle(x + 3, y + 3, ACTION_WIDTH - 6, height - 6, fill="none", line=INK, weight=1.0, radius=4)
        paper.rectangle(x + 9, y + 9, 16, 16, fill=paint(action.color), weight=0.6)
        paper.text(x + 32, y + 17, action.short, size=12.5, bold=True)
        change = self._changes.get(action.index)
        for k, words in enumerate(change.drive if change else ()):
            line = y + 34 + NOTE * k
            paper.rectangle(x + 8, line - 8, text_width(words, 9.5) + 8, 14, fill=HIGHLIGHT, line="none", radius=3)
            paper.text(x + 12, line - 1, words, size=9.5)

    def _event(self, key: _Key, at: Point) -> None:
        paper, (x, y) = self._paper, at
        if isinstance(key, str):
            paper.rectangle(x, y, EVENT_WIDTH, EVENT_HEIGHT, line=FAINT, weight=1.6, radius=4)
            paper.text(x + 10, y + EVENT_HEIGHT / 2, key, size=11)
            return
        sense = next(sense for sense in self._wiring.senses() if sense.hdso == key[0])
        color = source_color(self._wiring, sense)
        paper.rectangle(x, y, EVENT_WIDTH, EVENT_HEIGHT, line=color, weight=1.8, radius=4)
        makers = self._makers(sense, above=key[1])
        if any(self._is_second(action.index) for action in makers):
            paper.rectangle(
                x + 3, y + 3, EVENT_WIDTH - 6, EVENT_HEIGHT - 6, fill="none", line=color, weight=1, radius=3
            )
        paper.text(x + 10, y + 14, f"{sense.name} {'high' if key[1] else 'low'}", size=11.5, bold=True)
        words = f"led to by {', '.join(action.short for action in makers)}" if makers else "no action leads to it"
        paper.text(x + 10, y + 29, words, size=9.5, fill=FAINT)

    def _makers(self, sense: Sense, *, above: bool) -> list[WiredAction]:
        """Return the actions that drive their joint so that this event comes about."""
        wanted = 1 if above else -1
        own = [action for m in self._wiring.modules if m.joint == sense.joint for action in m.actions]
        return [a for a in own if _signal(self._drives.get(a.index, DriveSigns(0, 0)), sense) == wanted]

    def _source(self, leaf: Leaf) -> tuple[str, str]:
        if isinstance(leaf, Limit):
            return source_color(self._wiring, leaf.sense), sense_dash(leaf.sense)
        return FAINT, "2 3"

    def _is_double(self, leaf: Leaf) -> bool:
        return isinstance(leaf, Limit) and any(
            self._is_second(action.index) for action in self._makers(leaf.sense, above=leaf.above)
        )

    def _is_second(self, action: int) -> bool:
        return any(len(m.actions) > 1 and m.actions[1].index == action for m in self._wiring.modules)

    def _is_fresh(self, action: WiredAction, leaf: Leaf) -> bool:
        change = self._changes.get(action.index)
        return change is not None and leaf.text in change.fresh

    def _footer(self) -> None:
        y = self._paper.height - FOOT + 26
        told = [
            "Colour: the joint an event comes from. Full lines: angles; dashed: loads.",
            "What an action with a double border leads to has a double border and double lines.",
        ]
        if self._against is not None:
            other = self._against
            told.append(
                f"Highlighted: different from {other.label}, {other.moment}; values as they were \u2192 as they are."
            )
        for k, words in enumerate(told):
            self._paper.text(EVENT_LEFT, y + 18 * k, words, size=11)


def _key(leaf: Leaf) -> _Key:
    return (leaf.sense.hdso, leaf.above) if isinstance(leaf, Limit) else leaf.text


def _signal(drive: DriveSigns, sense: Sense) -> int:
    return drive.angle if sense.what == "angle" else drive.load if sense.what == "load" else 0


def _depth(rule: Condition) -> int:
    return 1 + max(_depth(term) for term in rule.terms) if isinstance(rule, AllOf | AnyOf) else 0
