"""The example packages of docs/extending.md: installed as a user installs them, named by a configuration, and run."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner

from nuc_engine.bout.replay import replay_bout, replay_inputs
from nuc_engine.bout.run import BoutRefused, BoutSpec, run_bout
from nuc_engine.cli.app import app
from nuc_engine.control.tasks.added import HdsoValues
from nuc_engine.machine.locations import find_configuration
from nuc_engine.model.planning import build_plan
from nuc_engine.model.store import Store
from nuc_engine.recording.manifest import read_record
from sccils_schemas.model import load_model
from tests.daemon.cores import Bench

HERE = Path(__file__).parent
PAGE = Path(__file__).resolve().parents[2] / "docs" / "extending.md"

USED = {
    "muscle-function": ("lin_roach", '[functions.Femur_LevatorPRO]\nforce-length = "bell"\n', "functions.bell"),
    "activation-function": (
        "lin_stickmiddle",
        '[activations.CTr_Levation]\nFemur_Levator = "sigmoid"\n',
        "activations.sigmoid",
    ),
    "sensor-filter": ("lin_roach", '[filters]\nTC1_current = "median"\n', "filters.median"),
    "adaptation-task": ("lin_roach", 'tasks = ["tire"]\n', "tasks.tire"),
}
"""By example: a configuration, what its extensions.toml says, and what the manifest then says."""

BLOCK = "signal-block"


@pytest.fixture(scope="module")
def packages(tmp_path_factory):
    """Install all examples into a folder of their own."""
    folder = tmp_path_factory.mktemp("site")
    sources = tmp_path_factory.mktemp("sources")
    paths = [str(shutil.copytree(HERE / name, sources / name)) for name in (*USED, BLOCK)]
    options = ("--quiet", "--no-index", "--no-deps", "--no-build-isolation", "--target", str(folder))
    subprocess.run([sys.executable, "-m", "pip", "install", *options, *paths], check=True)
    return folder


@pytest.fixture
def installed(packages, monkeypatch):
    monkeypatch.syspath_prepend(str(packages))


def configuration(folder: Path, name: str, text: str) -> Path:
    shutil.copytree(find_configuration(name), folder)
    (folder / "extensions.toml").write_text(text)
    return folder


@pytest.mark.parametrize("example", USED)
def test_an_example_runs_is_recorded_and_repeats(example, tmp_path, installed):
    name, text, said = USED[example]
    config = str(configuration(tmp_path / "leg", name, text))
    spec = {"duration_s": 2.0, "seed": 3, "name": name}
    assert run_bout(BoutSpec(config, tmp_path / "bout", **spec)).state == "complete"
    assert run_bout(BoutSpec(name, tmp_path / "plain", **spec)).state == "complete"
    assert read_record(tmp_path / "bout")["extensions"] == {said: f"{example} 1.0"}
    assert "extensions" not in read_record(tmp_path / "plain")
    assert "extensions.toml" in read_record(tmp_path / "bout")["inputs"]
    bout, plain = ((tmp_path / which / "MuscleData.txt").read_text() for which in ("bout", "plain"))
    assert bout != plain
    for again in (replay_bout, replay_inputs):
        report = again(tmp_path / "bout")
        assert (report.changed_files, report.difference, report.changed_versions) == ((), None, {})


@pytest.mark.parametrize("example", USED)
def test_an_example_runs_beside_a_leg(example, tmp_path, installed):
    name, text, said = USED[example]
    bench = Bench(config=str(configuration(tmp_path / "leg", name, text)))
    assert bench.block.read_plan().extensions == (said,)
    bench.run(0.05)
    bench.start(0.5)


@pytest.mark.parametrize("example", USED)
def test_an_example_is_known_to_validate_and_show(example, tmp_path, installed):
    name, text, said = USED[example]
    config = str(configuration(tmp_path / "leg", name, text))
    checked = CliRunner().invoke(app, ["validate", config])
    assert checked.exit_code == 0, checked.output
    shown = CliRunner().invoke(app, ["show", config])
    assert f"added to the engine: {said} ({example} 1.0)" in shown.output


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('tasks = ["dance"]', "tasks: 'dance' is not installed; there are tire"),
        ('[functions.Femur_LevatorPRO]\nforce-length = "bel"', "functions: 'bel' is not installed; there are bell"),
        ('[functions.Femur]\nforce-length = "bell"', "no muscle 'Femur'; expected Coxa_PromotorDEP"),
        (
            '[functions.Femur_LevatorPRO]\nforce = "bell"',
            "no function of Femur_LevatorPRO 'force'; expected force-length",
        ),
        (
            '[functions.Femur_LevatorPRO]\nforce-velocity = "bell"',
            r"bell takes \(length: float, best: float, width: float\) -> float; its function_spec of Femur_LevatorPRO "
            "has 1 parameters",
        ),
        (
            '[functions]\nFemur_LevatorPRO = "bell"',
            r"functions.Femur_LevatorPRO is 'bell'; expected \[functions.MUSCLE\]",
        ),
        ('[activations.CTr_LevationPRO]\nTibia_Flexor = "sigmoid"', "no muscle of CTr_LevationPRO 'Tibia_Flexor'"),
        ('[filters]\nTC1_angle = "median"', "no load of a motor 'TC1_angle'; expected CTr_current"),
        ("tasks = [1]", "tasks is 1; expected tasks = "),
        ('[bones]\na = "b"', "'bones'; expected functions, activations, filters, signals, tasks"),
        ("tasks = [", "extensions.toml: "),
    ],
)
def test_what_is_not_there_is_refused_with_what_is(text, words, tmp_path, installed):
    config = str(configuration(tmp_path / "leg", "lin_roach", text))
    with pytest.raises(BoutRefused, match=words):
        run_bout(BoutSpec(config, tmp_path / "bout", duration_s=0.1))
    checked = CliRunner().invoke(app, ["validate", config])
    assert checked.exit_code == 1
    assert re.search(f"leg/extensions.toml:1: error: .*{words.removeprefix('extensions.toml: ')}", checked.output)


def test_without_the_package_a_bout_can_be_looked_at_but_not_run(tmp_path):
    config = str(configuration(tmp_path / "leg", "lin_roach", USED["adaptation-task"][1].replace("tire", "tired")))
    with pytest.raises(BoutRefused, match="tasks: 'tired' is not installed; there are none"):
        run_bout(BoutSpec(config, tmp_path / "bout", duration_s=0.1))


def test_the_oracle_says_what_it_does_not_compute(tmp_path, installed):
    name, text, said = USED["sensor-filter"]
    config = str(configuration(tmp_path / "leg", name, text))
    run_bout(BoutSpec(config, tmp_path / "bout", duration_s=0.5))
    verified = CliRunner().invoke(app, ["verify", str(tmp_path / "bout")])
    assert verified.exit_code != 0
    assert f"{said}: code that was added to the engine is not computed here" in " ".join(verified.output.split())


def with_signal(folder: Path, extensions: str) -> Path:
    config = configuration(folder, "lin_roach", extensions)
    signal = '<signal idNum="320" name="TC1_felt" type="other" inputs="TC1_current" parameters="tau"/>'
    tau = (
        '<hdso idNum="220" name="tau" numdims="1"><dimsize dimNr="1">1</dimsize><initial_data>0.2</initial_data></hdso>'
    )
    for file, piece in (("sensors.xml", signal), ("parameters.xml", tau)):
        text = (config / file).read_text().replace("<hdsolist", '<hdsolist version="0.2"', 1)
        (config / file).write_text(text.replace("</hdsolist>", f"{piece}</hdsolist>"))
    return config


def test_a_block_runs_is_shown_and_repeats(tmp_path, installed):
    config = str(with_signal(tmp_path / "leg", '[signals]\nTC1_felt = "adapting"\n'))
    assert run_bout(BoutSpec(config, tmp_path / "bout", duration_s=1.0)).state == "complete"
    assert read_record(tmp_path / "bout")["extensions"] == {"signals.adapting": f"{BLOCK} 1.0"}
    felt = [float(line.split()[-1]) for line in (tmp_path / "bout" / "SensData.txt").read_text().splitlines()]
    assert felt[0] == 0.0
    assert len(set(felt)) > 50
    for again in (replay_bout, replay_inputs):
        assert again(tmp_path / "bout").identical
    shown = CliRunner().invoke(app, ["show", config])
    assert "= adapting of TC1_current (parameter: tau = 0.2)" in shown.output


def test_a_block_that_is_not_named_is_told(tmp_path, installed):
    config = str(with_signal(tmp_path / "leg", "\n"))
    with pytest.raises(BoutRefused, match=r"signal 'TC1_felt' is of type other; expected \[signals\] SIGNAL = NAME"):
        run_bout(BoutSpec(config, tmp_path / "bout", duration_s=0.1))


def test_the_page_shows_the_block_as_it_is():
    page = PAGE.read_text()
    assert (HERE / BLOCK / "adapting.py").read_text().strip() in page
    assert 'adapting = "adapting:Adapting"' in page


@pytest.mark.parametrize("example", USED)
def test_the_page_shows_the_examples_as_they_are(example):
    page = PAGE.read_text()
    (module,) = (HERE / example).glob("*.py")
    assert module.read_text().strip() in page
    assert (HERE / example / "pyproject.toml").read_text().partition("[project.entry-points")[2].partition("\n\n")[
        0
    ] in page
    assert USED[example][1].strip() in page


@pytest.mark.parametrize(
    ("name", "values", "words"),
    [
        ("TC1_current", (1.0,), "not written by tasks"),
        ("Enter_CTr_LevationPRO", (1,), "not written by tasks"),
        ("motor_speed", (9,), "outside the valid range"),
        ("motor_speed", (1, 2), "2 values for 1 elements"),
    ],
)
def test_a_task_writes_no_measurement_no_rule_and_nothing_out_of_range(name, values, words):
    plan = build_plan(load_model(find_configuration("lin_roach"))[0])
    store = Store(plan)
    hdsos = HdsoValues(plan, store)
    with pytest.raises(ValueError, match=words):
        hdsos[name] = values
    hdsos["motor_speed"] = (2,)
    assert hdsos["motor_speed"] == (2,) == store.values(plan.hdso("motor_speed").index)
    with pytest.raises(KeyError):
        hdsos["no_such_name"] = (1,)


def test_a_task_does_not_write_what_a_control_or_a_module_writes():
    plan = build_plan(load_model(find_configuration("lin_roach"))[0])
    at = plan.hdso("motor_speed").index
    owned = [replace(hdso, owner="the control speed") if hdso.index == at else hdso for hdso in plan.hdsos]
    plan = replace(plan, hdsos=tuple(owned))
    with pytest.raises(ValueError, match="a parameter without another writer"):
        HdsoValues(plan, Store(plan))["motor_speed"] = (2,)
