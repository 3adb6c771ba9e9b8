"""Methods when something is odd: a core that is gone, a service that died, values that can not be computed with."""

from __future__ import annotations

import pytest
import zmq

from nuc_engine.daemon.block import Word
from nuc_engine.daemon.wire import CoreCommand
from nuc_engine.messages.errors import Refused
from tests.sccils.small import SMALL
from tests.service.bench import HERE, Refusal, bench


def refused(talk, method, **params):
    with pytest.raises(Refusal) as caught:
        talk.ask(method, **params)
    return caught.value


def test_a_core_that_is_gone_is_said_and_comes_back(b):
    talk = b.client("Ann")
    talk.ask("set", changes=[["gap", 4.0]])
    b.core.die()
    assert refused(talk, "set", changes=[["gap", 5.0]]).kind == "core_gone"
    assert refused(talk, "get", names=["gap"]).kind == "core_gone"
    assert talk.ask("status")["deaths"]["core"] == 1
    b.core.begin(keep=True)
    assert talk.ask("get", names=["gap"])["values"] == {"gap": 4.0}
    assert talk.ask("set", changes=[["gap", 5.0]])["applied"]
    assert talk.ask("undo")["applied"] == [{"name": "gap", "value": 4.0}]


def test_who_waits_when_the_core_is_replaced_is_told(b):
    talk = b.client("Ann")
    b.core.mute = True
    number = talk.send("set", changes=[["gap", 5.0]])
    talk.delivered()
    b.core.die()
    b.core.begin(keep=True)
    b.core.mute = False
    with pytest.raises(Refusal) as error:
        talk.answer(number)
    assert error.value.kind in ("core_gone", "timeout")


def test_a_core_that_does_not_acknowledge_is_said_in_time(b):
    talk = b.client("Ann")
    b.core.mute = True
    number = talk.send("arm")
    talk.delivered()
    b.now += 2_100_000_000
    with pytest.raises(Refusal) as error:
        talk.answer(number)
    assert error.value.kind == "timeout"


def test_after_its_death_a_service_goes_on_in_the_middle_of_a_bout(b):
    talk = b.client("Ann")
    talk.ask("set", changes=[["gap", 4.0]])
    talk.ask("run")
    b.pass_time(3)
    b.core.cycle()
    b.restart()
    again = b.client("Ann")
    status = again.ask("status")
    assert (status["mode"], status["configuration"], status["bout"]) == ("RUNNING", "small", 1)
    assert status["engine_time_s"] == pytest.approx(3.0)
    assert again.ask("documents")["joints.xml"] == (SMALL / "joints.xml").read_text()
    assert again.ask("get", names=["gap"])["values"] == {"gap": 4.0}
    request = again.ask("set", changes=[["gap", 5.0]])["request"]
    assert request > 2**32
    assert again.ask("undo")["applied"] == [{"name": "gap", "value": 4.0}]
    assert again.ask("stop")["mode"] == "STOPPED"


def test_documents_of_another_plan_are_not_taken_for_those_in_force(b):
    b.logger.kept = ("small", {**b.logger.kept[1], "joints.xml": b.logger.kept[1]["joints.xml"].replace(b"15", b"16")})
    b.restart()
    talk = b.client("Ann")
    assert "lost" in refused(talk, "model").text
    talk.ask("set", changes=[["gap", 5.0]])


def test_a_request_socket_gets_its_answers_too(b):
    talk = b.client(kind=zmq.REQ)
    assert talk.ask("status")["mode"] == "CONFIGURED"
    assert talk.ask("hello", name="Req")["author"] == f"Req {HERE}"


def test_requests_may_be_sent_without_waiting_and_are_all_answered(b):
    talk = b.client("Ann")
    numbers = [talk.send("get", names=["gap"]) for _ in range(50)]
    assert all(talk.answer(number)["values"] == {"gap": None} for number in numbers)


@pytest.mark.parametrize(
    ("name", "values", "word"),
    [
        ("Remotor_FL", [0.0], "parabolic"),
        ("pro_promotor_activation", [0, 0.8, 0.01, 61, 61], "wmin and wmax"),
        ("ret_promotor_activation", [0, 0, 0, 1, 2, 0, 0, 0, 3, 3], "wmin and wmax"),
    ],
)
def test_values_the_engine_can_not_compute_with_are_refused(b, name, values, word):
    error = refused(b.client("Ann"), "set", changes=[[name, values]])
    assert word in error.text


def test_the_same_values_in_steps_that_can_be_computed_with_are_taken(b):
    talk = b.client("Ann")
    talk.ask("set", changes=[["pro_promotor_activation", [0, 0.8, 0.01, 50, 100]]])
    assert refused(talk, "set", changes=[["pro_promotor_activation", [0, 0.8, 0.01, 100]]]).kind == "refused"
    talk.ask("set", changes=[["pro_promotor_activation", [0, 0.8, 0.01, 100, 120]]])


def test_run_says_where_its_data_go_and_not_where_those_before_went(b):
    talk = b.client("Ann")
    b.logger.folder = lambda: "data/second" if b.block.words[Word.BOUT] else "data/first"
    assert talk.ask("run")["folder"] == "data/second"


def test_run_does_not_wait_for_a_folder_that_does_not_come(b):
    talk = b.client("Ann")
    b.logger.folder = "data/first"
    number = talk.send("run")
    b.until(lambda: b.block.words[Word.BOUT])
    b.turn(4)  # the acknowledgement
    b.now += 600_000_000
    assert talk.answer(number)["folder"] == ""


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"limits": {"Femur-motor": 3}}, "did you mean 'Femur_motor'"),
        ({"limits": {"xyz": 3}}, "--limit xyz"),
        ({"park_deg": {"Nope": 3.0}}, "--park Nope"),
    ],
)
def test_limits_and_park_poses_name_what_the_model_has(tmp_path, options, said):
    with bench(tmp_path, **options) as b, pytest.raises(Refused, match=said):
        b.configured()


def test_a_core_that_is_replaced_is_told_the_park_pose_again(b):
    talk = b.client("Ann")
    joint = b.service.hub.need_plan().joints[0].name
    talk.ask("park", angles={joint: 10.0}, rate_deg_s=5.0)
    told = [fields for kind, fields in b.core.obeyed if kind == CoreCommand.PARK]
    assert len(told) == 1
    b.core.die()
    b.turn(4)
    b.core.begin(keep=True)
    b.turn(6)
    again = [fields for kind, fields in b.core.obeyed if kind == CoreCommand.PARK]
    assert len(again) == 2
    assert again[1][1:] == told[0][1:]
