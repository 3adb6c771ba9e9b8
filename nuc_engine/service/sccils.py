"""The SCCILS dialogue (appendix 10.2): documents from a client, documents back, in strict order.

Every document is one message. Each command, configuration command and hdsoscript gets exactly one final answer, success
or fail, in the order in which they came; `start` and hdsoscripts get a `conditional` before. An empty command script is
answered with the list of configurations. See docs/channel.md.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field

from nuc_engine.daemon.modes import Input
from nuc_engine.daemon.wire import CoreCommand as Order
from nuc_engine.datalogger.logger import LogRefused
from nuc_engine.messages.errors import Refused
from nuc_engine.messages.requests import OffRequest
from nuc_engine.service import methods_bout, methods_log, methods_values, scripts
from nuc_engine.service.clients import ConnectedClient
from nuc_engine.service.configuration import MODEL_FILES
from nuc_engine.service.core_link import AT_ONCE, Edit
from nuc_engine.service.data_requests import asked, by_time, document, look, parted
from nuc_engine.service.hub import Hub
from nuc_engine.service.method import authorise
from nuc_engine.service.mirror import Moment
from nuc_engine.service.sccils_documents import available, data_port, read_message, response, script
from nuc_engine.service.waiting import Awaited
from sccils_schemas.documents import Command, CommandResponse, CommandScript, ConfigCommand, HdsoScript
from sccils_schemas.names import printable

MAX_QUEUED = 256
"""Requests of one client that may wait for their turn."""

MAX_WAITING = MAX_QUEUED + 64
"""Answers that may wait for an earlier one; what comes beyond them is not read, and told of together.

