"""Requests for data, now and at a time to come: they are no work of the core, and no right of whoever is in control."""

from __future__ import annotations

import pytest

from nuc_engine.daemon.wire import CoreCommand as Order
from nuc_engine.service.reads import MOST_PENDING
from tests.service.test_methods import refused
from tests.service.test_sccils_dialogue import Interface, change, command


def spec(*times: float, number: int = 302) -> bytes:
    inner = "".join(f'<hdsoSpec idNum="{number}" time="{time}"/>' for time in times)
    return f"<hdsoscript>{inner}</hdsoscript>".encode()


def changesets(b) -> int:
    return sum(kind == Order.CHANGESET for kind, _ in b.core.obeyed)


@pytest.fixture
def running(b):
    b.client("Ann").ask("run")
    b.core.cycle()
    return b


def watcher(b) -> Interface:
    i = Interface(b)
    i.talk.ask("hello", name="Eve", role="watch")
    return i


def test_a_request_of_a_time_is_answered_from_the_first_cycle_at_or_after_it(running):
    b, i = running, watcher(running)
    assert i.do(spec(1.0, 2.0)).status == "conditional"
    b.now += 900_000_000
    b.core.cycle()
    b.pass_time(0.15)  # its time has come, no cycle has
    assert i.talk.silent()
    b.core.cycle()
    first = b.core.board.cycle
    b.turn(3)
    for _ in range(3):
        b.core.cycle()
    b.pass_time(1.0)
    b.core.cycle()
    answer = i.status()
    assert (answer.status, answer.response_type) == ("success", "withdata")
    assert answer.text == f"cycle {first}, {first + 4}"
    assert [float(mod.time_s) for mod in i.receive().entries] == pytest.approx([1.05, 2.05])
    assert changesets(b) == 0


def test_no_request_is_work_of_the_core_nor_needs_control(running):
    b, i = running, watcher(running)
    assert i.do(spec(0, 0)).status == "conditional"
    assert i.status().status == "success"
    assert len(i.receive().entries) == 1
    assert i.do(change((104, 5.0, "0"))).status == "fail"
    watching = b.client()
    watching.ask("hello", name="Watcher", role="watch")
    text = spec(0, 1).decode()
    (answer,) = watching.ask("script", text=text)["answers"]
    assert (answer["name"], answer["value"]) == ("Coxa_current", 1.5)
    assert refused(watching, "script", text=change((104, 5.0, "0")).decode()).kind == "not_allowed"
    b.pass_time(1.1)
    b.core.cycle()
    b.turn(3)
    (event,) = [event for event in watching.ask("events") if event["name"] == "read"]
    assert (event["cycle"], event["answers"][0]["value"]) == (b.core.board.cycle, 1.5)
    assert changesets(b) == 0


def test_so_many_of_one_client_may_wait_and_nothing_of_one_more(running):
    b, i = running, watcher(running)
    answer = i.do(spec(*range(1, 1001)))
    assert (answer.status, f"at most {MOST_PENDING}" in answer.text) == ("fail", True)
    assert i.do(spec(*range(1, MOST_PENDING + 1))).status == "conditional"
    i.say(spec(7))
    assert "64 requests for data wait" in refused(i.talk, "script", text=spec(8).decode()).text
    assert watcher(b).do(spec(8)).status == "conditional", "another has as many"
    assert changesets(b) == 0


def test_what_waits_when_the_bout_ends_is_told_so(running):
    b, i = running, watcher(running)
    i.do(spec(1))
    b.client("Ann").ask("take_control", force=True)
    b.core.end("complete", "stopped")
    answer = i.status()
    assert (answer.status, "ended" in answer.text) == ("fail", True)


def test_before_a_bout_a_request_waits_for_it_and_keeps_nobody_waiting(b):
    i = Interface(b)
    assert i.do(spec(1)).status == "conditional"
    assert i.status().status == "success"
    assert i.do(command("run")).status == "success"
    b.pass_time(1.1)
    b.core.cycle()
    b.turn(3)
    assert [event["cycle"] for event in b.client().ask("events") if event["name"] == "read"] == [1]


def test_a_poll_that_names_everything_again_and_again_is_answered_once(b):
    i = Interface(b)
    everything = "<hdsoscript>" + '<hdsoSpec idNum="-1"/>' * 1000 + "</hdsoscript>"
    assert i.do(command("log", everything, extendedcommand="poll")).status == "success"
    assert len(i.receive().entries) == len(b.core.plan.hdsos)


def test_refusals_behind_what_waits_are_bounded(running):
    b, i = running, watcher(running)
    i.do(spec(1))
    for _ in range(4):
        for _ in range(500):
            i.say(b"<rubbish")
        i.talk.delivered()  # the queues of both sockets have room for fewer than all of them
    (eve,) = [client for client in b.service.hub.clients if client.name == "Eve"]
    b.until(lambda: not eve.session._reading)
    b.pass_time(1.1)
    b.core.cycle()
    assert i.status().status == "success"
    i.receive()
    answers = []
    while not answers or "left aside" not in answers[-1].text:
        answers.append(i.status())
    assert len(answers) < 600
    assert {answer.status for answer in answers} == {"fail"}
    assert int(answers[-1].text.split()[0]) + len(answers) - 1 == 2000
