"""Settings a servo keeps: which of them are looked at before it is driven, and what is stored in it."""

import pytest
from framed_rig import OK, START, Leg, both

from drivers.bus import READ_ONLY
from drivers.clock import VirtualPace
from drivers.dynamixel.table import MODELS as DYNAMIXEL_MODELS
from drivers.feetech.table import MODELS as FEETECH_MODELS
from drivers.framed.bench.settings import FramedSettings
from drivers.framed.emulation.memory import RegisterMemory
from drivers.servo import ServoAddress

# --- what positions mean ---

# What a servo holds, and what it should: bits that are about something else stay as they are.
MEANINGS = [
    ("dynamixel", "drive_mode", 1, 0, "reverses positions"),
    ("dynamixel", "drive_mode", 4 + 1, 4, "reverses positions"),
    ("dynamixel", "drive_mode", 8, 0, "turns the torque on"),
    ("dynamixel", "homing_offset", -1, 0, "shifted"),
    ("dynamixel", "homing_offset", 1024, 0, "shifted"),
    ("dynamixel", "secondary_id", 9, 255, "what the servo of that id is told"),
    ("dynamixel", "startup_configuration", 1, 0, "torque on at power-up"),
    ("dynamixel", "startup_configuration", 2, 0, "brings back"),
    ("feetech", "phase", 12 + 128, 12, "reverses positions"),
    ("feetech", "phase", 16, 0, "several turns"),
    ("feetech", "resolution", 2, 1, "steps of the sensor"),
    ("feetech", "position_offset", -85, 0, "shifted"),
    ("feetech", "position_offset", 2047, 0, "shifted"),
]


@pytest.mark.parametrize(("family", "name", "found", "expected", "words"), MEANINGS)
def test_a_servo_that_means_something_else_by_a_position_is_not_driven(family, name, found, expected, words):
    leg = Leg(family)
    leg.memory(1).restore({name: found})
    register = leg.layout.register(name)
    for goal in [READ_ONLY] * 3 + [START] * 30:
        leg.cycle(goal)
    assert leg.driven() == {0: START, 2: START, 3: START}
    (why,) = leg.bus.refusals
    assert why.startswith(
        f"servo 'servo 2' (bus id 2) holds {found} in {name} (address {register.address}), expected {expected}: "
    )
    assert words in why
    assert f"`nuc bus set URL 2 {name} {expected}`" in why
    assert ("calibration" in why) is (name not in ("secondary_id", "startup_configuration"))
    assert leg.bus.status[1] == OK
    assert leg.memory(1)[name] == found
    assert {bus_id for bus_id, _, _ in leg.writes()} == {1, 3, 4}


@both
def test_it_is_said_before_anybody_drives_and_over_when_it_was_mended(family):
    leg = Leg(family, (1, 2))
    name = "homing_offset" if family == "dynamixel" else "position_offset"
    leg.memory(0).restore({name: 300})
    leg.cycle()
    assert len(leg.bus.refusals) == 1
    leg.emulator.unplug(0)
    leg.cycle()
    leg.memory(0).restore({name: 0})
    leg.emulator.plug(0)
    leg.go(START)
    assert leg.bus.refusals == ()


@pytest.mark.parametrize(
    ("family", "name", "value"),
    [("dynamixel", "drive_mode", 4)] + [("feetech", "phase", value) for value in (0, 4, 8, 64 + 32 + 2 + 1)],
)
def test_bits_that_are_about_something_else_are_left_alone(family, name, value):
    leg = Leg(family)
    leg.memory(0).restore({name: value})
    leg.go(START)
    assert leg.bus.refusals == ()
    assert leg.memory(0)[name] == value


@pytest.mark.parametrize("model", [*DYNAMIXEL_MODELS, *FEETECH_MODELS])
def test_every_model_as_it_is_delivered_means_what_its_table_says(model):
    leg = Leg("dynamixel" if model in DYNAMIXEL_MODELS else "feetech", model=model)
    leg.go(START)
    assert leg.bus.refusals == ()
    asked = {meaning.register for meaning in leg.layout.kinds[model].meanings}
    everywhere = {"drive_mode", "homing_offset", "secondary_id", "startup_configuration"}
    assert asked == (everywhere if model in DYNAMIXEL_MODELS else {"phase", "resolution", "position_offset"})


# --- what wears out ---


@pytest.fixture
def burnt(monkeypatch):
    """What is kept in servos' EEPROM, one name each time."""
    names = []
    keep = RegisterMemory.keep

    def noted(self, name):
        names.append(name)
        keep(self, name)

    monkeypatch.setattr(RegisterMemory, "keep", noted)
    return names


@both
def test_programs_that_want_other_gains_wear_nothing_out(family, burnt):
    soft, plain = ServoAddress(1, "a", "", 0.02), ServoAddress(1, "a")
    leg = Leg(family, (1,), addresses=[soft])
    leg.go(START)
    assert set(burnt) == {"id", "baud_rate"} | {
        name for name, value in leg.layout.first.settings
        if leg.layout.register(name).access == "eeprom" and leg.layout.register(name).default != value
    }  # fmt: skip
    burnt.clear()
    factory = leg.model.default_gain
    for address, gain in ((plain, factory), (soft, leg.model.gain_for(0.02)), (plain, factory)):
        leg.release()
        leg.addresses = [address]
        leg.bus = leg.another()
        leg.go(START)
        assert leg.memory(0)["position_p_gain"] == gain
        assert leg.plant.calls[-1][3] * leg.model.tick_deg == pytest.approx(leg.model.tick_torque_n_m(gain))
    assert burnt == []


def test_a_gain_that_was_kept_in_a_servo_is_there_again_when_its_supply_was_off():
    leg = Leg("feetech", (1,), addresses=[ServoAddress(1, "a", "", 0.02)])
    leg.memory(0).restore({"position_p_gain": 77})
    leg.go(START)
    assert leg.memory(0)["position_p_gain"] == leg.model.gain_for(0.02)
    leg.emulator.brown_out(0)
    assert leg.memory(0)["position_p_gain"] == 77
    leg.bus = leg.another()
    leg.go(START)
    assert leg.memory(0)["position_p_gain"] == leg.model.gain_for(0.02)


@pytest.mark.parametrize("value", [2, 253, 254, 255])
def test_a_second_id_that_is_none_is_no_objection_at_the_bench(value):
    leg = Leg("dynamixel", (1, 2))
    settings = FramedSettings(leg.port, VirtualPace(), leg.layout, 2)
    assert settings.objection("secondary_id", value) == ""
    assert "not driven" in settings.objection("secondary_id", 1)
