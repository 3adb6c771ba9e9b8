"""RunConfigs: everything wrong is told in one go; what the seed draws, and what it leaves alone."""

from __future__ import annotations

import copy
import math
from contextlib import suppress
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nuc_engine.episode.document import RunConfigError, read_run
from nuc_engine.flight.tables import SYSTEMS
from tests.flight.runs import HOVER, document

MASS = {"dynamics.mass_kg": {"uniform": [0.9, 1.1]}}


def problems(doc: dict[str, Any], **changes: Any) -> list[str]:
    with pytest.raises(RunConfigError) as told:
        read_run(doc, SYSTEMS, {key.replace("__", "."): value for key, value in changes.items()})
    assert str(told.value) == "\n".join(told.value.problems)
    return [problem.partition(";")[0] for problem in told.value.problems]


def test_everything_wrong_is_told_in_one_go() -> None:
    doc = document(
        timing={"dt_s": math.nan, "duration_s": 1.0},
        dynamics={"mass_kg": -1, "tau_roll_s": 0.0, "tau_pitch_s": True, "drag_per_s": "1"},
        controller={**HOVER["controller"], "kp_per_s2": [1.0, 2.0], "kd_per_s": [[1.0]], "more": 1},
        reference={"kind": "spiral"},
        unknown={},
    )
    assert problems(doc) == [
        "timing.dt_s: nan",
        "dynamics.mass_kg: -1",
        "dynamics.tau_roll_s: 0.0",
        "dynamics.tau_pitch_s: True",
        "dynamics.drag_per_s: '1'",
        "controller.kp_per_s2: [1.0, 2.0]",
        "controller.kd_per_s: [[1.0]]",
        "controller.more: unknown",
        "reference.kind: 'spiral'",
        "unknown: unknown",
    ]


@pytest.mark.parametrize(
    ("timing", "told"),
    [
        ({"dt_s": 0, "duration_s": 1}, "timing.dt_s: 0"),
        ({"dt_s": -0.1, "duration_s": 1}, "timing.dt_s: -0.1"),
        ({"dt_s": 1e-320, "duration_s": 1}, "timing.dt_s: 1e-320"),
        ({"dt_s": 0.01, "duration_s": math.inf}, "timing.duration_s: inf"),
        ({"dt_s": 0.01, "duration_s": 1.005}, "timing.duration_s: 1.005 is no multiple of dt_s"),
        ({"dt_s": 0.01, "duration_s": 0.001}, "timing.duration_s: 0.001 is no multiple of dt_s"),
        ({"dt_s": 1e-7, "duration_s": 100.0}, "timing.duration_s: 1,000,000,000 steps"),
        ({"dt_s": 0.01}, "timing.duration_s: missing"),
    ],
)
def test_wrong_times(timing: dict[str, float], told: str) -> None:
    assert problems(document(timing=timing)) == [told]


@pytest.mark.parametrize(("dt_s", "duration_s", "steps"), [(0.01, 0.07, 7), (0.1, 0.3, 3), (1 / 3, 100.0, 300)])
def test_a_multiple_is_one_though_it_is_rounded(dt_s: float, duration_s: float, steps: int) -> None:
    assert read_run(document(timing={"dt_s": dt_s, "duration_s": duration_s}), SYSTEMS).steps == steps


def test_tables_that_are_missing_are_told_once() -> None:
    assert problems({}) == ["system: missing", "timing: missing"]
    assert problems({"system": "flight"}) == [f"{name}: missing" for name in ("timing", *list(HOVER)[2:])]


def test_a_value_that_is_replaced_is_checked_and_one_that_is_not_there_is_told() -> None:
    assert read_run(HOVER, SYSTEMS, {"dynamics.mass_kg": 2.5}).resolved["dynamics"]["mass_kg"] == 2.5
    assert read_run(HOVER, SYSTEMS, {"initial.position_m.2": 9.0}).initial[2] == 9.0
    assert problems(HOVER, dynamics__mass=2.0, initial__position_m__3=1.0) == [
        "dynamics.mass: no such value",
        "initial.position_m.3: no such value",
    ]
    assert problems(HOVER, dynamics__mass_kg=-2.0) == ["dynamics.mass_kg: -2.0"]
    assert HOVER["dynamics"]["mass_kg"] == 1.3


