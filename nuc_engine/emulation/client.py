"""Speaks to a running emulator.

with EmulatorClient(Path("leg.control")) as emulator:
    emulator.tell("unplug")
    print(emulator.tell("status")["exchanges"])
"""

from __future__ import annotations

import json
import socket
from pathlib import Path
from types import TracebackType
from typing import Any

from nuc_engine.emulation.errors import ControlError


class EmulatorClient:
    """A connection to an emulator's control socket; blocks until it is answered."""

    def __init__(self, path: Path, timeout_s: float = 5.0) -> None:
        """Connect. Raises `ControlError` when nobody listens at `path`."""
        self._path = path
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._socket.settimeout(timeout_s)
        self._heard = b""
        try:
            self._socket.connect(str(path))
        except OSError as error:
            self._socket.close()
            raise ControlError(f"{path}: no emulator listens there ({error}); start one with --control") from error

    def __enter__(self) -> EmulatorClient:
        """Return the client."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close the connection."""
        self.close()

    def request(self, command: str, **parameters: Any) -> dict[str, Any]:
        """Give a command and return its answer. Raises `ControlError` when it is refused or nobody answers."""
        line = json.dumps({"command": command, **parameters}).encode() + b"\n"
        try:
            self._socket.sendall(line)
            while b"\n" not in self._heard:
                data = self._socket.recv(65_536)
                if not data:
                    raise ControlError(f"{self._path}: the emulator ended before it answered {command!r}")
                self._heard += data
        except OSError as error:
            raise ControlError(f"{self._path}: no answer to {command!r}: {error}") from error
        answer, _, self._heard = self._heard.partition(b"\n")
        result: dict[str, Any] = json.loads(answer)
        if not result.pop("ok"):
            raise ControlError(str(result["error"]))
        return result

    def close(self) -> None:
        """Close the connection; may be called again."""
        self._socket.close()


def send_command(path: Path, command: str, **parameters: Any) -> dict[str, Any]:
    """Give one command over a connection of its own; see `EmulatorClient.tell`."""
    with EmulatorClient(path) as client:
        return client.request(command, **parameters)
