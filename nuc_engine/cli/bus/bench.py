"""One bus at the bench: opened, its servos and their models known, let go of and closed; and how a command declares it.

A command asks for a `Bench` with `on_bench` and gets it as its first argument; the bus is opened once it is needed, and
closed when the command ends.
"""

from __future__ import annotations

import signal
import sys
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import cached_property, wraps
from types import FrameType
from typing import TYPE_CHECKING, Any

import click

from drivers.units import NS_PER_S
from nuc_engine.cli.bus import lines
from nuc_engine.cli.bus.lines import emulate, family_of, planned_servos, split_name, spoken
from nuc_engine.cli.bus.params import Ids
from nuc_engine.cli.terminal.errors import BAD, CommandFailed
from nuc_engine.cli.terminal.output import note, say, say_json
from nuc_engine.cli.terminal.params import CONFIGURATION, NucCommand
from nuc_engine.machine.needs import need_linux

if TYPE_CHECKING:
    from drivers.bench.plant import BenchPlant
    from drivers.bus import Bus
    from drivers.clock import WaitingClock
    from drivers.family import BusFamily
    from drivers.port import Port
    from drivers.servo import ServoAddress, ServoModel
    from drivers.url import LineSpec

Function = Callable[..., int]

FIRST_CYCLES = 2
"""In them servos are asked who they are: their time says nothing of those that follow."""

NOBODY = (
    "nobody answered: is the supply on, the rate right (--all-rates), the adapter the right one? Does it hear itself"
    " (echo=1 in the URL)?"
)
_RELEASE_S = 2.0
"""How long servos are told to go limp at the end of what moved them."""

ALONE = "only this servo should be on the line: two that have the same id both change"

SHARED = "two servos of that id both change"

_WCK_ONLY = (
    "on AI motors the commands that set id and rate are not established: their numbering is probably not the wCK's,"
    " whose 'gain read' would set the id. If this servo is a wCK, say so with wck=1 in the URL"
)

UNCONFIRMED = "the torque is not confirmed to be off"


class Stop:
    """Whether somebody wants it to end: Ctrl-C, a terminal that is closed, a request to terminate.

    Once it is `noting` (or as a context) these only set a flag, so that whatever is under way ends between two
    exchanges and the torque can be taken off, or a servo is not left half set.
    """

    _SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGBREAK if sys.platform == "win32" else signal.SIGHUP)

    def __init__(self) -> None:
        self.asked = False
        self._prompting = False
        self._before: list[Any] = []

    def __call__(self) -> bool:
        """Say whether it was asked for."""
        return self.asked

    def __enter__(self) -> Stop:
        return self.noting()

    def __exit__(self, *_: object) -> None:
        self.end()

    def noting(self) -> Stop:
        """Only note signals from now on."""
        if not self._before:
            self._before = [signal.signal(number, self._note) for number in self._SIGNALS]
        return self

    def end(self) -> None:
        """Leave signals as they were found."""
        for number, handler in zip(self._SIGNALS, self._before, strict=False):
            signal.signal(number, handler)
        self._before = []

    def prompt(self, text: str, **how: Any) -> Any:
        """Ask somebody something; Ctrl-C ends that at once."""
        self._prompting = True
        try:
            return click.prompt(text, err=True, **how)
        finally:
            self._prompting = False

    def _note(self, number: int, frame: FrameType | None) -> None:
        self.asked = True
        if self._prompting:
            raise KeyboardInterrupt


