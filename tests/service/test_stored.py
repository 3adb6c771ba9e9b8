"""What lies on the daemon's disk: scripts, configurations, bouts and their files, through real sockets."""

from __future__ import annotations

import json
import os
import threading

import pytest

from nuc_engine.messages.requests import REQUESTS
from nuc_engine.service.methods_stored import PART_BYTES
from nuc_engine.service.waiting import MOST_LOOKING
from sccils_schemas.model import MODEL_FILES
from tests.sccils.small import SMALL
from tests.service.bench import Refusal

GOOD = '<hdsoscript name="wide"><hdsoMod idNum="{gap}" NumElts="1" time="2">6.5</hdsoMod></hdsoscript>'


@pytest.fixture
def script(b):
    return GOOD.format(gap=b.service.hub.plan.hdso("gap").id_num)


@pytest.fixture
def home(b, monkeypatch):
    """Let the daemon's working folder be where its folders are."""
    monkeypatch.chdir(b.tmp)
    return b.tmp


def small_documents():
    return {file: (SMALL / file).read_text(encoding="utf-8") for file in MODEL_FILES}


def test_a_script_is_stored_listed_and_read_again(b, home, script):
    talk = b.client("Ann")
    talk.ask("store_script", name="wide", text=script)
    found = {one["name"]: one for one in talk.ask("scripts")}
    assert found["wide"]["duration_s"] == 2.0
    assert talk.ask("script_text", name="wide")["text"] == script
    with pytest.raises(Refusal, match="exists"):
        talk.ask("store_script", name="wide", text=script)
    talk.ask("store_script", name="wide", text=script, overwrite=True)


def test_a_script_that_could_not_be_carried_out_is_not_stored(b, home, script):
    talk = b.client("Ann")
    with pytest.raises(Refusal, match="gapp"):
        talk.ask("store_script", name="bad", text=script.replace("idNum", "idByName='y' name='gapp' idNum"))
    assert not (home / "scripts").exists()


@pytest.mark.parametrize("name", ["../x", "a/b", "", ".hidden", "a\0b"])
def test_names_lead_nowhere_else(b, home, script, name):
    talk = b.client("Ann")
    for method, more in (("store_script", {"text": script}), ("script_text", {}), ("documents", {})):
        with pytest.raises(Refusal):
            talk.ask(method, name=name, **more)


def test_problems_are_told_with_their_lines_and_nothing_is_loaded(b, script):
    talk = b.client("Ann")
    assert talk.ask("validate", text=script) == []
    bad = script.replace("<hdsoMod", "\n\n<hdsoMud").replace("</hdsoMod", "</hdsoMud")
    (problem,) = talk.ask("validate", text=bad)
    assert (problem["line"], problem["severity"]) == (3, "error")
    assert "hdsoMod" in problem["hint"] + problem["expected"]
    assert talk.ask("status")["configuration"] == "small"


def test_documents_are_looked_at_as_one_configuration(b):
    talk = b.client("Ann")
    files = small_documents()
    assert [one for one in talk.ask("validate", documents=files) if one["severity"] == "error"] == []
    files["joints.xml"] = files["joints.xml"].replace("<joint ", "<joint nonsense='1' ", 1)
    found = talk.ask("validate", documents=files)
    assert any("nonsense" in one["what"] and one["file"].endswith("joints.xml") and one["line"] > 1 for one in found)
    del files["sensors.xml"]
    assert "sensors.xml" in talk.ask("validate", documents=files)[0]["what"]
    with pytest.raises(Refusal, match="expected text"):
        talk.ask("validate")


def test_a_script_is_held_against_documents_that_come_with_it(bare):
    talk = bare.client("Ann")
    good = GOOD.format(gap=104)
    wrong = GOOD.format(gap=999_999)
    files = small_documents()
    assert any("999999" in one["what"] for one in talk.ask("validate", text=wrong, documents=files))
    assert talk.ask("validate", text=good) == [], "without a model its names are not known"


def test_what_is_listed_of_a_configuration_follows_its_files(b, home):
    talk = b.client("Ann")
    files = small_documents()

    def mine() -> dict[str, str]:
        return next(one for one in talk.ask("configurations") if one["name"] == "mine")

    talk.ask("store_configuration", name="mine", documents=files)
    before = mine()
    files["joints.xml"] = files["joints.xml"].replace(before["fullname"], "Another leg")
    talk.ask("store_configuration", name="mine", documents=files, overwrite=True)
    assert mine() == {**before, "fullname": "Another leg"} != before
    (b.folders.find_configuration("mine") / "joints.xml").write_text("<jointlist>")
    assert mine()["problem"]
    (b.folders.find_configuration("mine") / "joints.xml").write_text(files["joints.xml"])
    assert mine() == {**before, "fullname": "Another leg"}


def test_a_configuration_is_stored_and_its_documents_read_again(b, home):
    talk = b.client("Ann")
    files = small_documents()
    talk.ask("store_configuration", name="mine", documents=files)
    assert talk.ask("documents", name="mine") == files
    assert "mine" in [one["name"] for one in talk.ask("configurations")]
    with pytest.raises(Refusal, match="exists"):
        talk.ask("store_configuration", name="mine", documents=files)
    files["joints.xml"] = "<jointlist>"
    with pytest.raises(Refusal):
        talk.ask("store_configuration", name="mine", documents=files, overwrite=True)
    assert talk.ask("documents", name="mine")["joints.xml"] != "<jointlist>"


