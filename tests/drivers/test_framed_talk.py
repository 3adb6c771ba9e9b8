"""Exchanges one after the other, to the byte: what is held back, what a status is believed of, what is thrown away."""

import pytest
from emulated import Polled
from framed_rig import FAMILIES, both
from framed_servos import MS

from drivers.dynamixel.codec import fast_status
from drivers.errors import PortGoneError
from drivers.framed import requests
from drivers.framed.packet import SYNC_READ, Packet
from drivers.framed.transactions import Exchange, TransactionRunner
from drivers.inprocess import InProcessPort
from drivers.port import wire_ns

BAUD, FAR = 1_000_000, 10**15
TIMEOUT_NS = 4 * MS
FEETECH = FAMILIES["feetech"][0].dialect


class Wire:
    """Keeps what is said and says nothing; the test answers. Each write is noted with its time."""

    def __init__(self, family="dynamixel", wrap=lambda port: port):
        self.dialect = FAMILIES[family][0].dialect
        self.said = []
        self.port = InProcessPort(self, BAUD)
        self.talk = TransactionRunner(wrap(self.port), self.dialect, baud=BAUD, timeout_ns=TIMEOUT_NS)
        self.answers = []

    def connect(self, line):
        self.line = line

    def receive(self, data, now_ns):
        self.said.append((now_ns, data))

    def begin(self, *exchanges, now_ns=0):
        """Let the talk make these; `answers` are what came for each, by id."""

        def script():
            for exchange in exchanges:
                self.answers.append({k: packet.params for k, packet in (yield exchange).items()})

        self.talk.begin(script(), now_ns)

    def read(self, *ids, length=2, before=b"", wary=True):
        """An exchange that asks these for the same bytes."""
        request = requests.sync_read(self.dialect, ids, 30, length, SYNC_READ)
        return Exchange(request, ids, length, prefix=before, after_late=wary)

    def status(self, bus_id, *data, at_ns):
        """Let a status come in; return when it is whole."""
        packet = self.dialect.status(bus_id, 0, bytes(data))
        self.port.deliver(packet, at_ns)
        return at_ns + wire_ns(len(packet), BAUD)

    def silence_of(self, *ids, length=2):
        """How long the talk waits for servos that do not answer a `read`, from its begin."""
        request = self.read(*ids, length=length).request
        reply_bytes = self.dialect.status_bytes(length) + length // 3
        return wire_ns(len(request), BAUD) + wire_ns(reply_bytes, BAUD) + TIMEOUT_NS


@both
@pytest.mark.parametrize("group", [(1, 2), (2, 1)])
def test_a_question_to_several_waits_for_whoever_of_them_may_still_answer_another(family, group):
    wire = Wire(family)
    wire.begin(wire.read(1), wire.read(*group))
    over_ns = wire.silence_of(1)
    wire.talk.run_until(over_ns + TIMEOUT_NS)
    assert len(wire.said) == 1
    wire.talk.run_until(FAR)
    # As long again as the status would have taken with its time-out.
    assert over_ns + TIMEOUT_NS < wire.said[1][0] < over_ns + TIMEOUT_NS + MS


@both
def test_who_owes_nothing_is_asked_at_once(family):
    wire = Wire(family)
    wire.begin(wire.read(1), wire.read(2, 3))
    wire.talk.run_until(FAR)
    assert wire.said[1][0] == wire.silence_of(1)


@both
def test_what_goes_before_a_question_that_waits_goes_at_once_and_once(family):
    wire = Wire(family)
    goals = b"goals, which nobody answers"
    wire.begin(wire.read(1), wire.read(1, before=goals))
    over_ns = wire.silence_of(1)
    wire.talk.run_until(over_ns)
    assert wire.said[1:] == [(over_ns, goals)]
    wire.talk.run_until(FAR)
    assert [data for _, data in wire.said[2:]] == [wire.read(1).request]


@both
def test_what_goes_before_a_question_that_does_not_wait_goes_with_it(family):
    wire = Wire(family)
    wire.begin(wire.read(1, before=b"goals"))
    assert [data for _, data in wire.said] == [b"goals" + wire.read(1).request]


@both
def test_the_rest_of_a_broken_status_is_not_looked_for_in_the_next_ones(family):
    wire = Wire(family)
    wire.begin(wire.read(1, length=40), wire.read(2))
    broken = wire.dialect.status(1, 0, bytes(40))[:12]
    wire.port.deliver(broken, MS)
    over_ns = wire.silence_of(1, length=40)
    wire.status(2, 7, 8, at_ns=over_ns + MS)
    wire.talk.run_until(FAR)
    assert wire.said[1][0] == over_ns
    assert wire.answers == [{}, {2: b"\x07\x08"}]
    assert wire.talk.stray_bytes == len(broken)


@both
def test_what_came_before_a_host_that_is_late_asked_again_is_no_answer(family):
    wire = Wire(family, wrap=Polled)
    wire.begin(wire.read(1, wary=False), wire.read(1, wary=False))
    over_ns = wire.silence_of(1)
    late_ns = wire.status(1, 7, 8, at_ns=over_ns + 10_000)
    # It looks when the time-out is long over, asks again, and looks only when the answer to that has come too.
    asked_ns = late_ns + MS
    wire.talk.proceed(asked_ns)
    assert wire.said[1][0] == asked_ns
    answered_ns = wire.status(1, 9, 10, at_ns=asked_ns + MS)
    wire.talk.proceed(answered_ns + MS)
    assert wire.answers == [{}, {1: b"\x09\x0a"}]
    assert wire.talk.stray_bytes == wire.dialect.status_bytes(2)


