"""The small configuration of `data/small`, whole or with something changed in it."""

from __future__ import annotations

import shutil
from pathlib import Path

from sccils_schemas.model import Model, load_model
from sccils_schemas.problems import Problem, Problems

SMALL = Path(__file__).parent / "data" / "small"
NEWER = SMALL.parent / "newer"
"""The same leg as documents of SCCILS 0.2, with everything in them that this version brought."""


def small_model() -> Model:
    model, problems = load_model(SMALL)
    assert model is not None, str(problems)
    return model


def changed(folder: Path, *edits: tuple[str, str, str]) -> Path:
    """Copy the small configuration into `folder` with (file, old, new) applied; each `old` must be there."""
    target = folder / "small"
    shutil.copytree(SMALL, target, dirs_exist_ok=True)
    for file, old, new in edits:
        path = target / file
        text = path.read_text()
        assert old in text, f"{old!r} is not in {file}"
        path.write_text(text.replace(old, new, 1))
    return target


def line_of(path: Path, marker: str) -> int:
    """Return the line the first occurrence of `marker` stands on."""
    text = path.read_text()
    assert marker in text, f"{marker!r} is not in {path}"
    return text.count("\n", 0, text.index(marker)) + 1


def mentions(problems: Problems, path: Path, line: int, severity: str, words: tuple[str, ...]) -> list[Problem]:
    """Return the problems at a place that hold all the words."""
    found = [p for p in problems if (p.file, max(p.line, 1), p.severity) == (str(path), line, severity)]
    return [problem for problem in found if all(word in str(problem) for word in words)]
