"""What a watch over servos asks for is kept while they are the same, and is that of those that are there."""

from dataclasses import replace
from itertools import combinations, pairwise

import pytest

from drivers.dynamixel.layout import LAYOUT as DYNAMIXEL
from drivers.feetech.layout import LAYOUT as FEETECH
from drivers.framed.arming import Arming
from drivers.framed.servos import BusServo
from drivers.framed.setup import Setup
from drivers.servo import ServoAddress

SETUP = Setup((0, 4095), 800, 1000, 885)
LAYOUTS = pytest.mark.parametrize("layout", [DYNAMIXEL, FEETECH], ids=["dxl", "sts"])


def slots_of(layout, *kinds):
    return [BusServo(k, k + 1, ServoAddress(k + 1, f"m{k}"), kind, setup=SETUP) for k, kind in enumerate(kinds)]


def arming(layout, level=2):
    return Arming(layout, level=level, watchdog_ns=0)


def asked(spans):
    """Bytes that are read, and what each servo should hold there."""
    return [
        (span.first, span.end, [(r.name, [(s.number, v) for s, v in told]) for r, told in span.told]) for span in spans
    ]


@LAYOUTS
def test_what_is_asked_for_again_and_again_is_worked_out_once(layout):
    own, slots = arming(layout), slots_of(layout, *[layout.first] * 2)
    first = own.spans(slots)
    assert own.spans(list(slots)) is first


@pytest.mark.parametrize(
    ("one", "other"),
    [pair for pair in combinations(DYNAMIXEL.kinds.values(), 2) if pair[0].cap != pair[1].cap],
    ids=lambda kind: kind.model.name,
)
def test_a_servo_of_another_model_in_its_place_is_asked_for_what_it_has(one, other):
    """It may be set up like the one before; where nobody has named a model, whatever is there is driven."""
    own, slots = arming(DYNAMIXEL), slots_of(DYNAMIXEL, one)
    before = asked(own.spans(slots))
    slots[0].kind = other
    after = asked(own.spans(slots))
    assert after == asked(arming(DYNAMIXEL).spans(slots)) != before


@LAYOUTS
def test_another_setup_level_or_servo_is_asked_for_what_it_was_told(layout):
    own, slots = arming(layout), slots_of(layout, *[layout.first] * 2)
    seen = [asked(own.spans(some)) for some in (slots[:1], slots[1:], slots)]
    slots[1].setup = replace(SETUP, cap_most=7)
    seen.append(asked(own.spans(slots)))
    own.level = 4
    seen.append(asked(own.spans(slots)))
    seen.append(asked(own.spans(slots[1:])))
    assert seen[-1] == asked(arming(layout, 4).spans(slots[1:]))
    assert all(before != after for before, after in pairwise(seen))
