"""Servos of any family beside a core on paper, on a port that can be pulled out or held up."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

from drivers.errors import PortGoneError
from drivers.factory import find_family
from drivers.family import Emulator
from drivers.group import BusGroup
from drivers.inprocess import InProcessPort
from drivers.port import NEVER
from drivers.serial.lineoptions import given_options
from drivers.url import LineSpec
from nuc_engine.bout.run import prepare_bout
from nuc_engine.configurations.adapt import adapt, write_adapted
from nuc_engine.daemon.lines import servos_of
from nuc_engine.machine.locations import find_configuration
from nuc_engine.model.motors import families_of, family_of
from nuc_engine.model.plan import Plan
from nuc_engine.plants.loopback import LoopbackPlant
from tests.daemon.bus_rows import Form
from tests.daemon.cores import Bench


class WeakPort(InProcessPort):
    """Is gone while `gone`; while held up nothing passes until `held_ns`, and then everything at once.

    What comes in is given over `behind_ns` later than it came.
    """

    def __init__(self, end: Emulator, baud: int) -> None:
        super().__init__(end, baud)
        self.gone = False
        self.held_ns = self.behind_ns = 0
        self.said = 0
        self._waiting: list[bytes] = []

    def write(self, data: bytes, now_ns: int) -> None:
        self._look(now_ns)
        self.said += len(data)
        if now_ns < self.held_ns:
            self._waiting.append(data)
        else:
            super().write(data, now_ns)

    def read(self, now_ns: int) -> bytes:
        self._look(now_ns)
        return b"" if now_ns < self.held_ns else super().read(now_ns - self.behind_ns)

    def ready_ns(self, expected: int) -> int:
        ready_ns = super().ready_ns(expected)
        return ready_ns if ready_ns == NEVER else max(ready_ns + self.behind_ns, self.held_ns)

    def _look(self, now_ns: int) -> None:
        if self.gone:
            raise PortGoneError("the adapter is gone")
        if now_ns >= self.held_ns:
            waiting, self._waiting = self._waiting, []
            for data in waiting:
                super().write(data, self.held_ns)


class Shafts(LoopbackPlant):
    """Servos without a world; `driven_ns` is when each that has torque was last told a goal."""

    def __init__(self, plan: Plan) -> None:
        self.driven_ns: dict[int, int] = {}
        self.limp_ns: dict[int, int] = {}
        self.now_ns = 0
        super().__init__(plan)

    def advance(self, now_ns: int) -> None:
        self.now_ns = max(self.now_ns, now_ns)
        super().advance(now_ns)

    def command(self, servo: int, goal_deg: float, level: int) -> None:
        self.driven_ns[servo] = self.now_ns
        self.limp_ns.pop(servo, None)
        super().command(servo, goal_deg, level)

    def drive(self, servo: int, goal_deg: float, stiffness_n_m_deg: float, limit_n_m: float) -> None:
        self.driven_ns[servo] = self.now_ns
        self.limp_ns.pop(servo, None)
        super().drive(servo, goal_deg, stiffness_n_m_deg, limit_n_m)

    def release(self, servo: int) -> None:
        self.limp_ns.setdefault(servo, self.now_ns)
        super().release(servo)

    def turn_by_hand(self, servo: int, angle_deg: float) -> None:
        """Put a shaft elsewhere at once."""
        self._angle[servo] += angle_deg


@cache
def configuration(model: str) -> str:
    """Return the roach's leg with servos of another model."""
    if not model:
        return "lin_roach"
    folder = Path(tempfile.mkdtemp(prefix="nuc_roach_")) / model
    if not model.startswith("wCK"):
        write_adapted(adapt("lin_roach", model), folder)
        return str(folder)
    shutil.copytree(find_configuration("lin_roach"), folder)
    joints = folder / "joints.xml"
    text = joints.read_text()
    for old in ("1001", "701"):
        text = text.replace(f'modelnum="{old}"', f'modelnum="{model}"')
    joints.write_text(text)
    return str(folder)


class Line:
    """One emulated bus: its servos, their shafts, the port and a bus on it."""

    def __init__(self, plan: Plan, url: str, members: tuple[int, ...], seed: int) -> None:
        family = find_family(family_of(url))
        self.url, self.servos = url, servos_of(plan, members)
        self.shafts = Shafts(replace(plan, motors=tuple(plan.motors[k] for k in members)))
        self.emulator: Any = family.emulator(url, self.servos, self.shafts, seed)
        self.port = WeakPort(self.emulator, self.emulator.baud)
        self.bus = self.another_bus()

    @property
    def spec(self) -> LineSpec:
        family = find_family(family_of(self.url))
        own = {k: v for k, v in given_options(family, self.url).items() if k in family.line_options and k != "baud"}
        return LineSpec(family.name, "", self.emulator.baud, own)

    def another_bus(self) -> Any:
        """Return another bus on the same port, which knows nothing yet."""
        spec = self.spec
        return find_family(spec.family).bus_on_port(spec, self.port, self.servos)

    @property
    def all_limp(self) -> bool:
        return len(self.shafts.limp_ns) == len(self.servos)


def on_paper(form: Form, buses: int = 1, seed: int = 1, lines: list[Line] | None = None, **options: Any) -> Any:
    """Return a core beside these servos, and the lines they hang on; `lines` are those of a core that went before.

    Its clock begins where time is on those lines.
    """
    found: list[Line] = []
    config = configuration(form.model)
    names = [""] if buses == 1 else [f"bus{k}" for k in range(buses)]

    def wiring(_: Plan) -> tuple[Plan, Any]:
        plan = prepare_bout(config, None, families=families_of((name, form.url) for name in ("", *names))).plan
        motors = tuple(replace(motor, bus=names[motor.index % buses]) for motor in plan.motors)
        plan = replace(plan, motors=motors)
        members = [tuple(k for k, motor in enumerate(motors) if motor.bus == name) for name in names]
        found.extend(lines or [Line(plan, form.url, some, seed + b) for b, some in enumerate(members)])
        slots = {k: (b, place) for b, some in enumerate(members) for place, k in enumerate(some)}
        for line in found:
            line.bus = line.another_bus()
        real = [line.bus for line in found]
        return plan, real[0] if buses == 1 else BusGroup(real, [slots[k] for k in range(len(motors))])

    bench = Bench(config, wiring=wiring, **options)
    bench.clock.now_ns = max(bench.clock.now_ns, *(line.shafts.now_ns for line in found))
    return bench, found


def until(bench: Any, true: Callable[[], bool], seconds: float) -> int:
    """Let the core work until something is true; return how many ms that took. Fails after so long."""
    begun = bench.clock.now_ns
    while not true():
        assert bench.clock.now_ns < begun + seconds * 1e9, "it never was"
        bench.core.turn()
    return (bench.clock.now_ns - begun) // 1_000_000
