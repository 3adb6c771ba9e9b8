"""One repetition: which kicks are given, and that a kick changes nothing before it."""

import pickle
from dataclasses import replace
from pathlib import Path

import pytest

import nuc_engine.experiments.sharing as sharing
import nuc_engine.experiments.trials as trials_module
from nuc_engine.analysis.outcome import Outcome
from nuc_engine.batch.watch import Watched
from nuc_engine.bout.run import BoutRefused, BoutResult
from nuc_engine.experiments.protocol import CriterionResult, JudgedWindow, Observation
from nuc_engine.experiments.trials import Aborted, Task, judge_trial, run_again, run_task, run_trial, trial_of
from tests.catalogue.seen import leg as standing
from tests.experiments import tiny

STILL = standing()


class Leg:
    """Stands in for bouts: remembers which were asked for, with which kicks."""

    def __init__(self) -> None:
        self.asked = []

    def __call__(self, plan, kicks_s) -> Observation:
        self.asked.append((plan.label, kicks_s))
        return Observation(plan, STILL, None, {}, kicks_s)


def needs(count: int):
    """A criterion that is met from so many kicks on."""
    return lambda seen: CriterionResult(all(len(one.kicks_s) >= count for one in seen.values()), ("more kicks",))


def starts_with_a_kick(seen) -> CriterionResult:
    started = bool(seen["only"].kicks_s)
    return CriterionResult(started, () if started else ("stands",), started=started)


def test_a_leg_that_does_what_is_wanted_is_not_kicked():
    leg = Leg()
    trial = judge_trial((tiny.plan(kicks_s=(1.0, 1.5), start_kick_s=0.5),), needs(0), 3, leg)
    assert (trial.state, trial.kicks, trial.seed) == ("as seen", 0, 3)
    assert leg.asked == [("only", ())]


def test_final_kicks_are_given_one_more_at_a_time_until_one_helps():
    leg = Leg()
    trial = judge_trial((tiny.plan(kicks_s=(1.0, 1.5)),), needs(1), 1, leg)
    assert (trial.state, trial.kicks, trial.kicked_s) == ("as seen", 1, {"only": (1.0,)})
    assert leg.asked == [("only", ()), ("only", (1.0,))]


def test_after_two_kicks_that_do_not_help_it_is_otherwise():
    leg = Leg()
    trial = judge_trial((tiny.plan(kicks_s=(1.0, 1.5)),), needs(3), 1, leg)
    assert (trial.state, trial.kicks) == ("otherwise", 0)
    assert trial.reasons == ("more kicks", "up to 2 kicks did not help")
    assert leg.asked == [("only", ()), ("only", (1.0,)), ("only", (1.0, 1.5))]


def test_no_kick_is_tried_where_the_part_before_it_has_settled_the_matter():
    leg = Leg()
    settled = CriterionResult(False, ("the interim stepped",), settled=True)
    trial = judge_trial((tiny.plan(kicks_s=(1.0, 1.5)),), lambda seen: settled, 1, leg)
    assert (trial.state, trial.reasons) == ("otherwise", ("the interim stepped",))
    assert leg.asked == [("only", ())]


def test_a_kicked_bout_that_breaks_off_is_a_kick_in_vain():
    def leg(plan, kicks_s):
        if kicks_s:
            raise Aborted("only: stopped at 1.20 s")
        return Observation(plan, STILL, None, {}, ())

    trial = judge_trial((tiny.plan(kicks_s=(1.0,)),), needs(1), 1, leg)
    assert (trial.state, trial.kicks) == ("otherwise", 0)
    assert trial.reasons == ("more kicks", "after one kick: only: stopped at 1.20 s", "one kick did not help")


def test_a_leg_that_does_not_start_is_kicked_once_where_that_is_allowed():
    leg = Leg()
    trial = judge_trial((tiny.plan(start_kick_s=0.5, kicks_s=(1.0,)),), starts_with_a_kick, 1, leg)
    assert (trial.state, trial.kicks) == ("as seen", 1)
    assert leg.asked == [("only", ()), ("only", (0.5,))]


def test_a_leg_that_does_not_start_all_the_same_is_a_failed_start_and_gets_no_final_kicks():
    leg = Leg()
    trial = judge_trial((tiny.plan(start_kick_s=0.5, kicks_s=(1.0,)),), tiny.never_started, 1, leg)
    assert (trial.state, trial.kicks, trial.reasons) == ("failed start", 1, ("it never starts",))
    assert leg.asked == [("only", ()), ("only", (0.5,))]


