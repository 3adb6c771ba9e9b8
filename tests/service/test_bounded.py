"""What a client may ask for at once is bounded: told with the number, and nothing of it is done."""

from __future__ import annotations

from itertools import pairwise

import pytest

from nuc_engine.daemon.ring import Ring
from nuc_engine.daemon.wire import CoreCommand
from nuc_engine.service import core_link
from nuc_engine.service.core_link import CoreLink
from tests.service.bench import Bench
from tests.service.test_methods import refused
from tests.service.test_sccils_dialogue import Interface


def slowly(count: int, steps: int) -> str:
    """Return a script of gradual changes one after another."""
    changes = "".join(
        f'<gradual time="{10 * k}" duration="10" steps="{steps}">\n<hdsoMod idNum="101" NumElts="1">3</hdsoMod>'
        "</gradual>"
        for k in range(count)
    )
    return f"<hdsoscript>{changes}</hdsoscript>"


def at(*times_s: float) -> str:
    mods = "".join(f'<hdsoMod idNum="101" NumElts="1" time="{time}">3</hdsoMod>' for time in times_s)
    return f"<hdsoscript>{mods}</hdsoscript>"


def sent(b: Bench) -> int:
    """Return how many changesets the core has got."""
    b.turn(3)
    return sum(kind == CoreCommand.CHANGESET for kind, _ in b.core.obeyed)


TOO_MUCH = {
    "writes": (slowly(500, 1000), "500000 writes"),
    "times": (slowly(6, 1000), "6000 different times"),
    "at one time": (at(1, *[2] * 513), "513 changes at one time; at most 512"),
}


@pytest.mark.parametrize(("text", "words"), TOO_MUCH.values(), ids=TOO_MUCH.keys())
def test_a_script_that_is_too_much_is_refused_whole(b: Bench, text: str, words: str) -> None:
    refusal = refused(b.client("Ann"), "script", text=text)
    assert refusal.kind == "refused"
    assert words in refusal.text
    assert sent(b) == 0
    assert not [told for told in b.logger.told if told[0] == "script"]


@pytest.mark.parametrize(("text", "words"), TOO_MUCH.values(), ids=TOO_MUCH.keys())
def test_so_is_one_that_comes_as_a_document(b: Bench, text: str, words: str) -> None:
    i = Interface(b)
    answer = i.do(text.encode())
    if answer.status == "conditional":
        answer = i.status()
    assert answer.status == "fail"
    assert words in (answer.text or "")
    assert sent(b) == 0


def test_values_set_together_are_bounded_too(b: Bench) -> None:
    refusal = refused(b.client("Ann"), "set", changes=[["pro_load", 1.0]] * 513)
    assert "513 changes at one time; at most 512 take effect together" in refusal.text
    assert sent(b) == 0


def test_what_waits_is_bounded_over_all_scripts(b: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(core_link, "MOST_WAITING", 5)
    talk = b.client("Ann")
    talk.ask("script", text=at(1, 2, 3))
    refusal = refused(talk, "script", text=at(4, 5, 6))
    assert "3 changes wait for their time, and 3 more would; at most 5" in refusal.text
    assert "forget" in refusal.hint
    assert sent(b) == 3
    talk.ask("script", text=at(4, 5))
    assert talk.ask("set", changes=[["pro_load", 1.0]])["applied"], "what waits for nothing is none of them"


def test_a_script_the_ring_has_no_room_for_is_not_begun(b: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    talk = b.client("Ann")
    monkeypatch.setattr(Ring, "room", property(lambda _: 200))
    refusal = refused(talk, "script", text=at(1, 2, 3, 4, 5, 6, 7, 8))
    assert (refusal.kind, sent(b)) == ("core_gone", 0)


def test_what_is_allowed_arrives_whole(b: Bench) -> None:
    talk = b.client("Ann")
    talk.ask("script", text=slowly(3, 1000))
    assert sent(b) == 3000


def test_each_answer_asks_for_no_turn_of_its_own(b: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    turns: list[None] = []
    monkeypatch.setattr(b.service, "step", lambda: turns.append(None))
    for _ in range(100):
        b.service.sockets.more()
    b.loop.turn()
    assert len(turns) == 1, "those who wait have their turn before what was sent meanwhile is read"


def test_what_the_core_said_is_read_before_more_is_asked(b: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    talk = b.client("Ann")
    monkeypatch.setattr(CoreLink, "behind", property(lambda _: True))
    numbers = [talk.send("status") for _ in range(20)]
    heard = [b.heard]
    while b.heard < b.sent:
        b.service.step()
        heard.append(b.heard)
    assert max(after - before for before, after in pairwise(heard)) == 1, "one message a turn: `off` may be it"
    assert all(talk.answer(number)["mode"] for number in numbers)
