"""Methods around edits: undo, redo, saving what is in force, recording."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from nuc_engine.messages import requests
from nuc_engine.messages.answers import Acknowledgement, RecordedAnswer, RecordingAnswer, SavedAnswer
from nuc_engine.messages.errors import Refused
from nuc_engine.model.changes import JointControl, Write
from nuc_engine.service.clients import ConnectedClient
from nuc_engine.service.core_link import AT_ONCE, ChangeParts
from nuc_engine.service.edits import Edited
from nuc_engine.service.folders import check_name
from nuc_engine.service.hub import Hub
from nuc_engine.service.method import Handlers
from nuc_engine.service.methods_values import outcome
from nuc_engine.service.save import configuration_files, recorded_script, store_script
from nuc_engine.service.scripts import read_script
from nuc_engine.service.values_in import values_in_force
from sccils_schemas.problems import SccilsError


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
    names = [plan.hdsos[write.hdso].name for write in writes] + [plan.joints[c.joint].name for c in controls]
    edit = hub.core.edit(client.author, AT_ONCE, names, ChangeParts(writes, controls))
    hub.need_book().sent_back(edit.request, undo=undo)
    await edit.ack
    return await outcome(hub, [edit])


def _control(what: str, joint: int, value: Any) -> JointControl:
    return JointControl(value[0], joint, value[1]) if what == "drive" else JointControl(what, joint, value)


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
            raise Refused("failed", f"these values can not be written as documents: {error}") from error
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
        raise Refused("failed", f"the recording can not be written: {error}") from error
    path = await hub.workshop.do(lambda: hub.folders.new_script(name, data, overwrite=asked.overwrite))
    # Only now: where the file could not be written the recording is still there.
    book.end_recording()
    hub.recent.add("record_stop", str(path), author=client.author)
    return RecordedAnswer(str(path), len(recorded), left_out)


HANDLERS: Handlers = {
    requests.UndoRequest: undo,
    requests.RedoRequest: redo,
    requests.SaveRequest: save,
    requests.RecordStartRequest: record_start,
    requests.RecordStopRequest: record_stop,
}
"""What does the requests of this part."""