def test_a_failed_start_without_a_kick_allowed_is_told_at_once():
    leg = Leg()
    assert judge_trial((tiny.plan(kicks_s=(1.0,)),), tiny.never_started, 1, leg).state == "failed start"
    assert len(leg.asked) == 1


def test_the_start_kick_stays_when_final_ones_are_tried():
    leg = Leg()

    def criterion(seen) -> CriterionResult:
        kicks = seen["only"].kicks_s
        return CriterionResult(len(kicks) == 2, started=bool(kicks))

    trial = judge_trial((tiny.plan(start_kick_s=0.5, kicks_s=(1.0, 1.5)),), criterion, 1, leg)
    assert (trial.state, trial.kicks) == ("as seen", 2)
    assert leg.asked[-1] == ("only", (0.5, 1.0))


def test_only_bouts_that_may_be_kicked_are_run_again():
    leg = Leg()
    plans = (tiny.plan("a"), tiny.plan("b", kicks_s=(1.0,)))
    trial = judge_trial(plans, lambda seen: CriterionResult(bool(seen["b"].kicks_s)), 1, leg)
    assert (trial.state, trial.kicks) == ("as seen", 1)
    assert leg.asked == [("a", ()), ("b", ()), ("b", (1.0,))]


def test_a_bout_that_breaks_off_aborts_the_repetition():
    def leg(plan, kicks_s):
        raise Aborted(f"{plan.label}: stopped at 0.50 s: plant_diverged")

    trial = judge_trial((tiny.plan(),), tiny.moved, 1, leg)
    assert trial.state == "aborted"
    assert "plant_diverged" in trial.reasons[0]


def test_a_stuck_leg_is_named_with_the_state_it_is_stuck_in():
    outcome = Outcome("stuck", False, ("A", "B"), (0.5, 2.0), (), None)
    seen = Observation(tiny.plan(), STILL, None, {"all": outcome, "other": replace(outcome, kind="FWD", state=())})
    trial = judge_trial((tiny.plan(),), needs(0), 1, lambda plan, kicks: seen)
    assert trial.outcomes == {"only": {"all": "stuck in A + B", "other": "FWD"}}


def test_repetitions_move_alike_only_when_every_bout_felt_and_did_the_same():
    def moved(*legs) -> str:
        plans = [tiny.plan(f"bout {k}") for k in range(len(legs))]
        seen = {plan.label: Observation(plan, leg, None, {}) for plan, leg in zip(plans, legs, strict=True)}
        return trial_of(1, seen, CriterionResult(True)).moved

    thc, *rest = STILL.modules
    others = [
        replace(thc, angle_deg=thc.angle_deg + 0.01),
        replace(thc, action=thc.action + 1),
        replace(thc, load=thc.angle_deg),
        replace(thc, load=thc.angle_deg + 0.01),
    ]
    found = {moved(STILL), moved(STILL, STILL), *(moved(replace(STILL, modules=(each, *rest))) for each in others)}
    assert len(found) == 6
    assert moved(standing()) == moved(STILL)


def test_a_repetition_runs_its_bouts_and_says_what_was_seen():
    row = tiny.row()
    trial = run_trial(row, 5)
    assert trial.state == "as seen"
    assert trial.numbers["only range (deg)"] > 20
    assert set(trial.outcomes["only"]) == {"all"}
    assert run_trial(row, 5) == trial
    assert run_trial(row, 6).numbers != trial.numbers
    assert run_trial(row, 6).moved != trial.moved
    longer = tiny.row(bouts=(tiny.plan(windows=(JudgedWindow("all", 0.0, 1.9, "final", 0.1),)),), criterion=tiny.moved)
    assert run_trial(longer, 5).moved == trial.moved, "the same bout, looked at otherwise"


def test_its_control_is_judged_by_the_same_criterion():
    trial = run_trial(tiny.row(), 5, control=True)
    assert trial.state == "otherwise"
    assert "expected 20" in trial.reasons[0]


def test_a_task_survives_being_sent_to_another_process():
    task = pickle.loads(pickle.dumps(Task(tiny.row(), 5)))
    assert run_task(task) == run_trial(tiny.row(), 5)


def rows_before(path: Path, time_s: float) -> list[str]:
    return [line for line in path.read_text().splitlines() if int(line.split()[0]) < time_s * 1e9]


