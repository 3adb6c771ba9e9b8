from __future__ import annotations

import json
from pathlib import Path

import pytest

from nuc_engine.batch.axes import parse_axis
from nuc_engine.batch.criterion import parse_criterion
from nuc_engine.batch.errors import BulkRefused
from nuc_engine.batch.plan import SweepPlan, SweepRequest, make_plan
from nuc_engine.batch.tune import Tried, Tuned, tune, tuned_script
from sccils_schemas.documents import HdsoMod, HdsoScript
from sccils_schemas.parser import parse

pytestmark = pytest.mark.usefixtures("here")

HIGH = """
def stands_high(sight):
    # The foot is on the ground, so that its place tells how high the body is: 8.5 cm is what is looked for.
    height = 11.3 - sight.leg.foot_cm[50:, 2].min()
    return abs(height - 8.5) < 0.2, 1.0 / (1.0 + abs(height - 8.5))
"""


def plan_of(*vary: str, seeds: tuple[int, ...] = (1, 2)) -> SweepPlan:
    return make_plan(SweepRequest("lin_roach", duration_s=1.5, axes=tuple(map(parse_axis, vary)), seeds=seeds))


@pytest.fixture
def criterion(tmp_path: Path) -> str:
    (tmp_path / "own.py").write_text(HIGH)
    return f"{tmp_path / 'own.py'}:stands_high"


def test_a_search_finds_what_is_good_and_goes_on_where_it_was(criterion: str, tmp_path: Path) -> None:
    plan, asked = plan_of("plant.world.base_height_cm=6.5:9.5"), parse_criterion(criterion, "")
    told: list[Tried] = []
    study = tmp_path / "a.study"
    first = tune(plan, asked, study, trials=2, jobs=1, told=lambda _, tried: told.append(tried))
    assert (first.trials, first.before) == (2, 0)
    assert first.present is not None
    assert first.present.values == {"plant.world.base_height_cm": 7.7}
    assert told[0] == first.present
    found = tune(plan, asked, study, trials=9, fresh_seeds=(7, 8), jobs=1, told=lambda _, tried: told.append(tried))
    assert (found.trials, found.before) == (9, 2)
    assert len(told) == 9
    # Nothing is tried twice: neither the values in force nor what was drawn first.
    assert len({tried.values["plant.world.base_height_cm"] for tried in told}) == 9
    assert found.best.objective == max(tried.objective for tried in told)
    assert found.best.objective > first.present.objective
    assert found.best.good == 2
    assert abs(float(found.best.values["plant.world.base_height_cm"]) - 8.5) < 0.4
    assert found.fresh is not None
    assert found.fresh.bouts == 2
    assert found.present_fresh is not None
    assert found.present is not None
    assert (found.present_fresh.bouts, found.present_fresh.values) == (2, found.present.values)
    again = tune(plan, asked, study, trials=9, jobs=1, told=lambda _, tried: told.append(tried))
    assert len(told) == 9
    assert again.best == found.best
    assert 0.0 <= again.best.noise < 0.1, "the noise of the margin comes back from the file"
    assert found.surely_better is False, "two seeds tell nothing, even when both are good"


def test_another_search_is_not_mixed_in(criterion: str, tmp_path: Path) -> None:
    asked, study = parse_criterion(criterion, ""), tmp_path / "a.study"
    tune(plan_of("plant.world.base_height_cm=7:9", seeds=(1,)), asked, study, trials=1, jobs=1)
    other = plan_of("plant.world.base_height_cm=7:9", seeds=(2,))
    with pytest.raises(BulkRefused, match="another search"):
        tune(other, asked, study, trials=1, jobs=1)
    assert tune(other, asked, study, trials=1, jobs=1, force=True).before == 0


def test_trials_that_were_cut_off_are_run_again_with_the_same_values(criterion: str, tmp_path: Path) -> None:
    plan, asked = plan_of("plant.world.base_height_cm=7:9", seeds=(1,)), parse_criterion(criterion, "")
    study = tmp_path / "a.study"

    def stop(*_: object) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        tune(plan, asked, study, trials=2, jobs=2, told=stop)  # Two are asked for at once; one is left in the middle.
    told: list[Tried] = []
    found = tune(plan, asked, study, trials=2, jobs=1, told=lambda _, tried: told.append(tried))
    assert (found.before, found.trials, len(told)) == (1, 2, 1)
    drawn = [line for line in study.read_text().splitlines() if "param_value_internal" in line]
    values = [json.loads(line)["param_value_internal"] for line in drawn]
    assert values[:2] == [7.7, told[0].values["plant.world.base_height_cm"]]


@pytest.mark.parametrize(
    ("vary", "seeds", "says"),
    [
        ((), (1,), "nothing is varied"),
        (("103=1:2:3",), (1,), "not a grid"),
        (("103=1",), (1,), "one value only"),
        (("103=1:2",), (20001,), "for verdicts"),
    ],
)
def test_what_can_not_be_searched_is_refused(
    vary: tuple[str, ...], seeds: tuple[int, ...], says: str, criterion: str, tmp_path: Path
) -> None:
    with pytest.raises(BulkRefused, match=says):
        tune(plan_of(*vary, seeds=seeds), parse_criterion(criterion, ""), tmp_path / "a.study", trials=1)


def test_what_was_found_becomes_a_script() -> None:
    axes = tuple(map(parse_axis, ("FT_ext_FTang@20=1:170", "plant.world.friction=0.1:1", "CTr_dep_TC1_load@0=0,1")))
    plan = make_plan(SweepRequest("lin_roach", "experiment_a", 60.0, axes))
    values = {"FT_ext_FTang@20": 117.25, "plant.world.friction": 0.5, "CTr_dep_TC1_load@0": 1}
    document, problems = parse(tuned_script(plan, Tried(values, 1, 1, 1.0, {}), "found", "Found."), "found.xml")
    assert problems.ok
    assert isinstance(document, HdsoScript)
    mods = [(mod.name, mod.data, float(mod.time_s)) for mod in document.entries if isinstance(mod, HdsoMod)]
    assert mods == [("CTr_dep_TC1_load", (1.0,), 0.0), ("FT_ext_FTang", (117.25,), 20.0)]
    assert "world.friction = 0.5" in (document.description or "")


def test_the_best_of_a_search_is_told_from_what_there_was_only_by_enough_bouts() -> None:
    def found(best: int, present: int, bouts: int) -> bool | None:
        one, other = (Tried({}, good, bouts, 0.5, {}) for good in (best, present))
        # By the seeds of the search it is all luck.
        lucky = Tried({}, bouts, bouts, 0.5, {})
        return Tuned(lucky, Tried({}, 0, bouts, 0.5, {}), one, 9, 0, other).surely_better

    assert found(8, 0, 8) is True
    assert found(8, 6, 8) is False
    assert found(80, 60, 80) is True
    one = Tried({}, 8, 8, 0.5, {})
    assert Tuned(one, None, one, 9, 0).surely_better is None
    assert Tuned(one, Tried({}, 0, 8, 0.5, {}), None, 9, 0).surely_better is None
