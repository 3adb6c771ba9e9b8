"""The socket at which a running emulator is told things: one JSON object per line, one line of answer each.

{"command": "stick", "servo": 2}            {"ok": true}
{"command": "stuck"}                        {"ok": false, "error": "no command 'stuck': ..."}
"""

from __future__ import annotations

import json
import os
import socket
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from nuc_engine.emulation.errors import EmulationError

CommandAnswer = Mapping[str, Any]
Obey = Callable[[Mapping[str, Any]], CommandAnswer]

_LONGEST_LINE: Final = 65_536
_MOST_CLIENTS: Final = 16


class ControlSocket:
    """A unix stream socket served from the emulator's own loop: nothing here waits for a client."""

    def __init__(self, path: Path, obey: Obey) -> None:
        """Listen at `path`, which may be a socket left behind but nothing else. Raises `EmulationError`."""
        self._path = path
        self._obey = obey
        self._clients: dict[int, _Client] = {}
        _clear(path)
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM | socket.SOCK_NONBLOCK)
        try:
            self._socket.bind(str(path))
            self._socket.listen(_MOST_CLIENTS)
        except OSError as error:
            self._socket.close()
            raise EmulationError(f"{path}: no control socket can be made: {error}; choose another --control") from error
        self._identity = os.stat(path).st_ino
        self._filenos = [self._socket.fileno()]

    def filenos(self) -> Sequence[int]:
        """Return the descriptors to listen on."""
        return self._filenos

    def handle(self, descriptor: int) -> None:
        """Take a new client, or what a client said."""
        client = self._clients.get(descriptor)
        if client is None:
            self._accept()
        elif not client.serve(self._obey):
            client.close()
            del self._clients[descriptor]
        self._filenos = [self._socket.fileno(), *self._clients]

    def close(self) -> None:
        """Send everybody away and remove the socket, if it still is this one."""
        for client in self._clients.values():
            client.close()
        self._clients.clear()
        self._socket.close()
        if self._path.is_socket() and os.stat(self._path).st_ino == self._identity:
            self._path.unlink()

    def _accept(self) -> None:
        try:
            connection, _ = self._socket.accept()
        except BlockingIOError:
            return
        if len(self._clients) >= _MOST_CLIENTS:
            connection.close()
            return
        connection.setblocking(False)
        self._clients[connection.fileno()] = _Client(connection)


class _Client:
    def __init__(self, connection: socket.socket) -> None:
        self._connection = connection
        self._said = b""

    def serve(self, obey: Obey) -> bool:
        """Answer whole lines; False when the client is gone, or says or leaves unread too much."""
        try:
            said = self._connection.recv(_LONGEST_LINE)
        except BlockingIOError:
            return True
        except OSError:
            return False
        self._said += said
        *lines, self._said = self._said.split(b"\n")
        answers = b"".join(json.dumps(_answer(line, obey)).encode() + b"\n" for line in lines if line.strip())
        try:
            sent = self._connection.send(answers) if answers else 0
        except OSError:
            return False
        return bool(said) and sent == len(answers) and len(self._said) <= _LONGEST_LINE

    def close(self) -> None:
        self._connection.close()


def _answer(line: bytes, obey: Obey) -> CommandAnswer:
    try:
        command = json.loads(line)
        if not isinstance(command, dict):
            raise EmulationError('expected an object such as {"command": "status"}')
        return {"ok": True, **obey(command)}
    except (ValueError, RecursionError) as error:
        return {"ok": False, "error": f"no JSON: {error}"}
    except EmulationError as error:
        return {"ok": False, "error": str(error)}


def _clear(path: Path) -> None:
    """Remove a socket nobody listens at any more. Raises `EmulationError` for anything else."""
    if not path.exists():
        return
    if not path.is_socket():
        raise EmulationError(f"{path} is there already and no socket; choose another --control")
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
        try:
            probe.connect(str(path))
        except OSError:
            path.unlink()
            return
    raise EmulationError(f"{path}: another emulator listens there; choose another --control")
