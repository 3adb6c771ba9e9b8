"""Central entries: slower than the step they are nothing; where sensory events fail stepping goes on; and a trap."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.engine.acting import bout, case, hdso, motor_log, rule
from tests.engine.central import IN_THE_AIR, forced, patient, reach, spans

HOLD_NS = 300_000_000
DEAF = "".join(f'<hdsoMod idNum="{number}" NumElts="3" datatype="char" time="0">190</hdsoMod>' for number in (163, 164))
"""The rules of CTr feel no load any more: both are the constant 0."""


def test_a_bare_timer_does_not_make_the_leg_search_in_the_air(tmp_path: Path) -> None:
    """The other entry rule stays true and undoes every forced switch at the next evaluation."""
    folder = bout(patient(0.5, only="CTr", script=IN_THE_AIR, seconds=5.0), tmp_path)
    lasted = spans(folder, 2, after_s=1.2)
    assert len(forced(folder)) > 4
    assert lasted[::2] == pytest.approx([0.025] * len(lasted[::2]))
    assert reach(folder, 2.0) < 1.0


def test_hold_makes_it_move_there(tmp_path: Path) -> None:
    folder = bout(patient(0.5, HOLD_NS, only="CTr", script=IN_THE_AIR, seconds=5.0), tmp_path)
    lasted = spans(folder, 2, after_s=1.2)
    assert lasted[0] == pytest.approx(0.3)
    assert reach(folder, 2.0) > 3.0


@pytest.mark.parametrize("clock", ["virtual", "real"])
@pytest.mark.parametrize("hold_ns", [None, HOLD_NS])
def test_slower_than_the_step_it_is_nothing(clock: str, hold_ns: int | None, tmp_path: Path) -> None:
    folder = bout(patient(2.0, hold_ns, seconds=3.0), tmp_path / "slow", clock)
    assert forced(folder) == []
    assert motor_log(folder) == motor_log(bout(case(seconds=3.0), tmp_path / "without", clock))


def test_with_its_sensor_cut_stepping_goes_on(tmp_path: Path) -> None:
    still = bout(case(script=DEAF, seconds=6.0), tmp_path / "without")
    assert spans(still, 2, after_s=2.0) == []
    folder = bout(patient(0.4, only="CTr", script=DEAF, seconds=6.0), tmp_path / "with")
    assert len(spans(folder, 2, after_s=2.0)) > 6
    assert len(spans(folder, 0, after_s=2.0)) > 6
    assert " by its central rule, cycle " in forced(folder)[0]


def test_the_drive_turned_to_0_stops_it(tmp_path: Path) -> None:
    """Coupled: CTr levates while ThC1 lifts and the time of that has decayed below the drive, and so on."""
    coupling = (
        (r'(?s)(idNum="163" NumElts="0"/>.*?</transition_rule>)', r'\1<central rule="CTr_to_lev"/>'),
        (r'(?s)(idNum="164" NumElts="0"/>.*?</transition_rule>)', r'\1<central rule="CTr_to_dep"/>'),
    )
    hdsos = (
        hdso(150, "drive", 0.5),
        hdso(151, "tau", 0.4),
        rule(152, "CTr_to_lev", "TC1_lifts &amp; (TC1_decay &lt; drive)"),
        rule(153, "CTr_to_dep", "TC1_lowers &amp; (TC1_decay &lt; drive)"),
    )
    signals = (
        '<signal idNum="340" name="TC1_decay" type="decay" of="Thorax-Coxa1" parameters="tau"/>',
        '<signal idNum="341" name="TC1_lifts" type="state" of="TC1_retractionLEV"/>',
        '<signal idNum="342" name="TC1_lowers" type="state" of="TC1_protractionDEP"/>',
    )
    off = '<hdsoMod idNum="150" NumElts="1" datatype="double" time="3">0</hdsoMod>'
    given = case(*coupling, hdsos=hdsos, signals=signals, script=DEAF + off, seconds=7.0)
    folder = bout(given, tmp_path)
    times = [int(line.split()[0]) for line in forced(folder)]
    assert len(times) > 3
    assert max(times) <= 3_000_000_000
    assert spans(folder, 2, after_s=3.5) == []
