"""Movies of the leg: what is in a frame, how frames follow each other, and that a camera's film keeps in step."""

from __future__ import annotations

import itertools
import json
import subprocess
from dataclasses import replace

import numpy as np
import pytest
from click.testing import CliRunner
from matplotlib.backends.backend_agg import FigureCanvasAgg
from PIL import Image

from nuc_engine.analysis.errors import AnalysisError
from nuc_engine.analysis.load import load_bout
from nuc_engine.analysis.log_columns import model_of
from nuc_engine.bout.run import BoutSpec, run_bout
from nuc_engine.cli.app import app
from nuc_engine.figures.canvas import house_style
from nuc_engine.figures.movie.camera import open_camera
from nuc_engine.figures.movie.captions import LONGEST, Caption, Captions, captions_of
from nuc_engine.figures.movie.file import ffmpeg_program, write_movie
from nuc_engine.figures.movie.make import MovieSpec, frame_count, make_movie, speed_of
from nuc_engine.figures.movie.panel import CONTACT_COLOR, VIEWS, extent_of, view_of
from nuc_engine.figures.movie.renderer import FrameRenderer
from nuc_engine.figures.movie.scene import scene_of
from nuc_engine.model.planning import build_plan
from nuc_engine.plants.events import BaseHeight, Ground
from tests.analysis import synthetic
from tests.analysis.gaps import without
from tests.analysis.printed import texts

SHORT = MovieSpec(1.0, 1.4, speed=0.5, fps=10.0, views=("side",))
RED, GREEN, BLUE = (200, 0, 0), (0, 160, 0), (0, 0, 200)


@pytest.fixture(scope="module")
def walking():
    return synthetic.bout(synthetic.leg(duration_s=4.0))


def has_color(picture, color, within=6):
    wanted = np.array([round(255 * part) for part in color])
    return int((np.abs(picture[:, :, :3].astype(int) - wanted).max(axis=2) <= within).sum())


def frames_of(path, size=(1280, 720)):
    """All frames of a video of this size."""
    words = [ffmpeg_program(), "-v", "error", "-i", str(path), "-f", "rawvideo", "-pix_fmt", "rgb24", "-"]
    data = subprocess.run(words, capture_output=True, check=True).stdout
    return np.frombuffer(data, dtype=np.uint8).reshape(-1, size[1], size[0], 3)


@pytest.mark.parametrize(
    ("begin", "end", "speed", "fps", "frames"),
    [(0, 10, 1.0, 25, 250), (15, 25, 0.25, 25, 1000), (0, 0.3, 1.0, 10, 3), (0, 0.01, 4.0, 10, 1)],
)
def test_how_many_frames_a_movie_has(begin, end, speed, fps, frames):
    assert frame_count(MovieSpec(begin, end, speed, fps), end) == frames


@pytest.mark.parametrize(
    ("begin", "end", "asked", "speed", "seconds"),
    [
        (0.0, 5.0, None, 1.0, 5.0),
        (0.0, 10.0, None, 1.0, 10.0),
        (0.0, 60.0, None, 3.0, 20.0),
        (0.0, 600.0, None, 30.0, 20.0),
        (15.0, 25.0, None, 1.0, 10.0),
        (0.0, 60.0, 0.25, 0.25, 240.0),
        (0.0, 4.0, 2.0, 2.0, 2.0),
    ],
)
def test_a_short_bout_is_shown_in_real_time_and_a_long_one_in_20_s(begin, end, asked, speed, seconds):
    spec = MovieSpec(begin, end, speed=asked)
    assert speed_of(spec, end) == speed
    assert frame_count(spec, end) / spec.fps == pytest.approx(seconds)


def test_segments_have_the_colour_of_their_joints_action(walking):
    times = [0.2, 1.0, 1.7]
    scene = scene_of(walking, times, 1.0)
    for lane, joint in zip(scene.lanes, walking.joints, strict=True):
        codes = walking.actions_at(joint, np.array(times))
        assert lane.actions == tuple(walking.states_of[code].name.rpartition("_")[2] for code in joint.states)
        assert [joint.states[place] for place in lane.place] == codes.tolist()
        assert np.allclose(lane.colors[lane.place], [synthetic.COLORS[code] for code in codes])
    assert np.allclose(scene.segments, np.stack([lane.colors[lane.place] for lane in scene.lanes], axis=1))


