"""Muscle conversion: lengths, forces and servo deltas (section 6.2.1.4, equations 6-5 and 6-6)."""

from __future__ import annotations

import math

from nuc_engine.control.faults import FAULTS
from nuc_engine.control.functions import bind_function
from nuc_engine.control.tasks.board import Board
from nuc_engine.control.tasks.weight import Weight
from nuc_engine.model.plan import MusclePlan, Plan, Slot
from nuc_engine.model.store import BufferView, Store

_AGAIN_NS = FAULTS["bad_command"].again_ns

_RADIANS = math.pi / 180.0


class MuscleConversion:
    """Sums the muscles of every joint to its servo delta, in units of muscle output: ticks of an AI motor.

    l' = ((alpha - theta) r + l0) / l0 with the angle difference in radians (reading B2). The force f is
    PS + activation FL FV fmax, the delta the sum of r f. PS and FL take l', FV takes the rate of l' in 1/s, from the
    filtered joint velocity: negative while the muscle shortens. Nothing is clamped (B3); negative forces are counted
    in `negative_forces`. Where the plan wants the weight carried, that is added to the deltas.
    """

    def __init__(self, plan: Plan, store: Store, board: Board) -> None:
        self._board = board
        self._muscles = [_Bound(plan, store, muscle) for muscle in plan.muscles]
        self._motors = len(plan.motors)
        self._weight = None if plan.gravity is None else Weight(plan.gravity, store)
        self.negative_forces = [0] * len(plan.muscles)

    def run(self, now_ns: int) -> None:
        """Compute all muscles from the measured angles and the activations in force; every sensor must have a value.

        A function that has no value where it is asked makes its joint's delta no number, which the guard stops.
        """
        board = self._board
        activations, forces, lengths, velocity = board.activations, board.forces, board.lengths, board.velocity_rad_s
        deltas = [0.0] * self._motors
        for k, muscle in enumerate(self._muscles):
            relative = ((muscle.alpha - muscle.angle[muscle.angle_at]) * muscle.radian_r + muscle.l0) / muscle.l0
            try:
                scale = muscle.force_length(relative)
                if muscle.has_velocity:
                    scale *= muscle.force_velocity(-muscle.r * velocity[muscle.motor] / muscle.l0)
                else:
                    scale *= muscle.force_velocity(0.0)
                force = muscle.passive(relative) + activations[k] * scale * muscle.fmax
            except (ArithmeticError, ValueError):
                force = math.nan
            forces[k] = force
            lengths[k] = relative * muscle.l0
            deltas[muscle.motor] += muscle.r * force
            if force < 0.0:
                self.negative_forces[k] += 1
            elif force - force != 0.0:
                self._no_number(muscle, now_ns)
        if self._weight is not None:
            self._weight.add(deltas)
        board.deltas = deltas

    def measure(self, index: int, view: BufferView, at: int) -> None:
        """Take what is measured of this sensor from this cell from now on."""
        for muscle in self._muscles:
            if muscle.angle_index == index:
                muscle.angle, muscle.angle_at = view, at
        if self._weight is not None:
            self._weight.measure(index, view, at)

    def _no_number(self, muscle: _Bound, now_ns: int) -> None:
        if now_ns - muscle.reported_ns >= _AGAIN_NS:
            muscle.reported_ns = now_ns
            self._board.on_event(
                now_ns, "bad_command", f"the force of {muscle.name} is no number: its joint is not driven"
            )


class _Bound:
    """One muscle with its functions and the cell of its joint's angle."""

    def __init__(self, plan: Plan, store: Store, muscle: MusclePlan) -> None:
        motor = plan.motors[plan.joints[muscle.joint].motor]
        self.name = muscle.name
        self.reported_ns = -_AGAIN_NS
        self.motor = motor.index
        self.angle_index = motor.angle
        self.angle, self.angle_at = store.locate(Slot(motor.angle))
        self.alpha, self.r, self.l0, self.fmax = muscle.alpha_deg, muscle.r, muscle.l0, muscle.fmax
        self.radian_r = muscle.r * _RADIANS
        self.passive = bind_function(muscle.passive_stiffness, store)
        self.force_length = bind_function(muscle.force_length, store)
        self.force_velocity = bind_function(muscle.force_velocity, store)
        self.has_velocity = muscle.force_velocity.type != "constant"
