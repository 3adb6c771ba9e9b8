"""Ids and rates of servos with registers, stored and looked at."""

import pytest
from framed_servos import dynamixel, feetech

from drivers.clock import VirtualPace
from drivers.dynamixel.emulator import ACCESS, DynamixelServo
from drivers.dynamixel.family import FAMILY as DYNAMIXEL
from drivers.dynamixel.table import XM430_W350
from drivers.errors import BusError
from drivers.feetech.family import FAMILY as FEETECH
from drivers.feetech.table import STS3215
from drivers.framed.emulation.memory import RegisterMemory
from drivers.injection import LineFaults

BOTH = pytest.mark.parametrize(
    ("family", "build", "table"), [(DYNAMIXEL, dynamixel, XM430_W350), (FEETECH, feetech, STS3215)], ids=["dxl", "sts"]
)


def pace_of(host):
    pace = VirtualPace()
    pace.now_ns = host.now_ns
    return pace


def burn(call, host, *args):
    pace = pace_of(host)
    try:
        call(host.port, pace, *args)
    finally:
        host.now_ns = pace.now_ns + 1_000_000


@BOTH
def test_an_id_is_burnt_in_and_lasts(family, build, table):
    host = build(1, 2)
    host.write(1, table["torque_enable"], 1)
    burn(family.write_id, host, 1, 9)
    assert host.ping(1) == []
    assert host.plant.taken()[-1] == ("release", 0)
    host.emulator.supply(on=False)
    host.emulator.supply(on=True)
    assert len(host.ping(9)) == len(host.ping(2)) == 1
    if "eprom_lock" in table:
        assert host.read(9, table["eprom_lock"]) == 1


@BOTH
def test_an_id_that_is_taken_is_not_burnt_in(family, build, table):
    host = build(1, 2)
    for new_id in (1, 2):
        with pytest.raises(BusError, match="taken"):
            burn(family.write_id, host, 1, new_id)
    with pytest.raises(BusError, match="nobody"):
        burn(family.write_id, host, 7, 8)
    with pytest.raises(BusError, match="expected"):
        burn(family.write_id, host, 1, 255)
    assert len(host.ping(1)) == len(host.ping(2)) == 1


@BOTH
def test_of_two_with_one_id_both_are_renamed_and_that_is_seen(family, build, table):
    host = build(1, 2)
    host.emulator.answer_as(1, 1)
    burn(family.write_id, host, 1, 9)
    # Both answer as one to everything here: nothing on the wire tells that there are two.
    assert len(host.ping(9)) == 1


@BOTH
def test_one_that_keeps_its_id_is_told_on(family, build, table, monkeypatch):
    host = build(1)
    keep = RegisterMemory.__setitem__
    monkeypatch.setattr(
        RegisterMemory, "__setitem__", lambda self, name, value: name == "id" or keep(self, name, value)
    )
    with pytest.raises(BusError, match="does not answer to 9"):
        burn(family.write_id, host, 1, 9)


@BOTH
def test_a_rate_is_burnt_in_and_lasts(family, build, table):
    host = build(1, 2)
    burn(family.write_baud, host, 1, 115_200)
    assert host.ping(1) == []
    assert len(host.ping(2)) == 1
    host.emulator.supply(on=False)
    host.emulator.supply(on=True)
    assert host.ping(1) == []
    with pytest.raises(BusError, match="already"):
        burn(family.write_baud, host, 2, 1_000_000)
    with pytest.raises(BusError, match="115200"):
        burn(family.write_baud, host, 2, 12_345)
    assert len(host.ping(2)) == 1


@BOTH
def test_a_line_that_loses_some_is_got_through(family, build, table):
    import numpy as np

    host = build(1, rng=np.random.default_rng(3))
    host.emulator.set_faults(LineFaults(drop=0.1))
    burn(family.write_id, host, 1, 30)
    host.emulator.set_faults(LineFaults())
    assert len(host.ping(30)) == 1


def test_a_servo_of_another_kind_is_left_alone():
    host = dynamixel(1)
    host.emulator.servos[0].memory["model_number"] = 4711
    with pytest.raises(BusError, match="4711"):
        burn(DYNAMIXEL.write_id, host, 1, 5)
    assert len(host.ping(1)) == 1


def test_a_rate_the_model_does_not_have_is_refused():
    host = dynamixel(1, model="XL330-M288")
    with pytest.raises(BusError, match="4000000"):
        burn(DYNAMIXEL.write_baud, host, 1, 4_500_000)


def test_a_refusal_is_said(monkeypatch):
    write = DynamixelServo.write
    monkeypatch.setattr(
        DynamixelServo, "write", lambda self, at, data, now: ACCESS if at == 7 else write(self, at, data, now)
    )
    with pytest.raises(BusError, match="refuses id = 5: the register can not be written now"):
        burn(DYNAMIXEL.write_id, dynamixel(1), 1, 5)
