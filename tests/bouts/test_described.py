"""A leg's bout that a run.toml describes: the same bytes as by options, and everything that is wrong in one go."""

from __future__ import annotations

import json
import tomllib
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nuc_engine.batch.plan import SweepRequest, make_plan
from nuc_engine.batch.request import make_axes
from nuc_engine.batch.task import row_of
from nuc_engine.bout.described import load_leg, read_leg
from nuc_engine.bout.replay import replay_bout, replay_inputs
from nuc_engine.bout.run import BoutRefused, BoutSpec, run_bout
from nuc_engine.bout.spec import StopCondition
from nuc_engine.configurations.validation import check_path
from nuc_engine.episode.document import RunConfigError, content_sum
from nuc_engine.machine.locations import find_configuration, find_run, is_episode
from nuc_engine.recording.files import DATA_LOGS, INPUT_RECORD, SCRIPT_LOG
from nuc_engine.verify.bout import verify_bout
from tests.verify.seal import sealed

LOGS = (*DATA_LOGS, SCRIPT_LOG, "HDSOlog.xml", INPUT_RECORD, "Infolog.txt")
TURNS = find_configuration("leg_turns")
SMALL: dict[str, Any] = {
    "system": "leg",
    "seed": 3,
    "timing": {"duration_s": 1.0},
    "leg": {"configuration": "lin_roach", "script": "experiment_a", "gravity_compensation": 0.2},
    "plant": {"world": {"friction": 0.1}, "joint": {"Femur-Tibia": {"start_deg": 88.0}}},
    "values": {"FT_ext_FTang": 130},
    "limits": {"Thorax-Coxa1_motor": 60},
    "costs": {"state_transition": 1000},
}


def _bytes(folder: Path) -> dict[str, bytes]:
    return {name: (folder / name).read_bytes() for name in LOGS}


def _told(document: dict[str, Any], changes: dict[str, Any] | None = None) -> tuple[str, ...]:
    with pytest.raises(RunConfigError) as refused:
        read_leg(document, changes)
    return refused.value.problems


def test_bytes_are_those_of_the_same_bout_by_options(tmp_path: Path) -> None:
    described = run_bout(replace(read_leg(SMALL), out=tmp_path / "a", run_text=b"# as it was\n"))
    by_options = run_bout(
        BoutSpec(
            "lin_roach",
            tmp_path / "b",
            script="experiment_a",
            duration_s=1.0,
            seed=3,
            gravity_compensation=0.2,
            plant={"world.friction": 0.1, "joint.Femur-Tibia.start_deg": 88.0},
            values={"FT_ext_FTang": 130},
            limits={"Thorax-Coxa1_motor": 60},
            costs={"state_transition": 1000},
        )
    )
    assert described.state == by_options.state == "complete"
    assert _bytes(tmp_path / "a") == _bytes(tmp_path / "b")
    a, b = (json.loads((tmp_path / name / "manifest.json").read_text()) for name in "ab")
    assert (a["inputs"].keys() - b["inputs"].keys(), a["spec"].keys() - b["spec"].keys()) == ({"run.toml"}, {"run"})
    assert a["spec"]["run"]["resolved"] == SMALL
    assert a["spec"]["run"]["sha256"] == {"resolved": content_sum(SMALL)}
    assert not is_episode(tmp_path / "a")
    assert replay_bout(tmp_path / "a").identical
    assert verify_bout(tmp_path / "a").good
    a["spec"]["run"]["resolved"]["plant"]["world"]["friction"] = 0.2
    (tmp_path / "a" / "manifest.json").write_text(json.dumps(a))
    sealed(tmp_path / "a")
    assert {each.column for each in verify_bout(tmp_path / "a").differences} == {"spec.run.sha256", "spec.plant"}


