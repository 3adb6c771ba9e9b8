"""Appendix A: by hand, beside a second implementation, beside an adaptive integrator, and read otherwise."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.integrate import solve_ivp

from benchmarks.readings_nuc import CAUGHT, READINGS, OtherReading, differences
from nuc_engine.bout.episode import load_run
from nuc_engine.episode.loop import run_steps
from nuc_engine.flight.appendix import G_M_S2, Body, Gains, advance, control
from nuc_engine.verify.flight import FlightEquations, Vector
from tests.flight.runs import CONFIGS, SHIPPED, document, flown

GAINS = Gains((4.0, 5.0, 6.0), (3.0, 3.5, 4.0), 2.0, 1.3)
BODY = Body(1.3, 0.1, 0.15, 0.2)
STILL = (0.0,) * 9
NEAR = 1e-12
SMOOTH = ("flight_circle", "flight_eight", "flight_helix")


def test_at_its_place_it_hovers() -> None:
    assert control(STILL, (0.0,) * 7, GAINS) == (0.0, 0.0, 1.3 * G_M_S2, 0.0)
    assert advance(STILL, (0.0, 0.0, 1.3 * G_M_S2, 0.0), 0.01, BODY) == pytest.approx(STILL, abs=1e-17)


@pytest.mark.parametrize(
    ("yaw", "roll", "pitch"),
    [(0.0, 0.0, 1.0), (math.pi / 2, 1.0, 0.0), (math.pi, 0.0, -1.0), (-math.pi / 2, -1.0, 0.0)],
)
def test_forward_is_nose_down_from_where_the_nose_is(yaw: float, roll: float, pitch: float) -> None:
    """Wanted is one metre along x: pitch where the nose points there, roll where it points left or right of it."""
    found = control((*STILL[:8], yaw), (1.0, 0, 0, 0, 0, 0, yaw), GAINS)
    assert found[:2] == pytest.approx((roll * 4 / G_M_S2, pitch * 4 / G_M_S2), abs=1e-15)
    tilted = (*STILL[:6], *found[:2], yaw)
    pushed = advance(tilted, found, 0.01, BODY)
    assert pushed[3] > 0.03
    assert abs(pushed[4]) < 1e-15


@pytest.mark.parametrize(
    ("yaw", "wanted", "rate"),
    [(3.0, -3.0, 2 * (2 * math.pi - 6)), (-3.0, 3.0, -2 * (2 * math.pi - 6)), (7.0, 0.0, -2 * (7 - 2 * math.pi))],
)
def test_it_turns_the_shorter_way(yaw: float, wanted: float, rate: float) -> None:
    assert control((*STILL[:8], yaw), (0, 0, 0, 0, 0, 0, wanted), GAINS)[3] == pytest.approx(rate)


def test_far_above_its_place_it_pushes_down() -> None:
    assert control((0.0, 0.0, 5.0, *STILL[3:]), (0.0,) * 7, GAINS)[2] == 1.3 * (G_M_S2 - 30)


@pytest.mark.parametrize("name", SHIPPED)
def test_a_second_implementation_says_the_same(name: str) -> None:
    run = load_run(CONFIGS / name)
    rows: list[Vector] = []
    run_steps(run, lambda row: rows.append(list(row)))
    other = FlightEquations(run.resolved).rows()
    assert np.abs(np.array(rows) - np.array(other)).max() < NEAR


ANGLE = st.floats(-4, 4)
PLACE = st.floats(-20, 20)


@given(
    st.tuples(*[PLACE] * 6, *[ANGLE] * 3),
    st.tuples(*[PLACE] * 6, ANGLE),
    st.tuples(*[st.floats(0.1, 9)] * 9),
)
def test_also_at_any_state(state: tuple[float, ...], reference: tuple[float, ...], numbers: tuple[float, ...]) -> None:
    kp, kd, (mass, tau, drag) = numbers[:3], numbers[3:6], numbers[6:]
    doc = document(
        dynamics={"mass_kg": mass, "tau_roll_s": tau, "tau_pitch_s": 2 * tau, "drag_per_s": drag},
        controller={"kp_per_s2": kp, "kd_per_s": kd, "k_yaw_per_s": tau, "mass_kg": drag},
    )
    equations = FlightEquations(doc)
    wanted = control(state, reference, Gains(kp, kd, tau, drag))
    near = pytest.approx(equations.control(state, reference), rel=NEAR, abs=1e-10)
    turn = (reference[6] - state[8]) % (2 * math.pi)
    if abs(turn - math.pi) > 1e-9:  # where either way round is as short
        assert wanted == near
    new = advance(state, wanted, 0.01, Body(mass, tau, 2 * tau, drag))
    assert new == pytest.approx(equations.step(state, wanted), rel=NEAR, abs=1e-10)


def exact(doc: dict[str, Any]) -> np.ndarray[Any, Any]:
    """Return where it is at the end when time is no longer in steps."""
    equations = FlightEquations(doc)

    def slope(t: float, state: np.ndarray[Any, Any]) -> Vector:
        return equations.derivative(state, equations.control(state, equations.reference(t)))

    end_s = doc["timing"]["duration_s"]
    solved = solve_ivp(slope, (0, end_s), equations.start(), method="DOP853", rtol=1e-11, atol=1e-12)
    return solved.y[:, -1]


@pytest.mark.parametrize("name", SMOOTH)
def test_its_error_falls_as_dt(name: str) -> None:
    doc = dict(load_run(CONFIGS / name).resolved)
    doc["timing"] = {"dt_s": 0.01, "duration_s": 4.0}
    true = exact(doc)
    steps = (0.02, 0.01, 0.005, 0.0025)
    errors = [float(np.abs(np.array(flown(doc, timing__dt_s=dt_s)[2].last) - true).max()) for dt_s in steps]
    assert errors[0] < 0.1
    ratios = [coarse / fine for coarse, fine in itertools.pairwise(errors)]
    assert ratios == pytest.approx([2.0] * 3, rel=0.1)


@pytest.fixture(scope="module")
def flights() -> dict[str, tuple[Any, list[Vector]]]:
    documents = {name: load_run(CONFIGS / name).resolved for name in SHIPPED}
    return {name: (doc, FlightEquations(doc).rows()) for name, doc in documents.items()}


@pytest.mark.parametrize("reading", READINGS, ids=lambda reading: f"{reading.number} {reading.otherwise}")
def test_a_shipped_flight_catches_every_other_reading(
    reading: OtherReading, flights: dict[str, tuple[Any, list[Vector]]]
) -> None:
    if reading.number == "N9":  # Only bits differ.
        assert any(
            [row[0] for row in reading.equations(doc).rows()] != [row[0] for row in right]
            for doc, right in flights.values()
        )
        return
    assert max(differences(reading, right, doc)[1] for doc, right in flights.values()) > 1000 * CAUGHT


def test_what_is_not_read_otherwise_is_not_caught(flights: dict[str, tuple[Any, list[Vector]]]) -> None:
    same = OtherReading("", "", FlightEquations)
    assert max(differences(same, right, doc)[1] for doc, right in flights.values()) == 0.0


def test_some_flights_are_not_blind(flights: dict[str, tuple[Any, list[Vector]]]) -> None:
    assert sum(doc["dynamics"]["mass_kg"] != 1.0 for doc, _ in flights.values()) >= 2
    yaws = [[row[9] for row in right] for _, right in flights.values()]
    assert any(min(yaw) < math.pi < max(yaw) for yaw in yaws)
