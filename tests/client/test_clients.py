from __future__ import annotations

import asyncio
from typing import Any

import pytest
import zmq

from nuc_engine.client import AsyncClient, Client, ClientError, NotAnswered, Refused
from nuc_engine.client.methods import Methods
from nuc_engine.client.sccils import Dialogue
from tests.client.fake_daemon import CONFIGS, Clock, FakeDaemon, Serving, serving

pytestmark = [
    pytest.mark.usefixtures("clock"),
    pytest.mark.timeout(60),  # seconds: nothing is judged by it
]


def test_it_says_hello_once_and_reads_and_writes(served: Serving, daemon: FakeDaemon, address: str) -> None:
    with Client(address, name="rutter") as leg:
        assert leg.set({"CTr_lev_TC1_load": -0.2}).applied == ({"name": "CTr_lev_TC1_load", "value": -0.2},)
        reading = leg.get(["CTr_lev_TC1_load", "joint.Coxa-Trochanter.action", "nonsense"])
        assert leg.greeting is not None
        assert (leg.greeting.author, leg.greeting.verified) == ("rutter", False)
        assert reading.values == {"CTr_lev_TC1_load": -0.2, "joint.Coxa-Trochanter.action": "CTr_LevationPRO"}
        assert reading.unknown == ("nonsense",)
        assert [method for method, _ in daemon.requests] == ["hello", "set", "get"]


def test_an_edit_tells_cycle_and_time(served: Serving, daemon: FakeDaemon, address: str) -> None:
    with Client(address, name="rutter") as leg:
        now = leg.set([(101, 0.5)])
        later = leg.set([(101, 0.5)], time_s=20.0)
        no = leg.set([(101, 21.0)])
    assert (now.cycle, now.time_s, now.pending) == (101, pytest.approx(0.505), 0)
    assert later.pending == 7
    assert no.applied == ()
    assert no.refused == ("CTr_lev_TC1_load: above its valid range, to 20",)


def test_asyncio_asks_the_same(served: Serving, daemon: FakeDaemon, address: str) -> None:
    async def talk() -> Any:
        async with AsyncClient(address, name="rutter") as leg:
            status, reading, edit = await asyncio.gather(
                leg.status(), leg.get(["CTr_lev_TC1_load"]), leg.set({"CTr_lev_TC1_load": 0.1})
            )
            return status.mode, reading.values, edit.applied

    assert asyncio.run(talk()) == (
        "CONFIGURED",
        {"CTr_lev_TC1_load": 0.0},
        ({"name": "CTr_lev_TC1_load", "value": 0.1},),
    )
    assert [method for method, _ in daemon.sent] == ["status", "get", "set"]


def test_a_refusal_has_kind_text_and_hint(served: Serving, daemon: FakeDaemon, address: str) -> None:
    daemon.mode = "UNCONFIGURED"
    with Client(address, name="rutter") as leg, pytest.raises(Refused) as caught:
        leg.model()
    assert (caught.value.kind, caught.value.text) == ("mode", "nothing is configured")
    assert "nuc ctl configure" in str(caught.value)


def test_without_a_daemon_it_says_what_to_start(address: str, clock: Clock) -> None:
    clock.runs = True
    with Client(address, name="rutter", timeout_s=0.02) as leg, pytest.raises(NotAnswered) as caught:
        leg.status()
    assert "nuc serve" in str(caught.value)
    assert not caught.value.sent


def test_a_request_given_up_is_not_sent_when_a_daemon_comes(daemon: FakeDaemon, address: str, clock: Clock) -> None:
    with Client(address, name="rutter", timeout_s=0.5) as leg:
        clock.runs = True
        with pytest.raises(NotAnswered):
            leg.run()
        clock.runs = False
        with serving(daemon, address):
            assert leg.status().mode == "CONFIGURED"
    assert [method for method, _ in daemon.sent] == ["status"]


