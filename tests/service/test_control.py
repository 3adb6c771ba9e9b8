from __future__ import annotations

import pytest

from nuc_engine.messages.errors import Refused
from nuc_engine.service.clients import BURST, IDLE_NS, MAX_CLIENTS, PER_SECOND, QUIET_NS, Clients
from nuc_engine.service.control import ControlLease

A, B = b"a", b"b"
S = 1_000_000_000


def test_one_client_has_control_and_the_other_is_refused():
    control = ControlLease(10.0)
    assert control.take(A, 0) is None
    with pytest.raises(Refused) as refused:
        control.take(B, S)
    assert refused.value.kind == "no_control"
    assert control.holder(S) == A


def test_control_may_be_taken_again_by_who_has_it_and_with_force_by_others():
    control = ControlLease(10.0)
    control.take(A, 0)
    assert control.take(A, S) == A
    assert control.take(B, S, force=True) == A
    assert control.holder(S) == B


def test_control_ends_after_silence_and_not_before():
    control = ControlLease(10.0)
    control.take(A, 0)
    assert control.holder(10 * S) == A
    assert control.holder(10 * S + 1) is None


def test_any_message_keeps_control_and_those_of_others_do_not():
    control = ControlLease(10.0)
    control.take(A, 0)
    control.note_message(A, 8 * S)
    control.note_message(B, 15 * S)
    assert control.holder(18 * S) == A
    assert control.holder(18 * S + 1) is None


def test_a_message_after_the_time_out_does_not_bring_control_back():
    control = ControlLease(10.0)
    control.take(A, 0)
    control.note_message(A, 11 * S)
    assert control.holder(11 * S) is None


def test_only_who_has_control_can_hand_it_over():
    control = ControlLease(10.0)
    with pytest.raises(Refused):
        control.hand_over(A, B, 0)
    control.take(A, 0)
    control.hand_over(A, B, S)
    assert control.holder(S) == B
    assert not control.release(A)
    assert control.release(B)
    assert control.holder(S) is None


def test_names_are_told_apart_and_keys_vouch_for_theirs():
    clients = Clients()
    first, second = (clients.heard(key, [key], None, 0) for key in (A, B))
    clients.greet(first, "Ann", None)
    clients.greet(second, "Ann", None)
    assert (first.name, second.name) == ("Ann", "Ann#2")
    assert first.author == "Ann (unverified)"
    third = clients.heard(b"c", [b"c"], ("Cid", "watch"), 0)
    clients.greet(third, "Ann", None)
    assert (third.author, third.role) == ("Cid", "watch")


def test_a_client_may_ask_for_less_and_not_for_more():
    clients = Clients()
    client = clients.heard(A, [A], ("Ann", "operate"), 0)
    with pytest.raises(Refused) as refused:
        clients.greet(client, "Ann", "admin")
    assert refused.value.kind == "not_allowed"
    clients.greet(client, "Ann", "watch")
    assert client.role == "watch"
    with pytest.raises(Refused):
        clients.greet(client, "Ann", "operate")


def test_a_burst_is_allowed_and_then_so_many_a_second():
    client = Clients().heard(A, [A], None, 0)
    assert all(client.spend(0) for _ in range(BURST))
    assert not client.spend(0)
    assert sum(client.spend(S) for _ in range(BURST)) == PER_SECOND


def test_the_list_of_clients_is_bounded_and_who_has_something_to_lose_stays():
    clients, gone = Clients(), []
    clients.spares = lambda client: client.key == b"0"
    clients.forgotten = lambda client: gone.append(client.key)
    for k in range(MAX_CLIENTS):
        clients.heard(b"%d" % k, [], None, k)
    clients.greet(clients.heard(b"5", [], None, 5), "Eve", "watch")
    with pytest.raises(Refused):
        clients.heard(A, [], None, QUIET_NS - 1)
    clients.heard(A, [], None, QUIET_NS + 10)
    clients.heard(B, [], None, QUIET_NS + 10)
    assert gone == [b"5", b"1"], "a watcher first, then who was silent longest; never who is spared"
    assert len(list(clients)) == MAX_CLIENTS


def test_a_role_that_was_given_up_does_not_come_back():
    clients = Clients()
    client = clients.heard(A, [A], None, 0)
    clients.greet(client, "Ann", "watch")
    clients.drop(client)
    again = clients.heard(A, [A], None, 0)
    assert again.role == "watch"
    with pytest.raises(Refused):
        clients.greet(again, "Ann", "operate")
    assert clients.heard(A, [A], ("Ann", "admin"), 0).role == "watch"


def test_idle_clients_are_forgotten_but_not_who_has_something_to_lose():
    clients = Clients()
    clients.spares = lambda client: client.key == B
    for key in (A, B):
        clients.heard(key, [], None, 0)
    clients.forget_idle(IDLE_NS)
    assert len(list(clients)) == 2
    clients.forget_idle(IDLE_NS + 1)
    assert [client.key for client in clients] == [B]
