"""What belongs to a client is its own: others can not take it, and it ends with the client."""

from __future__ import annotations

import pytest

from nuc_engine.messages.keys import ALLOWED, AllowedClient, Role, allow, load_secret, revoke
from nuc_engine.service.clients import MAX_CLIENTS
from tests.service.bench import HERE, Refusal, Talker
from tests.service.test_access import b as with_keys
from tests.service.test_access import connect, keys
from tests.service.test_methods import refused
from tests.service.test_reads import spec
from tests.service.test_sccils_dialogue import command

__all__ = ["keys", "with_keys"]


def crowd(b, count: int) -> list[Talker]:
    """Return so many clients that have said hello."""
    talkers = [b.client() for _ in range(count)]
    for talk in talkers:
        talk.send("hello", name="crowd")
        talk.delivered()
    return talkers


def test_three_hundred_strangers_cost_the_one_in_control_nothing(b):
    ann, streaming, waiting = b.client("Ann"), b.client("Bob"), b.client("Cid")
    ann.ask("set", changes=[["gap", 5.0]])
    topic = streaming.ask("subscribe", names=["gap"], rate_hz=10)["topic"]
    ann.ask("run")
    waiting.raw(spec(300.0))
    waiting.recv()
    b.now += 15_000_000_000
    ann.ask("status")
    crowd(b, 300)
    assert ann.ask("status")["control"] == "Ann"
    request = ann.ask("set", changes=[["gap", 6.0]])["request"]
    assert b.logger.author(request) == f"Ann {HERE}"
    streaming.ask("unsubscribe", topic=topic)
    assert b.service.hub.reads._pending.total() == 1


def test_who_there_is_no_room_for_is_told_so_and_may_still_take_the_torque_off(b):
    ann = b.client("Ann")
    ann.ask("run")
    late = crowd(b, MAX_CLIENTS)[-1]
    assert "clients already" in refused(late, "status").text
    assert late.ask("off", why="smoke")["mode"] == "STOPPED"
    document = b.client()
    document.raw(command("stop"))
    assert b"clients already" in document.recv()
    ann.ask("arm")
    ann.ask("run")
    document.raw(command("extended", "smoke", extendedcommand="off"))
    assert b"success" in document.recv()
    assert b.service.hub.mode.name == "STOPPED"
    assert len(ann.ask("status")["clients"]) == MAX_CLIENTS
    # Whoever was quiet for a while makes room.
    b.now += 11_000_000_000
    late.ask("status")


@pytest.mark.parametrize("after", ["leave", "silence", "crowd"])
def test_a_role_that_was_given_up_does_not_come_back(b, after):
    talk = b.client()
    talk.ask("hello", name="Eve", role="watch")
    if after == "leave":
        talk.ask("leave")
    else:
        b.now += 700_000_000_000
        b.turn(3)
    if after == "crowd":
        crowd(b, MAX_CLIENTS + 1)
        b.now += 20_000_000_000
    for role in ("operate", "admin"):
        assert refused(talk, "hello", name="Eve", role=role).kind == "not_allowed"
    assert refused(talk, "set", changes=[["gap", 1.0]]).kind == "not_allowed"


def test_who_gives_up_the_role_gives_up_control(b):
    talk = b.client("Ann")
    talk.ask("take_control")
    assert talk.ask("hello", name="Ann", role="watch")["control"] == ""


def test_a_stream_is_its_clients_own(b):
    ann, eve = b.client("Ann"), b.client("Eve")
    topic = ann.ask("subscribe", names=["gap"], rate_hz=10)["topic"]
    with pytest.raises(Refusal, match="no topic"):
        eve.ask("unsubscribe", topic=topic)
    eve.raw(command("stoplog"))
    eve.recv()
    # Who asked for the same ends its own part of it.
    assert eve.ask("subscribe", names=["gap"], rate_hz=10)["topic"] == topic
    eve.ask("unsubscribe", topic=topic)
    ann.ask("unsubscribe", topic=topic)
    topic = ann.ask("subscribe", names=["gap"], rate_hz=20)["topic"]
    ann.ask("leave")
    assert topic not in b.service.hub.recipes


def test_a_stream_of_long_lists_counts_their_elements(b):
    with pytest.raises(Refusal, match="values a second"):
        b.client("Ann").ask("subscribe", names=["Coxa_Amatrix"] * 30, rate_hz=500)


def test_a_key_that_is_revoked_ends_with_all_that_is_its_own(with_keys, keys):
    b = with_keys
    ann = Talker(b, connect(b, keys, "ann"))
    ann.ask("run")
    topic = ann.ask("subscribe", names=["gap"], rate_hz=10)["topic"]
    ann.raw(spec(300.0))
    ann.recv()
    revoke(keys / ALLOWED, "ann")
    b.turn(2)
    said = [ann.recv(), ann.recv()]
    assert b"its client is gone" in b"".join(said)
    assert b"your key was taken off the list" in b"".join(said)
    local = b.client("Local")
    status = local.ask("status")
    assert (status["control"], [client["name"] for client in status["clients"]]) == ("", ["Local"])
    assert topic not in b.service.hub.recipes
    assert b.service.hub.reads._pending.total() == 0
    ann.send("status")
    assert ann.silent(60, heard=False)
    local.ask("set", changes=[["gap", 5.0]])


def test_a_role_that_is_lowered_in_the_list_takes_control_along_and_one_that_is_raised_is_there(with_keys, keys):
    b = with_keys
    public = load_secret(keys / "ann.key_secret").public
    ann = Talker(b, connect(b, keys, "ann"))
    ann.ask("take_control")
    for role, control in ((Role.WATCH, ""), (Role.ADMIN, "")):
        revoke(keys / ALLOWED, "ann")
        allow(keys / ALLOWED, public, AllowedClient("ann", role))
        b.turn(2)
        found = ann.ask("hello", name="ann")
        assert (found["role"], found["control"]) == (role.value, control)


def test_a_document_to_take_the_torque_off_waits_for_no_other_client_s(b, monkeypatch):
    ann, eve = b.client("Ann"), b.client("Eve")
    ann.ask("run")
    monkeypatch.setattr(b.service.hub.workshop, "do", lambda *_: b.loop.create_future())  # it is at work on and on
    eve.raw(b"<hdsoscript>" + b"<nonsense/>" * 1000 + b"</hdsoscript>")
    eve.delivered()
    ann.raw(command("extended", "smoke", extendedcommand="off"))
    assert b"success" in ann.recv()
    assert b.service.hub.mode.name == "STOPPED"
