"""One delta held: which cycles count, when a shaft stood, how fast it turned. The cycles are made up."""

from __future__ import annotations

from dataclasses import replace
from statistics import pstdev

import pytest

from drivers.aimotor import FAMILY
from drivers.bench.motion import CycleReadings, Ending
from drivers.bench.torque import Hold, shows_torque, torque_of_load, torque_of_weight
from drivers.errors import BusError
from drivers.factory import find_family
from drivers.servo import ReplyStatus

MS = 1_000_000
MODEL = FAMILY.models["1001"]
OK, MISSED = int(ReplyStatus.OK), int(ReplyStatus.MISSED)


class Cycles:
    """Stands for a push that went like this."""

    def __init__(self, looks, ending=Ending.DONE):
        self._looks, self.ending = looks, ending

    def run(self, stop):
        yield from self._looks


def look(k, *, at=127, load=10, goal=140, status=OK):
    return CycleReadings(k * 10 * MS, (at,), (load,), (status,), (goal,))


def held(looks, *, ticks=13, model=MODEL, truth=None, ending=Ending.DONE):
    hold = Hold(Cycles(looks, ending), ticks, model, truth)
    assert list(hold.run(lambda: False)) == looks
    return hold.row()


def test_the_first_half_does_not_count():
    counts = iter([9.0] * 10 + [1.0] * 10)
    row = held([look(k, load=100 if k < 10 else 10 + k % 2) for k in range(20)], truth=lambda: next(counts))
    assert (row.ticks, row.samples, row.ending, row.true_n_m) == (13, 10, Ending.DONE, 1.0)
    assert row.torque_n_m == pytest.approx(10.5 * MODEL.load_n_m)
    assert row.spread_n_m == pytest.approx(pstdev([10, 11] * 5) * MODEL.load_n_m)


def test_lost_replies_and_goals_at_the_ends_of_the_scale_do_not_count():
    good = [look(k) for k in range(8)]
    odd = [look(8, load=200, status=MISSED), look(9, load=200, goal=0), look(10, load=200, goal=254)]
    asked = []
    row = held([*good, *odd, look(11)], truth=lambda: asked.append(1) or 0.25)
    assert (row.samples, len(asked)) == (5, 9)
    assert row.torque_n_m == pytest.approx(10 * MODEL.load_n_m)
    assert held([*good, look(8, goal=1), look(9, goal=253)]).samples == 5


def test_a_row_is_made_of_four_cycles_at_least():
    assert held([look(k) for k in range(8)]).samples == 4
    with pytest.raises(BusError, match=r"delta 13: 3 readings are too few \(went further than it was allowed to\)"):
        held([look(k) for k in range(7)], ending=Ending.RAN_AWAY)


@pytest.mark.parametrize(("ticks", "stood"), [(0, True), (1, True), (2, True), (3, False)])
def test_a_stop_may_give_way_by_a_degree_and_a_half(ticks, stood):
    # A tick is 0.654 degrees; what came before it settled does not count.
    looks = [look(k, at=100 if k < 10 else 127 + (ticks if k == 15 else 0)) for k in range(20)]
    assert held(looks).stood is stood
    fine = replace(MODEL, tick_deg=MODEL.tick_deg / 10)
    assert held(looks, model=fine).stood


@pytest.mark.parametrize("slope", [-3, 0, 2])
def test_speed_is_in_ticks_per_second(slope):
    # So many ticks each 10 ms.
    row = held([look(k, at=127 + slope * k) for k in range(20)])
    assert row.speed_ticks_s == pytest.approx(100.0 * slope)
    assert held([replace(one, time_ns=5) for one in (look(k) for k in range(8))]).speed_ticks_s == 0.0


def test_a_load_with_a_sign_keeps_it_and_one_without_takes_that_of_the_delta():
    signed = find_family("dynamixel").models["XM430-W350"]
    for ticks in (5, -5):
        assert torque_of_load(signed, -10, ticks) == pytest.approx(-10 * signed.load_n_m)
        assert torque_of_load(signed, 10, ticks) == pytest.approx(10 * signed.load_n_m)
    assert torque_of_load(MODEL, 10, -5) == pytest.approx(-10 * MODEL.load_n_m)
    assert torque_of_load(MODEL, 10, 5) == pytest.approx(10 * MODEL.load_n_m)


def test_a_duty_cycle_does_not_show_torque():
    models = {name: model for family in ("dynamixel", "feetech") for name, model in find_family(family).models.items()}
    assert {name for name, model in models.items() if shows_torque(model)} == {"XL330-M288", "XM430-W350"}


def test_scales_show_the_weight_of_a_kilogram_at_a_metre():
    assert torque_of_weight(1000.0, 100.0) == 9.80665
