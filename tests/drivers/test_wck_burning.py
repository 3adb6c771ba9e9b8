"""Ids and rates stored in wCKs, and what is not written to."""

import numpy as np
import pytest
from emulated import ScriptedPlant

from drivers.aimotor import FAMILY, codec
from drivers.aimotor.emulation.emulator import AiMotorEmulator
from drivers.aimotor.table import ID_SET
from drivers.clock import VirtualPace
from drivers.errors import BusError, FrameError
from drivers.injection import FaultLayer, LineFaults
from drivers.inprocess import InProcessPort
from drivers.servo import ServoAddress


class Tapped(InProcessPort):
    """A port that keeps what was written."""

    def __init__(self, end, baud):
        super().__init__(end, baud)
        self.written = []

    def write(self, data, now_ns):
        self.written.append(data)
        super().write(data, now_ns)

    def set_frames(self):
        return [data for data in self.written if len(data) == codec.SET_BYTES and data[2] != 0xC9]


class Bench:
    def __init__(self, *ids, model="wCK-1108", **options):
        servos = [ServoAddress(bus_id, f"id {bus_id}", model) for bus_id in ids]
        self.emulator = AiMotorEmulator(servos, ScriptedPlant(len(ids)), **options)
        self.port = Tapped(self.emulator, self.emulator.baud)
        self.pace = VirtualPace()

    def there(self, bus_id, port=None):
        port = port or self.port
        port.write(codec.encode_read(bus_id), self.pace.now_ns)
        self.pace.wait(self.pace.now_ns + 10_000_000, ())
        return len(port.read(self.pace.now_ns)) == 2

    def write_id(self, bus_id, new_id):
        FAMILY.write_id(self.port, self.pace, bus_id, new_id)

    def write_baud(self, bus_id, baud):
        FAMILY.write_baud(self.port, self.pace, bus_id, baud)


def test_an_id_is_burnt_in_and_verified():
    bench = Bench(0, 5)
    bench.write_id(5, 9)
    assert [bench.there(bus_id) for bus_id in (0, 5, 9)] == [True, False, True]
    assert bench.port.set_frames() == [bytes.fromhex("FF E5 0C 09 09 69")]
    assert bench.port.filenos() == ()


def test_a_rate_is_burnt_in_and_the_servo_is_found_at_it():
    bench = Bench(3)
    bench.write_baud(3, 115_200)
    assert bench.port.set_frames() == [bytes.fromhex("FF E3 08 07 07 6B")]
    assert not bench.there(3)
    bench.emulator.baud = 115_200
    assert bench.there(3, InProcessPort(bench.emulator, 115_200))


@pytest.mark.parametrize("model", ["701", "1001", ""])
def test_nothing_is_written_to_an_ai_motor(model):
    bench = Bench(0, model=model)
    for burn in (lambda: bench.write_id(0, 4), lambda: bench.write_baud(0, 115_200)):
        with pytest.raises(BusError, match=r"not established.*0A probably sets the id.*nothing was written"):
            burn()
    assert bench.port.set_frames() == []
    assert bench.there(0)


def test_two_bytes_that_are_no_ten_bit_position_are_no_wck():
    class Parrot:
        """Answers everything with the same two bytes, which could be a ten-bit position, but another one."""

        def connect(self, line):
            self.line = line

        def receive(self, data, now_ns):
            self.line.deliver(b"\x01\x64", now_ns + 1_000_000)

    port = Tapped(Parrot(), 57_600)
    with pytest.raises(BusError, match="does not show to be a wCK"):
        FAMILY.write_id(port, VirtualPace(), 0, 1)
    assert port.set_frames() == []


def test_who_is_not_there_is_not_written_to():
    bench = Bench(0)
    for burn in (lambda: bench.write_id(4, 5), lambda: bench.write_baud(4, 115_200)):
        with pytest.raises(BusError, match="id 4 does not answer"):
            burn()
    assert bench.port.set_frames() == []


