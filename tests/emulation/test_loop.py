"""The emulator's loop on a clock of paper: when bytes arrive, when replies leave, what the plant does meanwhile."""

import pytest

from drivers.aimotor.codec import encode_passive, encode_position, encode_read
from drivers.port import wire_ns
from nuc_engine.emulation.loop import BEHIND_NS, LATE_NS, SPIN_NS
from tests.emulation.world import MS, TURN_NS, US, bench

AT = 20 * MS
READ = encode_read(0)
ANSWER = b"\x00\x64"


def due(baud=57_600, request=4, at=AT):
    return at + wire_ns(request, baud) + TURN_NS + wire_ns(2, baud)


@pytest.mark.parametrize("baud", [57_600, 115_200, 460_800])
@pytest.mark.parametrize("oversleep_us", [0, 10, 45])
def test_a_reply_is_there_when_its_last_byte_would_be(baud, oversleep_us):
    b = bench(baud=baud)
    b.world.oversleep_ns = oversleep_us * US
    b.world.script = [(AT, READ)]
    b.run_until(AT + 10 * MS)
    ((when, data),) = b.world.got
    assert data == ANSWER
    # The clock is read once between the request's arrival and its stamp, and in steps of a microsecond at the end.
    assert 0 <= when - due(baud) <= 3 * US
    assert b.loop.replies.late == 0


def test_a_loop_that_is_woken_too_late_says_by_how_much():
    b = bench()
    b.world.oversleep_ns = 400 * US
    b.world.script = [(AT, READ)]
    b.run_until(AT + 10 * MS)
    late = b.world.got[0][0] - due()
    assert late >= 400 * US - SPIN_NS > LATE_NS
    assert b.loop.replies.late == 1
    assert b.loop.replies.max_ns == pytest.approx(late, abs=3 * US)


def test_requests_written_at_once_arrive_one_after_the_other():
    b = bench(0, 1)
    b.world.script = [(AT, encode_position(0, 3, 90) + encode_position(1, 3, 80) + encode_read(1))]
    b.run_until(AT + 10 * MS)
    expected = [due(at=AT + wire_ns(4 * k, 57_600)) for k in range(3)]
    assert [when for when, _ in b.world.got] == [pytest.approx(e, abs=5 * US) for e in expected]
    assert b.plant.calls[2:] == [("command", 0, 90, 3), ("command", 1, 80, 3)]


def test_a_flood_is_heard_at_the_rate_of_the_wire_and_no_further_ahead():
    b = bench(0)
    b.world.script = [(AT, encode_position(0, 3, 90) * 100)]
    b.run_until(AT + 10 * MS)
    received = b.loop.exchanges
    assert received == pytest.approx(10 * MS / wire_ns(4, 57_600), abs=2)
    assert b.plant.done_ns + 5 * MS <= b.world.now_ns + wire_ns(8, 57_600)


def test_a_flood_in_small_writes_is_heard_at_the_rate_of_the_wire_too():
    b = bench(0)
    b.world.script = [(AT + k * 100 * US, encode_position(0, 3, 90)) for k in range(100)]
    b.run_until(AT + 10 * MS)
    assert b.loop.exchanges == pytest.approx(10 * MS / wire_ns(4, 57_600), abs=2)
    assert b.plant.done_ns + 5 * MS <= b.world.now_ns + wire_ns(8, 57_600)
    b.run_until(AT + 100 * MS)
    assert b.host_got() == [ANSWER] * 100


def test_a_request_in_pieces_counts_from_its_last_byte():
    b = bench(0)
    b.world.script = [(AT + k * 3 * MS, READ[k : k + 1]) for k in range(4)]
    b.run_until(AT + 30 * MS)
    ((when, data),) = b.world.got
    assert data == ANSWER
    assert when == pytest.approx(due(request=1, at=AT + 9 * MS), abs=3 * US)


def test_rubbish_before_a_request_costs_its_time_on_the_wire():
    b = bench(0)
    b.world.script = [(AT, b"\x01\x02\x03" + READ)]
    b.run_until(AT + 30 * MS)
    ((when, data),) = b.world.got
    assert data == ANSWER
    assert when == pytest.approx(due(request=7), abs=3 * US)
    assert b.emulator.stray_bytes == 3


def test_replies_byte_by_byte():
    b = bench(0, bytewise=True)
    b.world.script = [(AT, READ)]
    b.run_until(AT + 10 * MS)
    assert b.host_got() == [b"\x00", b"\x64"]
    first, second = (when for when, _ in b.world.got)
    assert first == pytest.approx(due() - wire_ns(1, 57_600), abs=3 * US)
    assert second == pytest.approx(due(), abs=3 * US)


def test_replies_on_each_others_heels_are_handed_over_without_looking_elsewhere():
    b = bench(0, baud=921_600)
    b.run_until(AT)
    waits = b.world.waits
    for k in range(40):
        b.loop._line.deliver(bytes((k,)), AT - 3 * MS)
    b.run_until(AT + 4 * MS)
    assert b.host_got() == [bytes((k,)) for k in range(40)]
    assert [at for at, _ in b.world.got] == [
        pytest.approx(AT + 2 * MS + wire_ns(k + 1, 921_600), abs=5 * US) for k in range(40)
    ]
    assert b.world.waits - waits < 10


