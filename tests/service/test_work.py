"""No message keeps the service from all others: counted in calls, on the loop's own thread, in each of its steps."""

from __future__ import annotations

import sys
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgpack
import pytest

from sccils_schemas.parser import parse
from tests.service.bench import Bench, Talker, bench
from tests.service.test_sccils_dialogue import command, script

MOST_CALLS = 40_000
"""Calls in one step: 20 ms and less at half a microsecond each."""

FLOAT, RULE = "gap", "FTi_Ext"
CHANGE = '<hdsoMod idNum="104" NumElts="1" time="{}">5</hdsoMod>'
SPEC = '<hdsoSpec idNum="104" time="{}"/>'


def ask(method: str, **params: Any) -> bytes:
    return msgpack.packb({"id": 1, "method": method, "params": params})


def inner(text: str) -> str:
    return f"<hdsoscript>{text}</hdsoscript>"


def poll(text: str) -> str:
    return f'<sccils_command commandtype="log" extendedcommand="poll">{inner(text)}</sccils_command>'


def nested(head: bytes) -> bytes:
    return b"\x82\xa2id\x01\xa6method" + head * 500


SOON = [k + 10 for k in range(5000)]
WORST: dict[str, Callable[[], bytes]] = {
    "a method's name": lambda: ask("x" * 4_000_000),
    "a parameter's name": lambda: ask("get", **{"y" * 4_000_000: 1}),
    "names": lambda: ask("get", names=[f"nix{k}" for k in range(4096)]),
    "elements": lambda: ask("get", names=[f"Coxa_Amatrix[{k % 16}]" + " " * (k % 200) for k in range(4096)]),
    "changes": lambda: ask("set", changes=[[FLOAT, 1.0]] * 4096),
    "lists": lambda: ask("set", changes=[[FLOAT, [1.0] * 90]] * 4000),
    "a list": lambda: ask("set", changes=[[FLOAT, [1.0] * 400_000]]),
    "a rule": lambda: ask("set", changes=[[162, "( " * 2_000_000]]),
    "terms of a rule": lambda: ask("set", changes=[[162, "302 > 103 && " * 300_000]]),
    "empty lists": lambda: ask("get", names=[[]] * 400_000),
    "labels": lambda: ask("labels", labels={f"k{k}": "v" * 1000 for k in range(4000)}),
    "a label": lambda: ask("labels", labels={"k": "\x1b" * 4_000_000}),
    "nesting": lambda: nested(b"\x91"),
    "long lists within each other": lambda: nested(b"\xdd\x00\x01\x86\xa0"),
    "a script of many times": lambda: ask("script", text=inner("".join(map(CHANGE.format, SOON)))),
    "a script of steps": lambda: ask(
        "script",
        text=inner(
            '<gradual time="9" duration="9" steps="1000"><hdsoMod idNum="101" NumElts="1">3</hdsoMod></gradual>'
        ),
    ),
    "configurations": lambda: ask("configure", name="x", documents={f"{k}.xml": "<a/>" for k in range(5000)}),
    "requests for data": lambda: inner(SPEC.format(0) * 90_000).encode(),
    "requests of many times": lambda: inner("".join(map(SPEC.format, SOON))).encode(),
    "names in a poll": lambda: script(poll(SPEC.format(0) * 60_000)),
    "polls": lambda: script(poll('<hdsoSpec idNum="-1"/>') * 250),
    "commands": lambda: script('<sccils_command commandtype="stop"/>' * 60_000),
    "a few commands": lambda: script('<sccils_command commandtype="log" data_destination="local"/>' * 256),
    "names of elements": lambda: inner("<hdsoMo/>" * 400_000).encode(),
    "a stream of everything": lambda: command("log", inner('<hdsoSpec idNum="-1"/>' * 40_000)),
}


class Calls:
    """Counts calls on this thread."""

    def __init__(self) -> None:
        self.count = 0

    def __call__(self, _frame: Any, event: str, _argument: Any) -> None:
        self.count += event in ("call", "c_call")

    def of(self, do: Callable[[], Any]) -> int:
        self.count = 0
        sys.setprofile(self)
        try:
            do()
        finally:
            sys.setprofile(None)
        return self.count


def most_calls(b: Bench, payload: bytes) -> int:
    """Return the calls of the worst step until a message, and what follows from it, is done with."""
    ann, bob = b.client(), b.client()
    ann.raw(payload)
    ann.delivered()
    calls, worst, quiet = Calls(), 0, 0
    while quiet < 60:
        b.loop.call_soon(b.service.step)
        worst = max(worst, calls.of(b.loop.turn))
        b.core.step()
        workshop = b.service.hub.workshop
        quiet = 0 if workshop.waiting or calls.count > 300 else quiet + 1
        b.loop.turn(0.001)
        while ann.socket.poll(0):
            ann.socket.recv_multipart()
    assert bob.ask("hello", name="Bob")["name"] == "Bob"
    return worst


