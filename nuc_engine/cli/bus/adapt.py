"""`nuc bus adapt`: a copy of a configuration for servos of another model."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import click

from nuc_engine.cli.bus.params import Ids
from nuc_engine.cli.terminal.errors import CommandFailed
from nuc_engine.cli.terminal.output import TableColumn, note, say, say_json, table
from nuc_engine.cli.terminal.params import NucCommand, as_json, configuration

if TYPE_CHECKING:
    from nuc_engine.configurations.adapt import Adapted, AdaptedMotor

_RATES: Mapping[str, int] = MappingProxyType({"XL330-M288": 1_000_000, "XL430-W250": 1_000_000, "XM430-W350": 115_200})
"""Rates at which the emulated cockroach leg steps best, where not at the factory's (docs/servos.md)."""


_COLUMNS = (
    TableColumn("joint", "<"),
    TableColumn("id", ">3"),
    TableColumn("raw at 0 deg", ">12", ".1f"),
    TableColumn("per deg", ">8", "+.3f"),
    TableColumn("times", ">5", ".2f"),
    TableColumn("N m per unit", ">12", ".5f"),
    TableColumn("ticks", ">6", ".2f"),
    TableColumn("P gain", ">6"),
    TableColumn("at most", ">10"),
)

_SAME_FAMILY = (
    "AI motors and wCKs are one family, and a joint has one motor of each: copy the configuration's folder, and change"
    " the modelnum of the aimotors in its joints.xml"
)


@click.command(
    cls=NucCommand,
    examples=(
        ("nuc bus adapt lin_roach XL430-W250 --out roach_xl430", "a cockroach leg for XL430s"),
        (
            "nuc run roach_xl430 --bus 'emulated:dynamixel?baud=1000000'",
            "and whether it steps; without --bus the same folder runs on AI motors, as before",
        ),
        ("nuc bus adapt my_leg STS3215 --ids 1,2,3 --out legs/feetech", "with bus ids of their own, in a folder"),
    ),
    output=(
        "A folder with the documents, plant.toml and torque tables; of a name, under configs/. Documents that change"
        " are written anew, so that comments in them are gone. To stdout: what each motor was made.",
    ),
)
@configuration()
@click.argument("model", metavar="MODEL")
@click.option("--out", "-o", metavar="NAME", required=True, help="Name of the new configuration, or a folder.")
@click.option("--ids", type=Ids(), help="Bus ids of the new motors, in the joints' order.  [default: as they were]")
@click.option(
    "--strength",
    metavar="TIMES",
    type=click.FloatRange(0, 100, min_open=True),
    help="Torque of a unit of muscle output, times what it was.  [default: by how much more MODEL brakes]",
)
@as_json
def command(
    config: str, model: str, out: str, ids: tuple[int, ...] | None, strength: float | None, as_json: bool
) -> int:
    """Write a copy of CONFIG whose joints have a motor of MODEL too, beside the motors they have.

    The new motors turn the joints as the old ones did: degrees as degrees, at the same speeds, loads in the same units.
    A servo that is turned brakes by itself, and a strong one more: a unit of muscle output is made as many times as
    much torque, so that the leg moves as before and pushes harder; --strength says another factor.

    The bus that is chosen later decides which motors are driven. How horns sit on a real leg no program knows: the
    calibration has to be looked at before anything moves.
    """
    from drivers.factory import DEFAULT_FAMILY, find_family
    from nuc_engine.configurations.adapt import AdaptError, adapt, write_adapted

    folder = Path(out) if Path(out).name != out else Path("configs") / out
    try:
        adapted = adapt(config, model, ids, strength)
        write_adapted(adapted, folder)
    except AdaptError as error:
        hint = [_SAME_FAMILY] if model in find_family(DEFAULT_FAMILY).models else []
        raise CommandFailed(*str(error).splitlines(), *hint) from error
    for warning in adapted.warnings:
        note(f"{folder}: {warning}")
    if as_json:
        rows = [_row(made) for made in adapted.motors]
        said = {"model": adapted.model, "family": adapted.family, "motors": rows, "warnings": adapted.warnings}
        say_json({"ok": True, "folder": folder, **said})
    else:
        _print(folder, adapted)
    return 0


def _row(made: AdaptedMotor) -> dict[str, Any]:
    motor = made.motor
    return {
        "joint": made.joint,
        "motor": motor.name,
        "source": made.source,
        "id": motor.serial_id,
        "angle_cal1": motor.angle_cal1,
        "angle_cal2": motor.angle_cal2,
        "strength": made.strength,
        "delta_torque_n_m": motor.delta_torque_n_m,
        "delta_ticks": made.delta_ticks,
        "gain": made.gain,
        "stiffness_n_m_deg": made.stiffness_n_m_deg,
        "torque_limit_n_m": motor.torque_limit_n_m,
        "current_scale": motor.current_scale,
    }


def _print(folder: Path, adapted: Adapted) -> None:
    say(f"{folder}: {adapted.model} ({adapted.family})")
    rows = [
        (
            made.joint,
            made.motor.serial_id,
            made.motor.angle_cal1,
            made.motor.angle_cal2,
            made.strength,
            made.motor.delta_torque_n_m,
            made.delta_ticks,
            made.gain,
            f"{made.motor.torque_limit_n_m:.3g} N m",
        )
        for made in adapted.motors
    ]
    for line in table(_COLUMNS, rows):
        say(line)
    name = folder.name if folder.parent == Path("configs") else folder
    say(f"nuc run {name} --bus '{_bus(adapted)}'")


def _bus(adapted: Adapted) -> str:
    """Return an emulated bus of the family, at a rate at which a leg steps."""
    rate = _RATES.get(adapted.model)
    return f"emulated:{adapted.family}" + (f"?baud={rate}" if rate else "")
