"""Motors and buses, ports that go away, and emulated buses as processes."""

from __future__ import annotations

import itertools
import os
from dataclasses import replace
from pathlib import Path

import pytest

from drivers.aimotor.codec import Op, RequestParser
from drivers.errors import BusUrlError, PortError
from drivers.factory import parse_line
from drivers.servo import ServoAddress
from nuc_engine.bout.run import prepare_bout
from nuc_engine.daemon.emulated import emulator_args, line_url
from nuc_engine.daemon.lines import assign_motors, open_lines, release_burst_of, servos_of
from nuc_engine.daemon.ports import BusPort


@pytest.fixture(scope="module")
def plan():
    return prepare_bout("lin_roach", None).plan


@pytest.fixture
def pty(tmp_path):
    """A pseudo-terminal with a name; closed at the end, unless the test does it."""
    master, slave = os.openpty()
    link = tmp_path / "bus"
    link.symlink_to(os.ttyname(slave))
    ends = [master, slave]
    yield link, ends
    for end in ends:
        os.close(end)


def on_buses(plan, *names):
    motors = tuple(replace(motor, bus=name) for motor, name in zip(plan.motors, names, strict=True))
    return replace(plan, motors=motors)


def test_the_only_bus_has_all_motors(plan):
    assert assign_motors([""], plan) == ((0, 1, 2, 3),)
    assert assign_motors([""], on_buses(plan, "a", "b", "a", "b")) == ((0, 1, 2, 3),)


def test_motors_name_their_bus(plan):
    assert assign_motors(["b", "a"], on_buses(plan, "a", "b", "a", "a")) == ((1,), (0, 2, 3))


@pytest.mark.parametrize(
    ("names", "motors", "text"),
    [
        (["a", "b"], ("a", "b", "", "a"), "names no bus by name"),
        (["a", "b"], ("a", "b", "c", "a"), "names bus 'c'"),
        (["a", "b"], ("a", "a", "a", "a"), "no motor of"),
    ],
)
def test_a_motor_without_a_bus_and_a_bus_without_a_motor_are_refused(plan, names, motors, text):
    with pytest.raises(BusUrlError, match=text):
        assign_motors(names, on_buses(plan, *motors))


def test_the_volley_takes_the_torque_off_every_servo_and_nothing_else(plan):
    servos = (*servos_of(plan, (0, 1, 2, 3)), ServoAddress(17, "x"), ServoAddress(30, "y"))
    volley, behind_ns = release_burst_of(parse_line("aimotor:///dev/x"), servos)
    requests = [request for _, request in RequestParser().feed(volley)]
    assert [(request.op, request.bus_id) for request in requests] == [(Op.PASSIVE, s.bus_id) for s in servos]
    assert (len(volley), behind_ns) == (4 * len(servos), 0)


def test_a_port_is_found_again_under_its_name(pty):
    link, _ends = pty
    port = BusPort("", f"aimotor://{link}")
    port.open()
    assert port.line.fd >= 0
    assert "no latency timer" in port.remark
    port.close()
    port.close()
    assert port.line.fd == -1
    target = os.readlink(link)
    link.unlink()
    assert not port.try_open()
    assert port.trouble == ""
    link.symlink_to(target)
    assert port.try_open()
    assert port.is_open
    port.close()


def test_a_link_that_was_left_behind_is_nobody(pty):
    link, _ = pty
    port = BusPort("", f"aimotor://{link}")
    port.open()
    port.close()
    # Its emulator is dead, and the terminal's number may have gone to somebody else.
    assert not port.try_open()
    target = os.readlink(link)
    link.with_suffix(".new").symlink_to(target)
    link.with_suffix(".new").replace(link)
    assert port.try_open()
    port.close()


def test_a_port_that_is_there_and_cannot_be_opened_says_why(pty):
    link, _ = pty
    link.unlink()
    link.write_text("no terminal")
    port = BusPort("", f"aimotor://{link}")
    assert not port.try_open()
    assert "serial port" in port.trouble
    with pytest.raises(PortError):
        port.open()


def test_a_line_whose_port_is_gone_is_made_all_the_same(plan, pty):
    link, ends = pty
    port = BusPort("", f"aimotor://{link}")
    port.open()
    while ends:
        os.close(ends.pop())
    (line,) = open_lines([port.line], plan)
    with pytest.raises(PortError):
        line.port.write(line.release_burst, 0)
    port.close()


def test_a_port_says_when_its_device_has_hung_up(pty):
    link, ends = pty
    port = BusPort("", f"aimotor://{link}")
    assert not port.hung_up
    port.open()
    os.close(ends.pop())
    assert not port.hung_up
    os.close(ends.pop())
    assert port.hung_up
    port.close()
    assert not port.hung_up


def test_options_of_an_emulated_bus_go_where_they_belong():
    url = "emulated:aimotor?baud=115200&timeout_us=9000&turnaround_us=100&drop=0.01"
    assert line_url(url, Path("/run/x/bus")) == "aimotor:///run/x/bus?baud=115200&timeout_us=9000"
    words = emulator_args(url, "lin_roach", Path("/run/x/bus"), 7)
    assert words[:2] == ["emulate", "lin_roach"]
    pairs = list(itertools.pairwise(words))
    assert ("--seed", "7") in pairs
    options = [word for name, word in pairs if name == "--option"]
    assert options == ["baud=115200", "timeout_us=9000", "turnaround_us=100", "drop=0.01"]


def test_an_emulated_bus_of_another_family_is_one_on_both_ends():
    url = "emulated:dynamixel?baud=1000000&latency_ms=16&echo=1&flip=0.1"
    assert line_url(url, Path("/x")) == "dynamixel:///x?baud=1000000&latency_ms=16&echo=1"
    assert ("--family", "dynamixel") in itertools.pairwise(emulator_args(url, "leg", Path("/x"), 0))
    parse_line(line_url(url, Path("/dev/null")))


def test_of_several_emulated_buses_each_has_its_own_motors():
    words = emulator_args("emulated:", "lin_roach", Path("/run/x/left"), 7, "left")
    pairs = list(itertools.pairwise(words))
    assert ("--bus", "left") in pairs
    assert ("--plant", "loopback") in pairs, "half a leg has no physics"
    whole = emulator_args("emulated:", "lin_roach", Path("/run/x/bus"), 7)
    assert not {"--bus", "--plant"} & set(whole)


@pytest.mark.parametrize(
    ("url", "configuration", "text"),
    [
        ("emulated:", "", "which leg"),
        ("emulated:hands", "x", "unknown servo family"),
        ("emulated:?drop", "x", "expected a number"),
        ("emulated:?drip=1", "x", "did you mean .drop."),
        ("emulated:?echo=2", "x", "echo=2: expected 1"),
    ],
)
def test_an_emulated_bus_that_cannot_be_is_refused(url, configuration, text):
    with pytest.raises(BusUrlError, match=text):
        emulator_args(url, configuration, Path("/x"), 0)
