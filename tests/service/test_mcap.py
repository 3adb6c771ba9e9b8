"""MCAP files: the library of the format reads them, whatever was interrupted while they were written."""

from __future__ import annotations

import errno
import json
import os
import shutil
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nuc_engine.bout.run import BoutSpec, run_bout
from nuc_engine.recording.logs import TextLog
from nuc_engine.recording.mcap import Channel, McapLog, mend
from nuc_engine.recording.mcap_logs import FILE, McapError, export
from nuc_engine.recording.recover import recover
from tests.recording.test_recover import unfinish
from tests.service.log_feed import Bench, bout, read_manifest

reader = pytest.importorskip("mcap.reader", reason="the library that checks what is written is not installed")

CHANNELS = (Channel("/a", "a", b"{}"), Channel("/b", "b", b"{}"))


def read(path: Path) -> tuple[list[tuple[str, int, Any]], Any]:
    """Return (topic, time, message) in order of time, and the summary; checksums are checked."""
    with path.open("rb") as file:
        found = reader.make_reader(file, validate_crcs=True)
        messages = [(c.topic, m.log_time, json.loads(m.data)) for _, c, m in found.iter_messages()]
        return messages, found.get_summary()


def write(log: McapLog, numbers: range) -> None:
    for k in numbers:
        log.add(k % 2, 1000 + k, str(k).encode())


def test_what_is_written_is_read_by_the_formats_own_library(tmp_path: Path) -> None:
    log = McapLog(tmp_path / "x.mcap", CHANNELS)
    write(log, range(7))
    log.flush()
    write(log, range(7, 10))
    log.close()
    messages, summary = read(tmp_path / "x.mcap")
    assert messages == [("/a" if k % 2 == 0 else "/b", 1000 + k, k) for k in range(10)]
    assert (summary.statistics.message_count, summary.statistics.chunk_count) == (10, 2)
    assert summary.statistics.channel_message_counts == {1: 5, 2: 5}
    assert [summary.statistics.message_start_time, summary.statistics.message_end_time] == [1000, 1009]
    assert log.records == 10


def test_a_file_without_messages_is_one_too(tmp_path: Path) -> None:
    McapLog(tmp_path / "x.mcap", CHANNELS).close()
    assert read(tmp_path / "x.mcap")[0] == []


@settings(max_examples=30, deadline=None, derandomize=True)
@given(parts=st.lists(st.integers(0, 4), min_size=1, max_size=6), torn=st.binary(max_size=40))
def test_a_writer_goes_on_where_the_mark_of_another_says(
    tmp_path_factory: pytest.TempPathFactory, parts: list[int], torn: bytes
) -> None:
    folder = tmp_path_factory.mktemp("mcap")
    at, mark = 0, None
    for count in parts:
        log = McapLog(folder / "parts.mcap", CHANNELS, mark)
        write(log, range(at, at + count))
        at += count
        log.flush()
        mark = log.mark
        log.abandon()
        with (folder / "parts.mcap").open("ab") as file:
            file.write(torn)
    McapLog(folder / "parts.mcap", CHANNELS, mark).close()
    messages, summary = read(folder / "parts.mcap")
    assert [message for _, _, message in messages] == list(range(at))
    assert summary.statistics.message_count == at


def test_a_chunk_that_found_no_room_is_written_later_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    log, real, full = McapLog(tmp_path / "x.mcap", CHANNELS), os.pwrite, [True]

    def pwrite(fd: int, data: bytes, at: int) -> int:
        if full[0]:
            raise OSError(errno.ENOSPC, "full")
        return real(fd, data, at)

    monkeypatch.setattr(os, "pwrite", pwrite)
    for k in range(3):
        write(log, range(3 * k, 3 * k + 3))
        with pytest.raises(OSError, match="full"):
            log.flush()
    full[0] = False
    log.flush()
    log.close()
    assert [message for _, _, message in read(tmp_path / "x.mcap")[0]] == list(range(9))


