"""No sequence of lost and inserted bytes, and no flip outside the window, makes a wrong measurement drive a motor.

Inside the window a wrong one is off by at most v_max T + 1 tick, and drives once: what follows an exchange that nobody
tampered with is true. Half as far again only what two replies in a row say. See `docs/resynchronisation.md`.
"""

import pytest
from emulated import MS, REQUEST_NS, TURN_NS
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule
from tampering import BYTE_NS, COUNT, START, GoalLine, Loop, Tamper

from drivers.aimotor import AiMotorBus
from drivers.aimotor.answers import encode_10bit
from drivers.aimotor.forms import AnswerKind
from drivers.aimotor.readings import OVERSPEED, AiMotorReadings
from drivers.servo import ReplyStatus

OK, IMPLAUSIBLE = ReplyStatus.OK, ReplyStatus.IMPLAUSIBLE
TEN_BIT = {"ten_bit": True}
GOALS_TOLD = {**TEN_BIT, "line_class": GoalLine}
FORMS = ({}, {"sync": True}, TEN_BIT, GOALS_TOLD)
LOST_BOTH = 3
UNTOUCHED_CYCLES = 8

# Of replies in eight bits, and in ten.
# One in five is any, one near the truth, one the load, one an idle line, one the upper half of ten bits.
BYTES_NEAR = (*range(256), *[*range(90, 116)] * 10, *[10] * 256, *[255] * 256, *[*range(8)] * 32)
noise = st.lists(st.sampled_from(BYTES_NEAR), min_size=1, max_size=6).map(bytes)
# From while the request is on the wire until the reply to the one behind it.
instants = st.one_of(
    st.integers(-2 * REQUEST_NS - TURN_NS, 3 * MS),
    st.sampled_from([-BYTE_NS, 0, BYTE_NS, 2 * BYTE_NS, 3 * BYTE_NS, 4 * BYTE_NS]),
)
forged = st.one_of(
    st.tuples(st.integers(0, 30), st.integers(0, 254)), st.tuples(st.integers(0, 7), st.integers(0, 127))
).map(lambda pair: Tamper(lost=LOST_BOTH, inserted=((0, bytes(pair)),)))
tampers = st.one_of(
    st.just(Tamper()),
    st.just(Tamper(deaf=True)),
    st.integers(1, 3).map(lambda lost: Tamper(lost=lost)),
    st.integers(0, 15).map(lambda flip: Tamper(flip=flip)),
    st.tuples(instants, noise).map(lambda one: Tamper(inserted=(one,))),
    st.lists(st.tuples(instants, noise), min_size=1, max_size=3).map(lambda all_: Tamper(inserted=tuple(all_))),
    st.tuples(st.integers(1, 3), instants, noise).map(lambda one: Tamper(lost=one[0], inserted=(one[1:],))),
    st.integers(1, 9 * MS).map(lambda late: Tamper(late_ns=late)),
    st.sampled_from([k * BYTE_NS for k in range(1, 12)]).map(lambda late: Tamper(late_ns=late)),
    forged,
)
scripts = st.lists(st.lists(tampers, max_size=6), max_size=12)


LONGEST_PAUSE_MS = 240
LONGEST_PAUSE_CYCLES = 60


class Tampered(RuleBasedStateMachine):
    """Long stories on one line; `Loop` judges every cycle."""

    form = FORMS[0]

    @initialize()
    def begin(self):
        self.loop = Loop(**self.form)

    @rule(tampers=st.lists(tampers, min_size=1, max_size=8))
    def tamper(self, tampers):
        self.loop.cycle(tampers)

    @rule(tamper=tampers, times=st.integers(2, 5), k=st.integers(0, COUNT - 1))
    def insist(self, tamper, times, k):
        for _ in range(times):
            self.loop.cycle([Tamper()] * k + [tamper])

    @rule(data=noise, before_ns=st.integers(0, 2 * MS))
    def say_something_between_cycles(self, data, before_ns):
        self.loop.servos.put(data, self.loop.now_ns)
        self.loop.now_ns += before_ns

    @rule(pause_ms=st.integers(1, LONGEST_PAUSE_MS))
    def pause(self, pause_ms):
        self.loop.now_ns += pause_ms * MS

    @rule(k=st.integers(0, COUNT - 1), ticks=st.integers(-1, 1))
    def turn(self, k, ticks):
        self.loop.turn(k, ticks)
        self.loop.cycle()

    @rule(count=st.integers(1, UNTOUCHED_CYCLES))
    def be_left_alone(self, count):
        for _ in range(count):
            self.loop.cycle()

    @rule(tampers=st.lists(tampers, max_size=4))
    def torque_off(self, tampers):
        self.loop.torque_off(tampers)

    @rule(k=st.integers(0, COUNT - 1), story=st.lists(st.lists(tampers, max_size=8), min_size=1, max_size=4))
    def let_go_of_one(self, k, story):
        self.loop.let_go(k, story)

    @invariant()
    def every_belief_has_an_age(self):
        if hasattr(self, "loop"):
            assert all(0 <= stamp <= self.loop.now_ns for stamp in self.loop.bus.stamp_ns)

    def teardown(self):
        if not hasattr(self, "loop"):
            return
        # A wrong reply after a pause may lie as far off as a shaft can have turned in it: the truth is refused as long.
        for _ in range(LONGEST_PAUSE_CYCLES):
            self.loop.cycle()
            if self.loop.bus.status == [OK] * COUNT:
                break
        self.loop.cycle()
        assert self.loop.bus.status == [OK] * COUNT
        assert self.loop.bus.position_raw == self.loop.servos.truth


