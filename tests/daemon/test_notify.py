from __future__ import annotations

import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from nuc_engine.daemon.notify import Notifier, NotifyError, Systemd, handed_over


class Listener:
    """systemd's end."""

    def __init__(self, name: str) -> None:
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_NONBLOCK)
        self.socket.bind(name)

    def received(self) -> list[str]:
        messages = []
        while True:
            try:
                messages.append(self.socket.recv(4096).decode())
            except BlockingIOError:
                return messages


@pytest.fixture(params=["path", "abstract"])
def systemd(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[tuple[str, Listener]]:
    path = str(tmp_path / "notify")
    listener = Listener("\0" + path if request.param == "abstract" else path)
    yield "@" + path if request.param == "abstract" else path, listener
    listener.socket.close()


def test_systemd_hears_what_is_told(systemd: tuple[str, Listener]) -> None:
    address, listener = systemd
    notifier = Notifier(address)
    assert notifier.listens
    assert notifier.ready()
    assert notifier.watchdog()
    assert notifier.stopping()
    assert listener.received() == ["READY=1", "WATCHDOG=1", "STOPPING=1"]


def test_a_status_is_one_line_whatever_it_holds(systemd: tuple[str, Listener]) -> None:
    address, listener = systemd
    assert Notifier(address).status("running\nREADY=1  now")
    assert listener.received() == ["STATUS=running READY=1 now"]


def test_several_assignments_are_one_message(systemd: tuple[str, Listener]) -> None:
    address, listener = systemd
    Notifier(address).tell("READY=1", "STATUS=up")
    assert listener.received() == ["READY=1\nSTATUS=up"]


@pytest.mark.parametrize("address", [None, ""])
def test_without_systemd_nothing_is_sent(address: str | None) -> None:
    sent: list[bytes] = []
    notifier = Notifier(address, lambda message, _: sent.append(message))
    assert not notifier.listens
    assert not notifier.ready()
    assert not notifier.watchdog()
    assert sent == []
    assert notifier.unsent == 0


def test_a_socket_that_is_gone_is_counted_and_forgotten(tmp_path: Path) -> None:
    notifier = Notifier(str(tmp_path / "nobody"))
    assert not notifier.watchdog()
    assert not notifier.watchdog()
    assert notifier.unsent == 2


def test_a_full_socket_does_not_hold_the_daemon_up(tmp_path: Path) -> None:
    listener = Listener(str(tmp_path / "notify"))
    notifier = Notifier(str(tmp_path / "notify"))
    told = [notifier.watchdog() for _ in range(2000)]
    assert told[0]
    assert not told[-1]
    assert len(listener.received()) == sum(told)
    assert notifier.watchdog()
    listener.socket.close()


@pytest.mark.parametrize("address", ["run/notify", "vsock:2:1234"])
def test_another_kind_of_address_is_refused(address: str) -> None:
    with pytest.raises(NotifyError, match="expected an absolute path"):
        Notifier(address)


@pytest.mark.parametrize(
    ("environment", "expected"),
    [
        ({}, Systemd(None, None)),
        ({"NOTIFY_SOCKET": ""}, Systemd(None, None)),
        ({"NOTIFY_SOCKET": "/run/n"}, Systemd("/run/n", None)),
        ({"NOTIFY_SOCKET": "/run/n", "WATCHDOG_USEC": "1000000"}, Systemd("/run/n", 1_000_000_000)),
        ({"WATCHDOG_USEC": "500", "WATCHDOG_PID": "7"}, Systemd(None, 500_000)),
        ({"WATCHDOG_USEC": "500", "WATCHDOG_PID": "8"}, Systemd(None, None)),
        ({"WATCHDOG_USEC": "0"}, Systemd(None, None)),
        ({"WATCHDOG_USEC": "soon"}, Systemd(None, None)),
    ],
)
def test_what_systemd_hands_over(environment: dict[str, str], expected: Systemd) -> None:
    assert handed_over(environment, 7) == expected
