"""Methods around bouts: status, configuration, run, stop, arm, off; shutdown."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from drivers.units import NS_PER_S
from nuc_engine.configurations.describe import describe_model
from nuc_engine.control.faults import OFF
from nuc_engine.control.rulebook import Rulebook
from nuc_engine.daemon.block import BlockError, Word
from nuc_engine.daemon.modes import Input, Mode
from nuc_engine.daemon.off_requests import Requester, request_off
from nuc_engine.daemon.wire import CoreCommand, RecordKind
from nuc_engine.datalogger.logger import LogRefused
from nuc_engine.machine.locations import list_configurations
from nuc_engine.messages import requests
from nuc_engine.messages.answers import (
    ArmAnswer,
    ConfigurationAnswer,
    ConfiguredAnswer,
    OffAnswer,
    ShutdownAnswer,
    Started,
    Status,
    StoppedAnswer,
    Tasks,
)
from nuc_engine.messages.errors import Refused
from nuc_engine.service.clients import ConnectedClient
from nuc_engine.service.configuration import Configuration, bytes_of, make_configuration, read_files
from nuc_engine.service.folders import Folders, check_name
from nuc_engine.service.hub import Hub, Listed
from nuc_engine.service.method import Handlers
from nuc_engine.service.methods_people import about_client
from nuc_engine.service.values_in import store_in_force
from sccils_schemas.names import printable
from sccils_schemas.problems import SccilsError

_OFF_AT_ONCE_S = 0.015
_OFF_S = 1.0
_STOP_S = 2.0
_FOLDER_S = 0.5


async def status(hub: Hub, _client: ConnectedClient, _asked: requests.StatusRequest) -> Status:
    """Say how the daemon is."""
    words = hub.block.words
    rings = hub.block.rings
    return Status(
        mode=hub.mode.name,
        configuration="" if hub.plan is None else hub.plan.name,
        ready=hub.core.ready,
        bout=hub.bout,
        engine_time_s=hub.engine_time_s(hub.now_ns),
        cycle=words[Word.CYCLE],
        torque=bool(words[Word.TORQUE]),
        latched=bool(words[Word.LATCHED]),
        latch_reason=hub.latch_reason(),
        unconfirmed=hub.unconfirmed(),
        refusals=hub.refusals,
        bus_counts=dict(hub.bus_counts),
        bus_lost=bool(words[Word.BUS_LOST]),
        buses=dict(hub.buses),
        control=hub.in_control,
        clients=tuple(about_client(hub, other) for other in hub.clients),
        losses={kind.name.lower(): words[Word.LOST + kind] for kind in RecordKind if words[Word.LOST + kind]},
        rings={name: {"waiting": ring.written - ring.kept, "lost": ring.lost} for name, ring in rings.items()},
        connections=dict(hub.connections()),
        logging=dict(hub.logger.status()),
        deaths={
            "core": words[Word.CORE_DEATHS],
            "guardian": words[Word.GUARDIAN_DEATHS],
            "service": words[Word.SERVICE_DEATHS],
        },
        edits_refused=hub.authors.refused,
        latches=words[Word.LATCH_COUNT],
        guardian_acts=words[Word.GUARDIAN_ACTS],
        recording="" if hub.book is None or hub.book.recording is None else hub.book.recording,
        undo=0 if hub.book is None else hub.book.depth[0],
        redo=0 if hub.book is None else hub.book.depth[1],
        edits=0 if hub.book is None else hub.book.made,
        privileges_missing=tuple(hub.recent.privileges_missing),
        clamps=_clamps(hub),
        tasks=_tasks(hub),
        unix_time_s=hub.recipes.unix_time_s(),
    )


def _clamps(hub: Hub) -> dict[str, float]:
    if hub.mirror is None or not (clamped := hub.mirror.controls.clamped):
        return {}
    plan, moment = hub.mirror.plan, hub.moment()
    sensed = {plan.hdsos[index].name: moment.stored(index) for index in clamped}
    return {name: values[0] for name, values in sensed.items() if values is not None}


async def tasks(hub: Hub, _client: ConnectedClient, _asked: requests.TasksRequest) -> Tasks:
    """Say how punctual the tasks are."""
    return _tasks(hub)


def _tasks(hub: Hub) -> Tasks:
    return {name: words.summary(hub.now_ns) for name, words in hub.block.statistics.items()}


async def configurations(
    hub: Hub, client: ConnectedClient, _asked: requests.ConfigurationsRequest
) -> list[ConfigurationAnswer]:
    """Say which configurations can be chosen."""
    return await hub.workshop.do_for(client.key, lambda: _list_configurations(hub.folders, hub.listed))


def _list_configurations(folders: Folders, listed: Listed) -> list[ConfigurationAnswer]:
    """Return all, in order of names; of those whose files are as they were, what was found of them then."""
    found: list[ConfigurationAnswer] = []
    for name in list_configurations():
        try:
            files = read_files(folders.find_configuration(name))
            summed = hashlib.sha256(repr(sorted(files.items())).encode()).digest()
            if name not in listed or listed[name][0] != summed:
                joints = make_configuration(name, files, strict=False).model.jointlist
                listed[name] = summed, ConfigurationAnswer(name, _flat(joints.fullname), _flat(joints.description))
            found.append(listed[name][1])
        except Refused as error:
            found.append(ConfigurationAnswer(name, problem=error.text))
    return found


async def configure(hub: Hub, client: ConnectedClient, asked: requests.ConfigureRequest) -> ConfiguredAnswer:
    """Put a configuration in force: one that is listed, or documents that are sent."""
    hub.require_mode_for(Input.CONFIGURE)
    name = check_name(asked.name)
    if asked.documents is None:
        configuration = await listed(hub, name)
    else:
        files = bytes_of(asked.documents)
        size = sum(map(len, files.values()))
        configuration = await hub.workshop.do(lambda: hub.make_configuration(name, files), size)
    await put_in_force(hub, client.author, configuration)
    return ConfiguredAnswer(configuration.name, tuple(configuration.warnings))


async def listed(hub: Hub, name: str) -> Configuration:
    """Return a configuration that can be chosen by name. Raises Refused with every reason."""
    return await hub.workshop.do(lambda: hub.read_configuration(name, hub.folders.find_configuration(name)))


async def put_in_force(hub: Hub, author: str, configuration: Configuration) -> None:
    """Start a core of a configuration and wait until it runs. Raises Refused."""
    hub.require_mode_for(Input.CONFIGURE)
    try:
        hub.install(configuration)
    except BlockError as error:
        raise Refused("refused", str(error)) from error
    hub.recent.add("configured", configuration.name, author=author)
    await hub.core_of_newest_plan()


async def model(hub: Hub, _client: ConnectedClient, _asked: requests.ModelRequest) -> Mapping[str, Any]:
    """Give the model in force, explained."""
    configuration = hub.need_configuration()
    if hub.described is None or hub.described[0] is not configuration:
        described = await hub.workshop.do(lambda: describe_model(configuration.model, configuration.plan))
        hub.described = (configuration, described)
    return hub.described[1]


async def run(hub: Hub, client: ConnectedClient, asked: requests.RunRequest) -> Started:
    """Begin a bout."""
    before = hub.logger.status().get("folder")
    stop_s = -1.0 if asked.stop_s is None else asked.stop_s
    labels, out = asked.labels or {}, asked.out or ""
    bout = await begin_bout(hub, client.author, asked.delay_s, stop_s, labels, asked.notes, out)
    return Started(bout, await _new_folder(hub, before, asked.delay_s))


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
    hub.require_mode_for(Input.RUN)
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
    stop_ns = round(stop_s * NS_PER_S) if stop_s >= 0 else -1
    _, ack = hub.core.send(CoreCommand.RUN, round(delay_s * NS_PER_S), stop_ns, bout)
    await ack
    if notes:
        hub.logger.tell_note(notes, author)
    return bout


async def _new_folder(hub: Hub, before: object, delay_s: float) -> str:
    """Return the data directory of the bout that begins now, or nothing where that cannot be told yet."""
    if hub.options.logging != "always" or delay_s > 0:
        return ""

    def found() -> bool:
        return hub.logger.status().get("folder") not in (None, before)

    try:
        await hub.waiting.until(found, _FOLDER_S, Refused("timeout", "no folder yet"))
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


async def stop(hub: Hub, _client: ConnectedClient, asked: requests.StopRequest) -> StoppedAnswer:
    """End the bout."""
    return await end_bout(hub, asked.policy or "")


async def end_bout(hub: Hub, policy: str) -> StoppedAnswer:
    """Let the core end the bout. Raises Refused."""
    bout = hub.bout
    _, ack = hub.core.send(CoreCommand.STOP, policy)
    await ack
    late = Refused("timeout", f"the bout has not ended after {_STOP_S:g} s", "take the torque off if it must")
    await hub.waiting.until(lambda: hub.mode is not Mode.RUNNING, _STOP_S, late)
    return StoppedAnswer(bout, hub.mode.name, policy or hub.options.on_stop)


async def arm(hub: Hub, _client: ConnectedClient, _asked: requests.ArmRequest) -> ArmAnswer:
    """Allow driving again after a fault."""
    _, ack = hub.core.send(CoreCommand.ARM)
    await ack
    return ArmAnswer(hub.mode.name, bool(hub.block.words[Word.LATCHED]))


async def off(hub: Hub, client: ConnectedClient, asked: requests.OffRequest) -> OffAnswer:
    """Take the torque off at once, for any client."""
    why = f"{asked.why} ({client.author})"
    words, asked_ns = hub.block.words, hub.now_ns
    try:
        # The core tells who and why; where it does not see to it at once, the guardian sees the word.
        _, ack = hub.core.send(CoreCommand.OFF, why)
        await hub.waiting.until(ack.done, _OFF_AT_ONCE_S, Refused("timeout", "the core is busy"))
        ack.result()
    except Refused:
        request_off(words, Requester.SERVICE)
        hub.recent.add(OFF, why)
    late = Refused("timeout", f"not every servo has confirmed within {_OFF_S:g} s that its torque is off")
    try:
        await hub.waiting.until(lambda: not words[Word.TORQUE], _OFF_S, late)
    except Refused:
        request_off(words, Requester.SERVICE)
    return OffAnswer(hub.mode.name, bool(words[Word.TORQUE]), hub.unconfirmed(), _confirmed_ms(hub, asked_ns))


def _confirmed_ms(hub: Hub, asked_ns: int) -> dict[str, float]:
    """Return when each motor confirmed that its torque is off, in ms after a request; 0 where it was off before."""
    if hub.plan is None or hub.block.words[Word.TORQUE]:
        return {}
    silent = hub.block.words[Word.UNCONFIRMED]
    since = {m.name: hub.block.words[Word.LIMP_SINCE + m.index] for m in hub.plan.motors if not silent >> m.index & 1}
    return {name: max(0, at - asked_ns) / 1e6 for name, at in since.items() if at}


async def shutdown(hub: Hub, client: ConnectedClient, _asked: requests.ShutdownRequest) -> ShutdownAnswer:
    """End the daemon."""
    hub.recent.add("shutdown", f"asked for by {client.author}", author=client.author)
    hub.shut_down()
    return ShutdownAnswer(hub.mode.name)


def _flat(text_of: str | None) -> str:
    return printable(" ".join((text_of or "").split()))


HANDLERS: Handlers = {
    requests.StatusRequest: status,
    requests.TasksRequest: tasks,
    requests.ConfigurationsRequest: configurations,
    requests.ConfigureRequest: configure,
    requests.ModelRequest: model,
    requests.RunRequest: run,
    requests.StopRequest: stop,
    requests.ArmRequest: arm,
    requests.OffRequest: off,
    requests.ShutdownRequest: shutdown,
}
"""What does the requests of this part."""
