"""Efferent delays: a step of an activation arrives at the first evaluation at or after its time and delay."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nuc_engine import BoutRefused
from nuc_engine.bout.replay import replay_bout, replay_inputs
from nuc_engine.control.tasks.board import Board
from nuc_engine.control.tasks.dynamics import Dynamics
from nuc_engine.model.plan import DynamicsPlan, Slot
from nuc_engine.model.store import Store
from nuc_engine.verify import verify_bout
from sccils_schemas.model import load_model
from tests.engine.acting import bout, case, hdso, motor_log
from tests.engine.models import one_joint
from tests.verify.variants import documents

MS = 1_000_000
EVERY_MUSCLE = (r"<muscle ", '<muscle efferent_delay="nerve" ')
FLEXOR = (r'<muscle (?=[^>]*idNum="405")', '<muscle efferent_delay="nerve" ')


class Nerve:
    """The flexor of one joint: `low` of its model holds its delay, `high` its time constant, both in s."""

    def __init__(self, delay_s: float, tau_s: float | None = None) -> None:
        plan = one_joint()
        low, high = (Slot(plan.hdso(name).index) for name in ("low", "high"))
        object.__setattr__(plan.muscles[0], "efferent_delay", low)
        if tau_s is not None:
            object.__setattr__(plan.muscles[0], "dynamics", DynamicsPlan(high, high))
        self.store, self.low = Store(plan), low.hdso
        self.store.write(low.hdso, (delay_s,))
        self.store.write(high.hdso, (tau_s or 0.0,))
        self.board = Board(plan, lambda *_: None)
        self.dynamics = Dynamics(plan, self.store, self.board)
        self.dynamics.begin(0)

    def ask(self, at_ns: int, target: float) -> float:
        self.board.activations[0] = target
        self.dynamics.take(at_ns)
        return self.board.activations[0]

    def look(self, at_ns: int) -> float:
        self.dynamics.advance(at_ns)
        return self.board.activations[0]


@given(
    delay_ms=st.sampled_from([0, 1, 25, 31, 60_000]),
    steps=st.lists(st.tuples(st.integers(1, 40), st.floats(0, 2)), min_size=1, max_size=40),
)
@settings(max_examples=80, deadline=None, derandomize=True)
def test_what_arrives_is_what_was_asked_for_so_long_ago(delay_ms: int, steps: list[tuple[int, float]]) -> None:
    """The last value up to t - d, 0 before there was one."""
    nerve, now, asked = Nerve(delay_ms * 0.001), 0, [(-1, 0.0)]
    for gap, target in steps:
        now += gap
        asked.append((now, target))
        expected = [value for at, value in asked if at <= now - delay_ms]
        assert nerve.ask(now * MS, target) == (expected or [0.0])[-1]


def test_a_step_arrives_at_the_first_look_at_or_after_its_time_and_delay() -> None:
    nerve = Nerve(0.03125)  # what a float holds
    nerve.ask(25 * MS, 1.0)
    assert nerve.look(25 * MS + 31_249_999) == 0.0
    assert nerve.look(25 * MS + 31_250_000) == 1.0
    late = Nerve(0.03125)
    late.ask(25 * MS, 1.0)
    assert [late.ask(ms * MS, 1.0) for ms in (50, 75)] == [0.0, 1.0]


def test_a_muscle_follows_what_arrives() -> None:
    nerve = Nerve(0.0625, 0.125)
    nerve.ask(0, 1.0)
    assert nerve.look(62_500_000) == 0.0
    for ms in (63, 100, 200):
        expected = 1.0 - math.exp(-(ms * 1e-3 - 0.0625) / 0.125)
        assert nerve.look(ms * MS) == pytest.approx(expected, abs=1e-9)


def test_a_delay_changes_in_flight_and_a_new_bout_begins_at_rest() -> None:
    nerve = Nerve(0.125)
    nerve.ask(0, 0.5)
    nerve.ask(100 * MS, 1.0)
    nerve.store.write(nerve.low, (0.0625,))
    assert nerve.look(110 * MS) == 0.5
    nerve.store.write(nerve.low, (0.0,))
    assert nerve.look(110 * MS) == 1.0
    nerve.store.write(nerve.low, (0.125,))
    nerve.dynamics.begin(200 * MS)
    assert nerve.ask(300 * MS, 1.0) == 0.0


@pytest.mark.parametrize("clock", ["virtual", "real"])
def test_off_is_nothing(clock: str, tmp_path: Path) -> None:
    without = motor_log(bout(case(), tmp_path / "without", clock))
    assert motor_log(bout(case(EVERY_MUSCLE, hdsos=(hdso(150, "nerve", 0),)), tmp_path / "zero", clock)) == without


@pytest.mark.parametrize("clock", ["virtual", "real"])
def test_muscles_are_late_and_repeated(clock: str, tmp_path: Path) -> None:
    """The activation of the tibia's flexor is what its state of 60 ms before asked for."""
    out = bout(case(FLEXOR, hdsos=(hdso(150, "nerve", 0.06),)), tmp_path / "late", clock)
    assert motor_log(out) != motor_log(bout(case(), tmp_path / "without", clock))
    rows = np.loadtxt(out / "StateData.txt")
    times, states, activations = rows[:, 0], rows[:, 10], rows[:, 11]
    asked = {5.0: 0.15, 4.0: 0.09}
    found = np.searchsorted(times, times - 60e6, "right") - 1
    late = [asked[states[at]] for at in found[10:]]
    assert activations[10:] == pytest.approx(late, abs=1e-6)
    assert (replay_inputs(out) if clock == "real" else replay_bout(out)).identical
    assert verify_bout(out).good


@pytest.mark.parametrize(
    ("ref", "value", "datatype", "words"),
    [
        ("nerve", 61, "double", "61 is no value for HDSO 150 (nerve), expected 0 to 60"),
        ("nerve", -1, "double", "-1 is no value for HDSO 150 (nerve), expected"),
        ("nerve", 1, "llint", "is of type llint, expected a float or double: seconds"),
        ("nerv", 1, "double", "'nerv' is not declared, expected an HDSO"),
        ("302", 1, "double", "is a sensor and stands as the efferent delay of muscle 405"),
    ],
)
def test_bad_delays_are_told(ref: str, value: object, datatype: str, words: str, tmp_path: Path) -> None:
    change = (FLEXOR[0], FLEXOR[1].replace("nerve", ref))
    config, _ = documents(case(change, hdsos=(hdso(150, "nerve", value, datatype),)), tmp_path)
    model, problems = load_model(config)
    assert model is None
    assert words in str(problems)


def test_a_script_cannot_ask_for_more_than_is_remembered(tmp_path: Path) -> None:
    script = '<hdsoMod idNum="150" NumElts="1" datatype="double" time="0.5">60.5</hdsoMod>'
    with pytest.raises(BoutRefused, match=r"60\.5 is no value for HDSO 150"):
        bout(case(FLEXOR, hdsos=(hdso(150, "nerve", 0),), script=script), tmp_path)


def test_a_document_of_0_1_has_none(tmp_path: Path) -> None:
    config, _ = documents(
        case(FLEXOR, (r'<jointlist version="0.2"', "<jointlist"), hdsos=(hdso(150, "nerve", 0),)), tmp_path
    )
    told = str(load_model(config)[1])
    assert (
        'efferent_delay of <muscle> is of SCCILS 0.2, expected a document of that version (write version="0.2"' in told
    )
