"""Recipes, topics and datagrams."""

from __future__ import annotations

import socket

import msgpack
import pytest
import zmq

from nuc_engine.daemon.block import Word
from nuc_engine.service.streams import MOST_STREAMS
from nuc_engine.service.telemetry import MAX_RECIPES, UNLISTENED_NS
from sccils_schemas.model import MODEL_FILES
from tests.sccils.small import SMALL
from tests.service.bench import Refusal, bench


def receive(b, subscriber):
    b.until(lambda: subscriber.poll(1))
    topic, content, stamp = subscriber.recv_multipart()
    return topic.decode(), msgpack.unpackb(content), float(stamp)


def received_so_far(b, talk, subscriber):
    """Take all that has been sent, up to a mark made now; say how many that were."""
    subscriber.subscribe("nuc.event")
    b.until(lambda: b.service.sockets.listened("nuc.event"))
    talk.ask("mark", text="so far")
    count = 0
    while receive(b, subscriber)[0] != "nuc.event":
        count += 1
    return count


def test_what_plotjuggler_gets_with_nothing_set_but_the_address(b):
    subscriber = b.listener("")
    b.core.cycle({0: 33.0})
    b.pass_time(0.05)
    topic, values, stamp = receive(b, subscriber)
    assert topic == "nuc"
    assert values["Coxa_angle"] == 33.0
    assert values["motor.Coxa_motor.sent_raw"] == 101
    assert {"joint.Coxa.state", "muscle.Promotor.force", "engine.cycle"} <= set(values)
    assert all(isinstance(value, int | float) for value in values.values())
    assert stamp == pytest.approx(1_700_000_000 + b.now / 1e9)


def test_a_recipe_says_types_and_what_is_not_there(b):
    names = ["gap", 302, "joint.Coxa.action", "rule.Retraction", "Promotor_FL", "nix"]
    answer = b.client("Ann").ask("subscribe", names=names, rate_hz=10)
    assert answer["fields"]["nix"] == "not found"
    assert answer["fields"]["302"] == {"type": "number", "unit": answer["fields"]["302"]["unit"], "as": "Coxa_current"}
    assert answer["fields"]["Promotor_FL"]["type"] == "list"
    assert answer["fields"]["rule.Retraction"]["type"] == "flag"
    subscriber = b.listener(answer["topic"])
    b.pass_time(0.2)
    topic, values, _ = receive(b, subscriber)
    assert topic == answer["topic"]
    assert values["Coxa_current"] == 1.5
    assert values["Promotor_FL[1]"] == -1.5
    assert "gap" not in values
    assert "nix" not in values


def test_the_rate_is_kept_and_a_late_message_is_not_made_up_for(b):
    talk = b.client("Ann")
    answer = talk.ask("subscribe", names=["engine.cycle"], rate_hz=10)
    subscriber = b.listener(answer["topic"])
    b.turn(3)
    received_so_far(b, talk, subscriber)
    for _ in range(100):
        b.now += 10_000_000
        b.turn()
    assert 9 <= received_so_far(b, talk, subscriber) <= 11
    b.now += 5_000_000_000
    b.turn(10)
    assert received_so_far(b, talk, subscriber) == 1


def test_the_same_recipe_has_the_same_topic_until_the_last_has_unsubscribed(b):
    talk = b.client("Ann")
    first = talk.ask("subscribe", names=["gap"], rate_hz=10)["topic"]
    assert talk.ask("subscribe", names=["gap"], rate_hz=10)["topic"] == first
    assert talk.ask("subscribe", names=["gap"], rate_hz=20)["topic"] != first
    talk.ask("unsubscribe", topic=first)
    talk.ask("unsubscribe", topic=first)
    with pytest.raises(Refusal, match="no topic"):
        talk.ask("unsubscribe", topic=first)


def test_a_recipe_nobody_listens_to_is_forgotten_after_a_while(b):
    talk = b.client("Ann")
    first = talk.ask("subscribe", names=["gap"], rate_hz=10)["topic"]
    b.now += UNLISTENED_NS - 1_000_000_000
    b.turn(2)
    b.now += 2_000_000_000
    b.turn(2)
    with pytest.raises(Refusal, match="no topic"):
        talk.ask("unsubscribe", topic=first)


