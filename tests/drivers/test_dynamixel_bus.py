"""What only Dynamixel servos have on the framed bus: watchdog, fast replies, modes; and their URLs."""

import pytest
from framed_rig import FAR, IMPLAUSIBLE, MISSED, OK, START, Leg
from framed_servos import MS

from drivers.bus import LIMP, READ_ONLY
from drivers.dynamixel import FAMILY
from drivers.dynamixel.codec import FAST_SYNC_READ
from drivers.dynamixel.layout import LAYOUT
from drivers.dynamixel.table import BYTE_GAP_NS, MODELS, TABLES
from drivers.errors import BusUrlError
from drivers.framed.packet import READ, SYNC_READ
from drivers.inprocess import InProcessPort
from drivers.port import wire_ns
from drivers.servo import LEVEL_SHARE, ServoAddress

MODES = {"XL330-M288": 5, "XL430-W250": 3, "XM430-W350": 5}


@pytest.mark.parametrize("model", MODELS)
def test_servos_are_set_to_what_bounds_their_torque(model):
    leg = Leg(model=model)
    leg.memory(0)["position_i_gain"] = 12
    leg.memory(0)["profile_velocity"] = 100
    leg.memory(0)["feedforward_1st_gain"] = 3
    leg.go(START)
    memory = leg.memory(0)
    assert memory["operating_mode"] == MODES[model]
    assert memory["return_delay"] == memory["position_i_gain"] == 0
    assert memory["profile_velocity"] == memory["feedforward_1st_gain"] == 0
    assert memory["bus_watchdog"] == 5
    limits = [call[4] for call in leg.plant.calls if call[0] == "drive"]
    assert limits == pytest.approx([LEVEL_SHARE[3] * MODELS[model].stall_torque_n_m] * len(limits), rel=0.01)


def test_models_are_what_the_maker_says():
    for name, model in MODELS.items():
        table = TABLES[name]
        assert model.number == table["model_number"].default == {"XL330": 1200, "XL430": 1060, "XM430": 1020}[name[:5]]
        assert model.default_gain == table["position_p_gain"].default
        assert model.tick_deg * 4096 == 360.0
        assert model.load_signed
        # The reading at the stall current stands for the stall torque.
        counts = {"XL330": 1470, "XL430": 1000, "XM430": 2300 / 2.69}[name[:5]]
        assert model.load_n_m * counts == pytest.approx(model.stall_torque_n_m)
    # 125 counts of PWM at a P of 800 and an error of 20 ticks.
    xm430 = MODELS["XM430-W350"]
    assert xm430.tick_torque_n_m(800) * 20 == pytest.approx(4.1 * 125 / 885)


def test_control_tables_do_not_overlap():
    for table in TABLES.values():
        taken = [at for r in table.all.values() for at in range(r.address, r.address + r.size)]
        assert len(taken) == len(set(taken))
        for register in table.all.values():
            if register.access != "read":
                assert register.low <= register.default <= register.high
                assert register.decode(register.encode(register.high)) == register.high
                assert register.decode(register.encode(register.low)) == register.low


def test_negative_loads_keep_their_sign():
    leg = Leg(model="XL330-M288")
    leg.plant.put(0, a=-0.25)
    leg.plant.put(1, a=0.5)
    leg.cycle()
    assert leg.bus.current_raw == [-250, 500, 0, 0]


# --- the watchdog ---


def test_servos_that_hear_nothing_stop_and_are_set_up_again():
    leg = Leg()
    leg.go(START)
    leg.now_ns += 300 * MS
    leg.cycle(START + 9)
    assert leg.bus.trips == 4
    assert leg.memory(0)["bus_watchdog"] == -1
    leg.go(START + 10)
    assert [leg.memory(k)["bus_watchdog"] for k in range(4)] == [5] * 4
    assert leg.bus.trips == 4
    assert leg.bus.refusals == ()


