"""Scriptlog.xml read back: the writes that were really made, and when the engine started.

It is a script, but not one that could be run: NeuRoMod logs its engine's start and stop time there, which are sensors
(reading E1), and a bout that was cut off leaves it without its end.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from nuc_engine.recording.files import SCRIPT_LOG
from sccils_schemas.documents import HdsoMod, HdsoScript
from sccils_schemas.model import Model, check_script
from sccils_schemas.parser import parse
from sccils_schemas.problems import Problems

ENGINE_START = "engine_start_time"
_END = b"</hdsoscript>"


@dataclass(frozen=True, slots=True)
class ScriptLog:
    """What the log tells. `script` holds the writes of parameters and rules, None where the log cannot be used.

    `engine_start_ns` is the start of NeuRoMod's absolute times, None where it was not logged. `notes` say what was
    missing or left out.
    """

    script: HdsoScript | None = None
    engine_start_ns: int | float | None = None
    notes: tuple[str, ...] = ()

    @property
    def times_s(self) -> tuple[float, ...]:
        """Times after the start at which something was changed."""
        entries = () if self.script is None else self.script.entries
        return tuple(sorted({float(entry.time_s) for entry in entries if entry.time_s > 0}))


def read_script_log(folder: Path, model: Model) -> ScriptLog:
    """Return what the script log of a data directory tells; whatever keeps it from being read is a note."""
    try:
        data = (folder / SCRIPT_LOG).read_bytes()
    except OSError as error:
        return ScriptLog(notes=(f"{SCRIPT_LOG}: cannot be read ({error.strerror}), so changesets are not known",))
    document, problems = parse(data, SCRIPT_LOG)
    notes: tuple[str, ...] = ()
    for shorter in _shortened(data):
        if document is None:
            document, _ = parse(shorter, SCRIPT_LOG)
            notes = (f"{SCRIPT_LOG}: torn end left out",)
    if not isinstance(document, HdsoScript):
        return ScriptLog(notes=_unreadable(problems))
    mods = [entry for entry in document.entries if isinstance(entry, HdsoMod)]
    writes = tuple(mod for mod in mods if not _is_sensor(mod, model))
    script = replace(document, entries=writes)
    problems = check_script(script, model)
    starts = [mod.data[0] for mod in mods if mod.name == ENGINE_START and mod.data and not isinstance(mod.data, str)]
    if not problems.ok:
        return ScriptLog(None, next(iter(starts), None), _unreadable(problems))
    return ScriptLog(script, next(iter(starts), None), notes)


def _shortened(data: bytes) -> Iterator[bytes]:
    """Yield a log that lacks its end, cut after its last whole line or else entry, and ended."""
    if not data.rstrip().endswith(_END):
        for last in (b"\n", b"</hdsoMod>"):
            yield data[: data.rfind(last) + len(last)] + _END


def _is_sensor(mod: HdsoMod, model: Model) -> bool:
    try:
        return model.kind(model.hdso(mod.ref)) == "sensor"
    except KeyError:
        return False


def _unreadable(problems: Problems) -> tuple[str, ...]:
    first = next(iter(problems.errors), "it is no hdsoscript")
    return (f"{SCRIPT_LOG}: not usable, so changesets are not known ({first})",)
