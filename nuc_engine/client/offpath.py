"""Torque off on this machine, past the service: a datagram to each daemon, with nothing loaded but sockets and JSON.

What comes of it is said by the daemon's main process or its guardian (`nuc_engine.daemon.offsocket`).
"""

from __future__ import annotations

import json
import select
import socket
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from time import monotonic  # noqa: TID251  how long a daemon takes to answer is real time
from typing import Any, cast

from nuc_engine.machine.rundir import OFF, PROBE

ANSWER_S = 3.0
"""How long an answer is waited for; the daemon itself waits a second for its servos."""

AGAIN_S = 0.3
"""How long before it is asked for again: twice off does no harm."""

_CROWDED_S = 0.005
_LONGEST = 200
_ANSWER_BYTES = 65_536


def has_off(folder: Path) -> bool:
    """Say whether a daemon has, or had, its socket for torque off in this folder."""
    return sys.platform != "win32" and (folder / OFF).is_socket()


def take_torque_off_in(
    folders: Sequence[Path], why: str, answer_s: float = ANSWER_S
) -> dict[Path, Mapping[str, Any] | str]:
    """Take the torque off at the daemons of all these folders at once; return each one's answer, or what went wrong.

    An answer has `torque`, `confirmed_ns` (motor: ns after it was asked), `unconfirmed` and `latched`. It is latched
    until `arm`.
    """
    calls = {folder: _Call(folder, why) for folder in folders}
    try:
        end_s = monotonic() + answer_s
        while open_calls := [call for call in calls.values() if call.open]:
            now_s = monotonic()
            if now_s >= end_s:
                break
            for call in open_calls:
                if now_s >= call.due_s:
                    call.ask(now_s)
            waiting = {call.socket: call for call in open_calls if call.open}
            if waiting:
                pause_s = min(end_s, *(call.due_s for call in waiting.values())) - monotonic()
                for readable in select.select(list(waiting), (), (), max(0.0, pause_s))[0]:
                    waiting[readable].listen()
        return {folder: call.result() for folder, call in calls.items()}
    finally:
        for call in calls.values():
            call.socket.close()


def probe_off_in(folder: Path, answer_s: float = AGAIN_S) -> Mapping[str, Any] | str:
    """Ask the daemon of a folder whether torque off would be heard; return its answer, or what is wrong.

    The question goes to those who read the socket for torque off, to a socket of its own: it can not be taken for a
    request, and a daemon of a version that knows no questions is sent none. An answer has `heard_by`, `torque` and
    `latched`.
    """
    family = socket.AddressFamily["AF_UNIX"]
    with socket.socket(family, socket.SOCK_DGRAM) as off, socket.socket(family, socket.SOCK_DGRAM) as asking:
        try:
            # To be connected is to be permitted to send; nothing is sent.
            off.connect(str(folder / OFF))
            asking.bind("")
            asking.settimeout(answer_s)
            asking.sendto(b"", str(folder / PROBE))
            answer: object = json.loads(asking.recv(_ANSWER_BYTES))
        except TimeoutError:
            return "nobody reads the socket for torque off"
        except (FileNotFoundError, ConnectionRefusedError):
            return "no daemon is there any more" if not has_off(folder) else "this daemon can not be asked"
        except (OSError, ValueError, RecursionError) as error:
            return str(error)
    return cast(Mapping[str, Any], answer) if isinstance(answer, dict) else "an answer that is none"


class _Call:
    """One daemon that is asked."""

    def __init__(self, folder: Path, why: str) -> None:
        self._path, self._why = str(folder / OFF), why.encode(errors="replace")[:_LONGEST]
        self.socket = socket.socket(socket.AddressFamily["AF_UNIX"], socket.SOCK_DGRAM)
        self.socket.bind("")
        self.socket.setblocking(False)
        self.answer: Mapping[str, Any] | None = None
        self.error = ""
        self.sent = False
        self.due_s = 0.0

    @property
    def open(self) -> bool:
        """Whether there is something to wait for."""
        return self.answer is None and not self.error

    def ask(self, now_s: float) -> None:
        """Ask, and note when to ask again."""
        self.due_s = now_s + AGAIN_S
        try:
            self.socket.sendto(self._why, self._path)
            self.sent = True
        except BlockingIOError:
            self.due_s = now_s + _CROWDED_S  # others are asking for it, more often than it is read
        except (FileNotFoundError, ConnectionRefusedError):
            self.error = "ended meanwhile" if self.sent else "no daemon is there any more"
        except OSError as error:
            self.error = error.strerror or str(error)

    def listen(self) -> None:
        with suppress(OSError, ValueError, RecursionError):
            answer: object = json.loads(self.socket.recv(_ANSWER_BYTES))
            if isinstance(answer, dict):
                self.answer = cast(Mapping[str, Any], answer)

    def result(self) -> Mapping[str, Any] | str:
        if self.answer is not None:
            return self.answer
        if self.error:
            return self.error
        return "no answer: it may or may not have taken effect" if self.sent else "nothing took it"
