"""Emulated wCKs: registers, what survives a power cut, ten bits, wheels, overload, other rates."""

import math

import pytest
from emulated import MS, ScriptedPlant, wired
from hypothesis import given, settings
from hypothesis import strategies as st

from drivers.aimotor import codec
from drivers.aimotor.answers import decode_10bit, decode_set
from drivers.aimotor.codec import encode_set
from drivers.aimotor.emulation.emulator import AiMotorEmulator
from drivers.aimotor.emulation.memory import OVERLOAD_AFTER_NS, AiMotorMemory
from drivers.aimotor.models import MODELS
from drivers.aimotor.table import BAUD_SET, ID_SET, SET_COMMANDS, TICK_DEG, Family, overload_a
from drivers.errors import BusError
from drivers.inprocess import InProcessPort
from drivers.port import wire_ns
from drivers.servo import LEVEL_SHARE, ServoAddress

SOON = 50 * MS
WCK = MODELS["wCK-1413"]


class Line:
    """A line with wCKs, asked one thing after the other."""

    def __init__(self, *ids, models=None, **options):
        ids = ids or (0,)
        self.plant = ScriptedPlant(len(ids))
        models = models or ["wCK-1413"] * len(ids)
        servos = [ServoAddress(bus_id, f"motor{bus_id}", model) for bus_id, model in zip(ids, models, strict=True)]
        self.emulator = AiMotorEmulator(servos, self.plant, **options)
        self.port = InProcessPort(self.emulator, self.emulator.baud)
        self.now_ns = 0

    def ask(self, frame):
        self.port.write(frame, self.now_ns)
        self.now_ns += SOON
        return self.port.read(self.now_ns)

    def set(self, command, d3, d4=None, bus_id=0):
        """Send a set command the burning ones among them too; return the answer."""
        return self.ask(codec.set_frame(bus_id, SET_COMMANDS[command], d3, d3 if d4 is None else d4))

    def read(self, command, bus_id=0):
        return decode_set(SET_COMMANDS[command], self.ask(encode_set(bus_id, command, 0, 0, family=Family.WCK)))

    def send(self, target, level=3, bus_id=0):
        reply = self.ask(codec.encode_position(bus_id, level, target))
        return reply, self.plant.commands()[-1]


def test_without_set_commands_a_wck_does_what_an_ai_motor_does():
    line = Line()
    port, _, plant = wired(0)
    frames = [
        codec.encode_read(0),
        codec.encode_position(0, 2, 30),
        codec.encode_position(0, 2, 30),
        codec.encode_passive(0),
        codec.encode_read(0, 7),
        codec.encode_sync(1, [9]),
        codec.encode_break(),
    ]
    for k, frame in enumerate(frames):
        port.write(frame, k * SOON)
        assert line.ask(frame) == port.read((k + 1) * SOON)
    assert line.plant.calls == plant.calls


SETS = [
    (0x09, (20, 30), 0x0A, {"P": 20, "D": 30}),
    (0x0D, (7, 55), 0x0E, {"speed": 7, "acceleration": 55}),
    (0x0F, (56, 56), 0x10, {"overload code": 56}),
    (0x11, (20, 200), 0x12, {"low": 20, "high": 200}),
    (0x15, (3, 3), 0x16, {"I": 3}),
]


@pytest.mark.parametrize(("command", "values", "reader", "read"), SETS)
@pytest.mark.parametrize("cut", ["supply", "unplugged", "brown out"])
def test_what_is_set_is_answered_read_back_and_survives_a_power_cut(command, values, reader, read, cut):
    line = Line(0, 1)
    before = line.read(reader)
    assert before != read
    assert line.set(command, *values) == bytes(values)
    assert line.read(reader) == read
    assert line.read(reader, bus_id=1) == before
    power_cut(line.emulator, cut)
    assert line.read(reader) == read


def power_cut(emulator, cut):
    if cut == "supply":
        emulator.supply(on=False)
        emulator.supply(on=True)
    elif cut == "unplugged":
        emulator.unplug(0)
        emulator.plug(0)
    else:
        emulator.brown_out(0)


