"""`nuc bus`: servo buses at the bench. No configuration is needed, and nothing moves."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from statistics import median
from typing import TYPE_CHECKING, Any

import click

from nuc_engine.cli import wallclock
from nuc_engine.cli.buslines import BenchLine, RealPace, bench_lines, servos_of
from nuc_engine.cli.errors import BAD
from nuc_engine.cli.output import count, heading, is_terminal, note, say, say_json
from nuc_engine.cli.params import CONFIGURATION, Command, as_json

if TYPE_CHECKING:
    from drivers.bench import Releasing, RoundTrips
    from drivers.servo import ServoAddress

_MS = 1e6
_REDRAW_S = 0.1
_NAMED = re.compile(r"(?P<name>[A-Za-z][A-Za-z0-9_-]*)=(?P<url>[a-z][a-z0-9]*:.*)")
_NOBODY = "nobody answered: is the supply on, the rate right (--all-rates), the adapter the right one?"


class _Group(Command, click.Group):
    """A group of commands with examples of its own."""


class _Ids(click.ParamType):  # pyright: ignore[reportMissingTypeArgument]
    """`10,11,20-23`."""

    name = "IDS"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[int, ...]:
        """Return the ids in the order given, or fail."""
        if isinstance(value, tuple):
            return value  # pyright: ignore[reportUnknownVariableType]
        ids: list[int] = []
        for part in str(value).split(","):
            low, dash, high = part.strip().partition("-")
            if not low.isdecimal() or (dash and not high.isdecimal()):
                self.fail(f"{value!r} is no list of ids such as 10,11 or 0-3", param, ctx)
            ids.extend(range(int(low), int(high if dash else low) + 1))
        if not ids or len(set(ids)) != len(ids):
            self.fail(f"{value!r} names no id, or one twice", param, ctx)
        return tuple(ids)


_url = click.argument("url", metavar="URL")
_ids = click.option("--ids", type=_Ids(), help="Servos by their ids on the bus, such as 10,11 or 0-3.")
_config = click.option("--config", "-c", metavar="CONFIG", type=CONFIGURATION, help="The servos of a configuration.")


@click.group(
    cls=_Group,
    examples=(
        ("nuc bus scan aimotor:///dev/ttyUSB0", "which servos are there"),
        ("nuc bus ping aimotor:///dev/ttyUSB0 --ids 10,11", "how long they take to answer"),
        ("nuc bus release aimotor:///dev/ttyUSB0", "torque off, whoever is there"),
    ),
    output=("To stdout: what was found, as text or as JSON with --json. Exit status 1 when servos did not answer.",),
)
def command() -> None:
    """Servo buses at the bench: who is there, how fast they answer, torque off.

    A URL is FAMILY:///dev/...[?baud=RATE&timeout_us=TIME] for servos on a serial port, which no other program may
    hold meanwhile, or emulated:[FAMILY][?options] for trying the commands out.
    """


@command.command(
    cls=Command,
    examples=(
        ("nuc bus scan aimotor:///dev/ttyUSB0", "ids, positions and currents at the factory's rate"),
        ("nuc bus scan aimotor:///dev/ttyUSB0 --all-rates", "servos whose rate was changed"),
        ("nuc bus scan emulated: --config lin_roach", "the emulated servos of a configuration"),
    ),
    output=(
        "To stdout: one line per servo: id, position and current in raw units. Exit status 1 when nobody answers.",
        "How far it is goes to stderr.",
    ),
)
@_url
@click.option("--all-rates", is_flag=True, help="Try every rate the family has, not only that of the URL.")
@_ids
@_config
@as_json
def scan(url: str, all_rates: bool, ids: tuple[int, ...] | None, config: str | None, as_json: bool) -> int:
    """Ask every id whether it is there; nothing moves. --ids and --config are for emulated servos."""
    found: list[dict[str, Any]] = []
    remark = ""
    for line in bench_lines(url, all_rates=all_rates, ids=ids, config=config):
        if is_terminal(err=True):
            click.echo(f"\rasking at {line.spec.baud} bit/s ... \x1b[K", err=True, nl=False)
        found += _found_on(line)
        remark = line.remark
        line.close()
    if is_terminal(err=True):
        click.echo("\r\x1b[K", err=True, nl=False)
    if as_json:
        errors = [] if found else [_NOBODY]
        say_json({"ok": bool(found), "url": url, "latency": remark, "found": found, "errors": errors})
    else:
        _print_found(found)
    if not found:
        note(f"{url}: {_NOBODY}")
    return 0 if found else BAD


@command.command(
    cls=Command,
    examples=(
        ("nuc bus ping aimotor:///dev/ttyUSB0", "100 exchanges with everybody who is there"),
        ("nuc bus ping aimotor:///dev/ttyUSB0?baud=115200 --ids 10 --count 1000 --json", "one servo, for a program"),
        ("nuc bus ping emulated: --ids 0-3", "what an exchange takes at least"),
    ),
    output=(
        "To stdout: per servo the exchanges, how many were missed or not believed, and the shortest, middle and"
        " longest time from a request to its whole reply, in ms.",
        "Exit status 1 when a servo never answered.",
    ),
)
@_url
@click.option("--count", "rounds", type=click.IntRange(1, 1_000_000), default=100, help="Exchanges per servo.")
@_ids
@_config
@as_json
def ping(url: str, rounds: int, ids: tuple[int, ...] | None, config: str | None, as_json: bool) -> int:
    """Read servos again and again and tell how long it takes; nothing moves. Without ids, whoever is there."""
    from drivers.bench import discover, measure

    (line,) = bench_lines(url, ids=ids, config=config)
    servos = line.servos or line.named(discover(line.bus(()), line.pace))
    if not servos:
        line.close()
        note(f"{url}: {_NOBODY}")
        if as_json:
            say_json({"ok": False, "url": url, "latency": line.remark, "servos": [], "errors": [_NOBODY]})
        return BAD
    bus = line.bus(servos)
    begin_ns = line.pace.now_ns
    trips: tuple[RoundTrips, ...] = ()
    drawn_s = 0.0
    for done, known in enumerate(measure(bus, line.pace, rounds), 1):
        trips = known
        if is_terminal(err=True) and wallclock.seconds() - drawn_s >= _REDRAW_S:
            drawn_s = wallclock.seconds()
            click.echo(f"\r{done} of {rounds} \x1b[K", err=True, nl=False)
    if is_terminal(err=True):
        click.echo("\r\x1b[K", err=True, nl=False)
    cycle_ms = (line.pace.now_ns - begin_ns) / rounds / _MS
    line.close()
    return _report_ping(url, line.remark, trips, cycle_ms, as_json=as_json)


@command.command(
    cls=Command,
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
@click.option("--ids", type=_Ids(), help="Only these servos; all of them must confirm, on every bus.")
@click.option("--config", "-c", metavar="CONFIG", type=CONFIGURATION, help="Servos of this configuration must confirm.")
@click.option("--seconds", type=click.FloatRange(0.1, 60), default=2.0, help="How long to try.")
@as_json
def release(urls: Sequence[str], ids: tuple[int, ...] | None, config: str | None, seconds: float, as_json: bool) -> int:
    """Take the torque off, again and again until every servo has confirmed.

    A URL may have the name in front that the configuration's motors call the bus by: NAME=URL. Without --ids everybody
    on the bus is told, whether expected or not. A configuration that can not be read is no reason not to: then whoever
    is there has to confirm.
    """
    from drivers.bench import release as release_all

    servos = _expected_servos(config) if ids is None else {}
    names = {servo.bus_id: servo.name for servo in servos}
    expected = _by_bus(servos)
    lines, failures = _open_for_release(urls, ids, expected)
    pace = RealPace()
    release_all(lines, pace, pace.now_ns + round(seconds * 1e9))
    for line in lines:
        line.bus.close()
    failures |= {line.name: _why_not(line, names) for line in lines if not line.confirmed_all}
    confirmed = {bus_id for line in lines for bus_id in line.confirmed}
    if nowhere := [bus_id for bus_id in expected.get("", ()) if bus_id not in confirmed and not failures]:
        failures[str(config)] = f"no confirmation from {_named(nowhere, names)} on any bus; cut the supply"
    for url, reason in failures.items():
        note(f"{url}: {reason}")
    if as_json:
        by_url = {line.name: sorted(line.confirmed) for line in lines}
        say_json({"ok": not failures, "confirmed": by_url, "errors": [f"{u}: {r}" for u, r in failures.items()]})
    else:
        for line in lines:
            names = ", ".join(map(str, sorted(line.confirmed))) or "none"
            say(f"{line.name}: torque is off, confirmed by {count(len(line.confirmed), 'servo')} (ids {names})")
    return BAD if failures else 0


def _found_on(line: BenchLine) -> list[dict[str, Any]]:
    from drivers.bench import discover, read_all

    servos = line.named(discover(line.bus(()), line.pace))
    if not servos:
        return []
    bus = line.bus(servos)
    read_all(bus, line.pace)
    rows = zip(bus.servos, bus.position_raw, bus.current_raw, strict=True)
    return [
        {"baud": line.spec.baud, "id": servo.bus_id, "position_raw": position, "current_raw": current}
        for servo, position, current in rows
    ]


def _print_found(found: Sequence[Mapping[str, Any]]) -> None:
    if not found:
        return
    say(heading(f"{'bit/s':>7}  {'id':>3}  {'position':>8}  {'current':>7}"))
    for row in found:
        values = [row[name] if row[name] >= 0 else "-" for name in ("position_raw", "current_raw")]
        say(f"{row['baud']:>7}  {row['id']:>3}  {values[0]:>8}  {values[1]:>7}")


def _report_ping(url: str, remark: str, trips: Sequence[RoundTrips], cycle_ms: float, *, as_json: bool) -> int:
    rows = [_row(trip) for trip in trips]
    silent = [trip.bus_id for trip in trips if not trip.times_ns]
    errors = [f"id {bus_id} never answered" for bus_id in silent]
    for error in errors:
        note(f"{url}: {error}")
    if as_json:
        say_json(
            {"ok": not silent, "url": url, "latency": remark, "cycle_ms": cycle_ms, "servos": rows, "errors": errors}
        )
    else:
        say(
            heading(
                f"{'id':>3}  {'exchanges':>9}  {'missed':>6}  {'refused':>7}  {'min':>7}  {'median':>7}  {'max':>7}"
            )
        )
        for row in rows:
            times = "  ".join("      -" if row[key] is None else f"{row[key]:7.3f}" for key in _TIMES)
            say(f"{row['id']:>3}  {row['exchanges']:>9}  {row['missed']:>6}  {row['implausible']:>7}  {times}")
        say(f"times in ms; one cycle with {count(len(rows), 'servo')} takes {cycle_ms:.3f} ms")
        if remark:
            say(remark)
    return BAD if silent else 0


_TIMES = ("min_ms", "median_ms", "max_ms")


def _row(trip: RoundTrips) -> dict[str, Any]:
    times = trip.times_ns
    values = (min(times), median(times), max(times)) if times else (None, None, None)
    in_ms = {key: None if value is None else value / _MS for key, value in zip(_TIMES, values, strict=True)}
    counts = {"exchanges": trip.exchanges, "missed": trip.missed, "implausible": trip.implausible}
    return {"id": trip.bus_id, **counts, **in_ms}


def _open_for_release(
    urls: Sequence[str], ids: tuple[int, ...] | None, expected: Mapping[str, Sequence[int]]
) -> tuple[list[Releasing], dict[str, str]]:
    """Open all that can be opened; return it, and why the rest could not be. `expected` are ids by name of bus."""
    from drivers.bench import Releasing
    from drivers.errors import PortError
    from drivers.factory import find_family, is_emulated, parse_line
    from drivers.serialport import open_port

    lines: list[Releasing] = []
    failures: dict[str, str] = {}
    for text in urls:
        name, url = _split_name(text)
        if is_emulated(url):
            raise click.UsageError(f"{url}: emulated servos live in the process that opened them; end that")
        spec = parse_line(url)
        family = find_family(spec.family)
        must = ids if ids is not None else expected.get(name) if name or len(urls) == 1 else None
        # Those that have to confirm are told first.
        servos = sorted(family.every_servo(), key=lambda servo: servo.bus_id not in (must or ()))
        if unknown := set(must or ()) - {servo.bus_id for servo in servos}:
            raise click.UsageError(f"{url}: this family has no id {', '.join(map(str, sorted(unknown)))}")
        if ids is not None:
            servos = servos[: len(ids)]
        try:
            bus = family.bus_on_port(spec, open_port(spec.path, spec.baud), servos)
        except PortError as error:
            failures[url] = str(error)
            continue
        lines.append(Releasing(url, bus, None if must is None else tuple(must)))
    return lines, failures


def _split_name(text: str) -> tuple[str, str]:
    """Return name and URL of `NAME=URL`, an empty name for a URL alone."""
    found = _NAMED.fullmatch(text)
    return ("", text) if found is None else (found["name"], found["url"])


def _expected_servos(config: str | None) -> dict[ServoAddress, str]:
    """Return the servos of a configuration and their buses' names; none, with a remark, where it can not be read."""
    if config is None:
        return {}
    try:
        return servos_of(config)
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
