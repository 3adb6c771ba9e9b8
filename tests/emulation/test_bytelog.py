"""The byte log: what went in comes out, whatever befell the file; and what it says about the host's care."""

import errno
import os
import struct

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from drivers.aimotor.codec import encode_break, encode_passive, encode_position, encode_read, encode_sync, encode_wheel
from drivers.port import wire_ns
from nuc_engine.emulation.bytelog import LimitExceeded, commands_beyond, last_drive_ns, read, torque_off_ns
from nuc_engine.emulation.errors import ByteLogError
from nuc_engine.emulation.rawlog import HEADER, RECORD, LogHeader, RawEvent, RawKind, RawLog, read_header, read_records
from tests.emulation.world import MS, US, bench

AT = 20 * MS
LEG = LogHeader("lin_roach", 57_600, 5 * MS, (0, 1, 30, 253))


@pytest.fixture
def path(tmp_path):
    return tmp_path / "leg.bytes"


def logged(path, script, ids=(0, 1), until=200 * MS, **options):
    """Let the host write `script` (instants and bytes) and return the log's content."""
    log = RawLog(path, LogHeader("leg", 57_600, 5 * MS, ids))
    b = bench(*ids, log=log, **options)
    b.world.script = list(script)
    b.run_until(until)
    log.close()
    return read(path), b


def test_an_exchange_is_logged_with_its_instants(path):
    log, b = logged(path, [(AT, encode_position(1, 3, 90))])
    (frame,) = log.frames
    assert (frame.kind, frame.goals()) == ("position send", {1: 90})
    assert frame.start_ns == pytest.approx(AT, abs=2 * US)
    assert frame.end_ns - frame.start_ns == wire_ns(4, 57_600)
    assert (frame.position_raw, frame.positions) == (100, {1: 100})
    assert frame.reply_ns == pytest.approx(b.world.got[0][0], abs=2 * US)
    assert log.header == LogHeader("leg", 57_600, 5 * MS, (0, 1), "aimotor")


def test_frames_in_pieces_and_among_rubbish_are_put_together(path):
    request = encode_read(0)
    script = [(AT, b"\x03\x04" + request), (AT + 9 * MS, request[:1]), (AT + 12 * MS, request[1:3])]
    script += [(AT + 15 * MS, request[3:]), (AT + 20 * MS, request[:3] + b"\x00")]
    log, _ = logged(path, script)
    assert [frame.kind for frame in log.frames] == ["position read"] * 2
    assert log.frames[0].start_ns == pytest.approx(AT + wire_ns(2, 57_600), abs=2 * US), "rubbish is no part of it"
    assert [frame.position_raw for frame in log.frames] == [100, 100]
    assert log.frames[1].start_ns == pytest.approx(AT + 9 * MS, abs=2 * US)
    assert log.frames[1].end_ns == pytest.approx(AT + 15 * MS + wire_ns(1, 57_600), abs=2 * US)
    assert (log.stray_bytes, log.bad_checksums) == (2, 1)


def test_replies_byte_by_byte_are_one_reply(path):
    log, _ = logged(path, [(AT, encode_read(0))], bytewise=True)
    assert log.frames[0].reply == b"\x00\x64"


def test_a_reply_nobody_took_is_no_reply(path):
    raw = RawLog(path, LEG)
    b = bench(0, log=raw)
    b.world.plugged = True
    b.world.script = [(AT, encode_read(0))]
    b.world.room = 0
    b.run_until(100 * MS)
    raw.close()
    log = read(path)
    assert log.lost == 1
    assert log.frames[0].position_raw == -1
    assert log.frames[0].reply_ns == -1


def test_events_stand_between_the_bytes(path):
    raw = RawLog(path, LEG)
    b = bench(0, log=raw)
    b.run_until(50 * MS)
    b.loop.event(RawEvent.SERVO_UNPLUGGED, 1)
    b.run_until(60 * MS)
    b.loop.event(RawEvent.PLUGGED)
    raw.close()
    log = read(path)
    assert [(h.event, h.number) for h in log.events] == [(RawEvent.SERVO_UNPLUGGED, 1), (RawEvent.PLUGGED, 0)]
    assert log.when(RawEvent.PLUGGED) == [pytest.approx(60 * MS, abs=4 * MS)]


