"""What was seen in a bout, as data and as text."""

from __future__ import annotations

import json
import math
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import nuc_engine.analysis as analysis
from nuc_engine.analysis.bout import Bout
from nuc_engine.analysis.judge import judge
from nuc_engine.analysis.summary import Summary, span_window, summarise, summarise_bout
from nuc_engine.analysis.windows import BehaviourWindow
from tests.analysis.synthetic import FWD, ITF, Gait, bout, leg

FORWARD = BehaviourWindow("FWD", "FWD", 0.0, 20.0)
ORDER = [
    "lift-off",
    "TC1_protractionDEP",
    "CTr_DepressionRET",
    "FT_Extension",
    "touch-down",
    "TC1_retractionLEV",
    "CTr_LevationPRO",
    "FT_Flexion",
]
"""The actions change shortly before the foot follows."""


def seen(gait: Gait = FWD, *windows: BehaviourWindow, duration_s: float = 20.0) -> Summary:
    return summarise_bout(bout(leg(gait, duration_s)), windows or (FORWARD,))


def test_a_leg_that_steps_is_said_to() -> None:
    summary = seen()
    (window,) = summary.windows
    assert (summary.stepping, window.stepping, window.kind, window.reasons) == (True, True, "stepping", ())
    # Lift-offs from 0.9 s on, every 0.9 s; the last complete step ends before 20 s.
    assert (window.steps, window.judged_steps) == (21, 18)
    assert window.period_mean_s == pytest.approx(0.9, abs=0.01)
    assert window.period_sd_s == pytest.approx(0.0, abs=0.02)
    assert window.swing_mean_s == pytest.approx(0.55 * 0.9, abs=0.02)
    assert window.stance_mean_s == pytest.approx(0.45 * 0.9, abs=0.02)
    assert window.stride_cm[0] == pytest.approx(-7.0, abs=0.4)
    assert [event.what for event in window.order] == ORDER


def test_each_window_is_judged_by_its_own_behaviour() -> None:
    summary = seen(FWD, FORWARD, BehaviourWindow("ITF", "ITF", 20.0, 40.0), duration_s=40.0)
    forward, turn = summary.windows
    assert (forward.kind, turn.kind) == ("stepping", "wrong direction")
    assert (forward.stepping, turn.stepping, summary.stepping) == (True, False, False)
    assert any("FTi flexion in stance" in reason for reason in turn.reasons)
    text = "\n".join(turn.lines())
    assert "ITF       20 to 40 s: wrong direction (as in FWD), " in text
    assert "- FTi flexion in stance (median): -" in text


def test_behaviours_not_known_by_name_are_not_called_wrong() -> None:
    unnamed = BehaviourWindow("window-1", None, 0.0, 20.0)
    known = seen(ITF, unnamed).windows[0]
    assert (known.kind, known.verdict.behaviour, known.reasons) == ("stepping", "ITF", ())
    odd = seen(replace(FWD, stride_cm=(7.0, 0.5)), unnamed).windows[0]
    assert odd.kind == "stepping, but not as any behaviour known by name"
    assert (odd.stepping, odd.reasons) == (False, ())
    assert odd.data()["kind"] == odd.kind
    still = seen(replace(FWD, stride_cm=(7.0, 0.5), lift_cm=0.1), unnamed).windows[0]
    assert still.kind == "dragging"
    assert not any("foot rearward" in reason for reason in still.reasons)
    assert any("share of time in swing" in reason for reason in still.reasons)


def test_reasons_with_numbers_come_first_and_the_rest_is_counted() -> None:
    made_up = bout(leg(FWD, 20.0))
    flying = replace(made_up.plant, values=made_up.plant.values * np.array([1, 1, 1, 0]))
    (window,) = summarise_bout(replace(made_up, plant=flying), (FORWARD,)).windows
    assert (window.kind, window.steps, window.order) == ("air stepping", 0, ())
    head, *reasons = window.lines()
    assert head == "FWD       0 to 20 s: air stepping, 0 steps"
    assert len(reasons) == 4
    assert not any("not measurable" in line for line in reasons)
    assert reasons[-1].strip() == f"- and {len(window.reasons) - 3} more"


