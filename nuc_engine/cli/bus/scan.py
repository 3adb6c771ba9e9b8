"""`nuc bus scan`: which servos are there."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import click

from nuc_engine.cli.bus.bench import NOBODY, Bench, on_bench
from nuc_engine.cli.terminal.output import TableColumn, table
from nuc_engine.cli.terminal.progress import Counter

_READINGS = 20
"""Cycles within which servos have to report where they stand: some are looked at first, and a reply may be lost."""


@on_bench(
    "ids",
    "config",
    "model",
    name="scan",
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
@click.option("--all-rates", is_flag=True, help="Try every rate the family has, not only that of the URL.")
def command(bench: Bench, all_rates: bool) -> int:
    """Ask every id whether it is there; nothing moves. --ids, --config and --model are for emulated servos."""
    found: list[dict[str, Any]] = []
    counter = Counter()
    for baud in bench.rates(every=all_rates):
        counter.show(f"asking at {baud} bit/s ...", always=True)
        found += _found_on(bench)
    counter.clear()
    return bench.report({"latency": bench.remark, "found": found}, _lines(found), [] if found else [NOBODY])


def _found_on(bench: Bench) -> list[dict[str, Any]]:
    from drivers.bench.release import discover, read_all
    from drivers.servo import ReplyStatus

    asking = bench.bus(bench.named)
    servos = bench.addresses(discover(asking, bench.pace))
    if not servos:
        return []
    names = bench.name_models(getattr(asking, "found_models", {}))
    bus = bench.bus(servos)
    for _ in range(_READINGS):
        read_all(bus, bench.pace)
        if all(status == int(ReplyStatus.OK) for status in bus.status):
            break
    rows: list[dict[str, Any]] = []
    for servo, position, load in zip(bus.servos, bus.position_raw, bus.current_raw, strict=True):
        model = names.get(servo.bus_id, "")
        tick_deg = bench.tick_deg_of(replace(servo, model=model))
        row: dict[str, Any] = {
            "baud": bench.spec.baud,
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


def _lines(found: Sequence[Mapping[str, Any]]) -> list[str]:
    if not found:
        return []
    modelled = any("model" in row for row in found)
    columns = (
        TableColumn("bit/s", ">7"),
        TableColumn("id", ">3"),
        *([TableColumn("model", "<")] if modelled else []),
        TableColumn("position", ">8"),
        TableColumn("degrees", ">7", ".1f"),
        TableColumn("load", ">7"),
    )
    rows: list[tuple[object, ...]] = []
    for row in found:
        known = row["position_raw"] >= 0
        model = (row.get("model"),) if modelled else ()
        place = (row["position_raw"], row.get("position_deg"), row["current_raw"]) if known else (None, None, None)
        rows.append((row["baud"], row["id"], *model, *place))
    return table(columns, rows)
