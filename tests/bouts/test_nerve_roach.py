"""nerve_roach: off it is lin_roach, and each part of it does something."""

from __future__ import annotations

from pathlib import Path

import pytest

from nuc_engine.bout.run import BoutSpec, run_bout
from nuc_engine.bout.spec import HdsoValue
from nuc_engine.recording.files import MOTOR_LOG


def motors(folder: Path, config: str, **values: HdsoValue) -> bytes:
    """Run five seconds; return what was sent to the motors."""
    spec = BoutSpec(config, folder, duration_s=5.0, seed=390001, name="leg", values=values)
    assert run_bout(spec).state == "complete"
    return (folder / MOTOR_LOG).read_bytes()


def test_with_all_of_it_off_it_moves_as_lin_roach_to_the_byte(tmp_path: Path) -> None:
    assert motors(tmp_path / "nerves", "nerve_roach") == motors(tmp_path / "linear", "lin_roach")


@pytest.mark.parametrize(
    "values",
    [
        {"load_delay": 0.1},
        {"CTr_delay": 0.1},
        {"FT_delay": 0.1},
        {"load_noise": 2.0},
        {"CTr_noise": 9.0},
        {"FT_noise": 9.0},
        {"TC1_lev_drive": 0.9},
        {"CTr_lev_drive": 0.9},
        {"FT_ext_drive": 0.9},
        {"CTr_lev_coupling": 0.99},
        {"FT_flx_coupling": 0.99},
    ],
    ids=lambda values: next(iter(values)),
)
def test_each_part_of_it_does_something(tmp_path: Path, values: dict[str, float]) -> None:
    assert motors(tmp_path / "on", "nerve_roach", **values) != motors(tmp_path / "off", "nerve_roach")


def test_nothing_listens_to_the_nerve_that_is_there_for_controls(tmp_path: Path) -> None:
    late = motors(tmp_path / "late", "nerve_roach", TC1_delay=0.2)
    assert late == motors(tmp_path / "off", "nerve_roach")
