"""Checking HDSO scripts and command scripts (readings C1-C10, D1-D12), and what scripts let be done by hand."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from decimal import Decimal
from itertools import accumulate, pairwise

from sccils_schemas.by_hand import DisconnectEntry, KickEntry, LoadEntry, PlantEntry, ReconnectEntry
from sccils_schemas.checks.course import check_course
from sccils_schemas.checks.hdso_table import HdsoEntry, HdsoTable
from sccils_schemas.checks.senses import check_senses
from sccils_schemas.checks.writes import check_write
from sccils_schemas.documents import (
    HDSO_ALL,
    HDSO_INVALID,
    Command,
    CommandResponse,
    CommandScript,
    ConfigCommand,
    Gradual,
    HdsoMod,
    HdsoScript,
    HdsoSpec,
    JointList,
    Ref,
    ScriptEntry,
    When,
)
from sccils_schemas.lines import attribute_line, data_line
from sccils_schemas.names import counted, did_you_mean, shorten
from sccils_schemas.numbers import nanoseconds
from sccils_schemas.owners import OWNED, owned, owner_text
from sccils_schemas.problems import Problems
from sccils_schemas.reader import STAND_IN

MAX_PORT = 65535
MAX_WRITES = 100_000
"""Most numbers a document writes, gradual changes step by step; a rule or a text counts as one."""
MAX_COMMANDS = 1000
"""Most entries of a command script."""


def check_times(script: HdsoScript, file: str, problems: Problems) -> None:
    """Report negative times, and times that are not in order: entries then take effect sorted by time (reading C5)."""
    latest, warned = None, False
    for entry in script.entries:
        if isinstance(entry, When):
            continue
        if entry.time_s < 0:
            line = attribute_line(entry.line, "time")
            problems.error(file, line, f"time='{entry.time_s}' is before the start", "0 or more seconds")
        elif latest is not None and entry.time_s < latest and not warned:
            warned = True
            what = f"time='{entry.time_s}' follows '{latest}'"
            line = attribute_line(entry.line, "time")
            problems.warning(file, line, what, hint="entries take effect in the order of their times")
        latest = max(latest, entry.time_s) if latest is not None else entry.time_s


def writes_of(entry: ScriptEntry) -> int:
    """Return how many numbers an entry of a script writes, a gradual change with all its steps."""
    if isinstance(entry, Gradual):
        return entry.steps * sum(map(writes_of, entry.mods))
    if isinstance(entry, When):
        return sum(map(writes_of, entry.mods))
    if not isinstance(entry, HdsoMod):
        return 0
    return 1 if isinstance(entry.data, str) and entry.data else len(entry.data)


def check_budget(scripts: Iterable[HdsoScript], file: str, problems: Problems) -> None:
    """Report a document that writes more than can be followed, at the entry with which it does."""
    total, line = 0, 0
    for entry in (entry for script in scripts for entry in script.entries):
        total += writes_of(entry)
        if total > MAX_WRITES and not line:
            line = entry.line
    if total > MAX_WRITES:
        what = f"the document makes {total} writes, gradual changes counted step by step and lists number by number"
        problems.error(file, line, what, f"at most {MAX_WRITES}")


def check_entries(script: HdsoScript, table: HdsoTable | None, jointlist: JointList | None, problems: Problems) -> None:
    """Report everything that keeps a script from being carried out on a model; without a model what shows anyway."""
    file = script.source or "script"
    check_times(script, file, problems)
    check_by_hand(script, jointlist, file, problems)
    check_alone(script, table, file, problems)
    check_senses(script, table, file, problems)
    forbidden = {} if table is None or jointlist is None else _out_of_reach(jointlist, table)
    writes: list[tuple[HdsoMod, HdsoEntry]] = []
    for entry in script.entries:
        if isinstance(entry, HdsoSpec):
            _check_request(entry, table, file, problems)
        elif isinstance(entry, Gradual):
            check_gradual(entry, file, problems)
    waiting = [mod for entry in script.entries if isinstance(entry, When) for mod in entry.mods]
    for mod, at_once in (*((mod, True) for mod in _mods(script)), *((mod, False) for mod in waiting)):
        if _special(mod, file, problems) or table is None:
            continue
        found = table.find_mod(mod, file, problems)
        if found is not None and _permitted(mod, found, forbidden, file, problems):
            check_write(mod, found, table, file, problems)
            if at_once:
                writes.append((mod, found))
    if table is not None and jointlist is not None:
        check_course(writes, table, jointlist, file, problems)


def _mods(script: HdsoScript) -> Iterator[HdsoMod]:
    """Yield a script's writes; a gradual change is looked at as the write it ends with."""
    for entry in script.entries:
        if isinstance(entry, HdsoMod):
            yield entry
        elif isinstance(entry, Gradual):
            for mod in entry.mods:
                yield replace(mod, time_s=entry.time_s + entry.duration_s)


