"""The serial port on ptys (which need no clock), and what ptys cannot show on made-up files and ioctls."""

import contextlib
import errno
import fcntl
import os
import select
import struct
import subprocess
import sys
import termios

import pytest
import serial

from drivers.errors import PortBusyError, PortError, PortGoneError
from drivers.port import NEVER
from drivers.serial import port as serialport
from drivers.serial.holders import find_holders
from drivers.serial.latency import Latency, ask_low_latency
from drivers.serial.port import SerialPort, find_stable_name, open_port, try_open
from tests.limits import LIMIT_S

LOW_LATENCY = 0x2000


@pytest.fixture
def pty():
    """(master descriptor, name of the slave) of a pty whose slave is kept open, as an emulator does."""
    master, slave = os.openpty()
    yield master, os.ttyname(slave)
    for fd in (master, slave):
        with contextlib.suppress(OSError):
            os.close(fd)


def take(port, count):
    """Return what comes in until there are `count` bytes: a pty hands them over when the kernel's worker runs."""
    taken = b""
    while len(taken) < count:
        assert select.select(port.filenos(), (), (), LIMIT_S)[0]
        taken += port.read(0)
    return taken


def get(master, count):
    """Return what comes out at the other end until there are `count` bytes: they may come in parts."""
    got = b""
    while len(got) < count:
        assert select.select([master], (), (), LIMIT_S)[0]
        got += os.read(master, count - len(got))
    return got


@pytest.fixture
def port(pty):
    port = open_port(pty[1], 57_600)
    yield port
    port.close()


def test_the_line_is_raw_in_both_directions(pty, port):
    master, _ = pty
    every = bytes(range(256))
    port.write(every, 0)
    assert get(master, 256) == every
    os.write(master, every)
    assert take(port, 256) == every
    assert port.read(0) == b""
    assert port.unsent_bytes == 0


def test_nothing_is_echoed_and_old_bytes_are_forgotten(pty):
    master, path = pty
    os.write(master, b"\x0a\x64")
    # The line discipline of a fresh pty sends these back.
    assert get(master, 3) == b"\r\nd"
    os.set_blocking(master, False)
    port = open_port(path, 57_600)
    assert port.read(0) == b""
    os.write(master, b"\x03\n\x7f")
    assert take(port, 3) == b"\x03\n\x7f"
    with pytest.raises(BlockingIOError):
        os.read(master, 10)
    port.close()


@pytest.mark.parametrize("baud", [4_800, 57_600, 115_200, 460_800, 921_600, 1_000_000])
def test_the_rate_is_set(pty, baud):
    port = open_port(pty[1], baud)
    mode = termios.tcgetattr(port.fd)
    assert mode[4] == mode[5] == getattr(termios, f"B{baud}")
    assert mode[2] & termios.CSIZE == termios.CS8
    assert not mode[2] & (termios.PARENB | termios.CSTOPB | termios.CRTSCTS)
    assert port.baud == baud
    port.close()


@pytest.mark.parametrize("baud", [57_600, 250_000])
def test_nothing_that_another_program_left_set_touches_the_bytes(pty, baud):
    """A break, for example, must be a byte that is 0, and not empty the queues (BRKINT), as in a tty of a shell."""
    fd = os.open(pty[1], os.O_RDWR | os.O_NOCTTY)
    mode = termios.tcgetattr(fd)
    mode[0] = termios.BRKINT | termios.IMAXBEL | termios.PARMRK | termios.ISTRIP | termios.IXON | termios.ICRNL
    mode[1] |= termios.OPOST | termios.ONLCR
    mode[3] |= termios.ICANON | termios.ECHO | termios.ISIG | termios.IEXTEN
    termios.tcsetattr(fd, termios.TCSANOW, mode)
    os.close(fd)
    port = open_port(pty[1], baud)
    flags = struct.unpack("=4IB19s2I", fcntl.ioctl(port.fd, 0x802C542A, bytes(44)))
    assert (flags[0], flags[1], flags[3], flags[-1]) == (0, 0, 0, baud)
    port.close()


