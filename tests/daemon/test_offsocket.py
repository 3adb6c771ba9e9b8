"""The socket that takes the torque off: whatever comes is a request, and whoever reads it answers."""

from __future__ import annotations

import json
import os
import socket
import stat
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nuc_engine.bout.run import prepare_bout
from nuc_engine.daemon.block import Block, Word
from nuc_engine.daemon.off_requests import Requester, confirm, pending_requesters, request_off, requested
from nuc_engine.daemon.offsocket import (
    ANSWER_NS,
    LINES,
    MOST_WAITING,
    QUESTIONS,
    READS,
    MotorNames,
    OffServer,
    open_off,
)

S = 1_000_000_000
MOTORS = ("hip", "knee")


class Bench:
    """A desk over a real socket; the leg is played by `limp`, time by `now`."""

    def __init__(self, folder: Path) -> None:
        self.words, self.now, self.told = [0] * 192, 100 * S, []
        self.path = folder / "off"
        self.socket, self.probe = open_off(self.path), open_off(folder / "probe")
        self.desk = OffServer(
            self.words,
            self.socket,
            Requester.SUPERVISOR,
            lambda: MOTORS,
            lambda *event: self.told.append(event),
            self.probe,
        )
        self.words[Word.TORQUE] = 1
        self.senders = []

    def send(self, content: bytes = b"", *, bind: bool = True, to: str = "off") -> socket.socket:
        sender = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_NONBLOCK)
        self.senders.append(sender)
        if bind:
            sender.bind("")
        sender.sendto(content, str(self.path.with_name(to)))
        return sender

    def look(self, after_ns: int = 0) -> None:
        self.now += after_ns
        self.desk.look(self.now)

    def limp(self, *motors: int) -> None:
        for motor in motors:
            self.words[Word.LIMP_SINCE + motor] = self.now
        if len(motors) == len(MOTORS):
            self.words[Word.TORQUE] = 0
            confirm(self.words, Word.OFF_DONE_CORE, requested(self.words))

    def close(self) -> None:
        for end in (self.socket, self.probe, *self.senders):
            end.close()


@pytest.fixture
def bench(tmp_path):
    bench = Bench(tmp_path)
    yield bench
    bench.close()


def heard(sender: socket.socket):
    try:
        return json.loads(sender.recv(65536))
    except BlockingIOError:
        return None


def test_it_is_for_its_user_and_group_alone(bench):
    assert stat.S_IMODE(bench.path.stat().st_mode) == 0o660


@settings(max_examples=50)
@given(content=st.binary(max_size=5000))
def test_any_datagram_is_a_request(tmp_path_factory, content):
    bench = Bench(tmp_path_factory.mktemp("off"))
    try:
        bench.send(content, bind=False)
        bench.look()
        assert pending_requesters(bench.words) == (Requester.SUPERVISOR,)
        (event,) = bench.told
        assert f"process {os.getpid()} of user {os.getuid()}" in event[1]
        assert event[1].isprintable()
    finally:
        bench.close()


def test_the_answer_comes_when_all_have_confirmed_and_says_when(bench):
    sender = bench.send(b"cable caught")
    bench.look()
    assert heard(sender) is None
    bench.look(20_000_000)
    bench.now += 1_000_000
    bench.limp(0)
    bench.now += 1_000_000
    bench.limp(0, 1)
    bench.look(2_000_000)
    confirmed = {"hip": 22_000_000, "knee": 22_000_000}
    assert heard(sender) == {"torque": False, "confirmed_ns": confirmed, "unconfirmed": [], "latched": False}
    bench.look(S)
    assert heard(sender) is None, "once"


def test_what_was_limp_before_does_not_count_until_the_request_is_done(bench):
    bench.words[Word.LIMP_SINCE] = bench.words[Word.LIMP_SINCE + 1] = bench.now - 5 * S
    sender = bench.send()
    bench.look()
    bench.look(4_000_000)
    assert heard(sender) is None


def test_after_a_second_it_says_who_has_not_confirmed(bench):
    sender = bench.send()
    bench.look()
    bench.limp(1)
    bench.look(ANSWER_NS - 1)
    assert heard(sender) is None
    bench.look(1)
    assert heard(sender) == {"torque": True, "confirmed_ns": {"knee": 0}, "unconfirmed": ["hip"], "latched": False}


def test_asked_again_it_is_the_same_request_until_it_is_done_and_another_one_then(bench):
    for _ in range(5):
        bench.send()
        bench.look(4_000_000)
    assert requested(bench.words)[Requester.SUPERVISOR] == 1
    bench.limp(0, 1)
    bench.send()
    bench.look()
    assert requested(bench.words)[Requester.SUPERVISOR] == 2


def test_a_flood_costs_a_bounded_number_of_reads_and_lines(bench):
    calls, receive = [], bench.socket.recvmsg
    bench.desk._socket = type("Counting", (), {"recvmsg": lambda _, *sizes: (calls.append(1), receive(*sizes))[1]})()
    for _ in range(4):
        with pytest.raises(BlockingIOError):
            while True:
                bench.send(bind=False)
        calls.clear()
        bench.look()
        assert len(calls) <= READS
    assert len(bench.told) == LINES
    bench.send()
    bench.look(S)
    assert "more before that are not told" in bench.told[LINES][1]


