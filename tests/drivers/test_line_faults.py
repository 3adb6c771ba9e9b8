"""What a line's faults do to messages, how often, and that every one is counted."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from drivers.errors import BusUrlError
from drivers.injection import FAULT_OPTIONS, FaultLayer, LineFaults

PROBABILITIES = ("drop", "flip", "insert", "truncate", "delay", "babble")


def layer(seed=1, **faults):
    return FaultLayer(LineFaults(**faults), np.random.default_rng(seed))


def counted(found):
    return {name: count for name, count in found.injected.items() if count}


@pytest.mark.parametrize("name", PROBABILITIES)
@pytest.mark.parametrize("value", [-0.01, 1.01, float("nan")])
def test_what_is_no_probability_is_refused_by_its_name(name, value):
    with pytest.raises(BusUrlError, match=f"fault {name}=.* expected 0 to 1"):
        LineFaults(**{name: value})
    assert LineFaults(**{name: 0.0}) == LineFaults()
    assert LineFaults(**{name: 1.0}).any


@pytest.mark.parametrize("value", [-1.0, 1.1e9, float("inf"), float("nan")])
def test_a_delay_that_is_none_is_refused(value):
    with pytest.raises(BusUrlError, match="delay_us"):
        LineFaults(delay_us=value)


@pytest.mark.parametrize("name", PROBABILITIES)
def test_every_fault_alone_is_one(name):
    assert LineFaults(**{name: 1e-9}).any
    assert not LineFaults().any
    # How long a delay is makes none.
    assert not LineFaults(delay_us=5.0).any
    assert set(FAULT_OPTIONS) == {*PROBABILITIES, "delay_us"}


def test_a_lost_message_is_lost_and_nothing_else_happens_to_it():
    line = layer(drop=1.0, flip=1.0, insert=1.0, truncate=1.0)
    assert [line.garble(b"abc") for _ in range(5)] == [b""] * 5
    assert counted(line) == {"drop": 5}


def test_one_bit_is_turned_over_any_bit_of_any_byte():
    line, seen = layer(flip=1.0), set()
    for _ in range(400):
        (turned,) = [
            (k, a ^ b)
            for k, (a, b) in enumerate(zip(b"\x00\x55\xff", line.garble(b"\x00\x55\xff"), strict=True))
            if a != b
        ]
        seen.add(turned)
    assert seen == {(k, 1 << bit) for k in range(3) for bit in range(8)}
    assert counted(line) == {"flip": 400}


def test_one_byte_is_put_in_any_byte_anywhere():
    line, places, values = layer(insert=1.0), [0, 0, 0], set()
    for _ in range(4000):
        said = line.garble(b"\x01\x02")
        assert len(said) == 3
        fitting = [k for k in range(3) if said[:k] + said[k + 1 :] == b"\x01\x02"]
        assert fitting
        # A byte that is doubled may have been put in before or behind.
        if len(fitting) == 1:
            places[fitting[0]] += 1
        values.add(said[fitting[0]])
    assert all(1200 < count < 1450 for count in places)
    assert values == {*range(256)}
    assert counted(line) == {"insert": 4000}


def test_the_end_is_lost_from_anywhere_on():
    line = layer(truncate=1.0)
    assert {line.garble(b"abc") for _ in range(100)} == {b"", b"a", b"ab"}
    assert counted(line) == {"truncate": 100}


def test_a_reply_is_held_back_by_microseconds():
    line = layer(delay=1.0, delay_us=1500.0)
    assert [line.delay_ns() for _ in range(3)] == [1_500_000] * 3
    assert counted(line) == {"delay": 3}
    assert layer(delay_us=1500.0).delay_ns() == 0


def test_babble_is_one_to_four_bytes():
    line = layer(babble=1.0)
    assert {len(line.babble()) for _ in range(100)} == {1, 2, 3, 4}
    assert counted(line) == {"babble": 100}
    assert layer().babble() == b""


@pytest.mark.parametrize("name", PROBABILITIES)
def test_a_probability_is_how_often(name):
    line = layer(**{name: 0.25})
    for _ in range(2000):
        line.garble(b"abc")
        line.delay_ns()
        line.babble()
    assert 400 < line.injected[name] < 600
    assert set(counted(line)) == {name}


@settings(max_examples=60, deadline=None, derandomize=True)
@given(st.lists(st.binary(max_size=6), max_size=20), st.integers(0, 1000))
def test_nothing_is_said_for_nothing_and_costs_no_draw(messages, seed):
    every = dict.fromkeys(PROBABILITIES[:4], 0.5)
    with_gaps, without = layer(seed, **every), layer(seed, **every)
    said = [with_gaps.garble(message) for message in messages]
    assert all(not out for message, out in zip(messages, said, strict=True) if not message)
    assert [out for message, out in zip(messages, said, strict=True) if message] == [
        without.garble(message) for message in messages if message
    ]
    assert with_gaps.injected == without.injected
