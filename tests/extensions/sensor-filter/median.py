"""A filter of loads that lets no spike through: the middle one of the last three samples."""


class Median:
    """One for each motor it is used for."""

    def __init__(self) -> None:
        self._last: list[float] = []

    def __call__(self, load: float, before: float, elapsed_s: float) -> float:
        """Return what the sensor is to say."""
        self._last = [*self._last[-2:], load]
        return sorted(self._last)[len(self._last) // 2]