def test_a_joint_without_actions_wears_the_colour_of_the_one_before_it(walking):
    held = replace(walking.joints[1], states=(), action=None)
    scene = scene_of(replace(walking, joints=(walking.joints[0], held, walking.joints[2])), [1.0], 1.0)
    assert np.array_equal(scene.segments[0, 1], scene.segments[0, 0])
    assert len(scene.lanes) == 2


def test_leg_foot_and_contact_are_those_of_the_record(walking):
    times = [0.5, 1.1, 2.05]
    scene = scene_of(walking, times, 0.5)
    angles = np.stack([np.interp(times, walking.sensors.t_s, column) for column in walking.angles_deg().T], axis=1)
    part = replace(walking.sensors, t_s=np.array(times), values=np.repeat(angles, 2, axis=1))
    assert np.allclose(scene.leg[:, -1], replace(walking, sensors=part).foot_from_angles())
    plant = walking.plant
    assert np.allclose(scene.foot[:, 2], np.interp(times, plant.t_s, plant.values[:, 2]))
    assert scene.contact.tolist() == [bool(np.interp(t, plant.t_s, plant.values[:, 3]) > 0.05) for t in times]


def test_the_emulated_legs_own_geometry_leads_to_its_true_foot(stiff_roach):
    times = [0.5, 1.0, 1.5]
    scene = scene_of(stiff_roach, times, 0.5)
    assert np.abs(scene.leg[:, -1] - scene.foot).max() < 0.6
    stiff = scene_of(replace(stiff_roach, folder=stiff_roach.folder / "nothing here"), times, 0.5)
    assert np.abs(stiff.leg[:, -1] - stiff.foot).max() > 1.0


def test_the_foot_stands_on_the_ground_it_touches(roach):
    """Its lowest point, with the radius it is drawn with; where the ground presses harder it is a little soft."""
    scene = scene_of(roach, np.arange(0.0, 1.9, 0.01), 0.5)
    low = scene.foot[:, 2] - scene.radius_cm
    # docs/plants.md: the first joint of the cockroach is 7.7 cm above the ground, and at z = 10.5 cm.
    assert scene.ground == pytest.approx(2.8)
    assert abs(float(np.median((low - scene.ground)[scene.contact]))) < 0.02
    assert (low - scene.ground)[~scene.contact].min() > -0.2
    with house_style():
        shown = FrameRenderer(scene, tuple(VIEWS), 1.0, 360, with_camera=False)
    k = int(np.flatnonzero(scene.contact)[20])
    shown.picture(k, None)
    for panel in shown._panels:
        foot = panel._moving[-1]
        assert (foot.width, foot.height) == (2 * scene.radius_cm, 2 * scene.radius_cm)
    side = shown._panels[0]
    ground = side._ground.get_xy()[:, 1].max()
    # Within a pixel.
    pixel_cm = np.ptp(side._axes.get_ylim()) / side._axes.get_window_extent().height
    assert abs(side._moving[-1].center[1] - scene.radius_cm - ground) < max(pixel_cm, 0.05)


def moved_ground(folder, events, **more):
    spec = BoutSpec("lin_roach", folder / "data", duration_s=2.0, seed=3, events=events, **more)
    return load_bout(run_bout(spec).folder)


def test_the_ground_is_where_events_and_the_plants_own_numbers_have_it(tmp_path):
    events = (BaseHeight(500_000_000, 9.0), Ground(1_000_000_000, False), Ground(1_200_000_000, True))
    bout = moved_ground(tmp_path, events, plant={"world.base_height_cm": 8.0})
    scene = scene_of(bout, np.arange(0.0, 1.99, 0.01), 0.5)
    at = dict(zip(np.round(scene.times_s, 2), scene.ground, strict=True))
    assert [at[t] for t in (0.0, 0.49, 0.5, 0.9)] == pytest.approx([2.5, 2.5, 1.5, 1.5])
    assert np.isnan([at[t] for t in (1.0, 1.1, 1.19)]).all()
    # It comes back from where the foot is, at 20 cm/s, and never stands inside the foot.
    back = scene.ground[scene.times_s > 1.205]
    assert back[-1] == pytest.approx(1.5)
    assert (np.diff(back) >= 0).all()
    low = scene.foot[:, 2] - scene.radius_cm
    assert np.nanmin(low - scene.ground) > -0.7
    assert np.nanmax(np.abs(low - scene.ground)[scene.contact]) < 0.7
    assert [text for _, text in scene.captions.events] == [
        "by hand: 9 cm high",
        "by hand: no ground",
        "by hand: ground back",
    ]
    between = scene.times_s[:-1] + 0.003
    later = scene_of(bout.shifted(5.0), between + 5.0, 0.5)
    np.testing.assert_allclose(later.ground, scene_of(bout, between, 0.5).ground, atol=0.02)


