"""`nuc experiment --bus emulated:`: a row through daemon and emulator, hands included."""

import json
import time  # noqa: TID251  real processes live on the real clock
from pathlib import Path

import pytest
from click.testing import CliRunner

import nuc_engine.experiments.catalogue as catalogue
from nuc_engine.cli.many.experiment import command
from nuc_engine.experiments.bench import RunningDaemon
from nuc_engine.experiments.live import collect_live
from nuc_engine.recording.manifest import read_manifest
from tests.experiments import tiny
from tests.realtime.served import repeat_disturbed

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
    plan = tiny.plan(
        script=str(script), duration_s=SECONDS, windows=(tiny.JudgedWindow("all", 0.0, SECONDS, "final", 0.5),)
    )
    row = tiny.row(
        "T", bouts=(plan,), control=tiny.NegativeControl("The tibia is not driven.", (tiny.plan(values=tiny.STILL),), 1)
    )
    monkeypatch.setattr(catalogue, "EXPERIMENTS", (tiny.experiment(row),))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_a_row_runs_in_real_time_and_is_judged(pushed, stalls):
    results = []

    def trial() -> None:
        words = ["T", "--repeat", "1", "--seed", "5", "--bus", "emulated:", "--json"]
        result = CliRunner().invoke(command, words, standalone_mode=False)
        if result.exception is not None:
            raise result.exception
        results.append(result)
        row = json.loads(result.stdout)["experiments"][0]["rows"][0]
        assert [trial["state"] for trial in row["trials"]] == ["as seen"], row["trials"]
        assert row["control"]["failed"], row["control"]

    repeat_disturbed(stalls, trial)
    assert results[-1].return_value == 0
    record = json.loads(results[-1].stdout)
    assert record["experiments"][0]["standing"] == "fewer than 20 repetitions: no verdict"
    folder = pushed / "data/experiments/T/bouts/T/5/only"
    witness = read_manifest(folder)
    assert (witness.state, witness.clock) == ("complete", "real")
    assert "kick by hand" in (folder / "Infolog.txt").read_text()
    assert "kick" not in (folder / "Scriptlog.xml").read_text()
    page = (pushed / "data/experiments/T/page.md").read_text()
    assert "the ground's force on the foot is not recorded" in page
    assert (pushed / "data/experiments/T/T_angles.png").exists()


class Nobody:
    """Somebody beside the leg who has nothing to do."""

    def prepare(self, plan, repetition) -> None: ...
    def soon(self, deed, left_s) -> None: ...
    def now(self, deed, still_s) -> None: ...
    def done(self, deed) -> bool:
        return True


def test_a_daemon_that_runs_already_serves_too(serve, stalls, tmp_path):
    _, served = serve()
    served.await_ready()
    plan = tiny.plan(
        duration_s=2.5, values={"CTr_lev_TC1_load": -0.1}, windows=(tiny.JudgedWindow("all", 0.0, 2.5, "final", 0.5),)
    )
    row = tiny.row("T", bouts=(plan,), control=tiny.NegativeControl("", (), 0))
    folders = []

    def trial() -> None:
        stage = RunningDaemon(served.command, time.sleep)
        collected, done = collect_live(row, 1, 1, stage, Nobody(), time.sleep, tmp_path / "unused")
        assert [trial.state for trial in collected.trials.values()] != ["aborted"], collected.trials
        folders.append(done[0].folders["only"])

    repeat_disturbed(stalls, trial)
    assert folders[-1].parent == served.data
    assert (
        'name="CTr_lev_TC1_load" NumElts="1" datatype="float" time="0">-0.1'
        in (folders[-1] / "HDSOlog.xml").read_text()
    )
