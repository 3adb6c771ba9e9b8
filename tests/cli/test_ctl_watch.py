from __future__ import annotations

from dataclasses import replace
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nuc_engine.cli.ctl.watching import Watch, event_lines
from nuc_engine.cli.ctl.watchview import View, plain_line, watch_lines
from nuc_engine.cli.terminal.ink import Ink
from nuc_engine.cli.terminal.screen import Keys
from tests.cli.test_ctl_tune import Paper
from tests.client.fake_daemon import TASKS, FakeDaemon, Leg


@pytest.fixture
def daemon() -> FakeDaemon:
    daemon = FakeDaemon(Leg())
    daemon.leg.values |= {name: 88.4 for name in daemon.leg.values if name.endswith("_angle")}
    daemon.leg.values |= {name: -0.42 for name in daemon.leg.values if name.endswith("_current")}
    daemon.mode, daemon.bout, daemon.control = "RUNNING", 3, "bob"
    return daemon


@pytest.fixture
def view(daemon: FakeDaemon) -> View:
    watch = Watch(Paper(daemon))
    watch.refresh()
    return watch.view


def test_a_common_terminal_shows_joints_rules_tasks_and_events(view: View) -> None:
    lines = watch_lines(view, 79, 24)
    text = "\n".join(lines)
    assert lines[0].startswith("lin_roach  RUNNING  bout 3  0.50 s  cycle 100  torque on")
    assert lines[1] == "control: bob   log: on data/bout_1"
    joint = next(line for line in lines if line.startswith("Coxa-Tr"))
    assert joint.split()[2:] == ["88.4", "-0.42", "127", "0.01", "0.85", "T", "f"]
    assert "motor_action" in text
    assert "state_transition" in text
    assert "rule_overlap" in text


def test_where_the_rules_have_no_room_beside_the_numbers_they_are_below(view: View) -> None:
    joints = tuple(replace(joint, rules=joint.rules * 12) for joint in view.joints)
    lines = watch_lines(replace(view, joints=joints), 79, 30)
    at = next(k for k, line in enumerate(lines) if line.startswith("Coxa-Tr"))
    assert lines[at + 1].split() == ["T", "f"] * 12
    assert max(map(len, lines)) <= 79


@settings(max_examples=40, deadline=None, derandomize=True)
@given(st.integers(20, 160), st.integers(4, 50))
def test_it_fits_whatever_the_terminal_is(columns: int, rows: int) -> None:
    for state in ("RUNNING", "FAULT", "UNCONFIGURED"):
        lines = watch_lines(_VIEWS[state], columns, rows)
        assert len(lines) == rows
        assert max(map(len, lines)) <= columns
        assert state in lines[0][:columns] or columns < 40


def test_what_is_low_gives_up_the_tasks_before_the_joints(view: View) -> None:
    for rows in range(10, 20):
        text = "\n".join(watch_lines(view, 79, rows))
        assert "Femur-Tibia" in text
        assert ("task (us)" in text) is ("state_transition" in text)
    assert "state_transition" in text


def test_a_fault_is_told_before_anything_else(daemon: FakeDaemon) -> None:
    daemon.mode = "FAULT"
    watch = Watch(Paper(daemon))
    watch.refresh()
    assert "FAULT core_stalled" in watch_lines(watch.view, 79, 24)[1]
    alarms: list[str] = []
    ink = Ink(str, str, str, str, str, lambda text: alarms.append(text) or text)
    watch_lines(watch.view, 79, 24, ink)
    assert any("core_stalled" in text for text in alarms)


def test_losses_and_deaths_are_alarms_only_when_there_are_any(daemon: FakeDaemon, view: View) -> None:
    assert not any("lost" in line or "died" in line for line in watch_lines(view, 79, 24))
    status = msgspec.structs.replace(
        view.status, losses={"motor": 12}, deaths={"core": 1, "service": 0}, unconfirmed=("FT_motor",)
    )
    text = "\n".join(watch_lines(replace(view, status=status), 79, 24))
    assert "records lost: motor 12" in text
    assert "died: core 1\n" in text
    assert "not confirmed off: FT_motor" in text


