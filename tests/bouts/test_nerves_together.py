"""Nerves where one part of them meets another: clamps of signals about actions, delays before there is a value."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from nuc_engine import BoutRefused
from nuc_engine.bout.prepare import prepare_bout
from nuc_engine.bout.replay import replay_bout, replay_inputs
from nuc_engine.verify import verify_bout
from tests.engine.acting import bout, case, hdso, rule

TIME = '<signal idNum="340" name="CTr_time" type="time_in_action" of="Coxa-Trochanter" units="s"/>'
NUMBER = '<signal idNum="341" name="CTr_action" type="action" of="Coxa-Trochanter"/>'
MARK = '<hdsoMod idNum="109" NumElts="1">61</hdsoMod>'


def fired(out: Path) -> list[int]:
    """Return when triggers fired, in ms."""
    lines = (out / "Infolog.txt").read_text().splitlines()
    return [int(line.split()[0]) // 1_000_000 for line in lines if " trigger " in line]


def test_a_signal_about_actions_is_clamped_like_others(tmp_path: Path) -> None:
    clamps = (
        '<sense time="0.2" sensor="CTr_time" mode="value" value="9"/><sense time="0.5" sensor="CTr_time" mode="off"/>'
    )
    trigger = '<when rule="CTr_time &gt; patience" times="0">' + MARK + "</when>"
    out = bout(case(hdsos=(hdso(150, "patience", 8),), signals=(TIME,), script=clamps + trigger), tmp_path)
    assert "control_refused" not in (out / "Infolog.txt").read_text()
    assert fired(out) == list(range(200, 500, 25))
    sensed = np.loadtxt(out / "SensedData.txt")
    measured = np.loadtxt(out / "SensData.txt")
    plan = prepare_bout(str(tmp_path / "lin_roach"), None).plan
    column = 1 + [plan.hdsos[index].name for index in plan.sensor_columns].index("CTr_time")
    assert set(sensed[:, column]) == {9.0}
    assert measured[:, column].max() < 2.0
    assert replay_bout(out).identical
    assert replay_inputs(out).identical


def test_what_delays_remember_of_actions_begins_with_the_first_action(tmp_path: Path) -> None:
    """No action has the number 0, not even before the first evaluation."""
    trigger = '<when rule="CTr_action@0.1 &lt; least">' + MARK + "</when>"
    out = bout(case(hdsos=(hdso(150, "least", 1),), signals=(NUMBER,), script=trigger), tmp_path)
    assert fired(out) == []


def test_what_was_not_yet_measured_is_not_remembered_as_0(tmp_path: Path) -> None:
    """The script writes at 0 s, before the first exchange: no angle of the tibia was ever below 10 degrees."""
    trigger = '<when rule="FT_angle@0.1 &lt; least">' + MARK + "</when>"
    out = bout(case(hdsos=(hdso(150, "least", 10),), script=trigger), tmp_path)
    assert np.loadtxt(out / "SensData.txt")[:, 1:].max() > 10
    assert fired(out) == []


NOTHING = '<hdso idNum="150" name="nothing" datatype="double" numdims="1"><dimsize dimNr="1">1</dimsize></hdso>'
WAITING = '<when rule="TC1_current &gt; nothing" from="0.3">' + MARK + "</when>"
CENTRAL = (
    r'(?s)(<transition_rule [^>]*>(?:(?!</transition_rule>).)*idNum="163"[^>]*/>.*?</transition_rule>)',
    r'\1<central rule="onward"/>',
)


def test_central_rules_and_triggers_do_not_read_what_has_no_value(tmp_path: Path) -> None:
    central = case(CENTRAL, hdsos=(NOTHING, rule(153, "onward", "TC1_current &gt; nothing")))
    with pytest.raises(BoutRefused, match="used by the central rule of CTr_LevationPRO, has no value"):
        bout(central, tmp_path / "central")
    with pytest.raises(BoutRefused, match="used by the rule of <when>, has no value"):
        bout(case(hdsos=(NOTHING,), script=WAITING), tmp_path / "when")


@pytest.mark.parametrize(("at_s", "refused"), [(0.2, False), (0.4, True)])
def test_a_trigger_is_armed_only_once_its_operands_have_values(at_s: float, refused: bool, tmp_path: Path) -> None:
    late = f'<hdsoMod idNum="150" NumElts="1" datatype="double" time="{at_s}">-5</hdsoMod>'
    out = bout(case(hdsos=(NOTHING,), script=late + WAITING), tmp_path)
    told = [line for line in (out / "Infolog.txt").read_text().splitlines() if " trigger_refused " in line]
    assert bool(told) == refused
    assert fired(out) == ([] if refused else [300])


def test_a_signal_that_is_no_number_is_told_and_drives_nothing(tmp_path: Path) -> None:
    """The denominator of a filter begins with 0 for a while."""
    filtered = '<signal idNum="340" name="filtered" type="iir" inputs="FT_angle" parameters="b a" per_sample="y"/>'
    denominator = hdso(151, "a", "1 -0.9").replace('dimNr="1">1<', 'dimNr="1">2<')
    script = (
        '<hdsoMod idNum="151" NumElts="2" datatype="double" time="0.3">0 0</hdsoMod>'
        '<hdsoMod idNum="151" NumElts="2" datatype="double" time="0.6">1 -0.9</hdsoMod>'
    )
    trigger = '<when rule="filtered &gt; b" from="0.4" times="0"><hdsoMod idNum="109" NumElts="1">61</hdsoMod></when>'
    out = bout(
        case(hdsos=(hdso(150, "b", 0.1), denominator), signals=(filtered,), script=script + trigger), tmp_path / "bout"
    )
    told = [line for line in (out / "Infolog.txt").read_text().splitlines() if " bad_signal " in line]
    assert len(told) == 1
    assert "filtered is no number" in told[0]
    assert 300 <= int(told[0].split()[0]) // 1_000_000 < 310
    assert fired(out)[0] >= 600
    assert np.isfinite(np.loadtxt(out / "PlantData.txt")).all()
    assert replay_inputs(out).identical
    plain = case(hdsos=(hdso(150, "b", 0.1), denominator), signals=(filtered,), script=script)
    assert verify_bout(bout(plain, tmp_path / "plain")).good


@pytest.mark.parametrize("signals", [(), ('<signal idNum="340" name="hiss" type="noise" parameters="sd"/>',)])
def test_beside_a_leg_the_manifest_has_the_seed_of_noise(signals: tuple[str, ...], tmp_path: Path) -> None:
    out = bout(case(hdsos=(hdso(150, "sd", 1),), signals=signals, seconds=0.3), tmp_path, "real")
    spec = json.loads((out / "manifest.json").read_text())["spec"]
    assert spec.get("noise_seed") == (0 if signals else None)
