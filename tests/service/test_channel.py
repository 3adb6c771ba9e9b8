"""Frames and limits: what a bad, slow or hostile client does to the service, which is nothing."""

from __future__ import annotations

import os
import select
import socket
import stat
from contextlib import suppress

import msgpack
import pytest
import zmq
from hypothesis import example, given, settings
from hypothesis import strategies as st

from nuc_engine.messages.errors import Refused
from nuc_engine.messages.keys import ALLOWED, make_pair
from nuc_engine.messages.requests import REQUESTS
from nuc_engine.service.access import Access
from nuc_engine.service.channel import MAX_PAYLOAD, Sockets
from nuc_engine.service.clients import BURST
from nuc_engine.service.dispatch import MAX_ID, read_request
from nuc_engine.service.errors import ServiceError
from tests.service.bench import Refusal, bench, send


def test_the_socket_file_is_for_owner_and_group_only(b):
    mode = stat.S_IMODE(os.stat(b.command.removeprefix("ipc://")).st_mode)
    assert mode == 0o660


def test_frames_that_make_no_message_are_answered_and_counted(b):
    talk = b.client("Ann")
    talk.raw(b"a", b"b")
    answer = msgpack.unpackb(talk.recv())
    assert (answer["id"], answer["ok"], answer["error"]["kind"]) == (None, False, "bad_request")
    talk.raw(b"")
    assert not msgpack.unpackb(talk.recv())["ok"]
    clients = talk.ask("status")["clients"]
    assert [client["rubbish"] for client in clients if client["name"] == "Ann"] == [2]


def test_with_and_without_an_empty_frame(b):
    talk = b.client()
    talk.raw(b"", msgpack.packb({"id": 1, "method": "pending"}))
    assert talk.frames()[0] == b""
    talk.raw(msgpack.packb({"id": 2, "method": "pending"}))
    assert msgpack.unpackb(talk.recv())["id"] == 2


@pytest.mark.parametrize(
    "payload",
    [
        b"\xc1",
        b"\x81",
        b"\x91" * 5000,
        b"\xdf\xff\xff\xff\xff",
        b"\xc6\xff\xff\xff\xff",
        msgpack.packb([1]),
        msgpack.packb({"id": 1}),
        msgpack.packb({"id": None, "method": "status"}),
        msgpack.packb({"id": True, "method": "status"}),
        msgpack.packb({"id": "x" * 300, "method": "status"}),
        msgpack.packb({"id": 1, "method": "status", "params": [1]}),
        msgpack.packb({"id": 1, "method": b"status"}),
        msgpack.packb({"id": 1, "method": "status", "x": 1}),
        msgpack.packb({1: 2}),
        msgpack.packb({"id": 2**63, "method": "status"})[:-3],
        b"GET / HTTP/1.1\r\n\r\n",
        b" " * 100,
    ],
)
def test_rubbish_is_an_error_and_nothing_more(b, payload):
    talk = b.client("Ann")
    talk.raw(payload)
    assert msgpack.unpackb(talk.recv())["error"]["kind"] == "bad_request"
    assert talk.ask("status")["mode"] == "CONFIGURED"


def test_an_error_carries_the_id_where_there_is_one(b):
    talk = b.client()
    talk.raw(msgpack.packb({"id": 77, "method": "status", "wrong": 1}))
    assert msgpack.unpackb(talk.recv())["id"] == 77


@settings(max_examples=150, deadline=None, derandomize=True)
@given(st.binary(max_size=200))
def test_any_bytes_are_a_request_or_refused(payload):
    with suppress(Refused):
        read_request(payload)


PLAIN = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**64 - 1)
    | st.floats()
    | st.text(max_size=8)
    | st.binary(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=6,
)
KEYS = st.sampled_from(sorted({key for kind in REQUESTS.values() for key in kind.__struct_fields__})) | st.text(
    max_size=4
)


IDS = st.integers(-5, 2**64 - 1) | st.integers(250, 260).map("x".__mul__) | PLAIN
PARTS = st.fixed_dictionaries(
    {}, optional={"id": IDS, "method": st.text(max_size=8) | PLAIN, "params": st.none() | PLAIN, "more": PLAIN}
)


@settings(max_examples=300, deadline=None, derandomize=True)
@given(PARTS)
@example({"id": "x" * MAX_ID, "method": "m"})
@example({"id": "x" * (MAX_ID + 1), "method": "m"})
@example({"id": True, "method": "m"})
def test_a_map_is_a_request_exactly_when_its_parts_are(parts):
    number, method, params = (parts.get(name) for name in ("id", "method", "params"))
    good_id = len(number) <= MAX_ID if isinstance(number, str) else type(number) is int
    good = good_id and isinstance(method, str) and isinstance(params, dict | None) and "more" not in parts
    payload = msgpack.packb(parts)
    if good:
        request = read_request(payload)
        assert (request.id, request.method) == (number, method)
        assert len(request.params) == len(params or {})
        return
    with pytest.raises(Refused) as refused:
        read_request(payload)
    assert refused.value.kind == "bad_request"