def test_the_plant_keeps_up_with_the_clock_while_the_bus_is_silent():
    b = bench(0)
    b.run_until(100 * MS)
    assert b.world.now_ns - 5 * MS - b.plant.done_ns < 2 * MS
    assert b.loop.plant_behind.late == 0
    # Waiting is waiting: a few wake-ups per millisecond, not a busy loop.
    assert b.world.waits < 300


def test_the_plant_keeps_up_with_the_clock_while_the_bus_is_busy():
    b = bench(0)
    b.world.script = [(AT + k * 2 * MS, READ) for k in range(100)]
    b.run_until(AT + 200 * MS)
    assert len(b.world.got) == 100
    assert b.world.now_ns - 5 * MS - b.plant.done_ns < 4 * MS


def test_nothing_is_computed_between_a_request_and_its_reply():
    b = bench(0)
    b.plant.cost_ns = 300 * US
    b.world.script = [(AT + k * 5 * MS, READ) for k in range(20)]
    b.run_until(AT + 110 * MS)
    assert b.loop.replies.count == 20
    assert b.loop.replies.late == 0


def test_physics_that_is_slower_than_time_is_said_to_be():
    b = bench(0)
    b.plant.cost_ns = 3 * MS // 2
    b.run_until(60 * MS)
    assert b.loop.plant_behind.max_ns > BEHIND_NS
    assert b.loop.plant_behind.late > 0


def test_after_a_standstill_the_plant_catches_up():
    b = bench(0)
    b.plant.cost_ns = 20 * US
    b.run_until(20 * MS)
    b.world.now_ns += 3000 * MS
    b.run_until(b.world.now_ns + 200 * MS)
    assert b.world.now_ns - 5 * MS - b.plant.done_ns < 2 * MS
    assert b.loop.plant_behind.max_ns > 2000 * MS


def test_a_stalled_line_keeps_bytes_back_in_both_directions_while_the_plant_goes_on():
    b = bench(0)
    b.run_until(AT - MS)
    b.world.script = [(AT, READ), (AT + 30 * MS, READ)]
    while not b.loop.exchanges:
        b.loop.turn()
    b.loop.stall(50 * MS)
    stalled = b.world.now_ns
    b.run_until(stalled + 45 * MS)
    assert b.world.got == []
    assert b.loop.exchanges == 1
    assert b.world.now_ns - 5 * MS - b.plant.done_ns < 4 * MS
    b.run_until(stalled + 60 * MS)
    assert b.host_got() == [ANSWER, ANSWER]
    assert b.world.got[0][0] - stalled == pytest.approx(50 * MS, abs=50 * US)


def test_what_nobody_takes_is_counted():
    b = bench(0)
    b.world.script = [(AT, READ), (AT + 10 * MS, READ), (AT + 20 * MS, READ)]
    b.world.room = 2
    b.run_until(AT + 15 * MS)
    assert b.host_got() == [ANSWER, b""]
    b.world.plugged = False
    b.run_until(AT + 40 * MS)
    assert b.loop.lost == 1
    b.world.plugged, b.world.room = True, 100
    b.run_until(AT + 60 * MS)
    assert b.host_got() == [ANSWER, b"", ANSWER]


def test_chores_are_done_about_forty_times_a_second_even_on_a_busy_line():
    b = bench(0, baud=460_800)
    done = []
    b.loop.chores = done.append
    b.world.script = [(AT + k * 500 * US, encode_passive(0)) for k in range(4000)]
    b.run_until(AT + 2000 * MS)
    assert len(b.world.got) > 3900
    assert 60 <= len(done) <= 81


def test_chores_are_not_put_off_for_ever_where_there_is_never_time():
    b = bench(0, baud=921_600)
    done = []
    b.loop.chores = done.append
    b.world.script = [(AT + k * 350 * US, encode_passive(0)) for k in range(12_000)]
    b.run_until(AT + 4000 * MS)
    assert 2 <= len(done) <= 6


def test_stop_ends_run():
    b = bench(0)
    b.loop.chores = lambda now_ns: b.loop.stop()
    b.loop.run()
    assert b.world.now_ns < 200 * MS


class Visitor:
    """Somebody at the door since `since_ns`."""

    def __init__(self, world, since_ns):
        self.world, self.since_ns, self.served = world, since_ns, []
        self.wait, world.wait = world.wait, self.wait_for_both

    def filenos(self):
        return (9,)

    def handle(self, descriptor):
        self.served.append(self.world.now_ns)

    def wait_for_both(self, deadline_ns, descriptors):
        if 9 in descriptors and not self.served and self.world.now_ns >= self.since_ns:
            return [9]
        return self.wait(deadline_ns, descriptors)


def with_visitor(b, since_ns):
    visitor = Visitor(b.world, since_ns)
    b.loop.visitor = visitor
    b.loop._wait = visitor.wait_for_both
    return visitor


def test_visitors_wait_while_a_reply_is_near():
    b = bench(0)
    b.world.script = [(AT, READ)]
    visitor = with_visitor(b, due() - 200 * US)
    b.run_until(AT + 10 * MS)
    assert visitor.served[0] > b.world.got[0][0]
    assert b.loop.replies.late == 0


def test_visitors_do_not_wait_for_ever_on_a_line_that_is_never_free():
    b = bench(0, bytewise=True)
    b.emulator.babble(0)
    visitor = with_visitor(b, AT)
    b.run_until(AT + 100 * MS)
    assert visitor.served[0] - AT < 15 * MS
    assert len(b.world.got) > 500
