"""Scripts with sensors that are cut, and with writes that wait for what is sensed."""

from decimal import Decimal
from pathlib import Path

import numpy as np
import pytest

from nuc_engine.bout.run import BoutRefused
from nuc_engine.experiments.edits import is_edited, script_of
from nuc_engine.experiments.nerves import Cut, Wait
from nuc_engine.experiments.sharing import course_of
from nuc_engine.experiments.trials import run_plan, watch_plan
from sccils_schemas.documents import HdsoMod, HdsoScript, SenseClamp, When
from sccils_schemas.parser import parse
from tests.experiments import tiny

CUT = Cut("FT_angle", 0.0, 1.0)
WAIT = Wait(20.0, "FT_angle > TC1_proDEP_FTang", 1.0, 0.1)


def entries(plan, folder):
    path = script_of(plan, folder)
    assert path is not None
    document, _ = parse(Path(path).read_bytes())
    assert isinstance(document, HdsoScript)
    return document.entries


def test_a_cut_is_a_clamp_in_the_script(tmp_path):
    cuts = (CUT, Cut("TC1_current", "hold", 2.0))
    found = entries(tiny.plan(script="experiment_a", cuts=cuts), tmp_path)
    clamps = [(e.time_s, e.sensor, e.mode, e.value) for e in found if isinstance(e, SenseClamp)]
    assert clamps == [(Decimal(1), "FT_angle", "value", 0.0), (Decimal(2), "TC1_current", "hold", None)]


def test_what_is_written_at_once_waits_as_a_whole(tmp_path):
    before = entries(tiny.plan(script="experiment_a", moved={40.0: 41.0}), tmp_path)
    after = entries(tiny.plan(script="experiment_a", waits=(WAIT,)), tmp_path)
    (when,) = [each for each in after if isinstance(each, When)]
    written = [e for e in before if isinstance(e, HdsoMod) and e.time_s == 20]
    assert [(mod.id_num, mod.data) for mod in when.mods] == [(mod.id_num, mod.data) for mod in written]
    assert (when.rule, when.time_s, when.after_s) == (WAIT.rule, Decimal(1), Decimal("0.1"))
    assert not any(isinstance(e, HdsoMod) and e.time_s == 20 for e in after)


def test_nothing_that_could_wait_is_refused(tmp_path):
    with pytest.raises(BoutRefused, match="21 s: the script writes nothing at once then"):
        script_of(tiny.plan(script="experiment_a", waits=(Wait(21.0, "FT_angle", 1.0),)), tmp_path)


@pytest.mark.parametrize("change", [{"cuts": (CUT,)}, {"waits": (WAIT,)}])
def test_another_bout_is_not_taken_for_this_one(change):
    plain, other = tiny.plan(script="experiment_a"), tiny.plan(script="experiment_a", **change)
    assert is_edited(other)
    assert course_of(plain) != course_of(other)


def test_what_is_watched_of_a_cut_sensor_is_what_was_measured(tmp_path):
    plan = tiny.plan(script="experiment_a", cuts=(CUT,))
    kept, watched = (each.leg.module("FTi").angle_deg for each in (run_plan(plan, 7, tmp_path), watch_plan(plan, 7)))
    assert np.array_equal(kept, watched)
    assert np.all(watched[-10:] > 0.0)
