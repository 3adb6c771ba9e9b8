from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from nuc_engine.configurations.describe import describe_model
from nuc_engine.configurations.pose import PoseError, parse_angles, pose
from nuc_engine.machine.locations import list_configurations
from nuc_engine.model.decimals import number_text
from nuc_engine.model.kinematics import joint_origins
from nuc_engine.model.planning import build_plan
from sccils_schemas.model import Model, load_model
from tests.cli.conftest import CONFIGS, Nuc, edit
from tests.sccils.small import SMALL


@pytest.fixture(scope="module")
def model() -> Model:
    loaded = load_model(CONFIGS / "lin_roach")[0]
    assert loaded is not None
    return loaded


def block(text: str, first: str, after: str) -> str:
    """Return the part of a text from the line with `first` to the one with `after`."""
    lines = text.splitlines()
    start = next(k for k, line in enumerate(lines) if first in line)
    stop = next(k for k, line in enumerate(lines) if k > start and after in line)
    return "\n".join(lines[start:stop])


def test_rules_are_shown_by_name_by_id_and_with_the_values_they_start_with(nuc: Nuc) -> None:
    state = block(nuc("show", "lin_roach").stdout, "State 205  FT_Extension", "State 206")
    assert "enter when   (TC1_current > FT_ext_TC1_load) & (FT_angle > FT_ext_FTang)" in state
    assert "by id        (302 > 106) & (307 > 107)  (165 Enter_FT_Extension)" in state
    assert "at start     (TC1_current > 0.01) & (FT_angle > 90)" in state
    below = "activation   Tibia_Extensor: constant 1\n                 (130 FT_extension_extensor_activation)"
    assert below in state
    assert "colour 1 0.4 0" in state


def test_what_fullprint_shows_is_there(nuc: Nuc) -> None:
    text = nuc("show", "lin_roach").stdout
    joint = block(text, "JOINT 1  Thorax-Coxa1", "JOINT 2")
    assert "control mode muscle; starts in TC1_protractionDEP; line style ko" in joint
    assert "raw = 144 + 1.529 x angle in deg; reaches -94.2 to 71.9 deg;\n      torque direction +1" in joint
    assert "A-matrix    -0.9397    0.0000   -0.3420    0.0000" in joint
    assert "0.2198   -0.7660   -0.6040   10.5000" in joint
    assert "DH line   a = 1 cm, d = 0 cm, alpha = -90 deg, 0.0174533 rad per unit" in joint
    assert "pulls towards smaller angles (r = -5); Lnaught 20, alpha 25 deg, fmax 18" in joint
    assert "force-length       linear      2 l' - 1.5" in joint
    assert "Sense organ 501  TC1_sense_organ" in joint
    assert "raw = 131.5 - 1.529 x angle in deg" in block(text, "JOINT 2", "JOINT 3")
    assert "END 5  Tibia-Tarsus" in text


def test_a_parameter_has_value_unit_ranges_meaning_and_use(nuc: Nuc) -> None:
    entry = block(nuc("show", "lin_roach").stdout, " 103  TC1_retLEV_FTang", " 104  TC1_retLEV_CTang")
    assert "= 60 deg  (float; suggested 50 to 90, step 1; valid -170 to 170)" in entry
    assert "ThC1 goes over to ret(LEV)" in " ".join(entry.split())
    assert "for: entry rule of TC1_retractionLEV" in entry


@pytest.mark.parametrize("name", list_configurations())
def test_every_configuration_is_laid_out_within_80_columns(nuc: Nuc, name: str) -> None:
    result = nuc("show", name)
    assert result.exit_code == 0
    assert max(map(len, result.stdout.splitlines())) <= 80
    assert "\x1b" not in result.stdout


def test_json_holds_what_the_text_says(nuc: Nuc, model: Model) -> None:
    result = nuc("show", "lin_roach", "--json")
    data = json.loads(result.stdout)
    assert data.pop("ok") is True
    assert data == json.loads(json.dumps(describe_model(model)))
    parameter = next(p for p in data["parameters"] if p["id"] == 121)
    assert parameter["value"] == 0.05
    unset = next(p for p in data["sensors"] if p["id"] == 301)
    assert unset["value"] is None
    assert [joint["id"] for joint in data["joints"]] == [1, 2, 3, 4, 5]
    assert data["joints"][0]["states"][0]["code"] == 0


