"""The models of AI motor and wCK as data; a wCK twice, for its two scales.

Stall torques follow from the models' names (701: 7 kgf cm) but for the wCK-1413; speeds, stall currents, supplies and
the wCK's gains are assumed but for the wCK-1108's speed. Where a number is assumed, `ServoModel.source` says so.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from drivers.aimotor.codec import MAX_ID, MAX_RAW
from drivers.aimotor.table import MOST_10BIT, TICK_A, TICK_DEG, Family
from drivers.errors import BusUrlError
from drivers.servo import ServoAddress, ServoModel

FAMILY_NAME: Final = "aimotor"

FULL_DRIVE_TICKS: Final = 41.4
"""The error at which the loop gives all it has, at a P gain of 10. Tuned on the emulated legs, not measured."""

_KGF_CM_N_M = 0.0980665
_GAIN = 10


@dataclass(frozen=True, slots=True)
class Delivered:
    """How a model comes from the factory: rate in bit/s, gains, whether it can bound its positions."""

    family: Family
    baud: int
    p_gain: int
    d_gain: int
    position_bounds: bool = True


def _model(
    name: str, kgf_cm: float, stall_a: float, no_load_rad_s: float, supply_v: float, source: str, gain: int = _GAIN
) -> ServoModel:
    stall_n_m = kgf_cm * _KGF_CM_N_M
    return ServoModel(
        name=name,
        family=FAMILY_NAME,
        number=-1,
        tick_deg=TICK_DEG,
        positions=(0, MAX_RAW),
        load_unit="18.4 mA",
        load_range=(0, MAX_RAW),
        load_n_m=stall_n_m / stall_a * TICK_A,
        stall_torque_n_m=stall_n_m,
        stall_current_a=stall_a,
        no_load_rad_s=no_load_rad_s,
        supply_v=supply_v,
        default_gain=gain,
        gain_unit=1.0 / (FULL_DRIVE_TICKS * _GAIN),
        gains=(0, 0),
        source=source,
    )


_AI = "gain: Tribotix FAQ; tick, current per count: Rutter 2010, 6.3.2; torque assumed from the name, the rest assumed"
_WCK = "supply: wCK manual 1.07; torque assumed from the name; the rest assumed, current per count as of the AI motor"
_1108 = f"no-load speed: maker; {_WCK}"
_1413 = "stall torque: maker; supply: wCK manual 1.07; the rest assumed, current per count as of the AI motor"

TICKS_PER_10BIT: Final = MAX_RAW / MOST_10BIT
"""Eight-bit ticks per ten-bit tick: both scales have the same ends (assumed)."""

IN_10_BITS: Final = "-10bit"
"""What is added to the name of a wCK whose positions are counted in ten bits."""


def _in_10_bits(model: ServoModel) -> ServoModel:
    """Return the same servo as its ten-bit requests show it: finer positions, and no load."""
    return replace(
        model,
        name=model.name + IN_10_BITS,
        tick_deg=model.tick_deg * TICKS_PER_10BIT,
        positions=(0, MOST_10BIT),
        load_unit="nothing: ten-bit replies tell no load",
        load_range=(0, 0),
        load_n_m=0.0,
        gain_unit=model.gain_unit * TICKS_PER_10BIT,
    )


_AI_MOTORS = (
    _model("601", 6.0, 0.9, 5.8, 9.6, _AI, gain=5),
    _model("701", 7.0, 1.0, 5.8, 9.6, _AI),
    _model("1001", 10.0, 1.4, 5.0, 9.6, _AI),
)
_WCKS = (
    _model("wCK-1108", 8.0, 1.1, 6.98, 7.4, _1108),
    _model("wCK-1111", 11.0, 1.5, 5.0, 7.4, _WCK),
    _model("wCK-1413", 13.0, 1.8, 5.0, 7.4, _1413),
)
MODELS: Final = {model.name: model for model in (*_AI_MOTORS, *_WCKS, *map(_in_10_bits, _WCKS))}
"""By the name configurations use. Gains are left alone on the wire: what a count of P does was never measured."""

_WCK_FACTORY = Delivered(Family.WCK, 115_200, 10, 35)
DELIVERED: Final = {
    "601": Delivered(Family.AI_MOTOR, 115_200, 5, 35, position_bounds=False),
    "701": Delivered(Family.AI_MOTOR, 57_600, 10, 35),
    "1001": Delivered(Family.AI_MOTOR, 57_600, 10, 35),
    **{name: _WCK_FACTORY for name in MODELS if name.startswith("wCK")},
}
"""AI motors: AI MOTOR-701 manual and Tribotix FAQ. The wCK's rate: its manual; its gains are assumed to be those of the
AI motor."""

ANY_WCK: Final = "wCK-1111"
"""What a wCK is taken for whose model nobody said."""


def family_of(model: str, *, wck: bool = False) -> Family:
    """Return which of the two a model is; one without a name is a wCK where `wck` says so."""
    if not model:
        return Family.WCK if wck else Family.AI_MOTOR
    return DELIVERED[model].family


def check_servos(servos: Sequence[ServoAddress]) -> tuple[ServoAddress, ...]:
    """Return the servos as a tuple. Raises `BusUrlError` when there are none, or an id is double or out of range.

    A wCK may have an id up to 253, but above 30 it can be sent to ten-bit positions only, and not to let go: no bus
    drives what it cannot stop.
    """
    if not servos:
        raise BusUrlError("a bus needs at least one servo")
    seen: dict[int, str] = {}
    for servo in servos:
        if not 0 <= servo.bus_id <= MAX_ID:
            raise BusUrlError(f"servo {servo.name!r} has bus id {servo.bus_id}: expected 0 to {MAX_ID}")
        if servo.bus_id in seen:
            raise BusUrlError(f"servos {seen[servo.bus_id]!r} and {servo.name!r} share bus id {servo.bus_id}")
        seen[servo.bus_id] = servo.name
    return tuple(servos)


def check_models(servos: Sequence[ServoAddress], *, wck: bool = False) -> Sequence[ServoAddress]:
    """Return the servos as they are. Raises `BusUrlError` for a model this family does not have.

    With `wck` they must be wCKs, or of no model that is known.
    """
    for servo in servos:
        if servo.model and servo.model not in MODELS:
            raise BusUrlError(f"servo {servo.name!r} is of unknown model {servo.model!r}: expected {', '.join(MODELS)}")
        if wck and family_of(servo.model, wck=True) is not Family.WCK:
            raise BusUrlError(f"servo {servo.name!r} is an AI motor ({servo.model}): wck and ten_bit are for wCKs only")
    return servos


def check_scale(servos: Sequence[ServoAddress], *, ten_bit: bool) -> None:
    """See that a bus counts positions as the models do. Raises `BusUrlError` for one that would go elsewhere."""
    for servo in servos:
        fine = servo.model.endswith(IN_10_BITS)
        if fine and not ten_bit:
            raise BusUrlError(f"servo {servo.name!r} counts in ten bits ({servo.model}): say ten_bit=1 in the URL")
        if ten_bit and servo.model and not fine:
            raise BusUrlError(
                f"servo {servo.name!r} counts in eight bits ({servo.model}), the bus in ten: leave ten_bit=1 out, or"
                f" make it a {servo.model}{IN_10_BITS}, calibrated in ticks of"
                f" {MODELS[servo.model + IN_10_BITS].tick_deg:.4f} degrees"
            )
