"""A RunConfig as a document: one file is one deterministic episode.

    system = "flight"            which dynamics, controllers and references there are
    seed = 0

    [timing]                     dt_s, and duration_s, a multiple of it; starved_s = 1: see `RunConfig`
    [initial]                    the state at time 0
    [dynamics]  [controller]  [reference]  [stop]      as the system has them
    [random]                     "dynamics.mass_kg" = { uniform = [0.8, 1.2] }
    [log]                        every = 1: one row of so many steps is logged
    [telemetry]                  rate_hz = 100: how often a server sends the newest state; nothing else follows from it

Every number can be replaced by its dotted key (`reference.parts.0.radius_m`), and drawn from the seed; one that was
replaced is drawn no more. Each key that is drawn has a stream of its own, so that one more changes nothing.
"""

from __future__ import annotations

import copy
import hashlib
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from statistics import NormalDist
from typing import Any, TypeVar, cast

import numpy as np

from nuc_engine.episode.fields import Fields
from nuc_engine.episode.system import ControlledSystem, Numbers, Pilot, Program, Step, Stop, Systems

MOST_STEPS = 10**8
MOST_DEEP = 32
"""Tables and lists within each other."""
_SHORTEST_S = 1e-9
LARGEST_SEED = 2**63 - 1
TELEMETRY_HZ = 100.0
STARVED_S = 1.0
PARTS = ("controller", "dynamics", "reference")
"""Tables that have a sum of their own in the manifest."""
_DRAWN_FROM = ("initial.", "dynamics.", "controller.", "reference.")
_EDGE = 1e-9

_Described = TypeVar("_Described")
Reader = Callable[[Mapping[str, Any], int, Mapping[str, float]], tuple[_Described | None, list[str]]]
"""Reads a resolved document: what it describes, from it, its seed and what was drawn; or what is wrong with it."""


class RunConfigError(ValueError):
    """A RunConfig that cannot be run; the message has one line for each thing that is wrong."""

    def __init__(self, problems: list[str]) -> None:
        super().__init__("\n".join(problems))
        self.problems = tuple(problems)


