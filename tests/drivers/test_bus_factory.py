"""Buses from URLs."""

import subprocess
import sys

import pytest
from emulated import EXCHANGE_NS, MS, ScriptedPlant, addresses

from drivers.aimotor import FAMILY, AiMotorBus, AiMotorEmulator, codec
from drivers.errors import BusError, BusUrlError, PortGoneError
from drivers.factory import bus_on_port, open_bus, parse_line
from drivers.inprocess import InProcessPort
from drivers.servo import ReplyStatus, ServoAddress
from drivers.url import LineSpec


def opened(url, seed=1, ids=(0, 1, 2, 3)):
    plant = ScriptedPlant(len(ids))
    return open_bus(url, addresses(*ids), plant, seed=seed), plant


def ends(url, seed=1, cycles=50):
    """Return when each of the first cycles was complete, and the status after each."""
    bus, _ = opened(url, seed)
    now, seen = 0, []
    for _ in range(cycles):
        bus.start(now, [-1] * 4)
        now = bus.run_until(10**15)
        seen.append((now, tuple(bus.status)))
    return seen


@pytest.mark.parametrize(
    "url", ["emulated:", "emulated:aimotor", "emulated:?turnaround_us=230", "emulated:?baud=57600"]
)
def test_the_default_is_an_ai_motor_bus_at_197_hz(url):
    assert ends(url, cycles=2)[0] == (4 * EXCHANGE_NS, (ReplyStatus.OK,) * 4)


def test_options_reach_bus_and_emulator():
    assert ends("emulated:aimotor?turnaround_us=100&baud=115200", cycles=1)[0][0] == 4 * (347_222 + 100_000 + 173_611)
    bus, plant = opened("emulated:?timeout_us=500&drop=1", ids=(3,))
    bus.start(0, [10])
    assert bus.run_until(10**12) == 694_444 + 347_222 + 500_000
    assert bus.misses == [1]
    assert plant.commands() == [("release", 0)]
    bus, plant = opened("emulated:?v_max_deg_s=0.001", ids=(3,))
    for now in (0, 100 * MS):
        bus.start(now, [10])
        bus.run_until(10**12)
        plant.angles[0] += 2 * 0.654
    assert bus.status == [ReplyStatus.IMPLAUSIBLE]


def test_jitter_and_faults_are_the_seeds_and_of_separate_streams():
    url = "emulated:?jitter_us=50&drop=0.05&flip=0.05"
    assert ends(url, 1) == ends(url, 1)
    assert ends(url, 1) != ends(url, 2)
    quiet, noisy = ends("emulated:?jitter_us=50", 1, 1), ends("emulated:?jitter_us=50&delay=0.0&delay_us=1", 1, 1)
    assert quiet == noisy
    assert 4 * EXCHANGE_NS < quiet[0][0] <= 4 * (EXCHANGE_NS + 50_000)


@pytest.mark.parametrize(
    ("url", "message"),
    [
        ("", "expected SCHEME"),
        ("emulated", "expected SCHEME"),
        (":aimotor", "expected SCHEME"),
        ("loopback:", "expected emulated:"),
        ("emulated:servo9000", "unknown servo family 'servo9000': expected aimotor"),
        ("emulated:?turnaround=1", "did you mean 'turnaround_us'.*jitter_us"),
        ("emulated:?xyz=1", "unknown option 'xyz'; expected baud"),
        ("emulated:?pipeline=1", "unknown option 'pipeline'; expected baud"),
        ("emulated:?baud=57600&baud=57600", "twice"),
        ("emulated:?baud=57601", "expected one of 4800, 9600"),
        ("emulated:?baud=fast", "expected a number"),
        ("emulated:?baud", "expected a number"),
        ("emulated:?turnaround_us=nan", "expected a number"),
        ("emulated:?turnaround_us=inf", "expected a number"),
        ("emulated:?turnaround_us=-1", "expected 0 to"),
        ("emulated:?jitter_us=2e6", "expected 0 to"),
        ("emulated:?timeout_us=-1", "expected 0 to"),
        ("emulated:?v_max_deg_s=0", "more than 0"),
        ("emulated:?drop=1.5", "not a probability"),
        ("emulated:?flip=-0.1", "not a probability"),
        ("emulated:?delay_us=-1", "expected 0 to"),
    ],
)
def test_wrong_urls_say_what_was_expected(url, message):
    with pytest.raises(BusUrlError, match=message):
        opened(url)


def test_a_family_opens_only_what_it_can():
    for url in ("loopback:", "emulated:feet"):
        with pytest.raises(BusUrlError, match=r"expected emulated:\[aimotor\]"):
            FAMILY.open_emulated(url, addresses(0), ScriptedPlant(1), 0)


