"""What holds for every experiment: names, scripts, windows, controls; and its rows can be sent to other processes."""

from __future__ import annotations

import pickle
import xml.etree.ElementTree as ET
from itertools import pairwise
from pathlib import Path

import pytest

from nuc_engine.experiments.catalogue import EXPERIMENTS
from nuc_engine.experiments.catalogue.asks import Starts, WindowQuestion
from nuc_engine.experiments.catalogue.phase import Arrives
from nuc_engine.experiments.catalogue.unloading import Promoted
from nuc_engine.experiments.protocol import BoutPlan, Experiment, TableRow
from nuc_engine.machine.locations import find_configuration, find_script
from tests.catalogue.seen import row_of

ROWS = [pytest.param(each, row, id=f"{each.name}-{row.name}") for each in EXPERIMENTS for row in each.rows]
PLANS = [
    pytest.param(plan, id=f"{each.name}-{row.name}-{where}-{plan.label}")
    for each in EXPERIMENTS
    for row in each.rows
    for where, bouts in (("row", row.bouts), ("control", row.control.bouts))
    for plan in bouts
]


def script(name: str) -> ET.Element:
    return ET.fromstring(Path(find_script(name)).read_text(encoding="utf-8"))


def writes(name: str) -> dict[tuple[float, int], str]:
    """Time and HDSO -> value, of the plain writes of a script."""
    found: dict[tuple[float, int], str] = {}
    for mod in script(name).findall("hdsoMod"):
        key = float(mod.get("time", "0")), int(mod.get("idNum", ""))
        assert key not in found, f"{name} writes {key} twice"
        found[key] = mod.text or ""
    return found


def at(name: str, time: float) -> dict[int, str]:
    return {number: value for (when, number), value in writes(name).items() if when == time}


def in_the_end(name: str) -> dict[int, str]:
    """The last value of each HDSO, gradual changes included."""
    timed = [(when, number, value) for (when, number), value in writes(name).items()]
    for gradual in script(name).findall("gradual"):
        end = float(gradual.get("time", "")) + float(gradual.get("duration", ""))
        timed += [(end, int(mod.get("idNum", "")), mod.text or "") for mod in gradual.findall("hdsoMod")]
    return {number: value for _, number, value in sorted(timed)}


def test_all_of_chapters_7_and_9_is_there() -> None:
    names = "A B D1 D2 Fa Fb Ga Gb Gc Ea Eb Ec speed restricted disconnect"
    others = ["muscles-sideways", "muscles-forward", "dropout", "magnet"]
    claims = ["stick-step", "stick-drift", "stick-speed", "stance-drive", "ten-minutes", "foot-force"]
    assert [each.name for each in EXPERIMENTS if each.section.startswith("7")] == [*names.split(), *others, *claims]


def test_what_chapter_9_asks_for_is_there() -> None:
    names = {each.name for each in EXPERIMENTS if each.section.startswith("9")}
    assert names >= {
        *("lesions", "phase", "phase-halves", "speed-parameters"),
        *("cpg", "delays", "muscle-variance", "reflex-cascade", "search", "variability"),
    }


@pytest.mark.parametrize(("experiment", "row"), ROWS)
def test_rows_can_be_sent_to_worker_processes(experiment: Experiment, row: TableRow) -> None:
    again = pickle.loads(pickle.dumps(row))
    for name in ("bouts", "control", "criterion", "summary", "picture"):
        assert getattr(again, name) == getattr(row, name)


@pytest.mark.parametrize(("experiment", "row"), ROWS)
def test_rows_say_what_they_ask_for(experiment: Experiment, row: TableRow) -> None:
    assert len({each.name for each in experiment.rows}) == len(experiment.rows)
    for text in (experiment.hypothesis, experiment.method, row.saw, row.criterion_text, row.control.why):
        assert text.strip() == text
        assert "  " not in text
        assert "{" not in text
    assert row.control.bouts != row.bouts
    assert len(row.control.bouts) == len(row.bouts)


