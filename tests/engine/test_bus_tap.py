"""What crosses to the bus and back is recorded as it crosses, whatever the tasks make of it."""

from __future__ import annotations

from typing import Any

import pytest

from nuc_engine.control.bus_tap import BusTap, ExchangeReplies
from nuc_engine.control.executive import Executive
from nuc_engine.control.tasks.board import Board
from tests.engine.models import ScriptedBus, Trace, one_joint


class Told(Trace):
    def started(self, now_ns: int, level: int, goals: Any) -> None:
        self.rows.append((now_ns, "started", (level, tuple(goals))))

    def motor(self, now_ns: int, board: Board, replies: ExchangeReplies) -> None:
        self.rows.append((now_ns, "given", tuple(map(tuple, replies))))


def test_level_and_goals_are_those_the_bus_was_told_at_the_instant_it_was() -> None:
    bus, told = ScriptedBus(lambda now, goals: [(120, 7)]), Told()
    Executive(one_joint(), bus, told).run_until(60_000_000)
    started = told.of("started")
    assert [(at, list(goals)) for at, (_, goals) in started] == bus.goals
    assert {level for _, (level, _) in started} == {3} == set(bus.levels)


def test_replies_are_the_buses_even_where_a_task_mixes_them_up(monkeypatch: pytest.MonkeyPatch) -> None:
    bus, told = ScriptedBus(lambda now, goals: [(120, 7)]), Told()
    executive = Executive(one_joint(), bus, told)
    complete = executive._motor_action.complete

    def mixed_up() -> None:
        complete()
        executive.board.position_raw[:] = executive.board.current_raw

    monkeypatch.setattr(executive._motor_action, "complete", mixed_up)
    executive.run_until(30_000_000)
    assert {(positions, currents) for _, (positions, currents, *_) in told.of("given")} == {((120,), (7,))}


def test_where_there_is_no_good_reply_it_is_what_was_known_before() -> None:
    plan = one_joint()
    bus, board = ScriptedBus(lambda now, goals: [None]), Board(plan, lambda *_: None)
    bus.position_raw, bus.current_raw, bus.status, bus.stamp_ns = [99], [5], [2], [44]
    board.position_raw, board.current_raw, board.stamp_ns = [120], [7], [33]
    assert BusTap(bus, lambda *_: None).replies(board) == ([120], [7], [2], [33])
