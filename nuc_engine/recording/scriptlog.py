"""Scriptlog.xml and HDSOlog.xml: SCCILS scripts of what was really done and answered (appendix 10.4, 3.1).

Both stay well-formed SCCILS when read back: a write that was refused stands as a comment with its reason, and a
comment before the entries of one moment gives the cycle. Times are seconds since engine start.
"""

from __future__ import annotations

from pathlib import Path
from typing import IO
from xml.sax.saxutils import escape, quoteattr

from nuc_engine.changes import Applied
from nuc_engine.plan import HdsoPlan, Plan
from sccils_schemas.rules import decode_rule, format_rule

_TAIL = "</hdsoscript>\n"


class HdsoScriptLog:
    """One growing hdsoscript. `close` ends the root element; a file cut before that lacks only its last line."""

    def __init__(self, path: Path, plan: Plan, script_type: str, name: str) -> None:
        self._plan = plan
        self.name = path.name
        self.records = 0
        self._moment: tuple[int, int] | None = None
        self._file: IO[str] = path.open("w", encoding="utf-8", newline="\n")
        self._file.write('<?xml version="1.0" encoding="UTF-8"?>\n<!DOCTYPE hdsoscript SYSTEM "hdsoscript.dtd">\n')
        self._file.write(f"<hdsoscript ScriptType={quoteattr(script_type)} name={quoteattr(name)}>\n")

    def applied(self, applied: Applied) -> None:
        """Log a write that was made, or, as a comment, one that was refused."""
        self._at(applied.time_ns, applied.cycle)
        hdso = self._plan.hdsos[applied.write.hdso]
        element = hdso_mod(hdso, applied.write.values, applied.time_ns)
        if applied.refused:
            element = f"<!-- refused: {_comment(applied.refused)}: {_comment(element)} -->"
        self._file.write(f"  {element}\n")
        self.records += 1

    def answer(self, now_ns: int, cycle: int, hdso: int, values: tuple[int | float, ...]) -> None:
        """Log the answer to a request; an HDSO without a value is an entry with no elements."""
        self._at(now_ns, cycle)
        self._file.write(f"  {hdso_mod(self._plan.hdsos[hdso], values, now_ns)}\n")
        self.records += 1

    def _at(self, time_ns: int, cycle: int) -> None:
        if self._moment != (time_ns, cycle):
            self._moment = (time_ns, cycle)
            self._file.write(f"  <!-- cycle {cycle} -->\n")

    def flush(self) -> None:
        """Put what is buffered on disk."""
        self._file.flush()

    def close(self) -> dict[str, int]:
        """End the document; return entries per file. May be called again."""
        if not self._file.closed:
            self._file.write(_TAIL)
            self._file.close()
        return {self.name: self.records}


def hdso_mod(hdso: HdsoPlan, values: tuple[int | float, ...], time_ns: int) -> str:
    """Return one hdsoMod element; rules are written as text, floats so that they read back equal."""
    seconds, rest = divmod(time_ns, 1_000_000_000)
    time = f"{seconds}.{rest:09d}".rstrip("0").rstrip(".")
    head = f"<hdsoMod idNum={quoteattr(str(hdso.id_num))} name={quoteattr(hdso.name)}"
    if hdso.kind == "boolstring" and values:
        width = hdso.dims[1]
        code = [int(value) for value in values]
        text = format_rule(decode_rule(code[:width], code[width:]))
        return f'{head} NumElts="{len(text)}" datatype="char" time="{time}">{escape(text)}</hdsoMod>'
    if hdso.datatype == "char":
        text = bytes(int(value) for value in values).decode(errors="replace")
        return f'{head} NumElts="{len(values)}" datatype="char" time="{time}">{escape(text)}</hdsoMod>'
    text = " ".join(_number(value, hdso.datatype) for value in values)
    return f'{head} NumElts="{len(values)}" datatype="{hdso.datatype}" time="{time}">{text}</hdsoMod>'


def _number(value: int | float, datatype: str) -> str:
    return f"{value:.9g}" if datatype == "float" else repr(value)


def _comment(text: str) -> str:
    return text.replace("--", "- -")
