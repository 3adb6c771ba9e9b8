"""What SCCILS 0.2 adds to acting is computed, and an engine that does otherwise is found where it first does."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable
from dataclasses import replace
from itertools import zip_longest
from pathlib import Path
from typing import Any

import msgpack
import pytest

from nuc_engine.model.changes import Changeset, Write
from nuc_engine.verify import verify_bout
from tests.engine.acting import bout
from tests.verify.acting import EDITS, UPPER, everything
from tests.verify.seal import resummed
from tests.verify.variants import Case, PaperDaemon, documents

LOGS = ("SensData.txt", "StateData.txt")
RECORD = "InputRecord.msgpack"
MS = 1_000_000
COSTS = {"motor_conversion": 3 * MS, "state_transition": 2 * MS}


@pytest.fixture(scope="module")
def right(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A bout with everything; not to be changed."""
    return bout(everything(), tmp_path_factory.mktemp("right"))


CUT = '<sense time="0" sensor="302" mode="value" value="0"/><sense time="0" sensor="307" mode="hold"/>'


@pytest.mark.parametrize(
    ("clock", "more"),
    [
        ("virtual", {"shake": "missed"}),
        ("virtual", {"more": {"costs": COSTS, "seed": 7}}),
        ("virtual", {"script": EDITS + '<ground time="0" present="n"/>'}),
        ("virtual", {"script": CUT, "pause_ns": 2 * MS}),
        ("virtual", {"script": CUT, "shake": "missed"}),
        ("real", {}),
        ("real", {"shake": "missed"}),
        ("real", {"script": CUT}),
    ],
)
def test_everything_is_as_computed(clock: str, more: dict[str, Any], tmp_path: Path) -> None:
    folder = bout(everything(**more), tmp_path, clock)
    verdict = verify_bout(folder)
    assert verdict.good, verdict.differences[:5]


def test_the_bout_has_what_is_to_be_computed(right: Path) -> None:
    assert verify_bout(right).good
    rows = [[float(word) for word in line.split()] for line in (right / "StateData.txt").read_text().splitlines()]
    assert {row[-2] for row in rows} == {6, 7}
    assert {row[-1] for row in rows} == {8, 9}
    events = (right / "Infolog.txt").read_text()
    assert len(re.findall(" forced_switch ", events)) > 4
    assert len({line.split()[2] for line in events.splitlines() if " forced_switch " in line}) > 1


WRONG: dict[str, tuple[str, str]] = {
    "no hold": (' hold="keep"/>', "/>"),
    "no central entry": ('<central rule="FT_bend"/>', ""),
    "another central entry": ('<central rule="FT_bend"/>', '<central rule="CTr_waited"/>'),
    "forced switches counted": (' counted="sensory"', ""),
    "another shape": ('shape="exponential" ', ""),
    "another joint's action": (
        'type="time_in_action" of="Coxa-Trochanter"',
        'type="time_in_action" of="Thorax-Coxa1"',
    ),
    "another state": ('type="state" of="Turn"', 'type="state" of="Walk"'),
    "time that does not follow a signal": (' inputs="CTr_rate" parameters="tau"', ' parameters="tau"'),
    "another time constant": ('of="Coxa-Trochanter" parameters="tau"', 'of="Coxa-Trochanter" parameters="patience"'),
    "another map": (">0 0.45 1 0.2<", ">0 0.5 1 0.15<"),
    "a value that is not followed": ('<map hdso="127">-2 0 2 1</map>', '<map hdso="128">-2 0 2 1</map>'),
    "an action that writes something else": ('NumElts="1">70<', 'NumElts="1">10<'),
    "an action that writes another rule": ("307@0.05 &lt;", "307@0.05 &gt;"),
    "a module that begins elsewhere": ('start_state_idNum="803"', 'start_state_idNum="804"'),
}
"""What an engine might do instead of what the documents say, as documents that say so."""


def turned(case: Case, old: str, new: str) -> Case:
    """Return a bout by other documents: every `old` in what was added to them is `new`."""

    def changed(given: Any) -> Any:
        if callable(given):
            return lambda found: given(found).replace(old, new)
        return given.replace(old, new)

    return replace(case, changes=tuple((pattern, changed(text)) for pattern, text in case.changes))


@pytest.mark.parametrize("what", WRONG)
def test_an_engine_that_does_otherwise_is_found_at_its_first_record(what: str, right: Path, tmp_path: Path) -> None:
    folder = bout(turned(everything(), *WRONG[what]), tmp_path)
    for name in ("joints.xml", "parameters.xml", "sensors.xml"):
        shutil.copy(right / name, folder / name)
    resummed(folder)
    verdict = verify_bout(folder)
    assert not verdict.changed_files
    # What differs later than that can do so since the leg then moved otherwise.
    _, name, record = min(filter(None, (first_difference(right / name, folder / name) for name in LOGS)))
    found = [each.record for each in verdict.differences if each.file == name]
    assert min(found, default=0) == record, verdict.differences[:3]


