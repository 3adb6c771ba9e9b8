from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree as ET

import numpy as np
import pytest

from nuc_engine.experiments.catalogue.pictures import draw_speed
from nuc_engine.experiments.catalogue.speed import (
    AGONISTS,
    ANTAGONISTS,
    CONFIG,
    EXPERIMENT_SPEED,
    NAMES,
    antagonist_levels,
    criterion_speed,
    label,
    level_bouts,
    median_error,
)
from nuc_engine.experiments.protocol import Finding, Trial, Window
from nuc_engine.experiments.trials import watch_plan
from nuc_engine.machine.locations import find_configuration
from tests.analysis.synthetic import FWD, leg
from tests.catalogue.seen import observe

PLANS = level_bouts({"122": (0.1, 0.2, 0.3, 0.4)})


def judge(periods: Sequence[float], kinds: Sequence[str] = ("FWD",) * 4, jitter: float = 0.02) -> Finding:
    return criterion_speed(
        {
            plan.label: observe(
                plan,
                {"stepping": kind},
                tracks=leg(replace(FWD, period_s=period, jitter=jitter, seed=k), plan.duration_s),
            )
            for k, (plan, period, kind) in enumerate(zip(PLANS, periods, kinds, strict=True))
        }
    )


def test_levels_give_each_hdso_its_value() -> None:
    plans = level_bouts({"122": (0.1, 0.2), "126": (0.5, 0.9)})
    assert [dict(plan.values) for plan in plans] == [{"122": 0.1, "126": 0.5}, {"122": 0.2, "126": 0.9}]
    assert [plan.label for plan in plans] == [label(0), label(1)] == ["level 1", "level 2"]


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
    assert not criterion_speed(seen).ok


def test_the_error_of_a_median_is_that_of_a_normal_sample() -> None:
    rng = np.random.default_rng(5)
    medians = np.median(rng.normal(1.0, 0.1, (2000, 101)), axis=1)
    assert median_error(rng.normal(1.0, 0.1, 101)) == pytest.approx(float(medians.std()), rel=0.2)
    assert np.isnan(median_error(np.array([1.0])))


def test_the_picture_is_drawn_the_same_each_time(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    periods = np.array([[1.0, 0.9, np.nan], [1.1, 0.8, 0.7]])
    for name in ("a", "b"):
        draw_speed(periods, {"one": (0.1, 0.2, 0.3), "two": (0.5, 0.6, 0.9)}, tmp_path / f"{name}.svg")
    assert (tmp_path / "a.svg").read_bytes() == (tmp_path / "b.svg").read_bytes()


def test_the_first_level_is_the_configuration() -> None:
    joints = ET.parse(find_configuration(CONFIG) / "joints.xml")
    values = {mod.get("idNum"): float(mod.text or "nan") for mod in joints.iter("hdsoMod") if mod.get("NumElts") == "1"}
    assert {hdso: own[0] for hdso, own in AGONISTS.items()} == {hdso: values[hdso] for hdso in AGONISTS}
    assert {hdso: own[0] for hdso, own in antagonist_levels().items()} == {hdso: values[hdso] for hdso in ANTAGONISTS}
    assert set(NAMES) == set(AGONISTS)


def test_the_stance_agonist_of_each_pair_rises_more() -> None:
    rises = {hdso: own[-1] / own[0] for hdso, own in AGONISTS.items()}
    for stance, swing in (("122", "123"), ("127", "126"), ("130", "131")):
        assert rises[stance] > rises[swing] > 1
    for own in AGONISTS.values():
        assert list(own) == sorted(own)


@pytest.mark.parametrize("tables", [AGONISTS, antagonist_levels()], ids=["row", "control"])
def test_no_two_levels_are_the_same_bout(tables: dict[str, tuple[float, ...]]) -> None:
    moved: set[bytes] = set()
    for plan in level_bouts(tables):
        short = replace(plan, duration_s=6.0, windows=(Window("stepping", 0.0, 6.0, "final", 1.0),))
        moved.add(watch_plan(short, 20001).leg.module("FTi").angle_deg.tobytes())
    assert len(moved) == 5


def test_antagonists_rise_as_the_same_muscles_do_as_agonists() -> None:
    for hdso, own in antagonist_levels().items():
        agonist = AGONISTS[ANTAGONISTS[hdso][1]]
        assert own[-1] / own[0] == pytest.approx(agonist[-1] / agonist[0], rel=0.01)


def test_the_picture_takes_the_numbers_of_the_criterion(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    (row,) = EXPERIMENT_SPEED.rows
    assert row.picture is not None
    numbers = {f"{label(k)}: step period (s)": 1.5 - 0.1 * k for k in range(5)}
    row.picture([Trial(1, "as seen", (), numbers, {}, 0, {})], tmp_path / "speed.svg")
    assert (tmp_path / "speed.svg").read_text().count("<path") > 20
