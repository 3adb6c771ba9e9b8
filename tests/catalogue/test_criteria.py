"""What the shipped criteria say of made-up bouts: rows of the cockroach leg, and of the leg with the joint fixed."""

from __future__ import annotations

import math

import pytest

from nuc_engine.analysis.outcome import CYCLIC, Outcome
from tests.catalogue.seen import every, judge, observe, outcome, row_of, steps

INTERIM = {"interim": "stuck", "after_kick_1": "chattering", "after_kick_2": "irregular"}
DRAGGED = outcome("dragging cycle", resembles=("ITB", "backward"))
DIES = steps(every(0.2, 16.0) + every(25.4, 45.0))
GOES_ON = steps(every(0.0, 65.0))
WANTED: dict[str, dict[str, str | Outcome]] = {
    "A": {"FWD": "FWD", "ITF": "ITF", "ITB": "ITB"},
    "B": {"FWD": "FWD", "ITB": "ITB"},
    "D1 literal": {"FWD": "FWD", **INTERIM},
    "D1 commuting": {"FWD": "FWD", **INTERIM},
    "D2 literal": {"FWD": "FWD", "final": "ITB"},
    "Fa": {"FWD": "FWD", **INTERIM, "final": "ITF"},
    "Fb": {"FWD": "FWD", **INTERIM, "final": "ITF"},
    "Ga": {"FWD": "FWD", "early": "dragging cycle", "brought": "ITF", "final": "ITF"},
    "Gb": {"FWD": "FWD", "final": "ITF"},
    "Gc": {"FWD": "FWD", "late": "stuck", "final": "ITF"},
    "Ea": {"ITF": "ITF", "early": DRAGGED, "final": "ITB"},
    "Eb": {"ITF": "ITF", "early": "ITF", "final": "ITB"},
    "Ec": {"ITF": "ITF", "late": "unnamed cycle", "final": "ITB"},
    "disconnect": {"whole": outcome("sideways", cycle_s=1.0), "apart": "stuck", "final": "sideways"},
}
FOUND = {"Gb": GOES_ON, "Gc": DIES, "Ec": GOES_ON}


@pytest.mark.parametrize("name", WANTED)
def test_what_is_asked_for_is_as_seen_and_without_its_beginning_a_failed_start(name: str) -> None:
    finding = judge(name, FOUND.get(name), **WANTED[name])
    assert (finding.ok, finding.started, finding.reasons) == (True, True, ())
    before = next(iter(WANTED[name]))
    failed = judge(name, FOUND.get(name), **WANTED[name] | {before: "stuck"})
    assert not failed.started
    assert failed.reasons[0].startswith(f"{before}: stuck, expected")


@pytest.mark.parametrize(
    ("name", "window", "kinds"),
    [
        *((name, window, CYCLIC) for name in ("D1 literal", "D1 commuting") for window in INTERIM),
        *((name, window, (*CYCLIC, "dragging cycle", "air stepping")) for name in ("Fa", "Fb") for window in INTERIM),
        ("A", "ITF", ("FWD", "backward", "dragging cycle", "stuck", "irregular")),
        ("A", "ITB", ("ITF", "stuck")),
        ("B", "ITB", ("ITF",)),
        ("D2 literal", "final", ("backward", "stuck")),
        ("Fa", "final", ("FWD", "stuck")),
        ("Ga", "early", ("FWD", "ITF", "backward", "unnamed cycle")),
        ("Ga", "brought", ("unnamed cycle", "irregular")),
        ("Gb", "final", ("FWD", "stuck")),
        ("Gc", "late", ("unnamed cycle", "dragging cycle", "air stepping", outcome("irregular", foot_steps=True))),
        ("Gc", "final", ("stuck",)),
        ("Ea", "early", (outcome("dragging cycle", resembles=("ITF",)), "backward", "ITB", "stuck")),
        ("Ea", "final", ("backward",)),
        ("Eb", "early", ("dragging cycle",)),
        ("Eb", "final", ("ITF",)),
        ("Ec", "final", ("ITF",)),
        ("disconnect", "final", ("stuck",)),
        *(("disconnect", "apart", (outcome(kind, cycle_s=1.1),)) for kind in ("sideways", "air stepping")),
    ],
)
def test_something_else_in_a_window_is_refused(name: str, window: str, kinds: tuple[str | Outcome, ...]) -> None:
    for kind in kinds:
        finding = judge(name, FOUND.get(name), **WANTED[name] | {window: kind})
        assert (finding.ok, finding.started) == (False, True), kind
        assert finding.reasons[0].startswith(window.replace("_", " "))


