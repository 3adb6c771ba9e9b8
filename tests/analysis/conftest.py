from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from nuc_engine.analysis.bout import Bout
from nuc_engine.analysis.load import load_bout
from nuc_engine.bout.run import BoutSpec, run_bout
from tests.analysis.directories import SCRIPT
from tests.analysis.synthetic import FWD, bout, leg

CONFIGS = Path(__file__).resolve().parents[2] / "configs"


def _run(
    place: Path,
    config: str,
    *,
    bus: str = "emulated:",
    script: str | None = None,
    duration_s: float = 2.0,
    plant_file: str = "plant.toml",
) -> Path:
    path = None
    if script is not None:
        path = place / "short.xml"
        path.write_text(script)
    script_path = path and str(path)
    spec = BoutSpec(str(CONFIGS / config), place / "data", script_path, duration_s, 3, bus, plant_file=plant_file)
    result = run_bout(spec)
    assert result.state == "complete"
    return result.folder


@pytest.fixture(scope="session")
def finished_roach(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two seconds of the roach leg with the short script; not to be changed."""
    return _run(tmp_path_factory.mktemp("roach"), "lin_roach", script=SCRIPT)


@pytest.fixture(scope="session")
def stiff_roach(tmp_path_factory: pytest.TempPathFactory) -> Bout:
    """Two seconds of the roach leg's first plant: no link gives way, and one alpha is not the printed one."""
    folder = _run(tmp_path_factory.mktemp("stiff"), "lin_roach", plant_file="plant_1.toml")
    return load_bout(folder)


@pytest.fixture(scope="session")
def finished_stick(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two seconds of the stick insect leg, whose plant has the configuration's geometry; not to be changed."""
    return _run(tmp_path_factory.mktemp("stick"), "lin_stickmiddle")


@pytest.fixture(scope="session")
def finished_loopback(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One second of servos without a leg; not to be changed."""
    return _run(tmp_path_factory.mktemp("loopback"), "lin_roach", bus="loopback:", duration_s=1.0)


@pytest.fixture(scope="session")
def roach(finished_roach: Path) -> Bout:
    """The roach leg's bout, read."""
    return load_bout(finished_roach)


@pytest.fixture
def folder(finished_roach: Path, tmp_path: Path) -> Path:
    """A copy of the roach leg's data directory, to be damaged."""
    return Path(shutil.copytree(finished_roach, tmp_path / "bout"))


@pytest.fixture(scope="session")
def made_up() -> Bout:
    """Six seconds of a roach leg on paper, with two changesets."""
    return bout(leg(FWD, 6.0), changesets=(2.0, 4.0))
