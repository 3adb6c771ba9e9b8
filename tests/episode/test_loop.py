"""The loop: which rows there are, when it ends, and that it knows no flight."""

from __future__ import annotations

import math

import pytest

from nuc_engine.episode.document import read_run
from nuc_engine.episode.fields import Fields
from nuc_engine.episode.loop import run_steps
from nuc_engine.episode.system import ControlledSystem, Numbers, Pilot, Program, Step, Stop
from tests.flight.runs import HOVER, document, flown


def counting() -> ControlledSystem:
    """A cart on a rail: its state is its place, its control a speed; it is told where to be."""

    def initial(table: Fields) -> Numbers:
        start = table.number("x")
        table.close()
        return (start,)

    def dynamics(table: Fields) -> Step:
        table.close()
        return lambda state, control, dt: (state[0] + dt * control[0],)

    def controller(table: Fields, dt_s: float):
        gain = table.number("gain", -1e300, 1e300)
        return lambda: Pilot(lambda state, reference: (gain * (reference[0] - state[0]),))

    def reference(table: Fields) -> Program:
        return lambda t: (t,)

    def stop(table: Fields) -> tuple[Stop, ...]:
        most = table.number("most")
        return (lambda state: "too far" if state[0] > most else "",)

    return ControlledSystem(("x",), ("x",), ("speed",), initial, dynamics, controller, reference, stop)


def cart(gain: float, **more: object) -> tuple[list[Numbers], object]:
    doc = {"system": "cart", "timing": {"dt_s": 0.5, "duration_s": 2.0}, "initial": {"x": 1}, "dynamics": {}}
    run = read_run({**doc, "controller": {"gain": gain}, "reference": {}, **more}, {"cart": counting()})
    rows: list[Numbers] = []
    return rows, run_steps(run, rows.append)


def test_each_row_has_what_the_controller_saw_and_what_it_said() -> None:
    rows, end = cart(2.0)
    # x_{k+1} = x_k + 0.5 * 2 * (t_k - x_k) = t_k
    assert rows == [
        (0.0, 1.0, 0.0, -2.0),
        (0.5, 0.0, 0.5, 1.0),
        (1.0, 0.5, 1.0, 1.0),
        (1.5, 1.0, 1.5, 1.0),
        (2.0, 1.5, 2.0, 1.0),
    ]
    assert (end.state, end.steps, end.last, end.limited) == ("complete", 4, (1.5,), None)


def test_a_condition_ends_it_with_the_state_that_it_ended_with() -> None:
    rows, end = cart(2.0, stop={"most": 0.7})
    assert (end.state, end.reason, end.steps) == ("complete", "stopped at 1.5 s: too far", 3)
    assert [row[1] for row in rows] == [1.0, 0.0, 0.5, 1.0]


def test_numbers_that_are_none_end_it_with_the_last_that_were() -> None:
    rows, end = cart(1e200)
    assert (end.state, end.steps) == ("fault", 1)
    assert end.reason == "diverged: in the step from 0.5 s the state is x inf"
    assert all(math.isfinite(number) for row in rows for number in row[:2])


def test_one_row_of_so_many_is_logged_and_nothing_else_changes() -> None:
    all_rows, whole = cart(0.7)
    rows, end = cart(0.7, log={"every": 3})
    assert rows == all_rows[::3]
    assert end == whole


@pytest.mark.parametrize("dt_s", [0.01, 0.007])
def test_time_is_k_dt_and_is_not_added_up(dt_s: float) -> None:
    run, rows, _ = flown(document(timing={"dt_s": dt_s, "duration_s": 1000 * dt_s}))
    assert [row[0] for row in rows] == [k * dt_s for k in range(run.steps + 1)]


def test_without_a_log_it_ends_the_same() -> None:
    run, rows, end = flown(HOVER)
    assert run_steps(run) == end
    assert len(rows) == 101
    assert rows[-1][1:10] == end.last
