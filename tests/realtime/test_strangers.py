"""Who wants too much of a daemon: its service stays small or is a new one at once, and nobody else notices."""

from __future__ import annotations

import contextlib
import os
import resource
import signal
import socket
import struct
import time  # noqa: TID251  real processes live on the real clock
from pathlib import Path

import pytest

from nuc_engine.client import Client
from nuc_engine.client.offpath import take_torque_off_in
from nuc_engine.daemon.confine import DATA_BYTES, OOM_SCORE
from nuc_engine.service.connections import MOST, MOST_SUBSCRIPTIONS
from tests.realtime.daemon import MS, TIMEOUT_S, assert_limp_within, wait_for
from tests.realtime.served import cycles_logged, drives, longest_gap_ns, manifest, repeat_disturbed
from tests.realtime.test_client_faults import GREETING, READY, READY_TO_LISTEN, dealer, request, say
from tests.realtime.test_off import flood

MOST_PRIVATE = 64 << 20
"""Bytes of its own that the service may have in ordinary work."""

BACK_NS = 1000 * MS
"""How long nobody may be there to answer when the service had to be started again."""


@pytest.fixture(scope="module")
def bench(serve_all):
    leg, served = serve_all()
    served.await_ready()
    return leg, served


def private(served) -> int:
    """Return how many bytes of its own the service has."""
    text = Path(f"/proc/{served.pids()['service']}/status").read_text()
    return next(int(line.split()[1]) << 10 for line in text.splitlines() if line.startswith("RssAnon"))


def connect(path: str | Path, *parts: bytes) -> socket.socket:
    end = socket.socket(socket.AF_UNIX)
    end.connect(str(path))  # before there is a time-out: with one it does not wait for its turn
    end.settimeout(TIMEOUT_S)
    if parts:
        say(end, *parts)
    return end


def command(served) -> str:
    return served.command.removeprefix("ipc://")


def whole(served) -> None:
    """Check that every cycle of the bout that ends now is on disk."""
    folder = served.finish_bout()
    assert not any(manifest(folder)["losses"].values()), manifest(folder)["losses"]
    numbers = [record[1] for record in cycles_logged(folder)]
    assert numbers == list(range(numbers[0], numbers[0] + len(numbers)))


def test_the_service_has_neither_devices_nor_real_time_and_is_the_first_to_go(bench):
    _, served = bench
    pids = served.pids()
    service = pids["service"]
    assert os.sched_getscheduler(service) == os.SCHED_OTHER
    for what, most in ((resource.RLIMIT_RTPRIO, 0), (resource.RLIMIT_MEMLOCK, 0), (resource.RLIMIT_DATA, DATA_BYTES)):
        assert resource.prlimit(service, what) == (most, most)
    scores = {name: int(Path(f"/proc/{pid}/oom_score_adj").read_text()) for name, pid in pids.items()}
    assert scores["service"] >= OOM_SCORE > scores["core"] == scores["guardian"]
    opened = [os.readlink(entry) for entry in Path(f"/proc/{service}/fd").iterdir() if entry.is_symlink()]
    devices = [path for path in opened if path.startswith("/dev/") and not path.startswith("/dev/shm/")]
    assert set(devices) <= {"/dev/null"}, devices


def test_in_ordinary_work_it_is_small(bench):
    _, served = bench
    served.run_bout()
    with Client(served.command, name="viewer", role="watch", telemetry=served.telemetry) as viewer:
        stream = viewer.subscribe(["CTr_angle"], 100.0)
        for _ in range(100):
            stream.receive(1.0)
            viewer.status()
    assert private(served) < MOST_PRIVATE
    served.finish_bout()


def test_a_message_without_end_costs_its_connection_and_nobody_else(bench, stalls):
    """ZeroMQ bounds a frame, and not how many frames a message has: the service's own limit does."""
    leg, served = bench
    frame = b"\x03" + struct.pack(">Q", 1 << 20) + bytes(1 << 20)

    def trial():
        served.run_bout()
        before, since, most, sent = private(served), time.monotonic_ns(), 0, 0
        with connect(command(served), *GREETING, READY) as end, contextlib.suppress(OSError):
            while sent < 600:
                end.sendall(frame)
                sent += 1
                most = max(most, private(served))
        assert sent < 600, "the connection was ended"
        assert before + (32 << 20) < most < DATA_BYTES, "at a limit"
        wait_for(lambda: private(served) < before + (16 << 20), "what it took to be free again", served)
        assert served.words()["latch_reason"] == ""
        until = time.monotonic_ns()
        assert longest_gap_ns(leg, since, until) < 40 * MS
        assert drives(leg, since, until) > 10
        whole(served)

    repeat_disturbed(stalls, trial)


