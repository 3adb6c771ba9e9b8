"""The guardian's judgement, wake-up by wake-up."""

from __future__ import annotations

from itertools import product

import pytest

from nuc_engine.control.faults import OFF
from nuc_engine.daemon.block import WORDS, Word
from nuc_engine.daemon.off_requests import Requester, confirm, request_off, requested
from nuc_engine.daemon.watch import BEGIN_NS, FINISH_NS, PERIOD_NS, SUPERVISOR_NS, CoreWatch

LOOKS = 5
"""Wake-ups that make 20 ms."""


@pytest.fixture
def words():
    return [0] * WORDS


@pytest.fixture
def watch(words):
    words[Word.CORE_BEAT] = 1
    watch = CoreWatch(words)
    watch.begin(1)
    return watch


def look(watch, times=1, **kinds):
    found = None
    for _ in range(times):
        found = watch.look(**{"core_dead": False, "supervisor_dead": False, **kinds})
    return found


def test_a_core_whose_heart_beats_is_left_alone(watch, words):
    for beat in range(2, 200):
        words[Word.CORE_BEAT] = beat
        assert look(watch, LOOKS - 1) is None


@pytest.mark.parametrize(("limit_ms", "looks"), [(0, 5), (20, 5), (21, 6), (40, 10), (12, 3)])
def test_a_heart_that_stands_still_is_found_out_after_the_limit_and_not_before(watch, words, limit_ms, looks):
    words[Word.STALL_LIMIT_MS] = limit_ms
    assert look(watch, looks - 1) is None
    assert look(watch).reason == "core_stalled"


def test_one_beat_begins_the_count_anew(watch, words):
    assert look(watch, LOOKS - 1) is None
    words[Word.CORE_BEAT] += 1
    assert look(watch, LOOKS) is None
    assert look(watch).reason == "core_stalled"


def test_being_woken_early_is_no_period(watch):
    assert look(watch, 100, counted=False) is None
    assert look(watch, LOOKS).reason == "core_stalled"


def test_without_a_core_no_heart_is_missed_and_no_death_is_news(words):
    watch = CoreWatch(words)
    assert look(watch, 100) is None
    assert look(watch, core_dead=True) is None


def test_a_dead_core_is_found_at_once(watch, words):
    assert look(watch, core_dead=True, counted=False).reason == "core_dead"
    words[Word.BUS_LOST] = 1
    assert look(watch, core_dead=True).reason == "bus_lost"


@pytest.mark.parametrize(("shutdown", "torque", "requests"), list(product((0, 1), repeat=3)))
def test_only_a_core_that_was_told_to_end_and_left_no_torque_may_end(watch, words, shutdown, torque, requests):
    words[Word.SHUTDOWN], words[Word.TORQUE], words[Word.OFF_ASKED] = shutdown, torque, requests
    found = look(watch, core_dead=True)
    assert (found is None) == (shutdown == 1 and torque == 0 and requests == 0)


def test_a_dead_main_process_is_found_with_and_without_a_core(watch, words):
    assert look(watch, supervisor_dead=True).reason == "supervisor_lost"
    assert look(CoreWatch(words), supervisor_dead=True).reason == "supervisor_lost"


def test_a_port_that_is_gone_is_found_while_the_core_still_lives(watch, words):
    words[Word.BUS_LOST] = 1
    assert look(watch).reason == "bus_lost"


@pytest.mark.parametrize("core", [True, False])
def test_a_request_nobody_begins_is_answered_after_20_ms(words, core):
    watch = CoreWatch(words)
    if core:
        watch.begin(1)
    request_off(words, Requester.SERVICE)
    for k in range(BEGIN_NS // PERIOD_NS + 1):
        words[Word.CORE_BEAT] = k + 1
        found = look(watch)
        assert (found is not None) == (k == BEGIN_NS // PERIOD_NS)
    assert found.reason == OFF
    assert "not begin" in found.text


def test_a_request_that_was_begun_has_60_ms(watch, words):
    request_off(words, Requester.SERVICE)
    confirm(words, Word.OFF_BEGUN, requested(words))
    for k in range(FINISH_NS // PERIOD_NS + 1):
        words[Word.CORE_BEAT] = k + 10
        found = look(watch)
        assert (found is not None) == (k == FINISH_NS // PERIOD_NS)
    assert "not confirmed" in found.text


def test_a_request_that_is_done_is_forgotten(watch, words):
    for _ in range(40):
        request_off(words, Requester.SERVICE)
        confirm(words, Word.OFF_BEGUN, requested(words))
        for _ in range(FINISH_NS // PERIOD_NS):
            words[Word.CORE_BEAT] += 1
            assert look(watch) is None
        confirm(words, Word.OFF_DONE_CORE, requested(words))
        words[Word.CORE_BEAT] += 1
        assert look(watch) is None


def test_after_the_end_of_a_watch_nothing_is_left_of_it(watch, words):
    request_off(words, Requester.SERVICE)
    look(watch, LOOKS - 1)
    watch.end()
    confirm(words, Word.OFF_DONE_GUARDIAN, requested(words))
    assert look(watch, 50) is None
    watch.begin(2)
    assert look(watch, LOOKS - 1) is None
    assert look(watch).reason == "core_stalled"


def test_a_main_process_that_stands_still_is_found_out_before_systemd_ends_everybody(watch, words):
    words[Word.SUPERVISOR_BEAT] = 1
    looks = SUPERVISOR_NS // PERIOD_NS
    look(watch)
    for beat in range(looks - 1):
        words[Word.CORE_BEAT] = 100 + beat
        assert look(watch) is None
    words[Word.CORE_BEAT] = 99
    assert look(watch).reason == "supervisor_lost"
    watch.end()
    assert look(watch, 10) is None, "nothing is driven, so nothing is in danger"


def test_a_main_process_whose_heart_beats_slowly_is_left_alone(watch, words):
    for beat in range(1000):
        words[Word.CORE_BEAT] = 100 + beat
        words[Word.SUPERVISOR_BEAT] = 1 + beat // 100
        assert look(watch) is None
