"""`nuc emulate`: a leg behind a pseudo-terminal, in real time."""

from __future__ import annotations

import json
import os
import select
import signal
import sys
from collections.abc import Mapping, Sequence
from contextlib import closing
from pathlib import Path
from time import monotonic_ns
from typing import TYPE_CHECKING, Any

import click

from drivers.factory import DEFAULT_FAMILY
from drivers.injection import FAULT_OPTIONS
from drivers.servo import PlantFault
from nuc_engine.cli.terminal.errors import CommandFailed
from nuc_engine.cli.terminal.leaving import when_ended
from nuc_engine.cli.terminal.output import is_terminal, note, say
from nuc_engine.cli.terminal.params import NucCommand, Pair, configuration
from nuc_engine.daemon.notify import Notifier, handed_over
from nuc_engine.emulation.leg import Leg, LegSpec
from nuc_engine.emulation.loop import LATE_NS
from nuc_engine.machine.needs import need, need_linux
from nuc_engine.realtime import RealtimePolicy, acquire

if TYPE_CHECKING:
    from nuc_engine.emulation.process import EmulatorProcess, LoopStatistics

_PRIORITY = 60

ORPHAN_S = 8
"""How long an emulated leg stays when the daemon that started it is dead: longer than whoever is left of that takes to
take the torque off (`nuc_engine.daemon.release.LAST_NS`)."""