class TamperedSync(Tampered):
    form = FORMS[1]


class TamperedTenBit(Tampered):
    form = TEN_BIT


class TamperedGoalsTold(Tampered):
    form = GOALS_TOLD


story = settings(max_examples=40, stateful_step_count=25, deadline=None, derandomize=True)
for machine in (Tampered, TamperedSync, TamperedTenBit, TamperedGoalsTold):
    machine.TestCase.settings = story
TestPlain, TestSync = Tampered.TestCase, TamperedSync.TestCase
TestTenBit, TestTenBitGoalsTold = TamperedTenBit.TestCase, TamperedGoalsTold.TestCase


def play(script, **options):
    loop = Loop(**options)
    loop.cycle()
    for tampers in script:
        loop.cycle(tampers)
    return loop


@settings(max_examples=100, deadline=None, derandomize=True)
@given(st.sampled_from(FORMS), scripts)
def test_no_wrong_measurement_drives_a_motor(form, script):
    play(script, **form)


# --- what it would be without each of the checks: the same judge finds it out ----------------------------------------


class Gullible(AiMotorReadings):
    """Believes any position."""

    __slots__ = ()

    def reachable(self, k, position, at_ns):
        return True


class Easily(AiMotorReadings):
    """Believes what is said twice."""

    __slots__ = ()

    def _confirms(self, k, position, at_ns):
        self._first_ns[k] = self.stamp_ns[k]
        return super()._confirms(k, position, at_ns)


def with_readings(readings):
    class Bus(AiMotorBus):
        __slots__ = ()

        def __init__(self, *args, **kwargs):
            super().__init__(*args, **kwargs)
            self._readings.__class__ = readings

    return Bus


class Careless(AiMotorBus):
    """Takes bytes that come before a reply can for the reply."""

    __slots__ = ()

    def _sift(self, received, at_ns):
        return received


class Hasty(AiMotorBus):
    """Takes the answer to a ten-bit move for where the shaft is."""

    __slots__ = ()

    def _judge_step(self, step, received, at_ns):
        return super()._judge_step(
            step._replace(kind=AnswerKind.POSITION) if step.kind is AnswerKind.MOVE else step, received, at_ns
        )


BROKEN = {
    "any position is believed": (with_readings(Gullible), {}),
    "what is said twice is believed": (with_readings(Easily), {}),
    "early bytes are taken for the reply": (Careless, {}),
    "any ten-bit position is believed": (with_readings(Gullible), TEN_BIT),
    "what is said twice in ten bits is believed": (with_readings(Easily), TEN_BIT),
    "early bytes are taken for the reply in ten bits": (Careless, TEN_BIT),
    "the answer to a move is taken for the position": (Hasty, GOALS_TOLD),
}


