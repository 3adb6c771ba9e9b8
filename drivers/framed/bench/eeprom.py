"""Settings that last, for one servo with registers: its id and its rate, each looked at afterwards.

Works on real and virtual clocks; one servo at a time, and nobody else speaks on the line meanwhile.
"""

from __future__ import annotations

from drivers.clock import WaitingClock
from drivers.errors import BusError
from drivers.framed.bench.single import TRIES, Line
from drivers.framed.layout import BAUD, ID, Kind, Layout
from drivers.port import Port


def burn_id(port: Port, pace: WaitingClock, layout: Layout, bus_id: int, new_id: int) -> None:
    """Give the servo another id for good, torque off, and see that it answers to that one only. Raises `BusError`."""
    line = Line(port, pace, layout)
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
        raise BusError(f"somebody still answers to id {bus_id}: there were two servos with it, or it did not change")


def _rename(line: Line, layout: Layout, bus_id: int, new_id: int) -> None:
    for _ in range(TRIES):
        # The answer to this may come under either id, or not at all.
        line.write(bus_id, layout.register(ID), new_id)
        if line.read(new_id, layout.register(ID)) == new_id:
            return
    raise BusError(f"the servo with id {bus_id} does not answer to {new_id}: look who is there (nuc bus scan)")


def burn_baud(port: Port, pace: WaitingClock, layout: Layout, bus_id: int, baud: int) -> None:
    """Set the servo to another rate for good, torque off, and see that it left the present one. Raises `BusError`.

    A lock that was opened for it closes when the servo's supply goes off.
    """
    line = Line(port, pace, layout)
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


def _code_of(layout: Layout, kind: Kind, baud: int) -> int:
    most = kind.table[BAUD].high
    codes = {rate: code for code, rate in layout.bauds.items() if code <= most}
    if baud not in codes:
        rates = ", ".join(map(str, sorted(codes)))
        raise BusError(f"{kind.model.name} can not be set to {baud} bit/s: expected one of {rates}")
    return codes[baud]
