"""`nuc ctl watch`: the whole leg, with what is wrong first."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import msgspec
import pytest
from textual.pilot import Pilot

from nuc_engine.cli.ctl.watching import Watch, event_lines
from nuc_engine.cli.ctl.watchscreen import WatchScreen
from nuc_engine.cli.ctl.watchview import WatchState, plain_line
from tests.cli.screens import Paper, play, settle, shown
from tests.client.fake_daemon import TASKS, FakeDaemon, Leg


@pytest.fixture
def daemon() -> FakeDaemon:
    daemon = FakeDaemon(Leg())
    daemon.leg.values |= {name: 88.4 for name in daemon.leg.values if name.endswith("_angle")}
    daemon.leg.values |= {name: -0.42 for name in daemon.leg.values if name.endswith("_current")}
    daemon.mode, daemon.bout, daemon.control = "RUNNING", 3, "bob"
    return daemon


@pytest.fixture
def view(daemon: FakeDaemon) -> WatchState:
    watch = Watch(Paper(daemon))
    watch.refresh()
    return watch.view


def screen_of(watch: Watch, columns: int = 80, rows: int = 24) -> list[str]:
    """What is shown after a look at the leg."""
    app = WatchScreen(watch)
    lines: list[str] = []

    async def drive(pilot: Pilot[Any]) -> None:
        for _ in range(2):
            app.action_refresh()
            await settle(pilot)
        lines.extend(line.rstrip() for line in shown(app))

    play(app, drive, columns, rows)
    return lines


class Still(Watch):
    """A leg at which nobody looks again."""

    def __init__(self, view: WatchState) -> None:
        self.view = view

    def refresh(self) -> None:
        """Leave it as it is."""


@pytest.mark.parametrize(("columns", "rows"), [(80, 24), (120, 40)])
def test_a_common_terminal_shows_joints_rules_tasks_and_events(view: WatchState, columns: int, rows: int) -> None:
    lines = screen_of(Still(view), columns, rows)
    assert lines[0].startswith("lin_roach  RUNNING  bout 3  0.50 s  cycle 100  torque on")
    assert lines[1] == "control: bob   log: on data/bout_1"
    joint = next(line for line in lines if line.startswith("Coxa-Trochanter"))
    assert joint.split()[1:] == ["CTr_LevationPRO", "88.4", "-0.42", "127", "0.01", "0.85", "T", "f"]
    text = "\n".join(lines)
    for what in ("motor_action", "state_transition", "rule_overlap", "q quits"):
        assert what in text


@pytest.mark.parametrize("mode", ["RUNNING", "FAULT", "UNCONFIGURED"])
@pytest.mark.parametrize(("columns", "rows"), [(40, 10), (60, 16), (160, 50)])
def test_it_fits_whatever_the_terminal_is(daemon: FakeDaemon, mode: str, columns: int, rows: int) -> None:
    daemon.mode = mode
    lines = screen_of(Watch(Paper(daemon)), columns, rows)
    assert mode in lines[0]
    assert lines[-1] == "q quits"


def test_numbers_and_rules_stay_where_names_have_no_room(view: WatchState) -> None:
    joints = tuple(replace(joint, rules=joint.rules * 6) for joint in view.joints)
    lines = screen_of(Still(replace(view, joints=joints)), 76, 30)
    at = next(k for k, line in enumerate(lines) if line.startswith("Coxa-"))
    words = " ".join(lines[at : at + 4]).split()
    assert {"88.4", "-0.42", "127", "0.01", "0.85"} <= set(words)
    assert (words.count("T"), words.count("f")) == (6, 6)


def test_what_is_low_gives_up_events_and_tasks_before_the_joints(view: WatchState) -> None:
    for rows in (10, 14, 20):
        text = "\n".join(screen_of(Still(view), 79, rows))
        assert "Femur-Tibia" in text
        assert ("rule_overlap" in text) is (rows == 20)


def test_a_fault_is_told_before_anything_else(daemon: FakeDaemon) -> None:
    daemon.mode = "FAULT"
    assert "FAULT core_stalled" in screen_of(Watch(Paper(daemon)))[1]


def test_losses_and_deaths_are_alarms_only_when_there_are_any(view: WatchState) -> None:
    assert not any("lost" in line or "died" in line for line in screen_of(Still(view)))
    assert view.status is not None
    status = msgspec.structs.replace(
        view.status, losses={"motor": 12}, deaths={"core": 1, "service": 0}, unconfirmed=("FT_motor",)
    )
    lines = screen_of(Still(replace(view, status=status)))
    assert {"records lost: motor 12", "processes that died: core 1"} <= set(lines)
    assert "torque not confirmed off: FT_motor" in lines


def test_it_goes_on_when_the_daemon_goes_and_comes(daemon: FakeDaemon) -> None:
    client = Paper(daemon)
    watch = Watch(client)
    client.away = True
    assert "nobody there" in screen_of(watch)[0]
    client.away = False
    screen_of(watch)
    known = watch.view
    client.away = True
    text = "\n".join(screen_of(watch))
    assert "NOT LIVE, what was known last: nobody there" in text
    assert "Femur-Tibia" in text
    client.away = False
    daemon.leg = Leg("lin_stickmiddle")
    screen_of(watch)
    assert watch.view.offline == ""
    assert watch.view.joints != known.joints


def test_before_a_configuration_it_says_so_and_waits(daemon: FakeDaemon) -> None:
    daemon.mode = "UNCONFIGURED"
    watch = Watch(Paper(daemon))
    assert "lin_roach  UNCONFIGURED" in screen_of(watch)[0]
    daemon.mode = "CONFIGURED"
    for _ in range(5):
        watch.refresh()
    assert "Femur-Tibia" in "\n".join(screen_of(watch))


def test_events_are_asked_for_from_the_last_on(daemon: FakeDaemon) -> None:
    asked: list[Any] = []
    events = daemon.do_events
    daemon.answers["events"] = lambda since=0: asked.append(since) or events(since)
    watch = Watch(Paper(daemon))
    for _ in range(11):
        watch.refresh()
    assert asked == [0, 3, 3]
    assert len(watch.view.told) == 1


def test_the_plain_line_has_it_all(view: WatchState) -> None:
    line = plain_line(view)
    assert "\n" not in line
    assert "RUNNING  bout 3" in line
    assert "Coxa-Trochanter CTr_LevationPRO 88.4 deg" in line


def test_an_event_tells_its_author_and_not_its_number() -> None:
    event = {"seq": 7, "unix_time_s": 1e9, "name": "mark", "text": "slip", "author": "alice", "time_s": 2.5}
    assert event_lines([event]) == ["    2.500 s  mark: slip  author=alice"]
    assert event_lines([{"name": "mode", "text": "", "time_s": None}, "odd"]) == [" " * 13 + "mode", " " * 13 + "odd"]


def test_repeats_of_one_event_are_one_line() -> None:
    def missed(servo: int, time_s: float | None) -> dict[str, Any]:
        return {"seq": time_s, "name": "reply_missed", "text": f"servo {servo}", "time_s": time_s, "cycle": time_s}

    events = [missed(1, 1.0), missed(2, 1.0), missed(1, 1.5), {"name": "mark", "text": "x"}, missed(1, 2.0)]
    assert event_lines(events) == [
        "    1.000 s  reply_missed: servo 1  (2 times, until 1.500 s)",
        "    1.000 s  reply_missed: servo 2",
        "             mark: x",
        "    2.000 s  reply_missed: servo 1",
    ]
    assert event_lines([missed(1, None)] * 3) == ["             reply_missed: servo 1  (3 times)"]


def test_what_happens_again_and_again_leaves_room_for_the_rest(daemon: FakeDaemon) -> None:
    told = [{"seq": k, "name": "reply_missed", "text": "servo 1", "time_s": k / 10} for k in range(1, 100)]
    daemon.answers["events"] = lambda since=None: [{"seq": 0, "name": "mark", "text": "before"}, *told]
    watch = Watch(Paper(daemon))
    watch.refresh()
    assert [line[13:] for line in watch.view.told] == [
        "mark: before",
        "reply_missed: servo 1  (99 times, until 9.900 s)",
    ]


def test_a_task_that_never_ran_is_in_the_table(view: WatchState) -> None:
    never = {"runs": 0, "overruns": 0, "skipped": 0, "period_ns": None, "since_start": None, "last_second": None}
    assert view.status is not None
    status = msgspec.structs.replace(view.status, tasks={**TASKS, "script": never})
    line = next(line for line in screen_of(Still(replace(view, status=status))) if line.startswith("script"))
    assert line.split() == ["script", *"------", "0", "0"]


@pytest.mark.parametrize("key", ["q", "escape", "ctrl+c"])
def test_keys_that_end_it(view: WatchState, key: str) -> None:
    app = WatchScreen(Still(view))

    async def drive(pilot: Pilot[Any]) -> None:
        await pilot.press(key)
        await settle(pilot)
        assert not app.is_running

    play(app, drive)