def test_without_a_plant_the_foot_is_computed_and_nothing_is_said_of_contact(walking):
    scene = scene_of(replace(walking, plant=None), [1.0], 0.5)
    assert scene.contact is None
    assert scene.ground is None
    assert np.allclose(scene.foot, scene.leg[:, -1])


def test_what_was_not_recorded_is_not_drawn(walking):
    gap = without(walking, 1.0, 2.0)
    times = [0.9, 1.5, 2.1, 2.6]
    scene = scene_of(gap, times, 1.0)
    assert np.isfinite(scene.leg).all(axis=(1, 2)).tolist() == [True, False, True, True]
    assert np.isfinite(scene.foot).all(axis=1).tolist() == [True, False, True, True]
    assert not scene.contact[1]
    assert all(lane.place[1] == len(lane.actions) for lane in scene.lanes)
    shown = stage(gap, times)
    nothing, after = shown.picture(1, None), shown.picture(3, None)
    for color in synthetic.COLORS:
        # The trail of what was recorded before remains; a leg would be much more.
        assert has_color(nothing, color) < 200
    assert sum(has_color(after, color) > 200 for color in synthetic.COLORS) >= 3
    # The foot's path neither crosses the gap nor goes on in it.
    trail = shown._panels[0]._trail
    first, last = np.searchsorted(scene.path_s, [0.1, 2.6])
    inside = (scene.path_s > 1.05) & (scene.path_s < 1.99)
    assert np.isnan(trail._lines[:, inside]).all()
    lines, colors = trail.pieces(int(first), int(last))
    assert len(lines) == len(colors) > 6
    assert all(np.isfinite(line).all() for line in lines)
    longest = max(np.hypot(*np.diff(line, axis=0).T).max() for line in lines if len(line) > 1)
    whole = stage(walking, times)._panels[0]._trail._lines
    assert longest < 3 * np.nanmax(np.hypot(*np.diff(whole[0], axis=0).T))
    # Lines of different joints are as far apart as without a gap.
    apart = [np.nanmedian(np.hypot(*(lines[1] - lines[0]).T)) for lines in (trail._lines, whole)]
    assert apart[0] == pytest.approx(apart[1], rel=0.05)
    assert apart[0] > 0.1


def test_a_movie_of_which_nothing_was_recorded_of_the_foot_is_made(walking):
    shown = stage(without(walking, 0.0, 3.0, ["plant"]), [1.0, 1.5], ("side", "3d"))
    picture = shown.picture(1, None)
    for lane in shown._scene.lanes:
        assert has_color(picture, lane.colors[lane.place[1]]) > 200


def test_the_record_begins_with_its_first_record_and_not_before(walking):
    late = without(walking, 0.0, 1.0)
    scene = scene_of(late, [0.5, 0.99, 1.01], 1.0)
    assert np.isfinite(scene.leg[:, -1, 0]).tolist() == [False, True, True]


def stage(bout, times, views=("side",), **more):
    with house_style():
        return FrameRenderer(scene_of(bout, times, 1.0), views, 0.5, 360, with_camera=False, **more)


def test_contact_is_marked_in_the_frames_that_have_it(walking):
    # At 0.25 s the foot swings (0.9 s a step, 55 % of it in the air), at 0.75 s it stands.
    shown = stage(walking, [0.25, 0.75])
    air, ground = shown.picture(0, None), shown.picture(1, None)
    assert has_color(ground, CONTACT_COLOR) - has_color(air, CONTACT_COLOR) > 100