@pytest.mark.parametrize("baud", [76_800, 128_000, 250_000])
def test_rates_without_a_constant_are_set_too(pty, baud):
    port = open_port(pty[1], baud)
    found = struct.unpack("=4IB19s2I", fcntl.ioctl(port.fd, 0x802C542A, bytes(44)))
    assert found[-2:] == (baud, baud)
    assert found[3] == 0
    assert found[2] & termios.CSIZE == termios.CS8
    port.close()


@pytest.fixture
def answer(monkeypatch):
    """Have ioctls answered otherwise: bytes by request."""
    answers, real = {}, fcntl.ioctl
    monkeypatch.setattr(fcntl, "ioctl", lambda fd, request, *more: answers.get(request) or real(fd, request, *more))
    return answers


def test_a_rate_that_the_adapter_did_not_take_is_refused(pty, answer):
    def at(*speeds):
        return struct.pack("=4IB19s2I", 0, 0, 0, 0, 0, b"", *speeds)

    answer[0x802C542A] = at(115_200, 114_000)
    open_port(pty[1], 115_200).close()
    for speeds in ((115_200, 9_600), (9_600, 115_200), (115_200, 120_000)):
        answer[0x802C542A] = at(*speeds)
        with pytest.raises(PortError, match="115200 bit/s was refused"):
            open_port(pty[1], 115_200)


def test_a_device_that_lets_others_in_is_refused(pty, answer, monkeypatch):
    monkeypatch.setattr(serialport, "_PTY_SLAVES", range(0))
    answer[0x80045440] = bytes(4)
    with pytest.raises(PortError, match="does not keep other programs out"):
        open_port(pty[1], 57_600)


def test_what_a_bus_may_ask_of_a_port(pty, port):
    assert port.ready_ns(1) == NEVER
    (arrivals,) = port.filenos()
    assert arrivals != port.fd
    os.write(pty[0], b"abc")
    assert select.select(port.filenos(), (), (), LIMIT_S)[0]
    assert port.flush_input(0) == 3
    assert port.read(0) == b""
    port.flush_output()
    port.close()
    port.close()
    assert (port.fd, port.filenos()) == (-1, ())
    for use in (lambda: port.write(b"x", 0), lambda: port.read(0), lambda: port.flush_input(0), port.flush_output):
        with pytest.raises(PortError, match="closed"):
            use()


def test_an_inherited_descriptor_is_a_port_too(pty, port):
    other = SerialPort(os.dup(port.fd), 57_600)
    assert other.path == pty[1]
    other.write(b"ab", 0)
    assert get(pty[0], 2) == b"ab"
    port.close()
    os.write(pty[0], b"cd")
    assert take(other, 2) == b"cd"
    other.close()


def test_no_tty_can_be_a_port(tmp_path):
    file = tmp_path / "file"
    file.write_bytes(b"")
    with pytest.raises(PortError, match="no serial port: expected a tty"):
        open_port(str(file), 57_600)
    with pytest.raises(PortError, match="directory"):
        open_port(str(tmp_path), 57_600)


def test_a_device_that_is_not_there(tmp_path):
    path = str(tmp_path / "ttyUSB0")
    with pytest.raises(PortGoneError, match="no such device; plug"):
        open_port(path, 57_600)
    assert try_open(path, 57_600) is None


def test_a_link_whose_device_has_gone_and_come_back(tmp_path):
    link = tmp_path / "leg"
    master, slave = os.openpty()
    link.symlink_to(os.ttyname(slave))
    port = try_open(str(link), 57_600)
    assert port is not None
    port.close()
    os.close(slave)
    os.close(master)
    assert try_open(str(link), 57_600) is None
    other, slave = os.openpty()
    link.unlink()
    link.symlink_to(os.ttyname(slave))
    port = try_open(str(link), 57_600)
    assert port is not None
    port.write(b"hello", 0)
    assert get(other, 5) == b"hello"
    for fd in (other, slave):
        os.close(fd)
    port.close()


