"""The service on its asyncio loop: sockets, the core's records, requests and telemetry, on one thread.

Whatever becomes readable leads to a turn, in which everything is looked at that may have come; requests that wait go on
between turns.
"""

from __future__ import annotations

import asyncio
import gc
import os
import select
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from typing import Any

from nuc_engine.daemon.block import Word
from nuc_engine.daemon.launch import Launch
from nuc_engine.daemon.wire import CoreCommand, RecordKind
from nuc_engine.datalogger.interface import DataLogger
from nuc_engine.machine.rundir import COMMAND, TELEMETRY
from nuc_engine.messages.errors import Refused
from nuc_engine.service.access import Access, read_datagram_address
from nuc_engine.service.authors import Authors
from nuc_engine.service.channel import Message, ReadySockets, Sockets
from nuc_engine.service.clients import ANONYMOUS, Clients, ConnectedClient
from nuc_engine.service.control import ControlLease
from nuc_engine.service.core_link import MOST_READ, CoreLink
from nuc_engine.service.folders import Folders
from nuc_engine.service.hub import Hub, wake
from nuc_engine.service.methods import serve
from nuc_engine.service.mirror import Moment
from nuc_engine.service.pack import pack_answer
from nuc_engine.service.recent import Recent
from nuc_engine.service.sccils import Session
from nuc_engine.service.sccils_documents import response
from nuc_engine.service.streams import Streams
from nuc_engine.service.telemetry import Datagrams, Recipes
from nuc_engine.service.waiting import Waiting, Workshop

LONGEST_MS = 50
"""Longest wait for anything: the service's heartbeat comes at least this often."""

_STAY_MS = 1
_SHORT = 1024
_MESSAGES_NS = 10_000_000
_HOUSEKEEPING_NS = 1_000_000_000


