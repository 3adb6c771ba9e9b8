"""`emulated:` in the daemon: the leg is a process of its own, `nuc emulate`, on a pseudo-terminal."""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path
from typing import NoReturn

from drivers.errors import BusUrlError
from drivers.factory import DEFAULT_FAMILY, find_family
from drivers.family import BusFamily
from drivers.serial.lineoptions import check_line, given_options, option_text
from drivers.url import split_url


def line_url(url: str, pty: Path) -> str:
    """Return the URL of the bus at the daemon's end of the pseudo-terminal. Raises BusUrlError."""
    family, given = _read(url)
    options = option_text({name: value for name, value in given.items() if name in family.line_options})
    return f"{family.name}://{pty}?{options}" if options else f"{family.name}://{pty}"


def emulator_args(
    url: str, configuration: str, pty: Path, seed: int, bus: str = "", live: Path | None = None
) -> list[str]:
    """Return the arguments of `nuc` that run the leg, or only the servos of it that name `bus`.

    `live` is a file in memory for what really happens to the leg. Those of one of several buses are servos without a
    leg: processes share no physics. Raises BusUrlError without a configuration, and for a family or an option that
    there is not.
    """
    family, given = _read(url)
    if not configuration:
        raise BusUrlError(f"{url!r}: which leg is to be emulated? Name its configuration: nuc serve CONFIG")
    words = ["emulate", configuration, "--pty", str(pty), "--seed", str(seed), "--json"]
    if family.name != DEFAULT_FAMILY:
        words += ["--family", family.name]
    if bus:
        words += ["--bus", bus, "--plant", "loopback"]
    elif live is not None:
        words += ["--live", str(live)]
    for name, value in given.items():
        words += ["--option", option_text({name: value})]
    return words


def exec_nuc(words: list[str]) -> NoReturn:
    """Turn this process into `nuc` with these arguments; its stdout is discarded, its stderr is kept."""
    nothing = os.open(os.devnull, os.O_RDWR)
    os.dup2(nothing, 0)
    os.dup2(nothing, 1)
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_DFL)
    os.execv(sys.executable, [sys.executable, "-m", "nuc_engine.cli", *words])  # noqa: S606


def _read(url: str) -> tuple[BusFamily, dict[str, float]]:
    family = find_family(split_url(url)[1] or DEFAULT_FAMILY)
    given = given_options(family, url)
    check_line(given)
    return family, given