@click.command(
    cls=NucCommand,
    examples=(
        (
            "nuc emulate lin_roach --pty /run/nuc/leg",
            "then, in another terminal: nuc serve lin_roach --bus aimotor:///run/nuc/leg",
        ),
        (
            "nuc emulate lin_roach --pty leg --baud 115200 --control leg.control --byte-log leg.bytes",
            "a faster line; may be told to misbehave while it runs; keeps every byte with its time",
        ),
        (
            "nuc emulate lin_roach --pty leg --fault drop=0.01 --fault flip=0.01",
            "of a hundred messages one is lost, and one has a bit turned over",
        ),
        (
            "nuc emulate my_roach --pty leg --family dynamixel --baud 1000000 --option latency_ms=16",
            "servos of another family, which the configuration has; an adapter that holds replies back",
        ),
        ("nuc emulate null_roach --pty leg --plant loopback", "servos without a leg"),
    ),
    output=(
        "One line once the terminal is there: its name, baud rate, leg; as JSON with --json, with the instant of plant"
        " time 0 (CLOCK_MONOTONIC, ns). On a terminal, a live line on stderr. SIGTERM, a closed window, Ctrl-C and the"
        " command quit end it.",
        'Commands for --control, one JSON object per line, e.g. {"command": "stick", "servo": 2}: status; faults (drop,'
        " flip, insert, truncate, delay, babble, delay_us; what is not named is 0); unplug and plug (the adapter, or"
        " one servo); stick and unstick (servo); supply (on); brown_out (servo); babble and trip (servo, on); wrong_id"
        " (servo, id); overload (limit_a, after_ms); stall (ms); kick (force_n: [forward, left, up], duration_ms; what"
        " is not named is drawn from the seed); load (down_n, duration_ms); disconnect (joint, duration_ms) and"
        " reconnect (duration_ms); ground (present); height (height_cm); quit. Each is answered with a line.",
        "The byte log holds every byte in either direction with its instants; nuc_engine.emulation.bytelog reads it.",
    ),
)
@configuration()
@click.option(
    "--pty", "pty", metavar="PATH", type=click.Path(path_type=Path), required=True, help="Name for the host's end."
)
@click.option(
    "--family",
    metavar="NAME",
    default=DEFAULT_FAMILY,
    show_default=True,
    help="What servos: aimotor, dynamixel, feetech, or one that is installed.",
)
@click.option("--baud", metavar="N", type=int, help="Bit/s of the line.  [default: the family's]")
@click.option(
    "--seed",
    metavar="N",
    type=click.IntRange(0),
    default=0,
    show_default=True,
    help="Decides the leg as in `nuc run`, and line faults and jitter.",
)
@click.option(
    "--plant",
    type=click.Choice(["mujoco", "loopback"]),
    default="mujoco",
    show_default=True,
    help="A leg, or only servos.",
)
@click.option("--bus", metavar="NAME", help="Only the motors that name this bus.  [default: all]")
@click.option(
    "--turnaround-us",
    metavar="US",
    type=click.FloatRange(0, 1e6),
    help="From a request's end to the start of its reply.  [default: the family's]",
)
@click.option(
    "--jitter-us",
    metavar="US",
    type=click.FloatRange(0, 1e6),
    help="Added to each turnaround: 0 to this much.  [default: 0]",
)
@click.option("--fault", "faults", metavar="K=V", type=Pair(), multiple=True, help="Line fault; repeatable.")
@click.option(
    "--option",
    "options",
    metavar="K=V",
    type=Pair(),
    multiple=True,
    help="Option of the family's emulated bus, or of any line (echo=1, latency_ms=16); repeatable.",
)
@click.option("--bytewise", is_flag=True, help="Hand replies over byte by byte, not when they are complete.")
@click.option("--byte-log", metavar="FILE", type=click.Path(path_type=Path), help="Log every byte with its time.")
@click.option("--control", metavar="PATH", type=click.Path(path_type=Path), help="Socket for commands while it runs.")
@click.option("--record", metavar="FILE", type=click.Path(path_type=Path), help="Log the true state, as PlantData.txt.")
@click.option(
    "--live",
    metavar="FILE",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="File in memory that `nuc serve` made: true state, to be watched (nuc_engine.client.Cycles).",
)
@click.option(
    "--priority",
    metavar="N",
    type=click.IntRange(0, 99),
    default=_PRIORITY,
    show_default=True,
    help="Real-time priority; 0 for none. Above the engine's: real servos do not wait for the engine either.",
)
@click.option("--cpu", metavar="N", type=click.IntRange(0), help="Run on this CPU only.")
@click.option("--notify", is_flag=True, help="Tell systemd when it is ready, and feed its watchdog.")
@click.option("--json", "as_json", is_flag=True, help="Print the first line as JSON; no live line.")
def command(
    config: str,
    pty: Path,
    family: str,
    baud: int | None,
    seed: int,
    plant: str,
    bus: str | None,
    turnaround_us: float | None,
    jitter_us: float | None,
    faults: Sequence[tuple[str, str]],
    options: Sequence[tuple[str, str]],
    bytewise: bool,
    byte_log: Path | None,
    control: Path | None,
    record: Path | None,
    live: Path | None,
    priority: int,
    cpu: int | None,
    notify: bool,
    as_json: bool,
) -> int:
    """Serve the emulated leg CONFIG on a pseudo-terminal, in real time, as if its servos were on a serial adapter."""
    if record is not None and plant == "loopback":
        raise click.UsageError("--record needs --plant mujoco: servos without a leg have no true state to record")
    need_linux("nuc emulate", "pseudo-terminals, and real time")
    if plant == "mujoco":
        need(mujoco="an emulated leg")
    from nuc_engine.daemon.spawn import END_SIGNAL
    from nuc_engine.emulation.process import EmulatorPaths, EmulatorProcess

    named = {"baud": baud, "turnaround_us": turnaround_us, "jitter_us": jitter_us}
    spec = LegSpec(
        config=config,
        family=family,
        options={
            **{name: float(value) for name, value in named.items() if value is not None},
            **_numbers("--option", options),
            **_line_faults(faults),
        },
        seed=seed,
        plant="loopback" if plant == "loopback" else "mujoco",
        bytewise=bytewise,
        bus=bus,
    )
    places = EmulatorPaths(pty=pty, byte_log=byte_log, control=control, record=record, live=live)
    shown = is_terminal(err=True) and not as_json
    leg = Leg(spec)
    # Before anything is open: taking the rights may take a tenth of a second, in which nothing would be served.
    with closing(acquire(RealtimePolicy(priority=priority or None, cpu=cpu))) as rights:
        for missing in rights.missing:
            note(f"nuc emulate: without {missing}")
        with (
            EmulatorProcess(leg, places, monotonic_ns, _wait, _show if shown else None) as process,
            when_ended(lambda *_: process.loop.stop()),
        ):
            for name in (signal.SIGINT, signal.SIGALRM):
                signal.signal(name, lambda *_: process.loop.stop())
            signal.signal(END_SIGNAL, lambda *_: signal.alarm(ORPHAN_S))
            _announce(process.describe(), as_json=as_json)
            if notify:
                _keep_telling(process)
            try:
                process.run()
            except PlantFault as fault:
                raise CommandFailed(f"nuc emulate: {fault}") from fault
            finally:
                if shown:
                    note("")
                if not as_json:
                    _sum_up(process)
    return 0


