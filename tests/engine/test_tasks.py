"""Each task against numbers worked by hand."""

import math

import pytest

from drivers.bus import READ_ONLY
from drivers.servo import ReplyStatus
from nuc_engine.control.functions import bind_activation, bind_function
from nuc_engine.control.guard import Guard
from nuc_engine.control.rulebook import Rulebook, RuleError
from nuc_engine.control.tasks.board import Board
from nuc_engine.control.tasks.motor_action import MotorAction
from nuc_engine.control.tasks.motor_conversion import MotorConversion
from nuc_engine.control.tasks.muscle_conversion import MuscleConversion
from nuc_engine.control.tasks.state_transition import StateTransition
from nuc_engine.model.plan import ActivationPlan, FunctionPlan, Slot
from nuc_engine.model.store import Store
from tests.engine.models import ScriptedBus, one_joint

OK, MISSED = int(ReplyStatus.OK), int(ReplyStatus.MISSED)


class Bench:
    """One joint's store, board and rules, initialised as the executive does it."""

    def __init__(self, **kwargs):
        self.plan = one_joint(**kwargs)
        self.store = Store(self.plan)
        for write in self.plan.initial:
            self.store.write(write.hdso, write.values)
        self.events = []
        self.board = Board(self.plan, lambda *event: self.events.append(event))
        self.rulebook = Rulebook(self.plan, self.store)
        for state in self.plan.states:
            code = list(self.store.values(state.rule))
            self.rulebook.swap(state.rule, code, self.rulebook.decode(state.rule, code))

    def sense(self, angle, current=0.0):
        for ref, value in ((301, angle), (302, current)):
            self.store.write(self.plan.hdso(ref).index, (value,))
        self.board.sensed = True

    def value(self, ref):
        return self.store.values(self.plan.hdso(ref).index)[0]

    def set(self, ref, *values):
        self.store.write(self.plan.hdso(ref).index, values)


# --- functions and activations -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kind", "parameters", "argument", "expected"),
    [
        ("constant", (0.25,), 99.0, 0.25),
        # Away from l' = 1, where the two readings of the parameter order agree.
        ("linear", (2.0, -1.5), 1.25, 1.0),
        ("linear", (2.0, -1.5), 0.75, 0.0),
        # ((3 - 1)^2 + 4 * 2 * 5) / (4 * 2) = 44 / 8
        ("parabolic", (2.0, 1.0, 5.0), 3.0, 5.5),
        # 6 / (4 - 1) + 0.5
        ("hyperbolic", (6.0, 1.0, 0.5), 4.0, 2.5),
    ],
)
@pytest.mark.parametrize("use", ["force_length", "force_velocity"])
def test_generic_functions(kind, parameters, argument, expected, use):
    bench = Bench(**{use: (kind, parameters)})
    function = bind_function(getattr(bench.plan.muscles[0], use), bench.store)
    assert function(argument) == pytest.approx(expected, rel=1e-6)


def test_linear_activation_is_one_kernel():
    # K1 of Table 7-4 at x = 80: p = (80 - 61)/(100 - 61) = 0.4871795, K = 0.8 p + 0.01 (1 - p) = 0.3948718.
    assert _kernel("linear", [(0.0, 0.8, 0.01, 61.0, 100.0)], [80.0]) == pytest.approx(0.3948718, rel=1e-5)


def test_the_window_is_not_clamped():
    # x = 120 lies outside wmin..wmax: p = 59/39 = 1.5128205, K = 0.8 p + 0.01 (1 - p) = 1.2051282.
    assert _kernel("linear", [(0.0, 0.8, 0.01, 61.0, 100.0)], [120.0]) == pytest.approx(1.2051282, rel=1e-5)


def test_bilinear_activation_weighs_its_kernels():
    # Equation 7-2 with Table 7-4 at FTi = 70, CTr = 20:
    # p = 9/39 = 0.2307692: K2 = 0.08 - 0.205 p + 0.008 (1 - p) = 0.0388462
    # p = 60/120 = 0.5:      K3 = 0.06 (1 - p) = 0.03;  2 K2 + K3 = 0.1076923
    kernels = [(0.08, -0.205, 0.008, 61.0, 100.0), (0.0, 0.0, 0.06, -40.0, 80.0)]
    assert _kernel("bilinear", kernels, [70.0, 20.0]) == pytest.approx(0.1076923, rel=1e-5)


