"""Whose bout it is that a bus's budget is held against: the same configuration, on the same kind of bus."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import click

from nuc_engine.cli.bus.lines import plan_for
from nuc_engine.cli.terminal.errors import CommandFailed
from nuc_engine.cli.terminal.output import note

if TYPE_CHECKING:
    from drivers.family import BusFamily

_MANIFEST = "manifest.json"
_MS = 1e6


def motors_of(config: str, family: str, bus: str) -> tuple[int, int, int]:
    """Return how many servos of a configuration hang on the bus of that name, and of its cycles (ns) pause and least.

    The pause is what the engine waits behind each, the least what a cycle takes with it. Raises UsageError.
    """
    if config.isdecimal():
        if not int(config):
            raise click.UsageError("0 servos: expected at least one")
        return int(config), 0, 0
    plan = plan_for(config, family)
    names = [motor.bus for motor in plan.motors]
    number = sum(name == bus for name in names) if bus else len(names)
    if not number:
        raise click.UsageError(f"{config}: no motor names the bus {bus!r}; there are {', '.join(sorted({*names}))}")
    pauses = [int(write.values[0]) for write in plan.initial if write.hdso == plan.motor_control_delay]
    return number, pauses[-1] if pauses else 0, plan.cycle_min_ns


def check_bout(
    folder: Path, config: str, bus: str, url: str, family: BusFamily, baud: int, options: Mapping[str, float]
) -> None:
    """Raise `Refused` with what is otherwise in a bout than on the bus it is held against.

    `bus` is the name of that bus, "" for the only one. Where the servos' turnaround or the adapter was another does not
    count: that is what is looked for.
    """
    try:
        found = json.loads((folder / _MANIFEST).read_bytes())
    except (OSError, ValueError):
        found = None
    if not isinstance(found, dict):
        note(f"{folder}: no manifest says which configuration and which bus this was")
        return
    manifest = cast(dict[str, Any], found)
    theirs = _url_in(manifest, folder, bus)
    reasons = [*_other_bus(theirs, url, family.name, baud, options)]
    # What it drove can be told only where its servos are of the family.
    reasons += _other_leg(folder, manifest, config, family.name, bus) if not reasons else []
    if reasons:
        raise CommandFailed(*(f"{folder}: {reason}: its cycles say nothing of this bus" for reason in reasons))


def _url_in(manifest: Mapping[str, Any], folder: Path, bus: str) -> str:
    """Return the URL of the bus of that name. Raises `Refused` where it is not told."""
    told = manifest.get("bus")
    buses = cast(dict[str, Any], told) if isinstance(told, dict) else {"": told}
    if len(buses) == 1:
        return str(next(iter(buses.values())))
    if bus in buses:
        return str(buses[bus])
    raise CommandFailed(f"{folder}: its buses were {', '.join(buses)}: say which one this is, NAME=URL")


def _other_bus(theirs: str, url: str, family: str, baud: int, options: Mapping[str, float]) -> list[str]:
    from drivers.bench.budget import form_for
    from drivers.errors import BusUrlError
    from drivers.factory import find_family, is_emulated, parse_line
    from drivers.serial.lineoptions import given_options
    from nuc_engine.model.motors import family_of

    said = "emulated:" + theirs.removeprefix("loopback:") if theirs.startswith("loopback:") else theirs
    try:
        other = find_family(family_of(said))
        if is_emulated(said):
            given = given_options(other, said)
            rate = int(given.get("baud", other.line_options["baud"]))
        else:
            line = parse_line(said)
            given, rate = line.options, line.baud
    except BusUrlError as error:
        return [f"its bus was {theirs} ({error})"]
    if other.name != family:
        return [f"its bus was {theirs}, of the family {other.name} and not {family}"]
    reasons: list[str] = []
    if is_emulated(said) and not is_emulated(url):
        reasons.append(f"its servos were emulated ({theirs})")
    if rate != baud:
        reasons.append(f"its bus was at {rate} bit/s, this one is at {baud}")
    forms = form_for(family, given).name, form_for(family, options).name
    if forms[0] != forms[1]:
        reasons.append(f"its exchanges were of the form {forms[0]}, here they are {forms[1]}")
    return reasons


def _other_leg(folder: Path, manifest: Mapping[str, Any], config: str, family: str, bus: str) -> list[str]:
    theirs, ours = motors_of(str(folder), family, bus), motors_of(config, family, bus)
    if config.isdecimal():
        return [] if theirs[0] == ours[0] else [f"it drove {theirs[0]} servos and not {ours[0]}"]
    name = plan_for(config, family).name
    reasons = (
        [] if manifest.get("configuration") == name else [f"it is one of {manifest.get('configuration')}, not {name}"]
    )
    for k, (what, unit) in enumerate((("servos", 1.0), ("motor_control_delay_ns in ms", _MS), ("cycleMin in ms", _MS))):
        if theirs[k] != ours[k]:
            reasons.append(f"{what}: {theirs[k] / unit:g} there, {ours[k] / unit:g} in {name}")
    return reasons
