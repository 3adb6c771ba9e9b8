"""Asks of chapter 9: where a leg with a sensor cut ends, at which phase a changeset comes, what drive does."""

from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree as ET

import numpy as np
import pytest

from nuc_engine.analysis.steps import detect_steps
from nuc_engine.experiments.catalogue.cuts import Foretold, counted
from nuc_engine.experiments.catalogue.phase import by_phase, phase
from nuc_engine.experiments.nerves import Cut
from nuc_engine.experiments.protocol import BoutPlan, JudgedWindow, Trial
from nuc_engine.experiments.trials import watch_plan
from tests.analysis.synthetic import FWD, leg
from tests.catalogue.seen import every, observe, row_of, steps

PHASE, ALL = row_of("phase ITF"), row_of("speed-parameters all")


def trial(**numbers: float) -> Trial:
    return Trial(1, "otherwise", (), {name.replace("__", ": "): value for name, value in numbers.items()}, {}, 0, {})


def test_phase_is_counted_from_lift_off_in_periods_before() -> None:
    assert phase(steps(every(0.0, 5.0, 0.8)), 4.2) == pytest.approx(0.25)
    assert np.isnan(phase(steps([1.0]), 4.2))


def test_when_the_changeset_came_is_when_its_rule_was_first_true_and_then_later() -> None:
    (ask,) = [each for each in PHASE.criterion.asks if hasattr(each, "beyond_deg")]
    plan = PHASE.bouts[3]
    tracks = leg(FWD, plan.duration_s)
    seen = observe(plan, {"before": "FWD", "after": "ITF"}, tracks=tracks)
    at_s = ask.changed_s(seen) - plan.waits[0].after_s
    angle = np.interp(at_s, tracks.t_sensor_s, tracks.module("FTi").angle_deg)
    assert at_s >= plan.waits[0].from_s
    assert angle > 119.0


def test_every_phase_has_to_lead_to_the_turn() -> None:
    seen = {p.label: observe(p, {"before": "FWD", "after": "ITF"}) for p in PHASE.bouts}
    assert PHASE.criterion(seen).ok
    late = PHASE.bouts[7]
    finding = PHASE.criterion(seen | {late.label: observe(late, {"before": "FWD", "after": "backward"})})
    assert [reason.partition(":")[0] for reason in finding.reasons] == [late.label]
    assert finding.numbers[f"{late.label}: as wanted in the end (share)"] == 0.0


def test_bouts_are_counted_by_swing_and_stance() -> None:
    numbers = {}
    for label, swing, takes, there in (("0", 1.0, 2.0, 1.0), ("1", 0.0, 1.0, 1.0), ("2", 0.0, 0.5, 0.0)):
        numbers |= {f"{label}: phase": 0.1, f"{label}: changed in swing (share)": swing}
        numbers |= {f"{label}: transient (s)": takes, f"{label}: as wanted in the end (share)": there}
    found = by_phase([replace(trial(), numbers=numbers)])
    assert found["changed in stance: as wanted in the end"] == 0.5
    assert found["transient: longer for changes in swing by (s), median of repetitions"] == pytest.approx(1.25)


@pytest.mark.parametrize(("periods", "why"), [((1.0, 0.8, 0.9), ""), ((1.0, 0.9, 0.8), "x 1: 0% slower")])
def test_drive_has_to_slow_it_down_in_the_end(periods: tuple[float, ...], why: str) -> None:
    (ask,) = ALL.criterion.asks
    seen = {}
    for k, (plan, period_s) in enumerate(zip(ALL.bouts, periods, strict=False)):
        tracks = leg(replace(FWD, period_s=period_s, jitter=0.1 if k == 1 else 0.01, seed=k), plan.duration_s)
        seen[plan.label] = observe(plan, {}, tracks=tracks)
    reasons = ask.look({label: replace(one, steps=detect_steps(one.leg)) for label, one in seen.items()}).reasons
    assert [reason[: len(why)] for reason in reasons][:1] == ([why] if why else [])


def test_a_cut_leg_ends_as_foretold_and_an_uncut_one_does_not() -> None:
    ask = Foretold(lesion=("TC1_current", 0.0), others=(("FT_angle", "hold"),))
    windows = (JudgedWindow("before", 0.0, 5.0, "before", 1.0), JudgedWindow("cut", 5.0, 10.0, "final", 1.0))
    whole = BoutPlan("FWD", "lin_roach", "experiment_a", 10.0, windows)
    cut = replace(whole, cuts=(Cut("TC1_current", 0.0, 5.0),))
    good, bad = (ask.look({"FWD": watch_plan(plan, 290401)}) for plan in (cut, whole))
    assert (good.reasons, good.numbers["FWD: as foretold (share)"]) == ((), 1.0)
    assert "expected" in bad.reasons[0]
    told = counted([replace(trial(), numbers=each.numbers) for each in (good, bad)])
    assert (told["bouts as foretold (share)"], told["bouts"]) == (0.5, 2.0)


@pytest.mark.parametrize("row", [PHASE, ALL])
def test_pictures_have_something_in_them(row, tmp_path: Path) -> None:
    names = ("phase", "changed in swing (share)", "transient (s)", "as wanted in the end (share)", "step period (s)")
    numbers = {f"{plan.label}: {name}": 0.5 + k / 100 for k, plan in enumerate(row.bouts) for name in names}
    row.picture(row, [replace(trial(), numbers=numbers)] * 2, tmp_path / "a.svg")
    assert len(list(ET.parse(tmp_path / "a.svg").iter())) > 100
