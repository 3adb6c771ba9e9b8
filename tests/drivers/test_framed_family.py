"""A family of servos with registers that somebody else adds: a layout, a few figures, and one emulated servo."""

import dataclasses
import subprocess
import sys

import pytest
from framed_servos import StillPlant

from drivers.errors import BusError, BusUrlError
from drivers.factory import bus_on_port, family_names, open_bus, parse_line
from drivers.feetech.codec import INSTRUCTIONS
from drivers.feetech.emulator import FeetechServo
from drivers.feetech.layout import LAYOUT
from drivers.framed.emulation.emulator import LineBehaviour
from drivers.framed.emulation.from_url import Emulation
from drivers.framed.family import FramedFamily
from drivers.framed.packet import SYNC_READ, SYNC_WRITE
from drivers.inprocess import InProcessPort
from drivers.servo import ReplyStatus, ServoAddress

KIND = LAYOUT.kinds["STS3215"]
OTHER_KIND = dataclasses.replace(KIND, model=dataclasses.replace(KIND.model, name="X1", family="others"))
LAYOUT_OF_OTHERS = dataclasses.replace(LAYOUT, family="others", kinds={"X1": OTHER_KIND}, bauds={0: 1_000_000})


class Slow(FeetechServo):
    """Built where it is told; has a table of its own otherwise."""

    def __init__(self, number, address, model, plant, *, baud):
        super().__init__(number, address, KIND.model, plant, baud=baud)


def others(**changes):
    figures = {"baud": 1_000_000, "timeout_ns": 5_000_000, "turnaround_ns": 100_000, "v_max_deg_s": 400.0}
    manners = LineBehaviour(groups=frozenset((SYNC_READ, SYNC_WRITE)), ping_slots=False, byte_gap_ns=10**8)
    return FramedFamily(LAYOUT_OF_OTHERS, INSTRUCTIONS, **figures | changes, emulation=lambda: Emulation(Slow, manners))


class _Point:
    name = "others"

    def load(self):
        return others()


class _Points(dict):
    names = property(set)


@pytest.fixture
def installed(monkeypatch):
    monkeypatch.setattr("drivers.factory._installed", lambda: _Points(others=_Point()))


def addresses(*ids):
    return [ServoAddress(bus_id, f"servo {bus_id}", "X1") for bus_id in ids]


def test_it_is_found_driven_and_emulated_by_its_name(installed):
    assert "others" in family_names()
    plant = StillPlant(3, KIND.model.tick_deg)
    bus = open_bus("emulated:others?jitter_us=20", addresses(1, 2, 3), plant, seed=1)
    now = 0
    for _ in range(20):
        bus.start(now, [1200, 1300, 1400])
        now = bus.run_until(10**15)
    assert bus.status == [ReplyStatus.OK] * 3
    assert {call[1:3] for call in plant.calls if call[0] == "drive"} >= {(0, 1200), (1, 1300), (2, 1400)}


def test_its_servos_answer_after_its_own_time_or_the_one_that_is_given():
    def cycle_ns(options):
        bus = others().open_emulated(f"emulated:others{options}", addresses(1), StillPlant(1, KIND.model.tick_deg), 1)
        bus.start(0, [-1])
        return bus.run_until(10**15)

    assert cycle_ns("") == cycle_ns("?turnaround_us=100") < cycle_ns("?turnaround_us=150")


def test_its_options_follow_from_its_layout():
    family = others()
    assert family.bauds == (1_000_000,)
    assert list(family.models) == ["X1"]
    assert family.line_options == {
        "baud": 1e6, "timeout_us": 5000.0, "v_max_deg_s": 400.0, "single": 0.0, "echo": 0.0, "latency_ms": 0.0,
        "late_us": 0.0,
    }  # fmt: skip
    assert family.emulator_options == {"turnaround_us": 100.0, "jitter_us": 0.0}
    assert family.any_servo().bus_id == 1
    assert len(family.every_servo()) == 254


@pytest.mark.parametrize(
    ("url", "message"),
    [
        ("others:///dev/x?fast=1", "unknown option 'fast'"),
        ("others:///dev/x?watchdog_ms=100", "unknown option 'watchdog_ms'"),
        ("others:///dev/x?turnaround_us=1", "unknown option 'turnaround_us'"),
        ("others:///dev/x?baud=500000", "baud=500000: expected one of 1000000"),
        ("others:///dev/x?single=2", "single=2: expected 0 or 1"),
        ("others:///dev/x?timeout_us=2e6", "timeout_us=2e.06: expected 0 to 1e.06 microseconds"),
        ("others:///dev/x?v_max_deg_s=-1", "v_max_deg_s=-1: expected more than 0"),
        ("others:///dev/x?latency_ms=256", "latency_ms=256: expected 0 to 255"),
        ("others:///dev/x?late_us=200001", "late_us=200001: expected 0 to 200000"),
        ("others://dev", "names no device"),
    ],
)
def test_wrong_lines_say_what_was_expected(installed, url, message):
    with pytest.raises(BusUrlError, match=message):
        parse_line(url)


@pytest.mark.parametrize(
    ("url", "message"),
    [
        ("emulated:feetech", "expected emulated:others"),
        ("others:///dev/x", "expected emulated:others"),
        ("emulated:others?jitter_us=-1", "jitter_us=-1: expected 0 to"),
        ("emulated:others?turnaround_us=2e6", "turnaround_us=2e.06: expected 0 to"),
        ("emulated:others?drop=2", "not a probability"),
        ("emulated:others?drip=2", "did you mean 'drop'"),
    ],
)
def test_wrong_emulated_lines_say_what_was_expected(url, message):
    plant = StillPlant(1, KIND.model.tick_deg)
    with pytest.raises(BusUrlError, match=message):
        others().open_emulated(url, addresses(1), plant, 1)
    assert plant.calls == []


def test_emulated_servos_are_checked_before_one_of_them_is_powered_up():
    plant = StillPlant(2, KIND.model.tick_deg)
    for servos in (addresses(1, 1), addresses(1, 254), [ServoAddress(1, "a", "STS3215")], []):
        with pytest.raises(BusError):
            others().emulator("emulated:others", servos, plant, 1)
    assert plant.calls == []


def test_a_timeout_that_was_not_given_allows_for_what_the_port_holds_back(installed):
    def timeout(url):
        emulator = others().emulator("emulated:others", addresses(1), StillPlant(1, KIND.model.tick_deg), 1)
        emulator.unplug(0)
        bus = bus_on_port(parse_line(url), InProcessPort(emulator, 1_000_000), addresses(1))
        bus.start(0, [-1])
        return bus.run_until(10**12)

    plain = timeout("others:///dev/x")
    assert timeout("others:///dev/x?latency_ms=16") - plain == 15_000_000
    assert timeout("others:///dev/x?latency_ms=16&timeout_us=5000") == plain
    assert timeout("others:///dev/x?timeout_us=6000") - plain == 1_000_000


@pytest.mark.parametrize("family", ["dynamixel", "feetech"])
def test_a_bus_on_a_port_and_an_ear_need_no_numpy(family):
    code = (
        "import sys; from drivers.factory import bus_on_port, find_family, parse_line; import drivers.serial.port;"
        "from drivers.servo import ServoAddress;"
        "P = type('P', (drivers.serial.port.SerialPort,), {'hold_ns': 0, 'late_ns': 0});"
        f"bus_on_port(parse_line('{family}:///dev/x'), P.__new__(P), [ServoAddress(1, 'a')]);"
        f"find_family('{family}').sniffer();"
        "print(*[name for name in ('numpy', 'importlib.metadata', 'asyncio') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert done.stdout.split() == []
