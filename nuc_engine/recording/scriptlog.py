"""Scriptlog.xml and HDSOlog.xml: SCCILS scripts of what was really done and answered (appendix 10.4, 3.1).

Both stay well-formed SCCILS when read back: a write that was refused stands as a comment with its reason, one that a
later entry of the same moment replaced as a comment that says so, and a comment before the entries of one moment gives
the cycle. Times are seconds since engine start.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from nuc_engine.model.changes import Applied
from nuc_engine.model.plan import HdsoPlan, Plan
from nuc_engine.plants.events import PlantEvent
from nuc_engine.plants.scripted import entry_of
from nuc_engine.recording.growing import Mark
from nuc_engine.recording.logs import NUMBER, TextLog
from sccils_schemas.names import printable
from sccils_schemas.rules import RuleError, decode_rule, format_rule
from sccils_schemas.writer import write_entry

_TAIL = "</hdsoscript>\n"
_NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""Characters that XML 1.0 (2.2) has no way to write."""

_ESCAPED = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;"})
_ESCAPED_IN_ATTRIBUTE = _ESCAPED | str.maketrans({"\n": "&#10;", "\r": "&#13;", "\t": "&#9;"})
"""As `xml.sax.saxutils` has it, which loads a client of the web."""

Values = tuple[int | float, ...]


class HdsoScriptLog:
    """One growing hdsoscript. `close` ends the root element; a file cut before that lacks only its end.

    `records` counts entries. With a `mark`, an earlier writer's script is continued.
    """

    def __init__(self, path: Path, plan: Plan, script_type: str, name: str, mark: Mark | None = None) -> None:
        self._plan = plan
        self.records = 0 if mark is None else mark.records
        self._moment = None if mark is None else mark.moment
        self._ended = False
        self._log = TextLog(path, mark)
        if self._log.mark.size:
            return
        self._log.append('<?xml version="1.0" encoding="UTF-8"?>\n<!DOCTYPE hdsoscript SYSTEM "hdsoscript.dtd">\n')
        self._log.append(f"<hdsoscript ScriptType={_attribute(script_type)} name={_attribute(name)}>\n")

    @property
    def name(self) -> str:
        """The file's name."""
        return self._log.name

    @property
    def mark(self) -> Mark:
        """How far the script is whole on disk; to be asked for after `flush`."""
        return Mark(self._log.mark.size, self.records, self._moment)

    @property
    def missing(self) -> int:
        """Bytes before the mark that somebody else had taken away."""
        return self._log.missing

    def applied(self, applied: Applied, author: str = "") -> None:
        """Log a write that was made, or, as a comment, one that was refused or replaced; whose it was, where known."""
        hdso = self._plan.hdsos[applied.write.hdso]
        element = hdso_mod(hdso, applied.write.values, applied.time_ns)
        if applied.refused:
            element = f"<!-- refused: {_comment(applied.refused)}: {_comment(element)} -->"
        elif applied.replaced:
            element = f"<!-- replaced by a later entry: {_comment(element)} -->"
        self._entry(applied.time_ns, applied.cycle, element, author)

    def happened(self, event: PlantEvent, cycle: int) -> None:
        """Log what was done to the leg by hand."""
        self._entry(event.at_ns, cycle, write_entry(entry_of(event)))

    def answer(self, now_ns: int, cycle: int, hdso: int, values: Values, author: str = "") -> None:
        """Log the answer to a request; an HDSO without a value is an entry with no elements."""
        described = self._plan.hdsos[hdso]
        if described.datatype == "char":
            values = _used(values)
        self._entry(now_ns, cycle, hdso_mod(described, values, now_ns), author)

    def answered(self, now_ns: int, cycle: int, text: str, author: str) -> None:
        """Log, as a comment, an answer that is no HDSO's value."""
        self._entry(now_ns, cycle, f"<!-- answered: {_comment(' '.join(text.split()))} -->", author)

    def left_out(self, text: str) -> None:
        """Log, as a comment, what is not in here."""
        self._log.append(f"  <!-- left out: {_comment(' '.join(text.split()))} -->\n")
        self.records += 1

    def _entry(self, time_ns: int, cycle: int, element: str, author: str = "") -> None:
        if self._moment != (time_ns, cycle, author):
            self._moment = (time_ns, cycle, author)
            by = f", by {_comment(' '.join(author.split()))}" if author else ""
            self._log.append(f"  <!-- cycle {cycle}{by} -->\n")
        self._log.append(f"  {element}\n")
        self.records += 1

    def flush(self, *, sync: bool = False) -> None:
        """Put what is buffered on disk, in whole entries."""
        self._log.flush(sync=sync)

    def abandon(self) -> None:
        """Close without writing what is buffered, nor the document's end."""
        self._log.abandon()

    def end(self) -> None:
        """End the document, once: nothing follows but `flush` and `close`."""
        if not self._ended:
            self._ended = True
            self._log.append(_TAIL)

    def close(self) -> dict[str, int]:
        """End the document; return entries per file. May be called again."""
        if not self._log.closed:
            self.end()
            self._log.close()
        return {self._log.name: self.records}


