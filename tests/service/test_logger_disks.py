"""The data logger on disks that are full or slow, and with what should not happen."""

from __future__ import annotations

import errno
import os
import struct
from pathlib import Path
from typing import Any

import pytest

from nuc_engine.daemon.block import Word
from nuc_engine.daemon.wire import RecordKind, pack
from nuc_engine.datalogger.commits import CommitTooLarge, read_commit, write_commit
from nuc_engine.recording.lock import FolderLock, FolderLocked
from tests.service.log_feed import (
    MS,
    START,
    Bench,
    bout,
    contents,
    read_manifest,
    read_record,
)


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path)


def times(path: Path) -> list[int]:
    return [int(line.split()[0]) for line in path.read_text().splitlines()]


class Disk:
    """Refuses writes while it is `full`, after having taken half of them."""

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        self.full = False
        real = os.pwrite

        def pwrite(fd: int, data: Any, at: int) -> int:
            if self.full:
                real(fd, bytes(data)[: len(data) // 2], at)
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            return real(fd, data, at)

        patch.setattr(os, "pwrite", pwrite)


def test_a_full_disk_loses_nothing_while_the_ring_holds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    bench, whole = Bench(tmp_path / "full"), Bench(tmp_path / "whole")
    for target in (whole, bench):
        target.tell("author", 11, "Ann", 2)
    whole.put(*bout())
    whole.run(whole.writer())
    disk, writer = Disk(monkeypatch), bench.writer()
    for k, at in enumerate(range(0, len(bout()), 20)):
        disk.full = k % 3 != 0
        bench.put(*bout()[at : at + 20])
        before = writer.state.places["records"]
        bench.run(writer)
        assert bool(writer.failure) == disk.full
        if disk.full and k % 3 == 2:
            # What can not be put away is not read on either: it would have to be kept in memory.
            assert writer.state.places["records"] == before
    disk.full = False
    bench.run(writer)
    assert contents(bench.folders[-1]) == contents(whole.folders[0])
    assert bench.events("logging_failed")
    assert bench.events("logging_recovered")


def test_half_a_line_is_not_left_where_a_write_failed(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    disk, writer = Disk(monkeypatch), bench.writer()
    bench.put(*bout()[:60])
    bench.run(writer)
    before = contents(bench.folders[0])
    disk.full = True
    bench.put(*bout()[60:120])
    bench.run(writer)
    assert contents(bench.folders[0])["MotorData.txt"] == before["MotorData.txt"]
    assert bench.ring.kept < bench.ring.written


def test_a_data_folder_that_can_not_be_made_is_tried_again(tmp_path: Path) -> None:
    (tmp_path / "data").write_text("in the way")
    bench = Bench(tmp_path / "data")
    bench.put(*bout())
    writer = bench.writer(bench.documents)
    bench.run(writer)
    assert writer.failure
    assert bench.ring.kept == 0
    (tmp_path / "data").unlink()
    bench.run(writer)
    assert read_manifest(bench.folders[0])["state"] == "complete"


def test_what_the_core_had_no_room_for_is_counted_in_log_input_record_and_manifest(bench: Bench) -> None:
    records = bout()
    lost = pack(START + 200 * MS, {int(RecordKind.MOTOR): 3, int(RecordKind.SENSORS): 4})
    bench.put(*records[:80], (int(RecordKind.LOST), lost), *records[140:])
    bench.run(bench.writer())
    folder = bench.folders[0]
    losses = read_manifest(folder)["losses"]["records"]
    assert losses["motor"]["count"] == 3
    last_ns = struct.unpack_from("=q", records[79][1])[0] - START
    assert losses["sensors"] == {"count": 4, "from_s": last_ns / 1e9, "to_s": 0.2}
    assert "lost 3 motor, 4 sensors between 0.1" in (folder / "Infolog.txt").read_text()
    (entry,) = [entry for entry in read_record(folder) if entry[0] == "lost"]
    assert (entry[2], entry[4]) == (200 * MS, {"motor": 3, "sensors": 4})


def test_a_bout_whose_begin_was_lost_is_logged_from_the_words_in_the_block(bench: Bench) -> None:
    words = bench.block.words
    words[Word.BOUT], words[Word.BOUT_START] = 1, START
    lost = pack(START + 30 * MS, {int(RecordKind.BOUT_BEGIN): 1, int(RecordKind.STORE): 1})
    bench.put((int(RecordKind.LOST), lost), *bout()[60:])
    bench.run(bench.writer())
    assert len(bench.dumps) == 1
    said = read_manifest(bench.folders[0])
    assert (said["state"], said["bout"]) == ("complete", 1)


def test_a_bout_whose_end_was_lost_ends(bench: Bench) -> None:
    lost = pack(START + 300 * MS, {int(RecordKind.BOUT_END): 1})
    bench.put(*bout()[:100], (int(RecordKind.LOST), lost))
    bench.run(bench.writer())
    assert read_manifest(bench.folders[0])["reason"] == "how the bout ended was lost"


# --- what should not happen ---


def test_records_of_another_plan_end_the_log_of_the_bout_and_nothing_else(bench: Bench) -> None:
    bench.put(*bout()[:60], (int(RecordKind.MOTOR), struct.pack("=qi", START + 90 * MS, 7)), *bout()[60:])
    writer = bench.writer()
    bench.run(writer)
    bench.run(writer)
    assert bench.ring.kept == bench.ring.written
    assert not writer.failure
    (folder,) = bench.folders
    said = read_manifest(folder)
    assert (said["state"], said["reason"][:9]) == ("fault", "log_error")
    assert len(bench.events("bout_end")) == 1


def test_a_record_nobody_understands_is_told_and_left_out(bench: Bench) -> None:
    bench.put(*bout()[:60], (int(RecordKind.APPLIED), pack(1)), (99, b"\xc1"), *bout()[60:])
    bench.run(bench.writer())
    assert len(bench.events("log_error")) == 2
    assert read_manifest(bench.folders[0])["counts"]["records"]["MotorData.txt"] == 50


def test_without_documents_a_bout_is_reported_and_the_ring_goes_on(bench: Bench) -> None:
    for path in (bench.data / ".nuc").iterdir():
        path.unlink()
    bench.put(*bout())
    bench.run(bench.writer())
    assert bench.folders == []
    assert "configure the daemon again" in bench.events("logging_failed")[0]["text"]
    assert bench.ring.kept == bench.ring.written


def test_a_log_somebody_shortened_says_so_and_goes_on(bench: Bench) -> None:
    bench.put(*bout()[:60])
    writer = bench.writer()
    bench.run(writer)
    writer.close(bench.now)
    folder = bench.folders[0]
    os.truncate(folder / "MotorData.txt", 10)
    bench.put(*bout()[60:])
    bench.run(bench.writer())
    assert "log_shortened MotorData.txt" in (folder / "Infolog.txt").read_text()
    assert read_manifest(folder)["state"] == "complete"


def test_a_directory_that_is_being_written_is_locked(bench: Bench) -> None:
    bench.put(*bout()[:60])
    writer = bench.writer()
    bench.run(writer)
    with pytest.raises(FolderLocked):
        FolderLock(bench.folders[0])
    writer.close(bench.now)
    FolderLock(bench.folders[0]).release()


def test_a_commit_that_is_too_large_sheds_notes_first(bench: Bench) -> None:
    for k in range(9):
        bench.tell("note", "note", "n" * 1900 + str(k), "Ann", True)
    writer = bench.writer()
    bench.run(writer)
    for k in range(127):
        bench.tell("author", k, "x" * 150 + str(k), 0)
    bench.run(writer)
    bench.run(writer)
    commit = read_commit(bench.block)
    assert commit is not None
    assert len(commit.notes) < 9
    assert len(commit.authors) == 127
    assert bench.events("notes_dropped")
    commit.labels = {"x": "y" * 40_000}
    with pytest.raises(CommitTooLarge):
        write_commit(bench.block, commit)
