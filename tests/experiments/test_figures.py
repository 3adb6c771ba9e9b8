"""Pictures of a representative repetition."""

import pytest
from PIL import Image

from nuc_engine.experiments.conduct import representative
from nuc_engine.experiments.figures import (
    DrawTask,
    draw_picture,
    draw_task,
    draw_trial,
    events_of_plan,
    last_cycles,
)
from nuc_engine.experiments.protocol import JudgedWindow
from nuc_engine.experiments.trials import run_again
from nuc_engine.figures.canvas import house_style, new_figure
from nuc_engine.figures.few_colors import save_small
from tests.experiments import tiny

MOST_BYTES = 200_000


def test_a_repetition_is_drawn_small_and_the_same_each_time(tmp_path):
    row = tiny.row(bouts=(tiny.plan(kicks_s=(1.0,), script="experiment_a"),), criterion=tiny.kicked)
    trial = tiny.trial(7, kicks=1, kicked_s={"only": (1.0,)})
    figures = draw_task(DrawTask(row, trial, tmp_path))
    assert [figure.file for figure in figures] == ["tiny_angles.png", "tiny_paths.png"]
    first = {figure.file: (tmp_path / figure.file).read_bytes() for figure in figures}
    assert all(len(content) < MOST_BYTES for content in first.values())
    # The curves are those of the leg that was kicked, not of the same one unkicked.
    for same, kicked in ((False, tiny.trial(7)), (True, trial)):
        run_again(row.bouts, kicked, tmp_path / "data")
        (tmp_path / "again").mkdir(exist_ok=True)
        draw_trial(row, trial, {"only": tmp_path / "data/only"}, tmp_path / "again")
        assert (first["tiny_angles.png"] == (tmp_path / "again/tiny_angles.png").read_bytes()) == same
    draw_task(DrawTask(row, trial, tmp_path))
    assert first == {figure.file: (tmp_path / figure.file).read_bytes() for figure in figures}
    assert "seed 7 (as seen; kicked once because it was needed)" in figures[0].caption
    assert "all 0 to 2 s: FWD" in figures[0].caption


def test_what_was_done_by_hand_is_marked_whether_by_the_script_or_because_it_was_needed(tmp_path):
    script = tmp_path / "by_hand.xml"
    script.write_text(
        '<hdsoscript><ground time="0.5" present="n"/><ground time="1.5" present="y"/>'
        '<load time="1" newton="-0.5" duration="0.4"/></hdsoscript>'
    )
    assert events_of_plan(tiny.plan(script=str(script)), (0.75,)) == (
        (0.5, "no ground"),
        (0.75, "kick"),
        (1.0, "-0.5 N on the foot"),
        (1.5, "ground back"),
    )
    assert events_of_plan(tiny.plan(), ()) == ()


def test_several_bouts_are_drawn_beside_each_other(tmp_path):
    plans = (tiny.plan("roach"), tiny.plan("stick", config="pc_stickmiddle"))
    figures = draw_task(DrawTask(tiny.row("both", bouts=plans), tiny.trial(7, outcomes={}), tmp_path))
    assert [figure.file for figure in figures] == ["both_angles.png", "both_paths.png"]
    assert "roach, all 0 to 2 s" in figures[0].caption
    with Image.open(tmp_path / "both_angles.png") as image:
        assert image.mode == "P"


def test_a_picture_over_all_repetitions_carries_no_date(tmp_path):
    trials = [tiny.trial(k, samples={"range": (float(k),)}) for k in range(4)] + [tiny.trial(9, "failed start")]
    row = tiny.row("r", picture=tiny.picture)
    (figure,) = draw_picture(row, trials, tmp_path)
    text = (tmp_path / figure.file).read_text()
    assert figure.file == "r_all.svg"
    assert "<svg" in text
    assert "dc:date" not in text
    assert figure.caption == "All 4 valid repetitions of r."
    draw_picture(row, trials, tmp_path)
    assert (tmp_path / figure.file).read_text() == text
    assert draw_picture(tiny.row("r"), trials, tmp_path) == ()
    assert draw_picture(row, trials[4:], tmp_path) == ()


def test_the_last_cycles_of_a_window_are_shown(roach_bout):
    begin, end = last_cycles(roach_bout, JudgedWindow("w", 1.0, 8.0, "final"))
    assert end == pytest.approx(8.0, abs=0.03)
    assert 1.0 <= begin < 7.0
    assert last_cycles(roach_bout, JudgedWindow("w", 0.0, 0.01, "final")) == pytest.approx((0.0, 0.01))


def test_the_first_repetition_as_seen_represents_the_row():
    bad, good, failed = tiny.trial(1, "otherwise"), tiny.trial(2), tiny.trial(0, "failed start")
    assert representative([failed, bad, good, tiny.trial(3)]) == good
    assert representative([failed, bad]) == bad
    assert representative([failed]) == failed
    assert representative([tiny.trial(4, "aborted")]) is None


def test_a_small_picture_keeps_the_colours_of_its_pens(tmp_path):
    """A joint's line keeps its colour, and the paper stays white, however much else there is in the figure."""
    pens = [(0.0, 0.298, 0.639), (0.7098, 0.0, 0.2196), (0.96, 0.96, 0.96), (0.6, 0.2, 0.4)]
    with house_style():
        figure = new_figure(4.0, 3.0)
        axes = figure.subplots()
        axes.set_axis_off()
        for k, pen in enumerate(pens):
            axes.axhspan(k, k + 0.04, color=pen)
        axes.imshow([[x / 50.0 for x in range(50)]], extent=(0.0, 1.0, 0.5, 0.7), aspect="auto", cmap="hsv")
        axes.set_ylim(-0.5, 4.0)
        with Image.open(save_small(figure, tmp_path / "small.png")) as image:
            found = {color for _, color in image.convert("RGB").getcolors(1 << 16)}
            assert image.convert("RGB").getpixel((0, 0)) == (255, 255, 255)
    assert {tuple(round(255 * part) for part in pen) for pen in pens} <= found
