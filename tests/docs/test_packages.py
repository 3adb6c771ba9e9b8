"""Every package's docstring is its map: what it is in a sentence, then each of its modules, and nothing else."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PACKAGES = sorted(
    path.parent for top in ("sccils_schemas", "drivers", "nuc_engine") for path in (ROOT / top).rglob("__init__.py")
)


def there(package: Path) -> set[str]:
    """Return the modules and packages in a package."""
    modules = {path.stem for path in package.glob("*.py")} - {"__init__", "__main__"}
    return modules | {path.parent.name + "/" for path in package.glob("*/__init__.py")}


def told(docstring: str) -> list[str]:
    """Return what a docstring lists, `name    what it is`; indented where it has other paragraphs too."""
    return re.findall(r"^(?: {4})?([a-z]\w*/?) {2,}\S", docstring, re.MULTILINE)


@pytest.mark.parametrize("package", PACKAGES, ids=lambda path: str(path.relative_to(ROOT)))
def test_a_package_says_what_it_is_and_lists_its_modules(package: Path) -> None:
    (statement, *_) = ast.parse((package / "__init__.py").read_text(encoding="utf-8")).body
    assert isinstance(statement, ast.Expr)
    assert isinstance(statement.value, ast.Constant)
    docstring = str(statement.value.value)
    assert docstring.partition("\n")[0].endswith((".", ":"))
    assert told(docstring) == sorted(there(package))


def test_there_are_no_loose_modules_in_the_engine() -> None:
    assert [name for name in there(ROOT / "nuc_engine") if not name.endswith("/")] == []


def test_a_listing_is_told_from_examples_and_sentences() -> None:
    text = "A thing.\n\n    one      first\n    two/     second\n\n    from one import x\nwords of a sentence\n"
    assert told(text) == ["one", "two/"] == told(text.replace("\n    ", "\n"))
