"""The cockroach leg on servos of other families: it steps, its bout repeats, and other servos are not driven."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from nuc_engine.analysis.load import load_bout
from nuc_engine.analysis.outcome import classify
from nuc_engine.bout.replay import replay_bout, replay_inputs
from nuc_engine.bout.run import BoutRefused, BoutSpec, run_bout
from nuc_engine.configurations.adapt import adapt, write_adapted

DXL = "emulated:dynamixel?baud=1000000"
SLOW_DXL = "emulated:dynamixel?baud=115200"
STS = "emulated:feetech?baud=115200"
FAST_STS = "emulated:feetech"


@pytest.fixture(scope="module")
def legs(tmp_path_factory):
    folder = tmp_path_factory.mktemp("legs")
    for model in ("XL430-W250", "XM430-W350", "STS3215"):
        write_adapted(adapt("lin_roach", model), folder / model)
    return folder


@pytest.mark.parametrize(
    ("model", "bus"), [("XL430-W250", DXL), ("XM430-W350", SLOW_DXL), ("STS3215", STS), ("STS3215", FAST_STS)]
)
def test_the_leg_steps_on_other_servos(legs, tmp_path, model, bus):
    result = run_bout(BoutSpec(str(legs / model), tmp_path / "bout", duration_s=20, seed=1001, bus=bus))
    assert result.state == "complete", result.reason
    outcome = classify(load_bout(result.folder).tracks(), (0, 20))
    # The plant was fitted with AI motors: on others the actions may lead the ground by more than is asked for.
    assert outcome.foot_steps, outcome.reasons
    assert "FWD" in outcome.resembles


def test_the_same_folder_steps_on_ai_motors_to_the_byte(legs, tmp_path):
    runs = [
        run_bout(BoutSpec(config, tmp_path / name, duration_s=3, seed=1001, name="leg"))
        for name, config in (("old", "lin_roach"), ("new", str(legs / "STS3215")))
    ]
    for file in ("MotorData.txt", "SensData.txt", "StateData.txt", "MuscleData.txt"):
        assert (runs[0].folder / file).read_bytes() == (runs[1].folder / file).read_bytes(), file


@pytest.mark.parametrize(("model", "bus"), [("XL430-W250", DXL), ("STS3215", STS)])
def test_a_bout_on_other_servos_repeats_from_its_own_directory(legs, tmp_path, model, bus):
    out = tmp_path / "bout"
    run_bout(BoutSpec(str(legs / model), out, duration_s=3, seed=1001, bus=bus, gravity_compensation=0.3))
    record = json.loads((out / "manifest.json").read_text())
    assert record["families"] == {"": bus.removeprefix("emulated:").partition("?")[0]}
    assert record["spec"]["gravity_compensation"] == 0.3
    report = replay_bout(out)
    assert report.identical, report.difference
    report = replay_inputs(out)
    assert report.identical, report.difference


def test_a_configuration_without_motors_of_the_family_is_refused(tmp_path):
    with pytest.raises(BoutRefused, match=r"no motor of the family dynamixel.*nuc bus adapt"):
        run_bout(BoutSpec("lin_roach", tmp_path / "bout", bus=DXL))
    assert not (tmp_path / "bout").exists()


def test_columns_say_what_was_recorded(legs, tmp_path):
    run_bout(BoutSpec(str(legs / "XL430-W250"), tmp_path / "bout", duration_s=0.2, bus=DXL))
    described = json.loads((tmp_path / "bout" / "columns.json").read_text())["files"]["MotorData.txt"]["columns"]
    units = {column["name"].partition(".")[2]: column["unit"] for column in described}
    assert units["position_raw"] == units["sent_raw"] == "tick (0.08789 deg)"
    assert "0.1 %" in units["current_raw"]


def test_a_torque_table_goes_with_the_bout_and_its_end_is_told(legs, tmp_path):
    folder = tmp_path / "measured"
    write_adapted(adapt("lin_roach", "XL430-W250"), folder)
    table = {"ticks": [0, 2, 40, 200], "torque_n_m": [0, 0.0, 0.08, 0.45]}
    (folder / "t.json").write_text(json.dumps(table))
    text = (folder / "joints.xml").read_text()
    (folder / "joints.xml").write_text(text.replace("<motor name", '<motor torqueTable="t.json" name'))
    out = tmp_path / "bout"
    result = run_bout(BoutSpec(str(folder), out, duration_s=1, seed=1001, bus=DXL))
    assert result.state == "complete", result.reason
    assert (out / "t.json").read_bytes() == (folder / "t.json").read_bytes()
    record = json.loads((out / "manifest.json").read_text())
    assert "t.json" in record["inputs"]
    assert set(record["counts"]["beyond_torque_table"]) == {
        "Thorax-Coxa1_motor",
        "Thorax-Coxa2_motor",
        "Coxa-Trochanter_motor",
        "Femur_Tibia_motor",
    }
    assert replay_bout(out).identical


# --- gravity -----------------------------------------------------------------------------------------------------


IN_THE_AIR = {"world.base_height_cm": 60.0, "variation.start_pose_deg": 0.0}
MUSCLES = ("Thorax-Coxa1", "Coxa-Trochanter", "Femur-Tibia")


def sag_deg(tmp_path: Path, share: float, config: str = "null_roach", bus: str = "emulated:") -> float:
    """Return how far a leg in the air whose muscles do nothing sags at most in 3 s."""
    spec = BoutSpec(
        config,
        tmp_path / f"sag_{share}",
        duration_s=3,
        seed=1001,
        bus=bus,
        values={str(activation): 0.0 for activation in range(121, 133)},
        plant=IN_THE_AIR,
        gravity_compensation=share,
    )
    result = run_bout(spec)
    assert result.state == "complete", result.reason
    bout = load_bout(result.folder)
    moved = abs(bout.angles_deg() - bout.angles_deg()[0]).max(axis=0)
    return float(max(angle for joint, angle in zip(bout.joints, moved, strict=True) if joint.name in MUSCLES))


def test_a_leg_whose_muscles_do_nothing_holds_its_pose_with_its_weight_carried(tmp_path):
    assert sag_deg(tmp_path, 1.0) < 5.0
    assert sag_deg(tmp_path, 0.0) > 30.0


def test_the_weight_is_carried_on_other_servos_too(tmp_path):
    write_adapted(adapt("null_roach", "XM430-W350"), tmp_path / "leg")
    assert sag_deg(tmp_path, 1.0, str(tmp_path / "leg"), DXL) < 5.0
    assert sag_deg(tmp_path, 0.0, str(tmp_path / "leg"), DXL) > 30.0


@pytest.mark.parametrize("share", [-0.1, 1.5])
def test_a_share_of_weight_is_from_none_to_all(tmp_path, share):
    with pytest.raises(BoutRefused, match="from 0 to 1"):
        run_bout(BoutSpec("lin_roach", tmp_path / "bout", gravity_compensation=share))


def test_a_leg_without_masses_has_no_compensation(tmp_path):
    folder = tmp_path / "bare"
    write_adapted(adapt("lin_roach", "XL430-W250"), folder)
    (folder / "plant.toml").unlink()
    with pytest.raises(BoutRefused, match="needs the masses"):
        run_bout(BoutSpec(str(folder), tmp_path / "bout", bus="loopback:", gravity_compensation=0.5))
