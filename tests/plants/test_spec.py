"""plant.toml is read whole, strictly, and everything wrong in it is said at once."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest

from nuc_engine.bout.run import prepare_bout
from nuc_engine.plants.kinds import find_kind
from nuc_engine.plants.spec import PlantSpecError, load_spec, parse_spec, spec_file
from tests.plants.leg_plans import ROACH
from tests.plants.specs import data

CONFIGS = Path(__file__).parents[2] / "configs"


def changed(path: str, value: Any) -> dict[str, Any]:
    """Return a good description with one value changed; ... removes the key."""
    out = data(ROACH)
    table = out
    *sections, key = path.split("/")
    for section in sections:
        table = table.setdefault(section, {})
    if value is ...:
        del table[key]
    else:
        table[key] = value
    return out


def test_a_good_description_is_taken_over_as_it_stands() -> None:
    spec = parse_spec(data(ROACH, {"Femur-Tibia": 88.5}), "x.toml")
    assert spec.world.base_height_cm == 12.0
    assert spec.servo.torque_cap_by_level == (1.0, 0.8, 0.6, 0.4, 0.05)
    assert spec.motors["1001"].stall_current_a == 1.4
    assert spec.joints["Femur-Tibia"].start_deg == 88.5
    assert spec.joints["Femur-Tibia"].override is None


@pytest.mark.parametrize(
    ("path", "value", "said"),
    [
        ("world/friction", ..., "x.toml: world.friction: missing; expected a number from 0 to 10"),
        ("world/friction", "slippery", "x.toml: world.friction: 'slippery'; expected a number from 0 to 10"),
        ("world/friction", -0.1, "world.friction: -0.1; expected a number from 0"),
        ("world/friction", True, "world.friction: True; expected a number"),
        ("world/friction", math.nan, "world.friction: nan; expected a number"),
        ("world/friction", math.inf, "world.friction: inf; expected a number"),
        ("world/friction_n", 0.1, "world.friction_n: unknown; expected one of base_height_cm, "),
        ("world/timestep_us", 1000.0, "world.timestep_us: 1000.0; expected a whole number from 10 to 10000"),
        ("servo/current_model", "guess", "servo.current_model: 'guess'; expected one of back_emf, supply"),
        ("servo/torque_cap_by_level", [1.0, 0.5], "torque_cap_by_level: [1.0, 0.5]; expected 5 fractions"),
        ("servo/torque_cap_by_level", [0.5, 0.6, 0.4, 0.3, 0.2], "expected 5 fractions from 0 to 1, strongest first"),
        ("servo/torque_cap_by_level", [1.0, 0.6, 0.4, 0.3, 0.0], "expected 5 fractions from 0 to 1"),
        ("motor/701/omega0_rad_s", 0, "motor.701.omega0_rad_s: 0; expected a number from 0.01"),
        ("motor/701", 3, "motor.701: 3; expected a table"),
        ("joint/Femur-Tibia/start_deg", ..., "joint.Femur-Tibia.start_deg: missing"),
        ("joint/Femur-Tibia/override", {"alpha_deg": 3}, "joint.Femur-Tibia.override.reason: missing; expected a text"),
        ("joint/Femur-Tibia/override", {"reason": "so"}, "override.a_cm: missing, as are d_cm and alpha_deg"),
        ("joint/Femur-Tibia/override", {"reason": " ", "a_cm": 1}, "override.reason: ' '; expected a text"),
        ("joint/Femur-Tibia/override", {"reason": "so", "b_cm": 1, "a_cm": 1}, "override.b_cm: unknown"),
        ("variation", ..., "x.toml: variation: missing; expected a table"),
        ("weather", {}, "x.toml: weather: unknown; expected one of joint, motor, servo, variation, world"),
    ],
)
def test_what_is_wrong_is_said_with_file_key_and_expectation(path: str, value: Any, said: str) -> None:
    with pytest.raises(PlantSpecError) as caught:
        parse_spec(changed(path, value), "x.toml")
    assert said in str(caught.value)
    assert len(caught.value.problems) == 1


def test_everything_wrong_is_said_in_one_go() -> None:
    bad = data(ROACH)
    bad["world"]["friction"] = "low"
    bad["servo"]["dead_ticks"] = -1
    del bad["joint"]["Femur-Tibia"]["link_mass_g"]
    with pytest.raises(PlantSpecError) as caught:
        parse_spec(bad, "x.toml")
    assert len(caught.value.problems) == 3


def write(folder: Path, name: str, text: str) -> Path:
    (folder / name).mkdir()
    path = folder / name / "plant.toml"
    path.write_text(text, encoding="utf-8")
    return path


def test_same_as_shares_the_plant_of_a_neighbouring_configuration(tmp_path: Path) -> None:
    text = (CONFIGS / "lin_roach" / "plant.toml").read_text(encoding="utf-8")
    original = write(tmp_path, "one", text)
    path = write(tmp_path, "two", 'same_as = "one"\n')
    assert load_spec(path) == load_spec(original)
    assert spec_file(path) == original
    assert spec_file(original) == original


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('same_as = "nowhere"', "cannot be read"),
        ('same_as = "../one"', "expected the name of a configuration folder"),
        ('same_as = ""', "expected the name of a configuration folder"),
        ("same_as = 3", "expected the name of a configuration folder"),
        ('same_as = "two"', "expected the plant itself"),
        ('same_as = "one"\n[world]\n', "stands beside world; expected it alone"),
        ("same_as = ", "expected TOML"),
        ("same_as = '\xff'", "expected TOML"),
    ],
)
def test_same_as_is_a_bare_name_standing_alone(tmp_path: Path, text: str, said: str) -> None:
    path = write(tmp_path, "two", "")
    path.write_bytes(text.encode("latin-1"))
    with pytest.raises(PlantSpecError, match=said) as caught:
        load_spec(path)
    assert "plant.toml" in str(caught.value)


def test_a_missing_file_is_an_error_with_its_name(tmp_path: Path) -> None:
    with pytest.raises(PlantSpecError, match="cannot be read"):
        load_spec(tmp_path / "plant.toml")


@pytest.mark.parametrize("folder", sorted(path.parent.name for path in CONFIGS.glob("*/plant.toml")))
def test_every_shipped_plant_can_be_read(folder: str) -> None:
    spec = load_spec(CONFIGS / folder / "plant.toml")
    plan = prepare_bout(folder, None).plan
    assert {joint.name for joint in plan.joints} <= set(spec.joints)
    assert all(find_kind(motor, spec.motors) is not None for motor in plan.motors)


def test_there_is_one_plant_per_leg() -> None:
    files = {path.parent.name: spec_file(path).parent.name for path in CONFIGS.glob("*/plant.toml")}
    assert {leg for name, leg in files.items() if "roach" in name} == {"lin_roach"}
    assert {leg for name, leg in files.items() if "stick" in name} == {"lin_stickmiddle"}
