"""What a servo's own settings leave it: the bench warns of what the bus refuses, and the whole drive is told."""

import pytest
from framed_rig import OK, START, Leg, both
from framed_servos import dynamixel, feetech

from drivers.clock import VirtualPace
from drivers.dynamixel.family import FAMILY as DYNAMIXEL
from drivers.feetech.family import FAMILY as FEETECH
from drivers.framed.cycle import WATCH_CYCLES
from drivers.framed.layout import torque_limits, without_torque
from drivers.servo import LEVEL_SHARE

CURRENT_BASED = ("XM430-W350", "XL330-M288")


def settings_of(family, host):
    pace = VirtualPace()
    pace.now_ns = host.now_ns
    return family.settings(host.port, pace, {}, 1, model="", assumed=False)


BOUND_NAMES = [
    (family, build, model, name)
    for family, build in ((FEETECH, feetech), (DYNAMIXEL, dynamixel))
    for model, kind in family.layout.kinds.items()
    for name in (kind.cap_limit, kind.drive[0])
    if name
]


def refused(leg):
    for _ in range(40):
        leg.cycle(START)
    return leg.bus.refusals


@pytest.mark.parametrize(("family", "build", "model", "name"), BOUND_NAMES)
def test_the_bench_warns_of_a_bound_of_the_torque_where_the_bus_refuses_it(family, build, model, name):
    layout = family.layout
    kind = layout.kinds[model]
    full = dict(torque_limits(kind))[name]
    least = round(LEVEL_SHARE[-1] * full)
    for value in (0, least - 1, least, full):
        leg = Leg(family.name, (1,), model=model)
        leg.memory(0).restore({name: value})
        leg.emulator.brown_out(0)
        warned = settings_of(family, build(1, model=model)).weakens(name, value, full)
        assert bool(warned) is bool(refused(leg)) is (value < least), value


@pytest.mark.parametrize(("family", "build", "model"), [(FEETECH, feetech, "STS3215"),
                                                         (DYNAMIXEL, dynamixel, "XL430-W250")])  # fmt: skip
def test_the_bench_warns_of_limits_of_the_positions_where_the_bus_refuses_them(family, build, model):
    seen = set()
    for low, high in ((0, 4095), (5, 6), (2000, 2000), (2001, 2000), (4095, 4095), (0, 0), (0, 1)):
        limits = {"min_position": low, "max_position": high}
        host = build(1, model=model)
        host.emulator.servos[0].memory.restore(limits)
        leg = Leg(family.name, (1,), model=model)
        leg.memory(0).restore(limits)
        warned = {bool(settings_of(family, host).weakens(name, value, 7)) for name, value in limits.items()}
        assert warned == {bool(refused(leg))}, limits
        seen |= warned
    assert seen == {True, False}


def test_however_little_torque_a_joint_is_to_have_none_is_too_little():
    for kind in (*FEETECH.layout.kinds.values(), *DYNAMIXEL.layout.kinds.values()):
        for name, _ in torque_limits(kind):
            assert "expected 1 (torque level 4)" in without_torque(kind, name, 0, 1e-6)
            assert without_torque(kind, name, 1, 1e-6) == ""
        assert without_torque(kind, "id", 0) == ""


# --- a drive that another program took back ---


def torque_left(leg, k):
    """Return the torque at which a servo was last told to stop pulling harder."""
    return [call[-1] for call in leg.plant.calls if call[:2] == ("drive", k)][-1]


@pytest.mark.parametrize("model", CURRENT_BASED)
@pytest.mark.parametrize("fast", [False, True])
def test_a_drive_that_another_program_left_at_nothing_is_given_back_before_the_torque(model, fast):
    leg = Leg("dynamixel", (1, 2), model=model, fast=fast)
    stall = leg.model.stall_torque_n_m
    leg.go(START)
    usual = torque_left(leg, 1)
    leg.release()
    # The mode stays as the bus has set it, so that nothing puts the drive back by itself.
    leg.memory(1)["goal_pwm"] = 0
    leg.bus = leg.another(fast=fast)
    leg.plant.calls.clear()
    leg.go(START)
    assert leg.memory(1)["goal_pwm"] == 885
    assert {call[-1] for call in leg.plant.calls if call[:2] == ("drive", 1)} == {usual}
    assert usual == pytest.approx(LEVEL_SHARE[3] * stall, rel=0.01)
    assert (leg.bus.refusals, leg.bus.counts["restarts"]) == ((), 0)