class Bench:
    """One bus, real or emulated; `ids` and `config` name the servos on it that a command is about.

    `plant` is what emulated servos turn, None for real ones; `told` which models servos said they are, by id; `remark`
    what there is to say of the adapter's latency. Raises `BusUrlError`, `PortError` when it is opened.
    """

    def __init__(
        self,
        url: str,
        ids: tuple[int, ...] | None = None,
        config: str | None = None,
        model: str | None = None,
        *,
        as_json: bool = False,
    ) -> None:
        from drivers.factory import is_emulated

        self.url, self.model, self.as_json = url, model, as_json
        self.ids, self.config = ids, config
        self._name, self._address = split_name(url)
        self.emulated = is_emulated(self._address)
        if not self.emulated:
            need_linux("a servo bus on a serial port", "its ttys, epoll and locks")
        self.plant: BenchPlant | None = None
        self.remark = ""
        self.told: Mapping[int, str] = {}
        self.stop = Stop()
        self.released = True
        self._emulator: Any = None
        self._opened: Port | None = None

    def close(self) -> None:
        """Give port and signals back."""
        self.stop.end()
        if self._opened is not None:
            self._opened.close()
        self._opened = None

    # The line.

    @cached_property
    def spec(self) -> LineSpec:
        """The line as the URL describes it."""
        from drivers.factory import parse_line

        # Names that are wrong are wrong before anything is opened.
        servos = self.named
        if not self.emulated:
            return parse_line(self._address)
        spec, self.plant, self._emulator = emulate(self._address, servos)
        return spec

    @cached_property
    def family(self) -> BusFamily:
        """The family of its servos."""
        from drivers.factory import find_family

        return find_family(family_of(self._address))

    @property
    def port(self) -> Port:
        """The open port."""
        return self._opened or self.open(self.spec.baud)

    @cached_property
    def pace(self) -> WaitingClock:
        """The clock it goes by."""
        from drivers.clock import VirtualPace

        return VirtualPace() if self.emulated else lines.RealPace()

    def open(self, baud: int) -> Port:
        """Speak at this rate from now on. Raises `PortError`."""
        from drivers.factory import open_port
        from drivers.serial.lineoptions import emulated_port, host_port

        if self._opened is not None:
            self._opened.close()
        self.spec = replace(self.spec, baud=baud)
        if self._emulator is not None:
            self._emulator.baud = baud
            self._opened = emulated_port(self._emulator, self.spec.options)
        else:
            port = open_port(self.spec.path, baud)
            self.remark = port.latency.remark
            self._opened = host_port(port, self.spec.options)
        return self._opened

    def rates(self, *, every: bool) -> Iterator[int]:
        """Open it at the rate of its URL, or one after the other at all that its family has, and yield which."""
        for baud in self.family.bauds if every and not self.emulated else (self.spec.baud,):
            self.open(baud)
            yield baud

    def bus(self, servos: Sequence[ServoAddress] = ()) -> Bus:
        """Return a bus of these servos; of any one servo where there are none yet."""
        port = self.port
        return self.family.bus_on_port(self.spec, port, servos or (self.family.any_servo(),))

    # Its servos.

    @cached_property
    def named(self) -> tuple[ServoAddress, ...]:
        """The servos that the command named, perhaps none. Raises UsageError, `NotFound`, `Refused`."""
        from drivers.servo import ServoAddress

        ids = self.ids
        if self.config is None:
            return tuple(ServoAddress(bus_id, f"id {bus_id}", self.model or "") for bus_id in ids or ())
        known = planned_servos(self.config, family_of(self._address), self._name)
        servos = tuple(servo for servo in known if ids is None or servo.bus_id in ids)
        if ids is not None and (unknown := set(ids) - {servo.bus_id for servo in servos}):
            raise click.UsageError(f"{self.config} has no servo of id {', '.join(map(str, sorted(unknown)))}")
        return servos

    def addresses(self, ids: Sequence[int]) -> tuple[ServoAddress, ...]:
        """Return the family's addresses of these ids, without those that it does not have."""
        return tuple(servo for servo in self.family.every_servo() if servo.bus_id in ids)

    def address(self, bus_id: int) -> tuple[ServoAddress, ...]:
        """Return the one address of an id. Raises UsageError for one that the family does not have."""
        if found := self.addresses([bus_id]):
            return found
        ids = [servo.bus_id for servo in self.family.every_servo()]
        raise click.UsageError(f"{self.family.name} servos have ids {min(ids)} to {max(ids)}, not {bus_id}")

    def present(self, bus_id: int) -> bool:
        """Say whether a servo of that id answers."""
        from drivers.bench.release import answers

        return answers(self.bus(self.address(bus_id)), self.pace)

    def whoever_is_there(self) -> tuple[ServoAddress, ...]:
        """Return the servos that were named, or those that answer; perhaps none. Raises `PortError`."""
        from drivers.bench.release import discover

        return self.named or self.addresses(discover(self.bus(), self.pace))

    def servos(self) -> tuple[ServoAddress, ...]:
        """Return the servos that were named, or those that answer, with their models. Raises `Refused` for nobody."""
        servos = self.whoever_is_there()
        if not servos:
            raise CommandFailed(f"{self.url}: {NOBODY}")
        return self.with_models(servos)

    def check_established(self) -> None:
        """Raise `Refused` for servos whose commands are not established well enough to store anything."""
        from drivers.factory import DEFAULT_FAMILY

        _ = self.port
        if self.family.name == DEFAULT_FAMILY and not self.spec.options.get("wck"):
            raise CommandFailed(f"{self.url}: {_WCK_ONLY}")

    # Their models.

    @property
    def models(self) -> Mapping[str, ServoModel]:
        """What is known of the family's models, in the raw positions that this line speaks of."""
        return spoken(self.family, self.spec.options)

    def check_model(self) -> None:
        """Raise UsageError for a --model that the family does not have."""
        if self.model is not None and self.model not in self.models:
            raise click.UsageError(f"--model {self.model}: {self.family.name} has {', '.join(self.models)}")

    def with_models(self, servos: Sequence[ServoAddress]) -> tuple[ServoAddress, ...]:
        """Return servos with their models: a configuration's, as told by --model, or as they say themselves."""
        self.check_model()
        if not self.model and not all(servo.model for servo in servos):
            self._ask_models(servos)
        known = {bus_id: name for bus_id, name in self.told.items() if name in self.models}
        return tuple(replace(servo, model=servo.model or self.model or known.get(servo.bus_id, "")) for servo in servos)

    def only_servo(self, bus_id: int) -> tuple[ServoAddress, ServoModel]:
        """Return one servo and what is known of its model. Raises UsageError."""
        servos = self.named or self.addresses([bus_id])
        if not servos:
            raise click.UsageError(f"{self.family.name} servos have no id {bus_id}")
        (servo,) = self.with_models(servos)
        return servo, self.model_of(servo)

    def name_models(self, numbers: Mapping[int, int]) -> dict[int, str]:
        """Return names by id of the models with these numbers: all of them where several have the same."""
        names: dict[int, str] = {}
        for bus_id, number in numbers.items():
            found = [name for name, model in self.models.items() if model.number == number]
            names[bus_id] = " or ".join(found) or f"number {number}"
        return names

    def model_of(self, servo: ServoAddress) -> ServoModel:
        """Return what is known of a servo's model. Raises UsageError where it is not told."""
        known = self.models.get(servo.model)
        if known is None:
            told = servo.model or self.told.get(servo.bus_id)
            said = f"says it is {told}" if told else "does not say which model it is"
            names = ", ".join(self.models)
            raise click.UsageError(f"id {servo.bus_id} {said}: give --model, one of {names}, or --config")
        return known

    def tick_deg_of(self, servo: ServoAddress) -> float | None:
        """Return the degrees of a raw position: the model's, or those all models of the family share; else None."""
        if servo.model in self.models:
            return self.models[servo.model].tick_deg
        ticks = {model.tick_deg for model in self.models.values()}
        return ticks.pop() if len(ticks) == 1 else None

    def _ask_models(self, servos: Sequence[ServoAddress]) -> None:
        """Ask servos what they are, where the family's wire tells."""
        from drivers.bench.release import discover

        if all(model.number < 0 for model in self.models.values()):
            return
        bus = self.bus(servos)
        discover(bus, self.pace, [servo.bus_id for servo in servos])
        self.told = self.name_models(getattr(bus, "found_models", {}))

    # The end.

    @contextmanager
    def driving(self, bus: Bus) -> Generator[Stop]:
        """Note signals while servos are driven; in the end the torque goes off, whatever happened.

        `released` says whether everybody has confirmed; where somebody has not, that is said too.
        """
        with self.stop as stop:
            try:
                yield stop
            finally:
                self.released = self._let_go(bus)

    def _let_go(self, bus: Bus) -> bool:
        from drivers.bench.release import Releasing, release

        line = Releasing(self.url, bus, tuple(servo.bus_id for servo in bus.servos))
        release([line], self.pace, self.pace.now_ns + round(_RELEASE_S * NS_PER_S))
        if line.failure:
            note(f"{self.url}: {line.failure}; torque may be on: cut the supply")
        elif not line.confirmed_all:
            ids = ", ".join(map(str, line.missing))
            note(f"{self.url}: no confirmation that the torque of id {ids} is off: cut the supply")
        return line.confirmed_all

    def confirmed(self, word: object, what: str, *, yes: bool) -> bool:
        """Say what will be done, and ask for a word; True when it was typed.

        Raises UsageError where nobody can type.
        """
        note(f"{self.url}: {what}")
        if yes:
            return True
        if nobody_types():
            raise click.UsageError(f"nobody is there to confirm this by typing {word}: say --yes, or use a terminal")
        typed = click.prompt(f"Type {word} to do it", default="", show_default=False, err=True).strip()
        if typed != str(word):
            note(f"{typed!r} is not {word}: nothing was changed")
        return typed == str(word)

    def report(self, data: Mapping[str, Any], text: Iterable[str], errors: Sequence[str]) -> int:
        """Print what came of it, as lines or with --json as an object; return the exit status."""
        if self.as_json:
            say_json({"ok": not errors, "url": self.url, **data, "errors": errors})
        else:
            for line in text:
                say(line)
            for error in errors:
                note(f"{self.url}: {error}")
        return BAD if errors else 0


