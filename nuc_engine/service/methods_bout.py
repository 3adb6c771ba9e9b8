"""Methods around bouts: who is there, status, configuration, run, stop, arm, off; control; shutdown."""

from __future__ import annotations

import importlib.metadata
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from nuc_engine.configurations.describe import describe_model
from nuc_engine.control.faults import OFF
from nuc_engine.control.rulebook import Rulebook
from nuc_engine.daemon.block import BlockError, Word
from nuc_engine.daemon.modes import Input, Mode
from nuc_engine.daemon.requests import Asker, ask
from nuc_engine.daemon.wire import Command, Kind
from nuc_engine.datalogger.logger import LogRefused
from nuc_engine.machine.locations import list_configurations
from nuc_engine.service.clients import ROLES, Client
from nuc_engine.service.configuration import Configuration, read_configuration
from nuc_engine.service.errors import Refused
from nuc_engine.service.folders import Folders, check_name
from nuc_engine.service.hub import Hub
from nuc_engine.service.method import Method
from nuc_engine.service.params import START_TIME, STOP_TIME, Param, flag, name_of_client, one_of, text, texts
from nuc_engine.service.values_in import store_in_force
from sccils_schemas.names import printable
from sccils_schemas.problems import SccilsError
from sccils_schemas.xmlread import MAX_BYTES

_NS = 1_000_000_000
_OFF_AT_ONCE_S = 0.015
_OFF_S = 1.0
_STOP_S = 2.0
_FOLDER_S = 0.5


async def hello(hub: Hub, client: Client, params: dict[str, Any]) -> Any:
    """Say who one is."""
    hub.clients.greet(client, params["name"].strip() or client.name, params["role"])
    if not client.may("operate"):
        await release_control(hub, client, params)
    return {
        "engine": f"nuc-engine {_version()}",
        "configuration": "" if hub.plan is None else hub.plan.name,
        "mode": hub.mode.name,
        "name": client.name,
        "author": client.author,
        "verified": client.verified,
        "role": client.role,
        "control": hub.in_control,
    }


async def status(hub: Hub, _client: Client, _params: dict[str, Any]) -> Any:
    """Say how the daemon is."""
    words = hub.block.words
    rings = hub.block.rings
    return {
        "mode": hub.mode.name,
        "configuration": "" if hub.plan is None else hub.plan.name,
        "ready": hub.core.ready,
        "bout": hub.bout,
        "engine_time_s": hub.engine_time_s(hub.now_ns),
        "cycle": words[Word.CYCLE],
        "torque": bool(words[Word.TORQUE]),
        "latched": bool(words[Word.LATCHED]),
        "latch_reason": hub.latch_reason(),
        "unconfirmed": hub.unconfirmed(),
        "refusals": list(hub.refusals),
        "bus_counts": dict(hub.bus_counts),
        "bus_lost": bool(words[Word.BUS_LOST]),
        "buses": dict(hub.buses),
        "control": hub.in_control,
        "clients": [_about(hub, other) for other in hub.clients],
        "losses": {kind.name.lower(): words[Word.LOST + kind] for kind in Kind if words[Word.LOST + kind]},
        "rings": {name: {"waiting": ring.written - ring.kept, "lost": ring.lost} for name, ring in rings.items()},
        "connections": dict(hub.connections()),
        "logging": dict(hub.logger.status()),
        "deaths": {
            "core": words[Word.CORE_DEATHS],
            "guardian": words[Word.GUARDIAN_DEATHS],
            "service": words[Word.SERVICE_DEATHS],
        },
        "edits_refused": hub.authors.refused,
        "latches": words[Word.LATCH_COUNT],
        "guardian_acts": words[Word.GUARDIAN_ACTS],
        "recording": "" if hub.book is None or hub.book.recording is None else hub.book.recording,
        "undo": 0 if hub.book is None else hub.book.depth[0],
        "redo": 0 if hub.book is None else hub.book.depth[1],
        "privileges_missing": list(hub.recent.privileges_missing),
        "tasks": _tasks(hub),
    }


async def tasks(hub: Hub, _client: Client, _params: dict[str, Any]) -> Any:
    """Say how punctual the tasks are."""
    return _tasks(hub)


def _tasks(hub: Hub) -> dict[str, Any]:
    return {name: words.summary(hub.now_ns) for name, words in hub.block.statistics.items()}


def _about(hub: Hub, client: Client) -> dict[str, Any]:
    return {
        "name": client.name,
        "role": client.role,
        "verified": client.verified,
        "in_control": hub.in_control == client.name,
        "silent_s": (hub.now_ns - client.seen_ns) / _NS,
        "rubbish": client.rubbish,
        "too_fast": client.refused,
    }


async def configurations(hub: Hub, _client: Client, _params: dict[str, Any]) -> Any:
    """Say which configurations can be chosen."""
    return await hub.workshop.do(lambda: _list_configurations(hub.folders))


