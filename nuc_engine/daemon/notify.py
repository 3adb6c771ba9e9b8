"""What systemd is told: ready, alive, stopping, and one line of status (sd_notify(3)).

systemd gives a service the address of a datagram socket and, with WatchdogSec=, an interval in which it wants to hear
that the service is alive. Where there is no socket everything here does nothing, so that the daemon runs in a
terminal as well. A message that can not be sent is counted and forgotten: telling must never stop the one who tells.
"""

from __future__ import annotations

import socket
from collections.abc import Callable, Mapping
from dataclasses import dataclass

SOCKET, WATCHDOG, WATCHDOG_PID = "NOTIFY_SOCKET", "WATCHDOG_USEC", "WATCHDOG_PID"
"""Names under which systemd hands over the address, the interval, and for which process the interval is meant."""

SendDatagram = Callable[[bytes, str], None]


class NotifyError(Exception):
    """Not the address of a notify socket; the message says what was expected."""


class Notifier:
    """Tells systemd how the service is.

    `address` is what systemd gave: an absolute path, or `@name` for an abstract socket; None or empty tells nobody.
    `send` gets the message and the address as the kernel takes it. Raises NotifyError for any other address.
    """

    def __init__(self, address: str | None, send: SendDatagram | None = None) -> None:
        if address and address[0] not in "/@":
            raise NotifyError(f"notify socket {address!r}: expected an absolute path, or @name for an abstract one")
        self._address = "\0" + address[1:] if address and address[0] == "@" else address
        self._send = send if send is not None else _datagram
        self.unsent = 0
        """Messages that could not be delivered."""

    @property
    def listens(self) -> bool:
        """Whether there is a notify socket."""
        return bool(self._address)

    def ready(self) -> bool:
        """Say that the service is up."""
        return self.tell("READY=1")

    def watchdog(self) -> bool:
        """Say that everything the service stands for is alive; to be said before the interval has passed."""
        return self.tell("WATCHDOG=1")

    def status(self, text: str) -> bool:
        """Say in one line what the service does; `systemctl status` shows it."""
        return self.tell(f"STATUS={' '.join(text.split())}")

    def stopping(self) -> bool:
        """Say that the service is on its way out."""
        return self.tell("STOPPING=1")

    def tell(self, *assignments: str) -> bool:
        """Send assignments (`KEY=value`) in one message; return whether somebody took it. Never waits, never raises."""
        if not self._address:
            return False
        try:
            self._send("\n".join(assignments).encode(), self._address)
        except OSError:
            self.unsent += 1
            return False
        return True


@dataclass(frozen=True, slots=True)
class Systemd:
    """What systemd handed over: whom to tell, and how often it wants to hear (None: it does not)."""

    address: str | None
    watchdog_ns: int | None


def handed_over(environment: Mapping[str, str], pid: int) -> Systemd:
    """Read what systemd handed to process `pid`; an interval that is meant for another process does not count."""
    address = environment.get(SOCKET) or None
    meant = environment.get(WATCHDOG_PID)
    interval = environment.get(WATCHDOG, "")
    if not interval.isascii() or not interval.isdigit() or int(interval) == 0 or (meant and meant != str(pid)):
        return Systemd(address, None)
    return Systemd(address, int(interval) * 1000)


def _datagram(message: bytes, address: str) -> None:
    # A socket for each message: they are few, and forked processes inherit none.
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC | socket.SOCK_NONBLOCK) as end:
        end.sendto(message, address)
