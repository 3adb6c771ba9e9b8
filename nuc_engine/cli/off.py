"""`nuc ctl off` before the command line of all other commands is loaded: who types it must not wait for them.

`hurry` takes what is plainly that; whatever else the words may mean is for `nuc_engine.cli.ctl`. On this machine it
goes past the service, to the socket `off` of a daemon's folder, and without an address to those of all daemons;
elsewhere it is a request like all others.
"""

from __future__ import annotations

import json
import math
import os
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

from nuc_engine.cli.terminal.leaving import UNREAD, unread
from nuc_engine.cli.terminal.person import own_name
from nuc_engine.messages.errors import ClientError, NotAnswered

if TYPE_CHECKING:
    from nuc_engine.client.sockets import Keys

_OPTIONS: Mapping[str, str] = MappingProxyType(
    {"-a": "address", "--address": "address", "-n": "name", "--name": "name", "--keys": "keys", "--timeout": "timeout"}
)


class Wanted(NamedTuple):
    """Whose torque is to go off, who says so, and why; `keys` as for `load_keys`.

    An empty address: all daemons of this machine. An empty name: who is logged in.
    """

    address: str = ""
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
        given.get("address", ""),
        given.get("name", ""),
        given.get("keys"),
        timeout_s,
        why[0] if why else None,
        "--json" in rest,
    )


def off(wanted: Wanted) -> int:
    """Take the torque off and print what became of it; return the exit status."""
    who, why = wanted.name or own_name(), wanted.why or "nuc ctl off"
    try:
        folders = _folders(wanted.address)
        if folders:
            from nuc_engine.client.offpath import take_torque_off_in

            return _tell(take_torque_off_in(folders, f"{why} ({who})"), as_json=wanted.as_json)
        from nuc_engine.client.off import take_torque_off

        keys = _keys(wanted.keys, wanted.name)
        data = take_torque_off(wanted.address, name=who, why=why, timeout_s=wanted.timeout_s, keys=keys)
    except ClientError as error:
        return _complain(f"nuc ctl off: {error}", as_json=wanted.as_json)
    if wanted.as_json:
        _say(json.dumps({"ok": not data.get("torque"), **data}, indent=2))
    return _say_one("", data, as_json=wanted.as_json)


def serve_lines(address: str) -> int:
    """Take the torque off whenever a line of stdin asks for it, at one daemon of this machine, until stdin ends."""
    from nuc_engine.client.offrelay import relay

    try:
        folders = _folders(address)
    except ClientError as error:
        return _complain(f"nuc ctl off: {error}", as_json=False)
    if len(folders) != 1:
        several = (
            f"{len(folders)} daemons run here: name one" if folders else f"no daemon of this machine is at {address}"
        )
        return _complain(f"nuc ctl off --relay: {several} (--address ipc://FOLDER/command)", as_json=False)

    def write(line: str) -> None:
        sys.stdout.write(line)
        sys.stdout.flush()

    with suppress(BrokenPipeError):
        relay(folders[0], sys.stdin, write)
    return 0


def _folders(address: str) -> list[Path]:
    """Return the folders of the daemons that are meant and have a socket for it; none for one that is elsewhere.

    Raises NotAnswered without an address where no daemon is.
    """
    from nuc_engine.client.offpath import has_off

    if address:
        folder = Path(address.removeprefix("ipc://")).parent
        return [folder] if address.startswith("ipc://") and has_off(folder) else []
    from nuc_engine.machine.rundir import found

    folders = [folder for folder in found(os.environ) if has_off(folder)]
    if not folders:
        raise NotAnswered(
            "torque off was NOT asked for: no daemon runs here (if it listens elsewhere, say where with --address); "
            "cut the power of the servos"
        )
    return folders


def _tell(answers: Mapping[Path, Mapping[str, Any] | str], *, as_json: bool) -> int:
    """Print what the daemons of this machine have answered; 0 where all of them have no torque on any servo."""
    several = len(answers) > 1
    bad = 0
    for folder, answer in answers.items():
        where = f"{folder}: " if several else ""
        if isinstance(answer, str):
            bad = 1
            sys.stderr.write(f"nuc ctl off: {folder}: {answer}; cut the power of the servos\n")
        else:
            bad |= _say_one(where, answer, as_json=as_json)
    if as_json:
        told = {str(k): {"error": v} if isinstance(v, str) else v for k, v in answers.items()}
        _say(json.dumps({"ok": not bad, "daemons": told}, indent=2))
    return bad


def _say_one(where: str, data: Mapping[str, Any], *, as_json: bool) -> int:
    """Say what became of one daemon's servos; 1 where the torque of one may be on."""
    unconfirmed = data.get("unconfirmed", ())
    if data.get("torque") or unconfirmed:
        motors = ", ".join(unconfirmed) or "the servos"
        sys.stderr.write(f"nuc ctl off: {where}not confirmed by {motors}: the daemon goes on trying; cut their power\n")
        return 1
    if not as_json:
        times = [int(at) for at in data.get("confirmed_ns", {}).values()]
        confirmed = f" ({len(times)} servos have confirmed, within {max(times) / 1e6:.0f} ms)" if times else ""
        _say(f"{where}torque is off{confirmed}; nuc ctl arm takes it back")
    return 0


def _seconds(text: str) -> float | None:
    try:
        seconds = float(text)
    except ValueError:
        return None
    return seconds if 0.01 <= seconds < math.inf else None


def _keys(folder: str | Path | None, name: str) -> Keys | None:
    if folder is None:
        return None
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
