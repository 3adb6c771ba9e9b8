"""The figures: what they show, that nothing in them collides, and that the same bout gives the same bytes."""

from __future__ import annotations

import itertools
import os
import struct
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import matplotlib
import numpy as np
import pytest
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure
from matplotlib.image import imread
from matplotlib.lines import Line2D
from matplotlib.text import Text

from nuc_engine.analysis import figures, path_state
from nuc_engine.analysis.bout import Bout
from nuc_engine.analysis.canvas import DPI, WIDE_IN, house_style, new_figure
from nuc_engine.analysis.errors import AnalysisError
from nuc_engine.analysis.load import load_bout
from nuc_engine.analysis.palette import STANCE, muscle_pens, state_color
from tests.analysis.synthetic import FWD, STICK, bout, leg, with_module

WINDOWS = [("FWD", 0.0, 1.0), ("ITF", 1.0, 2.0)]
PAGE_IN = 17.0 / 2.54
DRAWN = [("FWD", 0.0, 1.0)]
ALL = {"summary_sensors.png", "summary_states.png", "pathstate.png", "pathstate_FWD.png"}


@pytest.fixture(scope="module")
def made_up() -> Bout:
    return bout(leg(FWD, 6.0), changesets=(2.0, 4.0))


@pytest.fixture(scope="module")
def pictures(finished_roach: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The figures of the real two seconds."""
    place = tmp_path_factory.mktemp("pictures")
    files = figures.draw_figures(load_bout(finished_roach), place, DRAWN)
    assert {file.name for file in files} == ALL == {path.name for path in place.iterdir()}
    return place


def png_size(path: Path) -> tuple[int, int]:
    data = path.read_bytes()
    assert data.startswith(b"\x89PNG\r\n\x1a\n")
    return struct.unpack(">II", data[16:24])


@pytest.mark.parametrize(
    ("name", "inches"),
    [
        ("summary_sensors", (9.0, 8.4)),
        ("summary_states", (9.0, 1.0 + 1.1 * 3 * (0.35 + 0.5 + 1.2))),
        ("pathstate", (9.0, 4.8)),
        ("pathstate_FWD", (9.0, 6.2)),
    ],
)
def test_files_are_pngs_of_their_size_without_date_or_version(
    pictures: Path, name: str, inches: tuple[float, float]
) -> None:
    path = pictures / f"{name}.png"
    assert png_size(path) == pytest.approx([x * DPI for x in inches], abs=1)
    data = path.read_bytes()
    assert not any(chunk in data for chunk in (b"tEXt", b"iTXt", b"zTXt", b"tIME"))


@pytest.fixture(scope="module")
def colors(pictures: Path) -> dict[str, np.ndarray]:
    """Every colour there is in each picture, shape (n, 3), 0 to 255."""
    found = {}
    for path in pictures.iterdir():
        pixels = (imread(path)[:, :, :3] * 255).round().astype(np.int32)
        packed = np.unique(pixels @ np.array([65536, 256, 1], dtype=np.int32))
        found[path.name] = np.stack([packed >> 16, (packed >> 8) & 255, packed & 255], axis=1)
    return found


def is_in(color: Sequence[float], colors: np.ndarray) -> bool:
    """Say whether a colour is there; anti-aliasing may shift a channel by one."""
    return bool((np.abs(colors - np.round(255 * np.array(color))).max(axis=1) <= 1).any())


@pytest.mark.parametrize("name", sorted(ALL - {"summary_sensors.png"}))
def test_actions_are_drawn_in_the_configurations_colours(colors: dict, roach: Bout, name: str) -> None:
    assert [state.name for state in roach.states_of if not is_in(state.color, colors[name])] == []
    assert not is_in((0.42, 0.99, 0.77), colors[name])


@pytest.mark.parametrize("name", sorted(ALL))
def test_contact_is_shaded_in_every_figure(colors: dict, name: str) -> None:
    assert is_in(STANCE, colors[name])


def test_the_same_bout_gives_the_same_bytes_again(pictures: Path, finished_roach: Path, tmp_path: Path) -> None:
    for path in figures.draw_figures(load_bout(finished_roach), tmp_path, DRAWN):
        assert path.read_bytes() == (pictures / path.name).read_bytes()


def test_the_same_bytes_in_another_process_whatever_the_users_own_style(
    pictures: Path, finished_roach: Path, tmp_path: Path
) -> None:
    style = tmp_path / "style"
    style.write_text("font.size: 30\nlines.linewidth: 9\npath.simplify: True\nsavefig.dpi: 30\naxes.grid: True\n")
    program = (
        "import sys, pathlib; from nuc_engine.analysis import draw_figures, load_bout;"
        "draw_figures(load_bout(pathlib.Path(sys.argv[1])), pathlib.Path('.'), [('FWD', 0.0, 1.0)])"
    )
    environment = os.environ | {
        "PYTHONHASHSEED": "77",
        "MATPLOTLIBRC": str(style),
        "TZ": "Asia/Tokyo",
        "MPLBACKEND": "svg",
    }
    place = tmp_path / "there"
    place.mkdir()
    command = [sys.executable, "-W", "error", "-c", program, str(finished_roach)]
    done = subprocess.run(command, cwd=place, env=environment, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert {path.name for path in place.iterdir()} == ALL
    for path in place.iterdir():
        assert path.read_bytes() == (pictures / path.name).read_bytes(), path.name


def test_the_style_of_others_is_left_alone() -> None:
    with matplotlib.rc_context({"font.size": 33.0, "axes.spines.top": True}):
        with house_style():
            assert matplotlib.rcParams["axes.spines.top"] is False
            assert matplotlib.rcParams["font.size"] < 33.0
        assert (matplotlib.rcParams["font.size"], matplotlib.rcParams["axes.spines.top"]) == (33.0, True)


def texts(figure: Figure) -> list[Text]:
    """Every text that is seen, ticks outside their axis left out."""
    found = []
    for axes in figure.axes:
        for axis in (axes.xaxis, axes.yaxis):
            low, high = sorted(axis.get_view_interval())
            shown = [t for t in axis.get_major_ticks() if low <= t.get_loc() <= high]
            found += [label for t in shown for label in (t.label1, t.label2)]
            found.append(axis.label)
        found += [axes.title, axes._left_title, axes._right_title, *axes.texts]
        if axes.get_legend():
            found += axes.get_legend().get_texts()
    for legend in figure.legends:
        found += legend.get_texts()
    found.append(figure._suptitle)
    return [text for text in found if text is not None and text.get_visible() and text.get_text().strip()]


def collisions(figure: Figure) -> list[tuple[str, str]]:
    with house_style():
        figure.draw_without_rendering()
        boxes = [(text.get_text(), text.get_window_extent()) for text in texts(figure)]
    width, height = figure.get_size_inches() * figure.dpi
    for text, box in boxes:
        assert box.x0 >= -1, text
        assert box.y0 >= -1, text
        assert box.x1 <= width + 1, text
        assert box.y1 <= height + 1, text
    return [(a, b) for (a, box), (b, other) in itertools.combinations(boxes, 2) if _overlap(box, other)]


def _overlap(a: object, b: object) -> bool:
    wide = min(a.x1, b.x1) - max(a.x0, b.x0)
    high = min(a.y1, b.y1) - max(a.y0, b.y0)
    return wide > 0.5 and high > 0.5


@pytest.mark.parametrize(
    ("kind", "make", "windows"),
    [
        ("roach", figures.sensor_figure, WINDOWS),
        ("roach", figures.state_figure, [("FWD", 0.0, 0.2), ("ITF", 0.2, 2.0)]),
        ("roach", path_state.path_state_figure, WINDOWS),
        ("roach", path_state.path_state_figure, []),
        ("roach", path_state.behaviour_figure, WINDOWS[1]),
        ("stick", path_state.behaviour_figure, ("stick", 0.0, 2.0)),
        ("loopback", figures.sensor_figure, [("FWD", 0.0, 1.0)]),
    ],
)
def test_no_text_lies_on_another_or_outside(
    kind: str, make: Callable, windows: object, request: pytest.FixtureRequest
) -> None:
    one = load_bout(request.getfixturevalue(f"finished_{kind}"))
    with house_style():
        assert collisions(make(one, windows)) == []


def test_collisions_would_be_seen(made_up: Bout) -> None:
    with house_style():
        figure = figures.state_figure(made_up, [("FWD", 0.0, 0.8)])
        figure.axes[0].annotate(
            "too near", (0.02, 1.0), xycoords="axes fraction", xytext=(0, 4), textcoords="offset points"
        )
    assert ("too near", "Thorax-Coxa1") in [tuple(sorted(pair, reverse=True)) for pair in collisions(figure)]


def test_the_first_figure_shows_the_recorded_numbers(made_up: Bout) -> None:
    span = 1.003, 2.997
    figure = figures.sensor_figure(made_up, (), span)
    panels = figure.axes[:4]
    part, motor = made_up.sensors.between(*span), made_up.motor.between(*span)
    for joint in made_up.joints:
        for panel, series, column in (
            (panels[0], part, joint.angle),
            (panels[1], part, joint.current),
            (panels[2], motor, joint.raw_position),
            (panels[3], motor, joint.raw_current),
        ):
            (line,) = [line for line in panel.lines if line.get_label() == joint.name]
            np.testing.assert_array_equal(line.get_xdata(), series.t_s)
            np.testing.assert_array_equal(line.get_ydata(), series.column(column))
    assert [panel.get_ylabel() for panel in panels] == [
        "joint angle (deg)",
        "load, filtered\n(current ticks)",
        "position, raw\n(ticks)",
        "current, raw\n(ticks)",
    ]
    assert panels[0].get_xlim() == span


def test_foot_and_contact_are_shown_where_they_were_recorded(made_up: Bout) -> None:
    assert made_up.plant is not None
    figure = figures.sensor_figure(made_up)
    *_, contact, height = figure.axes
    np.testing.assert_array_equal(contact.lines[0].get_ydata(), made_up.plant.values[:, 3])
    np.testing.assert_array_equal(height.lines[0].get_ydata(), made_up.plant.values[:, 2])
    assert "shaded: foot in contact" in figure._suptitle.get_text()
    without = figures.sensor_figure(replace(made_up, plant=None))
    assert len(without.axes) == 4
    assert "contact" not in without._suptitle.get_text()


def test_changesets_and_windows_are_marked_within_the_span(made_up: Bout) -> None:
    windows = [("FWD", 0.0, 2.0), ("ITF", 2.0, 4.0), ("ITB", 4.0, 6.0)]
    for make in (figures.sensor_figure, figures.state_figure):
        for span, times, names in ((None, [2.0, 4.0], ["FWD", "ITF", "ITB"]), ((3.0, 5.0), [4.0], ["ITF", "ITB"])):
            figure = make(made_up, windows, span)
            for panel in figure.axes[:4]:
                dashed = [x[0] for line in panel.lines if len(x := line.get_xdata()) == 2 and x[0] == x[1]]
                assert dashed == times
            assert [text.get_text() for text in figure.axes[0].texts] == names


def test_lanes_are_filled_while_an_action_is_in_force(made_up: Bout) -> None:
    span = (1.01, 3.99)
    figure = figures.state_figure(made_up, (), span)
    for panel, joint in zip(figure.axes[::2], made_up.joints, strict=True):
        assert [label.get_text() for label in panel.get_yticklabels()] == [
            made_up.states_of[code].name for code in joint.states
        ]
        for lane, code in enumerate(joint.states):
            bars = [c for c in panel.collections if _lane(c) == lane]
            assert len(bars) == 1
            np.testing.assert_allclose(bars[0].get_facecolor()[0, :3], made_up.states_of[code].color)
            edges = [(path.vertices[:, 0].min(), path.vertices[:, 0].max()) for path in bars[0].get_paths()]
            np.testing.assert_allclose(edges, made_up.action_spans(joint, code, *span))
        assert made_up.action_spans(joint, joint.states[0], *span)[0][0] >= span[0]


def _lane(collection: object) -> int | None:
    """The lane a collection of bars fills; None for the shading, which fills the height."""
    paths = collection.get_paths()
    low, high = paths[0].vertices[:, 1].min(), paths[0].vertices[:, 1].max()
    return None if (low, high) == (0.0, 1.0) else round((low + high) / 2)


def test_activations_are_steps_that_last_until_the_next_record(made_up: Bout) -> None:
    figure = figures.state_figure(made_up)
    for panel, joint in zip(figure.axes[1::2], made_up.joints, strict=True):
        lines = {line.get_label(): line for line in panel.lines}
        for muscle, column in zip(joint.muscles, joint.activations, strict=True):
            assert lines[muscle].get_drawstyle() == "steps-post"
            np.testing.assert_array_equal(lines[muscle].get_ydata(), made_up.states.column(column))


def test_muscles_of_a_joint_are_told_apart_and_from_the_actions() -> None:
    pens = muscle_pens(4)
    assert len(set(pens)) == 4
    colours = {to_rgb(color) for color, _ in muscle_pens(2)}
    assert not colours & {state.color for state in bout().states_of}


def test_every_action_has_its_line_beside_the_path(made_up: Bout) -> None:
    figure = Figure()
    axes = figure.subplots()
    path_state.draw_path(axes, made_up, (1.0, 3.0), path_state.TOP)
    band, *lines = axes.collections
    np.testing.assert_allclose(band.get_colors()[0, :3], STANCE)
    assert len(band.get_segments()) == len(made_up.contact_spans(1.0, 3.0)) > 1
    assert len(lines) == len(made_up.joints)
    foot = made_up.between(1.0, 3.0).foot_from_angles()[:, :2]
    np.testing.assert_array_equal(np.column_stack(axes.lines[0].get_data()), foot)
    extent = np.ptp(foot, axis=0).max()
    for k, (joint, line) in enumerate(zip(made_up.joints, lines, strict=True)):
        assert {tuple(c[:3]) for c in line.get_colors().tolist()} == {made_up.states_of[c].color for c in joint.states}
        points = np.concatenate(line.get_segments())
        nearest = np.array([np.hypot(*(foot - point).T).min() for point in points[::10]])
        assert np.median(nearest) == pytest.approx((k + 1) * path_state.OFFSET_SHARE * extent, rel=0.3)
    circle, triangle = axes.lines[1:]
    assert (circle.get_marker(), triangle.get_marker()) == ("o", "^")
    np.testing.assert_array_equal([*circle.get_data()], foot[:1].T)
    np.testing.assert_array_equal([*triangle.get_data()], foot[-1:].T)


@pytest.mark.parametrize("turn", [1.0, -1.0])
def test_lines_run_outside_a_loop_whichever_way_the_foot_goes(turn: float) -> None:
    angle = turn * np.linspace(0.0, 6.0, 200)
    circle = np.column_stack([np.cos(angle), np.sin(angle)])
    normals = path_state.outward_normals(circle)
    np.testing.assert_allclose(normals[1:-1], circle[1:-1], atol=0.02)


def test_where_the_foot_rests_the_line_keeps_its_side() -> None:
    path = np.array([[0.0, 0.0], [1.0, 0.0], [2.0, 0.0], [2.0, 0.0], [2.0, 0.0], [3.0, 0.0], [4.0, 0.0]])
    normals = path_state.outward_normals(path)
    np.testing.assert_allclose(np.abs(normals), [[0.0, 1.0]] * 7)
    assert len(np.unique(normals[:, 1])) == 1
    assert np.isfinite(path_state.outward_normals(np.zeros((5, 2)))).all()


def test_the_moving_average_is_centred() -> None:
    ramp = np.column_stack([np.arange(20.0), np.ones(20)])
    smooth = path_state.moving_average(ramp, 5)
    np.testing.assert_allclose(smooth[2:-2], ramp[2:-2])
    np.testing.assert_array_equal(path_state.moving_average(ramp, 1), ramp)
    assert path_state.moving_average(ramp, 99).shape == ramp.shape


@pytest.mark.parametrize("end_s", [6.0, 9.0])
def test_a_behaviour_is_shown_by_its_last_cycles(made_up: Bout, end_s: float) -> None:
    """The record ends at 6 s, so a window can not go on after it."""
    figure = path_state.behaviour_figure(made_up, ("FWD", 0.0, end_s))
    angles = next(axes for axes in figure.axes if axes.get_ylabel() == "joint angle (deg)")
    begin, end = angles.get_xlim()
    assert end == 6.0
    assert end - begin == pytest.approx(path_state.CYCLES * FWD.period_s, abs=0.05)


def test_the_vertical_view_is_the_one_in_which_the_foot_moves(made_up: Bout) -> None:
    for view, factor in ((path_state.SIDE, 10.0), (path_state.FRONT, 0.01)):
        foot = np.zeros((4, 4))
        foot[0, 0], foot[1, 1], foot[2, 2], foot[3, 3] = factor, 1.0, 1.0, 1.0
        first, *others = made_up.joints
        stretched = replace(made_up, joints=(replace(first, amatrix=foot), *others))
        assert path_state._better_side(stretched, (1.0, 3.0)) == view


def with_knee_actions(count: int) -> Bout:
    names = ("FT_Extension", "FT_Flexion", "FT_Extension2")[:count]
    return bout(with_module(leg(STICK, 3.0), "FTi", actions=(4, 5, 6)[:count], action_names=names), colors=False)


def legend_of(one: Bout) -> tuple[list[Line2D], int]:
    """The entries below a figure with room for all of them, column by column, and how many columns these are."""
    figure = new_figure(20.0, 4.0)
    path_state.fitted_legend(figure, [one])
    [legend] = figure.legends
    return legend.legend_handles, legend._ncols


@pytest.mark.parametrize("knee_actions", [1, 2, 3])
def test_the_legend_has_one_column_for_each_joint(knee_actions: int) -> None:
    one = with_knee_actions(knee_actions)
    entries, columns = legend_of(one)
    rows = len(entries) // columns
    assert rows * columns == len(entries)
    for k, joint in enumerate(one.joints):
        head, *labels = [entry.get_label() for entry in entries[k * rows : (k + 1) * rows]]
        assert head == f"line {k + 1}: {joint.name}"
        assert [label for label in labels if label.strip()] == [one.states_of[code].name for code in joint.states]
        drawn = [(entry.get_color(), entry._unscaled_dash_pattern) for entry in entries[k * rows + 1 : (k + 1) * rows]]
        assert len(set(map(str, drawn[: len(joint.states)]))) == len(joint.states)
    assert "foot in contact" in [entry.get_label() for entry in entries]
    bare, _ = legend_of(replace(one, plant=None))
    assert "foot in contact" not in [entry.get_label() for entry in bare]


def test_actions_without_a_colour_get_one_of_their_joint() -> None:
    plain = bout(colors=False)
    chosen = [state_color(plain, state) for state in plain.states_of]
    assert len(set(chosen)) == len(chosen)
    told = bout()
    assert [state_color(told, state) for state in told.states_of] == [state.color for state in told.states_of]


def test_one_window_alone(made_up: Bout, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Only what is drawn is looked at here, not the drawing."""
    titles = {}

    def keep(figure: Figure, path: Path) -> Path:
        titles[path.name] = figure._suptitle.get_text()
        assert all(axes.get_xlim() == (2.0, 6.0) for axes in figure.axes if "summary" in path.name)
        return path

    monkeypatch.setattr(figures, "save_figure", keep)
    files = figures.draw_window(made_up, tmp_path, ("2-9s", 2.0, 9.0))
    names = ["summary_sensors_2-9s.png", "summary_states_2-9s.png", "pathstate_2-9s.png"]
    assert [file.name for file in files] == list(titles) == names
    assert "2-9s, 2.0 to 6.0 s" in titles["pathstate_2-9s.png"]


@pytest.mark.parametrize("span", [(6.0, 9.0), (3.0, 3.0), (4.0, 2.0)])
def test_a_window_without_records_is_refused_before_anything_is_drawn(
    made_up: Bout, tmp_path: Path, span: tuple[float, float]
) -> None:
    with pytest.raises(AnalysisError, match=r"late, .* s: nothing was recorded in it; the bout ends at 6 s"):
        figures.draw_window(made_up, tmp_path, ("late", *span))
    with pytest.raises(AnalysisError, match="late"):
        figures.draw_figures(made_up, tmp_path, [("FWD", 0.0, 6.0), ("late", *span)])
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("make", [figures.sensor_figure, path_state.path_state_figure])
def test_a_bout_without_records_is_drawn_empty(made_up: Bout, make: Callable) -> None:
    with house_style():
        figure = make(made_up.between(100.0, 200.0))
        assert collisions(figure) == []
    assert "nothing recorded" in [text.get_text() for axes in figure.axes for text in axes.texts]


def test_a_leg_that_does_not_move_is_drawn() -> None:
    tracks = leg(STICK, 3.0)
    still = tuple(replace(m, angle_deg=np.full_like(m.angle_deg, 30.0)) for m in tracks.modules)
    with house_style():
        figure = path_state.behaviour_figure(bout(replace(tracks, modules=still)), ("stick", 0.0, 3.0))
        assert collisions(figure) == []
    # Nothing spans nothing: every axis shows a range around where the leg stands.
    for axes in figure.axes:
        for low, high in (axes.get_xlim(), axes.get_ylim()):
            assert np.isfinite([low, high]).all()
            assert low != high


def test_a_joint_with_three_actions_has_three_lanes() -> None:
    with house_style():
        figure = path_state.behaviour_figure(with_knee_actions(3), ("stick", 0.0, 3.0))
        assert collisions(figure) == []
    lanes = next(axes for axes in figure.axes if axes.get_xlabel().startswith("time"))
    assert len(lanes.get_yticklabels()) == 7


def test_a_joint_with_one_action_and_without_muscles_has_no_activations() -> None:
    one = with_knee_actions(1)
    *others, last = one.joints
    with house_style():
        figure = figures.state_figure(replace(one, joints=(*others, replace(last, muscles=(), activations=()))))
        assert collisions(figure) == []
    assert [axes.get_legend() is None for axes in figure.axes[1::2]] == [False, False, True]


def test_a_model_without_actions_has_no_states_to_draw(made_up: Bout) -> None:
    held = replace(made_up, joints=tuple(replace(j, states=()) for j in made_up.joints))
    with pytest.raises(AnalysisError, match="no joint has actions"):
        figures.state_figure(held)


def test_letters_are_large_enough_on_a_printed_page(roach: Bout) -> None:
    window = ("FWD", 0.0, roach.end_s)
    with house_style():
        drawn = [
            figures.sensor_figure(roach, [window]),
            figures.state_figure(roach, [window]),
            path_state.path_state_figure(roach, [window]),
            path_state.behaviour_figure(roach, window),
        ]
        for figure in drawn:
            figure.draw_without_rendering()
            share = min(1.0, PAGE_IN / figure.get_figwidth())
            assert min(text.get_fontsize() for text in texts(figure)) * share >= 5.5


def test_joints_differ_in_line_style_where_few_cycles_are_shown(made_up: Bout) -> None:
    assert WIDE_IN > PAGE_IN
    short = made_up.subset(1.0, 4.0)
    for figure in (figures.sensor_figure(short), path_state.behaviour_figure(short, ("FWD", 1.0, 4.0))):
        panel = next(axes for axes in figure.axes if axes.get_ylabel() == "joint angle (deg)")
        curves = [line for line in panel.lines if len(line.get_xdata()) > 2]
        assert len(curves) == 3
        assert len({str(line._unscaled_dash_pattern) for line in curves}) == 3


def test_a_foot_that_rests_is_no_path_over_the_whole_plot(made_up: Bout) -> None:
    figure = new_figure(4.0, 4.0)
    axes = figure.subplots()
    still = made_up.sensors.values.copy()
    still[:] = still[0] + 0.05 * np.sin(np.arange(len(still)))[:, None]
    path_state.draw_path(axes, replace(made_up, sensors=replace(made_up.sensors, values=still)), (0.0, 2.0), (0, 1))
    for low, high in (axes.get_xlim(), axes.get_ylim()):
        assert high - low >= path_state.LEAST_CM
    moving = figure.add_subplot()
    path_state.draw_path(moving, made_up, (0.0, 2.0), (0, 1))
    foot = made_up.between(0.0, 2.0).foot_from_angles()
    assert np.ptp(moving.get_xlim()) < 1.4 * max(np.ptp(foot[:, 0]), np.ptp(foot[:, 1]), path_state.LEAST_CM)
