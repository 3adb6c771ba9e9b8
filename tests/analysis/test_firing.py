"""Which comparison let an action begin: on a real bout, and on rules and sensors made for it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from xml.sax.saxutils import escape

import numpy as np
import pytest

from nuc_engine.analysis.bout import Bout
from nuc_engine.analysis.errors import BoutError
from nuc_engine.analysis.firing import firing_of
from nuc_engine.analysis.series import Series
from nuc_engine.figures.joint_figures import joint_figure
from nuc_engine.figures.palette import state_color
from tests.analysis.gaps import without


def test_every_change_of_action_of_a_real_bout_is_explained_by_a_threshold_that_was_crossed(roach: Bout) -> None:
    """Its rules are changed at 1 s, and a threshold at 0.5 s."""
    times, log = roach.states.t_s, roach.sensors
    count = 0
    for joint in (joint for joint in roach.joints if joint.states):
        firing = firing_of(roach, joint)
        codes = roach.states.column(joint.action)
        switches = np.flatnonzero(np.diff(codes)) + 1
        assert (firing.switches, firing.unexplained) == (len(switches), 0)
        assert {fired.time_s for fired in firing.fired} == set(times[switches])
        for fired in firing.fired:
            k = int(np.searchsorted(times, fired.time_s))
            assert fired.term.action == codes[k]
            before, now = (
                log.column(fired.term.sensor)[np.searchsorted(log.t_s, t, side="right") - 1] for t in times[[k - 1, k]]
            )
            assert (now > fired.limit) if fired.term.above else (now < fired.limit)
            if fired.new and fired.time_s != pytest.approx(0.5):
                assert (before <= fired.limit) if fired.term.above else (before >= fired.limit)
            count += fired.new
    assert count > 10


def test_a_threshold_changes_when_the_script_changed_it(roach: Bout) -> None:
    firing = firing_of(roach, roach.joint("ThC"))
    (limit,) = [values for term, values in firing.limits.items() if term.limit == "TC1_retLEV_FTang"]
    assert set(limit[firing.t_s < 0.5]) == {60.0}
    assert set(limit[firing.t_s >= 0.5]) == {61.0}
    later = firing_of(roach.shifted(10.0), roach.joint("ThC"))
    assert [one.time_s for one in later.fired] == pytest.approx([one.time_s + 10.0 for one in firing.fired])


def write_rule(folder: Path, rule: str, time_s: float = 0.0) -> None:
    """Let the script log of a data directory tell of this entry rule of FT_Flexion, and of nothing else."""
    mod = f'<hdsoMod idNum="166" name="Enter_FT_Flexion" NumElts="{len(rule)}" datatype="char" time="{time_s:g}">'
    text = f"{mod}{escape(rule)}</hdsoMod>"
    (folder / "Scriptlog.xml").write_text(f'<hdsoscript ScriptType="Scriptlog" name="log">{text}</hdsoscript>')


def test_rules_that_were_not_those_of_the_bout_do_not_explain_it(roach: Bout, folder: Path) -> None:
    write_rule(folder, "307 > 105")
    other = replace(roach, folder=folder)
    firing = firing_of(other, roach.joint("FTi"))
    assert 0 < firing.unexplained < firing.switches
    told = f"{firing.unexplained} of {firing.switches} changes of action are not explained by the record"
    assert told in joint_figure(other, roach.joint("FTi"), (0.0, 2.0))._suptitle.get_text()
    assert "explained" not in joint_figure(roach, roach.joint("FTi"), (0.0, 2.0))._suptitle.get_text()
    with pytest.raises(BoutError):
        firing_of(replace(roach, folder=folder / "nowhere"), roach.joint("FTi"))


def test_what_happened_in_a_gap_is_not_guessed(roach: Bout) -> None:
    joint = roach.joint("FTi")
    whole = firing_of(roach, joint)
    gap = firing_of(without(roach, 0.6, 1.5), joint)
    assert 0 < gap.switches < whole.switches
    assert {one.time_s for one in gap.fired} <= {one.time_s for one in whole.fired}
    blind = firing_of(without(roach, 0.6, 1.5, ["sensors"]), joint)
    assert blind.switches == whole.switches
    assert blind.unexplained > 0


FLX, EXT = 5, 4
LOAD, KNEE, CTR = "TC1_current", "FT_angle", "CTr_angle"


def entered(roach: Bout, folder: Path, rule: str, *, changed_s: float = 0.0, **sensors: list[float]) -> list:
    """What let FT_Flexion begin at its fourth evaluation, by this rule and with these sensors at all four."""
    write_rule(folder, rule, changed_s)
    times = np.array([0, 25_000_000, 50_000_000, 75_000_000]) * 1e-9
    values = np.zeros((4, len(roach.sensors.columns)))
    for name, column in sensors.items():
        values[:, roach.sensors.columns.index(name)] = column
    states = np.full((4, len(roach.states.columns)), float(EXT))
    states[3] = FLX
    made = replace(
        roach,
        folder=folder,
        sensors=Series(times, values, roach.sensors.columns, roach.sensors.units),
        states=Series(times, states, roach.states.columns, roach.states.units),
    )
    firing = firing_of(made, made.joint("FTi"))
    assert firing.switches == 1
    return [(one.term.sensor, one.term.above, one.term.limit, one.limit, one.new) for one in firing.fired]


FALLS, LOW, RISES = [70.0, 65.0, 61.0, 59.0], [-1.0] * 4, [-1.0, -1.0, -1.0, 1.0]


@pytest.mark.parametrize(
    ("rule", "changed_s", "sensors", "fired"),
    [
        ("307 < 109", 0.0, {KNEE: FALLS}, [(KNEE, False, "FT_flux_FTang", 60.0, True)]),
        ("109 > 307", 0.0, {KNEE: FALLS}, [(KNEE, False, "FT_flux_FTang", 60.0, True)]),
        # Of two that are both needed, the one that came last; of two of which one is enough, the one that is new.
        ("(302 < 108)&(307 < 109)", 0.0, {KNEE: FALLS, LOAD: LOW}, [(KNEE, False, "FT_flux_FTang", 60.0, True)]),
        ("(302 < 108)|(307 < 109)", 0.0, {KNEE: FALLS, LOAD: LOW}, [(KNEE, False, "FT_flux_FTang", 60.0, True)]),
        # What came true in a branch that does not hold has let nothing begin.
        (
            "((302 > 108)&(307 > 105))|(307 < 109)",
            0.0,
            {KNEE: FALLS, LOAD: RISES},
            [(KNEE, False, "FT_flux_FTang", 60.0, True)],
        ),
        ("307 < 305", 0.0, {KNEE: FALLS, CTR: [60.5] * 4}, [(KNEE, False, CTR, 60.5, True)]),
        # By another rule, 162: (307 < 103)|(305 < 104).
        ("162", 0.0, {KNEE: FALLS, CTR: [90.0] * 4}, [(KNEE, False, "TC1_retLEV_FTang", 60.0, True)]),
        # The rule itself is new.
        ("302 < 108", 0.075, {LOAD: LOW, KNEE: FALLS}, [(LOAD, False, "FT_flux_TC1_load", 0.0, False)]),
        # It had to wait.
        ("302 < 108", 0.0, {LOAD: LOW}, [(LOAD, False, "FT_flux_TC1_load", 0.0, False)]),
        ("302 > 108", 0.0, {LOAD: LOW}, []),
    ],
)
def test_what_let_an_action_begin(
    roach: Bout, folder: Path, rule: str, changed_s: float, sensors: dict, fired: list
) -> None:
    assert entered(roach, folder, rule, changed_s=changed_s, **sensors) == fired


def test_a_joint_figure_shows_the_thresholds_and_marks_where_they_let_an_action_begin(roach: Bout) -> None:
    joint, span = roach.joint("FTi"), (0.2, 1.8)
    firing = firing_of(roach, joint)
    fired = [one for one in firing.fired if span[0] <= one.time_s <= span[1]]
    panels = {axes.get_ylabel(): axes for axes in joint_figure(roach, joint, span).axes}
    marks = {
        (label, float(line.get_xdata()[0]), float(line.get_ydata()[0])): line
        for label, axes in panels.items()
        for line in axes.lines
        if line.get_marker() in ("^", "v")
    }
    names = {KNEE: "joint angle (deg)", LOAD: "ThC load\n(current ticks)"}
    assert set(marks) == {(names[one.term.sensor], one.time_s, one.limit) for one in fired}
    for one in fired:
        mark = marks[names[one.term.sensor], one.time_s, one.limit]
        assert mark.get_marker() == ("^" if one.term.above else "v")
        color = state_color(roach, roach.states_of[one.term.action])
        assert mark.get_markerfacecolor() == (color if one.new else "white")
    legend = [text.get_text() for text in panels[names[KNEE]].get_legend().get_texts()]
    assert legend == ["FT_Extension\n> FT_ext_FTang", "FT_Flexion\n< FT_flux_FTang"]
