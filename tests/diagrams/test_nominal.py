"""Global states by the rules alone, beside the dissertation's figures."""

import pytest

from nuc_engine.figures.diagrams.nominal import Nominal, nominal
from nuc_engine.figures.diagrams.wiring import Wiring
from tests.diagrams.legs import FWD_S, ITB_S, ITF_S, changed, leg, names

DEP, LEV, PRO, RET, EXT, FLX = (
    "protractionDEP",
    "retractionLEV",
    "LevationPRO",
    "DepressionRET",
    "Extension",
    "Flexion",
)

FIGURE_7_12 = [(DEP, RET, EXT), (LEV, RET, EXT), (LEV, PRO, FLX), (DEP, PRO, FLX)]
FIGURE_7_14 = [(DEP, RET, FLX), (LEV, RET, FLX), (LEV, PRO, EXT), (DEP, PRO, EXT)]
FIGURE_7_16 = [(DEP, PRO, FLX), (LEV, PRO, FLX), (LEV, RET, EXT), (DEP, RET, EXT)]
FIGURE_4_18 = [
    ("retraction", "Depression"),
    ("retraction", "Levation"),
    ("protraction", "Levation"),
    ("protraction", "Depression"),
]


def turned(cycle: list, first: tuple) -> list:
    """The same cycle from another state on."""
    at = cycle.index(first)
    return cycle[at:] + cycle[:at]


def cycle_of(wiring: Wiring, found: Nominal) -> list:
    return [names(wiring, state) for state in found.cycle]


def test_forward_stepping_has_the_cycle_of_figure_7_12():
    wiring = leg("lin_roach", "experiment_a", FWD_S)
    found = nominal(wiring)
    assert turned(cycle_of(wiring, found), FIGURE_7_12[0]) == FIGURE_7_12
    pairs = {(names(wiring, t.begin), names(wiring, t.end)) for t in found.transitions if found.in_cycle(t)}
    assert pairs == set(zip(FIGURE_7_12, FIGURE_7_12[1:] + FIGURE_7_12[:1], strict=True))


@pytest.mark.parametrize(("at_s", "figure"), [(ITF_S, FIGURE_7_14), (ITB_S, FIGURE_7_16)])
def test_the_turns_go_through_the_states_of_the_figures_in_order_and_through_two_more(at_s, figure):
    """Where the tibia has to be flexed further than the angle that lifts the leg, it extends later than load goes."""
    wiring = leg("lin_roach", "experiment_a", at_s)
    cycle = turned(cycle_of(wiring, nominal(wiring)), figure[0])
    assert [state for state in cycle if state in figure] == figure
    assert len(cycle) == len(figure) + 2


def test_backward_turn_is_the_forward_cycle_run_backwards():
    assert turned(FIGURE_7_16[::-1], FIGURE_7_12[0]) == FIGURE_7_12


def test_the_minimal_stepper_has_the_progression_of_figure_4_18():
    wiring = leg("lin_stickmiddle_minimal")
    found = nominal(wiring)
    assert turned([state[:2] for state in cycle_of(wiring, found)], FIGURE_4_18[0]) == FIGURE_4_18
    assert {state[2] for state in cycle_of(wiring, found)} == {"Extension"}


def test_swing_to_stance_of_the_stick_insect_is_that_of_figure_4_7():
    wiring = leg("null_stickmiddle")
    found = nominal(wiring)
    swing, set_down, stance = (
        ("protraction", "Levation", "Extension"),
        ("protraction", "Depression", "Extension"),
        ("retraction", "Depression", "Flexion"),
    )
    assert turned(cycle_of(wiring, found), swing)[:3] == [swing, set_down, stance]


def test_a_third_action_stands_between_extension_and_stance():
    wiring = leg("pc_stickmiddle")
    cycle = cycle_of(wiring, nominal(wiring))
    assert ("protraction", "Depression", "Extension2") in cycle
    assert ("protraction", "Depression", "Extension") not in cycle


