"""Figures of single joints, muscles and motors, of chosen projections, and in other formats."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from matplotlib.figure import Figure

from nuc_engine.analysis.bout import Bout
from nuc_engine.figures import canvas, figures, path_state
from nuc_engine.figures.canvas import house_style, save_figure
from nuc_engine.figures.joint_figures import joint_figure, motor_figure, muscle_figure
from nuc_engine.figures.palette import DASHED, DOTTED, SOLID, bout_pen, joint_color, state_dashes
from nuc_engine.recording.formats import WrongEnding
from tests.analysis.printed import collisions
from tests.analysis.synthetic import FWD, bout, leg

SPAN = (0.2, 1.8)


@pytest.fixture(scope="module")
def made_up() -> Bout:
    return bout(leg(FWD, 6.0), changesets=(2.0, 4.0))


def knee_of(one: Bout, span: tuple[float, float], kind: str) -> Figure:
    joint = one.joint("FTi")
    if kind == "muscle":
        return muscle_figure(one, joint, joint.muscles[1], span)
    return (joint_figure if kind == "joint" else motor_figure)(one, joint, span)


@pytest.mark.parametrize("kind", ["joint", "muscle", "motor"])
def test_every_axis_has_its_unit_and_no_text_lies_on_another(roach: Bout, kind: str) -> None:
    with house_style():
        figure = knee_of(roach, SPAN, kind)
        assert collisions(figure) == []
    lanes, *panels = figure.axes
    assert [label.get_text() for label in lanes.get_yticklabels()] == ["FT_Extension", "FT_Flexion"]
    for panel in panels:
        assert panel.get_ylabel() == "activation" or "(" in panel.get_ylabel()
        assert panel.get_xlim() == SPAN
    assert panels[-1].get_xlabel() == "time since engine start (s)"


def test_a_joint_shows_what_was_recorded(roach: Bout) -> None:
    joint = roach.joint("FTi")
    figure = joint_figure(roach, joint, SPAN)
    _, angle, load, other, activation, force = figure.axes
    # Its rules read the load of the thorax-coxa joint, too.
    assert other.get_ylabel() == "ThC load\n(current ticks)"
    sensors, states, muscles = (log.between(*SPAN) for log in (roach.sensors, roach.states, roach.muscles))
    np.testing.assert_array_equal(angle.lines[0].get_ydata(), sensors.column(joint.angle))
    np.testing.assert_array_equal(load.lines[0].get_ydata(), sensors.column(joint.current))
    for k, muscle in enumerate(joint.muscles):
        np.testing.assert_array_equal(activation.lines[k].get_ydata(), states.column(joint.activations[k]))
        np.testing.assert_array_equal(force.lines[k].get_ydata(), muscles.column(f"{muscle}.force"))


def test_a_muscle_shows_activation_force_and_length(roach: Bout) -> None:
    figure = knee_of(roach, SPAN, "muscle")
    _, activation, force, length = figure.axes
    name = roach.joint("FTi").muscles[1]
    muscles = roach.muscles.between(*SPAN)
    np.testing.assert_array_equal(force.lines[0].get_ydata(), muscles.column(f"{name}.force"))
    np.testing.assert_array_equal(length.lines[0].get_ydata(), muscles.column(f"{name}.length"))
    assert activation.get_ylim()[0] == 0
    assert name in figure._suptitle.get_text()
    assert [axes.get_ylabel() for axes in (force, length)] == ["force\n(unit of fmax)", "length\n(unit of Lnaught)"]


def test_the_servo_delta_is_what_was_sent_less_what_had_been_measured(roach: Bout) -> None:
    joint = roach.joint("FTi")
    _, position, delta, *_ = motor_figure(roach, joint, (0.0, 2.0)).axes
    sent, measured = (roach.motor.column(name) for name in (joint.sent_raw, joint.raw_position))
    drawn = delta.lines[0].get_ydata()
    expected = np.where(sent[1:] >= 0, sent[1:] - measured[:-1], np.nan)
    inside = roach.motor.t_s[1:] <= 2.0
    np.testing.assert_array_equal(drawn, expected[inside])
    assert np.nanmin(drawn) < -20
    assert np.isnan(position.lines[1].get_ydata()).sum() == (sent < 0).sum() > 0


def test_neuromods_motors_have_no_command_to_show(roach: Bout) -> None:
    joint = replace(roach.joint("FTi"), sent_raw=None)
    with house_style():
        figure = motor_figure(roach, joint, SPAN)
        assert collisions(figure) == []
    assert len(figure.axes) == 5
    assert not any("delta" in axes.get_ylabel() for axes in figure.axes)


def test_a_joint_without_actions_and_muscles_is_drawn(roach: Bout) -> None:
    joint = roach.joints[1]
    assert (joint.states, joint.muscles) == ((), ())
    with house_style():
        figure = joint_figure(roach, joint, SPAN)
        assert collisions(figure) == []
    assert len(figure.axes) == 3


@pytest.mark.parametrize("kind", ["joint", "muscle", "motor"])
def test_without_records_it_is_said(roach: Bout, kind: str) -> None:
    figure = knee_of(roach.between(100.0, 200.0), (100.0, 101.0), kind)
    assert "nothing recorded" in [text.get_text() for axes in figure.axes for text in axes.texts]


def names_of(made: tuple[Path, ...]) -> set[str]:
    return {path.name for path in made}


@pytest.fixture
def drawn(monkeypatch: pytest.MonkeyPatch) -> list[Figure]:
    """Figures that were to be saved, in order; none is."""
    kept: list[Figure] = []

    def keep(figure: Figure, path: Path) -> Path:
        kept.append(figure)
        return path

    monkeypatch.setattr(figures, "save_figure", keep)
    return kept


def test_what_is_asked_for_is_drawn_and_nothing_else(roach: Bout, tmp_path: Path, drawn: list[Figure]) -> None:
    made = figures.draw_figures(roach, tmp_path, (), ["joints", "muscles", "motors"], form="svg")
    joints = {f"joint_{joint.name}.svg" for joint in roach.joints}
    muscles = {f"muscle_{name}.svg" for joint in roach.joints for name in joint.muscles}
    assert names_of(made) == joints | muscles | {f"motor_{joint.motor}.svg" for joint in roach.joints}
    assert len(muscles) == 6
    made = figures.draw_window(roach, tmp_path, ("1-2s", 1.0, 2.0), ["joints"])
    assert names_of(made) == {f"joint_{joint.name}_1-2s.png" for joint in roach.joints}
    assert drawn[-1].axes[0].get_xlim() == (1.0, pytest.approx(roach.end_s))


@pytest.mark.parametrize(("view", "labels"), [("top", "xy"), ("side", "xz"), ("front", "yz")])
def test_the_path_is_seen_from_where_it_is_asked_for(
    made_up: Bout, tmp_path: Path, drawn: list[Figure], view: str, labels: str
) -> None:
    made = figures.draw_figures(made_up, tmp_path, [("FWD", 0.0, 6.0)], ["path"], views=[path_state.VIEWS[view]])
    assert [path.name for path in made] == [f"pathstate_{view}.png", "pathstate_FWD.png"]
    for figure in drawn:
        seen = [(axes.get_xlabel()[0], axes.get_ylabel()[0]) for axes in figure.axes if "(cm)" in axes.get_ylabel()]
        assert seen
        assert set(seen) == {tuple(labels)}


def test_both_ends_of_a_span_may_be_long(made_up: Bout, tmp_path: Path, drawn: list[Figure]) -> None:
    figures.draw_window(made_up, tmp_path, ("0-9s", 0.0, 9.0), ["path"], views=list(path_state.VIEWS.values()))
    angles = next(axes for axes in drawn[0].axes if axes.get_ylabel() == "joint angle (deg)")
    assert angles.get_xlim() == (0.0, 6.0)
    assert sum("(cm)" in axes.get_ylabel() for axes in drawn[0].axes) == 3


def test_a_part_that_keeps_its_times_is_drawn_where_it_is(made_up: Bout, tmp_path: Path, drawn: list[Figure]) -> None:
    figures.draw_figures(made_up.subset(3.0, 5.0), tmp_path, (), ["summary"])
    for figure in drawn:
        begin, end = figure.axes[0].get_xlim()
        assert (begin, end) == (pytest.approx(3.0, abs=0.01), pytest.approx(5.0, abs=0.01))


def test_actions_of_a_joint_differ_in_line_style_and_the_configurations_counts(made_up: Bout) -> None:
    for joint in made_up.joints:
        assert [state_dashes(made_up, made_up.states_of[code]) for code in joint.states] == [SOLID, DASHED]
    first = made_up.states_of[0]
    for spec, dashes in (("--", DASHED), ("r:", DOTTED), ("-", SOLID), ("ko", SOLID), (None, SOLID)):
        assert state_dashes(made_up, replace(first, linespec=spec)) == dashes


def test_curves_side_by_side_can_be_told_apart_without_hue(made_up: Bout) -> None:
    """As grey they differ, or their line style does."""
    pens = [bout_pen(k) for k in range(6)]
    assert len({str(dashes) for _, dashes in pens}) == 6
    luminance = [0.2126 * r**2.2 + 0.7152 * g**2.2 + 0.0722 * b**2.2 for r, g, b in map(joint_color, made_up.joints)]
    assert min(abs(a - b) for k, a in enumerate(luminance) for b in luminance[:k]) > 0.02


@pytest.mark.parametrize(("form", "head"), [("svg", b"<?xml"), ("pdf", b"%PDF"), ("png", b"\x89PNG")])
def test_formats_carry_no_date_and_come_out_the_same_again(tmp_path: Path, form: str, head: bytes) -> None:
    made = []
    for name in ("a", "b"):
        with house_style():
            figure = canvas.new_figure(2.0, 1.0)
            figure.subplots().plot([0, 1], [0, 1])
            made.append(save_figure(figure, tmp_path / f"{name}.{form}").read_bytes())
    assert made[0] == made[1]
    assert made[0].startswith(head)
    assert b"dc:date" not in made[0]
    assert b"CreationDate" not in made[0]


@pytest.mark.parametrize("form", ["png", "svg"])
def test_a_figure_that_is_not_finished_leaves_the_old_one_and_nothing_else(tmp_path: Path, form: str) -> None:
    path = tmp_path / f"a.{form}"
    path.write_bytes(b"the old one")
    figure = canvas.new_figure(2.0, 1.0)
    figure.add_subplot()

    def stop(_: object) -> None:
        raise KeyboardInterrupt

    figure.draw = stop
    with pytest.raises(KeyboardInterrupt):
        save_figure(figure, path)
    assert path.read_bytes() == b"the old one"
    assert list(tmp_path.iterdir()) == [path]


def test_another_format_is_refused(tmp_path: Path) -> None:
    with pytest.raises(WrongEnding, match=r"expected a name that ends in \.png"):
        save_figure(canvas.new_figure(1.0, 1.0), tmp_path / "a.bmp")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("make", [path_state.behaviour_figure])
def test_a_leg_whose_hip_is_held_is_shown_by_its_knees_cycles(made_up: Bout, make: Callable) -> None:
    hip, *others = made_up.joints
    held = replace(made_up, joints=(replace(hip, states=hip.states[:1]), *others))
    figure = make(held, ("sideways", 0.0, 6.0))
    angles = next(axes for axes in figure.axes if axes.get_ylabel() == "joint angle (deg)")
    begin, end = angles.get_xlim()
    assert end - begin == pytest.approx(path_state.CYCLES * FWD.period_s, abs=0.1)
