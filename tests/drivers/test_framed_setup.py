"""What a servo with registers is asked and set to before it is driven, register by register."""

import pytest
from framed_rig import FAMILIES, START, Leg, both

from drivers.framed.commissioning import Commissioning
from drivers.framed.packet import Packet
from drivers.framed.servo_state import Health, ServoEvent, ServoState
from drivers.framed.servos import make_servos
from drivers.framed.setup import Ask, NobodyAnswered, RegisterReply, configure, identify
from drivers.servo import ServoAddress


def play(procedure, answers):
    """Run a procedure of `drivers.framed.setup` on `answers` (values by register, or what to say to each ask)."""
    asked = []
    answer = None
    while True:
        try:
            ask = procedure.send(answer)
        except StopIteration as stop:
            return stop.value, asked
        asked.append((ask.register.name, ask.value))
        answer = answers(ask)


def registers(layout, **changed):
    """Return what answers like a servo from the factory, with some registers otherwise; they change when written."""
    values = {register.name: register.default for register in layout.first.table.all.values()} | changed

    def answer(ask):
        if ask.value is not None:
            values[ask.register.name] = ask.value
            return RegisterReply(0, 0)
        return RegisterReply(values[ask.register.name], 0)

    return answer


@both
def test_an_alert_that_is_over_when_it_is_asked_for_is_none(family):
    layout = FAMILIES[family][0]
    found, asked = play(identify(layout, ServoAddress(1, "a"), ServoState(health=Health.AILING)), registers(layout))
    assert (found.refusal, found.alert) == ("", False)
    first = [name for name in ("model_number", layout.second_id, layout.alert_register) if name]
    assert [name for name, _ in asked[: len(first)]] == first


@both
def test_torque_that_does_not_go_off_is_a_refusal(family):
    layout = FAMILIES[family][0]
    factory = registers(layout, torque_enable=1)

    def stubborn(ask):
        return RegisterReply(0, 0) if ask == Ask(layout.register("torque_enable"), 0) else factory(ask)

    found, asked = play(configure(layout, ServoAddress(1, "a"), layout.first), stubborn)
    assert "torque_enable stays 1 where 0 was written" in found.refusal
    assert {name for name, _ in asked} == {"torque_enable"}


def test_a_refusal_says_what_the_servo_said():
    layout = FAMILIES["dynamixel"][0]
    factory = registers(layout)

    def refuses(ask):
        if ask.register.name == "operating_mode":
            return RegisterReply(layout.register("operating_mode").default, 0x80 | 7 if ask.value is not None else 0x80)
        return factory(ask)

    found, _ = play(configure(layout, ServoAddress(1, "a"), layout.first), refuses)
    assert "operating_mode stays 3 where 5 was written (the register can not be written now)" in found.refusal
    assert layout.explain(0x80 | 99) == "error 99"
    assert layout.explain_alert(0b100010) == "bit 1, overload"


@both
def test_writes_that_nobody_answers_and_that_do_not_take_are_no_refusal(family):
    layout = FAMILIES[family][0]
    factory = registers(layout, torque_enable=1)

    def silent(ask):
        return None if ask.value is not None else factory(ask)

    with pytest.raises(NobodyAnswered):
        play(configure(layout, ServoAddress(1, "a"), layout.first), silent)


@both
def test_a_read_that_nobody_answers_ends_it(family):
    layout = FAMILIES[family][0]
    with pytest.raises(NobodyAnswered):
        play(identify(layout, ServoAddress(1, "a"), ServoState()), lambda ask: None)


def test_a_lock_that_stays_open_is_a_refusal():
    layout = FAMILIES["feetech"][0]
    factory = registers(layout, eprom_lock=0)

    def open_lock(ask):
        return RegisterReply(0, 0) if ask.register.name == "eprom_lock" else factory(ask)

    found, _ = play(configure(layout, ServoAddress(1, "a"), layout.first), open_lock)
    assert "eprom_lock stays 0 where 1 was written" in found.refusal


def test_settings_are_locked_again():
    leg = Leg("feetech")
    leg.go(START)
    assert leg.memory(0)["eprom_lock"] == 1
    assert leg.memory(0).kept()["position_i_gain"] == 0


@pytest.mark.parametrize(
    ("low", "high", "positions"), [(0, 0, (0, 4095)), (5, 4095, (5, 4095)), (100, 5000, (100, 4095))]
)
def test_limits_narrow_the_scale_and_those_of_an_sts_are_none_at_0(low, high, positions):
    layout = FAMILIES["feetech"][0]
    factory = registers(layout, min_position=low, max_position=high)
    found, _ = play(configure(layout, ServoAddress(1, "a"), layout.first), factory)
    assert (found.refusal, found.positions) == ("", positions)


def test_limits_beyond_the_scale_are_a_refusal():
    layout = FAMILIES["feetech"][0]
    factory = registers(layout, min_position=5000, max_position=6000)
    found, _ = play(configure(layout, ServoAddress(1, "a"), layout.first), factory)
    assert "takes no position of 0 to 4095" in found.refusal


@both
@pytest.mark.parametrize("taken_at", [1, 2, 3, 4])
def test_what_is_answered_and_does_not_take_is_written_three_times(family, taken_at):
    layout = FAMILIES[family][0]
    factory = registers(layout, position_i_gain=7)
    writes = []

    def hesitant(ask):
        if ask.register.name == "position_i_gain" and ask.value is not None:
            writes.append(ask.value)
            if len(writes) < taken_at:
                return RegisterReply(0, 0)
        return factory(ask)

    found, _ = play(configure(layout, ServoAddress(1, "a"), layout.first), hesitant)
    assert writes == [0] * min(taken_at, 3)
    assert ("position_i_gain stays 7 where 0 was written" in found.refusal) is (taken_at > 3)


def test_a_watchdog_that_has_stopped_the_servo_is_cleared_before_anything_is_set():
    layout = FAMILIES["dynamixel"][0]
    found, asked = play(configure(layout, ServoAddress(1, "a"), layout.first), registers(layout, bus_watchdog=-1))
    assert found.refusal == ""
    names = [name for name, _ in asked]
    assert ("bus_watchdog", 0) in asked
    assert names.index("bus_watchdog") < min(names.index(name) for name, _ in layout.first.settings)


@pytest.mark.parametrize(("held", "told"), [(1000, 885), (885, 885), (400, 400)])
def test_the_drive_is_never_told_beyond_all_there_is(held, told):
    layout = FAMILIES["dynamixel"][0]
    found, _ = play(configure(layout, ServoAddress(1, "a"), layout.first), registers(layout, pwm_limit=held))
    assert (found.refusal, found.drive_most) == ("", told)


@both
@pytest.mark.parametrize("late", [False, True])
def test_after_a_time_out_a_value_counts_once_it_came_twice(family, late):
    layout = FAMILIES[family][0]
    (servo,) = make_servos([ServoAddress(1, "a")], layout)
    if late:
        servo.happen(ServoEvent.SILENT)
    model = layout.register("model_number")
    right, wrong = (model.encode(layout.first.model.number + k) for k in (0, 1))
    said = iter([wrong, right, right] if late else [right])
    script = Commissioning(layout, [servo]).run(4)
    exchange = first = next(script)
    asked = 0
    while exchange.request == first.request:
        asked += 1
        exchange = script.send({1: Packet(1, -1, next(said), 0)})
    assert asked == (3 if late else 1)
    assert list(said) == []
    assert servo.why == ""
