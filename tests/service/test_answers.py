"""What clients were answered stands in HDSOlog.xml: all of it, or how much of it does not."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nuc_engine.daemon.wire import pack
from nuc_engine.datalogger.answers import EVERY_NS, MOST_NAMES, Answers
from nuc_engine.datalogger.commits import OpenBout
from nuc_engine.datalogger.writer import LogWriter
from nuc_engine.service.log_quota import BURST, OF_ALL, PER_SECOND, LogQuota
from sccils_schemas.documents import HdsoScript
from sccils_schemas.parser import parse
from tests.service.bench import HERE
from tests.service.log_feed import MS, START, Bench, bout, plan, read_manifest
from tests.service.test_sccils_dialogue import command

S = 1_000_000_000
LEFT_OUT = re.compile(r"<!-- left out: ([0-9]+) values answered to (.*), ([0-9.]+) to ([0-9.]+) s -->")
POLL = '<hdsoscript><hdsoSpec idNum="302"/><hdsoSpec idNum="104"/></hdsoscript>'


# --- the channel ---


def told(b, what):
    return [entry[1:] for entry in b.logger.told if entry[0] == what]


def index(b, name):
    return b.core.plan.hdso(name).index


def test_what_get_answers_in_a_bout_is_told_to_the_logger_with_who_asked(b):
    talk = b.client("Ann")
    talk.ask("get", names=["Coxa_angle"])
    assert told(b, "answer") == []
    talk.ask("run")
    b.pass_time(1)
    b.core.cycle()
    talk.ask("get", names=["Coxa_angle", "gap", "171[0]", "joint.Coxa.mode", "nix"])
    values = {index(b, "Coxa_angle"): (10.0,), index(b, "gap"): ()}
    said = {"Promotor_FL[0]": talk.ask("get", names=["171[0]"])["values"]["171[0]"], "joint.Coxa.mode": "muscle"}
    assert told(b, "answer")[0] == (f"Ann {HERE}", b.core.store.snapshot().time_ns, 1, values, said)


def test_what_a_poll_answers_is_told_likewise(b):
    talk = b.client("Ann")
    talk.ask("run")
    b.core.cycle()
    talk.raw(command("log", POLL, extendedcommand="poll"))
    talk.recv(), talk.recv()
    ((author, _, cycle, values, said),) = told(b, "answer")
    assert (author, cycle, said) == (f"Ann {HERE}", 1, {})
    assert values == {index(b, "Coxa_current"): (1.5,), index(b, "gap"): ()}


def test_a_client_that_asks_without_end_is_logged_at_a_rate_and_the_rest_is_counted(b):
    ann, bob = b.client("Ann"), b.client("Bob")
    ann.ask("run")
    names = [-1]
    size = len(ann.ask("get", names=names)["values"])
    asked = 1
    while not told(b, "left_out"):
        ann.ask("get", names=names)
        asked += 1
    logged = len(told(b, "answer"))
    assert logged * size <= BURST
    assert told(b, "left_out") == [(f"Ann {HERE}", b.core.store.snapshot().time_ns, size)]
    assert logged + 1 == asked
    # It costs nobody else, and comes back with time.
    bob.ask("get", names=names)
    assert told(b, "answer")[-1][0] == f"Bob {HERE}"
    b.pass_time(size * 2 / PER_SECOND)
    ann.ask("get", names=names)
    assert told(b, "answer")[-1][0] == f"Ann {HERE}"


def test_many_clients_together_have_a_ration_too(b):
    b.client("Ann").ask("run")
    b.service.hub.ration = LogQuota(30.0, share=OF_ALL, at_ns=b.now)
    for k in range(4):
        b.client(f"c{k}").ask("get", names=["gap"] * 10)
    b.client("d").ask("get", names=[f"Coxa_Amatrix[{k}]" for k in range(16)])
    b.client("e").ask("get", names=[f"Coxa_Amatrix[{k}]" for k in range(16)])
    assert [entry[0] for entry in told(b, "left_out")] == [f"e {HERE}"]


@given(st.lists(st.tuples(st.floats(0.1, 900), st.integers(0, 3 * S)), max_size=60))
def test_a_ration_never_gives_more_than_its_burst_and_its_rate(spendings):
    ration, now, spent = LogQuota(), 0, 0.0
    for cost, pause in spendings:
        now += pause
        spent += cost if ration.spend(cost, now) else 0.0
        assert spent <= BURST + PER_SECOND * now / S + 1e-6


# --- the log ---


def read(folder: Path) -> tuple[HdsoScript, str]:
    document, problems = parse((folder / "HDSOlog.xml").read_bytes())
    assert isinstance(document, HdsoScript), str(problems)
    return document, (folder / "HDSOlog.xml").read_text()


def test_answers_stand_in_the_log_as_values_and_what_is_no_hdso_as_a_remark(tmp_path):
    bench = Bench(tmp_path)
    angle = plan().hdso("FT_angle").index
    writer = bench.writer()
    bench.put(*bout()[:60])
    bench.run(writer)
    before = len(read_open(bench))
    said = {"joint.Coxa.action": "Swing --> x\n", "engine.cycle": 9, "rule.x": None}
    bench.tell("answer", 9, "Ann (unverified)", {angle: [77.5]}, said, time_ns=START + 45 * MS)
    bench.put(*bout()[60:])
    bench.run(writer)
    document, text = read(bench.folders[0])
    (entry,) = [entry for entry in document.entries if float(entry.time_s) == 0.045]
    assert (entry.id_num, entry.data) == (plan().hdsos[angle].id_num, (77.5,))
    assert "<!-- cycle 9, by Ann (unverified) -->" in text
    assert "<!-- answered: joint.Coxa.action = Swing - -> x -->" in text
    assert "<!-- answered: rule.x = no value -->" in text
    assert len(document.entries) == before + 1


def read_open(bench: Bench) -> list[str]:
    (folder,) = bench.folders
    return re.findall("<hdsoMod", (folder / "HDSOlog.xml").read_text())


class Written:
    """The recorder of a bout, as far as answers go."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def left_out(self, text: str) -> None:
        self.lines.append(f"<!-- left out: {text} -->")


