"""`nuc bus release`: torque off, until every servo has confirmed. What systemd runs whatever has ended the engine."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import click

from nuc_engine.cli.bus.lines import RealPace, family_of, servos_of, split_name
from nuc_engine.cli.bus.params import Ids
from nuc_engine.cli.terminal.errors import BAD
from nuc_engine.cli.terminal.output import count, note, say, say_json
from nuc_engine.cli.terminal.params import CONFIGURATION, NucCommand, as_json

if TYPE_CHECKING:
    from drivers.bench.release import Releasing
    from drivers.servo import ServoAddress

_SECONDS = 2.0
_UNKNOWN = "without --config or --ids nobody knows who is missing: one that did not answer may be under torque"
_SILENT_S, _SILENT_BITS = 0.008, 400
"""What an id costs that is not there: a time-out, a request, and the reply's place on the wire; more than enough."""


@click.command(
    "release",
    cls=NucCommand,
    examples=(
        ("nuc bus release aimotor:///dev/ttyUSB0", "everybody who is there"),
        ("nuc bus release left=aimotor:///dev/nuc/left right=aimotor:///dev/nuc/right -c hexapod", "motors by bus"),
        ("nuc bus release aimotor:///dev/ttyUSB0 --config lin_roach", "all of this leg must confirm"),
    ),
    output=(
        "To stdout: who confirmed. Exit status 1, with the servos by name, when some did not, or a port could not be"
        " opened: then the others are released all the same.",
    ),
)
@click.argument("urls", metavar="URL...", nargs=-1, required=True)
@click.option("--ids", type=Ids(), help="Only these servos; all of them must confirm, on every bus.")
@click.option("--config", "-c", metavar="CONFIG", type=CONFIGURATION, help="Servos of this configuration must confirm.")
@click.option(
    "--seconds",
    type=click.FloatRange(0.1, 600),
    help="How long to try.  [default: 2, and what it takes to ask all ids there can be]",
)
@as_json
def command(
    urls: Sequence[str], ids: tuple[int, ...] | None, config: str | None, seconds: float | None, as_json: bool
) -> int:
    """Take the torque off, again and again until every servo has confirmed.

    A URL may have the name in front that the configuration's motors call the bus by: NAME=URL. Without --ids everybody
    on the bus is told, whether expected or not. Without --config and --ids nobody knows who is missing: then whoever
    answers counts as all, and a servo that does not may be under torque. A configuration that can not be read is no
    reason not to: then whoever is there has to confirm.
    """
    from drivers.bench.release import release as release_all

    families = dict.fromkeys(family_of(text) for text in urls)
    servos = {family: _expected_servos(config, family) if ids is None else {} for family in families}
    names = {servo.bus_id: servo.name for found in servos.values() for servo in found}
    expected = {family: _by_bus(found) for family, found in servos.items()}
    lines, failures = _open(urls, ids, expected)
    pace = RealPace()
    limit_s = seconds if seconds is not None else max([_SECONDS, *map(_limit_s, lines)])
    release_all(lines, pace, pace.now_ns + round(limit_s * 1e9))
    for line in lines:
        line.bus.close()
    failures |= {line.name: _why_not(line, names) for line in lines if not line.confirmed_all}
    confirmed = {bus_id for line in lines for bus_id in line.confirmed}
    wanted = dict.fromkeys(bus_id for found in expected.values() for bus_id in found.get("", ()))
    if nowhere := [bus_id for bus_id in wanted if bus_id not in confirmed and not failures]:
        failures[str(config)] = f"no confirmation from {_named(nowhere, names)} on any bus; cut the supply"
    for url, reason in failures.items():
        note(f"{url}: {reason}")
    for line in lines:
        if line.expected is None and line.confirmed_all:
            note(f"{line.name}: {_UNKNOWN}")
    if as_json:
        by_url = {line.name: sorted(line.confirmed) for line in lines}
        say_json({"ok": not failures, "confirmed": by_url, "errors": [f"{u}: {r}" for u, r in failures.items()]})
    else:
        for line in lines:
            who = ", ".join(map(str, sorted(line.confirmed))) or "none"
            say(f"{line.name}: torque is off, confirmed by {count(len(line.confirmed), 'servo')} (ids {who})")
    return BAD if failures else 0


