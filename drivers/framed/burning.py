"""Settings that last, for one servo with registers: its id and its rate, each looked at afterwards.

Works on real and virtual clocks; one servo at a time, and nobody else speaks on the line meanwhile.
"""

from __future__ import annotations

from typing import Final

from drivers.bench import Pace
from drivers.errors import BusError
from drivers.framed import requests
from drivers.framed.layout import BAUD, ID, MODEL, TORQUE, Kind, Layout
from drivers.framed.packet import Packet
from drivers.framed.registers import Register
from drivers.port import Port

PATIENCE_NS: Final = 100_000_000
"""How long an answer is waited for; a servo may be busy with its EEPROM."""

_TRIES: Final = 3


def burn_id(port: Port, pace: Pace, layout: Layout, bus_id: int, new_id: int) -> None:
    """Give the servo another id for good, torque off, and see that it answers to that one only. Raises `BusError`."""
    line = _Line(port, pace, layout)
    if new_id == bus_id or line.ping(new_id):
        raise BusError(f"id {new_id} is taken: take the servo that has it off the line, or choose another id")
    line.expect(bus_id)
    line.open(bus_id)
    for _ in range(_TRIES):
        # The answer to this may come under either id, or not at all.
        line.write(bus_id, layout.register(ID), new_id)
        if line.read(new_id, layout.register(ID)) == new_id:
            break
    else:
        raise BusError(f"the servo with id {bus_id} does not answer to {new_id}: look who is there (nuc bus scan)")
    if layout.lock:
        line.settle(new_id, layout.register(layout.lock), 1)
    if line.ping(bus_id):
        raise BusError(f"somebody still answers to id {bus_id}: there were two servos with it, or it did not change")


def burn_baud(port: Port, pace: Pace, layout: Layout, bus_id: int, baud: int) -> None:
    """Set the servo to another rate for good, torque off, and see that it left the present one. Raises `BusError`.

    A lock that was opened for it closes when the servo's supply goes off.
    """
    line = _Line(port, pace, layout)
    code = _code_of(layout, line.expect(bus_id), baud)
    if line.read(bus_id, layout.register(BAUD)) == code:
        raise BusError(f"the servo with id {bus_id} is set to {baud} bit/s already")
    line.open(bus_id)
    for _ in range(_TRIES):
        line.write(bus_id, layout.register(BAUD), code)
        if not line.ping(bus_id):
            return
    raise BusError(f"the servo with id {bus_id} still answers at the old rate: it did not take {baud} bit/s")


def _code_of(layout: Layout, kind: Kind, baud: int) -> int:
    most = kind.table[BAUD].high
    codes = {rate: code for code, rate in layout.bauds.items() if code <= most}
    if baud not in codes:
        rates = ", ".join(map(str, sorted(codes)))
        raise BusError(f"{kind.model.name} can not be set to {baud} bit/s: expected one of {rates}")
    return codes[baud]


class _Line:
    """Single exchanges, each waited for."""

    def __init__(self, port: Port, pace: Pace, layout: Layout) -> None:
        self._port, self._pace, self._layout = port, pace, layout

    def expect(self, bus_id: int) -> Kind:
        """Return what the servo is. Raises `BusError` for nobody, and for a model that is not known."""
        number = self.read(bus_id, self._layout.register(MODEL))
        if number is None:
            raise BusError(f"nobody answers to id {bus_id}: look who is there (nuc bus scan)")
        kind = self._layout.kind_of(number)
        if kind is None:
            raise BusError(f"the servo with id {bus_id} is of an unknown model (number {number}): nothing is written")
        return kind

    def open(self, bus_id: int) -> None:
        """Take the torque off and let settings last. Raises `BusError` when the servo does not confirm."""
        self.settle(bus_id, self._layout.register(TORQUE), 0)
        if self._layout.lock:
            self.settle(bus_id, self._layout.register(self._layout.lock), 0)

    def settle(self, bus_id: int, register: Register, value: int) -> None:
        """Set a register and read it back. Raises `BusError` when it does not take."""
        for _ in range(_TRIES):
            self.write(bus_id, register, value)
            if self.read(bus_id, register) == value:
                return
        raise BusError(
            f"{register.name} of the servo with id {bus_id} does not become {value}: look whether it is well"
        )

    def ping(self, bus_id: int) -> bool:
        """Say whether somebody answers to an id."""
        request = requests.ping(self._layout.dialect, bus_id)
        return any(self._exchange(bus_id, request) is not None for _ in range(_TRIES))

    def read(self, bus_id: int, register: Register) -> int | None:
        """Return the value of a register, None when nobody says it."""
        request = requests.read(self._layout.dialect, bus_id, register.address, register.size)
        for _ in range(_TRIES):
            status = self._exchange(bus_id, request)
            if status is not None and len(status.params) == register.size:
                return register.decode(status.params)
        return None

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
        port.write(request, pace.now_ns)
        deadline_ns = pace.now_ns + PATIENCE_NS
        while True:
            for _, packet in parser.feed(port.read(pace.now_ns)):
                if packet.bus_id == bus_id:
                    return packet
            if pace.now_ns >= deadline_ns:
                return None
            pace.wait(min(port.ready_ns(1), deadline_ns), port.filenos())
