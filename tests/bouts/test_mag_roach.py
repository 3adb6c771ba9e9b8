"""mag_roach: a load reflex raises the force in stance while the leg is loaded, not otherwise; and the leg steps."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from nuc_engine.analysis.load import load_bout
from nuc_engine.analysis.outcome import classify
from nuc_engine.bout.run import BoutSpec, run_bout
from nuc_engine.recording.files import MOTOR_LOG
from nuc_engine.verify import verify_bout
from tests.configs.documents import initial_values, mods, scalars, shipped

REFLEX = {"TC1_proDEP_reflex": 0.0, "CTr_depRET_reflex": 0.0, "FT_ext_flexor_reflex": 0.0}
POSTURE = {"CTr_depRET_posture": 0.0}
CLAMPED = [(start, start + 0.15) for start in np.arange(1.0, 9.0, 0.5)]
"""When the load is clamped: shortly and often, so that it falls into every part of a step and the leg goes on."""
STANCE, GAIN, FELT, BASE = "CTr_DepressionRET", 0.02, 0.5, 0.55
"""The action of the stroke; the reflex on its agonist; the agonist's tonic activation."""


def ran(folder: Path, config: str = "mag_roach", **spec: Any) -> Path:
    """Run ten seconds; return the data directory."""
    given: dict[str, Any] = {"duration_s": 10.0, "seed": 1000, "name": "leg", **spec}
    assert run_bout(BoutSpec(config, folder, **given)).state == "complete"
    return folder


@dataclass(frozen=True)
class Depressor:
    """The trochanteral depressor at each evaluation: whether its stroke is on, what load is measured, how it pulls.

    `raised` is the force over what the tonic activation of the stroke gives at that length.
    """

    t_s: NDArray[Any]
    stroke: NDArray[Any]
    load: NDArray[Any]
    activation: NDArray[Any]
    raised: NDArray[Any]


def depressor(folder: Path, since_s: float = 0.5) -> Depressor:
    """Read it from the logs."""
    bout = load_bout(folder)
    ctr, thc = bout.joint("Coxa-Trochanter"), bout.joint("Thorax-Coxa1")
    states, muscles = bout.states.between(since_s, 10.0), bout.muscles.between(since_s, 10.0)
    assert np.array_equal(states.t_s, muscles.t_s)
    measured = np.searchsorted(bout.sensors.t_s, states.t_s, side="right") - 1
    load = bout.sensors.column(str(thc.current))[measured]
    stroke = next(state.code for state in bout.states_of if state.name == STANCE)
    length = muscles.column("Femur_DepressorRET.length") / 85.0
    tonic = BASE * 15.0 * (2.0 * length - 1.5)
    return Depressor(
        states.t_s,
        states.column(str(ctr.action)) == stroke,
        load,
        states.column(ctr.activations[0]),
        muscles.column("Femur_DepressorRET.force") / tonic,
    )


def test_it_steps_forward(tmp_path: Path) -> None:
    outcome = classify(load_bout(ran(tmp_path / "bout")).tracks(), (0.0, 10.0))
    assert (outcome.kind, outcome.reasons) == ("FWD", ())


def test_the_reflex_raises_the_force_in_stance_while_loaded_and_not_otherwise(tmp_path: Path) -> None:
    at = depressor(ran(tmp_path / "bout", values=POSTURE))
    loaded, unloaded = at.stroke & (at.load > FELT), at.stroke & (at.load <= FELT)
    assert loaded.sum() > 100
    assert unloaded.any()
    assert (~at.stroke & (at.load < -2)).any()
    assert at.activation[loaded] == pytest.approx(BASE + GAIN * (at.load[loaded] - FELT), abs=1e-6)
    assert at.raised[loaded] == pytest.approx(at.activation[loaded] / BASE, rel=1e-5)
    assert (at.raised[loaded] > 1).all()
    assert np.median(at.raised[loaded]) > 1.15
    assert at.activation[unloaded] == pytest.approx(BASE, abs=1e-6)
    assert at.raised[unloaded] == pytest.approx(1, rel=1e-5)
    assert at.activation[~at.stroke] == pytest.approx(0.01, abs=1e-6)


