"""Force and length of a muscle: a bell around its best length, for `force-length`."""

import math


def bell(length: float, best: float, width: float) -> float:
    """Return 1 at the best relative length, and less beside it."""
    return math.exp(-(((length - best) / width) ** 2))