def test_a_silent_daemon_may_have_done_it(served: Serving, daemon: FakeDaemon, address: str, clock: Clock) -> None:
    daemon.silent = {"mark"}
    with Client(address, name="rutter", timeout_s=0.5) as leg:
        leg.status()
        clock.runs = True
        with pytest.raises(NotAnswered, match="may or may not have taken effect") as caught:
            leg.mark("slipped")
        clock.runs = False
        assert caught.value.sent
        leg.status()
    assert [method for method, _ in daemon.sent] == ["status", "mark", "status"]


def test_a_late_answer_is_not_taken_for_another(
    served: Serving, daemon: FakeDaemon, address: str, clock: Clock
) -> None:
    held: list[bytes] = []
    replies = daemon.replies

    def late(sender: bytes, payload: bytes) -> list[bytes]:
        answers = replies(sender, payload)
        if b"events" in payload:
            held.extend(answers)
            return []
        return [*held, *answers] if b"status" in payload else answers

    daemon.replies = late
    with Client(address, name="rutter", timeout_s=0.5) as leg:
        leg.get([])
        clock.runs = True
        with pytest.raises(NotAnswered):
            leg.events()
        clock.runs = False
        assert leg.status().mode == "CONFIGURED"
    assert held


def test_a_daemon_that_goes_away_between_room_and_sending_was_sent_nothing(served: Serving, address: str) -> None:
    with Client(address, name="rutter") as leg:
        leg.status()
        socket = leg._socket

        class Gone:
            def send(self, payload: bytes, flags: int) -> None:
                raise zmq.Again

            def __getattr__(self, name: str) -> object:
                return getattr(socket, name)

        leg._socket = Gone()
        with pytest.raises(NotAnswered, match="went away") as caught:
            leg.status()
        assert not caught.value.sent
        leg._socket = socket
        assert leg.status().mode == "CONFIGURED"


def test_a_daemon_that_comes_back_is_greeted_anew(daemon: FakeDaemon, address: str, clock: Clock) -> None:
    with Client(address, name="rutter") as leg:
        with serving(daemon, address):
            leg.status()
        clock.runs = True
        _see_it_gone(leg)
        clock.runs = False
        with serving(daemon, address):
            assert leg.status().mode == "CONFIGURED"
    assert [method for method, _ in daemon.requests] == ["hello", "status", "hello", "status"]


def test_a_subscription_tells_types_and_yields_samples(served: Serving, address: str) -> None:
    with Client(address, name="rutter") as leg:
        stream = leg.subscribe(["CTr_angle", "nonsense"], rate_hz=50)
        assert stream.fields == {"CTr_angle": {"type": "float", "unit": "deg"}, "nonsense": None}
        served.publish("recipe.1", {"CTr_angle": 88.5}, 1234.5)
        sample = next(iter(stream))
    assert (sample.topic, sample.values, sample.unix_time_s) == ("recipe.1", {"CTr_angle": 88.5}, 1234.5)


def test_asyncio_subscribes_too(served: Serving, address: str) -> None:
    async def listen() -> Any:
        async with AsyncClient(address, name="rutter") as leg:
            stream = await leg.subscribe(["CTr_angle"])
            await asyncio.to_thread(served.publish, "recipe.1", {"CTr_angle": 88.5}, 1234.5)
            return (await anext(aiter(stream))).values

    assert asyncio.run(listen()) == {"CTr_angle": 88.5}


def test_sccils_answers_are_collected_with_the_data_behind_them(
    served: Serving, daemon: FakeDaemon, address: str
) -> None:
    daemon.sccils = [response("conditional"), response("success"), b"<hdsoscript/>"]
    document = '<sccils_commandscript><sccils_command commandtype="run"/></sccils_commandscript>'
    with Client(address, name="rutter") as leg:
        seen: list[str] = []

        def see(document: str) -> None:
            seen.append(document)
            if len(seen) == 2:
                # What comes right behind the last answer does so when the daemon gets a processor.
                leg._socket.poll()

        answers = leg.sccils(document, seen=see)
        assert leg.status().mode == "CONFIGURED"
    assert seen == answers
    assert [answer.encode() for answer in answers] == daemon.sccils
    assert document.encode() in daemon.payloads


