"""Timed changesets: what a script means to the executive, checked and coded before anything of it takes effect."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from nuc_engine.plan import Plan
from nuc_engine.planning import stored_values
from nuc_engine.store import refusal
from sccils_schemas.documents import HDSO_ALL, HdsoMod, HdsoScript
from sccils_schemas.numbers import nanoseconds


class ScriptRefused(Exception):
    """A script that can not be run as a whole; `reasons` holds one line for each entry that is wrong."""

    def __init__(self, reasons: tuple[str, ...]) -> None:
        super().__init__("; ".join(reasons))
        self.reasons = reasons


@dataclass(frozen=True, slots=True)
class Write:
    """One write of HDSO data: values from the first element on, as the store holds them."""

    hdso: int
    values: tuple[int | float, ...]


@dataclass(frozen=True, slots=True)
class Request:
    """One request for HDSO data: the HDSO's index, or -1 for all, and how many elements (0: all)."""

    hdso: int
    count: int = 0


@dataclass(frozen=True, slots=True)
class Control:
    """One change of what a joint's motor is commanded by (`nuc_engine.controls`): kind, joint index, value."""

    what: str
    joint: int
    value: float | str


@dataclass(frozen=True, slots=True)
class Changeset:
    """Writes and controls that take effect together, before any task of that instant, and requests of that time.

    `origin` is the number of the request it came with, 0 for a script that was there from the start.
    """

    time_ns: int
    writes: tuple[Write, ...]
    requests: tuple[Request, ...] = ()
    controls: tuple[Control, ...] = ()
    origin: int = 0


@dataclass(frozen=True, slots=True)
class Applied:
    """What became of one write: when it was really made, in which cycle, and why not when it was refused."""

    time_ns: int
    cycle: int
    write: Write
    refused: str = ""
    origin: int = 0


@dataclass(frozen=True, slots=True)
class Controlled:
    """What became of one control, likewise."""

    time_ns: int
    cycle: int
    control: Control
    refused: str = ""
    origin: int = 0


def prepare(script: HdsoScript, plan: Plan, ids: Mapping[str, int]) -> tuple[Changeset, ...]:
    """Turn a checked script into changesets in order of time; entries of one time keep document order (C2, C5).

    Raises ScriptRefused, naming every entry, when the store would refuse one.
    """
    by_time: dict[int, tuple[list[Write], list[Request]]] = {}
    reasons: list[str] = []
    for entry in script.entries:
        writes, requests = by_time.setdefault(nanoseconds(entry.time_s), ([], []))
        if isinstance(entry, HdsoMod):
            if not entry.data:
                continue  # It only names an HDSO (reading B17); checking has warned of it.
            hdso = plan.hdso(entry.ref)
            write = Write(hdso.index, stored_values(hdso, entry.data, ids))
            reason = refusal(hdso, write.values)
            if reason is None:
                writes.append(write)
            else:
                reasons.append(f"{script.source}:{entry.line}: HDSO {hdso.id_num} ({hdso.name}): {reason}")
        elif entry.ref == HDSO_ALL:
            requests.append(Request(-1))
        else:
            requests.append(Request(plan.hdso(entry.ref).index, entry.num_elts))
    if reasons:
        raise ScriptRefused(tuple(reasons))
    return tuple(Changeset(time, tuple(w), tuple(r)) for time, (w, r) in sorted(by_time.items()))
