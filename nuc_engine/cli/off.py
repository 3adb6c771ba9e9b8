"""`nuc ctl off` before the command line of all other commands is loaded: who types it must not wait for them.

`hurry` takes what is plainly that; whatever else the words may mean is for `nuc_engine.cli.ctl`.
"""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

from nuc_engine.cli.leaving import UNREAD, unread
from nuc_engine.cli.person import own_name
from nuc_engine.client.address import DEFAULT_ADDRESS
from nuc_engine.client.errors import ClientError
from nuc_engine.client.off import take_torque_off

if TYPE_CHECKING:
    from pathlib import Path

    from nuc_engine.client.sockets import Keys

_OPTIONS: Mapping[str, str] = MappingProxyType(
    {"-a": "address", "--address": "address", "-n": "name", "--name": "name", "--keys": "keys", "--timeout": "timeout"}
)


class Wanted(NamedTuple):
    """Whose torque is to go off, who says so, and why. An empty name: who is logged in; `keys` as for `load_keys`."""

    address: str = DEFAULT_ADDRESS
    name: str = ""
    keys: str | Path | None = None
    timeout_s: float = 2.0
    why: str | None = None
    as_json: bool = False


def hurry(words: Sequence[str]) -> int | None:
    """Do what the words after `nuc ctl` say if that is `off`; return the exit status, None where it is not."""
    wanted = read(words)
    if wanted is None:
        return None
    try:
        return off(wanted)
    except KeyboardInterrupt:
        return _complain("nuc: stopped", as_json=wanted.as_json)
    except BrokenPipeError:
        if not unread():
            raise
        return UNREAD


def read(words: Sequence[str]) -> Wanted | None:
    """Return what the words after `nuc ctl` ask for if they are `off` in its plain form, and None otherwise."""
    given: dict[str, str] = {}
    rest = list(words)
    while len(rest) > 2 and rest[0] in _OPTIONS:
        given[_OPTIONS[rest[0]]] = rest[1]
        rest = rest[2:]
    why = [word for word in rest[1:] if word != "--json"]
    timeout_s = _seconds(given.get("timeout", "2"))
    if rest[:1] != ["off"] or len(why) > 1 or any(word.startswith("-") for word in why) or timeout_s is None:
        return None
    return Wanted(
        given.get("address", DEFAULT_ADDRESS),
        given.get("name", ""),
        given.get("keys"),
        timeout_s,
        why[0] if why else None,
        "--json" in rest,
    )


def off(wanted: Wanted) -> int:
    """Take the torque off and print what became of it; return the exit status."""
    as_json = wanted.as_json
    try:
        data = take_torque_off(
            wanted.address,
            name=wanted.name or own_name(),
            why=wanted.why or "nuc ctl off",
            timeout_s=wanted.timeout_s,
            keys=_keys(wanted.keys, wanted.name),
        )
    except ClientError as error:
        return _complain(f"nuc ctl off: {error}", as_json=as_json)
    on = bool(data.get("torque"))
    if as_json:
        _say(json.dumps({"ok": not on, **data}, indent=2))
    elif on:
        motors = ", ".join(data.get("unconfirmed", ())) or "the servos"
        sys.stderr.write(f"nuc ctl off: not confirmed by {motors}: the daemon goes on trying; cut their power\n")
    else:
        _say("torque is off; nuc ctl arm takes it back")
    return int(on)


def _seconds(text: str) -> float | None:
    try:
        seconds = float(text)
    except ValueError:
        return None
    return seconds if 0.01 <= seconds < math.inf else None


def _keys(folder: str | Path | None, name: str) -> Keys | None:
    if folder is None:
        return None
    from pathlib import Path

    from nuc_engine.client.sockets import load_keys

    return load_keys(Path(folder), name)


def _complain(line: str, *, as_json: bool) -> int:
    sys.stderr.write(f"{line}\n")
    if as_json:
        _say(json.dumps({"ok": False, "errors": [line]}, indent=2))
    return 1


def _say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()
