"""What a client says reaches logs, manifests and terminals without a character that does something there."""

from __future__ import annotations

import json
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sccils_schemas.names import printable, printable_lines
from tests.service.bench import HERE, Bench, Refusal, bench
from tests.service.test_authors import ended
from tests.service.test_sccils_dialogue import command

HARMFUL = (
    "\x1b[2J\x1b]0;x\x07",
    "\r\n0 engine_stop complete",
    "\x9b31m\x85",
    "\x7f\x00",
    "\u202egnp\u2066x",
    "\u2028\u2029",
)
ANY = st.characters(exclude_categories=["Cs"])
TEXT = st.lists(st.sampled_from(HARMFUL) | ANY, min_size=1, max_size=8).map("".join)
SCRIPT = '<hdsoscript name="x\u202e\x9b"><hdsoMod idNum="104" NumElts="1">5</hdsoMod></hdsoscript>'


@given(st.text())
def test_what_is_printable_stays_and_all_else_becomes_so(text):
    shown = printable(text)
    assert shown.isprintable()
    assert printable(shown) == shown
    assert (shown == text) == text.isprintable()
    assert all(line.isprintable() for line in printable_lines(text).split("\n"))


def say_everything(b: Bench, text: str) -> None:
    """Say a text wherever a client can say one."""
    talk = b.client()
    asked: list[tuple[str, dict[str, object]]] = [
        ("hello", {"name": text[:10]}),
        ("labels", {"labels": {f"k{text}"[:90]: text}}),
        ("run", {"notes": f"x{text}", "labels": {"leg": text}}),
        ("mark", {"text": f"x{text}"}),
        ("notes", {"text": f"x{text}"}),
        ("set", {"changes": [["gap", 5.0], [text, 1.0]]}),
        ("set", {"changes": [["gap", 5.0]]}),
        ("get", {"names": [text, "gap", f"gap[{text}]"]}),
        ("subscribe", {"names": [text]}),
        ("joint_mode", {"joint": text, "mode": text}),
        ("save", {"name": text}),
        ("record_start", {"name": text}),
        (text, {text: text}),
        (
            "script",
            {"text": '<hdsoscript name="x\u202e\x9b"><hdsoMod idNum="104" NumElts="1">5</hdsoMod></hdsoscript>'},
        ),
        ("off", {"why": text}),
    ]
    for method, params in asked:
        with suppress(Refusal):
            talk.ask(method, **params)
    # In the dialogue there is what XML can say: no C0, but C1 and what turns the direction.
    talk.raw(command("extended", "because \u202e\x9b2J\u2028", extendedcommand="off"))
    talk.recv()
    events = talk.ask("events")
    assert all(event["text"].isprintable() and event["name"].isprintable() for event in events)
    assert all(client["name"].isprintable() for client in talk.ask("status")["clients"])


def raw_characters(path: Path) -> list[str]:
    text = path.read_text(encoding="utf-8")
    return [one for one in text if not (one.isprintable() or one in "\n\t")]


@settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(TEXT)
def test_no_file_of_a_bout_holds_what_does_something_to_a_terminal(tmp_path_factory, text):
    with bench(tmp_path_factory.mktemp("bout"), logged=True) as b:
        b.configured()
        say_everything(b, text)
        folder = ended(b)
        read = [path for path in folder.iterdir() if path.suffix in (".txt", ".json", ".jsonl", ".xml")]
        assert {"Infolog.txt", "HDSOlog.xml", "Scriptlog.xml", "manifest.json", "Notes.jsonl"} <= {p.name for p in read}
        for path in read:
            # The text of a script is kept as it was sent: it is a document, not a line of a log.
            assert path.name.startswith("scriptfile") or not raw_characters(path), path.name
        for line in (folder / "Infolog.txt").read_text().splitlines():
            assert line.split(" ")[0].isdecimal(), line
        assert [one for one in b.journal.getvalue() if not (one.isprintable() or one == "\n")] == []
        notes = json.loads((folder / "manifest.json").read_text())["notes"]
        assert all(note["text"].isprintable() and note["author"].isprintable() for note in notes)


@pytest.mark.parametrize("name", ["x" * 200, "\x1b" * 40])
def test_names_are_short(b, name):
    with pytest.raises(Refusal, match="name of at most"):
        b.client().ask("hello", name=name)


def test_a_name_says_what_it_is(b):
    assert b.client().ask("hello", name="Eve\n\x1b[2J")["author"] == f"Eve\\n\\x1b[2J {HERE}"
