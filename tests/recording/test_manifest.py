"""The manifest: replaced in one step, and believed only as far as its form holds."""

import json
from datetime import UTC, datetime

import pytest

from nuc_engine.recording.files import MANIFEST_FILE
from nuc_engine.recording.manifest import (
    FORMAT,
    Manifest,
    ManifestError,
    hash_files,
    read_manifest,
    read_record,
    sha256,
    write_manifest,
    write_record,
)

GOOD = {
    "format": FORMAT,
    "state": "complete",
    "reason": "",
    "clock": "virtual",
    "configuration": "roach",
    "spec": {},
    "inputs": {"joints.xml": "00"},
    "files": {"MotorData.txt": "11"},
    "versions": {"engine": "1"},
    "started": "today",
}


def test_what_is_written_is_read(tmp_path):
    write_record(tmp_path, GOOD)
    found = read_manifest(tmp_path)
    assert (found.state, found.clock, found.configuration) == ("complete", "virtual", "roach")
    assert (dict(found.inputs), dict(found.files)) == (GOOD["inputs"], GOOD["files"])


def test_a_failing_write_leaves_the_old_manifest_whole(tmp_path):
    write_record(tmp_path, GOOD)
    with pytest.raises(TypeError):
        write_record(tmp_path, {**GOOD, "state": "running", "labels": object()})
    assert read_manifest(tmp_path).state == "complete"
    assert set(hash_files(tmp_path)) == set()


def test_who_is_reading_keeps_the_whole_old_manifest(tmp_path):
    write_record(tmp_path, GOOD)
    with (tmp_path / MANIFEST_FILE).open() as reader:
        start = reader.read(1)
        write_record(tmp_path, {**GOOD, "state": "interrupted", "reason": "x" * 10_000})
        reader.seek(0)
        assert start == "{"
        assert json.load(reader) == GOOD
    assert read_manifest(tmp_path).state == "interrupted"


def test_a_running_bout_has_no_sums_yet(tmp_path):
    write_record(tmp_path, {key: GOOD[key] for key in GOOD if key != "files"} | {"state": "running"})
    assert read_manifest(tmp_path).files == {}


def test_sums_are_of_files_but_neither_figures_nor_the_manifest(tmp_path):
    for name in ("a.txt", "b.png", MANIFEST_FILE, MANIFEST_FILE + ".new"):
        (tmp_path / name).write_text("x")
    (tmp_path / "folder").mkdir()
    assert hash_files(tmp_path) == {"a.txt": sha256(tmp_path / "a.txt")}
    assert sha256(tmp_path / "a.txt") == "2d711642b726b04401627ca9fbac32f5c8530fb1903cc4db02258717921a4881"


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"format": 99}, "format 1"),
        ({"state": "done"}, "state is 'done'; expected one of running, complete"),
        ({"state": ["complete"]}, "state"),
        ({"reason": None}, "reason"),
        ({"clock": 1}, "clock is '1'; expected a text"),
        ({"configuration": None}, "configuration"),
        ({"spec": "x"}, "spec is 'x'; expected an object"),
        ({"spec": None}, "spec"),
        ({"versions": {"engine": 1}}, "versions"),
        ({"versions": []}, "versions"),
        ({"inputs": {"joints.xml": None}}, "inputs"),
        ({"inputs": 0}, "inputs"),
        ({"files": {"../secret": "00"}}, "files is .*expected sums of files by their names"),
        ({"files": {"/etc/passwd": "00"}}, "files"),
        ({"files": {"..": "00"}}, "files"),
        ({"files": {"": "00"}}, "files"),
        ({"inputs": {"a/b": "00"}}, "inputs"),
    ],
)
def test_a_manifest_of_another_form_is_refused_by_key(tmp_path, changes, words):
    write_record(tmp_path, {**GOOD, **changes})
    with pytest.raises(ManifestError, match=words):
        read_manifest(tmp_path)


@pytest.mark.parametrize("key", ["state", "clock", "configuration", "spec", "inputs", "versions"])
def test_a_missing_key_is_named(tmp_path, key):
    write_record(tmp_path, {k: value for k, value in GOOD.items() if k != key})
    with pytest.raises(ManifestError, match=f"lacks {key}"):
        read_manifest(tmp_path)


@pytest.mark.parametrize("text", ["", "{", "[]", "null", "[" * 100_000, '{"format": ' + "9" * 5000 + "}", "\udcff"])
def test_what_is_no_manifest_is_refused(tmp_path, text):
    (tmp_path / MANIFEST_FILE).write_bytes(text.encode(errors="surrogateescape"))
    with pytest.raises(ManifestError, match=MANIFEST_FILE):
        read_manifest(tmp_path)


def test_a_folder_without_one_says_what_makes_one(tmp_path):
    with pytest.raises(ManifestError, match="nuc run"):
        read_manifest(tmp_path)


def test_json_of_a_manifest_is_for_people_too(tmp_path):
    write_record(tmp_path, GOOD)
    assert json.loads((tmp_path / MANIFEST_FILE).read_text()) == GOOD
    assert (tmp_path / MANIFEST_FILE).read_text().startswith('{\n  "format"')


def virtual(**more):
    return Manifest(configuration="roach", clock="virtual", spec={}, inputs={}, versions={}, **more)


def test_a_manifest_says_what_is_known_so_far(tmp_path):
    running = virtual()
    assert not {"files", "counts", "stopped", "engine_time_s", "bout", "labels"} & running.record().keys()
    when = datetime(2026, 1, 2, tzinfo=UTC)
    (tmp_path / "a.txt").write_text("x")
    ended = running.ended(
        tmp_path,
        "complete",
        "so",
        stopped=when,
        engine_time_s=2.0,
        counts={"cycles": 3},
        records={"b": 1, "a": 2},
        events={},
    )
    write_manifest(tmp_path, ended)
    said = read_record(tmp_path)
    assert said["counts"] == {"cycles": 3, "records": {"a": 2, "b": 1}, "events": {}}
    assert list(said["counts"]["records"]) == ["a", "b"]
    assert (said["state"], said["engine_time_s"], said["files"]) == ("complete", 2.0, hash_files(tmp_path))
    assert said.keys() - running.record().keys() == {"files", "counts", "stopped", "engine_time_s", "witness"}


def test_a_daemons_bout_says_the_same_and_more():
    more = virtual(bout=0).record().keys() - virtual().record().keys()
    assert more == {"bout", "window_s", "script_writes", "written_before", "options", "labels", "notes"}
