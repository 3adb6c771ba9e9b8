"""What a bus of servos with registers says and does in a cycle, as scripts for `drivers.framed.talk`."""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from typing import Final, TypeAlias

from drivers.bus import READ_ONLY
from drivers.framed import requests
from drivers.framed.arming import ON, Arming, Loss, compare
from drivers.framed.asker import Asker
from drivers.framed.layout import GOAL, POSITION, TORQUE, Kind, Layout
from drivers.framed.packet import BROADCAST, Packet
from drivers.framed.readings import Readings
from drivers.framed.registers import pair_reader
from drivers.framed.search import NO_MODEL, search
from drivers.framed.setup import name_of
from drivers.framed.setups import SetUps
from drivers.framed.slots import Slot, State, Torque
from drivers.framed.talk import Answers, Exchange, Lateness, Script

WATCH_CYCLES: Final = 64
"""How often it is looked whether servos under torque still have it. What else they lose without their supply is looked
at half as often, and one span of their memory each time, so that no cycle becomes much longer than others."""

IDLE_STEPS: Final = 16
"""Exchanges of set-up in a cycle while nobody is driven; one otherwise."""

ARMINGS: Final = 10
"""How often in a row a servo may fail to take what goes before its torque, or the torque, before it is refused."""

BEYOND_TICKS: Final = 32
"""How far beyond the scale a shaft may stand and still be driven: one that was turned on by hand counts on into the
next turn, and would be driven back all the way."""

_CAP_ROUNDS: Final = 2

_View: TypeAlias = tuple[Callable[[bytes], tuple[int, int]], int, int]
"""How the block of a model is read (to load and position), its lowest and its highest position."""


