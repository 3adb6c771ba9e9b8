"""What servos with registers are asked and set to before they are driven, and how they are driven then."""

import pytest
from framed_rig import FAMILIES, FAR, IMPLAUSIBLE, OK, START, Leg, both

from drivers.bus import LIMP, READ_ONLY
from drivers.errors import FrameError
from drivers.framed.cycle import ATTEMPTS
from drivers.framed.packet import READ, SYNC_WRITE, WRITE
from drivers.servo import LEVEL_SHARE, ServoAddress

# --- setting up and driving ---


@both
def test_nobody_is_driven_before_everybody_is_set_up(family):
    leg = Leg(family)
    leg.cycle()
    leg.requests()
    seen = set()
    while not leg.driven():
        leg.plant.calls.clear()
        assert leg.cycle(START + 20) == [OK] * 4
        seen |= {(bus_id, name) for bus_id, name, _ in leg.writes()}
    settings = {name for name, _ in leg.layout.first.settings}
    written = {name for _, name in seen}
    assert {"position_i_gain", "operating_mode"} <= settings
    assert "goal_position" in written
    assert leg.driven() == {0: START + 20, 1: START + 20, 2: START + 20, 3: START + 20}
    for k in range(4):
        memory = leg.memory(k)
        assert all(memory[name] == value for name, value in leg.layout.first.settings)


@both
def test_what_is_set_already_is_not_written_again(family):
    leg = Leg(family)
    leg.go(START)
    leg.release()
    leg.requests()
    leg.bus = leg.another()
    leg.go(START)
    table = leg.layout.first.table
    kept = {name for _, name, _ in leg.writes() if table[name].access == "eeprom"}
    # Under a lock that is closed the gain lasts as long as the supply.
    assert kept == ({"position_p_gain"} if leg.layout.lock else set())


@both
def test_one_goal_is_enough_even_while_servos_are_set_up(family):
    leg = Leg(family)
    leg.cycle(START + 30)
    assert leg.driven() == {}
    for _ in range(30):
        leg.cycle()
    assert leg.driven() == dict.fromkeys(range(4), START + 30)


@both
def test_the_last_goal_counts_that_came_before_the_servo_was_ready(family):
    leg = Leg(family)
    leg.cycle(START + 30)
    leg.cycle([START - 30, READ_ONLY, LIMP, READ_ONLY])
    for _ in range(30):
        leg.cycle()
    assert leg.driven() == {0: START - 30, 1: START + 30, 3: START + 30}


@both
def test_torque_comes_on_with_a_goal_in_place_and_the_goal_follows(family):
    leg = Leg(family)
    leg.go(START + 5)
    names = [name for bus_id, name, value in leg.writes() if bus_id == 1 and (name, value) != ("torque_enable", 0)]
    on = names.index("torque_enable")
    assert names[on - 1] == names[on + 1] == "goal_position"
    first = next(call for call in leg.plant.calls if call[0] == "drive")
    # A Dynamixel stays where it is until the goal comes; a goal of before would be seen here.
    assert first[2] in (START, START + 5)


@both
def test_goals_reach_their_servos_and_readers_keep_theirs(family):
    leg = Leg(family)
    leg.go([START + 1, START + 2, START + 3, START + 4])
    leg.requests()
    leg.cycle([READ_ONLY, START + 9, READ_ONLY, READ_ONLY])
    assert leg.writes() == [(2, "goal_position", START + 9)]
    assert leg.driven() == {0: START + 1, 1: START + 9, 2: START + 3, 3: START + 4}


@both
def test_goals_are_kept_within_what_the_servo_is_set_to_take(family):
    model = "XL430-W250" if family == "dynamixel" else ""
    leg = Leg(family, model=model)
    leg.memory(1).restore({"min_position": 1000, "max_position": 3000})
    leg.go(START)
    leg.cycle(4000)
    assert leg.driven() == {0: 4000, 1: 3000, 2: 4000, 3: 4000}
    leg.cycle(10)
    assert leg.driven()[1] == 1000


