"""The input record: what is written, what is read back, and what is refused."""

import contextlib
import math

import msgpack
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nuc_engine.control.bus_tap import ExchangeReplies
from nuc_engine.control.tasks.board import Board
from nuc_engine.model.changes import Applied, Write
from nuc_engine.recording.inputs import FILE, InputRecord, InputRecordError, read_inputs
from tests.engine.models import one_joint

HEAD = ["head", 1, 1]
CYCLE = ["cycle", 1, 5_000_000, [101], [7], [1], [4_900_000]]
EDIT = ["edit", 1, 5_000_000, 103, [3.5], ""]


def write(path, *records):
    path.write_bytes(b"".join(msgpack.packb(record) for record in records))
    return path


def test_a_cycle_and_an_edit_are_written_as_described(tmp_path):
    plan = one_joint()
    board = Board(plan, lambda *_: None)
    board.cycle, board.position_raw[0], board.current_raw[0] = 1, 101, 7
    board.status[0], board.stamp_ns[0], board.sent_raw[0] = 1, 4_900_000, 120
    record = InputRecord(tmp_path, plan)
    record.started(100_000, 3, [120])
    record.cycle(5_000_000, board.cycle, ExchangeReplies.of(board))
    record.edit(Applied(5_000_000, 1, Write(plan.hdso("low").index, (3.5,))))
    record.edit(Applied(5_000_000, 1, Write(plan.hdso("Enter_flexion").index, (0, 301)), "no rule"))
    assert record.close() == record.close() == {FILE: 5}
    with (tmp_path / FILE).open("rb") as file:
        raw = list(msgpack.Unpacker(file))
    assert raw == [
        HEAD,
        ["ran", "start", 100_000, 3, [120]],
        CYCLE,
        EDIT,
        ["edit", 1, 5_000_000, 161, [0, 301], "no rule"],
    ]
    assert list(read_inputs(tmp_path / FILE)) == raw


def test_a_flush_puts_what_came_so_far_on_disk_once(tmp_path):
    plan = one_joint()
    record = InputRecord(tmp_path, plan)
    record.cycle(1, 1, ExchangeReplies.of(Board(plan, lambda *_: None)))
    record.flush()
    assert [entry[0] for entry in read_inputs(tmp_path / FILE)] == ["head", "cycle"]
    record.cycle(2, 2, ExchangeReplies.of(Board(plan, lambda *_: None)))
    record.flush()
    record.close()
    assert [entry[2] for entry in read_inputs(tmp_path / FILE)] == [1, 1, 2]


@pytest.mark.parametrize("cut", range(1, 12))
def test_a_torn_last_record_is_left_out(tmp_path, cut):
    path = write(tmp_path / FILE, HEAD, CYCLE, EDIT)
    whole = path.read_bytes()
    assert len(msgpack.packb(EDIT)) > 11
    path.write_bytes(whole[:-cut])
    assert list(read_inputs(path)) == [HEAD, CYCLE]


@pytest.mark.parametrize(
    "record",
    [
        ["cycle", 1],
        ["cycle", 1, 5, [1], [1], [1]],
        ["cycle", 1, 5, [1], [1], [1], [1], [1]],
        ["cycle", 1, 5, [1, 2], [1], [1], [1]],
        ["cycle", 1, 5, [1], [1], [1], ["x"]],
        ["cycle", 1, 5, [1.5], [1], [1], [1]],
        ["cycle", None, 5, [1], [1], [1], [1]],
        ["cycle", 1, "5", [1], [1], [1], [1]],
        ["cycle", 1, 5, 1, [1], [1], [1]],
        ["edit", 1, 5, 103, [1.0]],
        ["edit", 1, 5, 103, [math.inf], ""],
        ["edit", 1, 5, 103, ["1"], ""],
        ["edit", 1, 5, 103, 1.0, ""],
        ["edit", 1, 5, "low", [1.0], ""],
        ["edit", True, 5, 103, [1.0], ""],
        ["edit", 1, 5, 103, [1.0], None],
        ["head", 1, 1],
        ["note", 1],
        [],
        {"cycle": 1},
        7,
        None,
    ],
)
def test_a_record_of_another_shape_is_refused_by_number(tmp_path, record):
    path = write(tmp_path / FILE, HEAD, CYCLE, record, CYCLE)
    with pytest.raises(InputRecordError, match="record 3"):
        list(read_inputs(path))


@pytest.mark.parametrize("head", [["head", 99, 1], ["head", 1], ["head", 1, -1], ["head", 1, "x"], CYCLE, {}, 7])
def test_another_head_is_refused(tmp_path, head):
    with pytest.raises(InputRecordError, match=r"head|format"):
        list(read_inputs(write(tmp_path / FILE, head, CYCLE)))


def test_what_is_no_messagepack_is_refused(tmp_path):
    path = write(tmp_path / FILE, HEAD, CYCLE)
    path.write_bytes(path.read_bytes() + b"\xc1garbage")
    with pytest.raises(InputRecordError, match=FILE):
        list(read_inputs(path))


@settings(max_examples=80, deadline=None, derandomize=True)
@given(data=st.binary(max_size=60), at=st.integers(0, 40))
def test_garbage_anywhere_is_read_or_refused_but_never_a_traceback(tmp_path_factory, data, at):
    path = write(tmp_path_factory.getbasetemp() / FILE, HEAD, CYCLE, EDIT)
    whole = path.read_bytes()
    path.write_bytes(whole[:at] + data + whole[at:])
    with contextlib.suppress(InputRecordError):
        for record in read_inputs(path):
            assert record[0] in ("head", "cycle", "edit")
