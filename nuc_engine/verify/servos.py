"""What is known of servos, from their makers' data and docs/servos.md, and units of muscle output in their ticks."""

from __future__ import annotations

import json
import math
from bisect import bisect_left, bisect_right
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from xml.etree.ElementTree import Element

AI_TICK_DEG = 0.654
"""Degrees per tick of the AI motor (D 6.3.2)."""
KGF_CM = 0.0980665
SAMPLE_NS = 5_076_000
"""For samples at this interval, 197 a second, the weights of equation 6-4 were printed (D 6.2.1.2)."""


class Unverifiable(Exception):
    """Something without which nothing can be computed; the message says what.

    `broken` is the error that the oracle itself ended with, where it was none that it knows.
    """

    def __init__(self, message: str, broken: str = "") -> None:
        super().__init__(message)
        self.broken = broken


@dataclass(frozen=True, slots=True)
class Make:
    """One model: degrees per tick, raw positions, whether its load reading has a sign; its drive.

    `drive` is the share of the full drive per tick of error and unit of P gain; `gains` are the least, the factory's
    and the greatest, or the factory's alone where it is left as it is.
    """

    family: str
    tick_deg: float
    most: int
    signed: bool
    stall_n_m: float
    drive: float
    gains: tuple[int, ...]

    def tick_n_m(self, stiffness_n_m_deg: float) -> float:
        """Return the torque of a tick at the gain that comes nearest to a stiffness."""
        gain = self.gains[0]
        if len(self.gains) > 1:
            per_gain = self.drive * self.stall_n_m / self.tick_deg
            gain = min(max(round(stiffness_n_m_deg / per_gain), self.gains[0]), self.gains[2])
        return gain * self.drive * self.stall_n_m


def _ai(kgf_cm: float, gain: int = 10) -> Make:
    return Make("aimotor", AI_TICK_DEG, 254, False, kgf_cm * KGF_CM, 1.0 / (41.4 * 10), (gain,))


def _wck_10bit(make: Make) -> Make:
    ticks = 254 / 1023
    return Make("aimotor", make.tick_deg * ticks, 1023, False, make.stall_n_m, make.drive * ticks, make.gains)


def _dynamixel(stall_n_m: float, gain: int) -> Make:
    return Make("dynamixel", 360 / 4096, 4095, True, stall_n_m, 1.0 / 128.0 / 885, (1, gain, 16_383))


def _feetech(kgf_cm: float) -> Make:
    return Make("feetech", 360 / 4096, 4095, True, kgf_cm * KGF_CM, 0.25 / 1000, (1, 32, 254))


_WCKS = {"wCK-1108": _ai(8.0), "wCK-1111": _ai(11.0), "wCK-1413": _ai(13.0)}
MAKES: Mapping[str, Make] = {
    "601": _ai(6.0, 5),
    "701": _ai(7.0),
    "1001": _ai(10.0),
    **_WCKS,
    **{f"{name}-10bit": _wck_10bit(make) for name, make in _WCKS.items()},
    "XL330-M288": _dynamixel(0.52, 400),
    "XL430-W250": _dynamixel(1.4, 800),
    "XM430-W350": _dynamixel(4.1, 800),
    "STS3215": _feetech(19.5),
    "STS3215-12V": _feetech(30.0),
}
AI_TICK_N_M = MAKES["1001"].tick_n_m(0.0)
"""What a unit of muscle output is where a motor does not say: 0.0237 N m (docs/servos.md)."""


@dataclass(frozen=True, slots=True)
class Servo:
    """A joint's motor as the equations see it: raw = cal1 + cal2 degrees; `ticks` or `table` per unit of output."""

    model: str
    dir: int
    cal1: float
    cal2: float
    tick_deg: float = AI_TICK_DEG
    goals: tuple[int, int] = (0, 254)
    wraps: bool = True
    unit_n_m: float = 0.0
    ticks: float = 1.0
    table: tuple[tuple[float, float], ...] = ()
    magnitude: bool = True
    scale: float = 1.0
    per_deg_s: float = 0.0
    dead: float = 0.0
    with_drive: bool = False
    sample_ns: int = 0
    cycle_min_ns: int = 0

    def ticks_for(self, units: float) -> float:
        """Return ticks, not rounded, for so much muscle output."""
        if not self.table:
            return units * self.ticks
        torque = units * self.unit_n_m
        if torque == 0.0 or math.isnan(torque):
            return torque
        ticks, torques = zip(*self.table, strict=True)
        # Of several ticks with one torque those nearest to 0.
        after = (bisect_left if torque > 0.0 else bisect_right)(torques, torque)
        return _between(torque, torques, ticks, after)

    def reaches(self, units: float) -> bool:
        """Say whether the table has a torque; true where there is none."""
        return not self.table or self.table[0][1] <= units * self.unit_n_m <= self.table[-1][1]

    def units_of(self, ticks: int) -> float:
        """Return the muscle output so many ticks are."""
        if not self.table:
            return ticks / self.ticks
        at, torques = zip(*self.table, strict=True)
        return _between(ticks, at, torques, bisect_right(at, ticks)) / self.unit_n_m


