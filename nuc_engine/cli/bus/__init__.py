"""`nuc bus`: servo buses at the bench. Every command has a module of its own, loaded when it is asked for.

adapt           a copy of a configuration for servos of another model
bench           one bus: opened, its servos and their models known, let go of and closed; how a command declares it
bout            whose bout it is that a bus's budget is held against
budget          how fast a bus's loop can be, and what would make it faster
characterise    measure which torque a servo gives for a servo delta, and write it as a table
force           a servo with a constant servo delta, as muscles drive it
latency         how late replies come, and the bound on it that a line should be given
lines           what words name: families, emulated servos, the servos of a configuration
monitor         positions, loads and misses as they come
move            servos slowly to a place
params          types of what commands are told: ids, places of a shaft
ping            how long an exchange takes
release         torque off, until every servo has confirmed
scan            which servos are there
set             what a servo is set to, looked at and changed
set_baud        set a servo to another rate, for good
set_id          give a servo another id, for good
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

import click

from nuc_engine.cli.terminal.listed import Listed
from nuc_engine.cli.terminal.params import NucCommand

COMMANDS: Mapping[str, tuple[str, str]] = MappingProxyType(
    {
        "scan": ("bus.scan", "who is there, of which model, where it stands"),
        "ping": ("bus.ping", "how long an exchange takes"),
        "latency": ("bus.latency", "how late replies come, and the bound to give the line"),
        "monitor": ("bus.monitor", "positions, loads and misses, as they come"),
        "budget": ("bus.budget", "how fast the loop can be, and what would make it faster"),
        "move": ("bus.move", "servos slowly to a place"),
        "force": ("bus.force", "a servo with a constant servo delta or torque"),
        "release": ("bus.release", "torque off, until every servo has confirmed"),
        "characterise": ("bus.characterise", "measure which torque a servo gives for a delta"),
        "adapt": ("bus.adapt", "a configuration for servos of another model"),
        "set": ("bus.set", "what a servo is set to: its registers, read or written"),
        "set-id": ("bus.set_id", "give a servo another id, for good"),
        "set-baud": ("bus.set_baud", "set a servo to another rate, for good"),
    }
)
"""Every command, the module it is in, and what it is for."""


class _Group(NucCommand, Listed):
    """A group of commands with examples of its own, each loaded when it is asked for."""


@click.group(
    cls=_Group,
    table=COMMANDS,
    examples=(
        ("nuc bus scan aimotor:///dev/ttyUSB0", "which servos are there"),
        ("nuc bus ping dynamixel:///dev/ttyUSB0 --ids 10,11", "how long they take to answer"),
        ("nuc bus move feetech:///dev/ttyACM0 --ids 3 --to 90deg", "one servo, slowly, to 90 degrees"),
        ("nuc bus release aimotor:///dev/ttyUSB0", "torque off, whoever is there"),
    ),
    output=(
        "To stdout: what was found, as text or as JSON with --json. Exit status 1 when servos did not answer or did"
        " not do what they should, 2 when the words were wrong.",
        "docs/hardware.md: wiring, supply, adapters, and the first power-up in ten steps.",
    ),
)
def command() -> None:
    """Servo buses at the bench. move, force and characterise move servos; nothing else here does.

    A URL is FAMILY:///dev/...[?baud=RATE&timeout_us=TIME...] for servos on a serial port, which no other program may
    hold meanwhile, or emulated:[FAMILY][?options] for trying the commands out. Families: aimotor, dynamixel, feetech,
    and whatever else is installed. Where a configuration's motors name their buses, NAME=URL says which one it is.
    """
