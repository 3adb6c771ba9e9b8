"""What decides a bout, how it stands in manifest.json, and the values a bout is given to begin with."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from types import MappingProxyType
from typing import Any, cast

from nuc_engine.control.tasks import TASKS
from nuc_engine.machine.locations import PLANT_SPEC_FILE
from nuc_engine.model.plan import Plan
from nuc_engine.plants.events import PlantEvent, event_record, read_event
from sccils_schemas.documents import HDSO_INVALID, HdsoMod

DEFAULT_DURATION_S = 30.0
"""What NeuRoMod ran for when nobody said anything (appendix 10.4, 2.5.1)."""

HdsoValue = float | str | tuple[float, ...]
"""A number, the numbers of the first elements, or the text of a rule."""

NO_VALUES: Mapping[str, HdsoValue] = MappingProxyType({})

_LONGEST_S = 1e8
_LARGEST = 10**12
_MOST = 2**62
_PLACES = ("config", "out", "script", "name", "overwrite", "plant_file", "run_text")
"""What says where a bout is rather than what it is."""


class BoutRefused(Exception):
    """A bout that cannot start; the message has one line per reason."""


@dataclass(frozen=True, slots=True)
class StopCondition:
    """What ends a bout before its time: an HDSO (by name) above or below a number, or a rule; any of them will do.

    It must have been so for `holds_s` whenever it was looked at (`nuc_engine.bout.stopping`).
    """

    above: Mapping[str, float] = field(default_factory=dict[str, float])
    below: Mapping[str, float] = field(default_factory=dict[str, float])
    rule: str = ""
    holds_s: float = 0.0


@dataclass(frozen=True, slots=True)
class BoutSpec:
    """Everything that decides a bout. `out` must not hold data unless `overwrite`; `costs` are task costs in ns.

    `limits` caps how far the guard lets a motor (by name) be commanded from where it was measured, in its raw ticks.
    `gravity_compensation` is the share (0 to 1) of the leg's weight that is carried besides what muscles do.
    `name` is what the configuration is called in the logs, its folder's name by default.
    `values` are written at time 0, before the script: by HDSO name or id (as text). `plant_file` is the file of the
    configuration's folder that describes the leg; in the data directory it is plant.toml, whichever it was. `plant`
    replaces numbers of it by their dotted keys (`world.base_height_cm`). `events` happen to the leg in addition to the
    script's. `stop` may end it before its time. Of a bout that a RunConfig describes, `run` is what that said
    (`nuc_engine.bout.described`), and `run_text` the file itself.
    """

    config: str
    out: Path
    script: str | None = None
    duration_s: float = DEFAULT_DURATION_S
    seed: int = 0
    bus: str = "emulated:"
    overwrite: bool = False
    name: str | None = None
    costs: Mapping[str, int] = field(default_factory=dict[str, int])
    limits: Mapping[str, int] = field(default_factory=dict[str, int])
    gravity_compensation: float = 0.0
    labels: Mapping[str, str] = field(default_factory=dict[str, str])
    values: Mapping[str, HdsoValue] = field(default_factory=dict[str, HdsoValue])
    plant: Mapping[str, float] = field(default_factory=dict[str, float])
    plant_file: str = PLANT_SPEC_FILE
    events: tuple[PlantEvent, ...] = ()
    stop: StopCondition | None = None
    run: Mapping[str, Any] = field(default_factory=dict[str, Any])
    run_text: bytes | None = None


def check_spec(spec: BoutSpec, plan: Plan) -> None:
    """Raise BoutRefused for numbers and names no bout can have."""
    if not math.isfinite(spec.duration_s) or not 0 < spec.duration_s <= _LONGEST_S:
        raise BoutRefused(f"duration {spec.duration_s} s; expected a positive number of seconds up to {_LONGEST_S:g}")
    if spec.seed < 0:
        raise BoutRefused(f"seed {spec.seed}; expected 0 or more")
    if Path(spec.plant_file).name != spec.plant_file or not spec.plant_file.endswith(".toml"):
        raise BoutRefused(
            f"plant file {spec.plant_file!r}; expected the name of a .toml file in the configuration's folder"
        )
    if not 0.0 <= spec.gravity_compensation <= 1.0:
        raise BoutRefused(f"gravity compensation {spec.gravity_compensation}; expected a share from 0 to 1")
    _check_names("cost of task", spec.costs, TASKS)
    _check_names("limit of motor", spec.limits, [motor.name for motor in plan.motors])
    labels: Mapping[Any, Any] = spec.labels
    for pair in labels.items():
        if not all(isinstance(word, str) for word in pair):
            raise BoutRefused(f"label {pair}; expected text for text")


def _check_names(what: str, numbers: Mapping[str, Any], names: Sequence[str]) -> None:
    for name, number in numbers.items():
        if name not in names:
            raise BoutRefused(f"{what} {name!r}; expected one of {', '.join(names)}")
        if not isinstance(number, int) or not 0 <= number <= _LARGEST:
            raise BoutRefused(f"{what} {name}: {number}; expected a whole number from 0 to {_LARGEST}")


def value_mods(values: Mapping[str, HdsoValue]) -> tuple[HdsoMod, ...]:
    """Return the writes, at time 0, of the values a bout is given; the k-th one stands in line -k.

    The lines tell them from a script's own. Raises BoutRefused for what is neither numbers nor text.
    """
    wrong = [f"value {name}: {value!r}; expected numbers or text" for name, value in values.items() if not _fits(value)]
    if wrong:
        raise BoutRefused("\n".join(wrong))
    return tuple(_value_mod(name, value, -k) for k, (name, value) in enumerate(values.items(), 1))


def _value_mod(name: str, value: HdsoValue, line: int) -> HdsoMod:
    by_id = name.isascii() and name.isdigit() and len(name) < 10
    data = value if isinstance(value, str | tuple) else (value,)
    whole = not isinstance(data, str) and all(isinstance(number, int) for number in data)
    # Whole numbers too large for a double are exact in 64 bits only.
    large = whole and any(abs(cast(float, number)) > 2**53 for number in data)
    return HdsoMod(
        id_num=int(name) if by_id else HDSO_INVALID,
        num_elts=len(data),
        data=data,
        name=None if by_id else name,
        id_by_name=not by_id,
        datatype="char" if isinstance(data, str) else "llint" if large else "double",
        line=line,
    )


def _fits(value: Any) -> bool:
    """Say whether this is a value: text, a number or numbers."""
    if isinstance(value, str):
        return True
    numbers = cast(tuple[Any, ...], value) if isinstance(value, tuple) else (value,)
    return bool(numbers) and all(_is_number(number) for number in numbers)


def _is_number(value: Any) -> bool:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    return -_MOST < value < _MOST if isinstance(value, int) else math.isfinite(value)


def spec_record(spec: BoutSpec) -> dict[str, Any]:
    """Return a bout's specification as plain data for JSON; where it was read from and written to is left out."""
    record: dict[str, Any] = {
        item.name: getattr(spec, item.name) for item in fields(BoutSpec) if item.name not in _PLACES
    }
    for name in ("costs", "limits", "labels", "plant"):
        record[name] = dict(record[name])
    record["values"] = {name: list(value) if isinstance(value, tuple) else value for name, value in spec.values.items()}
    record["events"] = [event_record(event) for event in spec.events]
    record["stop"] = None if spec.stop is None else asdict(spec.stop)
    # Of bouts that are described otherwise neither is told: their manifests are as they always were.
    return {name: value for name, value in record.items() if value or name not in ("stop", "run")}


