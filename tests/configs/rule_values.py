"""Truth of entry rules for given sensor values, and which rules of a module hold together."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from itertools import pairwise, product

from sccils_schemas.documents import Joint, Signal
from sccils_schemas.model import Model
from sccils_schemas.rules import And, Inequality, Rule, Variable, operands, parse_rule, resolve
from tests.configs.documents import initial_values

Values = Mapping[int, float]


def holds(rule: Rule, values: Values) -> bool:
    if isinstance(rule, Variable):
        return values[int(rule.ref)] != 0
    if isinstance(rule, Inequality):
        left, right = values[int(rule.left.ref)], values[int(rule.right.ref)]
        return left < right if rule.op == "<" else left > right
    parts = [holds(term, values) for term in rule.terms]
    return all(parts) if isinstance(rule, And) else any(parts)


def rules_of(model: Model, joint: Joint, texts: Mapping[int, str]) -> dict[str, Rule]:
    """Return the entry rules of a module by state name, with ids only, of sensors in place of signals made of one."""
    signals = {h.id_num: h for h in model.hdsos if isinstance(h, Signal)}

    def measured(found: re.Match[str]) -> str:
        number = int(found[0])
        while number in signals:
            (one,) = signals[number].inputs
            number = int(resolve(Variable(one), model.ids).ref)
        return str(number)

    return {
        s.name: resolve(parse_rule(re.sub(r"\b\d+\b", measured, texts[s.rule.mods[0].id_num])), model.ids)
        for s in joint.states
    }


def overlaps(
    model: Model, joint: Joint, changes: Mapping[int, object] | None = None
) -> Iterator[tuple[dict[str, float], tuple[str, ...]]]:
    """Yield (sensor values by name, states) wherever two or more entry rules hold, over a grid of sensor values."""
    initial = {**initial_values(model), **(changes or {})}
    texts = {i: v for i, v in initial.items() if isinstance(v, str)}
    numbers = {i: v[0] for i, v in initial.items() if isinstance(v, tuple) and len(v) == 1}
    rules = rules_of(model, joint, texts)
    sensors = sorted({int(ref) for rule in rules.values() for ref in operands(rule) if 301 <= int(ref) <= 308})
    for point in product(*(grid(model, sensor, numbers) for sensor in sensors)):
        values = {**numbers, **dict(zip(sensors, point, strict=True))}
        true = tuple(name for name, rule in rules.items() if holds(rule, values))
        if len(true) > 1:
            yield {model.names[s]: v for s, v in zip(sensors, point, strict=True)}, true


def grid(model: Model, sensor: int, numbers: Values) -> list[float]:
    """Return values around and between all thresholds a sensor could be compared with, and the thresholds."""
    load = model.names[sensor].endswith("current")
    marks = sorted({numbers[i] for i in numbers if 101 <= i <= 120 and model.names[i].endswith("load") == load})
    between = [(a + b) / 2 for a, b in pairwise(marks)]
    return [marks[0] - 5, *marks, *between, marks[-1] + 5]
