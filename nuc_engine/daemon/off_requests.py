"""Requests to take the torque off: who has asked, who is at it, what is done. Each word has one writer: none is erased.

An asker counts its requests. Core and guardian note, per asker, up to which of them they have taken the torque off. A
request is open until one of the two has. Both read the counts *before* they act: what comes meanwhile stays open.
"""

from __future__ import annotations

from collections.abc import MutableSequence, Sequence
from enum import IntEnum

from nuc_engine.daemon.block import REQUESTERS, Word


class Requester(IntEnum):
    """Who may ask; each has a word of its own."""

    SUPERVISOR = 0
    SERVICE = 1
    GUARDIAN = 2


RequestNumbers = tuple[int, ...]
"""How many requests each asker has made."""


def request_off(words: MutableSequence[int] | memoryview[int], asker: Requester) -> int:
    """Ask for torque off, and return the request's number.

    A request of this asker that is open is the same one: what confirms it comes after now.
    """
    if not _open(words, asker):
        words[Word.OFF_ASKED + asker] += 1
    return words[Word.OFF_ASKED + asker]


def is_done(words: Sequence[int], asker: Requester, number: int) -> bool:
    """Say whether an asker's request is done, whatever it has asked for since."""
    return max(words[Word.OFF_DONE_CORE + asker], words[Word.OFF_DONE_GUARDIAN + asker]) >= number


def requested(words: Sequence[int], what: Word = Word.OFF_ASKED) -> RequestNumbers:
    """Return what has been asked so far: to be read before the torque is taken off, and given to `confirm` after it.

    `what` OFF_BEGUN: what the core has begun to answer.
    """
    return tuple(words[what + asker] for asker in range(REQUESTERS))


def confirm(words: MutableSequence[int] | memoryview[int], done: Word, before: RequestNumbers) -> None:
    """Note what was asked as done (`done` OFF_DONE_CORE, OFF_DONE_GUARDIAN) or, by the core, as begun (OFF_BEGUN)."""
    for asker, count in enumerate(before):
        words[done + asker] = count


def pending_requesters(words: Sequence[int]) -> tuple[Requester, ...]:
    """Return whose request is not done."""
    return tuple(asker for asker in Requester if _open(words, asker))


def begun(words: Sequence[int], asker: Requester) -> bool:
    """Say whether the core is at this asker's last request, or was."""
    return words[Word.OFF_BEGUN + asker] == words[Word.OFF_ASKED + asker]


def _open(words: Sequence[int], asker: Requester) -> bool:
    return not is_done(words, asker, words[Word.OFF_ASKED + asker])
