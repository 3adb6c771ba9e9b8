"""A flight by its equations: 002 appendix A with explicit matrices, references whose velocities are differentiated.

The readings are those of docs/readings_nuc.md; each stands in a method of its own, so that another one can take its
place (`python -m benchmarks.readings_nuc`).
"""

from __future__ import annotations

import cmath
import math
from collections.abc import Mapping, Sequence
from typing import Any

Vector = list[float]
Matrix = list[list[float]]

G = (0.0, 0.0, -9.81)
_H = 1e-40
"""A step along the imaginary axis: the imaginary part is the derivative, without a difference being taken."""
_DUE_S = 1e-9


def times(a: Matrix, b: Matrix) -> Matrix:
    """Return the product of two matrices."""
    return [[sum(x * y for x, y in zip(row, column, strict=True)) for column in zip(*b, strict=True)] for row in a]


def about(axis: int, angle: float) -> Matrix:
    """Return the matrix that turns about an axis."""
    c, s = math.cos(angle), math.sin(angle)
    i, j = (axis + 1) % 3, (axis + 2) % 3
    matrix = [[float(row == column) for column in range(3)] for row in range(3)]
    matrix[i][i], matrix[i][j], matrix[j][i], matrix[j][j] = c, -s, s, c
    return matrix


class FlightEquations:
    """What a resolved document means. States have nine numbers, references seven, controls four."""

    def __init__(self, document: Mapping[str, Any]) -> None:
        self.document = document
        self.dt: float = document["timing"]["dt_s"]
        self.steps = round(document["timing"]["duration_s"] / self.dt)
        self.body: Mapping[str, float] = document["dynamics"]
        self.gains: Mapping[str, Any] = document["controller"]

    def start(self) -> Vector:
        """Return the state at time 0."""
        initial, none = self.document["initial"], [0.0, 0.0, 0.0]
        parts = (initial["position_m"], initial.get("velocity_m_s", none), initial.get("attitude_rad", none))
        return [float(number) for part in parts for number in part]

    def time(self, k: int) -> float:
        """Return the instant of step k."""
        return k * self.dt

    def control(self, state: Sequence[float], reference: Sequence[float]) -> Vector:
        """Return what the controller wants."""
        wanted = [
            self.gains["kp_per_s2"][i] * (reference[i] - state[i])
            + self.gains["kd_per_s"][i] * (reference[3 + i] - state[3 + i])
            - G[i]
            for i in range(3)
        ]
        # The horizontal part seen from the nose: [pitch, -roll] = Rz(-yaw) a / g.
        ahead, left, up = (
            row[0] for row in times(about(2, -self.mapping_yaw(state, reference)), [[a] for a in wanted])
        )
        return [self.roll(left), ahead / -G[2], self.thrust(up), self.yaw_rate(state, reference)]

    def mapping_yaw(self, state: Sequence[float], reference: Sequence[float]) -> float:
        """Return the yaw of A.6."""
        return state[8]

    def roll(self, left: float) -> float:
        """Return the roll that gives an acceleration to the left."""
        return -left / -G[2]

    def thrust(self, up: float) -> float:
        """Return the thrust that gives an acceleration upward."""
        return self.gains["mass_kg"] * up

    def yaw_rate(self, state: Sequence[float], reference: Sequence[float]) -> float:
        """Return the yaw rate that is commanded."""
        error = reference[6] - state[8]
        return self.gains["k_yaw_per_s"] * math.atan2(math.sin(error), math.cos(error))

    def force(self, state: Sequence[float], control: Sequence[float]) -> Vector:
        """Return the force in the world."""
        roll, pitch = self.tilt(state, control)
        turned = times(times(about(2, state[8]), about(1, pitch)), about(0, roll))
        return [row[2] * control[2] for row in turned]

    def tilt(self, state: Sequence[float], control: Sequence[float]) -> tuple[float, float]:
        """Return roll and pitch that the thrust follows."""
        return state[6], state[7]

    def drag(self, velocity: float) -> float:
        """Return what drag takes of an acceleration."""
        return self.body["drag_per_s"] * velocity

    def derivative(self, state: Sequence[float], control: Sequence[float]) -> Vector:
        """Return the derivative of a state."""
        mass, force = self.body["mass_kg"], self.force(state, control)
        return [
            *state[3:6],
            *(force[i] / mass + G[i] - self.drag(state[3 + i]) for i in range(3)),
            (control[0] - state[6]) / self.body["tau_roll_s"],
            (control[1] - state[7]) / self.body["tau_pitch_s"],
            control[3],
        ]

    def step(self, state: Sequence[float], control: Sequence[float]) -> Vector:
        """Return the state one step later."""
        return [x + self.dt * dx for x, dx in zip(state, self.derivative(state, control), strict=True)]

    def reference(self, t: float) -> Vector:
        """Return the reference at t."""
        return program(self.document["reference"], t)

    def limiter(self) -> Limiter:
        """Return what is behind the controller, at its beginning."""
        return Limiter(self.gains, self.dt)

    def rows(self) -> list[Vector]:
        """Return every row of the log, until the time is over."""
        state, limiter, found = self.start(), self.limiter(), list[Vector]()
        for k in range(self.steps + 1):
            reference = self.reference(self.time(k))
            control, limited = limiter.next(self.time(k), self.control(state, reference))
            found.append([self.time(k), *state, *reference, *control, *([float(limited)] if limiter.there else [])])
            state = self.step(state, control)
        return found


