"""The control socket and its client; and every command on servos of paper."""

import json
import socket
import threading
from contextlib import contextmanager, suppress

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from drivers.aimotor.codec import encode_position, encode_read
from drivers.port import wire_ns
from nuc_engine.emulation import control
from nuc_engine.emulation.bytelog import read
from nuc_engine.emulation.client import EmulatorClient
from nuc_engine.emulation.commands import EmulatorCommands
from nuc_engine.emulation.control import ControlSocket
from nuc_engine.emulation.errors import ControlError, EmulationError
from nuc_engine.emulation.leg import Leg, LegSpec
from nuc_engine.emulation.loop import EmulatorLoop
from nuc_engine.emulation.pseudo_terminal import PseudoTerminal
from nuc_engine.emulation.rawlog import LogHeader, RawEvent, RawLog
from tests.cli.conftest import CONFIGS
from tests.emulation.world import MS, World

TIMEOUT_S = 60.0
"""So long a client waits before it gives up. Nothing is judged by it: the other side may have no processor."""


def echo(command):
    if "wrong" in command:
        raise EmulationError("this is wrong")
    return {"said": command}


@contextmanager
def served(path, obey=echo):
    """Serve a control socket from a thread, as the emulator's loop would."""
    import select

    server = ControlSocket(path, obey)
    ended = threading.Event()

    def serve():
        while not ended.is_set():
            for descriptor in select.select(server.filenos(), [], [], 0.01)[0]:
                server.handle(descriptor)

    thread = threading.Thread(target=serve)
    thread.start()
    try:
        yield server
    finally:
        ended.set()
        thread.join()
        server.close()


def connected(path):
    return EmulatorClient(path, TIMEOUT_S)


def tell(path, command):
    with connected(path) as client:
        return client.request(command)


@pytest.fixture
def path(tmp_path):
    return tmp_path / "control"


def test_commands_are_answered_one_line_each(path):
    with served(path), connected(path) as client:
        assert client.request("hello", n=1) == {"said": {"command": "hello", "n": 1}}
        assert client.request("again") == {"said": {"command": "again"}}
        with pytest.raises(ControlError, match=r"this is wrong"):
            client.request("hello", wrong=True)
        assert tell(path, "from another") == {"said": {"command": "from another"}}
    assert not path.exists()


def ask_raw(path, data):
    with socket.socket(socket.AF_UNIX) as client:
        client.settimeout(TIMEOUT_S)
        client.connect(str(path))
        client.sendall(data)
        with client.makefile() as answers:
            return answers.readline()


def test_what_is_no_command_is_answered_with_what_is_wrong(path):
    with served(path):
        for said in (b"{\n", b"[1]\n", b"12\n", b"\xff\xfe\n", b"[" * 60_000 + b"\n"):
            answer = json.loads(ask_raw(path, said))
            assert answer["ok"] is False
            assert answer["error"]
        assert json.loads(ask_raw(path, b'\n{"command": "x"}\n'))["ok"] is True


def test_a_client_that_floods_is_sent_away_and_the_next_is_served(path):
    with served(path):
        with socket.socket(socket.AF_UNIX) as client:
            client.settimeout(TIMEOUT_S)
            client.connect(str(path))
            with pytest.raises(OSError, match=r"Broken pipe|reset"):
                while True:
                    client.sendall(b"x" * 10_000)
        assert tell(path, "still there")


def test_a_client_that_never_reads_is_sent_away(path):
    # However many lines are taken at once, their answers are more than is kept for whoever does not read.
    with served(path, lambda command: {"long": "x" * 1000}):
        with socket.socket(socket.AF_UNIX) as client:
            client.settimeout(TIMEOUT_S)
            client.connect(str(path))
            with pytest.raises(OSError, match=r"Broken pipe|reset"):
                while True:
                    client.sendall(b"{}\n" * 100)
        assert tell(path, "x")


