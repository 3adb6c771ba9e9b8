"""The programs that ask how wide basins are: lesions in rules, shares compared in pairs, ends of a basin."""

from __future__ import annotations

import re
from itertools import product
from pathlib import Path

import pytest

from benchmarks import free, lesions, maps, readings_reversed, robust, thresholds
from nuc_engine.bout.run import prepare_bout
from nuc_engine.machine.locations import PLANT_SPEC_FILE, find_configuration, find_script
from nuc_engine.plants.spec import load_spec
from sccils_schemas.documents import HdsoMod, HdsoScript
from tests.configs.documents import initial_values, shipped

ACTIONS = (
    ("TC1_protractionDEP", "TC1_retractionLEV"),
    ("CTr_LevationPRO", "CTr_DepressionRET"),
    ("FT_Extension", "FT_Flexion"),
)


def rules_after(leg: str, lesion: str) -> dict[int, str]:
    script = prepare_bout(lesions.CONFIG, lesions.SCRIPT).script
    assert isinstance(script, HdsoScript)
    at_s = lesions.LEGS[leg]
    entries = lesions.lesioned(script, lesion, at_s).entries
    mods = [each for each in entries if isinstance(each, HdsoMod)]
    assert max(each.time_s for each in mods) <= at_s
    return {each.id_num: str(each.data) for each in mods if each.id_num in lesions.RULES}


class TestLesions:
    @pytest.mark.parametrize("leg", lesions.LEGS)
    def test_silent_load_is_read_by_no_rule(self, leg: str) -> None:
        assert any("TC1_current" in rule for rule in rules_after(leg, "none").values())
        assert not any("TC1_current" in rule for rule in rules_after(leg, "load silenced").values())

    @pytest.mark.parametrize("leg", lesions.LEGS)
    def test_frozen_angle_is_read_by_no_rule(self, leg: str) -> None:
        assert not any("FT_angle" in rule for rule in rules_after(leg, "FTi frozen").values())

    def test_frozen_angle_is_above_thresholds_of_extension_and_below_those_of_flexion(self) -> None:
        rules = rules_after("FWD", "FTi frozen")
        assert rules[161] == "zero_float_const"
        assert rules[165] == "(TC1_current > FT_ext_TC1_load)&(one_float_const)"

    def test_removed_influence_leaves_the_other_term(self) -> None:
        assert rules_after("ITB", "CTr removed")[162] == "(FT_angle > TC1_proDEP_FTang)|(zero_float_const)"

    def test_flipped_load_turns_comparisons_and_signs_of_thresholds(self) -> None:
        assert rules_after("FWD", "load flipped")[164] == "TC1_current < CTr_dep_TC1_load"
        script = prepare_bout(lesions.CONFIG, lesions.SCRIPT).script
        assert script is not None
        written = [e for e in lesions.lesioned(script, "load flipped", 20.0).entries if isinstance(e, HdsoMod)]
        assert [each.data for each in written if each.id_num == 102] == [(0.01,), (-0.01,)]

    def test_each_global_state_falls_under_one_predicted_outcome(self) -> None:
        said = lesions.load_predictions()
        for leg, lesion in {(each.leg, each.lesion) for each in said}:
            for actions in product(*ACTIONS):
                seen = lesions.Seen(actions, leg, "", (), 1.0, 1.0)
                concerned = [
                    e for e in said if (e.leg, e.lesion) == (leg, lesion) and not e.period and e.concerns(seen)
                ]
                assert len(concerned) == 1, (leg, lesion, actions)

    def test_prediction_is_missed_by_another_state(self) -> None:
        one = lesions.Prediction("FWD", "x", "", kind="stuck", state=("a", "b"))
        assert one.hits(lesions.Seen((), "FWD", "stuck", ("b", "a"), 1.0, 1.0))
        assert not one.hits(lesions.Seen((), "FWD", "stuck", ("a", "c"), 1.0, 1.0))
        assert not one.hits(lesions.Seen((), "FWD", "chattering", (), 1.0, 1.0))

    def test_leg_that_does_not_step_has_no_longer_period(self) -> None:
        one = lesions.Prediction("FWD", "x", "", period="longer")
        assert one.hits(lesions.Seen((), "FWD", "FWD", (), 1.0, 1.1))
        assert not one.hits(lesions.Seen((), "FWD", "stuck", (), 1.0, float("nan")))


