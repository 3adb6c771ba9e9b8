"""`nuc bus adapt`, and what the other commands say of a leg with motors of several families."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from tests.cli.conftest import CONFIGS, Nuc, edit

ROACH = str(CONFIGS / "lin_roach")


def test_a_name_is_a_configuration_that_the_other_commands_find(nuc: Nuc) -> None:
    result = nuc("bus", "adapt", ROACH, "XL430-W250", "--out", "xl")
    assert result.exit_code == 0, result.output
    assert Path("configs/xl/joints.xml").exists()
    assert "Femur-Tibia" in result.stdout
    assert "nuc run xl --bus 'emulated:dynamixel?baud=1000000'" in result.stdout
    assert "calibration is nominal" in result.stderr
    validated = nuc("validate", "xl")
    assert validated.exit_code == 0, validated.stdout
    assert "XL430" not in validated.stdout


def test_the_numbers_are_there_for_programs(nuc: Nuc, tmp_path: Path) -> None:
    result = nuc("bus", "adapt", ROACH, "STS3215", "--out", str(tmp_path / "deep" / "sts"), "--ids", "1-4", "--json")
    assert result.exit_code == 0, result.output
    data = json.loads(result.stdout)
    assert data["family"] == "feetech"
    assert [row["id"] for row in data["motors"]] == [1, 2, 3, 4]
    assert data["motors"][0]["delta_ticks"] == pytest.approx(7.4, rel=0.1)
    assert data["warnings"]
    assert (tmp_path / "deep" / "sts" / "plant.toml").exists()


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("XL43", "--out", "x"), "XL430-W250"),
        (("XL430-W250", "--out", "x", "--ids", "1,2"), "expected 4"),
    ],
)
def test_what_can_not_be_is_said_in_a_line(nuc: Nuc, words: tuple[str, ...], said: str) -> None:
    result = nuc("bus", "adapt", ROACH, *words)
    assert result.exit_code == 1
    assert said in result.stderr
    assert not Path("configs").exists()


def test_show_says_what_a_motor_is_and_what_others_there_are(nuc: Nuc) -> None:
    nuc("bus", "adapt", ROACH, "XL430-W250", "--out", "xl")
    shown = nuc("show", "xl")
    assert shown.exit_code == 0
    assert "or, on other buses: motor XL430-W250" in shown.stdout
    # Without its AI motors it is the others that are shown.
    path = Path("configs/xl/joints.xml")
    text = path.read_text()
    while "<aimotor" in text:
        begin = text.index("<aimotor")
        end = text.index("</aimotor>") + len("</aimotor>")
        text = text[:begin] + text[end:]
    path.write_text(text)
    shown = nuc("show", "xl")
    assert shown.exit_code == 0, shown.stderr
    assert "dynamixel: raw 1102 to 2993 in ticks of 0.0879 deg" in shown.stdout
    assert "a unit of muscle output is" in shown.stdout
    data = json.loads(nuc("show", "xl", "--json").stdout)
    assert data["joints"][0]["motor"]["model"] == "XL430-W250"
    assert data["joints"][0]["motor"]["positions"] == [0, 4095]


def test_a_bus_without_motors_for_it_is_refused_with_the_remedy(nuc: Nuc) -> None:
    result = nuc("run", ROACH, "--bus", "emulated:feetech", "--duration", "1")
    assert result.exit_code == 1
    assert "no motor of the family feetech" in result.stderr
    assert "nuc bus adapt" in result.stderr


def test_validate_names_a_model_nobody_knows_and_a_joint_that_was_left_out(nuc: Nuc) -> None:
    nuc("bus", "adapt", ROACH, "XL430-W250", "--out", "xl")
    path = Path("configs/xl/joints.xml")
    text = path.read_text()
    last = text.rindex("<motor ")
    path.write_text(text[:last] + text[last:].replace('model="XL430-W250"', 'model="XL431-W250"', 1))
    result = nuc("validate", "xl")
    assert result.exit_code == 0
    assert "XL431-W250" in result.stdout
    assert "did you mean 'XL430-W250'?" in result.stdout
    assert "Femur-Tibia) has no motor of the family dynamixel" in result.stdout


def test_validate_builds_the_leg_for_every_family_it_has(nuc: Nuc) -> None:
    nuc("bus", "adapt", ROACH, "XL430-W250", "--out", "xl")
    path = Path("configs/xl/joints.xml")
    path.write_text(path.read_text().replace("<motor name", '<motor torqueTable="t.json" name'))
    result = nuc("validate", "xl")
    assert result.exit_code == 1
    assert "torqueTable 't.json' is not there" in result.stdout


@pytest.mark.parametrize(
    ("name", "wrong", "told"),
    [
        ("torqueTable", "none.json", "'none.json' is not there"),
        ("torqueTable", "t.json", "t.json: was measured on a XM430-W350"),
        ("positionMin", "-900", "sent to -900 to"),
        ("positionMax", "99999", "to 99999; a XL430-W250 can"),
    ],
)
def test_what_a_motor_can_not_be_is_told_in_its_line(name: str, wrong: str, told: str, nuc: Nuc) -> None:
    nuc("bus", "adapt", ROACH, "XL430-W250", "--out", "xl")
    table = '{"ticks": [0, 10, 100], "torque_n_m": [0, 0.01, 0.2], "model": "XM430-W350"}'
    Path("configs/xl/t.json").write_text(table)
    path = Path("configs/xl/joints.xml")
    text = re.sub(f' {name}="[^"]*"', "", path.read_text())
    path.write_text(text.replace("<motor name", f'<motor\n\n{name}="{wrong}" name', 1))
    line = path.read_text().partition(f"{name}=")[0].count("\n") + 1
    (error,) = [text for text in nuc("validate", "xl").stdout.split("\n") if ": error: " in text]
    assert f"joints.xml:{line}: error: " in error
    assert told in error


def test_gravity_compensation_stands_in_the_manifest(nuc: Nuc, roach: Path) -> None:
    words = ("run", str(roach), "--duration", "0.5", "--scratch", "x", "--gravity-compensation")
    assert nuc(*words, "0.4").exit_code == 0
    assert json.loads(Path("x/manifest.json").read_text())["spec"]["gravity_compensation"] == 0.4
    assert nuc("replay", "x").exit_code == 0
    assert nuc(*words, "1.4").exit_code == 2
    (roach / "plant.toml").unlink()
    result = nuc("run", str(roach), "--bus", "loopback:", "--duration", "0.5", "--gravity-compensation", "0.4")
    assert result.exit_code == 1
    assert "needs the masses" in result.stderr


def test_a_leg_of_wcks_is_made_by_hand(nuc: Nuc, roach: Path) -> None:
    result = nuc("bus", "adapt", str(roach), "wCK-1111", "--out", "w")
    assert (result.exit_code, "change the modelnum" in result.stderr) == (1, True)
    assert "modelnum" not in nuc("bus", "adapt", str(roach), "XL430", "--out", "w").stderr
    text = (roach / "joints.xml").read_text()
    (roach / "joints.xml").write_text(re.sub('modelnum="[0-9]+"', 'modelnum="wCK-1111"', text))
    result = nuc("run", str(roach), "--bus", "emulated:?wck=1&baud=115200", "--duration", "0.5", "--scratch", "x")
    assert result.exit_code == 0, result.output


def test_adapting_leaves_the_original_as_it_is(nuc: Nuc, roach: Path) -> None:
    before = {path.name: path.read_bytes() for path in roach.iterdir()}
    nuc("bus", "adapt", str(roach), "XL430-W250", "--out", "xl")
    assert {path.name: path.read_bytes() for path in roach.iterdir()} == before
    edit(roach / "joints.xml", r'name="Coxa-Trochanter_motor"', 'name="Femur_Tibia_motor"')
    assert nuc("bus", "adapt", str(roach), "XL430-W250", "--out", "yl").exit_code == 1
