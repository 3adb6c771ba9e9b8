"""Reference programs: each velocity is the derivative of its position; what may jump, and what must not."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nuc_engine.episode.document import RunConfigError
from nuc_engine.episode.fields import Fields
from nuc_engine.episode.system import Program
from nuc_engine.flight.references import KINDS, read_reference
from nuc_engine.verify.flight import program
from tests.flight.runs import document, flown

CIRCLE = {"kind": "circle", "centre_m": [0.5, -1.0, 2.0], "radius_m": 1.5, "period_s": 7.0, "phase_rad": 0.3}
SMOOTH: dict[str, dict[str, Any]] = {
    "hover": {"kind": "hover", "position_m": [1.0, 2.0, 3.0], "yaw_rate_rad_s": 0.1},
    "circle": CIRCLE,
    "clockwise": {**CIRCLE, "clockwise": True},
    "helix": {**CIRCLE, "kind": "helix", "climb_m_s": -0.4, "yaw_rad": 1.0},
    "eight": {"kind": "eight", "centre_m": [0, 0, 1], "length_m": 4.0, "width_m": 2.5, "period_s": 9.0},
    "probe": {
        "kind": "probe",
        "centre_m": [0, 0, 2],
        "amplitude_m": [0.5, -0.2, 0.1],
        "from_hz": 0.1,
        "to_hz": 0.9,
        "over_s": 6.0,
    },
    "sum": {"kind": "sum", "parts": [CIRCLE, {"kind": "hover", "position_m": [3, 2, 1], "yaw_rad": 0.5}]},
    "later": {"kind": "later", "by_s": 1.7, "of": {**CIRCLE, "kind": "helix", "climb_m_s": 0.3}},
    "sequence": {
        "kind": "sequence",
        "parts": [{**CIRCLE, "for_s": 7.0}, {**CIRCLE, "clockwise": True, "phase_rad": 0.3}],
    },
}
JUMPING: dict[str, dict[str, Any]] = {
    "step": {"kind": "step", "from_m": [0, 0, 1], "to_m": [2, 0, 1], "at_s": 1.0},
    "waypoints": {
        "kind": "waypoints",
        "points": [{"at_s": 0, "position_m": [0, 0, 1]}, {"at_s": 2, "position_m": [1, 0, 1], "yaw_rad": 2.0}],
    },
}


def made(table: dict[str, Any]) -> Program:
    fields = Fields(table, [], "reference")
    found = read_reference(fields)
    assert fields.problems == []
    return found


def test_every_kind_is_here() -> None:
    assert {table["kind"] for table in (*SMOOTH.values(), *JUMPING.values())} == set(KINDS)


@pytest.mark.parametrize("name", SMOOTH)
@given(t=st.floats(0.01, 6.9))
def test_velocity_is_the_derivative_of_position(name: str, t: float) -> None:
    found, h = made(SMOOTH[name]), 1e-5
    before, now, after = found(t - h), found(t), found(t + h)
    slope = [(b - a) / (2 * h) for a, b in zip(before[:3], after[:3], strict=True)]
    assert now[3:6] == pytest.approx(slope, abs=1e-6 if abs(t - 6.0) > 2 * h else 1e-3)


@pytest.mark.parametrize("name", [*SMOOTH, *JUMPING])
@given(t=st.floats(0.0, 20.0))
def test_a_second_implementation_says_the_same(name: str, t: float) -> None:
    table = {**SMOOTH, **JUMPING}[name]
    assert made(table)(t) == pytest.approx(program(table, t), abs=1e-12)


@pytest.mark.parametrize(("name", "at_s"), [("step", 1.0), ("waypoints", 2.0)])
def test_what_is_due_comes_with_the_step_that_is_due(name: str, at_s: float) -> None:
    found = made(JUMPING[name])
    for dt_s in (0.1, 0.01, 0.007, 1 / 3):
        k = round(at_s / dt_s)
        if abs(k * dt_s - at_s) < 1e-12:
            assert found((k - 1) * dt_s)[0] == 0.0
            assert found(k * dt_s)[0] == found(at_s)[0] > 0.0


def told(table: dict[str, Any]) -> list[str]:
    with pytest.raises(RunConfigError) as error:
        flown(document(reference=table))
    return [problem.partition(";")[0] for problem in error.value.problems]


def test_a_sequence_meets_itself_unless_it_may_jump() -> None:
    away = {"kind": "hover", "position_m": [9, 9, 9]}
    table = {"kind": "sequence", "parts": [{**CIRCLE, "for_s": 7.0}, away]}
    (problem,) = told(table)
    assert problem.startswith("reference.parts.1: begins 9.55")
    flown(document(reference={**table, "may_jump": True}))


@pytest.mark.parametrize(
    ("table", "problem"),
    [
        ({"kind": "sequence", "parts": [CIRCLE, CIRCLE]}, "reference.parts.0.for_s: missing"),
        ({"kind": "sequence", "parts": []}, "reference.parts: []"),
        ({"kind": "sum"}, "reference.parts: missing"),
        ({**CIRCLE, "radius_m": 0.0}, "reference.radius_m: 0.0"),
        ({**CIRCLE, "climb_m_s": 1.0}, "reference.climb_m_s: unknown"),
        ({"kind": "waypoints", "points": [{"at_s": 1, "position_m": [0, 0, 0]}]}, "reference.points.0.at_s: 1"),
    ],
)
def test_wrong_programs(table: dict[str, Any], problem: str) -> None:
    assert told(table) == [problem]


def test_way_points_are_in_order() -> None:
    points = [{"at_s": at_s, "position_m": [0, 0, 0]} for at_s in (0, 2, 2)]
    assert told({"kind": "waypoints", "points": points}) == ["reference.points.2.at_s: 2"]


def test_programs_in_programs_have_an_end() -> None:
    table: dict[str, Any] = CIRCLE
    for _ in range(7):
        table = {"kind": "sum", "parts": [table]}
    flown(document(reference=table))
    assert len(told({"kind": "sum", "parts": [table]})) == 1