def test_the_same_seed_gives_the_same_bout_up_to_the_kick_and_another_after_it(tmp_path):
    row = tiny.row(bouts=(tiny.plan(kicks_s=(1.0,)),), criterion=tiny.kicked)
    run_trial(tiny.row(), 7, tmp_path / "free")
    assert run_trial(row, 7, tmp_path / "kicked").kicked_s == {"only": (1.0,)}
    for name in ("SensData.txt", "StateData.txt", "MotorData.txt", "PlantData.txt"):
        free, pushed = (tmp_path / which / "only" / name for which in ("free", "kicked"))
        assert rows_before(free, 1.0) == rows_before(pushed, 1.0), name
        assert len(rows_before(free, 1.0)) > 30, name
    assert (tmp_path / "free/only/SensData.txt").read_text() != (tmp_path / "kicked/only/SensData.txt").read_text()


def test_data_are_kept_only_when_asked_for(tmp_path, monkeypatch):
    from nuc_engine.batch import scratch

    monkeypatch.setattr(scratch, "scratch_root", lambda: tmp_path / "scratch")
    (tmp_path / "scratch").mkdir()
    run_trial(tiny.row(), 5)
    assert list((tmp_path / "scratch").iterdir()) == []
    run_trial(tiny.row(), 5, tmp_path / "kept")
    assert (tmp_path / "kept/only/manifest.json").exists()


def test_what_is_kept_is_what_is_reported(tmp_path):
    row = tiny.row(bouts=(tiny.plan(kicks_s=(1.0,)),), criterion=tiny.never)
    assert run_trial(row, 7, tmp_path / "kicked in vain").kicks == 0
    run_trial(tiny.row(), 7, tmp_path / "free")
    free, kicked = (tmp_path / which / "only/SensData.txt" for which in ("free", "kicked in vain"))
    assert free.read_bytes() == kicked.read_bytes()
    run_again(row.bouts, tiny.trial(7, kicked_s={"only": (1.0,)}), tmp_path / "again")
    assert free.read_bytes() != (tmp_path / "again/only/SensData.txt").read_bytes()


REASON = "plant_diverged: the leg flew off"


def ends(monkeypatch, state: str) -> None:
    """Let bouts end in this state, kept or not."""
    written = BoutResult(Path(), state, REASON, 0.5, 10, 0, (), {})
    monkeypatch.setattr(trials_module, "run_bout", lambda spec: written)
    monkeypatch.setattr(sharing, "watch_bout", lambda spec, prepared: Watched(state, REASON, 0.5, lambda: None))


def test_a_bout_that_does_not_complete_is_told_with_its_reason(monkeypatch, tmp_path):
    ends(monkeypatch, "fault")
    for keep in (None, tmp_path):
        trial = run_trial(tiny.row(), 5, keep)
        assert trial.state == "aborted"
        assert trial.reasons == ("only: stopped at 0.50 s: plant_diverged: the leg flew off",)


def test_an_interrupt_is_not_taken_for_a_result(monkeypatch, tmp_path):
    ends(monkeypatch, "interrupted")
    for keep in (None, tmp_path):
        with pytest.raises(KeyboardInterrupt):
            run_trial(tiny.row(), 5, keep)


def test_a_window_that_can_not_be_looked_at_aborts_the_repetition():
    beyond = tiny.plan(windows=(JudgedWindow("late", 1.0, 9.0, "final", 0.5),))
    trial = run_trial(tiny.row(bouts=(beyond,)), 5)
    assert trial.state == "aborted"
    assert "reaches beyond the record" in trial.reasons[0]


def test_a_row_that_can_not_run_is_no_result():
    with pytest.raises(BoutRefused):
        run_trial(tiny.row(bouts=(tiny.plan(values={"nonsense": 1.0}),)), 5)


def test_kicks_to_begin_are_told_from_those_in_the_end():
    def criterion(seen) -> CriterionResult:
        kicks = seen["only"].kicks_s
        return CriterionResult(len(kicks) == 2, started=bool(kicks))

    both = judge_trial((tiny.plan(start_kick_s=0.5, kicks_s=(1.0, 1.5)),), criterion, 1, Leg())
    assert (both.kicks, both.start_kicks) == (2, 1)
    only = judge_trial((tiny.plan(start_kick_s=0.5),), starts_with_a_kick, 1, Leg())
    assert (only.kicks, only.start_kicks) == (1, 1)
    last = judge_trial((tiny.plan(kicks_s=(1.0,)),), needs(1), 1, Leg())
    assert (last.kicks, last.start_kicks) == (1, 0)


def test_a_leg_that_started_but_gave_too_little_to_judge_is_not_a_failed_start():
    leg = Leg()
    little = CriterionResult(False, ("1 disturbance counts",), enough=False)
    trial = judge_trial((tiny.plan(kicks_s=(1.0,), start_kick_s=0.5),), lambda seen: little, 1, leg)
    assert (trial.state, trial.kicks, trial.reasons) == ("too few", 0, ("1 disturbance counts",))
    assert leg.asked == [("only", ())]
