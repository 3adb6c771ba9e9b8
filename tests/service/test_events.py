"""Events for the journal: one JSON object a line, its level from the table of faults."""

from __future__ import annotations

import io
import json
from collections import Counter
from itertools import groupby

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nuc_engine.control.faults import FAULTS, OFF, Effect
from nuc_engine.datalogger.events import SUM_UP_NS, EventLog, level_of


class Broken(io.StringIO):
    """A stream whose reader is gone."""

    def write(self, text: str, /) -> int:
        raise BrokenPipeError


def test_an_event_is_one_line_with_what_is_known_of_it() -> None:
    stream = io.StringIO()
    log = EventLog(stream)
    log.tell("motor_silent", "no answer\nfrom 3", bout=2, cycle=None, time_s=1.5)
    log.tell("mode", mode="running")
    first, second = (json.loads(line) for line in stream.getvalue().splitlines())
    assert first == {
        "event": "motor_silent",
        "fault": "motor_silent",
        "level": "error",
        "text": "no answer\\nfrom 3",
        "bout": 2,
        "time_s": 1.5,
    }
    assert second == {"event": "mode", "level": "info", "mode": "running"}


@pytest.mark.parametrize("name", sorted(FAULTS))
def test_every_fault_has_the_level_of_its_effect(name: str) -> None:
    assert level_of(name) == ("warning" if FAULTS[name].worst is Effect.WARN else "error")


def test_torque_off_that_was_asked_for_is_no_fault() -> None:
    stream = io.StringIO()
    EventLog(stream).tell(OFF, "a hand in the leg")
    assert json.loads(stream.getvalue()) == {"event": "off", "level": "warning", "text": "a hand in the leg"}


def test_the_journal_is_told_the_priority_before_the_line() -> None:
    stream = io.StringIO()
    log = EventLog(stream, for_journal=True)
    log.tell("records_lost")
    log.tell("overrun")
    log.tell("anything")
    assert [line[:4] for line in stream.getvalue().splitlines()] == ["<3>{", "<4>{", "<6>{"]


def lines(stream: io.StringIO) -> list[dict[str, object]]:
    return [json.loads(line) for line in stream.getvalue().splitlines()]


def test_repeats_of_one_event_are_told_once_and_then_how_often() -> None:
    stream = io.StringIO()
    log = EventLog(stream)
    for k in range(40):
        log.tell("reply_missed", "servo 1", time_s=k / 100, cycle=k)
        log.tell("reply_missed", f"servo {2 + k // 39}", time_s=k / 100, cycle=k)
    log.tell("mode", "armed")
    told = [(said["event"], said["text"], said.get("times"), said.get("cycle")) for said in lines(stream)]
    assert told == [
        ("reply_missed", "servo 1", None, 0),
        ("reply_missed", "servo 2", None, 0),
        ("reply_missed", "servo 3", None, 39),
        ("reply_missed", "servo 1", 39, 39),
        ("reply_missed", "servo 2", 38, 38),
        ("mode", "armed", None, None),
    ]


def test_what_comes_again_after_something_else_is_told_again() -> None:
    stream = io.StringIO()
    log = EventLog(stream)
    for name in ("off", "mode", "off", "mode"):
        log.tell(name, "as before")
    assert [said["event"] for said in lines(stream)] == ["off", "mode", "off", "mode"]


def test_what_goes_on_is_summed_up_now_and_then_and_at_the_end() -> None:
    stream = io.StringIO()
    log = EventLog(stream)
    times: list[object] = []
    for k in range(25):
        log.sum_up(k * SUM_UP_NS // 10)
        log.tell("reply_missed", "servo 1")
    log.sum_up()
    log.sum_up()
    times = [said.get("times", 1) for said in lines(stream)]
    assert times == [1, 9, 10, 5]
    assert sum(times) == 25


@given(st.lists(st.tuples(st.sampled_from("ab"), st.sampled_from("xyz")), max_size=60))
def test_no_event_is_lost_and_none_is_told_before_what_went_before_it(events: list[tuple[str, str]]) -> None:
    stream = io.StringIO()
    log = EventLog(stream)
    for name, text in events:
        log.tell(name, text)
    log.sum_up()
    said = [(str(line["event"]), str(line["text"]), int(str(line.get("times", 1)))) for line in lines(stream)]
    assert Counter(events) == sum((Counter({(name, text): times}) for name, text, times in said), Counter())
    # The rows of one name stand in their order.
    assert [name for name, _ in groupby(name for name, _ in events)] == [n for n, _ in groupby(n for n, _, _ in said)]


def test_a_journal_that_is_gone_changes_nothing() -> None:
    closed = io.StringIO()
    closed.close()
    for stream in (Broken(), closed):
        log = EventLog(stream)
        # The second finds what the first left behind.
        assert [log.tell("mode"), log.tell("mode")] == [None, None]


def test_what_json_has_no_word_for_is_told_as_text() -> None:
    stream = io.StringIO()
    EventLog(stream).tell("edit", edit={"values": [1.0]}, author="Zoë", odd={3})
    said = json.loads(stream.getvalue())
    assert (said["author"], said["odd"]) == ("Zoë", "{3}")
