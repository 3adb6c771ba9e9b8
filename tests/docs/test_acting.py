"""docs/acting.md: every example is run and repeated; what it says is refused is refused in these words."""

from __future__ import annotations

import re
import shutil
from itertools import pairwise
from pathlib import Path

import pytest

from nuc_engine.bout.replay import replay_bout, replay_inputs
from nuc_engine.bout.run import BoutSpec, run_bout
from nuc_engine.configurations.describe import describe_model
from nuc_engine.configurations.describe_text import model_lines
from nuc_engine.configurations.difference import compare_models
from nuc_engine.figures.diagrams.flow import flow_diagram
from nuc_engine.figures.diagrams.wiring import wiring_at
from nuc_engine.machine.locations import find_configuration
from nuc_engine.model.planning import build_plan
from nuc_engine.verify import verify_bout
from sccils_schemas.model import load_model

TEXT = (Path(__file__).resolve().parents[2] / "docs" / "acting.md").read_text()
SECTIONS = dict(re.findall(r"^## (.+?)\n(.*?)(?=^## |\Z)", TEXT, re.MULTILINE | re.DOTALL))
BLOCK = re.compile(r"```xml (\w+\.xml) (before|after) (.*?)\n(.*?)```", re.DOTALL)
EXAMPLES = {title: BLOCK.findall(text) for title, text in SECTIONS.items() if BLOCK.search(text)}
PICTURES = {
    "Central pattern generators": "acting_central_flow.svg",
    "Controls": "acting_controls_flow.svg",
    "Modules above modules": "acting_modules_flow.svg",
}


def made(folder: Path, title: str, *edits: tuple[str, str]) -> Path:
    """Copy lin_roach into `folder` with an example in it, or several joined by " + ", themselves edited."""
    shutil.copytree(find_configuration("lin_roach"), folder)
    for file in ("joints.xml", "parameters.xml", "sensors.xml"):
        path = folder / file
        text = re.sub(r"<(hdsolist|jointlist) ", r'<\1 version="0.2" ', path.read_text(), count=1)
        for where, side, marker, piece in (each for part in title.split(" + ") for each in EXAMPLES[part]):
            changed = piece
            for old, new in edits:
                changed = changed.replace(old, new)
            if where == file:
                assert marker in text
                text = text.replace(marker, changed + marker if side == "before" else marker + changed, 1)
        path.write_text(text)
    return folder


@pytest.mark.parametrize("title", EXAMPLES)
def test_an_example_is_run_repeated_and_verified(title: str, tmp_path: Path) -> None:
    out = tmp_path / "bout"
    result = run_bout(BoutSpec(config=str(made(tmp_path / "lin_roach", title)), duration_s=1.5, out=out))
    assert (result.state, result.refused) == ("complete", 0)
    assert replay_bout(out).identical
    assert replay_inputs(out).identical
    assert verify_bout(out).good


@pytest.mark.parametrize("title", EXAMPLES)
def test_its_section_has_a_picture(title: str) -> None:
    (shown,) = re.findall(r"!\[.+?\]\((.+?)\)", SECTIONS[title])
    assert (Path(__file__).resolve().parents[2] / "docs" / shown).is_file()


@pytest.mark.parametrize("title", PICTURES)
def test_its_picture_is_what_nuc_diagram_draws(title: str, tmp_path: Path) -> None:
    model, _ = load_model(made(tmp_path / "lin_roach", title))
    assert model is not None
    assert f"diagrams/{PICTURES[title]}" in SECTIONS[title]
    picture = (Path(__file__).resolve().parents[2] / "docs" / "diagrams" / PICTURES[title]).read_bytes()
    assert picture == flow_diagram(wiring_at(model, build_plan(model), (), 0.0, "lin_roach"))