@pytest.mark.parametrize("use", ["read", "write", "flush_input"])
def test_a_line_that_hangs_up_is_gone(use):
    master, slave = os.openpty()
    port = open_port(os.ttyname(slave), 57_600)
    os.write(master, b"\x01\x02")
    os.close(slave)
    os.close(master)
    with pytest.raises(PortGoneError, match="is gone"):
        # What was still there may be read first.
        for _ in range(3):
            port.write(b"x", 0) if use == "write" else getattr(port, use)(0)
    port.close()


def test_a_line_that_takes_nothing_drops_the_rest_of_a_request_and_counts_it(pty):
    # At this rate four bytes take 9 us: that is how long a write may wait.
    port = open_port(pty[1], 4_000_000)
    chunk = bytes(1000)
    written = 0
    while not port.unsent_bytes and written < 200_000:
        port.write(chunk, 0)
        written += len(chunk)
    assert port.unsent_bytes > 0
    assert get(pty[0], written - port.unsent_bytes) == bytes(written - port.unsent_bytes)
    port.write(b"again", 0)
    assert get(pty[0], 5) == b"again"
    port.close()


HOLD = """
import sys
sys.path[:0] = sys.argv[2:]
from drivers.serial.port import open_port
port = open_port(sys.argv[1], 57600)
print("open", flush=True)
sys.stdin.read()
"""
PYSERIAL = """
import sys, serial
port = serial.Serial(sys.argv[1], 57600, exclusive=True)
print("open", flush=True)
sys.stdin.read()
"""


