"""The client and the daemon's own service, with a core of paper behind it: that both mean the same by every word."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from nuc_engine.cli.ctl import command
from nuc_engine.cli.ctl.link import Target, act, daemon
from nuc_engine.cli.ctl.tuneview import plain_text
from nuc_engine.cli.ctl.tuning import Tune
from nuc_engine.cli.ctl.watching import Watch
from nuc_engine.cli.ctl.watchview import head_lines, joint_cells
from nuc_engine.client import Client, Refused
from nuc_engine.client.off import take_torque_off
from nuc_engine.client.sccils import failed
from nuc_engine.messages import requests
from sccils_schemas.documents import HdsoScript
from sccils_schemas.parser import parse
from tests.client.fake_daemon import CONFIGS, Clock
from tests.service.bench import HERE, Bench, bench

pytestmark = pytest.mark.timeout(60)  # seconds: nothing is judged by it

LEV = "CTr_lev_TC1_load"


class Pumped:
    """A bench whose service and core are kept going by a thread: 0.2 ms of its clock and one cycle each turn.

    When the thread ends, with an error too, so do the service's connections; and `clock`, its clients', begins to run,
    so that nobody waits for a connection that does not come.
    """

    def __init__(self, made: Bench, clock: Clock) -> None:
        self.bench = made
        self._clock = clock
        self.address = made.command
        self.going = True
        self._leaving = b""
        self._left = threading.Event()
        self._thread = threading.Thread(target=self._pump)
        self._thread.start()

    def stop(self) -> None:
        self.going = False
        self._thread.join()

    def forget(self, target: Target) -> None:
        """Wait until the service hears a new client of an identity whose last one is on its way out."""
        self._left.clear()
        self._leaving = f"nuc ctl {target.name}".encode()
        self._left.wait()

    def _pump(self) -> None:
        try:
            while self.going:
                self._turn()
        finally:
            self._clock.runs = True
            self.bench.service.close()
            self._left.set()

    def _turn(self) -> None:
        self.bench.now += 200_000
        self.bench.loop.call_soon(self.bench.service.step)
        self.bench.loop.turn(0.001)
        self.bench.core.step()
        if self.bench.core.plan is not None:
            self.bench.core.cycle()
        if self._leaving and not self.bench.knows(self._leaving):
            self._leaving = b""
            self._left.set()


@pytest.fixture
def pumped(tmp_path: Path, clock: Clock) -> Iterator[Pumped]:
    with _pumping(tmp_path, clock, configured=True) as found:
        yield found


@contextmanager
def _pumping(tmp_path: Path, clock: Clock, *, configured: bool) -> Iterator[Pumped]:
    with bench(tmp_path) as made:
        if configured:
            made.configured(CONFIGS / "lin_roach")
        found = Pumped(made, clock)
        try:
            yield found
        finally:
            found.stop()


@pytest.fixture
def leg(pumped: Pumped) -> Iterator[Client]:
    with Client(pumped.address, name="alice") as client:
        yield client


@pytest.mark.parametrize("why", ["x" * 100_000, "broken \udcff byte", "", "Kabel h\u00e4ngt"])
def test_no_name_and_no_reason_keep_off_from_being_heard(pumped: Pumped, why: str) -> None:
    answer = take_torque_off(pumped.address, name="al\udcffice", why=why, timeout_s=30.0)
    assert (answer["torque"], answer["unconfirmed"]) == (False, [])
    _, (_, told) = pumped.bench.core.obeyed[-1]
    assert told.endswith(f"(al?ice {HERE})")


def test_every_method_is_understood(leg: Client, pumped: Pumped) -> None:
    asked = [
        requests.TasksRequest(),
        requests.ConfigurationsRequest(),
        requests.DocumentsRequest(),
        requests.TakeControlRequest(),
        requests.LabelsRequest({"surface": "carpet"}),
        requests.NotesRequest("a note"),
        requests.RecordStartRequest("first"),
        requests.set_values({LEV: -0.5}),
        requests.set_values([(102, 0.5)], time_s=50.0),
        requests.PendingRequest(),
        requests.ForgetRequest("all"),
        requests.UndoRequest(),
        requests.RedoRequest(),
        requests.HistoryRequest(),
        requests.KeepValuesRequest("first"),
        requests.set_values({LEV: -0.25}),
        requests.KeptValuesRequest(),
        requests.RecallValuesRequest("first"),
        requests.RulesRequest("Coxa-Trochanter"),
        requests.RecordStopRequest(),
        requests.ScriptsRequest(),
        requests.ScriptTextRequest("experiment_a"),
        requests.ValidateRequest(text="<hdsoscript/>"),
        requests.StoreScriptRequest("empty", "<hdsoscript/>"),
        requests.StoreConfigurationRequest("roach", leg.do(requests.DocumentsRequest())),
        requests.BoutsRequest(),
        requests.TweakRequest("Femur-Tibia", 3),
        requests.PoseSaveRequest("standing"),
        requests.PosesRequest(),
        requests.ParkRequest(name="standing"),
        requests.SaveRequest("gentle"),
        requests.SaveRequest("gentle", "script", "a description"),
        requests.SaveRequest("gentle", "script", overwrite=True),
        requests.RunRequest(stop_s=1000.0, labels={"repetition": "1"}, notes="one more"),
        requests.SenseRequest("TC1_current", 0),
        requests.SenseRequest("TC1_current", "off"),
        requests.JointModeRequest("Femur-Tibia", "limp"),
        requests.PoseRequest({"Femur-Tibia": 90.0}, 20.0),
        requests.MarkRequest("slipped"),
        requests.LogRequest(),
        requests.StoplogRequest(),
        requests.ScriptRequest((CONFIGS.parent / "scripts" / "experiment_a.xml").read_text(), "now"),
        requests.EventsRequest(),
        requests.StopRequest("hold"),
        requests.OffRequest("enough"),
        requests.ArmRequest(),
        requests.HandOverRequest("alice"),
        requests.ReleaseControlRequest(),
        requests.ShutdownRequest(),
    ]
    for request in asked:
        leg.do(request)
    # What is not asked above has a test of its own below, or is sent when a client is closed.
    done = {request.method for request in asked} | {"hello", "status", "configure", "model", "get", "subscribe"}
    done |= {"bout_files", "fetch"}
    assert set(requests.REQUESTS) - done == {"unsubscribe", "leave"}


def test_elements_and_ids_that_stand_for_all_are_meant_alike_by_client_command_line_and_service(
    leg: Client, pumped: Pumped
) -> None:
    name = "CTr_LevatorPRO_F-L_Params"
    done = leg.set([(f"{name}[1]", -1.25), ("174[0]", 2.5)])
    assert done.applied == ({"name": f"{name}[1]", "value": -1.25}, {"name": f"{name}[0]", "value": 2.5})
    assert leg.get([name, "174[1]"]).values == {name: [2.5, -1.25], "174[1]": -1.25}
    assert len(leg.get([-1]).values) == len(pumped.bench.core.plan.hdsos)
    with pytest.raises(Refused, match=r"no element \[2\]: it has 2, \[0\] to \[1\]"):
        leg.get([f"{name}[2]"])

    def ctl(*words: str) -> Result:
        pumped.forget(Target(given_name="alice"))
        return CliRunner().invoke(command, ["--address", pumped.address, "--name", "alice", *words])

    told = ctl("set", f"{name}[1]=-1")
    assert told.stdout.startswith(f"{name}[1] = -1: in effect since cycle"), told.output
    assert ctl("get", f"{name}[1]").stdout.split() == [f"{name}[1]", "-1"]
    everything = ctl("get", "--", "-1")
    assert len(everything.stdout.splitlines()) == len(pumped.bench.core.plan.hdsos), everything.output
    missing = ctl("get", f"{name}[x]")
    assert missing.exit_code == 1
    assert "counted from 0" in missing.stderr


def test_status_and_values_are_read(leg: Client, pumped: Pumped) -> None:
    status = leg.status()
    assert (status.mode, status.configuration, status.bout, status.latched) == ("CONFIGURED", "lin_roach", 0, False)
    assert status.clients[0]["name"] == "alice"
    reading = leg.get(["CTr_angle", 101, "joint.Coxa-Trochanter.mode", "rule.Enter_CTr_LevationPRO", "nonsense"])
    assert reading.values == {
        "CTr_angle": 12.0,
        "101": 0,
        "joint.Coxa-Trochanter.mode": "limp",
        "rule.Enter_CTr_LevationPRO": False,
    }
    assert reading.unknown == ("nonsense",)
    assert reading.cycle > 0
    assert leg.greeting is not None
    assert (leg.greeting.author, leg.greeting.verified) == (f"alice {HERE}", False)


def test_edits_tell_what_became_of_them(leg: Client) -> None:
    done = leg.set({LEV: -0.5})
    assert done.applied == ({"name": LEV, "value": -0.5},)
    assert (done.pending, done.refused) == (0, ())
    assert leg.remarks == ["you have control now"]
    waiting = leg.set({LEV: -0.7}, time_s=50.0)
    assert waiting.requests == (waiting.pending,)
    assert [item["request"] for item in leg.pending()] == [waiting.pending]
    with pytest.raises(Refused, match="valid range"):
        leg.set({LEV: 99})
    assert leg.undo().applied == ({"name": LEV, "value": 0},)


def test_control_is_one_persons_on_two_terminals(leg: Client, pumped: Pumped) -> None:
    leg.take_control()
    with Client(pumped.address, name="alice") as second, Client(pumped.address, name="bob") as bob:
        with pytest.raises(Refused, match="has control"):
            act(bob, Target(given_name="bob"), bob.set, {LEV: 0.5})
        act(second, Target(given_name="alice"), second.set, {LEV: 0.5})
        assert second.status().control == "alice#2"


def test_commands_that_follow_one_another_keep_control(pumped: Pumped) -> None:
    target = Target(pumped.address, "alice")
    with daemon(target) as first:
        first.take_control()
    pumped.forget(target)
    with daemon(target) as second:
        second.set({LEV: 0.5})
        assert second.remarks == []


def test_a_client_that_is_closed_leaves_control_to_others(leg: Client, pumped: Pumped) -> None:
    with Client(pumped.address, name="short") as short:
        short.take_control(force=True)
    # A goodbye is not answered, and comes by another way than what is asked next.
    while "short" in {client["name"] for client in leg.status().clients}:
        pass
    leg.set({"motor_speed": 2})
    assert [client["name"] for client in leg.status().clients] == ["alice"]


def test_two_commands_at_once_are_two_clients(pumped: Pumped, clock: Clock) -> None:
    # Time enough for every connection and every answer but that to a hello, which is waited for much shorter.
    target = Target(pumped.address, "alice", timeout_s=1e6)
    with daemon(target) as first:
        clock.runs = True
        with daemon(target) as second:
            assert {client["name"] for client in second.status().clients} == {"alice", "alice#2"}
            assert first.status().mode == "CONFIGURED"


def test_the_screens_show_what_the_service_says(leg: Client, pumped: Pumped) -> None:
    tune = Tune(leg, Target(given_name="alice"), "Coxa-Trochanter")
    tune.step(next(row for row in tune.rows if row.knob is not None and row.knob.label == LEV), 1)
    assert "in effect since cycle" in tune.message
    assert tune.values[LEV] == 0.1
    tune.refresh()
    text = plain_text(tune)
    assert "CTr_angle 12.00 deg" in text
    assert "1.50 <" in text
    tune.undo()
    tune.refresh()
    assert tune.values[LEV] == 0
    watch = Watch(leg)
    watch.refresh()
    assert watch.view.offline == ""
    assert "12.0" in next(cells for cells, _ in joint_cells(watch.view) if cells[0] == "Coxa-Trochanter")


def test_before_a_configuration_and_after_one_is_sent(tmp_path: Path, clock: Clock) -> None:
    with _pumping(tmp_path, clock, configured=False) as pumped, Client(pumped.address, name="alice") as leg:
        watch = Watch(leg)
        watch.refresh()
        assert watch.view.offline == ""
        assert "UNCONFIGURED" in head_lines(watch.view)[0]
        folder = CONFIGS / "lin_roach"
        documents = {name: (folder / name).read_text() for name in ("joints.xml", "parameters.xml", "sensors.xml")}
        assert leg.configure("mine", documents)["name"] == "mine"
        assert leg.status().configuration == "mine"
        assert Tune(leg, Target(given_name="alice"), "3").sheet.joint == "Coxa-Trochanter"


def test_a_stream_comes(leg: Client) -> None:
    stream = leg.subscribe(["CTr_angle", "nonsense"], rate_hz=50)
    assert stream.fields["nonsense"] is None
    assert (stream.fields["CTr_angle"] or {})["unit"] == "deg"
    assert next(iter(stream)).values == {"CTr_angle": 12.0}
    leg.unsubscribe(stream.topic)


def test_the_sccils_dialogue_is_held_to_its_end(leg: Client) -> None:
    start = '<sccils_config_command configtype="start" configname="lin_stickmiddle"/>'
    answers = leg.sccils(f"<sccils_commandscript>{start}</sccils_commandscript>")
    assert not any(failed(answer.encode()) for answer in answers)
    assert sum("<jointlist" in answer or "<hdsolist" in answer for answer in answers) == 3
    assert leg.status().configuration == "lin_stickmiddle"
    poll = (
        '<sccils_command commandtype="log" extendedcommand="poll"><hdsoscript>'
        '<hdsoSpec idNum="0" NumElts="1"/></hdsoscript></sccils_command>'
    )

    def see(document: str) -> None:
        if "<sccils_command_response" in document:
            # The values come right behind it: when the service gets a processor.
            leg._socket.poll()

    response, values = leg.sccils(f"<sccils_commandscript>{poll}</sccils_commandscript>", seen=see)
    assert 'responsestatus="success"' in response
    assert isinstance(parse(values.encode())[0], HdsoScript)
    assert "lin_roach" in leg.sccils("<sccils_commandscript/>")[0]
    assert failed(leg.sccils("<nonsense/>")[0].encode())
