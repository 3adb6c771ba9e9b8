"""Methods around values: get, set, scripts and what waits for its time."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, cast

from nuc_engine.control.controls import JOINT_MODES
from nuc_engine.model.changes import Write
from nuc_engine.model.plan import HdsoPlan, Plan
from nuc_engine.model.planning import stored_values
from nuc_engine.model.store import refusal
from nuc_engine.model.values import Values, plain_number, plain_value
from nuc_engine.service.asking import Seen, by_time, look, named, parted
from nuc_engine.service.clients import Client
from nuc_engine.service.core_link import AT_ONCE, SLICE, Done, Edit, Outcome, Parts
from nuc_engine.service.elements import read_element, split_element
from nuc_engine.service.errands import Answer
from nuc_engine.service.errors import Refused
from nuc_engine.service.hub import Hub
from nuc_engine.service.method import GAINED, Method, authorise
from nuc_engine.service.mirror import Moment
from nuc_engine.service.params import Param, changes, long_text, number, one_of, ref, refs
from nuc_engine.service.scripts import elapsed_ns, read_script, submit
from sccils_schemas.documents import HDSO_ALL, HDSO_NONE
from sccils_schemas.problems import SccilsError

MOST_TOLD = 32
"""HDSOs, and elements of each, that an event tells of a request that had waited."""

_NS = 1_000_000_000
_LONGEST_S = 1e8
_EFFECT_S = 3.0


async def get(hub: Hub, client: Client, params: dict[str, Any]) -> Any:
    """Give values by name, all of one cycle."""
    mirror, moment = hub.need_mirror(), hub.moment()
    values: dict[str, Any] = {}
    held: dict[int, Values | None] = {}
    said: dict[str, Any] = {}
    unknown: list[str] = []
    for name in _named(mirror.plan, params["names"]):
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
    return {
        "values": values,
        "unknown": unknown,
        "cycle": 0 if snapshot is None else snapshot.cycle,
        "time_s": None if snapshot is None else hub.engine_time_s(snapshot.time_ns),
    }


def _named(plan: Plan, names: Sequence[int | str]) -> Iterator[int | str]:
    """Yield names, each once; those that stand for all or for none (reading C8) are replaced by what they stand for."""
    for name in dict.fromkeys(names):
        if name in (HDSO_ALL, str(HDSO_ALL)):
            yield from (hdso.name for hdso in plan.hdsos)
        elif name not in (HDSO_NONE, str(HDSO_NONE)):
            yield name


async def set_values(hub: Hub, client: Client, params: dict[str, Any]) -> Any:
    """Write values, together."""
    ids = {hdso.name: hdso.id_num for hdso in hub.need_plan().hdsos}
    writes = tuple(read_change(hub, item[0], item[1], ids) for item in params["changes"])
    if hazards := hub.need_mirror().hazards.of(writes, hub.need_book().known):
        raise Refused("refused", "; ".join(hazards))
    due_ns = AT_ONCE if params["time_s"] is None else round(params["time_s"] * _NS)
    names = [_name(hub.need_plan().hdsos[write.hdso], write.element) for write in writes]
    edit = hub.core.edit(client.author, due_ns, names, Parts(writes))
    await edit.ack
    return await outcome(hub, [edit])


def read_change(hub: Hub, name: int | str, value: Any, ids: Mapping[str, int]) -> Write:
    """Return one write as the store takes it; `ids` are of the HDSOs by name.

    Raises Refused with the reason where it can not be made.
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


async def outcome(hub: Hub, edits: Sequence[Edit]) -> dict[str, Any]:
    """Wait for edits that are to take effect at once, and say what became of all of them."""
    late = Refused("timeout", "the change was taken but has not taken effect yet", "see `pending`")
    answer: dict[str, Any] = {"cycle": 0, "time_s": None, "applied": [], "refused": []}
    waiting: list[int] = []
    elapsed = elapsed_ns(hub)
    for edit in edits:
        if edit.due_ns > elapsed:
            waiting.append(edit.request)
            tell_when_done(hub, edit)
            if len(waiting) % SLICE == 0:
                await hub.errands.sleep(0)
            continue
        done = await hub.errands.within(edit.done, _EFFECT_S, late)
        answer["request"], answer["cycle"] = done.request, done.cycle
        answer["time_s"] = hub.engine_time_s(done.time_ns)
        _add(answer, hub.need_plan(), done)
    if waiting:
        answer["pending"], answer["requests"] = waiting[-1], waiting
    return answer


def _add(answer: dict[str, Any], plan: Plan, done: Done) -> None:
    for part in done.outcomes:
        if part.what == "write":
            hdso = plan.hdsos[part.index]
            name, value = _name(hdso, part.element), _plain(plan, hdso, part)
        else:
            name, value = f"{part.what} of {plan.joints[part.index].name}", part.values[0]
        if part.refused:
            answer["refused"].append({"name": name, "reason": part.refused})
        elif part.replaced:
            answer.setdefault("replaced", []).append({"name": name, "value": value})
        else:
            answer["applied"].append({"name": name, "value": value})


