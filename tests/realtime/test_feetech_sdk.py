"""The client on PyPI, feetech-servo-sdk, drives emulated STS servos over a pty.

It knows nothing of this package. Its protocol end 0 (little-endian) is that of the STS series.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Any

import pytest

from tests.realtime.patience import insist, little
from tests.realtime.pty_servos import IDS, Servos

with warnings.catch_warnings():
    # It comes with invalid escapes and the like.
    warnings.simplefilter("ignore")
    import scservo_sdk


@pytest.fixture(scope="module")
def servos(tmp_path_factory) -> Iterator[Servos]:
    leg = Servos("feetech", "STS3215", tmp_path_factory.mktemp("sts"), baud=1_000_000)
    yield leg
    leg.end()


@pytest.fixture(scope="module")
def port(servos: Servos) -> Iterator[Any]:
    port = scservo_sdk.PortHandler(str(servos.pty))
    assert port.openPort()
    assert port.setBaudRate(1_000_000)
    yield port
    port.closePort()


@pytest.fixture(scope="module")
def packets() -> Any:
    return scservo_sdk.PacketHandler(0)


def test_ping_tells_the_model(port, packets) -> None:
    for bus_id in IDS:
        number, _, error = insist(lambda bus_id=bus_id: packets.ping(port, bus_id))
        assert (number, error) == (777, 0)


def test_what_is_written_is_read_back(port, packets) -> None:
    insist(lambda: packets.write2ByteTxRx(port, 1, 46, 1000))
    value, _, error = insist(lambda: packets.read2ByteTxRx(port, 1, 46))
    assert (value, error) == (1000, 0)


def test_the_eprom_lock_decides_what_survives(servos, port, packets) -> None:
    insist(lambda: packets.write1ByteTxRx(port, 2, 55, 1))
    insist(lambda: packets.write1ByteTxRx(port, 2, 26, 9))
    insist(lambda: packets.write1ByteTxRx(port, 3, 55, 0))
    insist(lambda: packets.write1ByteTxRx(port, 3, 26, 9))
    servos.tell("brown_out", servo=2)
    servos.tell("brown_out", servo=3)
    assert insist(lambda: packets.read1ByteTxRx(port, 2, 26))[0] != 9
    assert insist(lambda: packets.read1ByteTxRx(port, 3, 26))[0] == 9


def test_groups(port, packets) -> None:
    goals = scservo_sdk.GroupSyncWrite(port, packets, 42, 2)
    torque = scservo_sdk.GroupSyncWrite(port, packets, 40, 1)
    for bus_id in IDS:
        assert goals.addParam(bus_id, little(2048 + 40 * bus_id, 2))
        assert torque.addParam(bus_id, [1])
    assert torque.txPacket() == 0
    assert goals.txPacket() == 0
    present = scservo_sdk.GroupSyncRead(port, packets, 56, 2)
    for bus_id in IDS:
        assert present.addParam(bus_id)
    for _ in range(200):
        if present.txRxPacket() == 0:
            found = [present.getData(bus_id, 56, 2) for bus_id in IDS]
            if all(abs(at - 2048 - 40 * k) <= 8 for k, at in zip(IDS, found, strict=True)):
                break
    else:
        raise AssertionError(f"not there: {found}")
    torque.clearParam()
    for bus_id in IDS:
        torque.addParam(bus_id, [0])
    assert torque.txPacket() == 0