def test_a_kernel_is_never_negative():
    # At x = 100 K2 is 0.08 - 0.205 = -0.125, cut to 0 before it is doubled and added: only K3 is left.
    kernels = [(0.08, -0.205, 0.008, 61.0, 100.0), (0.0, 0.0, 0.06, -40.0, 80.0)]
    assert _kernel("bilinear", kernels, [100.0, 20.0]) == pytest.approx(0.03, rel=1e-6)


def _kernel(function, kernels, sensors):
    bench = Bench(force_length=("parameters", tuple(v for kernel in kernels for v in kernel)))
    index = bench.plan.hdso(171).index
    places = [Slot(bench.plan.hdso(301).index), Slot(bench.plan.hdso(302).index)][: len(sensors)]
    bench.sense(*sensors)
    plan = ActivationPlan(0, function, tuple(places), tuple(Slot(index, k) for k in range(5 * len(kernels))))
    return bind_activation(plan, bench.store)()


# --- motor action ------------------------------------------------------------------------------------------------


def act(bench, position, *, status=OK, delta=0.0, guard=None):
    bus = ScriptedBus(lambda now, goals: [(position, 0)])
    bench.board.position_raw[0], bench.board.status[0], bench.board.deltas = position, status, [delta]
    action = MotorAction(bench.plan, bench.store, bench.board, bus, guard or Guard([None]))
    action.start(0)
    return bus


@pytest.mark.parametrize(
    ("position", "delta", "direction", "goal"),
    [
        (120, 30.4, 1, 150),
        (120, 30.6, 1, 151),
        (120, -30.4, 1, 90),
        (120, 30.4, -1, 90),
        (120, 200.0, 1, 254),
        (120, -144.0, 1, 0),
        (120, 0.4, 1, 120),
    ],
)
def test_servo_delta_control(position, delta, direction, goal):
    bus = act(Bench(motor={"dir": direction}), position, delta=delta)
    assert bus.goals == [(0, [goal])]


def test_a_motor_without_a_good_reply_is_read_not_driven():
    assert act(Bench(), 120, status=int(ReplyStatus.NONE), delta=50.0).goals == [(0, [READ_ONLY])]
    assert act(Bench(), 120, status=MISSED, delta=50.0).goals == [(0, [READ_ONLY])]


@pytest.mark.parametrize("delta", [math.nan, math.inf, -math.inf])
def test_a_delta_that_is_no_number_moves_nothing(delta):
    bench, guard = Bench(), Guard([None])
    assert act(bench, 120, delta=delta, guard=guard).goals == [(0, [READ_ONLY])]
    assert guard.interventions == [1]


def test_position_mode_sends_the_command_as_it_is():
    bench = Bench(mode="position")
    assert act(bench, 20, delta=99.0).goals == [(0, [128])]
    bench.set(204, 77.0)
    assert act(bench, 20).goals == [(0, [77])]


@pytest.mark.parametrize(("direction", "goal"), [(1, 27), (-1, 13)])
def test_force_mode_holds_a_delta(direction, goal):
    assert act(Bench(mode="force", motor={"dir": direction}), 20, delta=99.0).goals == [(0, [goal])]


def test_mode_none_never_commands():
    assert act(Bench(mode="none"), 20, delta=99.0).goals == [(0, [READ_ONLY])]


def test_in_muscle_mode_the_commands_act_as_sensors():
    bench = Bench()
    act(bench, 120, delta=-30.4)
    assert bench.value(204) == 90
    assert bench.value(203) == -30


def test_motor_speed_reaches_the_servo_when_it_changes():
    bench = Bench()
    bus = ScriptedBus(lambda now, goals: [(100, 0)])
    action = MotorAction(bench.plan, bench.store, bench.board, bus, Guard([None]))
    action.start(0)
    action.start(1)
    bench.set("motor_speed", 2)
    action.start(2)
    assert bus.levels == [3, 2]


# --- guard -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("limit", "command", "measured", "sent", "interventions"),
    [
        (None, 0, 127, 0, 0),
        (None, 254, 127, 254, 0),
        (None, -1, 127, 0, 1),
        (None, 255, 127, 254, 1),
        (10, 137, 127, 137, 0),
        (10, 138, 127, 137, 1),
        (10, 117, 127, 117, 0),
        (10, 116, 127, 117, 1),
        (10, 0, 5, 0, 0),
        (10, -3, 5, 0, 1),
        (10, 254, 250, 254, 0),
        (0, 128, 127, 127, 1),
        (None, math.nan, 127, READ_ONLY, 1),
        (None, math.inf, 127, READ_ONLY, 1),
    ],
)
def test_guard_at_its_boundaries(limit, command, measured, sent, interventions):
    guard = Guard([limit])
    assert guard.pass_on(0, command, measured) == sent
    assert guard.interventions == [interventions]


