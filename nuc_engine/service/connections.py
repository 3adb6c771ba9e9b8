"""Connections to the sockets: how many there may be, and who has to go.

ZeroMQ has no bound of its own. It tells of each connection with its descriptor, which every message carries too
(zmq_msg_get(3), ZMQ_SRCFD); shutting that down ends the connection.
"""

from __future__ import annotations

import resource
import socket
import struct
from collections import Counter
from dataclasses import dataclass

MOST = 400
"""Connections to all sockets together. As many descriptors again are left for files."""

MOST_SUBSCRIPTIONS = 256
"""Subscriptions of one connection."""

_CREDENTIALS = struct.Struct("=iII")


Key = tuple[int, int]
"""Which socket it belongs to, and its descriptor: each socket tells of its own connections in their order."""


@dataclass(slots=True)
class _Connection:
    peer: str
    greeted: bool = False
    subscriptions: int = 0


class Connections:
    """All that there are. Where there are too many, one of the client that has most goes, silent ones first."""

    def __init__(self) -> None:
        soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
        self._most = MOST if soft == resource.RLIM_INFINITY else min(MOST, soft // 2)
        self._open: dict[Key, _Connection] = {}
        self._of: Counter[str] = Counter()
        self.closed = self.turned_away = 0

    def accepted(self, key: Key) -> None:
        """Take a new connection in; end one if that is one too many."""
        self._drop(key)
        self._open[key] = connection = _Connection(_peer(key[1]))
        self._of[connection.peer] += 1
        if len(self._open) <= self._most:
            return
        most = max(self._of, key=self._of.__getitem__)
        theirs = ((key, each) for key, each in self._open.items() if each.peer == most)
        silent = next((key for key, each in theirs if not each.greeted), None)
        self._end(silent or next(key for key, each in reversed(self._open.items()) if each.peer == most))

    def greeted(self, key: Key) -> None:
        """Note that a client has said what it is, and was let in."""
        if key in self._open:
            self._open[key].greeted = True

    def ended(self, key: Key) -> None:
        """Note that a connection has ended, whatever ended it."""
        self._drop(key)
        self.closed += 1

    def subscribed(self, key: Key, change: int) -> None:
        """Count a subscription, or its end; end a connection that has too many."""
        connection = self._open.get(key)
        if connection is not None:
            connection.subscriptions += change
            if connection.subscriptions > MOST_SUBSCRIPTIONS:
                self._end(key)

    def _drop(self, key: Key) -> None:
        connection = self._open.pop(key, None)
        if connection is not None:
            self._of[connection.peer] -= 1
            if not self._of[connection.peer]:
                del self._of[connection.peer]

    def _end(self, key: Key) -> None:
        # Should its end not have been told yet, the number is that of a connection or a file by now. A file cannot be
        # shut down, and a connection is made again.
        self._drop(key)
        self.turned_away += 1
        try:
            end = socket.socket(fileno=key[1])
        except OSError:
            return
        try:
            end.shutdown(socket.SHUT_RDWR)
        except OSError:
            return
        finally:
            end.detach()


def _peer(descriptor: int) -> str:
    """Return which process of this machine, or which address, a connection comes from."""
    try:
        end = socket.socket(fileno=descriptor)
    except OSError:
        return ""
    try:
        if end.family != socket.AF_UNIX:
            return str(end.getpeername()[0])
        told = end.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _CREDENTIALS.size)
        pid, uid, _ = _CREDENTIALS.unpack(told)
    except OSError:
        return ""
    finally:
        end.detach()
    return f"process {pid} of user {uid}"
