"""A bus of some family with emulated servos at its other end, and a clock: what the conformance suite is run on.

`Rig` is what a test may use. `InProcess` is on the virtual clock; `tests.realtime.test_conformance` has one whose
servos are another process behind a pseudo-terminal. A family that is not part of this package is put to the same test
by a rig of its own: `InProcess("emulated:my_family", "my model")`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

from drivers.bench.release import finish
from drivers.bus import LIMP, READ_ONLY, Bus
from drivers.clock import VirtualPace, WaitingClock
from drivers.factory import find_family
from drivers.injection import LineFaults
from drivers.inprocess import InProcessPort
from drivers.servo import ReplyStatus, ServoAddress, ServoModel
from drivers.url import LineSpec, split_url
from nuc_engine.model.plan import MotorPlan
from nuc_engine.plants.loopback import LoopbackPlant
from tests.plants.leg_plans import leg

COUNT = 4
OK, MISSED, IMPLAUSIBLE = ReplyStatus.OK, ReplyStatus.MISSED, ReplyStatus.IMPLAUSIBLE
SETTLING_CYCLES = 200
"""A family may set its servos up, and doubt what it hears after something odd, for so many cycles at most."""

COAST_NS = 500_000_000
"""A released shaft of the loopback plant has lost its speed after this."""


class Rig(Protocol):
    """A bus with `COUNT` servos of one model on it; ids 0 to 3."""

    bus: Bus
    pace: WaitingClock
    model: ServoModel
    plugged: bool

    def tell(self, command: str, **parameters: Any) -> None:
        """Do something to the emulated servos, as `nuc emulate --control` would."""
        ...


class InProcess:
    """The rig on the virtual clock. `url` is that of an emulated bus: `emulated:aimotor?baud=115200`."""

    def __init__(self, url: str, model: str, *, seed: int = 1, servos: Sequence[ServoAddress] = ()) -> None:
        _, name, query = split_url(url)
        family = find_family(name)
        self.model = family.models[model]
        self.servos = tuple(servos) or addresses(model)
        self.plant = LoopbackPlant(plan_of(self.model, [servo.bus_id for servo in self.servos]))
        self.emulator = family.emulator(url, self.servos, self.plant, seed)
        options = {key: float(value) for key, _, value in (item.partition("=") for item in query.split("&") if item)}
        own = {key: value for key, value in options.items() if key in family.line_options}
        baud = int(own.pop("baud", self.emulator.baud))
        port = InProcessPort(self.emulator, self.emulator.baud)
        self.bus = family.bus_on_port(LineSpec(name, "", baud, own), port, self.servos)
        self.pace = VirtualPace()

    def tell(self, command: str, **parameters: Any) -> None:
        emulator = self.emulator
        servo = self._number(parameters.pop("servo")) if "servo" in parameters else 0
        match command:
            case "faults":
                emulator.set_faults(LineFaults(**parameters))
            case "babble":
                emulator.babble(servo, talking=parameters["on"])
            case "wrong_id":
                emulator.answer_as(servo, parameters["id"])
            case "trip":
                emulator.trip(servo, tripped=parameters["on"])
            case "supply":
                emulator.supply(on=parameters["on"])
            case "unstick":
                emulator.stick(servo, stuck=False)
            case _:
                getattr(emulator, command)(servo)

    def _number(self, bus_id: int) -> int:
        return next(k for k, servo in enumerate(self.servos) if servo.bus_id == bus_id)


def addresses(model: str, count: int = COUNT) -> tuple[ServoAddress, ...]:
    return tuple(ServoAddress(k, f"servo {k}", model) for k in range(count))


def plan_of(model: ServoModel, ids: Sequence[int]):
    """A plan whose motors are servos of `model`: one degree of joint per degree of shaft."""
    motors = tuple(
        MotorPlan(
            index=k,
            id_num=600 + k,
            name=f"servo {bus_id}",
            bus_id=bus_id,
            model=model.name,
            dir=1,
            cal1=sum(model.positions) / 2,
            cal2=1 / model.tick_deg,
            joint=k,
            angle=2 * k,
            current=2 * k + 1,
            family=model.family,
            tick_deg=model.tick_deg,
            positions=model.positions,
            load_range=model.load_range,
        )
        for k, bus_id in enumerate(ids)
    )
    return leg("servos", (), motors)


def cycle(rig: Rig, goals: Sequence[int]) -> list[int]:
    """Run one cycle; return the statuses."""
    rig.bus.start(rig.pace.now_ns, list(goals))
    finish(rig.bus, rig.pace)
    return rig.bus.status[:]


def read(rig: Rig) -> list[int]:
    """Read everybody once; return the statuses."""
    return cycle(rig, [READ_ONLY] * len(rig.bus.servos))


def settle(rig: Rig, expected: Sequence[int] | None = None) -> None:
    """Read until the statuses are what is expected (all well), for a while."""
    wanted = list(expected) if expected is not None else [OK] * len(rig.bus.servos)
    for _ in range(SETTLING_CYCLES):
        if read(rig) == wanted:
            return
    raise AssertionError(f"statuses {rig.bus.status} after {SETTLING_CYCLES} cycles, expected {wanted}")


def go(rig: Rig, goals: Sequence[int], most: int = 400) -> int:
    """Send goals until the shafts have come near them; return how many cycles that took."""
    near = 3 * max(1, round(0.654 / rig.model.tick_deg))
    for count in range(most):
        cycle(rig, goals)
        if all(goal < 0 or abs(at - goal) <= near for goal, at in zip(goals, rig.bus.position_raw, strict=True)):
            return count + 1
    raise AssertionError(f"positions {rig.bus.position_raw} after {most} cycles, expected {list(goals)}")


def middle(rig: Rig, degrees: float = 0.0) -> int:
    """Return the raw position in the middle of the scale, or so many degrees of the shaft beside it."""
    low, high = rig.model.positions
    return round((low + high) / 2 + degrees / rig.model.tick_deg)


def others(rig: Rig, k: int, value: int, rest: int) -> list[int]:
    """Return a list with `value` for servo `k` and `rest` for the others."""
    return [value if i == k else rest for i in range(len(rig.bus.servos))]


def torque_off(rig: Rig, most: int = 20, servos: Sequence[int] = range(COUNT)) -> None:
    """Take the torque off until these have confirmed."""
    for _ in range(most):
        rig.bus.torque_off(rig.pace.now_ns)
        finish(rig.bus, rig.pace)
        if all(rig.bus.status[k] == OK for k in servos):
            return
    raise AssertionError(f"no confirmation after {most} rounds: {rig.bus.status}")


def moving(rig: Rig) -> dict[int, tuple[int, int]]:
    """Return which servos, only read, still move once a shaft that was let go has had time to coast to rest.

    By number: from where to where.
    """
    _read_for(rig, COAST_NS)
    before = rig.bus.position_raw[:]
    _read_for(rig, COAST_NS // 3)
    tick = max(1, round(0.654 / rig.model.tick_deg))
    both = enumerate(zip(before, rig.bus.position_raw, strict=True))
    return {k: (was, at) for k, (was, at) in both if abs(at - was) > tick}


def _read_for(rig: Rig, time_ns: int) -> None:
    end_ns = rig.pace.now_ns + time_ns
    while rig.pace.now_ns < end_ns:
        read(rig)


__all__ = [
    "COUNT",
    "IMPLAUSIBLE",
    "LIMP",
    "MISSED",
    "OK",
    "READ_ONLY",
    "InProcess",
    "Rig",
    "addresses",
    "cycle",
    "go",
    "middle",
    "moving",
    "others",
    "plan_of",
    "read",
    "settle",
    "torque_off",
]  # fmt: skip
