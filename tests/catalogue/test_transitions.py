from __future__ import annotations

import pytest

from nuc_engine.analysis.outcome import Outcome
from nuc_engine.experiments.catalogue.parts import BOUT
from nuc_engine.experiments.catalogue.subsets import EXPERIMENT_FA, EXPERIMENT_FB
from nuc_engine.experiments.catalogue.transitions import EXPERIMENT_A, EXPERIMENT_B, EXPERIMENT_D1, EXPERIMENT_D2
from nuc_engine.experiments.protocol import Finding, Row
from tests.catalogue.seen import observe, outcome

STEPPING = ("FWD", "ITF", "ITB", "stick", "sideways", "backward", "unnamed cycle")
A, B = EXPERIMENT_A.rows[0], EXPERIMENT_B.rows[0]
LITERAL, COMMUTING = EXPERIMENT_D1.rows
D2 = EXPERIMENT_D2.rows[0]
INTERIM = ("interim", "after kick 1", "after kick 2")


def judge(row: Row, control: bool = False, **kinds: str | Outcome) -> Finding:
    plan = (row.control.bouts if control else row.bouts)[0]
    return row.criterion({BOUT: observe(plan, {name.replace("_", " "): kind for name, kind in kinds.items()})})


def test_a_is_all_three_in_order() -> None:
    finding = judge(A, FWD="FWD", ITF="ITF", ITB="ITB")
    assert finding.ok
    assert finding.started
    assert not finding.reasons
    assert finding.numbers["ITB step period (s)"] == 0.7


@pytest.mark.parametrize("window", ["ITF", "ITB"])
@pytest.mark.parametrize("kind", ["FWD", "backward", "dragging cycle", "stuck", "irregular"])
def test_a_is_not_seen_when_a_turn_is_something_else(window: str, kind: str) -> None:
    finding = judge(A, **({"FWD": "FWD", "ITF": "ITF", "ITB": "ITB"} | {window: kind}))
    assert not finding.ok
    assert finding.started
    assert finding.reasons == (f"{window}: {kind}, expected {window} (measured against bound)",)


def test_a_turn_without_walking_before_it_is_a_failed_start() -> None:
    for row, kinds in ((A, {"ITF": "ITF", "ITB": "ITB"}), (B, {"ITB": "ITB"}), (LITERAL, {}), (D2, {"final": "ITB"})):
        finding = judge(row, FWD="chattering", **kinds)
        assert not finding.started
        assert not finding.ok
        assert finding.reasons[0].startswith("FWD: chattering")


def test_b_is_itb_after_fwd() -> None:
    assert judge(B, FWD="FWD", ITB="ITB").ok
    assert not judge(B, FWD="FWD", ITB="ITF").ok


@pytest.mark.parametrize("row", [LITERAL, COMMUTING], ids=lambda row: row.name)
def test_d1_is_no_stepping_in_any_part(row: Row) -> None:
    assert judge(row, FWD="FWD", interim="chattering", after_kick_1="stuck", after_kick_2="dragging cycle").ok
    for part in INTERIM:
        for kind in STEPPING:
            finding = judge(row, **({"FWD": "FWD"} | {part.replace(" ", "_"): kind}))
            assert not finding.ok, (part, kind)
            assert finding.numbers["parts of the interim with stepping"] == 1


@pytest.mark.parametrize("row", [LITERAL, EXPERIMENT_FA.rows[0]], ids=["D1", "Fa"])
@pytest.mark.parametrize("kind", ["irregular", "chattering"])
def test_a_foot_that_steps_refutes_that_it_does_not(row: Row, kind: str) -> None:
    for part in INTERIM:
        here = {"FWD": "FWD", "interim": kind, "final": "ITF"}
        given = {name: one for name, one in here.items() if row is not LITERAL or name != "final"}
        assert judge(row, **given).ok
        finding = judge(row, **(given | {part.replace(" ", "_"): outcome(kind, foot_steps=True)}))
        assert not finding.ok
        assert finding.reasons == (f"{part}: {kind}, but the foot steps (10 steps of 0.70 s)",)
        assert finding.numbers["parts of the interim with stepping"] == 1


def test_d2_asks_for_the_end_alone() -> None:
    assert judge(D2, FWD="FWD", interim="ITF", final="ITB").ok
    assert not judge(D2, FWD="FWD", interim="stuck", final="backward").ok


@pytest.mark.parametrize("row", [EXPERIMENT_FA.rows[0], EXPERIMENT_FB.rows[0]], ids=lambda row: row.name)
def test_f_is_no_cycle_between_and_itf_in_the_end(row: Row) -> None:
    assert judge(row, FWD="FWD", interim="stuck", after_kick_1="chattering", final="ITF").ok
    assert not judge(row, FWD="FWD", interim="stuck", final="FWD").ok
    for part in INTERIM:
        for kind in (*STEPPING, "dragging cycle", "air stepping"):
            assert not judge(row, **({"FWD": "FWD", "final": "ITF"} | {part.replace(" ", "_"): kind})).ok, (part, kind)
    assert not judge(row, FWD="stuck", final="ITF").started


def test_what_the_controls_are_expected_to_show_is_refused() -> None:
    assert not judge(A, control=True, FWD="FWD", ITF="FWD", ITB="FWD").ok
    assert not judge(B, control=True, FWD="FWD", ITB="ITF").ok
    turn = {"FWD": "FWD", "interim": "ITF", "after_kick_1": "ITF", "after_kick_2": "ITF"}
    assert not judge(LITERAL, control=True, **turn).ok
    assert not judge(D2, control=True, FWD="FWD", final="chattering").ok
    assert not judge(EXPERIMENT_FA.rows[0], control=True, final="ITF", **turn).ok


def test_controls_that_did_what_is_asked_for_would_pass() -> None:
    """Otherwise they would fail whatever the leg does, and be no controls."""
    assert judge(A, control=True, FWD="FWD", ITF="ITF", ITB="ITB").ok
    assert judge(B, control=True, FWD="FWD", ITB="ITB").ok
    assert judge(LITERAL, control=True, FWD="FWD").ok
    assert judge(D2, control=True, FWD="FWD", final="ITB").ok
    assert judge(EXPERIMENT_FA.rows[0], control=True, FWD="FWD", final="ITF").ok
