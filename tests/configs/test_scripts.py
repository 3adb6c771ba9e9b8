"""Experiment A and the two inside turns: complete, explained, consistent with each other and with the sources."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path

import pytest
from lxml import etree

from sccils_schemas.documents import Gradual, HdsoMod
from sccils_schemas.model import load_script
from sccils_schemas.rules import Rule, parse_rule, resolve
from tests.configs.documents import DATA, SCRIPTS, initial_values, joint, leg_of, script, shipped
from tests.configs.rule_values import holds, overlaps, rules_of

EXPERIMENT_A = SCRIPTS / "experiment_a.xml"
THRESHOLDS, ACTIVATIONS, RULES = range(101, 110), range(121, 133), range(161, 167)
SHARED = {104, 162}


def _entries(path: Path, time_s: int | None = None) -> dict[int, HdsoMod]:
    mods = [e for e in script(path).entries if isinstance(e, HdsoMod)]
    assert len(mods) == len(script(path).entries)
    at = [m for m in mods if time_s is None or m.time_s == time_s]
    assert len({m.id_num for m in at}) == len(at), "one write per HDSO and instant"
    return {m.id_num: m for m in at}


def _data(path: Path, time_s: int | None = None) -> dict[int, object]:
    return {i: m.data for i, m in _entries(path, time_s).items()}


FWD, ITF, ITB = (_data(EXPERIMENT_A, t) for t in (0, 20, 40))


def test_experiment_a_has_three_instants() -> None:
    assert {m.time_s for m in script(EXPERIMENT_A).entries} == {Decimal(0), Decimal(20), Decimal(40)}


def test_it_begins_with_the_sixteen_printed_values_in_order() -> None:
    printed = _data(DATA / "neuromod_experiment_a.xml")
    assert len(printed) == 16
    assert list(FWD.items())[:16] == list(printed.items())


def test_its_first_block_sets_every_parameter_to_what_the_configuration_starts_with() -> None:
    initial = initial_values(shipped("lin_roach"))
    assert set(FWD) == {0, 1, 2, *THRESHOLDS, *ACTIVATIONS, *RULES}
    for i, data in FWD.items():
        if i in RULES:
            assert _rule(data) == _rule(initial[i])
        else:
            assert data == initial[i]


def _rule(text: object) -> Rule:
    return resolve(parse_rule(str(text)), shipped("lin_roach").ids)


def test_changesets_hold_only_what_changes() -> None:
    now = dict(FWD)
    for changes in (ITF, ITB):
        assert [i for i, data in changes.items() if now[i] == data] == []
        now |= changes


def test_changesets_touch_what_section_7_4_1_names() -> None:
    assert set(ITF) == {161, 162, 165, 166} | {104, 107, 109}
    assert set(ITB) == {162, 163, 164, 104} | {124, 126, 131}


def test_changesets_commute_but_for_the_two_values_they_share() -> None:
    assert set(ITF) & set(ITB) == SHARED
    second = {i: data for i, data in ITF.items() if i not in SHARED}
    assert FWD | ITB | second == FWD | ITF | ITB
    assert FWD | ITB | ITF != FWD | ITF | ITB


def test_turns_of_their_own_are_the_changesets_of_experiment_a() -> None:
    assert _data(SCRIPTS / "itf.xml", 0) == _data(SCRIPTS / "itf.xml") == ITF
    assert _data(SCRIPTS / "itb.xml", 0) == _data(SCRIPTS / "itb.xml") == ITF | ITB


@pytest.mark.parametrize("path", sorted(SCRIPTS.glob("*.xml")), ids=lambda p: p.stem)
def test_shipped_scripts_pass_every_check_without_a_warning(path: Path) -> None:
    document, problems = load_script(path, shipped(leg_of(path)))
    assert document is not None
    assert [str(problem) for problem in problems] == []


def test_the_printed_script_runs_with_one_warning_for_each_name_that_is_spelt_otherwise() -> None:
    document, problems = load_script(DATA / "neuromod_experiment_a.xml", shipped("lin_roach"))
    assert document is not None
    assert len(list(problems.warnings)) == len(list(problems)) == 3
    text = " ".join(map(str, problems))
    assert all(name in text for name in ("TC1_retLEV_CTrang", "FT_flx_TC1_load", "FT_flx_FTang"))


@pytest.mark.parametrize("path", sorted(SCRIPTS.glob("*.xml")), ids=lambda p: p.stem)
def test_names_and_ids_agree_and_rules_are_short_enough(path: Path) -> None:
    m = shipped(leg_of(path))
    parts = [entry.mods if isinstance(entry, Gradual) else (entry,) for entry in script(path).entries]
    for entry in (each for part in parts for each in part if isinstance(each, HdsoMod)):
        assert m.names[entry.id_num] == entry.name
        if isinstance(entry.data, str):
            assert len(entry.data) == entry.num_elts
            assert m.kind(m.hdso(entry.id_num)) == "boolstring"


@pytest.mark.parametrize("path", sorted(SCRIPTS.glob("*.xml")), ids=lambda p: p.stem)
def test_every_entry_says_why_it_is_there(path: Path) -> None:
    root = etree.parse(path).getroot()
    bare = [
        mod.get("name")
        for mod in root.iter("hdsoMod")
        if not isinstance(mod.getprevious(), etree._Comment) or len(mod.getprevious().text or "") < 15
    ]
    assert bare == []
    assert len(script(path).description or "") > 40
    assert script(path).fullname


def _promoted(changes: dict[int, object], load: float, fti: float, ctr: float) -> set[str]:
    """Return the states whose entry rules hold in a behaviour for these sensor values."""
    m = shipped("lin_roach")
    now = {**initial_values(m), **changes}
    texts = {i: v for i, v in now.items() if isinstance(v, str)}
    values = {i: v[0] for i, v in now.items() if isinstance(v, tuple) and len(v) == 1} | {302: load, 305: ctr, 307: fti}
    rules = {name: rule for j in m.jointlist.joints for name, rule in rules_of(m, j, texts).items()}
    return {name for name, rule in rules.items() if holds(rule, values)}


@pytest.mark.parametrize(
    ("changes", "loaded", "unloaded"),
    [
        ({}, {"FT_Extension", "CTr_DepressionRET"}, {"FT_Flexion", "CTr_LevationPRO"}),
        (ITF, {"FT_Flexion", "CTr_DepressionRET"}, {"FT_Extension", "CTr_LevationPRO"}),
        (ITF | ITB, {"FT_Flexion", "CTr_LevationPRO"}, {"FT_Extension", "CTr_DepressionRET"}),
    ],
    ids=["FWD", "ITF", "ITB"],
)
def test_load_promotes_what_section_7_4_5_3_predicts(
    changes: dict[int, object], loaded: set[str], unloaded: set[str]
) -> None:
    lifting = {"TC1_protractionDEP", "TC1_retractionLEV"}
    flexed = 135.0  # FTi extension "possibly only if FTi is flexed enough"; enough is 130 degrees in the turns.
    assert _promoted(changes, 2.0, flexed, 80.0) - lifting == loaded
    assert _promoted(changes, -2.0, flexed, 80.0) - lifting == unloaded


@pytest.mark.parametrize(
    ("changes", "flexed", "extended"),
    [
        ({}, "TC1_protractionDEP", "TC1_retractionLEV"),
        (ITF, "TC1_retractionLEV", "TC1_protractionDEP"),
        (ITF | ITB, "TC1_retractionLEV", "TC1_protractionDEP"),
    ],
    ids=["FWD", "ITF", "ITB"],
)
def test_tibia_angle_lowers_and_lifts_the_leg_as_the_behaviour_asks(
    changes: dict[int, object], flexed: str, extended: str
) -> None:
    thc1 = {"TC1_protractionDEP", "TC1_retractionLEV"}
    assert _promoted(changes, 0.0, 140.0, 80.0) & thc1 == {flexed}
    assert _promoted(changes, 0.0, 50.0, 80.0) & thc1 == {extended}


@pytest.mark.parametrize("changes", [ITF, ITF | ITB], ids=["ITF", "ITB"])
def test_turning_rules_overlap_only_where_the_femur_ends_stance(changes: dict[int, object]) -> None:
    m = shipped("lin_roach")
    low, high = 60.0, _number(changes, 104)
    for j in (joint(m, n) for n in ("Thorax-Coxa1", "Coxa-Trochanter", "Femur-Tibia")):
        for at, _ in overlaps(m, j, changes):
            assert j.name == "Thorax-Coxa1"
            assert at["FT_angle"] < low
            assert at["CTr_angle"] != high


def _number(changes: dict[int, object], hdso: int) -> float:
    data = changes[hdso]
    assert isinstance(data, tuple)
    return float(data[0])
