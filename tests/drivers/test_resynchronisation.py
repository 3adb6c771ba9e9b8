"""Whatever comes in: no reply is believed that can be told to be wrong, every cycle ends, and the bus finds back.

The other end of the line says what hypothesis makes up. The oracle is its own list of what arrived when, not the bus.
"""

from emulated import EXCHANGE_NS, LISTEN_NS, MS, REPLY_NS, REQUEST_NS, TURN_NS, Polled, addresses
from hypothesis import example, given, settings
from hypothesis import strategies as st

from drivers.aimotor import AiMotorBus, codec
from drivers.bus import LIMP
from drivers.inprocess import InProcessPort
from drivers.port import NEVER, wire_ns
from drivers.servo import ReplyStatus

OK, MISSED, IMPLAUSIBLE = ReplyStatus.OK, ReplyStatus.MISSED, ReplyStatus.IMPLAUSIBLE
UNSURE = ReplyStatus.UNSURE
BAUD = 57_600
BYTE_NS = wire_ns(1, BAUD)
FIRST_NS, WIRE_NS = REQUEST_NS + BYTE_NS, REQUEST_NS + REPLY_NS
TIMEOUT_NS = WIRE_NS + 4 * MS
# Near enough to each other that a servo could have gone where its neighbour is.
TRUTH = (100, 101, 103, 102)
FAR = 10**15
LONGEST_CYCLE_NS = 4 * (TIMEOUT_NS + 8 * REPLY_NS + LISTEN_NS)
faulty = settings(max_examples=150, deadline=None, derandomize=True)


class Mouth:
    """Answers request n with the n-th of `script` ((delay, bytes) each), and truly once that is used up."""

    def __init__(self, script):
        self._script = list(script)
        self._free_ns = 0
        self.sent = []
        self.arrivals = []
        self.faulty_until_ns = 0

    def connect(self, line):
        self._line = line

    def receive(self, data, now_ns):
        bus_id = data[1] & 31
        self.sent.append((now_ns, bus_id))
        # A torque-off is answered with the position twice.
        truth = bytes((TRUTH[bus_id] if data[1] >> 5 == 6 else 10, TRUTH[bus_id]))
        scripted = bool(self._script)
        chunks = self._script.pop(0)(truth) if scripted else [(0, truth)]
        for delay_ns, chunk in chunks:
            start_ns = max(now_ns + REQUEST_NS + TURN_NS + delay_ns, self._free_ns)
            self._free_ns = start_ns + wire_ns(len(chunk), BAUD) if chunk else self._free_ns
            self.arrivals += [(start_ns + wire_ns(k + 1, BAUD), byte) for k, byte in enumerate(chunk)]
            self._line.deliver(chunk, start_ns)
            if scripted:
                self.faulty_until_ns = self._free_ns