# --- motor conversion --------------------------------------------------------------------------------------------


def convert(bench, conversion, position, current=0, sign=1, status=OK, stamp=0):
    board = bench.board
    board.position_raw[0], board.current_raw[0], board.drive_sign[0] = position, current, sign
    board.status[0], board.stamp_ns[0] = status, stamp
    conversion.run(stamp)


def test_calibration_and_directional_filtered_current():
    bench = Bench()
    conversion = MotorConversion(bench.plan, bench.store, bench.board)
    assert not bench.board.sensed
    convert(bench, conversion, 240, 10, 1)
    assert bench.value(301) == 70.0  # (240 - 100) / 2
    assert bench.value(302) == 10.0  # the first sample initialises the filter
    convert(bench, conversion, 90, 20, -1)
    assert bench.value(301) == -5.0
    assert bench.value(302) == 8.5  # 0.05 * -20 + 0.95 * 10
    convert(bench, conversion, 90, 20, 0)
    assert bench.value(302) == pytest.approx(8.075)  # nothing was commanded: 0.95 * 8.5
    assert bench.board.sensed


def test_a_missed_reply_leaves_sensors_and_filter_alone():
    bench = Bench()
    conversion = MotorConversion(bench.plan, bench.store, bench.board)
    convert(bench, conversion, 240, 10)
    convert(bench, conversion, 0, 99, status=MISSED)
    assert (bench.value(301), bench.value(302)) == (70.0, 10.0)
    convert(bench, conversion, 240, 30)
    assert bench.value(302) == pytest.approx(11.0)  # 0.05 * 30 + 0.95 * 10


def test_overflow_is_followed_over_both_ends():
    bench = Bench(motor={"overflow_correction": True})
    conversion = MotorConversion(bench.plan, bench.store, bench.board)
    angles = []
    for raw in (240, 254, 4, 20, 250, 130, 10, 245):
        convert(bench, conversion, raw)
        angles.append(bench.value(301))
    # 256 raw values per turn: 254 -> 4 is +6, 20 -> 250 is -26, then two honest steps of 120, then 10 -> 245 is -21.
    raws = [240, 254, 260, 276, 250, 130, 10, -11]
    assert angles == [(raw - 100) / 2 for raw in raws]


def test_without_overflow_correction_a_jump_is_a_jump():
    bench = Bench()
    conversion = MotorConversion(bench.plan, bench.store, bench.board)
    convert(bench, conversion, 254)
    convert(bench, conversion, 4)
    assert bench.value(301) == -48.0


def test_velocity_is_filtered_from_successive_angles():
    bench = Bench(force_velocity=("linear", (0.5, 1.0)))
    conversion = MotorConversion(bench.plan, bench.store, bench.board)
    convert(bench, conversion, 240, stamp=0)
    assert bench.board.velocity_rad_s == [0.0]
    convert(bench, conversion, 244, stamp=5_000_000)
    # 2 degrees in 5 ms are 6.9813170 rad/s; a twentieth of that passes the filter at first.
    assert bench.board.velocity_rad_s[0] == pytest.approx(0.34906585)
    convert(bench, conversion, 244, stamp=10_000_000)
    assert bench.board.velocity_rad_s[0] == pytest.approx(0.33161256)


# --- state transition --------------------------------------------------------------------------------------------


def test_entry_rules_switch_and_activations_follow():
    bench = Bench()
    task = StateTransition(bench.plan, bench.store, bench.board, bench.rulebook)
    bench.sense(20.0)
    task.run(0)
    assert bench.board.states == [1]
    assert bench.board.activations == pytest.approx([0.1, 0.8])
    bench.sense(9.0)
    task.run(25)
    assert bench.board.states == [0]
    assert bench.board.activations == pytest.approx([0.6, 0.2])
    bench.sense(20.0)
    task.run(50)
    assert bench.board.states == [0]
    bench.sense(41.0)
    task.run(75)
    assert bench.board.states == [1]


def test_nothing_is_decided_before_the_sensors_have_values():
    bench = Bench()
    task = StateTransition(bench.plan, bench.store, bench.board, bench.rulebook)
    bench.store.write(bench.plan.hdso(301).index, (9.0,))
    task.run(0)
    assert bench.board.states == [1]
    assert bench.board.activations == [0.0, 0.0]


