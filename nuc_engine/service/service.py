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
from nuc_engine.service.channel import ReadySockets, Sockets
from nuc_engine.service.clients import Clients
from nuc_engine.service.control import ControlLease
from nuc_engine.service.core_link import MOST_READ, CoreLink
from nuc_engine.service.datagrams import Datagrams
from nuc_engine.service.desk import MESSAGES_NS, Desk
from nuc_engine.service.folders import Folders
from nuc_engine.service.hub import Hub, wake
from nuc_engine.service.methods import METHODS
from nuc_engine.service.mirror import Moment
from nuc_engine.service.recent import Recent
from nuc_engine.service.sccils import Session
from nuc_engine.service.streams import Streams
from nuc_engine.service.telemetry import Recipes
from nuc_engine.service.turns import Turns
from nuc_engine.service.waiting import Waiting, Workshop

LONGEST_MS = 50
"""Longest wait for anything: the service's heartbeat comes at least this often."""

_STAY_MS = 1
_HOUSEKEEPING_NS = 1_000_000_000


class Service(Turns):
    """Answers clients, sends telemetry, follows the core. Raises ServiceError when it cannot be opened.

    `now_ns` is CLOCK_MONOTONIC, `unix_time_s` seconds since 1970. `dump_wanted` says that the data logger wants a STORE
    record; it is asked in every turn.
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
        published = tuple({telemetry: 0, options.telemetry: 0})
        super().__init__(loop, Sockets((command, *options.commands), published, self._access))
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
        self._desk = Desk(hub, METHODS, self.sockets, self._access, lambda client, send: Session(hub, client, send))
        hub.resume()

    def begin(self) -> None:
        """Begin to take turns.

        What is there by now stays; collecting garbage would look at it for 0.1 s, while all who ask wait.
        """
        gc.collect()
        gc.freeze()
        self._loop.add_reader(self._to_service, self._called)
        super().begin()

    def _called(self) -> None:
        """Hear the core, or the supervisor."""
        with suppress(BlockingIOError):  # it was heard while an edit was waited for
            os.eventfd_read(self._to_service)
        self._turn()

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
        self._desk.see_to_keys()
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
        self._loop.remove_reader(self._to_service)
        self.hub.workshop.close()
        super().close()
        if self._datagrams is not None:
            self._datagrams.close()

    def wait_ms(self) -> int:
        """Return how long nothing is due for."""
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
        until_ns = self._now_ns() + (0 if self.hub.core.behind else MESSAGES_NS)
        self._desk.take_messages(ready, until_ns)

    def _connections(self) -> dict[str, int]:
        failed = 0 if self._datagrams is None else self._datagrams.failed
        return {**self._desk.connections(), "datagrams_failed": failed, "records_unread": self.hub.core.overtaken}

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
