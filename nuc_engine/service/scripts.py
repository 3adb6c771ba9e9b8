"""Scripts on their way to the core: read, checked whole, made ready beside the loop, and sent in slices."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace

from drivers.units import NS_PER_S
from nuc_engine.control.controls import subject
from nuc_engine.messages.errors import Refused
from nuc_engine.model.changes import Changeset, ScriptRefused, prepare
from nuc_engine.model.plan import Plan
from nuc_engine.service.core_link import AT_ONCE, SLICE, Admitted, ChangeParts, Edit, ScheduledChange, admit
from nuc_engine.service.hub import Hub
from sccils_schemas.by_hand import PlantEntry
from sccils_schemas.checks.scripts import writes_of
from sccils_schemas.documents import Gradual, HdsoScript
from sccils_schemas.model import Model, check_script
from sccils_schemas.names import printable
from sccils_schemas.parser import parse
from sccils_schemas.problems import Problems
from sccils_schemas.rules import format_tokens, tokenise

MAX_CHANGESETS = 5000
"""Changesets of one script that the core is given at most."""

MOST_NAMED = 32
"""Names of HDSOs that are told of what waits for its time."""

_FEW = 16
"""Writes of a script that is made ready on the loop."""

_MAX_REASONS = 20


def elapsed_ns(hub: Hub) -> int:
    """Return engine time in ns; before a bout nothing but what is to be at once is due."""
    time_s = hub.engine_time_s(hub.now_ns)
    return AT_ONCE if time_s is None else round(time_s * NS_PER_S)


def read_script(data: bytes, model: Model) -> HdsoScript:
    """Return an hdsoscript, checked against the model. Raises Refused with every reason."""
    document, problems = parse(data, "script")
    if document is None:
        raise Refused("bad_request", reasons(problems))
    if not isinstance(document, HdsoScript):
        raise Refused("bad_request", "this is no hdsoscript", "expected <hdsoscript>")
    return checked(document, model)


def script_problems(data: bytes, model: Model | None, problems: Problems) -> None:
    """Note what is wrong with an hdsoscript, on a model where there is one."""
    document, found = parse(data, "script")
    problems.extend(found)
    if document is None:
        return
    if not isinstance(document, HdsoScript):
        problems.error("script", 1, "this is no hdsoscript", "<hdsoscript>")
    elif model is not None:
        problems.extend(check_script(document, model))


def checked(document: HdsoScript, model: Model) -> HdsoScript:
    """Return an hdsoscript that can be carried out on the model. Raises Refused with every reason."""
    problems = check_script(document, model)
    if not problems.ok:
        raise Refused("refused", reasons(problems))
    return document


def refuse_by_hand(document: HdsoScript) -> None:
    """Raise Refused for a script with what only somebody beside the leg can do."""
    entries = [entry for entry in document.entries if isinstance(entry, PlantEntry)]
    if entries:
        lines = ", ".join(str(entry.line) for entry in entries[:_MAX_REASONS])
        raise Refused(
            "refused",
            f"the script lets something be done to the leg by hand (line {lines}), which a daemon cannot do",
            "`nuc experiment --bus` asks for it in time; an emulated leg takes it by the socket of `nuc emulate`",
        )


def reasons(problems: Problems) -> str:
    """Return what is wrong, one line for each."""
    lines = [str(problem) for problem in problems.errors]
    more = len(lines) - _MAX_REASONS
    return "\n".join(lines[:_MAX_REASONS] + ([f"... and {more} more"] if more > 0 else []))


async def submit(hub: Hub, author: str, document: HdsoScript, data: bytes, *, from_now: bool = False) -> list[Edit]:
    """Hand a checked script, and its text, to logger and core: one edit for each of its times, or none. Raises Refused.

    Gradual changes begin from the values at its arrival.
    """
    plan = hub.need_plan()
    refuse_by_hand(document)
    elapsed = elapsed_ns(hub)
    admitted = await _prepared(hub, plan, document, len(data), elapsed, from_now=from_now)
    first = hub.core.reserve(author, admitted)
    edits: list[Edit] = []
    try:
        last = first + len(admitted) - 1
        hub.authors.tell(lambda: hub.logger.tell_script(printable(document.name or "script"), data, (first, last)))
        for request, one in enumerate(admitted, first):
            if len(edits) % SLICE == SLICE - 1:
                await asyncio.sleep(0)
                _check_plan(hub, plan)
            edits.append(hub.core.send_edit(author, request, one))
    except Refused:
        hub.core.release(first + len(edits), admitted[len(edits) :])
        raise
    return edits


def _check_plan(hub: Hub, plan: Plan) -> None:
    if hub.plan is not plan:
        raise Refused("refused", "another configuration was put in force meanwhile", "send the script again")


async def _prepared(
    hub: Hub, plan: Plan, document: HdsoScript, size: int, elapsed: int, *, from_now: bool
) -> list[Admitted]:
    """Return a script's changes as they are sent; all but a few are made beside the loop."""
    values = None
    if any(isinstance(entry, Gradual) for entry in document.entries):
        moment = hub.moment()
        values = [moment.values(hdso.index) for hdso in plan.hdsos]
    ids = hub.need_configuration().model.ids

    def work() -> list[Admitted]:
        try:
            changesets = prepare(document, plan, ids, values)
        except ScriptRefused as refused:
            raise Refused("refused", "\n".join(refused.reasons)) from refused
        if len(changesets) > MAX_CHANGESETS:
            raise Refused("refused", f"the script has {len(changesets)} different times", f"at most {MAX_CHANGESETS}")
        return admit(_changes(plan, changesets, elapsed, from_now=from_now))

    if len(document.entries) <= _FEW and sum(map(writes_of, document.entries)) <= _FEW:
        return work()
    admitted = await hub.workshop.do(work, size)
    _check_plan(hub, plan)
    return admitted