def test_a_status_that_looks_as_the_ping_itself_is_that_of_a_servo_whose_voltage_is_wrong():
    ping = requests.ping(FEETECH, 1)
    assert ping == FEETECH.status(1, 1)
    wire = Wire("feetech")
    wire.begin(Exchange(ping, (1,)))
    wire.port.deliver(ping, MS)
    wire.talk.run_until(FAR)
    assert wire.answers == [{1: b""}]


@both
def test_who_was_passed_over_owes_nothing_for_it(family):
    wire = Wire(family)
    wire.begin(wire.read(1, 2), wire.read(1))
    # Of the first one's status nothing comes; the second one answers behind it, so it was there.
    done_ns = wire.status(2, 7, 8, at_ns=MS)
    wire.talk.proceed(done_ns)
    assert wire.said[1][0] == done_ns


@pytest.mark.parametrize("before", [b"", b"goals"])
def test_a_read_that_comes_back_as_it_was_said_is_no_answer_though_it_looks_like_one(before):
    read = requests.read(FEETECH, 1, 56, 2)
    assert read == FEETECH.status(1, 2, bytes((56, 2)))
    wire = Wire("feetech")
    wire.begin(Exchange(before + read, (1,), 2))
    wire.port.deliver(read, MS)
    wire.talk.proceed(MS + wire_ns(len(read), BAUD))
    done_ns = wire.status(1, 7, 8, at_ns=2 * MS)
    assert wire.talk.proceed(done_ns)
    assert wire.answers == [{1: b"\x07\x08"}]
    assert wire.talk.stray_bytes == len(read)


class Gone(Polled):
    """A port that knows nothing of what comes, and loses its line after so many writes."""

    def __init__(self, port, writes):
        super().__init__(port)
        self._write, self._writes = port.write, writes

        def write(data, now_ns):
            if not self._writes:
                raise PortGoneError("unplugged")
            self._writes -= 1
            self._write(data, now_ns)

        self.write = write


@both
def test_a_question_that_could_not_be_asked_times_out(family):
    wire = Wire(family, wrap=lambda port: Gone(port, 0))
    with pytest.raises(PortGoneError):
        wire.begin(wire.read(1), now_ns=5 * MS)
    assert wire.talk.busy
    assert wire.talk.run_until(FAR) == 5 * MS + wire.silence_of(1)
    assert not wire.talk.busy


@both
def test_what_nobody_answers_and_could_not_be_said_is_over_at_once(family):
    wire = Wire(family, wrap=lambda port: Gone(port, 1))
    wire.begin(wire.read(1), Exchange(b"goals"))
    done_ns = wire.status(1, 7, 8, at_ns=MS)
    with pytest.raises(PortGoneError):
        wire.talk.proceed(done_ns)
    assert wire.talk.busy
    assert wire.talk.wake_ns == done_ns
    assert wire.talk.proceed(done_ns)


@both
def test_behind_what_nobody_answers_a_question_has_its_time_when_the_line_is_free(family):
    wire = Wire(family)
    goals = bytes(100)
    wire.begin(Exchange(goals), wire.read(1))
    assert [at_ns for at_ns, _ in wire.said] == [0, 0]
    early_ns = wire.status(1, 7, 8, at_ns=wire_ns(len(goals), BAUD) // 2)
    wire.talk.proceed(early_ns)
    assert wire.talk.stray_bytes == wire.dialect.status_bytes(2)
    assert wire.talk.run_until(FAR) == wire_ns(len(goals), BAUD) + wire.silence_of(1)


def test_a_packet_of_several_that_is_late_is_counted_by_its_bytes():
    wire = Wire("dynamixel")
    fast = FAMILIES["dynamixel"][0].fast
    request = requests.sync_read(wire.dialect, (1, 2), 30, 2, fast.instruction)
    wire.begin(Exchange(request, (1, 2), 2, fast=fast), wire.read(1))
    reply_bytes = fast.head + 2 * (fast.each + 2)
    over_ns = wire_ns(len(request), BAUD) + wire_ns(reply_bytes, BAUD) + TIMEOUT_NS
    wire.talk.run_until(over_ns - 1)
    assert wire.answers == []
    wire.talk.run_until(over_ns)
    assert wire.answers == [{}]
    packet = fast_status([Packet(k, -1, bytes((k, k)), 0) for k in (1, 2)])
    wire.port.deliver(packet, over_ns + MS)
    late_ns = over_ns + MS + wire_ns(len(packet), BAUD)
    wire.talk.proceed(late_ns)
    assert wire.talk.stray_bytes == len(packet)
    wire.talk.run_until(FAR)
    assert len(wire.said) == 2


@both
def test_what_has_no_data_answers_a_read_only_where_it_says_why(family):
    wire = Wire(family)
    wire.begin(wire.read(1), wire.read(1))
    # That a write was done, said late: the value comes behind it.
    done_ns = wire.status(1, 7, 8, at_ns=wire.status(1, at_ns=MS))
    wire.talk.proceed(done_ns)
    assert wire.answers == [{1: b"\x07\x08"}]
    assert wire.talk.stray_bytes == wire.dialect.status_bytes(0)
    refusal = wire.dialect.status(1, 4)
    wire.port.deliver(refusal, done_ns + MS)
    assert wire.talk.proceed(done_ns + MS + wire_ns(len(refusal), BAUD))
    assert wire.answers[1] == {1: b""}
