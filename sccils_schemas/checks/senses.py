"""Checking what a script does to senses, and what it waits for: clamps of sensors, and writes that depend on rules."""

from __future__ import annotations

from decimal import Decimal

from sccils_schemas.checks.hdso_table import ENGINE_TIMES, HdsoTable, SourcePlace
from sccils_schemas.checks.rules import check_rule, unset_in
from sccils_schemas.documents import HdsoMod, HdsoScript, SenseClamp, When
from sccils_schemas.lines import attribute_line
from sccils_schemas.problems import Problems
from sccils_schemas.rules import TIME


def check_senses(script: HdsoScript, table: HdsoTable | None, file: str, problems: Problems) -> None:
    """Report clamps and triggers that cannot be; without a model what shows anyway."""
    for entry in script.entries:
        if isinstance(entry, SenseClamp):
            _check_sense(entry, table, file, problems)
        elif isinstance(entry, When):
            _check_when(entry, script, table, file, problems)


def _check_sense(sense: SenseClamp, table: HdsoTable | None, file: str, problems: Problems) -> None:
    line = attribute_line(sense.line, "value")
    if (sense.value is None) == (sense.mode == "value"):
        given = "without a value" if sense.value is None else f"with value='{sense.value:g}'"
        expected = "a value" if sense.value is None else "mode='value', or no value"
        problems.error(file, line, f"mode='{sense.mode}' of <sense> {given}", expected)
    if table is None:
        return
    entry = table.find(sense.sensor, SourcePlace(file, sense.line).attribute("sensor"), problems)
    if entry is None:
        return
    felt = table.fed is None or (entry.hdso.id_num in table.fed and entry.hdso.name not in ENGINE_TIMES)
    if entry.kind != "sensor" or not felt:
        line = attribute_line(sense.line, "sensor")
        problems.error(file, line, f"{entry} is not sensed", "a sensor of a motor, or a signal")


def _check_when(when: When, script: HdsoScript, table: HdsoTable | None, file: str, problems: Problems) -> None:
    def at(name: str) -> int:
        return attribute_line(when.line, name)

    times = {"holds": when.holds_s, "after": when.after_s, "from": when.time_s, "refractory": when.refractory_s}
    for name, value in times.items():
        if value < 0:
            problems.error(file, at(name), f"{name}='{value}' of <when>", "0 or more seconds")
    if when.until_s is not None and when.until_s <= when.time_s + max(when.holds_s, Decimal(0)):
        what = f"until='{when.until_s}' of <when>, from='{when.time_s}', holds='{when.holds_s}'"
        problems.error(file, at("until"), what, "until after from + holds", "it can never fire")
    if table is None:
        return
    place = SourcePlace(file, when.line)
    check_rule(when.rule, None, table, lambda place_at: place.attribute("rule", place_at), problems, known=(TIME,))
    # What the script gives a value to is judged when the trigger is armed.
    written = {entry.ref for entry in script.entries if isinstance(entry, HdsoMod)}
    for entry in unset_in(when.rule, table):
        if not written & {entry.hdso.id_num, entry.hdso.name}:
            what = f"{entry}, used by the rule of <when>, has no value"
            problems.error(file, at("rule"), what, "initial_data for it, or a write by the script")