def test_a_pause_the_watchdog_bears_costs_one_look():
    leg = Leg()
    leg.go(START)
    leg.now_ns += 70 * MS
    leg.requests()
    assert leg.cycle(START + 1) == [OK] * 4
    address = TABLES["XM430-W350"]["bus_watchdog"].address
    assert [p.params[0] for p in leg.requests() if p.instruction == SYNC_READ] == [address, 126]
    assert leg.bus.trips == 0
    assert leg.driven() == dict.fromkeys(range(4), START + 1)


@pytest.mark.parametrize(
    ("baud", "count", "single", "steps"),
    [(1_000_000, 18, 0, 5), (57_600, 4, 0, 5), (57_600, 18, 0, 18), (57_600, 4, 1, 9), (57_600, 18, 1, 39)],
)
def test_on_a_slow_line_the_watchdog_is_more_patient(baud, count, single, steps):
    leg = Leg(ids=tuple(range(count)), baud=baud, single=bool(single))
    leg.go(START, most=100)
    assert leg.memory(0)["bus_watchdog"] == steps
    # A write to and a read of each, or one of each for all, and the statuses.
    size = 62 * count if single else 28 + 27 * count
    assert 4 * wire_ns(size, baud) <= max(100 * MS, (steps + 0.5) * 20 * MS)


@pytest.mark.parametrize(("watchdog_ns", "steps"), [(0, 0), (60 * MS, 3), (1, 1)])
def test_the_watchdog_is_as_told(watchdog_ns, steps):
    leg = Leg(watchdog_ns=watchdog_ns)
    leg.go(START)
    assert leg.memory(0)["bus_watchdog"] == steps
    leg.now_ns += 10 * 1000 * MS
    leg.cycle(START)
    assert leg.bus.trips == (4 if watchdog_ns else 0)


def test_a_watchdog_that_has_stopped_a_servo_is_cleared_before_its_torque_comes_on():
    leg = Leg()
    leg.go(START)
    leg.cycle([LIMP, START, START, START])
    leg.emulator.servos[0].expire(leg.now_ns)
    assert leg.memory(0)["bus_watchdog"] == -1
    assert leg.go(START + 5) == 1
    assert leg.memory(0)["bus_watchdog"] == 5


def test_a_servo_that_something_ails_is_released_even_where_it_does_not_shut_down():
    leg = Leg()
    leg.go(START)
    leg.memory(1)["hardware_error"] = 1
    assert leg.cycle(START)[1] == IMPLAUSIBLE
    for _ in range(3):
        leg.cycle(START)
    assert sorted(leg.driven()) == [0, 2, 3]
    assert "input voltage" in leg.bus.refusals[0]


# --- stuffing ---


def test_a_reply_with_stuffing_is_taken_when_it_is_whole():
    leg = Leg(turnaround_ns=40_000)
    for _ in range(3):
        leg.cycle()
    plain = leg.bus.stamp_ns[1] - leg.bus.stamp_ns[0]
    # -1 mA and 253 counts of speed: FF FF FD.
    leg.plant.put(1, deg_s=253 * 0.229 * 6, a=-0.001)
    assert leg.cycle() == [OK] * 4
    assert leg.bus.current_raw[1] == -1
    assert leg.bus.stamp_ns[1] - leg.bus.stamp_ns[0] == plain + wire_ns(1, leg.baud)
    assert leg.bus.stray_bytes == 0


# --- fast replies ---


def test_all_answer_in_one_packet():
    leg = Leg(fast=True)
    leg.go(START)
    leg.requests()
    for k in range(4):
        leg.turn(k, START + k)
    assert leg.cycle(START + 1) == [OK] * 4
    assert leg.bus.position_raw == [START + k for k in range(4)]
    assert [packet.instruction for packet in leg.requests()] == [0x83, FAST_SYNC_READ]
    assert len(set(leg.bus.stamp_ns)) == 1


def test_one_that_is_missing_spoils_the_packet_once():
    leg = Leg(fast=True)
    leg.cycle()
    leg.emulator.unplug(1)
    assert leg.cycle() == [OK, MISSED, OK, OK]
    leg.requests()
    assert leg.cycle() == [OK, MISSED, OK, OK]
    assert [packet.instruction for packet in leg.requests()] == [FAST_SYNC_READ, READ]
    leg.emulator.plug(1)
    leg.cycle()
    leg.requests()
    assert leg.cycle() == [OK] * 4
    assert leg.requests()[0].instruction == FAST_SYNC_READ