SHOWN = {
    "Activation dynamics": ("activation rises with a time constant of 0.03 s  (230 tau_rise)",),
    "Efferent delays": ("activation takes 0.012 s to the muscle  (242 nerve)",),
    "A period of muscles": ("muscles are computed every 4000000 ns, apart from rules  (243 muscle_period_ns)",),
    "Soft switching": ("comparisons with FT_angle go from false to true over 15 deg  (244 angle_width)",),
    "Magnitude influences": ("+ 0.02 x rectified 0.5 of TC1_current, within 0 to 1",),
    "Central pattern generators": (
        "or centrally CTr_Levation & (CTr_decay < drive)  (237 TC1_lower)",
        "sensory entries then wait for 0 ms  (236 keep)",
        "= 1 while CTr_LevationPRO is the current action, else 0",
        "= what is left of the current action of Coxa-Trochanter, 1 at first, linear",
        "for: parameter of the signal CTr_decay",
    ),
    "Controls": (
        "CONTROL  speed  = 1; can be 0 to 1",
        "126  CTr_levationPRO_levator_activation[0]  0: 0.45, 1: 0.85",
        "for: leads CTr_levationPRO_levator_activation",
    ),
    "Modules above modules": (
        "What a state writes when it is entered stays until another state writes it.",
        "writes       107 FT_ext_FTang = 70",
    ),
}


@pytest.mark.parametrize("title", EXAMPLES)
def test_show_explains_it(title: str, tmp_path: Path) -> None:
    model, problems = load_model(made(tmp_path / "lin_roach", title))
    assert model is not None, str(problems)
    text = " ".join("\n".join(model_lines(describe_model(model))).split())
    for words in SHOWN[title]:
        assert " ".join(words.split()) in text


@pytest.mark.parametrize("title", EXAMPLES)
def test_diff_tells_it(title: str, tmp_path: Path) -> None:
    """By what the example is about, not by the HDSOs that it needs."""
    with_it, without = (
        load_model(made(tmp_path / "lin_roach", title))[0],
        load_model(find_configuration("lin_roach"))[0],
    )
    assert with_it is not None
    assert without is not None
    told = [item.name for item in compare_models(without, with_it) if not item.name.startswith("HDSO")]
    assert any(TOLD[title] in name for name in told), told


TOLD = {
    "Activation dynamics": "muscle Coxa_RemotorLEV, dynamics, rise",
    "Efferent delays": "muscle Tibia_Flexor, efferent delay",
    "A period of muscles": "muscle period",
    "Soft switching": "joint Femur-Tibia, soft switching",
    "Magnitude influences": "activation Coxa_PromotorDEP, influence TC1_current",
    "Central pattern generators": "state TC1_protractionDEP, central",
    "Controls": "control speed",
    "Modules above modules": "module Behaviour",
}


@pytest.mark.parametrize(
    ("title", "edit"),
    [
        ("Activation dynamics", (">0.03<", ">-0.03<")),
        ("Efferent delays", (">0.012<", ">61<")),
        ("Efferent delays", ('datatype="double"', 'datatype="llint"')),
        ("A period of muscles", (">4000000<", ">99999<")),
        ("A period of muscles", ('datatype="llint"', 'datatype="double"')),
        ("Soft switching", ('of="TC1_current"', 'of="TC1_curent"')),
        ("Soft switching", (">15<", ">-15<")),
        ("Magnitude influences", (' parameters="felt"', "")),
        ("Central pattern generators", ('of="CTr_LevationPRO"', 'of="CTr_Levation"')),
        ("Central pattern generators", ('central rule="TC1_lower"', 'central rule="tau"')),
        ("Controls", ("0 0.45 1 0.85", "0 0.45 0.5 0.85")),
    ],
)
def test_what_is_wrong_is_told_as_the_page_has_it(title: str, edit: tuple[str, str], tmp_path: Path) -> None:
    model, problems = load_model(made(tmp_path / "lin_roach", title, edit))
    assert model is None
    told = [str(problem).split(": error: ", 1)[-1] for problem in problems]
    assert any(line in told for line in re.findall(r"^.+$", SECTIONS[title].split("```text\n")[1], re.MULTILINE)), told


def test_the_period_of_steps_falls_as_the_speed_control_rises(tmp_path: Path) -> None:
    config = made(tmp_path / "lin_roach", "Controls")
    steps: list[int] = []
    for speed in (0.0, 1.0):
        out = tmp_path / f"at_{speed}"
        run_bout(BoutSpec(config=str(config), duration_s=8, out=out, values={"speed": speed}))
        states = [line.split()[7] for line in (out / "StateData.txt").read_text().splitlines()]
        steps.append(sum(before < after for before, after in pairwise(states)))
    assert 4 < steps[0] < steps[1]
