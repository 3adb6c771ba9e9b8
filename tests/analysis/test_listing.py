"""Which bouts there are below a folder."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path
from typing import Any

import pytest

from nuc_engine.analysis.bout import Bout
from nuc_engine.analysis.errors import BoutError
from nuc_engine.analysis.listing import list_bouts
from nuc_engine.recording.files import SCRIPT_FILE
from tests.analysis.directories import neuromod


@pytest.fixture
def shelf(finished_roach: Path, finished_stick: Path, tmp_path: Path) -> Path:
    """Bouts at several depths, between things that are none."""
    root = tmp_path / "data"
    shutil.copytree(finished_roach, root / "monday" / "roach")
    shutil.copytree(finished_stick, root / "stick")
    neuromod(finished_roach, root / "old", times=True, padded=True)
    (root / "empty").mkdir()
    (root / "pictures").mkdir()
    (root / "pictures" / "summary.png").write_bytes(b"")
    (root / ".nuc").mkdir()
    (root / ".nuc" / "manifest.json").write_text("{}")
    return root


def by_name(root: Path) -> dict:
    return {str(entry.folder.relative_to(root)): entry for entry in list_bouts(root)}


def test_bouts_are_found_at_any_depth_and_nothing_else(shelf: Path) -> None:
    assert list(by_name(shelf)) == ["monday/roach", "old", "stick"]
    assert [entry.folder for entry in list_bouts(shelf / "stick")] == [shelf / "stick"]
    assert list_bouts(shelf / "empty") == []
    # What recovery put aside within a bout is no bout of its own.
    shutil.copytree(shelf / "stick", shelf / "old" / "recovered")
    assert list(by_name(shelf)) == ["monday/roach", "old", "stick"]
    with pytest.raises(BoutError, match="nowhere: no such directory"):
        list_bouts(shelf / "nowhere")


def test_a_manifest_is_told(shelf: Path) -> None:
    entry = by_name(shelf)["monday/roach"]
    assert (entry.kind, entry.configuration, entry.script, entry.state) == ("nuc", "lin_roach", "short.xml", "complete")
    assert (entry.seed, entry.duration_s, entry.clock) == (3, 2.0, "virtual")
    assert entry.started.startswith("20")
    assert by_name(shelf)["stick"].script == ""


def test_neuromods_directories_tell_by_their_files(shelf: Path, roach: Bout) -> None:
    entry = by_name(shelf)["old"]
    assert (entry.kind, entry.configuration, entry.state, entry.seed) == ("neuromod", "lin_roachmiddle", "", None)
    assert entry.duration_s == pytest.approx(roach.motor.t_s[-1] - roach.motor.t_s[0], abs=1e-9)
    assert entry.script == ""
    (shelf / "old" / "scriptfile.xml").write_text(
        '<?xml version="1.0"?>\n<hdsoscript name="turn" ScriptType="LegScript"/>'
    )
    assert by_name(shelf)["old"].script == "turn"
    (shelf / "old" / "MotorData.txt").write_text("12")
    assert by_name(shelf)["old"].problem == "MotorData.txt: no whole record"


def test_nobody_waits_for_a_pipe_in_place_of_a_script(shelf: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (shelf / "old" / SCRIPT_FILE).unlink(missing_ok=True)
    os.mkfifo(shelf / "old" / SCRIPT_FILE)
    read = Path.open

    def no_pipe(path: Path, *mode: str) -> Any:
        assert not path.is_fifo(), "it would wait for a writer"
        return read(path, *mode)

    monkeypatch.setattr(Path, "open", no_pipe)
    assert by_name(shelf)["old"].script == ""


def test_labels_and_notes_of_run_and_daemon(shelf: Path) -> None:
    path = shelf / "stick" / "manifest.json"
    told = json.loads(path.read_text())
    told["spec"]["labels"] = {"animal": "B12", "note": "softer flexor"}
    path.write_text(json.dumps(told))
    entry = by_name(shelf)["stick"]
    assert (entry.labels, entry.notes) == ({"animal": "B12"}, ("softer flexor",))
    notes = [
        {"what": "note", "text": "slipped"},
        {"what": "mark", "text": "here"},
        {"what": "label animal", "text": "x"},
        3,
    ]
    told = {"format": 1, "state": "running", "clock": "real", "labels": {"leg": "left"}, "notes": notes, "spec": {}}
    path.write_text(json.dumps(told))
    entry = by_name(shelf)["stick"]
    assert (entry.labels, entry.notes, entry.duration_s, entry.seed) == ({"leg": "left"}, ("slipped",), None, None)
    assert (entry.state, entry.clock) == ("running", "real")


@pytest.mark.parametrize("content", ["", "{", "[]", "\xff\xfe", '"text"', "[" * 100_000])
def test_a_manifest_that_can_not_be_used_is_a_problem_of_its_own(shelf: Path, content: str) -> None:
    (shelf / "stick" / "manifest.json").write_bytes(content.encode("latin-1"))
    entries = by_name(shelf)
    assert len(entries) == 3
    assert entries["stick"].problem.startswith("manifest.json: ")
    assert not entries["monday/roach"].problem


@pytest.mark.parametrize("wrong", [None, 7, "text", ["a"], {"a": {"b": "c"}}])
@pytest.mark.parametrize("key", ["configuration", "script", "spec", "state", "simulated_s", "labels", "notes", "clock"])
def test_nothing_in_a_manifest_has_to_be_what_it_should(shelf: Path, key: str, wrong: object) -> None:
    path = shelf / "stick" / "manifest.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {key: wrong}))
    entry = by_name(shelf)["stick"]
    assert isinstance(entry.configuration, str)
    assert isinstance(entry.script, str)
    assert entry.duration_s is None or isinstance(entry.duration_s, float)
    assert all(isinstance(text, str) for text in (*entry.labels.values(), *entry.notes))
