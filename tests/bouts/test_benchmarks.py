"""The benchmarks of speed run, and what they compare is what they say: figures are in benchmarks/*.md."""

import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks import parts, plain, scaling
from benchmarks.bodies import make_body
from benchmarks.stand_ins import HeardPlant, HeardRecorder, PlayedPlant
from nuc_engine.bout.run import prepare_bout

ROOT = Path(__file__).resolve().parents[2]


def test_every_part_of_a_bout_can_still_be_taken_out_of_it(tmp_path):
    out = tmp_path / "results.md"
    words = [sys.executable, "-m", "benchmarks", "--quick", "--out", str(out)]
    done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    lines = out.read_text().splitlines()
    assert [line for line in lines if line.startswith("## ")] == [
        "## Speed: lin_roach, 2 s simulated, median of 2",
        "## One state transition + muscle tick",
        "## Memory over 1 min simulated, all logs on",
    ]
    assert any("steps: FWD" in line for line in lines)
    assert any(line.startswith("| remainder") for line in lines)


def test_a_leg_that_is_played_back_is_told_what_the_real_one_was():
    plan = prepare_bout(parts.CONFIG, None).plan
    heard, first, second = (
        HeardPlant(parts.open_plant(plan, parts.SPEC_PATH, "mujoco", 0)),
        HeardRecorder(),
        HeardRecorder(),
    )
    parts._control(plan, heard, first, 1)
    parts._control(plan, PlayedPlant(heard), second, 1)
    assert first.exchanges == second.exchanges
    assert len({tuple(goals) for _, _, goals in first.exchanges}) > 20


def test_more_legs_and_more_rules_step_as_one_leg_does(tmp_path):
    logs = {}
    for name, legs, rules in (("one", 1, 6), ("two", 2, 12), ("ruled", 1, 20)):
        body = make_body(tmp_path / name, legs=legs, rules=rules)
        scaling.whole_bout(body, tmp_path / f"{name}-out", 2.0, legs)
        logs[name] = [line.split() for line in (tmp_path / f"{name}-out" / "SensData.txt").read_text().splitlines()]
        assert len(prepare_bout(str(body), None).plan.states) == rules
    assert logs["ruled"] == logs["one"]
    # The legs of a body are exchanged with side by side; their motors' sensors are first in the log.
    assert [row[1:9] for row in logs["two"]] == [row[1:9] for row in logs["one"]]


@pytest.mark.parametrize("law", [0.5, 1.0, 2.0])
def test_the_exponent_is_that_of_the_law(law):
    assert scaling.exponent({size: 3.0 * size**law for size in (10, 30, 100)}) == pytest.approx(law)


def test_the_plain_loop_steps_as_the_project_calls_it():
    assert plain.step_kind(prepare_bout(parts.CONFIG, None), parts.SPEC_PATH, 15.0) == "FWD"