def test_a_state_is_not_left_before_its_dwell_time():
    bench = Bench(dwell_ns=60)
    task = StateTransition(bench.plan, bench.store, bench.board, bench.rulebook)
    for now, angle, state in ((0, 9.0, 1), (59, 9.0, 1), (60, 9.0, 0), (100, 41.0, 0), (119, 41.0, 0), (120, 41.0, 1)):
        bench.sense(angle)
        task.run(now)
        assert bench.board.states == [state], now


def test_dwell_time_counts_from_when_the_bout_begins():
    bench = Bench(dwell_ns=60)
    task = StateTransition(bench.plan, bench.store, bench.board, bench.rulebook)
    task.begin(1000)
    bench.sense(9.0)
    for now, state in ((1000, 1), (1059, 1), (1060, 0)):
        task.run(now)
        assert bench.board.states == [state], now


def test_an_activation_that_can_not_be_computed_is_no_number_and_no_end(monkeypatch):
    bench = Bench()
    task = StateTransition(bench.plan, bench.store, bench.board, bench.rulebook)
    muscle = task._activations[1][0][0]
    task._activations[1][0] = (muscle, lambda: 1 / 0)
    bench.sense(20.0)
    task.run(0)
    assert bench.board.activations[muscle] != bench.board.activations[muscle]


def test_rules_that_are_true_together_are_counted_and_reported_once_a_second():
    bench = Bench(rules=("301 > 103", "301 > 104"))
    task = StateTransition(bench.plan, bench.store, bench.board, bench.rulebook)
    bench.sense(50.0)
    for now in (0, 500_000_000, 999_999_999, 1_000_000_000):
        task.run(now)
    assert task.overlaps == [4]
    assert [event[0] for event in bench.events] == [0, 1_000_000_000]
    assert "flexion and extension" in bench.events[0][2]


def test_of_several_other_states_the_first_in_the_document_wins():
    # Both rules are true and the module is in extension: its own rule does not hold it there.
    bench = Bench(rules=("301 > 103", "301 > 103"))
    task = StateTransition(bench.plan, bench.store, bench.board, bench.rulebook)
    bench.sense(50.0)
    task.run(0)
    assert bench.board.states == [0]


# --- rules at run time -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "angle", "current", "truth"),
    [
        ("(301 < 103)|(302 > 104)", 9.0, 0.0, True),
        ("(301 < 103)|(302 > 104)", 20.0, 0.0, False),
        ("(301 < 103)|(302 > 104)", 20.0, 41.0, True),
        ("(301 < 103)&(302 > 104)", 9.0, 0.0, False),
        ("(301 < 103)&(302 > 104)", 9.0, 41.0, True),
        ("301 < 103 | 301 > 104 & 302 > 104", 9.0, 0.0, True),
        ("(301 < 103 | 301 > 104) & 302 > 104", 9.0, 0.0, False),
        ("191", 0.0, 0.0, True),
        ("190", 0.0, 0.0, False),
        ("301 < 103 & 302 < 103 & 191", 9.0, 0.0, True),
        ("301 > 103 | 302 > 103 | 190", 9.0, 0.0, False),
        ("301 < 103", 10.0, 0.0, False),
        ("angle > low", 11.0, 0.0, True),
        ("161", 9.0, 0.0, True),
        ("161 & 191", 11.0, 0.0, False),
    ],
)
def test_rules_mean_what_they_say(text, angle, current, truth):
    bench = Bench()
    index = bench.plan.hdso(162).index
    bench.sense(angle, current)
    code = _code(bench, text)
    bench.rulebook.swap(index, code, bench.rulebook.decode(index, code))
    assert bool(bench.rulebook.in_force[index]()) is truth


@pytest.mark.parametrize(
    ("text", "word"), [("999 > 103", "999"), ("171 > 103", "2 elements"), ("161 > 103", "is a rule")]
)
def test_rules_that_can_not_be_bound_are_refused(text, word):
    bench = Bench()
    with pytest.raises(RuleError, match=word):
        bench.rulebook.decode(bench.plan.hdso(162).index, _code(bench, text))


def test_circles_are_found_over_several_rules():
    bench = Bench()
    first, second = bench.plan.hdso(161).index, bench.plan.hdso(162).index
    assert list(bench.rulebook.refusals({first: _code(bench, "162")})) == []
    assert list(bench.rulebook.refusals({first: _code(bench, "161")})) == [first]
    both = {first: _code(bench, "162"), second: _code(bench, "161 & 191")}
    assert list(bench.rulebook.refusals(both)) == [first, second]


def _code(bench, text):
    from nuc_engine.model.planning import stored_values

    ids = {hdso.name: hdso.id_num for hdso in bench.plan.hdsos}
    return [int(v) for v in stored_values(bench.plan.hdso(162), text, ids)]


