"""Single exchanges with a servo with registers, each waited for: for what is looked at and set at the bench.

Works on real and virtual clocks; one servo at a time, and nobody else speaks on the line meanwhile.
"""

from __future__ import annotations

from typing import Final

from drivers.clock import WaitingClock
from drivers.errors import BusError
from drivers.framed import requests
from drivers.framed.layout import BAUD, ID, MODEL, TORQUE, FamilyLayout, ModelLayout
from drivers.framed.packet import Packet
from drivers.framed.registers import Register
from drivers.port import Port

EEPROM_TIMEOUT_NS: Final = 100_000_000
"""How long an answer is waited for; a servo may be busy with its EEPROM."""

TRIES: Final = 3


class BlockingLine:
    """Single exchanges, each waited for. All of it raises `PortError` when the port fails."""

    def __init__(self, port: Port, pace: WaitingClock, layout: FamilyLayout) -> None:
        """Speak through `port` to servos of the family."""
        self._port, self._pace, self._layout = port, pace, layout
        # What goes before the next request: servos that did not answer may still wait for the rest of the last one.
        self._lead = b""

    def expect(self, bus_id: int) -> ModelLayout:
        """Return what the servo is. Raises `BusError` for nobody, and for a model that is not known."""
        number = self.read(bus_id, self._layout.register(MODEL))
        if number is None:
            if self.ping(bus_id):
                raise BusError(
                    f"id {bus_id} answers a ping and says nothing of itself: is that the request come back (echo=1 in"
                    " the URL), or is it set to answer nothing else (status_level 0, which the maker's tool mends)? Or"
                    " does the line lose answers (nuc bus ping)?"
                )
            raise BusError(f"nobody answers to id {bus_id}: look who is there (nuc bus scan)")
        kind = self._layout.kind_of(number)
        if kind is None:
            raise BusError(f"the servo with id {bus_id} is of an unknown model (number {number}): nothing is written")
        return kind

    def release(self, bus_id: int) -> None:
        """Take the torque off. Raises `BusError` when the servo does not confirm."""
        self.settle(bus_id, self._layout.register(TORQUE), 0)

    def unlock(self, bus_id: int) -> None:
        """Let settings last that are written from now on. Raises `BusError` when the servo does not confirm."""
        if self._layout.lock:
            self.settle(bus_id, self._layout.register(self._layout.lock), 0)

    def lock(self, bus_id: int) -> None:
        """Let settings no longer last. Raises `BusError` when the servo does not confirm."""
        if self._layout.lock:
            self.settle(bus_id, self._layout.register(self._layout.lock), 1)

    def close_lock(self, *bus_ids: int) -> str:
        """Let settings no longer last, under whichever of the ids it answers to; say so where that is not known."""
        for bus_id in bus_ids:
            try:
                self.lock(bus_id)
            except BusError:
                continue
            return ""
        return (
            f"; its {self._layout.lock} may be open still, so that whatever is written to it is kept: take its supply"
            " off and on"
        )

    def settle(self, bus_id: int, register: Register, value: int) -> None:
        """Set a register and read it back; what is read decides, since an answer may be lost.

        Raises `BusError` when it does not take, or nobody says whether it did.
        """
        found: int | None = None
        for _ in range(TRIES):
            self.write(bus_id, register, value)
            found = self.read(bus_id, register)
            if found == value:
                return
        if found is None:
            raise BusError(
                f"the servo with id {bus_id} no longer answers: whether its {register.name} is {value} is not known;"
                " look at it again before it is driven"
            )
        raise BusError(f"{register.name} of the servo with id {bus_id} stays {found} where {value} was written")

    def ping(self, bus_id: int) -> bool:
        """Say whether somebody answers to an id."""
        request = requests.ping(self._layout.dialect, bus_id)
        return any(self._exchange(bus_id, request) is not None for _ in range(TRIES))

    def read(self, bus_id: int, register: Register) -> int | None:
        """Return the value of a register, None when nobody says it."""
        status = self.ask(bus_id, register)
        return register.decode(status.params) if status is not None and has_value(status, register) else None

    def ask(self, bus_id: int, register: Register) -> Packet | None:
        """Return the answer with the value of a register, else one without it, None when there is none at all."""
        request = requests.read(self._layout.dialect, bus_id, register.address, register.size)
        heard: Packet | None = None
        for _ in range(TRIES):
            status = self._exchange(bus_id, request)
            if status is not None and has_value(status, register):
                return status
            heard = status or heard
        return heard

    def write(self, bus_id: int, register: Register, value: int) -> None:
        """Set a register once. Raises `BusError` when the servo refuses; it need not answer."""
        layout = self._layout
        status = self._exchange(bus_id, requests.write(layout.dialect, bus_id, register, value))
        if status is not None and status.error & layout.refusal_mask:
            words = layout.explain(status.error)
            raise BusError(f"the servo with id {bus_id} refuses {register.name} = {value}: {words}")

    def _exchange(self, bus_id: int, request: bytes) -> Packet | None:
        port, pace = self._port, self._pace
        parser = self._layout.dialect.parser(status=True)
        port.flush_input(pace.now_ns)
        port.write(self._lead + request, pace.now_ns)
        self._lead = b""
        deadline_ns = pace.now_ns + EEPROM_TIMEOUT_NS
        while True:
            for _, packet in parser.feed(port.read(pace.now_ns)):
                if packet.bus_id == bus_id:
                    return packet
            if pace.now_ns >= deadline_ns:
                break
            pace.wait(min(port.ready_ns(1), deadline_ns), port.filenos())
        # A status does not say what it is about: one that comes late is let pass before anything else is asked.
        while pace.now_ns < deadline_ns + EEPROM_TIMEOUT_NS:
            pace.wait(deadline_ns + EEPROM_TIMEOUT_NS, ())
        port.flush_input(pace.now_ns)
        self._lead = self._layout.padding
        return None


