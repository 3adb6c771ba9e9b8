"""What the checks of one document share: its file, the HDSOs, and where problems go."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import SupportsInt

from sccils_schemas.checks.hdso_table import HdsoEntry, HdsoKind, HdsoTable, SourcePlace
from sccils_schemas.checks.writes import check_write
from sccils_schemas.documents import HdsoMod
from sccils_schemas.lines import attribute_line, data_line
from sccils_schemas.names import counted
from sccils_schemas.problems import Problems

VALUE_KINDS: tuple[HdsoKind, ...] = ("parameter", "constant")
"""Kinds of HDSO that functions, activations and dwell times take their numbers from."""


@dataclass(frozen=True, slots=True)
class Scope:
    """One document being checked."""

    file: str
    table: HdsoTable
    problems: Problems

    def error(self, line: SupportsInt, what: str, expected: str = "", hint: str = "") -> None:
        """Note an error."""
        self.problems.error(self.file, line, what, expected, hint)

    def error_at(self, line: int, attribute: str, what: str, expected: str = "", hint: str = "") -> None:
        """Note an error at the value of an attribute of the element on a line."""
        self.problems.error(self.file, attribute_line(line, attribute), what, expected, hint)

    def warning(self, line: SupportsInt, what: str, expected: str = "", hint: str = "") -> None:
        """Note a warning."""
        self.problems.warning(self.file, line, what, expected, hint)

    def find(self, mod: HdsoMod) -> HdsoEntry | None:
        """Return the HDSO an hdsoMod means, or None, reported."""
        return self.table.find_mod(mod, self.file, self.problems)

    def place(self, line: int, attribute: str) -> SourcePlace:
        """Return where an attribute of the element on a line stands."""
        return SourcePlace(self.file, line).attribute(attribute)

    def value_line(self, mods: Sequence[HdsoMod], at: int, otherwise: int) -> int:
        """Return where one of the numbers stands that these hdsoMods give their HDSOs one after another."""
        for mod in mods:
            entry = self.table.get(mod.ref)
            count = 1 if entry is None else entry.count
            if at < count:
                return data_line(mod.line, at) if at < len(mod.data) else otherwise
            at -= count
        return otherwise

    def want_kind(self, entry: HdsoEntry, kinds: tuple[HdsoKind, ...], line: SupportsInt, use: str) -> bool:
        """Report an HDSO of the wrong kind for its use; return whether it is right."""
        if entry.kind not in kinds:
            self.error(line, f"{entry} is a {entry.kind} and stands as {use}", "a " + " or ".join(kinds))
        return entry.kind in kinds

    def want_single(self, entry: HdsoEntry, line: SupportsInt, use: str) -> None:
        """Report an HDSO with several elements where one number is needed."""
        if entry.count != 1:
            self.error(
                line,
                f"{entry} has {counted(entry.count, 'element')} and stands as {use}",
                "an HDSO with a single value",
            )

    def want_value(self, entry: HdsoEntry, line: SupportsInt, use: str) -> None:
        """Warn of an HDSO that is read but holds nothing at the start (reading B13)."""
        held = self.table.values.get(entry.hdso.id_num)
        if entry.kind != "sensor" and (held is None or (not isinstance(held, str) and len(held) < entry.count)):
            what = f"{entry}, {use}, has no value at the start"
            self.warning(line, what, hint="give it initial_data, or let a script set it at time 0")

    def check_initialiser(self, mod: HdsoMod, entry: HdsoEntry) -> None:
        """Report an hdsoMod of a joint list whose write can not be done; a mere reference writes nothing."""
        if mod.time_s:
            line = attribute_line(mod.line, "time")
            self.warning(line, f"time='{mod.time_s}' has no meaning in a joint list", hint="it writes at the start")
        if not mod.data:
            return
        if entry.kind == "constant":
            hint = "set NumElts='0' to refer to it, and change the value in parameters.xml"
            self.error(mod.line, f"{entry} is a constant and is written", "a parameter", hint)
        check_write(mod, entry, self.table, self.file, self.problems)
