"""Inputs, network, cover and table of a surrogate, each by itself."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nuc_engine.episode.document import RunConfigError, read_run
from nuc_engine.episode.fields import Fields
from nuc_engine.surrogate.cover import cover
from nuc_engine.surrogate.fit import FitOptions, Lessons, fit_surrogate
from nuc_engine.surrogate.inputs import errors, inputs, missing
from nuc_engine.surrogate.network import fit_layers, forward, least_squares
from nuc_engine.surrogate.pilot import SYSTEMS, Surrogate, surrogate_of
from tests.flight.runs import document

NUMBERS = st.lists(st.floats(-20, 20), min_size=20, max_size=20)


@given(NUMBERS)
def test_errors_of_one_step_are_those_of_a_row(numbers: list[float]) -> None:
    one = missing(tuple(numbers[:9]), tuple(numbers[9:16]))
    row = errors(np.array([numbers]))[0]
    assert np.allclose(one[:6], row[:6], rtol=0, atol=1e-12)
    assert abs(np.remainder(one[6] - row[6] + 1, 2 * np.pi) - 1) < 1e-9


def test_errors_are_seen_from_the_nose() -> None:
    state = (0.0,) * 8 + (np.pi / 2,)
    assert np.allclose(missing(state, (0, 3, 1, 0, 0, 2, np.pi)), (3, 0, 1, 0, 0, 2, np.pi / 2))


def test_inputs_hold_the_last_steps_and_the_control_before() -> None:
    rows = np.zeros((4, 20))
    rows[:, 9] = [1, 2, 3, 4]
    rows[:, 16] = [10, 20, 30, 40]
    x = inputs(rows, 2, np.array([5.0, 0, 0, 0]))
    assert x[:, 0].tolist() == [1, 2, 3, 4]
    assert x[:, 7].tolist() == [0, 1, 2, 3]
    assert x[:, 14].tolist() == [5, 10, 20, 30]


def test_a_clipped_line_is_learned_and_the_seed_decides_all_of_it() -> None:
    x = np.random.default_rng(0).normal(size=(4000, 3))
    y = np.clip(x @ np.array([[1.0], [0.5], [-1.0]]), -0.7, 0.7)
    weights, biases = least_squares(x, y)
    left = y - (x @ weights + biases)
    one, same, other = (fit_layers(x, left, (16,), seed, 1500) for seed in (1, 1, 2))
    assert np.std(left - forward(one, x)) < 0.25 * np.std(left)
    assert all(np.array_equal(a, b) for a, b in zip(one[0], same[0], strict=True))
    assert not np.array_equal(one[0][0], other[0][0])


def test_every_row_is_within_the_radius_and_one_outside_is_not() -> None:
    rows = np.random.default_rng(3).normal(size=(500, 7))
    found = cover(rows, 60)
    distances = [found.distance(row) for row in rows]
    assert max(distances) == pytest.approx(found.radius)
    assert found.distance(np.full(7, 6.0)) > 2 * found.radius
    least, most = found.ends()
    assert np.allclose(least, rows.min(axis=0))
    assert np.allclose(most, rows.max(axis=0))


@pytest.fixture(scope="module")
def surrogate() -> Surrogate:
    rows = np.random.default_rng(5).normal(size=(400, 20))
    return fit_surrogate(
        Lessons([rows], 0.01, "0" * 64, "noise"), FitOptions(memory=2, hidden=(8,), steps=20, cover=30)
    )


def test_a_table_is_the_surrogate_to_the_digits_of_its_weights(surrogate: Surrogate) -> None:
    problems: list[str] = []
    back = surrogate_of(Fields(surrogate.table(), problems))
    assert problems == []
    assert back is not None
    x = np.random.default_rng(1).normal(size=18)
    assert np.allclose(back.control(x), surrogate.control(x), atol=1e-5)
    assert back.table() == surrogate.table()


@pytest.mark.parametrize(
    ("key", "value", "told"),
    [
        ("weights", "???", "controller.weights: "),
        ("weights", "AAAA", "controller.weights: 3 bytes; expected "),
        ("weights_sha256", "f" * 64, "controller.weights_sha256: "),
        ("hidden", [8, True], "controller.hidden: [8, True]; expected up to 4 whole numbers"),
        ("hidden", 8, "controller.hidden: 8; expected"),
        ("memory", 0, "controller.memory: 0; expected"),
        ("trained", "", "controller.trained: ''; expected a text"),
        ("dt_s", 0.02, "controller.dt_s: 0.02; expected timing.dt_s"),
        ("surprise", 1, "controller.surprise: unknown"),
    ],
)
def test_what_is_wrong_with_a_table_is_told(surrogate: Surrogate, key: str, value: Any, told: str) -> None:
    with pytest.raises(RunConfigError) as refused:
        read_run(document(controller={**surrogate.table(), key: value}), SYSTEMS)
    assert any(problem.startswith(told) for problem in refused.value.problems), refused.value.problems


def test_an_unknown_controller_is_told_with_every_kind_there_is() -> None:
    with pytest.raises(RunConfigError, match="expected one of cascade, surrogate"):
        read_run(document(controller={"kind": "magic"}), SYSTEMS)


def test_too_few_rows_are_refused() -> None:
    with pytest.raises(ValueError, match="50 rows; expected at least"):
        fit_surrogate(Lessons([np.zeros((50, 20))], 0.01, "0", "few"), FitOptions())