def test_json_keeps_id_and_name_apart(nuc: Nuc) -> None:
    joint, held = json.loads(nuc("show", "lin_roach", "--json").stdout)["joints"][:2]
    muscle, state = joint["muscles"][0], joint["states"][0]
    assert muscle["functions"]["force-length"]["parameters"] == [{"id": 171, "name": "ThC1_RemotorLEV_F-L_Params"}]
    assert state["activations"][0]["muscle"] == {"id": 401, "name": "Coxa_RemotorLEV"}
    assert joint["motor"]["angle_sensor"] == {"id": 301, "name": "TC1_angle"}
    assert joint["sense_organs"][0]["sensors"] == [{"id": 301, "name": "TC1_angle"}]
    assert joint["start_state"] == {"id": 201, "name": "TC1_protractionDEP"}
    assert held["start_state"] is None


def test_what_is_not_there_is_null_in_json(nuc: Nuc) -> None:
    """The small configuration has no texts, and a rule and parameters without values."""
    data = json.loads(nuc("show", str(SMALL), "--json").stdout)
    hdsos = {hdso["name"]: hdso for hdso in (*data["parameters"], *data["sensors"])}
    unset = hdsos["Spare_Rule"]
    assert [unset[key] for key in ("value", "by_id", "by_name", "at_start", "unit", "fullname")] == [None] * 6
    assert data["joints"][0]["motor"]["model"] is None
    assert "no value" not in json.dumps(data)


def test_a_request_of_a_script_is_an_object_too(nuc: Nuc, tmp_path: Path) -> None:
    (tmp_path / "s.xml").write_text('<hdsoscript><hdsoSpec idNum="103"/><hdsoSpec idNum="-1"/></hdsoscript>')
    (moment,) = json.loads(nuc("show", "lin_roach", "--script", "s.xml", "--json").stdout)["script"]
    assert moment["requests"] == [{"id": 103, "name": "TC1_retLEV_FTang"}, None]
    assert "asks for TC1_retLEV_FTang, every HDSO" in nuc("show", "lin_roach", "--script", "s.xml").stdout


def test_values_are_those_a_bout_would_start_with_not_those_of_the_parameter_file(nuc: Nuc, roach: Path) -> None:
    edit(
        roach / "joints.xml",
        r'<hdsoMod idNum="105" NumElts="1">120</hdsoMod>',
        '<hdsoMod idNum="105" NumElts="1">111.1</hdsoMod>',
    )
    assert "at start     FT_angle > 111.1\n" in nuc("show", str(roach)).stdout


def test_the_foot_is_where_the_kinematics_put_it(nuc: Nuc, model: Model) -> None:
    plan = build_plan(model)
    angles = [20.0, 2.3, 85.0, 95.5]
    result = nuc("show", "lin_roach", "--angles", "20,2.3,85,95.5", "--json")
    data = json.loads(result.stdout)
    expected = joint_origins(
        [None if j.amatrix is None else np.array(j.amatrix).reshape(4, 4) for j in plan.joints],
        [j.dh_line for j in plan.joints],
        angles,
    )
    found = [joint["position_cm"] for joint in data["pose"]["joints"]] + [data["pose"]["ends"]["Femur-Tibia"]]
    assert np.allclose(found, expected)
    x, y, z = expected[-1]
    text = nuc("show", "lin_roach", "--angles", "20,2.3,85,95.5").stdout
    assert f"{x:.3f} {y:8.3f} {z:8.3f}" in text.splitlines()[-1]
    assert text.splitlines()[-1].split()[0] == "foot"


def test_angles_by_name_leave_held_joints_to_their_servo(nuc: Nuc) -> None:
    result = nuc("show", "lin_roach", "--angles", "Femur-Tibia=90, Thorax-Coxa1=20, Coxa-Trochanter=90", "--json")
    data = json.loads(result.stdout)["pose"]
    assert data["assumed"] == ["Thorax-Coxa2"]
    held = next(joint for joint in data["joints"] if joint["name"] == "Thorax-Coxa2")
    assert held["raw"] == pytest.approx(128)
    assert held["angle_deg"] == pytest.approx((128 - 131.5) / -1.529)


