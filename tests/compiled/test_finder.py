"""A compiled core is used only while its sources are those it was made of; no compiler is needed to see that."""

from __future__ import annotations

import hashlib
import importlib.util
import json
from importlib.machinery import EXTENSION_SUFFIXES
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).resolve().parents[2]
NAME = "drivers.port"


@pytest.fixture(scope="module")
def finding() -> ModuleType:
    spec = importlib.util.spec_from_file_location("finding", ROOT / "building" / "compiled_core_finder.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A folder with one module of a core, and what was compiled of it."""
    source = tmp_path / "drivers" / "port.py"
    source.parent.mkdir()
    source.write_text("A = 1\n")
    (tmp_path / "core").mkdir()
    wanted = {"drivers/port.py": hashlib.sha256(source.read_bytes()).hexdigest()}
    (tmp_path / "core" / "wanted.json").write_text(json.dumps(wanted))
    return tmp_path


def found(finding: ModuleType, checkout: Path, name: str = NAME) -> tuple[str | None, str]:
    finder = finding.CompiledCoreFinder(str(checkout / "core"))
    spec = finder.find_spec(name, [str(checkout / "drivers")])
    return (None if spec is None else spec.origin), finder.why_pure or ""


def test_the_same_sources_are_taken_compiled(finding: ModuleType, checkout: Path) -> None:
    assert found(finding, checkout) == (str(checkout / f"core/drivers/port{EXTENSION_SUFFIXES[0]}"), "")


def test_a_changed_source_makes_all_of_it_python(finding: ModuleType, checkout: Path) -> None:
    (checkout / "drivers" / "port.py").write_text("A = 2\n")
    origin, why = found(finding, checkout)
    assert origin is None
    assert "drivers/port.py changed" in why


def test_a_source_that_is_gone_makes_all_of_it_python(finding: ModuleType, checkout: Path) -> None:
    (checkout / "drivers" / "port.py").unlink()
    assert found(finding, checkout)[0] is None


@pytest.mark.parametrize("name", ["drivers.url", "nuc_engine.cli", "json", "nuc_core__mypyc"])
def test_nothing_else_is_found(finding: ModuleType, checkout: Path, name: str) -> None:
    (checkout / "drivers" / "port.py").write_text("A = 2\n")
    finder = finding.CompiledCoreFinder(str(checkout / "core"))
    assert finder.find_spec(NAME, [str(checkout / "drivers")]) is None
    assert finder.find_spec(name, [str(checkout / "drivers")]) is None


def test_a_core_that_cannot_be_read_is_not_used(finding: ModuleType, checkout: Path) -> None:
    (checkout / "core" / "wanted.json").write_text("{")
    origin, why = found(finding, checkout)
    assert origin is None
    assert "cannot be read" in why


def test_a_process_may_do_without(finding: ModuleType, checkout: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path: list[object] = []
    monkeypatch.setattr(finding.sys, "meta_path", path)
    finding.install(str(checkout / "core"))
    assert len(path) == 1
    monkeypatch.setenv("NUC_PURE", "1")
    finding.install(str(checkout / "core"))
    assert len(path) == 1