@pytest.mark.parametrize("broken", BROKEN)
def test_without_one_of_the_checks_it_does(broken):
    bus_class, form = BROKEN[broken]

    @settings(
        # What is drawn depends on which modules are loaded: enough for any of them. The first one found ends it.
        max_examples=10_000,
        deadline=None,
        derandomize=True,
        database=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(scripts)
    def claim(script):
        play(script, bus_class=bus_class, **form)

    with pytest.raises(AssertionError):
        claim()


# --- the same in single cases ----------------------------------------------------------------------------------------


def forge(position, *, ten_bit=False):
    """A whole reply that takes the place of the true one."""
    said = encode_10bit(position) if ten_bit else bytes((10, position))
    return Tamper(lost=LOST_BOTH, inserted=((0, said),))


def requests_in(loop):
    """Which servo each request of a cycle is to: in ten bits each is moved and then asked."""
    return [k for k in range(COUNT) for _ in range(1 + loop.ten_bit)]


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("bit", range(16))
def test_a_flip_is_refused_or_bounded_and_true_again_in_the_next_cycle(form, bit):
    loop = play([], **form)
    for place, k in enumerate(requests_in(loop)):
        before = loop.bus.stamp_ns[k]
        loop.cycle([Tamper()] * place + [Tamper(flip=bit)])
        wrong = abs(loop.bus.position_raw[k] - loop.start[k])
        assert wrong <= loop.ticks_per_ns * (loop.bus.stamp_ns[k] - before) + 1
        loop.cycle()
        assert loop.bus.position_raw == list(loop.start)
        for _ in range(UNTOUCHED_CYCLES):
            loop.cycle()


@pytest.mark.parametrize("form", FORMS)
def test_what_is_beyond_the_window_is_refused_as_long_as_the_shaft_can_not_have_got_there(form):
    loop = play([], **form)
    begin_ns = loop.bus.stamp_ns[1]
    far = loop.positions[1] - 54
    loop.servos.always[1] = forge(far, ten_bit=loop.ten_bit)
    while loop.bus.position_raw[1] == loop.start[1]:
        loop.cycle()
    assert loop.bus.position_raw[1] == far
    assert OVERSPEED * loop.ticks_per_ns * (loop.bus.stamp_ns[1] - begin_ns) + 1 >= far - loop.start[1]


def test_a_first_reply_gives_way_to_two_that_agree_and_no_other_does():
    readings = AiMotorReadings(1, 600 / 0.654)
    readings.begin()
    assert readings.take(0, 10, 30, 1 * MS)
    assert not readings.take(0, 10, 200, 6 * MS)
    assert not readings.take(0, 10, 230, 11 * MS)
    readings.miss(0)
    assert not readings.take(0, 10, 230, 21 * MS)
    assert readings.take(0, 10, 231, 26 * MS)
    # 201 ticks take 219 ms at 600 degrees per second, and 146 ms at half as much again.
    for at_ms in range(31, 171, 5):
        assert not readings.take(0, 10, 30, at_ms * MS)
    assert readings.position_raw == [231]
    readings.miss(0)
    assert not readings.take(0, 10, 30, 200 * MS)
    assert readings.take(0, 10, 30, 201 * MS)


@pytest.mark.parametrize(("speed", "believed"), [(590, 0), (700, 1), (890, 1), (1400, 4)])
def test_a_shaft_may_be_half_as_fast_again_when_two_replies_say_so(speed, believed):
    """Which of the replies of a shaft that turns so fast (deg/s) for three cycles is the first to be believed."""
    readings = AiMotorReadings(1, 600 / 0.654)
    ticks = [100, *(100 + round(speed / 0.654 * 0.02 * n) for n in (1, 2, 3, 3, 3))]
    for n in range(3):
        readings.take(0, 10, 100, (20 * n + 20) * MS)
    taken = [readings.take(0, 10, at, (20 * n + 60) * MS) for n, at in enumerate(ticks)][1:]
    assert taken.index(True) == believed


def test_a_first_reply_that_was_taken_back_was_none():
    readings = AiMotorReadings(1, 600 / 0.654)
    readings.begin()
    assert readings.take(0, 10, 30, 1 * MS)
    readings.take_back(0)
    assert readings.position_raw == [-1]
    for n, position in enumerate((200, 30)):
        readings.take(0, 10, position, (5 * n + 6) * MS)
        assert (readings.status, readings.position_raw) == ([ReplyStatus.UNSURE], [-1])
    readings.take(0, 10, 30, 16 * MS)
    assert (readings.status, readings.position_raw) == ([OK], [30])


def test_a_wrong_measurement_inside_the_window_drives_once():
    loop = play([])
    loop.cycle([forge(START[0] + 4)])
    assert loop.bus.position_raw[0] == START[0] + 4
    loop.cycle()
    goal = START[0] + 4 + loop.dirs[0] * 7
    assert loop.servos.sends[0] == (0, goal)
    loop.cycle()
    assert loop.servos.sends[0] == (0, goal - 4)
    assert loop.worst == 4


def test_one_that_is_off_by_more_than_the_window_drives_never():
    loop = play([])
    loop.cycle([forge(START[0] + 8)])
    for _ in range(2):
        loop.cycle()
        assert [k for k, _ in loop.servos.sends] == [1, 2, 3]
    loop.cycle()
    assert [k for k, _ in loop.servos.sends] == [0, 1, 2, 3]
    assert loop.wrong_goals == 0


def test_a_reply_too_late_for_its_own_request_is_not_the_next_ones():
    for form in FORMS:
        loop = play([], **form)
        for late_ns in range(0, 9 * MS, 150_000):
            loop.cycle([Tamper(late_ns=late_ns)])
            for _ in range(3):
                loop.cycle()
        assert loop.wrong_goals == 0