def test_servos_that_do_not_answer_together_are_asked_separately_in_the_end():
    leg = Leg(fast=True)
    leg.port.change = lambda data: b"" if data[7] == FAST_SYNC_READ else data
    for _ in range(4):
        assert leg.cycle() == [OK] * 4
    leg.requests()
    leg.cycle()
    assert [packet.instruction for packet in leg.requests()] == [SYNC_READ]


def test_two_failures_in_a_row_are_forgiven():
    leg = Leg(fast=True)
    for _ in range(3):
        leg.port.change = lambda data: bytes(len(data)) if data[7] == FAST_SYNC_READ else data
        for _ in range(2):
            assert leg.cycle() == [OK] * 4
        leg.port.change = None
        leg.cycle()
    leg.requests()
    leg.cycle()
    assert leg.requests()[0].instruction == FAST_SYNC_READ


def test_a_line_that_is_dead_for_a_while_does_not_end_fast_replies():
    leg = Leg(fast=True)
    leg.cycle()
    leg.emulator.supply(on=False)
    for _ in range(5):
        assert leg.cycle() == [MISSED] * 4
    leg.emulator.supply(on=True)
    leg.cycle()
    leg.requests()
    assert leg.cycle() == [OK] * 4
    assert leg.requests()[0].instruction == FAST_SYNC_READ


def test_in_single_exchanges_a_refused_goal_has_the_servo_looked_at():
    leg = Leg(single=True)
    leg.go(START)
    # Stopped by its watchdog, unseen by the bus.
    leg.emulator.servos[1].expire(leg.now_ns)
    leg.cycle(START + 1)
    assert leg.bus.trips == 0
    leg.cycle(START + 1)
    assert leg.bus.trips == 1
    leg.go(START + 2)


def test_a_servo_that_answers_reads_only_is_set_to_answer_all():
    leg = Leg()
    leg.memory(1)["status_level"] = 1
    leg.go(START)
    assert leg.memory(1)["status_level"] == 2


# --- who is there ---


def test_everybody_is_asked_at_once_and_the_expected_once_more():
    leg = Leg(ids=(3, 40, 252))
    leg.addresses = leg.addresses[:2]
    leg.bus = leg.another()
    leg.bus.discover(0)
    leg.now_ns = leg.bus.run_until(FAR)
    assert leg.bus.found == (3, 40, 252)
    assert [(p.instruction, p.bus_id) for p in leg.requests()] == [(1, 0xFE), (2, 3), (2, 40), (2, 252)]
    # The request for all is lost: those that should be there are found all the same.
    leg.port.lose = 1
    leg.bus.discover(leg.now_ns)
    leg.now_ns = leg.bus.run_until(FAR)
    assert leg.bus.found == (3, 40)
    assert leg.bus.found_models == {3: 1200, 40: 1200}


@pytest.mark.parametrize("baud", [57_600, 1_000_000])
def test_who_is_there_is_known_after_what_the_makers_sdk_waits(baud):
    leg = Leg(ids=(0, 252), baud=baud)
    leg.bus.discover(0)
    end = leg.bus.run_until(FAR)
    assert leg.bus.found == (0, 252)
    assert end <= 253 * (wire_ns(14, baud) + 3 * MS) + 20 * MS


# --- URLs ---


def test_a_url_is_read():
    spec = FAMILY.parse_line("dynamixel:///dev/ttyUSB0?baud=1000000&fast=1&watchdog_ms=200&timeout_us=900")
    assert (spec.family, spec.path, spec.baud) == ("dynamixel", "/dev/ttyUSB0", 1_000_000)
    assert spec.options == {"fast": 1.0, "watchdog_ms": 200.0, "timeout_us": 900.0}
    assert FAMILY.parse_line("dynamixel:///dev/ttyUSB0").baud == 57_600


