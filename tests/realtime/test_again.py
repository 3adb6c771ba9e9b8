"""A bout of the daemon again: from its recorded replies, and as a new bout on the daemon's own bus."""

from __future__ import annotations

import json
import time  # noqa: TID251  real processes live on the real clock

from click.testing import CliRunner

from nuc_engine.bout.replay import replay_inputs
from nuc_engine.cli.app import app
from tests.realtime.served import manifest, repeat_disturbed


def test_a_bout_with_edits_is_repeated_from_its_replies_and_run_again(serve, stalls) -> None:
    def trial() -> None:
        _, served = serve()
        served.run_bout(0.5)
        served.client.set({"TC1_retLEV_FTang": 61.5})
        served.client.tweak("Coxa-Trochanter", 4)
        served.client.joint_mode("Femur-Tibia", "hold")
        time.sleep(0.5)
        served.client.joint_mode("Femur-Tibia", "muscle")
        served.client.tweak("Coxa-Trochanter", 0)
        time.sleep(0.5)
        folder = served.finish_bout()
        assert manifest(folder)["state"] == "complete"
        report = replay_inputs(folder)
        assert report.identical, report.difference
        served.client.release_control()
        words = ["replay", str(folder), "--again", "--daemon", served.command, "--json"]
        result = CliRunner().invoke(app, words)
        assert result.exit_code == 0, result.output
        data = json.loads(result.stdout)
        assert "4 joint mode(s)" in data["not_repeated"][0]
        again = served.bouts()[-1]
        assert str(again) == data["folder"] != str(folder)
        assert 'time="0"' not in (again / "Scriptlog.xml").read_text()
        assert ">61.5<" in (again / "Scriptlog.xml").read_text()
        assert manifest(again)["labels"]["again"] == folder.name
        assert replay_inputs(again).identical

    repeat_disturbed(stalls, trial)
