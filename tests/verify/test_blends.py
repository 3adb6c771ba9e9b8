"""Late nerves and actions that blend are computed; an engine that does otherwise is found where it first does."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from nuc_engine.control import grades
from nuc_engine.control.tasks.blending import Blend
from nuc_engine.control.tasks.dynamics import Dynamics
from nuc_engine.verify import verify_bout
from tests.engine.acting import bout, case, hdso, rule
from tests.engine.test_soft import EVERY_JOINT, WEIGHTS, widths
from tests.verify.seal import resummed
from tests.verify.test_acting import change_record, columns, first_difference, turned
from tests.verify.variants import Case

LOGS = ("SensData.txt", "StateData.txt", "MuscleData.txt")
LATE = (r'<muscle (?=[^>]*idNum="40[1356]")', '<muscle efferent_delay="nerve" ')
DYNAMICS = (r"</muscle>", '<activation_dynamics rise="rise" fall="fall"/></muscle>')


def delay(time_s: float, value: float) -> str:
    """Return a write of the delay, as an entry of a script."""
    return f'<hdsoMod idNum="150" NumElts="1" datatype="double" time="{time_s}">{value}</hdsoMod>'


HDSOS = (hdso(150, "nerve", 0.06), hdso(151, "rise", 0.04), hdso(152, "fall", 0.09))
SCRIPT = delay(0.2, 0.9) + delay(0.7, 0.2) + delay(1.1, 0) + delay(1.4, 0.031)
"""Delays that reach behind the start, that are none, and that are no whole periods of rules."""


def nerves(*, dynamics: bool = True) -> Case:
    """Return a bout whose muscles hear late, some of them, by a delay that changes in flight."""
    return case(LATE, *([DYNAMICS] if dynamics else []), hdsos=HDSOS, script=SCRIPT)


THIRD = (
    r'(?s)(<state name="CTr_DepressionRET".*?</state>)',
    lambda found: found[1] + _third(found[1]),
)
DWELL = (r'(idNum="20\d">(?:.|\n)*?<hdsoMod idNum=")194"', r'\g<1>196"')
CENTRAL = (
    r'(?s)(<transition_rule (?:(?!</transition_rule>).)*idNum="165"[^>]*/>.*?</transition_rule>)',
    r'\1<central rule="bend" hold="keep"/>',
)


def _third(state: str) -> str:
    """Return a third action of the joint, made of another one: entered by other rules, with other activations."""
    for old, new in (
        ("DepressionRET", "Third"),
        ('"204"', '"214"'),
        ('"164"', '"264"'),
        ('"127"', '"227"'),
        (">0.55<", ">0.3<"),
    ):
        state = state.replace(old, new)
    return state.replace("302 &gt; 102", "(302 &gt; 102) &amp; (307 &gt; 105) | (304 &lt; 305)")


def soft(*, dwell_ns: int = 60_000_000) -> Case:
    """Return a bout whose joints all switch softly, one of them between three actions; widths change in flight."""
    hdsos = (
        *widths(2.5, 40),
        hdso(196, "dwell", dwell_ns, "llint"),
        hdso(197, "keep", 130_000_000, "llint"),
        hdso(227, "pressed", 0.3),
        hdso(198, "long", 0.15),
        rule(264, "Enter_third", "191"),
        rule(265, "bend", "CTr_time &gt; long"),
    )
    signals = (
        *WEIGHTS,
        '<signal idNum="360" name="w_third" type="weight" of="CTr_Third"/>',
        '<signal idNum="361" name="CTr_time" type="time_in_action" of="Coxa-Trochanter"/>',
    )
    writes = ((150, 0.7, 4), (151, 1, 10), (150, 1.5, 0.8))
    script = "".join(
        f'<hdsoMod idNum="{number}" NumElts="1" datatype="double" time="{at}">{value}</hdsoMod>'
        for number, at, value in writes
    )
    return case(EVERY_JOINT, THIRD, DWELL, CENTRAL, hdsos=hdsos, signals=signals, script=script, seconds=3.0)


PACES = "".join(
    f'<hdsoMod idNum="{number}" NumElts="1" datatype="llint" time="{at}">{value}</hdsoMod>'
    for number, at, value in ((153, 0.5, 7_300_001), (153, 0.9, 1_000_000), (2, 1.2, 40_000_000), (153, 1.5, 3_000_000))
)


def paced(**more: Any) -> Case:
    """Return a bout with late nerves whose muscles have a period of their own; both periods change in flight."""
    own = (r"<jointlist ", '<jointlist muscle_period="pace" ')
    hdsos = (*HDSOS, hdso(153, "pace", 3_000_000, "llint"))
    return case(own, LATE, DYNAMICS, hdsos=hdsos, **{"script": PACES + SCRIPT, **more})


COSTS = {"costs": {"muscle_conversion": 3_500_000, "state_transition": 2_000_000}}
CASES = {"nerves": nerves(), "soft": soft(), "paced": paced()}


@pytest.mark.parametrize("clock", ["virtual", "real"])
@pytest.mark.parametrize(
    "given", [nerves(), soft(), nerves(dynamics=False), soft(dwell_ns=0)], ids=["nerves", "soft", "at once", "no dwell"]
)
def test_it_is_as_computed(given: Case, clock: str, tmp_path: Path) -> None:
    verdict = verify_bout(bout(given, tmp_path, clock))
    assert verdict.good, verdict.differences[:5]


@pytest.mark.parametrize(
    ("clock", "more"),
    [
        ("virtual", {"more": COSTS}),
        ("real", {"more": {"cost_ns": 100_000}}),
        ("real", {"more": {"cost_ns": 250_000}}),
        *((clock, more) for clock in ("virtual", "real") for more in ({}, {"shake": "missed"}, {"shake": "periods"})),
    ],
)
def test_a_period_of_muscles_is_as_computed(clock: str, more: dict[str, Any], tmp_path: Path) -> None:
    verdict = verify_bout(bout(paced(**more), tmp_path, clock))
    assert verdict.good, verdict.differences[:5]


def test_muscles_that_ran_otherwise_than_recorded_are_found(tmp_path: Path) -> None:
    """Before they were due, or not at all though they were."""
    folder = bout(paced(), tmp_path, "real")
    early, left_out = (Path(shutil.copytree(folder, tmp_path / name)) for name in ("early", "left_out"))

    def runs(records: list[Any]) -> list[int]:
        return [k for k, entry in enumerate(records) if entry[:2] == ["ran", "muscles"] and entry[2] > 300_000_000]

    def hurry(records: list[Any]) -> None:
        at = next(k for k in runs(records) if records[k - 1][2] < records[k][2] - 1)
        records[at][2] -= 1

    def leave_out(records: list[Any]) -> None:
        del records[runs(records)[0]]

    change_record(early, hurry)
    assert "time of muscles" in {each.column for each in verify_bout(early).differences}
    change_record(left_out, leave_out)
    assert {"order", "time"} <= {each.column for each in verify_bout(left_out).differences}


@pytest.fixture(scope="module")
def right(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """A bout of each; not to be changed."""
    return {name: bout(given, tmp_path_factory.mktemp("right")) for name, given in CASES.items()}


WRONG = {
    "no delay": ("nerves", ' efferent_delay="nerve"', ""),
    "a longer delay": ("nerves", "<initial_data>0.06<", "<initial_data>0.08<"),
    "another's delay": ("nerves", 'efferent_delay="nerve"', 'efferent_delay="rise"'),
    "no soft switching": ("soft", EVERY_JOINT[1].removeprefix(r"\1"), ""),
    "another width": ("soft", '<width of="302" hdso="load_width"/>', '<width of="302" hdso="angle_width"/>'),
    "a comparison without a width": ("soft", '<width of="302" hdso="load_width"/>', ""),
    "and for or": ("soft", "| (304 &lt; 305)", "&amp; (304 &lt; 305)"),
    "a dwell time that is not kept": ("soft", "<initial_data>60000000<", "<initial_data>0<"),
    "another's activation": ("soft", ">0.3</hdsoMod>", ">0.5</hdsoMod>"),
    "no central entry": ("soft", '<central rule="bend" hold="keep"/>', ""),
    "the period of the rules": ("paced", ' muscle_period="pace"', ""),
    "another period of muscles": ("paced", "<initial_data>3000000<", "<initial_data>4000000<"),
    "another's weight": ("soft", 'type="weight" of="CTr_Third"', 'type="weight" of="CTr_DepressionRET"'),
}
"""What an engine might do instead of what the documents say, as documents that say so."""


def assert_found_first(folder: Path, right: Path) -> None:
    """The first record that is not as in the right bout is named; later ones can differ since the leg moved."""
    verdict = verify_bout(folder)
    assert not verdict.changed_files
    _, log, record = min(filter(None, (first_difference(right / each, folder / each) for each in LOGS)))
    found = [each.record for each in verdict.differences if each.file == log]
    assert min(found, default=0) == record, verdict.differences[:3]


@pytest.mark.parametrize("what", WRONG)
def test_an_engine_that_does_otherwise_is_found_at_its_first_record(
    what: str, right: dict[str, Path], tmp_path: Path
) -> None:
    name, old, new = WRONG[what]
    folder = bout(turned(CASES[name], old, new), tmp_path)
    for document in ("joints.xml", "parameters.xml", "sensors.xml"):
        shutil.copy(right[name] / document, folder / document)
    resummed(folder)
    assert_found_first(folder, right[name])


def test_the_bout_has_what_is_to_be_blended(right: dict[str, Path]) -> None:
    at = columns(right["soft"])["SensData.txt"].index("w_CTr_LevationPRO")
    rows = np.loadtxt(right["soft"] / "SensData.txt")
    third = columns(right["soft"])["SensData.txt"].index("w_third")
    assert (rows[:, [at, at + 1, third]] > 0.1).all(axis=1).any()
    assert " forced_switch " in (right["soft"] / "Infolog.txt").read_text()


_ramp, _take = grades.__dict__["_ramp"], Blend.take


def _gives_way(blend: Blend, current: int, *, kept: bool) -> int:
    leads = _take(blend, current, kept=False)
    return -1 if kept else leads


MUTANTS: dict[str, tuple[str, object, str, Callable[..., object]]] = {
    "nothing arrives between rules": ("paced", Dynamics, "advance", lambda *_: None),
    "a steeper line": ("soft", grades, "_ramp", lambda above, width: _ramp(2.0 * above, width)),
    "claims that are not made less": ("soft", Blend, "_claims", lambda blend, _current: dict(blend._degrees)),
    "a leading action that gives way": ("soft", Blend, "take", _gives_way),
}


@pytest.mark.parametrize("what", MUTANTS)
def test_a_mutant_of_the_engine_is_found_at_its_first_record(
    what: str, right: dict[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    name, where, method, mutant = MUTANTS[what]
    monkeypatch.setattr(where, method, mutant)
    assert_found_first(bout(CASES[name], tmp_path), right[name])


@pytest.mark.parametrize(
    ("name", "log", "column"),
    [
        ("nerves", "StateData.txt", "Femur-Tibia.activation[0]"),
        ("soft", "StateData.txt", "Coxa-Trochanter.activation[1]"),
        ("soft", "SensData.txt", "w_third"),
        ("paced", "MuscleData.txt", "Tibia_Flexor.force"),
    ],
)
def test_a_number_that_was_forged_is_named(
    name: str, log: str, column: str, right: dict[str, Path], tmp_path: Path
) -> None:
    forged = Path(shutil.copytree(right[name], tmp_path / "bout"))
    lines = (forged / log).read_text().splitlines()
    at = columns(forged)[log].index(column)
    words = lines[40].split()
    lines[40] = " ".join([*words[:at], "0.654321", *words[at + 1 :]])
    (forged / log).write_text("\n".join(lines) + "\n")
    resummed(forged)
    (found,) = verify_bout(forged).differences
    assert (found.file, found.record, found.column, found.found) == (log, 41, column, "0.654321")
