"""Emulated servos with registers in front of a plant whose every call is written down, and a host that talks bytes."""

from __future__ import annotations

from drivers.dynamixel.emulator import EMULATION as DYNAMIXEL_SERVOS
from drivers.dynamixel.layout import LAYOUT as DYNAMIXEL
from drivers.feetech.emulator import EMULATION as FEETECH_SERVOS
from drivers.feetech.layout import LAYOUT as FEETECH
from drivers.framed.packet import BROADCAST, PING, READ, SYNC_READ, SYNC_WRITE, WRITE
from drivers.inprocess import InProcessPort
from drivers.servo import Motion, ServoAddress

MS = 1_000_000
SOON = 2_000 * MS


class StillPlant:
    """Shafts stand where the test puts them, and turn and pull as it says; steps are 1 ms."""

    def __init__(self, count: int, tick_deg: float) -> None:
        self.tick_deg = tick_deg
        self.motions = [Motion(1000 * tick_deg, 0.0, 0.0, 0.0)] * count
        self.calls: list[tuple[object, ...]] = []
        self.now_ns = 0
        self.path = None

    def advance(self, now_ns: int) -> None:
        self.now_ns = max(self.now_ns, now_ns)

    def command(self, servo: int, goal_deg: float, level: int) -> None:
        raise AssertionError("servos with registers say themselves how they are driven")

    def drive(self, servo: int, goal_deg: float, stiffness_n_m_deg: float, limit_n_m: float) -> None:
        self.calls.append(("drive", servo, round(goal_deg / self.tick_deg), stiffness_n_m_deg, limit_n_m))

    def release(self, servo: int) -> None:
        self.calls.append(("release", servo))

    def sample(self, servo: int) -> tuple[float, float]:
        motion = self.motion(servo)
        return motion.angle_deg, abs(motion.current_a)

    def motion(self, servo: int) -> Motion:
        return self.motions[servo] if self.path is None else self.path(servo, self.now_ns)

    def put(self, servo: int, *, ticks=None, deg_s=0.0, n_m=0.0, a=0.0) -> None:
        angle = self.motions[servo].angle_deg if ticks is None else ticks * self.tick_deg
        self.motions[servo] = Motion(angle, deg_s, n_m, a)

    def taken(self) -> list[tuple[object, ...]]:
        """Return the calls since the last time, without advances."""
        calls, self.calls = self.calls, []
        return calls

    def goals(self) -> list[tuple[object, ...]]:
        """The same, of a drive servo and goal only."""
        return [call[:3] for call in self.taken()]


class Host:
    """One end of the line; each request starts when the one before has been answered or given up."""

    def __init__(self, layout, emulation, ids, model, *, baud=1_000_000, **options):
        self.dialect = layout.dialect
        self.plant = StillPlant(len(ids), layout.first.model.tick_deg)
        addresses = [ServoAddress(bus_id, f"servo {bus_id}", model) for bus_id in ids]
        self.emulator = emulation.power_up(layout, addresses, self.plant, baud=baud, **options)
        self.port = InProcessPort(self.emulator, self.emulator.baud)
        self.now_ns = 0

    def send(self, frame: bytes, wait_ns: int = 20 * MS) -> bytes:
        """Send bytes; return what comes back within the time."""
        self.port.write(frame, self.now_ns)
        self.now_ns += wait_ns
        return self.port.read(self.now_ns)

    def ask(self, bus_id: int, instruction: int, params: bytes = b"", wait_ns: int = 20 * MS):
        """Send an instruction; return the statuses that come back."""
        reply = self.send(self.dialect.instruction(bus_id, instruction, params), wait_ns)
        parser = self.dialect.parser(status=True)
        packets = [packet for _, packet in parser.feed(reply)]
        assert parser.idle
        assert parser.stray_bytes == parser.bad_checksums == 0
        return packets

    def number(self, *values: int) -> bytes:
        return b"".join(value.to_bytes(self.dialect.address_bytes, "little") for value in values)

    def ping(self, bus_id: int):
        return self.ask(bus_id, PING)

    def read(self, bus_id: int, register):
        """Return the value of a register, or the error byte of the status as (error,)."""
        (status,) = self.ask(bus_id, READ, self.number(register.address, register.size))
        return register.decode(status.params) if status.params else (status.error,)

    def write(self, bus_id: int, register, value: int):
        """Return the error byte of the status, None when there was none."""
        return self.write_bytes(bus_id, register.address, register.encode(value))

    def write_bytes(self, bus_id: int, address: int, data: bytes):
        statuses = self.ask(bus_id, WRITE, self.number(address) + data)
        return statuses[0].error if statuses else None

    def sync_read(self, ids, register):
        statuses = self.ask(BROADCAST, SYNC_READ, self.number(register.address, register.size) + bytes(ids))
        return {status.bus_id: register.decode(status.params) for status in statuses}

    def sync_write(self, register, values):
        params = b"".join(bytes((bus_id,)) + register.encode(value) for bus_id, value in values.items())
        assert self.ask(BROADCAST, SYNC_WRITE, self.number(register.address, register.size) + params) == []


def feetech(*ids: int, model: str = "STS3215", **options) -> Host:
    """Return the host of a line with STS servos."""
    return Host(FEETECH, FEETECH_SERVOS, ids, model, **options)


def dynamixel(*ids: int, model: str = "XM430-W350", **options) -> Host:
    """Return the host of a line with Dynamixel servos."""
    return Host(DYNAMIXEL, DYNAMIXEL_SERVOS, ids, model, **options)
