"""What only Feetech servos have on the framed bus: the lock, settings that last, the overload; and their URLs."""

import pytest
from framed_rig import FAR, OK, START, Leg
from framed_servos import MS, StillPlant

from drivers.bus import READ_ONLY
from drivers.errors import BusUrlError
from drivers.feetech import FAMILY
from drivers.feetech.table import BAUD_CODES, MODELS, STS3215, TICK_DEG, V_MAX_DEG_S
from drivers.inprocess import InProcessPort
from drivers.servo import ServoAddress
from drivers.url import LineSpec

SETTINGS = {
    "status_level": 1,
    "operating_mode": 0,
    "position_i_gain": 0,
    "min_start_torque": 0,
    "dead_band_plus": 0,
    "dead_band_minus": 0,
    "acceleration": 0,
    "goal_velocity": 0,
}


def leg_of(**options):
    return Leg("feetech", **options)


def test_servos_are_set_to_a_torque_in_proportion_to_the_error():
    leg = leg_of()
    for name, value in {"position_i_gain": 3, "acceleration": 9, "goal_velocity": 1000}.items():
        leg.memory(0)[name] = value
    leg.go(START)
    for k in range(4):
        assert {name: leg.memory(k)[name] for name in SETTINGS} == SETTINGS


def test_settings_are_written_with_the_lock_open_and_it_is_closed_again():
    leg = leg_of()
    leg.go(START)
    open_for = {
        (bus_id, name) for bus_id, name, value in leg.writes() if name in SETTINGS or name in ("eprom_lock", "id")
    }
    assert (1, "eprom_lock") in open_for
    assert leg.memory(0)["eprom_lock"] == 1
    for k in range(4):
        leg.emulator.brown_out(k)
    lasting = {name: SETTINGS[name] for name in SETTINGS if STS3215[name].access == "eeprom"}
    assert {name: leg.memory(0)[name] for name in lasting} == lasting


def test_what_lasts_is_written_once_in_a_servos_life():
    leg = leg_of()
    leg.go(START)
    for k in range(4):
        leg.emulator.brown_out(k)
    leg.bus = leg.another()
    leg.plant.calls.clear()
    leg.requests()
    leg.go(START)
    written = {name for _, name, _ in leg.writes()}
    # The lock is closed as they start: what is written of settings lasts as long as the supply.
    assert "eprom_lock" not in written
    assert {name for name in written if STS3215[name].access == "eeprom"} == {"position_p_gain"}


def test_what_lasts_is_written_once_though_the_servo_answers_no_writes():
    leg = leg_of()
    for k in range(4):
        leg.memory(k)["status_level"] = 0
    leg.go(START)
    lasting = [(bus_id, name) for bus_id, name, _ in leg.writes() if STS3215[name].access == "eeprom"]
    assert (1, "status_level") in lasting
    assert len(lasting) == len(set(lasting))


def test_a_late_echo_that_nobody_told_of_is_no_servo():
    leg = leg_of()
    received = 0

    def echo(data):
        nonlocal received
        said, received = leg.port.written[received:], len(leg.port.written)
        return said + data

    leg.port.receive = echo
    leg.bus.discover(leg.now_ns)
    leg.bus.run_until(FAR)
    assert leg.bus.found == leg.ids
    assert set(leg.bus.found_models.values()) == {leg.model.number}


def test_an_overload_is_said_and_ends_nothing_else():
    leg = leg_of()
    leg.bus.set_level(0)
    leg.turn(1, START - 200)
    leg.go(START)
    begun_ns = leg.now_ns
    for _ in range(4000):
        leg.cycle(START)
        if leg.bus.status[1] != OK:
            break
    assert 1_900 * MS < leg.now_ns - begun_ns < 2_100 * MS
    assert [leg.bus.status[k] for k in (0, 2, 3)] == [OK] * 3
    for _ in range(5):
        leg.cycle(START)
    assert any("overload" in text for text in leg.bus.refusals)


