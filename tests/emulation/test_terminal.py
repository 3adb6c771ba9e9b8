"""The pseudo-terminal and its name."""

import fcntl
import os
import select
import termios

import pytest

from nuc_engine.emulation.errors import EmulationError
from nuc_engine.emulation.pseudo_terminal import PseudoTerminal
from tests.limits import LIMIT_S


@pytest.fixture
def link(tmp_path):
    return tmp_path / "leg"


@pytest.fixture
def terminal(link):
    terminal = PseudoTerminal(link)
    yield terminal
    terminal.unplug()


@pytest.fixture
def opened():
    """Open a host's end by name; closed at the end of the test."""
    descriptors = []

    def open_(path):
        descriptors.append(os.open(path, os.O_RDWR | os.O_NOCTTY))
        return descriptors[-1]

    yield open_
    for descriptor in descriptors:
        os.close(descriptor)


def receive(descriptor, read, count):
    """Return `count` bytes; the kernel hands them over in its own time."""
    data = b""
    while len(data) < count:
        assert select.select([descriptor], [], [], LIMIT_S)[0]
        data += read(count - len(data))
    return data


EVERY_BYTE = bytes(range(256))


def test_every_byte_passes_unchanged_in_both_directions(terminal, link, opened):
    host = opened(link)
    os.write(host, EVERY_BYTE)
    assert receive(terminal.fileno(), terminal.read, 256) == EVERY_BYTE
    assert terminal.write(EVERY_BYTE) == 256
    assert receive(host, lambda count: os.read(host, count), 256) == EVERY_BYTE


def test_bytes_written_before_anybody_opened_it_are_not_echoed(terminal, link, opened):
    assert terminal.write(b"early\n") == 6
    host = opened(link)
    assert receive(host, lambda count: os.read(host, count), 6) == b"early\n"
    assert select.select([terminal.fileno()], [], [], 0)[0] == []
    assert terminal.read(10) == b""


def test_a_host_may_close_and_open_it(terminal, link):
    for data in (b"\xff\x00", b"\xff\x01"):
        host = os.open(link, os.O_RDWR | os.O_NOCTTY)
        os.write(host, data)
        os.close(host)
        assert receive(terminal.fileno(), terminal.read, 2) == data


def test_unplugged_the_name_is_gone_and_the_host_sees_a_hangup(terminal, link, opened):
    host = opened(link)
    terminal.unplug()
    assert not link.is_symlink()
    assert os.read(host, 1) == b""
    with pytest.raises(OSError, match="Input/output error"):
        os.write(host, b"x")
    assert terminal.fileno() == -1
    assert terminal.write(b"x") == 0
    terminal.unplug()


def test_plugged_again_it_has_the_same_name(terminal, link, opened):
    terminal.unplug()
    terminal.plug()
    terminal.plug()
    host = opened(link)
    os.write(host, b"\xff")
    assert receive(terminal.fileno(), terminal.read, 1) == b"\xff"
    assert os.readlink(link) == terminal.name


def test_a_name_left_behind_is_taken_over(link):
    link.symlink_to("/dev/pts/4711")
    terminal = PseudoTerminal(link)
    assert os.readlink(link) == terminal.name
    terminal.unplug()
    assert list(link.parent.iterdir()) == []


def test_a_name_that_another_took_over_is_left_alone(terminal, link):
    other = PseudoTerminal(link)
    terminal.unplug()
    assert os.readlink(link) == other.name
    other.unplug()


def identity(path):
    """Which file it is and when it was last written; not when it was last looked at, which looking changes."""
    status = os.lstat(path)
    return status.st_ino, status.st_mode, status.st_size, status.st_mtime_ns


@pytest.mark.parametrize(
    "make", [lambda p: p.write_text("data"), lambda p: p.mkdir(), lambda p: p.symlink_to("/dev/null")]
)
def test_what_is_no_terminal_is_never_replaced(link, make):
    make(link)
    before = identity(link)
    with pytest.raises(EmulationError, match="choose another name"):
        PseudoTerminal(link)
    assert identity(link) == before


def test_a_folder_that_is_not_there_is_a_message(tmp_path):
    with pytest.raises(EmulationError, match="folder must exist"):
        PseudoTerminal(tmp_path / "no" / "leg")


def is_exclusive(descriptor):
    return fcntl.ioctl(descriptor, 0x80045440, b"\0\0\0\0") != b"\0\0\0\0"


def test_exclusive_mode_ends_with_the_host_that_set_it(terminal, link, opened):
    watcher = opened(link)
    host = os.open(link, os.O_RDWR | os.O_NOCTTY)
    fcntl.flock(host, fcntl.LOCK_EX | fcntl.LOCK_NB)
    fcntl.ioctl(host, termios.TIOCEXCL)
    terminal.free_if_abandoned()
    assert is_exclusive(watcher)
    os.close(host)
    assert is_exclusive(watcher)
    terminal.free_if_abandoned()
    assert not is_exclusive(watcher)
    fcntl.flock(opened(link), fcntl.LOCK_EX | fcntl.LOCK_NB)


def test_a_host_that_does_not_read_does_not_hold_the_servos_up(terminal):
    taken = sum(terminal.write(b"x" * 64) for _ in range(20_000))
    assert 0 < taken < 20_000 * 64
