"""What a bus of servos with registers says and does in a cycle, as scripts for `drivers.framed.transactions`."""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from typing import Final, TypeAlias

from drivers.bus import READ_ONLY
from drivers.framed import requests
from drivers.framed.arming import ON, Arming, RegisterMismatch, compare
from drivers.framed.commissioning import Commissioning
from drivers.framed.group_read import GroupReader
from drivers.framed.layout import GOAL, POSITION, TORQUE, FamilyLayout, ModelLayout
from drivers.framed.packet import BROADCAST, Packet
from drivers.framed.readings import FramedReadings
from drivers.framed.registers import pair_reader
from drivers.framed.search import NO_MODEL, search
from drivers.framed.servo_state import Contact, DriveSettings, Health, Readiness, ServoEvent, Torque
from drivers.framed.servos import BusServo
from drivers.framed.setup import name_of
from drivers.framed.transactions import Exchange, LateStatuses, StatusesById, Transaction

WATCH_CYCLES: Final = 64
"""How often it is looked whether servos under torque still have it. What else they lose without their supply is looked
at half as often, and one span of their memory each time, so that no cycle becomes much longer than others."""

IDLE_STEPS: Final = 16
"""Exchanges of set-up in a cycle while nobody is driven; one otherwise."""

ATTEMPTS: Final = 10
"""How often in a row a servo may fail to take what goes before its torque, or the torque, before it is refused."""

BEYOND_TICKS: Final = 32
"""How far beyond the scale a shaft may stand and still be driven: one that was turned on by hand counts on into the
next turn, and would be driven back all the way."""

_CAP_ROUNDS: Final = 2
_GONE: Final = Contact.GONE
_WELL: Final = Health.WELL

_View: TypeAlias = tuple[Callable[[bytes], tuple[int, int]], int, int]
"""How the block of a model is read (to load and position), its lowest and its highest position."""


