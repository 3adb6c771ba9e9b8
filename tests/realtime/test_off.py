"""`off` past the service: torque-off on the wire within 100 ms of the datagram, whatever becomes of the service.

Judged by the leg's byte log; when the datagram was sent is known here.
"""

from __future__ import annotations

import os
import resource
import signal
import socket
import subprocess
import sys
import time  # noqa: TID251  real processes live on the real clock
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from nuc_engine.client.offpath import take_torque_off_in
from tests.realtime.daemon import MS, assert_limp_within, wait_for
from tests.realtime.served import repeat_disturbed

WITHIN_NS = 100 * MS
FLOOD_OF_REQUESTS = """
import msgpack, sys, zmq
socket = zmq.Context().socket(zmq.DEALER)
socket.connect(sys.argv[1])
status = msgpack.packb({"id": 1, "method": "status", "params": {}})
print("begun", flush=True)
while True:
    socket.send(status)
"""
FLOOD_OF_OFFS = """
import socket, sys
end = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
end.sendto(b"flood", sys.argv[1])
print("begun", flush=True)
while True:
    end.sendto(b"flood", sys.argv[1])
"""


@contextmanager
def flood(program: str, address: str | Path):
    with subprocess.Popen([sys.executable, "-c", program, str(address)], stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.readline()
        try:
            yield
        finally:
            process.kill()


@contextmanager
def stopped(served, *names):
    pids = served.pids()
    for name in names:
        os.kill(pids[name], signal.SIGSTOP)
    try:
        yield
    finally:
        for name in names:
            os.kill(pids[name], signal.SIGCONT)


@contextmanager
def without_descriptors(served):
    """No process of the daemon can open anything any more."""
    before = []
    try:
        for pid in served.pids().values():
            used = max(int(name) for name in os.listdir(f"/proc/{pid}/fd")) + 1
            before.append((pid, resource.prlimit(pid, resource.RLIMIT_NOFILE)))
            resource.prlimit(pid, resource.RLIMIT_NOFILE, (used, before[-1][1][1]))
        yield
    finally:
        for pid, limit in before:
            resource.prlimit(pid, resource.RLIMIT_NOFILE, limit)


@contextmanager
def service_killed(served, since_s=0.0):
    served.kill("service")
    time.sleep(since_s)
    yield


WHILE = {
    "all is well": lambda served: ExitStack(),
    "the service is killed": service_killed,
    "the service restarts": lambda served: service_killed(served, 0.15),
    "the service is stopped": lambda served: stopped(served, "service"),
    "the service is flooded": lambda served: flood(FLOOD_OF_REQUESTS, served.command),
    "the supervisor is stopped": lambda served: stopped(served, "supervisor"),
    "supervisor and service are stopped": lambda served: stopped(served, "supervisor", "service"),
    "the guardian is stopped": lambda served: stopped(served, "guardian"),
    "there are no descriptors left": without_descriptors,
}


@pytest.fixture(scope="module")
def bench(serve_all):
    leg, served = serve_all()
    served.await_ready()
    return leg, served


@pytest.mark.parametrize("what", WHILE)
def test_off_is_on_the_wire_within_100_ms_while(bench, stalls, what):
    leg, served = bench

    def trial():
        served.run_bout()
        with WHILE[what](served):
            at = time.monotonic_ns()
            answer = take_torque_off_in([served.sockets], "test")[served.sockets]
            assert isinstance(answer, dict), answer
        assert_limp_within(leg, at, WITHIN_NS)
        assert answer["unconfirmed"] == []
        assert len(answer["confirmed_ns"]) == 4
        assert max(answer["confirmed_ns"].values()) < WITHIN_NS
        served.await_ready()
        wait_for(lambda: served.words()["latched"], "a latch", served)

    repeat_disturbed(stalls, trial)


def test_a_flood_of_offs_is_off_and_costs_nobody_else_his(bench, stalls):
    leg, served = bench

    def trial():
        served.run_bout()
        at = time.monotonic_ns()
        with flood(FLOOD_OF_OFFS, served.sockets / "off"):
            time.sleep(0.3)
            begun = time.monotonic_ns()
            answer = take_torque_off_in([served.sockets], "mine")[served.sockets]
            took = time.monotonic_ns() - begun
        assert isinstance(answer, dict), answer
        assert answer["unconfirmed"] == []
        assert took < 500 * MS
        # The flood needed its time to begin: what it may not do is keep the torque on.
        assert_limp_within(leg, at, 1500 * MS)

    repeat_disturbed(stalls, trial)
    served.run_bout(0.1)


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGSEGV])
def test_off_beside_a_supervisor_that_dies_changes_nothing_for_the_worse(serve, stalls, number):
    def trial():
        leg, served = serve()
        served.run_bout()
        served.kill("supervisor", number)
        at = time.monotonic_ns()
        answer = take_torque_off_in([served.sockets], "test")[served.sockets]
        assert_limp_within(leg, at, WITHIN_NS)
        assert isinstance(answer, dict) or "ended" in answer or "no daemon" in answer
        wait_for(lambda: not served.sockets.exists(), "the end of the folder")

    repeat_disturbed(stalls, trial)


def test_who_asked_and_why_is_in_the_log(bench):
    _, served = bench
    served.run_bout(0.1)
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as end:
        end.sendto(b"\x1b[2Ja hand\nin the leg", str(served.sockets / "off"))
    text = f"process {os.getpid()} of user {os.getuid()}: ?[2Ja hand?in the leg"
    wait_for(lambda: any(text in told["text"] for told in served.logged("off_asked")), "a line with the author", served)
