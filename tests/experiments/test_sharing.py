"""Bouts that several repetitions have in common are run once, and show what they would show by themselves."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

import nuc_engine.experiments.sharing as sharing
from nuc_engine.bout.run import BoutRefused
from nuc_engine.experiments.course import run_rows
from nuc_engine.experiments.protocol import NegativeControl
from nuc_engine.experiments.sharing import Shared, bundles, course_of, prepared_of, watch
from tests.batch.test_watch import differences
from tests.experiments import tiny
from tests.experiments.tiny import Inline


@pytest.fixture
def ran(monkeypatch: pytest.MonkeyPatch) -> list[tuple[float, int, tuple[float, ...]]]:
    """Return what is really run: duration, seed, kicks."""
    found: list[tuple[float, int, tuple[float, ...]]] = []
    real = sharing.watch_bout

    def watched(spec, prepared):
        found.append((spec.duration_s, spec.seed, tuple(event.at_ns / 1e9 for event in spec.events)))
        return real(spec, prepared)

    monkeypatch.setattr(sharing, "watch_bout", watched)
    return found


def alike(plan, seed: int, watched) -> bool:
    return differences(watch(plan, seed).read().tracks(), watched.read().tracks()) == []


def test_equal_bouts_are_run_once(ran) -> None:
    first, second = tiny.plan("first"), tiny.plan("second", windows=())
    bouts = Shared([first, second], 3)
    bouts.watch(first)
    bouts.watch(second)
    bouts.watch(first)
    assert ran == [(2.0, 3, ())]


def test_a_bout_that_begins_another_one_is_taken_from_it(ran) -> None:
    short, long = tiny.plan(duration_s=1.5), tiny.plan(duration_s=2.0)
    bouts = Shared([short, long], 3)
    part = bouts.watch(short)
    bouts.watch(long)
    assert ran == [(2.0, 3, ())]
    assert part.simulated_s == 1.5
    assert alike(short, 3, part)


def test_one_that_does_not_end_with_a_piece_is_run_by_itself(ran) -> None:
    short, long = tiny.plan(duration_s=1.3), tiny.plan(duration_s=2.0)
    bouts = Shared([short, long], 3)
    assert alike(short, 3, bouts.watch(short))
    assert ran[0] == (1.3, 3, ())


OTHERS = {
    "values": ({}, {"values": {"TC1_retLEV_FTang": 111.0}}),
    "plant": ({}, {"plant": {"world.friction": 0.3}}),
    "configuration": ({}, {"config": "null_roach"}),
    "edit": ({"script": "itf"}, {"script": "itf", "edits": {(104, 1.0): 120.0}}),
    "what is done to the leg": ({"script": "itf"}, {"script": "itf_kicked"}),
}


@pytest.mark.parametrize(("one", "other"), OTHERS.values(), ids=OTHERS)
def test_bouts_that_differ_are_not_taken_for_each_other(one: dict, other: dict) -> None:
    first, second = (course_of(tiny.plan(**{"duration_s": 40.0, **given})) for given in (one, other))
    assert not first.begins(second)
    assert not second.begins(first)


def test_what_a_script_does_after_the_end_makes_no_difference() -> None:
    early, late = (tiny.plan(script="experiment_a", edits={(104, time_s): 120.0}) for time_s in (1.5, 2.5))
    plain = tiny.plan(script="experiment_a")
    assert course_of(late) == course_of(plain)
    assert course_of(early) != course_of(plain)


def test_of_what_happens_at_the_very_end_only_that_counts_which_the_plant_may_feel(tmp_path: Path) -> None:
    plain, written = (tiny.plan(script="experiment_a", edits=edits) for edits in ({}, {(104, 2.0): 120.0}))
    assert course_of(written) == course_of(plain)
    assert alike(written, 3, watch(plain, 3))
    scripts = [tmp_path / "still.xml", tmp_path / "pushed.xml"]
    scripts[0].write_text("<hdsoscript/>")
    scripts[1].write_text('<hdsoscript><load time="2" newton="-0.5" duration="0.4"/></hdsoscript>')
    still, pushed = (course_of(tiny.plan(script=str(script))) for script in scripts)
    assert not still.begins(pushed)
    assert still.begins(course_of(tiny.plan(script=str(scripts[0]), duration_s=3.0)))


def test_kicked_bouts_are_run_by_themselves_and_equal_ones_once(ran) -> None:
    short, long = tiny.plan(duration_s=1.0), tiny.plan(duration_s=2.0)
    bouts = Shared([short, long], 3)
    for _ in range(2):
        bouts.watch(short, (0.5,))
    bouts.watch(long)
    assert ran == [(1.0, 3, (0.5,)), (2.0, 3, ())]


def test_a_bout_is_run_by_itself_where_the_one_it_begins_broke_off(ran, monkeypatch: pytest.MonkeyPatch) -> None:
    short, long = tiny.plan(duration_s=0.5), tiny.plan(duration_s=1.0)
    real = sharing.watch_bout

    def broken(spec, prepared):
        watched = real(spec, prepared)
        ok = spec.duration_s < 1.0
        return watched if ok else sharing.Watched("fault", "it broke", 0.7, watched.read)

    monkeypatch.setattr(sharing, "watch_bout", broken)
    bouts = Shared([short, long], 3)
    assert bouts.watch(long).state == "fault"
    assert bouts.watch(short).state == "complete"


def test_repetitions_that_share_bouts_are_put_together() -> None:
    plain, long, other = tiny.plan(), tiny.plan(duration_s=3.0), tiny.plan(values=tiny.STILL)
    wrong = tiny.plan(values={"nonsense": 1.0})
    asked = [([plain], 1), ([other], 1), ([long, other], 1), ([plain], 2), ([wrong], 1), ([wrong], 1)]
    found = {bundle.places: bundle.duration_s for bundle in bundles(asked)}
    assert found == {(0, 1, 2): 5.0, (3,): 2.0, (4,): 2.0, (5,): 2.0}


def test_what_is_prepared_is_prepared_once_until_a_file_changes(tmp_path: Path, monkeypatch) -> None:
    folder = tmp_path / "leg"
    folder.mkdir()
    for path in Path("configs/lin_roach").iterdir():
        (folder / path.name).write_bytes(path.read_bytes())
    plan = tiny.plan(config=str(folder))
    first = prepared_of(plan)
    assert prepared_of(tiny.plan(config=str(folder), label="other")) is first
    path = folder / "parameters.xml"
    stat = path.stat()
    os.utime(path, ns=(stat.st_atime_ns, stat.st_mtime_ns + 1))
    assert prepared_of(plan) is not first
    path.write_text("<nonsense/>")
    with pytest.raises(BoutRefused):
        prepared_of(plan)


def test_a_change_that_is_made_at_another_time_makes_another_bout() -> None:
    plans = [tiny.plan(script="experiment_a", duration_s=60.0, moved=moved) for moved in ({}, {20.0: 1.0})]
    first, second = ({each.time_ns / 1e9 for each in prepared_of(plan).changesets} for plan in plans)
    assert second == first - {20.0} | {1.0} != first


def test_rows_come_out_the_same_with_bouts_they_share_and_with_their_own(tmp_path: Path, ran) -> None:
    rows = [
        tiny.row("short", control=NegativeControl("why", (tiny.plan(),), 2)),
        tiny.row("long", bouts=(tiny.plan(duration_s=3.0),)),
        tiny.row("kicked", bouts=(tiny.plan(kicks_s=(1.0,)),), criterion=tiny.kicked),
    ]
    shared = run_rows(rows, 2, [5, 5, 5], workers=Inline())
    count = len(ran)
    kept = run_rows(
        rows, 2, [5, 5, 5], workers=Inline(), keep=lambda row, seed, control: tmp_path / row.name / str(seed)
    )
    assert len(ran) == count == 6
    assert [(each.trials, each.control) for each in shared] == [(each.trials, each.control) for each in kept]
