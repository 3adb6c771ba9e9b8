"""Events for the journal: one JSON object a line, its level from the table of faults."""

from __future__ import annotations

import io
import json

import pytest

from nuc_engine.faults import FAULTS, OFF, Effect
from nuc_engine.service.events import EventLog, level_of


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
        "text": "no answer\nfrom 3",
        "bout": 2,
        "time_s": 1.5,
    }
    assert second == {"event": "mode", "level": "info", "mode": "running"}


@pytest.mark.parametrize("name", sorted(FAULTS))
def test_every_fault_has_the_level_of_its_effect(name: str) -> None:
    assert level_of(name) == ("warning" if FAULTS[name].effect is Effect.WARN else "error")


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