# --- muscles -----------------------------------------------------------------------------------------------------


def test_servo_delta_of_two_linear_muscles():
    # theta = 70: flexor l' = ((100 - 70) pi/180 * 15 + 95)/95 = 1.0826735, FL = 0.6653470, f = 0.6 FL 14 = 5.588915
    #             extensor l' = ((80 - 70) pi/180 * -10 + 90)/90 = 0.9806075, FL = 0.4612149, f = 0.2 FL 20 = 1.844860
    # delta = 15 * 5.588915 - 10 * 1.844860 = 65.38513
    bench = Bench()
    bench.sense(70.0)
    bench.board.activations = [0.6, 0.2]
    MuscleConversion(bench.plan, bench.store, bench.board).run(0)
    assert bench.board.forces == pytest.approx([5.588915, 1.844860], rel=1e-6)
    assert bench.board.lengths == pytest.approx([102.853982, 88.254671], rel=1e-7)
    assert bench.board.deltas == pytest.approx([65.38513], rel=1e-6)


def test_force_velocity_takes_the_rate_of_the_relative_length():
    # FV = 0.5 v + 1; joint at 2 rad/s: flexor shortens, v = -15 * 2 / 95 = -0.3157895, FV = 0.8421053;
    # extensor lengthens, v = 10 * 2 / 90 = 0.2222222, FV = 1.1111111.
    bench = Bench(force_velocity=("linear", (0.5, 1.0)))
    bench.sense(70.0)
    bench.board.activations = [0.6, 0.2]
    bench.board.velocity_rad_s = [2.0]
    MuscleConversion(bench.plan, bench.store, bench.board).run(0)
    assert bench.board.forces == pytest.approx([5.588915 * 0.8421053, 1.844860 * 1.1111111], rel=1e-6)


def test_passive_stiffness_adds_without_activation():
    bench = Bench()
    muscle = bench.plan.muscles[0]
    stiff = FunctionPlan("linear", muscle.force_length.parameters)
    object.__setattr__(muscle, "passive_stiffness", stiff)
    bench.sense(70.0)
    bench.board.activations = [0.0, 0.0]
    MuscleConversion(bench.plan, bench.store, bench.board).run(0)
    assert bench.board.forces == pytest.approx([0.6653470, 0.0], rel=1e-6)


def test_a_muscle_that_pushes_is_counted_not_clamped():
    # theta = 140 deg: flexor l' = 0.8897..., FL = 2 l' - 1.5 is positive; at 170 it is negative.
    bench = Bench()
    task = MuscleConversion(bench.plan, bench.store, bench.board)
    bench.board.activations = [1.0, 0.0]
    bench.sense(210.0)
    task.run(0)
    relative = (math.radians(100 - 210) * 15 + 95) / 95
    assert bench.board.forces[0] == pytest.approx((2 * relative - 1.5) * 14, rel=1e-6)
    assert bench.board.forces[0] < 0
    assert task.negative_forces == [1, 0]


def test_a_muscle_that_has_no_force_leaves_its_joint_undriven():
    # Hyperbolic force-velocity with its pole where the joint stands still.
    bench = Bench(force_velocity=("hyperbolic", (1.0, 0.0, 1.0)))
    bench.sense(70.0)
    bench.board.activations = [0.6, 0.2]
    task = MuscleConversion(bench.plan, bench.store, bench.board)
    for now in (0, 25_000_000):
        task.run(now)
    assert math.isnan(bench.board.deltas[0])
    assert [(time, kind) for time, kind, _ in bench.events] == [(0, "bad_command"), (0, "bad_command")]
    assert act(bench, 120, delta=bench.board.deltas[0]).goals == [(0, [READ_ONLY])]


def test_mirrored_commands_count_as_set():
    bench = Bench()
    for name in ("position_command", "force_command"):
        bench.store.flags[bench.plan.hdso(name).index] = 0
    act(bench, 120, delta=5.0)
    assert bench.store.is_set(bench.plan.hdso("position_command").index)
    assert bench.store.is_set(bench.plan.hdso("force_command").index)


def test_after_a_miss_the_overflow_count_starts_anew():
    bench = Bench(motor={"overflow_correction": True})
    conversion = MotorConversion(bench.plan, bench.store, bench.board)
    for raw in (250, 4):
        convert(bench, conversion, raw)
    assert bench.value(301) == (260 - 100) / 2
    convert(bench, conversion, 0, status=MISSED)
    convert(bench, conversion, 20)
    assert bench.value(301) == (20 - 100) / 2