def _list_configurations(folders: Folders) -> list[dict[str, str]]:
    found: list[dict[str, str]] = []
    for name in list_configurations():
        try:
            configuration = read_configuration(name, folders.find_configuration(name))
        except Refused as error:
            found.append({"name": name, "fullname": "", "description": "", "problem": error.text})
            continue
        joints = configuration.model.jointlist
        found.append({"name": name, "fullname": _flat(joints.fullname), "description": _flat(joints.description)})
    return found


async def configure(hub: Hub, client: Client, params: dict[str, Any]) -> Any:
    """Put a configuration in force: one that is listed, or documents that are sent."""
    hub.allows(Input.CONFIGURE)
    name = check_name(params["name"])
    if params["documents"] is None:
        configuration = await listed(hub, name)
    else:
        files = {file: content.encode("utf-8", "replace") for file, content in params["documents"].items()}
        if large := [file for file, data in files.items() if len(data) > MAX_BYTES]:
            raise Refused("bad_request", f"{large[0]} is larger than {MAX_BYTES} bytes")
        size = sum(map(len, files.values()))
        configuration = await hub.workshop.do(lambda: hub.make_configuration(name, files), size)
    await put_in_force(hub, client.author, configuration)
    return {"name": configuration.name, "warnings": list(configuration.warnings)}


async def listed(hub: Hub, name: str) -> Configuration:
    """Return a configuration that can be chosen by name. Raises Refused with every reason."""
    return await hub.workshop.do(lambda: hub.read_configuration(name, hub.folders.find_configuration(name)))


async def put_in_force(hub: Hub, author: str, configuration: Configuration) -> None:
    """Start a core of a configuration and wait until it runs. Raises Refused."""
    hub.allows(Input.CONFIGURE)
    try:
        hub.install(configuration)
    except BlockError as error:
        raise Refused("refused", str(error)) from error
    hub.recent.add("configured", configuration.name, author=author)
    await hub.core_of_newest_plan()


async def documents(hub: Hub, _client: Client, _params: dict[str, Any]) -> Any:
    """Give the XML texts of the configuration in force."""
    files = hub.need_configuration().files
    return {name: data.decode("utf-8", "replace") for name, data in files.items()}


async def model(hub: Hub, _client: Client, _params: dict[str, Any]) -> Any:
    """Give the model in force, explained."""
    configuration = hub.need_configuration()
    if hub.described is None or hub.described[0] is not configuration:
        described = await hub.workshop.do(lambda: describe_model(configuration.model, configuration.plan))
        hub.described = (configuration, described)
    return hub.described[1]


async def run(hub: Hub, client: Client, params: dict[str, Any]) -> Any:
    """Begin a bout."""
    before = hub.logger.status().get("folder")
    delay_s, labels = params["delay_s"], params["labels"] or {}
    bout = await begin_bout(hub, client.author, delay_s, params["stop_s"], labels, params["notes"], params["out"])
    return {"bout": bout, "folder": await _new_folder(hub, before, delay_s)}


async def begin_bout(
    hub: Hub,
    author: str,
    delay_s: float,
    stop_s: float,
    labels: Mapping[str, str] = MappingProxyType({}),
    notes: str | None = None,
    out: str = "",
) -> int:
    """Let the core begin a bout; return its number. `out` names its data directory. Raises Refused."""
    hub.allows(Input.RUN)
    _check_rules(hub)
    if out:
        await hub.workshop.do(lambda: hub.folders.check_free(out))
    for key, value in labels.items():
        hub.logger.tell_label(key, value, author, once=True)
    bout = hub.next_bout()
    try:
        # Without one too: a number that an earlier service gave a bout which never began may be given again.
        hub.logger.tell_name(bout, out)
    except LogRefused:
        if out:
            raise
    stop_ns = round(stop_s * _NS) if stop_s >= 0 else -1
    _, ack = hub.core.send(Command.RUN, round(delay_s * _NS), stop_ns, bout)
    await ack
    if notes:
        hub.logger.tell_note(notes, author)
    return bout


async def _new_folder(hub: Hub, before: object, delay_s: float) -> str:
    """Return the data directory of the bout that begins now, or nothing where that can not be told yet."""
    if hub.options.logging != "always" or delay_s > 0:
        return ""

    def found() -> bool:
        return hub.logger.status().get("folder") not in (None, before)

    try:
        await hub.errands.until(found, _FOLDER_S, Refused("timeout", "no folder yet"))
    except Refused:
        return ""
    return str(hub.logger.status()["folder"])


def _check_rules(hub: Hub) -> None:
    """Refuse to run rules that would read what nobody gave a value, unless a change that waits may give it."""
    mirror = hub.need_mirror()
    if any(edit.due_ns >= 0 for edit in hub.core.edits.values()):
        return
    store = store_in_force(mirror)
    book = Rulebook(mirror.plan, store)
    reasons: list[str] = []
    for state in mirror.plan.states:
        code = [int(value) for value in store.values(state.rule) or ()]
        try:
            unset = book.unset_operand(state.rule, code) if code else mirror.plan.hdsos[state.rule]
        except SccilsError as error:
            reasons.append(f"the rule of {state.name}: {error}")
            continue
        if unset is not None:
            reasons.append(f"the rule of {state.name} uses HDSO {unset.id_num} ({unset.name}), which has no value")
    if reasons:
        raise Refused("refused", "; ".join(reasons), "set it, or send a script that does")


