"""Clamps and triggers in bouts: what is off is nothing, physics sees the truth, and triggers fire when they are to."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

from nuc_engine import BoutSpec, run_bout
from nuc_engine.analysis.load import load_bout
from nuc_engine.analysis.tidy import tidy_bout
from nuc_engine.bout.prepare import prepare_bout
from nuc_engine.bout.replay import replay_bout, replay_inputs

LOGS = ("MotorData.txt", "SensData.txt", "StateData.txt", "MuscleData.txt")


def bout(folder: Path, entries: str, seconds: float = 2.0) -> Path:
    script = folder / "s.xml"
    folder.mkdir(exist_ok=True)
    script.write_text(f'<hdsoscript version="0.2">{entries}</hdsoscript>')
    out = folder / "bout"
    result = run_bout(BoutSpec(config="lin_roach", script=str(script), duration_s=seconds, out=out))
    assert result.state == "complete", result.reason
    return out


def rows(out: Path, name: str) -> np.ndarray:
    return np.loadtxt(out / name)


@pytest.mark.parametrize(
    "entry",
    [
        '<sense time="0.5" sensor="FT_angle" mode="off"/>',
        '<sense time="0.5" sensor="FT_angle" mode="hold"/><sense time="0.5" sensor="FT_angle" mode="off"/>',
        '<when rule="time &lt; 190"><hdsoMod idNum="109" NumElts="1">61</hdsoMod></when>',
        '<when rule="302 &gt; 105" holds="60"><hdsoMod idNum="109" NumElts="1">61</hdsoMod></when>',
        '<when rule="time" after="100"><hdsoMod idNum="109" NumElts="1">61</hdsoMod></when>',
    ],
)
def test_what_is_off_is_nothing(entry: str, tmp_path: Path) -> None:
    changed, plain = bout(tmp_path / "with", entry), bout(tmp_path / "without", "")
    for name in LOGS:
        assert (changed / name).read_bytes() == (plain / name).read_bytes()


def test_muscles_go_by_the_true_angle_and_rules_by_what_is_sensed(tmp_path: Path) -> None:
    out = bout(tmp_path / "cut", '<sense time="0.5" sensor="FT_angle" mode="value" value="-500"/>')
    plan = prepare_bout("lin_roach", None).plan
    muscle = next(item for item in plan.muscles if plan.joints[item.joint].name == "Femur-Tibia")
    angles, lengths = rows(out, "SensData.txt"), rows(out, "MuscleData.txt")
    column = 1 + [plan.hdsos[index].name for index in plan.sensor_columns].index("FT_angle")
    last = np.searchsorted(angles[:, 0], lengths[:, 0], side="right") - 1
    true = (muscle.alpha_deg - angles[last, column]) * np.pi / 180.0 * muscle.r + muscle.l0
    assert lengths[:, 2 + 2 * muscle.index] == pytest.approx(true, rel=1e-7)
    sensed = rows(out, "SensedData.txt")
    assert set(sensed[:, column]) == {-500.0}
    assert sensed[0, 0] >= 500_000_000
    assert len(set(angles[angles[:, 0] > 6e8, column])) > 1
    # The tibia feels itself further extended than any threshold: the module flexes, and stays so.
    states = rows(out, "StateData.txt")
    where = 1 + sum(1 + max(2, len(joint.muscles)) for joint in plan.joints[:3])
    late = states[states[:, 0] > 6e8, where]
    flexion = next(state.index for state in plan.states if state.name == "FT_Flexion")
    assert set(late) == {flexion}


def test_a_trigger_fires_when_its_rule_has_held_and_acts_later(tmp_path: Path) -> None:
    entry = (
        '<when rule="time &gt; 101" holds="0.1" after="0.035" from="0.2" times="3" refractory="0.3">'
        '<hdsoMod idNum="109" NumElts="1">61</hdsoMod></when>'
    )
    out = bout(tmp_path / "t", entry)
    fired = [int(line.split()[0]) for line in (out / "Infolog.txt").read_text().splitlines() if " trigger " in line]
    # Evaluations every 25 ms: true from 0.2 s on, held at 0.3 s; then after 0.3 s of rest and 0.1 s again.
    assert fired == [300_000_000, 700_000_000, 1_100_000_000]
    log = (out / "Scriptlog.xml").read_text()
    assert re.findall(r'time="([\d.]+)"', log) == ["0.335", "0.735", "1.135"]
    assert log.count("by when time > CTr_lev_TC1_load") == 3
    assert replay_bout(out).identical
    assert replay_inputs(out).identical


def test_a_trigger_acts_before_the_rules_of_its_instant(tmp_path: Path) -> None:
    """A rule that has become always true is seen by the evaluation at which the trigger fires."""
    entry = (
        '<when rule="time &gt; 101" from="0.5">'
        '<hdsoMod idNum="166" NumElts="7" datatype="char">191|191</hdsoMod>'
        '<hdsoMod idNum="165" NumElts="3" datatype="char">190</hdsoMod></when>'
    )
    out = bout(tmp_path / "t", entry)
    plan = prepare_bout("lin_roach", None).plan
    states = rows(out, "StateData.txt")
    where = 1 + sum(1 + max(2, len(joint.muscles)) for joint in plan.joints[:3])
    flexion = next(state.index for state in plan.states if state.name == "FT_Flexion")
    assert set(states[states[:, 0] >= 5e8, where]) == {flexion}
    assert states[states[:, 0] == 5e8].size


def test_delays_of_a_trigger_and_until(tmp_path: Path) -> None:
    entry = (
        '<when rule="109@0.1 &lt; 302@0.05" from="0.3" until="0.9" times="0" refractory="0.2">'
        '<hdsoMod idNum="108" NumElts="1">-3</hdsoMod></when>'
        '<hdsoMod idNum="109" NumElts="1" time="0.5">-170</hdsoMod>'
    )
    out = bout(tmp_path / "t", entry)
    fired = [int(line.split()[0]) for line in (out / "Infolog.txt").read_text().splitlines() if " trigger " in line]
    assert fired == [600_000_000, 800_000_000]
    assert replay_inputs(out).identical


def test_a_cut_load_stops_the_module_that_goes_by_it_where_it_is(tmp_path: Path) -> None:
    steps = (Path(__file__).parents[2] / "scripts" / "experiment_a.xml").read_text()
    entries = steps[steps.index("</description>") + len("</description>") : steps.index("</hdsoscript>")]
    cut = '<sense time="3" sensor="TC1_current" mode="value" value="0"/>'
    out = bout(tmp_path / "cut", entries + cut, 5.0)
    plan = prepare_bout("lin_roach", None).plan
    states = rows(out, "StateData.txt")
    places = {
        joint.name: 1 + sum(1 + max(2, len(j.muscles)) for j in plan.joints[:k]) for k, joint in enumerate(plan.joints)
    }
    before, after = (states[part, places["Coxa-Trochanter"]] for part in (states[:, 0] < 3e9, states[:, 0] >= 3e9))
    assert len(set(before)) == 2
    assert set(after) == {before[-1]}


def test_what_was_not_measured_yet_is_held_with_its_first_value(tmp_path: Path) -> None:
    hold = '<sense time="0" sensor="FT_angle" mode="hold"/>'
    out = bout(tmp_path / "held", hold)
    plan = prepare_bout("lin_roach", None).plan
    column = 1 + [plan.hdsos[index].name for index in plan.sensor_columns].index("FT_angle")
    sensed, measured = rows(out, "SensedData.txt"), rows(out, "SensData.txt")
    assert set(sensed[:, column]) == {measured[0, column]}
    assert measured[0, column] != 0.0
    assert len(sensed) == len(measured)
    off = bout(tmp_path / "off", hold + '<sense time="0" sensor="FT_angle" mode="off"/>')
    assert not (off / "SensedData.txt").exists()


def test_what_was_sensed_is_loaded_and_exported_beside_what_was_measured(tmp_path: Path) -> None:
    out = bout(tmp_path, '<sense time="0.5" sensor="FT_angle" mode="value" value="-500"/>', seconds=1.0)
    loaded = load_bout(out)
    assert loaded.sensed is not None
    assert set(loaded.sensed.column("FT_angle")) == {-500.0}
    assert loaded.between(0.0, 0.4).sensed is not None
    (table,) = [table for table in tidy_bout(out).tables if table.name == "sensed"]
    column = next(column for column in table.columns if column.name == "FT_angle")
    assert column.unit == "deg"
    assert len(column.cells) == len(rows(out, "SensedData.txt"))
    assert load_bout(bout(tmp_path / "plain", "", seconds=0.2)).sensed is None