def test_servo_lists_and_plants_are_checked():
    plant = ScriptedPlant(2)
    with pytest.raises(BusUrlError, match="needs a plant"):
        open_bus("emulated:", addresses(0), None, seed=0)
    with pytest.raises(BusUrlError, match="share bus id 3"):
        open_bus("emulated:", addresses(3, 3), plant, seed=0)
    with pytest.raises(BusUrlError, match="unknown model '702': expected 601, 701, 1001"):
        open_bus("emulated:", [ServoAddress(0, "ThC", "702")], plant, seed=0)
    assert issubclass(BusUrlError, BusError)
    assert plant.calls == []


class _Points(dict):
    names = property(set)


def test_other_families_come_from_entry_points(monkeypatch):
    calls = []

    class Feet:
        def open_emulated(self, *arguments):
            calls.append(arguments)

        def parse_line(self, url):
            return LineSpec("feet", url, 1, {})

        def bus_on_port(self, *arguments):
            return arguments

    class Point:
        def load(self):
            return Feet()

    groups = []
    monkeypatch.setattr("importlib.metadata.entry_points", lambda group: groups.append(group) or _Points(feet=Point()))
    servos, plant = addresses(0), ScriptedPlant(1)
    open_bus("emulated:feet?x=1", servos, plant, seed=5)
    assert calls == [("emulated:feet?x=1", servos, plant, 5)]
    assert set(groups) == {"nuc_engine.buses"}
    spec = parse_line("feet:///dev/x")
    assert bus_on_port(spec, "port", servos) == (spec, "port", servos)
    with pytest.raises(BusUrlError, match="expected aimotor, dynamixel, feet, feetech"):
        open_bus("emulated:hands", servos, plant, seed=5)
    assert isinstance(open_bus("emulated:aimotor", servos, plant, seed=5), AiMotorBus)


def test_a_line_is_read_without_being_opened():
    spec = parse_line("aimotor:///dev/serial/by-id/usb-FTDI_A9?baud=115200&timeout_us=1500&v_max_deg_s=300")
    assert spec == LineSpec(
        "aimotor", "/dev/serial/by-id/usb-FTDI_A9", 115_200, {"timeout_us": 1500.0, "v_max_deg_s": 300.0}
    )
    assert parse_line("aimotor:/dev/ttyACM1") == LineSpec("aimotor", "/dev/ttyACM1", 57_600, {})


@pytest.mark.parametrize(
    ("url", "message"),
    [
        ("aimotor:", "names no device: expected aimotor:///dev/"),
        ("aimotor:ttyUSB0", "names no device"),
        ("aimotor://ttyUSB0", "names no device"),
        ("aimotor:///dev/", "names no device"),
        ("aimotor:////dev/x", "names no device"),
        ("aimotor:///dev/ttyUSB0?baud=57601", "expected one of 4800"),
        ("aimotor:///dev/ttyUSB0?jitter_us=3", "unknown option 'jitter_us'"),
        ("aimotor:///dev/ttyUSB0?pipeline=1", "unknown option 'pipeline'; expected baud"),
        ("aimotor:///dev/ttyUSB0?timeout_us=-1", "expected 0 to"),
        ("aimotor:///dev/ttyUSB0?v_max_deg_s=0", "more than 0"),
        ("feet:///dev/ttyUSB0", "expected emulated:.*aimotor:///dev/"),
    ],
)
def test_wrong_lines_say_what_was_expected(url, message):
    with pytest.raises(BusUrlError, match=message):
        parse_line(url)


def test_a_bus_on_a_line_takes_port_and_options():
    def timeout(url, hold_ns=0):
        emulator = AiMotorEmulator(addresses(3), ScriptedPlant(1))
        emulator.unplug(0)

        class Slow(InProcessPort):
            @property
            def hold_ns(self):
                return hold_ns

        bus = bus_on_port(parse_line(url), Slow(emulator, 57_600), addresses(3))
        bus.start(0, [-1])
        return bus.run_until(10**12) - 694_444 - 347_222

    assert timeout("aimotor:///dev/x") == 4 * MS
    assert timeout("aimotor:///dev/x?timeout_us=700") == 700_000
    assert timeout("aimotor:///dev/x", hold_ns=15 * MS) == 19 * MS
    assert timeout("aimotor:///dev/x?timeout_us=700", hold_ns=15 * MS) == 700_000


def test_a_line_that_is_not_there_is_not_opened(tmp_path):
    with pytest.raises(PortGoneError, match="no such device"):
        open_bus(f"aimotor://{tmp_path}/tty", addresses(0), None, seed=0)


def test_the_emulator_comes_from_the_same_url():
    emulator = FAMILY.emulator("emulated:?baud=115200", addresses(0), ScriptedPlant(1), 1)
    assert isinstance(emulator, AiMotorEmulator)
    assert emulator.baud == 115_200


