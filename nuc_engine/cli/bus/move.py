"""`nuc bus move`: servos slowly to a place."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

from nuc_engine.cli.bus.lines import Stop, open_line
from nuc_engine.cli.bus.params import (
    NS,
    PLACE,
    Counter,
    Place,
    config_option,
    let_go,
    model_of,
    model_option,
    required_ids_option,
    tick_deg_of,
    url_argument,
    with_models,
)
from nuc_engine.cli.terminal.errors import BAD
from nuc_engine.cli.terminal.output import heading, note, say, say_json
from nuc_engine.cli.terminal.params import Command, as_json

if TYPE_CHECKING:
    from drivers.bench.motion import Ending, Look
    from drivers.bus import Bus
    from drivers.servo import ServoAddress, ServoModel
    from nuc_engine.cli.bus.lines import BenchLine

_TOLERANCE_DEG = 4.0
"""How near to its goal a shaft counts as there: some servos do nothing within a few degrees."""

_PERIOD_NS = 10_000_000
WEAKEST = 4


@click.command(
    "move",
    cls=Command,
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
@url_argument
@required_ids_option
@config_option
@model_option
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
@as_json
def command(
    url: str,
    ids: tuple[int, ...],
    config: str | None,
    model: str | None,
    to: Place | None,
    by: Place | None,
    rate: float,
    level: int,
    lag: float,
    hold: float,
    as_json: bool,
) -> int:
    """Turn servos slowly to a place, with as little torque as they have. Ctrl-C stops them and takes the torque off.

    The goal creeps away from where the shaft is measured to be, and nothing is driven that can not be read. Mind what
    is bolted to the horn: it drops when the torque goes off.
    """
    from drivers.bench.motion import Ending, Move, read_first

    if (to is None) == (by is None):
        raise click.UsageError("say either --to or --by")
    line = open_line(url, ids=ids, config=config, model=model)
    try:
        servos = _chosen(line, ids, model)
        bus = line.bus(servos)
        bus.set_level(level)
        read_first(bus, line.pace)
        begun = list(bus.position_raw)
        targets = [_target(line, servo, begun[k], to, by) for k, servo in enumerate(servos)]
        ticks = [_tick_deg(line, servo) for servo in servos]
        move = Move(
            bus,
            line.pace,
            targets,
            rates=[rate / tick for tick in ticks],
            lags=[lag / tick for tick in ticks],
            tolerances=[max(1.0, _TOLERANCE_DEG / tick) for tick in ticks],
            period_ns=_PERIOD_NS,
        )
        with Stop() as stop:
            try:
                _follow(move, stop, servos)
                if move.ending is Ending.DONE and hold:
                    _stay(bus, line, targets, hold, stop)
            finally:
                ended = list(bus.position_raw)
                released = let_go(url, bus, line.pace)
    finally:
        line.close()
    rows = [
        {"id": servo.bus_id, "from_raw": begun[k], "goal_raw": targets[k], "raw": ended[k], "tick_deg": ticks[k]}
        for k, servo in enumerate(servos)
    ]
    return _report(url, rows, move.ending, bus, released=released, as_json=as_json)


def _chosen(line: BenchLine, ids: Sequence[int], model: str | None) -> tuple[ServoAddress, ...]:
    servos = line.servos or line.named(ids)
    if unknown := set(ids) - {servo.bus_id for servo in servos}:
        raise click.UsageError(f"{line.family.name} servos have no id {', '.join(map(str, sorted(unknown)))}")
    return with_models(line, servos, model)


def _tick_deg(line: BenchLine, servo: ServoAddress) -> float:
    tick = tick_deg_of(line, servo)
    return model_of(line, servo).tick_deg if tick is None else tick


def _target(line: BenchLine, servo: ServoAddress, begun: int, to: Place | None, by: Place | None) -> int:
    """Return the raw goal of a servo. Raises `BusError` outside of its scale."""
    from drivers.bench.motion import check_raw

    place = to or by
    if place is None:
        raise click.UsageError("say either --to or --by")
    raw = round(place.number / _tick_deg(line, servo)) if place.in_degrees else round(place.number)
    target = raw if to is not None else begun + raw
    check_raw(_any_model(line, servo), target)
    return target


def _any_model(line: BenchLine, servo: ServoAddress) -> ServoModel:
    """Return a model with the servo's scale: its own, or one of a family whose models share theirs."""
    if servo.model not in line.models and tick_deg_of(line, servo) is not None:
        return next(iter(line.models.values()))
    return model_of(line, servo)


def _follow(move: Any, stop: Stop, servos: Sequence[ServoAddress]) -> None:
    counter = Counter()
    for look in move.run(stop):
        counter.show(_words(look, servos))
    counter.clear()


def _words(look: Look, servos: Sequence[ServoAddress]) -> str:
    parts = [
        f"id {servo.bus_id} at {look.positions[k]} (goal {look.goals[k] if look.goals[k] >= 0 else '-'})"
        for k, servo in enumerate(servos[:4])
    ]
    return "  ".join(parts)


def _stay(bus: Bus, line: BenchLine, targets: Sequence[int], hold_s: float, stop: Stop) -> None:
    """Go on sending the goals for a while: there are servos that stop when nothing is said."""
    from drivers.bench.motion import exchange, wait_for_next

    begun_ns = due_ns = line.pace.now_ns
    while line.pace.now_ns - begun_ns < hold_s * NS and not stop() and max(bus.misses) == 0:
        exchange(bus, line.pace, targets, begun_ns)
        due_ns = wait_for_next(line.pace, due_ns, _PERIOD_NS, stop)


def _report(
    url: str, rows: Sequence[dict[str, Any]], ending: Ending, bus: Bus, *, released: bool, as_json: bool
) -> int:
    from drivers.bench.motion import Ending

    errors = [] if ending is Ending.DONE else [ending.value, *bus.refusals]
    if not released:
        errors.append("the torque is not confirmed to be off")
    if as_json:
        say_json({"ok": not errors, "url": url, "ending": ending.name.lower(), "servos": rows, "errors": errors})
        return BAD if errors else 0
    say(heading(f"{'id':>3}  {'from':>6}  {'goal':>6}  {'is at':>6}  {'degrees':>8}  {'off by':>8}"))
    for row in rows:
        degrees, off = row["raw"] * row["tick_deg"], (row["raw"] - row["goal_raw"]) * row["tick_deg"]
        raw = f"{row['from_raw']:>6}  {row['goal_raw']:>6}  {row['raw']:>6}"
        say(f"{row['id']:>3}  {raw}  {degrees:>8.1f}  {off:>+8.1f}")
    for error in errors:
        note(f"{url}: {error}")
    return BAD if errors else 0