def hdso_mod(hdso: HdsoPlan, values: Values, time_ns: int) -> str:
    """Return one hdsoMod element that reads back to the same values.

    Rules and characters are written as text where they are any, else as the numbers they are stored as.
    """
    seconds, rest = divmod(time_ns, 1_000_000_000)
    time = f"{seconds}.{rest:09d}".rstrip("0").rstrip(".")
    datatype, count, data = _rule(hdso, values) or _characters(hdso, values) or _numbers(hdso, values)
    return (
        f"<hdsoMod idNum={_attribute(str(hdso.id_num))} name={_attribute(hdso.name)} "
        f'NumElts="{count}" datatype="{datatype}" time="{time}">{data.translate(_ESCAPED)}</hdsoMod>'
    )


def _rule(hdso: HdsoPlan, values: Values) -> tuple[str, int, str] | None:
    if hdso.kind != "boolstring" or not all(isinstance(value, int) for value in values):
        return None
    code, width = [int(value) for value in values], hdso.dims[1]
    try:
        text = format_rule(decode_rule(code[:width], code[width:]))
    except RuleError:
        return None  # a part of a rule, or a write refused for this very reason
    return "char", len(text), text


def _characters(hdso: HdsoPlan, values: Values) -> tuple[str, int, str] | None:
    if hdso.datatype != "char" or not all(isinstance(value, int) and -128 <= value <= 255 for value in values):
        return None
    try:
        text = bytes(int(value) % 256 for value in values).decode()
    except UnicodeDecodeError:
        return None
    return ("char", len(text), text) if text.isprintable() else None


def _numbers(hdso: HdsoPlan, values: Values) -> tuple[str, int, str]:
    data = " ".join(NUMBER % value if hdso.datatype == "float" else repr(value) for value in values)
    return "int" if hdso.datatype == "char" else hdso.datatype, len(values), data


def _used(values: Sequence[int | float]) -> Values:
    # Text shorter than its HDSO leaves zeros behind it.
    count = next((k for k in range(len(values), 0, -1) if values[k - 1]), 0)
    return tuple(values[:count])


def _attribute(text: str) -> str:
    """Return text as the value of an attribute: in single quotes where that saves escaping double ones."""
    escaped = _legal(text).translate(_ESCAPED_IN_ATTRIBUTE)
    if '"' not in escaped:
        return f'"{escaped}"'
    return f"'{escaped}'" if "'" not in escaped else '"{}"'.format(escaped.replace('"', "&quot;"))


def _comment(text: str) -> str:
    return re.sub("-(?=-)", "- ", printable(_legal(text)))


def _legal(text: str) -> str:
    return _NOT_XML.sub("\ufffd", text)
