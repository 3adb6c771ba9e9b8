"""A plant whose every call is written down, and buses in front of it."""

from __future__ import annotations

from drivers.aimotor.bus import AiMotorBus
from drivers.aimotor.emulation.emulator import AiMotorEmulator
from drivers.inprocess import InProcessPort
from drivers.port import NEVER
from drivers.servo import Motion, ServoAddress

MS = 1_000_000
# At 57,600 baud: 4 bytes, 2 bytes, and the turnaround.
REQUEST_NS, REPLY_NS, TURN_NS = 694_444, 347_222, 230_000
EXCHANGE_NS = REQUEST_NS + TURN_NS + REPLY_NS
# After a failed exchange a reply counts once nothing followed it for the time of another reply and a servo's delay.
LISTEN_NS = REPLY_NS + 500_000


class ScriptedPlant:
    """Shafts stand where the test puts them (or where `path` says); steps are 1 ms."""

    def __init__(self, count: int = 4) -> None:
        self.angles = [100 * 0.654] * count
        self.currents = [0.2] * count
        self.calls: list[tuple[object, ...]] = []
        self.now_ns = 0
        self.path = None

    def advance(self, now_ns: int) -> None:
        self.calls.append(("advance", now_ns))
        self.now_ns = now_ns - now_ns % MS

    def command(self, servo: int, goal_deg: float, level: int) -> None:
        self.calls.append(("command", servo, round(goal_deg / 0.654), level))

    def drive(self, servo: int, goal_deg: float, stiffness_n_m_deg: float, limit_n_m: float) -> None:
        self.calls.append(("drive", servo, round(goal_deg, 6), stiffness_n_m_deg, limit_n_m))

    def release(self, servo: int) -> None:
        self.calls.append(("release", servo))

    def sample(self, servo: int) -> tuple[float, float]:
        angle = self.angles[servo] if self.path is None else self.path(servo, self.now_ns)
        return angle, self.currents[servo]

    def motion(self, servo: int) -> Motion:
        angle, current = self.sample(servo)
        return Motion(angle, 0.0, 0.0, current)

    def commands(self) -> list[tuple[object, ...]]:
        return [call for call in self.calls if call[0] != "advance"]


def addresses(*ids: int) -> list[ServoAddress]:
    return [ServoAddress(bus_id, f"motor{bus_id}", "701") for bus_id in ids]


def wired(*ids, **options):
    """Return (port, emulator, plant) of fresh servos."""
    plant = ScriptedPlant(len(ids))
    emulator = AiMotorEmulator(addresses(*ids), plant, **options)
    return InProcessPort(emulator, emulator.baud), emulator, plant


class Polled:
    """A port that does not know what is coming, as a real one: it only knows what is there."""

    def __init__(self, port):
        self.write, self.read, self.flush_input, self.close = port.write, port.read, port.flush_input, port.close

    def ready_ns(self, expected):
        return NEVER

    def filenos(self):
        return (7,)


def rig(ids=(0, 1, 2, 3), *, bus_options=None, **options):
    """Return (bus, emulator, plant) of a fresh emulated leg."""
    port, emulator, plant = wired(*ids, **options)
    return AiMotorBus(port, addresses(*ids), baud=emulator.baud, **(bus_options or {})), emulator, plant
