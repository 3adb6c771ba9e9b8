"""The emulated leg: a MuJoCo model behind the servos.

Time runs on the plant's own grid (`timestep_us`). The servos' position loops are MuJoCo actuators, so that nothing
of Python runs inside a step. A servo's reply is the state after the last whole step; a goal given between two grid
points acts in the step that is run next. Source of the motor model: sections 6.2.1.1 and 6.3.2; its numbers, and
which of them are assumed, stand in the configuration's plant.toml.
"""

# MuJoCo's bindings come without a description of their functions.
# pyright: reportAttributeAccessIssue=false

from __future__ import annotations

import math
from bisect import insort
from itertools import cycle
from typing import Final

import mujoco
import numpy as np
from numpy.typing import NDArray

from drivers.servo import Motion, PlantFault
from nuc_engine.model.plan import Plan
from nuc_engine.plants.compiled import compile_model, floats, set_up_mujoco
from nuc_engine.plants.events import BaseHeight, Disconnect, Ground, Kick, Load, PlantEvent, Reconnect, find_faults
from nuc_engine.plants.hand import HandHold
from nuc_engine.plants.kicks import HAND_M_S, draw_kick
from nuc_engine.plants.mjcf import FOOT, GROUND, coordinates, flex_angles, leg_xml
from nuc_engine.plants.moving_ground import MovingGround
from nuc_engine.plants.servos import CurrentLoop, noise_of, servos_of
from nuc_engine.plants.spec import LEVELS, PlantSpec
from nuc_engine.plants.variation import Variation, draw

RECORD_PERIOD_NS = 10_000_000
"""How often the leg's true state is recorded, and looked at for divergence."""

PlantRecord = tuple[float, ...]
"""Instant (ns, whole), foot x, y, z (cm, in the frame of the first A-matrix), normal force of the ground (N).

The force is the mean since the record before, over the instants at which servos were asked, some eight in a record.
"""

FITS_M = 0.001
"""A leg fits into its place when its foot would be no deeper in the ground than this; a hand keeps it as much clear."""
TURNS_RAD_S = 1.05
"""How fast a hand turns a horn back whose leg does not fit. Assumed."""
HOLD_LIMIT_NS = 2_000_000_000
"""How long it tries."""

_BODY = mujoco.mjtObj.mjOBJ_BODY
_NEVER: Final = (1 << 62) - 1
_CM_PER_M: Final = 100.0
_OWN: Final = LEVELS
_FREE = (0.0, 0.0)


