"""One word for one thing: a file's name stands in one module, and no two classes have the same name."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Mapping
from pathlib import Path

from nuc_engine.analysis.log_columns import OLD_JOINTLIST
from nuc_engine.experiments.record import VERDICT_FILE
from nuc_engine.machine.locations import PLANT_SPEC_FILE
from nuc_engine.model.extensions import EXTENSIONS_FILE
from nuc_engine.recording import files
from sccils_schemas.model import MODEL_FILES

ROOT = Path(__file__).parents[2]
VERIFY = "nuc_engine/verify/"
"""Checks the engine without sharing anything with it, so it has names of its own."""
NAMES = {
    *(value for name, value in vars(files).items() if name.isupper() and isinstance(value, str)),
    *(*MODEL_FILES, OLD_JOINTLIST, VERDICT_FILE, EXTENSIONS_FILE, PLANT_SPEC_FILE),
}
SPOKEN_TWICE = {
    "Changeset",
    "Hdso",
    "Joint",
    "Leg",
    "Model",
    "Motor",
    "Muscle",
    "Servo",
    "State",
    "Store",
    "Verdict",
    "Weight",
}
"""Words of the language and the field that the verifier has classes for, too."""


def product() -> dict[str, str]:
    """Return the text of every module by its path."""
    paths = (path for top in ("sccils_schemas", "drivers", "nuc_engine") for path in (ROOT / top).rglob("*.py"))
    return {path.relative_to(ROOT).as_posix(): path.read_text(encoding="utf-8") for path in paths}


def homes(modules: Mapping[str, str], names: Iterable[str]) -> dict[str, list[str]]:
    """Return by file name the modules that spell it out as a text of its own."""
    found: dict[str, list[str]] = {name: [] for name in names}
    for path, text in modules.items():
        texts = {node.value for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Constant)}
        for name, paths in found.items():
            if name in texts and not path.startswith(VERIFY):
                paths.append(path)
    return found


def classes(modules: Mapping[str, str]) -> dict[str, list[str]]:
    """Return by name the modules that define a public class."""
    found: dict[str, list[str]] = {}
    for path, text in modules.items():
        for node in ast.parse(text).body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                found.setdefault(node.name, []).append(path)
    return found


def twice(found: Mapping[str, list[str]]) -> dict[str, list[str]]:
    return {name: paths for name, paths in found.items() if len(paths) > 1}


def test_a_files_name_stands_in_one_module() -> None:
    assert len(NAMES) >= 20
    found = homes(product(), NAMES)
    assert twice(found) == {}
    assert all(found.values())


def test_a_name_that_stands_in_two_modules_is_found() -> None:
    modules = {
        "a.py": 'LOG = "a.txt"',
        "b.py": 'open("a.txt")',
        "c.py": '"""a.txt."""\nprint("no a.txt here")',
        VERIFY + "d.py": 'LOG = "a.txt"',
    }
    assert twice(homes(modules, ["a.txt"])) == {"a.txt": ["a.py", "b.py"]}


def test_no_two_classes_have_the_same_name() -> None:
    found = twice(classes(product()))
    assert {name for name, paths in found.items() if any(path.startswith(VERIFY) for path in paths)} == SPOKEN_TWICE
    assert {name: paths for name, paths in found.items() if name not in SPOKEN_TWICE} == {}
    assert all(len(paths) == 2 for paths in found.values())


def test_a_class_that_stands_in_two_modules_is_found() -> None:
    modules = {"a.py": "class A: ...\nclass _B: ...", "b.py": "class A: ...\nclass _B: ...\nclass C: ..."}
    assert twice(classes(modules)) == {"A": ["a.py", "b.py"]}


def test_modules_that_the_glossary_names_are_there() -> None:
    text = (ROOT / "docs" / "glossary.md").read_text(encoding="utf-8")
    named = re.findall(r"`((?:nuc_engine|drivers|sccils_schemas)/[\w/]+\.py)`", text)
    assert len(named) >= 10
    assert [name for name in named if not (ROOT / name).is_file()] == []
