"""What a wCK is set to, and what is tried with an AI motor where somebody asks for it."""

import numpy as np
import pytest
from emulated import ScriptedPlant
from settings_bench import Bench

from drivers.aimotor import codec
from drivers.aimotor.emulation.emulator import AiMotorEmulator
from drivers.errors import BusError
from drivers.injection import LineFaults
from drivers.inprocess import InProcessPort
from drivers.servo import ServoAddress

WCK_DELIVERED = {
    "position_p_gain": 10, "position_d_gain": 35, "speed": 30, "acceleration": 100, "overload_code": 80,
    "min_position": 0, "max_position": 254, "position_i_gain": 0, "outputs": 0, "analogue_input": 0, "motion_steps": 0,
}  # fmt: skip


def test_a_wck_says_its_parameters():
    settings = Bench().settings()
    assert settings.model == "wCK"
    assert {name: settings.read(name) for name in settings.settings} == WCK_DELIVERED
    assert settings.torque is None


@pytest.mark.parametrize("name", [n for n in WCK_DELIVERED if n not in ("analogue_input", "motion_steps")])
def test_a_wck_is_set_and_keeps_what_is_set_together(name):
    bench = Bench()
    settings = bench.settings()
    setting = settings.settings[name]
    for value in (setting.low, setting.high, (setting.low + setting.high) // 2):
        settings.write(name, value)
        assert {n: settings.read(n) for n in settings.settings} == WCK_DELIVERED | {name: value}
    bench.emulator.supply(on=False)
    bench.emulator.supply(on=True)
    assert settings.read(name) == (value if setting.kept else 0)
    for value in (setting.low - 1, setting.high + 1):
        with pytest.raises(BusError, match="expected"):
            settings.write(name, value)


def test_a_wcks_torque_is_off_before_it_is_set():
    bench = Bench()
    bench.port.write(codec.encode_position(3, 2, 200), 0)
    settings = bench.settings()
    settings.write("speed", 7)
    frames = bench.written
    off = frames.index(codec.encode_passive(3))
    assert all(frame[2] != 0x0D for frame in frames[:off] if len(frame) == codec.SET_BYTES)
    assert bench.plant.commands()[-1] == ("release", 0)


def test_a_wck_that_does_not_confirm_its_torque_off_is_not_set():
    class Deaf(AiMotorEmulator):
        __slots__ = ()

        def receive(self, data, now_ns):
            if data != codec.encode_passive(3):
                super().receive(data, now_ns)

    bench = Bench()
    bench.port = InProcessPort(Deaf([ServoAddress(3, "a", "wCK-1108")], ScriptedPlant(1)), 57_600)
    settings = bench.settings()
    with pytest.raises(BusError, match="does not confirm that its torque is off: nothing was written"):
        settings.write("speed", 7)
    assert settings.read("speed") == 30


def test_an_answer_that_is_not_about_the_torque_is_no_torque_off():
    """A torque-off that lost a bit was a send: it is answered with two bytes too, and the torque is on."""

    class Damaging(AiMotorEmulator):
        __slots__ = ("damaged", "set_under_torque", "torque")

        def receive(self, data, now_ns):
            if data == codec.encode_passive(3) and self.damaged:
                self.damaged -= 1
                self.torque = True
                self._deliver(b"\x2a\x80", now_ns + 2_000_000)
                return
            self.torque = self.torque and data != codec.encode_passive(3)
            self.set_under_torque |= self.torque and len(data) == codec.SET_BYTES and data[2] == 0x0D
            super().receive(data, now_ns)

    for damaged in (1, 2):
        bench = Bench()
        wire = Damaging([ServoAddress(3, "a", "wCK-1108")], ScriptedPlant(1))
        wire.damaged, wire.set_under_torque, wire.torque = damaged, False, True
        bench.port = InProcessPort(wire, 57_600)
        bench.settings().write("speed", 7)
        assert (wire.damaged, wire.torque, wire.set_under_torque) == (0, False, False)


def test_a_wck_is_not_set_after_somebody_wants_it_to_end():
    bench = Bench()
    settings = bench.settings()
    assert settings.write("speed", 7, lambda: True) is False
    assert settings.read("speed") == 30
    assert codec.encode_passive(3) in bench.written
    assert settings.write("speed", 7, lambda: False) is True


def test_what_protects_a_wck_less_is_said():
    settings = Bench().settings()
    assert "less protection from overload than with 80: 1." in settings.weakens("overload_code", 120, 80)
    assert settings.weakens("overload_code", 70, 80) == ""
    settings.write("max_position", 200)
    assert "min_position would be 201, max_position 200" in settings.weakens("min_position", 201, 0)
    assert settings.weakens("min_position", 200, 0) == ""
    assert "min_position would be 0, max_position -1" in settings.weakens("max_position", -1, 200)


def test_a_wck_that_says_it_obeys_and_does_not_is_found_out():
    class Liar(AiMotorEmulator):
        __slots__ = ()

        def receive(self, data, now_ns):
            if len(data) == codec.SET_BYTES and data[2] == 0x0D:
                self._deliver(data[3:5], now_ns + 2_000_000)
            else:
                super().receive(data, now_ns)

    bench = Bench()
    bench.port = InProcessPort(Liar([ServoAddress(3, "a", "wCK-1108")], ScriptedPlant(1)), 57_600)
    with pytest.raises(BusError, match="speed of id 3 does not become 7: it says speed 30, acceleration 100"):
        bench.settings().write("speed", 7)


def test_a_wck_on_a_line_that_loses_bytes_is_set_or_said_not_to_be():
    good = 0
    for seed in range(20):
        bench = Bench(fault_rng=np.random.default_rng(seed))
        settings = bench.settings()
        bench.emulator.set_faults(LineFaults(drop=0.03))
        try:
            settings.write("max_position", 180)
        except BusError:
            continue
        good += 1
        bench.emulator.set_faults(LineFaults())
        assert settings.read("max_position") == 180
        assert settings.read("min_position") == 0
    assert good >= 15


def test_nothing_is_sent_to_ai_motors_unless_somebody_wants_to_try():
    bench = Bench("1001")
    with pytest.raises(BusError, match="say --assumed"):
        bench.settings(wck=0.0)
    assert bench.written == []
    with pytest.raises(BusError, match="does not show to be a wCK"):
        bench.settings(wck=1.0)
    settings = bench.settings(wck=0.0, assumed=True)
    assert settings.read("resolution") is None
    with pytest.raises(BusError, match="nothing was written"):
        settings.write("position_p_gain", 20)
    commands = {frame[2] for frame in bench.written if len(frame) == codec.SET_BYTES}
    assert commands <= {0xC9, 0x0C, 0x0E}


def test_a_wck_is_never_told_what_an_ai_motor_is_assumed_to_understand():
    bench = Bench("wCK-1111")
    with pytest.raises(BusError, match="say so with wck=1"):
        bench.settings(wck=0.0, assumed=True)
    assert all(frame[2] == 0xC9 for frame in bench.written if len(frame) == codec.SET_BYTES)


def test_gains_of_an_ai_motor_are_read_by_a_request_that_renames_no_wck():
    settings = Bench("1001")
    tried = settings.settings(wck=0.0, assumed=True)
    tried.read("position_p_gain")
    (frame,) = {frame for frame in settings.written if frame[2:3] == b"\x0c"}
    assert frame[3:5] == b"\x03\x03"


def test_an_ai_motor_that_has_the_assumed_commands_is_set_by_them():
    class Like(AiMotorEmulator):
        """Answers as the AI motor is assumed to."""

        __slots__ = ("kept",)

        def receive(self, data, now_ns):
            if len(data) != codec.SET_BYTES or data[2] == 0xC9:
                super().receive(data, now_ns)
                return
            if data[2] in (0x09, 0x0F, 0x11):
                self.kept[data[2]] = data[3:5]
            reads = {0x0C: 0x09, 0x10: 0x0F, 0x12: 0x11, 0x0E: 0x0E}
            self._deliver(self.kept[reads.get(data[2], data[2])], now_ns + 2_000_000)

    bench = Bench("1001")
    like = Like([ServoAddress(3, "a", "1001")], ScriptedPlant(1))
    like.kept = {0x09: b"\x0a\x23", 0x0F: b"\x50\x50", 0x11: b"\x00\xfe", 0x0E: b"\x01\x01"}
    bench.port = InProcessPort(like, 57_600)
    settings = bench.settings(wck=0.0, assumed=True)
    assert settings.read("resolution") == 1
    settings.write("position_d_gain", 50)
    settings.write("min_position", 10)
    settings.write("overload_code", 92)
    assert like.kept == {0x09: b"\x0a\x32", 0x0F: b"\x5c\x5c", 0x11: b"\x0a\xfe", 0x0E: b"\x01\x01"}
