"""Emulated servos with registers: what can be done to them and to their line (here with STS servos)."""

import numpy as np
import pytest
from framed_servos import MS, SOON, feetech

from drivers.errors import BusError
from drivers.feetech.codec import DIALECT
from drivers.feetech.table import STS3215
from drivers.framed.emulation.emulator import DEFAULT_TURNAROUND_NS
from drivers.framed.packet import PING, READ
from drivers.injection import FaultLayer, LineFaults
from drivers.port import NEVER, wire_ns

POSITION, TORQUE, GOAL = (STS3215[name] for name in ("present_position", "torque_enable", "goal_position"))
READ_POSITION = DIALECT.instruction(1, READ, bytes((56, 2)))


def rng():
    return np.random.default_rng(7)


def test_two_servos_with_one_id_are_heard_on_top_of_each_other():
    host = feetech(1, 2)
    host.plant.put(0, ticks=0x0555)
    host.plant.put(1, ticks=0x0AAA)
    host.emulator.answer_as(1, 1)
    reply = host.send(READ_POSITION)
    assert reply[:4] == bytes((255, 255, 1, 4))
    assert reply[5:7] == b"\x00\x00"
    _, parser = None, DIALECT.parser(status=True)
    assert parser.feed(reply) == []
    assert parser.bad_checksums == 1
    assert host.ping(2) == []


def test_what_was_said_to_servos_off_the_line_is_not_heard():
    host = feetech(1)
    host.write(1, TORQUE, 1)
    host.emulator.unplug(0)
    assert host.ping(1) == []
    assert host.plant.taken()[-1] == ("release", 0)
    host.emulator.plug(0)
    assert host.read(1, TORQUE) == 0
    host.write(1, GOAL, 100)
    assert host.plant.taken()[-1] == ("release", 0)


def test_a_lost_supply_is_silence_and_what_is_kept_comes_back_limp():
    host = feetech(1, 2)
    host.write(1, TORQUE, 1)
    host.write(1, STS3215["acceleration"], 9)
    host.emulator.supply(on=False)
    host.plant.taken()
    assert host.ping(1) == host.ping(2) == []
    host.emulator.supply(on=True)
    assert host.read(1, TORQUE) == host.read(1, STS3215["acceleration"]) == 0
    assert set(host.plant.taken()) == {("release", 0), ("release", 1)}


def test_a_dip_of_the_supply_is_one_servos_alone():
    host = feetech(1, 2)
    host.sync_write(TORQUE, {1: 1, 2: 1})
    host.emulator.brown_out(0)
    assert host.sync_read((1, 2), TORQUE) == {1: 0, 2: 1}


def test_a_stuck_servo_says_the_same_for_ever_and_moves():
    host = feetech(1, 2)
    host.emulator.stick(0)
    for servo in (0, 1):
        host.plant.put(servo, ticks=1234)
    host.write(1, TORQUE, 1)
    assert host.sync_read((1, 2), POSITION) == {1: 1000, 2: 1234}
    assert host.plant.taken()[-1][0] == "drive"
    host.emulator.stick(0, stuck=False)
    assert host.read(1, POSITION) == 1234


def test_nobodys_answers_get_through_while_one_talks_and_requests_do():
    host = feetech(1, 2, rng=rng())
    host.emulator.babble(0)
    host.send(DIALECT.instruction(2, 0x03, b"\x28\x01"))
    assert host.plant.taken()[-1][:2] == ("drive", 1)
    assert host.emulator.collisions >= 1
    noise = host.send(READ_POSITION, SOON)
    assert len(noise) >= 500
    host.emulator.babble(0, talking=False)
    assert host.read(2, TORQUE) == 1


def test_noise_is_made_once_for_every_time():
    host = feetech(1, rng=rng())
    host.emulator.babble(0)
    host.emulator.chatter(0, MS)
    host.emulator.chatter(0, MS)
    assert len(host.port.read(2 * MS)) == 100
    host.emulator.unplug(0)
    host.emulator.chatter(5 * MS, 6 * MS)
    assert host.port.ready_ns(1) == NEVER