def test_a_frame_shows_the_colours_of_its_actions_and_nothing_of_other_frames(walking):
    shown = stage(walking, [0.25, 0.75], views=("side", "front", "top", "3d"))
    swing, stance = shown.picture(0, None), shown.picture(1, None)
    for code in (synthetic.LEV, synthetic.PRO_CTR, synthetic.FLX):
        assert has_color(swing, synthetic.COLORS[code]) > 2 * has_color(stance, synthetic.COLORS[code]) > 0
    assert np.array_equal(shown.picture(0, None), swing)


def test_what_stands_still_is_drawn_once(walking, monkeypatch):
    """And with it most of the time that a movie takes."""
    shown, drawn = stage(walking, np.arange(0.5, 1.5, 0.1)), []
    draw = FigureCanvasAgg.draw
    monkeypatch.setattr(FigureCanvasAgg, "draw", lambda canvas: drawn.append(1) or draw(canvas))
    for k in range(10):
        shown.picture(k, None)
    assert len(drawn) == 1


@pytest.mark.parametrize("views", ["side", "side,top", "top,front", "side,front,top", "side,front,top,3d"])
@pytest.mark.parametrize("kind", ["roach", "stick"])
def test_views_fill_the_frame(kind, views, request):
    """Each has its content as large as its place allows, and together they have the room between the words."""
    bout = load_bout(request.getfixturevalue(f"finished_{kind}"))
    shown = stage(bout, np.arange(0.1, 1.9, 0.05), views.split(","))
    scales = []
    for panel, name in zip(shown._panels, views.split(","), strict=True):
        axes = panel._axes
        limits = np.array([axes.get_xlim(), axes.get_ylim()])
        low, high = extent_of(shown._scene, view_of(shown._scene, name))
        assert (limits[:, 0] <= low + 1e-6).all()
        assert (limits[:, 1] >= high - 1e-6).all()
        assert ((high - low) / np.ptp(limits, axis=1)).max() == pytest.approx(1.0)
        box = axes.get_window_extent()
        scales.append(box.width / np.ptp(limits[0]))
        assert scales[-1] == pytest.approx(box.height / np.ptp(limits[1]))
    boxes = [panel._axes.get_window_extent() for panel in shown._panels]
    area = sum(box.width * box.height for box in boxes)
    assert area > 0.45 * shown._figure.bbox.width * shown._figure.bbox.height
    assert max(scales) < 2 * min(scales)


@pytest.mark.parametrize("height", [480, 720])
@pytest.mark.parametrize("name", ["lin_roach", "restricted_null_stick"])
def test_no_words_lie_on_others_or_outside(roach, height, name):
    long = Captions((Caption(0.0, 2.0, "backward", "dragging cycle (meant: backward)"),), ((0.5, "x" * LONGEST),))
    scene = replace(scene_of(roach, [0.5, 0.6], 1.0), label=name, captions=long)
    with house_style():
        shown = FrameRenderer(scene, tuple(VIEWS), 0.123, height, with_camera=False)
    shown.picture(1, None)
    boxes = [(text.get_text(), text.get_window_extent()) for text in texts(shown._figure)]
    width, tall = shown.size
    for text, box in boxes:
        assert -1 <= box.x0 < box.x1 <= width + 1, text
        assert -1 <= box.y0 < box.y1 <= tall + 1, text
    for (one, a), (other, b) in itertools.combinations(boxes, 2):
        assert min(a.x1, b.x1) - max(a.x0, b.x0) < 0.5 or min(a.y1, b.y1) - max(a.y0, b.y0) < 0.5, (one, other)


def test_behaviour_and_changes_of_the_script_are_written(roach):
    captions = scene_of(roach, [0.5], 1.0).captions
    assert [(shown.begin_s, shown.name, shown.text) for shown in captions.behaviours] == [
        (0.0, "FWD", "not judged (meant: FWD)"),
        (1.0, "ITF", "not judged (meant: ITF)"),
    ]
    (_, start), (first, text), (second, rules), (third, other) = captions.events
    assert (captions.event_at(0.0, 0.3), start) == (start, "script: TC1_retLEV_FTang = 60")
    assert (first, text) == (0.5, "script: TC1_retLEV_FTang = 61")
    assert second == third == 1.0
    assert rules.startswith("script: Enter_FT_Extension = (TC1_current < FT_flux_TC1_load) & (FT_angle > FT_")
    assert len(rules) <= LONGEST
    assert other.startswith("script: Enter_FT_Flexion = ")
    assert [captions.behaviour_at(t) for t in (0.0, 0.99, 1.0)] == [
        "not judged (meant: FWD)",
        "not judged (meant: FWD)",
        "not judged (meant: ITF)",
    ]
    times = (0.4, 0.5, 0.79, 0.81, 1.0, 1.14, 1.16, 1.29, 1.31)
    found = [captions.event_at(t, 0.3) for t in times]
    assert found == ["", text, text, "", rules, rules, other, other, ""]


