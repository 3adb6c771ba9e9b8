"""`emulated:` in the daemon: the leg is a process of its own, `nuc emulate`, on a pseudo-terminal."""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path
from typing import NoReturn

from drivers.errors import BusUrlError
from drivers.url import split_url

_LINE_OPTIONS = ("baud", "timeout_us", "v_max_deg_s")
_EMULATOR_OPTIONS = ("baud", "turnaround_us", "jitter_us")


def line_url(url: str, pty: Path) -> str:
    """Return the URL of the bus at the daemon's end of the pseudo-terminal."""
    _, family, query = split_url(url)
    options = [f"{name}={text}" for name, text in _options(url, query) if name in _LINE_OPTIONS]
    tail = f"?{'&'.join(options)}" if options else ""
    return f"{family or 'aimotor'}://{pty}{tail}"


def emulator_words(url: str, configuration: str, pty: Path, seed: int, bus: str = "") -> list[str]:
    """Return the arguments of `nuc` that run the leg, or only the servos of it that name `bus`.

    Those of one of several buses are servos without a leg: processes share no physics. Raises BusUrlError without a
    configuration.
    """
    _, family, query = split_url(url)
    if not configuration:
        raise BusUrlError(f"{url!r}: which leg is to be emulated? Name its configuration: nuc serve CONFIG")
    if family not in ("", "aimotor"):
        raise BusUrlError(f"{url!r}: nuc emulate knows aimotor only")
    words = ["emulate", configuration, "--pty", str(pty), "--seed", str(seed), "--json"]
    if bus:
        words += ["--bus", bus, "--plant", "loopback"]
    for name, text in _options(url, query):
        if name in _EMULATOR_OPTIONS:
            words += [f"--{name.replace('_', '-')}", text]
        elif name not in _LINE_OPTIONS:
            words += ["--fault", f"{name}={text}"]
    return words


def become(words: list[str]) -> NoReturn:
    """Turn this process into `nuc` with these arguments; its results are nobody's, its complaints are heard."""
    nothing = os.open(os.devnull, os.O_RDWR)
    os.dup2(nothing, 0)
    os.dup2(nothing, 1)
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_DFL)
    os.execv(sys.executable, [sys.executable, "-m", "nuc_engine.cli", *words])  # noqa: S606


def _options(url: str, query: str) -> list[tuple[str, str]]:
    options: list[tuple[str, str]] = []
    for item in query.split("&") if query else ():
        name, equals, text = item.partition("=")
        if not equals or not name:
            raise BusUrlError(f"{url!r}: {item!r} is no option: expected NAME=NUMBER")
        options.append((name, text))
    return options
