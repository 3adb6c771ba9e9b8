"""`nuc bus move`: servos slowly to a place."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

from drivers.units import NS_PER_S
from nuc_engine.cli.bus.bench import UNCONFIRMED, Bench, on_bench
from nuc_engine.cli.bus.params import PLACE, RawOrDegrees
from nuc_engine.cli.terminal.output import TableColumn, table
from nuc_engine.cli.terminal.progress import Counter

if TYPE_CHECKING:
    from drivers.bench.motion import CycleReadings
    from drivers.bus import Bus
    from drivers.servo import ServoAddress, ServoModel
    from nuc_engine.cli.bus.bench import Stop

_TOLERANCE_DEG = 4.0
"""How near to its goal a shaft counts as there: some servos do nothing within a few degrees."""

_PERIOD_NS = 10_000_000
WEAKEST = 4


@on_bench(
    "ids!",
    "config",
    "model",
    name="move",
    examples=(
        ("nuc bus move aimotor:///dev/ttyUSB0 --ids 2 --to 128", "to a raw position, at 20 degrees per second"),
        ("nuc bus move dynamixel:///dev/ttyUSB0 --ids 1-3 --by 10deg --level 3", "three servos by ten degrees"),
        ("nuc bus move emulated:feetech --ids 1 --to 90deg --hold 5", "and stay there for five seconds"),
    ),
    output=(
        "To stdout: per servo where it was, where it was to go, where it is; while it moves, measured and goal on a"
        " terminal's stderr. The torque is off at the end, whatever happened.",
        "Exit status 1 when a servo did not get there, was in the way of something, or fell silent.",
    ),
)
@click.option("--to", "to", type=PLACE, help="Where to: raw, or degrees of the servo's own scale (90deg).")
@click.option("--by", "by", type=PLACE, help="How far from where it is.")
@click.option(
    "--rate", metavar="DEG/S", type=click.FloatRange(0.1, 360), default=20.0, show_default=True, help="How fast."
)
@click.option(
    "--level",
    type=click.IntRange(0, WEAKEST),
    default=WEAKEST,
    show_default=True,
    help="Torque: 0 strongest, 4 weakest.",
)
@click.option(
    "--lag", metavar="DEG", type=click.FloatRange(1, 90), default=15.0, show_default=True, help="The goal waits for a"
    " shaft that is so far behind; for longer than a second, and the move ends."
)  # fmt: skip
@click.option(
    "--hold", metavar="S", type=click.FloatRange(0, 3600), default=0.5, show_default=True, help="Stay there so long."
)
def command(
    bench: Bench, to: RawOrDegrees | None, by: RawOrDegrees | None, rate: float, level: int, lag: float, hold: float
) -> int:
    """Turn servos slowly to a place, with as little torque as they have. Ctrl-C stops them and takes the torque off.

    The goal creeps away from where the shaft is measured to be, and nothing is driven that can not be read. Mind what
    is bolted to the horn: it drops when the torque goes off.
    """
    from drivers.bench.motion import Ending, Move, check_raw, read_first

    place = to or by
    if place is None or (to and by):
        raise click.UsageError("say either --to or --by")
    servos = _chosen(bench)
    bus = bench.bus(servos)
    bus.set_level(level)
    read_first(bus, bench.pace)
    begun = list(bus.position_raw)
    ticks = [bench.tick_deg_of(servo) or bench.model_of(servo).tick_deg for servo in servos]
    goals = [round(place.number / tick if place.in_degrees else place.number) for tick in ticks]
    targets = goals if to else [begin + way for begin, way in zip(begun, goals, strict=True)]
    for servo, target in zip(servos, targets, strict=True):
        check_raw(_any_model(bench, servo), target)
    move = Move(
        bus,
        bench.pace,
        targets,
        rates=[rate / tick for tick in ticks],
        lags=[lag / tick for tick in ticks],
        tolerances=[max(1.0, _TOLERANCE_DEG / tick) for tick in ticks],
        period_ns=_PERIOD_NS,
    )
    with bench.driving(bus) as stop:
        _follow(move, stop, servos)
        if move.ending is Ending.DONE and hold:
            _stay(bus, bench, targets, hold, stop)
        ended = list(bus.position_raw)
    errors = [] if move.ending is Ending.DONE else [move.ending.value, *bus.refusals]
    if not bench.released:
        errors.append(UNCONFIRMED)
    rows = [
        {"id": servo.bus_id, "from_raw": begun[k], "goal_raw": targets[k], "raw": ended[k], "tick_deg": ticks[k]}
        for k, servo in enumerate(servos)
    ]
    return bench.report({"ending": move.ending.name.lower(), "servos": rows}, _lines(rows), errors)


def _chosen(bench: Bench) -> tuple[ServoAddress, ...]:
    ids = bench.ids or ()
    servos = bench.named or bench.addresses(ids)
    if unknown := set(ids) - {servo.bus_id for servo in servos}:
        raise click.UsageError(f"{bench.family.name} servos have no id {', '.join(map(str, sorted(unknown)))}")
    return bench.with_models(servos)


def _any_model(bench: Bench, servo: ServoAddress) -> ServoModel:
    """Return a model with the servo's scale: its own, or one of a family whose models share theirs."""
    if servo.model not in bench.models and bench.tick_deg_of(servo) is not None:
        return next(iter(bench.models.values()))
    return bench.model_of(servo)


def _follow(move: Any, stop: Stop, servos: Sequence[ServoAddress]) -> None:
    counter = Counter()
    for look in move.run(stop):
        counter.show(_words(look, servos))
    counter.clear()


def _words(look: CycleReadings, servos: Sequence[ServoAddress]) -> str:
    parts = [
        f"id {servo.bus_id} at {look.positions[k]} (goal {look.goals[k] if look.goals[k] >= 0 else '-'})"
        for k, servo in enumerate(servos[:4])
    ]
    return "  ".join(parts)


def _stay(bus: Bus, bench: Bench, targets: Sequence[int], hold_s: float, stop: Stop) -> None:
    """Go on sending the goals for a while: there are servos that stop when nothing is said."""
    from drivers.bench.motion import exchange, wait_for_next

    begun_ns = due_ns = bench.pace.now_ns
    while bench.pace.now_ns - begun_ns < hold_s * NS_PER_S and not stop() and max(bus.misses) == 0:
        exchange(bus, bench.pace, targets, begun_ns)
        due_ns = wait_for_next(bench.pace, due_ns, _PERIOD_NS, stop)


def _lines(rows: Sequence[dict[str, Any]]) -> list[str]:
    columns = (
        TableColumn("id", ">3"),
        TableColumn("from", ">6"),
        TableColumn("goal", ">6"),
        TableColumn("is at", ">6"),
        TableColumn("degrees", ">8", ".1f"),
        TableColumn("off by", ">8", "+.1f"),
    )
    return table(
        columns,
        [
            (
                *(row[key] for key in ("id", "from_raw", "goal_raw", "raw")),
                row["raw"] * row["tick_deg"],
                (row["raw"] - row["goal_raw"]) * row["tick_deg"],
            )
            for row in rows
        ],
    )
