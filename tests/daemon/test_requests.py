"""Requests to take the torque off, by every order in which those who ask and those who answer can touch the words."""

from __future__ import annotations

import pytest

from nuc_engine.daemon.block import Word
from nuc_engine.daemon.off_requests import Requester, confirm, pending_requesters, request_off, requested
from tests.daemon.interleavings import explore

OLD = 99


def asks(asker):
    def process(words):
        words.note(f"asks {asker}")
        request_off(words, asker)

    return process


def answers(done, times=1):
    """Be a core or a guardian: whoever is found open, the torque goes off and is confirmed off."""

    def process(words):
        for _ in range(times):
            before = requested(words)
            words.note("limp")
            confirm(words, done, before)

    return process


def core(words):
    """The core begins, in one look, what it confirms in another."""
    for _ in range(2):
        confirm(words, Word.OFF_BEGUN, requested(words))
        words.note("limp")
        confirm(words, Word.OFF_DONE_CORE, requested(words, Word.OFF_BEGUN))


def erased(end, open_askers):
    """Return the askers whose request is not open at the end, though the torque was never off after they asked."""
    return [
        asker
        for asker in Requester
        if f"asks {asker}" in end.happened
        and asker not in open_askers
        and "limp" not in end.happened[end.happened.index(f"asks {asker}") :]
    ]


@pytest.mark.parametrize(
    "processes",
    [
        {"service": asks(Requester.SERVICE), "core": core, "guardian": answers(Word.OFF_DONE_GUARDIAN)},
        {"service": asks(Requester.SERVICE), "guardian": asks(Requester.GUARDIAN), "core": answers(Word.OFF_DONE_CORE)},
    ],
    ids=["one asks, two answer", "two ask, one answers"],
)
def test_no_order_of_accesses_erases_a_request(processes):
    ends = explore({}, processes)
    assert len({end.happened for end in ends}) >= 3
    for end in ends:
        words = [end.words.get(word, 0) for word in range(192)]
        assert not erased(end, pending_requesters(words)), end


def test_a_request_that_is_asked_again_while_it_is_open_is_one():
    words = [0] * 192
    request_off(words, Requester.SERVICE)
    request_off(words, Requester.SERVICE)
    assert requested(words) == (0, 1, 0)
    confirm(words, Word.OFF_DONE_CORE, requested(words))
    assert not pending_requesters(words)
    request_off(words, Requester.SERVICE)
    assert pending_requesters(words) == (Requester.SERVICE,)


def test_the_search_finds_what_one_word_with_two_writers_erases():
    def service(words):
        words.note("asks 1")
        words[OLD] = 7

    def answering(words):
        request = words[OLD]
        words.note("limp")
        if words[OLD] == request:
            words[OLD] = 0

    ends = explore({}, {"service": service, "core": answering})
    assert any(erased(end, () if not end.words.get(OLD) else (Requester.SERVICE,)) for end in ends)