class TestPaired:
    def test_as_published(self) -> None:
        # Newcombe (1998), Statistics in Medicine 17: 2635, table II, method 10: 36, 12, 2, 0.
        middle, low, high = robust.paired(36, 12, 2, 0)
        assert (-middle, -high, -low) == pytest.approx((0.2, 0.0569, 0.3404), abs=5e-4)

    def test_none_turned_of_sixty_is_equivalent_and_of_thirty_not(self) -> None:
        assert robust.verdict(*robust.paired(60, 0, 0, 0)[1:]) == "equivalent"
        assert robust.verdict(*robust.paired(30, 0, 0, 0)[1:]) == "not decided"

    def test_many_turned_one_way_are_different(self) -> None:
        assert robust.verdict(*robust.paired(20, 30, 0, 10)[1:]) == "**different**"


class TestMaps:
    def test_own_values_are_those_of_the_plant_and_among_those_looked_at(self) -> None:
        assert all(axis.own in axis.values and list(axis.values) == sorted(axis.values) for axis in maps.AXES)
        spec = load_spec(find_configuration(maps.CONFIG) / PLANT_SPEC_FILE)
        assert next(axis.own for axis in maps.AXES if axis.key == "world.friction") == spec.world.friction

    def test_basin_ends_at_a_gap(self) -> None:
        axis = maps.Axis("", (1, 2, 3, 4, 5), own=3)
        ends = maps.basin(axis, lambda value: value not in (2,))
        assert ends == (3, 5)
        assert maps.said(axis, ends) == "from 3 on"
        assert maps.basin(axis, lambda value: value != 3) is None


class TestThresholds:
    def test_both_legs_get_the_same_points(self) -> None:
        points = {
            arm: [
                dict(job.values[: len(thresholds.SHARED)])
                for job in thresholds.jobs()
                if job.arm == arm and job.varied == thresholds.ALL_AT_ONCE
            ]
            for arm in thresholds.ARMS
        }
        first, *others = points.values()
        assert first
        assert all(other == first for other in others)


class TestFree:
    def test_page_is_what_the_files_say(self) -> None:
        assert free.PAGE.read_text(encoding="utf-8") == free.page()

    def test_of_several_sources_the_one_that_leaves_most_freedom_counts(self, tmp_path: Path) -> None:
        plant = tmp_path / "plant.toml"
        plant.write_text(
            "[a] # assumed, all\nx = 1\ny = 2 # printed (1.2)\nz = 3 # level 3, which is printed, fitted before\n"
            "[b]\nx = 1 # no motor there\ny = 2 # fitted; the robot's are not printed\n"
        )
        sources = {"a.x": "assumed", "a.y": "printed", "a.z": "fitted", "b.x": "follows", "b.y": "fitted"}
        assert free.plant_sources(plant) == sources

    def test_what_was_found_of_a_configuration_is_where_it_differs_from_the_printed_one(self) -> None:
        own, printed = (initial_values(shipped(name)) for name in ("null_roach", "lin_roach"))
        assert {number for number in own if own[number] != printed[number]} <= set(free.FOUND["null_roach"])


class TestReversed:
    def test_the_other_reading_changes_three_rules_and_no_number(self) -> None:
        text = find_script(readings_reversed.SCRIPT).read_text(encoding="utf-8")
        one, other = (readings_reversed.Job(reading, (), 1) for reading in readings_reversed.READINGS)
        assert readings_reversed.script_of(text, one) == text
        changed = [
            (a, b)
            for a, b in zip(text.split(), readings_reversed.script_of(text, other).split(), strict=True)
            if a != b
        ]
        assert len(changed) == 3
        assert not any(re.sub("retLEV|proDEP", "", a) != re.sub("retLEV|proDEP", "", b) for a, b in changed)

    def test_drawn_thresholds_are_what_itf_writes_and_nothing_else(self, tmp_path: Path) -> None:
        text = find_script(readings_reversed.SCRIPT).read_text(encoding="utf-8")
        job = readings_reversed.Job(readings_reversed.READINGS[0], ((104, 33.0), (107, 111.0), (109, 44.0)), 1)
        (tmp_path / "a.xml").write_text(readings_reversed.script_of(text, job))
        was, now = (
            prepare_bout(readings_reversed.CONFIG, each).script
            for each in (readings_reversed.SCRIPT, str(tmp_path / "a.xml"))
        )
        assert was is not None
        assert now is not None
        written = {(e.id_num, e.time_s, e.data) for e in now.entries if isinstance(e, HdsoMod)}
        before = {(e.id_num, e.time_s, e.data) for e in was.entries if isinstance(e, HdsoMod)}
        assert written - before == {(104, 20.0, (33.0,)), (107, 20.0, (111.0,)), (109, 20.0, (44.0,))}

    def test_script_without_these_rules_is_refused(self) -> None:
        with pytest.raises(ValueError, match="expected 3"):
            readings_reversed.script_of("", readings_reversed.Job(readings_reversed.READINGS[1], (), 1))
