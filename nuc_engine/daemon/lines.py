"""The buses of a plan on ports that are open: which motors hang on which, and what takes the torque off all of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import cycle

from drivers.bus import Bus
from drivers.errors import BusUrlError, PortError
from drivers.factory import bus_on_port, find_family, parse_line
from drivers.port import NEVER, wire_ns
from drivers.serial.held import DeclaredHoldPort
from drivers.serial.latency import Latency
from drivers.serial.lineoptions import latency_ns
from drivers.serial.port import SerialPort
from drivers.servo import ServoAddress
from drivers.url import LineSpec
from nuc_engine.daemon.launch import BusLine
from nuc_engine.daemon.release import GuardedBus
from nuc_engine.model.motors import addresses_of
from nuc_engine.model.plan import Plan

_LONGEST_VOLLEY_S = 60

_REQUEST_BYTES, _SERVO_BYTES = 32, 6
"""What the requests of a cycle that drives are at most, and for each servo: its goal, and that it is to answer."""


class _Tape:
    """A port without a device: it only records what is written."""

    def __init__(self) -> None:
        self.written = b""

    @property
    def hold_ns(self) -> int:
        return 0

    @property
    def late_ns(self) -> int:
        return 0

    @property
    def counts(self) -> Mapping[str, int]:
        return {}

    def write(self, data: bytes, now_ns: int) -> None:
        self.written += data

    def read(self, now_ns: int) -> bytes:
        return b""

    def flush_input(self, now_ns: int) -> int:
        return 0

    def ready_ns(self, expected: int) -> int:
        return NEVER

    def filenos(self) -> tuple[int, ...]:
        return ()

    def close(self) -> None:
        pass


def assign_motors(names: Sequence[str], plan: Plan) -> tuple[tuple[int, ...], ...]:
    """Return the plan's numbers of the motors on each of the buses called `names`, in the plan's order.

    A bus without a name is the only one. Raises BusUrlError when a motor has no bus, or a bus no motor.
    """
    if list(names) == [""]:
        return (tuple(motor.index for motor in plan.motors),)
    for motor in plan.motors:
        if motor.bus not in names:
            wanted = f"bus {motor.bus!r}" if motor.bus else "no bus by name"
            raise BusUrlError(f"motor {motor.name!r} names {wanted}; there are {', '.join(map(repr, names))}")
    found = tuple(tuple(motor.index for motor in plan.motors if motor.bus == name) for name in names)
    for name, motors in zip(names, found, strict=True):
        if not motors:
            raise BusUrlError(f"no motor of {plan.name} is on bus {name!r}: leave it out")
    return found


def servos_of(plan: Plan, motors: Sequence[int]) -> tuple[ServoAddress, ...]:
    """Return the addresses of some of the plan's motors."""
    return addresses_of([plan.motors[k] for k in motors])


def open_lines(buses: Sequence[BusLine], plan: Plan) -> tuple[GuardedBus, ...]:
    """Return the buses of `plan` for taking the torque off; descriptors are open. Raises BusUrlError, PortError."""
    lines: list[GuardedBus] = []
    for bus, motors in zip(buses, assign_motors([bus.name for bus in buses], plan), strict=True):
        spec = parse_line(bus.url)
        port = _port(bus.fd, spec.baud)
        servos = servos_of(plan, motors)
        built = bus_on_port(spec, port, servos)
        told = DeclaredHoldPort(port, latency_ns(spec.options))
        volley, behind_ns = release_burst_of(spec, servos)
        lines.append(GuardedBus(bus.name, spec.baud, told, built, motors, volley, port.flush_output, behind_ns))
    return tuple(lines)


def release_burst_of(spec: LineSpec, servos: Sequence[ServoAddress]) -> tuple[bytes, int]:
    """Return what takes the torque off all servos, and for how long a core's last requests may hold it back (ns).

    It is what their bus writes when none of them answers, but for what only asks. Where it asks separately, host and
    servos share a wire: then there is no more of it, and it is repeated for as long as all that would have taken, which
    is what a cycle takes with its replies, since it is not heard while servos answer.
    """
    said, padding = release_bytes_of(spec, servos)
    begin, off, length = 0, list[bytes](), 0
    for last, heard in find_family(spec.family).sniffer().feed(said):
        packet = said[begin : last + 1].lstrip(b"\0")
        begin = last + 1
        length += len(packet)
        if heard.releases:
            off.append(packet)
    if not off or sum(map(len, off)) == length:
        return said, 0
    volley, again = b"", cycle(off)
    while len(volley) < length:
        volley += next(again)
    if padding:
        # FF behind a packet that seems one or two bytes longer than it is would complete it, with a right checksum.
        # Those who wait for more are set free by the bus, when they do not answer: that takes 44 ms at 57,600 baud,
        # for which all others would wait.
        volley = padding[:2] + volley
    return volley, wire_ns(_REQUEST_BYTES + _SERVO_BYTES * len(servos), spec.baud)


def release_bytes_of(spec: LineSpec, servos: Sequence[ServoAddress]) -> tuple[bytes, bytes]:
    """Return what a bus says to release servos none of which answers, and the zeros it begins with the next time."""
    tape = _Tape()
    bus: Bus = bus_on_port(spec, tape, servos)
    now_ns = 0
    said: list[bytes] = []
    for _ in range(2):
        tape.written = b""
        bus.torque_off(now_ns)
        while not bus.proceed(now_ns) and now_ns < _LONGEST_VOLLEY_S * 1_000_000_000:
            now_ns = bus.wake_ns
        said.append(tape.written)
    first, again = said
    return first, again[: len(again) - len(again.lstrip(b"\0"))]


def _port(fd: int, baud: int) -> SerialPort:
    try:
        return SerialPort(fd, baud)
    except PortError:
        # Gone already: its user gets the error and can go on with the other buses.
        return SerialPort(fd, baud, latency=Latency(asked=False, verified=None, timer_ms=None, remark="not asked"))