def has_value(status: Packet, register: Register) -> bool:
    """Say whether an answer has a register's value in it."""
    return len(status.params) == register.size


def write_id(port: Port, pace: WaitingClock, layout: FamilyLayout, bus_id: int, new_id: int) -> None:
    """Give the servo another id for good, torque off, and see that it answers to that one only. Raises `BusError`."""
    line = BlockingLine(port, pace, layout)
    if new_id == bus_id or line.ping(new_id):
        raise BusError(f"id {new_id} is taken: take the servo that has it off the line, or choose another id")
    line.expect(bus_id)
    line.release(bus_id)
    try:
        line.unlock(bus_id)
        _rename(line, layout, bus_id, new_id)
    except BusError as error:
        raise type(error)(f"{error}{line.close_lock(new_id, bus_id)}") from error
    except KeyboardInterrupt:
        line.close_lock(new_id, bus_id)
        raise
    if left := line.close_lock(new_id):
        raise BusError(f"the servo with id {bus_id} answers to {new_id} now, and keeps that{left}")
    if line.ping(bus_id):
        raise BusError(f"a servo still answers to id {bus_id}: there were two servos with it, or it did not change")


def _rename(line: BlockingLine, layout: FamilyLayout, bus_id: int, new_id: int) -> None:
    for _ in range(TRIES):
        # The answer to this may come under either id, or not at all.
        line.write(bus_id, layout.register(ID), new_id)
        if line.read(new_id, layout.register(ID)) == new_id:
            return
    raise BusError(f"the servo with id {bus_id} does not answer to {new_id}: look who is there (nuc bus scan)")


def write_baud(port: Port, pace: WaitingClock, layout: FamilyLayout, bus_id: int, baud: int) -> None:
    """Set the servo to another rate for good, torque off, and see that it left the present one. Raises `BusError`.

    A lock that was opened for it closes when the servo's supply goes off.
    """
    line = BlockingLine(port, pace, layout)
    code = _code_of(layout, line.expect(bus_id), baud)
    if line.read(bus_id, layout.register(BAUD)) == code:
        raise BusError(f"the servo with id {bus_id} is set to {baud} bit/s already")
    line.release(bus_id)
    try:
        line.unlock(bus_id)
        for _ in range(TRIES):
            line.write(bus_id, layout.register(BAUD), code)
            if not line.ping(bus_id):
                return
    except BusError as error:
        raise type(error)(f"{error}{line.close_lock(bus_id)}") from error
    left = line.close_lock(bus_id)
    raise BusError(f"the servo with id {bus_id} still answers at the old rate: it did not take {baud} bit/s{left}")


def _code_of(layout: FamilyLayout, kind: ModelLayout, baud: int) -> int:
    most = kind.table[BAUD].high
    codes = {rate: code for code, rate in layout.bauds.items() if code <= most}
    if baud not in codes:
        rates = ", ".join(map(str, sorted(codes)))
        raise BusError(f"{kind.model.name} can not be set to {baud} bit/s: expected one of {rates}")
    return codes[baud]