@pytest.mark.parametrize(("experiment", "row"), ROWS)
def test_no_control_has_a_bout_twice(experiment: Experiment, row: TableRow) -> None:
    # Of which a criterion could ask opposite things, so that it would fail whatever the leg does; unless all that it
    # asks is asked of each bout by itself.
    if all(isinstance(ask, Starts | WindowQuestion | Arrives) and not ask.bouts for ask in row.criterion.asks):
        return
    bouts = [(p.config, p.script, p.values, p.plant, p.edits, p.moved, p.waits, p.cuts) for p in row.control.bouts]
    assert all(one not in bouts[:k] for k, one in enumerate(bouts))


@pytest.mark.parametrize(("experiment", "row"), ROWS)
def test_criteria_and_probes_ask_of_bouts_and_windows_that_are_there(experiment: Experiment, row: TableRow) -> None:
    asked = [(row.criterion.asks, row.bouts), (row.criterion.asks, row.control.bouts)]
    asked += [(probe.measure.__self__.asks, level.bouts) for probe in row.probes for level in probe.levels]
    for asks, bouts in asked:
        plans = {plan.label: plan for plan in bouts}
        for ask in asks:
            for label in ask.bouts or plans:
                assert set(ask.windows) <= {window.name for window in plans[label].windows}
            inner = getattr(ask, "criterion", ())
            own = [plans[label] for label in ask.bouts or plans]
            asked += [(inner, own)] if inner else []


@pytest.mark.parametrize("plan", PLANS)
def test_bouts_name_what_is_there_and_windows_leave_something_to_judge(plan: BoutPlan) -> None:
    assert find_configuration(plan.config)
    assert plan.script is None or find_script(plan.script)
    assert len({window.name for window in plan.windows}) == len(plan.windows)
    for window in plan.windows:
        assert 0 <= window.begin_s < window.end_s <= plan.duration_s
        assert window.end_s - window.begin_s - window.settle_s >= 3.0


@pytest.mark.parametrize("plan", PLANS)
def test_kicks_come_before_what_is_judged_of_the_final_part(plan: BoutPlan) -> None:
    finals = [window for window in plan.windows if window.part == "final"]
    assert all(a < b for a, b in pairwise(plan.kicks_s))
    for kick in plan.kicks_s:
        assert any(w.begin_s <= kick <= w.begin_s + w.settle_s - 2 for w in finals)
    if plan.start_kick_s is not None:
        before = [window for window in plan.windows if window.part == "before"]
        assert before
        for window in before:
            assert plan.start_kick_s <= window.begin_s + window.settle_s - 1


A_ITF, A_ITB = at("experiment_a", 20), at("experiment_a", 40)


def test_every_script_of_the_roach_leg_begins_as_experiment_a() -> None:
    for path in Path(find_script("experiment_a")).parent.glob("*.xml"):
        if path.stem.startswith(("experiment_", "dropout_", "magnet_", "unload_", "itf_kicked")):
            assert at(path.stem, 0) == at("experiment_a", 0), path.stem


def test_b_ends_where_a_does() -> None:
    assert in_the_end("experiment_b") == in_the_end("experiment_a")
    assert set(at("experiment_b", 20)) == set(A_ITF) | set(A_ITB)


def test_d_is_a_in_reverse_order() -> None:
    assert at("experiment_d", 20) == A_ITB
    assert at("experiment_d", 40) == A_ITF
    assert in_the_end("experiment_d") != in_the_end("experiment_a")


def test_commuting_d_ends_where_a_does() -> None:
    assert at("experiment_d_commuting", 20) == A_ITB
    assert in_the_end("experiment_d_commuting") == in_the_end("experiment_a")
    assert not set(at("experiment_d_commuting", 40)) & {162, 104}


