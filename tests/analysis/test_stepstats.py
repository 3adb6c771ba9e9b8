"""Steps in numbers, the mean step, and bouts side by side."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from matplotlib.figure import Figure

from nuc_engine.analysis.bout import Bout
from nuc_engine.analysis.compare import compare_bouts
from nuc_engine.analysis.cycle import angle_errors, mean_cycle, overall_rms_deg
from nuc_engine.analysis.errors import AnalysisError
from nuc_engine.analysis.load import load_bout
from nuc_engine.analysis.steps import detect_steps
from nuc_engine.analysis.stepstats import QUANTITIES, SampleStatistics, bout_stats, own_windows, table_lines
from nuc_engine.analysis.windows import BehaviourWindow
from nuc_engine.figures.canvas import house_style
from nuc_engine.figures.compare_figure import compare_figure
from tests.analysis.printed import collisions
from tests.analysis.synthetic import FWD, ITF, bout, leg

WHOLE = BehaviourWindow("FWD", "FWD", 0.0, 20.0)
LATE = BehaviourWindow("window-2", None, 10.0, 20.0)


@pytest.fixture(scope="module")
def made_up() -> Bout:
    return bout(leg(replace(FWD, jitter=0.03), 20.0))


def test_the_numbers_are_those_of_the_gait(made_up: Bout) -> None:
    (stats,) = bout_stats(made_up, [WHOLE])
    assert stats.kind == "FWD"
    assert stats.steady == (3.0, 20.0)
    seen = stats.samples
    assert set(seen) == set(QUANTITIES)
    assert stats.steps == seen["period"].n == pytest.approx(17 / FWD.period_s, abs=2)
    assert seen["period"].mean == pytest.approx(FWD.period_s, rel=0.03)
    drawn = np.clip(np.random.default_rng(FWD.seed).standard_normal(22), -2, 2)[3:]
    assert seen["period"].sd == pytest.approx(0.03 * FWD.period_s * drawn.std(ddof=1), abs=0.008)
    assert seen["period"].cv == seen["period"].sd / seen["period"].mean
    assert seen["cycle"].mean == pytest.approx(FWD.period_s, rel=0.03)
    assert seen["duty_factor"].mean == pytest.approx(1 - FWD.swing_share, abs=0.02)
    assert seen["swing"].mean + seen["stance"].mean == pytest.approx(seen["period"].mean)
    assert seen["stride_x"].mean == pytest.approx(FWD.stride_cm[0], abs=0.3)
    assert seen["stride_y"].mean == pytest.approx(FWD.stride_cm[1], abs=0.2)
    assert seen["stride"].mean == pytest.approx(math.hypot(*FWD.stride_cm), abs=0.3)
    assert seen["clearance"].mean == pytest.approx(FWD.lift_cm, abs=0.1)
    assert seen["load"].mean == pytest.approx(FWD.load_n, abs=0.01)
    assert seen["lift_off_difference"].n == seen["cycle"].n
    assert stats.lift_off_spread_deg < 0.1


def test_joint_ranges_are_those_of_the_angles(made_up: Bout) -> None:
    (stats,) = bout_stats(made_up, [LATE], settle_s=2.0)
    part = made_up.sensors.between(12.0, 20.0)
    for told, joint in zip(stats.joints, made_up.joints, strict=True):
        angle = part.column(joint.angle)
        assert (told.joint, told.least_deg, told.largest_deg) == (joint.name, angle.min(), angle.max())
    fti = stats.joints[2].per_step_deg
    assert fti.mean == pytest.approx(abs(FWD.fti_deg), abs=3)
    assert fti.n == stats.steps


def test_a_sample_says_what_it_can() -> None:
    one = SampleStatistics.of(np.array([2.0, math.nan]))
    assert (one.n, one.mean, one.median, one.least, one.largest) == (1, 2.0, 2.0, 2.0, 2.0)
    assert math.isnan(one.sd)
    none = SampleStatistics.of(np.zeros(0))
    assert none.n == 0
    assert math.isnan(none.mean)
    assert none.data() == {"n": 0, "mean": None, "sd": None, "cv": None, "median": None, "min": None, "max": None}
    assert SampleStatistics.of(np.array([-1.0, -3.0])).cv == pytest.approx(math.sqrt(2) / 2)
    assert math.isnan(SampleStatistics.of(np.array([-1.0, 1.0])).cv)


def test_a_leg_that_can_not_be_judged_has_its_ranges_all_the_same(made_up: Bout) -> None:
    held = replace(made_up, joints=tuple(replace(j, states=()) for j in made_up.joints))
    (stats,) = bout_stats(held, [WHOLE])
    assert (stats.kind, stats.steps, stats.cycle) == ("not judged", 0, None)
    assert "no joint between thorax and coxa" in stats.why_not
    assert len(stats.joints) == 3
    assert stats.data()["outcome"] is None
    assert not any("period" in line for line in table_lines([("FWD", stats)]))


def test_a_window_shorter_than_its_settling_says_so(made_up: Bout) -> None:
    (stats,) = bout_stats(made_up, [BehaviourWindow("short", None, 5.0, 6.0)])
    assert stats.kind == "not judged"
    assert "3 s left out" in stats.why_not
    assert stats.steady == (6.0, 6.0)
    assert any("nothing" in line for line in table_lines([("short", stats)]))


def test_data_is_json(made_up: Bout) -> None:
    data = [stats.data() for stats in bout_stats(made_up, [WHOLE, LATE])]
    again = json.loads(json.dumps(data, allow_nan=False))
    assert [window["outcome"] for window in again] == ["FWD", "FWD"]
    assert again[0]["quantities"]["period"]["unit"] == "s"
    assert again[0]["joints"][2]["per_step"]["n"] == again[0]["steps"]


def test_a_table_has_a_column_for_each_window_and_fits_the_page(made_up: Bout) -> None:
    (stats,) = bout_stats(made_up, [WHOLE])
    lines = list(table_lines([(f"window number {k}", stats) for k in range(9)]))
    assert max(map(len, lines)) <= 80
    for k in range(9):
        assert sum(line.count(f"window number {k}") for line in lines) == 1
    assert sum(line.startswith("period (s)") for line in lines) == sum(not line for line in lines) + 1 > 1


def test_numbers_in_a_table_have_as_many_digits_as_they_bear(made_up: Bout) -> None:
    (stats,) = bout_stats(made_up, [WHOLE])
    stride, period = SampleStatistics(5, 12.3456, 0.01234, 12, 12, 13), SampleStatistics(5, 0.9, 0.045, 0.9, 0.8, 1)
    shown = replace(stats, samples={**stats.samples, "stride": stride, "period": period})
    rows = [line.split("  ") for line in table_lines([("FWD", shown)])]
    cells = {row[0] or row[1]: row[-1].strip() for row in rows}
    assert cells["stride (cm)"] == "12.3 +- 0.012"
    assert cells["period (s)"] == "0.900 +- 0.045"
    # The row that stands below the period's.
    assert next(row[-1].strip() for row in rows if "variation (CV, %)" in row) == "5.0"


def test_a_leg_that_is_stuck_takes_no_room_in_the_table_and_its_state_stands_below(made_up: Bout) -> None:
    (stats,) = bout_stats(made_up, [WHOLE])
    assert stats.outcome is not None
    actions = ("TC1_retractionLEV", "CTr_LevationPRO", "FT_Flexion")
    still = replace(stats, outcome=replace(stats.outcome, kind="stuck", cyclic=False, state=actions))
    lines = list(table_lines([("FWD", still), ("ITF", still)]))
    assert max(map(len, lines)) <= 80
    row = next(line for line in lines if line.startswith("what is seen"))
    assert row.split()[3:] == ["stuck", "stuck"]
    assert "/".join(actions) in still.kind
    assert lines[-2:] == [f"- {name}: {still.kind}" for name in ("FWD", "ITF")]


def test_the_mean_step_is_the_step(made_up: Bout) -> None:
    steps = detect_steps(made_up.tracks()).within(3.0, 20.0)
    cycle = mean_cycle(made_up, steps)
    assert cycle is not None
    assert cycle.steps == len(steps)
    assert cycle.touch_down == pytest.approx(FWD.swing_share, abs=0.02)
    knee, sd = cycle.joint("Femur-Tibia")
    # In swing the knee goes back what it went in stance: a straight line down, then up to where it came from.
    assert knee[0] - knee[round(100 * FWD.swing_share)] == pytest.approx(FWD.fti_deg, abs=4)
    assert knee[0] == pytest.approx(knee[-1], abs=1.5)
    assert np.median(sd) < 2.0
    at_lift_off = np.interp(steps.lift_off_s, made_up.sensors.t_s, made_up.sensors.column("Femur-Tibia_angle"))
    assert sd[0] == pytest.approx(at_lift_off.std(ddof=1), rel=1e-9)
    assert knee[0] == pytest.approx(at_lift_off.mean())
    at_next = np.interp(steps.end_s, made_up.sensors.t_s, made_up.sensors.column("Femur-Tibia_angle"))
    assert knee[-1] == pytest.approx(at_next.mean())
    swing = cycle.phase < FWD.swing_share - 0.03
    stance = cycle.phase > FWD.swing_share + 0.03
    assert cycle.contact[swing][2:].max() < 0.1
    assert cycle.contact[stance][:-2].min() > 0.9
    with pytest.raises(KeyError, match="there are Thorax-Coxa1"):
        cycle.joint("knee")


def test_the_mean_touch_down_is_that_of_the_steps_that_were_recorded(made_up: Bout) -> None:
    steps = detect_steps(made_up.tracks())
    late = np.where(steps.lift_off_s > 15.0, steps.end_s - 0.01, steps.touch_down_s)
    cycle = mean_cycle(holed(made_up, 14.0, 99.0), replace(steps, touch_down_s=late))
    assert cycle is not None
    assert cycle.touch_down == pytest.approx(FWD.swing_share, abs=0.02)


def test_no_steps_have_no_mean(made_up: Bout) -> None:
    steps = detect_steps(made_up.tracks())
    assert mean_cycle(made_up, steps.within(0.0, 0.1)) is None
    single = mean_cycle(made_up, steps.within(3.0, 3.0 + 2.5 * FWD.period_s))
    assert single is not None
    one = mean_cycle(made_up, steps.within(float(steps.lift_off_s[3]), float(steps.end_s[3])))
    assert one is not None
    assert one.steps == 1
    assert np.isnan(one.sd_deg).all()
    assert np.isnan(mean_cycle(replace(made_up, plant=None), steps).contact).all()


def test_errors_are_root_mean_square_and_signed_at_the_worst(made_up: Bout) -> None:
    cycle = mean_cycle(made_up, detect_steps(made_up.tracks()))
    assert cycle is not None
    shifted = replace(cycle, mean_deg=cycle.mean_deg + np.array([0.0, -2.0, 3.0]))
    hip, femur, knee = angle_errors(cycle, shifted)
    assert (hip.rms_deg, femur.rms_deg, knee.rms_deg) == (0, pytest.approx(2), pytest.approx(3))
    assert (femur.largest_deg, knee.largest_deg) == (pytest.approx(-2), pytest.approx(3))
    assert overall_rms_deg((hip, femur, knee)) == pytest.approx(math.sqrt(13 / 3))
    wave = replace(cycle, mean_deg=cycle.mean_deg + np.sin(2 * np.pi * cycle.phase)[:, None])
    assert angle_errors(cycle, wave)[0].rms_deg == pytest.approx(math.sqrt(0.5), rel=1e-6)
    coarse = mean_cycle(made_up, detect_steps(made_up.tracks()), points=51)
    assert coarse is not None
    assert max(error.rms_deg for error in angle_errors(cycle, coarse)) < 0.5
    other = replace(cycle, joints=("Thorax-Coxa1", "wrist", "Femur-Tibia"))
    assert [error.joint for error in angle_errors(cycle, other)] == ["Thorax-Coxa1", "Femur-Tibia"]
    assert math.isnan(overall_rms_deg(()))


@pytest.fixture(scope="module")
def turning() -> Bout:
    return bout(leg(ITF, 20.0))


def test_bouts_are_compared_window_by_window(made_up: Bout, turning: Bout) -> None:
    comparison = compare_bouts([("one", made_up), ("same", made_up), ("turn", turning)], [WHOLE])
    (same,), (turn,) = comparison.matches
    assert same.rms_deg == 0.0
    knee = next(error for error in turn.errors if error.joint == "Femur-Tibia")
    assert knee.rms_deg > 30
    assert turn.other.kind == "ITF"
    text = list(comparison.lines())
    assert text[0] == "FWD, 0 to 20 s"
    assert max(map(len, text)) <= 100
    assert any(line.split()[-2:] == ["0.00", f"{turn.rms_deg:.2f}"] for line in text)
    data = json.loads(json.dumps(comparison.data(), allow_nan=False))
    assert [entry["bout"] for entry in data["angles"]] == ["same", "turn"]
    assert data["angles"][0]["joints"][0]["rms_deg"] == 0.0


def test_windows_are_matched_by_name_and_else_by_place(roach: Bout, finished_stick: Path) -> None:
    def met(other: Bout) -> list[tuple[str, str]]:
        (matches,) = compare_bouts([("roach", roach), ("other", other)]).matches
        return [(match.first.window.name, match.other.window.name) for match in matches]

    assert met(roach) == [("FWD", "FWD"), ("ITF", "ITF")]
    assert met(roach.subset(1.2, 1.9)) == [("ITF", "ITF")]
    assert met(load_bout(finished_stick)) == [("FWD", "stick")]
    text = list(compare_bouts([("part", roach.subset(1.2, 1.9)), ("roach", roach)]).lines())
    assert text[-1] == "roach alone has FWD; not compared"


def test_windows_without_steps_have_no_angles_to_compare(made_up: Bout) -> None:
    still = replace(
        made_up, sensors=replace(made_up.sensors, values=np.full_like(made_up.sensors.values, 30.0)), plant=None
    )
    still = replace(still, states=replace(still.states, values=np.zeros_like(still.states.values)))
    comparison = compare_bouts([("one", made_up), ("still", still)], [WHOLE])
    ((match,),) = comparison.matches
    assert match.errors == ()
    assert comparison.data()["angles"][0]["rms_deg"] is None
    assert list(comparison.lines())
    with pytest.raises(AnalysisError, match="no bout has steps"):
        compare_figure(compare_bouts([("still", still), ("too", still)], [WHOLE]))


def holed(whole: Bout, begin_s: float, end_s: float) -> Bout:
    """The bout without its joint angles of some time."""
    keep = (whole.sensors.t_s < begin_s) | (whole.sensors.t_s > end_s)
    log = whole.sensors
    return replace(whole, sensors=replace(log, t_s=log.t_s[keep], values=log.values[keep]))


def test_steps_that_were_not_recorded_are_left_out_of_the_mean_and_counted(made_up: Bout) -> None:
    whole = bout_stats(made_up, [WHOLE])[0]
    for begin_s, end_s in ((10.0, 14.0), (0.15, 15.0), (15.0, 99.0)):
        comparison = compare_bouts([("whole", made_up), ("holed", holed(made_up, begin_s, end_s))], [WHOLE])
        (stats,), ((match,),) = comparison.sides[1].windows, comparison.matches
        hidden = (min(end_s, 20.0) - max(begin_s, 3.0)) / FWD.period_s
        assert stats.steps == whole.steps
        assert stats.unrecorded_steps == pytest.approx(hidden, abs=2)
        assert stats.cycle is not None
        assert stats.cycle.steps == stats.steps - stats.unrecorded_steps
        assert match.rms_deg < 1.0
        left_out = f"holed: {stats.unrecorded_steps} of {stats.steps} steps left out of the mean step"
        assert [left_out in line for line in comparison.lines()].count(True) == 1
        assert stats.joints[0].per_step_deg.n == stats.cycle.steps
    comparison = compare_bouts([("whole", made_up), ("cut", holed(made_up, 0.15, 99.0))], [WHOLE])
    assert comparison.sides[1].windows[0].cycle is None
    assert comparison.matches[0][0].errors == ()
    assert not any("holed" in line or "whole:" in line for line in comparison.lines())
    assert any("cut: 1" in line and "left out" in line for line in comparison.lines())
    assert comparison.sides[0].windows[0].unrecorded_steps == 0


def test_contact_is_averaged_over_the_steps_in_which_the_foot_was_recorded(made_up: Bout) -> None:
    plant = made_up.plant
    assert plant is not None
    steps = detect_steps(made_up.tracks())
    keep = (plant.t_s < 8.0) | (plant.t_s > 12.0)
    part = replace(made_up, plant=replace(plant, t_s=plant.t_s[keep], values=plant.values[keep]))
    whole, seen = mean_cycle(made_up, steps), mean_cycle(part, steps)
    assert whole is not None
    assert seen is not None
    # At either end of a step it is a matter of single records.
    alike = np.isin(whole.contact, (0.0, 1.0)) & (whole.phase > 0.02) & (whole.phase < 0.98)
    assert alike.sum() > 80
    np.testing.assert_array_equal(seen.contact[alike], whole.contact[alike])


def test_the_figure_shows_every_bout_in_every_joint(made_up: Bout, turning: Bout) -> None:
    comparison = compare_bouts([("one", made_up), ("turn", turning)], [WHOLE, LATE])
    with house_style():
        figure = compare_figure(comparison)
        assert isinstance(figure, Figure)
        assert collisions(figure) == []
    assert len(figure.axes) == 6
    for axes in figure.axes:
        curves = [line for line in axes.lines if len(line.get_xdata()) > 1]
        assert len(curves) == 2
        assert curves[0]._unscaled_dash_pattern != curves[1]._unscaled_dash_pattern
        assert curves[0].get_color() != curves[1].get_color()
    top_left = figure.axes[0]
    expected = comparison.sides[1].windows[0].cycle.joint("Thorax-Coxa1")[0]
    np.testing.assert_array_equal(top_left.lines[2].get_ydata(), expected)
    assert top_left.get_ylabel() == "FWD\njoint angle (deg)"
    assert figure.axes[-1].get_xlabel() == "share of the step, from lift-off"
    assert [text.get_text() for text in figure.legends[0].get_texts()] == ["one", "turn", "touch-down"]


def test_windows_follow_a_bout_that_was_cut_and_shifted(roach: Bout) -> None:
    names = [(w.name, w.begin_s, round(w.end_s, 1)) for w in own_windows(roach)]
    assert names == [("FWD", 0.0, 1.0), ("ITF", 1.0, 2.0)]
    part = roach.subset(0.6, 1.9)
    assert [(w.name, round(w.begin_s, 1), round(w.end_s, 1)) for w in own_windows(part)] == [
        ("FWD", 0.6, 1.0),
        ("ITF", 1.0, 1.9),
    ]
    begin, end = ((w.begin_s, w.end_s) for w in own_windows(part.zeroed()))
    assert begin == (0.0, pytest.approx(1.0 - part.begin_s))
    assert end == (pytest.approx(1.0 - part.begin_s), pytest.approx(part.end_s - part.begin_s))
    assert [w.name for w in own_windows(roach.subset(1.2, 1.9).zeroed())] == ["ITF"]
    # A first record that is only a little late is no cut.
    assert [(w.name, w.begin_s) for w in own_windows(roach.subset(0.4, 1.9))] == [("FWD", 0.0), ("ITF", 1.0)]
