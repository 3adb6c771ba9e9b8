"""Scripts with single writes changed."""

from dataclasses import replace
from decimal import Decimal
from pathlib import Path

import pytest

from nuc_engine.bout.run import BoutRefused, prepare_bout
from nuc_engine.experiments.edits import check_edits, edited, moved, script_of
from nuc_engine.experiments.trials import run_plan
from sccils_schemas.documents import Gradual, HdsoMod
from tests.experiments import tiny


def script(name: str):
    found = prepare_bout(tiny.CONFIG, name).script
    assert found is not None
    return found


def writes(document) -> dict[tuple[int, Decimal], object]:
    plain = {(e.id_num, e.time_s): e.data for e in document.entries if isinstance(e, HdsoMod)}
    gradual = {(m.id_num, e.time_s): m.data for e in document.entries if isinstance(e, Gradual) for m in e.mods}
    return plain | gradual


def test_one_write_is_changed_and_no_other():
    before, after = (writes(s) for s in (script("experiment_fb"), edited(script("experiment_fb"), {(104, 20.0): 84.0})))
    key = 104, Decimal(20)
    assert after[key] == (84.0,)
    assert {**after, key: before[key]} == before


def test_what_a_gradual_change_reaches_is_changed_by_the_time_it_begins():
    document = edited(script("experiment_ec"), {(124, 30.0): 0.1})
    assert writes(document)[124, Decimal(30)] == (0.1,)
    (change,) = [entry for entry in document.entries if isinstance(entry, Gradual)]
    assert [mod.id_num for mod in change.mods] == [124, 126, 131]


def test_a_write_can_be_left_out_also_the_last_one_of_a_gradual_change():
    document = edited(script("experiment_ec"), {(124, 30.0): None})
    assert set(writes(script("experiment_ec"))) - set(writes(document)) == {(124, Decimal(30))}
    empty = edited(script("experiment_ec"), {(number, 30.0): None for number in (124, 126, 131)})
    assert not any(isinstance(entry, Gradual) for entry in empty.entries)


def test_a_write_is_added_where_there_is_none():
    document = edited(script("experiment_ea"), {(123, 30.0): 0.1})
    assert set(writes(document)) - set(writes(script("experiment_ea"))) == {(123, Decimal(30))}


def test_nothing_to_leave_out_is_refused():
    with pytest.raises(BoutRefused, match="123@30: the script does not write it then"):
        edited(script("experiment_ea"), {(123, 30.0): None})


def test_a_bout_without_edits_runs_its_own_script(tmp_path):
    assert script_of(tiny.plan(script="experiment_a"), tmp_path) == "experiment_a"
    assert script_of(tiny.plan(), tmp_path) is None
    assert list(tmp_path.iterdir()) == []


def test_edits_need_a_script_and_allowed_values(tmp_path):
    with pytest.raises(BoutRefused, match="expected a script"):
        script_of(tiny.plan(edits={(103, 0.0): 1.0}), tmp_path)
    with pytest.raises(BoutRefused):
        check_edits(tiny.plan(script="experiment_a", edits={(9999, 0.0): 1.0}))
    check_edits(tiny.plan(script="experiment_a", edits={(103, 20.0): 100.0}))


def test_a_bout_is_run_with_its_edits(tmp_path):
    plan = tiny.plan(script="experiment_a")
    still = replace(plan, edits={(number, 0.0): 0.0 for number in (129, 130, 131, 132)})
    ranges = []
    for name, each in (("as it is", plan), ("edited", still)):
        seen = run_plan(each, 5, Path(tmp_path / name))
        angle = seen.leg.module("FTi").angle_deg
        ranges.append(angle.max() - angle.min())
    assert ranges[0] > 20 > ranges[1]


def test_what_is_written_at_once_is_moved_and_nothing_else():
    before, after = (writes(s) for s in (script("experiment_gb"), moved(script("experiment_gb"), {15.0: 15.4})))
    late = {(number, Decimal("15.4")): data for (number, time), data in before.items() if time == 15}
    assert len(late) == 4
    assert after == {key: data for key, data in before.items() if key[1] != 15} | late
    gradual = [[e for e in s.entries if isinstance(e, Gradual)] for s in (script("experiment_gb"),)]
    assert gradual == [[e for e in moved(script("experiment_gb"), {15.0: 15.4}).entries if isinstance(e, Gradual)]]


def test_nothing_to_move_is_refused():
    with pytest.raises(BoutRefused, match=r"16 s: the script writes nothing at once then"):
        check_edits(tiny.plan(script="experiment_gb", moved={16.0: 17.0}))
    with pytest.raises(BoutRefused, match=r"10 s: .*nothing to move"):
        moved(script("experiment_gb"), {10.0: 11.0})
    check_edits(tiny.plan(script="experiment_gb", moved={15.0: 15.2}))
