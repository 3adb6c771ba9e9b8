"""Names: what may be one, what was probably meant, and how ids are listed in messages."""

from __future__ import annotations

import difflib
import itertools
import re
from collections.abc import Iterable

from sccils_schemas.lookalikes import odd_letters, skeleton

MAX_CANDIDATES = 2000
"""Most known words a guess at what was meant looks at."""
MAX_NAME_BYTES = 128
"""Longest name, in bytes of UTF-8 (NeuRoMod's LEGDEF_NAMELENGTH)."""

NAME_START = (
    "A-Z_a-z\u00c0-\u00d6\u00d8-\u00f6\u00f8-\u02ff\u0370-\u037d\u037f-\u1fff\u200c\u200d\u2070-\u218f"
    "\u2c00-\u2fef\u3001-\ud7ff\uf900-\ufdcf\ufdf0-\ufffd\U00010000-\U000effff"
)
NAME_REST = NAME_START + "0-9.\u00b7\u0300-\u036f\u203f\u2040-"
NAME = re.compile(f"[{NAME_START}][{NAME_REST}]*")
"""A name as XML ids have it (NCName): a letter or underscore, then letters, digits, `_`, `-`, `.`."""


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """Return `did you mean 'x'?` for the nearest known word, or an empty string. Looks at `MAX_CANDIDATES` at most.

    Nothing is meant by a word longer than any name is.
    """
    if len(word) > MAX_NAME_BYTES:
        return ""
    looked_at = tuple(itertools.islice(known, MAX_CANDIDATES))
    alike = next((candidate for candidate in looked_at if skeleton(candidate) == skeleton(word)), None)
    if alike is not None and (odd := odd_letters(word) or odd_letters(alike)):
        return f"'{alike}' only looks the same: {odd}"
    by_lower = {candidate.lower(): candidate for candidate in looked_at}
    parts = sorted(word.lower().split("_"))
    turned = [candidate for candidate in by_lower if sorted(candidate.split("_")) == parts]
    close = turned or difflib.get_close_matches(word.lower(), by_lower, n=1, cutoff=0.6)
    return f"did you mean '{by_lower[close[0]]}'?" if close else ""


def id_ranges(ids: Iterable[int], limit: int = 12) -> str:
    """Return ids as runs, `0-2, 20, 101-109`; at most `limit` runs, then `...`."""
    runs: list[list[int]] = []
    for number in sorted(set(ids)):
        if runs and number == runs[-1][1] + 1:
            runs[-1][1] = number
        else:
            runs.append([number, number])
    texts = [str(first) if first == last else f"{first}-{last}" for first, last in runs[:limit]]
    return ", ".join(texts) + (", ..." if len(runs) > limit else "")


def counted(number: int, word: str) -> str:
    """Return `1 value`, `2 values`."""
    return f"{number} {word}" if number == 1 else f"{number} {word}s"


def printable(text: str) -> str:
    r"""Return text as one line that any terminal and any log takes as it is.

    What has no shape of its own (C0 and C1 controls, DEL, line ends of every kind, what turns the direction of writing)
    is written as Python would: an escape as `\x1b`, a line feed as `\n`. What is printable already stays as it is.
    """
    if text.isprintable():
        return text
    return "".join(one if one.isprintable() else one.encode("unicode_escape").decode() for one in text)


def printable_lines(text: str) -> str:
    """Return text likewise, its line feeds left as they are."""
    return "\n".join(map(printable, text.split("\n")))


def shorten(text: str, length: int = 60) -> str:
    """Return text on one line, cut to `length` characters, for use in a message."""
    flat = " ".join(text[: length * 4].split())
    return flat if len(flat) <= length and len(text) <= length * 4 else flat[: length - 3] + "..."
