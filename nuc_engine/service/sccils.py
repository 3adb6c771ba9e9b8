"""The SCCILS dialogue (appendix 10.2): documents from a client, documents back, in strict order.

Every document is one message. Each command, configuration command and hdsoscript gets exactly one final answer, success
or fail, in the order in which they came; `start` and hdsoscripts get a `conditional` before. An empty command script is
answered with the list of configurations. See docs/channel.md.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from nuc_engine.daemon.modes import Input
from nuc_engine.daemon.wire import Command as Order
from nuc_engine.service import methods_bout, methods_log, methods_values
from nuc_engine.service.clients import Client
from nuc_engine.service.configuration import MODEL_FILES
from nuc_engine.service.core_link import AT_ONCE, Edit, Outcome
from nuc_engine.service.errands import Answer
from nuc_engine.service.errors import Refused
from nuc_engine.service.hub import Hub
from nuc_engine.service.logger import LogRefused
from nuc_engine.service.method import Method, authorise
from nuc_engine.service.save import mod_of, seconds
from nuc_engine.service.sccils_documents import available, data_port, read_message, response, script
from sccils_schemas.documents import (
    HDSO_ALL,
    Command,
    CommandResponse,
    CommandScript,
    ConfigCommand,
    Gradual,
    HdsoMod,
    HdsoScript,
    HdsoSpec,
    ScriptEntry,
)
from sccils_schemas.writer import write

MAX_QUEUED = 256
"""Requests of one client that may wait for their turn."""

MAX_UNREAD = 16
SMALL = 4096
"""Bytes of a document that is read at once."""

ACK_S = 10.0
"""How long a client may take to acknowledge a document."""

Entry = Command | ConfigCommand | HdsoScript
_NS = 1_000_000_000

POLL, POLLING = "poll", "pollingmode"
_EXTENDED = ("arm", "off")


@dataclass(slots=True)
class Slot:
    """The answers to one request: sent in the order of requests, however they come about."""

    messages: list[bytes] = field(default_factory=list[bytes])
    finished: bool = False


class Session:
    """One client's side of the dialogue. `send` takes a document to the client."""

    def __init__(self, hub: Hub, client: Client, send: Callable[[bytes], None]) -> None:
        self._hub, self._client, self._send = hub, client, send
        self._slots: deque[Slot] = deque()
        self._unread: deque[bytes] = deque()
        self._reading = False
        self._queue: deque[tuple[Entry | None, Slot, str]] = deque()
        self._working = False
        self._acknowledgement: Answer[bool] | None = None
        self._streams: list[str] = []

    # --- what comes ---

    def take(self, payload: bytes) -> None:
        """Take one document. Raises nothing."""
        if len(self._unread) >= MAX_UNREAD:
            payload = b""
        self._unread.append(payload)
        if not self._reading:
            self._reading = True
            self._hub.errands.start(self._read(), lambda _, error: self._read_on(error))

    async def _read(self) -> None:
        """Read documents in their order; a large one beside the loop."""
        while self._unread:
            payload = self._unread.popleft()
            if not payload:
                self._refuse(f"{MAX_UNREAD} documents wait to be read already")
                continue
            model = None if self._hub.configuration is None else self._hub.configuration.model
            try:
                if len(payload) <= SMALL:
                    self._take(*read_message(payload, model))
                else:
                    self._take(*await self._hub.workshop.do(lambda: read_message(payload, model), len(payload)))  # noqa: B023
            except Refused as error:
                self._client.rubbish += 1
                self._refuse(str(error))

    def _read_on(self, error: Exception | None) -> None:
        self._reading = False
        if error is not None:
            self._hub.recent.add("service_error", f"SCCILS: {type(error).__name__}: {error}")
            self._refuse("this document could not be read")

    def _take(self, document: HdsoScript | CommandScript, reason: str) -> None:
        if isinstance(document, HdsoScript):
            self._put(document, reason)
        else:
            self._take_commands(document, reason)

    def _take_commands(self, script: CommandScript, reason: str) -> None:
        if not script.entries:
            self._put(None)
            return
        requests: list[Command | ConfigCommand] = []
        for entry in script.entries:
            if isinstance(entry, CommandResponse):
                self._acknowledged(entry.status == "success")
            else:
                requests.append(entry)
        if not requests:
            return
        for request in requests:
            self._put(request, reason)

    def _refuse(self, reason: str) -> None:
        slot = Slot([response("fail", text=reason)], True)
        self._slots.append(slot)
        self._flush()

    def _put(self, entry: Entry | None, reason: str = "") -> None:
        if len(self._queue) >= MAX_QUEUED:
            self._refuse(f"{MAX_QUEUED} requests wait already")
            return
        slot = Slot()
        self._slots.append(slot)
        self._queue.append((entry, slot, reason))
        self._work()

    def _acknowledged(self, good: bool) -> None:
        waiting, self._acknowledgement = self._acknowledgement, None
        if waiting is not None:
            waiting.give(good)

    # --- one after the other ---

    def _work(self) -> None:
        if self._working or not self._queue:
            return
        self._working = True
        entry, slot, reason = self._queue.popleft()

        def done(_: None, error: Exception | None) -> None:
            if error is not None:
                self._fail(entry, slot, error)
            self._working = False
            self._work()

        self._hub.errands.start(self._do(entry, slot, reason), done)

    async def _do(self, entry: Entry | None, slot: Slot, reason: str) -> None:
        if reason:
            raise Refused("refused", reason)
        match entry:
            case None:
                self._finish(slot, available())
            case HdsoScript():
                await self._script(entry, slot)
            case ConfigCommand():
                await self._configure(entry, slot)
            case Command():
                await self._command(entry, slot)

    def _fail(self, entry: Entry | None, slot: Slot, error: Exception) -> None:
        if not isinstance(error, Refused | LogRefused):
            self._hub.recent.add("service_error", f"SCCILS: {type(error).__name__}: {error}")
        command = entry if isinstance(entry, Command) else None
        self._finish(slot, response("fail", command, text=str(error), time=self._time()))

    def _say(self, slot: Slot, message: bytes) -> None:
        slot.messages.append(message)
        self._flush()

    def _finish(self, slot: Slot, *messages: bytes) -> None:
        slot.messages.extend(messages)
        slot.finished = True
        self._flush()

    def _flush(self) -> None:
        while self._slots:
            slot = self._slots[0]
            messages, slot.messages = slot.messages, []
            for message in messages:
                self._send(message)
            if not slot.finished:
                return
            self._slots.popleft()

    def _time(self) -> str | None:
        time_s = self._hub.engine_time_s(self._hub.now_ns)
        return None if time_s is None else f"{time_s:.6f}"

    def _authorise(self, name: str) -> None:
        authorise(self._hub, self._client, Method(name, methods_bout.status, "operate", True))

    # --- configurations ---

    async def _configure(self, entry: ConfigCommand, slot: Slot) -> None:
        if entry.config_type == "available":
            self._finish(slot, available())
            return
        if entry.config_type != "start":
            raise Refused("refused", f"parameter {entry.config_name!r} is for the server to say")
        hub = self._hub
        self._authorise("start")
        hub.allows(Input.CONFIGURE)
        configuration = await methods_bout.listed(hub, entry.config_name)
        self._say(slot, response("conditional"))
        self._say(slot, script(ConfigCommand("parameter", configuration.name, MODEL_FILES)))
        await self._acknowledge("the list of documents")
        for name in MODEL_FILES:
            self._say(slot, configuration.files[name])
            await self._acknowledge(name)
        await methods_bout.put_in_force(hub, self._client.author, configuration)
        self._finish(slot, response("success"))

    async def _acknowledge(self, what: str) -> None:
        answer: Answer[bool] = Answer()
        self._acknowledgement = answer
        late = Refused("timeout", f"{what} was not acknowledged within {ACK_S:g} s")
        if not await self._hub.errands.within(answer, ACK_S, late):
            raise Refused("refused", f"the client did not accept {what}")

    # --- scripts ---

    async def _script(self, entry: HdsoScript, slot: Slot) -> None:
        hub = self._hub
        if any(isinstance(item, HdsoMod | Gradual) for item in entry.entries):
            self._authorise("hdsoscript")
        self._say(slot, response("conditional", time=self._time()))
        edits = await methods_values.submit(hub, self._client.author, entry, write(entry))
        for edit in edits:
            await edit.ack
        # What waits for its time must not keep other requests of this client waiting.
        hub.errands.start(self._await_script(edits, slot), lambda _, error: self._script_done(slot, error))

    async def _await_script(self, edits: list[Edit], slot: Slot) -> None:
        hub, answers, refused = self._hub, list[Outcome](), list[str]()
        ahead = 0
        for edit in edits:
            if edit.due_ns != AT_ONCE and not hub.bout:
                # Its time begins with a command that the same client may be about to send.
                methods_values.tell_when_done(hub, edit)
                ahead += 1
                continue
            done = await edit.done
            answers += [part for part in done.outcomes if part.what == "answer"]
            refused += [part.refused for part in done.outcomes if part.refused]
        if refused:
            raise Refused("refused", "; ".join(refused))
        text = f"{ahead} changesets wait for the engine to run" if ahead else ""
        messages = [response("success", text=text, time=self._time(), data=bool(answers or text))]
        if answers:
            messages.append(self._values({part.index: part.values for part in answers}))
        self._finish(slot, *messages)

    def _script_done(self, slot: Slot, error: Exception | None) -> None:
        if error is not None:
            self._fail(None, slot, error)

    # --- commands ---

    async def _command(self, command: Command, slot: Slot) -> None:
        kind, extended = command.command_type, command.extended_command
        if kind == "log" and extended == POLL:
            self._poll(command, slot)
        elif kind == "log" and extended == POLLING:
            self._finish(slot, self._success(command), script(data_port(self._hub.options.commands)))
        elif kind == "log" and extended:
            raise Refused("refused", f"log knows no {extended!r}", f"it knows {POLLING} and {POLL}")
        elif kind == "log" and command.data_destination == "network":
            self._stream(command, slot)
        else:
            if extended != "off":
                # To take the torque off is everybody's right, at any time.
                self._authorise(extended or kind)
            await self._change(command)
            self._finish(slot, self._success(command))

    async def _change(self, command: Command) -> None:
        hub, author = self._hub, self._client.author
        start_s, stop_s = float(command.start_time_s), float(command.stop_time_s)
        if command.script is not None:
            raise Refused("refused", "an hdsoscript has no place here", "send it as a message of its own")
        match command.command_type:
            case "run":
                await methods_bout.begin_bout(hub, author, start_s, stop_s)
            case "stop":
                if hub.plan is not None:
                    await methods_bout.end_bout(hub, author, "")
            case "log":
                methods_log.begin_log(hub, start_s, stop_s)
            case "stoplog":
                self._end_stream()
                methods_log.end_log(hub, stop_s)
            case _:
                await self._extended(command)

    async def _extended(self, command: Command) -> None:
        hub = self._hub
        if command.extended_command == "arm":
            _, ack = hub.core.send(Order.ARM, self._client.author)
            await ack
        elif command.extended_command == "off":
            await methods_bout.off(hub, self._client, {"why": command.text or "asked for"})
        else:
            known = ", ".join(_EXTENDED)
            raise Refused("refused", f"there is no command {command.extended_command!r}", f"there are: {known}")

    def _success(self, command: Command) -> bytes:
        return response("success", command, time=self._time())

    # --- data ---

    def _poll(self, command: Command, slot: Slot) -> None:
        """Answer with values. An hdsoMod in here names an HDSO and never writes (reading D7)."""
        mirror, moment = self._hub.need_mirror(), self._hub.moment()
        entries = () if command.script is None else command.script.entries
        if not entries:
            raise Refused("bad_request", "a poll names no HDSO", "enclose an hdsoscript")
        values: dict[int, tuple[Any, ...] | None] = {}
        for entry in entries:
            for index, count in self._asked(entry):
                held = moment.values(index)
                values[index] = held if held is None or not count else held[:count]
        self._hub.note_answer(self._client, moment, values, {})
        snapshot = moment.snapshot
        time_s = None if snapshot is None else mirror.engine_time_s(snapshot.time_ns)
        self._finish(slot, self._success(command), self._values(values, time_s))

    def _asked(self, entry: ScriptEntry) -> list[tuple[int, int]]:
        mirror = self._hub.need_mirror()
        if not isinstance(entry, HdsoMod | HdsoSpec):
            raise Refused("bad_request", "a request for data changes something", "name HDSOs by hdsoSpec")
        if entry.ref == HDSO_ALL:
            return [(hdso.index, 0) for hdso in mirror.plan.hdsos]
        hdso = self._hub.need_hdso(entry.ref)
        # A rule or a text is told whole, or what it says would be another thing.
        count = 0 if hdso.kind == "boolstring" or hdso.datatype == "char" else entry.num_elts
        if count > hdso.count:
            raise Refused("bad_request", f"HDSO {hdso.id_num} ({hdso.name}) has {hdso.count} elements, not {count}")
        return [(hdso.index, count)]

    def _values(self, values: dict[int, tuple[Any, ...] | None], time_s: float | None = None) -> bytes:
        plan = self._hub.need_plan()
        time_ns = max(0, round((time_s or 0.0) * _NS))
        mods = [
            mod_of(plan.hdsos[index], held, time_ns)
            if held
            else HdsoMod(plan.hdsos[index].id_num, name=plan.hdsos[index].name, time_s=seconds(time_ns))
            for index, held in values.items()
        ]
        return write(HdsoScript(tuple(mods)))

    def _stream(self, command: Command, slot: Slot) -> None:
        """Let the HDSOs named, or all sensors, be sent on a topic of the telemetry socket."""
        hub = self._hub
        plan = hub.need_plan()
        entries = () if command.script is None else command.script.entries
        names = [plan.hdsos[index].name for entry in entries for index, _ in self._asked(entry)]
        names = names or [plan.hdsos[index].name for index in plan.sensor_columns]
        window_s = float(command.start_time_s), float(command.stop_time_s)
        recipe = hub.recipes.subscribe(names, hub.options.telemetry_rate_hz, hub.now_ns, window_s)
        self._streams.append(recipe.topic)
        port = data_port([hub.options.telemetry])
        topic = ConfigCommand("parameter", "datatopic", (recipe.topic,))
        self._finish(slot, self._success(command), script(port), script(topic))

    def _end_stream(self) -> None:
        for topic in self._streams:
            try:
                self._hub.recipes.unsubscribe(topic)
            except Refused:
                continue  # somebody else has ended it
        self._streams.clear()