def test_half_a_line_waits_for_the_other_half(path):
    with served(path), socket.socket(socket.AF_UNIX) as client:
        client.settimeout(TIMEOUT_S)
        client.connect(str(path))
        client.sendall(b'{"command": ')
        client.sendall(b'"x"}\n{"comm')
        with client.makefile() as answers:
            assert json.loads(answers.readline())["said"] == {"command": "x"}


def test_more_clients_than_there_is_room_for_are_turned_away(path, monkeypatch):
    monkeypatch.setattr(control, "_MOST_CLIENTS", 2)
    with served(path), connected(path) as first, connected(path) as second:
        assert first.request("a")
        assert second.request("b")
        with pytest.raises(ControlError, match=r"ended before|no answer"):
            tell(path, "c")
        assert first.request("d")


def test_a_socket_left_behind_is_replaced_but_nothing_else(path):
    with socket.socket(socket.AF_UNIX) as dead:
        dead.bind(str(path))
    with served(path):
        with pytest.raises(EmulationError, match=r"another emulator listens"):
            ControlSocket(path, echo)
        assert tell(path, "x")
    path.write_text("data")
    with pytest.raises(EmulationError, match=r"no socket"):
        ControlSocket(path, echo)
    assert path.read_text() == "data"


def test_nobody_there_is_a_message(path):
    with pytest.raises(ControlError, match=r"no emulator listens"):
        EmulatorClient(path)


class Emulation:
    """A loopback leg with a real terminal nobody opens, on a clock of paper."""

    def __init__(self, tmp_path, **options):
        self.leg = Leg(LegSpec(config=str(CONFIGS / "lin_roach"), plant="loopback", **options))
        self.leg.begin(0)
        self.world = World()
        self.terminal = PseudoTerminal(tmp_path / "leg")
        self.path = tmp_path / "leg.bytes"
        self.log = RawLog(self.path, LogHeader("leg", self.leg.baud, 0, tuple(s.bus_id for s in self.leg.servos)))
        self.loop = EmulatorLoop(
            self.leg.end, self.leg.plant, self.world, self.leg.line, baud=self.leg.baud, start_ns=0,
            now=self.world.now, wait=self.world.wait, sniffer=self.leg.family.sniffer(), log=self.log,
        )  # fmt: skip
        self.commands = EmulatorCommands(self.leg, self.loop, self.terminal, self.world.now)

    def tell(self, name, **parameters):
        return self.commands.obey({"command": name, **parameters})

    def ask(self, frame):
        """Let the host send a frame and return what came back within 20 ms."""
        before, self.world.script = len(self.world.got), [(self.world.now_ns + MS, frame)]
        end = self.world.now_ns + 20 * MS
        while self.world.now_ns < end:
            self.loop.turn()
        return b"".join(data for _, data in self.world.got[before:])

    def events(self):
        self.log.flush()
        return [(happening.event, happening.number) for happening in read(self.path).events]


@pytest.fixture
def leg(tmp_path):
    emulation = Emulation(tmp_path)
    yield emulation
    emulation.terminal.unplug()
    emulation.log.close()


MIDDLE = b"\x00\x7f"


def test_a_servo_unplugged_is_silent_and_passive_when_it_is_back(leg):
    leg.ask(encode_position(2, 3, 127))
    assert [servo["driven"] for servo in leg.tell("status")["servos"]] == [-1, -1, 3, -1]
    leg.tell("unplug", servo=2)
    assert leg.ask(encode_read(2)) == b""
    assert leg.ask(encode_read(1)) == MIDDLE
    leg.tell("plug", servo=2)
    assert leg.ask(encode_read(2)) == MIDDLE
    assert leg.tell("status")["servos"][2]["driven"] == -1
    assert leg.events() == [(RawEvent.SERVO_UNPLUGGED, 2), (RawEvent.SERVO_PLUGGED, 2)]


def test_a_stuck_servo_reports_what_it_did_while_it_moves(leg):
    leg.tell("stick", servo=leg.leg.servos[1].name)
    for _ in range(10):
        assert leg.ask(encode_position(1, 0, 200)) == MIDDLE
    leg.tell("unstick", servo=1)
    assert leg.ask(encode_read(1))[1] > 190


