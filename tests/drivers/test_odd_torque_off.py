"""AI motors that answer a torque-off with load and position, as they answer everything else, can be let go of.

Only the second byte of that answer is established. The real motor action wants two confirmations in a row.
"""

from dataclasses import replace

import pytest
from tampering import COUNT, Line, Loop, Tamper

from drivers.aimotor import codec
from drivers.aimotor.readings import AiMotorReadings
from drivers.servo import ReplyStatus
from nuc_engine.control.tasks.board import Drive
from nuc_engine.control.tasks.motor_action import CONFIRMATIONS

OK, IMPLAUSIBLE, UNSURE = int(ReplyStatus.OK), int(ReplyStatus.IMPLAUSIBLE), int(ReplyStatus.UNSURE)
ODD_ONES = 3
FIRST_BYTE_FLIPPED = Tamper(flip=0)


class Loaded(Line):
    """Servos that put their load where others repeat the position."""

    def answer(self, request, tamper, start_ns):
        if request.op is codec.Op.PASSIVE:
            request = replace(request, op=codec.Op.POSITION_READ)
        super().answer(request, tamper, start_ns)


def limp(loop, cycles, tampers=()):
    """Let go for so many cycles; return what each said of the first servo, and whether it counted as limp."""
    loop.board.drives = [Drive.LIMP] * COUNT
    seen = []
    for _ in range(cycles):
        loop.cycle(tampers)
        seen.append((loop.bus.status[0], loop.board.limp[0]))
    return seen


@pytest.mark.parametrize("form", [{}, {"sync": True}])
def test_servos_that_always_answer_oddly_are_let_go_of_with_the_fifth_torque_off(form):
    loop = Loop(line_class=Loaded, **form)
    seen = limp(loop, ODD_ONES + CONFIRMATIONS + 1)
    # Two are refused, and the one after them has to be borne out.
    first_limp = ODD_ONES + CONFIRMATIONS - 1
    assert [state for _, state in seen] == [k >= first_limp for k in range(len(seen))]
    assert [status for status, _ in seen[:first_limp]] == [IMPLAUSIBLE] * (ODD_ONES - 1) + [UNSURE, OK]
    assert loop.board.limp == [True] * COUNT


def test_they_are_let_go_of_again_after_they_were_driven():
    loop = Loop(line_class=Loaded)
    limp(loop, 6)
    loop.board.drives = [Drive.MUSCLE] * COUNT
    for _ in range(5):
        loop.cycle()
    assert loop.board.limp == [False] * COUNT
    assert [state for _, state in limp(loop, CONFIRMATIONS)] == [False, True]


@pytest.mark.parametrize("odd_ones", range(1, 7))
def test_an_odd_answer_of_a_servo_that_answers_as_expected_is_not_believed(odd_ones):
    """However it came to be believed before: one good answer ends the trust."""
    readings = AiMotorReadings(1, 1000.0)
    for _ in range(odd_ones):
        readings.confirms_passive(0, looks_right=False)
    assert readings.confirms_passive(0, looks_right=True)
    assert [readings.confirms_passive(0, looks_right=False) for _ in range(5)] == [False, False, True, True, True]


def test_one_spoilt_answer_of_a_usual_servo_is_asked_for_again():
    loop = Loop()
    assert [state for _, state in limp(loop, 1, [FIRST_BYTE_FLIPPED])] == [False]
    assert loop.bus.status[0] == IMPLAUSIBLE
    assert [state for _, state in limp(loop, CONFIRMATIONS + 1)] == [False, False, True]


def test_an_impossible_position_is_no_confirmation_however_odd_the_servo():
    loop = Loop(line_class=Loaded)
    limp(loop, 6)
    loop.board.limp = [False] * COUNT
    far = Tamper(flip=15)
    loop.cycle([far])
    assert loop.bus.status[0] == IMPLAUSIBLE
    assert not loop.board.limp[0]
