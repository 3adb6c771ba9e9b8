"""What texts quote: the verdict of their row, what came of its probes, its other runs, and what was observed beside."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from jinja2 import UndefinedError

from nuc_engine.experiments.protocol import TableRow
from nuc_engine.experiments.templates import filled
from nuc_engine.experiments.verdict import RowVerdict, Verdict, other_runs, together

_FOLDER = Path(__file__).parent / "catalogue"


@cache
def observations() -> Mapping[str, Mapping[str, Any]]:
    """Return what was observed and stands in no verdict, by experiment."""
    return tomllib.loads((_FOLDER / "observed.toml").read_text(encoding="utf-8"))


@cache
def plants_before() -> Sequence[Mapping[str, Any]]:
    """Return, by leg, how rows came out on earlier plants: name, what it was, what was known beforehand, shares by row.

    Beside them stand what the plant of now is (`now`) and what of its rows was `known`.
    """
    return tomllib.loads((_FOLDER / "plants.toml").read_text(encoding="utf-8"))["legs"]


def fill_text(source: str, row: TableRow, seen: RowVerdict, verdict: Verdict) -> str:
    """Return a text of a row with its numbers; a sentence in its place where what it quotes was not measured."""
    evidence = {one.name: {level.label: level.numbers for level in one.levels} for one in seen.evidence}
    try:
        return filled(
            source,
            {
                "row": seen,
                "evidence": evidence,
                "runs": other_runs(row, seen, verdict),
                "together": together(row, seen, verdict),
                "observations": observations(),
                "observed": observations().get(verdict.name, {}),
            },
        )
    except UndefinedError as error:
        return f"Not explained by this run: the explanation quotes what was not measured in it ({error.message})."
