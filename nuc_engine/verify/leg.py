"""A leg's controller by its equations (D 6.2.1, 7.2; docs/readings.md, docs/servos.md): one method per task.

Nothing here knows when it is called: `course` does. What each task leaves is handed to `logs`, to be compared.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from nuc_engine.verify.documents import INTEGERS, Activation, Cell, Model, Motor, Number, Store, Values
from nuc_engine.verify.logs import Logs
from nuc_engine.verify.rules import RuleFault, Tree, holds, leaves, operands, tree_of, unfit
from nuc_engine.verify.weight import Weight

NEW, OLD = 0.05, 0.95
"""Weights of equation 6-4."""
SPEED_TAU_NS = 20_000_000
"""Time constant of the speed that loads are corrected by (docs/servos.md)."""
READ, LIMP = -1, -2
"""What stands for a position that was only read, and for torque off."""
OK = 1
FRESH_NS = 250_000_000
"""Nothing is driven by a measurement older than this and the pauses between exchanges."""
LIMP_AGAIN, LIMP_SURE = 200, 2
"""A limp servo is told so again after so many cycles; it is limp once it has answered so many torque-offs."""
LEAD_S, LEAD_RAW, LONGEST_STEP_NS = 0.3, 20.0, 100_000_000
"""How far an approach may be ahead of the shaft: by time, at least by ticks of 0.654 degrees; its longest step."""
TOLD_AGAIN_NS = 1_000_000_000
MODES = {"muscle": "muscle", "force": "force", "hold": "target", "limp": "limp"}


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
        self.filtered = self.speed_deg_s = self.velocity_rad_s = self.last_angle = 0.0
        self.interventions = self.beyond = self.missed = 0

    def switch(self, drive: str) -> None:
        """Drive it otherwise from now on; a position is held from the next good measurement on."""
        self.drive, self.target, self.approach = drive, None, None

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


class Leg:
    """The whole controller. `controls` are what drives each motor beside its joint's mode: None on virtual time."""

    def __init__(
        self,
        model: Model,
        store: Store,
        logs: Logs,
        *,
        limits: Mapping[str, int],
        approach_deg_s: float | None,
        weight: Weight | None,
    ) -> None:
        self.model, self.store, self.logs, self.weight = model, store, logs, weight
        self.shafts: list[Shaft] = []
        for motor in model.motors:
            rate = None if approach_deg_s is None else approach_deg_s * abs(motor.servo.cal2)
            self.shafts.append(Shaft(motor, model.joints[motor.joint].mode, rate, limits.get(motor.name)))
        self.cycle_min_ns = max((motor.servo.cycle_min_ns for motor in model.motors), default=0)
        self.cycle = 0
        self.sensed = False
        self.states = [joint.start for joint in model.joints]
        self.entered_ns = [0] * len(model.joints)
        self.activations = [0.0] * len(model.muscles)
        self.rules: dict[int, Tree] = {}
        for number in store.given:
            if model.hdsos[number].kind == "boolstring":
                self.rules[number] = tree_of(store.held[number])
        self.overlaps: Counter[str] = Counter()
        self.negative: Counter[str] = Counter()
        self.told_ns: dict[str, int] = {}
        self.refused = 0
        self.pose: dict[str, float] | None = None
        self.with_velocity = any(muscle.functions["force-velocity"][0] != "constant" for muscle in model.muscles)

    def value(self, name: str) -> int:
        """Return an engine parameter (reading B26)."""
        return int(self.store.held[self.model.ids[name]][0])

    # --- motor action (D 6.2.1.1, equations 6-1 to 6-3; readings B16, B20) ---

    def begin(self, now_ns: int) -> None:
        """Begin an exchange: work out what is sent to each motor."""
        oldest_ns = now_ns - FRESH_NS - self.value("motor_control_delay_ns") - self.cycle_min_ns
        for shaft in self.shafts:
            # The reply will report a step that the command before this one drove (reading B19).
            shaft.sign_then, shaft.sent = shaft.pushing, READ
            if shaft.drive == "limp":
                shaft.pushing = 0
                shaft.since_limp += 1
                if not shaft.limp or shaft.since_limp >= LIMP_AGAIN:
                    shaft.sent, shaft.since_limp = LIMP, 0
                continue
            shaft.limp, shaft.told_limp = False, 0
            if shaft.status != OK or shaft.stamp_ns < oldest_ns:
                shaft.approach = None  # what is stale drives nothing
                continue
            goal = self._goal(shaft)
            if goal is not None and (sent := shaft.allowed(goal)) >= 0:
                shaft.sent, shaft.pushing = sent, (sent > shaft.raw) - (sent < shaft.raw)
                self._mirror(shaft)

    def _goal(self, shaft: Shaft) -> float | None:
        motor, drive = shaft.motor, shaft.drive
        if drive == "muscle":
            return shaft.raw + motor.servo.dir * (shaft.ticks(shaft.delta) + shaft.tweak)
        if drive == "target":
            shaft.target = float(shaft.raw) if shaft.target is None else shaft.target
            return shaft.approached(shaft.target)
        number = {"force": motor.force_command, "position": motor.position_command}.get(drive)
        if number is None or number not in self.store.given:
            return None
        value = self.store.held[number][0]
        if drive == "position":
            return shaft.approached(value)
        return shaft.raw + motor.servo.dir * (shaft.ticks(value) + shaft.tweak)

    def _mirror(self, shaft: Shaft) -> None:
        """In muscle mode the command HDSOs act as sensors (reading B20)."""
        motor, ticks = shaft.motor, shaft.sent - shaft.raw
        if shaft.drive != "muscle" or self.model.joints[motor.joint].mode != "muscle":
            return
        if motor.position_command is not None:
            self.store.write(motor.position_command, [shaft.sent])
        if motor.force_command is not None:
            units = motor.servo.units_of(ticks) if motor.servo.ticks != 1.0 or motor.servo.table else ticks
            whole = self.model.hdsos[motor.force_command].datatype in INTEGERS
            self.store.write(motor.force_command, [round(units) if whole else units])

    def take(self, now_ns: int, replies: Sequence[Any]) -> None:
        """Take the replies of a complete exchange; a missing one leaves the last good values and their age."""
        self.cycle += 1
        for shaft, raw, current, status, stamp_ns in zip(self.shafts, *replies, strict=True):
            shaft.status, shaft.sign = status, shaft.sign_then
            if status == OK:
                shaft.raw, shaft.current, shaft.stamp_ns, shaft.misses = raw, current, stamp_ns, 0
                if shaft.sent == LIMP:
                    shaft.told_limp += 1
                    shaft.limp = shaft.told_limp >= LIMP_SURE
            else:
                shaft.limp, shaft.told_limp, shaft.misses = False, 0, shaft.misses + 1
        row = [value for shaft in self.shafts for value in (shaft.current, shaft.raw)]
        row += [value for shaft in self.shafts for value in (shaft.sent, now_ns - shaft.stamp_ns)]
        self.logs.row("MotorData.txt", now_ns, row)

    # --- motor conversion (D 6.2.1.2, equation 6-4; readings B15, B16, B19) ---

    def convert(self, now_ns: int) -> None:
        """Turn replies into angles and loads; a motor without a good reply is skipped."""
        for shaft in self.shafts:
            if shaft.status != OK:
                shaft.followed = False
                continue
            motor, servo = shaft.motor, shaft.motor.servo
            angle, load = (shaft.unwrapped() - servo.cal1) / servo.cal2, shaft.load()
            passed = shaft.stamp_ns - shaft.kept_ns
            if not shaft.started:
                shaft.started, shaft.filtered = True, load
            else:
                # As often as samples would have come in the time that has passed, where that is known.
                old = OLD ** (passed / servo.sample_ns) if servo.sample_ns else OLD
                new = 1.0 - old if servo.sample_ns else NEW
                shaft.filtered = new * load + old * shaft.filtered
                if passed > 0 and self.with_velocity:
                    rate = math.radians(angle - shaft.last_angle) * 1e9 / passed
                    shaft.velocity_rad_s = NEW * rate + OLD * shaft.velocity_rad_s
            shaft.kept_ns, shaft.last_angle = shaft.stamp_ns, angle
            self.store.write(motor.angle, [angle])
            self.store.write(motor.current, [shaft.filtered])
        self.sensed = all(shaft.started for shaft in self.shafts)
        if self.sensed and self.pose is None:
            angles = [(self.model.joints[s.motor.joint].name, self.store.held[s.motor.angle][0]) for s in self.shafts]
            self.pose = dict(angles)
        self.logs.row("SensData.txt", now_ns, [self.store.held[number][0] for number in self.model.columns])

    # --- state transition (D 4.2.2, 6.2.1.3, equations 7-1 to 7-4; readings B5 to B7, B22) ---

    def judge(self, now_ns: int) -> None:
        """Evaluate the entry rules on one snapshot, switch states, set activations."""
        if self.sensed:
            for k, joint in enumerate(self.model.joints):
                self._judge_joint(now_ns, k, joint.states)
            for k, joint in enumerate(self.model.joints):
                for activation in self.model.states[self.states[k]].activations if joint.states else ():
                    self.activations[activation.muscle] = self._activation(activation)
        row: list[Number] = []
        for state, joint in zip(self.states, self.model.joints, strict=True):
            activations = [self.activations[muscle] for muscle in joint.muscles]
            row += [state, *activations, *[0.0] * (2 - len(activations))]
        self.logs.row("StateData.txt", now_ns, row)

    def _judge_joint(self, now_ns: int, k: int, states: Sequence[int]) -> None:
        own = self.model.states
        true = [s for s in states if own[s].rule in self.rules and self._holds(self.rules[own[s].rule])]
        name, current = self.model.joints[k].name, self.states[k]
        if len(true) > 1:
            self.overlaps[name] += 1
            names = " and ".join(own[state].name for state in true)
            self._tell(now_ns, "rule_overlap", name, f"{name}: the entry rules of {names} are true together")
        others = [state for state in true if state != current]
        dwell = own[current].dwell if others else None
        if others and now_ns - self.entered_ns[k] >= (0 if dwell is None else self.store.held[dwell][0]):
            self.states[k], self.entered_ns[k] = others[0], now_ns

    def _holds(self, tree: Tree) -> bool:
        return holds(tree, lambda number: self.store.held[number][0], self.rules)

    def _tell(self, now_ns: int, kind: str, whom: str, text: str) -> None:
        """Tell of what may come often once a second at most."""
        if now_ns - self.told_ns.get(kind + whom, -TOLD_AGAIN_NS) >= TOLD_AGAIN_NS:
            self.told_ns[kind + whom] = now_ns
            self.logs.event(now_ns, kind, text)

    def _elements(self, cells: Sequence[Cell]) -> list[Number]:
        return [self.store.held[number][element] for number, element in cells]

    def _activation(self, activation: Activation) -> float:
        p, x = self._elements(activation.parameters), [self.store.held[sensor][0] for sensor in activation.sensors]
        try:
            if activation.function == "constant":
                return p[0]
            kernels = [_kernel(x[k], *p[5 * k : 5 * k + 5]) for k in range(len(x))]
            return kernels[0] if activation.function == "linear" else 2.0 * kernels[0] + kernels[1]
        except ArithmeticError:
            return math.nan

    # --- muscle conversion (D 6.2.1.4, equations 6-5 and 6-6; readings B1 to B4) ---

    def pull(self, now_ns: int) -> None:
        """Compute lengths, forces and servo deltas; nothing before every sensor has a value."""
        if not self.sensed:
            return
        row: list[float] = []
        for shaft in self.shafts:
            shaft.delta = 0.0
        for muscle, activation in zip(self.model.muscles, self.activations, strict=True):
            shaft = self.shafts[self.model.joints[muscle.joint].motor]
            theta, l0, r = self.store.held[shaft.motor.angle][0], muscle.l0, muscle.r
            length = ((muscle.alpha_deg - theta) * (r * (math.pi / 180.0)) + l0) / l0
            rate = -r * shaft.velocity_rad_s / l0
            try:
                stiffness = self._function(muscle.functions["passive_stiffness"], length)
                scale = self._function(muscle.functions["force-length"], length)
                scale *= self._function(muscle.functions["force-velocity"], rate)
                force = stiffness + activation * scale * muscle.fmax
            except ArithmeticError:
                force = math.nan
            shaft.delta += r * force
            row += [force, length * l0]
            self.negative[muscle.name] += force < 0.0
            if not math.isfinite(force):
                text = f"the force of {muscle.name} is no number: its joint is not driven"
                self._tell(now_ns, "bad_command", muscle.name, text)
        if self.weight is not None:
            angles = [self.store.held[shaft.motor.angle][0] for shaft in self.shafts]
            for joint, units in zip(self.model.joints, self.weight.units(angles), strict=True):
                self.shafts[joint.motor].delta += units
        self.logs.row("MuscleData.txt", now_ns, row)

    def _function(self, function: tuple[str, tuple[Cell, ...]], x: float) -> float:
        """Return a generic function's value (D 10.2, 2.1; reading B22)."""
        kind, p = function[0], self._elements(function[1])
        match kind:
            case "constant":
                return p[0]
            case "linear":
                return p[0] * x + p[1]
            case "parabolic":
                return ((x - p[1]) ** 2 + 4.0 * p[0] * p[2]) / (4.0 * p[0])
            case _:
                return p[0] / (x - p[1]) + p[2]

    # --- edits (readings C2, C6, B7, B15) ---

    def write(self, edits: Sequence[tuple[int, Values]]) -> list[bool]:
        """Make a changeset's writes: numbers first, then rules. Return which of them are refused."""
        hdsos = self.model.hdsos
        refused = [hdsos[number].refusal(values) for number, values in edits]
        rules: dict[int, int] = {}
        trees: dict[int, Tree] = {}
        for place, (number, values) in enumerate(edits):
            if not refused[place] and hdsos[number].kind == "boolstring":
                if number in rules:
                    refused[rules[number]] = True
                rules[number] = place
            elif not refused[place]:
                self.store.write(number, values)
        for number, place in rules.items():
            try:
                trees[number] = self._bound(number, edits[place][1])
            except RuleFault:
                refused[place] = True
        for number in unfit({**self.rules, **trees}, set(trees)):
            refused[rules[number]] = True
        for number, place in rules.items():
            if not refused[place]:
                self.store.write(number, edits[place][1])
                self.rules[number] = trees[number]
        self.refused += sum(refused)
        return refused

    def _bound(self, rule: int, code: Values) -> Tree:
        """Return a rule whose operands exist, are single, and have values; rules only stand alone."""
        if len(code) != self.model.hdsos[rule].count:
            raise RuleFault("a part of a rule")
        tree = tree_of(code)
        for number in operands(tree):
            hdso = self.model.hdsos.get(number)
            if hdso is None or (hdso.kind != "boolstring" and hdso.count != 1):
                raise RuleFault(f"{number} is no operand")
            if hdso.kind in ("parameter", "constant") and number not in self.store.given:
                raise RuleFault(f"{number} has no value")
        compared = [leaf for leaf in leaves(tree) if isinstance(leaf, tuple)]
        if any(self.model.hdsos[number].kind == "boolstring" for leaf in compared for number in operands(leaf)):
            raise RuleFault("a rule is compared")
        return tree

    def control(self, what: str, joint_id: int, value: float | str) -> bool:
        """Change what drives a joint's motor; say whether that is refused."""
        joint = next((joint for joint in self.model.joints if joint.number == joint_id), None)
        if joint is None or joint.motor < 0:
            return True
        shaft = self.shafts[joint.motor]
        servo, number = shaft.motor.servo, math.nan if isinstance(value, str) else float(value)
        low, high = servo.goals
        ends = sorted((raw - servo.cal1) / servo.cal2 for raw in servo.goals)
        if what == "mode":
            return self._mode(shaft, str(value), driven=bool(joint.muscles))
        if what == "tweak" and -(high - low) <= number <= high - low:
            shaft.tweak = round(number)
        elif what == "rate" and 0.1 <= number <= 10_000.0:
            shaft.rate_raw_s = number * abs(servo.cal2)
        elif what == "target" and ends[0] <= number <= ends[1]:
            if shaft.drive != "target":
                shaft.switch("target")
            shaft.target = servo.cal1 + servo.cal2 * number
        else:
            return True
        return False

    def _mode(self, shaft: Shaft, mode: str, *, driven: bool) -> bool:
        unable = (mode == "muscle" and not driven) or (mode == "force" and shaft.motor.force_command is None)
        if unable or mode not in (*MODES, "position"):
            return True
        by_position = "target" if shaft.motor.position_command is None else "position"
        shaft.switch(MODES.get(mode, by_position))
        return False


def _kernel(x: float, a: float, b: float, c: float, wmin: float, wmax: float) -> float:
    """Return K(x) of equations 7-3 and 7-4."""
    p = (x - wmin) / (wmax - wmin)
    return max(0.0, a + b * p + c * (1.0 - p))
