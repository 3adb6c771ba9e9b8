"""Scaling (D 9.2.2.5): its law, what of documents it scales, and that a bout in the animal's time is one by hand."""

from __future__ import annotations

import re
from dataclasses import replace
from decimal import Decimal
from pathlib import Path

import mujoco
import numpy as np
import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st

from nuc_engine.analysis.errors import AnalysisError
from nuc_engine.analysis.load import load_bout
from nuc_engine.bout.animal_time import in_leg_time
from nuc_engine.bout.replay import replay_bout, replay_inputs
from nuc_engine.bout.run import BoutRefused, BoutSpec, run_bout
from nuc_engine.cli.app import app
from nuc_engine.configurations.describe import describe_model
from nuc_engine.configurations.describe_text import model_lines
from nuc_engine.configurations.difference import compare_models
from nuc_engine.model.scaling import SCALING_LAW, TIME_POWERS, Scaling, ScalingError, model_in_leg_time, time_factor
from nuc_engine.recording.files import MOTOR_LOG
from sccils_schemas.documents import HdsoMod, HdsoScript
from sccils_schemas.model import load_model
from sccils_schemas.parser import parse
from sccils_schemas.writer import write
from tests.configs.documents import shipped
from tests.engine.acting import case, hdso
from tests.verify.variants import Case, documents

FOUR = (r"<jointlist ", '<jointlist scale="4" ')
"""So that one second of the animal is 2 s of the leg, and every number by hand is exact."""
SIGNALS = (
    '<signal idNum="330" name="late" type="delay" inputs="302" parameters="late_by"/>'
    '<signal idNum="331" name="slow" type="lowpass" inputs="302" parameters="tau"/>'
    '<signal idNum="332" name="counted" type="lowpass" inputs="302" parameters="weight" per_sample="y"/>'
    '<signal idNum="333" name="limited" type="ratelimit" inputs="307" parameters="fastest"/>'
    '<signal idNum="334" name="noisy" type="noise" inputs="307" parameters="sd tau"/>',
)
HDSOS = (
    hdso(140, "late_by", 0.015),
    hdso(141, "tau", 0.05),
    hdso(142, "weight", 0.05),
    hdso(143, "fastest", 400),
    hdso(144, "sd", 0.25),
    hdso(145, "rise", 0.02),
    hdso(146, "stay", 10_000_000, "llint"),
)
RISES = (
    r"<muscle ((?:.|\n)*?)</muscle>",
    r'<muscle efferent_delay="late_by" \1<activation_dynamics rise="rise" fall="tau"/></muscle>',
)
LATE_RULE = (r'boolstring="302 &gt; 102"', 'boolstring="302@0.01 &gt; 102"')
STAYS = (r'(idNum="203">(?:.|\n)*?<hdsoMod idNum=")194"', r'\g<1>146"')
SCRIPT = (
    '<hdsoMod idNum="105" NumElts="1" time="0.2">110</hdsoMod>'
    '<hdsoMod idNum="140" NumElts="1" datatype="double" time="0.3">0.02</hdsoMod>'
    '<hdsoMod idNum="162" NumElts="15" datatype="char" time="0.4">307@0.005 &lt; 103</hdsoMod>'
    '<gradual time="0.5" duration="0.2" steps="4"><hdsoMod idNum="107" NumElts="1">80</hdsoMod></gradual>'
    '<when rule="302@0.01 &gt; 102" holds="0.01" after="0.02" from="0.6" until="0.9" refractory="0.05">'
    '<hdsoMod idNum="109" NumElts="1">58</hdsoMod></when>'
    '<kick time="0.7" force="1 0 0" duration="0.05"/>'
)


def scaled(*changes: tuple[str, str], script: str = SCRIPT) -> Case:
    changes = (FOUR, RISES, LATE_RULE, STAYS, *changes)
    return case(*changes, hdsos=HDSOS, signals=SIGNALS, script=script)


def made(folder: Path, given_case: Case) -> tuple[Path, Path]:
    folder.mkdir()
    return documents(given_case, folder)


BY_HAND = (
    ("0.015</initial_data>", "0.03</initial_data>"),
    (">0.05</initial_data></hdso><hdso idNum=.142", '>0.1</initial_data></hdso><hdso idNum="142'),
    (">400<", ">200<"),
    (">0.02</initial_data>", ">0.04</initial_data>"),
    (">10000000<", ">20000000<"),
    ("302@0.01 &gt; 102", "302@0.02 &gt; 102"),
)
"""What somebody who reads the law would write for the leg."""
SCRIPT_BY_HAND = (
    '<hdsoMod idNum="105" NumElts="1" time="0.4">110</hdsoMod>'
    '<hdsoMod idNum="140" NumElts="1" datatype="double" time="0.6">0.04</hdsoMod>'
    '<hdsoMod idNum="162" NumElts="14" datatype="char" time="0.8">307@0.01 &lt; 103</hdsoMod>'
    '<gradual time="1.0" duration="0.4" steps="4"><hdsoMod idNum="107" NumElts="1">80</hdsoMod></gradual>'
    '<when rule="302@0.02 &gt; 102" holds="0.02" after="0.04" from="1.2" until="1.8" refractory="0.1">'
    '<hdsoMod idNum="109" NumElts="1">58</hdsoMod></when>'
    '<kick time="1.4" force="1 0 0" duration="0.1"/>'
)


