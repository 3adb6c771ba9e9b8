"""What every method works with: the core, the configuration in force, values, edits, clients, control and telemetry."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from nuc_engine.daemon.block import Block, Word
from nuc_engine.daemon.latch import latched
from nuc_engine.daemon.launch import ServeOptions
from nuc_engine.daemon.modes import Input, Mode, Refusal, step
from nuc_engine.daemon.wire import CoreCommand, NumbersRecord, RecordKind
from nuc_engine.datalogger.interface import DataLogger
from nuc_engine.messages.answers import ConfigurationAnswer
from nuc_engine.messages.errors import Refused
from nuc_engine.model.motors import families_of
from nuc_engine.model.plan import HdsoPlan, Plan
from nuc_engine.model.store import Store
from nuc_engine.service.authors import Authors
from nuc_engine.service.channel_hub import ChannelHub
from nuc_engine.service.clients import ConnectedClient
from nuc_engine.service.configuration import Configuration, check_names, make_configuration, read_configuration
from nuc_engine.service.core_link import CoreLink
from nuc_engine.service.edits import ControlBook, EditBook, KeptValues
from nuc_engine.service.folders import Folders
from nuc_engine.service.log_quota import BURST, OF_ALL, LogQuota, cost_of
from nuc_engine.service.mirror import Mirror, Moment
from nuc_engine.service.reads import Reads
from nuc_engine.service.save import out_of_reach
from nuc_engine.service.streams import Streams
from nuc_engine.service.telemetry import Recipes
from nuc_engine.service.waiting import Workshop
from sccils_schemas.names import did_you_mean

CORE_START_S = 10.0
"""How long a new core may take to run its tasks."""

Listed = dict[str, tuple[bytes, ConfigurationAnswer]]


@dataclass(slots=True)
class Hub(ChannelHub):
    """Everything the methods of the daemon share. `mirror` and `book` are there once a core of the newest plan runs."""

    block: Block
    options: ServeOptions
    buses: Mapping[str, str]
    core: CoreLink
    folders: Folders
    logger: DataLogger
    authors: Authors
    recipes: Recipes
    streams: Streams
    workshop: Workshop
    wake_supervisor: Callable[[], None]
    connections: Callable[[], Mapping[str, int]]
    configuration: Configuration | None = None
    plan: Plan | None = None
    mirror: Mirror | None = None
    book: EditBook | None = None
    kept: dict[str, KeptValues] = field(default_factory=dict[str, KeptValues])
    """Values that were kept under names, as long as this plan is in force."""
    closed: Mapping[int, str] = field(default_factory=dict[int, str])
    bouts: int = 0
    park: tuple[Mapping[int, float], float] | None = None
    """The pose a client chose to park in, joint index to degrees, and its rate: another core is told again."""
    described: tuple[Configuration, Mapping[str, Any]] | None = None
    listed: Listed = field(default_factory=Listed)
    """What was found of the configurations that can be chosen, with the sum of their files: the workshop's."""
    reads: Reads = field(default_factory=Reads)
    """Requests for data that wait for their time."""
    ration: LogQuota = field(default_factory=lambda: LogQuota(BURST * OF_ALL, share=OF_ALL))
    """What may be logged of the answers to all clients together."""
    refusals: tuple[str, ...] = ()
    """Why servos cannot be driven as they were given, as the core last told it."""
    bus_counts: Mapping[str, int] = field(default_factory=dict[str, int])
    """What the buses have counted since the core began, as it last told it."""
    _generations: tuple[int, int] = (0, 0)

    @property
    def mode(self) -> Mode:
        """The mode of the engine."""
        return Mode(self.block.words[Word.MODE]) if self.plan is not None else Mode.UNCONFIGURED

    @property
    def bout(self) -> int:
        """Number of the bout under way, 0 for none."""
        return self.block.words[Word.BOUT]

    def engine_time_s(self, time_ns: int) -> float | None:
        """Return an instant as engine time; None outside of a bout."""
        words = self.block.words
        return (time_ns - words[Word.BOUT_START]) / 1e9 if words[Word.BOUT] else None

    # --- what there must be ---

    def need_configuration(self) -> Configuration:
        """Return the configuration in force. Raises Refused."""
        if self.configuration is None:
            if self.plan is not None:
                raise Refused("failed", "the documents of this configuration were lost", "configure it again")
            raise Refused("refused", "nothing is configured", "choose a configuration first")
        return self.configuration

    def need_plan(self) -> Plan:
        """Return the plan in force. Raises Refused."""
        if self.plan is None:
            raise Refused("refused", "nothing is configured", "choose a configuration first")
        return self.plan

    def need_mirror(self) -> Mirror:
        """Return the values of the running core. Raises Refused."""
        self.need_plan()
        if self.mirror is None:
            raise Refused("core_gone", "the core is being restarted", "try again in a second")
        return self.mirror

    def need_book(self) -> EditBook:
        """Return the edits of the running core. Raises Refused."""
        self.need_mirror()
        if self.book is None:
            raise Refused("core_gone", "the core is being restarted", "try again in a second")
        return self.book

    def need_hdso(self, ref: int | str) -> HdsoPlan:
        """Return an HDSO by name or id. Raises Refused."""
        mirror = self.need_mirror()
        hdso = mirror.hdso(ref)
        if hdso is None:
            hint = did_you_mean(ref, (h.name for h in mirror.plan.hdsos)) if isinstance(ref, str) else ""
            raise Refused("not_found", f"there is no HDSO {ref!r}", hint)
        return hdso

    def need_joint(self, ref: int | str) -> int:
        """Return the index of a joint by name or id. Raises Refused."""
        plan = self.need_plan()
        for joint in plan.joints:
            if ref in (joint.name, joint.id_num, str(joint.id_num)):
                return joint.index
        names = [joint.name for joint in plan.joints]
        hint = did_you_mean(str(ref), names) or f"there are: {', '.join(names)}"
        raise Refused("not_found", f"there is no joint {ref!r}", hint)

    def require_mode_for(self, what: Input) -> None:
        """Raise Refused where the mode does not allow this."""
        try:
            step(self.mode, what, latched=bool(self.block.words[Word.LATCHED]))
        except Refusal as refused:
            raise Refused("refused", str(refused)) from refused

    def moment(self) -> Moment:
        """Return a look at all values now. Raises Refused."""
        return Moment(self.need_mirror(), self.core.latest, self.now_ns)

    def note_answer(
        self, client: ConnectedClient, moment: Moment, held: Mapping[int, Sequence[Any] | None], said: Mapping[str, Any]
    ) -> None:
        """Let the bout's log have what a client is answered at a moment: HDSOs by index, and other names."""
        if not self.bout or not (held or said):
            return
        snapshot = moment.snapshot
        time_ns, cycle = (moment.now_ns, 0) if snapshot is None else (snapshot.time_ns, snapshot.cycle)
        values = {index: found or () for index, found in held.items()}
        cost = cost_of(values, said)
        if client.log_quota.spend(cost, self.now_ns) and self.ration.spend(cost, self.now_ns):
            self.logger.tell_answer(client.author, time_ns, cycle, values, said)
        else:
            self.logger.tell_left_out(client.author, time_ns, len(values) + len(said))

    # --- clients ---

    def standing(self) -> tuple[str, str]:
        """Return the configuration in force and the mode."""
        return "" if self.plan is None else self.plan.name, self.mode.name

    def spares(self, client: ConnectedClient) -> bool:
        """Say whether a client has what a newcomer must not cost it: control, streams, requests that wait."""
        waits = self.reads.pending(client.key) > 0 or (client.session is not None and client.session.busy)
        return waits or self.streams.has(client.key) or ChannelHub.spares(self, client)

    def on_client_gone(self, client: ConnectedClient) -> None:
        """End what belongs to a client that is gone."""
        ChannelHub.on_client_gone(self, client)
        self.streams.drop(client.key)
        self.reads.drop(client.key)

    # --- configuration ---

    def read_configuration(self, name: str, folder: Path) -> Configuration:
        """Return the configuration in a folder, for the buses of this daemon. Raises Refused with every reason."""
        return read_configuration(name, folder, self.families, self.options.gravity_compensation)

    def make_configuration(self, name: str, files: Mapping[str, bytes]) -> Configuration:
        """Return a configuration of documents, for the buses of this daemon. Raises Refused with every reason."""
        return make_configuration(name, files, self.families, self.options.gravity_compensation)

    @property
    def families(self) -> Mapping[str, str]:
        """The family of the servos of each bus, by its name."""
        return families_of(self.buses.items())

    def install(self, configuration: Configuration) -> None:
        """Let the supervisor start a core of a new plan.

        Raises BlockError for a plan that is too large, Refused where limits or a park pose name what it does not have.
        """
        check_names("--limit", self.options.limits, [motor.name for motor in configuration.plan.motors])
        check_names("--park", self.options.park_deg, [joint.name for joint in configuration.plan.joints])
        self.logger.tell_documents(configuration.name, configuration.files)
        self.mirror = self.book = None
        self.kept.clear()
        self.refusals = ()
        self.block.write_plan(configuration.plan)
        self.configuration, self.plan = configuration, configuration.plan
        self.wake_supervisor()

    async def core_of_newest_plan(self) -> None:
        """Wait until a core of the plan written last runs its tasks. Raises Refused."""
        late = Refused("timeout", f"no core was ready within {CORE_START_S:g} s", "see `status` and `events`")
        await self.waiting.until(lambda: self.core.ready, CORE_START_S, late)
        self.follow()

    def resume(self) -> None:
        """Find again what an earlier service had put in force."""
        if self.block.words[Word.PLAN_GENERATION]:
            self.plan = self.block.read_plan()
            self.bouts = self.bout
            self.find_documents()

    def find_documents(self) -> None:
        """Take the documents that the data logger kept, where they are those of the plan in force."""
        if self.plan is None or self.configuration is not None:
            return
        kept = self.logger.documents()
        if kept is None:
            return
        try:
            found = self.make_configuration(*kept)
        except Refused:
            return
        if found.plan == self.plan:
            self.configuration = found
            self.closed = out_of_reach(self.plan, found)
            self._generations = (0, 0)

    def follow(self) -> None:
        """Open the values of a core that has just become ready; close them when it is gone."""
        words = self.block.words
        if self.plan is None or not self.core.ready:
            self.mirror = None
            return
        generations = (words[Word.PLAN_GENERATION], words[Word.CORE_GENERATION])
        if self.mirror is not None and generations == self._generations:
            return
        # What the core before this one still wrote is of its own plan.
        self.core.pump()
        self.core.latest.clear()
        same_plan = generations[0] == self._generations[0]
        self._generations = generations
        controls = ControlBook(self.plan, self.options.approach_deg_s)
        store = self.block.store(self.plan)
        if self.book is not None and same_plan and self.book.plan == self.plan:
            self.book.resume(controls, live_values(store))
            if self.park is not None:
                self.core.send(CoreCommand.PARK, *self.park)
        else:
            self.park = None
            stopped = "limp" if self.options.on_stop == "off" else "hold"
            self.book = EditBook(self.plan, controls, live_values(store), stopped, self._sensed)
        if words[Word.BOUT]:
            self.book.began(words[Word.BOUT_START])
        self.closed = out_of_reach(self.plan, self.configuration)
        self.mirror = Mirror(self.block, self.plan, controls, self.book.known, self.closed)
        self.recipes.open(self.mirror)

    def _sensed(self, index: int, since_ns: int) -> float | None:
        """Return what a sensor that is clamped was sensed as last, if that was after a time."""
        content = self.core.latest.get(RecordKind.SENSED)
        if content is None or self.mirror is None or index not in self.mirror.plan.sensor_columns:
            return None
        record = self.mirror.formats.unpack(RecordKind.SENSED, content)
        assert isinstance(record, NumbersRecord)
        return record.numbers[self.mirror.plan.sensor_columns.index(index)] if record.time_ns > since_ns else None

    def reload_values(self) -> None:
        """Look anew at what is in force: records went by unread."""
        if self.mirror is not None and self.book is not None:
            self.book.known.clear()
            self.book.known.update(live_values(self.mirror.store))

    # --- words ---

    def unconfirmed(self) -> tuple[str, ...]:
        """Return the motors that have not confirmed that their torque is off."""
        bits = self.block.words[Word.UNCONFIRMED]
        return () if self.plan is None else tuple(m.name for m in self.plan.motors if bits >> m.index & 1)

    def latch_reason(self) -> str:
        """Return why the torque is latched off, or nothing."""
        return latched(self.block.words)

    def next_bout(self) -> int:
        """Return the number of the next bout."""
        # The newest of the block counts too: a service that was started anew has numbered none.
        self.bouts = max(self.bouts, self.bout, self.block.words[Word.LAST_BOUT]) + 1
        return self.bouts

    def shut_down(self) -> None:
        """Ask the supervisor to end everything."""
        self.block.words[Word.SHUTDOWN] = 1
        self.wake_supervisor()


def live_values(store: Store) -> dict[int, tuple[int | float, ...]]:
    """Return what is in the core's store this very moment.

    Not the last whole cycle: a write is in the store before its record is in the ring, so that with the records from
    now on this is complete, where a snapshot could miss what was written after its cycle.
    """
    found = ((hdso.index, store.values(hdso.index)) for hdso in store.plan.hdsos)
    return {index: values for index, values in found if values is not None}


def wake(fd: int) -> Callable[[], None]:
    """Return a function that adds one to an eventfd; it never waits."""

    def add() -> None:
        try:
            os.eventfd_write(fd, 1)
        except BlockingIOError:
            return  # It counts so many already that whoever is to wake up will.

    return add