@both
def test_limits_that_are_out_of_order_are_refused(family):
    model = "XL430-W250" if family == "dynamixel" else ""
    leg = Leg(family, model=model)
    leg.memory(1).restore({"min_position": 3000, "max_position": 1000})
    for _ in range(30):
        leg.cycle(START)
    assert sorted(leg.driven()) == [0, 2, 3]
    (why,) = leg.bus.refusals
    assert "servo 2" in why
    assert "3000 to 1000" in why


@both
def test_another_model_is_not_driven_and_says_why(family):
    leg = Leg(family)
    leg.memory(2)["model_number"] = 4242
    for _ in range(30):
        assert leg.cycle(START + 8) == [OK] * 4
    assert sorted(leg.driven()) == [0, 1, 3]
    (why,) = leg.bus.refusals
    assert "'servo 3' (bus id 3)" in why
    assert "4242" in why
    assert leg.model.name in why
    assert all(bus_id != 3 for bus_id, _, _ in leg.writes())
    leg.emulator.unplug(2)
    leg.cycle()
    leg.emulator.plug(2)
    leg.go(START + 9)
    assert leg.bus.refusals == ()


@both
def test_a_servo_whose_model_nobody_says_is_what_it_says_it_is(family):
    anonymous = [ServoAddress(bus_id, f"id {bus_id}") for bus_id in (1, 2)]
    leg = Leg(family, (1, 2), addresses=anonymous)
    leg.memory(1)["model_number"] = 4242
    for _ in range(30):
        leg.cycle(START)
    assert leg.driven() == {0: START}
    (why,) = leg.bus.refusals
    assert "not known" in why


@pytest.mark.parametrize(("family", "name"), [("dynamixel", "return_delay"), ("feetech", "position_i_gain")])
def test_a_setting_that_does_not_take_is_a_refusal(family, name):
    leg = Leg(family)
    register = leg.layout.first.table[name]
    leg.memory(0).restore({name: 9})
    dialect = leg.layout.dialect
    address = register.address.to_bytes(dialect.address_bytes, "little")

    def change(data):
        wrong, right = (dialect.instruction(1, WRITE, address + register.encode(value)) for value in (7, 0))
        return data.replace(right, wrong)

    leg.port.change = change
    for _ in range(40):
        leg.cycle(START)
    assert sorted(leg.driven()) == [1, 2, 3]
    (why,) = leg.bus.refusals
    assert f"{name} stays 7 where 0 was written" in why


@both
def test_a_servo_that_does_not_turn_its_torque_on_is_refused_in_the_end(family):
    leg = Leg(family)
    leg.go(START)
    leg.cycle([LIMP, START, START, START])
    servo = leg.emulator.servos[0]
    dialect = leg.layout.dialect
    torque = leg.layout.register("torque_enable")
    numbers = b"".join(n.to_bytes(dialect.address_bytes, "little") for n in (torque.address, 1))
    on = dialect.instruction(0xFE, SYNC_WRITE, numbers + b"\x01\x01")
    off = dialect.instruction(0xFE, SYNC_WRITE, numbers + b"\x01\x00")
    leg.port.change = lambda data: data.replace(on, off)
    for count in range(ATTEMPTS):
        assert leg.bus.refusals == (), count
        leg.cycle(START)
    assert servo.memory["torque_enable"] == 0
    assert "does not turn its torque on" in leg.bus.refusals[0]
    leg.requests()
    leg.cycle(START)
    assert all(bus_id != 1 for bus_id, _, _ in leg.writes())


@both
def test_stiffness_sets_the_gain(family):
    stiff = [ServoAddress(1, "a", "", 0.1), ServoAddress(2, "b", "", 0.0)]
    leg = Leg(family, (1, 2), addresses=stiff)
    leg.go(START)
    assert leg.memory(0)["position_p_gain"] == leg.model.gain_for(0.1) != leg.model.default_gain
    assert leg.memory(1)["position_p_gain"] == leg.model.default_gain