def test_what_cannot_be_judged_says_why_and_has_no_numbers() -> None:
    short = seen(FWD, BehaviourWindow("2-4s", "FWD", 2.0, 4.0)).windows[0]
    assert (short.kind, short.stepping, short.verdict) == ("not judged", False, None)
    assert short.steps == 1
    assert "2 to 4 s: not judged, 1 step (window 2 to 4 s is not longer than the 3 s left out" in str(
        " ".join(" ".join(short.lines()).split())
    )
    numbers = (short.period_mean_s, short.period_sd_s, short.swing_mean_s, short.stance_mean_s, *short.stride_cm)
    assert all(math.isnan(number) for number in numbers)
    data = short.data()
    assert (data["kind"], data["period_mean_s"], data["stride_cm"]) == (None, None, [None] * 3)
    assert "not longer than" in data["why_not_judged"]


def test_a_leg_without_modules_is_not_judged_either() -> None:
    made_up = bout(leg(FWD, 20.0))
    held = replace(made_up, joints=tuple(replace(j, states=()) for j in made_up.joints))
    (window,) = summarise_bout(held, (FORWARD,)).windows
    assert (window.kind, window.steps) == ("not judged", 0)
    assert "no joint between thorax and coxa" in window.why_not


def test_data_are_json_and_say_what_the_text_says() -> None:
    summary = seen(FWD, FORWARD, BehaviourWindow("late", None, 18.0, 20.0))
    data = json.loads(json.dumps(summary.data(), allow_nan=False))
    assert data == summary.data()
    assert (data["configuration"], data["stepping"]) == ("paper_leg", False)
    first, late = data["windows"]
    assert (first["name"], first["meant"], first["begin_s"], first["end_s"]) == ("FWD", "FWD", 0.0, 20.0)
    assert (first["kind"], first["stepping"], first["steps"], first["judged_steps"]) == ("stepping", True, 21, 18)
    assert first["judged_from_s"] == 3.0
    assert first["period_mean_s"] == pytest.approx(0.9, abs=0.01)
    assert first["order"][0] == {"event": "lift-off", "phase": 0.0}
    assert first["resembles"] == ["FWD"]
    assert late["why_not_judged"]


def test_notes_of_the_bout_are_part_of_it() -> None:
    told = replace(bout(leg(FWD, 20.0)), notes=("SensData.txt: torn last line left out",))
    summary = summarise_bout(told, (FORWARD,))
    assert str(summary).startswith("note      SensData.txt: torn last line left out\nFWD ")
    assert summary.data()["notes"] == ["SensData.txt: torn last line left out"]


def test_a_span_has_the_behaviour_of_the_window_it_lies_in() -> None:
    windows = (FORWARD, BehaviourWindow("ITF", "ITF", 20.0, 40.0))
    assert span_window(windows, (21.0, 40.0)) == BehaviourWindow("21-40s", "ITF", 21.0, 40.0)
    assert span_window(windows, (15.0, 25.0)) == BehaviourWindow("15-25s", None, 15.0, 25.0)


def test_a_data_directory_is_summarised(roach: Bout) -> None:
    for given in (roach.folder, str(roach.folder)):
        summary = summarise(given)
        assert (summary.folder, summary.label, summary.notes) == (roach.folder, "lin_roach", ())
        assert [(w.name, w.window.begin_s) for w in summary.windows] == [("FWD", 0.0), ("ITF", 1.0)]
        assert str(summary).startswith("FWD       0 to 1 s: not judged")


def test_the_verdict_is_the_judges() -> None:
    expected = judge(leg(FWD, 20.0), "FWD", (0.0, 20.0))
    verdict = seen().windows[0].verdict
    assert (verdict.kind, verdict.checks, verdict.measures) == (expected.kind, expected.checks, expected.measures)


def test_everything_offered_is_there() -> None:
    for name in analysis.__all__:
        assert getattr(analysis, name).__name__ == name
    with pytest.raises(AttributeError, match="no attribute 'plot_everything'"):
        _ = analysis.plot_everything


def test_a_summary_needs_no_matplotlib_and_the_package_nothing_at_all(finished_roach: Path) -> None:
    program = (
        "import sys; import nuc_engine.analysis; early = {'numpy', 'lxml', 'matplotlib'} & set(sys.modules);"
        "from nuc_engine.analysis import summarise; summarise(sys.argv[1]);"
        "print(early, sorted({'numpy', 'matplotlib', 'mujoco'} & set(sys.modules)))"
    )
    command = [sys.executable, "-c", program, str(finished_roach)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout == "set() ['numpy']\n"