def test_what_was_drawn_is_verified_by_other_code(tmp_path: Path) -> None:
    spec = load_leg(TURNS / "run.toml", {"timing.duration_s": 0.3})
    assert spec is not None
    run_bout(replace(spec, out=tmp_path / "a"))
    assert verify_bout(tmp_path / "a").good
    path = tmp_path / "a" / "manifest.json"
    record = json.loads(path.read_text())
    record["spec"]["run"]["drawn"]["plant.world.friction"] = 0.08
    path.write_text(json.dumps(record))
    sealed(tmp_path / "a")
    assert [each.column for each in verify_bout(tmp_path / "a").differences] == ["spec.run.drawn"]


def test_the_shipped_one_draws_from_its_seed_and_values_replace_what_is_drawn() -> None:
    spec, other = load_leg(TURNS / "run.toml"), load_leg(TURNS / "run.toml", {"seed": 1})
    assert spec is not None
    assert other is not None
    assert set(spec.plant) == {"world.friction"} == set(other.plant)
    assert spec.plant != other.plant
    assert spec.run["drawn"] == {"plant.world.friction": spec.plant["world.friction"]}
    set_by_hand = load_leg(TURNS / "run.toml", {"plant.world.friction": 0.3, "values.FT_ext_FTang": 120})
    assert set_by_hand is not None
    assert (set_by_hand.plant, set_by_hand.values) == ({"world.friction": 0.3}, {"FT_ext_FTang": 120})
    assert set_by_hand.run["drawn"] == {}
    assert load_leg(find_configuration("flight_hover") / "run.toml") is None


def test_everything_that_is_wrong_is_told_in_one_go() -> None:
    told = _told(
        {
            "system": "leg",
            "sed": 1,
            "timing": {"duration_s": -1.0, "dt_s": 0.01},
            "leg": {"configuration": "lin_roach", "script": "no_such", "gravity_compensation": 2.0},
            "plant": {"world": {"friction": -1.0, "frction": 1.0}},
            "values": {"FT_ext_FTang": float("nan"), "no_such_hdso": 1.0},
            "limits": {"no_motor": 3},
            "costs": {"state_transition": 0.5},
            "stop": {"above": {"FT_angel": 1.0}, "rule": "301 >"},
            "random": {"timing.duration_s": {"uniform": [1.0, 2.0]}},
        }
    )
    keys = [problem.partition(":")[0] for problem in told]
    wanted = ["random.timing.duration_s", "timing.duration_s", "timing.dt_s", "leg.gravity_compensation"]
    wanted += ["costs.state_transition", "values.FT_ext_FTang", "sed", "leg.script", "values", "leg"]
    wanted += ["stop.above.FT_angel", "stop.rule", "plant"]
    assert set(wanted) == set(keys), "\n".join(told)
    assert all("expected" in text or text.startswith(("values: ", "stop.", "plant: ")) for text in told)


@pytest.mark.parametrize(
    ("leg", "begin"),
    [
        ({"configuration": "no_such"}, "leg.configuration: no configuration 'no_such'"),
        ({"configuration": "flight_hover"}, "leg.configuration: flight_hover is a RunConfig itself"),
        ({"configuration": "lin_roach", "bus": "aimotor:///dev/x"}, "leg.bus: aimotor:///dev/x: expected emulated:"),
        ({"configuration": "lin_roach", "plant_file": "none.toml"}, "plant: "),
        ({"configuration": ""}, "leg.configuration: ''; expected a text"),
    ],
)
def test_a_leg_that_there_is_not_is_told(leg: dict[str, Any], begin: str) -> None:
    assert _told({"system": "leg", "timing": {"duration_s": 1.0}, "leg": leg})[0].startswith(begin)


@given(
    st.dictionaries(
        st.sampled_from(["seed", "timing", "leg", "plant", "values", "random", "stop", "log", "costs", "x"]),
        st.recursive(
            st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=4),
            lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=4), inner, max_size=2),
            max_leaves=4,
        ),
    )
)
def test_whatever_stands_in_it_it_is_read_or_refused(document: dict[str, Any]) -> None:
    with suppress(RunConfigError):
        assert isinstance(read_leg({"system": "leg", **document}, checked=True), BoutSpec)