def _out_of_reach(jointlist: JointList, table: HdsoTable) -> dict[int, tuple[str, str]]:
    """Return the HDSOs a script cannot write to any purpose, with what they are and why.

    These are the commands the engine itself writes, all but that of the joint's control mode (reading B20), and
    geometry, which is read once, when the configuration is; and what follows a control or is written by a module.
    """
    found: dict[int, tuple[str, str]] = {}
    for ref, owner, _ in owned(jointlist, table.controls):
        if (entry := table.get(ref)) is not None:
            found[entry.hdso.id_num] = (f"written by {owner_text(owner)}", OWNED)

    def note(mod: HdsoMod | None, what: str, why: str) -> None:
        entry = None if mod is None else table.get(mod.ref)
        if entry is not None:
            found[entry.hdso.id_num] = (what, why)

    for joint in jointlist.joints:
        note(joint.geometry.amatrix, f"the A-matrix of {joint.name}", "geometry is read when a configuration is loaded")
        note(joint.geometry.dh_line, f"the DH line of {joint.name}", "geometry is read when a configuration is loaded")
        for servo in joint.servos:
            for word, mod in (("position", servo.position_command), ("force", servo.force_command)):
                if joint.control_mode != word:
                    why = f"joint {joint.name} is in {joint.control_mode} mode"
                    note(mod, "a command the engine writes", why)
    return found


def _special(mod: HdsoMod, file: str, problems: Problems) -> bool:
    """Report ids that mean no single HDSO (reading C8)."""
    if mod.id_num >= 0 or mod.id_num <= STAND_IN or (mod.id_by_name and mod.name):
        return False
    hint = "only an hdsoSpec may ask for all HDSOs" if mod.id_num == HDSO_ALL else ""
    if mod.id_num == HDSO_INVALID:
        hint = "-4 goes with idByName='y' and a name"
    line = attribute_line(mod.line, "idNum")
    problems.error(file, line, f"idNum='{mod.id_num}' of an hdsoMod means no HDSO", "an HDSO's id", hint)
    return True


def _permitted(
    mod: HdsoMod, entry: HdsoEntry, forbidden: dict[int, tuple[str, str]], file: str, problems: Problems
) -> bool:
    if not mod.data:
        problems.warning(file, mod.line, f"{entry} is named but nothing is written", hint="give NumElts and data")
        return False
    if entry.kind == "sensor":
        hint = "only the engine sets sensors"
        problems.error(file, mod.line, f"{entry} is a sensor and is written", "a parameter", hint)
        return False
    if entry.kind == "constant":
        hint = "constants stay what parameters.xml says; declare a parameter instead"
        problems.error(file, mod.line, f"{entry} is a constant and is written", "a parameter", hint)
        return False
    if entry.hdso.id_num in forbidden:
        what, why = forbidden[entry.hdso.id_num]
        problems.error(file, mod.line, f"{entry} is {what}", "another parameter", why)
        return False
    return True


def _check_request(spec: HdsoSpec, table: HdsoTable | None, file: str, problems: Problems) -> None:
    if spec.id_num == HDSO_ALL and not spec.id_by_name:
        return
    if spec.id_num < 0 and spec.id_num > STAND_IN and not spec.id_by_name:
        hint = "-1 asks for every HDSO"
        line = attribute_line(spec.line, "idNum")
        problems.error(file, line, f"idNum='{spec.id_num}' of an hdsoSpec means no HDSO", "an HDSO's id", hint)
        return
    found = None if table is None else table.find_mod(spec, file, problems)
    if found is not None and spec.num_elts > found.count:
        what = f"{counted(spec.num_elts, 'element')} of {found} asked for"
        problems.error(file, attribute_line(spec.line, "NumElts"), what, f"at most {found.count}, or 0 for all")


