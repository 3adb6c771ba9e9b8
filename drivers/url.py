"""Bus URLs: `SCHEME:[FAMILY][?OPTION=NUMBER&...]`, checked strictly."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches

from drivers.errors import BusUrlError


@dataclass(frozen=True, slots=True)
class BusUrl:
    """A parsed URL; `family` is empty when none was named."""

    scheme: str
    family: str
    options: dict[str, float]


@dataclass(frozen=True, slots=True)
class LineSpec:
    """A bus on a serial port of this machine, as its URL describes it: family of servos, device, rate, other options.

    A value that can be handed to another process: one opens the port, another builds the bus on it.
    """

    family: str
    path: str
    baud: int
    options: Mapping[str, float]

    @property
    def url(self) -> str:
        """The URL again, rate and all; `URL` where there is no device (emulated servos of this process)."""
        if not self.path:
            return "URL"
        options = {"baud": float(self.baud), **self.options}
        words = (f"{name}={int(v) if v.is_integer() else v}" for name, v in options.items())
        return f"{self.family}://{self.path}?{'&'.join(words)}"


def split_url(url: str) -> tuple[str, str, str]:
    """Return scheme, what follows the colon, and the options after `?`. Raises `BusUrlError` without a colon."""
    head, _, query = url.partition("?")
    scheme, colon, rest = head.partition(":")
    if not colon or not scheme:
        raise BusUrlError(f"{url!r} is no bus URL: expected SCHEME:..., for example emulated:aimotor")
    return scheme, rest, query


def device_path(url: str) -> str:
    """Return the device of `FAMILY:///dev/...`. Raises `BusUrlError` when the URL names none by its whole path."""
    scheme, rest, _ = split_url(url)
    path = rest.removeprefix("//")
    if not path.startswith("/") or path.startswith("//") or path.endswith("/"):
        raise BusUrlError(f"{url!r} names no device: expected {scheme}:///dev/..., for example {scheme}:///dev/ttyUSB0")
    return path


def parse_url(url: str, known: Sequence[str]) -> BusUrl:
    """Parse `url`, whose options must be among `known`, finite numbers, each at most once. Raises `BusUrlError`."""
    scheme, family, query = split_url(url)
    options: dict[str, float] = {}
    for item in query.split("&") if query else ():
        name, equals, text = item.partition("=")
        if name not in known:
            near = get_close_matches(name, known, 1)
            hint = f" (did you mean {near[0]!r}?)" if near else ""
            raise BusUrlError(f"{url!r}: unknown option {name!r}{hint}; expected {', '.join(known)}")
        if name in options:
            raise BusUrlError(f"{url!r}: option {name!r} is given twice")
        options[name] = _number(url, name, text if equals else "")
    return BusUrl(scheme, family, options)


def _number(url: str, name: str, text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise BusUrlError(f"{url!r}: option {name!r} is {text!r}: expected a number")
    return value
