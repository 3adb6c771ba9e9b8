"""A task that lets a leg tire: what lifts it grows weaker, a little each time the rules are evaluated."""

from typing import Any

LIFTS = "CTr_levationPRO_levator_activation"


class Tire:
    """Made once, with the HDSOs of the model by name."""

    def __init__(self, values: Any) -> None:
        self._values = values

    def run(self, now_ns: int) -> None:
        """Take a thousandth off the activation."""
        (activation,) = self._values[LIFTS]
        self._values[LIFTS] = (0.999 * activation,)