def test_each_key_has_a_stream_of_its_own() -> None:
    alone = read_run(document(random=MASS), SYSTEMS)
    beside = read_run(document(random={"dynamics.drag_per_s": {"uniform": [0.0, 1.0]}, **MASS}), SYSTEMS)
    assert alone.drawn["dynamics.mass_kg"] == beside.drawn["dynamics.mass_kg"]
    share = beside.drawn["dynamics.drag_per_s"]
    assert abs(beside.drawn["dynamics.mass_kg"] - (0.9 + 0.2 * share)) > 1e-6
    other = read_run(document(random=MASS), SYSTEMS, {"seed": 1})
    assert other.drawn != alone.drawn
    assert read_run(document(random=MASS), SYSTEMS, {"seed": 1}).drawn == other.drawn
    assert alone.resolved["dynamics"]["mass_kg"] == alone.drawn["dynamics.mass_kg"]


def test_what_was_replaced_is_drawn_no_more() -> None:
    run = read_run(document(random=MASS), SYSTEMS, {"dynamics.mass_kg": 3.0})
    assert run.drawn == {}
    assert run.resolved["dynamics"]["mass_kg"] == 3.0
    assert problems(document(random=MASS), dynamics__mass_kg=-3.0) == ["dynamics.mass_kg: -3.0"]


def test_draws_are_distributed_as_said() -> None:
    doc = document(
        random={
            "dynamics.mass_kg": {"log_uniform": [0.1, 10.0]},
            "dynamics.drag_per_s": {"normal": [0.5, 0.2], "within": [0.1, 0.9]},
            "initial.position_m.0": {"uniform": [-1, 3]},
        }
    )
    drawn = [read_run(doc, SYSTEMS, {"seed": seed}).drawn for seed in range(400)]
    mass, drag, x = (np.array([each[key] for each in drawn]) for key in doc["random"])
    assert abs(np.log10(mass).mean()) < 0.1
    assert 0.1 <= mass.min() < 0.12 < 8.0 < mass.max() <= 10.0
    assert abs(drag.mean() - 0.5) < 0.03
    assert 0.14 < drag.std() < 0.2
    assert 0.1 <= drag.min() < drag.max() <= 0.9
    assert abs(x.mean() - 1.0) < 0.2


@pytest.mark.parametrize(
    ("random", "told"),
    [
        ({"dynamics.mass_kg": {"uniform": [-0.1, 1.0]}}, "dynamics.mass_kg: -0.1"),
        ({"dynamics.mass_kg": {"uniform": [1.0, 0.5]}}, "random.dynamics.mass_kg.uniform: [1.0, 0.5]"),
        ({"dynamics.mass_kg": {"normal": [1.0, 0.1]}}, "random.dynamics.mass_kg.within: missing"),
        ({"dynamics.mass_kg": {"poisson": [1.0, 0.1]}}, "random.dynamics.mass_kg: no distribution"),
        ({"dynamics.mass": {"uniform": [0.5, 1.0]}}, "random.dynamics.mass: no such value"),
        ({"timing.dt_s": {"uniform": [0.5, 1.0]}}, "random.timing.dt_s: is not drawn"),
    ],
)
def test_what_cannot_be_drawn_is_told_whatever_the_seed(random: dict[str, Any], told: str) -> None:
    for seed in range(3):
        assert told in problems(document(random=random), seed=seed)


def test_sums_are_of_numbers_and_not_of_the_files_looks() -> None:
    sums = read_run(HOVER, SYSTEMS).sums()
    other = read_run(dict(reversed(copy.deepcopy(HOVER).items())), SYSTEMS).sums()
    assert sums == other
    heavier = read_run(HOVER, SYSTEMS, {"dynamics.mass_kg": 1.4}).sums()
    assert {key for key in sums if sums[key] != heavier[key]} == {"resolved", "dynamics"}


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-10, 10) | st.floats() | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=6,
)
PLACES = [(key,) for key in HOVER] + [(key, one) for key in HOVER if isinstance(HOVER[key], dict) for one in HOVER[key]]


@settings(deadline=None)
@given(st.lists(st.tuples(st.sampled_from([*PLACES, ("random",), ("stop",), ("log",)]), JSON), max_size=4))
def test_whatever_stands_in_a_document_it_is_a_run_or_its_problems_are_told(
    changes: list[tuple[tuple[str, ...], Any]],
) -> None:
    doc = document()
    for (table, *key), value in changes:
        if key and isinstance(doc[table], dict):
            doc[table][key[0]] = value
        else:
            doc[table] = value
    with suppress(RunConfigError):
        run = read_run(doc, SYSTEMS)
        assert run.steps >= 1
        assert len(run.initial) == 9
