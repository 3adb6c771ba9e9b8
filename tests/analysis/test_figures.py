"""The figures: that nothing in them collides, and that the same bout gives the same bytes."""

from __future__ import annotations

import os
import struct
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import matplotlib
import numpy as np
import pytest
from matplotlib.figure import Figure
from matplotlib.image import imread

from nuc_engine.analysis.bout import Bout
from nuc_engine.analysis.errors import AnalysisError
from nuc_engine.analysis.load import load_bout
from nuc_engine.figures import figures, path_state
from nuc_engine.figures.canvas import DPI, house_style
from nuc_engine.figures.joint_figures import joint_figure, motor_figure, muscle_figure
from nuc_engine.figures.palette import STANCE
from tests.analysis.printed import collisions, smallest_points

WINDOWS = [("FWD", 0.0, 1.0), ("ITF", 1.0, 2.0)]
DRAWN = [("FWD", 0.0, 1.0)]
ALL = {"summary_sensors.png", "summary_states.png", "pathstate.png", "pathstate_FWD.png"}


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
        ("summary_sensors", (9.0, 1.0 + 1.25 * (1.6 + 1.2 + 1.0 + 4 * 0.45 + 0.9))),
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
        same = path.read_bytes() == (pictures / path.name).read_bytes()
        assert same, path.name


def test_several_processes_draw_the_same_bytes(finished_roach: Path, tmp_path: Path) -> None:
    bout = load_bout(finished_roach)
    for name in ("alone", "shared"):
        (tmp_path / name).mkdir()
    alone = figures.draw_figures(bout, tmp_path / "alone")
    shared = figures.draw_figures(bout, tmp_path / "shared", processes=2)
    assert [path.name for path in shared] == [path.name for path in alone]
    assert [path.read_bytes() for path in shared] == [path.read_bytes() for path in alone]


def test_places_do_not_depend_on_the_order_in_which_the_layout_is_solved(finished_roach: Path) -> None:
    bout = load_bout(finished_roach)
    with house_style():
        figure = figures.sensor_figure(bout, DRAWN)
        figure.canvas.draw()
    places = [axes.get_position().get_points() for axes in figure.axes]
    assert all((place == place.round(9)).all() for place in places)


def test_the_same_bytes_in_another_process_whatever_the_users_own_style(
    pictures: Path, finished_roach: Path, tmp_path: Path
) -> None:
    style = tmp_path / "style"
    style.write_text("font.size: 30\nlines.linewidth: 9\npath.simplify: True\nsavefig.dpi: 30\naxes.grid: True\n")
    program = (
        "import sys, pathlib; from nuc_engine.analysis import load_bout; from nuc_engine.figures import draw_figures;"
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
        same = path.read_bytes() == (pictures / path.name).read_bytes()
        assert same, path.name


def test_the_style_of_others_is_left_alone() -> None:
    with matplotlib.rc_context({"font.size": 33.0, "axes.spines.top": True}):
        with house_style():
            assert matplotlib.rcParams["axes.spines.top"] is False
            assert matplotlib.rcParams["font.size"] < 33.0
        assert (matplotlib.rcParams["font.size"], matplotlib.rcParams["axes.spines.top"]) == (33.0, True)


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


def test_letters_are_large_enough_on_a_printed_page(roach: Bout) -> None:
    window, joint = ("FWD", 0.0, roach.end_s), roach.joints[0]
    with house_style():
        drawn = [
            figures.sensor_figure(roach, [window]),
            figures.state_figure(roach, [window]),
            path_state.path_state_figure(roach, [window]),
            path_state.behaviour_figure(roach, window),
            joint_figure(roach, joint, window[1:]),
            muscle_figure(roach, joint, joint.muscles[0], window[1:]),
            motor_figure(roach, joint, window[1:]),
        ]
    assert min(map(smallest_points, drawn)) >= 5.9


def test_joints_differ_in_line_style_where_few_cycles_are_shown(made_up: Bout) -> None:
    short = made_up.subset(1.0, 4.0)
    for figure in (figures.sensor_figure(short), path_state.behaviour_figure(short, ("FWD", 1.0, 4.0))):
        panel = next(axes for axes in figure.axes if axes.get_ylabel() == "joint angle (deg)")
        curves = [line for line in panel.lines if len(line.get_xdata()) > 2]
        assert len(curves) == 3
        assert len({str(line._unscaled_dash_pattern) for line in curves}) == 3