def test_without_its_gain_load_raises_nothing(tmp_path: Path) -> None:
    at = depressor(ran(tmp_path / "bout", values=POSTURE | REFLEX))
    loaded = at.stroke & (at.load > 5)
    assert loaded.sum() > 50
    assert at.activation[at.stroke] == pytest.approx(BASE, abs=1e-6)
    assert at.raised[loaded] == pytest.approx(1, rel=1e-5)


def test_without_any_gain_it_is_lin_roach_to_the_byte(tmp_path: Path) -> None:
    plain = (ran(tmp_path / "plain", "lin_roach") / MOTOR_LOG).read_bytes()
    assert (ran(tmp_path / "off", values=POSTURE | REFLEX) / MOTOR_LOG).read_bytes() == plain
    assert (ran(tmp_path / "on") / MOTOR_LOG).read_bytes() != plain


@pytest.mark.parametrize("value", [0.3, 8.0])
def test_it_goes_by_the_load_that_is_sensed(value: float, tmp_path: Path) -> None:
    """Clamped below what the reflex feels it is off however loaded the leg is; above, it is on however unloaded."""
    senses = "".join(
        f'<sense time="{start}" sensor="TC1_current" mode="value" value="{value}"/>'
        f'<sense time="{end}" sensor="TC1_current" mode="off"/>'
        for start, end in CLAMPED
    )
    script = tmp_path / "sense.xml"
    script.write_text(f'<hdsoscript name="sense" ScriptType="LegScript" version="0.2">{senses}</hdsoscript>')
    at = depressor(ran(tmp_path / "bout", values=POSTURE, script=str(script)))
    clamped = at.stroke & np.any([(at.t_s > start) & (at.t_s < end) for start, end in CLAMPED], axis=0)
    assert clamped.sum() > 20
    assert (at.load[clamped] > 2).any() if value < FELT else (at.load[clamped] < -2).any()
    expected = BASE + GAIN * max(0.0, value - FELT)
    assert at.activation[clamped] == pytest.approx(expected, abs=1e-6)
    assert at.raised[clamped] == pytest.approx(expected / BASE, rel=1e-5)


def test_the_oracle_computes_it(tmp_path: Path) -> None:
    verdict = verify_bout(ran(tmp_path / "bout", duration_s=3.0))
    assert verdict.good, verdict.differences[:3]


def test_but_for_its_influences_it_is_lin_roach() -> None:
    own, linear = shipped("mag_roach"), shipped("lin_roach")
    with_influences = [a.muscle for j in own.jointlist.joints for s in j.states for a in s.activations if a.influences]
    assert with_influences == [402, 403, 405]
    assert set(own.names) - set(linear.names) == set(range(144, 150))
    values = initial_values(own)
    assert {number: values[number] for number in initial_values(linear)} == initial_values(linear)
    assert len(mods(own.jointlist)) == len(mods(linear.jointlist))


def test_the_page_has_its_numbers() -> None:
    page = (Path(__file__).resolve().parents[2] / "docs" / "acting.md").read_text()
    table = re.findall(r"^\| (?:ThC1 pro|CTr dep|FTi ext)[^|]*\|[^|]*\| ([\d.]+) \|(.*)\|$", page, re.MULTILINE)
    at = scalars(shipped("mag_roach"))
    told = [
        (float(base), *map(float, re.findall(r"\d+\.?\d*(?= for)|(?<=beyond )\d+\.?\d*", text))) for base, text in table
    ]
    assert told == [
        (at["TC1_protractionDEP_protractor_activation"], at["TC1_proDEP_reflex"], at["reflex_TC1_load"]),
        (BASE, at["CTr_depRET_reflex"], FELT, at["CTr_depRET_posture"], at["posture_FTang"]),
        (at["FT_extension_flexor_activation"], -at["FT_ext_flexor_reflex"], FELT),
    ]
    assert "- 0.005" in table[2][1]