class MujocoLeg:
    """A leg of servos and segments on the ground; a `drivers.servo.ServoPlant`.

    Raises PlantSpecError when the description does not fit the plan, ValueError when the seed is negative.
    """

    def __init__(self, plan: Plan, spec: PlantSpec, seed: int, record_period_ns: int = RECORD_PERIOD_NS) -> None:
        """Build the model and put the leg into its start pose, torque off."""
        set_up_mujoco()
        self._plan, self._spec = plan, spec
        self._variation = draw(spec.variation, len(plan.joints), seed)
        self._whole = self._build(None)
        self._places = coordinates(plan, spec)
        self._trial = mujoco.MjData(self._whole)
        self._bind(self._whole)
        self._step_ns = spec.world.timestep_us * 1000
        self._record_steps = max(1, record_period_ns // self._step_ns)
        self._done = 0
        # One step past a grid point MuJoCo still holds what it computed at the grid point.
        self._next_record = self._pause = 1
        self._events: list[tuple[int, int, PlantEvent]] = []
        self._events_given = self._kicks_given = 0
        self._seed = seed
        self._pushes: list[tuple[int, Kick | Load]] = []
        self._push_changes = _NEVER
        self._records: list[PlantRecord] = []
        self._apart: dict[str, mujoco.MjModel] = {}
        self._by_hand: list[PlantEvent] = []
        self._hand: HandHold | None = None
        self._hand_changes = _NEVER
        below_m = spec.world.base_height_cm / _CM_PER_M
        self._stage = MovingGround(float(self._model.geom_pos[self._ground, 2]) + below_m, below_m)
        self._stage_changes = _NEVER
        self._contact_force, self._velocity = np.zeros(6), np.zeros(6)
        self._pressed_n, self._presses, self._ground_n = 0.0, 0, 0.0
        self._set_up_servos(plan, spec)
        self._set_start_pose(plan, spec, self._variation)

    def _set_up_servos(self, plan: Plan, spec: PlantSpec) -> None:
        """Keep what the exchanges need where it is at hand, and let every servo go."""
        servos = servos_of(plan, spec)
        self._goal_scale, self._goal_offset, self._readout = servos.goal_scale, servos.goal_offset, servos.readout
        self._gain, self._caps, self._stall = servos.gain, servos.caps, servos.stall
        self._loops = servos.loops
        self._regulated: dict[int, tuple[CurrentLoop, float]] = {}
        # The level in force; -1 for a servo without torque, `_OWN` for one that says itself how it is driven, and how.
        self._level = [-1] * len(plan.motors)
        self._own = [_FREE] * len(plan.motors)
        self._supply = spec.servo.current_model == "supply"
        self._foot_a_n = spec.servo.foot_ticks_n * spec.servo.current_tick_a
        self._noise = cycle(noise_of(self._variation, spec))
        for index in range(len(plan.motors)):
            self.release(index)

    def _build(self, held: int | None) -> mujoco.MjModel:
        """Compile the leg, whole or taken apart below a joint's motor."""
        model = compile_model(leg_xml(self._plan, self._spec, held))
        model.pair_friction[0, :2] *= self._variation.friction_factor
        return model

    def _bind(self, model: mujoco.MjModel) -> None:
        """Make a model the one that runs, with the state in memoryviews, which are fast to index."""
        self._model, self._data = model, mujoco.MjData(model)
        data = self._data
        self._ground = mujoco.mj_name2id(model, mujoco.mjtObj.mjOBJ_GEOM, GROUND)
        self._foot = mujoco.mj_name2id(model, mujoco.mjtObj.mjOBJ_GEOM, FOOT)
        self._qpos, self._qvel = floats(data.qpos), floats(data.qvel)
        self._ctrl, self._force = floats(data.ctrl), floats(data.actuator_force)
        self._foot_xyz = floats(data.geom_xpos[self._foot])
        self._warnings = data.warning.number
        self._warning_counts = memoryview(self._warnings)

    def _set_start_pose(self, plan: Plan, spec: PlantSpec, variation: Variation) -> None:
        for place, angle in flex_angles(plan, spec).items():
            self._qpos[place] = angle
        for joint, offset in zip(plan.joints, variation.start_pose_deg, strict=True):
            self._qpos[self._places[joint.index]] = math.radians(spec.joints[joint.name].start_deg + offset)

    # The next six are called some 800 times per simulated second.

    def advance(self, now_ns: int) -> None:
        """Run all whole steps that end at or before `now_ns`. Raises PlantFault when the physics diverges."""
        target = now_ns // self._step_ns
        if target < self._pause:
            steps = target - self._done
            if steps > 0:
                if self._regulated:
                    self._run_regulated(steps)
                else:
                    mujoco.mj_step(self._model, self._data, steps)
                self._done = target
                self._feel()
            return
        self._advance_over_pauses(target)

    def command(self, servo: int, goal_deg: float, level: int) -> None:
        """Let servo `servo` drive its shaft to `goal_deg` with torque level 0 (strongest) to 4."""
        self._ctrl[servo] = goal_deg * self._goal_scale[servo] + self._goal_offset[servo]
        if level != self._level[servo]:
            self._close_loop(servo, level, self._caps[servo][level], self._gain[servo])

    def sample(self, servo: int) -> tuple[float, float]:
        """Return (shaft angle in degrees, motor current in A) as the servo's own, noisy sensors see them."""
        joint, scale, offset, per_torque, per_speed, stall_a, tick, seen_a = self._readout[servo]
        angle_noise, current_noise = next(self._noise)
        if self._foot_a_n:
            return self._qpos[joint] * scale + offset + angle_noise * tick, self._ground_n * self._foot_a_n
        duty = self._force[servo] * per_torque
        current = stall_a * (duty - self._qvel[joint] * per_speed)
        if self._supply:
            current *= duty
        elif self._level[servo] < 0:
            current = 0.0
        current = abs(current) + current_noise + seen_a
        return self._qpos[joint] * scale + offset + angle_noise * tick, current if current > 0.0 else 0.0

    def drive(self, servo: int, goal_deg: float, stiffness_n_m_deg: float, limit_n_m: float) -> None:
        """Let servo `servo` drive its shaft to `goal_deg` with this stiffness and at most this torque."""
        self._ctrl[servo] = goal_deg * self._goal_scale[servo] + self._goal_offset[servo]
        if self._level[servo] != _OWN or self._own[servo] != (stiffness_n_m_deg, limit_n_m):
            self._own[servo] = stiffness_n_m_deg, limit_n_m
            cap = min(max(limit_n_m, 0.0), self._stall[servo])
            self._close_loop(servo, _OWN, cap, math.degrees(max(stiffness_n_m_deg, 0.0)))

    def motion(self, servo: int) -> Motion:
        """Return what the servo's own, noisy sensors see, signs and speed included."""
        angle, current = self.sample(servo)
        joint, scale, _, per_torque, per_speed, *_ = self._readout[servo]
        speed, torque = self._qvel[joint], self._force[servo]
        # Positive is where the shaft's own scale rises, which may be where the joint's falls.
        sense = math.copysign(1.0, scale)
        drawn = torque if self._supply else torque * per_torque - speed * per_speed
        return Motion(angle, speed * scale, torque * sense, math.copysign(current, drawn * sense))

    def release(self, servo: int) -> None:
        """Take the torque off: only the gearbox's friction and damping hold the shaft."""
        self._level[servo] = -1
        self._model.actuator_gainprm[servo, 0] = 0.0
        self._model.actuator_biasprm[servo, 1] = 0.0
        if (regulated := self._regulated.pop(servo, None)) is not None:
            loop, _ = regulated
            self._model.dof_damping[loop.joint] = loop.damping_n_m_s

    def _close_loop(self, servo: int, level: int, cap: float, gain: float) -> None:
        """Switch the position loop on, with a torque cap (N m) and a stiffness (N m/rad)."""
        self._level[servo] = level
        self._model.actuator_forcerange[servo] = (-cap, cap)
        self._model.actuator_gainprm[servo, 0] = gain
        self._model.actuator_biasprm[servo, 1] = -gain
        if (loop := self._loops[servo]) is not None:
            self._regulated[servo] = loop, cap
            self._model.dof_damping[loop.joint] = 0.0

    def schedule(self, event: PlantEvent) -> PlantEvent:
        """Let something happen to the leg in the first step that starts at or after the event's instant.

        Returns it with what the seed decides: the k-th kick that is given is the k-th one drawn. Raises ValueError for
        what cannot be done to this leg then.
        """
        if isinstance(event, Disconnect | Reconnect):
            self._prepare_hands(event)
        self._events_given += 1
        if isinstance(event, Kick):
            event = draw_kick(event, self._seed, self._kicks_given)
            self._kicks_given += 1
        due = max(-(-event.at_ns // self._step_ns), self._done)
        insort(self._events, (due, self._events_given, event))
        self._pause = min(self._pause, due)
        return event

    def take_records(self) -> list[PlantRecord]:
        """Return the true states recorded since the last call, oldest first."""
        records, self._records = self._records, []
        return records

    def _advance_over_pauses(self, target: int) -> None:
        """Step to `target`, stopping where something has to be recorded or happens."""
        while target >= self._pause:
            self._step_to(self._pause)
            if self._done == self._next_record:
                self._record()
            self._let_happen()
            due = self._events[0][0] if self._events else _NEVER
            self._pause = min(self._next_record, due, self._push_changes, self._hand_changes, self._stage_changes)
        self._step_to(target)

    def _step_to(self, step: int) -> None:
        if step > self._done:
            if self._regulated:
                self._run_regulated(step - self._done)
            else:
                mujoco.mj_step(self._model, self._data, step - self._done)
            self._done = step

    def _run_regulated(self, steps: int) -> None:
        """Run steps one by one: what the supply's voltage leaves of a regulated current changes with the speed."""
        ranges, qvel = self._model.actuator_forcerange, self._qvel
        for _ in range(steps):
            for servo, (loop, cap) in self._regulated.items():
                ranges[servo] = loop.bounds(cap, qvel[loop.joint])
            mujoco.mj_step(self._model, self._data)

    def _record(self) -> None:
        self._check()
        self._next_record += self._record_steps
        self._feel()
        x, y, z = self._foot_xyz
        force = self._pressed_n / self._presses
        self._pressed_n, self._presses = 0.0, 0
        instant = (self._done - 1) * self._step_ns
        self._records.append((instant, x * _CM_PER_M, y * _CM_PER_M, z * _CM_PER_M, force))

    def _feel(self) -> None:
        """Note how hard the ground presses now: a stiff foot bounces faster than its force is recorded."""
        self._presses += 1
        self._ground_n = 0.0
        if self._data.ncon:
            mujoco.mj_contactForce(self._model, self._data, 0, self._contact_force)
            self._ground_n = float(self._contact_force[0])
            self._pressed_n += self._ground_n

    def _check(self) -> None:
        """Raise PlantFault when MuJoCo has warned of anything, or a joint's state is no number."""
        if any(self._warning_counts):
            kinds = [mujoco.mjtWarning(kind).name for kind in range(len(self._warnings)) if self._warnings[kind]]
            raise PlantFault(self._diverged(", ".join(kind.removeprefix("mjWARN_") for kind in kinds)))
        if not math.isfinite(sum(self._qpos, 0.0) + sum(self._qvel, 0.0)):
            raise PlantFault(self._diverged("a joint's state is not finite"))

    def _diverged(self, what: str) -> str:
        return f"the physics diverged before {self._done * self._step_ns / 1e9:.3f} s: {what}"

    def _let_happen(self) -> None:
        while self._events and self._events[0][0] <= self._done:
            event = self._events.pop(0)[2]
            match event:
                case Kick() | Load():
                    steps = max(1, -(-(event.duration_ns or 0) // self._step_ns))
                    self._pushes.append((self._done + steps, event))
                case Ground():
                    self._stage.go(present=event.present, foot_m=self._foot_low_m())
                case BaseHeight():
                    self._stage.go(below_m=event.height_cm / _CM_PER_M, foot_m=self._foot_low_m())
                case Disconnect():
                    self._take_apart(event)
                case Reconnect():
                    self._bring_back(event)
            self._place_ground()
        if self._stage.rises:
            self._stage.rise(self._step_ns * 1e-9)
            self._place_ground()
        if self._hand is not None:
            self._move_hand(self._hand)
        if self._pushes:
            self._push()

    def _place_ground(self) -> None:
        self._model.geom_pos[self._ground, 2] = self._stage.place_m
        self._stage_changes = self._done + 1 if self._stage.rises else _NEVER

    def _foot_low_m(self) -> float:
        return float(self._data.geom_xpos[self._foot, 2] - self._model.geom_size[self._foot, 0])

    def _prepare_hands(self, event: Disconnect | Reconnect) -> None:
        """See that the leg can be taken apart or put together then, and have the model of it ready."""
        faults = find_faults([*self._by_hand, event], [joint.name for joint in self._plan.joints])
        if faults:
            raise ValueError(faults[0])
        self._by_hand.append(event)
        if isinstance(event, Disconnect) and event.joint not in self._apart:
            index = next(joint.index for joint in self._plan.joints if joint.name == event.joint)
            self._apart[event.joint] = self._build(index)

    def _take_apart(self, event: Disconnect) -> None:
        mujoco.mj_kinematics(self._model, self._data)
        self._joint = self._places[next(joint.index for joint in self._plan.joints if joint.name == event.joint)]
        self._horn = mujoco.mj_name2id(self._model, mujoco.mjtObj.mjOBJ_BODY, event.joint)
        place, turn = self._data.xpos[self._horn].copy(), self._data.xquat[self._horn].copy()
        self._hand = HandHold(place, turn, self._done, -(-event.duration_ns // self._step_ns))
        self._go_on_with(self._apart[event.joint])

    def _bring_back(self, event: Reconnect) -> None:
        if self._hand is not None:
            self._hand.bring(self._done, -(-event.duration_ns // self._step_ns))

    def _move_hand(self, hand: HandHold) -> None:
        """Move what the hand holds; when it is back at its horn, and fits, go on with the whole leg."""
        if not hand.bringing:
            hand.lift(self._done)
        elif hand.moves(self._done) or self._turn_horn(hand):
            mujoco.mj_kinematics(self._model, self._data)
            hand.follow(self._done, self._data.xpos[self._horn], self._data.xquat[self._horn])
            self._keep_clear(hand)
        else:
            self._hand, self._hand_changes = None, _NEVER
            self._go_on_with(self._whole)
            return
        self._data.mocap_pos[0], self._data.mocap_quat[0] = hand.place, hand.turn
        self._hand_changes = self._done + 1 if hand.bringing or hand.moves(self._done) else _NEVER

    def _keep_clear(self, hand: HandHold) -> None:
        """Let the hand hold the piece higher where the foot would meet the ground on its way."""
        data = self._data
        data.mocap_pos[0], data.mocap_quat[0] = hand.place, hand.turn
        mujoco.mj_kinematics(self._model, data)
        hand.place[2] += max(0.0, FITS_M - (self._foot_low_m() - self._stage.place_m))

    def _turn_horn(self, hand: HandHold) -> bool:
        """Turn the horn back by hand for a step while the leg, put on as it is, would reach into the ground."""
        angle, depth_m = self._qpos[self._joint], self._depth_m(0.0)
        if depth_m < FITS_M or hand.waits(self._done) * self._step_ns >= HOLD_LIMIT_NS:
            return False
        step = TURNS_RAD_S * self._step_ns * 1e-9
        # The motor pulls the other way meanwhile, but a hand is stronger.
        last = angle if hand.horn is None else hand.horn
        hand.horn = last + (step if self._depth_m(1e-3) < depth_m else -step)
        self._qpos[self._joint], self._qvel[self._joint] = hand.horn, 0.0
        return True

    def _depth_m(self, turned: float) -> float:
        """Return how deep in the ground the foot of the whole leg would be, its horn turned by so much (rad)."""
        trial = self._trial
        trial.qpos[:] = self._data.qpos
        trial.qpos[self._joint] += turned
        mujoco.mj_kinematics(self._whole, trial)
        return self._stage.place_m + float(self._whole.geom(FOOT).size[0] - trial.geom(FOOT).xpos[2])

    def _go_on_with(self, model: mujoco.MjModel) -> None:
        """Go on with another model of the leg: joints, servos and ground as they are."""
        last_model, last = self._model, self._data
        self._bind(model)
        self._data.time = last.time
        for name in ("qpos", "qvel", "ctrl", "actuator_force", "qacc_warmstart"):
            getattr(self._data, name)[:] = getattr(last, name)
        for name in ("actuator_gainprm", "actuator_biasprm", "actuator_forcerange", "dof_damping"):
            getattr(model, name)[:] = getattr(last_model, name)
        self._place_ground()

    def _push(self) -> None:
        """Apply the forces from outside that are still there, as a force and a moment on the last segment."""
        self._pushes = [push for push in self._pushes if push[0] > self._done]
        body, total, moment = self._data.xfrc_applied[-1], np.zeros(3), np.zeros(3)
        for _, push in self._pushes:
            if isinstance(push, Kick):
                total += self._kick_n(np.array(push.force_n or (0.0, 0.0, 0.0)))
            else:
                force = np.array((0.0, 0.0, -push.down_n))
                total += force
                moment += np.cross(self._data.geom_xpos[self._foot] - self._data.xipos[-1], force)
        body[:3], body[3:] = total, moment
        # What a hand still adds, and how a force on the foot turns the segment, changes with every step.
        self._push_changes = self._done + 1 if self._pushes else _NEVER

    def _kick_n(self, force: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return what is left of a kick's force on a segment that gives way."""
        size = float(np.linalg.norm(force))
        if size == 0.0:
            return force
        mujoco.mj_objectVelocity(self._model, self._data, _BODY, self._model.nbody - 1, self._velocity, 0)
        speed = float(self._velocity[3:] @ force) / size
        return force * min(1.0, max(0.0, 1.0 - speed / HAND_M_S))