@both
def test_levels_and_limits_bound_the_torque(family):
    stall = Leg(family).model.stall_torque_n_m
    bounded = [ServoAddress(1, "a", "", 0.0, stall / 4), ServoAddress(2, "b", "", 0.0, 9 * stall), ServoAddress(3, "c")]
    leg = Leg(family, (1, 2, 3), addresses=bounded)
    leg.go(START)
    for level in (0, 4, 2):
        leg.bus.set_level(level)
        leg.cycle(START)
        limits = {call[1]: call[4] for call in leg.plant.calls if call[0] == "drive"}
        share = LEVEL_SHARE[level]
        assert limits == pytest.approx({0: share * stall / 4, 1: share * stall, 2: share * stall}, rel=0.02)


@both
def test_a_bound_is_sent_twice_and_then_no_more(family):
    leg = Leg(family)
    leg.go(START)
    cap = leg.layout.first.cap[0]
    leg.cycle(START)
    leg.requests()
    leg.bus.set_level(1)
    for expected in (True, True, False):
        leg.cycle(START)
        assert (cap in {name for _, name, _ in leg.writes()}) is expected
    leg.bus.set_level(1)
    leg.cycle(START)
    assert cap not in {name for _, name, _ in leg.writes()}


@pytest.mark.parametrize(
    ("family", "model", "at"), [("feetech", "STS3215", 2000), ("dynamixel", "XL430-W250", 2000),
                                ("dynamixel", "XL430-W250", 0)]
)  # fmt: skip
def test_limits_that_leave_one_position_are_a_refusal_with_the_commands_that_widen_them(family, model, at):
    leg = Leg(family, model=model)
    leg.memory(1).restore({"min_position": at, "max_position": at})
    for _ in range(30):
        leg.cycle(START)
    assert sorted(leg.driven()) == [0, 2, 3]
    (why,) = leg.bus.refusals
    assert f"'servo 2' (bus id 2) takes no position but {at} of 0 to 4095" in why
    # The upper one first: the lower one is never above it.
    assert "`nuc bus set URL 2 max_position 4095` and `nuc bus set URL 2 min_position 0` let it take" in why


# What bounds a servo's torque for good, and the least that level 4 asks for.
BOUNDS = [
    ("feetech", "STS3215", "max_torque", 190, 1000),
    ("dynamixel", "XL430-W250", "pwm_limit", 168, 885),
    ("dynamixel", "XM430-W350", "pwm_limit", 168, 885),
    ("dynamixel", "XM430-W350", "current_limit", 162, 1193),
    ("dynamixel", "XL330-M288", "current_limit", 279, 1750),
]


@pytest.mark.parametrize(("family", "model", "name", "least", "most"), BOUNDS)
@pytest.mark.parametrize("short", [0, 1, -1])
def test_a_servo_that_is_left_without_torque_is_refused_and_says_what_gives_it_back(
    family, model, name, least, most, short
):
    value = 0 if short < 0 else least - short
    leg = Leg(family, model=model)
    leg.memory(1).restore({name: value})
    leg.emulator.brown_out(1)
    for _ in range(40):
        leg.cycle(START)
    if not short:
        assert sorted(leg.driven()) == [0, 1, 2, 3]
        assert leg.bus.refusals == ()
        return
    assert sorted(leg.driven()) == [0, 2, 3]
    (why,) = leg.bus.refusals
    address = leg.layout.kinds[model].table[name].address
    assert f"'servo 2' (bus id 2) holds {value} in {name} (address {address}), which leaves it " in why
    assert f"; expected {least} (torque level 4) to " in why
    assert ("no torque at all" in why) is (value == 0)
    assert f"`nuc bus set URL 2 {name} {most}`" in why


@both
def test_a_servo_that_is_to_have_little_torque_needs_no_more(family):
    leg = Leg(family, (1,))
    kind = leg.layout.first
    leg.addresses = [ServoAddress(1, "a", leg.model.name, 0.0, leg.model.stall_torque_n_m / 10)]
    leg.memory(0).restore({kind.cap_limit: round(0.02 * kind.cap[1])})
    leg.emulator.brown_out(0)
    leg.bus = leg.another()
    leg.bus.set_level(4)
    leg.go(START)
    assert leg.memory(0)[kind.cap[0]] == round(0.019 * kind.cap[1])


