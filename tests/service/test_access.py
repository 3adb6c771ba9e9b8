"""Keys, roles and addresses."""

from __future__ import annotations

import pytest
import zmq

from nuc_engine.messages.keys import ALLOWED, AllowedClient, Role, allow, load_secret, make_pair, revoke
from nuc_engine.service.access import Access, read_address, read_datagram_address
from nuc_engine.service.errors import ServiceError
from tests.service.bench import Refusal, Talker, bench


@pytest.mark.parametrize(
    ("url", "local"),
    [
        ("ipc:///run/nuc/commands", True),
        ("tcp://127.0.0.1:44106", True),
        ("tcp://127.1.2.3:1", True),
        ("tcp://localhost:44106", True),
        ("tcp://[::1]:44106", True),
        ("tcp://0.0.0.0:44106", False),
        ("tcp://*:44106", False),
        ("tcp://[::]:44106", False),
        ("tcp://10.0.0.7:44106", False),
        ("tcp://eth0:44106", False),
        ("tcp://localhost.example.org:44106", False),
        ("tcp://127.0.0.1.example.org:44106", False),
    ],
)
def test_what_only_this_machine_can_reach(url, local):
    assert read_address(url).local is local


def test_a_path_that_no_socket_can_have_is_refused():
    assert read_address("ipc://" + "é" * 53).local
    with pytest.raises(ServiceError, match=r"too long for a socket \(107 bytes\); choose a shorter path"):
        read_address("ipc://" + "é" * 54)


def test_datagrams_stay_on_this_machine():
    assert read_datagram_address("127.0.0.1:9870") == ("127.0.0.1", 9870)
    assert read_datagram_address("udp://[::1]:9870") == ("::1", 9870)
    for address in ("192.168.1.9:9870", "239.1.1.1:9870", "robot:9870"):
        with pytest.raises(ServiceError, match="unencrypted"):
            read_datagram_address(address)
    for address in ("", "127.0.0.1", "127.0.0.1:0", "127.0.0.1:70000"):
        with pytest.raises(ServiceError, match="expected HOST:PORT"):
            read_datagram_address(address)


@pytest.fixture
def keys(tmp_path):
    folder = tmp_path / "keys"
    make_pair(folder, "server")
    for name, role in (("ann", Role.OPERATE), ("eve", Role.WATCH), ("root", Role.ADMIN)):
        make_pair(folder, name)
        allow(folder / ALLOWED, load_secret(folder / f"{name}.key_secret").public, AllowedClient(name, role))
    make_pair(folder, "stranger")
    return folder


@pytest.fixture
def b(tmp_path, keys):
    with bench(tmp_path, keys=keys, commands=("tcp://0.0.0.0:*",), telemetry="tcp://0.0.0.0:*") as made:
        yield made.configured()


def connect(b, keys, name, kind=zmq.DEALER, which=1):
    socket = b.context.socket(kind)
    socket.linger = 0
    b.sockets.append(socket)
    if name is not None:
        pair = load_secret(keys / f"{name}.key_secret")
        socket.curve_publickey, socket.curve_secretkey = pair.public, pair.secret
        socket.curve_serverkey = load_secret(keys / "server.key_secret").public
    socket.connect(b.service.sockets.urls[which].replace("0.0.0.0", "127.0.0.1"))
    return socket


def test_keys_give_name_and_role(b, keys):
    ann = Talker(b, connect(b, keys, "ann"))
    greeting = ann.ask("hello", name="somebody else")
    assert (greeting["author"], greeting["verified"], greeting["role"]) == ("ann", True, "operate")
    ann.ask("set", changes=[["gap", 6.0]])
    assert b.logger.author(1) == "ann"
    with pytest.raises(Refusal, match="admin"):
        ann.ask("shutdown")
    eve = Talker(b, connect(b, keys, "eve"))
    eve.ask("get", names=["gap"])
    with pytest.raises(Refusal, match="watch"):
        eve.ask("set", changes=[["gap", 7.0]])
    assert eve.ask("off")["mode"] == "STOPPED"
    Talker(b, connect(b, keys, "root")).ask("shutdown")


def test_a_role_can_be_lowered_and_not_raised(b, keys):
    ann = Talker(b, connect(b, keys, "ann"))
    with pytest.raises(Refusal):
        ann.ask("hello", name="ann", role="admin")
    assert ann.ask("hello", name="ann", role="watch")["role"] == "watch"


@pytest.mark.parametrize("name", ["stranger", None])
def test_strangers_and_those_without_keys_get_no_answer(b, keys, name):
    talk = Talker(b, connect(b, keys, name))
    talk.send("status")
    assert talk.silent(60, received=False)
    assert [client["name"] for client in b.client("Local").ask("status")["clients"]] == ["Local"]


def test_a_stranger_is_counted(b, keys):
    talk = Talker(b, connect(b, keys, "stranger"))
    talk.send("status")
    local = b.client("Local")
    b.until(lambda: local.ask("status")["connections"]["keys_refused"] > 0)