def test_transitions_name_the_events_that_cause_them():
    wiring = leg("lin_roach")
    found = nominal(wiring)
    causes = {
        (names(wiring, t.begin), names(wiring, t.end)): [limit.text for limit in t.causes]
        for t in found.transitions
        if found.in_cycle(t)
    }
    assert causes == {
        (FIGURE_7_12[0], FIGURE_7_12[1]): ["FT_angle < 60", "CTr_angle < 70"],
        (FIGURE_7_12[1], FIGURE_7_12[2]): ["TC1_current < 0"],
        (FIGURE_7_12[2], FIGURE_7_12[3]): ["FT_angle > 120"],
        (FIGURE_7_12[3], FIGURE_7_12[0]): ["TC1_current > 0.01"],
    }


def test_own_limits_are_kept_apart():
    wiring = leg("lin_roach")
    own = [t for t in nominal(wiring).transitions if t.own_limit]
    assert own
    for transition in own:
        assert all(limit.sense.name == "FT_angle" for limit in transition.causes)
        assert names(wiring, transition.begin)[2] != names(wiring, transition.end)[2]


def test_different_thresholds_for_one_event_give_a_state_in_between():
    # Unloading first swings the femur forward, and flexes the tibia only when it is stronger.
    wiring = changed("lin_roach", {"FT_flux_TC1_load": -2.0})
    cycle = cycle_of(wiring, nominal(wiring))
    assert turned(cycle, FIGURE_7_12[0]) == [*FIGURE_7_12[:2], (LEV, PRO, EXT), *FIGURE_7_12[2:]]


def test_a_leg_that_can_not_leave_stance_has_no_cycle():
    wiring = changed("lin_roach", {162: "FT_angle > TC1_proDEP_FTang"})
    found = nominal(wiring)
    assert found.cycle == ()
    assert found.stop is not None
    assert names(wiring, found.stop) == (DEP, RET, EXT)
    assert not any(found.in_cycle(t) for t in found.transitions)


ITF_TIBIA: dict[int | str, str | float] = {
    165: "(TC1_current < FT_flux_TC1_load) & (FT_angle > FT_ext_FTang)",
    166: "(TC1_current > FT_ext_TC1_load) | (FT_angle < FT_flux_FTang)",
}
ITF_COXA: dict[int | str, str | float] = {
    161: "FT_angle < TC1_retLEV_FTang",
    162: "(FT_angle > TC1_proDEP_FTang) | (CTr_angle < TC1_retLEV_CTang)",
    "TC1_retLEV_FTang": 108.0,
    "TC1_proDEP_FTang": 115.0,
    "TC1_retLEV_CTang": 45.0,
}


@pytest.mark.parametrize("half", [ITF_TIBIA, ITF_COXA])
def test_either_half_of_the_turn_alone_has_no_cycle(half):
    # Section 7.4.4.4: none of the halves produced a cyclic behaviour.
    found = nominal(changed("lin_roach", half))
    assert found.cycle == ()
    assert found.stop is not None


def test_both_halves_together_turn():
    wiring = changed("lin_roach", {**ITF_TIBIA, **ITF_COXA})
    assert turned(cycle_of(wiring, nominal(wiring)), FIGURE_7_14[0]) == FIGURE_7_14


def test_muscles_that_pull_the_other_way_turn_the_prediction():
    # With a flexor stronger than the extensor, the tibia never extends as far as lifting the leg waits for.
    tibia_alone: dict[int | str, str | float] = {162: "FT_angle < TC1_retLEV_FTang"}
    assert nominal(changed("lin_roach", tibia_alone)).cycle
    flexor = {"FT_extension_flexor_activation": 1.0, "FT_extension_extensor_activation": 0.01}
    assert not nominal(changed("lin_roach", {**tibia_alone, **flexor})).cycle
