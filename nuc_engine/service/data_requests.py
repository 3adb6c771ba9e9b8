"""Requests for data (hdsoSpec, and the entries of a poll): answered from the mirror, and never work of the core.

A request for now is answered as things are, one of a time to come from the first snapshot that the service finds to be
of that time or later. Either is of one cycle, and says of which. So nobody needs control to ask.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from nuc_engine.messages.errors import Refused
from nuc_engine.model.plan import HdsoPlan, Plan
from nuc_engine.model.values import Values, plain_number, plain_value
from nuc_engine.service.clients import ConnectedClient
from nuc_engine.service.hub import Hub
from nuc_engine.service.mirror import Moment
from nuc_engine.service.save import mod_of, seconds
from sccils_schemas.documents import HDSO_ALL, HdsoMod, HdsoScript, HdsoSpec, ScriptEntry
from sccils_schemas.numbers import nanoseconds
from sccils_schemas.writer import write

MOST_NAMED = 1000
"""Entries of one document that may ask for data."""

SMALL = 64
"""Elements that are read, or written as a document, on the loop; more are work for the workshop."""

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class ValueSnapshot:
    """What was asked for, as it was in one cycle; `time_ns` is engine time, 0 outside of a bout."""

    cycle: int
    time_ns: int
    values: Mapping[int, Values | None]


async def parted(hub: Hub, script: HdsoScript) -> tuple[HdsoScript, tuple[HdsoSpec, ...]]:
    """Return a script without its requests, and these. Raises Refused."""

    def work() -> tuple[HdsoScript, tuple[HdsoSpec, ...]]:
        others = tuple(entry for entry in script.entries if not isinstance(entry, HdsoSpec))
        return replace(script, entries=others), tuple(entry for entry in script.entries if isinstance(entry, HdsoSpec))

    return work() if len(script.entries) <= MOST_NAMED else await hub.workshop.do(work)


def asked(hub: Hub, entries: Sequence[ScriptEntry]) -> dict[int, int]:
    """Return how many elements (0: all) of which HDSOs, by index, entries of a script name.

    Raises Refused for what does more than name an HDSO, and for one that there is not.
    """
    plan = hub.need_mirror().plan
    if len(entries) > MOST_NAMED:
        raise Refused("refused", f"{len(entries)} requests for data", f"at most {MOST_NAMED} in one document")
    wanted: dict[int, int] = {}
    for entry in entries:
        if not isinstance(entry, HdsoMod | HdsoSpec):
            raise Refused("bad_request", "a request for data changes something", "name HDSOs by hdsoSpec")
        if entry.ref == HDSO_ALL:
            # Whatever else is named is among these.
            return dict.fromkeys(range(len(plan.hdsos)), 0)
        hdso = hub.need_hdso(entry.ref)
        # A rule or a text is told whole, or what it says would be another thing.
        count = 0 if hdso.kind == "boolstring" or hdso.datatype == "char" else entry.num_elts
        if count > hdso.count:
            raise Refused("bad_request", f"HDSO {hdso.id_num} ({hdso.name}) has {hdso.count} elements, not {count}")
        wanted[hdso.index] = count
    return wanted


def by_time(hub: Hub, specs: Sequence[HdsoSpec], from_ns: int = 0) -> dict[int, tuple[int, dict[int, int]]]:
    """Return requests by engine time in ns: how many, and what is wanted. 0 is now, other times count from `from_ns`.

    Raises Refused.
    """
    if len(specs) > MOST_NAMED:
        raise Refused("refused", f"{len(specs)} requests for data", f"at most {MOST_NAMED} in one document")
    found: dict[int, list[HdsoSpec]] = {}
    for spec in specs:
        time_ns = nanoseconds(spec.time_s)
        found.setdefault(time_ns and time_ns + from_ns, []).append(spec)
    return {time_ns: (len(those), asked(hub, those)) for time_ns, those in found.items()}


async def look(
    hub: Hub, client: ConnectedClient, moment: Moment, wanted: Mapping[int, int], *, as_stored: bool = False
) -> ValueSnapshot:
    """Return what is wanted at a moment, and let the bout's log have it.

    `as_stored`: as the snapshot has it; else what was last written to an HDSO counts. Raises Refused.
    """
    read = moment.stored if as_stored else moment.values

    def work() -> dict[int, Values | None]:
        found = ((index, read(index)) for index in wanted)
        return {index: held if held is None else held[: wanted[index] or None] for index, held in found}

    values = await _beside(hub, hub.need_plan(), wanted, work)
    hub.note_answer(client, moment, values, {})
    snapshot = moment.snapshot
    time_s = None if snapshot is None else hub.engine_time_s(snapshot.time_ns)
    return ValueSnapshot(
        0 if snapshot is None else snapshot.cycle, 0 if time_s is None else max(0, round(time_s * 1e9)), values
    )


async def document(hub: Hub, seen: Sequence[ValueSnapshot]) -> bytes:
    """Return values as an hdsoscript; an HDSO without a value is an entry without elements. Raises Refused."""
    plan = hub.need_plan()

    def work() -> bytes:
        return write(HdsoScript(tuple(_mod(plan, one, index) for one in seen for index in one.values)))

    return await _beside(hub, plan, [index for one in seen for index in one.values], work)


def named(plan: Plan, seen: ValueSnapshot) -> list[dict[str, Any]]:
    """Return values by name, as answers tell them."""
    names = {hdso.id_num: hdso.name for hdso in plan.hdsos}
    found = ((plan.hdsos[index], held) for index, held in seen.values.items())
    return [{"name": hdso.name, "value": _plain(hdso, held, names), "cycle": seen.cycle} for hdso, held in found]


def _plain(hdso: HdsoPlan, held: Values | None, names: Mapping[int, str]) -> Any:
    if held is not None and len(held) < hdso.count:
        return [plain_number(value, hdso.datatype) for value in held]
    return plain_value(hdso, held, names)


def _mod(plan: Plan, seen: ValueSnapshot, index: int) -> HdsoMod:
    hdso, held = plan.hdsos[index], seen.values[index]
    if held:
        return mod_of(hdso, held, seen.time_ns)
    return HdsoMod(hdso.id_num, name=hdso.name, time_s=seconds(seen.time_ns))


async def _beside(hub: Hub, plan: Plan, indices: Iterable[int], work: Callable[[], T]) -> T:
    elements = sum(plan.hdsos[index].count for index in indices)
    return work() if elements <= SMALL else await hub.workshop.do(work, 8 * elements)