def test_what_happened_is_in_the_file_before_the_next_exchange(path):
    log = RawLog(path, LEG)
    b = bench(0, log=log)
    b.world.script = [(AT + k * 3 * MS, encode_read(0)) for k in range(10)]
    b.run_until(AT + 28 * MS)
    assert len(read(path).frames) == 10
    assert sum(frame.position_raw == 100 for frame in read(path).frames) >= 9
    log.close()


def test_a_file_that_ends_within_a_record_is_read_up_to_there(path):
    logged(path, [(AT + k * 3 * MS, encode_read(0)) for k in range(3)])
    whole = path.read_bytes()
    path.write_bytes(whole[:-1])
    assert sum(frame.position_raw == 100 for frame in read(path).frames) == 2


@pytest.mark.parametrize("damage", [b"", b"NUCB", b"something else entirely" * 10])
def test_what_is_no_byte_log_is_refused(path, damage):
    path.write_bytes(damage)
    with pytest.raises(ByteLogError, match="is no byte log"):
        read(path)


def test_another_version_is_refused(path):
    RawLog(path, LEG).close()
    data = bytearray(path.read_bytes())
    struct.pack_into("<H", data, 8, 99)
    path.write_bytes(data)
    with pytest.raises(ByteLogError, match="version 99"):
        read(path)


RECORDS = st.tuples(
    st.sampled_from(list(RawKind)),
    st.integers(0, 2**32 - 1),
    st.integers(-(2**63), 2**63 - 1),
    st.integers(-(2**63), 2**63 - 1),
    st.binary(max_size=8),
    st.sampled_from(list(RawEvent)),
)


@settings(max_examples=30, deadline=None, derandomize=True)
@given(st.lists(RECORDS, max_size=600))
def test_records_come_back_as_they_were(tmp_path_factory, records):
    path = tmp_path_factory.mktemp("log") / "x"
    log = RawLog(path, LEG)
    for kind, link, stamp, wire, data, event in records:
        log.put(kind, link, stamp, wire, data, event)
    log.close()
    data = path.read_bytes()
    assert read_header(data, "x") == LEG
    assert len(data) == HEADER.size + len(records) * RECORD.size
    found = [(r.kind, r.link, r.stamp_ns, r.wire_ns, r.data, r.event) for r in read_records(data)]
    assert found == records


def test_records_that_nobody_flushes_are_kept_too(path):
    log = RawLog(path, LEG)
    for number in range(1300):
        log.put(RawKind.HOST, number, 0, 0, b"x")
    log.close()
    assert [record.link for record in read_records(path.read_bytes())] == list(range(1300))


@pytest.fixture
def disk(monkeypatch):
    """A disk that can be full: then it takes ten bytes and no more."""

    class Disk:
        full = took_some = False

    def pwrite(descriptor, data, at, write=os.pwrite):
        if not disk.full:
            return write(descriptor, data, at)
        disk.took_some = not disk.took_some
        if disk.took_some:
            return write(descriptor, data[:10], at)
        raise OSError(errno.ENOSPC, "No space left on device")

    disk = Disk()
    monkeypatch.setattr(os, "pwrite", pwrite)
    return disk


def test_a_full_disk_loses_only_what_there_was_no_room_for_and_counts_it(path, disk):
    log = RawLog(path, LEG)
    for number in range(2000):
        disk.full = 100 <= number < 1500
        log.put(RawKind.HOST, number, 0, 0, b"x")
        log.flush()
    log.close()
    links = [record.link for record in read_records(path.read_bytes())]
    assert links == [*range(100 + 512), *range(1500, 2000)]
    assert log.lost == 1500 - 612


def test_servos_go_on_without_their_log(path, disk):
    log = RawLog(path, LEG)
    b = bench(0, log=log)
    disk.full = True
    b.world.script = [(AT + k * 3 * MS, encode_read(0)) for k in range(400)]
    b.run_until(AT + 1250 * MS)
    assert len(b.world.got) == 400
    log.close()
    assert log.lost == 800