def test_no_request_stops_the_service(b):
    talk = b.client()

    @settings(max_examples=120, deadline=None, derandomize=True)
    @given(st.sampled_from(sorted(REQUESTS)), st.dictionaries(KEYS, PLAIN, max_size=4), st.booleans())
    def attack(method, params, cut):
        if method == "shutdown":
            return
        try:
            payload = msgpack.packb({"id": 1, "method": method, "params": params})
        except (ValueError, OverflowError, UnicodeEncodeError):
            return
        talk.raw(payload[:-1] if cut else payload)
        b.turn()

    attack()
    talk.delivered()
    ann = b.client("Ann")
    assert ann.ask("status")["configuration"]
    errors = [event["text"] for event in ann.ask("events") if event["name"] == "service_error"]
    assert errors == []


def test_a_message_that_is_too_large_ends_its_connection_and_nothing_else(b):
    ann = b.client("Ann")
    big = b.client()
    big.raw(bytes(MAX_PAYLOAD + 1))
    b.until(lambda: b.service.sockets.connections.closed)
    assert ann.ask("status")["connections"]["closed"] >= 1
    assert ann.ask("get", names=["gap"])["unknown"] == []


def test_a_message_as_large_as_allowed_is_read(b):
    talk = b.client("Ann")
    text = " " * (MAX_PAYLOAD - 200)
    with pytest.raises(Refusal, match="script"):
        talk.ask("script", text=text)


def test_a_client_that_floods_is_slowed_down_and_the_others_are_not(b):
    ann, mad = b.client("Ann"), b.client()
    payload = msgpack.packb({"id": 1, "method": "pending"})
    for _ in range(BURST + 500):
        mad.raw(payload)
        if _ % 100 == 0:
            b.turn()
    mad.delivered()
    status = ann.ask("status")
    assert sum(client["too_fast"] for client in status["clients"]) >= 100
    assert [client["too_fast"] for client in status["clients"] if client["name"] == "Ann"] == [0]


def test_a_client_that_takes_no_answers_does_not_hold_up_the_service(tmp_path):
    with bench(tmp_path) as b:
        b.configured()
        stalled = b.context.socket(zmq.DEALER)
        stalled.linger = 0
        stalled.rcvhwm = 1
        b.sockets.append(stalled)
        stalled.connect(b.command)
        payload = msgpack.packb({"id": 1, "method": "documents"})
        send(b, stalled, payload)
        b.until(lambda: b.received)
        for k in range(1500):
            send(b, stalled, payload)
            if k % 50 == 0:
                b.turn(2)
        b.turn(50)
        assert b.client("Ann").ask("status")["mode"] == "CONFIGURED"


def test_a_client_that_vanishes_in_control_is_replaced_after_the_time_out(tmp_path):
    with bench(tmp_path, control_timeout_s=3.0) as b:
        b.configured()
        gone = b.client("Gone")
        gone.ask("take_control")
        gone.socket.close(0)
        ann = b.client("Ann")
        with pytest.raises(Refusal, match="Gone"):
            ann.ask("set", changes=[["gap", 6.0]])
        b.pass_time(3.1)
        ann.ask("set", changes=[["gap", 6.0]])


def test_a_client_that_says_goodbye_gives_control_back_and_is_gone(tmp_path):
    with bench(tmp_path) as b:
        b.configured()
        gone, ann = b.client("Gone"), b.client("Ann")
        gone.ask("take_control")
        gone.ask("leave")
        ann.ask("set", changes=[["gap", 6.0]])
        assert [client["name"] for client in ann.ask("status")["clients"]] == ["Ann"]
        gone.ask("hello", name="Gone")  # it may come back
        assert len(ann.ask("status")["clients"]) == 2


@pytest.fixture
def keys(tmp_path):
    make_pair(tmp_path / "keys", "server")
    (tmp_path / "keys" / ALLOWED).touch()
    return tmp_path / "keys"


def reach(url: str) -> socket.socket:
    """Connect to an address as a program does that knows nothing of ZeroMQ."""
    if url.startswith("ipc://"):
        end = socket.socket(socket.AF_UNIX)
        end.connect(url.removeprefix("ipc://"))
        return end
    return socket.create_connection(("127.0.0.1", int(url.rpartition(":")[2])), 30)


def test_raw_bytes_on_the_port_change_nothing(tmp_path, keys):
    with bench(tmp_path, commands=("tcp://127.0.0.1:*",), keys=keys) as b:
        b.configured()
        with reach(b.service.sockets.urls[1]) as raw:
            raw.sendall(b"GET / HTTP/1.1\r\n\r\n" + os.urandom(2000))
            for _ in range(50):
                b.turn()
        status = b.client("Ann").ask("status")
        assert (status["mode"], status["control"]) == ("CONFIGURED", "")
        assert b.core.obeyed == []


