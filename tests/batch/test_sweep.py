from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from pyarrow import parquet

from nuc_engine.batch.axes import Sampling, parse_axis
from nuc_engine.batch.errors import BulkRefused
from nuc_engine.batch.journal import RUN, Journal
from nuc_engine.batch.plan import SweepPlan, SweepRequest, make_plan
from nuc_engine.batch.sweep import PARTS, run_sweep
from nuc_engine.batch.task import BoutTask, WatchWindow, see
from sccils_schemas.documents import HdsoMod, HdsoScript
from sccils_schemas.parser import parse

SHORT_S = 4.0


def plan_of(*vary: str, **others: Any) -> SweepPlan:
    axes = tuple(parse_axis(text) for text in vary)
    return make_plan(SweepRequest("lin_roach", duration_s=SHORT_S, axes=axes, **others))


def rows_of(path: Path) -> list[dict[str, Any]]:
    return parquet.read_table(path).to_pylist()


def script_of(task: BoutTask) -> dict[tuple[str, float], Any]:
    assert task.inputs.script is not None
    document, _ = parse(task.inputs.script, "script")
    assert isinstance(document, HdsoScript)
    return {(str(mod.name), float(mod.time_s)): mod.data for mod in document.entries if isinstance(mod, HdsoMod)}


def test_every_bout_is_a_row_with_what_was_varied_and_seen(tmp_path: Path) -> None:
    out = tmp_path / "sweep.parquet"
    plan = plan_of("plant.world.base_height_cm=7.7,30", seeds=(3, 4))
    result = run_sweep(plan, out, jobs=2)
    rows = rows_of(out)
    assert [(row["run"], row["plant.world.base_height_cm"], row["seed"]) for row in rows] == [
        (0, 7.7, 3),
        (1, 7.7, 4),
        (2, 30.0, 3),
        (3, 30.0, 4),
    ]
    assert {row["state"] for row in rows} == {"complete"}
    assert all(row["FWD.contact_share"] > 0.1 for row in rows[:2])
    assert all(row["FWD.contact_share"] == 0 for row in rows[2:])  # It hangs in the air.
    assert all(row["FWD.outcome"] and isinstance(row["FWD.cyclic"], bool) for row in rows)
    assert result.states == {"complete": 4}
    assert sum(result.outcomes["FWD"].values()) == 4
    assert [path.name for path in tmp_path.iterdir()] == ["sweep.parquet"]


@pytest.mark.usefixtures("here")
def test_rows_of_two_versions_of_the_engine_are_told_of(tmp_path: Path) -> None:
    out = tmp_path / "two.parquet"
    plan = plan_of(seeds=(0, 1))
    with Journal(tmp_path / (out.name + PARTS), plan.describe()) as journal:
        journal.add({RUN: 0, "engine": "0.0.9 (older)", "state": "complete"})
    result = run_sweep(plan, out, jobs=1)
    assert sorted(result.engines.values()) == [1, 1]
    assert result.engines["0.0.9 (older)"] == 1


def test_what_is_there_of_another_sweep_is_left_alone(tmp_path: Path) -> None:
    out = tmp_path / "sweep.parquet"
    run_sweep(plan_of(seeds=(1,)), out, jobs=1)
    before = out.read_bytes()
    with pytest.raises(BulkRefused, match="not from this sweep"):
        run_sweep(plan_of(seeds=(2,)), out, jobs=1)
    assert out.read_bytes() == before
    run_sweep(plan_of(seeds=(2,)), out, jobs=1, force=True)
    assert [row["seed"] for row in rows_of(out)] == [2]


@pytest.mark.usefixtures("here")
def test_data_directories_stay_where_they_are_asked_for(tmp_path: Path) -> None:
    out, keep = tmp_path / "sweep.parquet", tmp_path / "kept"
    run_sweep(plan_of(seeds=(1,)), out, jobs=1, keep=keep)
    (row,) = rows_of(out)
    manifest = json.loads((Path(row["folder"]) / "manifest.json").read_text())
    assert manifest["configuration"] == "lin_roach"
    assert manifest["spec"]["seed"] == 1


class Interrupted(Exception):
    pass


def test_a_sweep_that_keeps_its_bouts_goes_on_where_it_was_interrupted(tmp_path: Path) -> None:
    plan = plan_of(seeds=(1, 2, 3, 4))

    def interrupt(finished: int, _: int) -> None:
        if finished == 2:
            raise Interrupted

    whole, broken = tmp_path / "whole", tmp_path / "broken"
    for folder in (whole, broken):
        folder.mkdir()
    run_sweep(plan, whole / "sweep.parquet", jobs=2, keep=whole / "kept")
    with pytest.raises(Interrupted):
        run_sweep(plan, broken / "sweep.parquet", jobs=1, keep=broken / "kept", done=interrupt)
    runs = sorted((broken / "kept").iterdir())
    before = {path: path.stat().st_mtime_ns for run in runs[:1] for path in run.iterdir()}
    # What was in hand is half there.
    torn = runs[-1] if len(runs) > 2 else broken / "kept" / sorted((whole / "kept").iterdir())[2].name
    torn.mkdir(exist_ok=True)
    (torn / "manifest.json.new").write_text("{")
    result = run_sweep(plan, broken / "sweep.parquet", jobs=2, keep=broken / "kept")
    assert 0 < result.before < 4
    assert {path: path.stat().st_mtime_ns for path in before} == before, "a bout that was there was run again"
    names = {run.name for run in (whole / "kept").iterdir()}
    assert {run.name for run in (broken / "kept").iterdir()} == names
    assert len(names) == 4
    for name in names:
        for log in ("StateData.txt", "MotorData.txt", "InputRecord.msgpack"):
            assert (broken / "kept" / name / log).read_bytes() == (whole / "kept" / name / log).read_bytes()
    apart = [[{**row, "folder": ""} for row in rows_of(f / "sweep.parquet")] for f in (whole, broken)]
    assert apart[0] == apart[1]


