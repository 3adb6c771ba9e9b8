"""Where a leg with a sensor cut ends up by its rules alone, against what benchmarks/lesions.toml has by hand."""

import tomllib
from pathlib import Path

import pytest

from nuc_engine.bout.run import prepare_bout
from nuc_engine.experiments.catalogue.rules_alone import ends
from nuc_engine.figures.diagrams.wiring import Wiring, wiring_at

BY_HAND = tomllib.loads((Path(__file__).parents[2] / "benchmarks/lesions.toml").read_text())["predictions"]
AT_S = {"FWD": 19.0, "ITF": 39.0, "ITB": 59.0}
STATES = [
    ("TC1_protractionDEP", "CTr_LevationPRO", "FT_Flexion"),
    ("TC1_protractionDEP", "CTr_DepressionRET", "FT_Extension"),
    ("TC1_retractionLEV", "CTr_LevationPRO", "FT_Flexion"),
    ("TC1_retractionLEV", "CTr_DepressionRET", "FT_Extension"),
]


def wiring(leg: str) -> Wiring:
    prepared = prepare_bout("lin_roach", "experiment_a")
    return wiring_at(prepared.model, prepared.plan, prepared.changesets, AT_S[leg], leg)


def told(leg: str, state: tuple[str, ...], cut: dict[str, float]) -> list[tuple[set[str], ...]]:
    system = wiring(leg)
    index = {action.name: action.index for module in system.modules for action in module.actions}
    name = {number: text for text, number in index.items()}
    sensed = {"TC1_current": 5.0 if state[0].endswith("DEP") else -5.0, "CTr_angle": 90.0, "FT_angle": 100.0}
    found = ends(system, tuple(index[each] for each in state), sensed, cut)
    return [tuple({name[each] for each in own} for own in end) for end in found.ends]


@pytest.mark.parametrize("leg", AT_S)
def test_without_a_cut_the_leg_goes_on_in_all_actions(leg: str) -> None:
    (end,) = told(leg, STATES[1], {})
    assert [len(own) for own in end] == [2, 2, 2]


@pytest.mark.parametrize("said", [each for each in BY_HAND if each["lesion"] == "load silenced"], ids=str)
def test_a_leg_that_senses_no_load_ends_where_it_was_said_by_hand(said: dict) -> None:
    for state in STATES:
        if set(said["given"]) <= set(state):
            (end,) = told(said["leg"], state, {"TC1_current": 0.0})
            if said["kind"] == "stuck":
                assert [{each} for each in said["state"]] == list(end)
            else:
                assert len(end[0]) == 2
                assert [len(own) for own in end[1:]] == [1, 1]


def test_what_the_rules_leave_open_is_several_ends() -> None:
    # Extension goes on in the air: nothing but load, which is not sensed, or 50 degrees would end it.
    found = told("ITF", STATES[3], {"FT_angle": 100.0})
    assert ({"TC1_retractionLEV"}, {"CTr_LevationPRO"}, {"FT_Extension"}) in found