def test_documents_in_the_animals_time_are_those_that_one_would_write_by_hand(tmp_path: Path) -> None:
    config, script = made(tmp_path / "animal", scaled())
    other, other_script = made(tmp_path / "leg", scaled(*BY_HAND, script=SCRIPT_BY_HAND))
    (model, problems), (expected, _) = load_model(config), load_model(other)
    assert model is not None, str(problems)
    assert expected is not None
    scaling = Scaling(model)
    assert scaling.factor == 2.0
    assert scaling.of(model.jointlist) == expected.jointlist
    assert scaling.of(model.parameters) == expected.parameters
    assert scaling.of(model.sensors) == expected.sensors
    assert set(model_in_leg_time(model)) == {"joints.xml", "parameters.xml"}
    assert scaling.of(parse(script.read_bytes())[0]) == parse(other_script.read_bytes())[0]


def test_a_bout_in_the_animals_time_is_to_the_byte_the_one_by_hand(tmp_path: Path) -> None:
    config, script = made(tmp_path / "animal", scaled())
    spec = BoutSpec(str(config), tmp_path / "bout", str(script), 1.0, seed=3)
    (tmp_path / "copies").mkdir()
    run_bout(in_leg_time(spec, tmp_path / "copies"))
    other, other_script = made(tmp_path / "leg", scaled(*BY_HAND, script=SCRIPT_BY_HAND))
    run_bout(BoutSpec(str(other), tmp_path / "by_hand", str(other_script), 2.0, seed=3))
    same = (tmp_path / "by_hand" / MOTOR_LOG).read_bytes()
    assert (tmp_path / "bout" / MOTOR_LOG).read_bytes() == same
    assert replay_bout(tmp_path / "bout").identical
    assert replay_inputs(tmp_path / "bout").identical
    run_bout(BoutSpec(str(config), tmp_path / "unscaled", str(script), 2.0, seed=3))
    assert (tmp_path / "unscaled" / MOTOR_LOG).read_bytes() != same


def test_a_scale_alone_is_nothing(tmp_path: Path) -> None:
    logs: list[bytes] = []
    for name, changes in (("without", ()), ("with", (FOUR,))):
        config, script = made(tmp_path / name, case(*changes))
        run_bout(BoutSpec(str(config), tmp_path / f"{name}_bout", str(script), 2.0))
        logs.append((tmp_path / f"{name}_bout" / MOTOR_LOG).read_bytes())
    assert logs[0] == logs[1]


def test_what_cannot_be_scaled_is_told(tmp_path: Path) -> None:
    with pytest.raises(BoutRefused, match="lin_roach has no scale; expected scale="):
        in_leg_time(BoutSpec("lin_roach", tmp_path / "bout"), tmp_path)
    both = SIGNALS[0].replace('parameters="fastest"', 'parameters="tau"')
    config, _ = made(tmp_path / "both", case(FOUR, RISES, STAYS, hdsos=HDSOS, signals=(both,)))
    model, problems = load_model(config)
    assert model is not None, str(problems)
    with pytest.raises(ScalingError, match=r"HDSO 141 \(tau\) is a time and none; expected an HDSO for each"):
        Scaling(model)


@pytest.mark.parametrize(
    ("attribute", "said"),
    [
        ('version="0.2" scale="0"', "scale='0', expected a number above 0"),
        ('version="0.2" scale="-3"', "scale='-3', expected a number above 0"),
        ('scale="10.1"', "scale of <jointlist> is of SCCILS 0.2, expected a document of that version"),
    ],
)
def test_a_scale_that_cannot_be_is_told(attribute: str, said: str) -> None:
    text = f'<!DOCTYPE jointlist SYSTEM "sccils_joint.dtd"><jointlist {attribute}/>'
    assert said in "\n".join(map(str, parse(text.encode())[1]))


@given(st.decimals(0, 100, places=6), st.floats(0.01, 100))
@settings(max_examples=60, deadline=None, derandomize=True)
def test_scaled_scripts_can_be_written_and_read_and_keep_their_order(time_s: Decimal, scale: float) -> None:
    times = (time_s, time_s + 1)
    script = HdsoScript(tuple(HdsoMod(105, 1, (110,), time_s=at) for at in times), version="0.2")
    model = shipped("turn_roach")
    scaling = Scaling(model)
    scaling.factor = time_factor(scale, "any")
    found, problems = parse(write(scaling.of(script)))
    assert isinstance(found, HdsoScript), str(problems)
    told = [float(entry.time_s) for entry in found.entries]
    assert told == pytest.approx([float(at) * scale**0.5 for at in times], abs=1e-9)
    assert told[0] < told[1]