class Cycle:
    """Gives the scripts of one bus; the lists in `readings`, and what is public here, change as they run."""

    __slots__ = (
        "_arming", "_baud", "_beyond", "_by_id", "_cap_rounds", "_commissioning", "_cycles", "_dialect", "_goal",
        "_heard", "_late", "_layout", "_reader", "_readings", "_servos", "_settled", "_single", "_spoken_ns", "_torque",
        "_views", "_watchdog_ns", "found", "found_models", "restarts", "trips",
    )  # fmt: skip

    def __init__(
        self,
        layout: FamilyLayout,
        servos: Sequence[BusServo],
        readings: FramedReadings,
        *,
        baud: int,
        level: int,
        single: bool,
        fast: bool,
        watchdog_ns: int,
        late: LateStatuses,
    ) -> None:
        """Say what `layout` needs to `servos`.

        `single` is without group requests, a `watchdog_ns` of 0 is none; `late` says what was late in its script.
        """
        self.found: tuple[int, ...] = ()
        self.found_models: dict[int, int] = {}
        self.trips = 0
        self.restarts = 0
        self._layout, self._dialect, self._servos, self._readings = layout, layout.dialect, servos, readings
        self._by_id = {servo.bus_id: servo for servo in servos}
        self._reader = GroupReader(layout, fast=fast, late=late)
        self._late = late
        self._commissioning = Commissioning(layout, servos)
        self._arming = Arming(layout, level=level, watchdog_ns=watchdog_ns)
        self._baud, self._single = baud, single
        self._watchdog_ns = watchdog_ns if layout.watchdog else 0
        self._goal, self._torque = layout.register(GOAL), layout.register(TORQUE)
        # By identity, since comparing kinds takes longer than reading a block; the layout keeps them all.
        self._views = {id(kind): _view(layout, kind) for kind in layout.kinds.values()}
        # In how many cycles more the bounds of the torque are sent: nobody answers that. After that they are read back.
        self._cap_rounds = 0
        self._cycles = 0
        self._spoken_ns = 0
        self._heard: set[int] = set()
        # Whose shaft stands beyond its scale, as far as was last read.
        self._beyond = [False] * len(servos)
        # Everybody is driven, and nothing has happened since that was seen: most of a cycle can be left out.
        self._settled = False

    @property
    def refusals(self) -> tuple[str, ...]:
        """Why servos can not be driven."""
        return self._commissioning.refusals

    def set_level(self, level: int) -> None:
        """Bound the torque by `LEVEL_SHARE` from the next cycle on."""
        if level == self._arming.level:
            return
        self._arming.level = level
        self._cap_rounds = _CAP_ROUNDS
        for servo in self._servos:
            servo.happen(ServoEvent.LEVEL)

    def exchange(self, limp: Sequence[BusServo], now_ns: int) -> Transaction:
        """Send the servos' goals, take the torque off those in `limp`, read everybody, set up who needs it."""
        silent_ns, self._spoken_ns = now_ns - self._spoken_ns, now_ns
        yield from self._look(silent_ns)
        if limp or not self._settled:
            yield from self._switch(limp)
        self._heard.clear()
        self._hold_goals()
        if self._single:
            yield from self._one_by_one()
        else:
            waiting = [servo for servo in self._servos if servo.goal != READ_ONLY]
            driven = waiting if self._settled else [servo for servo in waiting if servo.state.driven]
            prefix = self._bounds_again() + self._goals(driven)
            for servo in driven:
                servo.goal = READ_ONLY
            yield from self._reader.block(self._servos, self._take, prefix)
        if limp or self._late.until_ns or len(self._heard) < len(self._servos):
            self._conclude(limp)
        if not self._settled:
            yield from self._commissioning.run(1 if self._driving else IDLE_STEPS)
            self._settled = all(servo.state.settled for servo in self._servos)

    def release(self) -> Transaction:
        """Take the torque off every servo on the line, known or not, and check that it is off."""
        self._settled = False
        for servo in self._servos:
            servo.happen(ServoEvent.RELEASE)
        off = requests.write(self._dialect, BROADCAST, self._torque, 0)
        # Said again before each who is asked by himself: the first time may have met what servos were still saying.
        values = yield from self._reader.values(self._servos, self._torque, off, again=off)
        for servo in self._servos:
            if values.get(servo.number, 0):
                yield Exchange(requests.write(self._dialect, servo.bus_id, self._torque, 0), (servo.bus_id,))
                del values[servo.number]
                values |= yield from self._reader.values((servo,), self._torque)
        for servo in self._servos:
            self._conclude_release(servo, values.get(servo.number))

    def discover(self, ids: Sequence[int]) -> Transaction:
        """Ask who is there, of these ids or of all, and of which model."""
        models = yield from search(self._layout, self._baud, self._by_id, ids)
        self.found = tuple(models)
        self.found_models = {bus_id: number for bus_id, number in models.items() if number != NO_MODEL}

    def _look(self, silent_ns: int) -> Generator[Exchange, StatusesById, None]:
        """See whether servos still are as they were left: those that were missed, and all of them now and then."""
        turn, since = divmod(self._cycles, WATCH_CYCLES)
        self._cycles += 1
        stale = bool(self._watchdog_ns) and 2 * silent_ns > self._watchdog_ns
        if since == 0:
            yield from self._glance(None)
        elif since == WATCH_CYCLES // 2 and turn % 2:
            yield from self._glance(turn // 2)
        if self._settled and not stale:
            return
        self._settled = False
        for servo in self._servos:
            if servo.state.stale:
                servo.happen(ServoEvent.RESTARTED)
        armed = self._armed()
        looked = [servo for servo in armed if servo.state.suspect]
        if looked:
            yield from self._inspect(looked)
        suspects = [servo for servo in armed if stale and servo not in looked]
        if suspects:
            values = yield from self._reader.values(suspects, self._layout.register(self._layout.watchdog))
            for servo in suspects:
                if values.get(servo.number, 0) < 0:
                    self.trips += 1
                    servo.happen(ServoEvent.RESTARTED)

    def _armed(self) -> list[BusServo]:
        return [servo for servo in self._servos if servo.state.armed]

    def _glance(self, turn: int | None) -> Generator[Exchange, StatusesById, None]:
        """Look at the torque of servos that have it, or else at the span whose turn it is.

        One that is not found as it was left is inspected.
        """
        servos = self._armed()
        if not servos:
            return
        torque, *rest = self._arming.spans(servos)
        span = torque if turn is None or not rest else rest[turn % len(rest)]
        found = yield from compare(self._reader, servos, [span])
        for servo in servos:
            if found.get(servo.number) != []:
                self._settled = False
                servo.happen(ServoEvent.LOOK)

    def _inspect(self, servos: Sequence[BusServo]) -> Generator[Exchange, StatusesById, None]:
        """See whether servos have their torque, and hold what they were told with it."""
        found = yield from compare(self._reader, servos, self._arming.spans(servos))
        # A status that was garbled and fits its checksum does not cost a servo its torque.
        doubtful = [servo for servo in servos if found.get(servo.number)]
        for servo in doubtful:
            del found[servo.number]
        if doubtful:
            found |= yield from compare(self._reader, doubtful, self._arming.spans(doubtful))
        seen = [(servo, found[servo.number]) for servo in servos if servo.number in found]
        again = [servo for servo, losses in seen if losses and self._judge(servo, losses)]
        for servo, losses in seen:
            if not losses:
                servo.attempts = 0
                servo.happen(ServoEvent.HOLDS)
        packets = self._arming.bounds(again)
        # At full torque nobody waits for the set-up to come to it.
        packets += self._arming.write_all(
            self._torque, [(servo, 0) for servo, _ in seen if servo.state.readiness is Readiness.LOOSEN]
        )
        if packets:
            yield Exchange(packets)

    def _judge(self, servo: BusServo, losses: Sequence[RegisterMismatch]) -> bool:
        """Restart a servo that lost what it was told; True where it only has to be told its new bound again."""
        if any(loss.found < 0 and loss.register == self._layout.watchdog for loss in losses):
            self.trips += 1
            servo.happen(ServoEvent.RESTARTED)
            return False
        self.restarts += 1
        lost = {loss.register for loss in losses}
        if TORQUE in lost:
            servo.happen(ServoEvent.RESTARTED)
            return False
        servo.attempts += 1
        told = servo.state.told in (DriveSettings.NOTHING, DriveSettings.BOUND)
        if told and servo.attempts < ATTEMPTS and lost == {servo.kind.cap[0]}:
            return True
        servo.happen(ServoEvent.LOOSENED)
        return False

    def _switch(self, limp: Sequence[BusServo]) -> Generator[Exchange, StatusesById, None]:
        """Turn the torque on where a goal waits and off where it is not wanted, and see whether it took."""
        # Also where it is believed to be off: somebody else, or the servo itself, may have turned it on since.
        off = [(servo, 0) for servo in limp]
        idle = self._to_arm()
        if not off and not idle:
            return
        for servo in limp:
            servo.happen(ServoEvent.TORQUE_UNKNOWN)
        on = (yield from self._prepare(idle, self._arming.write_all(self._torque, off))) if idle else []
        off += [(servo, 0) for servo in idle if servo.state.readiness is Readiness.REFUSED]
        values = off + [(servo, ON) for servo in on]
        prefix = self._goals(on) + self._arming.write_all(self._torque, values)
        asked = [servo for servo, _ in values if servo.state.contact is not _GONE]
        found = yield from self._reader.values(asked, self._torque, prefix)
        for servo, _ in values:
            servo.happen(_torque_event(found.get(servo.number)))
        for servo in on:
            servo.happen(ServoEvent.HOLDS)
            torque = servo.state.torque
            servo.attempts = 0 if torque is Torque.ON else servo.attempts + (torque is Torque.OFF)
            if servo.attempts >= ATTEMPTS:
                self._commissioning.refuse(servo, f"{name_of(servo.address)} does not turn its torque on")

    def _prepare(self, servos: Sequence[BusServo], prefix: bytes) -> Generator[Exchange, StatusesById, list[BusServo]]:
        """Tell servos all that goes before the torque; return those that are seen to hold it."""
        prefix += self._arming.packets(servos)
        found = yield from self._arming.check(self._reader, servos, prefix)
        ready: list[BusServo] = []
        for servo in servos:
            losses = found.get(servo.number)
            if losses is None:
                continue
            if not losses:
                ready.append(servo)
                continue
            servo.attempts += 1
            self.restarts += 1
            if servo.attempts >= ATTEMPTS:
                lost = ", ".join(f"{name} stays {found} where {told} was written" for name, found, told in losses)
                self._commissioning.refuse(servo, f"{name_of(servo.address)}: its {lost}")
        return ready

    def _to_arm(self) -> list[BusServo]:
        wanting = [servo for servo in self._servos if servo.goal != READ_ONLY and servo.state.drivable]
        idle = [servo for servo in wanting if servo.state.torque is not Torque.ON]
        # A leg is not driven by half of its servos while the others are still being set up.
        unready = any(servo.goal != READ_ONLY and servo.wants for servo in self._servos)
        # A servo that is not identified yet may obey what another one is told.
        unknown = self._layout.second_id and any(servo.state.unknown for servo in self._servos)
        return [] if unknown or (unready and not self._driving) else idle

    @property
    def _driving(self) -> bool:
        return any(servo.state.torque is Torque.ON for servo in self._servos)

    def _bounds_again(self) -> bytes:
        if not self._cap_rounds:
            return b""
        self._cap_rounds -= 1
        if not self._cap_rounds:
            self._settled = False
            for servo in self._servos:
                servo.happen(ServoEvent.LOOK)
        return self._arming.bounds([servo for servo in self._servos if servo.state.driven])

    def _goals(self, servos: Sequence[BusServo]) -> bytes:
        return self._arming.write_ids(self._goal, [(servo.bus_id, _aim(servo)) for servo in servos])

    def _one_by_one(self) -> Generator[Exchange, StatusesById, None]:
        """Write to and read every servo by itself; each write is answered."""
        prefix = self._bounds_again()
        address, length = self._layout.block
        for servo in self._servos:
            ids = (servo.bus_id,)
            self._hold_goals()
            if servo.goal != READ_ONLY and servo.state.driven:
                request = requests.write(self._dialect, servo.bus_id, self._goal, _aim(servo))
                packet = (yield Exchange(prefix + request, ids)).get(servo.bus_id)
                prefix = b""
                servo.goal = READ_ONLY
                if packet is not None and packet.error & self._layout.refusal_mask:
                    self._settled = False
                    servo.happen(ServoEvent.DISOBEYED)
            request = requests.read(self._dialect, servo.bus_id, address, length)
            yield Exchange(prefix + request, ids, length, self._take)
            prefix = b""

    def _hold_goals(self) -> None:
        """Drop goals that had to wait for a late status: they were computed too long ago."""
        if self._late.until_ns:
            for servo in self._servos:
                servo.goal = READ_ONLY

    def _take(self, bus_id: int, packet: Packet, at_ns: int) -> None:
        """Weigh what a servo says of itself."""
        servo = self._by_id[bus_id]
        number, state = servo.number, servo.state
        if state.contact is _GONE:
            servo.happen(ServoEvent.SEEN)
        self._spoken_ns = at_ns
        self._heard.add(number)
        layout, data = self._layout, packet.params
        alert = packet.error & layout.alert_mask != 0
        if alert is (state.health is _WELL):
            self._note_alert(servo, alert)
        if len(data) != layout.block[1]:
            self._readings.refuse(number)
            return
        read, low, high = self._views[id(servo.kind)]
        load, position = read(data)
        beyond = False
        if not low <= position <= high:
            beyond = not low - BEYOND_TICKS <= position <= high + BEYOND_TICKS
            position = min(max(position, low), high)
        self._beyond[number] = beyond
        self._readings.take(number, position, load, at_ns, alarm=alert or beyond)

    def _note_alert(self, servo: BusServo, alert: bool) -> None:
        self._settled = False
        if alert:
            servo.happen(ServoEvent.AILS_ON if servo.state.torque is Torque.ON else ServoEvent.AILS)
            return
        servo.happen(ServoEvent.WELL)
        if servo.state.readiness is Readiness.FAULT:
            servo.happen(ServoEvent.RESTARTED)

    def _conclude(self, limp: Sequence[BusServo]) -> None:
        """Note who was not heard of in this cycle, and who did not go limp."""
        readings, self._settled = self._readings, False
        for servo in self._servos:
            if servo.number not in self._heard:
                if servo.bus_id in self._late.ids:
                    readings.answer(servo.number)
                else:
                    readings.miss(servo.number)
                servo.happen(ServoEvent.MISSED)
            elif readings.stamp_ns[servo.number] < self._late.until_ns:
                # It was read before the others had to be waited for.
                readings.answer(servo.number)
        for servo in limp:
            if servo.number not in self._heard:
                continue
            readings.current_raw[servo.number] = 0
            if servo.state.torque is not Torque.OFF:
                readings.miss(servo.number)
            elif servo.state.health is Health.AILING or self._beyond[servo.number]:
                readings.settle(servo.number)

    def _conclude_release(self, servo: BusServo, value: int | None) -> None:
        if value is None:
            self._readings.miss(servo.number)
            servo.happen(ServoEvent.MISSED)
        elif value:
            self._readings.refuse(servo.number)
        else:
            servo.happen(ServoEvent.SEEN)
            servo.happen(ServoEvent.TORQUE_OFF)
            self._readings.settle(servo.number)


def _view(layout: FamilyLayout, kind: ModelLayout) -> _View:
    read = pair_reader(kind.table[kind.load], kind.table[POSITION], *layout.block)
    return read, *kind.model.positions


def _torque_event(value: int | None) -> ServoEvent:
    if value is None:
        return ServoEvent.TORQUE_UNKNOWN
    return ServoEvent.TORQUE_ON if value == ON else ServoEvent.TORQUE_OFF


def _aim(servo: BusServo) -> int:
    goal, (low, high) = servo.goal, servo.setup.positions
    return goal if low <= goal <= high else min(max(goal, low), high)