def flip(truth, bit):
    data = bytearray(truth)
    data[bit // 8] ^= 1 << bit % 8
    return bytes(data)


delays = st.integers(-TURN_NS - 600_000, 9 * MS)
noise = st.binary(min_size=1, max_size=7)
answers = st.one_of(
    st.just(lambda truth: [(0, truth)]),
    st.just(lambda truth: []),
    delays.map(lambda delay: lambda truth: [(delay, truth)]),
    noise.map(lambda data: lambda truth: [(0, data + truth)]),
    noise.map(lambda data: lambda truth: [(0, truth + data)]),
    st.integers(0, 1).map(lambda index: lambda truth: [(0, truth[index : index + 1])]),
    st.integers(0, 15).map(lambda bit: lambda truth: [(0, flip(truth, bit))]),
    st.tuples(delays, noise).map(lambda pair: lambda truth: [(pair[0], pair[1]), (pair[0], truth)]),
    st.tuples(delays, noise).map(lambda pair: lambda truth: [(0, truth), pair]),
)
scripts = st.lists(answers, max_size=24)


def goals(bus):
    return [50 if status == OK else -1 for status in bus.status]


def run_ahead(bus, mouth, now_ns):
    return bus.run_until(FAR)


def at_wakes(bus, mouth, now_ns):
    while not bus.proceed(now_ns):
        now_ns = bus.wake_ns
    return now_ns


def at_bytes(bus, mouth, now_ns):
    """As on a real line: at the timeouts, and whenever a byte makes the descriptor readable."""
    while not bus.proceed(now_ns):
        coming = [arrival for arrival, _ in mouth.arrivals if arrival > now_ns]
        now_ns = min([bus.wake_ns, *coming])
    return now_ns


def play(script, drive, cycles=9, wrap=lambda port: port):
    """Run cycles; return (bus, mouth, per cycle (start, end, first request, status, position, stamp))."""
    mouth = Mouth(script)
    bus = AiMotorBus(wrap(InProcessPort(mouth, BAUD)), addresses(0, 1, 2, 3), baud=BAUD)
    now, seen = 0, []
    for _ in range(cycles):
        first = len(mouth.sent)
        bus.start(now, goals(bus))
        end = drive(bus, mouth, now)
        seen.append((now, end, first, bus.status[:], bus.position_raw[:], bus.stamp_ns[:]))
        now = end
    return bus, mouth, seen


@faulty
@given(scripts)
def test_a_reply_is_two_bytes_at_their_time_and_nothing_behind_them(script):
    _, mouth, seen = play(script, run_ahead)
    for _, end, first, status, positions, stamps in seen:
        for k in range(4):
            if status[k] != OK:
                continue
            sent_ns, bus_id = mouth.sent[first + k]
            assert bus_id == k
            until_ns = mouth.sent[first + k + 1][0] + FIRST_NS if k < 3 else end + 1
            came = [(at, byte) for at, byte in mouth.arrivals if sent_ns < at < until_ns]
            believed = [byte for at, byte in came if at <= stamps[k]][-2:]
            assert stamps[k] >= sent_ns + WIRE_NS
            assert 255 not in believed
            assert believed[1] == positions[k]
            # Nothing more behind it, and since a reply could begin, nothing more before it.
            assert [at for at, _ in came if at > stamps[k]] == []
            assert len([at for at, _ in came if at >= sent_ns + WIRE_NS]) <= 2


@faulty
@given(scripts)
def test_after_a_failure_a_reply_counts_only_when_nothing_follows_it(script):
    _, mouth, seen = play(script, run_ahead)
    before = OK
    for _, end, first, status, _, stamps in seen:
        for k in range(4):
            if status[k] == OK and before not in (OK, UNSURE):
                next_ns = mouth.sent[first + k + 1][0] if k < 3 else end
                assert next_ns >= stamps[k] + LISTEN_NS
                assert not [at for at, _ in mouth.arrivals if stamps[k] < at < stamps[k] + LISTEN_NS]
            before = status[k]


@faulty
@given(scripts)
def test_every_cycle_ends_in_time_and_the_bus_is_clean_within_three_cycles(script):
    bus, mouth, seen = play(script, run_ahead, cycles=12)
    assert all(end - start <= LONGEST_CYCLE_NS for start, end, *_ in seen)
    settled = [cycle for cycle in seen if cycle[0] > mouth.faulty_until_ns and cycle[2] >= len(script)][3:]
    for start, end, _, status, positions, _ in settled:
        assert (status, tuple(positions)) == ([OK] * 4, TRUTH)
        assert end - start == 4 * EXCHANGE_NS
    assert bus.misses == [0] * 4
    assert len(settled) >= 1


@faulty
@given(scripts)
def test_driven_by_bytes_as_on_a_real_line_it_comes_to_the_same(script):
    results = []
    for drive, wrap in ((run_ahead, lambda p: p), (at_wakes, lambda p: p), (at_bytes, Polled)):
        bus, mouth, seen = play(script, drive, wrap=wrap)
        results.append((seen, mouth.sent, bus.missed, bus.implausible, bus.stray_bytes))
    assert results[0] == results[1] == results[2]


@faulty
@given(scripts, st.integers(20_000, 700_000))
@example([], 300_000)
def test_a_host_that_looks_only_now_and_then_is_bounded_and_finds_back_too(script, step_ns):
    def now_and_then(bus, mouth, now_ns):
        while not bus.proceed(now_ns):
            now_ns += step_ns
        return now_ns

    bus, _, seen = play(script, now_and_then, cycles=14, wrap=Polled)
    assert all(end - start <= LONGEST_CYCLE_NS + 16 * step_ns for start, end, *_ in seen)
    assert bus.position_raw == list(TRUTH)
    assert bus.status == [OK] * 4


@faulty
@given(scripts, st.integers(0, 30 * MS))
def test_torque_off_reaches_every_servo_in_time_whatever_comes_in(script, after_ns):
    mouth = Mouth(script)
    bus = AiMotorBus(InProcessPort(mouth, BAUD), addresses(0, 1, 2, 3), baud=BAUD)
    now = 0
    while now < after_ns:
        bus.start(now, goals(bus))
        done = bus.run_until(after_ns)
        if done == NEVER:
            break
        now = done
    sent = []
    receive = mouth.receive
    mouth.receive = lambda data, now_ns: (sent.append((now_ns, bytes(data))), receive(data, now_ns))
    bus.torque_off(max(now, after_ns))
    assert bus.run_until(FAR) < NEVER
    assert [data for _, data in sent] == [codec.encode_passive(k) for k in range(4)]
    # One exchange under way, then one timeout each, and silence after a doubtful reply; never a wait before sending.
    assert sent[-1][0] - max(now, after_ns) <= 4 * (TIMEOUT_NS + LISTEN_NS)


def test_the_third_byte_takes_a_reply_back():
    _, _, seen = play([lambda truth: [(0, truth)]] * 5 + [lambda truth: [(0, b"\x0a" + truth)]], run_ahead, cycles=4)
    # The reply was 0A 0A; its real position came third.
    assert [cycle[3] for cycle in seen] == [[OK] * 4, [OK, IMPLAUSIBLE, OK, OK], [OK, UNSURE, OK, OK], [OK] * 4]
    assert seen[1][4] == list(TRUTH)
    assert seen[1][5][1] == seen[0][5][1]


def test_a_plausible_reply_with_a_byte_behind_it_is_taken_back_with_all_it_brought():
    script = [lambda truth: [(0, truth)]] * 5 + [lambda truth: [(0, bytes((99, truth[1] + 1, 7)))]]
    bus, _, seen = play(script, run_ahead, cycles=2)
    assert seen[1][3] == [OK, IMPLAUSIBLE, OK, OK]
    assert (bus.position_raw[1], bus.current_raw[1], bus.misses[1]) == (101, 10, 1)
    assert (bus.missed, bus.implausible, bus.stray_bytes) == (0, 1, 1)


def test_a_late_reply_is_not_the_next_servos_though_it_could_have_gone_there():
    late = [lambda truth, d=d: [(4_000_000 - TURN_NS + d, truth)] for d in range(0, 2 * MS, 100_000)]
    for answer in late:
        _, _, seen = play([lambda truth: [(0, truth)]] * 4 + [answer], run_ahead, cycles=2)
        status, positions, stamps = seen[1][3:]
        for k in range(1, 4):
            assert positions[k] == TRUTH[k]
            assert status[k] == OK or stamps[k] == seen[0][5][k]


def test_a_line_that_never_falls_silent_holds_a_request_back_for_eight_replies_at_most():
    def shout(truth):
        return [(0, bytes(60))]

    _, mouth, seen = play([shout] * 8, run_ahead, cycles=2)
    assert all(status != OK for cycle in seen for status in cycle[3])
    gaps = [b[0] - a[0] for a, b in zip(mouth.sent, mouth.sent[1:], strict=False)]
    assert max(gaps) <= TIMEOUT_NS + 8 * REPLY_NS


def test_what_comes_between_cycles_is_thrown_away_when_it_comes():
    mouth = Mouth([])
    port = InProcessPort(mouth, BAUD)
    bus = AiMotorBus(Polled(port), addresses(0), baud=BAUD)
    port.deliver(b"abc", 1 * MS)
    assert bus.proceed(2 * MS)
    assert (bus.stray_bytes, port.ready_ns(1)) == (3, NEVER)
    # Long enough ago that the line counts as silent.
    bus.start(3 * MS, [-1])
    assert mouth.sent == [(3 * MS, 0)]


def test_limp_takes_torque_off_reads_the_position_and_counts_no_current():
    for drive in (run_ahead, at_wakes):
        mouth = Mouth([])
        bus = AiMotorBus(InProcessPort(mouth, BAUD), addresses(0, 1, 2, 3), baud=BAUD)
        received = []
        receive = mouth.receive
        mouth.receive = lambda data, now_ns, receive=receive, received=received: (
            received.append(bytes(data)),
            receive(data, now_ns),
        )
        bus.start(0, [LIMP, 50, LIMP, -1])
        assert drive(bus, mouth, 0) == 4 * EXCHANGE_NS
        assert received == [
            codec.encode_passive(0),
            codec.encode_position(1, 3, 50),
            codec.encode_passive(2),
            codec.encode_read(3),
        ]
        assert bus.position_raw == list(TRUTH)
        assert bus.current_raw == [0, 10, 0, 10]
        assert bus.status == [OK] * 4
        bus.start(4 * EXCHANGE_NS, [50] * 4)
        drive(bus, mouth, 4 * EXCHANGE_NS)
        assert bus.current_raw == [10] * 4


def test_a_limp_servo_that_does_not_answer_has_not_confirmed():
    mouth = Mouth([lambda truth: []])
    bus = AiMotorBus(InProcessPort(mouth, BAUD), addresses(0, 1), baud=BAUD)
    bus.start(0, [LIMP, LIMP])
    bus.run_until(FAR)
    assert bus.status == [MISSED, OK]


def test_torque_off_does_not_wait_for_a_line_that_talks():
    mouth = Mouth([])
    port = InProcessPort(mouth, BAUD)
    bus = AiMotorBus(port, addresses(0, 1), baud=BAUD)
    port.deliver(bytes(64), 0)
    bus.torque_off(5 * MS)
    assert mouth.sent == [(5 * MS, 0)]
    assert bus.run_until(FAR) < NEVER
    # Held back after a refused reply, a torque-off is sent at once.
    mouth = Mouth([lambda truth: [(0, b"\xff\x01")]])
    bus = AiMotorBus(InProcessPort(mouth, BAUD), addresses(0, 1), baud=BAUD)
    bus.start(0, [-1, -1])
    bus.run_until(EXCHANGE_NS)
    assert len(mouth.sent) == 1
    bus.torque_off(EXCHANGE_NS + 1000)
    assert mouth.sent[1:] == [(EXCHANGE_NS + 1000, 0)]


def test_a_read_names_the_place_where_the_shaft_is_because_bit_7_is_not_protected():
    mouth = Mouth([])
    bus = AiMotorBus(InProcessPort(mouth, BAUD), addresses(0, 1), baud=BAUD)
    received = []
    receive = mouth.receive
    mouth.receive = lambda data, now_ns: (received.append(bytes(data)), receive(data, now_ns))
    now = 0
    for goals in ([-1, -1], [-1, 50], [-1, -1]):
        bus.start(now, goals)
        now = bus.run_until(FAR)
    assert received[0:2] == [codec.encode_read(0), codec.encode_read(1)]
    assert received[2:4] == [codec.encode_read(0, 100), codec.encode_position(1, 3, 50)]
    assert received[4:6] == [codec.encode_read(0, 100), codec.encode_read(1, 101)]
    # The same bytes without that bit: go to where you are.
    flipped = bytes((0xFF, received[2][1] ^ 0x80, *received[2][2:]))
    ((_, request),) = codec.RequestParser().feed(flipped)
    assert (request.op, request.value) == (codec.Op.POSITION_SEND, 100)


def test_a_torque_off_that_was_heard_as_a_send_is_not_confirmed():
    # That is what comes of it without bit 7, and a send is answered with the current first.
    passive = codec.encode_passive(0)
    ((_, request),) = codec.RequestParser().feed(bytes((0xFF, passive[1] ^ 0x80, *passive[2:])))
    assert (request.op, request.value) == (codec.Op.POSITION_SEND, 0x10)

    def as_a_send(truth):
        return [(0, bytes((10, TRUTH[0])))]

    def echo(truth):
        return [(0, bytes((0x10, TRUTH[0])))]

    for limp in (False, True):
        mouth = Mouth([as_a_send, as_a_send, echo, as_a_send, as_a_send, as_a_send, as_a_send])
        bus = AiMotorBus(InProcessPort(mouth, BAUD), addresses(0), baud=BAUD)
        now, seen = 0, []
        for _ in range(8):
            if limp:
                bus.start(now, [LIMP])
            else:
                bus.torque_off(now)
            now = bus.run_until(FAR)
            seen.append(bus.status[0])
        # A servo that answers so three times in a row just answers so, until it answers as expected.
        first = UNSURE if limp else OK
        assert seen == [IMPLAUSIBLE, IMPLAUSIBLE, first, IMPLAUSIBLE, IMPLAUSIBLE, first, OK, OK]