@pytest.mark.parametrize("url", ["tcp://127.0.0.1:*", "tcp://localhost:*", "tcp://[::1]:*"])
def test_a_port_for_commands_needs_keys_on_loopback_too(tmp_path, url):
    with pytest.raises(ServiceError, match="nuc keys"), bench(tmp_path, commands=(url,)):
        pass


def test_on_a_port_of_loopback_nobody_is_heard_without_a_key(tmp_path, keys):
    with bench(tmp_path, commands=("tcp://127.0.0.1:*",), keys=keys) as b:
        b.configured()
        stranger = b.context.socket(zmq.DEALER)
        b.sockets.append(stranger)
        stranger.linger = 0
        stranger.connect(b.service.sockets.urls[1])
        stranger.send(msgpack.packb({"id": 1, "method": "take_control", "params": {}}))
        ann = b.client("Ann")
        b.until(lambda: ann.ask("status")["connections"]["failed_handshakes"])
        assert [client["name"] for client in ann.ask("status")["clients"]] == ["Ann"]


@pytest.mark.parametrize(
    "url", ["", "tcp://", "tcp://127.0.0.1", "tcp://127.0.0.1:99999", "http://127.0.0.1:80", "127.0.0.1:80", "ipc://"]
)
def test_an_address_that_is_none_is_refused_at_the_start(tmp_path, url):
    with pytest.raises(ServiceError, match="address"), bench(tmp_path, commands=(url,)):
        pass


@pytest.mark.parametrize(
    "url", ["tcp://0.0.0.0:*", "tcp://*:*", "tcp://[::]:*", "tcp://192.168.1.5:44106", "tcp://robot:1"]
)
def test_an_address_others_can_reach_needs_keys(tmp_path, url):
    with pytest.raises(ServiceError, match="nuc keys"), bench(tmp_path, commands=(url,)):
        pass
    with pytest.raises(ServiceError, match="nuc keys"), bench(tmp_path, telemetry=url):
        pass


def test_an_address_in_use_is_said(tmp_path, keys):
    for name in "12":
        (tmp_path / name).mkdir()
    with bench(tmp_path / "1", commands=("tcp://127.0.0.1:*",), keys=keys) as first:
        url = first.service.sockets.urls[1]
        with pytest.raises(ServiceError, match="another daemon"), bench(tmp_path / "2", commands=(url,), keys=keys):
            pass


def test_a_fault_of_the_service_itself_is_told_and_the_loop_goes_on(b, monkeypatch):
    def broken(*args):
        raise ZeroDivisionError("oh")

    talk = b.client("Ann")
    monkeypatch.setattr("nuc_engine.service.desk.serve", broken)
    talk.send("status")
    assert talk.silent()
    monkeypatch.undo()
    assert "ZeroDivisionError" in str([e for e in talk.ask("events") if e["name"] == "service_error"])


@pytest.mark.parametrize("where", ["a forwarded socket file", "commands", "telemetry"])
def test_a_web_page_reaches_nobody(tmp_path, keys, where):
    """A page may post what it likes to loopback. Its request must be taken for no message, however it is aligned."""
    file = f"ipc://{tmp_path}/command"  # which ssh may have forwarded to a port of a person's own machine
    sockets = Sockets([file, "tcp://127.0.0.1:*"], ["tcp://127.0.0.1:*"], Access(keys))
    url = sockets.urls[("a forwarded socket file", "commands", "telemetry").index(where)]
    wish = msgpack.packb({"id": 1, "method": "take_control", "params": {"force": True}})
    # As ZMTP 1.0 writes a message: length with flags, flags, payload; the same as an empty frame and then the payload.
    body = b"\x01\x00" + bytes([len(wish) + 1, 0]) + wish
    try:
        for filler in range(256):
            head = b"POST /" + b"a" * filler + b" HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: text/plain\r\n\r\n"
            with reach(url) as page:
                with suppress(ConnectionError):
                    page.sendall(head + body * 8)
                page.settimeout(0.0)
                received = []
                for _ in range(3000):
                    select.select(sockets.descriptors, (), (), 0.001)
                    ready = sockets.ready()
                    received += [message.payload for message in sockets.messages(ready)]
                    sockets.step(ready)
                    if received or _closed(page):
                        break
                else:
                    raise AssertionError(f"the page is still connected, {filler} letters in its path")
                assert received == []
        assert not sockets.listened("anything")
    finally:
        sockets.close()


def _closed(page: socket.socket) -> bool:
    try:
        return page.recv(4096) == b""
    except BlockingIOError:
        return False
    except ConnectionError:
        return True