def _name(hdso: HdsoPlan, element: int | None) -> str:
    return hdso.name if element is None else f"{hdso.name}[{element}]"


def _plain(plan: Plan, hdso: HdsoPlan, part: Outcome) -> Any:
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
        answer: dict[str, Any] = {"applied": [], "refused": []}
        _add(answer, hub.need_plan(), done)
        answer = {key: [_shortened(item) for item in told[:MOST_TOLD]] for key, told in answer.items()}
        time_s = hub.engine_time_s(done.time_ns)
        more = {"request": edit.request, "author": edit.author, "cycle": done.cycle, "time_s": time_s}
        hub.recent.add("done", ", ".join(edit.names), **more, **answer)

    edit.done.tell(tell)


def tell_when_read(hub: Hub, client: Client, moment: Answer[Moment], wanted: Mapping[int, int]) -> None:
    """Let it be told of what a request for a time to come finds then, or that it finds nothing."""

    async def read() -> Seen:
        return await look(hub, client, await moment, wanted, as_stored=True)

    def tell(seen: Seen | None, error: Exception | None) -> None:
        if seen is None:
            hub.recent.add("not_read", str(error), author=client.author)
            return
        # What is told stays for a while: a few values of each, as many as that needs.
        told = {index: held and held[:MOST_TOLD] for index, held in [*seen.values.items()][:MOST_TOLD]}
        answers = named(hub.need_plan(), replace(seen, values=told))
        more = {"author": client.author, "cycle": seen.cycle, "time_s": seen.time_ns / _NS, "answers": answers}
        hub.recent.add("read", ", ".join(answer["name"] for answer in answers), **more)

    hub.errands.start(read(), tell)


async def script(hub: Hub, client: Client, params: dict[str, Any]) -> Any:
    """Carry out an hdsoscript; its times count from the start of the bout, or from now."""
    data = params["text"].encode("utf-8", "replace")
    model = hub.need_configuration().model
    document = await hub.workshop.do(lambda: read_script(data, model), len(data))
    from_now = params["offset"] == "now"
    changes, specs = await parted(hub, document)
    wanted = by_time(hub, specs, max(0, elapsed_ns(hub)) if from_now else 0)
    _, at_once = wanted.pop(0, (0, {}))
    hub.reads.check(client.key, sum(count for count, _ in wanted.values()))
    # To ask for data needs nobody's leave.
    note = {"note": GAINED} if changes.entries and authorise(hub, client, CHANGING) else {}
    edits = await submit(hub, client.author, changes, data, from_now=from_now) if changes.entries else []
    for edit in edits:
        await edit.ack
    for due_ns, (count, those) in wanted.items():
        tell_when_read(hub, client, hub.reads.wait(client.key, due_ns, count), those)
    answer = await outcome(hub, edits)
    if at_once:
        answer["answers"] = named(hub.need_plan(), await look(hub, client, hub.moment(), at_once))
    return answer | note


async def pending(hub: Hub, _client: Client, _params: dict[str, Any]) -> Any:
    """Say what waits for its time."""
    waiting = [edit for edit in hub.core.edits.values() if edit.due_ns != AT_ONCE]
    return [
        {"request": edit.request, "author": edit.author, "time_s": edit.due_ns / _NS, "names": list(edit.names)}
        for edit in sorted(waiting, key=lambda edit: edit.due_ns)
    ]


async def forget(hub: Hub, _client: Client, params: dict[str, Any]) -> Any:
    """Withdraw what waits for its time."""
    request = params["request"]
    if request != "all" and not isinstance(request, int):
        raise Refused("bad_request", f"request is {request!r}", "expected a request's number or 'all'")
    if request != "all" and request not in hub.core.edits:
        raise Refused("not_found", f"no change of request {request} waits", "see `pending`")
    ack = await hub.core.forget(-1 if request == "all" else int(request))
    return {"forgotten": ack.detail}


CHANGING = Method("script", script, "operate", True)
"""What a script that changes something needs."""

METHODS = (
    Method("get", get, params={"names": Param(refs)}),
    Method(
        "set",
        set_values,
        "operate",
        True,
        {"changes": Param(changes, raw=True), "time_s": Param(number(0, _LONGEST_S), None)},
    ),
    Method(
        "script",
        script,
        params={"text": Param(long_text, raw=True), "offset": Param(one_of("start", "now"), "start")},
    ),
    Method("pending", pending),
    Method("forget", forget, "operate", True, {"request": Param(ref)}),
)
"""The methods of this part."""
