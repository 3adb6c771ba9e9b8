"""The least that drives four motors: `python -m benchmarks.realtime.bare_line TTY ID...`.

One request after the other, each answered before the next is sent; no engine, no checks, no records. Same real-time
privileges as the engine. Reads a number of seconds per line and answers `rounds seconds missed`.
"""

from __future__ import annotations

import os
import select
import sys
import termios
import time  # noqa: TID251  benchmarks are about real time

from drivers.aimotor.codec import REPLY_BYTES, encode_position
from nuc_engine.realtime import RealtimePolicy, acquire

LEVEL, GOAL = 3, 127
_TIMEOUT_S = 0.02


def main(tty: str, *ids: str) -> None:
    """Drive as often as asked."""
    # The daemon holds the terminal at that time: opened here first, and left as it is.
    descriptor = os.open(tty, os.O_RDWR | os.O_NOCTTY)
    requests = [encode_position(int(bus_id), LEVEL, GOAL) for bus_id in ids]
    for line in sys.stdin:
        rights = acquire(RealtimePolicy())
        termios.tcflush(descriptor, termios.TCIFLUSH)
        rounds, took_s, missed = _drive(descriptor, requests, float(line))
        rights.close()
        sys.stdout.write(f"{rounds} {took_s} {missed}\n")
        sys.stdout.flush()


def _drive(descriptor: int, requests: list[bytes], seconds: float) -> tuple[int, float, int]:
    rounds = missed = 0
    begun = time.monotonic()
    end = begun + seconds
    while time.monotonic() < end:
        for request in requests:
            os.write(descriptor, request)
            missing = REPLY_BYTES
            while missing > 0:
                if not select.select((descriptor,), (), (), _TIMEOUT_S)[0]:
                    missed += 1
                    break
                missing -= len(os.read(descriptor, 64))
        rounds += 1
    return rounds, time.monotonic() - begun, missed


if __name__ == "__main__":
    main(*sys.argv[1:])
