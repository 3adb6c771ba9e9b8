"""Clients that flood, send rubbish, half a message or 50 MB, stall, or vanish in control: the leg goes on as before."""

from __future__ import annotations

import os
import random  # noqa: TID251  seeded: rubbish that is the same every time
import signal
import socket
import subprocess
import sys
import time  # noqa: TID251  real processes live on the real clock
from contextlib import contextmanager
from pathlib import Path

import msgpack
import pytest
import zmq

from nuc_engine.client import Client, Refused
from tests.realtime.daemon import MS, ROOT, TIMEOUT_S, wait_for
from tests.realtime.served import GAP_NS, drives, longest_gap_ns, repeat_disturbed

MEMORY = 48 << 20
"""How much more memory the service may take for clients that behave badly: the limits of its queues, and rounding."""

ANSWER_S = 1.0
"""How long somebody else may have to wait for an answer meanwhile."""

GREETING = (b"\xff" + bytes(8) + b"\x7f", b"\x03\x00", b"NULL" + bytes(16) + b"\x00" + bytes(31))
READY = b"\x04\x1c\x05READY\x0bSocket-Type\x00\x00\x00\x06DEALER"
READY_TO_LISTEN = (b"\x04\x19\x05READY\x0bSocket-Type\x00\x00\x00\x03SUB", b"\x00\x01\x01")
"""What ZeroMQ clients say before their first message (ZMTP 3.0, RFC 23); the second subscribes to everything."""


@pytest.fixture(scope="module")
def bench(serve_all):
    """A leg, and a daemon for all tests here."""
    leg, served = serve_all("--control-timeout", "1")
    served.await_ready()
    return leg, served


def reach(served) -> socket.socket:
    """Connect to the daemon as a program does that knows nothing of ZeroMQ."""
    end = socket.socket(socket.AF_UNIX)
    end.settimeout(TIMEOUT_S)
    end.connect(served.command.removeprefix("ipc://"))
    return end


@contextmanager
def dealer(address: str):
    context = zmq.Context()
    end = context.socket(zmq.DEALER)
    end.linger = 0
    end.sndhwm = 0
    end.connect(address)
    try:
        yield end
    finally:
        end.close()
        context.term()


def say(end: socket.socket, *parts: bytes) -> None:
    """Send parts as a client does that listens in between."""
    for part in parts:
        end.sendall(part)
        time.sleep(0.05)


def request(number: int, method: str, **params) -> bytes:
    return msgpack.packb({"id": number, "method": method, "params": params})


def memory(served) -> int:
    status = Path(f"/proc/{served.pids()['service']}/status").read_text()
    return next(int(line.split()[1]) << 10 for line in status.splitlines() if line.startswith("VmRSS"))


@contextmanager
def nothing_changes(leg, served):
    """Check that the leg is driven all the while, that others are answered, and that nobody died of it."""
    bout, before = served.words()["bout"], served.words()
    taken, since = memory(served), time.monotonic_ns()
    yield
    asked = time.monotonic()
    words = served.words()
    assert time.monotonic() - asked < ANSWER_S
    until = time.monotonic_ns()
    assert (words["bout"], words["latch_reason"]) == (bout, ""), served.said()[-2000:]
    assert words["deaths"] == before["deaths"]
    assert longest_gap_ns(leg, since, until) < GAP_NS
    assert drives(leg, since, until) > (until - since) / (100 * MS)
    assert memory(served) - taken < MEMORY


def rubbish_counted(served) -> int:
    return sum(client["rubbish"] for client in served.words()["clients"] if client["name"] != "bench")


