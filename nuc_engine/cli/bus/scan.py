"""`nuc bus scan`: which servos are there."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import click

from nuc_engine.cli.bus.lines import BenchLine, bench_lines
from nuc_engine.cli.bus.params import (
    NOBODY,
    Counter,
    config_option,
    ids_option,
    model_option,
    name_models,
    tick_deg_of,
    url_argument,
)
from nuc_engine.cli.terminal.errors import BAD
from nuc_engine.cli.terminal.output import heading, note, say, say_json
from nuc_engine.cli.terminal.params import Command, as_json

_READINGS = 20
"""Cycles within which servos have to report where they stand: some are looked at first, and a reply may be lost."""


@click.command(
    "scan",
    cls=Command,
    examples=(
        ("nuc bus scan aimotor:///dev/ttyUSB0", "ids, positions and loads at the factory's rate"),
        ("nuc bus scan dynamixel:///dev/ttyUSB0 --all-rates", "servos whose rate was changed; their models too"),
        ("nuc bus scan emulated: --config lin_roach", "the emulated servos of a configuration"),
    ),
    output=(
        "To stdout: one line per servo: id, model where the servo tells it, position and load in raw units. Exit status"
        " 1 when nobody answers.",
        "How far it is goes to stderr.",
    ),
)
@url_argument
@click.option("--all-rates", is_flag=True, help="Try every rate the family has, not only that of the URL.")
@ids_option
@config_option
@model_option
@as_json
def command(
    url: str, all_rates: bool, ids: tuple[int, ...] | None, config: str | None, model: str | None, as_json: bool
) -> int:
    """Ask every id whether it is there; nothing moves. --ids, --config and --model are for emulated servos."""
    found: list[dict[str, Any]] = []
    remark = ""
    counter = Counter()
    for line in bench_lines(url, all_rates=all_rates, ids=ids, config=config, model=model):
        counter.show(f"asking at {line.spec.baud} bit/s ...", always=True)
        try:
            found += _found_on(line)
            remark = line.remark
        finally:
            line.close()
    counter.clear()
    if as_json:
        errors = [] if found else [NOBODY]
        say_json({"ok": bool(found), "url": url, "latency": remark, "found": found, "errors": errors})
    else:
        _print(found)
    if not found:
        note(f"{url}: {NOBODY}")
    return 0 if found else BAD


def _found_on(line: BenchLine) -> list[dict[str, Any]]:
    from dataclasses import replace

    from drivers.bench.release import discover, read_all
    from drivers.servo import ReplyStatus

    asking = line.bus(line.servos)
    servos = line.named(discover(asking, line.pace))
    if not servos:
        return []
    names = name_models(line, getattr(asking, "found_models", {}))
    bus = line.bus(servos)
    for _ in range(_READINGS):
        read_all(bus, line.pace)
        if all(status == int(ReplyStatus.OK) for status in bus.status):
            break
    rows: list[dict[str, Any]] = []
    for servo, position, load in zip(bus.servos, bus.position_raw, bus.current_raw, strict=True):
        model = names.get(servo.bus_id, "")
        tick_deg = tick_deg_of(line, replace(servo, model=model))
        row: dict[str, Any] = {
            "baud": line.spec.baud,
            "id": servo.bus_id,
            "position_raw": position,
            "current_raw": load,
        }
        if model:
            row["model"] = model
        if tick_deg is not None and position >= 0:
            row["position_deg"] = round(position * tick_deg, 3)
        rows.append(row)
    return rows


def _print(found: Sequence[Mapping[str, Any]]) -> None:
    if not found:
        return
    width = max(len(row.get("model", "")) for row in found)
    model = f"  {'model':<{width}}" if width else ""
    say(heading(f"{'bit/s':>7}  {'id':>3}{model}  {'position':>8}  {'degrees':>7}  {'load':>7}"))
    for row in found:
        position = row["position_raw"] if row["position_raw"] >= 0 else "-"
        load = row["current_raw"] if row["position_raw"] >= 0 else "-"
        degrees = f"{row['position_deg']:7.1f}" if "position_deg" in row else "-"
        model = f"  {row.get('model', '-'):<{width}}" if width else ""
        say(f"{row['baud']:>7}  {row['id']:>3}{model}  {position:>8}  {degrees:>7}  {load:>7}")
