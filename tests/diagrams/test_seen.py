"""Global states of a recorded bout, against sequences counted by hand."""

from dataclasses import replace

import numpy as np
import pytest

from nuc_engine.analysis.errors import AnalysisError
from nuc_engine.figures.diagrams.seen import Passage, count_states, global_states
from tests.analysis import synthetic

A, B, C = (0, 2), (1, 2), (1, 3)


def test_stays_and_passages_of_a_short_sequence():
    # 0.0 A A B | 0.3 C B A A | until 0.8: A 0-0.2, B 0.2-0.3, C 0.3-0.4, B 0.4-0.5, A 0.5-0.8.
    times = np.array([0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6])
    seen = count_states(times, [A, A, B, C, B, A, A], 0.8)
    assert seen.passages == (Passage(A, B, 1), Passage(B, A, 1), Passage(B, C, 1), Passage(C, B, 1))
    stays = {stay.state: stay for stay in seen.stays}
    assert [stay.state for stay in seen.stays] == [A, B, C]
    assert stays[A].share == pytest.approx(0.5 / 0.8)
    assert (stays[A].visits, stays[A].median_s) == (2, None)  # Both visits are cut off by the span.
    assert (stays[B].visits, stays[B].median_s) == (2, pytest.approx(0.1))
    assert sum(stay.share for stay in seen.stays) == pytest.approx(1.0)


def test_a_single_state_has_no_passages():
    seen = count_states(np.array([0.0, 0.5]), [A, A], 1.0)
    assert seen.passages == ()
    assert seen.stays[0].share == 1.0


def test_a_walking_leg_passes_its_two_states_once_per_step():
    bout = synthetic.bout(synthetic.leg(duration_s=9.0))
    seen = global_states(bout)
    swing = (synthetic.LEV, synthetic.PRO_CTR, synthetic.FLX)
    stance = (synthetic.DEP, synthetic.RET_CTR, synthetic.EXT)
    counts = {(p.begin, p.end): p.count for p in seen.passages}
    assert set(counts) == {(swing, stance), (stance, swing)}
    assert counts[swing, stance] in (9, 10, 11)  # 9 s at 0.9 s a step.
    swing_stay = next(stay for stay in seen.stays if stay.state == swing)
    assert swing_stay.share == pytest.approx(synthetic.FWD.swing_share, abs=0.03)
    assert swing_stay.median_s == pytest.approx(synthetic.FWD.swing_share * 0.9, abs=0.05)


def test_a_span_counts_only_what_is_in_it():
    bout = synthetic.bout(synthetic.leg(duration_s=9.0))
    whole, half = global_states(bout), global_states(bout, (4.5, 9.0))
    assert half.span == (4.5, 9.0)
    assert global_states(bout, (4.51, 8.99)).span == (4.51, 8.99)  # Between two records.
    assert sum(p.count for p in half.passages) < sum(p.count for p in whole.passages)
    assert sum(stay.share for stay in half.stays) == pytest.approx(1.0)


def test_nothing_recorded_is_said():
    bout = synthetic.bout(synthetic.leg(duration_s=2.0))
    with pytest.raises(AnalysisError, match="no actions were recorded"):
        global_states(bout, (5.0, 6.0))
    with pytest.raises(AnalysisError, match="no joint has actions"):
        global_states(replace(bout, joints=()))
