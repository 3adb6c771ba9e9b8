"""What the two bytes of an answer say, and the tables behind it."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from drivers.aimotor import answers
from drivers.aimotor.models import DELIVERED, MODELS, check_models, check_scale, check_servos, family_of
from drivers.aimotor.table import (
    AI_MOTOR_COMMANDS,
    BAUD_CODES,
    OVERLOAD_A,
    SET_COMMANDS,
    TICK_A,
    Family,
    baud_code,
    overload_a,
)
from drivers.errors import BusUrlError, FrameError
from drivers.servo import ServoAddress

quick = settings(max_examples=60, deadline=None, derandomize=True)


@quick
@given(st.integers(0, 1023))
def test_ten_bit_positions_there_and_back(position):
    data = answers.encode_10bit(position)
    assert (len(data), data[0] <= 7, data[1] <= 127) == (2, True, True)
    assert answers.decode_10bit(data) == position


def test_a_ten_bit_position_as_the_sheet_has_it():
    assert answers.decode_10bit(bytes.fromhex("04 00")) == 512


@pytest.mark.parametrize("data", [b"", b"\x01", b"\x08\x00", b"\x00\x80", b"\x01\x02\x03"])
def test_what_is_no_ten_bit_position_is_refused(data):
    with pytest.raises(FrameError, match="ten-bit position"):
        answers.decode_10bit(data)


@pytest.mark.parametrize("position", [-1, 1024])
def test_ten_bits_are_ten(position):
    with pytest.raises(FrameError, match="expected 0 to 1023"):
        answers.encode_10bit(position)


@pytest.mark.parametrize(
    ("command", "data", "values"),
    [
        (0x08, b"\x0f\x0f", {"baud code": 15}),
        (0x09, b"\x14\x1e", {"P": 20, "D": 30}),
        (0x0A, b"\x14\x1e", {"P": 20, "D": 30}),
        (0x0B, b"\x64\x64", {"P": 100, "D": 100}),
        (0x0C, b"\x1e\x1e", {"id": 30}),
        (0x0D, b"\x1e\x64", {"speed": 30, "acceleration": 100}),
        (0x0E, b"\x1e\x64", {"speed": 30, "acceleration": 100}),
        (0x0F, b"\x50\x50", {"overload code": 80}),
        (0x10, b"\x50\x50", {"overload code": 80}),
        (0x11, b"\x01\xfd", {"low": 1, "high": 253}),
        (0x12, b"\x01\xfd", {"low": 1, "high": 253}),
        (0x15, b"\x02\x02", {"I": 2}),
        (0x16, b"\x02\x02", {"I": 2}),
        (0x18, b"\x02\x02", {"I": 2}),
        (0x64, b"\x01\x01", {"outputs": 1}),
        (0x65, b"\x01\xff", {"outputs": 1, "A/D": 255}),
        (0x97, b"\x08\x08", {"count": 8}),
    ],
)
def test_every_answer_is_read_by_its_fields(command, data, values):
    assert answers.decode_set(SET_COMMANDS[command], data) == values


def test_every_command_that_is_answered_was_tried():
    assert {code for code, row in SET_COMMANDS.items() if not row.answered} == {0x17}
    with pytest.raises(FrameError, match=r"0x17.* is not answered"):
        answers.decode_set(SET_COMMANDS[0x17], b"\x1e\x64")


@pytest.mark.parametrize(
    ("command", "data", "hint"),
    [
        (0x0F, b"\x50\x51", "the same overload code twice"),
        (0x0A, b"\x14", "expected two bytes"),
        (0x0A, b"", "nothing is no answer"),
        (0x0A, b"\xff\x14", "P of 0 to 254"),
        (0x65, b"\xff\x00", "outputs of 0 to 254"),
    ],
)
def test_answers_that_can_not_be_are_refused(command, data, hint):
    with pytest.raises(FrameError, match=hint):
        answers.decode_set(SET_COMMANDS[command], data)


def test_an_answer_must_repeat_what_was_set():
    row = SET_COMMANDS[0x09]
    answers.confirm_set(row, 20, 30, b"\x14\x1e")
    with pytest.raises(FrameError, match="set to 20 and 30, but the servo answered 20 and 31"):
        answers.confirm_set(row, 20, 30, b"\x14\x1f")


@quick
@given(st.sampled_from([*SET_COMMANDS.values(), *AI_MOTOR_COMMANDS.values()]), st.binary(max_size=4))
def test_no_bytes_raise_anything_else(row, data):
    decoders = (
        answers.decode_10bit,
        lambda heard: answers.decode_set(row, heard),
        lambda heard: answers.confirm_set(row, 1, 1, heard),
    )
    for decode in decoders:
        try:
            decode(data)
        except FrameError:
            continue
        assert len(data) == 2


def test_every_rate_has_its_code():
    for code, rate in BAUD_CODES.items():
        assert rate * (code + 1) == 921_600
        assert baud_code(rate) == code
    with pytest.raises(FrameError, match="expected one of 4800, 9600"):
        baud_code(57_601)


def test_the_currents_of_overload_codes():
    for code, current in OVERLOAD_A.items():
        assert overload_a(code) == current
        # The sheet's straight line.
        assert current == pytest.approx(0.127 + 0.0084 * code, abs=0.006)
    currents = [overload_a(code) for code in range(33, 200)]
    assert currents == sorted(set(currents))
    for wrong in (32, 200):
        with pytest.raises(FrameError, match="expected 33 to 199"):
            overload_a(wrong)


def test_set_commands_are_whole():
    for code, row in SET_COMMANDS.items():
        assert row.code == code
        for low, high in (row.d3, row.d4):
            assert 0 <= low <= high <= 254
        assert row.page
        assert row.unit
        assert not (row.reads and (row.volatile or row.writes_eeprom))
    assert {code for code, row in SET_COMMANDS.items() if row.writes_eeprom} == {0x08, 0x0C}


def test_models_as_the_sheet_has_them():
    assert {name: d.baud for name, d in DELIVERED.items() if d.family is Family.AI_MOTOR} == {
        "601": 115_200,
        "701": 57_600,
        "1001": 57_600,
    }
    assert {(d.p_gain, d.d_gain) for d in DELIVERED.values()} == {(5, 35), (10, 35)}
    assert set(DELIVERED) == set(MODELS)
    assert not DELIVERED["601"].position_bounds
    for name, model in MODELS.items():
        assert (model.name, model.family, model.number) == (name, "aimotor", -1)
        assert not model.load_signed
        assert model.default_gain == DELIVERED[name].p_gain
        # Left alone: whatever stiffness is asked for.
        assert model.gain_for(1.0) == model.default_gain
        assert "assumed" in model.source
        if name.endswith("-10bit"):
            continue
        assert (model.positions, model.load_range) == ((0, 254), (0, 254))
        # Full load reading and full torque belong together.
        assert model.load_n_m * model.stall_current_a / TICK_A == pytest.approx(model.stall_torque_n_m)
    assert MODELS["wCK-1413"].stall_torque_n_m == pytest.approx(1.27, abs=0.01)
    assert MODELS["wCK-1108"].no_load_rad_s == pytest.approx(3.14159265 / 3 / 0.15, rel=0.01)
    assert MODELS["1001"].stall_torque_n_m == pytest.approx(0.981, abs=0.001)


@pytest.mark.parametrize("name", ["wCK-1108", "wCK-1111", "wCK-1413"])
def test_in_ten_bits_a_wck_is_the_same_servo_with_finer_ticks(name):
    coarse, fine = MODELS[name], MODELS[f"{name}-10bit"]
    assert (fine.positions, fine.load_range, fine.load_n_m) == ((0, 1023), (0, 0), 0.0)
    assert fine.tick_deg * 1023 == pytest.approx(coarse.tick_deg * 254)
    stiffness = [model.tick_torque_n_m(10) / model.tick_deg for model in (coarse, fine)]
    assert stiffness[0] == pytest.approx(stiffness[1])
    assert (fine.stall_torque_n_m, fine.no_load_rad_s) == (coarse.stall_torque_n_m, coarse.no_load_rad_s)


def test_a_bus_counts_as_its_servos_do():
    check_scale([ServoAddress(0, "a", "wCK-1108-10bit"), ServoAddress(1, "b")], ten_bit=True)
    check_scale([ServoAddress(0, "a", "wCK-1108"), ServoAddress(1, "b"), ServoAddress(2, "c", "701")], ten_bit=False)
    with pytest.raises(BusUrlError, match=r"'a' counts in ten bits.*ten_bit=1"):
        check_scale([ServoAddress(0, "a", "wCK-1108-10bit")], ten_bit=False)
    with pytest.raises(BusUrlError, match=r"make it a wCK-1108-10bit, calibrated in ticks of 0\.1624 degrees"):
        check_scale([ServoAddress(0, "a", "wCK-1108")], ten_bit=True)


def test_who_is_a_wck():
    assert family_of("wCK-1108") is Family.WCK
    assert family_of("701", wck=True) is Family.AI_MOTOR
    assert (family_of(""), family_of("", wck=True)) == (Family.AI_MOTOR, Family.WCK)


def test_servos_that_can_not_be_on_a_bus_are_refused():
    for bus_id in (-1, 31):
        with pytest.raises(BusUrlError, match="expected 0 to 30"):
            check_servos([ServoAddress(bus_id, "a")])
    with pytest.raises(BusUrlError, match="at least one"):
        check_servos([])
    with pytest.raises(BusUrlError, match="'a' and 'b' share bus id 3"):
        check_servos([ServoAddress(3, "a"), ServoAddress(3, "b")])
    servos = [ServoAddress(1, "a"), ServoAddress(2, "b", "wCK-1413")]
    assert check_models(servos, wck=True) == servos
    with pytest.raises(BusUrlError, match="'c' is an AI motor"):
        check_models([*servos, ServoAddress(3, "c", "701")], wck=True)
    with pytest.raises(BusUrlError, match="unknown model 'XL330'"):
        check_models([ServoAddress(3, "c", "XL330")])