def read_values(record: object) -> dict[str, HdsoValue]:
    """Return the values of `spec_record`. Raises ValueError, saying what was expected."""
    if not isinstance(record, dict):
        raise ValueError(f"values is {str(record)[:80]!r}; expected values by name")
    found: dict[str, HdsoValue] = {}
    for name, value in cast(dict[str, Any], record).items():
        found[name] = tuple(cast(list[Any], value)) if isinstance(value, list) else value
        if not _fits(found[name]):
            raise ValueError(f"values: {name[:80]!r} is {str(value)[:80]!r}; expected numbers or text")
    return found


def read_plant(record: object) -> dict[str, float]:
    """Return the numbers for plant.toml of `spec_record`. Raises ValueError, saying what was expected."""
    if not isinstance(record, dict) or not all(_is_number(value) for value in cast(dict[str, Any], record).values()):
        raise ValueError(f"plant is {str(record)[:80]!r}; expected numbers by name")
    return cast(dict[str, float], record)


def read_stop(record: object) -> StopCondition:
    """Return the stop condition of `spec_record`. Raises ValueError, saying what was expected."""
    found = cast(dict[str, Any], record) if isinstance(record, dict) else {}
    rule, holds_s = found.get("rule", ""), found.get("holds_s", 0.0)
    if not isinstance(rule, str) or not _is_number(holds_s) or set(found) - {"above", "below", "rule", "holds_s"}:
        raise ValueError(f"stop is {str(record)[:80]!r}; expected above, below, rule and holds_s")
    return StopCondition(read_plant(found.get("above", {})), read_plant(found.get("below", {})), rule, holds_s)


def read_run_record(record: object) -> dict[str, Any]:
    """Return what a RunConfig said, as `spec_record` has it. Raises ValueError, saying what was expected."""
    if not isinstance(record, dict):
        raise ValueError(f"run is {str(record)[:80]!r}; expected what a RunConfig said")
    return cast(dict[str, Any], record)


def read_events(record: object) -> tuple[PlantEvent, ...]:
    """Return the events of `spec_record`. Raises ValueError, saying what was expected."""
    if not isinstance(record, list):
        raise ValueError(f"events is {str(record)[:80]!r}; expected a list")
    return tuple(read_event(item) for item in cast(list[Any], record))