def check_commands(
    script: CommandScript, table: HdsoTable | None, jointlist: JointList | None, problems: Problems
) -> None:
    """Report everything wrong with a command script; `table` and `jointlist` are those of the model, if any."""
    file = script.source or "commands"
    if len(script.entries) > MAX_COMMANDS:
        what = f"{len(script.entries)} commands in one document"
        problems.error(file, script.entries[MAX_COMMANDS].line, what, f"at most {MAX_COMMANDS}")
        return
    commands = (entry for entry in script.entries if isinstance(entry, Command) and not _is_poll(entry))
    check_budget((entry.script for entry in commands if entry.script is not None), file, problems)
    for entry in script.entries:
        if isinstance(entry, ConfigCommand):
            _check_config(entry, file, problems)
        elif isinstance(entry, CommandResponse):
            if entry.command is not None:
                _check_command(entry.command, file, problems)
        else:
            _check_command(entry, file, problems)
            if entry.script is not None and _is_poll(entry):
                _check_poll(entry.script, table, file, problems)
            elif entry.script is not None:
                check_entries(entry.script, table, jointlist, problems)


def _is_poll(command: Command) -> bool:
    return command.command_type == "log"


def _check_poll(script: HdsoScript, table: HdsoTable | None, file: str, problems: Problems) -> None:
    """An hdsoMod inside a logging command asks, and never writes (reading D7)."""
    check_times(script, file, problems)
    for entry in script.entries:
        if isinstance(entry, HdsoSpec):
            _check_request(entry, table, file, problems)
        elif not isinstance(entry, HdsoMod):
            hint = "a poll only asks"
            problems.error(file, entry.line, "a poll changes something", "hdsoSpec or hdsoMod", hint)
        elif entry.id_num != HDSO_ALL and table is not None:
            table.find_mod(entry, file, problems)


def _check_command(command: Command, file: str, problems: Problems) -> None:
    kind = command.command_type
    if kind == "extended" and not command.extended_command:
        problems.error(file, command.line, "an extended command without extendedcommand", "its name")
    if command.extended_command and kind not in ("extended", "log"):
        what = f"extendedcommand='{shorten(command.extended_command, 30)}' goes with commandtype='{kind}'"
        problems.error(file, command.line, what, "commandtype='extended' or 'log'")
    if command.start_time_s < 0:
        line = attribute_line(command.line, "starttime")
        problems.error(file, line, f"starttime='{command.start_time_s}'", "0 or more seconds")
    if kind == "log" and 0 <= command.stop_time_s <= command.start_time_s:
        what = f"logging stops at {command.stop_time_s} s and starts at {command.start_time_s} s"
        problems.error(file, command.line, what, "a stop after the start", "both count from the start of the engine")


def _check_config(command: ConfigCommand, file: str, problems: Problems) -> None:
    if not command.config_name.strip():
        problems.error(file, command.line, "an empty configname", "the name of a configuration or parameter")
    if command.config_name != "dataport":
        return
    for value in command.parameters:
        if not (value.isascii() and value.isdigit() and len(value) <= 5 and 1 <= int(value) <= MAX_PORT):
            problems.error(file, command.line, f"dataport '{shorten(value, 30)}'", f"a port from 1 to {MAX_PORT}")


MAX_STEPS = 1000
"""Most steps of one gradual change."""
LONGEST_S = 3600
"""Longest that anything is done by hand, in seconds."""
STRONGEST_N = 1000
"""Greatest size of a force, or of one component of a kick's."""

Span = tuple[Decimal, Decimal, int]
"""Begin and end of a gradual change of one HDSO, and its line."""


def check_gradual(gradual: Gradual, file: str, problems: Problems) -> None:
    """Report times and steps that make no sense, and what has no values in between."""
    if gradual.duration_s <= 0:
        hint = "an hdsoMod of its own takes effect at once"
        line = attribute_line(gradual.line, "duration")
        problems.error(file, line, f"duration='{gradual.duration_s}'", "more than 0 seconds", hint)
    if not 1 <= gradual.steps <= MAX_STEPS:
        problems.error(file, attribute_line(gradual.line, "steps"), f"steps='{gradual.steps}'", f"1 to {MAX_STEPS}")
    elif nanoseconds(gradual.duration_s) < gradual.steps:
        what = f"{gradual.steps} steps in {nanoseconds(gradual.duration_s)} ns"
        problems.error(file, attribute_line(gradual.line, "steps"), what, "at most one for each nanosecond")
    for mod in gradual.mods:
        if isinstance(mod.data, str) and mod.data:
            what = f"'{shorten(mod.data, 30)}' inside <gradual> is text"
            problems.error(
                file, data_line(mod.line), what, "numbers", "a rule or a text changes at once, by an hdsoMod of its own"
            )