def test_recipes_are_bounded_in_number_and_in_what_they_cost(b):
    talk = b.client("Ann")
    with pytest.raises(Refusal, match="too many"):
        talk.ask("subscribe", names=["gap"] * 512, rate_hz=500)
    others = [b.client(f"c{k}") for k in range(MAX_RECIPES // MOST_STREAMS)]
    for k, other in enumerate(others):
        for j in range(MOST_STREAMS):
            other.ask("subscribe", names=["gap"], rate_hz=1 + k * MOST_STREAMS + j)
        with pytest.raises(Refusal, match="streams already"):
            other.ask("subscribe", names=["gap"], rate_hz=100)
    with pytest.raises(Refusal, match="recipes already"):
        talk.ask("subscribe", names=["gap"], rate_hz=100)
    others[0].ask("leave")
    talk.ask("subscribe", names=["gap"], rate_hz=100)


def test_a_recipe_follows_the_configuration(b):
    talk = b.client("Ann")
    answer = talk.ask("subscribe", names=["TC1_retLEV_FTang", "gap"], rate_hz=50)
    assert answer["fields"]["TC1_retLEV_FTang"] == "not found"
    subscriber = b.listener(answer["topic"])
    talk.ask("configure", name="lin_roach")
    b.pass_time(0.1)
    received_so_far(b, talk, subscriber)
    b.pass_time(0.1)
    assert "TC1_retLEV_FTang" in receive(b, subscriber)[1]


def test_events_have_a_topic_of_their_own(b):
    subscriber = b.listener("nuc.event")
    b.client("Ann").ask("mark", text="slipped")
    topic, event, _ = receive(b, subscriber)
    assert (topic, event["name"], event["text"]) == ("nuc.event", "mark", "slipped")


def test_a_subscriber_that_takes_nothing_changes_nothing(b):
    subscriber = b.context.socket(zmq.SUB)
    subscriber.linger, subscriber.rcvhwm = 0, 1
    b.sockets.append(subscriber)
    subscriber.connect(b.telemetry)
    subscriber.subscribe("")
    talk = b.client("Ann")
    for _ in range(3000):
        b.now += 40_000_000
        b.service.step()
    assert talk.ask("status")["mode"] == "CONFIGURED"


def test_the_newest_state_goes_out_as_datagrams(tmp_path):
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as subscriber:
        subscriber.bind(("127.0.0.1", 0))
        with bench(tmp_path, udp=f"127.0.0.1:{subscriber.getsockname()[1]}") as b:
            b.configured()
            b.pass_time(0.1)
            while "Coxa_angle" not in (values := msgpack.unpackb(subscriber.recv(65536))):
                b.pass_time(0.1)
    assert values["Coxa_angle"] == 10.0
    assert values["unix_time_s"] > 1_700_000_000


def test_names_of_tasks_and_their_lateness(b):
    name = next(iter(b.block.statistics))
    statistics = b.block.statistics[name]
    for k in range(10):
        statistics.record(b.now + k * 5_000_000, b.now + k * 5_000_000 + 20_000, b.now + k * 5_000_000 + 90_000)
    values = b.client().ask(
        "get", names=[f"task.{name}.runs", f"task.{name}.lateness_p50_us", f"task.{name}.period_us"]
    )["values"]
    assert values[f"task.{name}.runs"] == 10
    assert values[f"task.{name}.lateness_p50_us"] == pytest.approx(20, rel=0.05)
    assert values[f"task.{name}.period_us"] == pytest.approx(5000)


def test_records_of_the_core_before_are_not_read_with_the_plan_of_the_new_one(b):
    subscriber = b.listener("")
    talk = b.client("Ann")
    number = talk.send("configure", name="lin_roach")
    while b.block.words[Word.PLAN_GENERATION] != 2:
        b.core.cycle()  # the old core goes on until the supervisor ends it
        b.now += 40_000_000
        b.loop.call_soon(b.service.step)
        b.loop.turn(0.001)
    b.core.cycle()
    assert talk.answer(number)["name"] == "lin_roach"
    b.pass_time(0.1)
    assert "service_error" not in [event["name"] for event in talk.ask("events")]
    name = "motor.Femur_Tibia_motor.sent_raw"
    assert talk.ask("get", names=[name])["values"] == {name: None}
    b.core.cycle()
    assert talk.ask("get", names=[name])["values"] == {name: 104}
    receive(b, subscriber)


def test_what_the_core_before_measured_is_not_shown_as_the_new_ones(b):
    talk = b.client("Ann")
    name = "motor.Coxa_motor.sent_raw"
    assert talk.ask("get", names=[name])["values"] == {name: 101}
    texts = {file: (SMALL / file).read_text() for file in MODEL_FILES}
    talk.ask("configure", name="again", documents=texts)
    assert talk.ask("get", names=[name])["values"] == {name: None}