@pytest.mark.parametrize("payload", [request(1, "status"), b"\xc1rubbish"], ids=["requests", "rubbish"])
def test_a_client_that_floods_and_reads_no_answer(bench, stalls, payload):
    leg, served = bench

    def trial():
        served.run_bout()
        with nothing_changes(leg, served), dealer(served.command) as end:
            until = time.monotonic() + 1.5
            sent = 0
            while time.monotonic() < until:
                try:
                    end.send(payload, zmq.NOBLOCK)
                    sent += 1
                except zmq.Again:
                    time.sleep(0.001)
            assert sent > 4000
            if payload == b"\xc1rubbish":
                # Counted as it is read, which is behind what was sent.
                wait_for(lambda: rubbish_counted(served) > 500, "the rubbish to be counted")
        served.finish_bout()

    repeat_disturbed(stalls, trial)


def rubbish() -> list[bytes]:
    drawn = random.Random(1)
    return [
        b"",
        b"\x00",
        b"\xc1",
        b"<",
        b"<?xml version='1.0'?><nonsense>",
        b"<!DOCTYPE a [<!ENTITY b SYSTEM 'file:///etc/passwd'>]><a>&b;</a>",
        b"\xef\xbb\xbf<\xff\xfe",
        msgpack.packb([1, 2, 3]),
        msgpack.packb({"id": 1}),
        msgpack.packb({"id": 1, "method": "no_such_method"}),
        msgpack.packb({"id": 1, "method": "set", "params": {"changes": [[["a"], {}]]}}),
        msgpack.packb({"id": 1, "method": "run", "params": {"delay_s": float("nan")}}),
        msgpack.packb({"id": 1, "method": "run", "params": {"delay_s": 1e308}}),
        msgpack.packb({"id": 1, "method": "save", "params": {"name": "../../etc/passwd"}}),
        msgpack.packb({"id": 1 << 63, "method": "status", "params": {}}),
        b"\x91" * 100_000,
        b"\xdd\xff\xff\xff\xff",
        b"\xdb\xff\xff\xff\xff",
        *(drawn.randbytes(drawn.randrange(1, 400)) for _ in range(300)),
    ]


def test_a_client_that_sends_rubbish_is_answered_and_counted(bench, stalls):
    leg, served = bench

    def trial():
        served.run_bout()
        with nothing_changes(leg, served), dealer(served.command) as end:
            for payload in rubbish():
                end.send(payload)
            end.send_multipart([b"three", b"frames", b"of nothing"])
            end.send(request(77, "status"))
            answers = []
            while not answers or answers[-1].get("id") != 77:
                assert end.poll(1000 * TIMEOUT_S), f"no answer after {len(answers)}"
                payload = end.recv()
                answers.append({} if payload[:1] == b"<" else msgpack.unpackb(payload))
            assert len(answers) > 300
            # Only what was asked last was anything that could be done.
            assert sum(bool(answer.get("ok")) for answer in answers) <= 2
            assert sum(client["rubbish"] for client in served.words()["clients"]) > 250
        served.finish_bout()

    repeat_disturbed(stalls, trial)


HALVES = {
    "nothing": (),
    "half a greeting": GREETING[:1],
    "no greeting": (b"GET / HTTP/1.1\r\n\r\n" * 100,),
    "half a message": (*GREETING, READY, b"\x00\x40" + b"x" * 10),
    "half of a large one": (*GREETING, READY, b"\x02" + (3 << 20).to_bytes(8, "big") + b"x" * 100_000),
    "one that claims to be huge": (*GREETING, READY, b"\x02" + (1 << 62).to_bytes(8, "big") + b"x" * 1000),
}


def test_clients_that_send_half_of_something_and_go_or_stay(bench, stalls):
    leg, served = bench

    def trial():
        served.run_bout()
        stay: list[socket.socket] = []
        try:
            with nothing_changes(leg, served):
                for parts in HALVES.values():
                    for goes in (True, False):
                        end = reach(served)
                        stay.append(end)
                        say(end, *parts)
                        if goes:
                            end.close()
                time.sleep(0.3)
        finally:
            for end in stay:
                end.close()
        served.finish_bout()

    repeat_disturbed(stalls, trial)