@pytest.mark.parametrize("model", MODELS)
def test_models_are_what_the_maker_says(model):
    found = MODELS[model]
    assert (found.number, found.family) == (777, "feetech")
    stall_kgf_cm, rpm = {"STS3215": (19.5, 52), "STS3215-12V": (30.0, 45)}[model]
    assert found.stall_torque_n_m == pytest.approx(stall_kgf_cm * 0.0981, rel=0.001)
    assert found.no_load_rad_s == pytest.approx(rpm * 0.10472, rel=0.01)
    assert found.tick_deg * 4096 == 360
    assert found.load_n_m * found.load_range[1] == pytest.approx(found.stall_torque_n_m)


# --- URLs ---


def test_a_url_is_read():
    spec = FAMILY.parse_line("feetech:///dev/ttyACM0?baud=500000&single=1&timeout_us=900&echo=1")
    assert (spec.family, spec.path, spec.baud) == ("feetech", "/dev/ttyACM0", 500_000)
    assert spec.options == {"single": 1.0, "timeout_us": 900.0, "echo": 1.0}
    assert FAMILY.parse_line("feetech:///dev/ttyACM0").baud == 1_000_000


@pytest.mark.parametrize(
    "options", ["baud=9600", "timeout_us=-1", "v_max_deg_s=0", "single=2", "fast=1", "turnaround_us=5", "latency_ms=-1"]
)
def test_options_that_can_not_be_are_refused(options):
    with pytest.raises(BusUrlError):
        FAMILY.parse_line(f"feetech:///dev/ttyACM0?{options}")


@pytest.mark.parametrize("url", ["emulated:dynamixel", "feetech:///dev/null", "emulated:feetech?flip=2", "emulated:"])
def test_urls_of_others_are_refused(url):
    with pytest.raises(BusUrlError):
        FAMILY.emulator(url, [ServoAddress(1, "one")], StillPlant(1, TICK_DEG), 1)


def test_servos_that_can_not_be_are_refused():
    for servos in ([], [ServoAddress(254, "all")], [ServoAddress(1, "a"), ServoAddress(1, "b")]):
        with pytest.raises(BusUrlError):
            FAMILY.emulator("emulated:feetech", servos, StillPlant(2, TICK_DEG), 1)
    with pytest.raises(BusUrlError, match="STS3215"):
        FAMILY.emulator("emulated:feetech", [ServoAddress(1, "a", "SCS15")], StillPlant(1, TICK_DEG), 1)


def test_a_bus_from_a_url_reads_its_servos():
    plant = StillPlant(2, TICK_DEG)
    bus = FAMILY.open_emulated(
        "emulated:feetech?baud=500000&turnaround_us=100&jitter_us=20&delay=0.1",
        [ServoAddress(3, "three"), ServoAddress(9, "nine", "STS3215-12V")],
        plant,
        1,
    )
    bus.start(0, [READ_ONLY] * 2)
    bus.run_until(10**12)
    assert bus.position_raw == [1000, 1000]


def test_everybody_is_every_id_and_anybody_the_one_servos_come_with():
    assert [servo.bus_id for servo in FAMILY.every_servo()] == list(range(254))
    assert FAMILY.any_servo().bus_id == 1
    assert FAMILY.bauds == tuple(sorted(BAUD_CODES.values()))


def test_a_timeout_is_lengthened_by_what_the_port_holds_back_unless_it_is_given():
    class Held(InProcessPort):
        hold_ns, late_ns = 16 * MS, 0

    servos = [ServoAddress(1, "one"), ServoAddress(2, "two")]
    spent = []
    for options in ({}, {"timeout_us": 1000.0}):
        emulator = FAMILY.emulator("emulated:feetech", servos, StillPlant(2, TICK_DEG), 1)
        emulator.unplug(0)
        emulator.unplug(1)
        bus = FAMILY.bus_on_port(LineSpec("feetech", "", 1_000_000, options), Held(emulator, 1_000_000), servos)
        bus.start(0, [READ_ONLY] * 2)
        spent.append(bus.run_until(10**12))
    assert spent[0] > 20 * MS > spent[1]
    assert V_MAX_DEG_S > 360 / 60 * 52
