"""What a wheel holds: everything the programs look for, and none of the pictures beside it."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from hatchling.builders.wheel import WheelBuilder

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of packages as a wheel fills it."""
    folder = tmp_path_factory.mktemp("site")
    for file in WheelBuilder(str(ROOT)).recurse_included_files():
        place = folder / file.distribution_path
        place.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(file.path, place)
    return folder


def nuc(installed: Path, *words: str) -> str:
    """Return what `nuc` prints where only the wheel is there, in a folder with nothing in it."""
    place = installed.parent / "empty"
    place.mkdir(exist_ok=True)
    code = f"import sys; sys.path.insert(0, {str(installed)!r}); from nuc_engine.cli import main; main()"
    done = subprocess.run(
        [sys.executable, "-P", "-c", code, *words], cwd=place, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_experiments_show_their_last_verdicts(installed: Path) -> None:
    said = nuc(installed, "experiment", "list")
    assert "not judged yet" not in said
    assert "[as seen," in said


def test_configurations_and_scripts_are_found(installed: Path) -> None:
    assert "lin_roach" in nuc(installed)
    assert nuc(installed, "validate", "lin_roach", "experiment_a")


def test_pages_of_experiments_can_be_written(installed: Path, tmp_path: Path) -> None:
    (tmp_path / "D1").mkdir()
    shutil.copy(ROOT / "docs/experiments/D1/verdict.json", tmp_path / "D1")
    nuc(installed, "experiment", "D1", "--rewrite", "--pages", str(tmp_path))
    assert "The interim is no walking" in (tmp_path / "D1" / "page.md").read_text(encoding="utf-8")


def test_no_picture_and_no_page_is_carried_along(installed: Path) -> None:
    web = installed / "nuc_engine" / "ui" / "web"
    assert {path.suffix for path in installed.rglob("*.*") if path.is_file() and not path.is_relative_to(web)} <= {
        *(".py", ".xml", ".toml", ".json", ".dtd", ".rng", ".h", ".md")
    }
    assert (web / "index.html").is_file(), "but for the workbench's own"
    templates = installed / "nuc_engine" / "experiments"
    assert [path for path in installed.rglob("*.md") if not path.is_relative_to(templates)] == []


def test_the_header_for_programs_in_c_is_beside_the_client(installed: Path) -> None:
    assert (installed / "nuc_engine" / "client" / "nuc_cycles.h").is_file()