@pytest.mark.parametrize("cut", ["supply", "unplugged", "brown out"])
def test_runtime_gains_are_in_force_at_once_and_gone_with_the_supply(cut):
    line = Line()
    assert line.send(50)[1] == ("command", 0, 50, 3)
    assert line.set(0x0B, 20, 35) == b"\x14\x23"
    _, (what, servo, goal_deg, stiffness, limit) = line.send(50)
    assert (what, servo, goal_deg) == ("drive", 0, pytest.approx(50 * TICK_DEG))
    assert stiffness == pytest.approx(2 * WCK.tick_torque_n_m(10) / TICK_DEG)
    assert limit == pytest.approx(LEVEL_SHARE[3] * WCK.stall_torque_n_m)
    # The stored gains are what they were.
    assert line.read(0x0A) == {"P": 10, "D": 35}
    power_cut(line.emulator, cut)
    assert line.send(50)[1] == ("command", 0, 50, 3)


def test_stored_gains_drive_too_and_the_factorys_let_the_plant_have_its_own():
    line = Line()
    line.set(0x09, 5, 0)
    assert line.send(60, level=0)[1][0] == "drive"
    line.set(0x09, 10, 99)
    assert line.send(60, level=0)[1] == ("command", 0, 60, 0)


def test_speed_and_acceleration_for_now_are_set_without_an_answer():
    line = Line()
    assert line.set(0x17, 5, 40) == b""
    assert line.emulator.refused == 0
    assert line.read(0x0E) == {"speed": 30, "acceleration": 100}
    assert line.set(0x18, 4) == b"\x04\x04"
    assert line.read(0x16) == {"I": 0}


def test_bounds_hold_sends_back_whatever_their_form():
    line = Line()
    line.set(0x11, 50, 150)
    assert line.send(200)[1] == ("command", 0, 150, 3)
    assert line.send(3)[1] == ("command", 0, 50, 3)
    assert line.send(77)[1] == ("command", 0, 77, 3)
    line.ask(codec.encode_sync(3, [254]))
    assert line.plant.commands()[-1] == ("command", 0, 150, 3)
    line.ask(codec.encode_move_10bit(0, 254, 1023))
    assert line.plant.commands()[-1][2] == pytest.approx(150 * TICK_DEG, abs=1e-5)


@pytest.mark.parametrize("bounds", [(254, 0), (0, 254), (100, 100)])
def test_bounds_that_leave_no_room_are_none(bounds):
    line = Line()
    line.set(0x11, *bounds)
    assert line.send(200)[1] == ("command", 0, 200, 3)


def test_outputs_and_inputs():
    line = Line()
    assert line.set(0x64, 3) == b"\x03\x03"
    line.emulator.put_on_input(0, 255)
    assert line.read(0x65) == {"outputs": 3, "A/D": 255}
    line.emulator.put_on_input(0, 999)
    line.emulator.brown_out(0)
    assert line.read(0x65) == {"outputs": 0, "A/D": 255}


def test_no_motion_is_stored():
    assert Line().read(0x97) == {"count": 0}


def test_a_new_id_is_answered_and_kept():
    line = Line(0, 1)
    assert line.set(ID_SET, 7) == b"\x07\x07"
    assert line.ask(codec.encode_read(0)) == b""
    line.emulator.supply(on=False)
    line.emulator.supply(on=True)
    assert line.ask(codec.encode_read(7)) == b"\x0a\x64"
    # What was meant to read gains names the servo 0.
    assert line.ask(bytes.fromhex("FF E7 0C 00 00 6B")) == b"\x00\x00"
    assert line.ask(codec.encode_read(0)) == b"\x0a\x64"