@pytest.mark.parametrize(
    "options",
    [
        "baud=123",
        "timeout_us=-1",
        "v_max_deg_s=0",
        "fast=2",
        "single=0.5",
        "fast=1&single=1",
        "watchdog_ms=10",
        "watchdog_ms=3000",
        "turnaround_us=5",
        "echo=2",
    ],
)
def test_options_that_can_not_be_are_refused(options):
    with pytest.raises(BusUrlError):
        FAMILY.parse_line(f"dynamixel:///dev/ttyUSB0?{options}")


@pytest.mark.parametrize("url", ["emulated:feetech", "dynamixel:///dev/null", "emulated:dynamixel?flip=2"])
def test_emulated_urls_that_can_not_be_are_refused(url):
    leg = Leg()
    with pytest.raises(BusUrlError):
        FAMILY.emulator(url, leg.addresses, leg.plant, 1)


def test_emulated_servos_of_unknown_models_are_refused():
    leg = Leg()
    with pytest.raises(BusUrlError):
        FAMILY.emulator("emulated:dynamixel", [ServoAddress(1, "a", "AX-12")], leg.plant, 1)


@pytest.mark.parametrize(
    "options", ["", "?baud=1000000&jitter_us=30", "?baud=115200&echo=1", "?latency_ms=16", "?fast=1"]
)
def test_a_bus_from_a_url_drives(options):
    leg = Leg()
    bus = FAMILY.open_emulated(f"emulated:dynamixel{options}", leg.addresses, leg.plant, 1)
    now = 0
    for _ in range(40):
        bus.start(now, [START + 6] * 4)
        now = bus.run_until(FAR)
    assert bus.status == [OK] * 4
    assert leg.driven() == dict.fromkeys(range(4), START + 6)


def test_a_bus_on_a_port_waits_for_what_the_port_holds_back():
    leg = Leg()

    class Holding(InProcessPort):
        hold_ns, late_ns = 15 * MS, 0

    # No shorter than what servos wait for the rest of a packet: asked again sooner, they would take that for it.
    cases = (({}, 19 * MS), ({"timeout_us": 3000.0}, 3 * MS), ({"timeout_us": 1000.0}, BYTE_GAP_NS))
    for options, allowed in cases:
        spec = FAMILY.parse_line("dynamixel:///dev/ttyUSB0?baud=1000000")
        spec = type(spec)(spec.family, spec.path, spec.baud, options)
        bus = FAMILY.bus_on_port(spec, Holding(leg.emulator, 1_000_000), leg.addresses[:1])
        leg.emulator.unplug(0)
        bus.start(0, [READ_ONLY])
        end = bus.run_until(FAR)
        assert end == pytest.approx(allowed + wire_ns(15 + 21 + 3, 1_000_000), abs=2)


def test_addresses_of_the_family():
    assert FAMILY.any_servo().bus_id == 1
    assert [servo.bus_id for servo in FAMILY.every_servo()] == list(range(253))
    assert FAMILY.bauds == (9_600, 57_600, 115_200, 1_000_000, 2_000_000, 3_000_000, 4_000_000, 4_500_000)
    assert set(FAMILY.models) == set(LAYOUT.kinds)


def test_the_ear_hears_goals_and_torque():
    leg = Leg()
    leg.go(START + 3)
    leg.release()
    ear = FAMILY.sniffer()
    heard = [item for _, item in ear.feed(leg.port.written)]
    assert ear.stray_bytes == ear.bad_checksums == 0
    assert {1: START + 3, 2: START + 3, 3: START + 3, 4: START + 3} in [item.goals for item in heard]
    assert any(item.arms == (1, 2, 3, 4) for item in heard)
    assert any(item.releases == (-1,) for item in heard)


def test_an_id_and_a_rate_are_burnt_in():
    from drivers.clock import VirtualPace

    leg = Leg(ids=(1, 2))
    pace = VirtualPace()
    FAMILY.write_id(leg.port, pace, 2, 9)
    assert leg.memory(1).kept()["id"] == 9
    FAMILY.write_baud(leg.port, pace, 9, 57_600)
    assert leg.memory(1).kept()["baud_rate"] == 1