def test_the_real_side_needs_no_numpy():
    code = (
        "import sys; from drivers.factory import parse_line, bus_on_port; import drivers.serial.port;"
        "from drivers.servo import ServoAddress;"
        "bus_on_port(parse_line('aimotor:///dev/x'), drivers.serial.port.SerialPort.__new__(P := type('P',"
        " (drivers.serial.port.SerialPort,), {'hold_ns': 0, 'late_ns': 0})), [ServoAddress(0, 'a')]);"
        "print(*[name for name in ('numpy', 'importlib.metadata', 'asyncio') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert done.stdout.split() == []


class Arguments:
    """Stands in for the bus: what it was built with."""

    def __init__(self, port, servos, **options):
        self.options = options


def built(monkeypatch, url, model=""):
    """Return the arguments of the bus that a URL builds, emulated and on a line alike."""
    monkeypatch.setattr("drivers.aimotor.family.AiMotorBus", Arguments)
    servos = [ServoAddress(0, "a", model)]
    emulated = FAMILY.open_emulated(f"emulated:aimotor?{url}", servos, ScriptedPlant(1), 1).options
    line = InProcessPort(AiMotorEmulator(servos, ScriptedPlant(1)), 57_600)
    assert FAMILY.bus_on_port(FAMILY.parse_line(f"aimotor:///dev/x?{url}"), line, servos).options == emulated
    return emulated


def test_forms_of_the_exchange_reach_the_bus_only_when_they_are_asked_for(monkeypatch):
    plain = built(monkeypatch, "sync=0&ten_bit=0&wck=1")
    assert set(plain) == {"baud", "timeout_ns", "late_ns", "v_max_deg_s", "tick_deg"}
    assert plain["tick_deg"] == 0.654
    for form in ("sync", "ten_bit"):
        assert built(monkeypatch, f"{form}=1") == plain | {form: True}
    assert built(monkeypatch, "ten_bit=1", "wCK-1108-10bit") == plain | {"ten_bit": True}
    for url, model in (("ten_bit=1", "wCK-1108"), ("wck=1", "wCK-1108-10bit")):
        with pytest.raises(BusUrlError, match="counts in"):
            built(monkeypatch, url, model)
    assert built(monkeypatch, "low_resolution=1")["tick_deg"] == 1.307


def test_low_resolution_reaches_the_servos():
    plant = ScriptedPlant(1)
    plant.angles[0] = 130.7
    emulator = FAMILY.emulator("emulated:?low_resolution=1", addresses(0), plant, 1)
    port = InProcessPort(emulator, 57_600)
    port.write(codec.encode_read(0), 0)
    assert port.read(50 * MS)[1] == 100


@pytest.mark.parametrize(
    ("url", "model", "answers"),
    [
        ("emulated:", "", False),
        ("emulated:", "1001", False),
        ("emulated:", "wCK-1108", True),
        ("emulated:?wck=1", "", True),
        ("emulated:?ten_bit=1", "", True),
    ],
)
def test_who_is_a_wck_model_or_url_say(url, model, answers):
    emulator = FAMILY.emulator(url, [ServoAddress(0, "a", model)], ScriptedPlant(1), 1)
    port = InProcessPort(emulator, emulator.baud)
    port.write(codec.encode_read_10bit(0), 0)
    assert (len(port.read(50 * MS)) == 2) is answers


@pytest.mark.parametrize("option", ["wck", "ten_bit"])
def test_an_ai_motor_is_no_wck_whatever_the_url_says(option):
    servos = [ServoAddress(0, "a", "701")]
    with pytest.raises(BusUrlError, match="'a' is an AI motor"):
        FAMILY.emulator(f"emulated:?{option}=1", servos, ScriptedPlant(1), 1)
    port = InProcessPort(AiMotorEmulator(servos, ScriptedPlant(1)), 57_600)
    with pytest.raises(BusUrlError, match="'a' is an AI motor"):
        bus_on_port(parse_line(f"aimotor:///dev/x?{option}=1"), port, servos)


@pytest.mark.parametrize("option", ["sync", "ten_bit", "wck", "low_resolution"])
def test_switches_are_on_or_off(option):
    with pytest.raises(BusUrlError, match=f"{option}=2: expected 0 or 1"):
        parse_line(f"aimotor:///dev/x?{option}=2")


def test_a_family_says_what_it_has():
    assert FAMILY.name == "aimotor"
    assert FAMILY.bauds == tuple(sorted(FAMILY.bauds))
    assert {"701", "1001", "wCK-1413"} <= set(FAMILY.models)
    assert all(model.family == FAMILY.name for model in FAMILY.models.values())
    assert FAMILY.line_options["baud"] == 57_600
    assert not set(FAMILY.line_options) & set(FAMILY.emulator_options)
    both = {**FAMILY.line_options, **FAMILY.emulator_options}
    url = "emulated:?" + "&".join(f"{name}={value}" for name, value in both.items())
    assert isinstance(FAMILY.emulator(url, addresses(0), ScriptedPlant(1), 1), AiMotorEmulator)
    assert [servo.bus_id for servo in FAMILY.every_servo()] == list(range(31))
    assert FAMILY.any_servo().bus_id == 0