def test_the_outcome_is_what_docs_outcomes_says(tmp_path):
    bout = load_bout(run_bout(BoutSpec("lin_roach", tmp_path / "data", duration_s=10.0, seed=3)).folder)
    assert [shown.text for shown in scene_of(bout, [0.5], 1.0).captions.behaviours] == ["FWD"]
    still = replace(bout, sensors=replace(bout.sensors, values=0 * bout.sensors.values))
    assert [shown.text for shown in captions_of(still).behaviours] == ["chattering (meant: FWD)"]


@pytest.mark.parametrize("count", [8, 40])
def test_many_changes_at_once_are_written_one_after_the_other_and_all_are_counted(folder, count):
    ids = [(hdso.id_num, hdso.name) for hdso in build_plan(model_of(folder)).hdsos if 121 <= hdso.id_num < 129]
    written = (ids * count)[:count]
    mods = "".join(
        f'<hdsoMod idNum="{k}" name="{name}" NumElts="1" datatype="float" time="1">0.{k}</hdsoMod>'
        for k, name in written
    )
    (folder / "Scriptlog.xml").write_text(f'<hdsoscript ScriptType="Scriptlog" name="log">{mods}</hdsoscript>')
    events = captions_of(load_bout(folder)).events
    assert {time for time, _ in events} == {1.0}
    texts = [text for _, text in events]
    assert max(map(len, texts)) <= LONGEST
    said = ", ".join(text.removeprefix("script: ") for text in texts)
    shown, _, more = said.partition(", and ")
    assert [word.partition(" = ")[0] for word in shown.split(", ")] == [name for _, name in written][: shown.count("=")]
    assert shown.count("=") + int(more.removesuffix(" more") or 0) == count
    assert (more == "") == (count == 8)


def test_the_path_has_one_line_per_joint_in_runs_of_one_colour(walking):
    shown = stage(walking, [0.0, 3.0])
    trail = shown._panels[0]._trail
    lines, colors = trail.pieces(100, 200)
    assert sum(len(line) for line in lines) >= 3 * 100
    assert len(lines) == len(colors)
    assert 3 <= len(lines) <= 3 + 6
    assert [len(part) for part in trail.pieces(50, 50)] == [0, 0]


@pytest.mark.parametrize("name", sorted(VIEWS))
def test_views_are_projections_without_distortion(name):
    rows = np.array(VIEWS[name].rows)
    assert np.allclose(rows @ rows.T, np.eye(2))


def test_directions_of_the_views():
    forward, left, up = np.eye(3)
    assert (np.array(VIEWS["side"].rows) @ forward).tolist() == [1, 0]
    assert (np.array(VIEWS["front"].rows) @ left).tolist() == [
        1,
        0,
    ]  # Who looks at it has the animal's left at the right.
    assert (np.array(VIEWS["top"].rows) @ left).tolist() == [0, 1]
    slanted = np.array(VIEWS["3d"].rows)
    assert (slanted @ up)[1] > 0.8
    assert (slanted @ forward)[1] < 0  # What is in front is nearer, so lower.


def test_an_mp4_has_the_size_and_frames_that_were_asked_for(walking, tmp_path):
    out = tmp_path / "leg.mp4"
    seen = []
    assert make_movie(walking, SHORT, out, lambda done, of: seen.append((done, of))) == 8
    assert len(frames_of(out)) == 8
    said = subprocess.run([ffmpeg_program(), "-i", str(out)], capture_output=True, text=True, check=False).stderr
    assert "1280x720" in said
    assert "10 fps" in said
    assert seen == [(k + 1, 8) for k in range(8)]
    assert list(tmp_path.iterdir()) == [out]