@pytest.mark.parametrize("kind", WORST)
def test_no_message_keeps_the_service_long(tmp_path: Path, kind: str) -> None:
    with bench(tmp_path) as b:
        b.configured()
        b.client("Ann").ask("run")
        b.core.cycle()
        assert most_calls(b, WORST[kind]()) < MOST_CALLS


def test_what_ends_with_a_bout_is_told_some_at_a_time(b: Bench) -> None:
    ann = b.client("Ann")
    ann.ask("run")
    ann.ask("script", text=inner("".join(map(CHANGE.format, SOON))))
    b.core.end("complete", "stopped")
    assert most_calls(b, ask("status")) < MOST_CALLS


@pytest.mark.parametrize("kind", ["nesting", "long lists within each other", "empty lists"])
def test_room_is_made_for_little_whatever_a_message_promises(b: Bench, kind: str) -> None:
    talk = b.client()
    payload = WORST[kind]()
    tracemalloc.start()
    try:
        talk.raw(payload)
        talk.recv()
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 8 * len(payload) + (4 << 20)


def test_what_a_client_may_send_is_counted_by_its_size(b: Bench) -> None:
    ann, bob = b.client("Ann"), b.client("Bob")
    assert [refused_by(ann, ask("x" * 4_000_000)) for _ in range(4)] == ["unknown_method"] * 2 + ["too_fast", ""]
    assert refused_by(bob, ask("x")) == "unknown_method", "others have what is theirs"
    assert ann.ask("off")["torque"] is False
    b.now += 3_000_000_000
    ann.ask("get", names=["gap"])


def test_an_answer_counts_too(b: Bench) -> None:
    ann = b.client("Ann")
    asked = 0
    while asked < 4000 and refused_by(ann, ask("documents")) != "too_fast":
        asked += 1
    size = sum(len(text) for text in b.client("Bob").ask("documents").values())
    assert asked == pytest.approx(4000 / (1 + size // 1024), rel=0.1)


def refused_by(talk: Talker, payload: bytes) -> str:
    """Send a message; return the kind of its refusal, or nothing."""
    talk.raw(payload)
    if talk.silent():
        return ""
    answer = msgpack.unpackb(talk.recv())
    return "" if answer["ok"] else answer["error"]["kind"]


TAGS = {
    "attributes": lambda n: "<hdsoscript " + " ".join(f'a{k}="1"' for k in range(n)) + "/>",
    "a long attribute": lambda n: f'<hdsoscript name="{"x" * 8 * n}"/>',
    "an attribute of > and lines": lambda n: "<hdsoscript name='" + ">\n" * 4 * n + "'/>",
    "references": lambda n: f'<hdsoscript name="{"&lt;" * 2 * n}"/>',
}


@pytest.mark.parametrize("kind", TAGS)
def test_a_tag_that_is_too_long_is_refused_before_it_is_parsed(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    made = []
    monkeypatch.setattr("sccils_schemas.xmlread.expat.ParserCreate", lambda: made.append(1))
    document, problems = parse(TAGS[kind](200_000).encode())
    assert document is None
    assert "is too long" in str(problems)
    assert made == []


LINES = "\n" * 1000
GROWING: dict[str, Callable[[int], str]] = {
    "elements": lambda n: inner(SPEC.format(0) * n),
    "unknown elements": lambda n: inner("<hdsoMo/>" * n),
    "comments": lambda n: inner("<!-- x -->" * n),
    "text in pieces": lambda n: inner("x<!---->" * n),
    "lines within tags": lambda n: inner(f'<hdsoMod a="{LINES}" b="{LINES}" c="{LINES}"/>' * (n // 100)),
    "numbers": lambda n: inner(f'<hdsoMod idNum="104" NumElts="{n}">{"1 " * n}</hdsoMod>'),
    "commands": lambda n: script('<sccils_command commandtype="stop"/>' * n).decode(),
    "terms": lambda n: inner(f'<hdsoMod idNum="162" NumElts="9" datatype="char">{"302 > 103 " * n}</hdsoMod>'),
    "depth": lambda n: "<hdsoscript>" * n,
}


@pytest.mark.parametrize("kind", GROWING)
def test_twice_a_document_is_twice_the_work(kind: str) -> None:
    once, twice = (Calls().of(lambda n=n: parse(GROWING[kind](n).encode())) for n in (2000, 4000))
    assert twice < 2.3 * once + 1500
