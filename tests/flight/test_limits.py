"""Saturations, rate limits and delay: what each does, and that without them not a byte is another."""

from __future__ import annotations

from typing import Any

import pytest

from nuc_engine.flight.appendix import G_M_S2
from tests.flight.runs import HOVER, document, flown

FAR = {"kind": "step", "from_m": [0, 0, 1], "to_m": [5, -5, 9], "at_s": 0.2, "yaw_rad": 2.0}
CONTROL = slice(17, 21)


def limited(**limits: Any) -> tuple[list[tuple[float, ...]], Any]:
    run, rows, end = flown(document(reference=FAR, controller={**HOVER["controller"], **limits}))
    assert run.columns[-1] == "limited"
    return [row[CONTROL] for row in rows], end


def free() -> list[tuple[float, ...]]:
    run, rows, _ = flown(document(reference=FAR))
    assert run.columns[CONTROL] == ("roll_cmd_rad", "pitch_cmd_rad", "thrust_n", "yaw_rate_rad_s")
    assert len(run.columns) == 21
    return [row[CONTROL] for row in rows]


def test_limits_that_nothing_reaches_change_no_bit() -> None:
    wide = {"limits": {"tilt_rad": 9, "thrust_n": [-900, 900], "yaw_rate_rad_s": 90}, "rates": {"tilt_rad_s": 900}}
    found, end = limited(**wide)
    assert found == free()
    assert end.limited == 0
    assert limited(delay_s=0.0)[0] == free()


def test_controls_are_saturated_and_that_is_counted() -> None:
    found, end = limited(limits={"tilt_rad": 0.3, "thrust_n": [5.0, 20.0], "yaw_rate_rad_s": 0.7})
    rolls, pitches, thrusts, turns = zip(*found, strict=True)
    assert (max(rolls), max(pitches), max(thrusts), max(turns)) == (0.3, 0.3, 20.0, 0.7)
    assert min(thrusts) >= 5.0
    assert max(*map(abs, rolls), *map(abs, pitches)) == 0.3
    assert 0 < end.limited <= 101


def test_they_change_no_faster_than_they_may() -> None:
    found, _ = limited(rates={"tilt_rad_s": 2.0, "thrust_n_s": 50.0, "yaw_rate_rad_s2": 3.0})
    before = (0.0, 0.0, 1.3 * G_M_S2, 0.0)
    for now in found:
        changes = [abs(b - a) for a, b in zip(before, now, strict=True)]
        assert all(change <= most + 1e-12 for change, most in zip(changes, (0.02, 0.02, 0.5, 0.03), strict=True))
        before = now
    assert found[0][3] == 0.03


def test_delay_is_so_many_steps_and_hovers_until_then() -> None:
    found, _ = limited(delay_s=0.03)
    assert found[:3] == [(0.0, 0.0, 1.3 * G_M_S2, 0.0)] * 3
    assert found[3] == free()[0]


def test_a_delay_is_a_multiple_of_dt() -> None:
    with pytest.raises(ValueError, match=r"controller\.delay_s: 0\.015 is no multiple of dt_s"):
        limited(delay_s=0.015)


def test_its_memory_is_that_of_one_episode() -> None:
    from nuc_engine.episode.loop import run_steps

    limits = {"rates": {"tilt_rad_s": 1.0}, "delay_s": 0.05}
    run, rows, end = flown(document(reference=FAR, controller={**HOVER["controller"], **limits}))
    again: list[tuple[float, ...]] = []
    assert run_steps(run, again.append) == end
    assert again == rows
