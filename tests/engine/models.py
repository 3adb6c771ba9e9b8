"""Plans written by hand, and a bus that answers what a test tells it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from drivers.port import NEVER
from drivers.servo import ReplyStatus
from nuc_engine.control.bus_tap import ExchangeReplies
from nuc_engine.control.tasks.board import Board
from nuc_engine.model.changes import Changeset, Controlled
from nuc_engine.model.plan import (
    ActivationPlan,
    FunctionPlan,
    HdsoPlan,
    InitialWrite,
    JointPlan,
    MotorPlan,
    MusclePlan,
    Plan,
    Slot,
    StatePlan,
)
from nuc_engine.model.planning import stored_values
from nuc_engine.model.store import TYPES


@dataclass
class PlanMaker:
    """Collects HDSOs in order and makes a plan of them."""

    hdsos: list[HdsoPlan] = field(default_factory=list)
    initial: list[InitialWrite] = field(default_factory=list)

    def add(
        self, id_num: int, name: str, kind: str = "parameter", datatype: str = "float", dims=(1,), **more: Any
    ) -> int:
        value = more.pop("value", None)
        count = 1
        for size in dims:
            count *= size
        width = TYPES[datatype][1]
        last = self.hdsos[-1] if self.hdsos else None
        end = 0 if last is None else last.offset + TYPES[last.datatype][1] * last.count
        offset = -(-end // width) * width
        plan = HdsoPlan(len(self.hdsos), id_num, name, kind, datatype, tuple(dims), offset, count, **more)
        self.hdsos.append(plan)
        if value is not None:
            if isinstance(value, str):
                value = stored_values(plan, value, {h.name: h.id_num for h in self.hdsos})
            elif not isinstance(value, tuple):
                value = (value,)
            self.initial.append(InitialWrite(plan.index, value))
        return plan.index


def one_joint(
    *,
    rules: tuple[str, str] = ("301 < 103", "301 > 104"),
    helper: str = "191",
    mode: str = "muscle",
    force_length: tuple[str, tuple[float, ...]] = ("linear", (2.0, -1.5)),
    force_velocity: tuple[str, tuple[float, ...]] = ("constant", (1.0,)),
    dwell_ns: int = 0,
    period_ns: int = 25_000_000,
    motor: dict[str, Any] | None = None,
) -> Plan:
    """One module with flexion and extension, two muscles and a servo of 2 ticks per degree, raw 100 at 0 degrees."""
    make = PlanMaker()
    speed = make.add(0, "motor_speed", datatype="int", value=3, valid=(0, 4))
    delay = make.add(1, "motor_control_delay_ns", datatype="llint", value=0, valid=(0, None))
    period = make.add(2, "statetrans_period_ns", datatype="llint", value=period_ns, valid=(100_000, None))
    make.add(103, "low", value=10.0, valid=(-170.0, 170.0))
    make.add(104, "high", value=40.0, valid=(-170.0, 170.0))
    make.add(105, "blank")
    activations = [
        make.add(121 + k, f"activation{k}", value=v, valid=(0, 2)) for k, v in enumerate((0.1, 0.8, 0.6, 0.2))
    ]
    zero = make.add(190, "zero", "constant", value=0.0)
    one = make.add(191, "one", "constant", value=1.0)
    shape = make.add(171, "fl", dims=(len(force_length[1]),), value=force_length[1])
    speedshape = make.add(172, "fv", dims=(len(force_velocity[1]),), value=force_velocity[1])
    dwell = make.add(194, "dwell", datatype="llint", value=dwell_ns)
    position = make.add(204, "position_command", value=128.0, valid=(0, 254))
    force = make.add(203, "force_command", value=7.0, valid=(0, 254))
    angle = make.add(301, "angle", "sensor", normal=(0, 255))
    current = make.add(302, "current", "sensor")
    start = make.add(20, "engine_start_time", "sensor", datatype="llint", value=-1)
    make.add(160, "helper", "boolstring", "int", (2, 30), value=helper)
    flexion = make.add(161, "Enter_flexion", "boolstring", "int", (2, 30), value=rules[0])
    extension = make.add(162, "Enter_extension", "boolstring", "int", (2, 30), value=rules[1])
    del one

    def function(kind: tuple[str, tuple[float, ...]], index: int) -> FunctionPlan:
        return FunctionPlan(kind[0], tuple(Slot(index, k) for k in range(len(kind[1]))))

    passive = FunctionPlan("constant", (Slot(zero),))
    fl, fv = function(force_length, shape), function(force_velocity, speedshape)
    muscles = (
        MusclePlan(0, 401, "flexor", 0, 95.0, 15.0, 100.0, 14.0, passive, fl, fv),
        MusclePlan(1, 402, "extensor", 0, 90.0, -10.0, 80.0, 20.0, passive, fl, fv),
    )

    def state(index: int, name: str, rule: int, a: int, b: int) -> StatePlan:
        drives = (
            ActivationPlan(0, "constant", (), (Slot(a),)),
            ActivationPlan(1, "constant", (), (Slot(b),)),
        )
        return StatePlan(index, 201 + index, name, 0, rule, Slot(dwell), drives)

    states = (
        state(0, "flexion", flexion, activations[2], activations[3]),
        state(1, "extension", extension, activations[0], activations[1]),
    )
    motor_plan = MotorPlan(0, 601, "servo", 3, "701", 1, 100.0, 2.0, 0, angle, current, position, force)
    last = make.hdsos[-1]
    return Plan(
        name="one_joint",
        hdsos=tuple(make.hdsos),
        joints=(JointPlan(0, 1, "knee", -1, mode, 0, (0, 1), (0, 1), 1),),
        motors=(replace(motor_plan, **(motor or {})),),
        muscles=muscles,
        states=states,
        initial=tuple(make.initial),
        store_size=-(-(last.offset + TYPES[last.datatype][1] * last.count) // 8) * 8,
        motor_speed=speed,
        motor_control_delay=delay,
        statetrans_period=period,
        engine_start_time=start,
        engine_stop_time=-1,
        sensor_columns=(angle, current),
    )


class ScriptedBus:
    """Answers each exchange after `cycle_ns` with what `reply(now_ns, goals)` gives: (position, current) or None."""

    def __init__(
        self, reply: Callable[[int, list[int]], list[tuple[int, int] | None]], cycle_ns: int = 5_000_000
    ) -> None:
        self._reply, self._cycle_ns = reply, cycle_ns
        self.position_raw, self.current_raw, self.status, self.stamp_ns, self.misses = [0], [0], [0], [0], [0]
        self.refusals: tuple[str, ...] = ()
        self.goals: list[tuple[int, list[int]]] = []
        self.levels: list[int] = []
        self.limp = False
        self._done = NEVER

    def start(self, now_ns: int, goals: list[int]) -> None:
        self.goals.append((now_ns, goals.copy()))
        self._done = now_ns + self._cycle_ns
        for k, answer in enumerate(self._reply(now_ns, goals)):
            self.status[k] = int(ReplyStatus.MISSED if answer is None else ReplyStatus.OK)
            self.misses[k] = 0 if answer else self.misses[k] + 1
            if answer is not None:
                (self.position_raw[k], self.current_raw[k]), self.stamp_ns[k] = answer, self._done

    def run_until(self, horizon_ns: int) -> int:
        if self._done > horizon_ns:
            return NEVER
        done, self._done = self._done, NEVER  # like a real bus, it tells an instant once
        return done

    def set_level(self, level: int) -> None:
        self.levels.append(level)

    def torque_off(self, now_ns: int) -> None:
        self.limp = True


class Trace:
    """A recorder that keeps everything as (time, what, value)."""

    def __init__(self) -> None:
        self.rows: list[tuple[int, str, Any]] = []

    def started(self, now_ns: int, level: int, goals: Sequence[int]) -> None:
        """What the bus was told, it keeps itself."""

    def motor(self, now_ns: int, board: Board, replies: ExchangeReplies) -> None:
        self.rows.append((now_ns, "motor", tuple(board.sent_raw)))

    def sensors(self, now_ns: int, store: Any) -> None:
        self.rows.append((now_ns, "sensors", store.plan.name))

    def states(self, now_ns: int, board: Board) -> None:
        self.rows.append((now_ns, "states", (tuple(board.states), tuple(board.activations))))

    def muscles(self, now_ns: int, board: Board) -> None:
        self.rows.append((now_ns, "muscles", tuple(board.deltas)))

    def applied(self, applied: Any) -> None:
        self.rows.append((applied.time_ns, "applied", applied))

    def controlled(self, controlled: Controlled) -> None:
        self.rows.append((controlled.time_ns, "controlled", controlled))

    def done(self, now_ns: int, changeset: Changeset, refused: int) -> None:
        self.rows.append((now_ns, "done", (changeset.origin, refused)))

    def answer(self, now_ns: int, hdso: int, values: tuple[int | float, ...], origin: int) -> None:
        self.rows.append((now_ns, "answer", (hdso, values)))

    def event(self, now_ns: int, kind: str, text: str) -> None:
        self.rows.append((now_ns, kind, text))

    def of(self, what: str) -> list[tuple[int, Any]]:
        return [(time, value) for time, kind, value in self.rows if kind == what]
