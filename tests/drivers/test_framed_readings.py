"""What is believed of the readings of servos with registers, to the tick."""

import pytest
from framed_servos import MS

from drivers.framed.readings import DOUBT_NS, FramedReadings
from drivers.servo import ReplyStatus

OK, IMPLAUSIBLE = ReplyStatus.OK, ReplyStatus.IMPLAUSIBLE
TICKS_PER_S = 1e9
AGE_NS = 5 * MS
# A tick of rounding, and one for each ns (so that no rounding of the rate blurs it): of the age, and of what the stamps
# do not tell.
REACH = 1 + AGE_NS + DOUBT_NS
BEGIN, FAR = 10 * REACH, 20 * REACH


@pytest.fixture
def readings():
    """One servo, seen a while ago."""
    made = FramedReadings(1, TICKS_PER_S)
    made.take(0, BEGIN, 0, 0, alarm=False)
    return made


@pytest.mark.parametrize("side", [-1, 1])
def test_the_farthest_a_shaft_can_have_gone_is_believed_and_no_tick_more(readings, side):
    there = BEGIN + side * REACH
    readings.take(0, there, 7, AGE_NS, alarm=False)
    assert (readings.position_raw, readings.current_raw, readings.status) == ([there], [7], [OK])
    readings.take(0, BEGIN - side, 8, 2 * AGE_NS, alarm=False)
    assert (readings.position_raw, readings.current_raw, readings.status) == ([there], [7], [IMPLAUSIBLE])
    assert (readings.misses, readings.implausible) == ([1], 1)


@pytest.mark.parametrize(("further", "believed"), [(REACH, True), (REACH + 1, False)])
def test_a_second_reading_confirms_the_first_within_the_same(readings, further, believed):
    readings.take(0, FAR, 7, AGE_NS, alarm=False)
    readings.take(0, FAR + further, 8, 2 * AGE_NS, alarm=False)
    assert (readings.position_raw == [FAR + further]) is believed
    assert readings.status == [OK if believed else IMPLAUSIBLE]


def test_an_alarm_is_believed_and_not_well(readings):
    readings.take(0, BEGIN + 1, 7, AGE_NS, alarm=True)
    assert (readings.position_raw, readings.status, readings.misses) == ([BEGIN + 1], [IMPLAUSIBLE], [1])
