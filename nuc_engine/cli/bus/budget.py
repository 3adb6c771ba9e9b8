"""`nuc bus budget`: how fast a bus's loop can be, and what would make it faster; and what a bus, or a bout, reached."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from drivers.units import NS_PER_S
from nuc_engine.cli.bus.bench import FIRST_CYCLES, Bench
from nuc_engine.cli.bus.bout import check_bout, motors_of
from nuc_engine.cli.bus.lines import family_of, split_name
from nuc_engine.cli.terminal.errors import BAD, CommandFailed
from nuc_engine.cli.terminal.output import TableColumn, count, say, say_json, table
from nuc_engine.cli.terminal.params import CONFIGURATION, NucCommand, as_json
from nuc_engine.cli.terminal.progress import Counter

if TYPE_CHECKING:
    from drivers.bench.budget import Adapter, Budget
    from drivers.family import BusFamily

_ADAPTERS = ("none", "pty", "cdc", "ftdi1", "ftdi16")
_BY_DEVICE = (("ttyUSB", "ftdi1"), ("ttyACM", "cdc"), ("pts/", "pty"), ("ttyAMA", "none"), ("ttyS", "none"))
"""What a device is taken for by its name, links followed; the engine sets the timer of an FTDI adapter to 1 ms."""

_WAITED = 1.05
"""A cycle that is no longer than so many times cycleMin waited for it: what the bus took of it is not recorded."""

_MS = 1e6


@dataclass(frozen=True, slots=True)
class LineBudgetSpec:
    """What is known of a bus from its URL: family, rate, options, and what servos are believed to hesitate (ns)."""

    url: str
    family: BusFamily
    baud: int
    options: Mapping[str, float]
    turnaround_ns: int


@dataclass(frozen=True, slots=True)
class Reached:
    """What a bus made of it: where that was seen, cycles and their time (ns), and what was to be expected of them.

    `pause_ns` of each cycle the engine waited on purpose; `waits_ns` is the cycleMin that cycles waited for, 0 where
    they did not: then it shows how long the bus took.
    """

    source: str
    cycles: int
    cycle_ns: float
    missed: int | None
    predicted: Budget
    pause_ns: int = 0
    waits_ns: int = 0
    hint: str = ""

    @property
    def of_wire(self) -> float | None:
        """Share of the wire limit; None where it does not show."""
        return None if self.waits_ns else self.predicted.wire_ns / (self.cycle_ns - self.pause_ns)

    @property
    def of_prediction(self) -> float | None:
        """Share of what was predicted; None where it does not show."""
        return None if self.waits_ns else (self.predicted.cycle_ns + self.pause_ns) / self.cycle_ns


@click.command(
    "budget",
    cls=NucCommand,
    examples=(
        ("nuc bus budget lin_roach aimotor:///dev/ttyUSB0", "what limits the loop, and what would help"),
        (
            "nuc bus budget 18 'dynamixel:///dev/ttyUSB0?baud=1000000' --adapter ftdi16",
            "eighteen servos, timer at 16 ms",
        ),
        ("nuc bus budget lin_roach aimotor:///dev/ttyUSB0 --measure 5", "and what the bus really does; nothing moves"),
        ("nuc bus budget lin_roach aimotor:///dev/ttyUSB0 --bout data/mine", "and what a bout reached"),
    ),
    output=(
        "To stdout: what a cycle is made of, the loop's rate beside the wire limit, all forms of exchange at all rates,"
        " advice. With --measure or --bout also the wire efficiency: the share of the wire limit that was reached.",
        "Exit status 1 when servos did not answer.",
    ),
)
@click.argument("config", metavar="CONFIG|N", type=CONFIGURATION)
@click.argument("url", metavar="[NAME=]URL")
@click.option(
    "--adapter",
    type=click.Choice(_ADAPTERS),
    help="What is between host and line.  [default: by the device, else ftdi1]",
)
@click.option(
    "--turnaround-us", metavar="US", type=click.FloatRange(0, 1e6), help="What a servo takes before it answers."
    "  [default: what the family's emulator takes]"
)  # fmt: skip
@click.option("--measure", "seconds", metavar="S", type=click.FloatRange(0, 3600, min_open=True), help="Read so long.")
@click.option(
    "--bout",
    "bout",
    metavar="DIR",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    help="A finished bout, of CONFIG on such a bus; another is refused.",
)
@as_json
def command(
    config: str,
    url: str,
    adapter: str | None,
    turnaround_us: float | None,
    seconds: float | None,
    bout: Path | None,
    as_json: bool,
) -> int:
    """Predict how often per second a bus exchanges with all servos of CONFIG (or with N of them).

    The time of a cycle is that of its bytes on the wire, of the servos' hesitation, and of the adapter. Nothing is
    opened unless --measure asks for it.
    """
    from drivers.bench.budget import ADAPTERS, advise, form_for, predict

    name, url = split_name(url)
    line = _line(url, turnaround_us)
    if bout is not None:
        check_bout(bout, config, name, url, line.family, line.baud, line.options)
    motors, delay_ns, least_ns = motors_of(config, line.family.name, name)
    through = ADAPTERS[adapter] if adapter else _adapter_of(line)
    form = form_for(line.family.name, line.options)
    budget = predict(form, motors, line.baud, turnaround_ns=line.turnaround_ns, adapter=through)
    pause_ns = max(delay_ns, least_ns - budget.cycle_ns)
    advice = advise(budget, line.family.bauds, turnaround_ns=line.turnaround_ns, adapter=through)
    reached: list[Reached] = []
    if seconds is not None:
        named = f"{name}={url}" if name else url
        reached.append(_measure(line, named, config, motors, seconds, through))
    if bout is not None:
        reached.append(_of_bout(bout, budget, delay_ns, least_ns))
    silent = any(found.cycles == 0 for found in reached)
    if as_json:
        say_json(_as_data(line, budget, pause_ns, through, advice, reached, ok=not silent))
    else:
        _print(line, budget, pause_ns, through, advice, reached)
    return BAD if silent else 0


def _line(url: str, turnaround_us: float | None) -> LineBudgetSpec:
    from drivers.factory import find_family, is_emulated, parse_line
    from drivers.serial.lineoptions import given_options

    family = find_family(family_of(url))
    if is_emulated(url):
        options = given_options(family, url)
        baud = int(options.get("baud", family.line_options["baud"]))
    else:
        spec = parse_line(url)
        options, baud = spec.options, spec.baud
    usual_us = options.get("turnaround_us", family.emulator_options.get("turnaround_us", 0.0))
    hesitation_us = usual_us if turnaround_us is None else turnaround_us
    return LineBudgetSpec(url, family, baud, options, round(hesitation_us * 1000))


def _adapter_of(line: LineBudgetSpec) -> Adapter:
    """Return the adapter that the URL describes, else what a device of that name usually is."""
    from drivers.bench.budget import ADAPTERS, Adapter
    from drivers.factory import is_emulated, parse_line
    from drivers.serial.lineoptions import latency_ns

    if timer_ns := latency_ns(line.options):
        return Adapter("timer", f"an adapter with a latency timer of {timer_ns / 1e6:g} ms", timer_ns, 0)
    if is_emulated(line.url):
        return ADAPTERS["none"]
    device = os.path.realpath(parse_line(line.url).path)
    return ADAPTERS[next((adapter for part, adapter in _BY_DEVICE if part in device), "ftdi1")]


def _measure(line: LineBudgetSpec, url: str, config: str, motors: int, seconds: float, adapter: Adapter) -> Reached:
    """Read everybody for a while. Without a configuration, the first servos that answer."""
    from drivers.bench.budget import form_for, predict
    from drivers.bench.motion import watch

    number = config.isdecimal()
    ids = tuple(range(motors)) if number and url.startswith("emulated:") else None
    bench = Bench(url, ids, None if number else config)
    try:
        servos = bench.named or bench.whoever_is_there()[:motors]
        if not servos:
            raise CommandFailed(f"{line.url}: nobody answered; `nuc bus scan {line.url}` tells who is there")
        times: list[int] = []
        missed, cycles, counter, before_ns = 0, 0, Counter(), 0
        with bench.stop as stop:
            for look in watch(bench.bus(servos), bench.pace, 0, stop):
                cycles += 1
                if look.good and cycles > FIRST_CYCLES:
                    times.append(look.time_ns - before_ns)
                missed += sum(status != 1 for status in look.statuses)
                before_ns = look.time_ns
                counter.show(f"{look.time_ns / NS_PER_S:.1f} of {seconds:g} s ")
                if look.time_ns >= seconds * NS_PER_S:
                    break
        counter.clear()
    finally:
        bench.close()
    form = form_for(line.family.name, line.options)
    expected = predict(form, len(servos), line.baud, turnaround_ns=line.turnaround_ns, adapter=adapter, reading=True)
    mean_ns = sum(times) / len(times) if times else float("nan")
    return Reached("reading", len(times), mean_ns, missed, expected, hint=_hint(line, expected, mean_ns, adapter))


def _hint(line: LineBudgetSpec, expected: Budget, mean_ns: float, adapter: Adapter) -> str:
    """Say so where the servos look as if they still hesitated as they do when delivered."""
    from drivers.bench.budget import AS_DELIVERED_NS, predict

    late_ns = AS_DELIVERED_NS.get(line.family.name, 0)
    form, servos = expected.form, expected.servos
    slow_ns = line.turnaround_ns + late_ns
    slow = predict(form, servos, line.baud, turnaround_ns=slow_ns, adapter=adapter, reading=True)
    if not late_ns or mean_ns < (expected.cycle_ns + slow.cycle_ns) / 2:
        return ""
    return (
        f"servos as delivered answer {late_ns / _MS:g} ms late (return delay): {slow.cycle_ns / _MS:.3f} ms a cycle;"
        " the engine sets that to 0 before it drives, reading alone changes nothing"
    )


def _of_bout(folder: Path, budget: Budget, delay_ns: int, least_ns: int) -> Reached:
    """Return what the cycles of a finished bout took: their median, since stops and starts do not count.

    A bout's rows tell when cycles ended, not when they began: where those wait for cycleMin, what the bus took of it
    does not show.
    """
    from itertools import pairwise
    from statistics import median

    from nuc_engine.analysis.load import load_bout

    times_s: Sequence[float] = load_bout(folder).motor.t_s.tolist()
    steps = [later - earlier for earlier, later in pairwise(times_s)]
    if not steps:
        return Reached(str(folder), 0, float("nan"), None, budget)
    cycle_ns = median(steps) * NS_PER_S
    waits_ns = least_ns if cycle_ns <= _WAITED * least_ns else 0
    return Reached(str(folder), len(steps), cycle_ns, None, budget, delay_ns, waits_ns)


def _print(
    line: LineBudgetSpec,
    budget: Budget,
    pause_ns: int,
    adapter: Adapter,
    advice: Sequence[str],
    reached: Sequence[Reached],
) -> None:
    form = budget.form
    say(f"{count(budget.servos, 'servo')} of family {line.family.name} at {line.baud} bit/s; {adapter.title}")
    say(form.title)
    say()
    parts = (
        ("wire", budget.wire_ns, f"{budget.bytes} bytes"),
        ("servos", budget.turn_ns, f"{line.turnaround_ns / 1000:g} us before each answer that is waited for"),
        ("adapter", budget.host_ns, adapter.title),
        ("cycle", budget.cycle_ns, f"{budget.rate_hz:.1f} Hz; the wire alone would allow {budget.limit_hz:.1f} Hz"),
    )
    columns = (TableColumn("part", "<8"), TableColumn("ms", ">8", ".3f"), TableColumn("share", ">6", ".0%"))
    rows: list[tuple[object, ...]] = [(name, part_ns / _MS, part_ns / budget.cycle_ns) for name, part_ns, _ in parts]
    words = ["", *(words for _, _, words in parts)]
    if pause_ns:
        loop_ns = budget.cycle_ns + pause_ns
        rows += [("pause", pause_ns / _MS, ""), ("loop", loop_ns / _MS, "")]
        words += [
            "by the configuration: motor_control_delay_ns, or its motors' cycleMin",
            f"{NS_PER_S / loop_ns:.1f} Hz",
        ]
    for text, more in zip(table(columns, rows), words, strict=True):
        say(f"{text}  {more}" if more else text)
    say()
    _print_forms(line, budget, adapter)
    say()
    say(
        f"Most of a cycle is the {budget.limited_by}'s."
        if budget.limited_by != "servos"
        else "Most of a cycle is the servos'."
    )
    for words in advice:
        say(f"- {words}")
    if not advice:
        say("- nothing here would make it a tenth faster")
    for found in reached:
        say(_words(found))
        if found.hint:
            say(found.hint)


def _print_forms(line: LineBudgetSpec, budget: Budget, adapter: Adapter) -> None:
    """Print Hz by rate and form, named as the URL asks for it, and the bytes of a cycle."""
    from drivers.bench.budget import forms_of, predict

    forms = forms_of(line.family.name)
    names = [f"{form.option}=1 " if form.option else f"{form.name} " for form in forms]
    columns = [TableColumn("bit/s", ">8"), *(TableColumn(name, f">{max(len(name), 9)}") for name in names)]
    rows: list[list[str]] = []
    for baud in line.family.bauds:
        found = [
            predict(form, budget.servos, baud, turnaround_ns=line.turnaround_ns, adapter=adapter) for form in forms
        ]
        here = [baud == budget.baud and form == budget.form for form in forms]
        cells = [f"{one.rate_hz:.1f}{'*' if this else ' '}" for one, this in zip(found, here, strict=True)]
        rows.append([str(baud), *cells])
    rows.append(["bytes", *(f"{form.drive.bytes.of(budget.servos)} " for form in forms)])
    head, *body = table(columns, rows)
    say(f"{head}  Hz; * this bus")
    for text in body:
        say(text.rstrip())


def _words(found: Reached) -> str:
    if not found.cycles:
        return f"{found.source}: not one whole cycle"
    missed = "" if found.missed is None else f", {count(found.missed, 'exchange')} missed"
    cycles = f"{count(found.cycles, 'cycle')}, {found.cycle_ns / _MS:.3f} ms each, {NS_PER_S / found.cycle_ns:.1f} Hz"
    begin = f"{found.source}: {cycles}{missed}"
    if found.of_prediction is None or found.of_wire is None:
        least = f"{found.waits_ns / _MS:g} ms"
        return f"{begin}; a cycle waits for its motors' cycleMin ({least}): what the bus takes does not show in a bout"
    return (
        f"{begin}; {found.of_prediction:.0%} of the prediction ({found.predicted.cycle_ns / _MS:.3f} ms),"
        f" wire efficiency {found.of_wire:.0%}"
    )


def _as_data(
    line: LineBudgetSpec,
    budget: Budget,
    pause_ns: int,
    adapter: Adapter,
    advice: Sequence[str],
    reached: Sequence[Reached],
    *,
    ok: bool,
) -> dict[str, Any]:
    return {
        "ok": ok,
        "url": line.url,
        "family": line.family.name,
        "form": budget.form.name,
        "adapter": adapter.name,
        "turnaround_us": line.turnaround_ns / 1000,
        **_budget_data(budget),
        "pause_ms": pause_ns / _MS,
        "loop_hz": NS_PER_S / (budget.cycle_ns + pause_ns),
        "advice": list(advice),
        "measured": [
            {
                "source": found.source,
                "cycles": found.cycles,
                "cycle_ms": found.cycle_ns / _MS,
                "rate_hz": NS_PER_S / found.cycle_ns,
                "missed": found.missed,
                "waits_for_cycle_min_ms": found.waits_ns / _MS if found.waits_ns else None,
                "of_prediction": found.of_prediction,
                "wire_efficiency": found.of_wire,
                "predicted": _budget_data(found.predicted),
                "hint": found.hint,
            }
            for found in reached
        ],
    }


def _budget_data(budget: Budget) -> dict[str, Any]:
    return {
        "servos": budget.servos,
        "baud": budget.baud,
        "bytes": budget.bytes,
        "wire_ms": budget.wire_ns / _MS,
        "servos_ms": budget.turn_ns / _MS,
        "adapter_ms": budget.host_ns / _MS,
        "cycle_ms": budget.cycle_ns / _MS,
        "rate_hz": budget.rate_hz,
        "limit_hz": budget.limit_hz,
        "limited_by": budget.limited_by,
    }
