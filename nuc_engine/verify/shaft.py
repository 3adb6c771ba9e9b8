"""One motor's shaft: what is sent to it, and what its replies mean (D 6.2.1.1 and 6.2.1.2; docs/servos.md)."""

from __future__ import annotations

import math

from nuc_engine.verify.documents import Motor
from nuc_engine.verify.store import Store

NEW, OLD = 0.05, 0.95
"""Weights of equation 6-4."""
SPEED_TAU_NS = 20_000_000
"""Time constant of the speed that loads are corrected by (docs/servos.md)."""
READ, LIMP = -1, -2
"""What stands for a position that was only read, and for torque off."""
OK, UNSURE, SILENT = 1, 4, 5
ASKED = 5
"""How often a servo that is silent was asked (docs/resynchronisation.md)."""
LIMP_AGAIN, LIMP_SURE = 200, 2
"""A limp servo is told so again after so many cycles; it is limp once it has answered so many torque-offs."""
LEAD_S, LEAD_RAW, LONGEST_STEP_NS = 0.3, 20.0, 100_000_000
"""How far an approach may be ahead of the shaft: by time, at least by ticks of 0.654 degrees; its longest step."""


class Shaft:
    """What is known of one motor's shaft, and how it is driven."""

    def __init__(self, motor: Motor, mode: str, rate_raw_s: float | None, limit: int | None) -> None:
        self.motor, self.drive, self.rate_raw_s = motor, mode, rate_raw_s
        low, high = motor.servo.goals
        self.limit = high - low if limit is None else limit
        self.raw = self.current = self.stamp_ns = self.status = self.misses = 0
        self.sent, self.pushing, self.sign_then, self.sign = READ, 0, 0, 0
        self.delta, self.tweak = 0.0, 0
        self.target: float | None = None
        self.approach: float | None = None
        self.approached_ns = self.since_limp = self.told_limp = 0
        self.limp = self.started = self.followed = False
        self.turned = self.last_raw = self.kept_ns = self.speed_ns = self.speed_raw = 0
        self.unfiltered = self.filtered = self.speed_deg_s = self.velocity_rad_s = self.last_angle = 0.0
        self.interventions = self.beyond = self.missed = 0

    def switch(self, drive: str) -> None:
        """Drive it otherwise from now on; a position is held from the next good measurement on."""
        self.drive, self.target, self.approach = drive, None, None

    def begin(self, oldest_ns: int, store: Store) -> None:
        """Work out what is sent to it; what was measured before `oldest_ns` drives nothing."""
        # The reply will report a step that the command before this one drove (reading B19).
        self.sign_then, self.sent = self.pushing, READ
        if self.drive == "limp":
            self.pushing = 0
            self.since_limp += 1
            if not self.limp or self.since_limp >= LIMP_AGAIN:
                self.sent, self.since_limp = LIMP, 0
            return
        self.limp, self.told_limp = False, 0
        if self.status != OK or self.stamp_ns < oldest_ns:
            self.approach = None
        elif (goal := self._goal(store)) is not None and (sent := self.allowed(goal)) >= 0:
            self.sent, self.pushing = sent, (sent > self.raw) - (sent < self.raw)

    def _goal(self, store: Store) -> float | None:
        """Return where it is to be sent by what drives it (reading B20), None where that has no value."""
        motor, drive = self.motor, self.drive
        if drive == "muscle":
            return self.raw + motor.servo.dir * (self.ticks(self.delta) + self.tweak)
        if drive == "target":
            self.target = float(self.raw) if self.target is None else self.target
            return self.approached(self.target)
        number = {"force": motor.force_command, "position": motor.position_command}.get(drive)
        if number is None or number not in store.given:
            return None
        value = store.held[number][0]
        if drive == "position":
            return self.approached(value)
        return self.raw + motor.servo.dir * (self.ticks(value) + self.tweak)

    def take(self, raw: int, current: int, status: int, stamp_ns: int) -> None:
        """Take a reply; where it is missing the last good values stay."""
        self.status, self.sign = status, self.sign_then
        if status != OK:
            self.limp, self.told_limp = False, 0
            # One that answers late, or for the first time again, is not missed: it does not count yet.
            self.misses = 0 if status == UNSURE else self.misses + (ASKED if status == SILENT else 1)
            return
        self.raw, self.current, self.stamp_ns, self.misses = raw, current, stamp_ns, 0
        if self.sent == LIMP:
            self.told_limp += 1
            self.limp = self.told_limp >= LIMP_SURE

    def convert(self) -> tuple[float, float] | None:
        """Return angle and load after a reply; None where it has none."""
        if self.status != OK:
            self.followed = False
            return None
        servo, passed = self.motor.servo, self.stamp_ns - self.kept_ns
        angle, load = (self.unwrapped() - servo.cal1) / servo.cal2, self.load()
        self.unfiltered = load + 0.0  # no negative zero
        if self.started:
            # As often as samples would have come in the time that has passed, where that is known.
            old = OLD ** (passed / servo.sample_ns) if servo.sample_ns else OLD
            new = 1.0 - old if servo.sample_ns else NEW
            load = new * load + old * self.filtered
            if passed > 0:
                rate = math.radians(angle - self.last_angle) * 1e9 / passed
                self.velocity_rad_s = NEW * rate + OLD * self.velocity_rad_s
        self.started, self.filtered, self.kept_ns, self.last_angle = True, load, self.stamp_ns, angle
        return angle, load

    def allowed(self, goal: float) -> int:
        """Return what is sent: a number, within the servo's positions and the bout's limit."""
        low, high = self.motor.servo.goals
        if math.isfinite(goal):
            low, high, whole = max(low, self.raw - self.limit), min(high, self.raw + self.limit), round(goal)
            self.interventions += not low <= whole <= high
            return low if whole < low else high if whole > high else whole
        self.interventions += 1
        return READ

    def ticks(self, units: float) -> float:
        """Return whole ticks for so much muscle output."""
        if not math.isfinite(units):
            return units
        self.beyond += not self.motor.servo.reaches(units)
        return round(self.motor.servo.ticks_for(units))

    def approached(self, goal: float) -> float:
        """Return how far a position has been approached at its rate."""
        if self.rate_raw_s is None:
            return goal
        at = self.approach
        if at is None:
            at = float(self.raw)
        else:
            step = self.rate_raw_s * min(self.stamp_ns - self.approached_ns, LONGEST_STEP_NS) * 1e-9
            at += min(max(goal - at, -step), step)
            lead = max(LEAD_S * self.rate_raw_s, LEAD_RAW * (0.654 / self.motor.servo.tick_deg))
            at = min(max(at, self.raw - lead), self.raw + lead)
        self.approach, self.approached_ns = at, self.stamp_ns
        return at

    def unwrapped(self) -> int:
        """Return the position followed over the end of its range; after a gap turns are counted anew (B15)."""
        turn, jump = self.motor.turn, self.raw - self.last_raw
        if not turn:
            return self.raw
        if not self.followed:
            self.turned = 0
        elif abs(jump) > turn // 2:
            self.turned -= turn if jump > 0 else -turn
        self.followed, self.last_raw = True, self.raw
        return self.raw + self.turned

    def load(self) -> float:
        """Return the load in units of its sensor, with its sign (reading B19; docs/servos.md)."""
        servo = self.motor.servo
        load = servo.scale * self.current
        if servo.per_deg_s:
            passed = self.stamp_ns - self.speed_ns
            if self.speed_ns and passed > 0:
                now = (self.raw - self.speed_raw) * servo.tick_deg * 1e9 / passed
                self.speed_deg_s += (now - self.speed_deg_s) * passed / (passed + SPEED_TAU_NS)
            self.speed_raw, self.speed_ns = self.raw, self.stamp_ns
            load -= servo.per_deg_s * self.speed_deg_s
        if servo.with_drive:
            return self.sign * max(0.0, abs(load) - servo.dead)
        return self.sign * load if servo.magnitude else load
