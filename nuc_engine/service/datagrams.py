"""The newest state as datagrams, to one address of this machine."""

from __future__ import annotations

import socket


class Datagrams:
    """Sends the newest state to one address. What does not get through is gone, and counted."""

    def __init__(self, host: str, port: int) -> None:
        self._to = (host, port)
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        self._socket = socket.socket(family, socket.SOCK_DGRAM)
        self._socket.setblocking(False)
        # It only sends: what anybody sends to it is the kernel's to drop.
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 0)
        self._socket.bind((host, 0))
        self.failed = 0

    def send(self, content: bytes) -> None:
        """Send one datagram."""
        try:
            self._socket.sendto(content, self._to)
        except OSError:
            self.failed += 1

    def close(self) -> None:
        """Close the socket."""
        self._socket.close()
