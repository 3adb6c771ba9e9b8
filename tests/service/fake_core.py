"""A core of paper: takes commands from the ring and answers as the real one does, when it is told to."""

from __future__ import annotations

from typing import Any

from nuc_engine.control.bus_tap import ExchangeReplies
from nuc_engine.control.controls import refusal as control_refusal
from nuc_engine.control.faults import OFF
from nuc_engine.control.rulebook import Rulebook
from nuc_engine.control.tasks.board import Board
from nuc_engine.control.tasks.script import Script
from nuc_engine.control.tasks.server import HdsoServer
from nuc_engine.daemon.block import Block, Word
from nuc_engine.daemon.latch import latch
from nuc_engine.daemon.modes import Input, Mode, Refusal, step
from nuc_engine.daemon.ringrecorder import RingRecorder
from nuc_engine.daemon.wire import CoreCommand, RecordKind, unpack
from nuc_engine.model.changes import Changeset, Controlled, JointControl, Write
from nuc_engine.model.plan import Plan
from nuc_engine.model.store import refusal


class FakeCore:
    """Supervisor and core in one: takes over every new plan, obeys, and makes a cycle when asked."""

    def __init__(self, block: Block, now_ns) -> None:
        self.block, self.words, self.now_ns = block, block.words, now_ns
        self.plan: Plan | None = None
        self.mode = Mode.UNCONFIGURED
        self.mute = False
        self.obeyed: list[tuple[int, list[Any]]] = []

    def step(self) -> None:
        if self.words[Word.PLAN_GENERATION] != self.words[Word.CORE_PLAN]:
            self.begin()
        if self.plan is None or self.mute or not self.words[Word.CORE_PID]:
            return
        for kind, content in self.block.rings["commands"].take():
            self.obey(kind, unpack(content))
        self.script.run(self.now_ns())
        self.server.run(self.now_ns())

    def begin(self, *, keep: bool = False) -> None:
        """Start a core of the newest plan."""
        self.plan = plan = self.block.read_plan()
        if not keep:
            self.block.clear_store()
        self.store = self.block.store(plan)
        self.board = Board(plan, lambda *a: None)
        self.book = Rulebook(plan, self.store)
        if not keep:
            for write in plan.initial:
                self.store.write(write.hdso, write.values)
        for hdso in plan.hdsos:
            if hdso.kind == "boolstring" and (values := self.store.values(hdso.index)) is not None:
                code = [int(value) for value in values]
                self.book.swap(hdso.index, code, self.book.decode(hdso.index, code))
        self.recorder = RingRecorder(plan, self.store, self.block.rings["records"], self.words, lambda: None)
        self.script = Script(
            plan, self.store, self.board, self.book, self.control, self.recorder.applied, self.controlled, self.done
        )
        self.server = HdsoServer(plan, self.store, self.script.requests, self.recorder.answer)
        self.waiting: list[Changeset] = []
        self.words[Word.CORE_PID] = 4242
        self.words[Word.CORE_GENERATION] += 1
        self.words[Word.CORE_PLAN] = self.words[Word.PLAN_GENERATION]
        self.words[Word.CORE_READY] = self.words[Word.CORE_GENERATION]
        self.words[Word.BOUT] = 0
        self.store.publish(0, self.now_ns())
        self.enter(Mode.CONFIGURED, "configured")

    def die(self) -> None:
        self.words[Word.CORE_PID] = 0
        self.words[Word.CORE_DEATHS] += 1

    def enter(self, mode: Mode, why: str) -> None:
        self.mode = mode
        self.words[Word.MODE] = mode
        self.recorder.tell(RecordKind.MODE, self.now_ns(), int(mode), why, self.words[Word.BOUT])

    def cycle(self, angles: dict[int, float] | None = None) -> None:
        """Complete one exchange: sensors get values, everything is told and published."""
        assert self.plan is not None
        now = self.now_ns()
        self.board.cycle += 1
        self.words[Word.CYCLE] = self.board.cycle
        for motor in self.plan.motors:
            self.board.position_raw[motor.index] = 100 + motor.index
            self.board.sent_raw[motor.index] = 101 + motor.index
            self.board.stamp_ns[motor.index] = now
            self.store.write(motor.angle, ((angles or {}).get(motor.index, 10.0 + motor.index),))
            self.store.write(motor.current, (1.5,))
        self.recorder.motor(now, self.board, ExchangeReplies.of(self.board))
        self.recorder.sensors(now, self.store)
        self.store.publish(self.board.cycle, now)
        self.recorder.states(now, self.board)
        self.recorder.muscles(now, self.board)

    def control(self, control: JointControl) -> str:
        return control_refusal(control, self.plan)

    def controlled(self, controlled: Controlled) -> None:
        self.recorder.controlled(controlled)

    def done(self, now_ns: int, changeset: Changeset, refused: int) -> None:
        self.recorder.done(now_ns, changeset, refused)

    def obey(self, kind: int, items: list[Any]) -> None:
        self.obeyed.append((kind, items))
        request, *rest = items
        try:
            detail = getattr(self, f"_{CoreCommand(kind).name.lower()}")(request, *rest)
        except Refusal as error:
            self.recorder.acknowledge(request, False, self.now_ns(), str(error))
        else:
            self.recorder.acknowledge(request, True, self.now_ns(), "" if detail is None else detail)

    def _changeset(self, request: int, time: int, writes: Any, controls: Any) -> None:
        changeset = Changeset(
            time,
            tuple(Write(hdso, tuple(values), *element) for hdso, values, *element in writes),
            controls=tuple(JointControl(*item) for item in controls),
            origin=request,
        )
        assert self.plan is not None
        for write in changeset.writes:
            if reason := refusal(self.plan.hdsos[write.hdso], write.values, write.element):
                raise Refusal(reason)
        if time < 0:
            self.load(changeset, self.now_ns())
        elif self.words[Word.BOUT]:
            self.load(changeset, self.words[Word.BOUT_START] + time)
        else:
            self.waiting.append(changeset)

    def load(self, changeset: Changeset, time_ns: int) -> None:
        from dataclasses import replace

        self.script.load([replace(changeset, time_ns=time_ns)])

    def _run(self, request: int, delay: int, stop: int, bout: int) -> None:
        after = step(self.mode, Input.RUN, latched=bool(self.words[Word.LATCHED]))
        start = self.now_ns() + delay
        self.board.cycle = 0
        self.words[Word.BOUT], self.words[Word.BOUT_START] = bout, start
        self.recorder.tell(RecordKind.BOUT_BEGIN, start, bout, stop)
        self.enter(after, f"bout {bout}")
        for changeset in self.waiting:
            self.load(changeset, start + changeset.time_ns)
        self.waiting.clear()

    def _stop(self, request: int, policy: str) -> None:
        self.end("complete", "stopped")
        if not self.words[Word.LATCHED]:
            self.enter(step(self.mode, Input.STOP, latched=False), "stopped")

    def end(self, state: str, reason: str) -> None:
        if self.words[Word.BOUT]:
            self.script.forget(-1)
            self.recorder.tell(RecordKind.BOUT_END, self.now_ns(), self.words[Word.BOUT], state, reason)
            self.words[Word.BOUT] = 0

    def _arm(self, request: int) -> None:
        self.words[Word.LATCHED] = 0
        self.enter(step(self.mode, Input.ARM, latched=False), "armed")

    def _off(self, request: int, why: str) -> None:
        latch(self.words, OFF)
        self.words[Word.TORQUE] = 0
        self.end("interrupted", f"{OFF}: {why}")
        self.enter(step(self.mode, Input.OFF, latched=True), f"{OFF}: {why}")

    def _dump(self, request: int) -> None:
        self.recorder.tell(RecordKind.STORE, self.now_ns(), self.board.cycle, self.store.live_bytes())

    def _forget(self, request: int, origin: int) -> int:
        before = len(self.waiting)
        self.waiting = [item for item in self.waiting if origin not in (-1, item.origin)]
        return before - len(self.waiting) + self.script.forget(origin)

    def _park(self, request: int, angles: dict[int, float], rate: float) -> None:
        self.parked = (angles, rate)
