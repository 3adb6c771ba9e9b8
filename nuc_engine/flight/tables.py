"""The tables of a flight's RunConfig, and flight as a system under control."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from math import cos, inf, isfinite, pi
from types import MappingProxyType

from nuc_engine.episode.fields import Fields
from nuc_engine.episode.system import ControlledSystem, Pilot, Step, Stop, Systems
from nuc_engine.flight.appendix import CONTROL, REFERENCE, STATE, Body, Gains, Numbers, advance, control
from nuc_engine.flight.limits import LimitedController, Limits
from nuc_engine.flight.references import read_reference

_LIMITS = ("limits", "rates", "delay_s")
_EDGE = 1e-9


def read_initial(table: Fields) -> Numbers:
    """Return the state at time 0."""
    position = table.vector("position_m")
    velocity = table.vector("velocity_m_s", default=(0.0, 0.0, 0.0))
    attitude = table.vector("attitude_rad", default=(0.0, 0.0, 0.0))
    table.close()
    return (*position, *velocity, *attitude)


def read_dynamics(table: Fields) -> Step:
    """Return the dynamics (A.7 to A.9)."""
    body = Body(
        table.number("mass_kg", 0.0, above=True),
        table.number("tau_roll_s", 0.0, above=True),
        table.number("tau_pitch_s", 0.0, above=True),
        table.number("drag_per_s", 0.0),
    )
    table.close()

    def step(state: Numbers, acting: Numbers, dt_s: float) -> Numbers:
        return advance(state, acting, dt_s, body)

    return step


def read_controller(table: Fields, dt_s: float, others: tuple[str, ...] = ()) -> Callable[[], Pilot]:
    """Return a maker of controllers (A.4 to A.6), limited where the table says so.

    `others` are kinds that whoever calls it reads, so that what is told of a wrong one is whole.
    """
    table.word("kind", ("cascade", *others))
    gains = Gains(
        _three(table, "kp_per_s2"),
        _three(table, "kd_per_s"),
        table.number("k_yaw_per_s", 0.0),
        table.number("mass_kg", 0.0, above=True),
    )
    limits = _read_limits(table, dt_s)
    table.close()
    if limits is not None:
        return partial(_limited, gains, limits, dt_s)

    def law(state: Numbers, reference: Numbers) -> Numbers:
        return control(state, reference, gains)

    return lambda: Pilot(law)


def _three(table: Fields, key: str) -> tuple[float, float, float]:
    one, other, third = table.vector(key, 0.0)
    return one, other, third


def _limited(gains: Gains, limits: Limits, dt_s: float) -> Pilot:
    controller = LimitedController(gains, limits, dt_s)
    return Pilot(controller, controller.limited)


def _read_limits(table: Fields, dt_s: float) -> Limits | None:
    """Return what limits a controller, None where nothing is said of it."""
    found = any(table.has(key) for key in _LIMITS)
    tilt, thrust, turn = inf, (-inf, inf), inf
    if (bounds := table.optional("limits")) is not None:
        tilt = bounds.number("tilt_rad", 0.0, above=True, default=inf)
        thrust = bounds.vector("thrust_n", default=(-inf, inf), size=2)
        turn = bounds.number("yaw_rate_rad_s", 0.0, above=True, default=inf)
        if not thrust[0] < thrust[1]:
            bounds.wrong("thrust_n", f"{list(thrust)}", "the lower end first, and another one")
        bounds.close()
    rates = (inf,) * 4
    if (fastest := table.optional("rates")) is not None:
        tilting = fastest.number("tilt_rad_s", 0.0, above=True, default=inf)
        rates = (
            tilting,
            tilting,
            fastest.number("thrust_n_s", 0.0, above=True, default=inf),
            fastest.number("yaw_rate_rad_s2", 0.0, above=True, default=inf),
        )
        fastest.close()
    delay_s = table.number("delay_s", 0.0, 10.0, default=0.0)
    delay = round(delay_s / dt_s)
    if abs(delay * dt_s - delay_s) > _EDGE * dt_s:
        table.wrong("delay_s", f"{delay_s!r} is no multiple of dt_s", f"a multiple of {dt_s!r}")
    low, high = (-tilt, -tilt, thrust[0], -turn), (tilt, tilt, thrust[1], turn)
    return Limits(low, high, rates, delay) if found else None


def read_stop(table: Fields) -> tuple[Stop, ...]:
    """Return what ends a flight before its time."""
    distance_m = table.number("distance_m", 0.0, above=True, default=inf)
    floor_m = table.number("floor_m", default=-inf)
    tilt_rad = table.number("tilt_rad", 0.0, pi, above=True, default=inf)
    table.close()
    found = ((distance_m, _too_far), (floor_m, _too_low), (tilt_rad, _too_steep))
    return tuple(partial(condition, bound) for bound, condition in found if isfinite(bound))


def _too_far(most: float, state: Numbers) -> str:
    x, y, z = state[:3]
    square = x * x + y * y + z * z
    return f"further than {most:g} m from the origin" if square > most * most else ""


def _too_low(least: float, state: Numbers) -> str:
    return f"below {least:g} m" if state[2] < least else ""


def _too_steep(most: float, state: Numbers) -> str:
    return f"tilted by more than {most:g} rad" if cos(state[6]) * cos(state[7]) < cos(most) else ""


FLIGHT = ControlledSystem(
    STATE, REFERENCE, CONTROL, read_initial, read_dynamics, read_controller, read_reference, read_stop
)
SYSTEMS: Systems = MappingProxyType({"flight": FLIGHT})
