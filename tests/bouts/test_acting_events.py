"""Every trigger, forced switch and clamp is an event with its cycle; triggers see what rules see."""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest

from nuc_engine.model.changes import Trigger, Write
from nuc_engine.verify import verify_bout
from tests.engine.acting import bout
from tests.verify.acting import EDITS, everything
from tests.verify.variants import PaperDaemon, documents

MS = 1_000_000
WAITING = (
    '<when rule="CTr_time &gt; patience" times="0">'
    '<hdsoMod idNum="234" NumElts="1" datatype="double">0.41</hdsoMod></when>'
    '<when rule="(302 &gt; half) &amp; (time &gt; half)" holds="0.03" after="0.055" times="2" refractory="0.2">'
    '<hdsoMod idNum="109" NumElts="1">61</hdsoMod></when>'
)


class Event(NamedTuple):
    time_ns: int
    text: str
    cycle: int


def events(folder: Path, kind: str) -> list[Event]:
    """Return the events of a kind; each says its cycle."""
    lines = [line for line in (folder / "Infolog.txt").read_text().splitlines() if line.split()[1] == kind]
    found = [re.fullmatch(rf"(\d+) {kind} (.*), cycle (\d+)(?: by .*)?", line) for line in lines]
    assert all(found), lines
    return [Event(int(each[1]), each[2], int(each[3])) for each in found if each]


def cycles_then(folder: Path, time_ns: int) -> int:
    """Return how many cycles were complete by then."""
    return int(np.searchsorted(np.loadtxt(folder / "MotorData.txt")[:, 0], time_ns, side="right"))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return bout(everything(script=EDITS + WAITING), tmp_path_factory.mktemp("events"))


def test_every_clamp_is_an_event_with_its_cycle(folder: Path) -> None:
    told = events(folder, "control")
    assert [event.text for event in told] == [
        "CTr_time: sense hold",
        "turning: sense 0.5",
        "CTr_time: sense off",
        "turning: sense off",
    ]
    assert [event.time_ns for event in told] == [500 * MS, 1200 * MS, 1300 * MS, 2200 * MS]
    assert [event.cycle for event in told] == [cycles_then(folder, event.time_ns) for event in told]


def test_every_trigger_is_an_event_with_its_cycle_and_what_it_wrote_is_logged_with_its_cause(folder: Path) -> None:
    told = events(folder, "trigger")
    assert [event.cycle for event in told] == [cycles_then(folder, event.time_ns) for event in told]
    log = (folder / "Scriptlog.xml").read_text()
    held = [event for event in told if ", acts 0.055 s later" in event.text]
    assert held
    for event in told:
        acted_ns = event.time_ns + (55 * MS if event in held else 0)
        cause = event.text.removesuffix(", acts 0.055 s later")
        at = rf"<!-- cycle {cycles_then(folder, acted_ns)}, by {re.escape(cause)} -->\n.*time=\"{acted_ns / 1e9:.9g}\""
        assert re.search(at, log), (event, at)


def test_every_forced_switch_is_an_event_with_its_cycle_and_there_is_none_else(folder: Path) -> None:
    """Whoever is in a state by its central rule got there by an event, and with every event somebody changed."""
    told = events(folder, "forced_switch")
    rows = np.loadtxt(folder / "StateData.txt")
    assert len(told) > 4
    for event in told:
        row = int(np.searchsorted(rows[:, 0], event.time_ns))
        assert rows[row, 0] == event.time_ns
        assert (rows[row, 1:] != rows[row - 1, 1:]).any()
        assert event.cycle == cycles_then(folder, event.time_ns)
    # What the oracle makes of the same rules and sensors would differ in any that was not told of.
    assert verify_bout(bout(everything(script=EDITS), folder.parent / "without")).good


def test_triggers_see_signals_about_actions_as_rules_do(folder: Path) -> None:
    """Where CTr is switched since it has waited for long enough, a trigger by the same rule fires with it."""
    waited = {event.time_ns for event in events(folder, "trigger") if "CTr_time > patience" in event.text}
    switched = {event.time_ns for event in events(folder, "forced_switch") if "Coxa-Trochanter" in event.text}
    unclamped = {time_ns for time_ns in switched if not 500 * MS <= time_ns <= 1300 * MS}
    assert unclamped
    assert unclamped <= waited


def test_what_a_trigger_writes_counts_for_signals_of_the_same_instant(tmp_path: Path) -> None:
    """A bout is repeated from what triggers did, in the place of changesets: before signals and rules."""
    config, _ = documents(everything(), tmp_path)
    daemon = PaperDaemon(config, "emulated:", tmp_path / "data")
    daemon.begin()
    for number, value in ((235, 0.05), (257, 0.9), (234, 0.2)):
        daemon.trigger(Trigger("345 > 237", (Write(daemon.hdso(number), (value,)),), 0, 0, -1, 1, 0), 100 * MS)
    daemon.run(2.5)
    folder = daemon.end()
    verdict = verify_bout(folder)
    assert len(events(folder, "trigger")) == 3
    assert verdict.good, verdict.differences[:3]
