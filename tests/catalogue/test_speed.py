from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree as ET

import numpy as np
import pytest

from nuc_engine.experiments.catalogue.speed import median_error
from nuc_engine.experiments.protocol import BoutPlan, CriterionResult, JudgedWindow, Trial
from nuc_engine.experiments.trials import watch_plan
from nuc_engine.machine.locations import find_configuration
from tests.analysis.synthetic import FWD, leg
from tests.catalogue.seen import observe, row_of

SPEED = row_of("speed")
PLANS = SPEED.bouts[:4]
AGONIST = {"121": "123", "124": "122", "125": "127", "128": "126", "129": "131", "132": "130"}
"""Activation of each antagonist -> that of the same muscle as an agonist."""


def judge(periods: Sequence[float], kinds: Sequence[str] = ("FWD",) * 4, jitter: float = 0.02) -> CriterionResult:
    seen = {}
    for k, (plan, period_s, kind) in enumerate(zip(PLANS, periods, kinds, strict=True)):
        tracks = leg(replace(FWD, period_s=period_s, jitter=jitter, seed=k), plan.duration_s)
        seen[plan.label] = observe(plan, {"stepping": kind}, tracks=tracks)
    return SPEED.criterion(seen)


def test_periods_that_fall_by_a_third_are_seen() -> None:
    finding = judge((1.0, 0.88, 0.78, 0.66))
    assert finding.ok, finding.reasons
    assert finding.numbers["shortening (share)"] == pytest.approx(0.34, abs=0.02)
    assert finding.numbers["level 1: step period (s)"] == pytest.approx(1.0, abs=0.02)


@pytest.mark.parametrize(
    ("periods", "why"),
    [
        ((1.0, 0.9, 0.8, 0.74), "% shorter at the last level"),
        ((1.0, 0.78, 0.88, 0.66), "level 3: period"),
        ((1.0, 0.8, 0.8, 0.66), "level 3: period"),
        ((0.66, 0.78, 0.88, 1.0), "level 2: period"),
        ((0.8, 0.8, 0.8, 0.8), "% shorter at the last level"),
    ],
)
def test_periods_that_fall_too_little_or_not_at_every_level_are_refused(periods: Sequence[float], why: str) -> None:
    finding = judge(periods)
    assert not finding.ok
    assert any(why in reason for reason in finding.reasons)


def test_a_fall_within_the_error_is_none() -> None:
    # The median of forty steps with a spread of 20 % is known to about 4 %.
    finding = judge((1.0, 0.8, 0.74, 0.6), jitter=0.2)
    fall = finding.numbers["level 2: step period (s)"] - finding.numbers["level 3: step period (s)"]
    assert 0 < fall < 0.03
    assert len(finding.reasons) == 1
    assert finding.reasons[0].startswith("level 3: period")


def test_every_level_has_to_step() -> None:
    finding = judge((1.0, 0.88, 0.78, 0.66), ("FWD", "FWD", "irregular", "FWD"))
    assert finding.reasons == ("level 3: stepping: irregular, expected FWD (measured against bound)",)


def test_a_leg_that_stands_is_refused() -> None:
    seen = {plan.label: observe(plan, {"stepping": "FWD"}) for plan in PLANS}
    assert not SPEED.criterion(seen).ok


def test_the_error_of_a_median_is_that_of_a_normal_sample() -> None:
    rng = np.random.default_rng(5)
    medians = np.median(rng.normal(1.0, 0.1, (2000, 101)), axis=1)
    assert median_error(rng.normal(1.0, 0.1, 101)) == pytest.approx(float(medians.std()), rel=0.2)
    assert np.isnan(median_error(np.array([1.0])))


@pytest.mark.parametrize("bouts", [SPEED.bouts, SPEED.control.bouts], ids=["agonists", "antagonists"])
def test_the_first_level_is_the_configuration_and_every_level_is_another_bout(bouts: Sequence[BoutPlan]) -> None:
    joints = ET.parse(find_configuration(bouts[0].config) / "joints.xml")
    values = {mod.get("idNum"): float(mod.text or "nan") for mod in joints.iter("hdsoMod") if mod.get("NumElts") == "1"}
    assert bouts[0].values == {hdso: values[hdso] for hdso in bouts[0].values}
    moved: set[bytes] = set()
    for plan in bouts:
        short = replace(plan, duration_s=6.0, windows=(JudgedWindow("stepping", 0.0, 6.0, "final", 1.0),))
        moved.add(watch_plan(short, 20001).leg.module("FTi").angle_deg.tobytes())
    assert len(moved) == len(bouts) == 5


def test_antagonists_rise_all_by_the_same_factors_and_hardly_pull_at_first() -> None:
    agonists, own = SPEED.bouts, SPEED.control.bouts
    for hdso, agonist in AGONIST.items():
        levels = [plan.values[hdso] for plan in own]
        assert [level / levels[0] for level in levels] == pytest.approx([1, 5, 10, 15, 20], rel=0.01)
        assert levels[0] < 0.15 * agonists[0].values[agonist]


def test_the_picture_takes_the_numbers_of_the_criterion_and_the_rows_own_drives(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    assert SPEED.picture is not None
    numbers = {f"level {k + 1}: step period (s)": 1.5 - 0.1 * k for k in range(5)}
    for name in ("a", "b"):
        SPEED.picture(SPEED, [Trial(1, "as seen", (), numbers, {}, 0, {})], tmp_path / f"{name}.svg")
    assert (tmp_path / "a.svg").read_text().count("<path") > 20
    assert (tmp_path / "a.svg").read_bytes() == (tmp_path / "b.svg").read_bytes()