@pytest.mark.parametrize(
    ("name", "window", "kinds"),
    [
        ("D1 literal", "interim", ("dragging cycle", "air stepping", "irregular")),
        ("Ga", "early", ("irregular", "chattering", "stuck", "air stepping")),
        ("Gc", "late", ("chattering", "irregular")),
        ("Ec", "late", ("dragging cycle", outcome("ITF", inward_cm=3.9), outcome("irregular", inward_cm=3.9))),
        ("Ec", "late", (outcome("irregular", steps=0, inward_cm=math.nan),)),
        ("disconnect", "apart", (outcome("chattering", cycle_s=1.0), outcome("air stepping", cycle_s=0.7))),
    ],
)
def test_what_a_window_may_be_as_well(name: str, window: str, kinds: tuple[str | Outcome, ...]) -> None:
    for kind in kinds:
        assert judge(name, FOUND.get(name), **WANTED[name] | {window: kind}).ok, kind


@pytest.mark.parametrize("name", ["D1 literal", "Fa"])
def test_a_foot_that_steps_refutes_that_it_does_not(name: str) -> None:
    finding = judge(name, **WANTED[name] | {"after_kick_1": outcome("chattering", foot_steps=True)})
    assert finding.reasons == ("after kick 1: chattering, but the foot steps (10 steps of 0.70 s)",)
    assert finding.numbers["parts of the interim with stepping"] == 1
    assert finding.settled


@pytest.mark.parametrize(
    ("name", "shown", "asked"),
    [
        ("A", {"FWD": "FWD", "ITF": "FWD", "ITB": "FWD"}, WANTED["A"]),
        ("B", {"FWD": "FWD", "ITB": "ITF"}, WANTED["B"]),
        ("D1 literal", {"FWD": "FWD", **dict.fromkeys(INTERIM, "ITF")}, WANTED["D1 literal"]),
        ("D2 literal", {"FWD": "FWD", "final": "chattering"}, WANTED["D2 literal"]),
        ("Fa", {"FWD": "FWD", **dict.fromkeys(INTERIM, "ITF"), "final": "ITF"}, WANTED["Fa"]),
        ("Ga", {"FWD": "FWD", "early": "ITF", "brought": "ITF", "final": "ITF"}, WANTED["Ga"]),
        ("Gb", {"FWD": "FWD", "final": "FWD"}, WANTED["Gb"]),
        ("Ea", {"ITF": "ITF", "early": "ITF", "final": "ITB"}, WANTED["Ea"]),
        ("Eb", {"ITF": "ITF", "early": "dragging cycle", "final": "ITB"}, WANTED["Eb"]),
        ("Ec", {"ITF": "ITF", "late": "ITF", "final": "ITB"}, WANTED["Ec"]),
        (
            "disconnect",
            dict.fromkeys(("whole", "apart", "final"), outcome("sideways", cycle_s=1.0)),
            WANTED["disconnect"],
        ),
    ],
)
def test_a_control_fails_by_what_it_shows_and_not_whatever_it_does(name: str, shown: dict, asked: dict) -> None:
    found = {"Gb": steps(every(0.2, 25.0))}.get(name, FOUND.get(name))
    assert not judge(name, found, control=True, **shown).ok
    assert judge(name, found, control=True, **asked).ok


@pytest.mark.parametrize(
    ("kicks_s", "brought", "final", "ok"),
    [
        ((), "ITF", "ITF", True),
        ((), "irregular", "ITF", False),
        ((4.0,), "irregular", "ITF", False),
        ((24.0,), "irregular", "ITF", True),
        ((4.0, 24.0, 29.0), "stuck", "ITF", True),
        ((24.0,), "ITF", "stuck", False),
    ],
)
def test_ga_wants_the_change_itself_to_bring_itf_unless_the_leg_was_kicked_after_it(
    kicks_s: tuple[float, ...], brought: str, final: str, ok: bool
) -> None:
    row = row_of("Ga")
    kinds = {"FWD": "FWD", "early": "stuck", "brought": brought, "final": final}
    (plan,) = row.bouts
    assert row.criterion({plan.label: observe(plan, kinds, found=GOES_ON, kicks_s=kicks_s)}).ok is ok


def test_short_sequences_of_the_interim_are_counted_and_do_not_count_against_it() -> None:
    sequence = steps([21.0, 21.7, 22.4, *every(28.0, 29.0), 35.0])
    finding = judge("D1 literal", sequence, **WANTED["D1 literal"])
    assert finding.ok
    assert finding.numbers["parts of the interim with a sequence of steps"] == 1