def test_no_more_than_so_many_wait_for_an_answer(bench):
    for _ in range(3 * MOST_WAITING):
        bench.send()
        bench.look()
    assert len(bench.desk._waiting) == MOST_WAITING


def test_an_address_that_is_a_path_is_not_answered_and_descriptors_are_not_taken(bench, tmp_path):
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_NONBLOCK) as sender:
        sender.bind(str(tmp_path / "sender"))
        fds = len(os.listdir("/proc/self/fd"))
        sender.connect(str(bench.path))
        socket.send_fds(sender, [b"off"], [0, 1, 2])
        bench.look()
        assert len(os.listdir("/proc/self/fd")) == fds
        bench.limp(0, 1)
        bench.look()
        assert heard(sender) is None
    assert requested(bench.words)[Requester.SUPERVISOR] == 1


def test_whoever_ends_answers_all_who_wait(bench):
    early = bench.send()
    bench.look()
    late = bench.send()
    bench.desk.leave(bench.now)
    assert heard(early)["unconfirmed"] == heard(late)["unconfirmed"] == [*MOTORS]


def test_two_processes_read_one_socket_and_each_datagram_is_answered_once(bench):
    other = OffServer(bench.words, bench.socket, Requester.GUARDIAN, lambda: MOTORS, lambda *_: None)
    senders = [bench.send() for _ in range(2)]
    bench.desk.look(bench.now)
    senders.append(bench.send())
    other.look(bench.now)
    assert set(pending_requesters(bench.words)) == {Requester.SUPERVISOR, Requester.GUARDIAN}
    bench.limp(0, 1)
    for _ in range(2):
        bench.desk.look(bench.now)
        other.look(bench.now)
    assert all(heard(sender)["unconfirmed"] == [] for sender in senders)
    assert all(heard(sender) is None for sender in senders)


def test_without_a_plan_there_are_no_motors_and_one_that_is_being_written_is_waited_for():
    block = Block.create()
    names = MotorNames(block)
    assert names() == ()
    block.words[Word.CORE_PLAN] = 1
    assert names() is None
    plan = prepare_bout("lin_roach", None).plan
    block.write_plan(plan)
    assert names() == tuple(motor.name for motor in plan.motors)


def test_a_request_while_nothing_is_configured_is_answered_at_once(tmp_path):
    bench = Bench(tmp_path)
    bench.words[Word.TORQUE] = 0
    bench.desk._motors = lambda: ()
    sender = bench.send()
    bench.look()
    assert heard(sender) == {"torque": False, "confirmed_ns": {}, "unconfirmed": [], "latched": False}
    request_off(bench.words, Requester.SUPERVISOR)
    assert pending_requesters(bench.words), "and stands, for a core that is yet to come"
    bench.close()


def test_who_has_been_served_hears_it_while_others_go_on_asking(bench):
    sender = bench.send(b"mine")
    bench.look()
    bench.limp(0, 1)
    bench.send(b"flood", bind=False)
    bench.look(4_000_000)
    assert pending_requesters(bench.words) == (Requester.SUPERVISOR,)
    assert heard(sender)["unconfirmed"] == []


@settings(max_examples=50)
@given(content=st.binary(max_size=5000))
def test_a_question_of_any_content_is_answered_and_takes_no_torque_off(tmp_path_factory, content):
    bench = Bench(tmp_path_factory.mktemp("off"))
    try:
        before = list(bench.words)
        asking = bench.send(content, to="probe")
        bench.look()
        assert heard(asking) == {"heard_by": "supervisor", "torque": True, "latched": False}
        assert bench.words == before
        assert bench.told == []
        assert pending_requesters(bench.words) == ()
    finally:
        bench.close()


def test_a_flood_of_questions_neither_keeps_torque_off_from_being_heard_nor_costs_more_than_so_many_reads(bench):
    calls, receive = [], bench.probe.recvfrom
    double = type(
        "Counting", (), {"recvfrom": lambda _, n: (calls.append(1), receive(n))[1], "sendto": bench.probe.sendto}
    )
    bench.desk._probe = double()
    with pytest.raises(BlockingIOError):
        while True:
            bench.send(bind=False, to="probe")
    bench.send(b"a hand in the leg")
    bench.look()
    assert pending_requesters(bench.words) == (Requester.SUPERVISOR,)
    assert len(calls) == QUESTIONS


def test_who_asks_from_a_path_is_not_answered(bench, tmp_path):
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_NONBLOCK) as sender:
        sender.bind(str(tmp_path / "sender"))
        sender.sendto(b"", str(bench.path.with_name("probe")))
        bench.look()
        assert heard(sender) is None
    asking = bench.send(to="probe")
    bench.look()
    assert heard(asking) is not None, "the next one is"


def test_what_looks_like_a_question_is_a_request_where_requests_come(bench):
    for content in (b"", b"probe", b'{"heard_by": 1}'):
        bench.send(content)
    bench.look()
    assert pending_requesters(bench.words) == (Requester.SUPERVISOR,)


def test_a_desk_without_that_socket_asks_nobody(bench):
    desk = OffServer(bench.words, bench.socket, Requester.GUARDIAN, lambda: MOTORS, lambda *_: None)
    asking = bench.send(to="probe")
    desk.look(bench.now)
    assert heard(asking) is None
