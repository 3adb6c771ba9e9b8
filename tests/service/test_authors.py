"""Every edit that takes effect has its author in the files a bout leaves; what cannot be logged is refused."""

from __future__ import annotations

import json
import re
from pathlib import Path

import msgpack
import pytest

from nuc_engine.datalogger.commits import inbox
from nuc_engine.service.authors import MOST_RUNS
from tests.service.bench import HERE, Bench, Refusal, bench
from tests.service.test_methods import refused


@pytest.fixture
def logged(tmp_path):
    with bench(tmp_path, logged=True) as b:
        b.configured()
        yield b


def folder_of(b: Bench) -> Path:
    b.turn(3)
    return next(path for path in (b.tmp / "data").iterdir() if (path / "manifest.json").exists())


def ended(b: Bench) -> Path:
    folder = folder_of(b)
    b.core.end("complete", "stopped")
    b.now += 2_000_000_000
    b.turn(5)
    assert json.loads((folder / "manifest.json").read_text())["state"] != "running"
    return folder


def edits(folder: Path) -> list[tuple[str, float]]:
    """Return author and value of each write of HDSO 104."""
    found, author = [], ""
    for line in (folder / "Scriptlog.xml").read_text().splitlines():
        if said := re.search("<!-- cycle [0-9]+(?:, by (.*))? -->", line):
            author = said[1] or ""
        elif value := re.search('idNum="104".*>([0-9.]+)<', line):
            found.append((author, float(value[1])))
    return found


def test_a_flood_of_edits_has_its_author_whole(logged, monkeypatch):
    b = logged
    ann = b.client("Ann")
    ann.ask("run")
    monkeypatch.setattr(b, "logs", False)
    # The logger is away: 2,000 edits within a second, and nothing of them is read meanwhile.
    for first in range(0, 2000, 100):
        for k in range(first, first + 100):
            ann.raw(msgpack.packb({"id": k, "method": "set", "params": {"changes": [["gap", 5.0 + k]]}}))
        for k in range(first, first + 100):
            assert ann.answer(k)["applied"]
    monkeypatch.setattr(b, "logs", True)
    assert edits(ended(b)) == [(f"Ann {HERE}", 5.0 + k) for k in range(2000)]


def test_what_waits_for_its_time_has_its_author_whoever_has_had_control_since(logged):
    b = logged
    ann = b.client("Ann")
    ann.ask("run")
    ann.ask("set", changes=[["gap", 3.0]], time_s=100.0)
    for k in range(300):
        ann.ask("tweak", joint="Coxa", ticks=k % 7)
    bob = b.client("Bob")
    bob.ask("take_control", force=True)
    bob.ask("set", changes=[["gap", 4.0]])
    b.pass_time(101)
    assert edits(ended(b)) == [(f"Bob {HERE}", 4.0), (f"Ann {HERE}", 3.0)]


def test_a_service_that_was_started_anew_knows_the_authors_of_what_still_waits(logged):
    b = logged
    ann = b.client("Ann")
    ann.ask("run")
    ann.ask("set", changes=[["gap", 3.0]], time_s=100.0)
    b.restart()
    bob = b.client("Bob")
    for k in range(40):
        bob.ask("set", changes=[["gap", 10.0 + k]])
    b.pass_time(101)
    assert edits(ended(b))[-1] == (f"Ann {HERE}", 3.0)


def test_an_edit_whose_author_can_not_be_told_is_refused_and_counted_but_the_torque_goes_off(logged, monkeypatch):
    b = logged
    ann = b.client("Ann")
    ann.ask("run")
    monkeypatch.setattr(b, "logs", False)
    ring = inbox(b.block)
    while ring.put(0, msgpack.packb(["name", 0, 0, 1, ""])):
        pass
    before = len(b.core.obeyed)
    for method, params in (
        ("set", {"changes": [["gap", 5.0]]}),
        ("script", {"text": '<hdsoscript><hdsoMod idNum="104" NumElts="1">5</hdsoMod></hdsoscript>'}),
        ("joint_mode", {"joint": "Coxa", "mode": "limp"}),
    ):
        assert refused(ann, method, **params).kind == "busy"
    assert len(b.core.obeyed) == before
    assert ann.ask("status")["edits_refused"] == 3
    assert ann.ask("off")["mode"] == "STOPPED"


def test_no_edit_is_taken_while_the_log_is_far_behind(logged, monkeypatch):
    b = logged
    ann = b.client("Ann")
    ann.ask("set", changes=[["gap", 5.0]])
    ring = b.block.rings["records"]
    monkeypatch.setattr(type(ring), "capacity", property(lambda _: 1))
    monkeypatch.setattr(b, "logs", False)
    b.core.cycle()
    assert refused(ann, "set", changes=[["gap", 5.0]]).kind == "busy"


def test_control_that_goes_to_and_fro_is_told_apart_up_to_a_bound(logged):
    b = logged
    ann, bob = b.client("Ann"), b.client("Bob")
    ann.ask("run")
    ann.ask("set", changes=[["gap", 3.0]], time_s=100.0)
    done = []
    with pytest.raises(Refusal, match="busy"):
        for k in range(2 * MOST_RUNS):
            talk = (bob, ann)[k % 2]
            talk.ask("take_control", force=True)
            talk.ask("set", changes=[["gap", 10.0 + k]])
            done.append((("Bob", "Ann")[k % 2] + f" {HERE}", 10.0 + k))
    assert len(done) == MOST_RUNS - 1
    b.pass_time(101)
    bob.ask("take_control", force=True)
    bob.ask("set", changes=[["gap", 99.0]])
    assert edits(ended(b)) == [*done, (f"Ann {HERE}", 3.0), (f"Bob {HERE}", 99.0)]
