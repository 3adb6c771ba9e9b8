"""Motor action: one exchange per motor, servo delta control (section 6.2.1.1, equations 6-1 to 6-3)."""

from __future__ import annotations

from typing import Final

from drivers.bus import LIMP, READ_ONLY, ServoBus
from drivers.servo import ReplyStatus
from nuc_engine.control.guard import Guard
from nuc_engine.control.tasks.board import Board, Drive
from nuc_engine.control.tasks.drive_scale import DriveScale, scale_of
from nuc_engine.model.plan import MotorPlan, Plan, Slot
from nuc_engine.model.store import BufferView, Store
from sccils_schemas.numbers import INTEGER_RANGE

_OK: Final = int(ReplyStatus.OK)
_MUSCLE: Final = Drive.MUSCLE
_LIMP: Final = Drive.LIMP

LIMP_CYCLES = 200
"""How often a limp servo is told so again. In between it is read: a read that a line garbles into a send names the
place where the shaft is, a garbled torque-off a fixed one."""

CONFIRMATIONS = 2
"""Torque-offs in a row that a servo must have answered: a late reply of another may pass for one."""

FRESH_NS: Final = 250_000_000
"""How old a measurement may be, besides the pause between exchanges, to drive anything."""

LEAD_S, LEAST_LEAD_RAW, LEAD_TICK_DEG = 0.3, 20.0, 0.654
"""How far an approach goes ahead of the joint: what it turns in this time, and at least so many ticks of that size."""

LONGEST_STEP_NS = 100_000_000
"""For how much time at most a target is approached in one step: after a pause the goal does not jump."""


