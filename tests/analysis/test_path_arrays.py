"""Path-state plots of any joint, with lines as far apart as one likes, and of plain arrays."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from matplotlib.collections import LineCollection
from matplotlib.figure import Figure

from nuc_engine.analysis import path_state_plot
from nuc_engine.analysis.bout import Bout
from nuc_engine.analysis.errors import AnalysisError
from nuc_engine.figures import figures, path_state
from nuc_engine.figures.path_state import Where

ANGLE = np.linspace(0.0, 6.0, 600)
CIRCLE = np.column_stack([np.cos(ANGLE), np.sin(ANGLE)])
HALVES = (np.sin(ANGLE) >= 0).astype(int)


def lines_of(figure: Figure) -> list[LineCollection]:
    return [item for item in figure.axes[0].collections if isinstance(item, LineCollection)]


def points_of(line: LineCollection) -> np.ndarray:
    return np.concatenate(line.get_segments())


# --- of a bout ---


def test_a_path_is_that_of_the_joint_asked_for(roach: Bout) -> None:
    leg = roach.leg_from_angles()
    for k, joint in enumerate(roach.joints):
        np.testing.assert_array_equal(roach.path_from_angles(joint.name), leg[:, k])
    np.testing.assert_array_equal(roach.path_from_angles("FTi"), leg[:, 3])
    np.testing.assert_array_equal(roach.path_from_angles(), roach.foot_from_angles())
    with pytest.raises(AnalysisError, match="no joint 'nix', expected one of Thorax-Coxa1"):
        roach.path_from_angles("nix")


def test_the_path_of_a_joint_is_drawn_with_lines_as_far_apart_as_asked_for(roach: Bout) -> None:
    on, off = (Figure().subplots() for _ in range(2))
    for axes, offset_cm in ((on, 0.0), (off, 0.4)):
        path_state.draw_path(axes, roach, (0.5, 1.5), path_state.SIDE, Where("FTi", offset_cm))
    knee = roach.between(0.5, 1.5).path_from_angles("FTi")[:, [0, 2]]
    np.testing.assert_array_equal(np.column_stack(off.lines[0].get_data()), knee)
    for k, (middle, line) in enumerate(zip(on.collections[-3:], off.collections[-3:], strict=True), 1):
        np.testing.assert_allclose(np.hypot(*(points_of(line) - points_of(middle)).T), 0.4 * k)


def test_a_joint_that_is_fixed_to_the_body_says_so(roach: Bout) -> None:
    axes = Figure().subplots()
    path_state.draw_path(axes, roach, (0.5, 1.5), path_state.TOP, Where("ThC"))
    assert [text.get_text() for text in axes.texts] == ["this joint does not move"]


def test_figures_of_joints_are_files_of_their_own(roach: Bout, tmp_path: Path) -> None:
    paths = [Where(), Where("FTi"), Where("Coxa-Trochanter", 0.2)]
    made = figures.draw_figures(roach, tmp_path, [("FWD", 0.5, 1.5)], ["path"], views=[path_state.TOP], paths=paths)
    stems = ["pathstate", "pathstate_Femur-Tibia", "pathstate_Coxa-Trochanter"]
    assert [path.name for path in made] == [f"{stem}_{end}.png" for stem in stems for end in ("top", "FWD")]
    made = figures.draw_window(roach, tmp_path, ("1-2s", 1.0, 2.0), ["path"], paths=paths[1:2])
    assert [path.name for path in made] == ["pathstate_Femur-Tibia_1-2s.png"]
    before = sorted(tmp_path.iterdir())
    for wrong in (Where("nix"), Where("FTi", -0.1), Where("FTi", float("nan"))):
        with pytest.raises(AnalysisError):
            figures.draw_figures(roach, tmp_path / "more", (), ["path"], paths=[wrong])
    assert sorted(tmp_path.iterdir()) == before


# --- of plain arrays ---


def test_arrays_give_the_same_lines_as_the_bout_they_are_from(roach: Bout) -> None:
    part = roach.between(0.5, 1.5)
    times = part.sensors.t_s
    joints = [joint for joint in roach.joints if joint.states]
    axes = Figure().subplots()
    path_state.draw_path(axes, roach, (0.5, 1.5), path_state.SIDE, Where("FTi", 0.3))
    smoothing = round(path_state.SMOOTHING_S / float(np.median(np.diff(times))))
    states = {joint.name: roach.actions_at(joint, times) for joint in joints}
    figure = path_state_plot(part.path_from_angles("FTi"), states, view="side", offset=0.3, smoothing=smoothing)
    expected = [line.get_segments() for line in axes.collections[-3:]]
    for line, segments in zip(lines_of(figure), expected, strict=True):
        for one, other in zip(line.get_segments(), segments, strict=True):
            np.testing.assert_array_equal(one, other)


def test_lines_run_beside_the_path_in_the_colours_and_names_given() -> None:
    figure = path_state_plot(
        CIRCLE,
        {"A": HALVES, "B": np.full(len(ANGLE), -1)},
        names={"A": ["down", "up"]},
        colors={"A": [(1.0, 0.0, 0.0)]},
        offset=0.25,
        unit="m",
    )
    one, none = lines_of(figure)
    np.testing.assert_allclose(np.hypot(*points_of(one).T), 1.25, rtol=1e-3)
    assert none.get_segments() == []
    down = [segment[:, 1].mean() < 0 for segment in one.get_segments()]
    assert [color[:3] == (1.0, 0.0, 0.0) for color in map(tuple, one.get_colors().tolist())] == down
    told = [text.get_text() for text in figure.legends[0].get_texts()]
    assert {"line 1: A", "down", "up", "line 2: B", "begin", "end"} <= set(told)
    assert (figure.axes[0].get_xlabel(), figure.axes[0].get_ylabel()) == ("right (m)", "up (m)")


def test_gaps_are_left_open_and_a_part_has_the_colours_of_the_whole() -> None:
    path = CIRCLE.copy()
    path[100:140] = np.nan
    whole, part = (
        path_state_plot(path, {"A": np.arange(600) // 200}, between=between) for between in (None, (210, 599))
    )
    for segment in lines_of(whole)[0].get_segments():
        assert np.isfinite(segment).all()
        assert np.hypot(*np.diff(segment, axis=0).T).max() < 0.1
    first = lines_of(part)[0].get_colors()[0]
    assert any(np.array_equal(first, color) for line in lines_of(whole) for color in line.get_colors()[1:])


@pytest.mark.parametrize(
    ("path", "states", "how", "words"),
    [
        (CIRCLE[:1], {}, {}, "shape"),
        (CIRCLE[:, 0], {}, {}, "shape"),
        (np.zeros((5, 4)), {}, {}, "shape"),
        (np.zeros((5, 3)), {}, {"view": "below"}, "top, side, front"),
        ([["a", "b"]] * 3, {}, {}, "numbers"),
        (CIRCLE * np.nan, {}, {}, "gaps"),
        (CIRCLE, {"A": HALVES[:-1]}, {}, "one for each point"),
        (CIRCLE, {"A": HALVES * 0.5}, {}, "whole numbers"),
        (CIRCLE, {"A": HALVES * np.nan}, {}, "whole numbers"),
        (CIRCLE, {"A": HALVES}, {"names": {"B": ["x"]}}, "B, which has no states"),
        (CIRCLE, {"A": HALVES}, {"offset": -0.1}, "0 or more"),
        (CIRCLE, {"A": HALVES}, {"smoothing": 0}, "1 or more"),
        (CIRCLE, {"A": HALVES}, {"between": (5, 5)}, "before the last"),
        (CIRCLE, {"A": HALVES}, {"between": (0, 600)}, "0 to 599"),
    ],
)
def test_arrays_that_do_not_fit_are_refused_with_what_was_expected(path, states, how, words) -> None:
    with pytest.raises(AnalysisError, match=words):
        path_state_plot(path, states, **how)