def test_a_pose_out_of_the_servos_reach_says_so(nuc: Nuc) -> None:
    text = nuc("show", "lin_roach", "--angles", "20,2.3,90,200").stdout
    assert "out of reach" in block(f"{text}\n", "Femur-Tibia", "foot")
    assert text.count("out of reach") == 1


@pytest.mark.parametrize(
    ("angles", "said"),
    [
        ("20,2,90", "expected 4"),
        ("20,2,90,x", "'x' is no angle"),
        ("20,2,90,nan", "'nan' is no angle"),
        ("Thorax-Coxa1=20", "Coxa-Trochanter"),
        ("Knee=20", "no joint 'Knee'"),
        ("Femur-Tibia=1,Femur-Tibia=2", "given twice"),
    ],
)
def test_angles_that_make_no_pose_are_refused(nuc: Nuc, angles: str, said: str) -> None:
    result = nuc("show", "lin_roach", "--angles", angles)
    assert result.exit_code == 2
    assert said in result.stderr


def test_poses_of_models_that_branch_or_lack_geometry(model: Model) -> None:
    plan = build_plan(model)
    with pytest.raises(PoseError, match="Thorax-Coxa1"):
        pose(plan, {})
    assert parse_angles("1,2,3,4", plan)["Femur-Tibia"] == 4.0


def test_a_scripts_changes_are_shown_with_the_values_before_and_after(nuc: Nuc) -> None:
    text = nuc("show", "lin_roach", "--script", "experiment_a").stdout
    assert "at 0 s: 30 written, 30 of them to the value it has already" in text
    turn = block(text, "at 20 s", "at 40 s")
    assert "107  FT_ext_FTang  90 -> 130 deg" in turn
    assert "was  (TC1_current > FT_ext_TC1_load) & (FT_angle > FT_ext_FTang)" in turn
    assert "now  (TC1_current < FT_flux_TC1_load) & (FT_angle > FT_ext_FTang)" in turn
    assert "104  TC1_retLEV_CTang  30 -> 112 deg" in text
    assert "JOINT 1" not in text
    assert "JOINT 1" in nuc("show", "lin_roach", "--script", "experiment_a", "--all").stdout


def test_a_scripts_changes_in_json(nuc: Nuc, script: Path) -> None:
    data = json.loads(nuc("show", "lin_roach", "--script", str(script), "--json").stdout)
    assert [moment["time_s"] for moment in data["script"]] == [0.5, 1.0]
    (change,) = data["script"][0]["changes"]
    assert (change["name"], change["before"], change["after"], change["unit"]) == (
        "TC1_retLEV_FTang",
        60.0,
        61.0,
        "deg",
    )


@pytest.mark.parametrize(
    ("value", "text"),
    [(0.1, "0.1"), (1e-7, "0.0000001"), (16777217.0, "16777216"), (-25.0, "-25"), (1 / 3, "0.33333334"), (3, "3")],
)
def test_numbers_are_as_short_as_a_float_allows(value: float, text: str) -> None:
    shown = number_text(value, "float")
    assert np.float32(float(shown)) == np.float32(value)
    assert float(shown) == pytest.approx(float(text), rel=1e-7)
    assert len(shown) <= max(len(text), 12)


def test_colour_is_for_terminals_only(monkeypatch: pytest.MonkeyPatch) -> None:
    from nuc_engine.cli.terminal.output import patch

    assert patch((1.0, 0.4, 0.0)) == ""
    monkeypatch.setattr("nuc_engine.cli.terminal.output.is_terminal", lambda: True)
    assert "38;2;255;102;0" in patch((1.0, 0.4, 0.0))


def test_a_script_shows_what_is_done_by_hand_where_it_is_done(nuc, tmp_path):
    path = tmp_path / "hands.xml"
    path.write_text(
        '<hdsoscript><gradual time="1" duration="2" steps="2"><hdsoMod idNum="103" NumElts="1">60</hdsoMod></gradual>'
        '<kick time="2" force="3 0 0"/><ground time="2.5" present="n"/></hdsoscript>'
    )
    out = nuc("show", "lin_roach", "--script", str(path)).stdout
    assert "at 2 s: 1 written, 1 of them to the value it has already; by hand" in out
    assert 'kick time="2" force="3 0 0"' in out
    assert "at 2.5 s: by hand" in out
    assert "at 3 s: 1 written" in out
