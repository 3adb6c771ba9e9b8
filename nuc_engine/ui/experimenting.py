"""What is read of experiments, in a process of its own: which there are, and what came of them.

There are those that came with the program (`published`), and those that were run here (`own`), in the folder that
`nuc experiment` writes into. Every function returns JSON's own types, or bytes. Raises KeyError for what is not there.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Literal

from nuc_engine.experiments.catalogue import EXPERIMENTS
from nuc_engine.experiments.page import PAGE
from nuc_engine.experiments.protocol import Experiment
from nuc_engine.experiments.record import VERDICT_FILE as VERDICT
from nuc_engine.experiments.record import read_verdict
from nuc_engine.experiments.verdict import RowVerdict, Verdict, in_doubt, together
from nuc_engine.machine.locations import find_verdicts
from nuc_engine.ui.reading import plain

Whose = Literal["published", "own"]

MOST_BYTES = 4 << 20
"""Of a verdict, a page or a figure."""

_MOST_SEEDS = 500


def listed(data: Path) -> list[dict[str, Any]]:
    """Return every experiment with its rows, and what came of them, published and own."""
    return [
        {
            "name": experiment.name,
            "section": experiment.section,
            "title": experiment.title,
            "seed": experiment.seed,
            "rows": [{"name": row.name, "saw": row.saw} for row in experiment.rows],
            "published": _verdict(experiment, find_verdicts()),
            "own": _verdict(experiment, data),
        }
        for experiment in EXPERIMENTS
    ]


def _verdict(experiment: Experiment, root: Path | None) -> dict[str, Any] | None:
    """Return what came of an experiment; None where it was not run, `problem` alone where that can not be read."""
    if root is None or not (root / experiment.name / VERDICT).is_file():
        return None
    try:
        _within(root / experiment.name / VERDICT)
        verdict = read_verdict(root / experiment.name)
    except Exception as error:  # a file that anybody may have written
        return {"problem": f"{VERDICT}: {type(error).__name__}: {error}"[:300]}
    if verdict is None:
        return {"problem": f"{VERDICT}: of another version of this program"}
    judged = {row.name: row for row in verdict.rows}
    return {
        "repetitions": verdict.repetitions,
        "seed": verdict.seed,
        "bus": verdict.bus,
        "standing": verdict.standing,
        "good": verdict.good,
        "rows": {
            row.name: _row(row, seen, verdict) for row in experiment.rows if (seen := judged.get(row.name)) is not None
        },
    }


def _row(row: Any, seen: RowVerdict, verdict: Verdict) -> dict[str, Any]:
    share, whole = seen.as_seen, together(row, seen, verdict)
    return {
        "word": seen.word,
        "count": share.count,
        "of": share.of,
        "low": share.low,
        "high": share.high,
        "in_doubt": in_doubt(row, seen, verdict),
        "all_seeds": None if whole is None else {"count": whole.count, "of": whole.of},
    }


def described(name: str, whose: Whose, data: Path) -> dict[str, Any]:
    """Return one verdict: rows with their repetitions, controls, numbers and figures, sources, and the page's text."""
    folder = _folder(name, whose, data)
    text = _within(folder / VERDICT)
    if read_verdict(folder) is None:  # whatever is not as it is written fails here, not in a page
        raise KeyError(f"{VERDICT}: of another version of this program")
    found: Any = plain(json.loads(text))
    for row in found["rows"]:
        row["trials"] = row["trials"][:_MOST_SEEDS]
    page = folder / PAGE
    written = _within(page).decode("utf-8", "replace") if page.is_file() else ""
    return {"verdict": found, "page": written, "folder": str(folder)}


def figure(name: str, whose: Whose, data: Path, file: str) -> bytes:
    """Return a figure of a verdict, as PNG."""
    if file not in {path.name for path in _folder(name, whose, data).glob("*.png")}:
        raise KeyError(f"no figure {file!r}")
    content = _within(_folder(name, whose, data) / file)
    if not content.startswith(b"\x89PNG"):
        raise KeyError(f"{file!r} is no picture")
    return content


def _folder(name: str, whose: Whose, data: Path) -> Path:
    root = find_verdicts() if whose == "published" else data
    if root is None or name not in {experiment.name for experiment in EXPERIMENTS}:
        raise KeyError(f"no experiment {name!r}")
    folder = root / name
    if folder.is_symlink() or not (folder / VERDICT).is_file():
        raise KeyError(f"{name}: was not run")
    return folder


def _within(path: Path) -> bytes:
    """Return a file's bytes. Raises KeyError for one that leads elsewhere or is too long."""
    if path.is_symlink():
        raise KeyError(f"{path.name} leads elsewhere")
    with path.open("rb") as file:
        content = file.read(MOST_BYTES + 1)
    if len(content) > MOST_BYTES:
        raise KeyError(f"{path.name} has more than {MOST_BYTES >> 20} MiB")
    return content
