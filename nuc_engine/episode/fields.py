"""One table of a document being read: values are taken out of it, and everything wrong is collected."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, TypeGuard, cast


class Fields:
    """A table. What is wrong is added to `problems`, as `key: what is wrong; expected what`; reading goes on.

    `data` is what stands in it. A value that is wrong is read as one that is allowed, so that one mistake is told once.
    """

    def __init__(self, data: Mapping[str, Any], problems: list[str], path: str = "") -> None:
        self.problems = problems
        self._path = path
        self.data = data
        self._taken: set[str] = set()

    def wrong(self, key: str, what: str, expected: str) -> None:
        """Note that something is wrong."""
        self.problems.append(f"{self.name(key)}: {what}; expected {expected}")

    def name(self, key: str) -> str:
        """Return the dotted key of one of its values."""
        return f"{self._path}.{key}" if self._path and key else self._path or key

    def has(self, key: str) -> bool:
        """Say whether a value is there."""
        return key in self.data

    def close(self) -> None:
        """Note every key that nobody asked for."""
        for key in self.data:
            if key not in self._taken:
                self.wrong(key, "unknown", f"one of {', '.join(sorted(self._taken))}")

    def table(self, key: str) -> Fields:
        """Return a table in it. One that is missing is noted once, and reads as empty."""
        value = self._take(key)
        if isinstance(value, dict):
            return Fields(cast(dict[str, Any], value), self.problems, self.name(key))
        self.wrong(key, _found(value), "a table")
        return Fields({}, [], self.name(key))

    def optional(self, key: str) -> Fields | None:
        """Return a table in it, None where there is none."""
        return self.table(key) if self.has(key) else None

    def tables(self, key: str) -> list[Fields]:
        """Return the tables of a list of at least one."""
        value = self._take(key)
        found = cast(list[Any], value) if isinstance(value, list) else []
        if not found or not all(isinstance(item, dict) for item in found):
            self.wrong(key, _found(value), "one or more tables")
            return []
        return [Fields(item, self.problems, f"{self.name(key)}.{k}") for k, item in enumerate(found)]

    def number(
        self, key: str, low: float = -1e6, high: float = 1e6, default: float | None = None, *, above: bool = False
    ) -> float:
        """Return a number from low to high; with `above` not low itself."""
        value = self._take(key)
        if value is None and default is not None:
            return default
        if _is_number(value) and low <= value <= high and not (above and value == low):
            return float(value)
        expected = f"a number above {low:g}, up to {high:g}" if above else f"a number from {low:g} to {high:g}"
        self.wrong(key, _found(value), expected)
        return high if default is None else default

    def whole(self, key: str, low: int, high: int, default: int) -> int:
        """Return a whole number."""
        value = self._take(key)
        if value is None:
            return default
        if isinstance(value, int) and not isinstance(value, bool) and low <= value <= high:
            return value
        self.wrong(key, _found(value), f"a whole number from {low} to {high}")
        return default

    def vector(
        self,
        key: str,
        low: float = -1e6,
        high: float = 1e6,
        default: Sequence[float] | None = None,
        *,
        size: int = 3,
    ) -> tuple[float, ...]:
        """Return so many numbers from low to high."""
        value = self._take(key)
        if value is None and default is not None:
            return tuple(default)
        numbers = cast(list[Any], value) if isinstance(value, list) else []
        if len(numbers) == size and all(_is_number(n) and low <= n <= high for n in numbers):
            return tuple(float(n) for n in numbers)
        self.wrong(key, _found(value), f"{size} numbers from {low:g} to {high:g}")
        return (high,) * size

    def word(self, key: str, allowed: Sequence[str]) -> str:
        """Return one of some words; none of them ("") where something else stands there."""
        value = self._take(key)
        if isinstance(value, str) and value in allowed:
            return value
        self.wrong(key, _found(value), f"one of {', '.join(allowed)}")
        return ""

    def text(self, key: str, longest: int) -> str:
        """Return a text; an empty one where something else stands there."""
        value = self._take(key)
        if isinstance(value, str) and 0 < len(value) <= longest:
            return value
        self.wrong(key, _found(value), f"a text of up to {longest} characters")
        return ""

    def wholes(self, key: str, low: int, high: int, most: int) -> tuple[int, ...]:
        """Return up to so many whole numbers from low to high."""
        value = self._take(key)
        numbers = cast(list[Any], value) if isinstance(value, list) else []
        if (
            isinstance(value, list)
            and len(numbers) <= most
            and all(type(n) is int and low <= n <= high for n in numbers)
        ):
            return tuple(numbers)
        self.wrong(key, _found(value), f"up to {most} whole numbers from {low} to {high}")
        return ()

    def flag(self, key: str) -> bool:
        """Return whether something is so; where nothing is said, it is not."""
        value = self._take(key)
        if value is None or isinstance(value, bool):
            return bool(value)
        self.wrong(key, _found(value), "true or false")
        return False

    def items(self) -> Iterator[tuple[str, Fields]]:
        """Yield every value of a table of tables, by its key."""
        for key in self.data:
            yield key, self.table(key)

    def _take(self, key: str) -> Any:
        self._taken.add(key)
        return self.data.get(key)


def _is_number(value: Any) -> TypeGuard[float]:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def _found(value: Any) -> str:
    return "missing" if value is None else f"{value!r}"[:80]