class MotorAction:
    """Sends commands and takes replies, split-phase: `start` begins a cycle, `complete` ends it.

    What drives each motor stands on the board (reading B20). Muscles: measured + dir x round(servo delta); force:
    measured + dir x round(force command); position: the position command; target: a raw position of the board; limp:
    the torque is taken off until the servo confirms, and again every LIMP_CYCLES; none: read only. Where a unit of
    servo delta and force command is not a tick of the motor, `scales` says how many it is. A tweak, in ticks, is added
    to a delta. A motor whose last reply was missed or implausible is read, not driven: stale data never moves it.
    Positions are approached from the measured one at the board's rate, where it has one.
    """

    def __init__(self, plan: Plan, store: Store, board: Board, bus: ServoBus, guard: Guard) -> None:
        self._board, self._bus, self._guard = board, bus, guard
        self._motors = range(len(plan.motors))
        self._all_ok = [_OK] * len(plan.motors)
        self._dirs = [motor.dir for motor in plan.motors]
        self.scales = [scale_of(motor) for motor in plan.motors]
        self._leads = [LEAST_LEAD_RAW * (LEAD_TICK_DEG / motor.tick_deg) for motor in plan.motors]
        self._force = [_cell(store, motor.force_command) for motor in plan.motors]
        self._position = [_cell(store, motor.position_command) for motor in plan.motors]
        modes = [plan.joints[motor.joint].control_mode for motor in plan.motors]
        self._mirrors = [
            _mirror(store, motor, mode, scale)
            for motor, mode, scale in zip(plan.motors, modes, self.scales, strict=True)
        ]
        self._store = store
        self._speed, self._speed_at = store.locate(Slot(plan.motor_speed))
        self._delay, self._delay_at = store.locate(Slot(plan.motor_control_delay))
        self._cycle_min_ns = plan.cycle_min_ns
        self.begun_ns = 0
        """When the last exchange began."""
        self._level = -1
        # Of the exchange under way: they reach the board when it is complete.
        self._sent: list[int] = self._board.sent_raw
        self._in_force: list[int] = self._board.drive_sign
        self._pushing = [0] * len(plan.motors)
        self._approached_ns = [0] * len(plan.motors)
        self._since_limp = [0] * len(plan.motors)
        self._confirmed = [0] * len(plan.motors)

    def start(self, now_ns: int) -> None:
        """Compute every command from the last reply, pass it through the guard and begin the exchange."""
        self.begun_ns = now_ns
        board, guard = self._board, self._guard
        level = self._speed[self._speed_at]
        if level != self._level:
            self._bus.set_level(level)
            self._level = level
        measured, status, deltas = board.position_raw, board.status, board.deltas
        pushing, drives, tweaks = self._pushing, board.drives, board.tweaks
        scales, dirs, mirrors = self.scales, self._dirs, self._mirrors
        limp, confirmed, pass_on = board.limp, self._confirmed, guard.pass_on
        # The current that comes back was measured while the previous command was in force.
        self._in_force = pushing.copy()
        self._sent = sent = [READ_ONLY] * len(drives)
        stamps, oldest_ns = board.stamp_ns, now_ns - FRESH_NS - self._delay[self._delay_at] - self._cycle_min_ns
        for k, drive in enumerate(drives):
            if drive is _LIMP:
                pushing[k] = 0
                self._since_limp[k] += 1
                if not limp[k] or self._since_limp[k] >= LIMP_CYCLES:
                    sent[k] = LIMP
                    self._since_limp[k] = 0
                continue
            limp[k] = False
            confirmed[k] = 0
            if status[k] != _OK or stamps[k] < oldest_ns:
                board.approach_raw[k] = None
                continue
            position = measured[k]
            if drive is _MUSCLE:
                delta, scale = deltas[k], scales[k]
                if scale is not None:
                    delta = scale.ticks(delta)
                # A delta that is no number reaches the guard as it is; round() would raise.
                elif delta - delta == 0.0:
                    delta = float(round(delta))
                command = position + dirs[k] * (delta + tweaks[k])
            else:
                other = self._other(k, drive, position)
                if other is None:
                    continue
                command = other
            goal = pass_on(k, command, position)
            sent[k] = goal
            if goal < 0:
                continue
            pushing[k] = 1 if goal > position else -1 if goal < position else 0
            mirror = mirrors[k]
            if mirror is not None and drive is _MUSCLE:
                mirror(goal, goal - position)
        self._bus.start(now_ns, sent)

    def _other(self, k: int, drive: Drive, position: int) -> float | None:
        """Return the command of a motor that no muscle drives; None: there is none."""
        if drive is Drive.TARGET:
            target = self._board.target_raw[k]
            if target is None:
                # It holds where it stood when it was told to.
                self._board.target_raw[k] = target = float(position)
            return self._approach(k, target, position)
        cell = self._position[k] if drive is Drive.POSITION else self._force[k] if drive is Drive.FORCE else None
        if cell is None or not self._store.flags[cell[2]]:
            return None
        value = cell[0][cell[1]]
        if drive is Drive.FORCE:
            scale = self.scales[k]
            delta = round(value) if scale is None else scale.ticks(value)
            return position + self._dirs[k] * (delta + self._board.tweaks[k])
        return self._approach(k, value, position)

    def _approach(self, k: int, goal: float, position: int) -> float:
        rate, at = self._board.rate_raw_s[k], self._board.approach_raw[k]
        if rate is None:
            return goal
        # Time as the measurements tell it: a repetition from recorded replies then computes the same.
        now_ns = self._board.stamp_ns[k]
        if at is None:
            at = float(position)
        else:
            most = rate * min(now_ns - self._approached_ns[k], LONGEST_STEP_NS) * 1e-9
            at += min(max(goal - at, -most), most)
            # A joint that is held by hand is not waited for with more and more force.
            lead = max(LEAD_S * rate, self._leads[k])
            at = min(max(at, position - lead), position + lead)
        self._board.approach_raw[k] = at
        self._approached_ns[k] = now_ns
        return at

    def release(self) -> None:
        """Take note that the torque is being taken off every motor, in place of any exchange under way."""
        self._in_force = self._pushing
        self._pushing = [0] * len(self._in_force)
        self._sent = [LIMP] * len(self._in_force)
        self._board.limp = [False] * len(self._in_force)

    def complete(self) -> None:
        """Take the replies of the finished exchange; a missing one leaves the last good values and their age."""
        board, bus = self._board, self._bus
        status = bus.status
        board.status = status = status.copy()
        board.sent_raw, board.drive_sign = self._sent, self._in_force
        board.cycle += 1
        if status == self._all_ok and LIMP not in board.sent_raw:
            board.position_raw[:], board.current_raw[:] = bus.position_raw, bus.current_raw
            board.stamp_ns[:] = bus.stamp_ns
            return
        for k in self._motors:
            if status[k] != _OK:
                board.limp[k] = False
                self._confirmed[k] = 0
            else:
                if board.sent_raw[k] == LIMP:
                    self._confirmed[k] += 1
                    board.limp[k] = self._confirmed[k] >= CONFIRMATIONS
                board.position_raw[k] = bus.position_raw[k]
                board.current_raw[k] = bus.current_raw[k]
                board.stamp_ns[k] = bus.stamp_ns[k]


_Cell = tuple[BufferView, int, int]
"""View and index of a value, and the HDSO it is of."""


def _cell(store: Store, index: int) -> _Cell | None:
    if index < 0:
        return None
    view, at = store.locate(Slot(index))
    return view, at, index


class _Mirror:
    """Writes position and force command back to their HDSOs: in muscle mode they act as sensors (reading B20).

    The force command is in units of muscle output, like one that is given.
    """

    def __init__(self, store: Store, position: int, force: int, scale: DriveScale | None) -> None:
        self._flags, self._scale = store.flags, scale
        self._whole = force >= 0 and store.plan.hdsos[force].datatype in INTEGER_RANGE
        self._position, self._force = _cell(store, position), _cell(store, force)

    def __call__(self, goal: int, ticks: int) -> None:
        if self._position is not None:
            self._put(self._position, goal)
        if self._force is None:
            return
        if self._scale is None:
            self._put(self._force, ticks)
        else:
            units = self._scale.units(ticks)
            self._put(self._force, round(units) if self._whole else units)

    def _put(self, cell: _Cell, value: int | float) -> None:
        cell[0][cell[1]] = value
        self._flags[cell[2]] = 1


def _mirror(store: Store, motor: MotorPlan, mode: str, scale: DriveScale | None) -> _Mirror | None:
    if mode != "muscle" or (motor.position_command < 0 and motor.force_command < 0):
        return None
    return _Mirror(store, motor.position_command, motor.force_command, scale)
