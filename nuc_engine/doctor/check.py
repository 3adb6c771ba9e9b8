"""What a check comes to."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class CheckLevel(StrEnum):
    """OK; WARN: works, less punctually or less safely; BAD: does not work, or not as a leg needs it."""

    OK = "ok"
    WARN = "warn"
    BAD = "bad"


@dataclass(frozen=True, slots=True)
class Check:
    """One thing that was looked at: what was found, what that means, and the remedy (empty where none is needed)."""

    name: str
    level: CheckLevel
    found: str
    meaning: str
    remedy: str = ""


def ok(name: str, found: str, meaning: str, remedy: str = "") -> Check:
    """Return a check that is good; a remedy is then only a hint."""
    return Check(name, CheckLevel.OK, found, meaning, remedy)


def warn(name: str, found: str, meaning: str, remedy: str) -> Check:
    """Return a check that leaves something to be desired."""
    return Check(name, CheckLevel.WARN, found, meaning, remedy)


def bad(name: str, found: str, meaning: str, remedy: str) -> Check:
    """Return a check that is bad."""
    return Check(name, CheckLevel.BAD, found, meaning, remedy)