class Cycle:
    """Gives the scripts of one bus; the lists in `readings`, and what is public here, change as they run."""

    __slots__ = (
        "_arming", "_asker", "_baud", "_by_id", "_cap_rounds", "_cycles", "_dialect", "_goal", "_heard", "_late",
        "_layout", "_readings", "_set_ups", "_settled", "_single", "_slots", "_spoken_ns", "_torque", "_views",
        "_watchdog_ns", "found", "found_models", "restarts", "trips",
    )  # fmt: skip

    def __init__(
        self,
        layout: Layout,
        slots: Sequence[Slot],
        readings: Readings,
        *,
        baud: int,
        level: int,
        single: bool,
        fast: bool,
        watchdog_ns: int,
        late: Lateness,
    ) -> None:
        """Say what `layout` needs to `slots`.

        `single` is without group requests, a `watchdog_ns` of 0 is none; `late` says what was late in its script.
        """
        self.found: tuple[int, ...] = ()
        self.found_models: dict[int, int] = {}
        self.trips = 0
        self.restarts = 0
        self._layout, self._dialect, self._slots, self._readings = layout, layout.dialect, slots, readings
        self._by_id = {slot.bus_id: slot for slot in slots}
        self._asker = Asker(layout, fast=fast, late=late)
        self._late = late
        self._set_ups = SetUps(layout, slots)
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
        # Everybody is driven, and nothing has happened since that was seen: most of a cycle can be left out.
        self._settled = False

    @property
    def refusals(self) -> tuple[str, ...]:
        """Why servos can not be driven."""
        return self._set_ups.refusals

    def set_level(self, level: int) -> None:
        """Bound the torque by `LEVEL_SHARE` from the next cycle on."""
        if level == self._arming.level:
            return
        self._arming.level = level
        self._cap_rounds = _CAP_ROUNDS
        for slot in self._slots:
            slot.bounded = False

    def exchange(self, limp: Sequence[Slot], now_ns: int) -> Script:
        """Send the slots' goals, take the torque off those in `limp`, read everybody, set up who needs it."""
        silent_ns, self._spoken_ns = now_ns - self._spoken_ns, now_ns
        yield from self._look(silent_ns)
        if limp or not self._settled:
            yield from self._switch(limp)
        self._heard.clear()
        self._hold_goals()
        if self._single:
            yield from self._one_by_one()
        else:
            waiting = [slot for slot in self._slots if slot.goal != READ_ONLY]
            driven = waiting if self._settled else [slot for slot in waiting if slot.driven]
            prefix = self._bounds_again() + self._goals(driven)
            for slot in driven:
                slot.goal = READ_ONLY
            yield from self._asker.block(self._slots, self._take, prefix)
        if limp or self._late.until_ns or len(self._heard) < len(self._slots):
            self._conclude(limp)
        if not self._settled:
            driving = any(slot.torque is Torque.ON for slot in self._slots)
            yield from self._set_ups.run(1 if driving else IDLE_STEPS)
            self._settled = all(slot.driven and slot.checked for slot in self._slots)

    def release(self) -> Script:
        """Take the torque off everybody on the line, whoever is there, and see that it is off."""
        self._settled = False
        for slot in self._slots:
            slot.abandon()
            slot.torque = Torque.UNKNOWN
        off = requests.write(self._dialect, BROADCAST, self._torque, 0)
        # Said again before each who is asked by himself: the first time may have met what servos were still saying.
        values = yield from self._asker.values(self._slots, self._torque, off, again=off)
        for slot in self._slots:
            if values.get(slot.number, 0):
                yield Exchange(requests.write(self._dialect, slot.bus_id, self._torque, 0), (slot.bus_id,))
                del values[slot.number]
                values |= yield from self._asker.values((slot,), self._torque)
        for slot in self._slots:
            self._conclude_release(slot, values.get(slot.number))

    def discover(self, ids: Sequence[int]) -> Script:
        """Ask who is there, of these ids or of all, and of which model."""
        models = yield from search(self._layout, self._baud, self._by_id, ids)
        self.found = tuple(models)
        self.found_models = {bus_id: number for bus_id, number in models.items() if number != NO_MODEL}

    def _look(self, silent_ns: int) -> Generator[Exchange, Answers, None]:
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
        for slot in self._slots:
            if slot.state is State.READY and slot.doubt and not slot.gone and slot.torque is not Torque.ON:
                # What it keeps while it is powered may be gone, and nothing shows it.
                slot.restart()
        armed = self._armed()
        looked = [slot for slot in armed if slot.doubt or not slot.checked]
        if looked:
            yield from self._inspect(looked)
        suspects = [slot for slot in armed if stale and slot not in looked]
        if suspects:
            values = yield from self._asker.values(suspects, self._layout.register(self._layout.watchdog))
            for slot in suspects:
                if values.get(slot.number, 0) < 0:
                    self.trips += 1
                    slot.restart()

    def _armed(self) -> list[Slot]:
        return [slot for slot in self._slots if slot.torque is Torque.ON and not slot.gone]

    def _glance(self, turn: int | None) -> Generator[Exchange, Answers, None]:
        """Look at the torque of servos that have it, or else at the span whose turn it is.

        One that is not found as it was left is inspected.
        """
        slots = self._armed()
        if not slots:
            return
        torque, *rest = self._arming.spans(slots)
        span = torque if turn is None or not rest else rest[turn % len(rest)]
        found = yield from compare(self._asker, slots, [span])
        for slot in slots:
            if found.get(slot.number) != []:
                slot.checked = self._settled = False

    def _inspect(self, slots: Sequence[Slot]) -> Generator[Exchange, Answers, None]:
        """See whether servos have their torque, and hold what they were told with it."""
        found = yield from compare(self._asker, slots, self._arming.spans(slots))
        # A status that was garbled and fits its checksum does not cost a servo its torque.
        doubtful = [slot for slot in slots if found.get(slot.number)]
        for slot in doubtful:
            del found[slot.number]
        if doubtful:
            found |= yield from compare(self._asker, doubtful, self._arming.spans(doubtful))
        seen = [(slot, found[slot.number]) for slot in slots if slot.number in found]
        again = [slot for slot, losses in seen if losses and self._judge(slot, losses)]
        for slot, losses in seen:
            if not losses:
                slot.doubt, slot.checked, slot.bounded, slot.armings = False, True, True, 0
        packets = self._arming.bounds(again)
        # At full torque nobody waits for the set-up to come to it.
        packets += self._arming.write_all(self._torque, [(slot, 0) for slot, _ in seen if slot.release])
        if packets:
            yield Exchange(packets)

    def _judge(self, slot: Slot, losses: Sequence[Loss]) -> bool:
        """Restart a servo that lost what it was told; True where it only has to be told its new bound again."""
        if any(loss.found < 0 and loss.register == self._layout.watchdog for loss in losses):
            self.trips += 1
            slot.restart()
            return False
        self.restarts += 1
        if any(loss.register == TORQUE for loss in losses):
            slot.restart()
            return False
        slot.armings += 1
        if not slot.bounded and slot.armings < ARMINGS and {loss.register for loss in losses} == {slot.kind.cap[0]}:
            return True
        slot.restart()
        slot.release = True
        return False

    def _switch(self, limp: Sequence[Slot]) -> Generator[Exchange, Answers, None]:
        """Turn the torque on where a goal waits and off where it is not wanted, and see whether it took."""
        # Also where it is believed to be off: somebody else, or the servo itself, may have turned it on since.
        off = [(slot, 0) for slot in limp]
        idle = self._to_arm()
        if not off and not idle:
            return
        for slot in limp:
            slot.torque = Torque.UNKNOWN
        on = (yield from self._prepare(idle, self._arming.write_all(self._torque, off))) if idle else []
        off += [(slot, 0) for slot in idle if slot.state is State.REFUSED]
        values = off + [(slot, ON) for slot in on]
        prefix = self._goals(on) + self._arming.write_all(self._torque, values)
        found = yield from self._asker.values([slot for slot, _ in values if not slot.gone], self._torque, prefix)
        for slot, _ in values:
            value = found.get(slot.number)
            slot.torque = Torque.UNKNOWN if value is None else Torque.ON if value == ON else Torque.OFF
        for slot in on:
            slot.checked = slot.bounded = True
            slot.armings = 0 if slot.torque is Torque.ON else slot.armings + (slot.torque is Torque.OFF)
            if slot.armings >= ARMINGS:
                self._set_ups.refuse(slot, f"{name_of(slot.address)} does not turn its torque on")

    def _prepare(self, slots: Sequence[Slot], prefix: bytes) -> Generator[Exchange, Answers, list[Slot]]:
        """Tell servos all that goes before the torque; return those that are seen to hold it."""
        prefix += self._arming.packets(slots)
        found = yield from self._arming.check(self._asker, slots, prefix)
        ready: list[Slot] = []
        for slot in slots:
            losses = found.get(slot.number)
            if losses is None:
                continue
            if not losses:
                ready.append(slot)
                continue
            slot.armings += 1
            self.restarts += 1
            if slot.armings >= ARMINGS:
                lost = ", ".join(f"{name} stays {found} where {told} was written" for name, found, told in losses)
                self._set_ups.refuse(slot, f"{name_of(slot.address)}: its {lost}")
        return ready

    def _to_arm(self) -> list[Slot]:
        wanting = [slot for slot in self._slots if slot.goal != READ_ONLY and slot.drivable]
        idle = [slot for slot in wanting if slot.torque is not Torque.ON]
        driving = any(slot.torque is Torque.ON for slot in self._slots)
        # A leg is not driven by half of its servos while the others are still being set up.
        unready = any(slot.goal != READ_ONLY and slot.wants for slot in self._slots)
        # Somebody who is not known yet may do what another one is told.
        unknown = self._layout.second_id and any(slot.state is State.NEW and not slot.gone for slot in self._slots)
        return [] if unknown or (unready and not driving) else idle

    def _bounds_again(self) -> bytes:
        if not self._cap_rounds:
            return b""
        self._cap_rounds -= 1
        if not self._cap_rounds:
            self._settled = False
            for slot in self._slots:
                slot.checked = False
        return self._arming.bounds([slot for slot in self._slots if slot.driven])

    def _goals(self, slots: Sequence[Slot]) -> bytes:
        return self._arming.write_ids(self._goal, [(slot.bus_id, _aim(slot)) for slot in slots])

    def _one_by_one(self) -> Generator[Exchange, Answers, None]:
        """Write to and read every servo by itself; each write is answered."""
        prefix = self._bounds_again()
        address, length = self._layout.block
        for slot in self._slots:
            ids = (slot.bus_id,)
            self._hold_goals()
            if slot.goal != READ_ONLY and slot.driven:
                request = requests.write(self._dialect, slot.bus_id, self._goal, _aim(slot))
                packet = (yield Exchange(prefix + request, ids)).get(slot.bus_id)
                prefix = b""
                slot.goal = READ_ONLY
                if packet is not None and packet.error & self._layout.refusal_mask:
                    slot.doubt, self._settled = True, False
            request = requests.read(self._dialect, slot.bus_id, address, length)
            yield Exchange(prefix + request, ids, length, self._take)
            prefix = b""

    def _hold_goals(self) -> None:
        """Drop goals that had to wait for somebody's late status: they were worked out too long ago."""
        if self._late.until_ns:
            for slot in self._slots:
                slot.goal = READ_ONLY

    def _take(self, bus_id: int, packet: Packet, at_ns: int) -> None:
        """Weigh what a servo says of itself."""
        slot = self._by_id[bus_id]
        slot.gone = False
        self._spoken_ns = at_ns
        self._heard.add(slot.number)
        layout, data = self._layout, packet.params
        alert = packet.error & layout.alert_mask != 0
        if alert != slot.alert:
            self._note_alert(slot, alert)
        if len(data) != layout.block[1]:
            self._readings.refuse(slot.number)
            return
        read, low, high = self._views[id(slot.kind)]
        load, position = read(data)
        if low <= position <= high:
            slot.beyond = False
        else:
            slot.beyond = not low - BEYOND_TICKS <= position <= high + BEYOND_TICKS
            position = min(max(position, low), high)
        self._readings.take(slot.number, position, load, at_ns, alarm=alert or slot.beyond)

    def _note_alert(self, slot: Slot, alert: bool) -> None:
        slot.alert, self._settled = alert, False
        if alert:
            slot.release = slot.torque is Torque.ON
            slot.restart()
        elif slot.state is State.FAULT:
            slot.restart()

    def _conclude(self, limp: Sequence[Slot]) -> None:
        """Note who was not heard of in this cycle, and who did not go limp."""
        readings, self._settled = self._readings, False
        for slot in self._slots:
            if slot.number not in self._heard:
                if slot.bus_id in self._late.ids:
                    readings.answer(slot.number)
                else:
                    readings.miss(slot.number)
                slot.lose()
            elif readings.stamp_ns[slot.number] < self._late.until_ns:
                # It was read before the others had to be waited for.
                readings.answer(slot.number)
        for slot in limp:
            if slot.number not in self._heard:
                continue
            readings.current_raw[slot.number] = 0
            if slot.torque is not Torque.OFF:
                readings.miss(slot.number)
            elif slot.alert or slot.beyond:
                readings.settle(slot.number)

    def _conclude_release(self, slot: Slot, value: int | None) -> None:
        if value is None:
            self._readings.miss(slot.number)
            slot.lose()
        elif value:
            self._readings.refuse(slot.number)
        else:
            slot.gone = False
            slot.torque = Torque.OFF
            self._readings.settle(slot.number)


def _view(layout: Layout, kind: Kind) -> _View:
    read = pair_reader(kind.table[kind.load], kind.table[POSITION], *layout.block)
    return read, *kind.model.positions


def _aim(slot: Slot) -> int:
    goal, (low, high) = slot.goal, slot.setup.positions
    return goal if low <= goal <= high else min(max(goal, low), high)
