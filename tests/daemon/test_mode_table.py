"""The core does in each mode, at each order and event, what the table of modes says."""

from __future__ import annotations

import pytest

from nuc_engine.daemon.block import Word
from nuc_engine.daemon.modes import TRANSITIONS, EngineAction, Input, Mode
from nuc_engine.daemon.off_requests import Requester, request_off
from nuc_engine.daemon.wire import CoreCommand, RecordKind
from tests.daemon.cores import Bench, S


def in_mode(mode):
    """Return a core that is in this mode, its servos confirmed limp where they are."""
    bench = Bench()
    bench.run(0.1)
    if mode is not Mode.CONFIGURED:
        bench.start(0.1)
    if mode is Mode.STOPPED:
        assert bench.obeyed(CoreCommand.STOP, "hold")[0]
    if mode is Mode.FAULT:
        bench.asleep_ns = S
    bench.run(0.1)
    assert bench.mode is mode
    bench.records()
    bench.bus.offs.clear()
    return bench


def shut_down(bench):
    bench.words[Word.SHUTDOWN] = 1
    request_off(bench.words, Requester.SUPERVISOR)


CAUSES = {
    Input.RUN: lambda bench: bench.order(CoreCommand.RUN, 0, -1, 2),
    Input.STOP: lambda bench: bench.order(CoreCommand.STOP, "hold"),
    Input.FAULT: lambda bench: setattr(bench, "asleep_ns", S),
    Input.ARM: lambda bench: bench.order(CoreCommand.ARM),
    Input.POSE: lambda bench: bench.order(CoreCommand.CHANGESET, -1, [], [["mode", 0, "hold"]]),
    Input.OFF: lambda bench: bench.order(CoreCommand.OFF, "a hand in the leg"),
    Input.SHUT_DOWN: shut_down,
}
"""How each comes about; a core is not configured, it is born so."""


@pytest.mark.parametrize("mode", [mode for mode in Mode if mode is not Mode.UNCONFIGURED])
@pytest.mark.parametrize("what", CAUSES)
def test_a_core_does_what_the_table_says(mode, what):
    bench = in_mode(mode)
    before = bool(bench.words[Word.LATCHED])
    CAUSES[what](bench)
    bench.run(0.1)
    records = bench.records()
    follows = TRANSITIONS[mode, what]
    refused = [content[4] for kind, content in records if kind is RecordKind.ACK and not content[1]]
    if isinstance(follows, str):
        assert refused == ["torque is off, and latched: see that the leg may move, then arm"] or refused == [follows]
        follows = (mode, EngineAction.NONE)
    else:
        assert refused == []
    after, action = follows
    assert bench.mode is after
    assert bool(bench.bus.offs) == (action in (EngineAction.LATCH, EngineAction.CLOSE))
    latched = action is EngineAction.LATCH or (before and action is not EngineAction.UNLATCH)
    assert bool(bench.words[Word.LATCHED]) == latched
    began, ended = ([kind for kind, _ in records].count(kind) for kind in (RecordKind.BOUT_BEGIN, RecordKind.BOUT_END))
    assert began == (action is EngineAction.BEGIN)
    assert ended == (mode is Mode.RUNNING and action in (EngineAction.REST, EngineAction.LATCH, EngineAction.CLOSE))
