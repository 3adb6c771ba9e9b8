"""Directories with a name: asked for through the channel, made by the data logger, and nothing ever written over."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import pytest

import nuc_engine.datalogger.keeper as keeper_module
from nuc_engine.daemon.block import Word
from nuc_engine.datalogger.logger import LogRefused
from nuc_engine.datalogger.writer import LogWriter
from tests.service.bench import Refusal
from tests.service.bench import bench as served
from tests.service.log_feed import MS, START, Bench, bout, contents, read_manifest
from tests.service.test_folders import HOSTILE

STAMPED = "20310506_070809_lin_roach"


def names(bench: Bench) -> list[str]:
    return [folder.name for folder in bench.folders]


# --- asked for ---


def test_a_run_tells_the_logger_its_name_with_its_number(b):
    talk = b.client("Ann")
    talk.ask("run", out="carpet_3")
    talk.ask("stop")
    talk.ask("run")
    # One without a name says so: a number may have been told before, of a bout that never began.
    assert [entry for entry in b.logger.told if entry[0] == "name"] == [("name", 1, "carpet_3"), ("name", 2, "")]


@pytest.mark.parametrize("name", [name for name in HOSTILE if name])
def test_a_name_that_leads_anywhere_else_begins_no_bout(b, name):
    talk = b.client("Ann")
    with pytest.raises(Refusal) as caught:
        talk.ask("run", out=name)
    assert caught.value.kind == "bad_request"
    assert b.block.words[Word.BOUT] == 0


@pytest.mark.parametrize("what", ["folder", "file", "link to nothing"])
def test_a_name_that_is_taken_is_refused(b, what):
    data = b.tmp / "data"
    data.mkdir()
    match what:
        case "folder":
            (data / "mine").mkdir()
        case "file":
            (data / "mine").write_text("kept")
        case _:
            (data / "mine").symlink_to(b.tmp / "elsewhere")
    with pytest.raises(Refusal, match="mine exists"):
        b.client("Ann").ask("run", out="mine")
    assert b.block.words[Word.BOUT] == 0


def test_a_run_without_a_name_does_not_wait_for_a_disk(b):
    def refuse(*_):
        raise LogRefused("the disk is full")

    b.logger.tell_name = refuse
    talk = b.client("Ann")
    with pytest.raises(Refusal, match="the disk is full"):
        talk.ask("run", out="mine")
    assert talk.ask("run")["bout"]


def test_a_window_has_a_name_where_bouts_are_not_logged_by_themselves(b, tmp_path):
    with pytest.raises(Refusal, match="every bout is logged whole"):
        b.client("Ann").ask("log", out="mine")
    (tmp_path / "other").mkdir()
    with served(tmp_path / "other", logging="command") as bare:
        talk = bare.configured().client("Ann")
        talk.ask("log", start_s=1.0, out="mine")
        assert bare.logger.told == [("window", 1_000_000_000, -1, "mine")]
        talk.ask("run")
        with pytest.raises(Refusal, match="is being written to"):
            talk.ask("log", out="other")


# --- made ---


def test_a_bout_is_logged_under_its_name_and_the_next_one_by_time(tmp_path):
    bench = Bench(tmp_path)
    writer = bench.writer()
    bench.tell("name", 1, "carpet_3")
    for number in (1, 2):
        bench.put(*bout(number=number))
        bench.run(writer)
    assert names(bench) == [STAMPED, "carpet_3"]
    assert read_manifest(bench.data / "carpet_3")["bout"] == 1


def test_a_name_is_of_its_own_bout_alone(tmp_path):
    bench = Bench(tmp_path)
    bench.tell("name", 7, "never_begun")
    bench.put(*bout())
    bench.run(bench.writer())
    assert names(bench) == [STAMPED]


@pytest.mark.parametrize("when", ["before", "meanwhile"])
def test_what_has_the_name_by_then_is_left_alone(tmp_path, monkeypatch, when):
    bench = Bench(tmp_path)
    taken = bench.data / "mine"

    def take(folder: Path) -> None:
        folder.mkdir(parents=True)
        (folder / "MotorData.txt").write_text("somebody's data\n")

    if when == "before":
        take(taken)
    else:
        made_new, first = keeper_module.made_new, [True]

        def late(folder: Path) -> bool:
            if first.pop() if first else False:
                take(folder)
            return made_new(folder)

        monkeypatch.setattr(keeper_module, "made_new", late)
    bench.tell("name", 1, "mine")
    bench.put(*bout())
    bench.run(bench.writer())
    assert names(bench) == ["mine", "mine_2"]
    assert list(contents(taken).values()) == [b"somebody's data\n"]
    assert read_manifest(bench.data / "mine_2")["state"] == "complete"


def test_each_window_has_its_own_name_and_one_without_that_of_its_bout(tmp_path):
    bench = Bench(tmp_path, always=False)
    writer = bench.writer()
    bench.tell("name", 1, "run_1")
    for window, portion in zip(
        ((0, 60 * MS, "begin"), (100 * MS, 140 * MS, ""), (180 * MS, -1, "")), thirds(), strict=True
    ):
        bench.tell("window", *window)
        bench.put(*portion)
        bench.run(writer)
    assert names(bench) == ["begin", "run_1", "run_1_2"]
    assert [read_manifest(folder)["window_s"] for folder in bench.folders] == [[0, 0.06], [0.1, 0.14], [0.18, None]]


def thirds():
    """The records of a bout in three portions, cut where no window is open."""
    records = bout()
    at = [next(k for k, (kind, _) in enumerate(records) if kind == 0 and _time(records[k]) > t) for t in (80, 160)]
    return [records[a:b] for a, b in pairwise([0, *at, len(records)])]


def _time(record) -> float:
    return (int.from_bytes(record[1][:8], "little") - START) / MS


def test_a_logger_that_dies_goes_on_in_the_directory_of_that_name(tmp_path):
    bench = Bench(tmp_path)
    bench.tell("name", 1, "mine")
    writer: LogWriter | None = None
    for begin, end in ((0, 3), (3, 60), (60, None)):
        writer = bench.writer()
        bench.put(*bout()[begin:end])
        bench.run(writer)
        if end is not None:
            writer._keeper.abandon()
    assert names(bench) == ["mine"]
    assert len((bench.data / "mine" / "MotorData.txt").read_text().splitlines()) == 50