def test_at_a_new_rate_a_servo_hears_nothing_until_the_line_has_it_too():
    line = Line(0, 1, baud=57_600)
    assert line.set(BAUD_SET, 7) == b"\x07\x07"
    assert line.ask(codec.encode_read(0)) == b""
    assert line.ask(codec.encode_read(1)) == b"\x0a\x64"
    line.plant.calls.clear()
    line.ask(codec.encode_break())
    line.ask(codec.encode_sync(3, [5, 6]))
    assert line.plant.commands() == [("release", 1), ("command", 1, 6, 3)]
    line.emulator.brown_out(0)
    assert line.ask(codec.encode_read(0)) == b""
    line.emulator.baud = 115_200
    line.port = InProcessPort(line.emulator, 115_200)
    assert line.ask(codec.encode_read(0)) == b"\x0a\x64"
    assert line.ask(codec.encode_read(1)) == b""
    line.plant.calls.clear()
    began = line.now_ns
    line.ask(codec.encode_read(0))
    assert line.plant.calls[0] == ("advance", began + wire_ns(4, 115_200))


def test_nobody_answers_at_a_rate_nobody_has():
    line = Line(0)
    line.set(BAUD_SET, 191)
    assert line.ask(codec.encode_break()) == b""


@pytest.mark.parametrize(
    "frame",
    [
        # Out of range, twice not the same, a rate that is none, an id that is none, unknown, motion data.
        "FF E0 09 00 1E 77",
        "FF E0 0D 01 13 7F",
        "FF E0 0D 01 65 09",
        "FF E0 0F 50 51 6E",
        "FF E0 08 02 02 68",
        "FF E0 0C 1F 1F 6C",
        "FF E0 0C 01 02 6F",
        "FF E0 42 00 00 22",
        "FF E0 96 01 01 76",
        "FF E0 C9 00 01 28",
        "FF C0 00 40",
    ],
)
def test_what_a_wck_does_not_know_it_neither_obeys_nor_answers(frame):
    line = Line()
    before = [line.read(reader) for _, _, reader, _ in SETS]
    line.plant.calls.clear()
    assert line.ask(bytes.fromhex(frame)) == b""
    assert line.emulator.refused == 1
    assert line.plant.commands() == []
    assert [line.read(reader) for _, _, reader, _ in SETS] == before


@pytest.mark.parametrize("model", ["701", "", "601"])
def test_an_ai_motor_obeys_none_of_it(model):
    line = Line(models=[model])
    line.plant.calls.clear()
    frames = [codec.set_frame(0, row, row.d3[0], row.d4[0]) for row in SET_COMMANDS.values()]
    frames += [codec.encode_move_10bit(0, 254, 3), codec.encode_read_10bit(0)]
    frames += [codec.encode_wheel(0, clockwise=True, speed=3)]
    assert [line.ask(frame) for frame in frames] == [b""] * len(frames)
    assert line.emulator.refused == len(frames)
    assert line.plant.commands() == []
    assert line.send(50)[1] == ("command", 0, 50, 3)


def test_an_ai_motors_registers_stay_as_delivered():
    memory = AiMotorMemory("701", 57_600)
    assert memory.obey(0x09, 20, 30) is None
    assert (memory["P"], memory["D"], memory.as_delivered) == (10, 35, True)
    assert not AiMotorMemory("wCK-1108", 57_600).as_delivered


def test_servos_without_a_model_are_wcks_where_that_is_said():
    line = Line(models=[""], wck=True)
    assert line.set(0x09, 20, 30) == b"\x14\x1e"
    assert line.send(50)[1][0] == "drive"


def test_ten_bit_moves_and_reads_are_the_same_range_in_finer_steps():
    line = Line()
    assert decode_10bit(line.ask(codec.encode_read_10bit(0))) == round(100 * 1023 / 254)
    assert line.plant.commands()[1:] == []
    for raw, position in ((0, 0), (254, 1023), (300, 1023), (-3, 0), (127, 512)):
        line.plant.angles[0] = raw * TICK_DEG
        assert decode_10bit(line.ask(codec.encode_read_10bit(0))) == position
    line.plant.angles[0] = 100 * TICK_DEG
    # Where it is, not where it is sent.
    assert decode_10bit(line.ask(codec.encode_move_10bit(0, 127, 1023))) == 403
    what, servo, goal_deg, stiffness, limit = line.plant.commands()[-1]
    assert (what, servo, goal_deg) == ("drive", 0, pytest.approx(254 * TICK_DEG, abs=1e-5))
    assert stiffness == pytest.approx(WCK.tick_torque_n_m(10) / TICK_DEG)
    assert limit == pytest.approx(0.5 * WCK.stall_torque_n_m)