@pytest.mark.parametrize("call", [lambda e: e.babble(0), lambda e: e.set_faults(LineFaults(drop=1.0))])
def test_chance_needs_a_generator(call):
    with pytest.raises(BusError, match="generator"):
        call(feetech(1).emulator)
    with pytest.raises(BusError, match="generator"):
        feetech(1, jitter_ns=1)


@pytest.mark.parametrize("servo", [-1, 2])
@pytest.mark.parametrize("call", ["unplug", "plug", "brown_out", "stick", "trip", "babble"])
def test_there_is_no_such_servo(call, servo):
    with pytest.raises(BusError, match="0 to 1"):
        getattr(feetech(1, 2, rng=rng()).emulator, call)(servo)


def test_jitter_is_what_the_seed_makes_it():
    def starts(seed):
        host = feetech(1, jitter_ns=50_000, rng=np.random.default_rng(seed))
        found = []
        for _ in range(8):
            host.port.write(READ_POSITION, host.now_ns)
            found.append(host.port.ready_ns(8) - host.now_ns)
            host.now_ns += 10 * MS
            host.port.read(host.now_ns)
        return found

    least = 2 * wire_ns(8, 1_000_000) + DEFAULT_TURNAROUND_NS
    assert starts(1) == starts(1) != starts(2)
    assert all(least <= start <= least + 50_000 for start in starts(1))
    assert len(set(starts(1))) > 2


def test_faults_may_come_and_go():
    host = feetech(1, rng=rng())
    host.emulator.set_faults(LineFaults(drop=1.0))
    assert host.ping(1) == []
    host.emulator.set_faults(LineFaults(delay=1.0, delay_us=1000))
    host.port.write(DIALECT.instruction(1, PING), host.now_ns)
    least = wire_ns(12, 1_000_000) + DEFAULT_TURNAROUND_NS
    assert host.port.ready_ns(6) == host.now_ns + least + MS
    host.now_ns += 10 * MS
    host.port.read(host.now_ns)
    host.emulator.set_faults(LineFaults())
    assert len(host.ping(1)) == 1
    assert host.emulator.counts()["injected"]["drop"] == 1


def test_every_message_may_be_garbled():
    layer = FaultLayer(LineFaults(flip=1.0), rng())
    host = feetech(1, faults=layer)
    for _ in range(30):
        host.send(READ_POSITION)
    counts = host.emulator.counts()
    assert counts["bad_checksums"] + counts["stray_bytes"] > 0
    assert counts["injected"]["flip"] >= 30


def test_overload_by_hand_trips_who_is_read_too_long_above_the_limit():
    host = feetech(1)
    host.emulator.set_overload(1.0, 50 * MS)
    host.write(1, TORQUE, 1)
    host.plant.put(0, a=-1.2)
    host.read(1, POSITION)
    assert host.read(1, TORQUE) == 1
    host.plant.put(0, a=0.9)
    host.read(1, POSITION)
    host.plant.put(0, a=1.2)
    for _ in range(3):
        host.read(1, POSITION)
    assert host.read(1, TORQUE) == 1
    host.read(1, POSITION)
    assert host.read(1, TORQUE) == 0
    assert host.plant.taken()[-1] == ("release", 0)
    # What was too much has to be so for as long again.
    host.emulator.trip(0, tripped=False)
    host.write(1, TORQUE, 1)
    host.read(1, POSITION)
    assert host.read(1, TORQUE) == 1
    host.emulator.set_overload(None)
    host.write(1, TORQUE, 1)
    for _ in range(10):
        host.read(1, POSITION)
    assert host.read(1, TORQUE) == 1


def test_a_restart_ends_what_was_too_much_until_then():
    host = feetech(1)
    host.emulator.set_overload(1.0, 50 * MS)
    host.plant.put(0, a=1.2)
    host.read(1, POSITION)
    host.emulator.brown_out(0)
    host.write(1, TORQUE, 1)
    for _ in range(2):
        host.read(1, POSITION)
    assert host.read(1, TORQUE) == 1
    for _ in range(2):
        host.read(1, POSITION)
    assert host.read(1, TORQUE) == 0
