from __future__ import annotations

import hashlib
import json
from pathlib import Path

from tests.cli.conftest import Nuc, edit


def forge(folder: Path, name: str, line: int, column: int, value: str) -> None:
    """Change one number of a log, and the manifest's sum with it, as if the bout had recorded it so."""
    lines = (folder / name).read_text().splitlines(keepends=True)
    cells = lines[line].split()
    cells[column] = value
    lines[line] = " ".join(cells) + "\n"
    (folder / name).write_text("".join(lines))
    manifest = json.loads((folder / "manifest.json").read_text())
    manifest["files"][name] = hashlib.sha256((folder / name).read_bytes()).hexdigest()
    (folder / "manifest.json").write_text(json.dumps(manifest))


def test_an_untouched_bout_is_identical(nuc: Nuc, bout: Path) -> None:
    before = {path.name: path.read_bytes() for path in bout.iterdir()}
    result = nuc("replay", str(bout))
    assert result.exit_code == 0
    lines = result.stdout.splitlines()
    assert any(line.startswith("identical: ") for line in lines)
    assert lines[-1].startswith("    ")
    assert max(map(len, lines)) <= 80
    assert {path.name: path.read_bytes() for path in bout.iterdir()} == before


def test_the_recorded_replies_alone_give_the_same_too(nuc: Nuc, bout: Path) -> None:
    result = nuc("replay", str(bout), "--recorded", "--json")
    assert result.exit_code == 0
    data = json.loads(result.stdout)
    assert data["ok"] is True
    assert data["identical"] is True
    assert "StateData.txt" in data["compared"]
    assert data["difference"] is None


def test_a_changed_file_is_named_as_one(nuc: Nuc, bout: Path) -> None:
    with (bout / "SensData.txt").open("a") as file:
        file.write("\n")
    result = nuc("replay", str(bout))
    assert result.exit_code == 1
    assert result.stdout.splitlines() == ["changed file: SensData.txt is not what the bout left"]


def test_a_real_difference_is_named_with_record_field_and_both_values(nuc: Nuc, bout: Path) -> None:
    record = (bout / "MotorData.txt").read_text().splitlines()[99].split()
    sent, time_s = record[9], int(record[0]) / 1e9
    forge(bout, "MotorData.txt", 99, 9, "77")
    result = nuc("replay", str(bout), "--json")
    assert result.exit_code == 1
    data = json.loads(result.stdout)
    assert data["changed_files"] == []
    found = data["difference"]
    assert (found["file"], found["record"], found["then"], found["now"]) == ("MotorData.txt", 100, "77", sent)
    assert found["field"] == "Thorax-Coxa1_motor.sent_raw"
    text = nuc("replay", str(bout)).stdout
    assert f"real difference: MotorData.txt, record 100 at {time_s:.9g} s, Thorax-Coxa1_motor.sent_raw" in text
    assert "then  77" in text


def test_another_version_is_told_and_is_no_difference_by_itself(nuc: Nuc, bout: Path) -> None:
    edit(bout / "manifest.json", r'"numpy": "[^"]*"', '"numpy": "0.9"')
    result = nuc("replay", str(bout))
    assert "changed version: numpy was 0.9, is " in result.stdout
    assert result.exit_code == 0
    forge(bout, "MotorData.txt", 99, 9, "77")
    result = nuc("replay", str(bout))
    assert result.exit_code == 1
    assert "it may come from what was changed" in result.stdout


def test_a_changed_commit_fits_the_terminal_and_is_whole_in_json(nuc: Nuc, bout: Path) -> None:
    commit = "0123456789abcdef0123456789abcdef01234567"
    edit(bout / "manifest.json", r'"commit": ("[^"]*"|null)', f'"commit": "{commit} with changes"')
    text = nuc("replay", str(bout)).stdout
    assert "changed version: commit was 0123456789ab with changes, is " in " ".join(text.split())
    assert all(len(line) <= 80 for line in text.splitlines())
    changed = json.loads(nuc("replay", str(bout), "--json").stdout)["changed_versions"]
    assert changed["commit"]["then"] == f"{commit} with changes"


def test_a_folder_that_is_no_bout_is_a_line(nuc: Nuc, roach: Path) -> None:
    result = nuc("replay", str(roach))
    assert result.exit_code == 1
    assert "manifest.json" in result.stderr
    assert len(result.stderr.splitlines()) == 1
