"""What stands below the sensory flow of a configuration of SCCILS 0.2: signals, modules without a motor, controls.

Each is a row: what it takes, what it is, and what comes of it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from nuc_engine.figures.diagrams.svg import FAINT, PALE, PAPER, Paper, paint, text_width, wrap
from nuc_engine.figures.diagrams.wiring import Condition, WiredAction, Wiring, leaves, rule_text, senses_of, when_text
from nuc_engine.model.plan import ActionSignalPlan, ControlPlan, SignalPlan, Slot
from nuc_engine.model.values import value_text
from sccils_schemas.names import counted
from sccils_schemas.signals import FORMS, PER_SAMPLE, SignalForm

CENTRAL = "#7a3db8"
"""The colour of what is not sensed: actions, and entries by them."""
CENTRAL_DASH = "8 3 2 3"
INPUT, BLOCK, ARROW, ROW, LINE = 250.0, 330.0, 34.0, 10.0, 15.0
_SIZE = 11.0
_OUTPUT = 400.0
_FORMS: Mapping[str, SignalForm] = {str(kind): form for kind, form in FORMS.items()}
_COUNTING: Mapping[str, SignalForm] = {**_FORMS, **{str(kind): form for kind, form in PER_SAMPLE.items()}}


@dataclass(frozen=True, slots=True)
class NerveRow:
    """One row: lines of text of what goes in, what is there and what comes out, and what the group says of itself.

    `outputs` are groups of their own, each with its lines.
    """

    part: str
    told: dict[str, str]
    inputs: tuple[str, ...]
    title: str
    block: tuple[str, ...]
    outputs: tuple[tuple[dict[str, str], str], ...]
    line: str
    dash: str = ""
    color: str = PAPER

    @property
    def height(self) -> float:
        """How high it is, the gap below it apart."""
        return 10.0 + LINE * max(len(self.inputs), 1 + len(self.block), len(self.outputs))


@dataclass(frozen=True, slots=True)
class NerveSection:
    """Rows of one kind, with what they are."""

    title: str
    rows: tuple[NerveRow, ...]

    @property
    def height(self) -> float:
        """How high it is, its title among it."""
        return 34.0 + sum(row.height + ROW for row in self.rows)


def nerve_sections(wiring: Wiring) -> list[NerveSection]:
    """Return what there is of it, nothing of a configuration of SCCILS 0.1."""
    plan = wiring.plan
    found = [
        ("Signals: sensors that are computed, before any rule is evaluated", [_block(wiring, s) for s in plan.signals]),
        ("Signals about actions: central, not sensed", [_action(wiring, s) for s in plan.action_signals]),
        ("Modules without a motor: what their actions write", list(_modules(wiring))),
        ("Controls: what follows them on straight lines", [_control(wiring, each) for each in plan.controls]),
    ]
    return [NerveSection(title, tuple(rows)) for title, rows in found if rows]


def section_width(sections: Sequence[NerveSection]) -> float:
    """Return how wide sections are, 0 without any."""
    words = [words for section in sections for row in section.rows for _, words in row.outputs]
    return INPUT + BLOCK + 2 * ARROW + max(text_width(each, _SIZE) for each in words) if words else 0.0


def draw_sections(paper: Paper, sections: Sequence[NerveSection], left: float, top: float) -> None:
    """Draw sections below each other."""
    y = top
    for section in sections:
        paper.text(left, y + 16, section.title, size=13, bold=True)
        y += 34
        for row in section.rows:
            _draw(paper, row, left, y)
            y += row.height + ROW


def _draw(paper: Paper, row: NerveRow, left: float, top: float) -> None:
    middle, at = top + row.height / 2, left + INPUT + ARROW
    with paper.part(row.part, **row.told):
        for k, words in enumerate(row.inputs):
            y = middle + LINE * (k - (len(row.inputs) - 1) / 2)
            paper.text(left + INPUT - 4, y, words, size=_SIZE, anchor="end")
        if row.inputs:
            paper.lines([(left + INPUT, middle), (at - 9, middle)], line=row.line, weight=2, dash=row.dash)
            paper.arrow_head((at, middle), 0.0, size=10, fill=row.line)
        paper.rectangle(at, top, BLOCK, row.height, line=row.line, weight=2, dash=row.dash, radius=3, fill=row.color)
        paper.text(at + 10, top + 13, row.title, size=_SIZE, bold=True)
        for k, words in enumerate(row.block):
            paper.text(at + 10, top + 13 + LINE * (k + 1), words, size=10, fill=FAINT)
        right = at + BLOCK
        for k, (told, words) in enumerate(row.outputs):
            y = middle + LINE * (k - (len(row.outputs) - 1) / 2)
            with paper.part("output", **told):
                paper.lines([(right, y), (right + ARROW - 13, y)], line=row.line, weight=2, dash=row.dash)
                paper.arrow_head((right + ARROW - 4, y), 0.0, size=9, fill=row.line)
                paper.text(right + ARROW, y, words, size=_SIZE)


def _value(wiring: Wiring, index: int) -> str:
    hdso = wiring.plan.hdsos[index]
    return f"{hdso.name} = {value_text(hdso, wiring.values[index])}"


def _listed(names: Sequence[str], parameters: Sequence[str]) -> Iterator[str]:
    """Yield what a block goes by, in lines that fit into it."""
    for k, words in enumerate(parameters):
        yield from wrap(f"{names[k] if k < len(names) else ''}: {words}".removeprefix(": "), BLOCK - 20, 10)


def _block(wiring: Wiring, signal: SignalPlan) -> NerveRow:
    hdsos, form = wiring.plan.hdsos, (_COUNTING if signal.per_sample else _FORMS)[signal.type]
    output = hdsos[signal.output.hdso]
    kind = signal.added or signal.type
    parameters = [_value(wiring, slots[0].hdso) for slots in signal.parameters]
    return NerveRow(
        "signal",
        {"name": signal.name},
        tuple(hdsos[slot.hdso].name for slot in signal.inputs),
        f"{kind}, once a sample" if signal.per_sample else kind,
        tuple(_listed([parameter.name for parameter in form.parameters], parameters)),
        (
            (
                {"name": signal.name},
                f"{output.name}{f', {output.units}' if output.units else ''}{_read_by(wiring, output.index)}",
            ),
        ),
        "#3f3f46",
        "2 3",
    )


_SAID = {
    "state": "1 in this action, else 0",
    "action": "the number of the action",
    "time_in_action": "seconds in the action",
    "decay": "what is left of the action, 1 at first",
    "switching": "switches per second",
}


def _action(wiring: Wiring, signal: ActionSignalPlan) -> NerveRow:
    plan = wiring.plan
    owner = (*plan.joints, *plan.modules)[signal.switch].name
    of = plan.every_state[signal.state].name if signal.state >= 0 else owner
    kind = f"{signal.shape} decay" if signal.type == "decay" else signal.type.replace("_", " ")
    told = [*wrap(_SAID[signal.type] + (", forced ones left out" if signal.sensory else ""), BLOCK - 20, 10)]
    indices = dict.fromkeys(slot.hdso for slot in signal.parameters)
    told += _listed([p.name for p in _FORMS[signal.type].parameters], [_value(wiring, index) for index in indices])
    if signal.rate is not None:
        told.append(f"its time passes at the rate of {plan.hdsos[signal.rate.hdso].name}")
    words = signal.name + _read_by(wiring, signal.output.hdso)
    return NerveRow(
        "signal",
        {"name": signal.name},
        (of,),
        kind,
        tuple(told),
        (({"name": signal.name}, words),),
        CENTRAL,
        CENTRAL_DASH,
    )


def _modules(wiring: Wiring) -> Iterator[NerveRow]:
    for module, upper in zip(wiring.plan.modules, wiring.upper, strict=True):
        for state, action in zip(module.states, upper.actions, strict=True):
            block = [*wrap(f"is entered when {rule_text(action.rule)}", BLOCK - 20, 10)]
            if action.central is not None:
                block += wrap(f"and centrally when {rule_text(action.central)}", BLOCK - 20, 10)
            if state.index == module.start_state:
                block.append("in force from the start")
            written = [
                (
                    {"name": hdso.name},
                    f"{hdso.name} = {value_text(hdso, write.values, _names(wiring))}{_read_by(wiring, hdso.index)}",
                )
                for write in state.writes
                for hdso in (wiring.plan.hdsos[write.hdso],)
            ]
            read = [sense.name for rule in _conditions(action) for sense in senses_of(rule)]
            told_by = {word for rule in _conditions(action) for leaf in leaves(rule) for word in leaf.text.split()}
            read += [hdso.name for hdso in wiring.plan.hdsos if hdso.owner and hdso.name in told_by]
            told = {
                "module": module.name,
                "action": str(state.index),
                "name": state.name,
                "when": when_text(action.rule),
            }
            title = f"{module.name}: {state.name}"
            yield NerveRow(
                "module", told, tuple(dict.fromkeys(read)), title, tuple(block), tuple(written), "#26262b", "", PALE
            )


def _names(wiring: Wiring) -> dict[int, str]:
    return {hdso.id_num: hdso.name for hdso in wiring.plan.hdsos}


def _conditions(action: WiredAction) -> tuple[Condition, ...]:
    return (action.rule,) if action.central is None else (action.rule, action.central)


def _control(wiring: Wiring, control: ControlPlan) -> NerveRow:
    hdso = wiring.plan.hdsos[control.value.hdso]
    held = wiring.values[hdso.index]
    low, high = hdso.valid
    now = "is nowhere yet: nothing follows it" if held is None else f"is {value_text(hdso, held)}"
    followers = [
        ({"name": wiring.plan.hdsos[slot.hdso].name}, _followed(wiring, slot, points)) for slot, points in control.maps
    ]
    block = (
        f"{now}, from {low:g} to {high:g}",
        f"{counted(len(followers), 'value')} follow{'s' if len(followers) == 1 else ''} it",
    )
    return NerveRow(
        "control", {"name": control.name}, (), control.name, block, tuple(followers), paint((0.72, 0.45, 0.0))
    )


def _followed(wiring: Wiring, slot: Slot, points: Sequence[float]) -> str:
    hdso, held = wiring.plan.hdsos[slot.hdso], wiring.values[slot.hdso]
    now = "no value" if held is None else value_text(hdso, (held[slot.element],))
    element = f"[{slot.element}]" if hdso.count > 1 else ""
    return f"{hdso.name}{element} = {now}, of {min(points[1::2]):g} to {max(points[1::2]):g}"


def _read_by(wiring: Wiring, index: int) -> str:
    """Return which actions go by an HDSO, in words."""
    name = wiring.plan.hdsos[index].name
    found: list[str] = []
    for module in (*wiring.modules, *wiring.upper):
        for action in module.actions:
            state = wiring.plan.every_state[action.index]
            words = {
                word
                for rule in _conditions(action)
                for leaf in leaves(rule)
                for word in f"{when_text(leaf)} {leaf.text}".split()
            }
            slots = [slot for a in state.activations for slot in (*a.parameters, *a.sensors)]
            slots += [influence.signal for a in state.activations for influence in a.influences]
            if name in words or state.rule == index or any(slot.hdso == index for slot in slots):
                found.append(action.short)
    shown = ", ".join(dict.fromkeys(found))
    return (
        f"  \u2192 {shown}"
        if shown and text_width(shown, 9) < _OUTPUT / 2
        else f"  \u2192 {len(found)} actions"
        if found
        else ""
    )
