"""Statuses that come later than their time-out: a status does not say which register it is about."""

import numpy as np
import pytest
from framed_rig import FAMILIES, FAR, OK, START, TIMEOUT_NS, Leg, both
from framed_servos import MS
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from drivers.bus import LIMP, READ_ONLY
from drivers.framed.packet import READ
from drivers.injection import LineFaults
from drivers.port import NEVER
from drivers.servo import LEVEL_SHARE, Motion, ServoAddress

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


class BehindPort:
    """A line that gives over what comes in later than it came: how much changes with every request, in order."""

    def __init__(self, port, rng, choices_ms):
        self._port, self._rng, self._choices, self.behind_ns = port, rng, choices_ms, 0

    def __getattr__(self, name):
        return getattr(self._port, name)

    def write(self, data, now_ns):
        self.behind_ns = int(self._rng.choice(self._choices) * MS)
        self._port.write(data, now_ns)

    def read(self, now_ns):
        return self._port.read(now_ns - self.behind_ns)

    def flush_input(self, now_ns):
        return len(self.read(now_ns))

    def ready_ns(self, expected):
        ready_ns = self._port.ready_ns(expected)
        return ready_ns if ready_ns == NEVER else ready_ns + self.behind_ns


TICKS_PER_MS, TURN_MS = 5, 100
LATE_MS = 20
OLDEST_MS = 24
"""How old what a goal comes from may be when it is heard: two cycles of statuses that came just before their time-outs.
"""


def swinging(servo, now_ns):
    phase = now_ns / MS % (2 * TURN_MS)
    return START + 300 * servo + TICKS_PER_MS * min(phase, 2 * TURN_MS - phase)


@both
@pytest.mark.parametrize("form", [{}, {"single": True}, {"fast": True}])
@pytest.mark.parametrize("seed", range(8))
def test_a_goal_comes_from_where_its_servo_was_a_moment_ago(family, form, seed):
    if form.get("fast") and family == "feetech":
        pytest.skip("Feetech servos have no common answer")
    rng = np.random.default_rng(seed)
    leg = Leg(family, rng=rng, late_ns=LATE_MS * MS, **form)
    leg.plant.path = lambda k, now_ns: Motion(swinging(k, now_ns) * leg.model.tick_deg, 0.0, 0.0, 0.0)
    for _ in range(40):
        leg.cycle([leg.bus.position_raw[k] if leg.bus.status[k] == OK else READ_ONLY for k in range(4)])
    assert leg.bus.status == [OK] * 4
    leg.bus._port = leg.bus._talk._port = BehindPort(leg.port, rng, [0] * 6 + [1, 3, 6, 10, 15, 19])
    leg.emulator.set_faults(LineFaults(drop=0.02))
    drive, driven = leg.plant.drive, []

    def judge(servo, goal_deg, stiffness, limit):
        now_ns, goal = leg.plant.now_ns, goal_deg / leg.model.tick_deg
        assert abs(goal - swinging(servo, now_ns)) <= TICKS_PER_MS * OLDEST_MS + 1, (servo, now_ns)
        driven.append(servo)
        drive(servo, goal_deg, stiffness, limit)

    leg.plant.drive = judge
    for _ in range(150):
        leg.cycle([leg.bus.position_raw[k] if leg.bus.status[k] == OK else READ_ONLY for k in range(4)])
    assert driven
