"""An activation that saturates with its sensor, for what the joint list calls `linear`."""

import math
from collections.abc import Sequence


def sigmoid(sensors: Sequence[float], parameters: Sequence[float]) -> float:
    """Return between 0 and a, half of it where the sensor is in the middle between wmin and wmax."""
    a, _, _, wmin, wmax = parameters
    return a / (1.0 + math.exp(-8.0 * ((sensors[0] - wmin) / (wmax - wmin) - 0.5)))