def test_the_adapter_can_be_unplugged(leg):
    leg.tell("unplug")
    assert leg.tell("status")["terminal"] is None
    leg.tell("unplug")
    assert leg.tell("plug")["terminal"] == leg.tell("status")["terminal"] == leg.terminal.name
    assert leg.events() == [(RawEvent.UNPLUGGED, 0), (RawEvent.PLUGGED, 0)]


def test_line_faults_come_and_go(leg):
    leg.tell("faults", drop=1.0)
    assert leg.ask(encode_read(0)) == b""
    leg.tell("faults", flip=1.0)
    assert leg.ask(encode_read(0)) != MIDDLE
    leg.tell("faults")
    assert leg.ask(encode_read(0)) == MIDDLE


def test_the_supply_lost_and_back_leaves_servos_limp(leg):
    leg.ask(encode_position(1, 0, 130))
    leg.tell("supply", on=False)
    assert leg.ask(encode_read(1)) == b""
    leg.tell("supply", on=True)
    assert leg.ask(encode_read(1)) != b""
    assert [servo["driven"] for servo in leg.tell("status")["servos"]] == [-1] * 4
    assert leg.events() == [(RawEvent.SUPPLY_OFF, 0), (RawEvent.SUPPLY_ON, 0)]


def test_a_servo_whose_supply_dips_is_limp_and_answers(leg):
    leg.ask(encode_position(1, 0, 130))
    leg.tell("brown_out", servo=1)
    assert [servo["driven"] for servo in leg.tell("status")["servos"]] == [-1] * 4
    assert leg.ask(encode_read(1)) != b""
    assert leg.events() == [(RawEvent.BROWNED_OUT, 1)]


def test_a_babbling_servo_fills_the_line_until_it_is_silent(leg):
    leg.tell("babble", servo=3, on=True)
    begun, before = leg.world.now_ns, len(leg.world.got)
    leg.ask(encode_read(0))
    said = sum(len(data) for _, data in leg.world.got[before:])
    assert said == pytest.approx((leg.world.now_ns - begun) / wire_ns(1, 57_600), rel=0.25)
    leg.tell("babble", servo=3, on=False)
    leg.ask(encode_read(0))
    assert leg.ask(encode_read(0)) == MIDDLE
    assert leg.tell("status")["collisions"] > 0
    assert leg.events() == [(RawEvent.BABBLING, 3), (RawEvent.SILENT, 3)]
    assert read(leg.path).unasked >= said
    assert read(leg.path).frames[0].reply == b""


def test_a_servo_of_another_id_answers_there(leg):
    leg.tell("wrong_id", servo=2, id=9)
    assert leg.ask(encode_read(2)) == b""
    assert leg.ask(encode_read(9)) == MIDDLE
    leg.tell("wrong_id", servo=2, id=2)
    assert leg.ask(encode_read(2)) == MIDDLE


def test_a_tripped_servo_answers_but_obeys_no_goal(leg):
    leg.ask(encode_position(0, 0, 127))
    leg.tell("trip", servo=0, on=True)
    assert leg.ask(encode_position(0, 0, 200)) == MIDDLE
    assert leg.tell("status")["servos"][0]["driven"] == -1
    leg.tell("trip", servo=0, on=False)
    leg.ask(encode_position(0, 0, 127))
    assert leg.tell("status")["servos"][0]["driven"] == 0


def test_servos_trip_above_the_current_that_was_set(leg):
    leg.tell("overload", limit_a=0.1, after_ms=0)
    leg.ask(encode_position(0, 4, 200))
    assert leg.tell("status")["servos"][0]["driven"] == 4
    leg.ask(encode_position(0, 4, 200))
    assert leg.tell("status")["servos"][0]["driven"] == -1
    leg.tell("overload", limit_a=None)
    assert leg.events() == [(RawEvent.OVERLOAD_SET, 0)] * 2