def _changes(plan: Plan, changesets: Sequence[Changeset], elapsed: int, *, from_now: bool) -> list[ScheduledChange]:
    if from_now and elapsed == AT_ONCE and any(changeset.time_ns for changeset in changesets):
        raise Refused("refused", "no engine time runs that could be counted from", "run first, or count from the start")
    changes: list[ScheduledChange] = []
    for changeset in changesets:
        time_ns = changeset.time_ns + elapsed if from_now and changeset.time_ns else changeset.time_ns
        # What is due already, and time 0 before a bout, takes effect when it arrives.
        due_ns = AT_ONCE if time_ns == 0 or time_ns <= elapsed else time_ns
        if changeset.writes or changeset.controls or not changeset.triggers:
            parts = ChangeParts(changeset.writes, changeset.controls)
            changes.append(ScheduledChange(due_ns, _names(plan, changeset), parts))
        for trigger in changeset.triggers:
            # Each waits by itself, so that each can be withdrawn by itself.
            shift = elapsed if from_now and trigger.until_ns >= 0 else 0
            one = replace(trigger, until_ns=trigger.until_ns + shift)
            rule = f"when {format_tokens(tokenise(trigger.rule), _by_id(plan))}"
            names = (rule, *(plan.hdsos[write.hdso].name for write in trigger.writes[:MOST_NAMED]))
            changes.append(ScheduledChange(max(time_ns, elapsed, 0), names, ChangeParts(triggers=(one,))))
    return changes


def _by_id(plan: Plan) -> dict[int, str]:
    return {hdso.id_num: hdso.name for hdso in plan.hdsos}


def _names(plan: Plan, changeset: Changeset) -> tuple[str, ...]:
    more = len(changeset.writes) - MOST_NAMED
    names = [plan.hdsos[write.hdso].name for write in changeset.writes[:MOST_NAMED]]
    names += [subject(control, plan)[1] for control in changeset.controls]
    return (*names, f"and {more} more") if more > 0 else tuple(names)
