"""The red button's own way to the daemon: torque off, and whether it would be heard, each on a thread of its own.

On this machine both go past the service (`nuc_engine.client.offpath`). Elsewhere they do so over ssh where somebody may
log in (`nuc_engine.ui.sshoff`), and else, or where that does not answer, they are requests on the channel. Nothing here
waits for anything else the page does, and no role but watch is needed.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping
from pathlib import Path
from time import monotonic
from typing import Any, Literal

from nuc_engine.client import Client, ClientError, Keys
from nuc_engine.client.off import take_torque_off
from nuc_engine.client.offpath import ANSWER_S, has_off, probe_off_in, take_torque_off_in
from nuc_engine.ui.sshoff import SshOffPath

PROBE_S = 0.4
"""How long the daemon has to say that it would hear torque off."""

FRESH_S = 0.3
"""How old an answer on the channel may be to be told again."""

SSH_S = 0.6
"""How long an ssh has for torque off before it is asked for over the channel too: twice off does no harm."""

LONGEST_WHY = 120


class TorqueOffPath:
    """Torque off at one daemon. Its methods block, and may be called by different threads at once."""

    def __init__(self, address: str, *, name: str, keys: Keys | None = None, ssh: SshOffPath | None = None) -> None:
        self._address, self._name, self._keys, self._ssh = address, name, keys, ssh
        self._by_ssh = False
        self._place = Path(address.removeprefix("ipc://")).parent if address.startswith("ipc://") else None
        self._here = False
        self._probing: Client | None = None
        self._turn = threading.Lock()
        self._asked_s, self._why = -FRESH_S, ""

    @property
    def _folder(self) -> Path | None:
        """The folder of a daemon on this machine, None for one elsewhere: a socket that was forwarded is alone."""
        self._here = self._here or (self._place is not None and has_off(self._place))
        return self._place if self._here else None

    @property
    def path(self) -> Literal["socket", "ssh", "channel"]:
        """Which way it goes: the daemon's own socket for it, that over ssh, or a request on the channel."""
        if self._folder is not None:
            return "socket"
        return "ssh" if self._by_ssh else "channel"

    def probe(self) -> dict[str, Any]:
        """Say how long the way there and back takes, in ms, or why it can not be gone. Changes nothing."""
        begun_s = monotonic()
        folder = self._folder
        why = self._probe_elsewhere() if folder is None else self._probe_socket(folder)
        if why:
            return {"ready_ms": None, "why": why, "path": self.path}
        return {"ready_ms": round(1e3 * (monotonic() - begun_s), 2), "path": self.path}

    def off(self, why: str) -> dict[str, Any]:
        """Take the torque off; say what came of it, or why it may have failed."""
        begun_s = monotonic()
        why = f"{why[:LONGEST_WHY] or 'torque off'} ({self._name})"
        try:
            folder = self._folder
            if folder is not None and has_off(folder):
                answer = take_torque_off_in([folder], why)[folder]
            else:
                answer = self._off_elsewhere(why)
        except ClientError as error:
            return {"off_failed": str(error)}
        if isinstance(answer, str):
            return {"off_failed": f"{answer}; cut the power of the servos"}
        return {"off": _told(answer, 1e3 * (monotonic() - begun_s))}

    def close(self) -> None:
        """Let go of what a probe needs; no probe of another thread may be under way."""
        if self._probing is not None:
            self._probing.close()
            self._probing = None
        if self._ssh is not None:
            self._ssh.close()

    def _probe_socket(self, folder: Path) -> str:
        answer = probe_off_in(folder, PROBE_S)
        return answer if isinstance(answer, str) else ""

    def _off_elsewhere(self, why: str) -> Mapping[str, Any] | str:
        """Ask over ssh, and soon over the channel too; the first answer counts."""
        ssh = self._ssh
        if ssh is None:
            return take_torque_off(self._address, name=self._name, why=why, keys=self._keys)
        answer = ssh.off(why, SSH_S)
        if not isinstance(answer, str):
            return answer
        try:
            return take_torque_off(self._address, name=self._name, why=why, keys=self._keys)
        except ClientError as error:
            again = ssh.off(why, ANSWER_S)
            return f"{again}; {error}" if isinstance(again, str) else again

    def _probe_elsewhere(self) -> str:
        self._by_ssh = self._ssh is not None and not isinstance(self._ssh.probe(PROBE_S), str)
        return "" if self._by_ssh else self._probe_channel()

    def _probe_channel(self) -> str:
        # One connection for all buttons: what one has just heard, the others need not ask.
        with self._turn:
            if monotonic() - self._asked_s >= FRESH_S:
                self._why = self._ask_status()
                self._asked_s = monotonic()
            return self._why

    def _ask_status(self) -> str:
        try:
            if self._probing is None:
                self._probing = Client(
                    self._address, name=self._name, role="watch", keys=self._keys, timeout_s=2 * PROBE_S
                )
            self._probing.status()
        except ClientError as error:
            self._probing, failed = None, self._probing
            if failed is not None:
                failed.close()
            return str(error)
        return ""


def _told(answer: Mapping[str, Any], took_ms: float) -> dict[str, Any]:
    return {
        "torque": bool(answer.get("torque", True)),  # nobody who does not say so has taken it off
        "confirmed_ns": dict(answer.get("confirmed_ns", {})),
        "unconfirmed": list(answer.get("unconfirmed", ())),
        "latched": bool(answer.get("latched", True)),
        "took_ms": round(took_ms, 2),
    }