PENDULUM = """<mujoco><option timestep="{step}" gravity="0 0 -9.81" integrator="RK4"/>
<worldbody><geom name="ground" type="plane" size="9 9 1" pos="0 0 {ground}"/>
<body pos="0 0 0"><joint type="hinge" axis="0 1 0" damping="0"/>
<geom type="sphere" size="{radius}" pos="0 0 -{length}" mass="{mass}" contype="0" conaffinity="0"/></body>
<body pos="{length} 0 0"><freejoint/><geom type="sphere" size="{radius}" mass="{mass}"/></body></worldbody></mujoco>"""


def swing(length: float) -> tuple[float, float, float, float]:
    """Return a pendulum's quarter period in s, fastest speed, torque of gravity at 30 degrees, and a weight's force."""
    mass, step = 20.0 * length**3, 1e-4 * length**0.5
    text = PENDULUM.format(step=step, ground=-length / 5, radius=length / 5, length=length, mass=mass)
    model = mujoco.MjModel.from_xml_string(text)
    data = mujoco.MjData(model)
    data.qpos[0] = np.deg2rad(30)
    mujoco.mj_forward(model, data)
    torque = float(data.qfrc_bias[0])
    while data.qpos[0] > 0:
        mujoco.mj_step(model, data)
    return float(data.time), abs(float(data.qvel[0])) * length, torque, mass * 9.81


def test_the_law_is_that_of_mechanics_in_one_gravity() -> None:
    """A pendulum 10.1 times as long, of the same density, and what it weighs."""
    small, large = swing(0.1), swing(1.01)
    powers = [np.log(b / a) / np.log(10.1) for a, b in zip(small, large, strict=True)]
    assert powers == pytest.approx([SCALING_LAW[name] for name in ("time", "speed", "torque", "force")], abs=1e-3)
    assert SCALING_LAW["rate"] == -SCALING_LAW["time"]
    assert SCALING_LAW["speed"] == SCALING_LAW["length"] - SCALING_LAW["time"]
    assert time_factor(10.1, "a leg") == pytest.approx(10.1**0.5)


def test_the_command_line_runs_and_shows_a_bout_in_either_time(tmp_path: Path) -> None:
    run = CliRunner().invoke
    out = str(tmp_path / "bout")
    assert run(app, ["run", "turn_roach", "--time", "animal", "--duration", "4", "--out", out]).exit_code == 0
    bout = load_bout(tmp_path / "bout")
    assert bout.end_s == pytest.approx(4 * 10.1**0.5, abs=0.03)
    assert bout.in_animal_time().second == "s of the animal"
    leg, animal = (run(app, ["stats", out, "--time", whose]).output for whose in ("leg", "animal"))
    assert "measured (s) " in leg
    assert "3 to 12.71" in leg
    assert "measured (s of the animal) " in animal
    assert "0.944 to " in animal
    assert run(app, ["run", "lin_roach", "--time", "animal", "--out", str(tmp_path / "no")]).exit_code == 1
    with pytest.raises(AnalysisError, match="has no scale"):
        replace(bout, scale=None).in_animal_time()


def test_the_page_has_the_law_and_what_is_refused() -> None:
    page = (Path(__file__).resolve().parents[2] / "docs" / "chapter9.md").read_text().split("## Scaling")[1]
    told = {name: float(power) for name, power in re.findall(r"^\| (\w+) \| (-?[\d.]+) \|$", page, re.MULTILINE)}
    assert told == SCALING_LAW
    rows = re.findall(r"^\| (parameters of .*) \| (-?[\d.]+) \|$", page, re.MULTILINE)
    named = {kind: float(power) for text, power in rows for kind in re.findall(r"`(\w+)`", text)}
    assert named == {kind: next(filter(None, powers)) for kind, powers in TIME_POWERS.items()}
    for line in (
        "lin_roach has no scale; expected scale='...' on <jointlist>, leg over animal (SCCILS 0.2)",
        "HDSO 141 (tau) is a time and none; expected an HDSO for each",
        "scale='0', expected a number above 0",
    ):
        assert line in page


def test_show_and_diff_tell_the_scale() -> None:
    lines = "\n".join(model_lines(describe_model(shipped("mag_roach"))))
    assert "10.1 times as large as the animal: one of its seconds is 3.178 s of the leg" in lines
    told = {d.name: (d.a, d.b) for d in compare_models(shipped("lin_roach"), shipped("mag_roach"))}
    assert told["scale"] == (None, "10.1")