@pytest.mark.parametrize("again", [True, False])
def test_a_client_that_was_revoked_is_out_at_once(b, keys, again):
    talk = Talker(b, connect(b, keys, "ann"))
    talk.ask("status")
    revoke(keys / ALLOWED, "ann")
    b.turn()
    assert b"your key was taken off the list" in talk.recv()
    if again:
        talk = Talker(b, connect(b, keys, "ann"))
    talk.send("status")
    assert talk.silent(60, received=False)


def test_a_role_that_was_lowered_in_the_list_is_lowered_at_once(b, keys):
    ann = Talker(b, connect(b, keys, "ann"))
    ann.ask("set", changes=[["gap", 6.0]])
    public = load_secret(keys / "ann.key_secret").public
    revoke(keys / ALLOWED, "ann")
    allow(keys / ALLOWED, public, AllowedClient("ann", Role.WATCH))
    with pytest.raises(Refusal, match="watch"):
        ann.ask("set", changes=[["gap", 7.0]])


def test_who_may_still_operate_keeps_control_when_the_list_changes_and_who_may_not_loses_it(b, keys):
    ann, eve = (Talker(b, connect(b, keys, name)) for name in ("ann", "eve"))
    ann.ask("take_control")
    eve.ask("status")
    revoke(keys / ALLOWED, "eve")
    b.turn()
    assert b"your key was taken off the list" in eve.recv()
    assert ann.ask("status")["control"] == "ann"
    public = load_secret(keys / "ann.key_secret").public
    revoke(keys / ALLOWED, "ann")
    allow(keys / ALLOWED, public, AllowedClient("ann", Role.WATCH))
    b.until(lambda: ann.ask("status")["control"] == "")


def test_nobody_passes_for_another_by_its_identity(b, keys):
    sockets = {}
    for name in ("ann", "eve"):
        socket = b.context.socket(zmq.DEALER)
        socket.linger = 0
        b.sockets.append(socket)
        pair = load_secret(keys / f"{name}.key_secret")
        socket.routing_id = b"the same"
        socket.curve_publickey, socket.curve_secretkey = pair.public, pair.secret
        socket.curve_serverkey = load_secret(keys / "server.key_secret").public
        sockets[name] = socket
    url = b.service.sockets.urls[1].replace("0.0.0.0", "127.0.0.1")
    sockets["ann"].connect(url)
    Talker(b, sockets["ann"]).ask("set", changes=[["gap", 6.0]])
    sockets["ann"].close(0)
    # As long as the first is there, the second is not heard at all.
    b.until(lambda: not b.knows(b"the same"))
    sockets["eve"].connect(url)
    eve = Talker(b, sockets["eve"])
    greeting = eve.ask("hello", name="ann")
    assert (greeting["author"], greeting["role"]) == ("eve", "watch")
    with pytest.raises(Refusal, match="watch"):
        eve.ask("set", changes=[["gap", 7.0]])


def test_telemetry_needs_keys_too(b, keys):
    subscribers = [connect(b, keys, name, zmq.SUB, -1) for name in ("eve", "stranger")]
    for subscriber in subscribers:
        subscriber.subscribe("nuc")

    def received():
        b.now += 40_000_000
        return subscribers[0].poll(1)

    b.until(received)
    assert not subscribers[1].poll(20)


def test_who_is_on_this_machine_needs_none(b):
    greeting = b.client().ask("hello", name="Local")
    assert (greeting["role"], greeting["verified"]) == ("admin", False)


def test_keys_that_can_not_be_used_are_refused_at_the_start(tmp_path, keys):
    (keys / "server.key_secret").chmod(0o644)
    with pytest.raises(ServiceError, match="chmod"):
        Access(keys)
    with pytest.raises(ServiceError):
        Access(tmp_path / "nowhere")


def test_a_list_that_has_gone_bad_lets_nobody_in(keys):
    access = Access(keys)
    pair = load_secret(keys / "ann.key_secret")
    from zmq.utils import z85

    question = [b"1.0", b"1", b"nuc", b"127.0.0.1", b"", b"CURVE", z85.decode(pair.public)]
    assert access.answer(question)[2] == b"200"
    (keys / ALLOWED).write_text("[[client]]\nname = 5\n")
    assert access.answer(question)[2] == b"400"


@pytest.mark.parametrize(
    "question",
    [
        [],
        [b"1.0"],
        [b"1.0", b"1", b"nuc", b"", b"", b"NULL"],
        [b"1.0", b"1", b"nuc", b"", b"", b"PLAIN", b"u", b"p"],
        [b"1.0", b"1", b"other", b"", b"", b"CURVE", bytes(32)],
        [b"1.0", b"1", b"nuc", b"", b"", b"CURVE", bytes(31)],
        [b"2.0", b"1", b"nuc", b"", b"", b"CURVE", bytes(32)],
    ],
)
def test_any_other_question_is_answered_with_no(keys, question):
    assert Access(keys).answer(question)[2] == b"400"
