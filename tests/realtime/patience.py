"""For clients whose time-outs are fixed and short (34 ms and less): a machine that stands still costs an attempt."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

ATTEMPTS = 10


def insist(ask: Callable[[], tuple[Any, ...]]) -> tuple[Any, ...]:
    """Ask until the line worked: (values..., result, error) with result 0."""
    answer: tuple[Any, ...] = ()
    for _ in range(ATTEMPTS):
        answer = ask()
        if answer[-2] == 0:
            return answer
    raise AssertionError(f"no answer in {ATTEMPTS} attempts: {answer}")


def little(value: int, size: int) -> list[int]:
    """Return the bytes of a number, lowest first."""
    return list(value.to_bytes(size, "little"))