def test_ids_above_30_are_reached_in_ten_bits_only():
    line = Line(0, 1)
    line.emulator.answer_as(1, 200)
    assert len(line.ask(codec.encode_read_10bit(200))) == 2
    line.ask(codec.encode_move_10bit(200, 254, 1))
    assert line.plant.commands()[-1][:2] == ("drive", 1)
    with pytest.raises(BusError, match="0 to 253"):
        line.emulator.answer_as(1, 254)
    with pytest.raises(BusError, match="no servo 2"):
        line.emulator.answer_as(2, 3)


def test_low_resolution_is_the_same_ticks_over_twice_the_angle():
    line = Line(tick_deg=1.307)
    line.plant.angles[0] = 130.7
    assert line.ask(codec.encode_read(0))[1] == 100
    line.ask(codec.encode_position(0, 3, 50))
    assert line.plant.commands()[-1] == ("command", 0, round(50 * 1.307 / TICK_DEG), 3)
    line.set(0x0B, 20, 0)
    assert line.send(50)[1][3] == pytest.approx(2 * WCK.tick_torque_n_m(10) / 1.307)


def test_a_wheel_turns_at_its_speed_as_far_as_the_scale_goes():
    line = Line()
    start = 100 * TICK_DEG
    assert line.ask(codec.encode_wheel(0, clockwise=False, speed=3)) == b"\x00\x64"
    began = wire_ns(4, 57_600)
    speed = math.degrees(WCK.no_load_rad_s) * 3 / 15
    goals(line)
    assert line.ask(codec.encode_read(0)) == b"\x0a\x64"
    for at_ns, goal_deg in goals(line):
        assert goal_deg == pytest.approx(start + speed * (at_ns - began) * 1e-9, abs=TICK_DEG / 2)
    line.emulator.chatter(line.now_ns + 10_000 * MS, line.now_ns + 10_000 * MS)
    assert goals(line)[-1][1] == pytest.approx(254 * TICK_DEG)
    line.now_ns += 10_000 * MS
    line.ask(codec.encode_wheel(0, clockwise=True, speed=15))
    line.now_ns += 10_000 * MS
    line.ask(codec.encode_read(0))
    assert goals(line)[-1][1] == 0.0


def goals(line):
    """Return the instants and goals (degrees) of what was commanded since the last time."""
    found, now_ns = [], 0
    for call in line.plant.calls:
        if call[0] == "advance":
            now_ns = call[1]
        elif call[0] == "command":
            found.append((now_ns, call[2] * TICK_DEG))
    line.plant.calls.clear()
    return found


@pytest.mark.parametrize(
    "stop",
    [
        lambda line: line.ask(codec.encode_passive(0)),
        lambda line: line.ask(codec.encode_break()),
        lambda line: line.send(40),
        lambda line: line.ask(codec.encode_move_10bit(0, 200, 40)),
        lambda line: line.emulator.trip(0),
        lambda line: line.emulator.brown_out(0),
        lambda line: line.emulator.supply(on=False),
        lambda line: line.emulator.unplug(0),
    ],
    ids=["passive", "break", "send", "ten-bit move", "trip", "brown out", "supply", "unplug"],
)
def test_what_ends_a_wheel(stop):
    line = Line()
    line.ask(codec.encode_wheel(0, clockwise=False, speed=3))
    stop(line)
    line.plant.calls.clear()
    line.now_ns += 1000 * MS
    line.ask(codec.encode_read(0))
    assert line.plant.commands() == []


