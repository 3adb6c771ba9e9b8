"""Bouts of the daemon with somebody beside the leg: what is asked for, when, and what is made of it."""

import io
import os
import re
from collections import deque
from pathlib import Path
from types import SimpleNamespace

import pytest

import nuc_engine.experiments.live as live
from nuc_engine.bout.run import BoutSpec, run_bout
from nuc_engine.cli.terminal import beside
from nuc_engine.client import Refused
from nuc_engine.experiments.live import Deed, do_bout, run_live
from nuc_engine.experiments.nerves import Cut
from nuc_engine.experiments.protocol import NegativeControl
from nuc_engine.experiments.trials import Aborted
from nuc_engine.plants.events import BaseHeight, Disconnect, Ground, Kick, Load, Reconnect
from tests.experiments import tiny

SCRIPT = """<hdsoscript name="by_hand">
  <hdsoMod idNum="103" NumElts="1" time="0.5">61</hdsoMod>
  <ground time="0.6" present="n"/>
  <kick time="1"/>
</hdsoscript>
"""


@pytest.fixture(scope="session")
def finished(tmp_path_factory) -> Path:
    """A data directory of two seconds."""
    return run_bout(BoutSpec(tiny.CONFIG, tmp_path_factory.mktemp("bout") / "data", duration_s=2.0, seed=3)).folder


class Daemon:
    """Stands in for stage, daemon and client: engine time goes on whenever somebody waits."""

    def __init__(self, data: Path, ends_s: float = 2.0, stands_from_s: float = 99.0) -> None:
        self.data, self.ends_s, self.stands_from_s = data, ends_s, stands_from_s
        self.said: list = []
        self.time_s: float | None = None
        self.refusals, self.latched, self.logs, self.answers = 2, "", True, True

    def wait(self, seconds: float) -> None:
        if self.time_s is not None:
            self.time_s += seconds

    def begin(self, plan, repetition):
        self.said.append(("begin", plan.config, repetition))
        return self

    def end(self, recorded, place):
        self.said.append(("end", recorded))
        return recorded if recorded is not None else place

    def status(self):
        running = self.time_s is not None and self.time_s < self.ends_s
        logging = {"folder": str(self.data) if self.logs and self.time_s is not None else None}
        return SimpleNamespace(
            mode="FAULT" if self.latched == "core_dead" else "RUNNING" if running else "STOPPED",
            latched=bool(self.latched),
            logging=logging,
            latch_reason=self.latched,
        )

    def arm(self):
        self.latched = ""

    def model(self):
        return {"joints": [{"name": "Femur-Tibia"}]}

    def get(self, names):
        assert names == ["joint.Femur-Tibia.action"]
        moving = min(self.time_s, self.stands_from_s)
        return SimpleNamespace(time_s=self.time_s, values={names[0]: int(moving / 0.1)})

    def set(self, values):
        self.said.append(("set", values))

    def script(self, text):
        self.said.append(("script", text))

    def mark(self, text):
        self.said.append(("mark", text, round(self.time_s, 2)))

    def run(self, stop_s):
        if self.refusals or self.latched:
            self.refusals -= 1
            raise Refused("not_ready", "no", "")
        self.time_s = 0.0
        return SimpleNamespace(folder=str(self.data) if self.answers else "")

    def named(self, name):
        return [words[1:] for words in self.said if words[0] == name]


class Helper:
    """Does what it is asked for after a while; notes everything."""

    def __init__(self, takes: float = 2, refuses: tuple = ()) -> None:
        self.received: list = []
        self.takes, self.refuses = takes, refuses
        self.asked = 0

    def prepare(self, plan, repetition):
        self.received.append(("prepare", plan.label, repetition))

    def soon(self, deed, left_s):
        self.received.append(("soon", type(deed.event).__name__))

    def now(self, deed, still_s):
        self.asked = 0
        self.received.append(("now", type(deed.event).__name__, deed.offered))
        self.still_s = still_s

    def done(self, deed):
        self.asked += 1
        return self.asked > self.takes and type(deed.event) not in self.refuses


@pytest.fixture
def by_hand(tmp_path) -> str:
    path = tmp_path / "by_hand.xml"
    path.write_text(SCRIPT)
    return str(path)


