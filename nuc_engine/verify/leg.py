"""A leg's controller by its equations (D 6.2.1, 7.2; docs/readings.md, docs/servos.md): one method per task.

Nothing here knows when it is called: `course` does. What each task leaves is handed to `logs`, to be compared.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from nuc_engine.verify.acting import OfActions, Switching
from nuc_engine.verify.blends import degree, moved
from nuc_engine.verify.documents import Activation, Model
from nuc_engine.verify.logs import SENSED, Logs
from nuc_engine.verify.rules import RuleFault, Tree, holds, leaves, operands, past_of, tree_of, unfit
from nuc_engine.verify.shaft import Shaft
from nuc_engine.verify.signals import LONGEST_NS, Signals
from nuc_engine.verify.store import INTEGERS, Cell, Number, Store, Values, single
from nuc_engine.verify.weight import Weight

FRESH_NS = 250_000_000
"""Nothing is driven by a measurement older than this and the pauses between exchanges."""
TOLD_AGAIN_NS = 1_000_000_000
MODES = {"muscle": "muscle", "force": "force", "hold": "target", "limp": "limp"}


class Leg:
    """The whole controller.

    `limits` say by motor how many ticks from where it was measured it may be sent, `approach_deg_s` how fast positions
    are approached (None: at once), `weight` what is carried beside the muscles, `seed` that of the signals' noise.
    """

    def __init__(
        self,
        model: Model,
        store: Store,
        logs: Logs,
        *,
        limits: Mapping[str, int],
        approach_deg_s: float | None,
        weight: Weight | None,
        seed: int = 0,
    ) -> None:
        self.model, self.store, self.logs, self.weight = model, store, logs, weight
        self.shafts: list[Shaft] = []
        for motor in model.motors:
            rate = None if approach_deg_s is None else approach_deg_s * abs(motor.servo.cal2)
            self.shafts.append(Shaft(motor, model.joints[motor.joint].mode, rate, limits.get(motor.name)))
        self.cycle_min_ns = max((motor.servo.cycle_min_ns for motor in model.motors), default=0)
        self.columns = model.columns
        motors = {number: k for k, motor in enumerate(model.motors) for number in (motor.angle, motor.current)}
        sensors = {number for number, hdso in model.hdsos.items() if hdso.kind == "sensor"}
        self.signals = Signals(model.signals, motors, sensors, store, self._feel, seed)
        self.cycle = 0
        self.now_ns = 0
        self.apart: dict[int, float] = {}
        self.ahead: set[int] = set()
        """What is to be held as soon as it has a value."""
        self.sensed = False
        self.switches = [Switching(each.name, each.states, each.start) for each in (*model.joints, *model.modules)]
        numbers = [state.number for state in model.states]
        self.of_actions = OfActions(model.of_actions, self.switches, numbers, store, self._feel)
        self.of_actions.compute(0)
        self.known: dict[int, Number] = {}
        self.activations = [0.0] * len(model.muscles)
        self.targets = [0.0] * len(model.muscles)
        self.driven_ns = [0] * len(model.muscles)
        self.asked: list[list[tuple[int, float]]] = [[(-1, 0.0)] for _ in model.muscles]
        """What was asked of each muscle, and since when; of nothing before the start."""
        self.rules: dict[int, Tree] = {}
        for number in store.given:
            if model.hdsos[number].kind == "boolstring":
                self.rules[number] = tree_of(store.held[number])
        self.past: dict[int, list[tuple[int, Number]]] = {}
        self._remember()
        self.overlaps: Counter[str] = Counter()
        self.negative: Counter[str] = Counter()
        self.told_ns: dict[str, int] = {}
        self.refused = 0
        self.pose: dict[str, float] | None = None

    def value(self, name: str) -> int:
        """Return an engine parameter (reading B26)."""
        return int(self.store.held[self.model.ids[name]][0])

    # --- motor action (D 6.2.1.1, equations 6-1 to 6-3; readings B16, B20) ---

    def begin(self, now_ns: int) -> None:
        """Begin an exchange: work out what is sent to each motor."""
        oldest_ns = now_ns - FRESH_NS - self.value("motor_control_delay_ns") - self.cycle_min_ns
        for shaft in self.shafts:
            shaft.begin(oldest_ns, self.store)
            if shaft.sent >= 0 and shaft.drive == self.model.joints[shaft.motor.joint].mode == "muscle":
                self._mirror(shaft)

    def _mirror(self, shaft: Shaft) -> None:
        """In muscle mode the command HDSOs act as sensors (reading B20)."""
        motor, ticks = shaft.motor, shaft.sent - shaft.raw
        if motor.position_command is not None:
            self.store.write(motor.position_command, [shaft.sent])
        if motor.force_command is not None:
            units = motor.servo.units_of(ticks) if motor.servo.ticks != 1.0 or motor.servo.table else ticks
            whole = self.model.hdsos[motor.force_command].datatype in INTEGERS
            self.store.write(motor.force_command, [round(units) if whole else units])

    def take(self, now_ns: int, replies: Sequence[Any]) -> None:
        """Take the replies of a complete exchange; a missing one leaves the last good values and their age."""
        self.cycle += 1
        for shaft, *reply in zip(self.shafts, *replies, strict=True):
            shaft.take(*reply)
        row = [value for shaft in self.shafts for value in (shaft.current, shaft.raw)]
        row += [value for shaft in self.shafts for value in (shaft.sent, now_ns - shaft.stamp_ns)]
        self.logs.row("MotorData.txt", now_ns, row)

    # --- motor conversion (D 6.2.1.2, equation 6-4; readings B15, B16, B19) ---

    def convert(self, now_ns: int) -> None:
        """Turn replies into angles and loads; a motor without a good reply is skipped."""
        for shaft in self.shafts:
            if (found := shaft.convert()) is not None:
                self._feel(shaft.motor.angle, found[0])
                self._feel(shaft.motor.current, found[1])
        self.sensed = all(shaft.started for shaft in self.shafts)
        if self.sensed:
            stamps = [shaft.stamp_ns for shaft in self.shafts]
            self.signals.compute(stamps, [shaft.unfiltered for shaft in self.shafts])
        for number in self.ahead & self.store.given:
            self._sense(number, "hold")
        if self.sensed and self.pose is None:
            angles = [(self.model.joints[s.motor.joint].name, self._measured(s.motor.angle)) for s in self.shafts]
            self.pose = dict(angles)
        self.note(now_ns)
        self.logs.row("SensData.txt", now_ns, [self._measured(number) for number in self.columns])
        if self.apart:
            self.logs.row(SENSED, now_ns, [self.store.held[number][0] for number in self.columns])

    def _feel(self, number: int, value: float) -> None:
        """Take what was measured of a sensor, or computed of a signal; where it is clamped it is not what is sensed."""
        if number in self.apart:
            self.apart[number] = single(value) if self.model.hdsos[number].datatype == "float" else value
        else:
            self.store.write(number, [value])

    def _measured(self, number: int) -> Number:
        return self.apart.get(number, self.store.held[number][0])

    def _sense(self, number: int, value: float | str) -> bool:
        """Clamp a sensor at a value, or at what is sensed of it now; or let it be as measured again (D 9.2.1.2)."""
        felt = {n for motor in self.model.motors for n in (motor.angle, motor.current)}
        if number not in felt | {signal.number for signal in (*self.model.signals, *self.model.of_actions)}:
            return True
        self.ahead.discard(number)
        if value == "hold" and number not in self.store.given:
            self.ahead.add(number)
        elif value == "off":
            if number in self.apart:
                self.store.write(number, [self.apart.pop(number)])
        elif value == "hold" or not isinstance(value, str):
            self.apart.setdefault(number, float(self.store.held[number][0]))
            if not isinstance(value, str):
                self.store.write(number, [value])
        else:
            return True
        return False

    # --- state transition (D 4.2.2, 6.2.1.3, equations 7-1 to 7-4; readings B5 to B7, B22) ---

    def judge(self, now_ns: int) -> None:
        """Evaluate the entry rules on one snapshot, switch states, set activations."""
        count = len(self.model.joints)
        if self.sensed:
            self._lead()
            self.of_actions.compute(now_ns)
            self.note(now_ns)
            entered = [k for k, switch in enumerate(self.switches) if self._judge_one(now_ns, k, switch)]
            for k in entered:
                self._command(self.switches[k].current)
            for switch in self.switches[:count]:
                for muscle, asked in self._blended(switch).items():
                    if asked != self.asked[muscle][-1][1]:
                        self.asked[muscle].append((now_ns, asked))
            self._arrive(now_ns)
        row: list[Number] = []
        for switch, joint in zip(self.switches, self.model.joints, strict=False):
            activations = [self.activations[muscle] for muscle in joint.muscles]
            row += [switch.current, *activations, *[0.0] * (2 - len(activations))]
        row += [switch.current for switch in self.switches[count:]]
        self.logs.row("StateData.txt", now_ns, row)

    def _judge_one(self, now_ns: int, k: int, switch: Switching) -> bool:
        """Let a joint or module be switched, by sensory entries first (D 9.4.1); return whether it was."""
        own, current, name = self.model.states, switch.current, switch.name
        soft = self.model.joints[k].soft if k < len(self.model.joints) else None
        degrees = self._degrees(switch, soft)
        true = [state for state in switch.states if degrees[state] == 1.0]
        if len(true) > 1:
            self.overlaps[name] += 1
            names = " and ".join(own[state].name for state in true)
            self._tell(now_ns, "rule_overlap", f"{k}", f"{name}: the entry rules of {names} are true together")
        if not switch.states:
            return False
        dwells = now_ns - switch.entered_ns < self._span(own[current].dwell)
        held_back = dwells or (switch.forced and now_ns - switch.entered_ns < self._span(own[current].hold))
        sensory = [state for state in true if state != current and not held_back]
        if soft is not None:
            switch.weights = moved(switch.weights, degrees, current, kept=held_back)
            leads = max(switch.weights, key=lambda state: (switch.weights[state], state == current))
            sensory = [leads] if leads != current and not held_back else []
        if dwells:
            return False
        central = [state for state in switch.states if state != current and self._true(own[state].central)]
        if not (sensory or central):
            return False
        switch.enter((sensory or central)[0], now_ns, forced=not sensory)
        if soft is None or not sensory:
            switch.give(switch.current)
        if not sensory:
            told = f"{name}: from {own[current].name} to {own[central[0]].name} by its central rule"
            self.logs.event(now_ns, "forced_switch", f"{told}, cycle {self.cycle}")
        return True

    def _degrees(self, switch: Switching, soft: Mapping[int, int] | None) -> dict[int, float]:
        """Return how true the entry rule of each state is; of a joint that does not switch softly 0 or 1."""
        rules = {state: self.model.states[state].rule for state in switch.states}
        if soft is None:
            return {state: float(self._true(rule)) for state, rule in rules.items()}
        widths = {number: self.store.held[width][0] for number, width in soft.items()}
        known = self.rules
        return {s: degree(known[r], self._then, known, widths) if r in known else 0.0 for s, r in rules.items()}

    def true(self, tree: Tree) -> bool:
        """Say whether a rule holds now."""
        return holds(tree, self._then, self.rules)

    def _span(self, number: int | None) -> Number:
        return 0 if number is None else self.store.held[number][0]

    def _true(self, rule: int | None) -> bool:
        return rule in self.rules and self.true(self.rules[rule])

    def _lead(self) -> None:
        """Let what follows controls have new values where these have."""
        for control in self.model.controls:
            value = self.store.held[control.number][0]
            if control.number in self.store.given and self.known.get(control.number) != value:
                self.known[control.number] = value
                control.lead(self.store)

    def _command(self, state: int) -> None:
        """Make the writes of a module's action: they are in force for activations at once, then for rules."""
        for number, values in self.model.states[state].writes:
            self.store.write(number, values)
            if self.model.hdsos[number].kind == "boolstring":
                self.rules[number] = tree_of(values)
                self._remember()

    def _then(self, number: int, late_us: int) -> Number:
        """Return what an HDSO was so long before now: its last value up to then, or the earliest that is known."""
        past = self.past[number] if late_us else []
        if not past:
            return self.store.held[number][0]
        then = self.now_ns - min(1000 * late_us, LONGEST_NS)
        return past[max(bisect_right(past, then, key=lambda item: item[0]) - 1, 0)][1]

    def _remember(self) -> None:
        """Begin the histories that rules in force and activations read, and forget the others."""
        needed = {n for state in self.model.states for a in state.activations for n, late in a.sensors if late}
        needed = needed.union(*(past_of(tree, self.rules) for tree in self.rules.values()))
        self.past = {number: self.past.get(number, []) for number in needed}

    def note(self, now_ns: int) -> None:
        """Take note of what values are from now on."""
        self.now_ns = now_ns
        for number, past in self.past.items():
            if number in self.store.given:
                past.append((now_ns, self.store.held[number][0]))

    def _tell(self, now_ns: int, kind: str, whom: str, text: str) -> None:
        """Tell of what may come often once a second at most."""
        if now_ns - self.told_ns.get(kind + whom, -TOLD_AGAIN_NS) >= TOLD_AGAIN_NS:
            self.told_ns[kind + whom] = now_ns
            self.logs.event(now_ns, kind, text)

    def _elements(self, cells: Sequence[Cell]) -> list[Number]:
        return [self.store.held[number][element] for number, element in cells]

    # --- what SCCILS 0.2 adds to activations (D 8.3.3, 9.2.2.9, 9.2.4; docs/acting.md) ---

    def _blended(self, switch: Switching) -> dict[int, float]:
        """Return what is asked of each muscle of a joint: the sum of its actions by their weights."""
        asked: dict[int, float] = {}
        for state, weight in switch.weights.items():
            for each in self.model.states[state].activations if weight else ():
                part = weight * self._influenced(each)
                asked[each.muscle] = asked[each.muscle] + part if each.muscle in asked else part
        return asked

    def _arrive(self, now_ns: int) -> None:
        """Let muscles have what they have by now."""
        for k in range(len(self.activations)):
            self._drive(k, self._arrived(k, now_ns), now_ns)

    def _arrived(self, k: int, now_ns: int) -> float:
        """Return what has come to a muscle along its nerve: what was asked for last up to a delay ago."""
        nerve, asked = self.model.muscles[k].nerve, self.asked[k]
        late_ns = 0 if nerve is None else round(1e9 * self.store.held[nerve][0])
        return asked[max(bisect_right(asked, now_ns - late_ns, key=lambda item: item[0]) - 1, 0)][1]

    def _drive(self, k: int, asked: float, now_ns: int) -> None:
        """Let a muscle have what has arrived, now or in the time that it takes."""
        level, target = self.activations[k], self.targets[k]
        if lag := self._lag(k):
            level = target + (level - target) * math.exp(-(now_ns - self.driven_ns[k]) * 1e-9 / lag)
            self.activations[k] = level
        self.targets[k], self.driven_ns[k] = asked, now_ns
        if not self._lag(k) or not (math.isfinite(level) and math.isfinite(asked)):
            self.activations[k] = asked

    def _lag(self, k: int) -> float:
        rise, fall = self.model.muscles[k].lags
        lag = rise if self.targets[k] > self.activations[k] else fall
        return 0.0 if lag is None else self.store.held[lag][0]

    def _influenced(self, activation: Activation) -> float:
        base = self._activation(activation)
        if not activation.influences:
            return base
        held, total = self.store.held, base
        try:
            for signal, gain, (kind, cells) in activation.influences:
                x, strength, p = held[signal][0], held[gain][0], self._elements(cells)
                if strength:
                    f = x if not kind else max(0.0, x - p[0]) if kind == "rectified" else _function(kind, p, x)
                    total += strength * f
        except ArithmeticError:
            return math.nan
        low, high = self._elements(activation.bounds) or (0.0, 1.0)
        if not math.isfinite(total):
            return math.nan
        if min(low, base) <= total <= max(high, base):
            return total
        return min(low, base) if total < base else max(high, base)

    def _activation(self, activation: Activation) -> float:
        p, x = self._elements(activation.parameters), [self._then(sensor, late) for sensor, late in activation.sensors]
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
        if self.model.muscle_period is not None:
            self._arrive(now_ns)
        row: list[float] = []
        for shaft in self.shafts:
            shaft.delta = 0.0
        for muscle, activation in zip(self.model.muscles, self.activations, strict=True):
            shaft = self.shafts[self.model.joints[muscle.joint].motor]
            theta, l0, r = self._measured(shaft.motor.angle), muscle.l0, muscle.r
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
            angles = [self._measured(shaft.motor.angle) for shaft in self.shafts]
            for joint, units in zip(self.model.joints, self.weight.units(angles), strict=True):
                self.shafts[joint.motor].delta += units
        self.logs.row("MuscleData.txt", now_ns, row)

    def _function(self, function: tuple[str, tuple[Cell, ...]], x: float) -> float:
        return _function(function[0], self._elements(function[1]), x)

    # --- edits (readings C2, C6, B7, B15) ---

    def write(self, edits: Sequence[tuple[int, Values]]) -> list[bool]:
        """Make a changeset's writes: numbers first, then rules. Return which of them are refused."""
        hdsos = self.model.hdsos
        refused = [hdsos[number].refusal(values) for number, values in edits]
        rules = [place for place, (number, _) in enumerate(edits) if hdsos[number].kind == "boolstring"]
        for place, (number, values) in enumerate(edits):
            if hdsos[number].kind != "boolstring" and not refused[place]:
                self.store.write(number, values)
        trees: dict[int, Tree] = {}
        for place in rules:
            try:
                trees[place] = self._bound(*edits[place])
            except RuleFault:
                refused[place] = True
        # The last one of each rule counts; one that can not be in force leaves the one before it.
        ahead: dict[int, list[int]] = {}
        for place in rules:
            if not refused[place]:
                ahead.setdefault(edits[place][0], []).append(place)
        while bad := unfit({**self.rules, **{n: trees[places[-1]] for n, places in ahead.items()}}, set(ahead)):
            for number in bad:
                refused[ahead[number].pop()] = True
                if not ahead[number]:
                    del ahead[number]
        for number, places in ahead.items():
            self.store.write(number, edits[places[-1]][1])
            self.rules[number] = trees[places[-1]]
            self._remember()
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
        compared = [leaf for leaf in leaves(tree) if not isinstance(leaf, int) and leaf[0] in "<>"]
        if any(self.model.hdsos[number].kind == "boolstring" for leaf in compared for number in operands(leaf)):
            raise RuleFault("a rule is compared")
        return tree

    def control(self, what: str, joint_id: int, value: float | str) -> bool:
        """Change what drives a joint's motor, or what is sensed of a sensor; say whether that is refused."""
        if what == "sense":
            return self._sense(joint_id, value)
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


def _function(kind: str, p: Sequence[Number], x: float) -> float:
    """Return a generic function's value (D 10.2, 2.1; reading B22)."""
    match kind:
        case "constant":
            return p[0]
        case "linear":
            return p[0] * x + p[1]
        case "parabolic":
            return ((x - p[1]) ** 2 + 4.0 * p[0] * p[2]) / (4.0 * p[0])
        case _:
            return p[0] / (x - p[1]) + p[2]


def _kernel(x: float, a: float, b: float, c: float, wmin: float, wmax: float) -> float:
    """Return K(x) of equations 7-3 and 7-4."""
    p = (x - wmin) / (wmax - wmin)
    return max(0.0, a + b * p + c * (1.0 - p))