def nobody_types() -> bool:
    """Say whether stdin is no terminal."""
    return not sys.stdin.isatty()


url = click.argument("url", metavar="[NAME=]URL")
_OPTIONS: Mapping[str, Callable[[Function], Function]] = {
    "ids": click.option("--ids", type=Ids(), help="Servos by their ids on the bus, such as 10,11 or 0-3."),
    "ids!": click.option("--ids", type=Ids(), required=True, help="Servos by their ids, such as 10,11 or 0-3."),
    "id": click.option("--id", "bus_id", metavar="ID", type=click.IntRange(0), help="The servo."),
    "id!": click.option("--id", "bus_id", metavar="ID", type=click.IntRange(0), required=True, help="The servo."),
    "config": click.option(
        "--config", "-c", metavar="CONFIG", type=CONFIGURATION, help="The servos of a configuration."
    ),
    "model": click.option(
        "--model",
        "-m",
        metavar="MODEL",
        help="What the servos are, such as 1001 or XM430-W350: where neither they nor a configuration tell.",
    ),
    "level": click.option(
        "--level", type=click.IntRange(0, 4), default=3, show_default=True, help="Torque: 0 strongest, 4 weakest."
    ),
    "yes": click.option("--yes", is_flag=True, help="Do not ask."),
}
"""What several commands are asked, `!` where it has to be given. The roach was driven at level 3; 0 was drastic."""


def on_bench(
    *options: str, json: str = "Print one JSON object instead of text.", **how: Any
) -> Callable[[Function], click.Command]:
    """Declare a command on one bus: `[NAME=]URL`, some of the options above, its own, --json.

    The function gets the `Bench`; of the options, those that name no servos. `how` are the words of `Command`.
    """

    def declare(function: Function) -> click.Command:
        @wraps(function)
        def run(
            url: str,
            as_json: bool,
            ids: tuple[int, ...] | None = None,
            config: str | None = None,
            model: str | None = None,
            **given: Any,
        ) -> int:
            if ids is None and given.get("bus_id") is not None:
                ids = (given["bus_id"],)
            bench = Bench(url, ids, config, model, as_json=as_json)
            try:
                return function(bench, **given)
            finally:
                bench.close()

        # Click takes them from the last to the first.
        own = run.__dict__.pop("__click_params__", [])
        click.option("--json", "as_json", is_flag=True, help=json)(run)
        run.__dict__["__click_params__"] += own
        for option in reversed(options):
            _OPTIONS[option](run)
        url(run)
        return click.command(cls=NucCommand, **how)(run)

    return declare
