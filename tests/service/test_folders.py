"""Names that come from a network lead nowhere but into the folders."""

from __future__ import annotations

import os
import shutil
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nuc_engine.machine.locations import list_configurations
from nuc_engine.messages.errors import Refused
from nuc_engine.service.configuration import read_configuration
from nuc_engine.service.folders import Folders, check_name
from tests.sccils.small import SMALL
from tests.service.bench import Refusal

HOSTILE = [
    "", ".", "..", "../x", "/etc/passwd", "a/b", "a\\b", "a\0b", "-rf", ".hidden", "x" * 65, "a b", "ä", "a\n", "~",
    "$HOME", "C:x", "a..b/../c", "%2e%2e",
]  # fmt: skip


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_names_are_refused(name):
    with pytest.raises(Refused) as refused:
        check_name(name)
    assert refused.value.kind == "bad_request"


@settings(max_examples=200, deadline=None, derandomize=True)
@given(st.text(max_size=80))
def test_a_name_that_is_taken_stays_in_its_folder(name):
    try:
        check_name(name)
    except Refused:
        return
    assert "/" not in name
    assert name.strip(".") == name != ""


@pytest.mark.parametrize("name", HOSTILE)
def test_no_method_takes_a_hostile_name(b, name):
    talk = b.client("Ann")
    before = sorted(b.tmp.rglob("*"))
    for method, params in (
        ("configure", {}),
        ("save", {"kind": "script"}),
        ("save", {}),
        ("pose_save", {}),
        ("record_start", {}),
    ):
        with pytest.raises(Refusal):
            talk.ask(method, name=name, **params)
    assert sorted(b.tmp.rglob("*")) == before


@pytest.fixture
def folders(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return Folders(tmp_path / "data")


def test_a_configuration_that_is_a_link_out_of_the_folder_is_refused(folders, tmp_path):
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "joints.xml").write_text("secret")
    (tmp_path / "configs").mkdir()
    (tmp_path / "configs" / "leg").symlink_to(outside)
    with pytest.raises(Refused, match="symbolic"):
        folders.find_configuration("leg")


def test_a_configuration_that_holds_a_link_is_refused(folders, tmp_path):
    (tmp_path / "configs" / "leg").mkdir(parents=True)
    (tmp_path / "configs" / "leg" / "joints.xml").symlink_to("/etc/passwd")
    with pytest.raises(Refused, match="symbolic"):
        folders.find_configuration("leg")


def test_nothing_is_written_through_a_link(folders, tmp_path):
    outside = tmp_path / "outside"
    outside.mkdir()
    (tmp_path / "scripts").symlink_to(outside)
    with pytest.raises(Refused, match="symbolic"):
        folders.new_script("s", b"x", overwrite=True)
    (tmp_path / "configs").mkdir()
    (tmp_path / "configs" / "leg").symlink_to(outside)
    with pytest.raises(Refused, match="symbolic"):
        folders.new_configuration("leg", {"joints.xml": b"x"}, overwrite=True)
    assert list(outside.iterdir()) == []


def test_no_link_where_a_draft_is_written_is_followed(folders, tmp_path):
    outside = tmp_path / "outside"
    outside.write_text("mine")
    (tmp_path / "scripts").mkdir()
    (tmp_path / "scripts" / ".s.xml.new").symlink_to(outside)
    assert folders.new_script("s", b"x", overwrite=True).read_bytes() == b"x"
    assert outside.read_text() == "mine"


@pytest.mark.parametrize("nth", [1, 2, 3])
def test_a_configuration_is_there_wherever_its_writer_is_killed(folders, monkeypatch, nth):
    """The old one or the new one, whole, and nothing else that looks like one."""
    folders.new_configuration("leg", {"joints.xml": b"old"}, overwrite=False)
    steps = iter(range(1, 9))

    def killed_before(step):
        def instead(*given, **named):
            if next(steps) == nth:
                raise KeyboardInterrupt
            return step(*given, **named)

        return instead

    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        rmtree = killed_before(shutil.rmtree)
        patch.setattr(Path, "rename", killed_before(Path.rename))
        patch.setattr(shutil, "rmtree", lambda path, **_: path.exists() and rmtree(path))
        folders.new_configuration("leg", {"joints.xml": b"new"}, overwrite=True)
    assert set(list_configurations()) & {".leg.new", ".leg.old"} == set()
    folders.mend()
    assert (folders.configurations / "leg" / "joints.xml").read_bytes() == (b"new" if nth == 3 else b"old")
    assert not (folders.configurations / ".leg.old").exists()
    folders.new_configuration("leg", {"joints.xml": b"newer"}, overwrite=True)
    assert [path.name for path in folders.configurations.iterdir()] == ["leg"]


def test_nobody_waits_for_a_pipe_that_lies_where_a_file_should(folders, tmp_path):
    (tmp_path / "configs" / "leg").mkdir(parents=True)
    (tmp_path / "configs" / "leg" / "joints.xml").write_text("<jointlist/>")
    os.mkfifo(tmp_path / "configs" / "leg" / "table.json")
    with pytest.raises(Refused, match=r"no file: table\.json"):
        within(5.0, lambda: folders.find_configuration("leg"))
    (tmp_path / "data").mkdir()
    os.mkfifo(tmp_path / "data" / "poses.json")
    with pytest.raises(Refused, match="not a file"):
        within(5.0, folders.read_poses)


def test_of_a_configurations_folder_no_file_without_end_is_read(tmp_path):
    folder = tmp_path / "small"
    shutil.copytree(SMALL, folder)
    with (folder / "huge.json").open("wb") as file:
        file.truncate(64 << 30)
    assert read_configuration("small", folder).files.keys() == read_configuration("small", SMALL).files.keys()


def within(seconds, work):
    """Do something that may wait without end."""
    with ThreadPoolExecutor(1) as pool:
        doing = pool.submit(work)
        try:
            return doing.result(seconds)
        except TimeoutError:
            for fifo in (path for path in Path.cwd().rglob("*") if path.is_fifo()):
                os.close(os.open(fifo, os.O_RDWR))
            raise


def test_a_disk_that_takes_nothing_is_an_answer(folders, tmp_path):
    (tmp_path / "scripts").write_text("a file, where a folder should be")
    with pytest.raises(Refused) as refused:
        folders.new_script("s", b"x", overwrite=True)
    assert refused.value.kind == "failed"


@pytest.mark.parametrize("content", ["{", "[]", '{"a": 1}', '{"a": {"b": 1}}', '{"a": {"b": {"c": "d"}}}'])
def test_poses_that_are_none_are_refused_and_not_overwritten(b, content):
    path = b.tmp / "data" / "poses.json"
    path.parent.mkdir()
    path.write_text(content)
    talk = b.client("Ann")
    for method, params in (("poses", {}), ("pose_save", {"name": "x"}), ("pose", {"name": "x"})):
        with pytest.raises(Refusal):
            talk.ask(method, **params)
    assert path.read_text() == content
