"""A line that is held up, on a terminal, with servos of each family: `tests.realtime.latelines` says what has to hold.

`python -m benchmarks.realtime held` plays three hundred sequences of each.
"""

from __future__ import annotations

import pytest

from tests.realtime.latelines import FAMILIES, JUDGED, HeldUp


@pytest.mark.parametrize("family", FAMILIES)
def test_a_line_that_is_held_up_sends_no_servo_where_another_was(family, stalls, tmp_path):
    held = HeldUp(tmp_path, family, stalls)
    try:
        held.play(JUDGED)
    finally:
        held.close()