class Limiter:
    """Saturations, rate limits, delay: what a control becomes on its way."""

    mark = "limited"
    """The column that it fills, where it is there."""

    def __init__(self, gains: Mapping[str, Any], dt: float) -> None:
        bounds, rates = gains.get("limits", {}), gains.get("rates", {})
        self.there = bool({"limits", "rates", "delay_s"} & set(gains))
        tilt, turn = bounds.get("tilt_rad", math.inf), bounds.get("yaw_rate_rad_s", math.inf)
        low, high = bounds.get("thrust_n", (-math.inf, math.inf))
        self.bounds = [(-tilt, tilt), (-tilt, tilt), (low, high), (-turn, turn)]
        keys = ("tilt_rad_s", "tilt_rad_s", "thrust_n_s", "yaw_rate_rad_s2")
        self.most = [rates.get(key, math.inf) * dt for key in keys]
        self.hover: Vector = [0.0, 0.0, gains["mass_kg"] * -G[2], 0.0]
        """What acts before the first control, and what the first may differ from only as fast as rates let it."""
        self.delay_s: float = gains.get("delay_s", 0.0)
        self.before = self.hover
        self.under_way: list[tuple[float, Vector]] = []

    def next(self, t: float, wanted: Vector) -> tuple[Vector, bool]:
        """Return the control that acts at t, and whether the one that was wanted was limited.

        What is computed acts from `delay_s` later on: whichever was due last does, without a number of steps.
        """
        allowed: Vector = []
        for one, last, (low, high), most in zip(wanted, self.before, self.bounds, self.most, strict=True):
            within = low if one < low else high if one > high else one
            change = within - last
            allowed.append(within if abs(change) <= most else last + math.copysign(most, change))
        self.before = allowed
        self.under_way.append((t + self.delay_s, allowed))
        due = [k for k, (at, _) in enumerate(self.under_way) if at <= t + _DUE_S]
        del self.under_way[: due[-1] if due else 0]
        acting = self.under_way[0][1] if due else self.hover
        return acting, any(a != w for a, w in zip(allowed, wanted, strict=True))


def program(table: Mapping[str, Any], t: float) -> Vector:
    """Return position, velocity and yaw of a reference program at t."""
    kind = table["kind"]
    if kind == "sum":
        return [sum(each) for each in zip(*(program(part, t) for part in table["parts"]), strict=True)]
    if kind == "sequence":
        return _sequence(table["parts"], t)
    if kind == "later":
        return program(table["of"], t + table["by_s"])
    if kind == "waypoints":
        point = [point for point in table["points"] if t >= point["at_s"] - _DUE_S or point["at_s"] == 0][-1]
        return [*map(float, point["position_m"]), 0.0, 0.0, 0.0, float(point.get("yaw_rad", 0.0))]
    place = position(table, complex(t, _H))
    yaw = table.get("yaw_rad", 0.0) + table.get("yaw_rate_rad_s", 0.0) * t
    return [*(each.real for each in place), *(each.imag / _H for each in place), yaw]


def _sequence(parts: Sequence[Mapping[str, Any]], t: float) -> Vector:
    begin = 0.0
    for part in parts[:-1]:
        if t < begin + part["for_s"] - _DUE_S:
            return program(part, max(t - begin, 0.0))
        begin += part["for_s"]
    return program(parts[-1], max(t - begin, 0.0))


def position(table: Mapping[str, Any], t: complex) -> list[complex]:
    """Return where a reference is at a time with an imaginary part."""
    kind = table["kind"]
    if kind in ("hover", "step"):
        name = "position_m" if kind == "hover" else "to_m" if t.real >= table["at_s"] - _DUE_S else "from_m"
        return [complex(number) for number in table[name]]
    x, y, z = table["centre_m"]
    if kind == "probe":
        return _probe(table, t)
    angle = 2 * math.pi * t / table["period_s"]
    if kind == "eight":
        return [x + table["length_m"] / 2 * cmath.sin(angle), y + table["width_m"] / 2 * cmath.sin(2 * angle), z + 0j]
    turned = table.get("phase_rad", 0.0) + (-angle if table.get("clockwise", False) else angle)
    climb = table["climb_m_s"] * t if kind == "helix" else 0j
    return [x + table["radius_m"] * cmath.cos(turned), y + table["radius_m"] * cmath.sin(turned), z + climb]


def _probe(table: Mapping[str, Any], t: complex) -> list[complex]:
    first, last, over = table["from_hz"], table["to_hz"], table["over_s"]
    if t.real < over:
        turns = first * t + (last - first) * t * t / (2 * over)
    else:
        turns = (first + last) * over / 2 + last * (t - over)
    share = cmath.sin(2 * math.pi * turns)
    return [c + a * share for c, a in zip(table["centre_m"], table["amplitude_m"], strict=True)]
