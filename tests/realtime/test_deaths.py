"""Processes that die or stand still one upon the other: chosen cases, and fifty random ones.

`python -m benchmarks.realtime deaths` plays five hundred, and every pair.
"""

from __future__ import annotations

import signal

import pytest

from tests.realtime.daemon import Leg, undisturbed
from tests.realtime.deaths import Deed, deeds_of, play, play_all

KILL, STOP = signal.SIGKILL, signal.SIGSTOP


@pytest.fixture(scope="module")
def leg(tmp_path_factory):
    leg = Leg(tmp_path_factory.mktemp("leg"))
    yield leg
    leg.end(KILL)


@pytest.fixture
def outcome_of(leg, stalls, tmp_path):
    """Play deeds, again where the machine stood still meanwhile, and return what came of them."""

    def outcome(*deeds: Deed):
        found = []
        undisturbed(stalls, lambda: found.append(play(leg, tmp_path, deeds)))
        return found[-1]

    return outcome


@pytest.mark.parametrize("later_ms", [6.0, 10.0, 15.0, 20.0])
def test_a_core_born_just_before_its_daemon_dies_ends_too(outcome_of, later_ms):
    assert outcome_of(Deed("core", KILL, 0.0), Deed("supervisor", KILL, later_ms)).ended


def test_core_and_guardian_stopped_together_are_limp_within_a_tenth_of_a_second(outcome_of):
    def limp_ms() -> float:
        return outcome_of(Deed("core", STOP, 0.0), Deed("guardian", STOP, 0.0)).limp_ms

    # They are looked at every 20 ms; one tick may come late on a busy machine.
    assert min(limp_ms() for _ in range(3)) < 100


def test_what_stood_still_as_a_whole_for_a_second_does_not_drive_on(outcome_of):
    assert outcome_of(*(Deed(name, STOP, 0.0) for name in ("core", "guardian", "supervisor"))).limp_ms > 1000


def test_whatever_dies_the_leg_is_limp_and_nothing_is_left(stalls, tmp_path):
    assert len(play_all([deeds_of(seed) for seed in range(50)], tmp_path, stalls)) == 50