def _between(x: float, xs: tuple[float, ...], ys: tuple[float, ...], after: int) -> float:
    if after in (0, len(xs)):
        return ys[min(after, len(xs) - 1)]
    share = (x - xs[after - 1]) / (xs[after] - xs[after - 1])
    return ys[after - 1] + share * (ys[after] - ys[after - 1])


def pick_servo(joint: Element, families: Mapping[str, str], folder: Path) -> tuple[Element, Servo] | None:
    """Return the motor of a joint that hangs on a bus of its family, None for a joint without motors."""
    motors = [*joint.findall("aimotor"), *joint.findall("motor")]
    for motor in motors:
        family = families.get(motor.get("bus", ""), families.get("", "aimotor"))
        if motor.tag == "aimotor" and family == "aimotor":
            cal1, cal2 = (float(motor.attrib[name]) for name in ("angleCal1", "angleCal2"))
            return motor, Servo(motor.get("modelnum", ""), int(motor.attrib["dir"]), cal1, cal2)
        make = MAKES.get(motor.get("model", "").strip())
        if make is not None and make.family == family:
            return motor, _general(motor, make, folder)
    if motors:
        raise Unverifiable(f"no motor of joint {joint.get('name')} is of a model known here; known are {list(MAKES)}")
    return None


def _general(motor: Element, make: Make, folder: Path) -> Servo:
    given = {name: float(motor.attrib[name]) for name in _QUANTITIES if name in motor.attrib}
    unit = given.get("deltaTorque", AI_TICK_N_M)
    tick = make.tick_n_m(given.get("stiffness", AI_TICK_N_M / AI_TICK_DEG))
    table = motor.get("torqueTable")
    return Servo(
        model=motor.attrib["model"].strip(),
        dir=int(motor.attrib["dir"]),
        cal1=float(motor.attrib["angleCal1"]),
        cal2=float(motor.attrib["angleCal2"]),
        tick_deg=make.tick_deg,
        goals=(int(motor.get("positionMin", "0")), int(motor.get("positionMax", str(make.most)))),
        wraps=make.family == "aimotor",
        unit_n_m=unit,
        ticks=unit / tick,
        table=() if table is None else _read_table(folder / Path(table).name),
        magnitude=not make.signed,
        scale=given.get("currentScale", 1.0),
        per_deg_s=given.get("currentPerSpeed", 0.0),
        dead=given.get("currentDead", 0.0),
        with_drive=motor.get("currentSign", "reading").strip() == "drive",
        sample_ns=SAMPLE_NS,
        cycle_min_ns=round(given.get("cycleMin", 0.0) * 1e6),
    )


_QUANTITIES = ("deltaTorque", "stiffness", "currentScale", "currentPerSpeed", "currentDead", "cycleMin")


def _read_table(path: Path) -> tuple[tuple[float, float], ...]:
    """Return (ticks, N m) of a torque table in both directions, without its flat ends."""
    try:
        found = json.loads(path.read_bytes())
        points = [(float(t), float(n)) for t, n in zip(found["ticks"], found["torque_n_m"], strict=True)]
    except (OSError, ValueError, LookupError, TypeError) as error:
        raise Unverifiable(f"{path.name}: cannot be read ({error})") from error
    if points[0][0] >= 0.0:
        above = [point for point in points if point != (0.0, 0.0)]
        points = [*[(-t, -n) for t, n in reversed(above)], (0.0, 0.0), *above]
    inner = [k for k, (a, b) in enumerate(pairwise(points)) if points[0][1] < b[1] and a[1] < points[-1][1]]
    return tuple(points[inner[0] : inner[-1] + 2])
