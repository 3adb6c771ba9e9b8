"""`nuc experiment --bus emulated:`: a row through daemon and emulator, hands included."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

import nuc_engine.experiments.catalogue as catalogue
from nuc_engine.cli.experiment import command
from nuc_engine.recording.manifest import read_manifest
from tests.experiments import tiny

SCRIPT = """<hdsoscript name="pushed">
  <hdsoMod idNum="103" NumElts="1" time="0.5">61</hdsoMod>
  <kick time="2"/>
</hdsoscript>
"""
SECONDS = 4.0


@pytest.fixture
def pushed(tmp_path, monkeypatch) -> Path:
    script = tmp_path / "pushed.xml"
    script.write_text(SCRIPT)
    plan = tiny.plan(script=str(script), duration_s=SECONDS, windows=(tiny.Window("all", 0.0, SECONDS, "final", 0.5),))
    row = tiny.row(
        "T", bouts=(plan,), control=tiny.Control("The tibia is not driven.", (tiny.plan(values=tiny.STILL),), 1)
    )
    monkeypatch.setattr(catalogue, "EXPERIMENTS", (tiny.experiment(row),))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_a_row_runs_in_real_time_and_is_judged(pushed):
    words = ["T", "--repeat", "1", "--seed", "5", "--bus", "emulated:", "--json"]
    result = CliRunner().invoke(command, words, standalone_mode=False)
    if result.exception is not None:
        raise result.exception
    record = json.loads(result.stdout)
    row = record["experiments"][0]["rows"][0]
    assert [trial["state"] for trial in row["trials"]] == ["as seen"], row["trials"]
    assert result.return_value == 0
    assert record["experiments"][0]["standing"] == "fewer than 20 repetitions: no verdict"
    folder = pushed / "data/experiments/T/bouts/T/5/only"
    witness = read_manifest(folder)
    assert (witness.state, witness.clock) == ("complete", "real")
    assert "kick by hand" in (folder / "Infolog.txt").read_text()
    assert "kick" not in (folder / "Scriptlog.xml").read_text()
    page = (pushed / "data/experiments/T/page.md").read_text()
    assert "the ground's force on the foot is not recorded" in page
    assert (pushed / "data/experiments/T/T_angles.png").exists()
