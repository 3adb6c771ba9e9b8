from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from textual.pilot import Pilot

from drivers.servo import PlantFault
from nuc_engine.bout.run import open_leg
from nuc_engine.cli.terminal.legscreen import LegScreen
from nuc_engine.cli.terminal.legview import Canvas, LegView, PlaneWindow, fits, plain_line
from nuc_engine.cli.terminal.live import LiveLeg, StepCounter
from tests.cli.conftest import CONFIGS, Nuc
from tests.cli.screens import play, settle, shown


class Wall:
    """A clock on the wall that only moves while somebody sleeps."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now_s = 50.0
        self.slept: list[float] = []
        self.interrupt_at: float | None = None
        monkeypatch.setattr("nuc_engine.cli.terminal.wallclock.seconds", lambda: self.now_s)
        monkeypatch.setattr("nuc_engine.cli.terminal.wallclock.sleep", self.sleep)

    def sleep(self, duration_s: float) -> None:
        self.slept.append(duration_s)
        self.now_s += max(0.0, duration_s)
        if self.interrupt_at is not None and self.now_s >= self.interrupt_at:
            raise KeyboardInterrupt


@pytest.fixture
def wall(monkeypatch: pytest.MonkeyPatch) -> Wall:
    return Wall(monkeypatch)


@pytest.fixture(scope="module")
def leg() -> LiveLeg:
    """A roach leg after two seconds."""
    leg = LiveLeg(str(CONFIGS / "lin_roach"), None, 0)
    leg.advance(2.0)
    return leg


def test_without_a_terminal_it_tells_a_line_per_second_at_real_speed(nuc: Nuc, tmp_path: Path, wall: Wall) -> None:
    result = nuc("demo", "--seconds", "2.5")
    assert result.exit_code == 0
    lines = result.stdout.splitlines()
    assert [line.split(":")[0] for line in lines] == ["1 s", "2 s", "2 s"]
    assert all("Femur-Tibia FT_" in line and " deg" in line and "foot " in line for line in lines)
    assert wall.now_s == pytest.approx(52.5)
    assert list(tmp_path.iterdir()) == []
    assert "\x1b" not in result.stdout


def test_ctrl_c_is_how_it_ends(nuc: Nuc, wall: Wall) -> None:
    wall.interrupt_at = 53.0
    result = nuc("demo", "lin_roach")
    assert result.exit_code == 0
    assert len(result.stdout.splitlines()) == 2
    assert re.fullmatch(r"3\.0 s, \d+ steps", result.stderr.splitlines()[-1])


def test_a_machine_that_is_too_slow_does_not_race_afterwards(
    nuc: Nuc, wall: Wall, monkeypatch: pytest.MonkeyPatch
) -> None:
    advance = LiveLeg.advance

    def slow(self: LiveLeg, to_s: float) -> None:
        if to_s == 1.0:
            wall.now_s += 10.0
        advance(self, to_s)

    monkeypatch.setattr(LiveLeg, "advance", slow)
    assert nuc("demo", "--seconds", "3").exit_code == 0
    assert wall.now_s == pytest.approx(50.0 + 10.0 + 2.0)


def test_a_leg_without_a_plant_can_not_be_watched(nuc: Nuc, roach: Path) -> None:
    (roach / "plant.toml").unlink()
    result = nuc("demo", str(roach))
    assert result.exit_code == 1
    assert "plant.toml" in result.stderr


def test_a_fault_ends_it_with_its_reason(nuc: Nuc, wall: Wall, monkeypatch: pytest.MonkeyPatch) -> None:
    def open_breaking_leg(*given):
        plant, bus = open_leg(*given)
        advance = plant.advance

        def diverge(now_ns: int) -> None:
            if now_ns > 700_000_000:
                raise PlantFault("the physics diverged before 0.700 s")
            advance(now_ns)

        plant.advance = diverge
        return plant, bus

    monkeypatch.setattr("nuc_engine.cli.terminal.live.open_leg", open_breaking_leg)
    result = nuc("demo", "--seconds", "5")
    assert result.exit_code == 1
    assert "diverged before 0.700 s" in result.stderr
    assert result.stdout == ""


@pytest.mark.parametrize(("columns", "rows"), [(80, 24), (64, 16), (120, 50)])
def test_the_picture_fits_its_terminal_and_shows_every_joint(leg: LiveLeg, columns: int, rows: int) -> None:
    lines = LegView("a leg", lambda text, _color: text).lines(leg.view(), columns, rows, 1.0)
    assert len(lines) == rows
    assert max(map(len, lines)) <= columns
    text = "\n".join(lines)
    for joint in leg.view().joints:
        assert joint.name in text
        assert joint.state is None or joint.state in text
    assert re.search(r"\d+ steps?", lines[-3])
    assert sum(any("\u2800" < c <= "\u28ff" for c in line) for line in lines) > 5


@pytest.mark.parametrize("breaks", [False, True])
def test_the_screen_steps_the_leg_until_the_time_has_come_or_it_can_not(
    monkeypatch: pytest.MonkeyPatch, breaks: bool
) -> None:
    leg = LiveLeg(str(CONFIGS / "lin_roach"), None, 0)
    app = LegScreen(leg, "a leg", 0.2)
    frames: list[list[str]] = []
    view = LiveLeg.view

    def seen(self: LiveLeg) -> Any:
        frames.append(shown(app))
        if breaks:
            raise PlantFault("the physics diverged")
        return view(self)

    monkeypatch.setattr(LiveLeg, "view", seen)

    async def drive(pilot: Pilot[Any]) -> None:
        await app.workers.wait_for_complete()
        await settle(pilot)

    play(app, drive)
    assert leg.time_s == pytest.approx(0.2 if not breaks else 1 / 15)
    assert isinstance(app.wrong, PlantFault) is breaks
    if not breaks:
        assert "a leg" in frames[-1][0]
        assert any("Femur-Tibia" in line for line in frames[-1])


def test_a_terminal_that_shrinks_is_borne(leg: LiveLeg) -> None:
    lines = LegView("a leg", lambda text, _color: text).lines(leg.view(), 20, 5, 1.0)
    assert len(lines) <= 5
    assert not fits(20, 5, 4)
    assert fits(80, 24, 4)


def test_segments_and_states_wear_the_configurations_colours(leg: LiveLeg) -> None:
    used: list[object] = []

    def paint(text: str, color: object) -> str:
        if any(c > "\u2800" for c in text):
            used.append(None if color is None else tuple(color))  # type: ignore[arg-type]
        return text

    view = leg.view()
    LegView("a leg", paint).lines(view, 79, 24, 1.0)
    for joint in view.joints:
        if joint.color is not None:
            assert tuple(joint.color) in used
    names = {state.name: state.plotstyle for j in leg.model.jointlist.joints for state in j.states}
    thc = view.joints[0]
    assert thc.state is not None
    style = names[thc.state]
    assert style is not None
    assert style.colorspec == thc.color


def test_what_is_drawn_is_where_the_plants_foot_is(leg: LiveLeg) -> None:
    view = leg.view()
    assert view.foot is not None
    drawn = view.points[-1]
    # The cockroach's beam gives way by five degrees to either side of how it is drawn: 2 cm at the foot.
    assert all(abs(a - b) < 2.5 for a, b in zip(drawn, view.foot, strict=True))
    assert min(p[2] for p in view.trace) > view.ground_cm


def test_the_plain_line_says_ground_or_air(leg: LiveLeg) -> None:
    line = plain_line(leg.view())
    assert line.startswith("2 s: Thorax-Coxa1 ")
    assert ("on the ground" in line) == (leg.view().contact_n > 0)


def feed(counter: StepCounter, begin_s: float, end_s: float, height_cm: float, contact_n: float) -> None:
    for k in range(round(begin_s * 100), round(end_s * 100)):
        counter.add(k / 100, height_cm, contact_n)


def test_steps_are_counted_at_touch_down() -> None:
    counter = StepCounter(leg_length_cm=28.0)
    for k in range(3):
        feed(counter, k, k + 0.6, 1.0, 2.0)
        feed(counter, k + 0.6, k + 1, 2.0, 0.0)
    assert counter.steps == 2
    feed(counter, 3, 3.1, 1.0, 2.0)
    assert counter.steps == 3
    assert counter.period_s == pytest.approx(1.0)


@pytest.mark.parametrize(("gap_s", "height_cm"), [(0.05, 2.0), (0.4, 1.1)])
def test_bounces_and_scrapes_are_no_steps(gap_s: float, height_cm: float) -> None:
    counter = StepCounter(leg_length_cm=28.0)
    for k in range(3):
        feed(counter, k, k + 1 - gap_s, 1.0, 2.0)
        feed(counter, k + 1 - gap_s, k + 1, height_cm, 0.0)
    feed(counter, 3, 3.5, 1.0, 2.0)
    assert counter.steps == 0


def test_a_fall_onto_the_ground_is_no_step() -> None:
    counter = StepCounter(leg_length_cm=28.0)
    feed(counter, 0, 1, 5.0, 0.0)
    feed(counter, 1, 2, 1.0, 2.0)
    assert counter.steps == 0


@settings(max_examples=50, deadline=None, derandomize=True)
@given(st.lists(st.tuples(st.integers(0, 19), st.integers(0, 15)), max_size=40))
def test_a_canvas_shows_exactly_the_dots_that_were_set(dots: list[tuple[int, int]]) -> None:
    canvas = Canvas(10, 4)
    for x, y in dots:
        canvas.dot(x, y)
    bits = {(0, 0): 1, (0, 1): 2, (0, 2): 4, (1, 0): 8, (1, 1): 16, (1, 2): 32, (0, 3): 64, (1, 3): 128}
    shown = {
        (2 * column + dx, 4 * row + dy)
        for row, line in enumerate(canvas.lines(lambda text, _color: text))
        for column, character in enumerate(line)
        for (dx, dy), bit in bits.items()
        if character != " " and (ord(character) - 0x2800) & bit
    }
    assert shown == set(dots)


def test_dots_outside_the_canvas_are_nowhere() -> None:
    canvas = Canvas(3, 2)
    canvas.thick_line((-50, -50), (50, 50))
    canvas.disc((-5, 3), 2)
    assert [len(line) for line in canvas.lines(lambda text, _color: text)] == [3, 3]


def test_a_frame_has_one_scale_and_keeps_up_up() -> None:
    canvas = Canvas(20, 20)
    frame = PlaneWindow(0, 10, 0, 4).including(12, 2, 1)
    assert frame == PlaneWindow(0, 13, 0, 4)
    assert frame.including(5, 3, 1) is frame
    (x0, y0), (x1, y1) = frame.on(canvas, 0, 0), frame.on(canvas, 1, 1)
    assert x1 - x0 == pytest.approx(y0 - y1)
    assert x1 > x0
