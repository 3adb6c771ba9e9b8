"""Names of single elements: `NAME[k]`, or an id and `[k]`; k counts from 0 in row-major order, as lists do here."""

from __future__ import annotations

import re

from nuc_engine.messages.errors import Refused
from nuc_engine.model.plan import HdsoPlan
from nuc_engine.model.store import no_element
from sccils_schemas.names import shorten

_NAMED = re.compile(r"([^\[]+)\[(.*)\]", re.DOTALL)
_COUNTED = re.compile(r"[0-9]{1,9}")


def split_element(ref: int | str) -> tuple[int | str, str | None]:
    """Return name or id, and what stands in brackets behind it; None where nothing does."""
    found = _NAMED.fullmatch(ref) if isinstance(ref, str) else None
    return (ref, None) if found is None else (found[1], found[2])


def read_element(hdso: HdsoPlan, text: str) -> int:
    """Return the element of an HDSO that stands in brackets. Raises Refused when it has none such."""
    named = f"HDSO {hdso.id_num} ({hdso.name})"
    if not _COUNTED.fullmatch(text):
        expected = "expected a whole number, counted from 0"
        raise Refused("bad_request", f"{named}: [{shorten(text)}] names no element", expected)
    if reason := no_element(hdso, int(text)):
        raise Refused("not_found", f"{named}: {reason}")
    return int(text)