Fewer than a socket queues for one client: they go out together.
"""

MAX_UNREAD, MAX_UNREAD_BYTES = 1024, 4 << 20
"""Documents of one client that may wait to be read, and their bytes."""

SHORT, FEW = 1024, 6
"""Bytes and tags of a document that is read at once."""

SLICE = 8
"""Commands of one client that are done before others have their turn."""

ACK_S = 10.0
"""How long a client may take to acknowledge a document."""

DocumentEntry = Command | ConfigCommand | HdsoScript

POLL, POLLING = "poll", "pollingmode"
_EXTENDED = ("arm", "off")


@dataclass(slots=True)
class PendingAnswers:
    """The answers to one request: sent in the order of requests, however they come about."""

    messages: list[bytes] = field(default_factory=list[bytes])
    finished: bool = False


class Session:
    """One client's side of the dialogue. `send` takes a document to the client."""

    def __init__(self, hub: Hub, client: ConnectedClient, send: Callable[[bytes], None]) -> None:
        self._hub, self._client, self._send = hub, client, send
        self._slots: deque[PendingAnswers] = deque()
        self._without_room = 0
        self._unread: deque[bytes] = deque()
        self._unread_bytes = 0
        self._reading = False
        self._queue: deque[tuple[DocumentEntry | None, bytes, PendingAnswers, str]] = deque()
        self._working = False
        self._acknowledgement: Awaited[bool] | None = None
        self._streams: list[str] = []

    @property
    def busy(self) -> bool:
        """Whether an answer is still to come."""
        return bool(self._slots or self._unread)

    # --- what comes ---

    def take(self, payload: bytes) -> None:
        """Take one document. Raises nothing."""
        full = len(self._slots) >= MAX_WAITING or len(self._unread) >= MAX_UNREAD
        if full or self._unread_bytes + len(payload) > MAX_UNREAD_BYTES:
            self.refuse("")
            return
        if not self._hub.workshop.hold(len(payload)):
            self.refuse("too many documents wait to be read")
            return
        self._unread.append(payload)
        self._unread_bytes += len(payload)
        if not self._reading:
            self._reading = True
            self._hub.waiting.start(self._read(), lambda _, error: self._read_on(error))

    async def _read(self) -> None:
        """Read documents in their order, beside the loop; but a command alone waits for nobody else's documents."""
        hub = self._hub
        while self._unread:
            payload = self._unread.popleft()
            hub.workshop.release(len(payload))
            self._unread_bytes -= len(payload)
            model = None if hub.configuration is None else hub.configuration.model
            try:
                if len(payload) <= SHORT and payload.count(b"<") <= FEW:
                    document, reason = read_message(payload, model)
                else:
                    document, reason = await hub.workshop.do(lambda: read_message(payload, model), len(payload))  # noqa: B023
            except Refused as error:
                self._client.rubbish += 1
                self.refuse(str(error))
                continue
            if isinstance(document, HdsoScript):
                self._put(document, payload, reason)
            else:
                self._take_commands(document, reason)

    def _read_on(self, error: Exception | None) -> None:
        self._reading = False
        if error is not None:
            self._hub.recent.add("service_error", f"SCCILS: {type(error).__name__}: {error}")
            self.refuse("this document could not be read")

    def _take_commands(self, script: CommandScript, reason: str) -> None:
        if not script.entries:
            self._put(None)
        if len(script.entries) > MAX_QUEUED:
            self.refuse(f"{len(script.entries)} commands in one document; at most {MAX_QUEUED}")
            return
        for entry in script.entries:
            if isinstance(entry, CommandResponse):
                self._acknowledged(entry.status == "success")
            else:
                self._put(entry, reason=reason)

    def refuse(self, reason: str) -> None:
        """Answer what is not done; what finds no room to be answered in its turn shares one answer."""
        if len(self._slots) >= MAX_WAITING or not reason:
            self._without_room += 1
            self._client.refused += 1
        else:
            self._slots.append(PendingAnswers([response("fail", text=reason)], True))
        self._flush()

    def _put(self, entry: DocumentEntry | None, payload: bytes = b"", reason: str = "") -> None:
        if len(self._queue) >= MAX_QUEUED or len(self._slots) >= MAX_WAITING:
            self.refuse(f"{MAX_QUEUED} requests wait already")
            return
        slot = PendingAnswers()
        self._slots.append(slot)
        self._queue.append((entry, payload, slot, reason))
        if not self._working:
            self._working = True
            self._hub.waiting.start(self._work(), lambda _, __: None)

    def _acknowledged(self, good: bool) -> None:
        waiting, self._acknowledgement = self._acknowledgement, None
        if waiting is not None:
            waiting.give(good)

    # --- one after the other ---

    async def _work(self) -> None:
        done = 0
        while self._queue:
            entry, payload, slot, reason = self._queue.popleft()
            try:
                await self._do(entry, payload, slot, reason)
            except MemoryError:
                raise
            except Exception as error:  # whatever else it is, those behind it have their turn
                self._fail(entry, slot, error)
            done += 1
            if done % SLICE == 0:
                await asyncio.sleep(0)
        self._working = False

    async def _do(self, entry: DocumentEntry | None, payload: bytes, slot: PendingAnswers, reason: str) -> None:
        if reason:
            raise Refused("refused", reason)
        match entry:
            case None:
                self._finish(slot, await self._hub.workshop.do(available))
            case HdsoScript():
                await self._script(entry, payload, slot)
            case ConfigCommand():
                await self._configure(entry, slot)
            case Command():
                await self._command(entry, slot)

    def _fail(self, entry: DocumentEntry | None, slot: PendingAnswers, error: Exception) -> None:
        if not isinstance(error, Refused | LogRefused):
            self._hub.recent.add("service_error", f"SCCILS: {type(error).__name__}: {error}")
        command = entry if isinstance(entry, Command) else None
        self._finish(slot, response("fail", command, text=str(error), time=self._time()))

    def _say(self, slot: PendingAnswers, message: bytes) -> None:
        slot.messages.append(message)
        self._flush()

    def _finish(self, slot: PendingAnswers, *messages: bytes) -> None:
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
        count, self._without_room = self._without_room, 0
        if count:
            why = f"{MAX_WAITING} wait for their answers, or {MAX_UNREAD} to be read"
            self._send(response("fail", text=f"{count} documents or commands were left aside: {why}"))

    def _time(self) -> str | None:
        time_s = self._hub.engine_time_s(self._hub.now_ns)
        return None if time_s is None else f"{time_s:.6f}"

    def _authorise(self, name: str) -> None:
        authorise(self._hub, self._client, name)

    # --- configurations ---

    async def _configure(self, entry: ConfigCommand, slot: PendingAnswers) -> None:
        if entry.config_type == "available":
            self._finish(slot, await self._hub.workshop.do(available))
            return
        if entry.config_type != "start":
            raise Refused("refused", f"parameter {entry.config_name!r} is for the server to say")
        hub = self._hub
        self._authorise("start")
        hub.require_mode_for(Input.CONFIGURE)
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
        answer: Awaited[bool] = Awaited()
        self._acknowledgement = answer
        late = Refused("timeout", f"{what} was not acknowledged within {ACK_S:g} s")
        if not await self._hub.waiting.within(answer, ACK_S, late):
            raise Refused("refused", f"the client did not accept {what}")

    # --- scripts ---

    async def _script(self, entry: HdsoScript, payload: bytes, slot: PendingAnswers) -> None:
        hub = self._hub
        changes, specs = await parted(hub, entry)
        if changes.entries:
            # Asking for data does not need control.
            self._authorise("hdsoscript")
        wanted = by_time(hub, specs)
        at_once = wanted.pop(0, (0, {}))[1]
        hub.reads.check(self._client.key, sum(count for count, _ in wanted.values()))
        self._say(slot, response("conditional", time=self._time()))
        edits = await scripts.submit(hub, self._client.author, changes, payload) if changes.entries else []
        for edit in edits:
            await edit.ack
        # What waits for its time must not keep other requests of this client waiting.
        waits = [(hub.reads.wait(self._client.key, due, count), those) for due, (count, those) in wanted.items()]
        hub.waiting.start(
            self._await_script(edits, at_once, waits, slot), lambda _, error: self._script_done(slot, error)
        )

    async def _await_script(
        self,
        edits: list[Edit],
        at_once: dict[int, int],
        waits: list[tuple[Awaited[Moment], dict[int, int]]],
        slot: PendingAnswers,
    ) -> None:
        hub, refused = self._hub, list[str]()
        ahead, before = 0, not hub.bout
        for edit in edits:
            if edit.due_ns != AT_ONCE and before:
                # Its time begins with a command that the same client may be about to send.
                methods_values.tell_when_done(hub, edit)
                ahead += 1
                continue
            done = await edit.done
            refused += [part.refused for part in done.outcomes if part.refused]
        seen = [await look(hub, self._client, hub.moment(), at_once)] if at_once else []
        for moment, those in waits:
            if not before:
                seen.append(await look(hub, self._client, await moment, those, as_stored=True))
            else:
                methods_values.tell_when_read(hub, self._client, moment, those)
                ahead += 1
        if refused:
            raise Refused("refused", "; ".join(refused))
        text = [f"{ahead} changesets and requests wait for the engine to run"] if ahead else []
        text += [f"cycle {', '.join(str(one.cycle) for one in seen)}"] if seen else []
        messages = [response("success", text="; ".join(text), time=self._time(), data=bool(text))]
        if seen:
            messages.append(await document(hub, seen))
        self._finish(slot, *messages)

    def _script_done(self, slot: PendingAnswers, error: Exception | None) -> None:
        if error is not None:
            self._fail(None, slot, error)

    # --- commands ---

    async def _command(self, command: Command, slot: PendingAnswers) -> None:
        kind, extended = command.command_type, command.extended_command
        if kind == "log" and extended == POLL:
            await self._poll(command, slot)
        elif kind == "log" and extended == POLLING:
            self._finish(slot, self._success(command), script(data_port(self._hub.options.commands)))
        elif kind == "log" and extended:
            raise Refused("refused", f"log knows no {extended!r}", f"it knows {POLLING} and {POLL}")
        elif kind == "log" and command.data_destination == "network":
            self._stream(command, slot)
        else:
            if extended != "off":
                # Any client may take the torque off, at any time.
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
                    await methods_bout.end_bout(hub, "")
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
            _, ack = hub.core.send(Order.ARM)
            await ack
        elif command.extended_command == "off":
            await methods_bout.off(hub, self._client, OffRequest(printable(command.text or "asked for")))
        else:
            known = ", ".join(_EXTENDED)
            raise Refused("refused", f"there is no command {command.extended_command!r}", f"there are: {known}")

    def _success(self, command: Command) -> bytes:
        return response("success", command, time=self._time())

    # --- data ---

    async def _poll(self, command: Command, slot: PendingAnswers) -> None:
        """Answer with values. An hdsoMod in here names an HDSO and never writes (reading D7)."""
        hub = self._hub
        entries = () if command.script is None else command.script.entries
        if not entries:
            raise Refused("bad_request", "a poll names no HDSO", "enclose an hdsoscript")
        seen = await look(hub, self._client, hub.moment(), asked(hub, entries))
        self._finish(slot, self._success(command), await document(hub, [seen]))

    def _stream(self, command: Command, slot: PendingAnswers) -> None:
        """Let the HDSOs named, or all sensors, be sent on a topic of the telemetry socket."""
        hub = self._hub
        plan = hub.need_plan()
        entries = () if command.script is None else command.script.entries
        names = [plan.hdsos[index].name for index in asked(hub, entries) or plan.sensor_columns]
        window_s = float(command.start_time_s), float(command.stop_time_s)
        rate_hz = hub.options.telemetry_rate_hz
        recipe = hub.streams.subscribe(self._client, hub.mirror, names, rate_hz, hub.now_ns, window_s)
        self._streams.append(recipe.topic)
        port = data_port([hub.options.telemetry])
        topic = ConfigCommand("parameter", "datatopic", (recipe.topic,))
        self._finish(slot, self._success(command), script(port), script(topic))

    def _end_stream(self) -> None:
        for topic in self._streams:
            try:
                self._hub.streams.unsubscribe(self._client, topic)
            except Refused:
                continue  # it has ended, since nobody listened
        self._streams.clear()