def test_what_the_line_did_is_counted(leg):
    leg.tell("faults", drop=1.0)
    for _ in range(3):
        leg.ask(encode_read(0))
    leg.tell("faults", delay=1.0, delay_us=500)
    leg.ask(encode_read(0))
    status = json.loads(json.dumps(leg.tell("status")))
    assert status["injected"]["drop"] == 3
    assert status["record"]["visible"] == 3
    assert status["record"]["late"] == {"500000": 1}


def test_a_stall_is_noted(leg):
    leg.tell("stall", ms=30)
    assert leg.ask(encode_read(0)) == b""
    assert leg.ask(encode_read(0)) == MIDDLE * 2
    assert leg.events() == [(RawEvent.STALLED, 30)]


def test_quit_ends_the_loop(leg):
    leg.tell("quit")
    leg.loop.run()
    assert leg.loop.stopped


@pytest.mark.parametrize(
    ("command", "said"),
    [
        ({}, "no command None: expected one of status"),
        ({"command": "stuck"}, "no command 'stuck'"),
        ({"command": ["status"]}, "no command"),
        ({"command": "status", "servo": 1}, "status has no 'servo': expected no parameters"),
        ({"command": "stick"}, "no servo None: expected one of 0 ("),
        ({"command": "stick", "servo": 9}, "no servo 9"),
        ({"command": "stick", "servo": True}, "no servo True"),
        ({"command": "faults", "drop": 1.5}, "drop=1.5 is not a probability"),
        ({"command": "faults", "drop": "x"}, "drop is 'x': expected a number"),
        ({"command": "faults", "drip": 1}, "faults has no 'drip': expected drop, flip"),
        ({"command": "supply"}, "on is None: expected true or false"),
        ({"command": "babble", "servo": 1}, "on is None"),
        ({"command": "wrong_id", "servo": 1, "id": 31}, "id 31 does not fit the wire: expected 0 to 30"),
        ({"command": "wrong_id", "servo": 1, "id": 254}, "id is 254: expected 0 to 253"),
        ({"command": "wrong_id", "servo": 1, "id": 1.5}, "id is 1.5: expected a whole number"),
        ({"command": "overload", "limit_a": 1}, "after_ms is None"),
        ({"command": "stall"}, "ms is None"),
        ({"command": "stall", "ms": -1}, "ms is -1: expected 0 to"),
        ({"command": "kick", "force_n": [1, 2], "duration_ms": 5}, "expected [forward, left, up] in N"),
        ({"command": "kick", "force_n": [1, 2, None], "duration_ms": 5}, "force_n is None"),
        ({"command": "kick", "force_n": [1, 2, 3], "duration_ms": 5}, "needs --plant mujoco"),
        ({"command": "ground", "present": 1}, "expected true or false"),
        ({"command": "stall", "ms": 10**400}, "expected a number"),
        ({"command": "height", "height_cm": float("nan")}, "expected a number"),
    ],
)
def test_a_command_that_can_not_be_done_says_what_was_expected(leg, command, said):
    with pytest.raises(EmulationError) as caught:
        leg.commands.obey(command)
    assert said in str(caught.value)
    assert leg.events() == []


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)
NAMES = ["status", "faults", "stick", "unstick", "stall", "kick", "ground", "height"]
NAMES += ["supply", "brown_out", "babble", "wrong_id", "trip", "overload"]
PARAMETERS = ["servo", "ms", "force_n", "duration_ms", "present", "height_cm", "drop", "delay_us"]
PARAMETERS += ["id", "on", "limit_a", "after_ms"]


@settings(max_examples=150, deadline=None, derandomize=True)
@given(st.sampled_from(NAMES), st.dictionaries(st.sampled_from(PARAMETERS), JSON, max_size=2))
def test_no_parameter_makes_a_command_fail_in_another_way(tmp_path_factory, name, parameters):
    leg = _any_leg(tmp_path_factory)
    with suppress(EmulationError):
        json.dumps(leg.commands.obey({"command": name, **parameters}))


_ONE = []