def test_a_service_out_of_memory_is_another_within_a_second_and_no_record_is_lost(bench, stalls):
    leg, served = bench

    def trial():
        served.run_bout()
        words, service, since = served.words(), served.pids()["service"], time.monotonic_ns()
        text = Path(f"/proc/{service}/status").read_text()
        used = next(int(line.split()[1]) << 10 for line in text.splitlines() if line.startswith("VmData"))
        resource.prlimit(service, resource.RLIMIT_DATA, (used + (1 << 20), DATA_BYTES))
        names = [f"nobody_has_{number:090}" for number in range(4096)]
        with dealer(served.command) as end:
            for number in range(20):  # each is within all bounds
                end.send(request(number, "get", names=names))
            wait_for(lambda: served.pids().get("service") != service, "the end of a service", served)
            died = time.monotonic_ns()
            wait_for(lambda: served.pids().get("service") not in (None, service), "another service", served)
        assert time.monotonic_ns() - died < BACK_NS
        served.await_ready()
        assert served.words()["deaths"]["service"] == words["deaths"]["service"] + 1, "counted"
        assert (served.words()["bout"], served.words()["latch_reason"]) == (words["bout"], "")
        assert longest_gap_ns(leg, since, time.monotonic_ns()) < 40 * MS
        whole(served)

    repeat_disturbed(stalls, trial)


def test_subscriptions_without_end_cost_their_connection(bench, stalls):
    _, served = bench
    telemetry = served.telemetry.removeprefix("ipc://")

    def trial():
        served.run_bout()
        before, turned = private(served), served.words()["connections"]["turned_away"]
        service, sent = served.pids()["service"], 0
        with connect(telemetry, *GREETING, READY_TO_LISTEN[0]) as end, contextlib.suppress(OSError):
            for first in range(0, 400_000, 100):
                words = (b"\x01" + f"{number:020}".encode() * 2 for number in range(first, first + 100))
                end.sendall(b"".join(bytes([0, len(word)]) + word for word in words))
                sent += 100
        assert MOST_SUBSCRIPTIONS < sent < 100_000, "it was ended before"
        wait_for(lambda: served.words()["connections"]["turned_away"] > turned, "its end to be counted", served)
        assert private(served) - before < 16 << 20
        assert served.pids()["service"] == service
        whole(served)

    repeat_disturbed(stalls, trial)


CROWD = """
import resource, socket, sys, time
_, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
resource.setrlimit(resource.RLIMIT_NOFILE, (min(4096, hard), hard))
crowd = []
for _ in range(1090):
    crowd.append(socket.socket(socket.AF_UNIX))
    crowd[-1].connect(sys.argv[1])
print("begun", flush=True)
time.sleep(600)
"""


def test_connections_without_end_keep_nobody_out(bench, stalls):
    leg, served = bench

    def trial():
        served.run_bout()
        with flood(CROWD, command(served)):
            begun = time.monotonic()
            with Client(served.command, name="newcomer", timeout_s=TIMEOUT_S) as other:
                status = other.status().data
                assert time.monotonic() - begun < 2.0
                assert status["logging"]["state"] == "logging"
                assert status["connections"]["turned_away"] > 0
            assert len(list(Path(f"/proc/{served.pids()['service']}/fd").iterdir())) < MOST + 100
            at = time.monotonic_ns()
            answer = take_torque_off_in([served.sockets], "test")[served.sockets]
            assert isinstance(answer, dict)
            assert_limp_within(leg, at, 100 * MS)
        whole(served)

    repeat_disturbed(stalls, trial)


def test_who_says_nothing_is_not_waited_for(bench):
    _, served = bench
    with connect(command(served)) as silent:
        silent.settimeout(TIMEOUT_S)
        while silent.recv(100):
            pass  # its greeting, and then the end: no handshake in time


def test_a_service_that_is_killed_again_and_again_is_there_within_a_second(bench):
    _, served = bench
    for _ in range(5):
        service = served.pids()["service"]
        os.kill(service, signal.SIGKILL)
        at = time.monotonic_ns()
        wait_for(lambda service=service: served.pids().get("service") not in (None, service), "another one", served)
        assert time.monotonic_ns() - at < BACK_NS
        served.await_ready()
