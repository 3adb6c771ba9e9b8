"""Motor conversion: raw replies to calibrated angles and directional filtered currents (section 6.2.1.2)."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Final

from drivers.servo import ReplyStatus
from nuc_engine.control.tasks.board import Board
from nuc_engine.model.extensions import find_extension
from nuc_engine.model.plan import HdsoPlan, MotorPlan, Plan, Slot
from nuc_engine.model.store import BufferView, Store

_OK: Final = int(ReplyStatus.OK)
NEW: Final = 0.05
OLD: Final = 0.95
"""Weights of the filter of equation 6-4, applied once per sample."""

SPEED_TAU_NS = 20_000_000
"""Time constant of the speed that loads are corrected by."""


class MotorConversion:
    """Converts the replies of the cycle that has just ended; a motor without a good reply is skipped.

    angle_deg = (raw - angleCal1) / angleCal2. The current takes the sign of the raw delta that was commanded where the
    motor reports a magnitude only, is counted in units of its sensor, and passes filt = 0.05 new + 0.95 old; the first
    sample initialises it. Where a motor says for which interval these weights are, they follow the time that passed.
    A filter that was added to the engine takes the place of this one.
    Joint velocity, for force-velocity functions, is the filtered difference of successive angles.
    """

    def __init__(self, plan: Plan, store: Store, board: Board) -> None:
        self._board, self._flags = board, store.flags
        self.channels: list[SensorChannel] = [
            (_Filtered if motor.filter else SensorChannel)(plan, store, motor) for motor in plan.motors
        ]
        self._sensors = [(channel.angle_index, channel.current_index) for channel in self.channels]
        self._velocity = any(muscle.force_velocity.type != "constant" for muscle in plan.muscles)

    def run(self, now_ns: int) -> None:
        """Convert one cycle."""
        board = self._board
        status, raw, current, sign = board.status, board.position_raw, board.current_raw, board.drive_sign
        for k, channel in enumerate(self.channels):
            if status[k] != _OK:
                channel.consecutive = False
                continue
            position = raw[k]
            if channel.span:
                jump = position - channel.last_raw
                if -channel.half_span <= jump <= channel.half_span and channel.consecutive:
                    channel.last_raw = position
                    position += channel.offset
                else:
                    position = channel.unwrap(position)
            angle = (position - channel.cal1) / channel.cal2
            load = channel.load
            filtered = sign[k] * current[k] if load is None else load(raw[k], current[k], sign[k], board.stamp_ns[k])
            if channel.started:
                if channel.sample_ns:
                    filtered = channel.blend(filtered, board.stamp_ns[k])
                else:
                    filtered = NEW * filtered + OLD * channel.filtered
                if self._velocity:
                    channel.differentiate(angle, board, k)
            else:
                channel.start(angle, board.stamp_ns[k], self._flags)
            channel.filtered = filtered
            channel.angle_view[channel.angle_at] = angle
            channel.current_view[channel.current_at] = filtered
        if not board.sensed:
            board.sensed = all(channel.started for channel in self.channels)

    def measure(self, index: int, view: BufferView, at: int) -> None:
        """Put what is measured of this sensor into this cell from now on."""
        for channel in self.channels:
            if channel.angle_index == index:
                channel.angle_view, channel.angle_at = view, at
            elif channel.current_index == index:
                channel.current_view, channel.current_at = view, at


class SensorChannel:
    """One motor's calibration, filter state and cells in the store."""

    def __init__(self, plan: Plan, store: Store, motor: MotorPlan) -> None:
        self.cal1, self.cal2 = motor.cal1, motor.cal2
        self.angle_index, self.current_index = motor.angle, motor.current
        self.angle_view, self.angle_at = store.locate(Slot(motor.angle))
        self.current_view, self.current_at = store.locate(Slot(motor.current))
        self.load: Callable[[int, int, int, int], float] | None = None if _is_plain(motor) else self.converted
        self.unfiltered = 0.0
        self.motor = motor
        self.speed_raw = self.speed_ns = 0
        self.speed_deg_s = 0.0
        self.sample_ns, self.kept_ns = motor.sample_ns, 0
        self.span = _span(plan.hdsos[motor.angle]) if motor.overflow_correction else 0
        self.half_span = self.span // 2
        self.started = self.consecutive = False
        self.filtered = 0.0
        self.last_raw = self.offset = 0
        self.last_angle, self.last_ns = 0.0, 0

    def start(self, angle: float, stamp_ns: int, flags: memoryview) -> None:
        """Take the first sample: both sensors have a value from now on."""
        self.started = True
        flags[self.angle_index] = flags[self.current_index] = 1
        self.kept_ns = stamp_ns
        self.last_angle, self.last_ns = angle, stamp_ns

    def speed(self, raw: int, stamp_ns: int) -> float:
        """Return how fast the shaft turns in the direction of rising raw positions, in deg/s."""
        if self.speed_ns:
            elapsed = stamp_ns - self.speed_ns
            if elapsed > 0:
                now = (raw - self.speed_raw) * self.motor.tick_deg * 1e9 / elapsed
                self.speed_deg_s += (now - self.speed_deg_s) * elapsed / (elapsed + SPEED_TAU_NS)
        self.speed_raw, self.speed_ns = raw, stamp_ns
        return self.speed_deg_s

    def converted(self, raw: int, reading: int, sign: int, stamp_ns: int) -> float:
        """Return a load in units of its sensor, from the reading and the sign of the drive."""
        motor = self.motor
        load = motor.load_scale * reading
        if motor.load_per_deg_s:
            load -= motor.load_per_deg_s * self.speed(raw, stamp_ns)
        if motor.load_with_drive:
            return sign * max(0.0, abs(load) - motor.load_dead)
        return load if motor.load_range[0] < 0 else sign * load

    def blend(self, load: float, stamp_ns: int) -> float:
        """Filter a load as often as samples would have come in the time that has passed."""
        elapsed, self.kept_ns = stamp_ns - self.kept_ns, stamp_ns
        old = OLD ** (elapsed / self.sample_ns)
        return (1.0 - old) * load + old * self.filtered

    def remember(self) -> None:
        """Keep each load as it is before its filter in `unfiltered`."""
        self.load = self._remembered

    def _remembered(self, raw: int, reading: int, sign: int, stamp_ns: int) -> float:
        load = float(sign * reading) if _is_plain(self.motor) else self.converted(raw, reading, sign, stamp_ns)
        self.unfiltered = load + 0.0  # no negative zero
        return load

    def unwrap(self, raw: int) -> int:
        """Follow the raw value over the end of its range: a jump of more than half the range is a wrap (B15).

        After a gap nobody knows how often it wrapped, so the count starts anew.
        """
        if not self.consecutive:
            self.offset = 0
        elif raw > self.last_raw:
            self.offset -= self.span
        else:
            self.offset += self.span
        self.consecutive, self.last_raw = True, raw
        return raw + self.offset

    def differentiate(self, angle: float, board: Board, motor: int) -> None:
        """Filter the rate of the angle since the last sample."""
        stamp_ns = board.stamp_ns[motor]
        elapsed = stamp_ns - self.last_ns
        if elapsed > 0:
            rate = math.radians(angle - self.last_angle) * 1e9 / elapsed
            board.velocity_rad_s[motor] = NEW * rate + OLD * board.velocity_rad_s[motor]
        self.last_angle, self.last_ns = angle, stamp_ns


class _Filtered(SensorChannel):
    """A motor whose load passes a filter that was added: of the new load, the one before, and the seconds between."""

    def __init__(self, plan: Plan, store: Store, motor: MotorPlan) -> None:
        super().__init__(plan, store, motor)
        self.sample_ns = motor.sample_ns or 1
        added = find_extension("filters", motor.filter)
        # A class has one for each motor: it may remember more than the last load.
        self._filter = added() if isinstance(added, type) else added

    def blend(self, load: float, stamp_ns: int) -> float:
        elapsed, self.kept_ns = stamp_ns - self.kept_ns, stamp_ns
        return self._filter(load, self.filtered, elapsed * 1e-9)


def _is_plain(motor: MotorPlan) -> bool:
    """Say whether a load reading is a magnitude in units of its sensor, as an AI motor's is."""
    units = (motor.load_scale, motor.load_per_deg_s, motor.load_dead, motor.load_with_drive)
    return motor.load_range[0] >= 0 and units == (1.0, 0.0, 0.0, False)


def _span(hdso: HdsoPlan) -> int:
    lower, upper = hdso.normal
    return 0 if lower is None or upper is None else int(upper - lower) + 1