def test_a_message_of_50_mb_ends_its_connection_and_is_not_read(bench, stalls):
    leg, served = bench

    def trial():
        served.run_bout()
        with nothing_changes(leg, served):
            with reach(served) as end:
                say(end, *GREETING, READY)
                with pytest.raises((ConnectionError, TimeoutError)):
                    end.sendall(b"\x02" + (50 << 20).to_bytes(8, "big") + bytes(50 << 20))
            with dealer(served.command) as end:
                end.send(bytes(50 << 20), copy=False)
                time.sleep(0.3)
        served.finish_bout()

    repeat_disturbed(stalls, trial)


def test_a_client_that_asks_and_never_reads_is_stopped_by_its_own_full_buffers(bench, stalls):
    leg, served = bench
    ask = request(1, "documents")

    def trial():
        served.run_bout()
        with nothing_changes(leg, served), reach(served) as end:
            say(end, *GREETING, READY)
            end.settimeout(0.1)
            until, asked = time.monotonic() + 1.5, 0
            # Tens of kilobytes for each answer: a few hundred of them fill every buffer on the way.
            while time.monotonic() < until:
                try:
                    end.sendall(bytes([0, len(ask)]) + ask)
                    asked += 1
                except TimeoutError:
                    break
            assert asked > 1000
        served.finish_bout()

    repeat_disturbed(stalls, trial)


def test_a_subscriber_that_never_reads_changes_nothing_for_others(bench, stalls):
    leg, served = bench

    def trial():
        served.run_bout()
        with nothing_changes(leg, served), socket.socket(socket.AF_UNIX) as end:
            end.connect(served.telemetry.removeprefix("ipc://"))
            say(end, *GREETING, *READY_TO_LISTEN)
            stream = served.client.listen("nuc")
            time.sleep(1.0)
            assert sum(stream.receive(TIMEOUT_S) is not None for _ in range(10)) == 10
            stream.close()
            end.setblocking(False)
            # It was sent something, so that it was a subscriber.
            assert len(end.recv(1 << 20)) > 1000
        served.finish_bout()

    repeat_disturbed(stalls, trial)


HOLDER = """
import sys, time
from nuc_engine.client import Client
client = Client(sys.argv[1], name="holder")
client.take_control()
print("has control", flush=True)
while True:
    client.status()
    time.sleep(0.2)
"""


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGSTOP])
def test_a_client_that_vanishes_in_control_loses_it_and_anybody_can_stop_the_leg_meanwhile(bench, stalls, number):
    leg, served = bench

    def trial():
        served.run_bout()
        served.client.release_control()
        holder = subprocess.Popen(
            [sys.executable, "-c", HOLDER, served.command], cwd=ROOT, stdout=subprocess.PIPE, text=True
        )
        try:
            assert holder.stdout is not None
            assert holder.stdout.readline().strip() == "has control"
            with nothing_changes(leg, served):
                os.kill(holder.pid, number)
                vanished = time.monotonic()
                with pytest.raises(Refused, match="has control"):
                    served.client.stop()
                wait_for(lambda: served.words()["control"] == "", "control to be free", served)
                assert 0.7 < time.monotonic() - vanished < 2.0
        finally:
            holder.kill()
            holder.communicate()
        served.finish_bout()

    repeat_disturbed(stalls, trial)


def test_whoever_has_control_everybody_may_take_the_torque_off(bench, stalls):
    leg, served = bench

    def trial():
        served.run_bout()
        with Client(served.command, name="passer-by", role="watch", timeout_s=TIMEOUT_S) as other:
            with pytest.raises(Refused):
                other.stop()
            at = time.monotonic_ns()
            other.off("it limps")
            served.await_limp()
        assert drives(leg, at + 100 * MS) == 0
        assert served.words()["latch_reason"] == "off"

    repeat_disturbed(stalls, trial)
    assert "it limps (passer-by" in served.await_logged("off")["text"]