def _any_leg(tmp_path_factory):
    if not _ONE:
        _ONE.append(Emulation(tmp_path_factory.mktemp("leg")))
        _ONE[0].terminal.unplug()
    return _ONE[0]


class Hands:
    """A leg with a world behind the commands, advanced by hand."""

    def __init__(self, tmp_path):
        self.leg = Leg(LegSpec(config=str(CONFIGS / "lin_roach"), seed=4))
        self.leg.begin(0)
        self.world = World()
        self.log = RawLog(tmp_path / "leg.bytes", LogHeader("leg", 57_600, 0, (0, 1, 2, 3)))
        self.terminal = PseudoTerminal(tmp_path / "leg")
        loop = EmulatorLoop(
            self.leg.emulator, self.leg.plant, self.world, self.leg.line, baud=57_600, start_ns=0,
            now=self.world.now, wait=self.world.wait, log=self.log,
        )  # fmt: skip
        self.commands = EmulatorCommands(self.leg, loop, self.terminal, self.world.now)

    def tell(self, name, **parameters):
        return self.commands.obey({"command": name, **parameters})

    def records_until(self, seconds):
        self.world.now_ns = round(seconds * 1e9)
        self.leg.plant.advance(self.world.now_ns)
        return self.leg.plant.take_records()


@pytest.fixture
def hands(tmp_path):
    emulation = Hands(tmp_path)
    yield emulation
    emulation.terminal.unplug()
    emulation.log.flush()
    emulation.log.close()


def test_a_kick_without_force_is_drawn_and_answered(hands, tmp_path):
    first, second = hands.tell("kick"), hands.tell("kick")
    assert len(first["force_n"]) == 3
    assert first["duration_ns"] > 0
    assert first["force_n"] != second["force_n"]
    given = hands.tell("kick", force_n=[1, 0, 0], duration_ms=20)
    assert (given["force_n"], given["duration_ns"]) == ([1.0, 0.0, 0.0], 20 * MS)
    hands.log.flush()
    assert [happening.event for happening in read(tmp_path / "leg.bytes").events] == [RawEvent.KICKED] * 3


def test_a_leg_is_loaded_taken_apart_and_put_together_by_command(hands, tmp_path):
    standing = hands.records_until(1)[-1][4]
    hands.tell("load", down_n=2.0, duration_ms=500)
    assert hands.records_until(1.4)[-1][4] > standing + 1.0
    hands.tell("disconnect", joint="Coxa-Trochanter", duration_ms=100)
    assert hands.records_until(3)[-1][4] == 0.0
    hands.tell("reconnect", duration_ms=500)
    # Looked at as seldom as here, a stiff foot may be met between two bounces.
    again = [record[4] for record in hands.records_until(5)[-30:]]
    assert sum(again) / len(again) == pytest.approx(standing, abs=0.5)
    hands.log.flush()
    happened = [happening.event for happening in read(tmp_path / "leg.bytes").events]
    assert happened == [RawEvent.LOADED, RawEvent.TAKEN_APART, RawEvent.PUT_TOGETHER]


@pytest.mark.parametrize(
    ("command", "words"),
    [
        ({"command": "kick", "force_n": [1, 2]}, "force_n is"),
        ({"command": "kick", "force_n": [1, 2, 2000]}, "expected -1000 to 1000"),
        ({"command": "load", "down_n": 1}, "duration_ms is None"),
        ({"command": "disconnect", "duration_ms": 1}, "joint is None"),
        ({"command": "disconnect", "joint": "Knee", "duration_ms": 1}, "expected one of Thorax-Coxa1"),
        ({"command": "reconnect", "duration_ms": 1}, "nothing is taken off"),
    ],
)
def test_what_hands_can_not_do_is_answered(hands, tmp_path, command, words):
    with pytest.raises(EmulationError, match=words):
        hands.commands.obey(command)
    hands.log.flush()
    assert read(tmp_path / "leg.bytes").events == ()


def test_servos_without_a_leg_have_no_hands_on_them(leg):
    with pytest.raises(EmulationError, match="--plant mujoco"):
        leg.tell("kick")
