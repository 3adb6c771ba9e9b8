"""What goes wrong on the line or is asked for, beside a daemon that lives on: how long until the leg is limp.

troubles = TroubledLeg(folder)
print(troubles.limp_ms("a servo is lost"))
"""

from __future__ import annotations

import os
import signal
import time  # noqa: TID251  real processes live on the real clock
from collections.abc import Callable
from pathlib import Path

from tests.realtime.daemon import MS, Leg, assert_limp_within, wait_for
from tests.realtime.served import Served, drives

MOST_NS = 2000 * MS
SERVO = 2


def _now() -> int:
    return time.monotonic_ns()


def _still(leg: Leg, served: Served) -> int:
    """Stop the emulator until the fault; return when it goes on."""
    os.kill(leg.pid, signal.SIGSTOP)
    try:
        wait_for(lambda: served.words()["latched"], "a fault", served)
    finally:
        back = _now()
        os.kill(leg.pid, signal.SIGCONT)
    return back


def _replugged(leg: Leg, served: Served) -> int:
    leg.tell("unplug")
    served.await_fault("bus_lost")
    back = _now()
    leg.tell("plug")
    return back


def _brown_out(leg: Leg, served: Served) -> int:
    begun = _now()
    leg.tell("supply", on=False)
    time.sleep(0.04)
    leg.tell("supply", on=True)
    return begun


def _held_up(leg: Leg, served: Served) -> int:
    begun = _now()
    leg.tell("stall", ms=400)
    time.sleep(0.4)
    return begun


def _told(command: str, **parameters: object) -> Callable[[Leg, Served], int]:
    def tell(leg: Leg, served: Served) -> int:
        begun = _now()
        leg.tell(command, **parameters)
        return begun

    return tell


def _off(leg: Leg, served: Served) -> int:
    begun = _now()
    served.client.off("to see how long it takes")
    return begun


TROUBLES: dict[str, Callable[[Leg, Served], int]] = {
    "off is asked for": _off,
    "the emulator stands still, from its going on": _still,
    "silence": _told("faults", drop=1.0),
    "held up for 400 ms": _held_up,
    "replies late by 15 ms": _told("faults", delay=1.0, delay_us=15_000),
    "unplugged, from its being plugged in": _replugged,
    "a servo babbles": _told("babble", servo=SERVO, on=True),
    "a servo is lost": _told("unplug", servo=SERVO),
    "a servo is at another id": _told("wrong_id", servo=SERVO, id=9),
    "the supply is lost": _told("supply", on=False),
    "the supply is lost for 40 ms": _brown_out,
}
"""Each returns from when on it counts, CLOCK_MONOTONIC ns."""


class TroubledLeg:
    """A leg and a daemon, to be troubled again and again."""

    def __init__(self, folder: Path) -> None:
        self.leg = Leg(folder)
        self.served = Served(self.leg, folder)

    def limp_ms(self, trouble: str) -> float:
        """Run a bout and trouble it; return after how many ms the last servo's torque-off was on the wire.

        Raises AssertionError when it was not within two seconds, or when something drove afterwards.
        """
        self.served.run_bout(0.15)
        assert drives(self.leg, _now() - 50 * MS), "the leg is not driven"
        try:
            begun = TROUBLES[trouble](self.leg, self.served)
            wait_for(lambda: self.served.words()["latched"], "a fault", self.served)
            time.sleep(0.2)
            return assert_limp_within(self.leg, begun, MOST_NS) / MS
        finally:
            self._mend()

    def _mend(self) -> None:
        self.leg.tell("faults")
        self.leg.tell("babble", servo=SERVO, on=False)
        self.leg.tell("plug", servo=SERVO)
        self.leg.tell("plug")
        self.leg.tell("wrong_id", servo=SERVO, id=SERVO)
        self.leg.tell("supply", on=True)

    def close(self) -> None:
        """End both."""
        self.served.close()
        self.leg.end(signal.SIGKILL)
