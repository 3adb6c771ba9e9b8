"""One joint on one sheet: its rules term by term, and everything in them that can be turned.

A `Sheet` is made once of the daemon's description of the model; its rows are made of the values in force, since a rule
may be rewritten while one looks at it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Literal

from nuc_engine.cli.terminal.ink import name_of
from nuc_engine.model.comparisons import Term, terms

Values = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Knob:
    """One number that can be stepped: an element of an HDSO. `bounds` are inclusive, None where there is none."""

    hdso: str
    element: int
    count: int
    datatype: str
    unit: str
    quantum: Decimal
    guessed: bool
    bounds: tuple[float | None, float | None]
    suggested: tuple[float | None, float | None]

    @property
    def label(self) -> str:
        """Its name, as on the screen so on the channel."""
        return self.hdso if self.count == 1 else f"{self.hdso}[{self.element}]"

    def value(self, values: Values) -> int | float | None:
        """Return the number in these values."""
        held = values.get(self.hdso)
        if self.count > 1:
            held = held[self.element] if isinstance(held, list | tuple) and self.element < len(held) else None
        return held if isinstance(held, int | float) and not isinstance(held, bool) else None

    def stepped(self, value: int | float, steps: int) -> int | float:
        """Return the value some quanta further on, kept within the bounds. Ten steps of 0.1 are 1."""
        return self.kept(self._number(Decimal(str(value)) + steps * self.quantum))

    def kept(self, value: int | float) -> int | float:
        """Return the nearest value within the bounds."""
        low, high = self.bounds
        if low is not None and value < low:
            return self._number(Decimal(str(low)))
        if high is not None and value > high:
            return self._number(Decimal(str(high)))
        return value

    def _number(self, value: Decimal) -> int | float:
        return float(value) if self.datatype in ("float", "double") else int(value)


@dataclass(frozen=True, slots=True)
class SheetRow:
    """One line: a rule as a whole, one of its terms, or a value. `knob` None: nothing to turn here."""

    kind: Literal["rule", "term", "activation", "dwell", "muscle"]
    state: str
    label: str
    rule: str = ""
    term: Term | None = None
    knob: Knob | None = None


@dataclass(frozen=True, slots=True)
class StateSheet:
    """One action: its rule, and what its muscles do. `activations` are (muscle, function, HDSO names)."""

    name: str
    rule: str
    activations: tuple[tuple[str, str, tuple[str, ...]], ...]
    dwell: str


@dataclass(frozen=True, slots=True)
class Sheet:
    """One joint of the model in force."""

    configuration: str
    joint: str
    angle: str
    load: str
    motor: str
    muscles: tuple[tuple[str, tuple[str, ...]], ...]
    states: tuple[StateSheet, ...]
    hdsos: Mapping[str, Mapping[str, Any]]

    @property
    def datatypes(self) -> Mapping[str, str]:
        """Datatype of every HDSO, by name."""
        return {name: str(hdso["datatype"]) for name, hdso in self.hdsos.items()}

    def names(self, values: Values) -> tuple[str, ...]:
        """Return every name whose value the sheet shows, as far as the rules in force tell."""
        found: dict[str, None] = {f"joint.{self.joint}.action": None, f"joint.{self.joint}.mode": None}
        for name in (self.angle, self.load):
            found |= {name: None} if name else {}
        if self.motor:
            found[f"motor.{self.motor}.sent_raw"] = None
        for state in self.states:
            found |= {state.rule: None, f"rule.{state.rule}": None}
            for term in terms(str(values.get(state.rule) or "")):
                for operand in filter(None, (term.left, term.right)):
                    is_rule = self.hdsos.get(operand, {}).get("kind") == "boolstring"
                    found[f"rule.{operand}" if is_rule else operand] = None
            found |= {name: None for _, _, names in state.activations for name in names}
            found |= {state.dwell: None} if state.dwell else {}
        for muscle, names in self.muscles:
            found |= {f"muscle.{muscle}.activation": None, f"muscle.{muscle}.force": None}
            found |= dict.fromkeys(names)
        return tuple(found)

    def rows(self, values: Values) -> tuple[SheetRow, ...]:
        """Return the lines of the sheet for the rules in force."""
        rows: list[SheetRow] = []
        for state in self.states:
            rows.append(SheetRow("rule", state.name, state.name, rule=state.rule))
            for term in terms(str(values.get(state.rule) or "")):
                knobs = [k for name in (term.right, term.left) for k in self._knobs(name)]
                rows += [SheetRow("term", state.name, term.left, state.rule, term, k) for k in knobs or [None]]
            for muscle, _, names in state.activations:
                rows += [
                    SheetRow("activation", state.name, muscle, knob=k) for name in names for k in self._knobs(name)
                ]
            rows += [SheetRow("dwell", state.name, "dwell", knob=k) for k in self._knobs(state.dwell)]
        for muscle, names in self.muscles:
            rows += [SheetRow("muscle", "", muscle, knob=k) for name in names for k in self._knobs(name)]
        return tuple(rows)

    def _knobs(self, name: str) -> tuple[Knob, ...]:
        hdso = self.hdsos.get(name)
        if hdso is None or hdso["kind"] != "parameter" or hdso["datatype"] in ("char", "uchar"):
            return ()
        return tuple(_knob(hdso, element) for element in range(math.prod(hdso["dims"])))


def changed(values: Values, changes: Mapping[str, Any]) -> Values:
    """Return values with changes made to them, of which some are single elements, `NAME[k]`."""
    after = dict(values)
    for label, value in changes.items():
        name, bracket, element = label.removesuffix("]").partition("[")
        held = after.get(name)
        if not bracket:
            after[label] = value
        elif isinstance(held, list | tuple):
            after[name] = [value if k == int(element) else number for k, number in enumerate(held)]
    return after


def make_sheet(model: Mapping[str, Any], joint: str) -> Sheet:
    """Return the sheet of a joint, by name or id. Raises KeyError with the joints there are."""
    joints = [item for item in model["joints"] if not item.get("endpoint")]
    found = next((item for item in joints if joint in (item["name"], str(item["id"]))), None)
    if found is None:
        raise KeyError(f"no joint {joint!r} in {model['name']}; there are: {', '.join(j['name'] for j in joints)}")
    motor = found.get("motor") or {}
    return Sheet(
        configuration=str(model["name"]),
        joint=str(found["name"]),
        angle=name_of(motor.get("angle_sensor")),
        load=name_of(motor.get("load_sensor")),
        motor=str(motor.get("name", "")),
        muscles=tuple((str(muscle["name"]), _function_names(muscle)) for muscle in found["muscles"]),
        states=tuple(_state(state) for state in found["states"]),
        hdsos={str(hdso["name"]): hdso for hdso in (*model["parameters"], *model["sensors"])},
    )


def _state(state: Mapping[str, Any]) -> StateSheet:
    activations = tuple(
        (name_of(item["muscle"]), str(item["function"]), tuple(map(name_of, item["parameters"])))
        for item in state["activations"]
    )
    return StateSheet(str(state["name"]), name_of(state["rule"]), activations, name_of(state.get("dwell")))


def _function_names(muscle: Mapping[str, Any]) -> tuple[str, ...]:
    names = [name_of(item) for function in muscle["functions"].values() for item in function["parameters"]]
    return tuple(dict.fromkeys(names))


def _knob(hdso: Mapping[str, Any], element: int) -> Knob:
    spans: Mapping[str, Mapping[str, float | None]] = hdso["ranges"]
    quanta = [span["quantum"] for span in map(spans.get, ("suggested", "valid", "normal")) if span and span["quantum"]]
    suggested = _bounds(spans.get("suggested"))
    whole = hdso["datatype"] not in ("float", "double")
    quantum = Decimal(str(quanta[0])) if quanta else _guess(suggested)
    if whole:
        quantum = max(Decimal(1), Decimal(int(quantum)))
    return Knob(
        hdso=str(hdso["name"]),
        element=element,
        count=math.prod(hdso["dims"]),
        datatype=str(hdso["datatype"]),
        unit=str(hdso["unit"] or ""),
        quantum=quantum,
        guessed=not quanta,
        bounds=_bounds(spans.get("valid")),
        suggested=suggested,
    )


def _guess(suggested: Sequence[float | None]) -> Decimal:
    """Return a step for an HDSO that names none: about a hundredth of what is suggested, else 0.01."""
    low, high = suggested
    if low is None or high is None or not math.isfinite(high - low) or high <= low:
        return Decimal("0.01")
    return Decimal(10) ** math.floor(math.log10((high - low) / 50))


def _bounds(span: Mapping[str, float | None] | None) -> tuple[float | None, float | None]:
    return (None, None) if span is None else (span["lower"], span["upper"])
