"""Methods around values: get, set, scripts and what waits for its time."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, cast

from drivers.units import NS_PER_S
from nuc_engine.control.controls import JOINT_MODES, subject
from nuc_engine.messages import requests
from nuc_engine.messages.answers import Acknowledgement, ForgottenAnswer, NotWritten, Pending, Reading, Written
from nuc_engine.messages.errors import Refused
from nuc_engine.messages.limits import MAX_NUMBERS
from nuc_engine.model.changes import JointControl, Write
from nuc_engine.model.plan import HdsoPlan, Plan
from nuc_engine.model.planning import stored_values
from nuc_engine.model.store import refusal
from nuc_engine.model.values import Values, plain_number, plain_value
from nuc_engine.service.clients import ConnectedClient
from nuc_engine.service.core_link import AT_ONCE, SLICE, ChangeParts, Done, Edit, PartOutcome
from nuc_engine.service.data_requests import ValueSnapshot, by_time, look, named, parted
from nuc_engine.service.elements import read_element, split_element
from nuc_engine.service.hub import CORE_START_S, Hub
from nuc_engine.service.method import GAINED, Handlers, Noted, authorise
from nuc_engine.service.mirror import Moment
from nuc_engine.service.scripts import elapsed_ns, read_script, submit
from nuc_engine.service.waiting import Awaited
from sccils_schemas.documents import HDSO_ALL, HDSO_NONE, HdsoScript
from sccils_schemas.problems import SccilsError

MOST_TOLD = 32
"""HDSOs, and elements of each, that an event tells of a request that had waited."""

_EFFECT_S = 3.0


async def get(hub: Hub, client: ConnectedClient, asked: requests.GetRequest) -> Reading:
    """Give values by name, all of one cycle."""
    mirror, moment = hub.need_mirror(), hub.moment()
    values: dict[str, Any] = {}
    held: dict[int, Values | None] = {}
    said: dict[str, Any] = {}
    unknown: list[str] = []
    for name in _named(mirror.plan, asked.names):
        field = mirror.field(name)
        if field is None:
            unknown.append(str(name))
        else:
            values[str(name)] = value = field.read(moment)
            if (hdso := mirror.hdso(name)) is None:
                said[field.name] = value
            else:
                held[hdso.index] = moment.values(hdso.index)
    hub.note_answer(client, moment, held, said)
    snapshot = moment.snapshot
    if snapshot is None:
        return Reading(values, 0, None, tuple(unknown))
    return Reading(values, snapshot.cycle, hub.engine_time_s(snapshot.time_ns), tuple(unknown))


def _named(plan: Plan, names: Sequence[int | str]) -> Iterator[int | str]:
    """Yield names, each once; those that stand for all or for none (reading C8) are replaced by what they stand for."""
    for name in dict.fromkeys(names):
        if name in (HDSO_ALL, str(HDSO_ALL)):
            yield from (hdso.name for hdso in plan.hdsos)
        elif name not in (HDSO_NONE, str(HDSO_NONE)):
            yield name


async def set_values(hub: Hub, client: ConnectedClient, asked: requests.SetRequest) -> Acknowledgement:
    """Write values, together."""
    if sum(len(value) for _, value in asked.changes if isinstance(value, list)) > MAX_NUMBERS:
        raise Refused("bad_request", f"changes of set are too many; expected at most {MAX_NUMBERS} numbers in all")
    ids = {hdso.name: hdso.id_num for hdso in hub.need_plan().hdsos}
    writes = tuple(read_change(hub, ref, value, ids) for ref, value in asked.changes)
    if hazards := hub.need_mirror().hazards.of(writes, hub.need_book().known):
        raise Refused("refused", "; ".join(hazards))
    due_ns = AT_ONCE if asked.time_s is None else round(asked.time_s * NS_PER_S)
    if asked.back_after_s is None:
        return await write_values(hub, client, writes, due_ns, asked.merge)
    return await _try_values(hub, client, asked, writes)


async def write_values(
    hub: Hub, client: ConnectedClient, writes: Sequence[Write], due_ns: int = AT_ONCE, merge: int = 0
) -> Acknowledgement:
    """Write values together, and say what became of them; `merge` is an edit that this one goes on with."""
    edit = _send(hub, client.author, writes, due_ns)
    if merge:
        hub.need_book().merge(edit.request, merge)
    await edit.ack
    return await outcome(hub, [edit])


def _send(hub: Hub, author: str, writes: Sequence[Write], due_ns: int = AT_ONCE) -> Edit:
    return hub.core.edit(author, due_ns, _names(hub, writes), ChangeParts(tuple(writes)))


async def _try_values(
    hub: Hub, client: ConnectedClient, asked: requests.SetRequest, writes: Sequence[Write]
) -> Acknowledgement:
    """Write values, and have the core put back what was there before.

    The way back is sent first, so that nothing that is tried lacks it, and the two together, so that they do not
    overtake each other. Where they did, or the way back was lost with bout or core, the values are put back at once.
    """
    if asked.time_s is not None:
        raise Refused("bad_request", "set has time_s and back_after_s; expected one of them")
    elapsed = elapsed_ns(hub)
    if elapsed == AT_ONCE:
        raise Refused("refused", "no engine time runs after which the values could go back", "run first")
    known, author = hub.need_book().known, client.author
    undoing = [_undoing(hub, write, known.get(write.hdso)) for write in writes]
    back = _send(hub, author, undoing, elapsed + round((asked.back_after_s or 0.0) * NS_PER_S))
    try:
        edit = _send(hub, author, writes)
        if asked.merge:
            hub.need_book().merge(edit.request, asked.merge)
        hub.waiting.start(_see_it_is_back(hub, back, edit, undoing), lambda _, __: None)
        await back.ack
        await edit.ack
        answer = await outcome(hub, [edit])
    except Refused as error:
        if error.kind != "timeout":  # what comes late is to go back too
            hub.core.forget(back.request)
        raise
    tell_when_done(hub, back)
    answer.back = back.request
    return answer


async def _see_it_is_back(hub: Hub, back: Edit, edit: Edit, undoing: Sequence[Write]) -> None:
    """Put values back where the way back came to nothing, or came before what was tried. Raises Refused."""
    plan = hub.need_plan()
    try:
        if (await back.done).time_ns > (await edit.done).time_ns:
            return
    except Refused:
        if back.withdrawn:
            return
    # Of a core that died another one has the values.
    await hub.waiting.until(lambda: hub.core.ready, CORE_START_S, Refused("timeout", "no core"))
    if hub.plan is plan:
        _send(hub, back.author, undoing)


def _undoing(hub: Hub, write: Write, before: Values | None) -> Write:
    if before is None:
        hdso = hub.need_plan().hdsos[write.hdso]
        raise Refused("refused", f"{hdso.name} has no value that it could go back to", "set it without back_after_s")
    return Write(write.hdso, before) if write.element is None else replace(write, values=(before[write.element],))


def _names(hub: Hub, writes: Sequence[Write]) -> list[str]:
    return [_name(hub.need_plan().hdsos[write.hdso], write.element) for write in writes]


def read_change(hub: Hub, name: int | str, value: Any, ids: Mapping[str, int]) -> Write:
    """Return one write as the store takes it; `ids` are of the HDSOs by name.

    Raises Refused with the reason where it cannot be made.
    """
    if name in (HDSO_ALL, str(HDSO_ALL)):
        raise Refused("bad_request", f"{HDSO_ALL} stands for every HDSO: all can be read, but not written", "name one")
    name, inner = split_element(name)
    hdso = hub.need_hdso(name)
    named = f"HDSO {hdso.id_num} ({hdso.name})"
    element = None if inner is None else read_element(hdso, inner)
    if element is not None and isinstance(value, str | list):
        raise Refused("bad_request", f"{named}: expected one number for its element [{element}]")
    if hdso.index in hub.closed and not _driven_by(hub, hdso):
        raise Refused("refused", f"{named}: {hub.closed[hdso.index]}")
    wants_text = hdso.kind == "boolstring" or (hdso.datatype == "char" and isinstance(value, str))
    if isinstance(value, str) != wants_text:
        expected = "a rule as text" if wants_text else f"numbers of type {hdso.datatype}"
        raise Refused("bad_request", f"{named}: expected {expected}")
    data = value if isinstance(value, str | list) else [value]
    try:
        values = stored_values(hdso, data, ids)
    except (SccilsError, OverflowError) as error:
        raise Refused("refused", f"{named}: {error}") from error
    reason = refusal(hdso, values, element)
    if reason is not None:
        raise Refused("refused", f"{named}: {reason}")
    return Write(hdso.index, values, element)


def _driven_by(hub: Hub, hdso: HdsoPlan) -> bool:
    """Say whether a command may be written now because its joint was switched to be driven by it."""
    controls = hub.need_book().controls
    for motor in hub.need_plan().motors:
        for mode, index in (("position", motor.position_command), ("force", motor.force_command)):
            if index == hdso.index and mode in JOINT_MODES and controls.mode(motor.joint) == mode:
                return True
    return False


@dataclass(slots=True)
class EditOutcomes:
    """What became of the parts of edits."""

    applied: list[Written] = field(default_factory=list[Written])
    refused: list[NotWritten] = field(default_factory=list[NotWritten])
    replaced: list[Written] = field(default_factory=list[Written])

    def add(self, plan: Plan, done: Done) -> None:
        """Add what became of one edit."""
        for part in done.outcomes:
            if part.what == "write":
                hdso = plan.hdsos[part.index]
                name, value = _name(hdso, part.element), _plain(plan, hdso, part)
            else:
                of = subject(JointControl(part.what, part.index, part.values[0]), plan)[1]
                name, value = f"{part.what} of {of}", part.values[0]
            if part.refused:
                self.refused.append({"name": name, "reason": part.refused})
            else:
                (self.replaced if part.replaced else self.applied).append({"name": name, "value": value})


async def outcome(hub: Hub, edits: Sequence[Edit]) -> Acknowledgement:
    """Wait for edits that are to take effect at once, and say what became of all of them."""
    late = Refused("timeout", "the change was taken but has not taken effect yet", "see `pending`")
    told, request, cycle, time_s = EditOutcomes(), 0, 0, None
    waiting: list[int] = []
    elapsed = elapsed_ns(hub)
    for edit in edits:
        if edit.armed or edit.due_ns > elapsed:
            waiting.append(edit.request)
            tell_when_done(hub, edit)
            if len(waiting) % SLICE == 0:
                await asyncio.sleep(0)
            continue
        done = await hub.waiting.within(edit.done, _EFFECT_S, late)
        request, cycle, time_s = done.request, done.cycle, hub.engine_time_s(done.time_ns)
        told.add(hub.need_plan(), done)
    return Acknowledgement(
        cycle=cycle,
        time_s=time_s,
        applied=tuple(told.applied),
        not_written=tuple(told.refused),
        pending=waiting[-1] if waiting else 0,
        requests=tuple(waiting),
        replaced=tuple(told.replaced),
        request=request,
    )


def _name(hdso: HdsoPlan, element: int | None) -> str:
    return hdso.name if element is None else f"{hdso.name}[{element}]"


def _plain(plan: Plan, hdso: HdsoPlan, part: PartOutcome) -> Any:
    values = part.values
    if part.element is not None:
        return plain_number(values[0], hdso.datatype)
    if not values or (hdso.kind == "boolstring" and len(values) != hdso.count):
        return list(values)
    names = {other.id_num: other.name for other in plan.hdsos} if hdso.kind == "boolstring" else None
    return plain_value(hdso, values, names)


def _shortened(item: dict[str, Any]) -> dict[str, Any]:
    value = item.get("value")
    return {**item, "value": cast(list[Any], value)[:MOST_TOLD]} if isinstance(value, list) else item


def tell_when_done(hub: Hub, edit: Edit) -> None:
    """Let an edit that waits be told of once it took effect, or will not."""

    def tell() -> None:
        try:
            done = edit.done.result()
        except Refused as error:
            hub.recent.add("not_done", error.text, request=edit.request, author=edit.author)
            return
        found = EditOutcomes()
        found.add(hub.need_plan(), done)
        parts: dict[str, Sequence[Any]] = {"applied": found.applied, "refused": found.refused}
        parts |= {"replaced": found.replaced} if found.replaced else {}
        answer = {key: [_shortened(item) for item in told[:MOST_TOLD]] for key, told in parts.items()}
        time_s = hub.engine_time_s(done.time_ns)
        more = {"request": edit.request, "author": edit.author, "cycle": done.cycle, "time_s": time_s}
        hub.recent.add("done", ", ".join(edit.names), **more, **answer)

    edit.done.tell(tell)


def tell_when_read(hub: Hub, client: ConnectedClient, moment: Awaited[Moment], wanted: Mapping[int, int]) -> None:
    """Let it be told of what a request for a time to come finds then, or that it finds nothing."""

    async def read() -> ValueSnapshot:
        return await look(hub, client, await moment, wanted, as_stored=True)

    def tell(seen: ValueSnapshot | None, error: Exception | None) -> None:
        if seen is None:
            hub.recent.add("not_read", str(error), author=client.author)
            return
        # What is told stays for a while: a few values of each, as many as that needs.
        told = {index: held and held[:MOST_TOLD] for index, held in [*seen.values.items()][:MOST_TOLD]}
        answers = named(hub.need_plan(), replace(seen, values=told))
        more = {"author": client.author, "cycle": seen.cycle, "time_s": seen.time_ns / NS_PER_S, "answers": answers}
        hub.recent.add("read", ", ".join(answer["name"] for answer in answers), **more)

    hub.waiting.start(read(), tell)


async def script(hub: Hub, client: ConnectedClient, asked: requests.ScriptRequest) -> Acknowledgement | Noted:
    """Carry out an hdsoscript; its times count from the start of the bout, or from now."""
    data = asked.text.encode("utf-8", "replace")
    model = hub.need_configuration().model
    document = await _read_beside(hub, client, lambda: read_script(data, model), len(data))
    from_now = asked.offset == "now"
    changes, specs = await parted(hub, document)
    wanted = by_time(hub, specs, max(0, elapsed_ns(hub)) if from_now else 0)
    _, at_once = wanted.pop(0, (0, {}))
    hub.reads.check(client.key, sum(count for count, _ in wanted.values()))
    # Asking for data does not need control.
    gained = bool(changes.entries) and authorise(hub, client, "script")
    edits = await submit(hub, client.author, changes, data, from_now=from_now) if changes.entries else []
    for edit in edits:
        await edit.ack
    for due_ns, (count, those) in wanted.items():
        tell_when_read(hub, client, hub.reads.wait(client.key, due_ns, count), those)
    answer = await outcome(hub, edits)
    if at_once:
        answer.answers = tuple(named(hub.need_plan(), await look(hub, client, hub.moment(), at_once)))
    return Noted(answer, GAINED) if gained else answer


async def _read_beside(hub: Hub, client: ConnectedClient, work: Callable[[], HdsoScript], size: int) -> HdsoScript:
    """Read a script of anybody's: who has control, or may take it now, waits for none of the others'."""
    if client.may("operate") and hub.control.holder(hub.now_ns) in (None, client.key):
        return await hub.workshop.do(work, size)
    return await hub.workshop.do_for(client.key, work, size)


async def pending(hub: Hub, _client: ConnectedClient, _asked: requests.PendingRequest) -> list[Pending]:
    """Say what waits for its time."""
    waiting = [edit for edit in hub.core.edits.values() if edit.due_ns != AT_ONCE]
    return [
        {"request": edit.request, "author": edit.author, "time_s": edit.due_ns / NS_PER_S, "names": list(edit.names)}
        for edit in sorted(waiting, key=lambda edit: edit.due_ns)
    ]


async def forget(hub: Hub, _client: ConnectedClient, asked: requests.ForgetRequest) -> ForgottenAnswer:
    """Withdraw what waits for its time."""
    request = asked.request
    if request != "all" and request not in hub.core.edits:
        raise Refused("not_found", f"no change of request {request} waits", "see `pending`")
    ack = await hub.core.forget(-1 if request == "all" else request)
    return ForgottenAnswer(ack.detail)


HANDLERS: Handlers = {
    requests.GetRequest: get,
    requests.SetRequest: set_values,
    requests.ScriptRequest: script,
    requests.PendingRequest: pending,
    requests.ForgetRequest: forget,
}
"""What does the requests of this part."""