def test_it_goes_on_when_the_daemon_goes_and_comes(daemon: FakeDaemon) -> None:
    client = Paper(daemon)
    watch = Watch(client)
    client.away = True
    watch.refresh()
    assert "nobody there" in watch_lines(watch.view, 79, 24)[0]
    client.away = False
    watch.refresh()
    known = watch.view
    client.away = True
    watch.refresh()
    text = "\n".join(watch_lines(watch.view, 79, 24))
    assert "NOT LIVE, what was known last: nobody there" in text
    assert "Femur-Tibia" in text
    client.away = False
    daemon.leg = Leg("lin_stickmiddle")
    watch.refresh()
    assert watch.view.offline == ""
    assert watch.view.joints != known.joints


def test_before_a_configuration_it_says_so_and_waits(daemon: FakeDaemon) -> None:
    daemon.mode = "UNCONFIGURED"
    watch = Watch(Paper(daemon))
    watch.refresh()
    assert "lin_roach  UNCONFIGURED" in watch_lines(watch.view, 79, 24)[0]
    daemon.mode = "CONFIGURED"
    for _ in range(5):
        watch.refresh()
    assert "Femur-Tibia" in "\n".join(watch_lines(watch.view, 79, 24))


def test_events_are_asked_for_from_the_last_on(daemon: FakeDaemon) -> None:
    asked: list[Any] = []
    events = daemon.do_events
    daemon.answers["events"] = lambda since=0: asked.append(since) or events(since)
    watch = Watch(Paper(daemon))
    for _ in range(11):
        watch.refresh()
    assert asked == [0, 3, 3]
    assert len(watch.view.told) == 1


def test_the_plain_line_has_it_all(view: View) -> None:
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


def test_a_task_that_never_ran_is_in_the_table(view: View) -> None:
    never = {"runs": 0, "overruns": 0, "skipped": 0, "period_ns": None, "since_start": None, "last_second": None}
    status = msgspec.structs.replace(view.status, tasks={**TASKS, "script": never})
    line = next(line for line in watch_lines(replace(view, status=status), 79, 30) if line.startswith("script"))
    assert line.split() == ["script", *"------", "0", "0"]


def _view(mode: str) -> View:
    daemon = FakeDaemon(Leg())
    daemon.mode = mode
    watch = Watch(Paper(daemon))
    watch.refresh()
    return watch.view


_VIEWS = {mode: _view(mode) for mode in ("RUNNING", "FAULT", "UNCONFIGURED")}

SEQUENCES = {
    b"\x1b[A": "up",
    b"\x1bOB": "down",
    b"\x1b[1;2C": "shift-right",
    b"\x1b[1;2D": "shift-left",
    b"\x1b[5~": "page-up",
    b"\r": "enter",
    b"\x7f": "backspace",
    b"\t": "tab",
    b"q": "q",
    "\u00e9".encode(): "\u00e9",
}


@pytest.mark.parametrize(("data", "key"), SEQUENCES.items())
def test_a_key_is_known_whole_and_in_pieces(data: bytes, key: str) -> None:
    assert Keys().feed(data) == [key]
    pieces = Keys()
    assert [k for at in range(len(data)) for k in pieces.feed(data[at : at + 1], more=True)] == [key]
    assert Keys().feed(data + b"\x1b[C" + data) == [key, "right", key]


def test_a_lone_escape_is_a_key_once_nothing_follows() -> None:
    keys = Keys()
    assert keys.feed(b"\x1b", more=True) == []
    assert keys.unfinished
    assert keys.feed(b"") == ["escape"]
    assert Keys().feed(b"\x1bx") == ["escape", "x"]


def test_sequences_nobody_knows_are_no_keys() -> None:
    assert Keys().feed(b"\x1b[200~a\x1b[99;9Zb\xff") == ["a", "b"]


@settings(max_examples=80, deadline=None, derandomize=True)
@given(st.binary(max_size=30), st.integers(1, 5))
def test_no_bytes_break_it_and_nothing_is_kept_for_ever(data: bytes, size: int) -> None:
    keys = Keys()
    for at in range(0, len(data), size):
        keys.feed(data[at : at + size], more=True)
    keys.feed(b"")
    assert not keys.unfinished
