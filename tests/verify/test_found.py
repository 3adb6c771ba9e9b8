"""What is not as the bout left it, or not as computed, is found and named."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import msgpack
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from nuc_engine.recording.manifest import hash_files
from nuc_engine.verify import Unverifiable, verify_bout
from tests.verify.seal import sealed
from tests.verify.variants import ZOO, Case, run

DATA = ("MotorData.txt", "SensData.txt", "StateData.txt", "MuscleData.txt")
COMPUTED = (*DATA, "Scriptlog.xml", "HDSOlog.xml")
RECORD = "InputRecord.msgpack"
ASKED = '<hdsoSpec idNum="-1" time="0.2"/>'


@pytest.fixture(scope="module")
def left(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A bout as it was left."""
    case = Case("lin_roach", shake="gradual", seconds=0.4, script=ASKED, changes=ZOO)
    return run(case, tmp_path_factory.mktemp("left"))


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A bout of the daemon as it was left."""
    return run(Case("lin_roach", "real", shake="gradual", seconds=0.4), tmp_path_factory.mktemp("served"))


@pytest.fixture
def folder(left: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(left, tmp_path / "bout"))


@pytest.fixture
def served_copy(served: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(served, tmp_path / "bout"))


def manifest(folder: Path, **changes: Any) -> dict[str, Any]:
    """Return the manifest, after changes."""
    path = folder / "manifest.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | changes))
    if changes:
        sealed(folder)
    return json.loads(path.read_text())


def summed(folder: Path) -> None:
    """Let the manifest's sums be those of the files as they are now."""
    manifest(folder, files=hash_files(folder))


def change(path: Path, pattern: str, new: str) -> None:
    text, count = re.subn(pattern, new, path.read_text(), count=1)
    assert count == 1
    path.write_text(text)


def change_record(folder: Path, how: Callable[[list[Any]], Any]) -> None:
    """Change the input record, and the sums with it."""
    with (folder / RECORD).open("rb") as file:
        records = list(msgpack.Unpacker(file))
    how(records)
    (folder / RECORD).write_bytes(b"".join(map(msgpack.packb, records)))
    summed(folder)


# --- a digit ---