def test_gb_allows_a_rough_patch_of_four_seconds() -> None:
    longest = "longest time without a lift-off (s)"
    patch = judge("Gb", steps(every(0.2, 15.0) + every(18.5, 45.0)), **WANTED["Gb"])
    assert patch.ok
    assert 3.5 < patch.numbers[longest] < 4.0
    longer = judge("Gb", steps(every(0.2, 14.0) + every(18.5, 45.0)), **WANTED["Gb"])
    assert not longer.ok
    assert longer.reasons == ("change: 5.0 s without a lift-off, expected at most 4 s",)


@pytest.mark.parametrize(
    ("lift_offs", "why"),
    [
        (every(0.2, 45.0), "does not die out"),
        (every(0.2, 11.9) + every(25.4, 45.0), "dies out at 1"),
        (every(0.2, 12.6) + every(25.4, 45.0), "dies out at 12.1"),
        (every(0.2, 19.7) + every(25.4, 45.0), "dies out at 1"),
        ([*every(0.2, 15.0), 18.0, 20.5, 23.0, *every(25.4, 45.0)], "after walking died out"),
    ],
)
def test_gc_is_walking_that_dies_half_way_and_comes_back(lift_offs: list[float], why: str) -> None:
    finding = judge("Gc", steps(lift_offs), **WANTED["Gc"])
    assert why in finding.reasons[0]
    died = judge("Gc", DIES, **WANTED["Gc"]).numbers["walking dies out after (s of the gradual change)"]
    assert died == pytest.approx(5.6, abs=0.4)


def test_ec_goes_on_by_cycles_of_the_joint_but_becomes_useless() -> None:
    dragging = steps(lift_offs=every(20.0, 32.0), minima=every(20.0, 65.0))
    assert judge("Ec", dragging, **WANTED["Ec"]).ok
    stopped = judge("Ec", steps(every(20.0, 41.0) + every(45.5, 65.0)), **WANTED["Ec"])
    assert "without a ThC cycle before the rules change" in stopped.reasons[0]
    for kind in ("ITF", "irregular"):
        sound = judge("Ec", GOES_ON, **WANTED["Ec"] | {"late": outcome(kind, inward_cm=4.1)})
        assert sound.reasons[0].startswith(f"late: {kind}, with 51% of the inward travel")
    assert not judge("Ec", GOES_ON, **WANTED["Ec"] | {"late": outcome("ITF", inward_cm=math.nan)}).ok


def test_kicks_after_the_leg_was_put_together_make_it_trapped() -> None:
    row = row_of("disconnect")
    (plan,) = row.bouts
    for kicks_s, trapped in (((), 0), ((4.0,), 0), ((4.0, 40.0), 1)):
        numbers = row.criterion({plan.label: observe(plan, WANTED["disconnect"], kicks_s=kicks_s)}).numbers
        assert numbers["trapped until kicked (share)"] == trapped
        assert numbers["kicks after the leg was put together"] == trapped


@pytest.mark.parametrize("control", [False, True])
def test_raised_is_sideways_at_every_height(control: bool) -> None:
    row = row_of("restricted raised")
    (plan,) = row.control.bouts if control else row.bouts
    first, *others = (window.name for window in plan.windows)
    kinds = dict.fromkeys((first, *others), "sideways")
    assert row.criterion({plan.label: observe(plan, kinds)}).ok
    for name in others:
        finding = row.criterion({plan.label: observe(plan, kinds | {name: "air stepping"})})
        assert (finding.ok, finding.started) == (False, True)
        assert finding.reasons[0].startswith(f"{name}: air stepping")
    assert not row.criterion({plan.label: observe(plan, kinds | {first: "stuck"})}).started


@pytest.mark.parametrize("name", ["restricted heights", "restricted starts"])
@pytest.mark.parametrize("control", [False, True])
def test_heights_and_starts_need_every_bout(name: str, control: bool) -> None:
    row = row_of(name)
    bouts = row.control.bouts if control else row.bouts
    seen = {plan.label: observe(plan, {"stepping": "sideways"}) for plan in bouts}
    assert row.criterion(seen).ok
    for plan in bouts:
        finding = row.criterion(seen | {plan.label: observe(plan, {"stepping": "chattering"})})
        assert finding.reasons[0].startswith(f"{plan.label}: stepping: chattering")
