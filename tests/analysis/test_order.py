"""The order of a step's events, on steps whose order is known."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from nuc_engine.analysis.order import step_order
from nuc_engine.analysis.steps import detect_steps
from nuc_engine.analysis.tracks import LegTracks
from tests.analysis.synthetic import DEP, EXT, FLX, FWD, LEV, PRO_CTR, RET_CTR, leg, with_module

PERIOD_S, STEP_S = 1.0, 0.025


def at_phases(**begins: dict[int, float]) -> LegTracks:
    """Steps of exactly one second, lift-off at whole seconds, touch-down at 0.55; actions begin at the given phases."""
    tracks = leg(replace(FWD, period_s=PERIOD_S))
    for role, phases in begins.items():
        order = sorted(phases, key=phases.__getitem__)
        edges = [phases[code] for code in order]
        phase = (tracks.t_state_s + 1e-9) % PERIOD_S
        action = np.array(order)[(np.searchsorted(edges, phase, side="right") - 1) % len(order)]
        tracks = with_module(tracks, role, action=action)
    return tracks


def order_of(tracks: LegTracks) -> dict[str, float]:
    return {event.what: event.phase for event in step_order(tracks, detect_steps(tracks))}


KNOWN = {"ThC": {LEV: 0.9, DEP: 0.4}, "CTr": {PRO_CTR: 0.2, RET_CTR: 0.6}, "FTi": {FLX: 0.1, EXT: 0.5}}


def test_events_come_in_the_order_in_which_they_happen() -> None:
    phases = order_of(at_phases(**KNOWN))
    assert list(phases) == [
        "lift-off",
        "FT_Flexion",
        "CTr_LevationPRO",
        "TC1_protractionDEP",
        "FT_Extension",
        "touch-down",
        "CTr_DepressionRET",
        "TC1_retractionLEV",
    ]
    assert list(phases.values()) == pytest.approx([0.0, 0.1, 0.2, 0.4, 0.5, 0.55, 0.6, 0.9], abs=STEP_S)


def test_what_begins_shortly_before_lift_off_is_averaged_on_the_circle() -> None:
    """Every other flexion begins at 0.9 and lasts: it is the longest one of its own step (phase 0.9), and of the step
    after it too (phase -0.1)."""
    tracks = at_phases(**KNOWN)
    brief, lasting = at_phases(FTi={FLX: 0.6, EXT: 0.05}), at_phases(FTi={FLX: 0.9, EXT: 0.45})
    second = np.floor(tracks.t_state_s + 0.5).astype(int) % 2 == 0
    action = np.where(second, brief.module("FTi").action, lasting.module("FTi").action)
    assert order_of(with_module(tracks, "FTi", action=action))["FT_Flexion"] == pytest.approx(0.9, abs=STEP_S)


def test_chatter_does_not_hide_the_order() -> None:
    tracks = at_phases(**KNOWN)
    action = tracks.module("FTi").action.copy()
    phase = (tracks.t_state_s + 1e-9) % PERIOD_S
    action[(phase >= 0.3) & (phase < 0.3 + STEP_S)] = EXT
    assert order_of(with_module(tracks, "FTi", action=action))["FT_Extension"] == pytest.approx(0.5, abs=STEP_S)


def test_modules_and_actions_that_do_not_alternate_are_left_out() -> None:
    tracks = at_phases(**KNOWN)
    held = with_module(tracks, "FTi", action=np.full_like(tracks.module("FTi").action, FLX))
    assert "FT_Extension" not in order_of(held)
    single = with_module(held, "FTi", actions=(FLX,), action_names=("FT_Flexion",))
    assert not {"FT_Extension", "FT_Flexion"} & set(order_of(single))