def test_what_is_done_by_hand_is_asked_for_and_the_rest_is_sent(finished, by_hand):
    daemon, helper = Daemon(finished), Helper()
    plan = tiny.plan(script=by_hand, values={"motor_speed": 2.0}, kicks_s=(1.6,))
    folder, kicks = do_bout(plan, 4, daemon, helper, daemon.wait, Path("unused"))
    assert folder == finished
    assert daemon.named("begin") == [("lin_roach", 4)]
    assert daemon.named("set") == [({"motor_speed": 2.0},)]
    ((text,),) = daemon.named("script")
    assert "61" in text
    assert "kick" not in text
    assert "ground" not in text
    assert [words for words in helper.received if words[0] != "soon"] == [
        ("prepare", "only", 4),
        ("now", "Ground", False),
        ("now", "Kick", False),
        ("now", "Kick", True),
    ]
    assert helper.received.index(("soon", "Ground")) < helper.received.index(("now", "Ground", False))
    assert [text for text, _ in daemon.named("mark")] == ["ground by hand", "kick by hand", "kick by hand"]
    assert kicks == pytest.approx((1.7,), abs=0.06)


def test_what_a_row_changes_in_the_script_is_sent_too(finished, by_hand):
    daemon, helper = Daemon(finished), Helper()
    cuts = (Cut("TC1_current", 0.0, 0.8),)
    plan = tiny.plan(script=by_hand, edits={(103, 0.5): 62.0}, moved={0.5: 0.7}, cuts=cuts)
    do_bout(plan, 4, daemon, helper, daemon.wait, Path("unused"))
    ((text,),) = daemon.named("script")
    assert re.search(r'idNum="103"[^>]*time="0.7">62', text)
    assert re.search(r'<sense time="0.8" sensor="TC1_current"[^>]*value="0', text)
    with pytest.raises(Aborted, match="nothing to leave out"):
        do_bout(tiny.plan(script=by_hand, edits={(104, 0.5): None}), 4, daemon, helper, daemon.wait, Path("unused"))


def test_an_offered_kick_may_be_left_out(finished):
    daemon, helper = Daemon(finished, stands_from_s=0.5), Helper(refuses=(Kick,))
    _, kicks = do_bout(tiny.plan(start_kick_s=1.0), 1, daemon, helper, daemon.wait, Path("unused"))
    assert kicks == ()
    # It says for how long nothing has happened, so that somebody can judge.
    assert ("now", "Kick", True) in helper.received
    assert helper.still_s == pytest.approx(0.5, abs=0.06)


def test_what_has_to_be_done_and_is_not_spoils_the_bout(finished, by_hand):
    daemon, helper = Daemon(finished), Helper(refuses=(Ground,))
    with pytest.raises(Aborted, match=r"not done by hand: ground at 0\.6 s"):
        do_bout(tiny.plan(script=by_hand), 1, daemon, helper, daemon.wait, Path("unused"))
    assert daemon.named("end")


def test_what_nobody_confirms_does_not_hold_up_what_comes_after(finished, tmp_path):
    script = tmp_path / "late.xml"
    script.write_text('<hdsoscript><ground time="6" present="n"/></hdsoscript>')
    daemon, helper = Daemon(finished, ends_s=8.0), Helper(refuses=(Kick,))
    plan = tiny.plan(script=str(script), start_kick_s=1.0, duration_s=8.0)
    do_bout(plan, 1, daemon, helper, daemon.wait, Path("unused"))
    assert [text for text, _ in daemon.named("mark")] == ["ground by hand"]


def test_a_data_directory_that_is_not_in_the_answer_is_asked_for(finished):
    daemon = Daemon(finished)
    daemon.answers = False
    assert do_bout(tiny.plan(), 1, daemon, Helper(), daemon.wait, Path("unused"))[0] == finished
    daemon.time_s, daemon.logs = None, False
    with pytest.raises(Aborted, match="does not log"):
        do_bout(tiny.plan(), 1, daemon, Helper(), daemon.wait, Path("unused"))


def test_a_fault_of_the_bout_before_is_taken_back(finished):
    daemon = Daemon(finished)
    daemon.latched = "core_dead"
    assert do_bout(tiny.plan(), 1, daemon, Helper(), daemon.wait, Path("unused"))[0] == finished


def test_torque_that_somebody_took_off_is_for_them_to_take_back(finished):
    daemon = Daemon(finished)
    daemon.latched = "off"
    with pytest.raises(Aborted, match="nuc ctl arm"):
        do_bout(tiny.plan(), 1, daemon, Helper(), daemon.wait, Path("unused"))
    assert daemon.latched == "off"


