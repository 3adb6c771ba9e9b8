"""The data logger: what stands in a bout's directory, on command and always, on a good disk and on a bad one."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from nuc_engine.control.faults import OFF
from nuc_engine.daemon.block import Word
from nuc_engine.daemon.latch import latch
from nuc_engine.daemon.launch import BusLine, Launch, ServeOptions
from nuc_engine.daemon.wire import RecordKind, pack
from nuc_engine.datalogger.commits import inbox
from nuc_engine.datalogger.documents import KeptDocuments
from nuc_engine.datalogger.logger import LONGEST_TEXT, Logger, LogRefused
from nuc_engine.recording.recorder import BoutRecorder
from tests.service.log_feed import (
    MS,
    START,
    WALL,
    Bench,
    bout,
    documents,
    read_manifest,
    read_record,
)

DATA = (
    int(RecordKind.MOTOR),
    int(RecordKind.SENSORS),
    int(RecordKind.STATES),
    int(RecordKind.MUSCLES),
    int(RecordKind.START),
)


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path)


def times(path: Path) -> list[int]:
    return [int(line.split()[0]) for line in path.read_text().splitlines()]


def test_a_bout_has_every_file_and_a_manifest_that_says_how_it_was(bench: Bench) -> None:
    bench.tell("author", 11, "Ann (unverified)", 2)
    bench.put(*bout())
    bench.run(bench.writer())
    (folder,) = bench.folders
    assert folder.name == "20310506_070809_lin_roach"
    said = read_manifest(folder)
    assert (said["state"], said["clock"], said["configuration"]) == ("complete", "real", "lin_roach")
    assert said["labels"] == {"leg": "left"}
    assert said["counts"]["cycles"] == said["counts"]["records"]["MotorData.txt"] == 50
    assert said["engine_time_s"] == 0.25
    assert set(said["files"]) == {path.name for path in folder.iterdir()} - {"manifest.json"}
    script = (folder / "Scriptlog.xml").read_text()
    assert script.count("<!-- cycle 8, by Ann (unverified) -->") == 1
    assert "by Ann" in script.partition("<!-- cycle 26")[2]
    assert "control Coxa-Trochanter: tweak 3" in (folder / "Infolog.txt").read_text()


def test_the_input_record_holds_store_controls_authors_and_the_order_of_the_tasks(bench: Bench) -> None:
    bench.tell("author", 11, "Ann", 2)
    bench.put(*bout())
    bench.run(bench.writer())
    record = read_record(bench.folders[0])
    assert [entry[0] for entry in record[:4]] == ["head", "store", "ran", "ran"]
    ran = [tuple(entry[1:]) for entry in record if entry[0] == "ran"]
    assert ran[0] == ("start", 0, 3, [-1] * 4)
    assert [what for what, *_ in ran].count("changeset") == 3
    assert ["control", 18, 90 * MS, "tweak", 3, 3.0, "", "Ann"] in record
    edit = next(entry for entry in record if entry[0] == "edit")
    assert edit == ["edit", 8, 40 * MS, 103, [61.0], "", "Ann"]


def test_files_are_written_by_the_functions_of_a_bout_on_virtual_time(bench: Bench, tmp_path: Path) -> None:
    assert BoutRecorder.motor.__module__ == "nuc_engine.recording.recorder"
    bench.put(*bout())
    bench.run(bench.writer())
    folder = bench.folders[0]
    for name in ("MotorData.txt", "SensData.txt"):
        stamps = times(folder / name)
        assert stamps == sorted(stamps)
        assert 0 <= stamps[0] < stamps[-1] < 250 * MS
    motor = (folder / "MotorData.txt").read_text().splitlines()[-1].split()
    ages = [int(age) for age in motor[-1:8:-2]]
    assert all(0 <= age < 10 * MS for age in ages)


def test_nothing_is_given_back_before_it_is_on_disk(bench: Bench) -> None:
    bench.put(*bout()[:100])
    writer = bench.writer()
    bench.run(writer, 0.2)
    first = bench.ring.kept
    bench.put(*bout()[100:150])
    bench.run(writer, 0.2)
    assert bench.ring.kept == first
    lines = len(times(bench.folders[0] / "MotorData.txt"))
    bench.run(writer, 1.0)
    assert bench.ring.kept == bench.ring.written
    assert len(times(bench.folders[0] / "MotorData.txt")) > lines


def test_labels_notes_and_marks_stand_with_time_and_author(bench: Bench) -> None:
    bench.tell("note", "label repetition", "3", "Ann", True)
    bench.tell("note", "note", "new battery", "Ann", True)
    bench.put(*bout()[:60])
    writer = bench.writer()
    bench.run(writer)
    bench.tell("note", "mark", "kick", "Bob", True, time_ns=START + 70 * MS)
    bench.tell("note", "label surface", "felt\nrough", "Bob", False, time_ns=START + 80 * MS)
    bench.run(writer)
    folder = bench.folders[0]
    said = read_manifest(folder)
    assert said["state"] == "running"
    assert said["labels"] == {"leg": "left", "repetition": "3", "surface": "felt\nrough"}
    notes = [(note["what"], note["text"], note["author"], note["time_s"]) for note in said["notes"]]
    assert notes == [
        ("note", "new battery", "Ann", 0.0),
        ("mark", "kick", "Bob", 0.07),
        ("label surface", "felt\nrough", "Bob", 0.08),
    ]
    assert "70000000 mark kick by Bob" in (folder / "Infolog.txt").read_text()
    bench.put(*bout()[60:])
    bench.run(writer)
    again = [(kind, content) for kind, content in bout(number=2)]
    bench.put(*again)
    bench.run(writer)
    assert bench.folders[1].name.endswith("_lin_roach_2")
    assert read_manifest(bench.folders[1])["labels"] == {"leg": "left", "surface": "felt\nrough"}


def test_a_script_that_was_sent_is_kept_with_its_bout(bench: Bench) -> None:
    def sent(text: bytes) -> str:
        return bench.documents.keep(KeptDocuments("turn", {"scriptfile.xml": text}))

    bench.tell("script", sent(b"<one/>"), 0, -1)
    bench.put(*bout()[:60])
    writer = bench.writer()
    bench.run(writer)
    bench.tell("script", sent(b"<two/>"), 0, -1)
    bench.tell("script", sent(b"<one/>"), 0, -1)
    bench.run(writer)
    folder = bench.folders[0]
    assert (folder / "scriptfile.xml").read_bytes() == b"<one/>"
    assert (folder / "scriptfile_2.xml").read_bytes() == b"<two/>"
    said = read_manifest(folder)
    assert said["script"] == "turn"
    assert {"scriptfile.xml", "scriptfile_2.xml"} <= set(said["inputs"])


@pytest.mark.parametrize(("requests", "writes"), [((11, 12), 2), ((20, 25), 0)])
def test_the_manifest_says_whether_a_script_had_any_effect(
    bench: Bench, requests: tuple[int, int], writes: int
) -> None:
    name = bench.documents.keep(KeptDocuments("turn", {"scriptfile.xml": b"<one/>"}))
    bench.tell("script", name, *requests)
    bench.put(*bout())
    bench.run(bench.writer())
    said = read_manifest(bench.folders[0])
    # A write that was refused is none, and neither is what somebody did by hand.
    assert (said["script"], said["script_writes"]) == ("turn", writes)


def test_what_a_script_wrote_before_the_bout_counts(bench: Bench) -> None:
    name = bench.documents.keep(KeptDocuments("turn", {"scriptfile.xml": b"<one/>"}))
    bench.tell("script", name, 30, 30)
    bench.put((RecordKind.APPLIED, pack(START - MS, 3, 103, [60.0], False, "", 30)), *bout())
    bench.run(bench.writer())
    assert read_manifest(bench.folders[0])["script_writes"] == 1


@pytest.mark.parametrize(("refused", "written"), [("", 1), ("why not", 0)])
def test_the_manifest_says_how_much_was_written_before_the_bout(bench: Bench, refused: str, written: int) -> None:
    bench.put((RecordKind.APPLIED, pack(START - MS, 3, 103, [60.0], False, refused, 30)), *bout())
    bench.run(bench.writer())
    assert read_manifest(bench.folders[0])["written_before"] == written


def test_a_script_of_another_configuration_is_not_of_the_next_bout(bench: Bench) -> None:
    name = bench.documents.keep(KeptDocuments("turn", {"scriptfile.xml": b"<one/>"}))
    bench.tell("script", name, 30, 30)
    other = documents()
    bench.tell("documents", bench.documents.keep(KeptDocuments("lin_roach_2", other.files)))
    bench.put(*bout())
    bench.run(bench.writer())
    said = read_manifest(bench.folders[0])
    assert (said["script"], said["script_writes"]) == (None, None)


# --- on command ---


def test_on_command_only_the_window_is_logged_and_the_store_is_dumped_when_it_begins(tmp_path: Path) -> None:
    bench = Bench(tmp_path, always=False)
    bench.tell("window", 60 * MS, 120 * MS, "")
    records = bout()
    writer = bench.writer()
    bench.put(*records[:90])
    bench.run(writer)
    assert len(bench.dumps) == 1
    dump = next(record for record in records if record[0] == RecordKind.STORE)
    bench.put((int(RecordKind.STORE), pack(START + 70 * MS, 14, b"x" * len(dump[1]))), *records[90:])
    bench.run(writer)
    (folder,) = bench.folders
    stamps = times(folder / "MotorData.txt")
    assert 60 * MS <= stamps[0] < stamps[-1] < 120 * MS
    said = read_manifest(folder)
    assert (said["state"], said["window_s"]) == ("complete", [0.06, 0.12])
    assert "log_error" in (folder / "Infolog.txt").read_text()


def test_on_command_nothing_is_logged_unasked(tmp_path: Path) -> None:
    bench = Bench(tmp_path, always=False)
    bench.put(*bout())
    bench.run(bench.writer())
    assert bench.folders == []
    assert bench.ring.kept == bench.ring.written


def test_a_window_asked_for_before_the_run_counts_from_the_start_and_can_be_closed_at_once(tmp_path: Path) -> None:
    bench = Bench(tmp_path, always=False)
    bench.tell("window", 0, -1, "")
    bench.put(*bout()[:80])
    writer = bench.writer()
    bench.run(writer)
    assert read_record(bench.folders[0])[1][0] == "store"
    assert bench.dumps == []
    bench.tell("window_end", -1, time_ns=START + 150 * MS)
    bench.put(*bout()[80:])
    bench.run(writer)
    (folder,) = bench.folders
    assert times(folder / "SensData.txt")[-1] < 150 * MS
    assert read_manifest(folder)["engine_time_s"] == 0.15


# --- ends ---


@pytest.mark.parametrize(("reason", "state"), [("motor_silent", "fault"), (OFF, "interrupted")])
def test_a_core_that_died_within_the_bout_ends_it_with_the_reason_it_was_latched_for(
    bench: Bench, reason: str, state: str
) -> None:
    bench.put(*bout()[:100])
    writer = bench.writer()
    bench.run(writer)
    bench.block.rings["guardian"].put(RecordKind.EVENT, pack(START + 150 * MS, "core_stalled", "silent for 20 ms"))
    words = bench.block.words
    latch(words, reason)
    words[Word.CORE_PID] = 0
    bench.put(bout()[100])
    bench.run(writer)
    folder = bench.folders[0]
    said = read_manifest(folder)
    assert said["state"] == state
    assert said["reason"].startswith(f"{reason}: ")
    assert "150000000 core_stalled silent for 20 ms" in (folder / "Infolog.txt").read_text()
    assert said["files"]


def test_repeats_are_told_once_in_the_journal_and_each_stands_in_the_data(bench: Bench) -> None:
    missed = [(int(RecordKind.EVENT), pack(START + k * MS, "reply_missed", "no usable reply")) for k in range(1, 41)]
    bench.put(*bout()[:100], *missed, *bout()[100:])
    writer = bench.writer()
    bench.run(writer)
    assert [event.get("times", 1) for event in bench.events("reply_missed")] == [1, 39]
    assert (bench.folders[0] / "Infolog.txt").read_text().count("reply_missed no usable reply") == 40


NEW_CORE = (int(RecordKind.MODE), pack(START + 900 * MS, 1, "configured", 0))


@pytest.mark.parametrize(("told", "later"), [((NEW_CORE,), slice(110, 150)), ((), slice(20, 60))])
def test_what_a_new_core_tells_does_not_become_part_of_the_bout_of_the_dead_one(
    bench: Bench, told: tuple[tuple[int, bytes], ...], later: slice
) -> None:
    # Whether the new core says that it is new, or only counts its cycles from the start.
    begun = bout()[:100]
    data = [record for record in bout()[later] if record[0] in DATA]
    first = next(k for k, (kind, _) in enumerate(data) if kind == RecordKind.MOTOR)
    bench.put(*begun, *told, *data[first:])
    writer = bench.writer()
    bench.run(writer)
    # It was read in one go, after the core had been replaced: nobody but the records says so.
    (folder,) = bench.folders
    bench.block.words[Word.CORE_GENERATION] = 2
    bench.run(writer)
    assert read_manifest(folder)["state"] == "fault"
    for name, counted in (("MotorData.txt", RecordKind.MOTOR), ("SensData.txt", RecordKind.SENSORS)):
        assert len(times(folder / name)) == sum(kind == counted for kind, _ in begun)


def test_a_bout_that_a_new_core_began_is_not_ended_with_that_of_the_dead_one(bench: Bench) -> None:
    bench.put(*bout()[:60])
    writer = bench.writer()
    bench.run(writer)
    # There was no core when the logger looked; by the time it has read on, a new one runs.
    bench.block.words[Word.CORE_PID] = 0
    bench.put(NEW_CORE, *bout(number=2)[:60])
    writer.step(bench.now)
    bench.block.words[Word.CORE_PID] = 4711
    bench.run(writer)
    states = [read_manifest(folder)["state"] for folder in bench.folders]
    assert states == ["fault", "running"]


def test_events_and_edits_outside_bouts_are_told_to_the_journal_alone(bench: Bench) -> None:
    outside = [record for record in bout() if record[0] in (*DATA, RecordKind.APPLIED, RecordKind.EVENT)]
    bench.put(*outside)
    bench.run(bench.writer())
    assert bench.folders == []
    assert len(bench.events("edit")) == 2
    assert bench.events("edit_refused")[0]["level"] == "warning"


# --- disks ---


# --- the thread ---


def logger(tmp_path: Path, bench: Bench, **options: Any) -> Logger:
    given = ServeOptions(data=tmp_path, **options)
    launch = Launch(bench.block, -1, -1, -1, -1, (BusLine("", "loopback:", -1),), given)
    return Logger(
        launch, wall=lambda: WALL, now_ns=lambda: bench.now, request_dump=lambda: None, stream=bench.told, sync=False
    )


def test_the_thread_logs_what_it_is_told_and_puts_it_on_disk_when_it_is_stopped(bench: Bench, tmp_path: Path) -> None:
    log = logger(tmp_path, bench)
    assert log.documents() is None
    log.tell_documents("lin_roach", documents().files, b"<hdsoscript/>")
    log.tell_author(11, "Ann", 2)
    log.tell_mark("here", "Bob")
    bench.put(*bout())
    log.start()
    assert log.stop(20)
    folder = bench.folders[0]
    assert read_manifest(folder)["state"] == "complete"
    assert (folder / "scriptfile.xml").read_bytes() == b"<hdsoscript/>"
    assert "by Ann" in (folder / "Scriptlog.xml").read_text()
    assert log.status()["state"] == "waiting"
    assert log.status()["backlog"] == 0
    assert logger(tmp_path, bench).documents() == ("lin_roach", dict(documents().files))


def test_what_can_not_be_noted_is_refused(bench: Bench, tmp_path: Path) -> None:
    log = logger(tmp_path, bench, logging="command")
    assert log.status()["state"] == "off"
    for text in ("", " ", "x" * (LONGEST_TEXT + 1)):
        with pytest.raises(LogRefused):
            log.tell_note(text, "Ann")
    with pytest.raises(LogRefused):
        log.tell_label("", "x", "Ann")
    with pytest.raises(LogRefused, match="can not be noted"):
        for _ in range(100):
            log.tell_mark("x" * 1000, "Ann")
    assert inbox(bench.block).lost == 1


def test_the_journal_gets_one_json_object_a_line(bench: Bench) -> None:
    bench.put(*bout())
    bench.run(bench.writer())
    told = [json.loads(line) for line in bench.told.getvalue().splitlines()]
    assert {"bout_begin", "logging_begun", "bout_end", "overrun", "mode"} <= {event["event"] for event in told}
    overrun = next(event for event in told if event["event"] == "overrun")
    assert (overrun["fault"], overrun["level"], overrun["bout"], overrun["time_s"]) == ("overrun", "warning", 1, 0.25)
