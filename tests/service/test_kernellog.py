"""dmesglog.txt: what the kernel said during a bout, each message once, or why it is not known."""

from __future__ import annotations

import os
import socket
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import nuc_engine.datalogger.kernellog as module
from nuc_engine.datalogger.kernellog import KernelMessage, read_message
from nuc_engine.recording import recover
from nuc_engine.recording.files import KERNEL_LOG
from tests.service.log_feed import MS, START, Bench, bout, no_kernel, read_manifest

AHEAD = 7_000 * MS
"""How far the clock that stamps the kernel's messages is ahead of the engine's."""


class Kmsg:
    """A device like /dev/kmsg: whoever opens it reads what is kept, a record at a time, and then what is said."""

    def __init__(self) -> None:
        self.kept: list[bytes] = []
        self.said = 100
        self._ends: list[socket.socket] = []

    def say(self, text: str, at_ns: int, level: int = 6) -> None:
        record = f"{level},{self.said},{(at_ns + AHEAD) // 1000},-;{text}\n SUBSYSTEM=usb\n".encode()
        self.said += 1
        self.kept.append(record)
        for end in self._ends:
            with suppress(BrokenPipeError, ConnectionResetError):  # nobody reads there any more
                end.send(record)

    def overwrite(self, count: int) -> None:
        """Let the kernel write over so many messages that nobody has read."""
        self.said += count

    def open(self) -> int:
        here, there = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        there.setblocking(False)
        self._ends.append(here)
        for record in self.kept:
            here.send(record)
        return there.detach()

    def close(self) -> None:
        for end in self._ends:
            end.close()


@pytest.fixture
def kmsg():
    made = Kmsg()
    yield made
    made.close()


def lines(bench: Bench) -> list[list[str]]:
    (folder,) = bench.folders
    return [line.split(" ", 2) for line in (folder / KERNEL_LOG).read_text().splitlines()]


def begun(tmp_path: Path, kmsg: Kmsg):
    bench = Bench(tmp_path, kernel=kmsg.open)
    writer = bench.writer()
    bench.put(*bout()[:60])
    bench.run(writer, 0.06)
    return bench, writer


def end(bench: Bench, writer) -> None:
    bench.put(*bout()[60:])
    bench.run(writer)


def test_what_was_said_in_the_bout_stands_there_in_engine_time(tmp_path, kmsg):
    kmsg.say("long before", START - 10 * MS)
    bench, writer = begun(tmp_path, kmsg)
    bench.now = START + 100 * MS
    kmsg.say("usb 1-1: USB disconnect", bench.now - 20 * MS, 6)
    writer.step(bench.now)
    bench.now = START + 150 * MS
    # Read 1 ms after it was said: now it is known by how much the one before was late.
    kmsg.say("ftdi_sio ttyUSB0: failed to get modem status: -19", bench.now - 1 * MS, 3 | 8)
    writer.step(bench.now)
    kmsg.say("usb 1-1: new full-speed device", START + 160 * MS, 6)
    end(bench, writer)
    assert lines(bench)[1:] == [
        [str(100 * MS), "info", "usb 1-1: USB disconnect"],
        [str(150 * MS), "err", "ftdi_sio ttyUSB0: failed to get modem status: -19"],
        [str(161 * MS), "info", "usb 1-1: new full-speed device"],
    ]
    assert lines(bench)[0][:2] == ["0", "begin"]
    manifest = read_manifest(bench.folders[0])
    assert manifest["counts"]["records"][KERNEL_LOG] == 4
    assert KERNEL_LOG in manifest["files"]
    assert recover._whole_lines(bench.folders[0] / KERNEL_LOG) == ((bench.folders[0] / KERNEL_LOG).stat().st_size, b"")


def test_where_it_may_not_be_read_the_file_says_so_and_why(tmp_path):
    def forbidden() -> int:
        raise PermissionError(1, "Operation not permitted")

    for device, words in ((forbidden, "Operation not permitted"), (no_kernel, "No such file")):
        bench = Bench(tmp_path / words, kernel=device)
        bench.put(*bout())
        bench.run(bench.writer())
        ((time, what, text),) = lines(bench)
        assert (time, what) == ("0", "unreadable")
        assert words in text
        assert "journalctl -k" in text
        assert read_manifest(bench.folders[0])["state"] == "complete"


def test_a_device_that_goes_away_is_told_and_ends_nothing(tmp_path, kmsg, monkeypatch):
    bench, writer = begun(tmp_path, kmsg)
    read = os.read

    def gone(fd: int, size: int) -> bytes:
        if size == module._RECORD_BYTES:
            raise OSError(19, "No such device")
        return read(fd, size)

    monkeypatch.setattr(os, "read", gone)
    end(bench, writer)
    assert [line[1] for line in lines(bench)] == ["begin", "unreadable"]
    assert "No such device" in lines(bench)[1][2]
    assert read_manifest(bench.folders[0])["state"] == "complete"


