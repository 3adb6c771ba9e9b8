"""`nuc serve`: the engine beside a leg, in real time, until it is told to end."""

from __future__ import annotations

import math
import os
import re
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any, Literal

import click

from nuc_engine.cli.terminal.collected import Take, collector, option, raise_wrong
from nuc_engine.cli.terminal.output import note
from nuc_engine.cli.terminal.params import CONFIGURATION, NucCommand, Pair, gravity_compensation, limits
from nuc_engine.machine.needs import need, need_linux

_BUS = re.compile(r"(?:(?P<name>[A-Za-z][A-Za-z0-9_-]*)=)?(?P<url>[a-z][a-z0-9]*:.*)")
_MOST_TICKS = 65_535
_HIGHEST = 89
"""The guardian's priority is ten above the engine's, and 99 is the highest there is."""


@click.command(
    cls=NucCommand,
    examples=(
        ("nuc serve lin_roach", "a leg that is emulated; then, in another terminal: nuc ctl run"),
        (
            "nuc serve lin_roach --bus aimotor:///dev/ttyUSB0 --on-stop park --park Coxa-Trochanter=80",
            "a leg on an adapter; a stop moves it slowly into a pose that it can rest in",
        ),
        (
            "nuc serve lin_roach --bus left=aimotor:///dev/nuc/left --bus right=aimotor:///dev/nuc/right",
            "motors on two buses, which their configuration calls left and right",
        ),
        (
            "nuc serve two_legs --bus left=emulated: --bus right=emulated:",
            "each bus emulated by a process of its own, as servos without legs",
        ),
        (
            "nuc serve --bus aimotor:///dev/ttyUSB0 --log command",
            "no leg yet: a client names or sends the configuration; logged only when asked for",
        ),
        (
            "nuc serve lin_roach --command tcp://0.0.0.0:44106 --keys /etc/nuc/keys",
            "clients on other machines, who must have keys (nuc keys)",
        ),
    ),
    output=(
        "Events as JSON, one a line, and the status when it changes, on stderr. Each bout leaves a data directory under"
        " --data, as `nuc run` does.",
        "SIGTERM or Ctrl-C: torque off, confirmed by every servo, files put away. A second time: at once. Exit status 1"
        " when it could not start, or a servo did not confirm at the end.",
        "With rights for real time (systemd/, `nuc doctor`) it keeps its times; without them it runs, and says what is"
        " missing.",
    ),
)
@click.argument("config", metavar="[CONFIG]", type=CONFIGURATION, required=False, default="")
@option(
    "--bus",
    "buses",
    metavar="[NAME=]URL",
    multiple=True,
    default=("emulated:",),
    show_default=True,
    help="FAMILY:///dev/...[?baud=N&timeout_us=N] or emulated:[FAMILY][?...], of servos that the configuration has"
    " motors for; repeatable, with names that motors refer to.",
)
@option("--data", metavar="DIR", type=click.Path(path_type=Path), default=Path("data"), show_default=True)
@option(
    "--command",
    "commands",
    metavar="ADDR",
    multiple=True,
    help="Where else commands are taken: tcp://HOST:PORT or ipc://PATH; repeatable.",
)
@option(
    "--telemetry",
    metavar="ADDR",
    default="",
    help="Where else measurements are published, such as tcp://127.0.0.1:9872 for PlotJuggler's ZMQ source.",
)
@option("--udp", metavar="HOST:PORT", default="", help="Send the latest state there too, as datagrams.")
@option(
    "--log",
    "logging",
    type=click.Choice(["always", "command"]),
    default="always",
    show_default=True,
    help="Log every bout, or what `nuc ctl log` asks for.",
)
@option("--mcap", is_flag=True, help="Write an MCAP file too, for Foxglove and PlotJuggler.")
@option(
    "--on-stop",
    type=click.Choice(["off", "hold", "park"]),
    default="off",
    show_default=True,
    help="What a commanded stop does: torque off, hold the pose, or move slowly to the park pose. A fault: always off.",
)
@option("--park", "park", metavar="JOINT=DEG", type=Pair(), multiple=True, help="The park pose; repeatable, per joint.")
@option(
    "--on-service-loss",
    type=click.Choice(["continue", "stop"]),
    default="continue",
    show_default=True,
    help="Whether a bout goes on when nobody can log it or command it.",
)
@option(
    "--approach",
    "approach",
    metavar="DEG/S",
    type=click.FloatRange(0, 10_000, min_open=True),
    default=60.0,
    show_default=True,
    help="How fast commanded positions are approached from the measured ones.",
)
@limits(option)
@gravity_compensation(option)
@option("--label", "labels", metavar="K=V", type=Pair(), multiple=True, help="Label of every bout; repeatable.")
@option(
    "--priority",
    metavar="N",
    type=click.IntRange(0, _HIGHEST),
    default=50,
    show_default=True,
    help="Real-time priority of the engine; 0 for none.",
)
@option("--cpu", metavar="N", type=click.IntRange(0), help="Run the engine on this CPU alone.")
@option(
    "--line-workers/--no-line-workers",
    default=True,
    show_default=True,
    help="Give the kernel's threads that carry what servos say (kworker/u*) real-time priority below the engine's:"
    " else replies come late while other programs are busy.",
)
@option(
    "--spin",
    "spin",
    metavar="US",
    type=click.IntRange(0, 5_000),
    default=0,
    show_default=True,
    help="Poll for the last microseconds before a deadline instead of sleeping: punctual, and costs CPU.",
)
@option(
    "--stall-limit",
    metavar="MS",
    type=click.IntRange(12, 1_000),
    default=None,
    help="How long the engine may stand still before the guardian takes the torque off: 20 if not given, 250 without"
    " real-time priority.",
)
@option(
    "--silent-cycles",
    metavar="N",
    type=click.IntRange(2, 1_000),
    default=2,
    show_default=True,
    help="For how many cycles all servos of a bus may be silent and answer again, without the torque going off.",
)
@option(
    "--control-timeout",
    metavar="S",
    type=click.FloatRange(1, 86_400),
    default=60.0,
    show_default=True,
    help="How long a client may be silent and still have control.",
)
@option("--keys", metavar="DIR", type=click.Path(path_type=Path), help="Keys of the daemon and its clients.")
@option("--seed", metavar="N", type=click.IntRange(0), default=0, show_default=True, help="Decides an emulated leg.")
@click.pass_context
def command(
    ctx: click.Context,
    config: str,
    buses: Sequence[str],
    data: Path,
    commands: Sequence[str],
    telemetry: str,
    udp: str,
    logging: Literal["always", "command"],
    mcap: bool,
    on_stop: Literal["off", "hold", "park"],
    park: Sequence[tuple[str, str]],
    on_service_loss: Literal["continue", "stop"],
    approach: float,
    limits: Sequence[tuple[str, str]],
    gravity: float,
    labels: Sequence[tuple[str, str]],
    priority: int,
    line_workers: bool,
    cpu: int | None,
    spin: int,
    stall_limit: int | None,
    silent_cycles: int,
    control_timeout: float,
    keys: Path | None,
    seed: int,
) -> int:
    """Run the engine beside the leg CONFIG: in real time, commanded over a socket, safe when something breaks.

    Four processes share the work: the engine itself; a service that talks and writes files; a guardian that takes the
    torque off when the engine ends or stands still; and this one, which starts the others again. After a fault the leg
    is limp until `nuc ctl arm`.
    """
    need_linux("nuc serve", "real time, processes that are watched, and serial ports")
    from nuc_engine.daemon.launch import ServeOptions
    from nuc_engine.service.serve import serve

    take = collector(ctx)
    numbers = partial(_numbers, take)
    lines = _buses(take, config, buses or ())
    _check_addresses(take, commands or (), telemetry, udp)
    degrees = numbers("--park", park or (), _degrees, "degrees")
    ticks = numbers("--limit", limits or (), _ticks, f"whole ticks, 0 to {_MOST_TICKS}")
    take(lambda: _check_cpu(cpu))
    if on_stop == "park" and not park:
        take(lambda: _refuse("--on-stop park: say where to, with --park JOINT=DEG for each joint"))
    raise_wrong(ctx)
    if [url for _, url in lines if url.startswith("emulated:")] and len(lines) == 1:
        need(mujoco="an emulated leg")
    if mcap:
        need(mcap="--mcap")
    options = ServeOptions(
        configuration=config,
        data=data,
        commands=tuple(commands),
        telemetry=telemetry,
        udp=udp,
        logging=logging,
        mcap=mcap,
        on_stop=on_stop,
        on_service_loss=on_service_loss,
        park_deg=degrees,
        approach_deg_s=approach,
        limits=ticks,
        gravity_compensation=gravity,
        labels=dict(labels),
        priority=priority,
        line_workers=line_workers,
        cpu=cpu,
        spin_us=spin,
        stall_limit_ms=stall_limit,
        silent_cycles=silent_cycles,
        control_timeout_s=control_timeout,
        keys=keys,
    )
    return serve(options, lines, environment=os.environ, seed=seed, show=_show)


