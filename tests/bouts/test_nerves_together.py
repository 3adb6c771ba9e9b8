"""Nerves where one part of them meets another: clamps of signals about actions, delays before there is a value."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from nuc_engine.bout.prepare import prepare_bout
from nuc_engine.bout.replay import replay_bout, replay_inputs
from tests.engine.acting import bout, case, hdso

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
