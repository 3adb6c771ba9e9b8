"""`nuc budget`: what one tick costs, stage by stage."""

from __future__ import annotations

from collections.abc import Sequence
from time import perf_counter_ns
from typing import TYPE_CHECKING

import click
from msgspec import to_builtins

from nuc_engine.cli.terminal.errors import BAD
from nuc_engine.cli.terminal.output import TableColumn, note, say, say_json, table
from nuc_engine.cli.terminal.params import RUNNABLE, NucCommand, as_json

if TYPE_CHECKING:
    from nuc_engine.bout.budget import TickBudget

_COLUMNS = (TableColumn("stage", "<"), *(TableColumn(name, form=".1f") for name in ("p50, us", "p99, us", "max, us")))


@click.command(
    cls=NucCommand,
    examples=(
        ("nuc budget lin_roach", "a leg at 100 Hz: does a tick fit into 10 ms, and what takes how long?"),
        ("nuc budget lin_roach --rate 1000", "ten times as fast: what fails?"),
        ("nuc budget flight_limited --rate 100 --rate 1000", "an episode of a RunConfig"),
    ),
    output=(
        "A line per stage: median, what 1 % of the ticks exceed, and the most. The total was measured by itself.",
        "Exit status 1 where 1 % of the ticks, or the servos' bus, do not hold the rate. Wall-clock time: other"
        " programs that are at work count.",
    ),
)
@click.argument("config", metavar="CONFIG", type=RUNNABLE)
@click.option(
    "--rate",
    "rates",
    metavar="HZ",
    type=click.FloatRange(1, 10_000),
    multiple=True,
    default=(100.0,),
    show_default=True,
    help="Ticks a second; repeatable.",
)
@click.option("--ticks", metavar="N", type=click.IntRange(10, 1_000_000), default=10_000, show_default=True)
@as_json
def command(config: str, rates: Sequence[float], ticks: int, as_json: bool) -> int:
    """Measure what one tick of CONFIG costs: sensors, state, rules, muscles, encoding, physics, log, and in all."""
    from nuc_engine.bout.budget import measure_budget

    found = [measure_budget(config, rate, ticks, perf_counter_ns) for rate in rates]
    good = not any(budget.failing for budget in found)
    if as_json:
        told = [{**to_builtins(budget), "failing": budget.failing} for budget in found]
        say_json({"ok": good, "config": config, "budgets": told})
        return 0 if good else BAD
    for budget in found:
        for line in lines_of(config, budget):
            say(line)
        for what in budget.failing:
            note(f"nuc budget: {config} at {budget.rate_hz:g} Hz: too slow for it: {what}")
    return 0 if good else BAD


def lines_of(config: str, budget: TickBudget) -> list[str]:
    """Return a budget as lines."""
    costs = (*budget.stages, budget.total)
    rows = [(c.stage, c.p50_us, c.p99_us, c.max_us) for c in costs]
    bus = "" if budget.exchanges_hz is None else f"; {budget.exchanges_hz:.0f} exchanges a second"
    head = f"{config}, {budget.ticks:,} ticks at {budget.rate_hz:g} Hz ({budget.allowed_us:,.0f} us each){bus}"
    return [head, *table(_COLUMNS, rows)]
