"""A leg in force mode pushes both ways: by documents, by script, over the channel, and with what was saved."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest

from nuc_engine import BoutSpec, run_bout
from nuc_engine.configurations.describe import describe_model
from nuc_engine.model.planning import build_plan
from nuc_engine.model.values import initial_values
from nuc_engine.service.configuration import make_configuration, read_configuration
from nuc_engine.service.save import configuration_files
from sccils_schemas.documents import HdsoScript, Range
from sccils_schemas.model import Model, check_script, load_model
from sccils_schemas.parser import parse
from sccils_schemas.ranges import both_ways
from tests.service.bench import bench
from tests.service.test_methods import refused

PRINTED = Path(__file__).parents[1] / "configs" / "data" / "neuromod_lin_roach"
MODE = ('control_mode="position"', 'control_mode="force"')
FORCE = ('<hdsoMod idNum="203" NumElts="0"/>', '<hdsoMod idNum="203" NumElts="1">{}</hdsoMod>')


def leg(folder: Path, force: float = 0) -> Path:
    """Return the printed cockroach with its ThC2 in force mode, and this force at the start."""
    shutil.copytree(PRINTED, folder)
    path = folder / "joints.xml"
    text = path.read_text()
    for old, new in (MODE, FORCE):
        assert text.count(old) == 1
        text = text.replace(old, new.format(force))
    path.write_text(text)
    return folder


def loaded(folder: Path) -> Model:
    model, problems = load_model(folder)
    assert model is not None, str(problems)
    return model


def errors(model: Model, *forces: float) -> list[str]:
    mods = "".join(f'<hdsoMod idNum="203" NumElts="1" time="{k}">{force}</hdsoMod>' for k, force in enumerate(forces))
    document, problems = parse(f"<hdsoscript>{mods}</hdsoscript>".encode())
    assert isinstance(document, HdsoScript), str(problems)
    return [problem.what for problem in check_script(document, model).errors]


def test_the_printed_range_limits_the_push_of_either_sign(tmp_path: Path) -> None:
    model = loaded(leg(tmp_path / "leg", -30))
    assert errors(model, 254, -254, -1, 0) == []
    assert len(errors(model, 255, -255)) == 2
    plan = build_plan(model)
    assert initial_values(plan)[plan.hdso(203).index] == (-30.0,)
    assert plan.hdso(203).valid == (-254.0, 254.0)
    assert plan.hdso(204).valid == (0.0, 254.0), "a position has no sign"
    assert plan.hdso(205).valid == (0.0, 254.0), "no motor takes its force from it"


def test_the_printed_documents_say_what_they_said(tmp_path: Path) -> None:
    model = loaded(leg(tmp_path / "leg"))
    assert Range("valid", 0.0, 254.0, 1.0) in model.hdso(203).ranges
    (described,) = [hdso for hdso in describe_model(model)["parameters"] if hdso["id"] == 203]
    assert described["ranges"]["valid"] == {"lower": -254.0, "upper": 254.0, "quantum": 1.0}
    assert described["ranges"]["suggested"]["lower"] == -described["ranges"]["suggested"]["upper"]


@pytest.mark.parametrize(
    ("given", "read"),
    [((0, 254), (-254, 254)), ((5, 254), (-254, 254)), ((-10, 20), (-10, 20)), ((0, None), (None, None))],
)
@pytest.mark.parametrize("kind", ["valid", "suggested"])
def test_a_range_with_negative_values_of_its_own_is_taken_at_its_word(given, read, kind) -> None:
    span = both_ways(Range(kind, *given))
    assert (span.lower, span.upper) == read
    assert both_ways(Range("normal", *given)) == Range("normal", *given)


def test_the_joint_is_pushed_one_way_and_the_other(tmp_path: Path) -> None:
    script = tmp_path / "s.xml"
    pushes = ((0.2, 12), (0.7, -12))
    mods = "".join(f'<hdsoMod idNum="203" NumElts="1" time="{time}">{force}</hdsoMod>' for time, force in pushes)
    script.write_text(f"<hdsoscript>{mods}</hdsoscript>")
    out = tmp_path / "out"
    run_bout(BoutSpec(str(leg(tmp_path / "leg")), script=str(script), out=out, duration_s=1.2, bus="loopback:"))
    rows = np.loadtxt(out / "SensData.txt")
    time_s, angle = rows[:, 0] / 1e9, rows[:, 3]
    still, up, down = (angle[np.searchsorted(time_s, at)] for at in (0.2, 0.7, 1.15))
    assert up > still + 5
    assert down < up - 5


def test_the_channel_takes_both_signs_too(tmp_path: Path) -> None:
    with bench(tmp_path) as b:
        talk = b.configured(leg(tmp_path / "leg")).client("Ann")
        for force in (40, -40):
            assert talk.ask("set", changes=[["ThC2_forceCommand", force]])["refused"] == []
        assert talk.ask("get", names=["ThC2_forceCommand"])["values"] == {"ThC2_forceCommand": -40}
        text = refused(talk, "set", changes=[["ThC2_forceCommand", -255]]).text
        assert "-255 is outside the valid range -254..254" in text


def test_what_the_engine_has_written_there_can_be_saved_and_loaded_again() -> None:
    configuration = read_configuration("printed", PRINTED)
    index = configuration.plan.hdso(201).index
    held = {k: values for k, values in enumerate(initial_values(configuration.plan)) if values is not None}
    files = configuration.files | configuration_files(configuration, held | {index: (-12.0,)})
    again = make_configuration("again", files, strict=False)
    assert initial_values(again.plan)[index] == (-12.0,)