def _show(text: str) -> None:
    # A leg does not stop walking because its output is no longer read.
    with suppress(OSError):
        note(f"nuc serve: {text}")


def _buses(take: Take, config: str, words: Sequence[str]) -> list[tuple[str, str]]:
    from drivers.errors import BusUrlError
    from nuc_engine.service.serve import check_bus

    found: list[tuple[str, str]] = []
    for word in words:
        match = _BUS.fullmatch(word)
        if match is None:
            take(lambda word=word: _refuse(f"--bus {word}: expected URL or NAME=URL, such as aimotor:///dev/ttyUSB0"))
            continue
        found.append((match["name"] or "", match["url"]))
        take(lambda url=match["url"]: check_bus(url, config), BusUrlError)
    names = [name for name, _ in found]
    if len(found) > 1 and "" in names:
        take(lambda: _refuse("--bus: of several buses each needs a name, NAME=URL, that motors refer to"))
    elif len(set(names)) < len(names):
        take(lambda: _refuse(f"--bus: two buses are called {max(names, key=names.count)!r}"))
    return found


def _check_addresses(take: Take, commands: Sequence[str], telemetry: str | None, udp: str | None) -> None:
    from nuc_engine.service.access import read_address, read_datagram_address
    from nuc_engine.service.errors import ServiceError

    for address in (*commands, telemetry):
        if address:
            take(lambda address=address: read_address(address), ServiceError)
    if udp:
        take(lambda: read_datagram_address(udp), ServiceError)


def _numbers(
    take: Take, option_name: str, pairs: Sequence[tuple[str, str]], read: Callable[[str], Any], unit: str
) -> dict[str, Any]:
    numbers: dict[str, Any] = {}
    for name, text in pairs:
        value = read(text)
        if value is None:
            take(lambda name=name, text=text: _refuse(f"{option_name} {name}={text}: expected {unit}"))
        elif name in numbers:
            take(lambda name=name: _refuse(f"{option_name} {name} is given twice"))
        numbers[name] = value
    return numbers


def _refuse(text: str) -> None:
    raise click.UsageError(text)


def _degrees(text: str) -> float | None:
    try:
        value = float(text)
    except ValueError:
        return None
    return value if math.isfinite(value) else None


def _ticks(text: str) -> int | None:
    return int(text) if text.isdecimal() and text.isascii() and len(text) <= 5 and int(text) <= _MOST_TICKS else None


def _check_cpu(cpu: int | None) -> None:
    there = sorted(os.sched_getaffinity(0))
    if cpu is not None and cpu not in there:
        raise click.UsageError(f"--cpu {cpu}: this process may use {', '.join(map(str, there))}")
