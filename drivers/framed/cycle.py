"""What a bus of servos with registers says and does in a cycle, as scripts for `drivers.framed.talk`."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from typing import Final

from drivers.bus import READ_ONLY
from drivers.framed import requests
from drivers.framed.asker import LONGEST_GROUP, Asker
from drivers.framed.layout import GAIN, GOAL, POSITION, TORQUE, Layout
from drivers.framed.packet import BROADCAST, Packet
from drivers.framed.readings import Readings
from drivers.framed.registers import Register
from drivers.framed.search import NO_MODEL, search
from drivers.framed.setup import Answer, Ask, Identity, NobodyAnswered, Setup, configure, identify
from drivers.framed.slots import Procedure, Slot, State, Torque
from drivers.framed.talk import Answers, Exchange, Script
from drivers.servo import LEVEL_SHARE

WATCH_CYCLES: Final = 64
"""How often it is looked whether servos under torque still have it."""

IDLE_STEPS: Final = 16
"""Exchanges of set-up in a cycle while nobody is driven; one otherwise."""

ARMINGS: Final = 10
"""How often in a row a servo may fail to turn its torque on before it is refused."""

BEYOND_TICKS: Final = 32
"""How far beyond the scale a shaft may stand and still be driven: one that was turned on by hand counts on into the
next turn, and would be driven back all the way."""

_TRIES: Final = 3
_CAP_ROUNDS: Final = 2
_ON: Final = 1


class Cycle:
    """Gives the scripts of one bus; the lists in `readings`, and what is public here, change as they run."""

    __slots__ = (
        "_asker", "_baud", "_by_id", "_cap_rounds", "_cycles", "_dialect", "_goal", "_heard", "_layout", "_level",
        "_position", "_position_at", "_readings", "_settled", "_single", "_slots", "_spoken_ns", "_torque",
        "_watchdog_ns", "found", "found_models", "refusals", "restarts", "trips",
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
    ) -> None:
        """Say what `layout` needs to `slots`; `single` is without group requests, a `watchdog_ns` of 0 is none."""
        self.refusals: tuple[str, ...] = ()
        self.found: tuple[int, ...] = ()
        self.found_models: dict[int, int] = {}
        self.trips = 0
        self.restarts = 0
        self._layout, self._dialect, self._slots, self._readings = layout, layout.dialect, slots, readings
        self._by_id = {slot.bus_id: slot for slot in slots}
        self._asker = Asker(layout, fast=fast)
        self._baud, self._single = baud, single
        self._watchdog_ns = watchdog_ns if layout.watchdog else 0
        self._goal, self._torque, self._position = (layout.register(name) for name in (GOAL, TORQUE, POSITION))
        self._position_at = self._position.address - layout.block[0]
        self._level = level
        # In how many cycles more the bounds of the torque are sent again: nobody answers that packet.
        self._cap_rounds = 0
        self._cycles = 0
        self._spoken_ns = 0
        self._heard: set[int] = set()
        # Everybody is driven, and nothing has happened since that was seen: most of a cycle can be left out.
        self._settled = False

    def set_level(self, level: int) -> None:
        """Bound the torque by `LEVEL_SHARE` from the next cycle on."""
        if level != self._level:
            self._level = level
            self._cap_rounds = _CAP_ROUNDS

    def exchange(self, limp: Sequence[Slot], now_ns: int) -> Script:
        """Send the slots' goals, take the torque off those in `limp`, read everybody, set up who needs it."""
        silent_ns, self._spoken_ns = now_ns - self._spoken_ns, now_ns
        yield from self._look(silent_ns)
        if limp or not self._settled:
            yield from self._switch(limp)
        self._heard.clear()
        if self._single:
            yield from self._one_by_one()
        else:
            waiting = [slot for slot in self._slots if slot.goal != READ_ONLY]
            driven = waiting if self._settled else [slot for slot in waiting if slot.driven]
            prefix = self._caps_again() + self._goals(driven)
            for slot in driven:
                slot.goal = READ_ONLY
            yield from self._asker.block(self._slots, self._take, prefix)
        if limp or len(self._heard) < len(self._slots):
            self._conclude(limp)
        if not self._settled:
            yield from self._set_up()
            self._settled = all(slot.driven for slot in self._slots)

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

    def discover(self) -> Script:
        """Ask who is there, and of which model."""
        models = yield from search(self._layout, self._baud, self._by_id)
        self.found = tuple(models)
        self.found_models = {bus_id: number for bus_id, number in models.items() if number != NO_MODEL}

    def _look(self, silent_ns: int) -> Generator[Exchange, Answers, None]:
        """See whether servos still are as they were left: those that were missed, and all of them now and then."""
        watch = self._cycles % WATCH_CYCLES == 0
        self._cycles += 1
        stale = bool(self._watchdog_ns) and 2 * silent_ns > self._watchdog_ns
        if self._settled and not watch and not stale:
            return
        self._settled = False
        for slot in self._slots:
            if slot.state is State.READY and slot.doubt and not slot.gone and slot.torque is not Torque.ON:
                # What it keeps while it is powered may be gone, and nothing shows it.
                slot.restart()
        armed = [slot for slot in self._slots if slot.torque is Torque.ON and not slot.gone]
        doubted = [slot for slot in armed if slot.doubt]
        looked = armed if watch else doubted
        if looked:
            values = yield from self._asker.values(looked, self._torque)
            for slot in looked:
                value = values.get(slot.number)
                if value == _ON:
                    slot.doubt = False
                elif value is not None:
                    self.restarts += 1
                    slot.restart()
        suspects = [slot for slot in (armed if stale else doubted) if slot.torque is Torque.ON]
        if suspects and self._watchdog_ns:
            values = yield from self._asker.values(suspects, self._layout.register(self._layout.watchdog))
            for slot in suspects:
                if values.get(slot.number, 0) < 0:
                    self.trips += 1
                    slot.restart()

    def _switch(self, limp: Sequence[Slot]) -> Generator[Exchange, Answers, None]:
        """Turn the torque on where a goal waits and off where it is not wanted, and see whether it took."""
        # Also where it is believed to be off: somebody else, or the servo itself, may have turned it on since.
        off = list(limp)
        on = self._to_arm()
        if not off and not on:
            return
        values = [(slot, 0) for slot in off] + [(slot, _ON) for slot in on]
        prefix = self._arming(on) + self._write_all(self._torque, values)
        for slot in off:
            slot.torque = Torque.UNKNOWN
        found = yield from self._asker.values([slot for slot in off + on if not slot.gone], self._torque, prefix)
        for slot, _ in values:
            value = found.get(slot.number)
            slot.torque = Torque.UNKNOWN if value is None else Torque.ON if value == _ON else Torque.OFF
        for slot in on:
            slot.armings = 0 if slot.torque is Torque.ON else slot.armings + (slot.torque is Torque.OFF)
            if slot.armings >= ARMINGS:
                self._refuse(slot, f"servo {slot.address.name!r} (bus id {slot.bus_id}) does not turn its torque on")

    def _to_arm(self) -> list[Slot]:
        wanting = [slot for slot in self._slots if slot.goal != READ_ONLY and slot.drivable]
        idle = [slot for slot in wanting if slot.torque is not Torque.ON]
        driving = any(slot.torque is Torque.ON for slot in self._slots)
        # A leg is not driven by half of its servos while the others are still being set up.
        unready = any(slot.goal != READ_ONLY and slot.wants for slot in self._slots)
        return [] if unready and not driving else idle

    def _arming(self, slots: Sequence[Slot]) -> bytes:
        """Return what goes before the torque: a servo that started anew unseen has lost its gain and its bound."""
        if not slots:
            return b""
        packets = b""
        gain = self._layout.register(GAIN)
        if gain.access == "ram" or self._layout.lock:
            packets += self._write_all(gain, [(slot, slot.setup.gain) for slot in slots if slot.kind.model.gains[1]])
        packets += self._caps(slots)
        if self._watchdog_ns:
            register = self._layout.register(self._layout.watchdog)
            steps = min(max(round(self._watchdog_ns / self._layout.watchdog_step_ns), 1), register.high)
            for value in (0, steps):
                packets += self._write_all(register, [(slot, value) for slot in slots])
        return packets + self._goals(slots)

    def _caps_again(self) -> bytes:
        if not self._cap_rounds:
            return b""
        self._cap_rounds -= 1
        return self._caps([slot for slot in self._slots if slot.driven])

    def _caps(self, slots: Sequence[Slot]) -> bytes:
        by_register: dict[Register, list[tuple[Slot, int]]] = {}
        for slot in slots:
            name, full = slot.kind.cap
            stall = slot.kind.model.stall_torque_n_m
            limit = slot.address.torque_limit_n_m
            share = LEVEL_SHARE[self._level] * (min(limit, stall) / stall if limit > 0.0 else 1.0)
            value = min(max(round(share * full), 1), slot.setup.cap_most)
            by_register.setdefault(slot.kind.table[name], []).append((slot, value))
        return b"".join(self._write_all(register, values) for register, values in by_register.items())

    def _goals(self, slots: Sequence[Slot]) -> bytes:
        return self._write_all(self._goal, [(slot, _aim(slot)) for slot in slots])

    def _write_all(self, register: Register, values: Sequence[tuple[Slot, int]]) -> bytes:
        packets = b""
        for at in range(0, len(values), LONGEST_GROUP):
            part = [(slot.bus_id, value) for slot, value in values[at : at + LONGEST_GROUP]]
            packets += requests.sync_write(self._dialect, register, part)
        return packets

    def _one_by_one(self) -> Generator[Exchange, Answers, None]:
        """Write to and read every servo by itself; each write is answered."""
        prefix = self._caps_again()
        address, length = self._layout.block
        for slot in self._slots:
            ids = (slot.bus_id,)
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

    def _take(self, bus_id: int, packet: Packet, at_ns: int) -> None:
        """Weigh what a servo says of itself."""
        slot = self._by_id[bus_id]
        slot.gone = False
        self._heard.add(slot.number)
        self._note_alert(slot, bool(packet.error & self._layout.alert_mask))
        data, start = packet.params, self._layout.block[0]
        if len(data) != self._layout.block[1]:
            self._readings.refuse(slot.number)
            return
        load = slot.kind.table[slot.kind.load]
        low, high = slot.kind.model.positions
        position = self._position.decode(data[self._position_at : self._position_at + self._position.size])
        reading = load.decode(data[load.address - start : load.address - start + load.size])
        slot.beyond = not low - BEYOND_TICKS <= position <= high + BEYOND_TICKS
        alarm = slot.alert or slot.beyond
        self._readings.take(slot.number, min(max(position, low), high), reading, at_ns, alarm=alarm)

    def _note_alert(self, slot: Slot, alert: bool) -> None:
        if alert == slot.alert:
            return
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
                readings.miss(slot.number)
                slot.lose()
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

    def _set_up(self) -> Generator[Exchange, Answers, None]:
        """Go on finding out about servos and setting them up, for a while."""
        driving = any(slot.torque is Torque.ON for slot in self._slots)
        steps = 1 if driving else IDLE_STEPS
        for slot in self._slots:
            while steps > 0 and slot.wants:
                steps -= 1
                yield from self._step(slot)

    def _step(self, slot: Slot) -> Generator[Exchange, Answers, None]:
        """Make one exchange of a servo's set-up."""
        procedure, ask = slot.procedure, slot.ask
        if procedure is None or ask is None:
            procedure = self._procedure(slot)
            ask = next(procedure)
            slot.tries = 0
        # Should the cycle be broken off here, the set-up begins anew.
        slot.procedure = None
        packet = (yield self._exchange_of(slot, ask)).get(slot.bus_id)
        slot.tries += 1
        # What is burnt in is looked at before it is burnt in again: its answer may have been lost.
        burns = ask.value is not None and ask.register.access == "eeprom"
        if packet is None and slot.tries < _TRIES and not burns:
            slot.procedure, slot.ask = procedure, ask
            return
        answer = _answer(ask, packet)
        if answer is None and ask.value is None:
            slot.start_over()
            return
        slot.tries = 0
        try:
            slot.ask = procedure.send(answer)
            slot.procedure = procedure
        except NobodyAnswered:
            slot.start_over()
        except StopIteration as stop:
            self._settle(slot, stop.value)

    def _procedure(self, slot: Slot) -> Procedure:
        if slot.state is State.NEW:
            release, slot.release = slot.release, False
            return identify(self._layout, slot.address, alert=slot.alert, release=release)
        return configure(self._layout, slot.address, slot.kind)

    def _exchange_of(self, slot: Slot, ask: Ask) -> Exchange:
        register, ids = ask.register, (slot.bus_id,)
        if ask.value is None:
            request = requests.read(self._dialect, slot.bus_id, register.address, register.size)
            return Exchange(request, ids, register.size)
        return Exchange(requests.write(self._dialect, slot.bus_id, register, ask.value), ids)

    def _settle(self, slot: Slot, outcome: Identity | Setup) -> None:
        """Note what became of a set-up."""
        if isinstance(outcome, Identity):
            slot.kind = outcome.kind
            slot.state = State.KNOWN
        else:
            slot.setup = outcome
            slot.state, slot.torque = State.READY, Torque.OFF
            slot.doubt, slot.armings = False, 0
        if outcome.refusal:
            self._refuse(slot, outcome.refusal)
            if isinstance(outcome, Identity) and outcome.alert:
                slot.state = State.FAULT
        elif slot.why:
            slot.why = ""
            self._say_refusals()

    def _refuse(self, slot: Slot, why: str) -> None:
        slot.state, slot.why = State.REFUSED, why
        slot.abandon()
        self._say_refusals()

    def _say_refusals(self) -> None:
        self.refusals = tuple(slot.why for slot in self._slots if slot.why)


def _aim(slot: Slot) -> int:
    low, high = slot.setup.positions
    return min(max(slot.goal, low), high)


def _answer(ask: Ask, packet: Packet | None) -> Answer | None:
    if packet is None:
        return None
    if ask.value is not None:
        return Answer(0, packet.error)
    if len(packet.params) != ask.register.size:
        return None
    return Answer(ask.register.decode(packet.params), packet.error)