def test_f_divides_the_changeset_by_joint() -> None:
    halves = at("experiment_fa", 20), at("experiment_fa", 40)
    assert halves == (at("experiment_fb", 40), at("experiment_fb", 20))
    assert set(halves[0]) == {165, 166, 107, 109}
    assert halves[0] | halves[1] == A_ITF == at("itf_kicked", 20)


@pytest.mark.parametrize(("letter", "rules_s"), [("a", 10), ("b", 15), ("c", 25)])
def test_g_changes_thresholds_gradually_and_rules_at_once(letter: str, rules_s: int) -> None:
    name = f"experiment_g{letter}"
    (change,) = script(name).findall("gradual")
    assert change.attrib == {"time": "10", "duration": "10", "steps": "10"}
    thresholds = {int(mod.get("idNum", "")): mod.text or "" for mod in change}
    assert set(thresholds) == {104, 107, 109}
    assert set(at(name, rules_s)) == {161, 162, 165, 166}
    assert thresholds | at(name, rules_s) == A_ITF


@pytest.mark.parametrize(("letter", "rules_s"), [("a", 30), ("b", 35), ("c", 45)])
def test_e_changes_activations_gradually_and_rules_at_once(letter: str, rules_s: int) -> None:
    name = f"experiment_e{letter}"
    (change,) = script(name).findall("gradual")
    assert change.attrib == {"time": "30", "duration": "10", "steps": "10"}
    activations = {int(mod.get("idNum", "")): mod.text or "" for mod in change}
    assert set(activations) == {124, 126, 131}
    assert set(at(name, rules_s)) == {162, 163, 164, 104}
    assert at(name, 20) == A_ITF
    assert activations | at(name, rules_s) == A_ITB


@pytest.mark.parametrize(
    "name", ["experiment_d", "experiment_d_commuting", "experiment_fa", "experiment_fb", "itf_kicked"]
)
def test_interims_are_kicked_twice(name: str) -> None:
    assert [float(kick.get("time", "")) for kick in script(name).findall("kick")] == [27.0, 33.5]


@pytest.mark.parametrize("kind", ["fwd", "itf", "itb"])
def test_legs_are_unloaded_when_the_criterion_looks(kind: str) -> None:
    (promoted,) = [ask for ask in row_of(f"dropout {kind.upper()}").criterion.asks if isinstance(ask, Promoted)]
    ground, times = script(f"dropout_{kind}").findall("ground"), promoted.times_s
    away = [float(one.get("time", "")) for one in ground if one.get("present") == "n"]
    back = [float(one.get("time", "")) for one in ground if one.get("present") == "y"]
    assert away == list(times)
    assert back == pytest.approx([time + 0.5 for time in times])
    for name, newton in ((f"magnet_{kind}", -1.5), (f"magnet_press_{kind}", 1.5)):
        loads = script(name).findall("load")
        assert [float(one.get("time", "")) for one in loads] == list(times)
        assert {float(one.get("newton", "")) for one in loads} == {newton}


def test_turns_are_the_same_wherever_they_are_made() -> None:
    for name in ("dropout", "magnet", "magnet_press", "unload_sham"):
        assert at(f"{name}_itf", 8) == A_ITF
        assert at(f"{name}_itb", 8) == at("experiment_b", 20)


def test_starts_leave_the_rules_as_the_configuration_has_them() -> None:
    joints = ET.parse(find_configuration("restricted_pc_stick") / "joints.xml")
    rules: dict[int, str] = {}
    for rule in joints.iter("transition_rule"):
        (name, *_) = rule.findall("hdsoMod")
        rules[int(name.get("idNum", ""))] = rule.get("boolstring", "")
    for start in ("lev_ext", "lev_flx", "dep_ext", "dep_flx"):
        released = at(f"restricted_start_{start}", 0.05)
        assert released == {number: rules[number] for number in released}
        held = at(f"restricted_start_{start}", 0)
        assert sorted(held.values()) == ["190", "190", "190", "191", "191"]
        assert set(held) == set(released)