def _wait(deadline_ns: int, descriptors: Sequence[int]) -> Sequence[int]:
    left_ns = deadline_ns - monotonic_ns()
    return select.select(descriptors, (), (), left_ns * 1e-9 if left_ns > 0 else 0.0)[0]


def _keep_telling(process: EmulatorProcess) -> None:
    """Tell systemd that the terminal is there, and then that the loop turns, as often as it expects it."""
    systemd = handed_over(os.environ, os.getpid())
    notifier = Notifier(systemd.address)
    if not notifier.listens:
        note("nuc emulate: --notify, but nobody gave a NOTIFY_SOCKET; going on without")
        return
    notifier.ready()
    if systemd.watchdog_ns is not None:
        process.alive = notifier.watchdog


def _announce(what: Mapping[str, Any], *, as_json: bool) -> None:
    if as_json:
        say(json.dumps(what))
    else:
        servos = "" if what["family"] == DEFAULT_FAMILY else f", {what['family']}"
        say(f"{what['leg']}{servos} on {what['pty']} ({what['terminal']}) at {what['baud']} baud; Ctrl-C ends it")
    sys.stdout.flush()


def _show(sight: LoopStatistics) -> None:
    """Renew the live line, unless the terminal takes no more: nothing may hold the loop up."""
    descriptor = sys.stderr.fileno()
    if not select.select((), (descriptor,), (), 0)[1]:
        return
    # Short enough for any terminal: a line that wraps cannot be renewed.
    text = (
        f"{sight.exchanges_per_s:.0f}/s; replies late {sight.reply_p99_us:.0f} us (99 %),"
        f" {sight.reply_max_us:.0f} (most); plant behind {sight.plant_behind_ms:.1f} ms"
    )
    os.write(descriptor, f"\r{text}\x1b[K".encode())


def _sum_up(process: EmulatorProcess) -> None:
    loop = process.loop
    note(
        f"{loop.replies.count} replies, {loop.replies.late} of them over {LATE_NS // 1000} us late, {loop.lost} lost;"
        f" plant behind by at most {loop.plant_behind.max_ns / 1e6:.1f} ms"
    )
    for name, lost in process.losses().items():
        if lost:
            note(f"nuc emulate: {lost} records of the {name.replace('_', ' ')} are missing: the disk did not take them")


def _line_faults(pairs: Sequence[tuple[str, str]]) -> dict[str, float]:
    for name, _ in pairs:
        if name not in FAULT_OPTIONS:
            raise click.UsageError(f"--fault {name}: expected one of {', '.join(FAULT_OPTIONS)}")
    return _numbers("--fault", pairs)


def _numbers(option: str, pairs: Sequence[tuple[str, str]]) -> dict[str, float]:
    numbers: dict[str, float] = {}
    for name, text in pairs:
        try:
            numbers[name] = float(text)
        except ValueError as error:
            raise click.UsageError(f"{option} {name}={text}: expected a number") from error
    return numbers