def test_documents_that_cannot_be_loaded_are_given_to_be_mended(b, home):
    folder = home / "configs" / "broken"
    folder.mkdir(parents=True)
    (folder / "joints.xml").write_text("<jointlist>")
    assert b.client("Ann").ask("documents", name="broken") == {"joints.xml": "<jointlist>"}


def make_bout(b, name="first", **manifest):
    folder = b.tmp / "data" / name
    folder.mkdir(parents=True)
    (folder / "manifest.json").write_text(json.dumps({"configuration": "small", "state": "complete", **manifest}))
    return folder


def test_bouts_are_listed_newest_first(b):
    make_bout(b, "one", started="2031-01-01", engine_time_s=2.5, labels={"leg": "left"})
    make_bout(b, "two", started="2031-01-02")
    newest, oldest = b.client("Ann").ask("bouts")
    assert (newest["name"], oldest["name"], oldest["duration_s"]) == ("two", "one", 2.5)
    assert oldest["labels"] == {"leg": "left"}


def test_a_file_is_fetched_in_pieces(b):
    folder = make_bout(b)
    data = os.urandom(PART_BYTES + 1000)
    (folder / "MotorData.txt").write_bytes(data)
    (folder / "sub").mkdir()
    (folder / "sub" / "x.csv").write_text("1")
    (folder / os.fsdecode(b"\xff")).write_text("1")  # no text at all: told so that it can be shown
    (folder / "elsewhere").symlink_to(b.tmp)
    talk = b.client("Ann")
    sizes = {one["name"]: one["size"] for one in talk.ask("bout_files", bout="first")}
    assert (sizes["MotorData.txt"], sizes["sub/x.csv"], len(sizes)) == (len(data), 1, 4), "and nothing elsewhere"
    got = b""
    while len(got) < sizes["MotorData.txt"]:
        part = talk.ask("fetch", bout="first", file="MotorData.txt", offset=len(got))
        got += part["data"]
    assert got == data
    assert talk.ask("fetch", bout="first", file="MotorData.txt", offset=10**9)["data"] == b""


@pytest.mark.parametrize(
    ("bout", "file"),
    [
        ("first", "../../secret"),
        ("first", "/etc/passwd"),
        ("first", "link"),
        ("first", "sub/../manifest.json"),
        ("..", "manifest.json"),
        ("first/..", "manifest.json"),
        ("elsewhere", "manifest.json"),
        ("", "secret"),
        ("first", ""),
        ("first", "a\0b"),
        ("first", "x" * 300),
    ],
)
def test_no_file_is_fetched_but_those_of_bouts(b, bout, file):
    folder = make_bout(b)
    (b.tmp / "secret").write_text("secret")
    (folder / "link").symlink_to(b.tmp / "secret")
    outside = b.tmp / "outside"
    outside.mkdir()
    (outside / "manifest.json").write_text("{}")
    (b.tmp / "data" / "elsewhere").symlink_to(outside)
    talk = b.client("Ann")
    with pytest.raises(Refusal) as caught:
        talk.ask("fetch", bout=bout, file=file)
    assert caught.value.kind == "not_found"
    assert "link" not in [one["name"] for one in talk.ask("bout_files", bout="first")]


def test_of_what_takes_long_one_client_has_few_waiting(b):
    talk = b.client("Ann")
    numbers = [talk.send("bouts") for _ in range(6)]
    refused = []
    for number in numbers:
        try:
            assert talk.answer(number) == []
        except Refusal as error:
            refused.append(error.kind)
    assert 0 < len(refused) <= 4
    assert set(refused) == {"too_fast"}
    assert b.client("Ben").ask("bouts") == []


@pytest.mark.parametrize("method", ["bouts", "configurations", "poses", "script"])
def test_who_changes_waits_for_nobody_who_looks(b, home, script, method):
    slow, talk = threading.Event(), b.client("Ann")
    talk.ask("take_control")
    params = {"text": "<hdsoscript name='nothing'/>"} if method == "script" else {}
    b.service.hub.workshop._reading.submit(slow.wait)
    watchers = [b.client(f"watcher {k}") for k in range(MOST_LOOKING // 2 + 2)]
    waiting = [(watcher, watcher.send(method, **params)) for watcher in watchers for _ in range(2)]
    talk.ask("store_script", name="wide", text=script)
    talk.ask("configure", name="lin_roach")
    slow.set()
    kinds = []
    for watcher, number in waiting:
        try:
            watcher.answer(number)
        except Refusal as error:
            kinds.append(error.kind)
    assert kinds == ["too_fast"] * 4, "and all of them together may have so many waiting"


def test_all_of_it_can_be_asked_by_who_only_watches_but_what_writes():
    writing = {"store_script", "store_configuration", "keep_values", "recall_values"}
    asking = {
        "scripts",
        "script_text",
        "documents",
        "validate",
        "bouts",
        "bout_files",
        "fetch",
        "history",
        "kept_values",
    }
    assert all(REQUESTS[name].control for name in writing)
    assert all(REQUESTS[name].needs == "watch" and not REQUESTS[name].control for name in asking | {"kept_values"})