def check_alone(script: HdsoScript, table: HdsoTable | None, file: str, problems: Problems) -> None:
    """Report writes, and other gradual changes, of an HDSO while it is being changed gradually."""

    def meant(mod: HdsoMod) -> Ref:
        entry = None if table is None else table.get(mod.ref)
        return mod.ref if entry is None else entry.hdso.id_num

    spans: dict[Ref, list[Span]] = {}
    for entry in script.entries:
        if isinstance(entry, Gradual):
            for mod in entry.mods:
                span = (entry.time_s, entry.time_s + entry.duration_s, mod.line)
                spans.setdefault(meant(mod), []).append(span)
    for ref, found in spans.items():
        found.sort()
        for (_, end, _), (begin, _, line) in pairwise(found):
            if begin < end:
                what = f"HDSO {ref} is changed gradually from {begin} s on, and is still being so until {end} s"
                problems.error(file, line, what, "one after the other")
    ends = {ref: list(accumulate((end for _, end, _ in found), max)) for ref, found in spans.items()}
    for mod in script.entries:
        if not isinstance(mod, HdsoMod) or not mod.data or (ref := meant(mod)) not in spans:
            continue
        # Of the changes that began before it, the one that ends last.
        at = bisect_left(spans[ref], mod.time_s, key=_begin) - 1
        if at >= 0 and mod.time_s < ends[ref][at]:
            what = f"HDSO {ref} is written at {mod.time_s} s while it is changed gradually"
            problems.error(file, attribute_line(mod.line, "time"), what, "a time before or after that")


def _begin(span: Span) -> Decimal:
    return span[0]


def check_by_hand(script: HdsoScript, jointlist: JointList | None, file: str, problems: Problems) -> None:
    """Report what cannot be done to a leg by hand; without a joint list any joint may be named."""
    entries = [entry for entry in script.entries if isinstance(entry, PlantEntry)]
    joints = None if jointlist is None else {joint.name: None for joint in jointlist.joints if not joint.endpoint}
    for entry in entries:
        _check_sizes(entry, file, problems)
        if isinstance(entry, DisconnectEntry) and joints is not None and entry.joint not in joints:
            what = f"there is no joint '{shorten(entry.joint)}'"
            expected = shorten(f"one of {', '.join(joints)}", 200)
            hint = did_you_mean(entry.joint, joints) if problems.guessing else ""
            problems.error(file, attribute_line(entry.line, "joint"), what, expected, hint)
    _check_hands(sorted(entries, key=lambda entry: entry.time_s), file, problems)


def _check_sizes(entry: PlantEntry, file: str, problems: Problems) -> None:
    duration = getattr(entry, "duration_s", None)
    if duration is not None and not 0 <= duration <= LONGEST_S:
        problems.error(
            file, attribute_line(entry.line, "duration"), f"duration='{duration}'", f"0 to {LONGEST_S} seconds"
        )
    forces: tuple[float, ...] = ()
    if isinstance(entry, KickEntry):
        forces = entry.force_n or ()
    elif isinstance(entry, LoadEntry):
        forces = (entry.newton,)
    if any(abs(force) > STRONGEST_N for force in forces):
        line = attribute_line(entry.line, "force" if isinstance(entry, KickEntry) else "newton")
        problems.error(file, line, f"a force of {max(forces, key=abs):g} N", f"at most {STRONGEST_N} N in size")


def _check_hands(entries: Sequence[PlantEntry], file: str, problems: Problems) -> None:
    """Follow a leg as it is taken apart and put together."""
    off: DisconnectEntry | None = None
    together = Decimal(0)
    for entry in entries:
        if isinstance(entry, DisconnectEntry):
            if off is not None or entry.time_s < together:
                what = f"the leg is apart already at {entry.time_s} s"
                problems.error(file, entry.line, what, "a reconnect that has ended by then")
            off = entry
        elif isinstance(entry, ReconnectEntry):
            if off is None:
                problems.error(file, entry.line, f"nothing is taken off at {entry.time_s} s", "a disconnect before it")
            elif entry.time_s < off.time_s + off.duration_s:
                what = f"the leg is still being taken apart at {entry.time_s} s"
                problems.error(file, entry.line, what, "a time when that has ended")
            off, together = None, entry.time_s + entry.duration_s
