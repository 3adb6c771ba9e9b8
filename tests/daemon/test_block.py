"""The block: what one process writes another reads, and nothing else can be made of it."""

from __future__ import annotations

import os
import pickle
from itertools import pairwise

import pytest

from nuc_engine.bout.run import prepare_bout
from nuc_engine.control.bus_tap import ExchangeReplies
from nuc_engine.control.tasks.board import Board
from nuc_engine.daemon import block as module
from nuc_engine.daemon.block import Block, BlockError, Word, memory
from nuc_engine.daemon.modes import Input, Mode, Refusal, step
from nuc_engine.daemon.wire import Formats, RecordKind
from nuc_engine.model.plan import Plan
from nuc_engine.model.store import Store, StoreError


@pytest.fixture(scope="module")
def plan():
    return prepare_bout("lin_roach", None).plan


@pytest.fixture
def fd():
    fd = memory()
    yield fd
    os.close(fd)


@pytest.fixture
def block(fd):
    return Block(fd)


def test_a_plan_comes_back_as_it_was(fd, block, plan):
    block.write_plan(plan)
    assert Block(fd).read_plan() == plan
    assert block.words[Word.PLAN_GENERATION] == 1


def test_without_a_plan_there_is_a_clear_error(block):
    with pytest.raises(BlockError, match="configure the daemon first"):
        block.read_plan()


@pytest.mark.parametrize("thing", [os.system, Store, module.Block])
def test_a_plan_can_make_plans_only(block, thing):
    data = pickle.dumps(thing)
    block._plan[:8] = len(data).to_bytes(8, "little")
    block._plan[8 : 8 + len(data)] = data
    with pytest.raises(BlockError, match=r"expected classes of nuc_engine\.model\.plan"):
        block.read_plan()


def test_a_plan_that_is_too_large_is_refused(block, plan, monkeypatch):
    monkeypatch.setattr(module, "_PLAN_BYTES", 100)
    with pytest.raises(BlockError, match="there is room for 92"):
        block.write_plan(plan)


def test_the_store_is_shared_and_kept(fd, block, plan):
    block.store(plan).write(plan.hdso(103).index, (4.5,))
    other = Block(fd)
    assert other.store(plan).values(plan.hdso(103).index) == (4.5,)
    another = prepare_bout("lin_stickmiddle", None).plan
    with pytest.raises(StoreError, match="another model"):
        other.store(another)
    other.clear_store()
    assert other.store(another).values(another.hdso(103).index) is None


def test_no_two_parts_share_memory(block):
    places = sorted(module._layout().values())
    for (start, size), (after, _) in pairwise(places):
        assert start + size <= after
    block.words[-1] = -1
    assert block.statistics["script"].summary(0)["runs"] == 0
    for name, ring in block.rings.items():
        assert ring.capacity >= module.RING_BYTES[name]


def test_five_seconds_of_a_hexapod_find_room_in_the_ring(plan):
    assert isinstance(plan, Plan)
    motors, sensors, muscles, joints = 24, 60, 48, 24
    motor = 16 + 16 + motors * 16 + 8
    data = 8 + 8 * sensors + 16
    states = 8 + 2 * joints + 8 * muscles + 16
    forces = 8 + 16 * muscles + 16
    per_second = 200 * (motor + data + 24 + 16) + 1000 * (states + forces)
    assert per_second * 5 < module.RING_BYTES["records"]


def test_records_of_every_cycle_come_back_as_they_were(plan):
    formats, board = Formats(plan), Board(plan, lambda *_: None)
    board.cycle, board.position_raw, board.current_raw = 7, [1, 2, 3, 254], [0, 9, 8, 7]
    board.status, board.sent_raw, board.stamp_ns = [1, 2, 3, 0], [-1, -2, 0, 254], [-1, 10**18, 3, 4]
    motor = formats.unpack(RecordKind.MOTOR, formats.pack_motor(99, board, ExchangeReplies.of(board)))
    assert (motor.time_ns, motor.cycle, motor.position_raw) == (99, 7, board.position_raw)
    assert (motor.current_raw, motor.status, motor.sent_raw) == (board.current_raw, board.status, board.sent_raw)
    assert motor.stamp_ns == board.stamp_ns
    board.states = [0, -1, 5, 2, -1][: len(plan.joints)]
    board.activations = [0.1 * k for k in range(len(plan.muscles))]
    states = formats.unpack(RecordKind.STATES, formats.pack_states(5, board))
    assert (states.time_ns, states.states, states.activations) == (5, board.states, board.activations)
    muscles = formats.unpack(RecordKind.MUSCLES, formats.pack_muscles(6, board))
    assert muscles.numbers == board.forces + board.lengths
    sensors = [0.5 * k for k in range(len(plan.sensor_columns))]
    assert formats.unpack(RecordKind.SENSORS, formats.pack_sensors(8, sensors)).numbers == sensors
    assert formats.unpack(RecordKind.START, formats.pack_start(12, 3, board.sent_raw)) == [12, 3, board.sent_raw]


NEXT = {
    Mode.UNCONFIGURED: "C - U U U - U U",
    Mode.CONFIGURED: "C R C F C C S S",
    Mode.RUNNING: "- - S F R R S S",
    Mode.STOPPED: "C R S F S S S S",
    Mode.FAULT: "- - F F S - F F",
}
LATCHED = {
    Mode.UNCONFIGURED: "C - U U U - U U",
    Mode.CONFIGURED: "- - C F C - S S",
    Mode.RUNNING: "- - R F R - S S",
    Mode.STOPPED: "- - S F S - S S",
    Mode.FAULT: "- - F F S - F F",
}
"""The same while torque is latched off: nothing leads to driving but `arm`, and a stop finds nothing to do."""


@pytest.mark.parametrize("mode", Mode)
@pytest.mark.parametrize("what", Input)
@pytest.mark.parametrize("latched", [False, True])
def test_every_mode_and_input(mode, what, latched):
    wanted = (LATCHED if latched else NEXT)[mode].split()[what]
    if wanted == "-":
        with pytest.raises(Refusal, match=r"first|arm"):
            step(mode, what, latched=latched)
    else:
        assert step(mode, what, latched=latched).name.startswith(wanted)