def first_difference(a: Path, b: Path) -> tuple[int, str, int] | None:
    """Return time, name and number of the first line in which two logs differ."""
    pairs = enumerate(zip_longest(a.read_text().splitlines(), b.read_text().splitlines()), 1)
    differing = ((int((y or x).split(" ")[0]), a.name, number) for number, (x, y) in pairs if x != y)
    return next(differing, None)


@pytest.fixture
def forged(right: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(right, tmp_path / "bout"))


@pytest.mark.parametrize(
    ("name", "column", "value"),
    [
        ("StateData.txt", "Behaviour.state", "6"),
        ("StateData.txt", "Coxa-Trochanter.state", "3"),
        ("SensData.txt", "CTr_rate", "0.25"),
        ("SensData.txt", "paced", "0.25"),
        ("SensData.txt", "doing", "801"),
        ("SensedData.txt", "CTr_time", "0.25"),
    ],
)
def test_a_number_that_was_forged_is_named(name: str, column: str, value: str, forged: Path) -> None:
    lines = (forged / name).read_text().splitlines()
    at = columns(forged)[name.replace("SensedData", "SensData")].index(column)
    number = next(k for k, line in enumerate(lines) if k > 40 and line.split()[at] != value)
    words = lines[number].split()
    lines[number] = " ".join([*words[:at], value, *words[at + 1 :]])
    (forged / name).write_text("\n".join(lines) + "\n")
    resummed(forged)
    (found,) = verify_bout(forged).differences
    assert (found.file, found.record, found.column, found.found) == (name, number + 1, column, value)


def columns(folder: Path) -> dict[str, list[str]]:
    told = json.loads((folder / "columns.json").read_text())["files"]
    return {name: [column["name"] for column in file["columns"]] for name, file in told.items()}


def test_a_forced_switch_that_is_not_told_of_is_found(forged: Path) -> None:
    lines = (forged / "Infolog.txt").read_text().splitlines(keepends=True)
    at = next(k for k, line in enumerate(lines) if " forced_switch " in line)
    (forged / "Infolog.txt").write_text("".join(lines[:at] + lines[at + 1 :]))
    resummed(forged)
    assert "Infolog.txt" in verify_bout(forged).counts


def change_record(folder: Path, how: Callable[[list[Any]], Any]) -> None:
    with (folder / RECORD).open("rb") as file:
        records = list(msgpack.Unpacker(file))
    how(records)
    (folder / RECORD).write_bytes(b"".join(map(msgpack.packb, records)))
    resummed(folder)


def test_a_control_that_was_set_otherwise_than_recorded_is_found(tmp_path: Path) -> None:
    folder = bout(everything(), tmp_path, "real")
    assert verify_bout(folder).good

    def other(records: list[Any]) -> None:
        next(r for r in records if r[0] == "edit" and r[3] == 257)[4] = [0.5]

    change_record(folder, other)
    counts = verify_bout(folder).counts
    assert {"Scriptlog.xml", "StateData.txt", "SensData.txt"} <= counts.keys()


@pytest.mark.parametrize("number", [107, 126])
def test_that_somebody_else_wrote_what_a_module_or_a_control_does_is_found(number: int, tmp_path: Path) -> None:
    config, _ = documents(everything(), tmp_path)
    daemon = PaperDaemon(config, "emulated:", tmp_path / "data")
    daemon.begin()
    daemon.run(0.3)
    daemon.edit(Changeset(0, (Write(daemon.hdso(109), (55.0,)),)), -1)
    daemon.run(0.5)
    folder = daemon.end()
    assert verify_bout(folder).good
    change_record(folder, lambda records: next(r for r in records if r[0] == "edit").__setitem__(3, number))
    assert "edit refused" in {difference.column for difference in verify_bout(folder).differences}


def test_what_signals_about_actions_are_at_the_start_of_a_daemons_bout_is_computed(tmp_path: Path) -> None:
    """The store at the start stands in the record: of a bout that began in another state it is not as computed."""
    begun = turned(everything(), 'start_state_idNum="801"', 'start_state_idNum="802"')
    folder = bout(replace(begun, seconds=0.3), tmp_path, "real")
    config, _ = documents(everything(), tmp_path / "right")
    shutil.copy(config / "joints.xml", folder / "joints.xml")
    resummed(folder)
    found = {difference.column for difference in verify_bout(folder).differences if difference.record == 2}
    assert {"doing", "turning"} <= found


def test_a_module_is_told_by_its_name_in_what_describes_the_logs(right: Path) -> None:
    assert columns(right)["StateData.txt"][-2:] == ["Behaviour.state", "Above.state"]
    assert UPPER.count("<module ") == 2
