"""Does, once, what the processes of the daemon do; run in a sandbox. Prints what of it was refused, as JSON."""

from __future__ import annotations

import json
import os
import sys
import traceback
from collections.abc import Callable
from pathlib import Path

from nuc_engine.realtime import RealtimePolicy, acquire

WORK = Path(sys.argv[1])
TIMEOUT_S = 60.0
"""So long what was sent may take to arrive: a machine may be busy, and what is refused never comes."""


def callbacks() -> None:
    import ctypes

    # A closure: the one thing in ctypes that needs memory which can be executed.
    kind = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_int)
    assert kind(lambda number: number + 1)(41) == 42


def libraries() -> None:
    import msgpack
    import numpy as np

    assert msgpack.unpackb(msgpack.packb(1)) == 1
    assert np.linalg.inv(np.eye(3)).sum() == 3


def physics() -> None:
    import mujoco

    model = mujoco.MjModel.from_xml_string(
        "<mujoco><worldbody><body><freejoint/><geom size='1'/></body></worldbody></mujoco>"
    )
    data = mujoco.MjData(model)
    mujoco.mj_step(model, data)
    assert data.qpos[2] < 0


def channel() -> None:
    import zmq

    with zmq.Context() as context, context.socket(zmq.ROUTER) as router, context.socket(zmq.DEALER) as dealer:
        public, secret = zmq.curve_keypair()
        router.curve_server, router.curve_secretkey = True, secret
        mine = zmq.curve_keypair()
        dealer.curve_serverkey, dealer.curve_publickey, dealer.curve_secretkey = public, *mine
        router.bind(f"ipc://{WORK}/commands")
        port = router.bind_to_random_port("tcp://127.0.0.1")
        dealer.connect(f"tcp://127.0.0.1:{port}")
        dealer.linger = router.linger = 0
        dealer.send(b"hello")
        assert router.poll(1000 * TIMEOUT_S), "nothing arrived"
        assert router.recv_multipart()[-1] == b"hello"


def processes() -> None:
    import mmap
    import select
    import signal

    memory = os.memfd_create("block")
    os.ftruncate(memory, 4096)
    block = mmap.mmap(memory, 4096, mmap.MAP_SHARED)
    wake = os.eventfd(0)
    child = os.fork()
    if child == 0:
        block[0] = 7
        os.eventfd_write(wake, 1)
        signal.pause()
    try:
        handle = os.pidfd_open(child)
        assert select.select([wake], [], [], TIMEOUT_S)[0]
        signal.pidfd_send_signal(handle, signal.SIGKILL)
        assert select.select([handle], [], [], TIMEOUT_S)[0]
    finally:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
    assert block[0] == 7


def serial_line() -> None:
    import fcntl
    import termios
    import tty

    host, leg = os.openpty()
    tty.setraw(leg)
    fcntl.flock(leg, fcntl.LOCK_EX | fcntl.LOCK_NB)
    fcntl.ioctl(leg, termios.TIOCEXCL)
    os.write(host, b"\xff\x00")
    termios.tcflush(leg, termios.TCIOFLUSH)


def files() -> None:
    path = WORK / "draft"
    with path.open("w") as file:
        file.write("line\n")
        file.flush()
        os.fsync(file.fileno())
        os.posix_fallocate(file.fileno(), 0, 4096)
        file.truncate(5)
    path.replace(WORK / "log")
    assert os.statvfs(WORK).f_bavail > 0


def children() -> None:
    import subprocess

    assert subprocess.run(["/bin/true"], check=False).returncode == 0


def _refused(call: Callable[[], None]) -> str | None:
    # In a process of its own: libraries end the process when they are refused what they take for granted.
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        os.dup2(write, 2)
        try:
            call()
        except BaseException:
            os.write(2, traceback.format_exc(limit=2).encode())
            os._exit(1)
        os._exit(0)
    os.close(write)
    with open(read) as said:
        text = said.read()
    status = os.waitpid(child, 0)[1]
    return f"{status}: {text}" if status else None


CALLS = (callbacks, libraries, physics, channel, processes, serial_line, files, children)

if __name__ == "__main__":
    report = acquire(RealtimePolicy(priority=50, latency_us=None))
    found = {call.__name__: _refused(call) for call in CALLS}
    missing = list(report.missing)
    json.dump({"refused": {name: text for name, text in found.items() if text}, "missing": missing}, sys.stdout)
