"""Torque off by itself: the same request as everybody's, with less around it."""

from __future__ import annotations

import pytest
from msgspec import to_builtins

from nuc_engine.client import BadAnswer, ClientError, NotAnswered, Refused
from nuc_engine.client.off import take_torque_off
from nuc_engine.messages.requests import OffRequest
from tests.client.fake_daemon import FakeDaemon, Refusal, Serving, serving

pytestmark = pytest.mark.timeout(60)  # seconds: nothing is judged by it

TIMEOUT_S = 30.0


def test_it_is_what_everybody_asks_for_with_a_name_before_and_a_goodbye_behind(
    served: Serving, daemon: FakeDaemon, address: str
) -> None:
    answer = take_torque_off(address, name="alice", why="cable caught", timeout_s=TIMEOUT_S)
    assert (answer["torque"], answer["unconfirmed"]) == (False, [])
    daemon.wait_for("leave")
    asked = OffRequest("cable caught")
    assert daemon.requests == [("hello", {"name": "alice"}), (asked.method, to_builtins(asked)), ("leave", {})]


def test_without_a_daemon_it_says_that_nothing_was_asked_for(address: str) -> None:
    with pytest.raises(NotAnswered, match=r"NOT asked for.*cut the power") as caught:
        take_torque_off(address, name="alice", why="", timeout_s=0.02)
    assert not caught.value.sent


def test_it_is_asked_for_again_where_a_request_was_lost(daemon: FakeDaemon, address: str) -> None:
    replies, lost = daemon.replies, iter([True])
    daemon.replies = lambda sender, payload: [] if b"off" in payload and next(lost, False) else replies(sender, payload)
    with serving(daemon, address):
        assert take_torque_off(address, name="alice", why="", timeout_s=TIMEOUT_S, again_s=0.05)["torque"] is False


def test_a_refusal_is_told(served: Serving, daemon: FakeDaemon, address: str) -> None:
    def refuse(why: str) -> None:
        raise Refusal("failed", "no disk", "free some")

    daemon.answers["off"] = refuse
    with pytest.raises(Refused, match=r"no disk \(free some\)"):
        take_torque_off(address, name="alice", why="", timeout_s=TIMEOUT_S)
    daemon.answers["off"] = lambda why: None
    with pytest.raises(BadAnswer):
        take_torque_off(address, name="alice", why="", timeout_s=TIMEOUT_S)


@pytest.mark.parametrize("rubbish", ["", "nonsense", "tcp://nowhere", "ipc://" + "x" * 200])
def test_an_address_that_is_none_is_said(rubbish: str) -> None:
    with pytest.raises(ClientError, match="is no address"):
        take_torque_off(rubbish, name="alice", why="")


def test_messages_of_others_are_no_answer(daemon: FakeDaemon, address: str) -> None:
    replies = daemon.replies
    daemon.replies = lambda sender, payload: [b"\xc1", b"\x01", *replies(sender, payload)]
    with serving(daemon, address):
        assert take_torque_off(address, name="alice", why="", timeout_s=TIMEOUT_S)["mode"] == daemon.mode