def _limit_s(line: Releasing) -> float:
    """Return how long it takes to ask them all: twice when it is not known who is there, else besides the expected."""
    from drivers.bench.release import ROUNDS_WHEN_UNKNOWN
    from drivers.factory import parse_line

    each_s = _SILENT_S + _SILENT_BITS / parse_line(line.name).baud
    if line.expected is None:
        return ROUNDS_WHEN_UNKNOWN * len(line.bus.servos) * each_s
    return _SECONDS + (0 if line.others is None else len(line.others.servos) * each_s)


def _open(
    urls: Sequence[str], ids: tuple[int, ...] | None, expected: Mapping[str, Mapping[str, Sequence[int]]]
) -> tuple[list[Releasing], dict[str, str]]:
    """Open all that can be opened; return it, and why the rest could not be.

    `expected` are ids by family, and by name of bus.
    """
    from drivers.bench.release import Releasing
    from drivers.errors import PortError
    from drivers.factory import bus_on_port, find_family, is_emulated, open_port, parse_line

    lines: list[Releasing] = []
    failures: dict[str, str] = {}
    for text in urls:
        name, url = split_name(text)
        if is_emulated(url):
            raise click.UsageError(f"{url}: emulated servos live in the process that opened them; end that")
        spec = parse_line(url)
        family = find_family(spec.family)
        named = expected[spec.family].get(name) if name or len(urls) == 1 else None
        must = ids if ids is not None else named
        everybody = family.every_servo()
        if unknown := set(must or ()) - {servo.bus_id for servo in everybody}:
            raise click.UsageError(f"{url}: this family has no id {', '.join(map(str, sorted(unknown)))}")
        # Those that have to confirm are told first, by a bus of their own: nobody waits for ids that are not there.
        wanted = [servo for servo in everybody if servo.bus_id in (must or ())]
        rest = [servo for servo in everybody if ids is None and servo not in wanted]
        try:
            port = open_port(spec.path, spec.baud)
        except PortError as error:
            failures[url] = str(error)
            continue
        bus = bus_on_port(spec, port, wanted or rest)
        others = bus_on_port(spec, port, rest) if wanted and rest else None
        lines.append(Releasing(url, bus, None if must is None else tuple(must), others))
    return lines, failures


def _expected_servos(config: str | None, family: str) -> dict[ServoAddress, str]:
    """Return the servos of a configuration and their buses' names; none, with a remark, where it can not be read."""
    if config is None:
        return {}
    try:
        return servos_of(config, family)
    except Exception as error:  # whatever is wrong with a configuration, the torque has to go off
        reason = error.format_message() if isinstance(error, click.ClickException) else str(error)
        note(f"{reason}; whoever is on the bus is released")
        return {}


def _by_bus(servos: Mapping[ServoAddress, str]) -> dict[str, tuple[int, ...]]:
    """Return ids by the name of their bus, and all of them under the empty name."""
    by_name: dict[str, tuple[int, ...]] = {"": tuple(servo.bus_id for servo in servos)} if servos else {}
    for servo, name in servos.items():
        if name:
            by_name[name] = (*by_name.get(name, ()), servo.bus_id)
    return by_name


def _named(ids: Sequence[int], names: Mapping[int, str]) -> str:
    return ", ".join(f"{names[bus_id]} (id {bus_id})" if bus_id in names else f"id {bus_id}" for bus_id in ids)


def _why_not(line: Releasing, names: Mapping[int, str]) -> str:
    if line.failure:
        return line.failure
    if line.missing and line.confirmed:
        return f"no confirmation from {_named(line.missing, names)}; cut the supply"
    return "nobody confirmed; if the servos have power, cut it"
