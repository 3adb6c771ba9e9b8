from __future__ import annotations

import json
import re
import signal
from pathlib import Path

import pytest

from nuc_engine.cli.terminal.progress import ProgressLine
from nuc_engine.recording.manifest import sha256
from tests.cli.conftest import CONFIGS, Nuc, edit

SHORT = ("--duration", "0.2")


def manifest(folder: Path) -> dict:
    return json.loads((folder / "manifest.json").read_text())


def test_the_default_directory_is_stamped_and_never_taken_twice(
    nuc: Nuc, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("nuc_engine.cli.terminal.wallclock.stamp", lambda: "261121_11.30.00")
    for expected in ("261121_11.30.00_lin_roach", "261121_11.30.00_lin_roach_2", "261121_11.30.00_lin_roach_3"):
        result = nuc("run", "lin_roach", *SHORT)
        assert result.exit_code == 0
        assert (tmp_path / "data" / expected / "manifest.json").exists()
        assert f"data/{expected}" in result.stdout


def test_the_stamp_has_neuromods_form() -> None:
    from nuc_engine.cli.terminal.wallclock import stamp

    assert re.fullmatch(r"\d{6}_\d\d\.\d\d\.\d\d", stamp())


def test_thirty_seconds_are_the_default(nuc: Nuc, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[float] = []

    def run_bout(spec, progress, *others):
        asked.append(spec.duration_s)
        raise KeyboardInterrupt

    monkeypatch.setattr("nuc_engine.bout.run.run_bout", run_bout)
    nuc("run", "lin_roach", "--out", "d")
    assert asked == [30.0]


def test_a_directory_that_holds_data_is_left_alone_unless_forced(nuc: Nuc, tmp_path: Path) -> None:
    assert nuc("run", "lin_roach", *SHORT, "--out", "d").exit_code == 0
    before = sha256(tmp_path / "d" / "manifest.json")
    refused = nuc("run", "lin_roach", *SHORT, "--seed", "5", "--out", "d")
    assert refused.exit_code == 2
    assert "--force" in refused.stderr
    assert sha256(tmp_path / "d" / "manifest.json") == before
    assert nuc("run", "lin_roach", *SHORT, "--seed", "5", "--out", "d", "--force").exit_code == 0
    assert manifest(tmp_path / "d")["spec"]["seed"] == 5


def test_scratch_may_be_overwritten_each_time(nuc: Nuc, tmp_path: Path) -> None:
    for seed in ("1", "2"):
        assert nuc("run", "lin_roach", *SHORT, "--seed", seed, "--scratch", "try").exit_code == 0
    assert manifest(tmp_path / "try")["spec"]["seed"] == 2


def test_not_even_scratch_empties_a_folder_that_is_no_bout(nuc: Nuc, tmp_path: Path) -> None:
    (tmp_path / "thesis").mkdir()
    (tmp_path / "thesis" / "chapter1.txt").write_text("years of work")
    assert nuc("run", "lin_roach", *SHORT, "--scratch", "thesis").exit_code == 2
    assert (tmp_path / "thesis" / "chapter1.txt").read_text() == "years of work"


@pytest.mark.parametrize(
    "words",
    [
        ["--out", "a", "--scratch", "b"],
        ["--force"],
        ["--duration", "0"],
        ["--duration", "nan"],
        ["--seed", "-1"],
        ["--cost", "no_task=5"],
        ["--cost", "state_transition=fast"],
        ["--label", "nonsense"],
        ["--plant", "world.base_height_cm=high"],
        ["--bus", "serial:/dev/ttyUSB0"],
    ],
)
def test_a_wrong_option_is_refused_before_anything_is_made(nuc: Nuc, tmp_path: Path, words: list[str]) -> None:
    result = nuc("run", "lin_roach", *words)
    assert result.exit_code == 2
    assert len(result.stderr.splitlines()) == 1
    assert list(tmp_path.iterdir()) == []


def test_a_bad_model_is_refused_with_file_and_line(nuc: Nuc, tmp_path: Path, roach: Path) -> None:
    edit(
        roach / "joints.xml",
        r'muscle_activation muscle="401"(.*?)activation_parameters="121"',
        r'muscle_activation muscle="999"\1activation_parameters="121"',
    )
    result = nuc("run", str(roach), *SHORT, "--out", "d")
    assert result.exit_code == 1
    assert re.search(r"joints\.xml:\d+: .*999", result.stderr)
    assert not (tmp_path / "d").exists()


def test_labels_note_and_costs_reach_the_bout(nuc: Nuc, tmp_path: Path) -> None:
    result = nuc(
        "run", "lin_roach", *SHORT, "--out", "d",
        "--label", "animal=B12", "--label", "rig=a=b", "--note", "softer flexor", "--cost", "state_transition=30000000",
    )  # fmt: skip
    assert result.exit_code == 0
    written = manifest(tmp_path / "d")
    assert written["spec"]["labels"] == {"animal": "B12", "rig": "a=b", "note": "softer flexor"}
    assert written["counts"]["tasks"]["state_transition"]["overruns"] > 0


def test_numbers_of_the_plant_are_replaced_for_one_bout(nuc: Nuc, tmp_path: Path) -> None:
    result = nuc("run", "lin_roach", *SHORT, "--out", "d", "--plant", "joint.Femur-Tibia.start_deg=80")
    assert result.exit_code == 0
    assert manifest(tmp_path / "d")["spec"]["plant"] == {"joint.Femur-Tibia.start_deg": 80.0}
    result = nuc("run", "lin_roach", *SHORT, "--out", "e", "--plant", "joint.Femur.start_deg=80")
    assert result.exit_code == 1
    assert "joint.Femur.start_deg" in result.stderr


def test_json_is_alone_on_stdout_and_complete(nuc: Nuc, script: Path) -> None:
    result = nuc("run", "lin_roach", "--script", str(script), "--duration", "2", "--out", "d", "--json")
    data = json.loads(result.stdout)
    assert result.exit_code == 0
    assert data["ok"] is True
    assert data["state"] == "complete"
    assert data["folder"] == "d"
    assert data["simulated_s"] == 2.0
    assert data["cycles"] > 300
    assert data["wall_s"] > 0
    assert data["pictures"] == []
    seen = data["seen"]
    assert [(w["name"], w["begin_s"]) for w in seen] == [("FWD", 0.0), ("ITF", 1.0)]
    assert {"steps", "order", "kind", "stepping", "why_not_judged"} <= set(seen[0])


def test_text_says_where_the_data_are_and_what_was_seen(nuc: Nuc, script: Path) -> None:
    result = nuc("run", "lin_roach", "--script", str(script), "--duration", "2", "--out", "d")
    lines = result.stdout.splitlines()
    assert lines[0].split() == ["data", "d"]
    assert any(line.startswith("FWD") for line in lines)
    assert any(line.startswith("ITF") for line in lines)
    assert "2 s done in" in result.stderr


def test_an_interrupted_bout_keeps_its_data_and_says_so(
    nuc: Nuc, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupt(_: ProgressLine, simulated_s: float, __: float, /) -> None:
        if simulated_s >= 1.0:
            raise KeyboardInterrupt

    monkeypatch.setattr(ProgressLine, "__call__", interrupt)
    result = nuc("run", "lin_roach", "--duration", "2", "--out", "d")
    assert result.exit_code == 1
    assert "interrupted: stopped by the operator" in result.stderr
    written = manifest(tmp_path / "d")
    assert written["state"] == "interrupted"
    assert written["engine_time_s"] == 1.0
    last = (tmp_path / "d" / "MotorData.txt").read_text().splitlines()[-1]
    assert 0.98e9 < int(last.split()[0]) <= 1e9


def test_a_fault_says_why_and_is_status_1(nuc: Nuc, tmp_path: Path) -> None:
    result = nuc("run", "lin_roach", "--duration", "2", "--out", "d", "--bus", "emulated:aimotor?drop=1", "--json")
    assert result.exit_code == 1
    data = json.loads(result.stdout)
    assert data["ok"] is False
    assert data["state"] == "fault"
    assert "motor_silent" in data["reason"]
    assert "has not answered" in result.stderr
    assert manifest(tmp_path / "d")["state"] == "fault"


def test_servos_without_a_leg_can_be_run_and_are_not_called_stepping(nuc: Nuc) -> None:
    result = nuc("run", "lin_roach", "--duration", "2", "--out", "d", "--bus", "loopback:", "--json")
    assert result.exit_code == 0
    assert not any(window["stepping"] for window in json.loads(result.stdout)["seen"])


class Terminal:
    """Stands for stderr, seen by a person or not."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, *, live: bool) -> None:
        self.written = ""
        self.now_s = 100.0
        monkeypatch.setattr("nuc_engine.cli.terminal.progress.is_terminal", lambda *, err: live)
        monkeypatch.setattr("nuc_engine.cli.terminal.wallclock.seconds", lambda: self.now_s)
        monkeypatch.setattr("nuc_engine.cli.terminal.progress.click.echo", self._echo)
        monkeypatch.setattr("nuc_engine.cli.terminal.progress.note", self._echo)

    def _echo(self, text: str = "", *, err: bool = True, nl: bool = True) -> None:
        self.written += text + ("\n" if nl else "")


def test_progress_is_a_bar_on_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = Terminal(monkeypatch, live=True)
    with ProgressLine("leg") as progress:
        for k in range(1, 5):
            terminal.now_s += 0.125
            progress(k * 10.0, 40.0)
    assert terminal.written.count("\n") == 1
    assert terminal.written.count("\r") == 4
    assert "[############################]  40.0 of 40 s  80 x real time" in terminal.written
    assert progress.wall_s == pytest.approx(0.5)


@pytest.mark.parametrize("columns", [30, 80, 200])
def test_a_bar_with_a_long_title_stays_within_its_row(monkeypatch: pytest.MonkeyPatch, columns: int) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    terminal = Terminal(monkeypatch, live=True)
    title = f"/home/somebody/{'deep/' * 20}leg"
    with ProgressLine(title) as progress:
        for k in range(1, 5):
            terminal.now_s += 0.125
            progress(k * 10.0, 40.0)
    rows = [row.removesuffix("\x1b[K").rstrip() for row in terminal.written.rstrip("\n").split("\r")[1:]]
    assert len(rows) == 4
    if columns >= 80:
        assert max(map(len, rows)) < columns
        assert all(row.partition("  [")[0].endswith("/leg") for row in rows)
    if columns == 200:
        assert all(row.startswith(title) for row in rows)


def test_progress_is_two_lines_elsewhere(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = Terminal(monkeypatch, live=False)
    with ProgressLine("leg") as progress:
        for k in range(1, 5):
            terminal.now_s += 0.125
            progress(k * 10.0, 40.0)
    assert terminal.written == "leg: 40 s of simulated time\nleg: 40 s done in 0.5 s, 80 x real time\n"


def test_the_data_do_not_depend_on_how_the_configuration_was_named(nuc: Nuc, tmp_path: Path) -> None:
    assert nuc("run", "lin_roach", *SHORT, "--out", "a").exit_code == 0
    assert nuc("run", str(CONFIGS / "lin_roach"), *SHORT, "--out", "b").exit_code == 0
    assert manifest(tmp_path / "a")["files"] == manifest(tmp_path / "b")["files"]


def test_a_limit_is_kept_and_an_unknown_motor_is_told(nuc: Nuc, tmp_path: Path) -> None:
    result = nuc("run", "lin_roach", *SHORT, "--out", str(tmp_path / "a"), "--limit", "Femur_Tibia_motor=5")
    assert result.exit_code == 0
    assert manifest(tmp_path / "a")["spec"]["limits"] == {"Femur_Tibia_motor": 5}
    for wrong, status in (("knee=5", 1), ("Femur_Tibia_motor=x", 2)):
        assert nuc("run", "lin_roach", "--out", str(tmp_path / "b"), "--limit", wrong).exit_code == status
        assert not (tmp_path / "b").exists()


def test_a_termination_ends_the_bout_as_an_interrupt_does(
    nuc: Nuc, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = signal.getsignal(signal.SIGTERM)

    def note(self: ProgressLine, simulated_s: float, duration_s: float) -> None:
        if simulated_s >= 1.0:
            signal.raise_signal(signal.SIGTERM)

    monkeypatch.setattr(ProgressLine, "__call__", note)
    result = nuc("run", "lin_roach", "--duration", "5", "--out", str(tmp_path / "a"))
    assert result.exit_code == 1
    assert manifest(tmp_path / "a")["state"] == "interrupted"
    assert signal.getsignal(signal.SIGTERM) == before