def test_a_gif_keeps_time_over_its_length(walking, tmp_path):
    out = tmp_path / "leg.gif"
    spec = replace(SHORT, begin_s=0.0, end_s=0.8, speed=1.0, fps=30.0)
    assert make_movie(walking, spec, out) == 24
    with Image.open(out) as image:
        durations = []
        for k in range(image.n_frames):
            image.seek(k)
            durations.append(image.info["duration"])
    assert sum(durations) == pytest.approx(800, abs=10)


@pytest.mark.parametrize("ending", ["mp4", "gif"])
def test_ctrl_c_leaves_no_torn_file_and_the_old_one_as_it_was(walking, tmp_path, ending):
    out = tmp_path / f"leg.{ending}"
    out.write_bytes(b"the old one")

    def stop(done, of):
        if done == 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        make_movie(walking, SHORT, out, stop)
    assert out.read_bytes() == b"the old one"
    assert list(tmp_path.iterdir()) == [out]


def plain(color, size=(64, 48)):
    return np.full((size[1], size[0], 3), color, dtype=np.uint8)


def middle(film):
    return None if film is None else tuple(int(part) for part in film[film.shape[0] // 2, film.shape[1] // 2])


def test_a_folder_of_frames_is_a_film(tmp_path):
    for k, color in enumerate((RED, GREEN, BLUE)):
        Image.fromarray(plain(color)).save(tmp_path / f"frame{k:03}.png")
    (tmp_path / "notes.txt").write_text("not a picture")
    camera = open_camera(tmp_path, 0.0, 25.0, 10.0)
    assert [middle(camera.at(t)) for t in (-0.01, 0.0, 0.09, 0.1, 0.25, 0.3)] == [None, RED, RED, GREEN, BLUE, None]


def test_frames_of_a_gif_take_their_own_time(tmp_path):
    pictures = [Image.fromarray(plain(color)) for color in (RED, GREEN, BLUE)]
    pictures[0].save(tmp_path / "a.gif", save_all=True, append_images=pictures[1:], duration=[100, 400, 100])
    camera = open_camera(tmp_path / "a.gif", 0.0, 25.0, 25.0)
    found = [middle(camera.at(t)) for t in (0.05, 0.15, 0.45, 0.55, 0.65)]
    assert [None if color is None else int(np.argmax(color)) for color in found] == [0, 1, 1, 2, None]


@pytest.mark.parametrize("begin", [0.0, 0.5])
def test_a_video_keeps_in_step_from_wherever_it_is_looked_at(tmp_path, begin):
    path = tmp_path / "film.mp4"
    # Brighter by one step in each of 20 frames, a tenth of a second long.
    write_movie(path, (plain((10 * k, 10 * k, 10 * k)) for k in range(20)), (64, 48), 10.0)
    camera = open_camera(path, begin, 100.0, 25.0)
    for time in (0.55, 0.95, 1.0, 1.85):
        assert middle(camera.at(time))[0] == pytest.approx(10 * int(time * 10 + 1e-6), abs=4)
    assert camera.at(2.5) is None
    assert camera.at(-1.0) is None
    camera.close()


@pytest.mark.parametrize("ending", ["mp4", "mkv", "avi"])
@pytest.mark.parametrize("rate", [6.0, 40.0])
@pytest.mark.parametrize("begin", [-0.313, 1.19, 2.333])
def test_each_moment_gets_the_last_frame_that_had_begun_by_then(films, ending, begin, rate):
    camera = open_camera(films / f"film.{ending}", begin, rate, 25.0)
    for k in range(int(1.1 * rate)):
        time = begin + k / rate
        film = camera.at(time)
        frame = int(np.floor(time * 15 + 0.015))  # Times in a film are rounded; a millisecond early is in time.
        found = None if film is None else round(middle(film)[0] / 20)
        assert found == (frame % 12 if 0 <= frame < 48 else None), time
    camera.close()


@pytest.fixture(scope="module")
def films(tmp_path_factory):
    """Films of 48 frames, 15 a second, brighter by one step in each of twelve."""
    folder = tmp_path_factory.mktemp("films")
    for ending in ("mp4", "mkv", "avi"):
        pictures = (plain((20 * (k % 12),) * 3) for k in range(48))
        write_movie(folder / f"film.{ending}", pictures, (64, 48), 15.0)
    return folder


def test_the_film_runs_beside_the_leg_with_its_offset(walking, tmp_path):
    frames = tmp_path / "frames"
    frames.mkdir()
    for k in range(40):
        Image.fromarray(plain(RED if k < 20 else BLUE)).save(frames / f"{k:03}.png")
    out = tmp_path / "both.mp4"
    # The camera was started 0.8 s before the leg: its frame at 2 s is the leg's 1.2 s.
    make_movie(walking, replace(SHORT, camera=frames, offset_s=0.8, camera_fps=10.0), out)
    pictures = frames_of(out)
    colors = [int(np.argmax(picture[360, 320])) for picture in pictures]
    assert colors == [0, 0, 0, 0, 2, 2, 2, 2]


def test_before_its_film_begins_the_place_stays_grey(walking, tmp_path):
    Image.fromarray(plain(RED)).save(tmp_path / "0.png")
    out = tmp_path / "both.mp4"
    told: list[str] = []
    make_movie(walking, replace(SHORT, camera=tmp_path, offset_s=-5.0), out, tell=told.append)
    assert len(told) == 1
    assert "no pictures from -4 to -3.65 s" in told[0]
    make_movie(walking, replace(SHORT, camera=tmp_path, offset_s=-1.2), tmp_path / "some.mp4", tell=told.append)
    assert len(told) == 1
    pictures = frames_of(out)
    assert np.ptp(pictures[0][360, 320].astype(int)) < 6
    assert pictures[0][360, 320, 0] < 240


@pytest.mark.parametrize(
    ("spec", "name", "said"),
    [
        (replace(SHORT, views=("side", "behind")), "a.mp4", "expected one to four of"),
        (replace(SHORT, views=()), "a.mp4", "expected one to four of"),
        (replace(SHORT, views=("side",) * 5), "a.mp4", "expected one to four of"),
        (replace(SHORT, begin_s=9.0, end_s=10.0), "a.mp4", "the bout ends at"),
        (replace(SHORT, begin_s=2.0, end_s=1.0), "a.mp4", "no angles were recorded"),
        (replace(SHORT, speed=0.0), "a.mp4", "expected a speed above 0"),
        (replace(SHORT, speed=1e-6), "a.mp4", "more than 200000 frames"),
    ],
)
def test_what_can_not_be_shown_is_said(walking, tmp_path, spec, name, said):
    with pytest.raises(AnalysisError, match=said):
        make_movie(walking, spec, tmp_path / name)
    assert not list(tmp_path.iterdir())


def test_camera_files_that_are_none_are_named(tmp_path):
    with pytest.raises(AnalysisError, match="no such camera file"):
        open_camera(tmp_path / "film.mp4", 0.0, 25.0, 25.0)
    with pytest.raises(AnalysisError, match="no pictures in this folder"):
        open_camera(tmp_path, 0.0, 25.0, 25.0)
    for name in ("film.mp4", "film.gif"):
        (tmp_path / name).write_bytes(b"not a film")
        with pytest.raises(AnalysisError, match="cannot be read"):
            open_camera(tmp_path / name, 0.0, 25.0, 25.0)


def test_a_folder_that_is_not_there_is_an_error_of_the_system(walking, tmp_path):
    with pytest.raises(OSError, match="No such file"):
        make_movie(walking, SHORT, tmp_path / "nowhere" / "a.mp4")


def test_the_command_reports_what_it_made(folder, tmp_path):
    words = ["movie", str(folder), "--begin", "0.5", "--end", "1", "--speed", "1", "--fps", "10"]
    out = tmp_path / "x.gif"
    result = CliRunner().invoke(app, [*words, "--views", "side,3d", "--out", str(out), "--json"])
    assert result.exit_code == 0, result.stderr
    data = json.loads(result.stdout)
    assert (data["frames"], data["seconds"]) == (5, 0.5)
    assert data["bytes"] == out.stat().st_size
    Image.fromarray(plain(RED)).save(tmp_path / "0.png")
    past = CliRunner().invoke(app, [*words, "--camera", str(tmp_path), "--offset", "90", "--out", str(out)])
    assert past.exit_code == 0
    assert "no pictures from 90.5 to 90.9 s" in past.stderr
    wrong = CliRunner().invoke(app, [*words, "--views", "sideways"])
    assert wrong.exit_code == 2
    late = CliRunner().invoke(app, ["movie", str(folder), "--begin", "50"])
    assert late.exit_code == 1
    assert "the bout ends at" in late.stderr