def test_a_bout_that_can_not_start_is_seen_as_refused() -> None:
    task = plan_of().task(0)
    wrong = BoutTask(task.inputs, 1.0, 0, task.windows, values=(("no_such_name", 1.0),))
    sight = see(wrong)
    assert sight.state == "refused"
    assert "no_such_name" in sight.reason
    assert sight.leg is None


@pytest.mark.usefixtures("here")
def test_a_window_too_short_to_judge_says_so(tmp_path: Path) -> None:
    out = tmp_path / "sweep.parquet"
    run_sweep(plan_of(windows=(WatchWindow("begin", 0.0, 2.0),)), out, jobs=1)
    (row,) = rows_of(out)
    assert row["begin.outcome"] is None
    assert row["begin.reasons"]


def test_values_go_where_they_were_meant_to() -> None:
    axes = ("FT_ext_FTang@20=100:110:2", "plant.world.friction=0.1", "CTr_dep_TC1_load@0=0.02")
    plan = make_plan(
        SweepRequest("lin_roach", "experiment_a", 60.0, tuple(parse_axis(text) for text in axes), seeds=(1, 2))
    )
    task = plan.task(2)
    assert len(plan) == 4
    assert task.seed == 1
    assert task.plant == (("world.friction", 0.1),)
    assert not task.values
    script = script_of(task)
    assert script["FT_ext_FTang", 20] == (110,)
    assert script["FT_ext_FTang", 0] == (90,)
    assert script["CTr_dep_TC1_load", 0] == (0.02,)
    assert [window.name for window in task.windows] == ["FWD", "ITF", "ITB"]
    given = plan_of("103=55:65:2", "statetrans_period_ns=20000000:25000000:3").task(1)
    assert given.values == (("TC1_retLEV_FTang", 55.0), ("statetrans_period_ns", 22_500_000))
    assert isinstance(given.values[1][1], int)


@pytest.mark.parametrize(
    ("vary", "says"),
    [
        ("TC1_retLEV_FTan=1,2", "did you mean 'TC1_retLEV_FTang'"),
        ("plant.world.frictoin=1,2", "world.friction"),
        ("plant.world.friction=0.1,-1", "expected"),
        ("plant.world.friction=a,b", "expected numbers"),
        ("motor_speed=0,99", "motor_speed=99"),
        ("Enter_FT_Flexion=(,)", "Enter_FT_Flexion"),
        ("FT_angle=1,2", "is a sensor"),
        ("FT_ext_FTang@20=1,2", "there is no script"),
    ],
)
def test_what_can_not_be_varied_is_refused_before_the_first_bout(vary: str, says: str) -> None:
    with pytest.raises(BulkRefused, match=says):
        plan_of(vary)


@pytest.mark.parametrize(
    ("vary", "says"),
    [
        ("TC1_retLEV_FTang=1,2", "vary TC1_retLEV_FTang@0"),
        ("FT_ext_FTang@30=1,2", "the script writes FT_ext_FTang at 0, 20 s"),
        ("TC1_retLEV_FTang@noon=1,2", "no time"),
    ],
)
def test_a_value_that_the_script_would_overwrite_is_refused(vary: str, says: str) -> None:
    with pytest.raises(BulkRefused, match=says):
        make_plan(SweepRequest("lin_roach", "experiment_a", 60.0, (parse_axis(vary),)))


def test_every_reason_is_told_at_once() -> None:
    with pytest.raises(BulkRefused) as caught:
        plan_of("no_such_thing=1,2", "motor_speed=99", "103=1,2", "TC1_retLEV_FTang=3,4")
    assert len(str(caught.value).splitlines()) == 3


def test_two_sweeps_are_the_same_when_all_that_decides_them_is() -> None:
    assert plan_of("103=1:2:3").describe() == plan_of("TC1_retLEV_FTang=1:2:3").describe()
    one = plan_of("103=1:2:3").describe()
    drawn = [plan_of("103=1:2", sampling=Sampling("random", 3, seed)).describe() for seed in (1, 1, 2)]
    assert drawn[0] == drawn[1]
    assert drawn[0]["points"] != drawn[2]["points"]
    others = [plan_of("103=1:2:4"), plan_of("103=1:2:3", seeds=(5,)), plan_of("103=1:2:3", settle_s=1.0)]
    assert all(other.describe() != one for other in others)
    assert plan_of(script="itf").describe() != plan_of().describe()
