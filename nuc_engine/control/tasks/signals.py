"""Signal processing as part of motor conversion: blocks, each after those that it takes, at the samples they have."""

from __future__ import annotations

import math

from nuc_engine.control.blocks import SignalBlock, make_block
from nuc_engine.control.faults import FAULTS
from nuc_engine.control.tasks.board import Board
from nuc_engine.control.tasks.motor_conversion import MotorConversion, SensorChannel
from nuc_engine.model.plan import Plan, SignalPlan
from nuc_engine.model.store import BufferView, Store

_AGAIN_NS = FAULTS["bad_command"].again_ns


class SignalConversion(MotorConversion):
    """Motor conversion, and then the signals of the plan.

    A signal has a sample when one of its sources has one, and its time is that of the newest: that of the motor's
    reply. Where a reply was missed, what is made of that motor's sensors alone waits like them.
    """

    def __init__(self, plan: Plan, store: Store, board: Board, seed: int) -> None:
        super().__init__(plan, store, board)
        self._count = len(plan.motors)
        self._stamps = [-1] * (self._count + len(plan.signals))
        self.signals = [SignalCell(plan, store, signal, self.channels, seed) for signal in plan.signals]

    def run(self, now_ns: int) -> None:
        """Convert one cycle, then compute every signal that has a new sample. None before every sensor has a value."""
        super().run(now_ns)
        board = self._board
        if not board.sensed:
            return
        stamps, at = self._stamps, self._count
        stamps[:at] = board.stamp_ns
        for signal in self.signals:
            time_ns = stamps[signal.source]
            for source in signal.more:
                time_ns = max(time_ns, stamps[source])
            last_ns = signal.time_ns
            if time_ns != last_ns:
                block = signal.block
                try:
                    value = block.begin(time_ns) if last_ns < 0 else block.step(time_ns, time_ns - last_ns)
                except (ArithmeticError, ValueError):
                    # As with activations: who drives a muscle by it is told, and drives nothing.
                    value = math.nan
                if last_ns < 0:
                    self._flags[signal.index] = 1
                signal.time_ns = stamps[at] = time_ns
                signal.view[signal.at] = value
                if value - value != 0.0:
                    self._no_number(signal, now_ns)
            at += 1

    def _no_number(self, signal: SignalCell, now_ns: int) -> None:
        if now_ns - signal.reported_ns >= _AGAIN_NS:
            signal.reported_ns = now_ns
            text = f"{signal.name} is no number: what compares it is false (look at the parameters of its block)"
            self._board.on_event(now_ns, "bad_signal", text)

    def measure(self, index: int, view: BufferView, at: int) -> None:
        """Put what is measured of this sensor, or computed of this signal, into this cell from now on."""
        super().measure(index, view, at)
        for signal in self.signals:
            if signal.index == index:
                signal.view, signal.at = view, at


class SignalCell:
    """One signal: its block, where its samples come from, and its cell in the store."""

    def __init__(self, plan: Plan, store: Store, signal: SignalPlan, channels: list[SensorChannel], seed: int) -> None:
        self.index = signal.output.hdso
        self.view, self.at = store.locate(signal.output)
        sources = signal.sources or tuple(range(len(plan.motors)))
        self.source, self.more = sources[0], sources[1:]
        self.time_ns = -1
        self.name, self.reported_ns = signal.name, -_AGAIN_NS
        if signal.type == "rawload":
            channel = channels[signal.sources[0]]
            channel.remember()
            self.block: SignalBlock = _RawLoad(signal, store, channel)
        else:
            self.block = make_block(signal, store, seed)


class _RawLoad(SignalBlock):
    """The load of a motor as it was before its filter."""

    def __init__(self, plan: SignalPlan, store: Store, channel: SensorChannel) -> None:
        super().__init__(plan, store, 0)
        self._channel = channel

    def step(self, time_ns: int, elapsed_ns: int) -> float:
        return self._channel.unfiltered