def test_data_that_are_elsewhere_can_not_be_looked_at(tmp_path):
    daemon = Daemon(tmp_path / "elsewhere")
    with pytest.raises(Aborted, match="not on this machine"):
        do_bout(tiny.plan(), 1, daemon, Helper(), daemon.wait, Path("unused"))


def test_a_bout_that_was_cut_off_is_aborted(finished, tmp_path, monkeypatch):
    monkeypatch.setattr(live, "read_manifest", lambda folder: SimpleNamespace(state="fault", reason="motor_silent: no"))
    daemon = Daemon(finished)
    trial = run_live(tiny.row(), 1, daemon, Helper(), daemon.wait, tmp_path).trial
    assert trial.state == "aborted"
    assert trial.reasons == ("only: fault: motor_silent: no",)


def test_repetitions_and_control_are_judged_by_the_row_s_criterion(finished, tmp_path):
    daemon = Daemon(finished)

    def again(plan, repetition):
        daemon.time_s = None
        return daemon

    daemon.begin = again
    row = tiny.row(control=NegativeControl("why", (tiny.plan("c"),), 1))
    collected, done = live.collect_live(row, 2, 1, daemon, Helper(), daemon.wait, tmp_path)
    assert {number: trial.state for number, trial in collected.trials.items()} == {1: "as seen", 2: "as seen"}
    assert list(collected.control) == [1]
    assert done[0].folders == {"only": finished}


def test_kicks_that_were_given_are_counted(finished, tmp_path):
    daemon = Daemon(finished)
    row = tiny.row(bouts=(tiny.plan(kicks_s=(1.0,)),), criterion=tiny.kicked)
    told = run_live(row, 1, daemon, Helper(), daemon.wait, tmp_path)
    assert (told.trial.state, told.trial.kicks) == ("as seen", 1)
    assert told.trial.kicked_s["only"] == pytest.approx((1.1,), abs=0.06)


@pytest.mark.parametrize(
    ("event", "words"),
    [
        (Kick(0), "kick the leg"),
        (Ground(0, False), "take the ground away"),
        (Ground(0, True), "put the ground back"),
        (BaseHeight(0, 20.0), "raise or lower the leg to 20 cm"),
        (Load(0, 1.5, 400_000_000), "press the foot down with 1.5 N for 0.4 s"),
        (Load(0, -1.5, 400_000_000), "unload the foot with 1.5 N for 0.4 s"),
        (Disconnect(0, "Coxa-Trochanter", 2_000_000_000), "take the leg off below Coxa-Trochanter, within 2 s"),
        (Reconnect(0, 2_000_000_000), "put the leg together again, within 2 s"),
    ],
)
def test_everything_that_can_be_done_has_words(event, words):
    assert beside.describe(event) == words


def test_somebody_at_the_terminal_is_told_and_answers_with_enter(monkeypatch, capsys):
    ours, theirs = os.pipe()
    with os.fdopen(ours) as stdin, os.fdopen(theirs, "w", buffering=1) as typing:
        monkeypatch.setattr("sys.stdin", stdin)
        hand = beside.TerminalHand()
        typing.write("\n")
        hand.prepare(tiny.plan(plant={"world.base_height_cm": 20.0}), 2)
        deed = Deed(Kick(3_000_000_000), offered=True)
        for left_s in (2.9, 2.5, 1.9, 0.1):
            hand.soon(deed, left_s)
        typing.write("too early\n")
        hand.now(deed, 1.25)
        assert not hand.done(deed)
        typing.write("\n")
        assert hand.done(deed)
        assert not hand.done(deed)
    said = capsys.readouterr().err
    assert "repetition 2" in said
    assert "make world.base_height_cm 20" in said
    assert [line.split()[1] for line in said.splitlines() if " if it does not step" in line and "in " in line[:5]] == [
        "3",
        "2",
        "1",
    ]
    assert "no action has changed for 1.2 s" in said


def test_nobody_at_the_terminal_ends_it(monkeypatch):
    import click

    monkeypatch.setattr("sys.stdin", io.StringIO(""))
    with pytest.raises(click.Abort):
        beside.TerminalHand().prepare(tiny.plan(), 1)


def test_deeds_are_in_the_order_of_their_times(by_hand):
    plan = tiny.plan(script=by_hand, start_kick_s=0.8, kicks_s=(0.2,))
    deeds = live._deeds(plan, live._script(plan))
    assert isinstance(deeds, deque)
    assert [(round(deed.at_s, 1), deed.offered) for deed in deeds] == [
        (0.2, True),
        (0.6, False),
        (0.8, True),
        (1.0, False),
    ]
