"""Checking what names look like."""

from __future__ import annotations

from sccils_schemas.checks.hdso_table import Place
from sccils_schemas.lookalikes import odd_letters, skeleton
from sccils_schemas.names import shorten
from sccils_schemas.problems import Problems


def check_looks(name: str, place: Place, looks: dict[str, str], problems: Problems) -> None:
    """Warn of a name whose letters look like others, or that looks like another one; `looks` are those seen before."""
    if odd := odd_letters(name):
        what = f"name '{shorten(name)}' has letters that look like others, or like none: {odd}"
        problems.warning(place.file, place.line, what, hint="type it anew")
    other = looks.setdefault(skeleton(name), name)
    if other != name:
        problems.warning(place.file, place.line, f"name '{shorten(name)}' looks like '{shorten(other)}', another name")
