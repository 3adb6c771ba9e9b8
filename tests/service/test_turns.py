"""When a server takes its turns: when something can be read, and when something is due."""

from __future__ import annotations

from typing import Any

import pytest

from nuc_engine.service.turns import Turns
from tests.service.bench import PaperLoop


class Sockets:
    """Sockets on which nothing ever comes."""

    descriptors = ()
    more: Any = None

    def ready(self, among: Any = None) -> frozenset[Any]:
        return frozenset()

    def close(self) -> None:
        pass


class Counting(Turns):
    due_ms, count = 50, 0

    def step(self) -> frozenset[Any]:
        self.count += 1
        return frozenset()

    def wait_ms(self) -> int:
        return self.due_ms


class Place:
    def __init__(self) -> None:
        self.now = 5_000_000_000
        self.loop = PaperLoop(lambda: self.now)
        self.turns = Counting(self.loop, Sockets())  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]

    def pass_ms(self, milliseconds: int) -> int:
        """Let time pass, a millisecond at a time; return how many turns were taken."""
        before = self.turns.count
        for _ in range(milliseconds):
            self.now += 1_000_000
            self.loop.turn()
        return self.turns.count - before


@pytest.fixture
def place():
    made = Place()
    made.turns.begin()
    made.loop.turn()
    yield made
    made.turns.close()
    made.loop.close()


def test_turns_go_on_where_nothing_comes(place: Place) -> None:
    assert 19 <= place.pass_ms(1000) <= 21


def test_what_is_due_sooner_is_not_waited_for(place: Place) -> None:
    place.pass_ms(10)
    place.turns.due_ms = 5
    place.turns.sockets.more()
    assert place.pass_ms(1) == 1
    assert 9 <= place.pass_ms(50) <= 11


def test_many_messages_leave_one_timer(place: Place) -> None:
    for _ in range(100):
        place.turns.sockets.more()
        place.loop.turn()
    assert len(place.loop._scheduled) == 1  # type: ignore[attr-defined]  # pyright: ignore[reportAttributeAccessIssue]
    place.turns.due_ms = 1000
    assert place.pass_ms(100) == 1, "what stood from before comes, and no more"