@pytest.mark.parametrize("new_id", [-1, 31, 254])
def test_ids_out_of_range_are_refused(new_id):
    bench = Bench(0)
    with pytest.raises(FrameError, match="expected 0 to 30"):
        bench.write_id(0, new_id)
    assert bench.port.written == []


def test_the_same_id_and_a_rate_that_is_none_are_refused():
    bench = Bench(0)
    with pytest.raises(BusError, match="expected another id"):
        bench.write_id(0, 0)
    with pytest.raises(FrameError, match="has no code"):
        bench.write_baud(0, 1_000_000)
    assert bench.port.written == []


class Deaf(AiMotorEmulator):
    """Servos that answer set commands and do not obey them, or say something else; or there are two of them."""

    __slots__ = ("answer", "obeys")

    def receive(self, data, now_ns):
        if len(data) == codec.SET_BYTES and data[2] in (ID_SET, 0x08) and not self.obeys:
            if self.answer:
                self._deliver(self.answer, now_ns + 2_000_000)
            return
        super().receive(data, now_ns)


def deaf(answer):
    bench = Bench(0)
    bench.emulator = Deaf([ServoAddress(0, "a", "wCK-1108")], ScriptedPlant(1))
    bench.emulator.answer, bench.emulator.obeys = answer, False
    bench.port = Tapped(bench.emulator, bench.emulator.baud)
    return bench


@pytest.mark.parametrize("answer", [b"", b"\x04\x04"])
def test_a_servo_that_does_not_do_it_is_found_out_whatever_it_says(answer):
    with pytest.raises(BusError, match="still answers to the old one"):
        deaf(answer).write_id(0, 4)


@pytest.mark.parametrize("answer", [b"", b"\x07\x07"])
def test_a_servo_that_keeps_its_rate_is_found_out(answer):
    with pytest.raises(BusError, match="still answers at the old rate"):
        deaf(answer).write_baud(0, 115_200)


def test_a_servo_that_says_something_else_was_set_is_believed():
    with pytest.raises(BusError, match="set to 4 and 4, but the servo answered 5 and 5"):
        deaf(b"\x05\x05").write_id(0, 4)


def test_a_servo_that_is_gone_afterwards_is_missed():
    bench = Bench(0)
    bench.emulator = Deaf([ServoAddress(0, "a", "wCK-1108")], ScriptedPlant(1))
    bench.emulator.answer, bench.emulator.obeys = b"", False
    receive = bench.emulator.receive

    class Dying:
        connect = bench.emulator.connect

        def receive(self, data, now_ns):
            receive(data, now_ns)
            if len(data) == codec.SET_BYTES and data[2] == ID_SET:
                bench.emulator.unplug(0)

    bench.port = Tapped(Dying(), bench.emulator.baud)
    with pytest.raises(BusError, match="answers to neither"):
        bench.write_id(0, 4)


def test_two_servos_with_the_old_id_of_which_one_was_deaf():
    class Half(AiMotorEmulator):
        __slots__ = ()

        def receive(self, data, now_ns):
            if len(data) == codec.SET_BYTES and data[2] == ID_SET:
                # The second one does not hear this.
                self.unplug(1)
                super().receive(data, now_ns)
                self.plug(1)
            else:
                super().receive(data, now_ns)

    bench = Bench(0)
    servos = [ServoAddress(0, "a", "wCK-1108"), ServoAddress(0, "b", "wCK-1108")]
    bench.port = Tapped(Half(servos, ScriptedPlant(2)), 57_600)
    with pytest.raises(BusError, match="there may be two servos that had id 0"):
        bench.write_id(0, 4)


def test_a_line_that_loses_some_is_asked_again_but_told_once():
    faults = FaultLayer(LineFaults(drop=0.2), np.random.default_rng(4))
    good = 0
    for _ in range(20):
        bench = Bench(0, faults=faults)
        try:
            bench.write_id(0, 4)
        except BusError:
            pass
        else:
            good += 1
            assert bench.emulator._troubles.id_of(0) == 4
        assert len(bench.port.set_frames()) <= 1
    assert good >= 8