DEED = st.tuples(st.integers(0, EVERY_NS), st.sampled_from([f"client {k}" for k in range(40)]), st.integers(0, 5))


@settings(max_examples=60, deadline=None)
@given(st.lists(DEED, max_size=80))
def test_every_value_left_out_is_counted_once_and_told_in_time(deeds):
    written, state = Written(), OpenBout("", 1, "", 0, 0, -1, "", {})
    answers, now, total, first = Answers(written, state), 0, 0, None
    for pause, author, count in deeds:
        now += pause
        # Another logger may go on from what the state says.
        answers = Answers(written, state)
        answers.tell(now)
        assert first is None or not state.left_out or now - first < EVERY_NS
        first = first if state.left_out else now
        answers.left_out(now, author, count)
        assert len(state.left_out) <= MOST_NAMES + 1
        total += count
    answers.tell(now, at_once=True)
    found = [LEFT_OUT.fullmatch(line) for line in written.lines]
    assert sum(int(line[1]) for line in found) == total == state.unlogged_answers


def test_answers_that_found_no_room_on_their_way_are_counted_at_the_end(tmp_path):
    bench = Bench(tmp_path)
    writer = bench.writer()
    bench.put(*bout()[:60])
    bench.run(writer)
    ring = bench.block.rings["answers"]
    while ring.put(0, pack("left_out", bench.ring.written, bench.now, "Eve", 3)):
        pass
    assert not ring.put(0, b"x")
    bench.put(*bout()[60:])
    bench.run(writer)
    _, text = read(bench.folders[0])
    assert "<!-- left out: 2 answers that found no room on their way here -->" in text
    assert ring.kept == ring.written


@pytest.mark.parametrize(
    "told",
    [
        ("answer", 9, "Ann", {9999: [1.0]}, {}),
        ("answer", 9),
        ("left_out", "Ann", "x"),
        ("script", "0123456789abcdef", 1, 2),  # of which nothing is kept
    ],
)
def test_what_is_told_and_can_not_be_understood_ends_no_log(tmp_path, told):
    bench = Bench(tmp_path)
    writer = bench.writer()
    bench.put(*bout()[:60])
    bench.run(writer)
    bench.tell(*told, time_ns=START + 45 * MS)
    bench.put(*bout()[60:])
    bench.run(writer)
    assert read_manifest(bench.folders[0])["state"] == "complete"
    assert [told[0] in event["text"] for event in bench.events("log_error")] == [True]


class Interrupted(LogWriter):
    """A logger that is told something, and sees the end of a bout, just after it has listened."""

    late = staticmethod(lambda: None)

    def _hear(self) -> None:
        super()._hear()
        self.late()


def test_what_is_told_before_the_end_of_a_bout_stands_in_its_log(tmp_path, monkeypatch):
    bench = Bench(tmp_path)
    monkeypatch.setattr("tests.service.log_feed.LogWriter", Interrupted)
    writer = bench.writer()
    bench.put(*bout()[:60])
    bench.run(writer)

    def happen() -> None:
        del writer.late
        bench.tell("left_out", "Ann", 7, time_ns=START + 100 * MS)
        bench.tell("note", "mark", "just in time", "Ann", True, time_ns=START + 100 * MS)
        bench.put(*bout()[60:])

    writer.late = happen
    bench.run(writer)
    bench.run(writer)
    (folder,) = bench.folders
    assert "left out: 7 values answered to Ann" in (folder / "HDSOlog.xml").read_text()
    assert "just in time" in (folder / "Notes.jsonl").read_text()


def test_scripts_ask_too(b):
    talk = b.client("Ann")
    talk.ask("run")
    b.core.cycle()
    talk.raw(b'<hdsoscript><hdsoSpec idNum="302"/></hdsoscript>')
    for _ in range(3):
        talk.recv()
    ((author, _, cycle, values, _),) = told(b, "answer")
    assert (author, cycle, values) == (f"Ann {HERE}", 1, {index(b, "Coxa_current"): (1.5,)})
