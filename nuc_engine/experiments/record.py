"""verdict.json: a verdict in a form for machines, written and read back. docs/experiments/README.md describes it."""

from __future__ import annotations

import dataclasses
import json
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any, cast

import msgspec

from nuc_engine.experiments.protocol import TableRow, Trial
from nuc_engine.experiments.verdict import ControlVerdict, RowVerdict, Share, Verdict, in_doubt, together

VERDICT_FILE = "verdict.json"
FORMAT = 2
_DIGITS = 6
_DERIVED: Mapping[type, tuple[str, ...]] = MappingProxyType({Share: ("value",), ControlVerdict: ("failed",)})
"""What is written beside the fields, for readers that do not want to compute it."""
_LEFT_OUT = ("samples", "moved")
"""What is known of a repetition only while it is judged."""


class RecordError(Exception):
    """A verdict.json that cannot be used; the message names it and says what was expected."""


def write_verdict(verdict: Verdict, folder: Path, rows: Sequence[TableRow] = ()) -> Path:
    """Write verdict.json into a folder and return its path. The same verdict gives the same bytes.

    Numbers keep six digits; what is not a number is null. Samples of the repetitions are left out. With the
    experiment's `rows`, what all sets of seeds are together stands beside a row's verdict.
    """
    path = folder / VERDICT_FILE
    text = json.dumps(record_of(verdict, rows), indent=1, allow_nan=False, ensure_ascii=False) + "\n"
    path.write_text(text, encoding="utf-8", newline="\n")
    return path


def record_of(verdict: Verdict, rows: Sequence[TableRow] = ()) -> dict[str, Any]:
    """Return a verdict in JSON's own types, as verdict.json holds it; `rows` as in `write_verdict`."""
    record: dict[str, Any] = {"format": FORMAT, "good": verdict.good, **_plain(verdict)}
    asked = {row.name: row for row in rows}
    for plain, seen in zip(record["rows"], verdict.rows, strict=True):
        row = asked.get(seen.name)
        whole = None if row is None else together(row, seen, verdict)
        if row is not None and whole is not None:
            plain |= {"with_other_seeds": _plain(whole), "in_doubt": in_doubt(row, seen, verdict)}
    return record


def read_verdict(folder: Path) -> Verdict | None:
    """Return the verdict in a folder, None where there is none. Raises RecordError for one that cannot be used."""
    path = folder / VERDICT_FILE
    try:
        record = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return None
    except (OSError, ValueError, RecursionError) as error:
        raise RecordError(f"{path}: cannot be read ({error}); expected a verdict of `nuc experiment`") from error
    if not isinstance(record, dict) or cast(dict[str, Any], record).get("format") != FORMAT:
        raise RecordError(f"{path}: is no verdict of format {FORMAT}; run the experiment again")
    try:
        for row in cast(dict[str, Any], record)["rows"]:
            for trial in (*row["trials"], *row["control"]["trials"]):
                trial["samples"] = {}
        return msgspec.convert(_with_nan(record), Verdict)
    except (KeyError, TypeError, msgspec.ValidationError) as error:
        raise RecordError(f"{path}: not in the expected form ({error}); run the experiment again") from error


def trial_record(trial: Trial) -> dict[str, Any]:
    """Return a repetition in JSON's own types, as a verdict.json holds it: what two machines can compare."""
    return _plain(trial)


def row_record(row: RowVerdict) -> dict[str, Any]:
    """Return a row's verdict in JSON's own types, as a verdict.json holds it."""
    return _plain(row)


def _plain(value: Any) -> Any:
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        names = [field.name for field in dataclasses.fields(value)]
        left_out = _LEFT_OUT if isinstance(value, Trial) else ()
        derived = _DERIVED.get(type(value), ())
        return {name: _plain(getattr(value, name)) for name in (*names, *derived) if name not in left_out}
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in cast(Mapping[Any, Any], value).items()}
    if isinstance(value, tuple | list):
        return [_plain(item) for item in cast(tuple[Any, ...], value)]
    if isinstance(value, bool | str | int):
        return value
    number = float(cast(Any, value))
    return float(f"{number:.{_DIGITS}g}") if math.isfinite(number) else None


def _with_nan(value: Any) -> Any:
    """Return a record with NaN for null: a number is all that may be missing."""
    if isinstance(value, dict):
        return {key: _with_nan(item) for key, item in cast(dict[str, Any], value).items()}
    if isinstance(value, list):
        return [_with_nan(item) for item in cast(list[Any], value)]
    return math.nan if value is None else value
