"""The shipped configurations load, say what the sources say, and explain every part of themselves."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest

from nuc_engine.configurations.validation import check_path
from sccils_schemas.documents import Hdso, Joint
from sccils_schemas.model import Model, load_model
from tests.configs.documents import (
    CONFIGS,
    DATA,
    SCRIPTS,
    SHIPPED,
    initial_values,
    joint,
    model,
    shipped,
    state,
    without_texts,
)

PRINTED = ("lin_roach", "lin_stickmiddle_minimal")


@pytest.mark.parametrize("name", SHIPPED)
def test_it_loads(name: str) -> None:
    assert shipped(name).name == name


@pytest.mark.parametrize("name", SHIPPED)
def test_there_is_nothing_to_remark_on_it(name: str) -> None:
    assert [str(problem) for problem in check_path(CONFIGS / name).problems] == []


@pytest.mark.parametrize("path", sorted(SCRIPTS.glob("*.xml")), ids=lambda path: path.stem)
def test_nor_on_a_script_for_the_leg_it_is_for(path: Path) -> None:
    leg = "restricted_pc_stick" if path.stem.startswith("restricted") else "lin_roach"
    assert [str(problem) for problem in check_path(path, shipped(leg)).problems] == []


@pytest.mark.parametrize("name", PRINTED)
def test_the_printed_files_have_the_remarks_that_the_shipped_ones_mend(name: str) -> None:
    _, problems = load_model(DATA / f"neuromod_{name}")
    expected = {"sensorspec": 1}
    if name == "lin_roach":
        expected["start state of ThC2"] = 1
    else:
        expected["undeclared geometry"] = 4
    assert Counter(_subject(str(problem)) for problem in problems) == expected


def _subject(warning: str) -> str:
    subjects = {"sensorspec": "sensorspec", "joint 2 (Thorax-Coxa2)": "start state of ThC2"}
    subjects |= {f"HDSO {i} of the": "undeclared geometry" for i in range(180, 184)}
    return next((subject for words, subject in subjects.items() if words in warning), warning)


def test_no_other_configuration_is_shipped_untested() -> None:
    runs = {path.parent.name for path in CONFIGS.glob("*/run.toml")}
    assert {p.name for p in CONFIGS.iterdir() if p.is_dir()} == {*SHIPPED, *runs}
    for name in runs:
        assert [str(problem) for problem in check_path(CONFIGS / name).problems] == []


@pytest.mark.parametrize("name", PRINTED)
def test_printed_files_load_as_neuromod_had_them(name: str) -> None:
    text = (DATA / f"neuromod_{name}" / "joints.xml").read_text()
    assert '<!DOCTYPE jointlist SYSTEM "/usr/local/src/romod_dtds/sccils_joint.dtd">' in text
    assert '<!-- <!DOCTYPE jointlist SYSTEM "http://roach.biol.cwru.edu/romod-dtds/sccils_joint.dtd" -->' in text
    assert re.search(r"<hdsoMod[^>]*><!--[^>]*-->[^<]+<!--[^>]*-->[^<]+<!--", text), "comments between numbers"
    model(DATA / f"neuromod_{name}")


@pytest.mark.parametrize("name", PRINTED)
@pytest.mark.parametrize("part", ["jointlist", "parameters", "sensors"])
def test_shipped_equals_printed_in_every_value_but_for_what_is_mended(name: str, part: str) -> None:
    ours, printed = getattr(shipped(name), part), getattr(model(DATA / f"neuromod_{name}"), part)
    if part == "jointlist":
        ours = replace(ours, joints=tuple(map(_without_sensorspec, ours.joints)))
        printed = replace(printed, joints=tuple(map(_with_own_start_state, printed.joints)))
    if part == "parameters" and name == "lin_stickmiddle_minimal":
        added = [h for h in ours.hdsos if 180 <= h.id_num <= 183]
        assert [h.initial_data for h in added] == [None] * 4, "their numbers stand where they stood, in the joint list"
        ours = replace(ours, hdsos=tuple(h for h in ours.hdsos if h not in added))
    assert without_texts(ours) == without_texts(printed)


def _without_sensorspec(j: Joint) -> Joint:
    return j if j.motor is None else replace(j, motor=replace(j.motor, sensorspecs=()))


def _with_own_start_state(j: Joint) -> Joint:
    return j if j.states else replace(j, start_state=-1)


def test_units_that_are_printed_are_kept() -> None:
    printed = {h.id_num: h.units for h in model(DATA / "neuromod_lin_roach").parameters.hdsos if h.units}
    assert len(printed) == 12
    assert printed == {i: shipped("lin_roach").hdso(i).units for i in printed}


def test_comparing_without_texts_still_sees_a_changed_number() -> None:
    a = shipped("lin_roach").jointlist
    assert without_texts(a) != without_texts(shipped("null_roach").jointlist)
    assert without_texts(a) == without_texts(without_texts(a))


def test_lin_roach_has_the_joints_and_initial_data_the_printed_engine_output_counts() -> None:
    m = shipped("lin_roach")
    assert len([j for j in m.jointlist.joints if not j.endpoint]) == 4
    assert len([h for h in m.parameters.hdsos if h.initial_data is not None]) == 9
    assert [i for i in (*range(201, 209), *range(301, 309)) if i in initial_values(m)] == [204]


def test_flexion_of_the_roach_needs_either_unloading_or_an_extended_tibia() -> None:
    assert state(shipped("lin_roach"), "FT_Flexion").rule.boolstring == "(302 < 108)|(307 < 109)"


def _joint_texts(j: Joint) -> list[tuple[str, str | None, str | None]]:
    parts = [(j.name, j.fullname, j.description)]
    parts += [(m.name, m.fullname, m.description) for m in j.muscles]
    parts += [(s.name, s.fullname, s.description) for s in j.states]
    parts += [(o.name, o.fullname, o.description) for o in j.sense_organs]
    if j.motor is not None:
        parts.append((j.motor.name, j.motor.fullname, j.motor.description))
    return parts


def _all_texts(m: Model) -> list[tuple[str, str | None, str | None]]:
    lists = [(str(d.name), d.fullname, d.description) for d in (m.jointlist, m.parameters, m.sensors)]
    hdsos = [(h.name, h.fullname, h.description) for h in m.hdsos]
    return lists + hdsos + [t for j in m.jointlist.joints for t in _joint_texts(j)]


@pytest.mark.parametrize("name", SHIPPED)
def test_every_part_has_a_long_name_and_is_explained(name: str) -> None:
    bare = [who for who, full, text in _all_texts(shipped(name)) if len(full or "") < 5 or len(text or "") < 40]
    assert bare == []


@pytest.mark.parametrize("name", SHIPPED)
def test_rules_and_activations_are_explained_where_they_stand(name: str) -> None:
    states = [s for j in shipped(name).jointlist.joints for s in j.states]
    assert [s.name for s in states if len(s.rule.description or "") < 40] == []
    assert [(s.name, a.muscle) for s in states for a in s.activations if len(a.description or "") < 15] == []


@pytest.mark.parametrize("name", SHIPPED)
def test_no_two_parts_share_a_long_name_or_an_explanation(name: str) -> None:
    texts = _all_texts(shipped(name))
    assert [full for full, n in Counter(full for _, full, _ in texts).items() if n > 1] == []
    assert [text for text, n in Counter(text for _, _, text in texts).items() if n > 1] == []


def _tunable(m: Model) -> list[Hdso]:
    return [h for h in m.parameters.hdsos if m.kind(h) == "parameter" and not 180 <= h.id_num <= 184]


@pytest.mark.parametrize("name", SHIPPED)
def test_every_tunable_number_says_what_a_change_does(name: str) -> None:
    change = re.compile(r"[Rr]ais|[Ll]ower(ing|ed)|[Ll]onger|[Ll]arger")
    assert [h.name for h in _tunable(shipped(name)) if not change.search(h.description or "")] == []


@pytest.mark.parametrize("name", SHIPPED)
def test_every_number_has_a_unit(name: str) -> None:
    m = shipped(name)
    assert [h.name for h in m.hdsos if m.kind(h) != "boolstring" and not h.units] == []


@pytest.mark.parametrize("name", SHIPPED)
def test_units_fit_the_names(name: str) -> None:
    for h in shipped(name).hdsos:
        if h.name.endswith(("ang", "_angle")):
            assert h.units == "deg", h.name
        if h.name.endswith(("_load", "_current")):
            assert h.units == "tick (18.4 mA)", h.name
        if h.name.endswith(("_ns", "_time")):
            assert h.units == "ns", h.name
        if h.name.endswith(("_activation", "_F-L_Params")):
            assert h.units == "dimensionless", h.name


@pytest.mark.parametrize("name", SHIPPED)
def test_every_initial_value_lies_in_its_valid_range(name: str) -> None:
    m = shipped(name)
    for i, data in initial_values(m).items():
        if isinstance(data, str) or i not in m.names:
            continue
        for r in m.hdso(i).ranges:
            if r.type == "valid":
                assert all((r.lower is None or r.lower <= x) and (r.upper is None or x <= r.upper) for x in data), i


@pytest.mark.parametrize("name", [n for n in SHIPPED if n != "lin_stickmiddle_minimal"])
def test_states_of_the_larger_legs_have_colours_of_their_own(name: str) -> None:
    states = [s for j in shipped(name).jointlist.joints for s in j.states]
    colours = [s.plotstyle.colorspec for s in states if s.plotstyle is not None]
    assert None not in colours
    assert len(set(colours)) == len(states)


def test_double_names_are_told_in_the_roach_legs() -> None:
    for name in ("lin_roach", "null_roach", "mag_roach"):
        wanted = {201: "pro(DEP)", 202: "ret(LEV)", 203: "lev(PRO)", 204: "dep(RET)"}
        states = {s.id_num: s for j in shipped(name).jointlist.joints for s in j.states}
        assert [i for i, label in wanted.items() if label not in (states[i].fullname or "")] == []


def test_minimal_stepper_holds_its_tibia_with_one_state() -> None:
    fti = joint(shipped("lin_stickmiddle_minimal"), "Femur-Tibia")
    assert [s.rule.boolstring for s in fti.states] == ["191"]
