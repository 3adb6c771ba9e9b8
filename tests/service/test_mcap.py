"""MCAP files: the library of the format reads them, whatever was interrupted while they were written."""

from __future__ import annotations

import errno
import json
import os
import shutil
import sys
from pathlib import Path
from typing import Any

import pytest

from nuc_engine.bout.run import BoutSpec, run_bout
from nuc_engine.recording.logs import TextLog
from nuc_engine.recording.mcap import McapError, McapLog, export, files_in, mend, new_life
from nuc_engine.recording.recover import recover
from tests.recording.test_recover import unfinish
from tests.service.log_feed import Bench, bout, read_manifest

reader = pytest.importorskip("mcap.reader", reason="the library that checks what is written is not installed")


def read(path: Path) -> tuple[list[tuple[str, int, Any]], Any]:
    """Return (topic, time, message) in order of time, and the summary; checksums are checked."""
    with path.open("rb") as file:
        found = reader.make_reader(file, validate_crcs=True)
        messages = [(c.topic, m.log_time, json.loads(m.data)) for _, c, m in found.iter_messages()]
        return messages, found.get_summary()


@pytest.fixture
def log(tmp_path: Path) -> McapLog:
    return McapLog(tmp_path / "x.mcap", {"files": {}}, plant=False)


def write(log: McapLog, numbers: range) -> None:
    for k in numbers:
        log.take("Infolog.txt", f"{1000 + k} info {k}\n")


def texts(path: Path) -> list[str]:
    return [message["text"] for _, _, message in read(path)[0]]


def test_what_is_put_on_disk_together_is_one_chunk(log: McapLog, tmp_path: Path) -> None:
    write(log, range(7))
    log.flush()
    write(log, range(7, 10))
    log.close()
    messages, summary = read(tmp_path / "x.mcap")
    assert [(topic, time, message["text"]) for topic, time, message in messages] == [
        ("/events", 1000 + k, str(k)) for k in range(10)
    ]
    assert (summary.statistics.message_count, summary.statistics.chunk_count) == (10, 2)
    assert log.records == 10


def test_a_file_without_messages_is_one_too(log: McapLog, tmp_path: Path) -> None:
    log.close()
    assert texts(tmp_path / "x.mcap") == []


def test_what_was_not_put_on_disk_is_not_in_an_abandoned_file(log: McapLog, tmp_path: Path) -> None:
    write(log, range(3))
    log.flush()
    write(log, range(3, 5))
    log.abandon()
    assert texts(tmp_path / "x.mcap") == ["0", "1", "2"]


@pytest.mark.parametrize("ended", [True, False])
@pytest.mark.parametrize("beyond", [0, 2])
def test_a_life_leaves_what_its_mark_says(tmp_path: Path, ended: bool, beyond: int) -> None:
    one = new_life(tmp_path, {"files": {}}, {})
    write(one, range(3))
    one.flush()
    mark = one.mark
    write(one, range(3, 3 + beyond))
    one.flush()
    if ended:
        one.end()
    two = new_life(tmp_path, {"files": {}}, {one.name: mark})
    write(two, range(3, 5))
    two.close()
    assert files_in(tmp_path) == ["bout.mcap", "bout_2.mcap"]
    assert [texts(tmp_path / name) for name in files_in(tmp_path)] == [["0", "1", "2"], ["3", "4"]]
    assert (read(tmp_path / "bout.mcap")[1] is not None) == (ended and not beyond)


def test_a_chunk_that_found_no_room_is_written_later_once(
    log: McapLog, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real, full = os.pwrite, [True]

    def pwrite(fd: int, data: bytes, at: int) -> int:
        if full[0]:
            raise OSError(errno.ENOSPC, "full")
        return real(fd, data, at)

    monkeypatch.setattr(os, "pwrite", pwrite)
    for k in range(3):
        write(log, range(3 * k, 3 * k + 3))
        with pytest.raises(OSError, match="full"):
            log.flush()
    with pytest.raises(OSError, match="full"):
        log.end()
    full[0] = False
    log.close()
    assert texts(tmp_path / "x.mcap") == [str(k) for k in range(9)]


def test_any_cut_is_mended_to_whole_chunks(log: McapLog, tmp_path: Path) -> None:
    path = tmp_path / "x.mcap"
    sizes = {}
    for k in range(4):
        write(log, range(5 * k, 5 * k + 5))
        log.flush()
        sizes[5 * k + 5] = log.mark.size
    log.close()
    whole = path.read_bytes()
    assert mend(path) == (len(whole), b"")
    for size in range(0, len(whole), 7):
        path.write_bytes(whole[:size] + bytes(size % 3))
        kept, end = mend(path)
        path.write_bytes(whole[:kept] + end)
        expected = max((count for count, at in sizes.items() if at <= size), default=0)
        if kept:
            # A chunk is whole without the indices behind it.
            assert texts(path)[:expected] == [str(k) for k in range(expected)]
            assert len(texts(path)) <= expected + 5
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
    assert files_in(folder) == ["bout.mcap", "bout_2.mcap"]
    assert {*files_in(folder)} <= {*read_manifest(folder)["files"]}
    lives = [read(folder / name) for name in files_in(folder)]
    live, summary = [message for messages, _ in lives for message in messages], lives[1][1]
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
    size = (folder / "bout.mcap").stat().st_size
    os.truncate(folder / "bout.mcap", size // 2)
    recover(folder)
    messages, _ = read(folder / "bout.mcap")
    # Whole chunks are there still.
    assert 20 < len(messages) < export(folder, tmp_path / "out.mcap")
    assert not recover(folder).changed


def test_without_the_library_a_torn_one_stays_and_all_else_is_mended(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bench = Bench(tmp_path)
    bench.put(*bout()[:80])
    writer = bench.writer(mcap=True)
    bench.run(writer)
    writer.close(bench.now)
    folder = unfinish(bench.folders[0])
    torn = (folder / "bout.mcap").read_bytes()[:-9]
    (folder / "bout.mcap").write_bytes(torn)
    os.truncate(folder / "MotorData.txt", 1000)
    monkeypatch.setitem(sys.modules, "mcap", None)
    assert [mend.file for mend in recover(folder).mends if mend.file != "Scriptlog.xml"][:1] == ["MotorData.txt"]
    assert (folder / "bout.mcap").read_bytes() == torn
    monkeypatch.undo()
    recover(folder)
    assert read(folder / "bout.mcap")[0]


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