@settings(max_examples=80, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_any_digit_of_any_log_that_is_another_one_is_named_by_file_record_and_column(
    data: st.DataObject, left: Path
) -> None:
    name = data.draw(st.sampled_from(COMPUTED))
    lines = (left / name).read_text().split("\n")
    number = data.draw(st.sampled_from([k for k, line in enumerate(lines) if re.search(r"\d", line)]))
    line = lines[number]
    at = data.draw(st.sampled_from([k for k, letter in enumerate(line) if letter.isdigit()]))
    other = data.draw(st.sampled_from([digit for digit in "0123456789" if digit != line[at]]))
    lines[number] = line[:at] + other + line[at + 1 :]
    whole = (left / name).read_bytes()
    try:
        (left / name).write_text("\n".join(lines))
        verdict = verify_bout(left)
    finally:
        (left / name).write_bytes(whole)
    assert verdict.changed_files == (name,)
    (found,) = verdict.differences
    assert (found.file, found.record) == (name, number + 1)
    assert found.column == column_of(left, name, line, at)


def column_of(folder: Path, name: str, line: str, at: int) -> str:
    """Return the column a character of a log belongs to."""
    if name in DATA:
        described = json.loads((folder / "columns.json").read_text())["files"][name]["columns"]
        return described[line[:at].count(" ")]["name"]
    if at >= line.index(">"):
        return "data"
    inside = [found[1] for found in re.finditer(r'(\w+)="[^"]*"', line) if found.start() <= at < found.end()]
    return inside[0] if inside else "entry"


def test_a_daemons_logs_are_read_the_same_way(served_copy: Path) -> None:
    folder = served_copy
    for name, before, after in (
        ("MotorData.txt", r"(\n\d+ \d+ \d+) \d+", r"\1 77"),
        ("Scriptlog.xml", 'time="0"', 'time="1"'),
    ):
        change(folder / name, before, after)
    found = {difference.file: difference for difference in verify_bout(folder).differences}
    assert found["MotorData.txt"].column == "Thorax-Coxa2_motor.current_raw"
    assert found["Scriptlog.xml"].column == "time"


@pytest.mark.parametrize("name", ["Debuglog.txt", "PlantData.txt", "columns.json", "Infolog.txt", "parameters.xml"])
def test_a_file_that_was_changed_is_named_whatever_it_is(name: str, folder: Path) -> None:
    with (folder / name).open("a") as file:
        file.write("\n")
    verdict = verify_bout(folder)
    assert verdict.changed_files == (name,)
    assert not verdict.good


# --- records ---


@pytest.mark.parametrize("name", COMPUTED)
def test_a_record_too_few_or_too_many_is_found(name: str, folder: Path) -> None:
    whole = (folder / name).read_text()
    end = "</hdsoscript>\n" if name.endswith(".xml") else ""
    lines = whole.removesuffix(end).splitlines(keepends=True)
    for text in ("".join(lines[:-1]), "".join([*lines, lines[-1]])):
        (folder / name).write_text(text + end)
        summed(folder)
        assert name in {difference.file for difference in verify_bout(folder).differences}


def test_another_reply_is_found_in_what_was_made_of_it(folder: Path) -> None:
    def other(records: list[Any]) -> None:
        next(record for record in records if record[:2] == ["cycle", 30])[3][3] += 9

    change_record(folder, other)
    assert {"MotorData.txt", "SensData.txt"} <= set(verify_bout(folder).counts)


@pytest.mark.parametrize(
    ("column", "how"),
    [
        ("edit time_ns", lambda records: edits(records)[5].__setitem__(2, 12345)),
        ("edit values", lambda records: edits(records)[5].__setitem__(4, [7.5])),
        ("edit refused", lambda records: edits(records)[5].__setitem__(5, "why not")),
        ("cycle", lambda records: cycles(records)[5].__setitem__(1, 7)),
        ("stamp 1", lambda records: cycles(records)[5][6].__setitem__(1, 12345)),
        ("time of start", lambda records: sooner(starts(records)[9])),
        ("level", lambda records: starts(records)[9].__setitem__(3, 2)),
        ("goal 3", lambda records: starts(records)[9][4].__setitem__(3, 77)),
        ("start", lambda records: records.append(["ran", "start", 399_999_999, 3, [1, 2, 3, 4]])),
    ],
)  # fmt: skip
def test_what_a_record_cannot_say_is_found(column: str, how: Callable[[list[Any]], Any], folder: Path) -> None:
    change_record(folder, how)
    found = [difference for difference in verify_bout(folder).differences if difference.file == RECORD]
    assert column in {difference.column for difference in found}


def edits(records: list[Any]) -> list[Any]:
    return [record for record in records if record[0] == "edit"]


def cycles(records: list[Any]) -> list[Any]:
    return [record for record in records if record[0] == "cycle"]


def starts(records: list[Any]) -> list[Any]:
    return [record for record in records if record[:2] == ["ran", "start"]]


@pytest.mark.parametrize(
    ("column", "swap"),
    [
        ("order", lambda records, at: records.insert(at("states") + 1, records.pop(at("states") + 2))),
        ("order", lambda records, at: records.insert(at("sensors") + 1, records.pop(at("sensors")))),
        ("time of states", lambda records, at: sooner(records[at("states")])),
        ("time of start", lambda records, at: sooner(records[at("start")])),
    ],
)  # fmt: skip
def test_an_order_or_an_instant_no_executive_allows_is_found(
    column: str, swap: Callable[..., Any], served_copy: Path
) -> None:
    folder = served_copy

    def other(records: list[Any]) -> None:
        def at(what: str, nth: int = 5) -> int:
            return [k for k, record in enumerate(records) if record[:2] == ["ran", what]][nth]

        swap(records, at)

    change_record(folder, other)
    assert column in {difference.column for difference in verify_bout(folder).differences}


def sooner(record: list[Any]) -> None:
    record[2] -= 9


@pytest.mark.parametrize("name", ["cycles", "tasks", "rule_overlaps", "guard_interventions", "records", "events"])
def test_counts_of_the_manifest_are_counted_again(name: str, folder: Path) -> None:
    counts = manifest(folder)["counts"]
    inner = counts[name]
    if isinstance(inner, dict):
        first = next(iter(inner))
        inner[first] = {"runs": 1} if isinstance(inner[first], dict) else inner[first] + 1
    else:
        counts[name] += 1
    manifest(folder, counts=counts)
    assert [difference.file for difference in verify_bout(folder).differences] == ["manifest.json"]


def test_a_fault_that_does_not_follow_is_found(folder: Path) -> None:
    manifest(folder, state="fault", reason="motor_silent: Thorax-Coxa1_motor (bus id 0) has not answered")
    assert {difference.column for difference in verify_bout(folder).differences} >= {"reason"}
    manifest(folder, state="fault", reason="engine_error: ZeroDivisionError: division by zero")
    assert {difference.column for difference in verify_bout(folder).differences} >= {"reason"}
    manifest(folder, state="fault", reason="write_refused: HDSO 101 (Coxa_angle) was not written")
    assert ("reason", "a fault that ends a bout") in {(d.column, d.computed) for d in verify_bout(folder).differences}


# --- bouts that did not come to their end ---


def cut(path: Path, share: float) -> None:
    path.write_bytes(path.read_bytes()[: int(path.stat().st_size * share)])


def test_a_bout_that_was_killed_is_verified_as_far_as_it_goes(folder: Path) -> None:
    (folder / "manifest.json").write_text(
        json.dumps({k: v for k, v in manifest(folder, state="running").items() if k != "files"})
    )
    for name, share in (("MotorData.txt", 0.8), ("StateData.txt", 0.5), ("Scriptlog.xml", 0.9), (RECORD, 0.7)):
        cut(folder / name, share)
    verdict = verify_bout(folder)
    assert verdict.good, verdict.differences
    assert any("no sums" in text for text in verdict.unchecked)
    change(folder / "StateData.txt", r"(\n\d+) \d", r"\1 5")
    assert not verify_bout(folder).good


@pytest.mark.parametrize("behind", ["cycle", "edit"])
def test_a_record_may_be_cut_off_within_an_instant(behind: str, folder: Path) -> None:
    whole = manifest(folder, state="running")
    (folder / "manifest.json").write_text(json.dumps({k: v for k, v in whole.items() if k not in ("files", "counts")}))
    with (folder / RECORD).open("rb") as file:
        records = list(msgpack.Unpacker(file))
    pairs = enumerate(pairwise(records), 1)
    cut_at = next(k for k, (a, b) in pairs if k > 99 and a[0] == behind and a[2] == b[2])
    (folder / RECORD).write_bytes(b"".join(map(msgpack.packb, records[:cut_at])))
    verdict = verify_bout(folder)
    assert verdict.good, verdict.differences


def test_an_interrupted_bout_may_lack_what_its_last_instant_would_have_left(folder: Path) -> None:
    manifest(folder, state="interrupted", reason="stopped by the operator")
    lines = (folder / "MuscleData.txt").read_text().splitlines(keepends=True)
    assert not verify_bout(folder).counts
    (folder / "MuscleData.txt").write_text("".join(lines[:-1]))
    assert "MuscleData.txt" in verify_bout(folder).counts


def lose(folder: Path, place: int, *, told: int = 3) -> int:
    """Let records be lost from the entry at `place` on, with `told` of them in the manifest; return from when on."""
    since: list[int] = []

    def other(records: list[Any]) -> None:
        since.append(max([0, *(record[2] for record in records[:place] if record[0] in ("cycle", "ran"))]))
        records.insert(place, ["lost", 9, since[0], since[0], {"motor": 3}])

    change_record(folder, other)
    span = {"count": told, "from_s": since[0] / 1e9, "to_s": since[0] / 1e9}
    manifest(folder, losses=manifest(folder)["losses"] | {"records": {"motor": span}})
    return since[0]


def test_what_comes_behind_lost_records_is_not_compared(served_copy: Path) -> None:
    since_ns = lose(served_copy, 100)
    text = (served_copy / "MotorData.txt").read_text()
    (served_copy / "MotorData.txt").write_text(re.sub(r"(?m)^(3\d{8}) \d+ \d+", r"\1 0 0", text))
    summed(served_copy)
    verdict = verify_bout(served_copy)
    assert verdict.good, verdict.differences
    assert 0 < verdict.records["MotorData.txt"] < verdict.present["MotorData.txt"]
    assert any(f"from {since_ns / 1e9:.9g} s on" in text for text in verdict.unchecked)


def test_records_were_lost_as_many_as_the_manifest_says_and_from_the_last_one_on(served_copy: Path) -> None:
    lose(served_copy, 100, told=4)
    assert {difference.column for difference in verify_bout(served_copy).differences} == {"losses.records.motor"}
    change_record(served_copy, lambda records: records[100].__setitem__(3, 9))
    assert "lost from" in {difference.column for difference in verify_bout(served_copy).differences}


@pytest.mark.parametrize(("told", "good"), [(2, False), (3, True), (4, True)])
def test_the_manifest_of_a_daemon_that_was_killed_knows_of_as_much_or_more(
    told: int, good: bool, served_copy: Path
) -> None:
    lose(served_copy, 100, told=told)
    manifest(served_copy, state="torn")
    assert verify_bout(served_copy).good == good


def test_a_bout_of_which_all_records_were_lost_is_not_verified(served_copy: Path) -> None:
    lose(served_copy, 2)
    verdict = verify_bout(served_copy)
    assert not verdict.counts
    assert verdict.unverified == DATA
    assert not verdict.good


def test_nothing_is_lost_on_virtual_time(folder: Path) -> None:
    change_record(folder, lambda records: records.insert(1, ["lost", 0, 0, 0, {"motor": 1}]))
    change(folder / "MotorData.txt", r"(\n\d+ \d+ \d+) \d+", r"\1 77")
    summed(folder)
    assert {"MotorData.txt", RECORD} <= set(verify_bout(folder).counts)


@pytest.mark.parametrize(
    "entry",
    [
        ["bogus", 0, 0],
        ["bogus"],
        7,
        ["store", 3, 200_000_000, b""],
        ["ran", "states", 200_000_000],
        ["control", 3, 200_000_000, "mode", 2, "hold", ""],
        ["ran", "start", 200_000_000, 3],
    ],
)
def test_an_entry_that_no_record_of_this_clock_has_is_found(entry: Any, folder: Path) -> None:
    change_record(folder, lambda records: records.insert(9, entry))
    found = [difference for difference in verify_bout(folder).differences if difference.file == RECORD]
    assert [(difference.record, difference.column) for difference in found] == [(10, "entry")]


@pytest.mark.parametrize("entry", [["bogus", 0, 0], ["ran", "server", 9], ["happened", 0, 9, {"kind": "kick"}]])
def test_an_entry_that_no_daemon_writes_is_found(entry: list[Any], served_copy: Path) -> None:
    change_record(served_copy, lambda records: records.insert(9, entry))
    found = [difference for difference in verify_bout(served_copy).differences if difference.file == RECORD]
    assert [(difference.record, difference.column) for difference in found] == [(10, "entry")]


def test_entries_of_different_kinds_that_changed_places_are_found(folder: Path) -> None:
    def swap(records: list[Any]) -> None:
        at = next(k for k, record in enumerate(records) if record[0] == "edit" and record[2])
        assert records[at - 1][0] != "edit"
        records.insert(at - 1, records.pop(at))

    change_record(folder, swap)
    assert "order" in {difference.column for difference in verify_bout(folder).differences}


# --- files that are missing ---


@pytest.mark.parametrize("name", ["Debuglog.txt", "PlantData.txt", "columns.json", "MotorData.txt", RECORD])
def test_a_file_that_is_missing_is_found_though_its_sum_is_too(name: str, folder: Path) -> None:
    (folder / name).unlink()
    summed(folder)
    verdict = verify_bout(folder)
    assert (name, "file") in {(difference.file, difference.column) for difference in verdict.differences}


def test_a_file_without_a_sum_is_found(folder: Path) -> None:
    sums = manifest(folder)["files"]
    del sums["Debuglog.txt"]
    manifest(folder, files=sums)
    assert {difference.column for difference in verify_bout(folder).differences} == {"files.Debuglog.txt"}


def test_that_nothing_could_be_written_any_more_does_not_forgive_missing_files(folder: Path) -> None:
    for name in DATA:
        (folder / name).unlink()
    summed(folder)
    manifest(
        folder, state="fault", reason="logging_failed: no room", counts=manifest(folder)["counts"] | {"records": {}}
    )
    assert {difference.file for difference in verify_bout(folder).differences} == {*DATA, "manifest.json"}


@pytest.mark.parametrize("bout", ["left", "served"])
def test_inputs_that_nothing_reads_are_said_to_be_held_against_their_sums(
    bout: str, request: pytest.FixtureRequest
) -> None:
    told = verify_bout(request.getfixturevalue(bout)).unchecked
    assert "plant.toml: held against its sum only" in told
    assert "parameters.xml: held against its sum only" not in told


# --- what a daemon's bout started with, and how often its tasks ran ---


def change_input(folder: Path, pattern: str, new: str) -> None:
    """Change parameters.xml, and its sums with it."""
    change(folder / "parameters.xml", pattern, new)
    sums = hash_files(folder)
    manifest(folder, files=sums, inputs={name: sums[name] for name in manifest(folder)["inputs"]})


OTHER_START = (r'(name="motor_control_delay_ns"(?:.|\n)*?<initial_data>)0', r"\g<1>5")


def test_a_start_that_is_not_the_documents_is_found_where_nothing_was_written_before(served_copy: Path) -> None:
    change_input(served_copy, *OTHER_START)
    (found,) = [difference for difference in verify_bout(served_copy).differences if difference.record == 2]
    assert (found.file, found.computed) == (RECORD, "5")


def test_a_start_that_clients_may_have_written_is_said_to_be_given(served_copy: Path) -> None:
    change_input(served_copy, *OTHER_START)
    manifest(served_copy, written_before=1)
    verdict = verify_bout(served_copy)
    assert verdict.good, verdict.differences
    assert any("motor_control_delay_ns starts with 0 where the documents have 5" in text for text in verdict.unchecked)


@pytest.mark.parametrize(
    ("task", "what"),
    [
        ("motor_action", "runs"),
        ("motor_conversion", "runs"),
        ("state_transition", "runs"),
        ("muscle_conversion", "runs"),
        ("state_transition", "overruns"),
        ("state_transition", "skipped"),
        ("script", "overruns"),
    ],
)
def test_runs_and_overruns_of_a_daemons_tasks_are_counted_again(task: str, what: str, served_copy: Path) -> None:
    counts = manifest(served_copy)["counts"]
    counts["tasks"][task][what] += 77
    manifest(served_copy, counts=counts)
    assert [d.column for d in verify_bout(served_copy).differences] == [f"counts.tasks.{task}.{what}"]


def test_an_overrun_that_never_was_is_found(served_copy: Path) -> None:
    path = served_copy / "Infolog.txt"
    path.write_text(path.read_text() + "390000000 overrun state_transition overran; 1 periods skipped so far\n")
    counts = manifest(served_copy)["counts"]
    counts["events"]["overrun"] = 1
    counts["records"]["Infolog.txt"] += 1
    manifest(served_copy, counts=counts)
    summed(served_copy)
    assert [(d.file, d.computed) for d in verify_bout(served_copy).differences] == [("Infolog.txt", "no overrun")]


@pytest.mark.parametrize("reason", [None, 7])
def test_why_an_edit_was_refused_is_text_and_empty_where_it_was_made(reason: Any, folder: Path) -> None:
    change_record(folder, lambda records: edits(records)[5].__setitem__(5, reason))
    assert {difference.column for difference in verify_bout(folder).differences} == {"edit refused"}


# --- what cannot be verified ---


@pytest.mark.parametrize(
    ("name", "content", "why"),
    [
        ("manifest.json", "[]", "not the manifest"),
        ("manifest.json", "{", "cannot be read"),
        (RECORD, "rubbish", "head of a record"),
        ("parameters.xml", "<hdsolist>", "cannot be read"),
        ("joints.xml", "<jointlist/>", "head of a record of 0 motors"),
        (
            "sensors.xml",
            '<hdsolist><hdso name="a" idNum="1"><dimsize dimNr="1">9999999</dimsize></hdso></hdsolist>',
            "at most",
        ),
        ("scriptfile.xml", '<hdsoscript><gradual time="0" duration="1" steps="99999999"/></hdsoscript>', "at most"),
        ("joints.xml", '<!DOCTYPE a [<!ENTITY b "c">]><jointlist>&b;</jointlist>', "declares an entity"),
    ],
)
def test_where_nothing_can_be_computed_it_is_said_why(name: str, content: str, why: str, folder: Path) -> None:
    (folder / name).write_text(content)
    if name != "manifest.json":
        verdict = verify_bout(folder)
        assert verdict.changed_files == (name,)
        assert why in verdict.unchecked[0]
        sums = hash_files(folder)
        manifest(folder, files=sums, inputs={name: sums[name] for name in manifest(folder)["inputs"]})
    with pytest.raises(Unverifiable, match=why):
        verify_bout(folder)


def test_a_manifest_that_says_it_was_for_ever_is_not_computed_for_ever(folder: Path) -> None:
    manifest(folder, spec=manifest(folder)["spec"] | {"duration_s": 1e9})
    assert {"StateData.txt", "MuscleData.txt"} <= set(verify_bout(folder).counts)


def test_a_record_that_began_later_than_the_bout_is_said_to_be_none_to_verify(served_copy: Path) -> None:
    folder = served_copy
    change_record(folder, lambda records: records.pop(1))
    with pytest.raises(Unverifiable, match="logging began later"):
        verify_bout(folder)


def test_a_servo_of_which_nothing_is_known_is_said_to_be_one(folder: Path) -> None:
    manifest(folder, families={"": "acme"})
    with pytest.raises(Unverifiable, match="of a model known here"):
        verify_bout(folder)