async def stop(hub: Hub, _client: Client, params: dict[str, Any]) -> Any:
    """End the bout."""
    return await end_bout(hub, params["policy"] or "")


async def end_bout(hub: Hub, policy: str) -> dict[str, Any]:
    """Let the core end the bout. Raises Refused."""
    bout = hub.bout
    _, ack = hub.core.send(Command.STOP, policy)
    await ack
    late = Refused("timeout", f"the bout has not ended after {_STOP_S:g} s", "take the torque off if it must")
    await hub.errands.until(lambda: hub.mode is not Mode.RUNNING, _STOP_S, late)
    return {"bout": bout, "mode": hub.mode.name, "policy": policy or hub.options.on_stop}


async def arm(hub: Hub, _client: Client, _params: dict[str, Any]) -> Any:
    """Allow driving again after a fault."""
    _, ack = hub.core.send(Command.ARM)
    await ack
    return {"mode": hub.mode.name, "latched": bool(hub.block.words[Word.LATCHED])}


async def off(hub: Hub, client: Client, params: dict[str, Any]) -> Any:
    """Take the torque off at once, whoever asks."""
    why = f"{params['why']} ({client.author})"
    words = hub.block.words
    try:
        # The core tells who and why; where it does not see to it at once, the guardian sees the word.
        _, ack = hub.core.send(Command.OFF, why)
        await hub.errands.until(lambda: ack.done, _OFF_AT_ONCE_S, Refused("timeout", "the core is busy"))
        ack.result()
    except Refused:
        ask(words, Asker.SERVICE)
        hub.recent.add(OFF, why)
    late = Refused("timeout", f"not every servo has confirmed within {_OFF_S:g} s that its torque is off")
    try:
        await hub.errands.until(lambda: not words[Word.TORQUE], _OFF_S, late)
    except Refused:
        ask(words, Asker.SERVICE)
    return {"mode": hub.mode.name, "torque": bool(words[Word.TORQUE]), "unconfirmed": hub.unconfirmed()}


async def take_control(hub: Hub, client: Client, params: dict[str, Any]) -> Any:
    """Take control."""
    if params["force"]:
        before = hub.control.take(client.key, hub.now_ns, force=True)
        if before != client.key:
            hub.recent.add("control", f"{client.author} took control by force", client=client.name)
    else:
        hub.take_control(client)
    return {"control": hub.in_control}


async def hand_over(hub: Hub, client: Client, params: dict[str, Any]) -> Any:
    """Hand control over."""
    to = hub.clients.named(params["to"])
    if not to.may("operate"):
        raise Refused("not_allowed", f"{to.name} may only watch")
    hub.control.hand_over(client.key, to.key, hub.now_ns)
    hub.recent.add("control", f"{client.author} handed control over to {to.author}", client=to.name)
    return {"control": hub.in_control}


async def release_control(hub: Hub, client: Client, _params: dict[str, Any]) -> Any:
    """Give control back."""
    if hub.control.release(client.key):
        hub.recent.add("control", f"{client.author} gave control back", client="")
    return {"control": hub.in_control}


async def leave(hub: Hub, client: Client, params: dict[str, Any]) -> Any:
    """Say goodbye: control is given back, and the client is no longer listed."""
    await release_control(hub, client, params)
    hub.clients.drop(client)
    return {}


async def shutdown(hub: Hub, client: Client, _params: dict[str, Any]) -> Any:
    """End the daemon."""
    hub.recent.add("shutdown", f"asked for by {client.author}", author=client.author)
    hub.shut_down()
    return {"mode": hub.mode.name}


def _version() -> str:
    try:
        return importlib.metadata.version("nuc-engine")
    except importlib.metadata.PackageNotFoundError:
        return "(not installed)"


def _flat(text_of: str | None) -> str:
    return printable(" ".join((text_of or "").split()))


METHODS = (
    Method("hello", hello, params={"name": Param(name_of_client), "role": Param(one_of(*ROLES), None)}),
    Method("status", status),
    Method("tasks", tasks),
    Method("configurations", configurations),
    Method("configure", configure, "operate", True, {"name": Param(text), "documents": Param(texts, None, raw=True)}),
    Method("documents", documents),
    Method("model", model),
    Method(
        "run",
        run,
        "operate",
        True,
        {
            "delay_s": START_TIME,
            "stop_s": STOP_TIME,
            "labels": Param(texts, None),
            "notes": Param(text, None),
            "out": Param(text, ""),
        },
    ),
    Method("stop", stop, "operate", True, {"policy": Param(one_of("off", "hold", "park"), None)}),
    Method("arm", arm, "operate", True),
    Method("off", off, params={"why": Param(text, "asked for")}),
    Method("take_control", take_control, "operate", params={"force": Param(flag, False)}),
    Method("hand_over", hand_over, "operate", params={"to": Param(text)}),
    Method("release_control", release_control),
    Method("leave", leave),
    Method("shutdown", shutdown, "admin"),
)
"""The methods of this part."""
