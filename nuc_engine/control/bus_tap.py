"""The border between motor action and its bus: what crosses it is told as it is, whatever the tasks make of it.

A record that the tasks themselves wrote would repeat their mistakes. Torque level and goals are told as the bus takes
them, replies as it gives them; `nuc verify` holds both against what the tasks should have made of it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final, NamedTuple

from drivers.bus import ServoBus
from drivers.servo import ReplyStatus
from nuc_engine.control.tasks.board import Board

_OK: Final = int(ReplyStatus.OK)

OnExchangeStart = Callable[[int, int, Sequence[int]], None]
"""Receives (time_ns, torque level, goals) of an exchange that begins; goals as `drivers.bus.Bus.start` takes them."""


class ExchangeReplies(NamedTuple):
    """The replies of an exchange, in the order of the servos: of one without a good one, what was known before."""

    position_raw: Sequence[int]
    current_raw: Sequence[int]
    status: Sequence[int]
    stamp_ns: Sequence[int]

    @classmethod
    def of(cls, board: Board) -> ExchangeReplies:
        """Return those a board holds."""
        return cls(board.position_raw, board.current_raw, board.status, board.stamp_ns)


class BusTap:
    """A bus for motor action that tells of what is sent through it."""

    def __init__(self, bus: ServoBus, started: OnExchangeStart) -> None:
        self._bus, self._started = bus, started
        self._level = -1

    @property
    def position_raw(self) -> list[int]:
        """As the bus has it."""
        return self._bus.position_raw

    @property
    def current_raw(self) -> list[int]:
        """As the bus has it."""
        return self._bus.current_raw

    @property
    def status(self) -> list[int]:
        """As the bus has it."""
        return self._bus.status

    @property
    def stamp_ns(self) -> list[int]:
        """As the bus has it."""
        return self._bus.stamp_ns

    @property
    def misses(self) -> list[int]:
        """As the bus has it."""
        return self._bus.misses

    def replies(self, board: Board) -> ExchangeReplies:
        """Return what the bus has given; lists may be its own, and are to be written down at once."""
        bus = self._bus
        positions, currents, status, stamps = bus.position_raw, bus.current_raw, bus.status, bus.stamp_ns
        if status.count(_OK) == len(status):
            return ExchangeReplies(positions, currents, status, stamps)
        good = [one == _OK for one in status]
        return ExchangeReplies(
            _mixed(good, positions, board.position_raw),
            _mixed(good, currents, board.current_raw),
            status,
            _mixed(good, stamps, board.stamp_ns),
        )

    def start(self, now_ns: int, goals: list[int]) -> None:
        """Begin an exchange, and tell of it."""
        self._started(now_ns, self._level, goals)
        self._bus.start(now_ns, goals)

    def set_level(self, level: int) -> None:
        """Set the torque level."""
        self._bus.set_level(level)
        self._level = level


def _mixed(good: list[bool], new: list[int], old: list[int]) -> list[int]:
    return [a if fresh else b for fresh, a, b in zip(good, new, old, strict=True)]
