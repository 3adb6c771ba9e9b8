"""Which servos a bus of AI motors can have."""

from __future__ import annotations

from collections.abc import Sequence

from drivers.aimotor.codec import MAX_ID
from drivers.aimotor.models import IN_10_BITS, MODELS, family_of
from drivers.aimotor.table import Family
from drivers.errors import BusUrlError
from drivers.servo import ServoAddress


def check_servos(servos: Sequence[ServoAddress]) -> tuple[ServoAddress, ...]:
    """Return the servos as a tuple. Raises `BusUrlError` when there are none, or an id is double or out of range.

    A wCK may have an id up to 253, but above 30 it can be sent to ten-bit positions only, and not to let go: no bus
    drives what it can not stop.
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