def test_what_is_stopped_is_the_same_bout_that_was_asked_to_last_so_long(tmp_path: Path) -> None:
    spec = BoutSpec("lin_roach", tmp_path / "a", duration_s=3.0, seed=5)
    stopped = run_bout(replace(spec, stop=StopCondition(above={"FT_angle": 0.0}, holds_s=0.45)))
    assert (stopped.state, stopped.reason) == ("complete", "stopped at 0.6 s: FT_angle > 0")
    run_bout(replace(spec, out=tmp_path / "b", duration_s=0.6))
    a, b = _bytes(tmp_path / "a"), _bytes(tmp_path / "b")
    ends = {name: data[name].replace(b"stopped at 0.6 s: FT_angle > 0", b"") for data in (a,) for name in LOGS}
    assert ends == {name: data.replace(b"ran for the time asked for", b"") for name, data in b.items()}
    assert replay_bout(tmp_path / "a").identical
    assert replay_inputs(tmp_path / "a").identical
    assert verify_bout(tmp_path / "a").good


def test_a_rule_ends_a_bout_by_names_and_one_that_is_never_true_does_not(tmp_path: Path) -> None:
    spec = BoutSpec("lin_roach", tmp_path / "a", duration_s=0.5, overwrite=True)
    true = run_bout(replace(spec, stop=StopCondition(rule="FT_angle > TC2_angle")))
    assert true.reason == "stopped at 0.1 s: FT_angle > TC2_angle"
    false = run_bout(replace(spec, stop=StopCondition(below={"FT_angle": -1000.0}, rule="FT_angle < TC2_angle")))
    assert false.reason == "ran for the time asked for"
    for rule in ("FT_angle > TC2_angle[0.1]", "no_such > 1", "FT_angle >"):
        with pytest.raises(BoutRefused, match=r"stop\.rule: "):
            run_bout(replace(spec, stop=StopCondition(rule=rule)))


def test_a_sweep_draws_anew_with_each_seed_and_its_axes_replace_what_is_drawn() -> None:
    document = tomllib.loads((TURNS / "run.toml").read_text())
    axes, _ = make_axes({"plant.world.friction": [0.05, 0.2], "FT_ext_FTang": [130.0]})
    request = SweepRequest("lin_roach", "experiment_a", 1.0, seeds=(0, 1), described=document)
    plan = make_plan(request)
    drawn = [plan.task(k).spec(Path("c"), None, Path("o")) for k in range(len(plan))]
    assert len({spec.plant["world.friction"] for spec in drawn}) == 2
    assert all(spec.stop is not None and spec.labels == {"experiment": "A", **_NOTE} for spec in drawn)
    varied = make_plan(replace(request, script=None, axes=axes))
    specs = [varied.task(k).spec(Path("c"), None, Path("o")) for k in range(len(varied))]
    assert [spec.plant["world.friction"] for spec in specs] == [0.05, 0.05, 0.2, 0.2]
    assert {spec.values["FT_ext_FTang"] for spec in specs} == {130.0}
    assert plan.describe() != make_plan(replace(request, described=None)).describe()
    assert row_of(plan.task(0))["state"] == "complete"


_NOTE = {"note": "forward, inside turn forward at 20 s, inside turn backward at 40 s"}


def test_a_run_toml_is_found_as_file_folder_and_name(tmp_path: Path) -> None:
    assert find_run("leg_turns") == find_run(str(TURNS)) == find_run(str(TURNS / "run.toml")) == TURNS / "run.toml"
    assert find_run("lin_roach") is None
    assert find_run(str(tmp_path / "nothing")) is None
    (tmp_path / "run.toml").write_text('system = "leg"\n')
    assert len(check_path(tmp_path / "run.toml").problems.errors) == len(check_path(tmp_path).problems.errors) == 2