@both
def test_a_bound_of_the_torque_that_is_set_in_the_servo_holds(family):
    leg = Leg(family)
    name, full = leg.layout.first.cap
    leg.memory(0).restore({leg.layout.first.cap_limit: full // 2})
    leg.emulator.brown_out(0)
    leg.bus.set_level(0)
    leg.go(START)
    assert leg.memory(0)[name] == full // 2
    assert leg.memory(1)[name] == full


@both
def test_a_set_up_whose_servo_falls_silent_begins_anew(family):
    leg = Leg(family, (1, 2))
    leg.cycle()
    real, count = leg.port.change, [0]

    def deaf(data):
        # The servo with id 2 hears requests for several only.
        count[0] += 1
        dialect = leg.layout.dialect
        packets = [p for _, p in dialect.parser(status=False).feed(data)]
        return bytes(len(data)) if any(p.bus_id == 2 for p in packets) else data

    leg.port.change = deaf
    for _ in range(10):
        leg.cycle(START)
    assert leg.driven() == {}
    assert leg.bus.refusals == ()
    leg.port.change = real
    leg.go(START)


@both
def test_an_ailing_servo_with_nothing_to_say_about_it_is_not_driven(family):
    leg = Leg(family, (1,))
    leg.go(START)
    servo = leg.emulator.servos[0]
    register = leg.layout.register(leg.layout.alert_register)
    leg.emulator.trip(0)
    real = leg.layout.dialect
    clean = real.instruction(1, READ, b"".join(n.to_bytes(real.address_bytes, "little") for n in (register.address, 1)))
    # What is asked for instead of the alert's register is 0.
    zero = leg.layout.register("position_i_gain").address
    other = real.instruction(1, READ, b"".join(n.to_bytes(real.address_bytes, "little") for n in (zero, 1)))
    leg.port.change = lambda data: data.replace(clean, other)
    for _ in range(40):
        leg.cycle(START)
    assert leg.bus.status == [IMPLAUSIBLE]
    assert leg.driven() == {}
    assert servo.memory["torque_enable"] == 0


def test_a_servo_that_does_not_say_its_model_is_not_driven():
    leg = Leg("dynamixel", (1,))
    dialect = leg.layout.dialect
    asked, nowhere = (dialect.instruction(1, READ, n.to_bytes(2, "little") + b"\x02\x00") for n in (0, 60_000))
    leg.port.change = lambda data: data.replace(asked, nowhere)
    for _ in range(5):
        assert leg.cycle(START) == [OK]
    assert leg.driven() == {}
    leg.bus.discover(leg.now_ns)
    leg.now_ns = leg.bus.run_until(FAR)
    assert (leg.bus.found, leg.bus.found_models) == ((1,), {})
    leg.port.change = None
    leg.go(START)


@both
def test_registers_take_what_fits_and_nothing_else(family):
    for register in FAMILIES[family][0].first.table.all.values():
        for data in (b"", bytes(register.size + 1)):
            with pytest.raises(FrameError):
                register.decode(data)
        for value in (1 << 8 * register.size, -(1 << 8 * register.size)):
            with pytest.raises(FrameError):
                register.encode(value)


@both
def test_a_goal_for_an_ailing_servo_is_not_kept_until_it_is_well(family):
    leg = Leg(family)
    leg.go(START)
    leg.emulator.trip(2)
    for _ in range(10):
        leg.cycle(START + 3)
    leg.emulator.trip(2, tripped=False)
    for _ in range(40):
        leg.cycle()
    assert leg.bus.status == [OK] * 4
    assert sorted(leg.driven()) == [0, 1, 3]
    leg.go(START + 4)


@both
def test_a_servo_that_hears_no_write_is_set_up_when_it_does(family):
    leg = Leg(family, (1, 2))
    leg.cycle()

    def deaf(data):
        packets = [packet for _, packet in leg.layout.dialect.parser(status=False).feed(data)]
        return bytes(len(data)) if any(p.bus_id == 2 and p.instruction == WRITE for p in packets) else data

    leg.port.change = deaf
    for _ in range(20):
        assert leg.cycle(START) == [OK] * 2
    assert (leg.driven(), leg.bus.refusals) == ({}, ())
    leg.port.change = None
    leg.go(START)
    assert leg.bus.filenos() == ()