def drive(at, bus_id, goal):
    return at, encode_position(bus_id, 3, goal)


def off(at, bus_id):
    return at, encode_passive(bus_id)


WIRE = wire_ns(4, 57_600)


def test_torque_is_off_since_the_first_of_the_offs_that_last(path):
    script = [drive(AT, 0, 100), drive(AT + 5 * MS, 1, 100), off(AT + 10 * MS, 0), off(AT + 15 * MS, 1)]
    script += [drive(AT + 20 * MS, 1, 100), off(AT + 25 * MS, 0), off(AT + 30 * MS, 1)]
    log, _ = logged(path, script)
    assert torque_off_ns(log) == {
        0: pytest.approx(AT + 10 * MS + WIRE, abs=2 * US),
        1: pytest.approx(AT + 30 * MS + WIRE, abs=2 * US),
    }
    assert torque_off_ns(log, [1], until_ns=AT + 22 * MS) == {1: None}
    assert torque_off_ns(log, [0], since_ns=AT + 12 * MS) == {0: pytest.approx(AT + 25 * MS + WIRE, abs=2 * US)}
    assert last_drive_ns(log) == pytest.approx(AT + 20 * MS + WIRE, abs=2 * US)
    assert last_drive_ns(log, [0]) == pytest.approx(AT + WIRE, abs=2 * US)
    assert last_drive_ns(log, [7]) == -1


def test_a_servo_never_released_is_not_called_off_nor_one_released_by_a_garbled_request(path):
    garbled = bytearray(encode_passive(0))
    garbled[3] ^= 1
    log, _ = logged(path, [drive(AT, 0, 100), (AT + 5 * MS, bytes(garbled)), (AT + 10 * MS, encode_read(1))])
    assert torque_off_ns(log) == {0: None, 1: None}


def test_break_takes_the_torque_off_all_and_sync_drives_the_first(path):
    log, _ = logged(path, [(AT, encode_break())])
    assert set(torque_off_ns(log).values()) == {log.frames[0].end_ns}
    log, _ = logged(path, [(AT, encode_break()), (AT + 5 * MS, encode_sync(2, [50]))])
    assert torque_off_ns(log)[0] is None
    assert torque_off_ns(log)[1] is not None
    assert commands_beyond(log, {0: 300}) == [LimitExceeded(log.frames[1].end_ns, 0, 50, -1)]


def test_a_goal_is_measured_against_the_last_reply_the_host_had(path):
    asked = [(AT, encode_read(0)), (AT + 5 * MS, encode_read(1))]
    log, _ = logged(path, [*asked, drive(AT + 10 * MS, 0, 140), drive(AT + 15 * MS, 1, 60)])
    assert commands_beyond(log, {0: 40, 1: 40}) == []
    assert [beyond[1:] for beyond in commands_beyond(log, {0: 39, 1: 40})] == [(0, 140, 100)]
    assert [beyond[1:] for beyond in commands_beyond(log, {1: 39})] == [(1, 60, 100)]


def test_a_goal_before_any_reply_is_beyond_every_limit(path):
    log, _ = logged(path, [drive(AT, 0, 100), drive(AT + 300 * US, 0, 100), drive(AT + 10 * MS, 0, 100)])
    assert [beyond[1:] for beyond in commands_beyond(log, {0: 254})] == [(0, 100, -1)] * 2


def test_after_a_request_with_a_wrong_checksum_one_begins_where_its_piece_does(path):
    spoilt = encode_read(0)[:3] + b"\x00"
    log, _ = logged(path, [(AT, spoilt + encode_read(1))])
    assert log.bad_checksums == 1
    assert log.frames[0].start_ns == pytest.approx(AT, abs=2 * US)
    assert log.frames[0].end_ns == pytest.approx(AT + 2 * WIRE, abs=2 * US)


def test_a_servo_that_turns_like_a_wheel_is_driven_without_a_goal(path):
    log, _ = logged(path, [off(AT, 0), (AT + 5 * MS, encode_wheel(0, clockwise=True, speed=3))])
    assert log.frames[1].goals() == {}
    assert last_drive_ns(log) == log.frames[1].end_ns
    assert torque_off_ns(log, [0]) == {0: None}