def test_any_cut_is_mended_to_whole_chunks(tmp_path: Path) -> None:
    path = tmp_path / "x.mcap"
    log = McapLog(path, CHANNELS)
    sizes = {}
    for k in range(4):
        write(log, range(5 * k, 5 * k + 5))
        log.flush()
        sizes[5 * k + 5] = log.mark.size
    log.close()
    whole = path.read_bytes()
    assert mend(path, CHANNELS) == (len(whole), b"")
    for size in range(0, len(whole), 7):
        path.write_bytes(whole[:size])
        kept, end = mend(path, CHANNELS)
        path.write_bytes(whole[:kept] + end)
        expected = max((count for count, at in sizes.items() if at <= size), default=0)
        if kept:
            assert [message for _, _, message in read(path)[0]] == list(range(expected))
        else:
            assert expected == 0


def test_a_logger_writes_it_beside_the_text_logs_and_export_gives_the_same(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    bench.put(*bout()[:80])
    writer = bench.writer(mcap=True)
    bench.run(writer)
    writer.close(bench.now)
    bench.put(*bout()[80:])
    bench.run(bench.writer(mcap=True))
    folder = bench.folders[0]
    assert FILE in read_manifest(folder)["files"]
    live, summary = read(folder / FILE)
    assert {c.topic for c in summary.channels.values()} == {"/motor", "/sensors", "/states", "/muscles", "/events"}
    assert export(folder, tmp_path / "out.mcap") == len(live)
    exported, _ = read(tmp_path / "out.mcap")
    assert sorted(map(repr, live)) == sorted(map(repr, exported))
    motor = next(message for topic, _, message in live if topic == "/motor")
    line = (folder / "MotorData.txt").read_text().split("\n")[0].split()
    assert motor["time_s"] == int(line[0]) / 1e9
    assert motor["Thorax-Coxa1_motor"]["position_raw"] == int(line[2])


def test_a_torn_one_is_mended_with_its_bout(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    writer = bench.writer(mcap=True)
    for at in range(0, 160, 40):
        bench.put(*bout()[at : at + 40])
        bench.run(writer)
    writer.close(bench.now)
    folder = unfinish(Path(shutil.copytree(bench.folders[0], tmp_path / "torn")))
    size = (folder / FILE).stat().st_size
    os.truncate(folder / FILE, size - 9)
    recover(folder)
    messages, _ = read(folder / FILE)
    # The last of four chunks is gone, and nothing but that.
    assert 60 < len(messages) < export(folder, tmp_path / "out.mcap")
    assert not recover(folder).changed


def test_a_bout_of_nuc_run_has_its_plant_too(tmp_path: Path) -> None:
    run_bout(BoutSpec("configs/lin_roach", tmp_path / "bout", duration_s=0.2, seed=7, bus="loopback:"))
    (tmp_path / "bout" / "PlantData.txt").write_text("5 1 2 3 nan\n6 1 2\n7 1 2 3 4")
    export(tmp_path / "bout", tmp_path / "x.mcap")
    plant = [message for topic, _, message in read(tmp_path / "x.mcap")[0] if topic == "/plant"]
    assert plant == [{"time_s": 5e-9, "foot_x": 1, "foot_y": 2, "foot_z": 3, "contact": None}]


@pytest.mark.parametrize("text", [None, "{", "[]", '{"files": {"MotorData.txt": {}}}', '{"files": 3}'])
def test_a_directory_without_its_columns_is_refused(tmp_path: Path, text: str | None) -> None:
    if text is not None:
        (tmp_path / "columns.json").write_text(text)
    with pytest.raises(McapError, match=r"columns\.json"):
        export(tmp_path, tmp_path / "x.mcap")


def test_a_tap_is_told_every_line(tmp_path: Path) -> None:
    told: list[tuple[str, str]] = []
    log = TextLog(tmp_path / "x.txt", tap=lambda name, line: told.append((name, line)))
    log.append("1 a\n")
    log.close()
    assert told == [("x.txt", "1 a\n")]
    assert (tmp_path / "x.txt").read_text() == "1 a\n"
