"""The file of cycles is followed from one daemon to the next, and nothing is missed that is not counted."""

from __future__ import annotations

import mmap
import os
from pathlib import Path

import pytest

from nuc_engine.daemon.cyclering import BYTES, SLOTS_AT, CycleRing
from nuc_engine.ui.cycles import LOOK_AGAIN_S, CycleFollower

COLUMNS = [("number", "1", "i8"), ("angle", "deg", "f8")]


class Writer:
    def __init__(self, path: Path, size: int = BYTES, columns: list[tuple[str, str, str]] = COLUMNS) -> None:
        path.unlink(missing_ok=True)
        fd = os.open(path, os.O_RDWR | os.O_CREAT)
        os.ftruncate(fd, size)
        self.ring = CycleRing(mmap.mmap(fd, 0))
        os.close(fd)
        self.ring.begin("leg", columns)

    def put(self, *numbers: int) -> None:
        for number in numbers:
            self.ring.put((number, number / 2))


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "cycles"


class Follower:
    """A follower that is asked again and again, by a clock of its own."""

    def __init__(self, path: Path) -> None:
        self.follower, self.now_s = CycleFollower(path), 0.0

    def numbers(self) -> list[int]:
        found: list[int] = []
        for _ in range(4):
            self.now_s += LOOK_AGAIN_S
            found += [int(record[0]) for record in self.follower.read(self.now_s).records]
        return found


def test_what_is_written_from_now_on_comes_once(path: Path) -> None:
    writer = Writer(path)
    writer.put(1, 2)
    follower = Follower(path)
    assert follower.numbers() == [], "what was before is no news"
    writer.put(3, 4)
    assert follower.numbers() == [3, 4]
    assert follower.numbers() == []


def test_of_a_daemon_that_began_while_it_was_watched_for_nothing_is_left_out(path: Path) -> None:
    follower = Follower(path)
    assert follower.numbers() == []
    writer = Writer(path)
    writer.put(1, 2)
    assert follower.numbers() == [1, 2]
    writer.put(3)
    again = Writer(path)
    again.put(11, 12)
    assert follower.numbers() == [3, 11, 12], "the end of the first, the beginning of the second"
    path.unlink()
    assert follower.numbers() == []
    Writer(path).put(21)
    assert follower.numbers() == [21]
    follower.follower.close()
    follower.follower.close()


def test_other_columns_are_told_with_the_records_that_have_them(path: Path) -> None:
    writer, follower = Writer(path), Follower(path)
    writer.put(1)
    follower.numbers()
    writer.put(2)
    writer.ring.begin("other", [("number", "1", "i8")])
    writer.ring.put((3,))
    read = follower.follower.read(follower.now_s)
    assert [column.name for column in read.columns] == ["number"]
    assert read.records == [(3,)]


def test_what_was_written_over_is_counted(path: Path) -> None:
    writer, follower = Writer(path, SLOTS_AT + 8 * 32), Follower(path)
    writer.put(0)
    follower.numbers()
    writer.put(*range(1, 101))
    read = follower.follower.read(follower.now_s)
    assert read.missed + len(read.records) >= 100
    assert read.records[-1][0] == 100
    assert follower.follower.read(follower.now_s).missed == 0


def test_a_file_that_is_none_is_no_daemon(path: Path) -> None:
    path.write_bytes(b"x" * 1000)
    assert Follower(path).numbers() == []