@pytest.mark.parametrize("model", CURRENT_BASED)
def test_a_drive_that_is_taken_under_torque_is_found_by_the_watch(model):
    leg = Leg("dynamixel", (1, 2), model=model)
    leg.go(START)
    usual = torque_left(leg, 1)
    leg.memory(1)["goal_pwm"] = 0
    leg.emulator.servos[1].drive_plant()
    assert torque_left(leg, 1) == 0.0
    for _ in range(6 * WATCH_CYCLES):
        leg.cycle(START)
    assert torque_left(leg, 1) == pytest.approx(usual)
    assert (leg.memory(1)["goal_pwm"], leg.bus.status, leg.bus.counts["restarts"]) == (885, [OK] * 2, 1)


@pytest.mark.parametrize("model", CURRENT_BASED)
def test_a_drive_that_its_owner_bounds_for_good_is_given_back_only_so_far(model):
    leg = Leg("dynamixel", (1, 2), model=model)
    leg.memory(1).restore({"pwm_limit": 400})
    leg.emulator.brown_out(1)
    leg.go(START)
    assert [leg.memory(k)["goal_pwm"] for k in (0, 1)] == [885, 400]
    assert leg.bus.refusals == ()
    for _ in range(6 * WATCH_CYCLES):
        leg.cycle(START)
    assert leg.bus.counts["restarts"] == 0


def test_the_drive_is_told_once_for_all_and_not_with_every_level():
    leg = Leg("dynamixel", (1, 2), model="XM430-W350")
    leg.go(START)
    told = [(name, value) for _, name, value in leg.writes() if name == "goal_pwm"]
    assert told == [("goal_pwm", 885)] * 2
    leg.bus.set_level(1)
    for _ in range(5):
        leg.cycle(START)
    assert {name for _, name, _ in leg.writes()} == {"goal_current", "goal_position"}


def test_where_the_drive_is_the_bound_of_the_torque_it_is_told_as_that():
    leg = Leg("dynamixel", (1, 2), model="XL430-W250")
    leg.go(START)
    assert {value for _, name, value in leg.writes() if name == "goal_pwm"} == {round(LEVEL_SHARE[3] * 885)}


@pytest.mark.parametrize("model", CURRENT_BASED)
@pytest.mark.parametrize("mode", [3, 4, 5])
def test_an_emulated_servo_without_drive_is_limp_in_all_modes_of_positions(model, mode):
    host = dynamixel(1, model=model)
    table = DYNAMIXEL.layout.kinds[model].table
    host.write(1, table["operating_mode"], mode)
    host.write(1, table["torque_enable"], 1)
    host.write(1, table["goal_pwm"], 0)
    assert host.plant.taken()[-1][-1] == 0.0
    host.write(1, table["goal_pwm"], -885)
    assert host.plant.taken()[-1][-1] == pytest.approx(DYNAMIXEL.models[model].stall_torque_n_m, rel=0.25)


def test_the_bench_says_who_sets_the_drive_besides():
    settings = settings_of(DYNAMIXEL, dynamixel(1, model="XM430-W350"))
    assert settings.remark("goal_pwm") == settings.remark("goal_current") == "whoever drives the servo sets it"
    assert settings.remark("led") == ""


# --- the watch knows whom it asks, and what they were told last ---


@pytest.mark.parametrize("model", CURRENT_BASED)
def test_the_watch_goes_by_what_a_servo_was_told_last(model):
    leg = Leg("dynamixel", (1,), model=model)
    leg.go(START)
    for _ in range(4 * WATCH_CYCLES):
        leg.cycle(START)
    leg.memory(0).restore({"pwm_limit": 400})
    leg.emulator.brown_out(0)
    for _ in range(10 * WATCH_CYCLES):
        leg.cycle(START)
    # One for the brown-out, and none for what it holds since.
    assert (leg.memory(0)["goal_pwm"], leg.bus.counts["restarts"]) == (400, 1)


@both
def test_the_watch_looks_at_those_who_are_there_now(family):
    leg = Leg(family)
    leg.go(START)
    for gone, here in (((2, 3), (0, 1)), ((0, 1), (2, 3))):
        for k in here:
            leg.emulator.plug(k)
            leg.emulator.brown_out(k)
        for k in gone:
            leg.emulator.unplug(k)
        leg.plant.calls.clear()
        for _ in range(WATCH_CYCLES + 60):
            leg.cycle(START)
        assert [k for k in here if leg.memory(k)["torque_enable"]] == list(here)
        assert set(here) <= set(leg.driven())