def test_sccils_that_stays_conditional_is_not_answered(
    served: Serving, daemon: FakeDaemon, address: str, clock: Clock
) -> None:
    daemon.sccils = [response("conditional")]
    seen: list[str] = []

    def see(document: str) -> None:
        seen.append(document)
        clock.runs = True

    document = "<hdsoscript><hdsoMod idNum='1' NumElts='1'>1</hdsoMod></hdsoscript>"
    with Client(address, name="rutter", timeout_s=0.5) as leg, pytest.raises(NotAnswered) as caught:
        leg.sccils(document, wait_s=0.5, seen=see)
    assert caught.value.sent
    assert [document.encode() for document in seen] == daemon.sccils, "what came is not lost with what did not"


def response(status: str) -> bytes:
    text = f'<sccils_commandscript><sccils_command_response responsestatus="{status}"/></sccils_commandscript>'
    return text.encode()


def script(*entries: str) -> bytes:
    return f"<sccils_commandscript>{''.join(entries)}</sccils_commandscript>".encode()


RUN, LOG = '<sccils_command commandtype="run"/>', '<sccils_command commandtype="log"/>'
OFFER = '<sccils_config_command configtype="available" configname="lin_roach"/>'


@pytest.mark.parametrize(
    ("sent", "answers"),
    [
        (script(RUN), [response("success")]),
        (script(RUN), [response("conditional"), response("fail")]),
        (script(RUN, LOG), [response("success"), response("success")]),
        (script(), [script(OFFER)]),
        (script(), [script()]),
        (script(OFFER.replace("available", "start")), [response("conditional"), response("success")]),
        (b"<nonsense", [response("fail")]),
        (response("success"), []),
    ],
)
def test_a_dialogue_is_over_with_the_last_final_answer(sent: bytes, answers: list[bytes]) -> None:
    dialogue = Dialogue(sent)
    for answer in answers:
        assert not dialogue.over
        assert dialogue.take(answer) is None
    assert dialogue.over


def test_documents_of_a_start_are_acknowledged_and_streams_are_not() -> None:
    dialogue = Dialogue(script(OFFER.replace("available", "start")))
    parameter = '<sccils_config_command configtype="parameter" configname="{}"/>'
    sensors = (CONFIGS / "lin_roach" / "sensors.xml").read_bytes()
    for document in (script(parameter.format("lin_roach")), sensors):
        assert b'"success"' in (dialogue.take(document) or b"")
    assert dialogue.take(script(parameter.format("dataport"))) is None
    assert not dialogue.over


def test_an_address_that_is_none_is_said_at_once() -> None:
    with pytest.raises(ClientError, match="ipc://PATH or tcp://HOST:PORT"):
        Client("localhost", name="rutter")


def test_a_value_that_can_not_be_sent_is_refused_here(served: Serving, daemon: FakeDaemon, address: str) -> None:
    with Client(address, name="rutter") as leg, pytest.raises(Refused, match="set"):
        leg.set({"CTr_lev_TC1_load": object()})
    assert daemon.sent == []


def test_both_clients_have_the_same_methods_with_their_help() -> None:
    names = [name for name in vars(Methods) if not name.startswith("_")]
    assert len(names) > 30
    for name in names:
        assert getattr(Client, name).__doc__
        assert getattr(AsyncClient, name) is getattr(Client, name)


def _see_it_gone(leg: Client) -> None:
    """Ask until the client knows: when ZeroMQ tells of a connection that is no more is its own affair."""
    while True:
        try:
            leg.status()
        except NotAnswered as error:
            if not error.sent:
                return
