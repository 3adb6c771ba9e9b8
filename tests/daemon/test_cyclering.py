"""Every cycle for other programs: what stands in the file, and what a reader makes of it."""

from __future__ import annotations

import mmap
import os
import struct
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nuc_engine.client.cycles import Cycles, CyclesError
from nuc_engine.daemon import cyclering
from nuc_engine.daemon.block import Word
from nuc_engine.daemon.cyclering import BYTES, SLOTS_AT, CycleRing, columns_of, make_file
from nuc_engine.machine.rundir import CYCLES, RunDirError, take
from tests.daemon.cores import Bench

COLUMNS = [("number", "1", "i8"), ("angle", "deg", "f8")]


class Pair:
    """A writer and a reader of one file."""

    def __init__(self, folder: Path, columns=COLUMNS) -> None:
        self.path = folder / CYCLES
        fd = os.open(self.path, os.O_RDWR | os.O_CREAT)
        os.ftruncate(fd, SLOTS_AT + 64 * 16 * len(columns))
        self.memory = mmap.mmap(fd, 0)
        os.close(fd)
        self.ring = CycleRing(self.memory)
        self.ring.begin("leg", columns)
        self.reader = Cycles(self.path)
        self.slots = self.ring._slots

    def put(self, *numbers) -> None:
        for number in numbers:
            self.ring.put([number, number / 2])


@pytest.fixture
def pair(tmp_path):
    return Pair(tmp_path)


def test_what_is_written_is_read_once_and_in_order(pair):
    assert pair.reader.read() == []
    pair.put(1, 2, 3)
    assert pair.reader.read(2) == [(1, 0.5), (2, 1.0)]
    assert pair.reader.read() == [(3, 1.5)]
    assert pair.reader.read() == []
    assert (pair.reader.names, pair.reader.columns[1].unit) == (("number", "angle"), "deg")
    assert (pair.reader.written, pair.reader.overruns) == (3, 0)


@settings(max_examples=60, deadline=None)
@given(bursts=st.lists(st.integers(0, 400), max_size=12))
def test_what_is_read_and_what_was_overrun_is_all_that_was_written(tmp_path_factory, bursts):
    pair = Pair(tmp_path_factory.mktemp("ring"))
    number, found = 0, []
    for burst in bursts:
        pair.put(*range(number, number + burst))
        number += burst
        before = pair.reader.overruns
        read = pair.reader.read()
        found += read
        assert pair.reader.overruns - before == max(0, burst - len(read))
        assert burst <= pair.slots or pair.reader.overruns > before
    assert len(found) + pair.reader.overruns == number
    assert all(angle == n / 2 for n, angle in found)
    assert [n for n, _ in found] == sorted({n for n, _ in found})


def test_a_record_that_is_being_written_is_not_there_yet(pair):
    pair.put(1)
    at = SLOTS_AT + pair.ring._slot_bytes
    pair.ring._words[3] = 2  # a machine that shows `written` before the record
    assert pair.reader.read() == [(1, 0.5)]
    for head in (b"\0" * 16, struct.pack("<QII", 2, 12345, 0)):
        pair.memory[at : at + 16] = head
        assert pair.reader.read() == []
    pair.ring._words[3] = 1
    pair.put(2)
    assert pair.reader.read() == [(2, 1.0)]


def test_a_core_that_comes_after_another_goes_on_where_that_was(pair):
    pair.put(1)
    again = CycleRing(pair.memory)
    again.begin("leg", COLUMNS)
    again.put([2, 1.0])
    assert [number for number, _ in pair.reader.read()] == [1, 2]


def test_other_columns_are_noticed_and_described_anew(pair):
    pair.put(1)
    again = CycleRing(pair.memory)
    again.begin("other", [*COLUMNS, ("load", "counts", "f8")])
    assert pair.reader.read() == []
    again.put([2, 1.0, 7.0])
    assert pair.reader.read() == [(2, 1.0, 7.0)]
    assert (pair.reader.configuration, pair.reader.names[-1]) == ("other", "load")


def test_a_core_that_died_while_it_laid_the_file_out_is_no_end_of_it(pair):
    pair.ring._words[4] |= 1
    with pytest.raises(CyclesError, match="try again"):
        Cycles(pair.path)
    again = CycleRing(pair.memory)
    again.begin("leg", COLUMNS)
    again.put([5, 2.5])
    assert pair.reader.read() == [(5, 2.5)]


@pytest.mark.parametrize("content", [b"", b"\0" * 70_000, b"NUCCYCLE" + b"\7" * 70_000])
def test_a_file_that_is_none_is_refused(tmp_path, content):
    (tmp_path / "x").write_bytes(content)
    with pytest.raises(CyclesError, match=str(tmp_path)):
        Cycles(tmp_path / "x")


def test_more_columns_than_fit_are_refused(pair):
    with pytest.raises(ValueError, match="2000 columns"):
        pair.ring.begin("leg", [("x", "", "i8")] * 2000)


def test_the_file_lies_in_memory_and_goes_with_the_folder(tmp_path, monkeypatch):
    own = take("leg", {"XDG_RUNTIME_DIR": str(tmp_path)})
    monkeypatch.setattr(cyclering, "in_memory", lambda folder: False)
    fd = make_file(own.path)
    there = (own.path / CYCLES).readlink()
    assert there.parent == cyclering.TEMPORARY
    assert os.fstat(fd).st_size == BYTES
    assert os.fstat(fd).st_blocks * 512 >= BYTES, "taken: a full file system kills no core"
    assert os.fstat(fd).st_mode & 0o777 == 0o640
    os.close(fd)
    own.remove()
    assert not there.exists()
    assert not own.path.exists()


def test_what_lies_in_memory_is_known_and_a_folder_that_is_full_is_said(tmp_path, monkeypatch):
    assert cyclering.in_memory(Path("/dev/shm"))
    assert not cyclering.in_memory(Path("/proc"))
    assert not cyclering.in_memory(tmp_path / "none")

    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "posix_fallocate", full)
    with pytest.raises(RunDirError, match="No space left"):
        make_file(tmp_path)


def test_the_core_tells_every_cycle_with_its_sensors(tmp_path):
    fd = make_file(tmp_path)
    ring = CycleRing(mmap.mmap(fd, 0))
    os.close(fd)
    bench = Bench(cycles=ring)
    ring.begin(bench.plan.name, columns_of(bench.plan))
    reader = Cycles(tmp_path / CYCLES)
    bench.run(0.05)
    bench.start(0.3)
    records = [dict(zip(reader.names, record, strict=True)) for record in reader.read()]
    assert reader.configuration == bench.plan.name
    assert len(reader.columns) == len(columns_of(bench.plan))
    cycles = [record["cycle"] for record in records if record["bout"]]
    assert cycles == list(range(cycles[0], cycles[0] + len(cycles)))
    assert cycles[-1] in (bench.words[Word.CYCLE], bench.words[Word.CYCLE] - 1)
    last = records[-1]
    assert last["CTr_angle"] == pytest.approx(bench.core.store.values(bench.hdso("CTr_angle"))[0])
    assert any(record["Coxa-Trochanter_motor.sent_raw"] >= 0 for record in records)
