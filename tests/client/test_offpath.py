"""Whether torque off would be heard on this machine: asked of the desk that hears it, and nothing is taken off."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from nuc_engine.client.offpath import probe_off_in, take_torque_off_in
from nuc_engine.daemon.block import Word
from nuc_engine.daemon.off_requests import Requester, pending_requesters
from nuc_engine.daemon.offsocket import OffServer, open_off
from nuc_engine.machine.rundir import OFF, PROBE

LONG_S = 20.0


class Reader:
    """A desk that is looked at again and again by a thread."""

    def __init__(self, folder: Path, *, probe: bool = True) -> None:
        self.words = [0] * 192
        self.off = open_off(folder / OFF)
        self.probe = open_off(folder / PROBE) if probe else None
        self.desk = OffServer(self.words, self.off, Requester.GUARDIAN, lambda: (), lambda *_: None, self.probe)
        self.looks = True
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    def _run(self) -> None:
        while not self._ended.wait(0.002):
            if self.looks:
                self.desk.look(1)

    def close(self) -> None:
        self._ended.set()
        self._thread.join()
        for end in (self.off, self.probe):
            if end is not None:
                end.close()


@contextmanager
def reading(folder: Path, *, probe: bool = True) -> Iterator[Reader]:
    reader = Reader(folder, probe=probe)
    try:
        yield reader
    finally:
        reader.close()


def test_who_would_hear_it_says_so_and_nothing_is_taken_off(tmp_path: Path) -> None:
    with reading(tmp_path) as reader:
        reader.words[Word.TORQUE] = 1
        for _ in range(20):
            assert probe_off_in(tmp_path, LONG_S) == {"heard_by": "guardian", "torque": True, "latched": False}
        assert pending_requesters(reader.words) == ()
        answer = take_torque_off_in([tmp_path], "now for real", LONG_S)[tmp_path]
        assert isinstance(answer, dict)
        assert pending_requesters(reader.words) == (Requester.GUARDIAN,)


def test_nobody_who_reads_is_said(tmp_path: Path) -> None:
    with reading(tmp_path) as reader:
        reader.looks = False
        assert probe_off_in(tmp_path, 0.05) == "nobody reads the socket for torque off"


def test_no_daemon_is_said(tmp_path: Path) -> None:
    assert probe_off_in(tmp_path) == "no daemon is there any more"
    for name in (OFF, PROBE):
        open_off(tmp_path / name).close()
    assert isinstance(probe_off_in(tmp_path), str), "of a dead one its files are left"


def test_a_daemon_that_knows_no_questions_is_asked_none(tmp_path: Path) -> None:
    """One of an earlier version would take any datagram for a request."""
    with reading(tmp_path, probe=False) as reader:
        assert probe_off_in(tmp_path, 0.05) == "this daemon can not be asked"
        assert pending_requesters(reader.words) == ()


@pytest.mark.parametrize("answer", [b"", b"x", b"[]", b"7", b"[" * 30_000, b"\xff"])
def test_an_answer_that_is_none_is_no_answer(tmp_path: Path, answer: bytes) -> None:
    off, probe = open_off(tmp_path / OFF), open_off(tmp_path / PROBE)
    probe.setblocking(True)

    def reply() -> None:
        _, sender = probe.recvfrom(64)
        probe.sendto(answer, sender)

    with off, probe:
        thread = threading.Thread(target=reply)
        thread.start()
        assert isinstance(probe_off_in(tmp_path, LONG_S), str)
        thread.join()


def test_a_path_that_is_no_socket_is_said(tmp_path: Path) -> None:
    (tmp_path / OFF).touch()
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM):
        assert isinstance(probe_off_in(tmp_path), str)
