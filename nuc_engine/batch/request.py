"""A sweep as a TOML file: the same as the options of `nuc sweep`, for sweeps that are worth keeping.

config = "lin_roach"
script = "experiment_a"
duration = 60
seeds = "1000:1009"
sample = "latin"          # grid (default), random or latin
points = 50               # for random and latin
draw = 0                  # which points these are
settle = 3.0

[vary]
"plant.world.friction" = "0.06:0.12"
"FT_ext_FTang@20" = [120, 130, 140]

[windows]
ITF = "25:40"
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any, cast

from nuc_engine.batch.axes import Axis, Sampling, parse_axis, parse_seeds
from nuc_engine.batch.errors import BulkRefused
from nuc_engine.batch.plan import SweepRequest
from nuc_engine.batch.task import WatchWindow

KEYS: Mapping[str, tuple[type, ...]] = MappingProxyType(
    {
        "config": (str,),
        "script": (str,),
        "duration": (int, float),
        "seeds": (str, int, list),
        "sample": (str,),
        "points": (int,),
        "draw": (int,),
        "settle": (int, float),
        "vary": (dict,),
        "windows": (dict,),
    }
)


def read_request(path: Path) -> SweepRequest:
    """Return the sweep a TOML file asks for. Raises BulkRefused, naming file and key, when it asks for none."""
    try:
        with path.open("rb") as file:
            data = tomllib.load(file)
    except OSError as error:
        raise BulkRefused(f"{path}: {error.strerror}; expected the description of a sweep") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise BulkRefused(f"{path}: {error}; expected TOML") from error
    if problems := [f"{path}: {problem}" for problem in _problems(data)]:
        raise BulkRefused("\n".join(problems))
    try:
        return _request(data)
    except BulkRefused as refused:
        raise BulkRefused("\n".join(f"{path}: {line}" for line in str(refused).splitlines())) from refused


def make_axes(vary: Mapping[str, Any]) -> tuple[tuple[Axis, ...], tuple[int, ...] | None]:
    """Return axes, and seeds where those are among what is varied. Raises BulkRefused."""
    seeds = parse_seeds(_listed(vary["seed"])) if "seed" in vary else None
    return tuple(parse_axis(f"{name}={_listed(given)}") for name, given in vary.items() if name != "seed"), seeds


def parse_window(name: str, span: str) -> WatchWindow:
    """Return the window of `BEGIN:END` in seconds. Raises BulkRefused."""
    begin, _, end = span.partition(":")
    try:
        return WatchWindow(name, float(begin), float(end))
    except ValueError:
        raise BulkRefused(f"window {name}={span}: expected BEGIN:END in seconds") from None


def make_sampling(kind: str, count: int, seed: int) -> Sampling:
    """Return how points are drawn. Raises BulkRefused."""
    if kind == "grid":
        return Sampling()
    if kind not in ("random", "latin"):
        raise BulkRefused(f"sample {kind!r}; expected grid, random or latin")
    return Sampling("random" if kind == "random" else "latin", count, seed)


def _request(data: Mapping[str, Any]) -> SweepRequest:
    axes, seeds = make_axes(data.get("vary", {}))
    if seeds is not None and "seeds" in data:
        raise BulkRefused("seeds: given twice, also under vary")
    return SweepRequest(
        config=data["config"],
        script=data.get("script"),
        duration_s=float(data.get("duration", 30.0)),
        axes=axes,
        sampling=make_sampling(data.get("sample", "grid"), data.get("points", 0), data.get("draw", 0)),
        seeds=seeds or parse_seeds(_listed(data.get("seeds", 0))),
        windows=tuple(parse_window(name, span) for name, span in data.get("windows", {}).items()),
        settle_s=float(data.get("settle", 3.0)),
    )


def _problems(data: Mapping[str, Any]) -> list[str]:
    found = [f"{key}: unknown; expected one of {', '.join(KEYS)}" for key in data if key not in KEYS]
    if "config" not in data:
        found.append("config: missing; expected a configuration")
    for key, value in data.items():
        kinds = KEYS.get(key, (object,))
        if not isinstance(value, kinds) or isinstance(value, bool):
            found.append(f"{key}: {value!r}; expected {' or '.join(kind.__name__ for kind in kinds)}")
    windows: Any = data.get("windows", {})
    for name, span in cast(dict[str, Any], windows).items() if isinstance(windows, dict) else ():
        if not isinstance(span, str):
            found.append(f'windows.{name}: {span!r}; expected "BEGIN:END"')
    return found


def _listed(given: object) -> str:
    """Return values as the command line has them."""
    return ",".join(str(item) for item in cast(list[object], given)) if isinstance(given, list) else str(given)