class Service:
    """Answers clients, sends telemetry, follows the core. Raises ServiceError when it cannot be opened.

    `now_ns` is CLOCK_MONOTONIC, `unix_time_s` seconds since 1970. `dump_wanted` says that the data logger wants a STORE
    record; it is asked in every turn. `over` is known once something has gone wrong that a new process may not have.
    """

    def __init__(
        self,
        launch: Launch,
        logger: DataLogger,
        loop: asyncio.AbstractEventLoop,
        *,
        now_ns: Callable[[], int],
        unix_time_s: Callable[[], float],
        folders: Folders | None = None,
        dump_wanted: Callable[[], bool] = bool,
    ) -> None:
        self._words = launch.block.words
        command, telemetry = (f"ipc://{launch.run_dir / name}" for name in (COMMAND, TELEMETRY))
        options = replace(launch.options, telemetry=launch.options.telemetry or telemetry)
        self._to_service, self._now_ns, self._dump_wanted = launch.to_service, now_ns, dump_wanted
        self._housekeeping_ns = 0
        udp = read_datagram_address(options.udp) if options.udp else None
        self._access = Access(options.keys)
        self.sockets = Sockets((command, *options.commands), tuple({telemetry: 0, options.telemetry: 0}), self._access)
        self.sockets.more = self._again
        self._loop = loop
        self._timer: asyncio.Handle | None = None
        self._soon = False
        self.over: asyncio.Future[None] = loop.create_future()
        self._core_wakes = select.poll()
        self._core_wakes.register(launch.to_service, select.POLLIN)
        self._datagrams = None if udp is None else Datagrams(*udp)
        waiting = Waiting(loop, now_ns)
        core = CoreLink(launch.block, wake(launch.to_core), waiting, self._words[Word.SERVICE_DEATHS])
        recipes = Recipes(self.sockets, unix_time_s, options.telemetry_rate_hz, self._datagrams)
        self.hub = hub = Hub(
            block=launch.block,
            options=options,
            buses={line.name: line.url for line in launch.buses},
            waiting=waiting,
            core=core,
            clients=Clients(),
            control=ControlLease(options.control_timeout_s),
            folders=folders if folders is not None else Folders(options.data),
            logger=logger,
            authors=Authors(logger, launch.block.rings["records"]),
            recent=Recent(unix_time_s, self._words[Word.BOUT_START] if self._words[Word.BOUT] else None),
            recipes=recipes,
            streams=Streams(recipes),
            workshop=Workshop(loop),
            wake_supervisor=wake(launch.to_supervisor),
            connections=self._connections,
        )
        hub.folders.mend()
        core.announce = hub.authors.announce
        hub.clients.spares, hub.clients.forgotten = hub.spares, hub.on_client_gone
        core.listeners += [self._follow, hub.recent.take]
        hub.recent.listeners.append(recipes.happened)
        self._overtaken = 0
        self._guest = ConnectedClient(b"", [], ANONYMOUS, "watch", False)
        hub.resume()

    def begin(self) -> None:
        """Begin to take turns.

        What is there by now stays; collecting garbage would look at it for 0.1 s, while all who ask wait.
        """
        gc.collect()
        gc.freeze()
        for descriptor in self.sockets.descriptors:
            self._loop.add_reader(descriptor, self._turn)
        self._loop.add_reader(self._to_service, self._called)
        self._loop.call_soon(self._turn)

    def _called(self) -> None:
        """Hear the core, or the supervisor."""
        with suppress(BlockingIOError):  # it was heard while an edit was waited for
            os.eventfd_read(self._to_service)
        self._turn()

    def _again(self) -> None:
        """Take one more turn, once those who wait have had theirs."""
        if not self._soon:
            self._soon = True
            self._loop.call_soon(self._turn)

    def _turn(self) -> None:
        self._soon = False
        if self._timer is not None:
            self._timer.cancel()
        try:
            read = self.step()
        except Exception as error:
            self.fail(error)
            return
        # A descriptor of ZeroMQ tells of a change, not that there is something to read.
        if self.sockets.ready(read):
            self._again()
        else:
            self._timer = self._loop.call_later(self._wait_ms() / 1000, self._turn)

    def fail(self, error: BaseException) -> None:
        """Let the service end because of this."""
        if not self.over.done():
            self.over.set_exception(error)

    def step(self) -> ReadySockets:
        """Do everything that there is to do now; return the sockets that were read."""
        ready = self.sockets.ready()
        self._words[Word.SERVICE_HEARTBEAT] = self._now_ns()
        hub = self.hub
        hub.core.pump(MOST_READ)
        hub.follow()
        if hub.core.overtaken != self._overtaken:
            self._overtaken = hub.core.overtaken
            hub.reload_values()
        # Who is one too many goes before more is asked.
        self.sockets.step(ready)
        self._see_to_keys()
        self._take_messages(ready)
        if hub.core.answers_soon:
            self._wait_for_core()
        now_ns = self._now_ns()
        hub.reads.step(hub.bout, now_ns - self._words[Word.BOUT_START], self._look)
        hub.waiting.look()
        now_ns = self._now_ns()
        if hub.mirror is not None and hub.recipes.next_ns() <= now_ns:
            self._publish(now_ns)
        if now_ns - self._housekeeping_ns >= _HOUSEKEEPING_NS:
            self._housekeeping_ns = now_ns
            self._keep_house(now_ns)
        if self._dump_wanted():
            with suppress(Refused):
                hub.core.send(CoreCommand.DUMP)
        return ready

    def _wait_for_core(self) -> None:
        """Stay for the moment an edit takes: a way round through all sockets costs more than the core needs."""
        core = self.hub.core
        core.answers_soon = False
        if self._core_wakes.poll(_STAY_MS):
            os.eventfd_read(self._to_service)
            core.pump(MOST_READ)

    def close(self) -> None:
        """Close the sockets."""
        if self._timer is not None:
            self._timer.cancel()
        for descriptor in (*self.sockets.descriptors, self._to_service):
            self._loop.remove_reader(descriptor)
        self.hub.workshop.close()
        self.sockets.close()
        if self._datagrams is not None:
            self._datagrams.close()

    def _wait_ms(self) -> int:
        hub, now_ns = self.hub, self._now_ns()
        start_ns = self._words[Word.BOUT_START] if hub.bout else None
        due = [hub.reads.next_ns(start_ns, now_ns)]
        due += [hub.recipes.next_ns()] if hub.mirror is not None else []
        soonest = min((moment for moment in due if moment is not None), default=now_ns + LONGEST_MS * 1_000_000)
        if hub.core.behind:
            return 0
        return max(0, min(LONGEST_MS, -((now_ns - soonest) // 1_000_000)))

    def _look(self) -> tuple[Moment, int] | None:
        if self.hub.mirror is None:
            return None
        moment = self.hub.moment()
        snapshot = moment.snapshot
        return None if snapshot is None else (moment, snapshot.time_ns - self._words[Word.BOUT_START])

    def _publish(self, now_ns: int) -> None:
        try:
            self.hub.recipes.step(self.hub.moment(), now_ns)
        except MemoryError:
            raise
        except Exception as error:  # telemetry that fails must not block commands
            self.hub.recent.add("service_error", f"telemetry: {type(error).__name__}: {error}")

    def _take_messages(self, ready: ReadySockets) -> None:
        # What the core has said is read first: edits that came faster than that would wait in memory.
        until_ns = self._now_ns() + (0 if self.hub.core.behind else _MESSAGES_NS)
        for message in self.sockets.messages(ready):
            try:
                self._take(message)
            except MemoryError:
                raise  # a new process has some
            except Exception as error:  # one message must not take the service from all others
                self.hub.recent.add("service_error", f"a message: {type(error).__name__}: {error}")
            if self._now_ns() >= until_ns:
                break  # The others come next time: heartbeat and core are looked after in between.

    def _take(self, message: Message) -> None:
        now_ns = self._now_ns()
        hub = self.hub
        try:
            client = hub.clients.sender(message.key, message.address, message.who, now_ns, message.peer)
        except Refused as error:
            self._turn_away(message, error, now_ns)
            return
        if not client.spend(now_ns, len(message.payload or b"")):
            if len(message.payload or b"") <= _SHORT and b"off" in (message.payload or b""):
                self._turn_away(message, Refused("too_fast", "too many messages", "wait for answers"), now_ns)
            elif client.refused % 1000 == 1:
                self._complain(client, Refused("too_fast", "too many messages", "wait for answers"))
            return
        hub.control.note_message(client.key, now_ns)
        if message.payload is None:
            client.rubbish += 1
            self._complain(client, Refused("bad_request", "a message is one frame", "send the payload as one frame"))
        elif message.payload.lstrip()[:1] == b"<" or message.payload.startswith(b"\xef\xbb\xbf<"):
            self._session(client).take(message.payload)
        else:
            address = list(client.address)
            serve(hub, client, message.payload, lambda answer: self._send(client, address, answer))

    def _turn_away(self, message: Message, error: Refused, now_ns: int) -> None:
        """Refuse who there is no room for, but do take the torque off."""
        guest, payload = self._guest, message.payload or b""
        guest.key, guest.address = message.key, message.address
        if not guest.spend(now_ns):
            return
        if payload.lstrip()[:1] == b"<":
            off = len(payload) <= _SHORT and b'"off"' in payload
            session = Session(self.hub, guest, lambda answer: self.sockets.send(message.key, message.address, answer))
            session.take(payload) if off else session.refuse(str(error))
        else:
            serve(self.hub, guest, payload, lambda a: self.sockets.send(message.key, message.address, a), only=error)

    def _see_to_keys(self) -> None:
        """Part with clients whose key is no longer on the list, and follow roles that have changed there."""
        hub = self.hub
        verified = [client for client in hub.clients if client.verified]
        known = {name: self._access.who(name) for name in {client.name for client in verified}}
        for client in verified:
            who = known[client.name]
            if who is None:
                self._complain(client, Refused("not_allowed", "your key was taken off the list"))
                hub.recent.add("revoked", f"{client.author}: its key was taken off the list", client=client.name)
                hub.clients.drop(client)
                continue
            hub.clients.limit(client, who[1])
            if not client.may("operate") and hub.control.release(client.key):
                hub.recent.add("control", f"{client.author} may only watch now", client="")

    def _session(self, client: ConnectedClient) -> Session:
        if client.session is None:
            client.session = Session(self.hub, client, lambda answer: self._send(client, client.address, answer))
        session: Session = client.session
        return session

    def _send(self, client: ConnectedClient, address: list[bytes], answer: bytes) -> None:
        client.charge(len(answer))
        self.sockets.send(client.key, address, answer)

    def _complain(self, client: ConnectedClient, error: Refused) -> None:
        if client.session is not None:
            self.sockets.send(client.key, client.address, response("fail", text=str(error)))
            return
        said: dict[str, Any] = {"kind": error.kind, "text": error.text, "hint": error.hint}
        self.sockets.send(client.key, client.address, pack_answer({"id": None, "ok": False, "error": said}))

    def _connections(self) -> dict[str, int]:
        sockets, datagrams = self.sockets, self._datagrams
        return {
            "closed": sockets.connections.closed,
            "turned_away": sockets.connections.turned_away,
            "failed_handshakes": sockets.failed_handshakes,
            "keys_refused": self._access.denied,
            "answers_dropped": sockets.dropped,
            "datagrams_failed": 0 if datagrams is None else datagrams.failed,
            "records_unread": self.hub.core.overtaken,
        }

    def _follow(self, kind: int, fields: list[Any]) -> None:
        if kind == RecordKind.REFUSALS:
            self.hub.refusals = tuple(map(str, fields[1]))
        elif kind == RecordKind.BUS:
            self.hub.bus_counts = dict(fields[1])
        if self.hub.book is not None:
            edit = self.hub.core.edits.get(fields[0]) if kind == RecordKind.DONE else None
            self.hub.book.take(kind, fields, "" if edit is None else edit.author)

    def _keep_house(self, now_ns: int) -> None:
        hub = self.hub
        hub.streams.forget_ended()
        hub.clients.forget_idle(now_ns)
        if hub.configuration is None:
            hub.find_documents()