def test_messages_that_were_written_over_are_counted(tmp_path, kmsg, monkeypatch):
    bench, writer = begun(tmp_path, kmsg)
    kmsg.say("first", bench.now)
    writer.step(bench.now)
    kmsg.overwrite(3)
    kmsg.say("fifth", bench.now)
    read, late = os.read, [True]

    def overtaken(fd: int, size: int) -> bytes:
        if size == module._RECORD_BYTES and late:
            late.pop()
            raise BrokenPipeError
        return read(fd, size)

    monkeypatch.setattr(os, "read", overtaken)
    end(bench, writer)
    assert [line[1:] for line in lines(bench)[1:]] == [
        ["info", "first"],
        ["lost", "3 messages: the kernel had written over them before they were read"],
        ["info", "fifth"],
    ]


def test_a_log_has_a_largest_size_and_counts_what_is_beyond_it(tmp_path, kmsg, monkeypatch):
    monkeypatch.setattr(module, "MOST_BYTES", 600)
    bench, writer = begun(tmp_path, kmsg)
    for k in range(40):
        kmsg.say(f"message {k:02} " + "x" * 40, bench.now)
    end(bench, writer)
    (folder,) = bench.folders
    assert (folder / KERNEL_LOG).stat().st_size < 800
    told = lines(bench)
    written = [line for line in told if line[1] == "info"]
    assert told[-1][1] == "left_out"
    assert int(told[-1][2].split()[0]) == 40 - len(written) > 0


def test_one_look_takes_so_many_and_never_waits(tmp_path, kmsg, monkeypatch):
    monkeypatch.setattr(module, "AT_ONCE", 5)
    bench, writer = begun(tmp_path, kmsg)
    for k in range(12):
        kmsg.say(f"message {k}", bench.now)
    writer.step(bench.now)
    assert writer._keeper.bout.state.kernel_number == 104
    writer.step(bench.now)
    writer.step(bench.now)
    writer.step(bench.now)
    assert writer._keeper.bout.state.kernel_number == 111


DEED = st.sampled_from(["say", "say", "step", "commit", "kill", "end"])


@settings(max_examples=60, deadline=None)
@given(st.lists(DEED, max_size=30))
def test_each_message_is_written_once_whatever_becomes_of_the_loggers(tmp_path_factory, deeds):
    kmsg = Kmsg()
    kmsg.say("before", START - MS)
    bench = Bench(tmp_path_factory.mktemp("data"), kernel=kmsg.open)
    writer = bench.writer()
    bench.put(*bout()[:60])
    bench.run(writer)
    expected = 0
    for deed in deeds:
        bench.now += 3 * MS
        match deed:
            case "say":
                kmsg.say(f"message {expected}", bench.now)
                expected += 1
            case "step":
                writer.step(bench.now)
            case "commit":
                bench.run(writer)
            case "kill":
                # What it had read and not committed is read again by the next one.
                if writer._keeper.bout is not None:
                    writer._keeper.bout.abandon()
                writer = bench.writer()
            case _:
                writer.close(bench.now)
                writer = bench.writer()
    end(bench, writer)
    kmsg.close()
    assert [line[2] for line in lines(bench)[1:]] == [f"message {k}" for k in range(expected)]
    times = [int(line[0]) for line in lines(bench)]
    assert all(0 <= time <= bench.now - START for time in times)


@pytest.mark.parametrize(
    ("record", "message"),
    [
        (b"6,339,5140900,-;NET: Registered\n", KernelMessage(339, 5_140_900_000, "info", "NET: Registered")),
        (b"4,1,2,c,caller=T1;a; b\\x0a\n KEY=x\n", KernelMessage(1, 2000, "warning", "a; b\\x0a")),
        (b"30,7,8,-;systemd[1]: \xc3\x1b[2J\n", KernelMessage(7, 8000, "info", "systemd[1]: \\xc3\\x1b[2J")),
        (b"6,339,5140900,-;", KernelMessage(339, 5_140_900_000, "info", "")),
        (b"6,339,-;x\n", None),
        (b"", None),
        (b"x" * 100, None),
    ],
)
def test_records_of_the_kernel_are_read(record, message):
    assert read_message(record) == message


@given(st.binary(max_size=200) | st.from_regex(rb"[0-9]+,[0-9]+,[0-9]+,.*;.*", fullmatch=True))
def test_any_record_is_one_line_or_none(record):
    message = read_message(record)
    assert message is None or message.text.isprintable()
