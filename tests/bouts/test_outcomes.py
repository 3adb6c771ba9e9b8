"""Emulated legs in every kind of outcome (docs/outcomes.md). No judging seed is used here."""

from pathlib import Path
from typing import Any

import pytest

from nuc_engine.analysis.load import load_bout
from nuc_engine.analysis.outcome import CYCLIC, Outcome, classify, last_lift_off, step_kinds
from nuc_engine.analysis.steps import detect_steps
from nuc_engine.analysis.tracks import LegTracks
from nuc_engine.bout.run import BoutSpec, run_bout
from nuc_engine.plants.events import Ground

HEIGHT = "world.base_height_cm"
WEAK_LEVATOR = {"CTr_levationPRO_levator_activation": 0.2}
# The rules of ITB with the activations of forward stepping: section 7.4.1.3.
ITB_RULES = """<hdsoscript name="r" ScriptType="LegScript">
<hdsoMod idNum="161" name="Enter_TC1_ProtractionDEP" NumElts="27" datatype="char" time="0">FT_angle &lt; TC1_retLEV_FTang</hdsoMod>
<hdsoMod idNum="162" name="Enter_TC1_RetractionLEV" NumElts="60" datatype="char" time="0">(FT_angle &gt; TC1_proDEP_FTang)|(CTr_angle &gt; TC1_retLEV_CTang)</hdsoMod>
<hdsoMod idNum="163" name="Enter_CTr_LevationPRO" NumElts="30" datatype="char" time="0">TC1_current &gt; CTr_dep_TC1_load</hdsoMod>
<hdsoMod idNum="164" name="Enter_CTr_DepressionRET" NumElts="30" datatype="char" time="0">TC1_current &lt; CTr_lev_TC1_load</hdsoMod>
<hdsoMod idNum="165" name="Enter_FT_Extension" NumElts="58" datatype="char" time="0">(TC1_current &lt; FT_flux_TC1_load)&amp;(FT_angle &gt; FT_ext_FTang)</hdsoMod>
<hdsoMod idNum="166" name="Enter_FT_Flexion" NumElts="58" datatype="char" time="0">(TC1_current &gt; FT_ext_TC1_load)|(FT_angle &lt; FT_flux_FTang)</hdsoMod>
<hdsoMod idNum="104" name="TC1_retLEV_CTang" NumElts="1" datatype="float" time="0">112</hdsoMod>
<hdsoMod idNum="107" name="FT_ext_FTang" NumElts="1" datatype="float" time="0">130</hdsoMod>
<hdsoMod idNum="109" name="FT_flux_FTang" NumElts="1" datatype="float" time="0">50</hdsoMod>
</hdsoscript>"""  # noqa: E501  one change per line

Recorded = tuple[LegTracks, Outcome]


def recorded(folder: Path, config: str, duration_s: float = 12.0, **spec: Any) -> Recorded:
    result = run_bout(BoutSpec(config, folder / "bout", duration_s=duration_s, seed=1, **spec))
    assert result.state == "complete"
    leg = load_bout(result.folder).tracks()
    return leg, classify(leg, (0.0, duration_s))


@pytest.mark.parametrize(
    ("expected", "config", "spec"),
    [
        ("FWD", "lin_roach", {}),
        ("ITF", "lin_roach", {"script": "itf", "duration_s": 20.0}),
        ("ITB", "lin_roach", {"script": "itb"}),
        ("stick", "lin_stickmiddle", {}),
        ("sideways", "restricted_pc_stick", {"duration_s": 14.0}),
        ("backward", "lin_roach", {"script": ITB_RULES}),
        ("dragging cycle", "lin_roach", {"plant": {HEIGHT: 2.0}}),
        ("air stepping", "lin_stickmiddle", {"plant": {HEIGHT: 60.0}}),
        ("chattering", "lin_roach", {"values": WEAK_LEVATOR}),
        ("stuck", "lin_roach", {"plant": {HEIGHT: 40.0}}),
    ],
)
def test_legs_are_seen_in_what_they_do(tmp_path: Path, expected: str, config: str, spec: dict[str, Any]) -> None:
    if spec.get("script") == ITB_RULES:
        path = tmp_path / "rules.xml"
        path.write_text(ITB_RULES)
        spec = spec | {"script": str(path)}
    leg, outcome = recorded(tmp_path, config, **spec)
    assert (outcome.kind, outcome.cyclic) == (expected, expected in CYCLIC), outcome.reasons
    if expected in CYCLIC:
        assert outcome.reasons == ()
        shown = [step.kind for step in step_kinds(leg, detect_steps(leg), *outcome.steady)]
        # Each movement is there in 80 % of the steps, not all of them in the same ones.
        assert shown.count(expected) >= 0.7 * len(shown) > 0
    else:
        assert outcome.reasons


def test_a_stuck_leg_is_stuck_in_a_global_state(tmp_path: Path) -> None:
    leg, outcome = recorded(tmp_path, "lin_roach", plant={HEIGHT: 40.0})
    assert outcome.kind == "stuck"
    last = tuple(m.action_name(int(m.action[-1])) for m in leg.modules if m.alternates)
    assert outcome.state == last


def test_a_leg_that_loses_the_ground_half_way_is_irregular(tmp_path: Path) -> None:
    leg, outcome = recorded(tmp_path, "lin_stickmiddle", 14.0, events=(Ground(8_000_000_000, present=False),))
    assert (outcome.kind, outcome.cyclic) == ("irregular", False)
    assert any("longest stretch without a lift-off" in reason for reason in outcome.reasons)
    assert last_lift_off(detect_steps(leg), 0.0, 14.0) < 9.0
    assert classify(leg, (0.0, 8.0), settle_s=1.0).kind == "stick"
    assert classify(leg, (9.0, 14.0), settle_s=0.0).kind == "air stepping"


@pytest.mark.parametrize(
    ("config", "script", "expected"),
    [
        ("lin_roach", None, "FWD"),
        # Not ITF: by its actions alone its steps are not regular on this plant (docs/experiments/doubts.md).
        ("lin_roach", "itb", "ITB"),
        ("lin_stickmiddle", None, "stick"),
        ("restricted_pc_stick", None, "sideways"),
    ],
)
def test_joints_alone_tell_the_behaviour(tmp_path: Path, config: str, script: str | None, expected: str) -> None:
    result = run_bout(BoutSpec(config, tmp_path / "bout", script=script, duration_s=20.0, seed=1))
    (result.folder / "PlantData.txt").unlink()
    outcome = classify(load_bout(result.folder).tracks(), (0.0, 20.0))
    assert (outcome.kind, outcome.contact_known) == (expected, False)
    assert "contact with the ground was not recorded" in outcome.reasons[0]