@dataclass(frozen=True, slots=True)
class RunConfig:
    """A checked RunConfig: one episode. `resolved` is its document with what was replaced and drawn.

    One that keeps real time ends as starved where steps that came late outnumber those in time by `starved_s` of
    steps, or one was held up for so long; 0: late steps are counted only.
    """

    system: ControlledSystem
    seed: int
    dt_s: float
    steps: int
    initial: Numbers
    step: Step
    pilot: Callable[[], Pilot]
    program: Program
    stops: tuple[Stop, ...]
    every: int
    telemetry_hz: float
    starved_s: float
    resolved: Mapping[str, Any]
    drawn: Mapping[str, float]

    @property
    def duration_s(self) -> float:
        """How long it lasts where nothing ends it before."""
        return self.steps * self.dt_s

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of what a row of its log holds."""
        system = self.system
        pilot = self.pilot()
        marks = () if pilot.limited is None else (pilot.marks,)
        references = (f"ref_{name}" for name in system.reference)
        return ("t_s", *system.state, *references, *system.control, *marks)

    def sums(self) -> dict[str, str]:
        """Return the sha256 of all that was resolved, and of its parts."""
        parts = {part: self.resolved[part] for part in PARTS}
        return {"resolved": content_sum(self.resolved), **{part: content_sum(parts[part]) for part in PARTS}}


def content_sum(content: Any) -> str:
    """Return the sha256 of data as JSON with sorted keys; 2 is not 2.0, and a default that is said counts."""
    text = json.dumps(content, sort_keys=True, separators=(",", ":"), allow_nan=False)
    return hashlib.sha256(text.encode()).hexdigest()


def read_run(document: Mapping[str, Any], systems: Systems, changes: Mapping[str, Any] | None = None) -> RunConfig:
    """Return the episode that a document describes, with values replaced by their dotted keys.

    Raises RunConfigError with everything that is wrong.
    """
    return resolve(document, lambda data, seed, drawn: _read(data, systems, seed, drawn), changes)


def resolve(
    document: Mapping[str, Any],
    read: Reader[_Described],
    changes: Mapping[str, Any] | None = None,
    *,
    drawn_from: tuple[str, ...] = _DRAWN_FROM,
    adds: tuple[str, ...] = (),
) -> _Described:
    """Return what `read` makes of a document, with values replaced by their dotted keys, and drawn from its seed.

    Keys that begin with one of `drawn_from` are drawn; those that begin with one of `adds` are there without standing
    in the document. Raises RunConfigError with everything that is wrong.
    """
    if problems := [*_unfit(dict(document)), *_unfit(dict(changes or {}))]:
        raise RunConfigError(problems)
    data: dict[str, Any] = copy.deepcopy(dict(document))
    for key, value in (changes or {}).items():
        if key.startswith(adds):
            _add(data, key)
        if wrong := _replace(data, key, value):
            problems.append(wrong)
        if isinstance(drawn_keys := data.get("random"), dict):
            for drawn in [name for name in cast(dict[str, Any], drawn_keys) if f"{name}.".startswith(f"{key}.")]:
                cast(dict[str, Any], drawn_keys).pop(drawn)
    for key in cast(dict[str, Any], data["random"]) if isinstance(data.get("random"), dict) else ():
        if key.startswith(adds):
            _add(data, key)
    top = Fields(data, problems)
    seed = top.whole("seed", 0, LARGEST_SEED, 0)
    drawn, ends = _draw(top, seed, drawn_from)
    for end in ends:
        # What can be drawn at all is checked at both ends: a mass that is negative with one seed of a thousand too.
        problems += [problem for problem in read(_with(data, end), seed, {})[1] if problem not in problems]
    found, more = read(_with(data, drawn), seed, drawn)
    problems += [problem for problem in more if problem not in problems]
    if problems or found is None:
        raise RunConfigError(problems)
    return found


def _unfit(content: Mapping[str, Any]) -> list[str]:
    """Return what no value may be, whatever it is for: nested without end, or a whole number without end."""
    problems: list[str] = []
    rest: list[tuple[str, Any, int]] = [("", content, 0)]
    while rest:
        name, value, depth = rest.pop()
        inside: Any = ()
        if isinstance(value, dict | list):
            inside = enumerate(cast(list[Any], value)) if isinstance(value, list) else cast(Any, value).items()
        if depth > MOST_DEEP:
            problems.append(f"{name}: nested deeper; expected at most {MOST_DEEP} tables within each other")
        else:
            rest += [(f"{name}.{key}" if name else str(key), one, depth + 1) for key, one in inside]
        if isinstance(value, int) and abs(value) > LARGEST_SEED:
            problems.append(f"{name}: a whole number of {value.bit_length()} bits; expected at most 63")
    return problems


def _read(
    data: Mapping[str, Any], systems: Systems, seed: int, drawn: Mapping[str, float]
) -> tuple[RunConfig | None, list[str]]:
    problems: list[str] = []
    top = Fields(data, problems)
    top.whole("seed", 0, LARGEST_SEED, 0)
    system = systems.get(top.word("system", tuple(systems)))
    timing = top.table("timing")
    dt_s, duration_s = timing.number("dt_s", _SHORTEST_S, 10.0), timing.number("duration_s", 0.0, 1e8, above=True)
    steps = 0 if problems else _steps(timing, dt_s, duration_s)
    starved_s = timing.number("starved_s", 0.0, 1e8, STARVED_S)
    timing.close()
    top.optional("random")
    log = top.optional("log")
    every = 1
    if log is not None:
        every = log.whole("every", 1, MOST_STEPS, 1)
        log.close()
    telemetry = top.optional("telemetry")
    telemetry_hz = TELEMETRY_HZ
    if telemetry is not None:
        telemetry_hz = telemetry.number("rate_hz", 0.1, 1000.0, TELEMETRY_HZ)
        telemetry.close()
    if system is None:
        return None, problems
    initial = system.read_initial(top.table("initial"))
    step = system.read_dynamics(top.table("dynamics"))
    pilot = system.read_controller(top.table("controller"), dt_s)
    program = system.read_reference(top.table("reference"))
    stop = top.optional("stop")
    stops = () if stop is None else system.read_stop(stop)
    top.close()
    if problems:
        return None, problems
    told = every, telemetry_hz, starved_s, data, drawn
    run = RunConfig(system, seed, dt_s, steps, initial, step, pilot, program, stops, *told)
    return run, problems


def _steps(timing: Fields, dt_s: float, duration_s: float) -> int:
    steps = round(duration_s / dt_s)
    if steps < 1 or abs(steps * dt_s - duration_s) > _EDGE * duration_s:
        timing.wrong("duration_s", f"{duration_s!r} is no multiple of dt_s", f"a multiple of {dt_s!r}")
    elif steps > MOST_STEPS:
        timing.wrong("duration_s", f"{steps:,} steps", f"at most {MOST_STEPS:,}")
    return steps


def _draw(top: Fields, seed: int, drawn_from: tuple[str, ...]) -> tuple[dict[str, float], list[dict[str, float]]]:
    """Return what the seed draws, by dotted keys, and the least and the largest that can be drawn."""
    drawn: dict[str, float] = {}
    least: dict[str, float] = {}
    largest: dict[str, float] = {}
    table = top.optional("random")
    for key, one in () if table is None else table.items():
        span = _distribution(one)
        if not key.startswith(drawn_from):
            one.wrong("", "is not drawn", f"a number of {', '.join(name.rstrip('.') for name in drawn_from)}")
        elif span is not None:
            draw, least[key], largest[key] = span
            drawn[key] = draw(_uniform(seed, key))
    for key in list(drawn):
        wrong = _replace(copy.deepcopy(dict(top.data)), key, drawn[key])
        if wrong:
            top.problems.append(f"random.{wrong}")
            del drawn[key], least[key], largest[key]
    return drawn, [least, largest] if drawn else []


def _uniform(seed: int, key: str) -> float:
    """Return a number from 0 to 1 from the stream of a key."""
    words = np.frombuffer(hashlib.sha256(key.encode()).digest(), dtype="<u4").tolist()
    return float(np.random.Generator(np.random.PCG64(np.random.SeedSequence([seed, *words]))).random())


def _distribution(one: Fields) -> tuple[Callable[[float], float], float, float] | None:
    """Return the inverse of a distribution, and its ends; None where something is wrong with it."""
    before = len(one.problems)
    kind = next((name for name in ("uniform", "log_uniform", "normal") if one.has(name)), None)
    if kind is None:
        one.wrong("", "no distribution", "uniform or log_uniform = [low, high], or normal = [mean, deviation]")
        return None
    first, second = one.vector(kind, size=2)
    ends = "within" if kind == "normal" else kind
    low, high = one.vector(ends, size=2)
    one.close()
    if not low < high or (kind == "log_uniform" and low <= 0):
        one.wrong(ends, f"{[low, high]}", "the lower end first, and another one; above 0 for log_uniform")
    elif kind == "normal" and not (second > 0 and low <= first <= high):
        one.wrong(kind, f"{[first, second]}", "a mean within its ends, and a deviation above 0")
    if len(one.problems) > before:
        return None
    inverse: Mapping[str, Callable[[float], float]] = {
        "uniform": lambda share: low + share * (high - low),
        "log_uniform": lambda share: low * (high / low) ** share,
        "normal": lambda share: _normal(NormalDist(first, second), share, low, high),
    }
    return inverse[kind], low, high


def _normal(bell: NormalDist, share: float, low: float, high: float) -> float:
    """Return the value of a share of a normal distribution that is cut off at both ends."""
    bottom, top = bell.cdf(low), bell.cdf(high)
    within = bottom + share * (top - bottom)
    return low if within <= 0.0 else high if within >= 1.0 else min(max(bell.inv_cdf(within), low), high)


def _with(data: Mapping[str, Any], values: Mapping[str, float]) -> dict[str, Any]:
    changed: dict[str, Any] = copy.deepcopy(dict(data))
    for key, value in values.items():
        _replace(changed, key, value)
    return changed


def _replace(data: dict[str, Any], key: str, value: Any) -> str:
    """Replace a value by its dotted key; return what is wrong with that, "" where nothing is."""
    *path, last = key.split(".")
    place: Any = data
    for name in path:
        place = _inside(place, name)
    if _inside(place, last) is None and key != "seed":
        return f"{key}: no such value; expected the dotted key of a value that the document has"
    if isinstance(place, dict):
        cast(dict[str, Any], place)[last] = value
    else:
        cast(list[Any], place)[int(last)] = value
    return ""


def _add(data: dict[str, Any], key: str) -> None:
    """Make room for a value by its dotted key, where nothing stands in its way."""
    *path, last = key.split(".")
    place: Any = data
    for name in path:
        place = cast(dict[str, Any], place).setdefault(name, {}) if isinstance(place, dict) else None
    if isinstance(place, dict):
        cast(dict[str, Any], place).setdefault(last, 0.0)


def _inside(place: Any, name: str) -> Any:
    if isinstance(place, dict):
        return cast(dict[str, Any], place).get(name)
    if isinstance(place, list) and name.isdecimal() and int(name) < len(cast(list[Any], place)):
        return cast(list[Any], place)[int(name)]
    return None