def test_a_wheel_beside_an_ai_motor_that_is_read_turns_on():
    line = Line(0, 1, models=["701", "wCK-1108"])
    for _ in range(3):
        line.ask(codec.encode_read(0))
    line.ask(codec.encode_wheel(1, clockwise=False, speed=1))
    line.plant.calls.clear()
    for _ in range(4):
        line.ask(codec.encode_read(0))
    turned = [call for call in line.plant.commands() if call[1] == 1]
    assert len(turned) == 4 * SOON // (10 * MS)


def test_a_tripped_servo_neither_turns_nor_moves():
    line = Line()
    line.emulator.trip(0)
    line.plant.calls.clear()
    line.ask(codec.encode_wheel(0, clockwise=True, speed=9))
    line.ask(codec.encode_move_10bit(0, 254, 3))
    line.ask(codec.encode_sync(3, [3]))
    assert line.plant.commands() == []


def test_above_the_current_of_its_overload_code_a_wck_goes_limp_by_itself():
    line = Line()
    line.set(0x0F, 116)
    limit = overload_a(116)
    line.plant.currents[0] = limit - 0.01
    for _ in range(30):
        line.send(40)
    line.plant.currents[0] = limit + 0.01
    line.plant.calls.clear()
    began = line.now_ns
    for _ in range(2 * OVERLOAD_AFTER_NS // SOON):
        line.ask(codec.encode_position(0, 3, 40))
        if ("release", 0) in line.plant.commands():
            break
    assert ("release", 0) in line.plant.commands()
    assert OVERLOAD_AFTER_NS <= line.now_ns - began <= OVERLOAD_AFTER_NS + 3 * SOON
    line.plant.calls.clear()
    line.plant.currents[0] = 0.0
    line.ask(codec.encode_position(0, 3, 40))
    assert line.plant.commands() == []
    line.ask(codec.encode_passive(0))
    assert line.send(40)[1] == ("command", 0, 40, 3)


def test_a_limit_from_outside_takes_the_place_of_the_registers():
    line = Line()
    line.emulator.set_overload(5.0, 0)
    line.plant.currents[0] = 4.0
    for _ in range(20):
        assert line.send(40)[1] == ("command", 0, 40, 3)
    line.emulator.set_overload(None)
    for _ in range(20):
        line.ask(codec.encode_position(0, 3, 40))
    assert line.plant.commands()[-1] == ("release", 0)


def test_two_servos_of_which_one_knows_the_request():
    line = Line(3, 4, models=["701", "wCK-1108"])
    line.emulator.answer_as(0, 4)
    assert line.set(0x09, 20, 30, bus_id=4) == b"\x14\x1e"
    assert line.emulator.refused == 1


frames = st.one_of(
    st.binary(max_size=10),
    st.binary(min_size=2, max_size=8).map(lambda data: b"\xff" + data),
    st.tuples(st.sampled_from(list(SET_COMMANDS.values())), st.integers(0, 255), st.integers(0, 255)).map(
        lambda row: b"\xff\xe0" + bytes((row[0].code, row[1], row[2], (0xE0 ^ row[0].code ^ row[1] ^ row[2]) & 0x7F))
    ),
    st.sampled_from(
        [codec.encode_wheel(0, clockwise=True, speed=9), codec.encode_break(), codec.encode_sync(0, [1, 2])]
    ),
)


@settings(max_examples=80, deadline=None, derandomize=True)
@given(st.lists(frames, max_size=30))
def test_whatever_is_said_it_goes_on(sayings):
    line = Line(0, 1)
    for saying in sayings:
        if saying:
            line.ask(saying)
    line.emulator.baud = line.emulator._crew.memories[1].baud
    line.port = InProcessPort(line.emulator, line.emulator.baud)
    fine = [line.ask(codec.encode_read_10bit(bus_id)) for bus_id in range(31)]
    assert {len(reply) for reply in fine} <= {0, 2}
    assert any(fine)
