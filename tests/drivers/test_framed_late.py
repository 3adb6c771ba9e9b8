"""Statuses that come later than their time-out: a status does not say which register it is about."""

import numpy as np
import pytest
from framed_rig import FAMILIES, FAR, OK, START, TIMEOUT_NS, Leg, both
from framed_servos import MS
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from drivers.bus import LIMP, READ_ONLY
from drivers.faults import LineFaults
from drivers.framed.packet import READ
from drivers.port import NEVER
from drivers.servo import LEVEL_SHARE, ServoAddress

STIFFNESS = 0.03
MODELS = {"dynamixel": "XL430-W250", "feetech": ""}
# What the servos hold that the bus must change.
OTHERWISE = {
    "dynamixel": {"return_delay": 250},
    "feetech": {"dead_band_minus": 9, "dead_band_plus": 9, "min_start_torque": 16},
}


@pytest.mark.parametrize("family", FAMILIES)
@given(seed=st.integers(0, 10**6), late=st.floats(0.05, 0.4), delay_us=st.integers(1000, 9000))
@settings(max_examples=6, deadline=None, derandomize=True, phases=[Phase.generate])
def test_late_statuses_refuse_nobody_and_no_setting_is_skipped(family, seed, late, delay_us):
    addresses = [ServoAddress(bus_id, f"servo {bus_id}", "", STIFFNESS) for bus_id in (1, 2, 3, 4)]
    leg = Leg(family, model=MODELS[family], addresses=addresses, rng=np.random.default_rng(seed))
    kind = leg.layout.kinds[leg.model.name]
    for k in range(4):
        leg.memory(k).restore(OTHERWISE[family])
    leg.emulator.set_faults(LineFaults(delay=late, delay_us=delay_us))
    for count in range(300):
        if count == 90:
            leg.emulator.set_faults(LineFaults())
        leg.cycle([START if status == OK else READ_ONLY for status in leg.bus.status])
        assert leg.bus.refusals == ()
        for k in range(4):
            memory = leg.memory(k)
            if not memory["torque_enable"]:
                continue
            assert {name: memory[name] for name, _ in kind.settings} == dict(kind.settings)
            assert memory["position_p_gain"] == leg.model.gain_for(STIFFNESS)
            assert memory[kind.cap[0]] == round(LEVEL_SHARE[3] * kind.cap[1])
    assert sorted(leg.driven()) == [0, 1, 2, 3]
    leg.emulator.set_faults(LineFaults(delay=late, delay_us=delay_us))
    for _ in range(20):
        leg.cycle(LIMP)
        assert not any(s == OK and leg.memory(k)["torque_enable"] for k, s in enumerate(leg.bus.status))


def held_up(family):
    """Return a leg whose one servo did not answer the first thing it was asked by itself, and when that was."""
    leg = Leg(family, (1,))
    leg.bus.start(0, [READ_ONLY])
    silent = [False]

    def change(data):
        singles = [p for _, p in leg.layout.dialect.parser(status=False).feed(data) if p.instruction == READ]
        if singles and not silent[0]:
            silent[0] = True
            return b""
        return data

    leg.port.change = change
    while not silent[0]:
        leg.bus.proceed(leg.bus.wake_ns)
    asked_ns = leg.bus.wake_ns - TIMEOUT_NS
    leg.requests()
    leg.bus.proceed(leg.bus.wake_ns)
    return leg, asked_ns


@both
def test_after_a_time_out_the_next_question_waits_as_long_again(family):
    leg, asked_ns = held_up(family)
    assert leg.requests() == []
    assert asked_ns + 2 * TIMEOUT_NS <= leg.bus.wake_ns < asked_ns + 2 * TIMEOUT_NS + MS
    leg.bus.proceed(leg.bus.wake_ns)
    (request,) = leg.requests()
    assert request.instruction == READ
    leg.bus.run_until(FAR)
    assert leg.bus.status == [OK]


@both
def test_it_goes_out_when_the_late_status_has_come(family):
    leg, asked_ns = held_up(family)
    status = leg.layout.dialect.status(1, 0, b"\x12\x34")
    late_ns = asked_ns + TIMEOUT_NS + MS
    leg.port.deliver(status, late_ns)
    leg.bus.proceed(late_ns - MS)
    instant_ns = late_ns
    while not leg.requests():
        instant_ns = leg.bus.wake_ns
        leg.bus.proceed(instant_ns)
    assert instant_ns < late_ns + MS
    assert leg.bus.stray_bytes == len(status)
    leg.bus.run_until(FAR)
    assert leg.bus.refusals == ()


@both
def test_torque_off_does_not_wait_for_late_statuses(family):
    leg, _ = held_up(family)
    leg.bus.torque_off(leg.bus.wake_ns)
    leg.bus.proceed(leg.bus.wake_ns)
    first, *_ = leg.requests()
    assert (first.bus_id, first.params[-1]) == (0xFE, 0)
    leg.now_ns = leg.bus.run_until(FAR)
    assert leg.bus.wake_ns == NEVER
    assert leg.bus.status == [OK]
