"""Methods around edits: undo, redo, their history, values that are kept, saving what is in force, recording."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from nuc_engine.control.controls import subject
from nuc_engine.messages import requests
from nuc_engine.messages.answers import (
    Acknowledgement,
    ChangedValue,
    HistoryAnswer,
    HistoryEdit,
    KeptAnswer,
    RecordedAnswer,
    RecordingAnswer,
    SavedAnswer,
)
from nuc_engine.messages.errors import Refused
from nuc_engine.model.changes import JointControl, Write
from nuc_engine.model.values import plain_value, same_value
from nuc_engine.service.clients import ConnectedClient
from nuc_engine.service.core_link import AT_ONCE, ChangeParts
from nuc_engine.service.edits import Edited, EditPart, KeptValues, MadeEdit
from nuc_engine.service.folders import check_name
from nuc_engine.service.hub import Hub
from nuc_engine.service.method import Handlers
from nuc_engine.service.methods_values import outcome, write_values
from nuc_engine.service.save import configuration_files, recorded_script, store_script
from nuc_engine.service.scripts import read_script
from nuc_engine.service.values_in import values_in_force
from sccils_schemas.names import did_you_mean
from sccils_schemas.problems import SccilsError

MOST_TOLD = 64
"""Edits, and parts of each, that `history` tells of."""

MOST_KEPT = 16
"""Sets of values that are kept."""


async def undo(hub: Hub, client: ConnectedClient, _asked: requests.UndoRequest) -> Acknowledgement:
    """Take back the last edit, whoever made it."""
    return await _send_back(hub, client, hub.need_book().undo(), undo=True)


async def redo(hub: Hub, client: ConnectedClient, _asked: requests.RedoRequest) -> Acknowledgement:
    """Repeat the edit that was undone last."""
    return await _send_back(hub, client, hub.need_book().redo(), undo=False)


async def _send_back(hub: Hub, client: ConnectedClient, edited: Edited, *, undo: bool) -> Acknowledgement:
    plan = hub.need_plan()
    writes = tuple(Write(part.index, part.after) for part in edited if part.what == "write")
    controls = tuple(_control(part.what, part.index, part.after) for part in edited if part.what != "write")
    names = [plan.hdsos[write.hdso].name for write in writes] + [subject(c, plan)[1] for c in controls]
    edit = hub.core.edit(client.author, AT_ONCE, names, ChangeParts(writes, controls))
    hub.need_book().sent_back(edit.request, undo=undo)
    await edit.ack
    return await outcome(hub, [edit])


def _control(what: str, joint: int, value: Any) -> JointControl:
    return JointControl(value[0], joint, value[1]) if what == "drive" else JointControl(what, joint, value)


async def history(hub: Hub, _client: ConnectedClient, _asked: requests.HistoryRequest) -> HistoryAnswer:
    """Say which edits can be undone and made again."""
    done, undone = hub.need_book().history(MOST_TOLD)
    return HistoryAnswer(*(tuple(_told(hub, made) for made in pile) for pile in (done, undone)))


def _told(hub: Hub, made: MadeEdit) -> HistoryEdit:
    changes = [_change(hub, part) for part in made.parts[:MOST_TOLD]]
    time_s = hub.engine_time_s(made.time_ns)
    return {
        "request": made.request,
        "author": made.author,
        "time_s": None if time_s is None or time_s < 0 else time_s,  # of an earlier bout, or before this one
        "cycle": made.cycle,
        "changes": changes,
        "left_out": len(made.parts) - len(changes),
    }


def _change(hub: Hub, part: EditPart) -> ChangedValue:
    plan, what, before, after = hub.need_plan(), part.what, part.before, part.after
    if what == "write":
        hdso, names = plan.hdsos[part.index], hub.need_mirror().names
        before, after = (plain_value(hdso, values, names) for values in (before, after))
        return {"what": what, "name": hdso.name, "before": before, "after": after}
    if what == "drive":
        (_, before), (what, after) = before, after
    name = subject(JointControl(what, part.index, after), plan)[1]
    return {"what": what, "name": name, "before": before, "after": after}


async def keep_values(hub: Hub, client: ConnectedClient, asked: requests.KeepValuesRequest) -> KeptAnswer:
    """Keep the values in force under a name."""
    name = check_name(asked.name)
    if len(hub.kept) >= MOST_KEPT and name not in hub.kept:
        raise Refused("refused", f"{MOST_KEPT} sets of values are kept", f"use one of: {', '.join(hub.kept)}")
    hub.kept[name] = KeptValues(client.author, hub.recent.unix_time_s(), values_in_force(hub.need_mirror()))
    hub.recent.add("kept", name, author=client.author)
    return _kept(hub, name)


async def kept_values(hub: Hub, _client: ConnectedClient, _asked: requests.KeptValuesRequest) -> list[KeptAnswer]:
    """Say under which names values are kept."""
    return [_kept(hub, name) for name in hub.kept]


async def recall_values(hub: Hub, client: ConnectedClient, asked: requests.RecallValuesRequest) -> Acknowledgement:
    """Write what was kept under a name, where it differs from what is in force."""
    if asked.name not in hub.kept:
        raise Refused("not_found", f"nothing is kept as {asked.name!r}", did_you_mean(asked.name, hub.kept))
    writes = _differing(hub, hub.kept[asked.name])
    if not writes:
        raise Refused("refused", f"the values in force are those of {asked.name!r} already")
    if hazards := hub.need_mirror().hazards.of(writes, hub.need_book().known):
        raise Refused("refused", "; ".join(hazards))
    return await write_values(hub, client, writes)


def _kept(hub: Hub, name: str) -> KeptAnswer:
    kept, plan = hub.kept[name], hub.need_plan()
    differing = tuple(plan.hdsos[write.hdso].name for write in _differing(hub, kept))
    return KeptAnswer(name, kept.author, kept.unix_time_s, differing)


def _differing(hub: Hub, kept: KeptValues) -> list[Write]:
    """Return the writes that bring kept values back: rules last, since they may use numbers that have none before."""
    plan, known = hub.need_plan(), hub.need_book().known
    found = [
        Write(index, values)
        for index, values in kept.values.items()
        if plan.hdsos[index].kind in ("parameter", "boolstring")
        and index not in hub.closed
        and not same_value(plan.hdsos[index], values, known.get(index))
    ]
    return sorted(found, key=lambda write: plan.hdsos[write.hdso].kind == "boolstring")


async def save(hub: Hub, client: ConnectedClient, asked: requests.SaveRequest) -> SavedAnswer:
    """Write the values in force as a configuration or as an hdsoscript."""
    configuration = hub.need_configuration()
    name, overwrite, description = check_name(asked.name), asked.overwrite, asked.description
    held = values_in_force(hub.need_mirror())

    def work() -> Path:
        # Whatever is written has been read again before: a file that cannot be loaded would be useless.
        try:
            if asked.kind == "script":
                data = store_script(configuration, held, name, description)
                read_script(data, configuration.model)
                return hub.folders.new_script(name, data, overwrite=overwrite)
            files = configuration_files(configuration, held, description)
        except SccilsError as error:
            raise Refused("failed", f"these values cannot be written as documents: {error}") from error
        files = {**configuration.files, **files}
        hub.make_configuration(name, files)
        return hub.folders.new_configuration(name, files, overwrite=overwrite)

    path = await hub.workshop.do(work)
    hub.recent.add("saved", str(path), author=client.author)
    return SavedAnswer(str(path), asked.kind)


async def record_start(hub: Hub, client: ConnectedClient, asked: requests.RecordStartRequest) -> RecordingAnswer:
    """Begin to record edits."""
    name = check_name(asked.name)
    hub.need_book().record(name)
    hub.recent.add("record_start", name, author=client.author)
    return RecordingAnswer(name)


async def record_stop(hub: Hub, client: ConnectedClient, asked: requests.RecordStopRequest) -> RecordedAnswer:
    """End the recording and write it as a timed hdsoscript."""
    book = hub.need_book()
    if book.recording is None:
        raise Refused("refused", "nothing is being recorded", "start a recording first")
    name, recorded, left_out = book.recorded()
    try:
        data = recorded_script(book.plan, recorded, name)
    except SccilsError as error:
        raise Refused("failed", f"the recording cannot be written: {error}") from error
    path = await hub.workshop.do(lambda: hub.folders.new_script(name, data, overwrite=asked.overwrite))
    # Only now: where the file could not be written the recording is still there.
    book.end_recording()
    hub.recent.add("record_stop", str(path), author=client.author)
    return RecordedAnswer(str(path), len(recorded), left_out)


HANDLERS: Handlers = {
    requests.UndoRequest: undo,
    requests.RedoRequest: redo,
    requests.HistoryRequest: history,
    requests.KeepValuesRequest: keep_values,
    requests.KeptValuesRequest: kept_values,
    requests.RecallValuesRequest: recall_values,
    requests.SaveRequest: save,
    requests.RecordStartRequest: record_start,
    requests.RecordStopRequest: record_stop,
}
"""What does the requests of this part."""
