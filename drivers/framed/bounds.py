"""What a servo's own settings leave of its torque and of its positions, and when that is too little to drive it.

One rule for the bus, which refuses such a servo, and for the bench, which warns before it is made one.
"""

from __future__ import annotations

from drivers.framed.layout import Kind
from drivers.servo import LEVEL_SHARE


def torque_limits(kind: Kind) -> tuple[tuple[str, int], ...]:
    """Return the settings that bound the torque for good, each with its value at all the torque there is."""
    return tuple((name, full) for name, full in ((kind.cap_limit, kind.cap[1]), kind.drive) if name)


def without_torque(kind: Kind, name: str, found: int, limit_n_m: float = 0.0) -> str:
    """Say why a servo with `found` in a setting of its torque is not driven, "" where the weakest level asks for less.

    `limit_n_m` is the torque limit of its joint, 0 for none. "" for other settings too.
    """
    full = dict(torque_limits(kind)).get(name)
    if full is None:
        return ""
    weakest = len(LEVEL_SHARE) - 1
    least = max(round(kind.share(weakest, limit_n_m) * full), 1)
    if found >= least:
        return ""
    left = "no torque at all" if not found else "less torque than it is told at any level"
    return f"which leaves it {left}; expected {least} (torque level {weakest}) to {kind.table[name].high}"


def positions_within(kind: Kind, least: int, most: int) -> tuple[int, int]:
    """Return the lowest and the highest position that limits set in the servo leave of its model's."""
    low, high = kind.model.positions
    return (low, high) if (least, most) == kind.unlimited else (max(low, least), min(high, most))


def without_place(kind: Kind, least: int, most: int) -> str:
    """Say why a servo with these limits of its positions is not driven: what it takes; "" for more than one."""
    if least > most:
        return f"takes positions from {least} to {most}: expected the lower one first"
    low, high = positions_within(kind, least, most)
    if low < high:
        return ""
    some = f"no position but {low}" if low == high else "no position"
    return f"takes {some} of {kind.model.positions[0]} to {kind.model.positions[1]}"
