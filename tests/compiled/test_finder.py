"""A compiled core is used only while its sources are those it was made of; no compiler is needed to see that."""

from __future__ import annotations

import hashlib
import importlib.util
import json
import sys
from collections.abc import Callable
from importlib.machinery import EXTENSION_SUFFIXES
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).resolve().parents[2]
NAME = "drivers.port"


def load(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, ROOT / "building" / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def finding() -> ModuleType:
    return load("compiled_core_finder")


@pytest.fixture(scope="module")
def building() -> ModuleType:
    return load("hatch_build")


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A folder with one module of a core, one that it imports, and what was compiled."""
    (tmp_path / "drivers").mkdir()
    (tmp_path / "pyproject.toml").write_text('[tool.mypy]\nfiles = ["drivers/port.py"]\n')
    sources = {"drivers/port.py": "from drivers.table import A\n", "drivers/table.py": "A = 1\n"}
    for file, text in sources.items():
        (tmp_path / file).write_text(text)
    sums = {file: hashlib.sha256(text.encode()).hexdigest() for file, text in sources.items()}
    put_core(tmp_path / "core", EXTENSION_SUFFIXES[0])
    (tmp_path / "core" / "wanted.json").write_text(json.dumps({"modules": ["drivers/port.py"], "sources": sums}))
    return tmp_path


def put_core(core: Path, suffix: str) -> None:
    """Put files where the compiled ones are."""
    (core / "drivers").mkdir(parents=True)
    for name in ("nuc_core__mypyc", "drivers/port"):
        (core / f"{name}{suffix}").touch()


def found(finding: ModuleType, checkout: Path, name: str = NAME) -> tuple[str | None, str]:
    finder = finding.CompiledCoreFinder(str(checkout / "core"))
    spec = finder.find_spec(name, [str(checkout / "drivers")])
    return (None if spec is None else spec.origin), finder.why_pure or ""


def test_the_same_sources_are_taken_compiled(finding: ModuleType, checkout: Path) -> None:
    assert found(finding, checkout) == (str(checkout / f"core/drivers/port{EXTENSION_SUFFIXES[0]}"), "")


@pytest.mark.parametrize("file", ["drivers/port.py", "drivers/table.py"])
def test_a_changed_source_makes_all_of_it_python(finding: ModuleType, checkout: Path, file: str) -> None:
    (checkout / file).write_text("A = 2\n")
    origin, why = found(finding, checkout)
    assert origin is None
    assert f"{file} changed" in why


def test_a_source_that_is_gone_makes_all_of_it_python(finding: ModuleType, checkout: Path) -> None:
    (checkout / "drivers" / "port.py").unlink()
    assert found(finding, checkout)[0] is None


def test_what_is_only_imported_stays_python(finding: ModuleType, checkout: Path) -> None:
    assert found(finding, checkout, "drivers.table") == (None, "")


@pytest.mark.parametrize("part", ["nuc_core__mypyc", "drivers/port"])
def test_a_core_of_another_python_is_not_used(finding: ModuleType, checkout: Path, part: str) -> None:
    compiled = checkout / "core" / f"{part}{EXTENSION_SUFFIXES[0]}"
    compiled.rename(compiled.with_name("port.cpython-39-x86_64-linux-gnu.so"))
    origin, why = found(finding, checkout)
    assert origin is None
    assert "another Python" in why


@pytest.mark.parametrize("name", ["drivers.url", "nuc_engine.cli", "json", "nuc_core__mypyc"])
def test_nothing_else_is_found(finding: ModuleType, checkout: Path, name: str) -> None:
    (checkout / "drivers" / "port.py").write_text("A = 2\n")
    finder = finding.CompiledCoreFinder(str(checkout / "core"))
    assert finder.find_spec(NAME, [str(checkout / "drivers")]) is None
    assert finder.find_spec(name, [str(checkout / "drivers")]) is None


@pytest.mark.parametrize("text", ["{", "{}", '{"drivers/port.py": "0"}'])
def test_a_core_that_cannot_be_read_is_not_used(finding: ModuleType, checkout: Path, text: str) -> None:
    (checkout / "core" / "wanted.json").write_text(text)
    origin, why = found(finding, checkout)
    assert origin is None
    assert "cannot be read" in why


def test_a_core_is_looked_for_once_and_a_process_may_do_without(
    finding: ModuleType, checkout: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path: list[object] = []
    monkeypatch.setattr(finding.sys, "meta_path", path)
    finding.install(str(checkout / "core"))
    finding.install(str(checkout / "core"))
    assert len(path) == 1
    finding.install(str(checkout / "core of another checkout"))
    assert len(path) == 2
    monkeypatch.setenv("NUC_PURE", "1")
    finding.install(str(checkout / "core of a third"))
    assert len(path) == 2


def test_a_core_is_made_of_its_modules_and_of_what_they_import(building: ModuleType, checkout: Path) -> None:
    (checkout / "drivers" / "other.py").write_text("A = 1\n")
    assert building.made_of(checkout) == json.loads((checkout / "core" / "wanted.json").read_text())


def test_constants_that_stand_in_the_machine_code_count(building: ModuleType) -> None:
    made = building.made_of(ROOT)
    assert set(made["modules"]) < set(made["sources"])
    assert {"drivers/aimotor/table.py", "drivers/bus.py", "nuc_engine/model/plan.py"} <= set(made["sources"])


def stand_in(building: ModuleType, monkeypatch: pytest.MonkeyPatch, then: Callable[[], object]) -> None:
    """Let compiling put files down, and something happen before it is through."""

    def compile_core(root: Path, out: Path) -> None:
        put_core(out, EXTENSION_SUFFIXES[0])
        then()

    monkeypatch.setattr(building, "compile_core", compile_core)


def test_a_new_core_takes_the_place_of_the_old_one_whole(
    building: ModuleType, finding: ModuleType, checkout: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (checkout / "drivers" / "table.py").write_text("A = 2\n")
    (checkout / "core" / "left.txt").touch()
    stand_in(building, monkeypatch, lambda: None)
    building._build(checkout, checkout / "core", building.made_of(checkout))
    assert found(finding, checkout)[1] == ""
    assert not (checkout / "core" / "left.txt").exists()
    assert sorted(path.name for path in checkout.iterdir()) == ["core", "drivers", "pyproject.toml"]


def test_a_compilation_that_is_ended_leaves_the_old_core(
    building: ModuleType, checkout: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = sorted((path, path.stat().st_ino) for path in checkout.rglob("*"))
    stand_in(building, monkeypatch, lambda: sys.exit("ended"))
    with pytest.raises(SystemExit, match="ended"):
        building._build(checkout, checkout / "core", building.made_of(checkout))
    assert sorted((path, path.stat().st_ino) for path in checkout.rglob("*")) == before


def test_a_source_that_changes_while_it_is_compiled_makes_no_core(
    building: ModuleType, checkout: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stand_in(building, monkeypatch, lambda: (checkout / "drivers" / "table.py").write_text("A = 2\n"))
    wanted = (checkout / "core" / "wanted.json").read_text()
    with pytest.raises(SystemExit, match="changed while it was compiled"):
        building._build(checkout, checkout / "core", building.made_of(checkout))
    assert (checkout / "core" / "wanted.json").read_text() == wanted