def test_a_port_that_another_process_holds_is_busy_and_it_is_named(pty):
    with subprocess.Popen(
        [sys.executable, "-c", HOLD, pty[1], *sys.path], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as holder:
        assert holder.stdout.readline() == b"open\n"
        for open_it in (open_port, try_open):
            with pytest.raises(PortBusyError, match=rf"is in use by python\S* \(process {holder.pid}\)"):
                open_it(pty[1], 57_600)
        holder.communicate(b"")
    open_port(pty[1], 57_600).close()


def test_pyserial_and_this_port_keep_each_other_out(pty):
    with subprocess.Popen(
        [sys.executable, "-c", PYSERIAL, pty[1]], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as holder:
        assert holder.stdout.readline() == b"open\n"
        with pytest.raises(PortBusyError):
            open_port(pty[1], 57_600)
        holder.communicate(b"")
    port = open_port(pty[1], 57_600)
    with pytest.raises(serial.SerialException):
        serial.Serial(pty[1], 57_600, exclusive=True)
    port.close()


def test_the_kernels_lock_is_for_devices_and_not_for_ptys(pty, monkeypatch):
    # Its other end keeps a pty alive, and with it the lock of a process that was killed.
    exclusive = lambda fd: struct.unpack("i", fcntl.ioctl(fd, 0x80045440, bytes(4)))[0]  # noqa: E731  TIOCGEXCL
    port = open_port(pty[1], 57_600)
    assert exclusive(port.fd) == 0
    port.close()
    monkeypatch.setattr(serialport, "_PTY_SLAVES", range(0))
    port = open_port(pty[1], 57_600)
    assert exclusive(port.fd) == 1
    fcntl.ioctl(port.fd, termios.TIOCNXCL)
    port.close()


@pytest.mark.parametrize(
    ("number", "kind", "message"),
    [
        (errno.EACCES, PortError, "may not open it; .*udev"),
        (errno.EBUSY, PortBusyError, "in use by another process"),
        (errno.ENXIO, PortGoneError, "no such device"),
        (errno.EMFILE, PortError, "Too many open files"),
    ],
)
def test_what_keeps_a_port_from_being_opened(monkeypatch, tmp_path, number, kind, message):
    def refuse(path, flags):
        raise OSError(number, os.strerror(number))

    (tmp_path / "tty").touch()
    monkeypatch.setattr(serialport.os, "open", refuse)
    with pytest.raises(kind, match=message) as caught:
        open_port(str(tmp_path / "tty"), 57_600)
    assert type(caught.value) is kind


def test_a_failed_open_leaves_no_descriptor_behind(tmp_path, pty):
    port = open_port(pty[1], 57_600)
    before = sorted(os.listdir("/proc/self/fd"))
    for path in (pty[1], str(tmp_path), "/dev/null"):
        with pytest.raises(PortError):
            open_port(path, 57_600)
    assert sorted(os.listdir("/proc/self/fd")) == before
    port.close()


def test_the_name_that_stays_with_an_adapter(tmp_path, pty):
    by_id = tmp_path / "by-id"
    assert find_stable_name(pty[1], by_id) == pty[1]
    by_id.mkdir()
    (by_id / "usb-other").symlink_to("/dev/null")
    assert find_stable_name(pty[1], by_id) == pty[1]
    (by_id / "usb-FTDI_FT232R_A9").symlink_to(pty[1])
    assert find_stable_name(pty[1], by_id) == str(by_id / "usb-FTDI_FT232R_A9")
    link = tmp_path / "leg0"
    link.symlink_to(pty[1])
    assert find_stable_name(str(link), by_id) == str(link)


def test_holders_are_read_from_proc(tmp_path, pty):
    for pid, name, target in ((7, "nuc", pty[1]), (8, "bash", "/dev/null"), (9, "minicom", pty[1])):
        (tmp_path / str(pid) / "fd").mkdir(parents=True)
        (tmp_path / str(pid) / "fd" / "3").symlink_to(target)
        (tmp_path / str(pid) / "comm").write_text(f"{name}\n")
    (tmp_path / "uptime").touch()
    (tmp_path / "10").mkdir()
    assert find_holders(pty[1], tmp_path) == ((7, "nuc"), (9, "minicom"))
    assert find_holders(str(tmp_path / "nothing"), tmp_path) == ()
    # Who has the other end too is what is at the end of the line.
    info = tmp_path / "7" / "fdinfo" / "5"
    info.parent.mkdir()
    index = os.path.basename(pty[1])
    info.write_text(f"pos:\t0\nflags:\t02\ntty-index:\t{index}\n")
    assert find_holders(pty[1], tmp_path) == ((9, "minicom"),)
    info.write_text(f"tty-index:\t{index}0\n")
    assert find_holders(pty[1], tmp_path) == ((7, "nuc"), (9, "minicom"))


def test_who_has_both_ends_of_a_pty_does_not_use_it():
    both = "import os, sys; m, s = os.openpty(); print(os.ttyname(s), flush=True); sys.stdin.read()"
    with subprocess.Popen(
        [sys.executable, "-c", both], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as line:
        name = line.stdout.readline().strip()
        with open(name, "rb", buffering=0):
            assert find_holders(name) == ()
        line.stdin.close()


def test_a_pty_has_no_latency_timer(port):
    assert port.latency == Latency(True, None, None, "not supported by this port: no latency timer to set")
    assert port.hold_ns == 0


class Adapter:
    """The kernel's side of TIOCGSERIAL and TIOCSSERIAL."""

    def __init__(self, *, keeps=True, sets=None, refuses=0):
        self.flags, self._keeps, self._sets, self._refuses = 0, keeps, sets, refuses

    def __call__(self, fd, request, settings):
        if self._refuses:
            raise OSError(self._refuses, os.strerror(self._refuses))
        if request == 0x541E:
            struct.pack_into("=i", settings, 16, self.flags)
        elif self._keeps:
            self.flags = struct.unpack_from("=i", settings, 16)[0]
            if self._sets:
                self._sets.write_text("1\n")


def sysfs_with_timer(root, value):
    timer = root / "bus/usb-serial/devices/ttyUSB3/latency_timer"
    timer.parent.mkdir(parents=True)
    timer.write_text(f"{value}\n")
    return timer


def test_an_ftdi_adapter_is_set_to_1_ms_by_the_flag(tmp_path):
    timer = sysfs_with_timer(tmp_path, 16)
    adapter = Adapter(sets=timer)
    found = ask_low_latency(0, "/dev/ttyUSB3", sysfs=tmp_path, ioctl=adapter)
    assert found == Latency(True, True, 1, "latency timer 1 ms")
    assert adapter.flags == LOW_LATENCY
    assert found.hold_ns == 0


def test_else_its_timer_is_written_to(tmp_path):
    timer = sysfs_with_timer(tmp_path, 16)
    found = ask_low_latency(0, "/dev/ttyUSB3", sysfs=tmp_path, ioctl=Adapter(refuses=errno.EPERM))
    assert found.verified is True
    assert timer.read_text() == "1"


def test_a_timer_that_stays_long_is_told_with_its_remedy_and_allowed_for(tmp_path, monkeypatch):
    sysfs_with_timer(tmp_path, 16)
    monkeypatch.setattr("drivers.serial.latency._write", lambda timer, value: False)
    found = ask_low_latency(0, "/dev/ttyUSB3", sysfs=tmp_path, ioctl=Adapter())
    assert (found.verified, found.timer_ms, found.hold_ns) == (False, 16, 15_000_000)
    assert "echo 1 >" in found.remark


@pytest.mark.parametrize(
    ("adapter", "verified"),
    [
        (Adapter(), True),
        (Adapter(keeps=False), False),
        (Adapter(refuses=errno.ENOTTY), None),
        (Adapter(refuses=errno.EPERM), None),
    ],
)
def test_adapters_without_a_timer(tmp_path, adapter, verified):
    found = ask_low_latency(0, "/dev/ttyACM0", sysfs=tmp_path, ioctl=adapter)
    assert (found.asked, found.verified, found.timer_ms, found.hold_ns) == (True, verified, None, 0)


def test_an_adapter_is_known_by_its_stable_name_too(tmp_path):
    timer = sysfs_with_timer(tmp_path, 16)
    (tmp_path / "ttyUSB3").write_text("")
    (tmp_path / "usb-FTDI_leg").symlink_to(tmp_path / "ttyUSB3")
    found = ask_low_latency(0, str(tmp_path / "usb-FTDI_leg"), sysfs=tmp_path, ioctl=Adapter(sets=timer))
    assert found == Latency(True, True, 1, "latency timer 1 ms")


def test_a_flag_that_is_set_already_is_left_alone(tmp_path):
    asked = []
    adapter = Adapter()
    adapter.flags = LOW_LATENCY | 0x10

    def ioctl(fd, request, settings):
        asked.append(request)
        adapter(fd, request, settings)

    assert ask_low_latency(0, "/dev/ttyACM0", sysfs=tmp_path, ioctl=ioctl).verified
    assert asked == [0x541E]
    assert adapter.flags == LOW_LATENCY | 0x10


def test_what_else_a_port_has_set_stays_set(tmp_path):
    adapter = Adapter()
    adapter.flags = 0x10
    assert ask_low_latency(0, "/dev/ttyACM0", sysfs=tmp_path, ioctl=adapter).verified
    assert adapter.flags == LOW_LATENCY | 0x10


def test_a_timer_of_1_ms_is_not_written_to(tmp_path, monkeypatch):
    sysfs_with_timer(tmp_path, 1)
    written = []
    monkeypatch.setattr("drivers.serial.latency._write", lambda timer, value: written.append(value))
    assert ask_low_latency(0, "/dev/ttyUSB3", sysfs=tmp_path, ioctl=Adapter()).timer_ms == 1
    assert written == []


def test_a_timer_that_says_no_number_is_none(tmp_path):
    sysfs_with_timer(tmp_path, "soon")
    found = ask_low_latency(0, "/dev/ttyUSB3", sysfs=tmp_path, ioctl=Adapter())
    assert (found.verified, found.timer_ms) == (True, None)


@pytest.mark.parametrize(
    ("number", "said"),
    [(errno.ENOTTY, "not supported by this port"), (errno.EINVAL, "not supported"), (errno.EPERM, "refused (")],
)
def test_a_port_without_the_flag_and_one_that_refuses_it_are_told_apart(tmp_path, number, said):
    found = ask_low_latency(0, "/dev/ttyACM0", sysfs=tmp_path, ioctl=Adapter(refuses=number))
    assert said in found.remark
    assert os.strerror(errno.EPERM) not in found.remark or number == errno.EPERM
