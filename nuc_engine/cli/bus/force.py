"""`nuc bus force`: a servo with a constant servo delta, as muscles drive it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from drivers.units import NS_PER_S
from nuc_engine.cli.bus.bench import UNCONFIRMED, Bench, on_bench
from nuc_engine.cli.terminal.progress import Counter

if TYPE_CHECKING:
    from drivers.bench.motion import CycleReadings, Push
    from drivers.servo import ServoAddress, ServoModel
    from nuc_engine.cli.bus.bench import Stop

_PERIOD_NS = 10_000_000


@on_bench(
    "id!",
    "config",
    "model",
    "level",
    name="force",
    examples=(
        ("nuc bus force aimotor:///dev/ttyUSB0 --id 2 --ticks 5", "five ticks of delta for two seconds"),
        ("nuc bus force dynamixel:///dev/ttyUSB0 --id 1 --torque -0.2 --for 5", "as much delta as 0.2 N m take"),
        ("nuc bus force emulated:feetech --id 1 --ticks 40 --most 10", "limp as soon as it has turned by 10 degrees"),
    ),
    output=(
        "To stdout: delta, the torque it stands for, load at the end, how far the shaft turned. The torque is off at"
        " the end, whatever happened.",
        "Exit status 1 when the shaft went further than --most (it is limp at once then), or the servo fell silent.",
    ),
)
@click.option("--ticks", metavar="N", type=int, help="Servo delta in raw positions; its sign is the direction.")
@click.option("--torque", metavar="NM", type=float, help="Torque in N m, by the model's table.")
@click.option(
    "--for", "seconds", metavar="S", type=click.FloatRange(0, 600, min_open=True), default=2.0, show_default=True,
    help="How long.",
)  # fmt: skip
@click.option(
    "--most",
    metavar="DEG",
    type=click.FloatRange(0.5, 360),
    default=20.0,
    show_default=True,
    help="How far it may turn.",
)
def command(
    bench: Bench, bus_id: int, ticks: int | None, torque: float | None, seconds: float, most: float, level: int
) -> int:
    """Hold a constant servo delta: the goal is always so far from where the shaft is, so that it presses, or turns.

    This is how muscles drive a joint. Hold the horn, or let it press against something; Ctrl-C takes the torque off.
    """
    from drivers.bench.motion import Ending, Push

    if (ticks is None) == (torque is None):
        raise click.UsageError("say either --ticks or --torque")
    servo, known = bench.only_servo(bus_id)
    delta = ticks if ticks is not None else _delta_of(known, servo, torque or 0.0)
    bus = bench.bus((servo,))
    bus.set_level(level)
    push = Push(bus, bench.pace, delta, round(seconds * NS_PER_S), most / known.tick_deg, known.positions, _PERIOD_NS)
    with bench.driving(bus) as stop:
        last = _follow(push, stop)
    errors = [] if push.ending is Ending.DONE else [push.ending.value, *bus.refusals]
    if not bench.released:
        errors.append(UNCONFIRMED)
    row = _row(push, last, servo, known, delta, limit_n_m(known, servo, level))
    return bench.report({"ending": push.ending.name.lower(), "servo": row}, _lines(row), errors)


def tick_torque(model: ServoModel, servo: ServoAddress) -> float:
    """Return the torque of a tick of delta by the model's table, with the stiffness the servo is set to (N m)."""
    return model.tick_torque_n_m(model.gain_for(servo.stiffness_n_m_deg))


def limit_n_m(model: ServoModel, servo: ServoAddress, level: int) -> float:
    """Return the most torque a servo gives at a level, however large the delta (N m)."""
    from drivers.servo import LEVEL_SHARE

    limit = min(servo.torque_limit_n_m or model.stall_torque_n_m, model.stall_torque_n_m)
    return LEVEL_SHARE[level] * limit


def _delta_of(model: ServoModel, servo: ServoAddress, torque_n_m: float) -> int:
    per_tick = tick_torque(model, servo)
    if per_tick <= 0.0:
        raise click.UsageError(f"--torque: what a tick of {model.name} stands for is not known; say --ticks")
    if abs(torque_n_m) > model.stall_torque_n_m:
        raise click.UsageError(f"--torque {torque_n_m:g}: {model.name} stalls at {model.stall_torque_n_m:g} N m")
    return round(torque_n_m / per_tick)


def _follow(push: Push, stop: Stop) -> CycleReadings | None:
    last, counter = None, Counter()
    for look in push.run(stop):
        last = look
        counter.show(
            f"{look.time_ns / NS_PER_S:.1f} s  at {look.positions[0]}  goal {look.goals[0]}  load {look.loads[0]} "
        )
    counter.clear()
    return last


def _row(
    push: Push, last: CycleReadings | None, servo: ServoAddress, model: ServoModel, delta: int, limit_n_m: float
) -> dict[str, Any]:
    turned = 0 if last is None else last.positions[0] - push.begun_raw
    asked_n_m = delta * tick_torque(model, servo)
    return {
        "id": servo.bus_id,
        "delta_ticks": delta,
        "delta_n_m": asked_n_m,
        "limit_n_m": limit_n_m,
        "torque_n_m": min(max(asked_n_m, -limit_n_m), limit_n_m),
        "load_raw": None if last is None else last.loads[0],
        "load_unit": model.load_unit,
        "load_n_m": None if last is None else last.loads[0] * model.load_n_m,
        "turned_deg": turned * model.tick_deg,
        "seconds": 0.0 if last is None else last.time_ns / NS_PER_S,
    }


def _lines(row: dict[str, Any]) -> list[str]:
    given_n_m, asked_n_m = row["torque_n_m"], row["delta_n_m"]
    bounded = f" (the level's limit, of {asked_n_m:+.3f})" if given_n_m != asked_n_m else ""
    torque = f"{given_n_m:+.3f} N m by the table{bounded}"
    lines = [f"id {row['id']}: {row['delta_ticks']:+d} ticks, {torque}, for {row['seconds']:.2f} s"]
    if row["load_raw"] is not None:
        load = f"load {row['load_raw']} ({row['load_unit']}), about {row['load_n_m']:.3f} N m"
        lines.append(f"{load}; turned {row['turned_deg']:+.1f} degrees")
    return lines
