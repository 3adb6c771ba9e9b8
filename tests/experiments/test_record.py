"""verdict.json, written and read back."""

import json
import math
import re
import shutil

import pytest

from nuc_engine.experiments.course import Collected
from nuc_engine.experiments.record import VERDICT_FILE, RecordError, read_verdict, record_of, write_verdict
from nuc_engine.experiments.sources import Sources, find_sources
from nuc_engine.experiments.verdict import Figure, judge_rows
from nuc_engine.machine.locations import find_configuration
from nuc_engine.recording.manifest import sha256
from tests.experiments import tiny


@pytest.fixture
def verdict():
    row = tiny.row(summary=lambda trials: {"p": math.nan, "ratio": 1 / 3})
    trials = {1: tiny.trial(1, samples={"range": (1.0, 2.0)}), 2: tiny.trial(2, "otherwise", kicks=2)}
    control = {1: tiny.trial(1, "otherwise", numbers={"period (s)": math.inf})}
    sources = Sources("abc", True, {"engine": "1"}, {"scripts/a.xml": "0"})
    return judge_rows(tiny.experiment(row), [Collected(row, trials, control)], 2, 1, sources)


def test_it_comes_back_as_it_was(verdict, tmp_path):
    write_verdict(verdict, tmp_path)
    back = read_verdict(tmp_path)
    assert back is not None
    row = back.rows[0]
    assert row.summary["ratio"] == 0.333333
    assert math.isnan(row.summary["p"])
    assert row.trials[1] == tiny.trial(2, "otherwise", kicks=2)
    assert row.as_seen.count == 1
    assert row.control.failed
    assert back.sources == verdict.sources
    assert (tmp_path / VERDICT_FILE).read_bytes() == write_verdict(back, tmp_path).read_bytes()


def test_it_is_json_that_says_what_machines_want_to_know(verdict, tmp_path):
    record = json.loads(write_verdict(verdict, tmp_path).read_text())
    assert record["format"] == 2
    assert record["good"] is False
    assert record["rows"][0]["word"] == "otherwise"
    assert record["rows"][0]["as_seen"]["value"] == 0.5
    assert record["rows"][0]["control"]["failed"] is True
    assert record["rows"][0]["control"]["trials"][0]["numbers"] == {"period (s)": None}
    assert "samples" not in record["rows"][0]["trials"][0]
    assert record == record_of(verdict)


def test_there_may_be_none(tmp_path):
    assert read_verdict(tmp_path) is None


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("{", "cannot be read"),
        ("[]", "no verdict of format 2"),
        ('{"format": 1}', "no verdict of format 2"),
        ('{"format": 2}', "not in the expected form"),
    ],
)
def test_a_file_that_is_none_is_refused(tmp_path, text, said):
    (tmp_path / VERDICT_FILE).write_text(text)
    with pytest.raises(RecordError, match=said) as caught:
        read_verdict(tmp_path)
    assert VERDICT_FILE in str(caught.value)


@pytest.mark.parametrize(("key", "value"), [("word", "fine"), ("trials", {}), ("as_seen", 3), ("kicks", None)])
def test_a_row_of_another_form_is_refused(verdict, tmp_path, key, value):
    record = record_of(verdict)
    record["rows"][0][key] = value
    (tmp_path / VERDICT_FILE).write_text(json.dumps(record))
    with pytest.raises(RecordError, match="not in the expected form"):
        read_verdict(tmp_path)


def test_one_of_before_rows_were_compared_is_read_all_the_same(verdict, tmp_path):
    record = record_of(verdict)
    assert record["rows"][0].pop("same") == []
    assert "moved" not in record["rows"][0]["trials"][0]
    (tmp_path / VERDICT_FILE).write_text(json.dumps(record))
    back = read_verdict(tmp_path)
    assert back is not None
    assert back.rows[0].same == ()
    record["rows"][0]["trials"][0].pop("kicks")
    (tmp_path / VERDICT_FILE).write_text(json.dumps(record))
    with pytest.raises(RecordError, match="not in the expected form"):
        read_verdict(tmp_path)


def test_figures_come_back(verdict, tmp_path):
    from dataclasses import replace

    row = replace(verdict.rows[0], figures=(Figure("a.png", "to see"),))
    write_verdict(replace(verdict, rows=(row,)), tmp_path)
    back = read_verdict(tmp_path)
    assert back is not None
    assert back.rows[0].figures == row.figures


def test_sources_are_the_documents_that_were_used():
    plans = (tiny.plan(), tiny.plan(config="pc_stickmiddle", script=None), tiny.plan(script="experiment_a"))
    files = find_sources(plans).files
    assert "scripts/experiment_a.xml" in files
    assert files["configs/lin_roach/joints.xml"] == sha256(find_configuration("lin_roach") / "joints.xml")
    # Configurations of one leg share a plant: the file that describes it is named, once.
    plants = [name for name in files if name.endswith("plant.toml")]
    assert len(plants) == len(set(plants)) == 2
    assert all(
        "same_as" not in find_configuration(name.split("/")[1]).joinpath("plant.toml").read_text() for name in plants
    )


MOTOR = (
    r'\g<0><motor name="Thorax-Coxa1_motor" idNum="601" serialID="9" dir="1" angleCal1="0" angleCal2="1"'
    r' model="XL330-M288" torqueTable="torque.json">\2</motor>'
)


def test_what_is_added_to_the_engine_and_torque_tables_are_sources_too(tmp_path):
    folder = tmp_path / "mine"
    shutil.copytree(find_configuration("lin_roach"), folder)
    (folder / "extensions.toml").write_text("tasks = []\n")
    joints = (folder / "joints.xml").read_text()
    motor = re.sub("<aimotor(.*?)>(.*?)</aimotor>", MOTOR, joints, count=1, flags=re.DOTALL)
    (folder / "joints.xml").write_text(motor)
    (folder / "torque.json").write_text("{}")
    files = find_sources((tiny.plan(config=str(folder), script=None),)).files
    assert {"configs/mine/extensions.toml", "configs/mine/torque.json"} <= set(files)
