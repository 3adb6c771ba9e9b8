"""What users add to the engine: functions, activation functions, sensor filters, signals, tasks, by entry points.

A configuration says in `extensions.toml`, beside its documents, where which one takes the place of what the documents
say; without that file nothing here is loaded. What each kind is called with: see docs/extending.md.
"""

from __future__ import annotations

import inspect
import tomllib
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import cache
from typing import Any, cast

from nuc_engine.model.plan import FunctionPlan, MusclePlan, Plan, PlanError

EXTENSIONS_FILE = "extensions.toml"
KINDS = ("functions", "activations", "filters", "signals", "tasks")
"""Entry-point groups are `nuc_engine.` and one of these."""

ADDED = "added:"
"""Before the name of a function or an activation that was added, where else its type stands."""

_USES = {
    "passive_stiffness": "passive_stiffness",
    "force-length": "force_length",
    "force-velocity": "force_velocity",
}
_SHAPES = {
    "functions": "[functions.MUSCLE] USE = NAME",
    "activations": "[activations.STATE] MUSCLE = NAME",
    "filters": "[filters] SENSOR = NAME",
    "signals": "[signals] SIGNAL = NAME",
    "tasks": "tasks = [NAME, ..]",
}


@cache
def find_extension(kind: str, name: str) -> Callable[..., Any]:
    """Load what was installed under this name. Raises PlanError naming what there is."""
    from importlib.metadata import entry_points

    points = entry_points(group=f"nuc_engine.{kind}")
    if name not in points.names:
        raise PlanError(f"{EXTENSIONS_FILE}: {kind}: {name!r} is not installed; there are {_listed(points.names)}")
    try:
        return points[name].load()
    except Exception as error:  # whatever the code of others does when it is loaded
        why = f"{type(error).__name__}: {error}"
        raise PlanError(f"{EXTENSIONS_FILE}: {kind}: {name!r} cannot be loaded: {why}") from error


def installed(used: Iterable[str]) -> dict[str, str]:
    """Return distribution and version of what is used, by kind and name; nothing of what is not installed."""
    from importlib.metadata import entry_points

    found: dict[str, str] = {}
    for item in used:
        kind, _, name = item.partition(".")
        for point in entry_points(group=f"nuc_engine.{kind}", name=name):
            found[item] = "" if point.dist is None else f"{point.dist.name} {point.dist.version}"
    return found


def require(plan: Plan) -> None:
    """Raise PlanError where what a plan adds to the engine is not installed, or takes other parameters."""
    for item in plan.extensions:
        kind, _, name = item.partition(".")
        find_extension(kind, name)
    for muscle in plan.muscles:
        for function in (muscle.passive_stiffness, muscle.force_length, muscle.force_velocity):
            if function.type.startswith(ADDED):
                _check_parameters(function, muscle.name)


def _check_parameters(function: FunctionPlan, muscle: str) -> None:
    name = function.type.removeprefix(ADDED)
    takes = inspect.signature(find_extension("functions", name))
    try:
        takes.bind(0.0, *function.parameters)
    except TypeError as error:
        count = len(function.parameters)
        raise PlanError(
            f"{EXTENSIONS_FILE}: {name} takes {takes}; its function_spec of {muscle} has {count} parameters"
        ) from error


def extended(plan: Plan, content: bytes) -> Plan:
    """Return the plan with what an extensions.toml adds, installed or not. Raises PlanError for what cannot be."""
    muscles, states, motors = list(plan.muscles), list(plan.states), list(plan.motors)
    signals = list(plan.signals)
    tasks: list[str] = []
    used: dict[str, None] = {}
    for kind, where, name in _entries(content):
        used[f"{kind}.{name}"] = None
        match kind, where:
            case "functions", (muscle, use):
                k = _place(muscles, "muscle", muscle)
                muscles[k] = _with_function(muscles[k], use, name)
            case "activations", (state, muscle):
                k = _place(states, "state", state)
                at = [muscles[item.muscle].name for item in states[k].activations]
                j = _index(at, f"muscle of {state}", muscle)
                activations = list(states[k].activations)
                activations[j] = replace(activations[j], function=ADDED + name)
                states[k] = replace(states[k], activations=tuple(activations))
            case "filters", (sensor,):
                loads = [plan.hdsos[motor.current].name for motor in motors]
                k = _index(loads, "load of a motor", sensor)
                motors[k] = replace(motors[k], filter=name)
            case "signals", (signal,):
                k = _place(signals, "signal", signal)
                signals[k] = replace(signals[k], type="other", added=name)
            case _:
                tasks.append(name)
    return replace(
        plan,
        muscles=tuple(muscles),
        states=tuple(states),
        motors=tuple(motors),
        signals=tuple(signals),
        tasks=tuple(tasks),
        extensions=tuple(used),
    )


def check_signals(plan: Plan) -> None:
    """Raise PlanError where a signal is of a block that was added, and nothing says which."""
    for signal in plan.signals:
        if signal.type == "other" and not signal.added:
            raise PlanError(
                f"{EXTENSIONS_FILE}: signal {signal.name!r} is of type other; expected {_SHAPES['signals']}"
            )


def _entries(content: bytes) -> Iterator[tuple[str, tuple[str, ...], str]]:
    """Yield kind, where, and name of everything that an extensions.toml says."""
    try:
        said = tomllib.loads(content.decode())
    except ValueError as error:
        raise PlanError(f"{EXTENSIONS_FILE}: {error}") from error
    if unknown := sorted(said.keys() - set(KINDS)):
        raise PlanError(f"{EXTENSIONS_FILE}: {unknown[0]!r}; expected {', '.join(KINDS)}")
    for kind, value in said.items():
        for where, name in _leaves(value, ()):
            depth = {"functions": 2, "activations": 2, "filters": 1, "signals": 1, "tasks": 0}[kind]
            if len(where) != depth or not isinstance(name, str):
                raise PlanError(f"{EXTENSIONS_FILE}: {'.'.join((kind, *where))} is {name!r}; expected {_SHAPES[kind]}")
            yield kind, where, name


def _leaves(value: object, where: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], object]]:
    if isinstance(value, dict):
        for key, item in cast(dict[str, object], value).items():
            yield from _leaves(item, (*where, key))
    elif isinstance(value, list):
        yield from ((where, item) for item in cast(list[object], value))
    else:
        yield where, value


def _with_function(muscle: MusclePlan, use: str, name: str) -> MusclePlan:
    field = list(_USES.values())[_index(list(_USES), f"function of {muscle.name}", use)]
    function: FunctionPlan = getattr(muscle, field)
    changed: Any = {field: replace(function, type=ADDED + name)}
    return replace(muscle, **changed)


def _place(items: Sequence[Any], what: str, name: str) -> int:
    return _index([item.name for item in items], what, name)


def _index(names: Sequence[str], what: str, name: str) -> int:
    if name not in names:
        raise PlanError(f"{EXTENSIONS_FILE}: there is no {what} {name!r}; expected {_listed(names)}")
    return names.index(name)


def _listed(names: Iterable[str]) -> str:
    return ", ".join(sorted(names)) or "none"
