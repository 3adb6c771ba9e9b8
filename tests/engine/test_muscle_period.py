"""Muscles in a period of their own: as with the rules where both are the same, and as fast as one likes otherwise."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from nuc_engine.bout.replay import replay_bout, replay_inputs
from nuc_engine.control.executive import Executive
from nuc_engine.model.changes import Changeset, Write
from nuc_engine.model.plan import DynamicsPlan, Plan, Slot
from nuc_engine.verify import verify_bout
from sccils_schemas.model import load_model
from tests.engine.acting import bout, case, hdso, motor_log
from tests.engine.models import ScriptedBus, Trace, one_joint
from tests.verify.variants import documents

MS = 1_000_000
LAGS = (r"</muscle>", '<activation_dynamics rise="tau" fall="tau"/></muscle>')
OWN = (r"<jointlist ", '<jointlist muscle_period="pace" ')


def pace(period_ns: object, datatype: str = "llint") -> tuple[str, ...]:
    return (hdso(150, "pace", period_ns, datatype),)


def engine(plan: Plan, **more: object) -> tuple[Executive, Trace]:
    trace = Trace()
    return Executive(plan, ScriptedBus(lambda *_: [(140, 0)]), trace, **more), trace


def own(period_ns: int = 4 * MS) -> Plan:
    """Return the plan of one joint whose dwell HDSO is the period of its muscles."""
    plan = one_joint(dwell_ns=period_ns)
    return replace(plan, muscle_period=plan.hdso("dwell").index)


def times(trace: Trace, what: str) -> list[int]:
    return [time // MS for time, _ in trace.of(what)]


def test_each_has_its_own_absolute_times() -> None:
    executive, trace = engine(own())
    executive.run_until(60 * MS)
    assert times(trace, "states") == [0, 25, 50]
    assert times(trace, "muscles") == [8, 12, 16, 20, 24, 28, 32, 36, 40, 44, 48, 52, 56]  # 5 ms: the first angle


def test_rules_of_an_instant_come_before_its_muscles() -> None:
    executive, trace = engine(own(5 * MS))
    executive.run_until(60 * MS)
    kinds = [kind for time, kind, _ in trace.rows if time == 50 * MS]
    assert kinds.index("states") < kinds.index("muscles")


def test_a_new_period_counts_from_the_last_run_and_overruns_are_counted() -> None:
    executive, trace = engine(own(10 * MS))
    executive.load([Changeset(13 * MS, (Write(executive.plan.muscle_period, (2 * MS,)),))])
    executive.run_until(20 * MS)
    assert times(trace, "muscles") == [10, 13, 15, 17, 19]
    slow, _ = engine(own(1 * MS), costs={"muscle_conversion": 1_500_000})
    slow.run_until(100 * MS)
    (entry,) = [entry for entry in slow.entries if entry.name == "muscle_conversion"]
    assert entry.overruns > 10
    assert slow.counts({})["tasks"]["muscle_conversion"]["overruns"] == entry.overruns


def test_muscles_follow_and_what_is_on_its_way_arrives_between_rules() -> None:
    """The extensor is asked for 0.8 at 0: 6 ms later it arrives, and rises with a time constant of 10 ms."""
    plan = own(1 * MS)
    tau, delay = (Slot(plan.hdso(name).index) for name in ("low", "high"))
    muscle = replace(plan.muscles[1], dynamics=DynamicsPlan(tau, tau), efferent_delay=delay)
    plan = replace(plan, muscles=(plan.muscles[0], muscle))
    given = [Changeset(0, (Write(tau.hdso, (0.01,)), Write(delay.hdso, (0.006,))))]
    executive, _ = engine(plan)
    executive.load(given)
    seen: list[tuple[int, float]] = []
    executive._recorder.muscles = lambda now, board: seen.append((now // MS, board.activations[1]))
    executive.run_until(75 * MS)
    # The first evaluation with sensors is that at 25 ms; its extension arrives at 31 ms.
    for ms, activation in seen:
        expected = 0.0 if ms <= 31 else 0.8 * (1.0 - math.exp(-(ms - 31) / 10.0))
        assert activation == pytest.approx(expected, abs=1e-7), ms
    assert len(seen) > 60


def test_a_time_constant_of_0_holds_from_the_next_run_of_muscles() -> None:
    """Rules ask for 0.8 at 25 ms and next at 50 ms; in between, at 30 ms, the time constant becomes 0."""
    plan = own(1 * MS)
    tau = Slot(plan.hdso("low").index)
    plan = replace(plan, muscles=(plan.muscles[0], replace(plan.muscles[1], dynamics=DynamicsPlan(tau, tau))))
    executive, _ = engine(plan)
    executive.load([Changeset(0, (Write(tau.hdso, (0.01,)),)), Changeset(30 * MS, (Write(tau.hdso, (0.0,)),))])
    seen: dict[int, float] = {}
    executive._recorder.muscles = lambda now, board: seen.setdefault(now // MS, board.activations[1])
    executive.run_until(40 * MS)
    assert 0.0 < seen[29] < 0.4
    assert seen[32] == pytest.approx(0.8)


@pytest.mark.parametrize("clock", ["virtual", "real"])
@pytest.mark.parametrize("lags", [False, True])
def test_the_period_of_the_rules_is_that_without_one(clock: str, lags: bool, tmp_path: Path) -> None:
    changes = [LAGS] if lags else []
    hdsos = (hdso(151, "tau", 0.04),)
    without = motor_log(bout(case(*changes, hdsos=hdsos), tmp_path / "without", clock))
    same = case(*changes, OWN, hdsos=(*pace(25 * MS), *hdsos))
    assert motor_log(bout(same, tmp_path / "same", clock)) == without


@pytest.mark.parametrize("clock", ["virtual", "real"])
def test_a_faster_one_moves_the_leg_and_is_repeated(clock: str, tmp_path: Path) -> None:
    hdsos = (*pace(3 * MS), hdso(151, "tau", 0.04), hdso(152, "nerve", 0.01))
    late = (r"<muscle ", '<muscle efferent_delay="nerve" ')
    out = bout(case(OWN, LAGS, late, hdsos=hdsos), tmp_path / "fast", clock)
    assert motor_log(out) != motor_log(bout(case(), tmp_path / "without", clock))
    muscles, states = (np.loadtxt(out / f"{name}Data.txt")[:, 0] for name in ("Muscle", "State"))
    assert np.median(np.diff(muscles)) == pytest.approx(3 * MS, abs=0.3 * MS)
    assert np.median(np.diff(states)) == pytest.approx(25 * MS, abs=0.3 * MS)
    assert (replay_inputs(out) if clock == "real" else replay_bout(out)).identical
    assert verify_bout(out).good


@pytest.mark.parametrize(
    ("ref", "value", "datatype", "words"),
    [
        ("pace", 99_999, "llint", "99999 is no value for HDSO 150 (pace), expected at least 100000"),
        ("pace", 1_000_000, "double", "the period of muscles, is of type double, expected an llint: nanoseconds"),
        ("place", 1_000_000, "llint", "'place' is not declared, expected an HDSO"),
        ("302", 1_000_000, "llint", "is a sensor and stands as the period of muscles"),
        ("pace", "", "llint", "the period of muscles, has no value at the start, expected initial_data"),
    ],
)
def test_bad_periods_are_told(ref: str, value: object, datatype: str, words: str, tmp_path: Path) -> None:
    change = (OWN[0], OWN[1].replace("pace", ref))
    hdsos = tuple(item.replace("<initial_data></initial_data>", "") for item in pace(value, datatype))
    config, _ = documents(case(change, hdsos=hdsos), tmp_path)
    model, problems = load_model(config)
    assert model is None
    assert words in str(problems)
