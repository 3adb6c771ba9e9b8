"""Events as plain data and as entries of a script, what is wrong with them, and kicks that are left to the seed."""

from __future__ import annotations

import json
import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nuc_engine.plants.events import (
    KINDS,
    BaseHeight,
    Disconnect,
    Ground,
    Kick,
    Load,
    PlantEvent,
    Reconnect,
    event_record,
    find_faults,
    in_order,
    kind_of,
    read_event,
)
from nuc_engine.plants.kicks import DURATION_S, FORCE_N, HIGHEST_SINE, LOWEST_SINE, draw_kick
from nuc_engine.plants.scripted import entry_of, events_of
from sccils_schemas.documents import HdsoScript
from sccils_schemas.parser import parse
from sccils_schemas.writer import write

S = 1_000_000_000
instants = st.integers(0, 10**18)
spans = st.integers(0, 3600 * S)
forces = st.floats(-1000, 1000)
events = st.one_of(
    st.builds(Kick, instants, st.none() | st.tuples(forces, forces, forces), st.none() | spans),
    st.builds(Ground, instants, st.booleans()),
    st.builds(BaseHeight, instants, st.floats(-1000, 1000)),
    st.builds(Load, instants, forces, spans),
    st.builds(Disconnect, instants, st.sampled_from(["Coxa-Trochanter", "Knie <&> \u00e4"]), spans),
    st.builds(Reconnect, instants, spans),
)
PROPERTY = settings(max_examples=60, deadline=None, derandomize=True)


@PROPERTY
@given(events)
def test_an_event_survives_json(event: PlantEvent) -> None:
    assert read_event(json.loads(json.dumps(event_record(event)))) == event
    assert KINDS[kind_of(event)] is type(event)


@PROPERTY
@given(st.lists(events, max_size=4))
def test_events_survive_a_script(given_events: list[PlantEvent]) -> None:
    script = HdsoScript(tuple(entry_of(event) for event in given_events))
    again, problems = parse(write(script))
    assert isinstance(again, HdsoScript), str(problems)
    assert events_of(again) == tuple(given_events)


@pytest.mark.parametrize(
    ("record", "words"),
    [
        ("kick", "is no event"),
        ({"at_ns": 1}, "expected one of kick"),
        ({"kind": "nick", "at_ns": 1}, "kind is 'nick'"),
        ({"kind": "kick"}, "not all of at_ns"),
        ({"kind": "kick", "at_ns": 1, "force": [1, 2, 3]}, "'force' is unknown"),
        ({"kind": "kick", "at_ns": -1}, "at_ns is '-1'"),
        ({"kind": "kick", "at_ns": 1.5}, "at_ns is '1.5'"),
        ({"kind": "kick", "at_ns": True}, "at_ns is 'True'"),
        ({"kind": "kick", "at_ns": 1, "force_n": [1, 2]}, "three numbers"),
        ({"kind": "kick", "at_ns": 1, "force_n": [1, 2, 1001]}, "three numbers"),
        ({"kind": "kick", "at_ns": 1, "force_n": [1, 2, float("nan")]}, "three numbers"),
        ({"kind": "kick", "at_ns": 1, "duration_ns": 3601 * S}, "duration_ns is"),
        ({"kind": "load", "at_ns": 1, "down_n": 2.0, "duration_ns": None}, "duration_ns is 'None'"),
        ({"kind": "ground", "at_ns": 1, "present": 1}, "true or false"),
        ({"kind": "height", "at_ns": 1, "height_cm": "2"}, "expected a number"),
        ({"kind": "disconnect", "at_ns": 1, "joint": 3, "duration_ns": 1}, "name of a joint"),
    ],
)
def test_what_is_no_event_is_refused(record: object, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        read_event(record)


JOINTS = ["A", "B"]


def test_events_that_fit_one_another() -> None:
    off, on = Disconnect(S, "A", S), Reconnect(2 * S, S)
    assert find_faults([on, Disconnect(3 * S, "B", 0), off, Reconnect(3 * S, 0), Kick(0)], JOINTS) == []
    assert in_order([on, Kick(0), off]) == (Kick(0), off, on)


@pytest.mark.parametrize(
    ("given_events", "words"),
    [
        ([Disconnect(0, "C", 0)], "joint 'C'; expected one of A, B"),
        ([Disconnect(0, "A", 0), Disconnect(S, "B", 0)], "disconnect at 1 s: the leg is apart already"),
        ([Disconnect(0, "A", 0), Reconnect(S, S), Disconnect(S, "A", 0)], "the leg is apart already"),
        ([Disconnect(0, "A", 2 * S), Reconnect(S, 0)], "reconnect at 1 s: the leg is still being taken apart"),
        ([Reconnect(S, 0)], "nothing is taken off"),
        ([Kick(-1)], "at_ns is '-1'"),
    ],
)
def test_events_that_do_not_fit(given_events: list[PlantEvent], words: str) -> None:
    (fault,) = find_faults(given_events, JOINTS)
    assert words in fault


def test_a_kick_is_drawn_from_the_seed_and_its_number() -> None:
    first = draw_kick(Kick(3), 7, 0)
    assert first == draw_kick(Kick(3), 7, 0)
    others = [draw_kick(Kick(3), 7, 1), draw_kick(Kick(3), 8, 0)]
    assert len({first.force_n, *(kick.force_n for kick in others)}) == 3
    assert len({first.duration_ns, *(kick.duration_ns for kick in others)}) == 3


def test_what_is_given_of_a_kick_stays() -> None:
    drawn = draw_kick(Kick(3), 7, 0)
    assert draw_kick(Kick(3, (1.0, 2.0, 3.0)), 7, 0) == Kick(3, (1.0, 2.0, 3.0), drawn.duration_ns)
    assert draw_kick(Kick(3, None, 5), 7, 0) == Kick(3, drawn.force_n, 5)
    assert draw_kick(Kick(3, (1.0, 2.0, 3.0), 5), 7, 0) == Kick(3, (1.0, 2.0, 3.0), 5)


def test_drawn_kicks_are_those_of_a_hand() -> None:
    kicks = [draw_kick(Kick(0), seed, 0) for seed in range(300)]
    forces_n = [kick.force_n or (0.0, 0.0, 0.0) for kick in kicks]
    sizes = [math.hypot(*force) for force in forces_n]
    sines = [force[2] / size for force, size in zip(forces_n, sizes, strict=True)]
    seconds = [(kick.duration_ns or 0) / S for kick in kicks]
    for values, (low, high) in ((sizes, FORCE_N), (sines, (LOWEST_SINE, HIGHEST_SINE)), (seconds, DURATION_S)):
        assert low - 1e-3 <= min(values) < low + 0.1 * (high - low)
        assert high - 0.1 * (high - low) < max(values) <= high + 1e-3
    quadrants = {(force[0] > 0, force[1] > 0) for force in forces_n}
    assert len(quadrants) == 4, "pushed from all sides"
