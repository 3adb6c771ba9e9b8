"""Single exchanges at the bench: whose answer is taken, and what counts where answers are lost."""

from itertools import pairwise

import pytest
from framed_rig import FAMILIES, both
from framed_servos import MS, dynamixel, feetech

from drivers.clock import VirtualPace
from drivers.dynamixel.family import FAMILY as DYNAMIXEL
from drivers.errors import BusError
from drivers.feetech.family import FAMILY as FEETECH
from drivers.framed.bench.blocking import EEPROM_TIMEOUT_NS, TRIES, BlockingLine
from drivers.port import NEVER


class Scripted:
    """Answers each write with the next bytes of a list, 1 ms later; a list that is over is silence."""

    def __init__(self, *replies):
        self.replies, self.written = list(replies), []
        self.due_ns, self.coming = NEVER, b""

    def write(self, data, now_ns):
        self.written.append((now_ns, data))
        self.coming = self.replies.pop(0) if self.replies else b""
        self.due_ns = now_ns + MS if self.coming else NEVER

    def read(self, now_ns):
        if now_ns < self.due_ns:
            return b""
        self.due_ns = NEVER
        return self.coming

    def flush_input(self, now_ns):
        return len(self.read(now_ns))

    def ready_ns(self, expected):
        return self.due_ns

    def filenos(self):
        return ()


def line_of(family, *replies):
    layout = FAMILIES[family][0]
    port = Scripted(*(b"".join(layout.dialect.status(*status) for status in reply) for reply in replies))
    return BlockingLine(port, VirtualPace(), layout), port, layout.register("torque_enable")


@both
def test_the_answer_of_another_servo_is_passed_over(family):
    line, port, torque = line_of(family, [(2, 0, b"\x01"), (1, 0, b"\x00")])
    assert line.read(1, torque) == 0
    assert len(port.written) == 1
    line, port, torque = line_of(family, [(2, 0, b"\x01")])
    assert line.read(1, torque) is None
    assert len(port.written) == TRIES


@both
def test_an_answer_without_a_value_is_remembered_over_silence_and_one_with_it_counts_more(family):
    line, port, torque = line_of(family, [(1, 4, b"")], [], [])
    assert line.ask(1, torque).error == 4
    assert len(port.written) == TRIES
    line, port, torque = line_of(family, [(1, 4, b"")], [], [(1, 0, b"\x01")])
    assert line.read(1, torque) == 1
    line, port, torque = line_of(family, [(1, 4, b"")])
    assert line.read(1, torque) is None


@both
def test_after_silence_as_long_again_is_waited_before_anything_is_asked(family):
    line, port, torque = line_of(family)
    assert line.ask(1, torque) is None
    times = [at_ns for at_ns, _ in port.written]
    assert [later - earlier for earlier, later in pairwise(times)] == [2 * EEPROM_TIMEOUT_NS] * (TRIES - 1)


@both
def test_a_register_that_stays_as_it_is_is_said_and_one_that_takes_late_is_not(family):
    reads = [[(1, 0, b"")], [(1, 0, b"\x01")]]
    line, port, torque = line_of(family, *reads * TRIES)
    with pytest.raises(BusError, match="torque_enable of the servo with id 1 stays 1 where 0 was written"):
        line.settle(1, torque, 0)
    assert len(port.written) == 2 * TRIES
    line, port, torque = line_of(family, *reads, [], [(1, 0, b"\x00")])
    line.settle(1, torque, 0)
    assert len(port.written) == 4


@pytest.mark.parametrize(("family", "build", "name"), [(DYNAMIXEL, dynamixel, "shutdown"),
                                                        (FEETECH, feetech, "unload_mask")])  # fmt: skip
def test_a_protection_that_is_off_already_is_missed_all_the_same(family, build, name):
    host = build(1)
    pace = VirtualPace()
    settings = family.settings(host.port, pace, {}, 1, model="", assumed=False)
    delivered = host.emulator.servos[0].memory[name]
    assert "no protection any more from" in settings.weakens(name, 0, 0)
    assert settings.weakens(name, delivered, 0) == ""
