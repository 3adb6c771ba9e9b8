"""Children of the main process: real ones, that live for a moment."""

from __future__ import annotations

import os
import select
import signal
from pathlib import Path

import pytest

from nuc_engine.daemon.spawn import CRASHED, END_SIGNAL, fork
from tests.limits import LIMIT_S

pytestmark = pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")


@pytest.fixture
def say():
    """A pipe: the child's end, and a function that returns what it said before it ended."""
    reading, writing = os.pipe()

    def heard():
        os.close(writing)
        said = b""
        while data := os.read(reading, 4096):
            said += data
        os.close(reading)
        return said.decode()

    return writing, heard


def ended(child):
    assert select.select([child.pidfd], [], [], LIMIT_S)[0]
    return child.dead()


def wait_forever():
    signal.pause()
    return 0


def test_what_the_program_returns_is_the_status():
    child = fork("nuc-test", lambda: 7)
    assert ended(child)
    assert child.reap() == 7
    assert child.reap() == 7
    assert child.exit_text() == "nuc-test ended with status 7"
    child.send(signal.SIGKILL)


def test_an_exception_is_told_and_has_a_status_of_its_own(capfd):
    child = fork("nuc-test", lambda: 1 // 0)
    assert ended(child)
    assert child.reap() == CRASHED
    assert "ZeroDivisionError" in capfd.readouterr().err


def test_a_child_that_is_killed_says_by_what():
    child = fork("nuc-test", wait_forever, death_signal=signal.SIGKILL)
    assert not child.dead()
    child.send(signal.SIGKILL)
    assert ended(child)
    assert child.reap() == -signal.SIGKILL
    assert child.exit_text() == "nuc-test was ended by SIGKILL"


def test_a_child_has_its_name_and_a_group_of_its_own(say):
    writing, heard = say

    def program():
        text = f"{Path('/proc/self/comm').read_text().strip()} {os.getpgid(0) == os.getpid()}"
        os.write(writing, text.encode())
        return 0

    child = fork("nuc-test", program)
    assert heard() == "nuc-test True"
    child.reap()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_a_child_does_not_hear_what_everybody_is_told(say, number):
    writing, heard = say
    reading, waking = os.pipe2(os.O_NONBLOCK)
    begun, beginning = os.pipe()
    before = signal.signal(number, lambda *_: None)
    wakeup = signal.set_wakeup_fd(waking)

    def program():
        os.write(writing, str(signal.getsignal(number) == signal.SIG_IGN).encode())
        os.write(beginning, b"x")
        return wait_forever()

    try:
        child = fork("nuc-test", program, death_signal=signal.SIGKILL)
        os.read(begun, 1)
        child.send(number)
        assert not select.select([child.pidfd], [], [], 0.2)[0]
        child.send(END_SIGNAL)
        assert ended(child)
        assert child.reap() == -END_SIGNAL
    finally:
        signal.set_wakeup_fd(wakeup)
        signal.signal(number, before)
    assert heard() == "True"
    with pytest.raises(BlockingIOError):
        os.read(reading, 1)
    for descriptor in (reading, waking, begun, beginning):
        os.close(descriptor)


def test_descriptors_it_does_not_need_are_closed(say):
    writing, heard = say
    spare = os.dup(writing)

    def program():
        try:
            os.fstat(spare)
        except OSError:
            os.write(writing, b"closed")
        return 0

    child = fork("nuc-test", program, close=(spare,))
    os.close(spare)
    assert heard() == "closed"
    child.reap()


def test_a_child_dies_with_its_parent_where_that_is_asked_for():
    reading, writing = os.pipe()
    waiting, going = os.pipe()

    def parent():
        child = fork("nuc-inner", wait_forever, death_signal=END_SIGNAL)
        os.write(writing, str(child.pid).encode())
        # Until somebody holds it.
        os.read(waiting, 1)
        return 0

    child = fork("nuc-outer", parent, death_signal=signal.SIGKILL)
    inner = os.pidfd_open(int(os.read(reading, 20)))
    os.write(going, b"x")
    assert select.select([inner], [], [], LIMIT_S)[0]
    child.reap()
    for descriptor in (inner, reading, writing, waiting, going):
        os.close(descriptor)


def test_only_the_urgent_inherit_real_time_scheduling(say):
    writing, heard = say
    try:
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))
    except PermissionError:
        pytest.skip("real-time scheduling is not permitted here")

    def program():
        os.write(writing, f"{os.sched_getscheduler(0)} ".encode())
        return 0

    try:
        for urgent in (True, False):
            child = fork("nuc-test", program, urgent=urgent)
            child.reap()
    finally:
        os.sched_setscheduler(0, os.SCHED_OTHER, os.sched_param(0))
    assert heard() == f"{os.SCHED_FIFO} {os.SCHED_OTHER} "
