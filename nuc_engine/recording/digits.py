"""Numbers as the logs give them back, without writing and reading a log."""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from nuc_engine.recording.logs import NUMBER

_MOST = 22
"""Powers of ten up to this one are exact in a double."""
_LEAST, _LIMIT = 1e8, 1e9
"""Where the whole number lies that nine digits make."""
_DOUBT: Final = 1e-5
"""So near to half way the product may have been rounded to the wrong side; its error is below 1e9 * 2**-53."""


def as_logged(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return numbers, of any shape, as reading the logs back gives them: rounded to the nine digits of `NUMBER`.

    Exactly so, to the last bit: nine digits are a whole number over or times a power of ten, and a division of two
    numbers that are exact in a double gives the double next to the result, as reading its digits does. What cannot be
    done so, or where rounding is in doubt, is written and read.
    """
    flat = np.ascontiguousarray(values, dtype=np.float64).ravel()
    size = np.abs(flat)
    with np.errstate(all="ignore"):
        places = 8.0 - np.floor(np.log10(size))
        plain = (places >= 0.0) & (places <= _MOST)
        scale = _POWERS[np.where(plain, places, 0.0).astype(np.int64)]
        scaled = size * scale
        whole = np.rint(scaled)
        plain &= (scaled >= _LEAST) & (scaled < _LIMIT) & (np.abs(np.abs(scaled - whole) - 0.5) > _DOUBT)
        found = np.copysign(whole / scale, flat)
    zero = size == 0.0
    found[zero] = flat[zero]
    for at in np.flatnonzero(~(plain | zero)).tolist():
        found[at] = float(NUMBER % flat[at])
    return found.reshape(values.shape)


_POWERS = np.array([float(10**power) for power in range(_MOST + 1)])
