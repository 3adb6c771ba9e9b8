"""The maker's own client, dynamixel-sdk, drives emulated Dynamixels over a pty.

It knows nothing of this package: what it understands, the emulator says right.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Any

import pytest

from tests.realtime.patience import ATTEMPTS, insist, little
from tests.realtime.pty_servos import IDS, Servos

with warnings.catch_warnings():
    # It comes with invalid escapes and the like.
    warnings.simplefilter("ignore")
    import dynamixel_sdk

MODEL_NUMBERS = {"XL330-M288": 1200, "XL430-W250": 1060, "XM430-W350": 1020}


@pytest.fixture(scope="module", params=MODEL_NUMBERS)
def servos(request, tmp_path_factory) -> Iterator[Servos]:
    leg = Servos("dynamixel", request.param, tmp_path_factory.mktemp("dxl"), baud=1_000_000)
    yield leg
    leg.end()


@pytest.fixture(scope="module")
def port(servos: Servos) -> Iterator[Any]:
    port = dynamixel_sdk.PortHandler(str(servos.pty))
    assert port.openPort()
    assert port.setBaudRate(1_000_000)
    yield port
    port.closePort()


@pytest.fixture(scope="module")
def packets() -> Any:
    return dynamixel_sdk.PacketHandler(2.0)


def test_ping_tells_the_model(servos, port, packets) -> None:
    for bus_id in IDS:
        number, _, error = insist(lambda bus_id=bus_id: packets.ping(port, bus_id))
        assert (number, error) == (MODEL_NUMBERS[servos.model], 0)


def test_broadcast_ping_finds_everybody(servos, port, packets) -> None:
    for _ in range(ATTEMPTS):
        found, result = packets.broadcastPing(port)
        if result == 0 and len(found) == len(IDS):
            break
    assert sorted(found) == list(IDS)


def test_what_is_written_is_read_back(port, packets) -> None:
    # Goal PWM, position P gain, goal position: two and four bytes, RAM.
    insist(lambda: packets.write2ByteTxRx(port, 1, 84, 321))
    value, _, error = insist(lambda: packets.read2ByteTxRx(port, 1, 84))
    assert (value, error) == (321, 0)
    insist(lambda: packets.write1ByteTxRx(port, 1, 64, 1))
    insist(lambda: packets.write4ByteTxRx(port, 1, 116, 2100))
    value, _, error = insist(lambda: packets.read4ByteTxRx(port, 1, 116))
    assert (value, error) == (2100, 0)
    insist(lambda: packets.write1ByteTxRx(port, 1, 64, 0))


def test_what_may_not_be_written_is_refused(port, packets) -> None:
    insist(lambda: packets.write1ByteTxRx(port, 2, 64, 1))
    *_, error = insist(lambda: packets.write1ByteTxRx(port, 2, 11, 3))
    # Access error: the operating mode is in the EEPROM, which is closed under torque.
    assert error & 0x7F == 7
    insist(lambda: packets.write1ByteTxRx(port, 2, 64, 0))


def test_groups(port, packets) -> None:
    torque = dynamixel_sdk.GroupSyncWrite(port, packets, 64, 1)
    goals = dynamixel_sdk.GroupSyncWrite(port, packets, 116, 4)
    for bus_id in IDS:
        assert torque.addParam(bus_id, [1])
        assert goals.addParam(bus_id, little(2048 + 40 * bus_id, 4))
    assert torque.txPacket() == 0
    assert goals.txPacket() == 0
    for fast in (False, True):
        present = dynamixel_sdk.GroupSyncRead(port, packets, 132, 4)
        for bus_id in IDS:
            assert present.addParam(bus_id)
        read = present.fastSyncRead if fast else present.txRxPacket

        def arrived(read=read, present=present) -> int:
            result = read()
            if result:
                return result
            found = [present.getData(bus_id, 132, 4) for bus_id in IDS]
            return int(any(abs(at - 2048 - 40 * k) > 8 for k, at in zip(IDS, found, strict=True)))

        for _ in range(100):
            if arrived() == 0:
                break
        assert [abs(present.getData(k, 132, 4) - 2048 - 40 * k) <= 8 for k in IDS] == [True] * len(IDS)
    torque.clearParam()
    for bus_id in IDS:
        torque.addParam(bus_id, [0])
    assert torque.txPacket() == 0


def test_a_body_that_looks_like_a_header_arrives(port, packets) -> None:
    # The SDK sends it unstuffed, with length and CRC to match; a servo must not lose its place over it.
    value = int.from_bytes(b"\xff\xff\xfd\x00", "little")
    assert packets.write4ByteTxRx(port, 3, 116, value)[0] in (0, dynamixel_sdk.COMM_RX_TIMEOUT)
    number, _, error = insist(lambda: packets.ping(port, 3))
    assert number in MODEL_NUMBERS.values()
    assert error == 0


def test_reboot_forgets_what_is_kept_only_under_power(port, packets) -> None:
    insist(lambda: packets.write2ByteTxRx(port, 3, 84, 123))
    insist(lambda: packets.reboot(port, 3))
    value, *_ = insist(lambda: packets.read2ByteTxRx(port, 3, 84))
    assert value != 123
