"""What a bout's logs must say, held against what they say: record by record, column by column."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from xml.sax.saxutils import escape, quoteattr

from nuc_engine.verify.documents import Model
from nuc_engine.verify.rules import RuleFault, text_of, tree_of
from nuc_engine.verify.store import Hdso, Number, Values

KEPT = 100
"""Differences of one file that are kept; all are counted."""
EDGE = 1e-12
"""A number this near (relative) to where its ninth digit rounds may be written either way."""

DATA = ("MotorData.txt", "SensData.txt", "StateData.txt", "MuscleData.txt")
SENSED = "SensedData.txt"
"""What was sensed, while it was not all as measured; there is none where it always was."""
SCRIPTS = ("Scriptlog.xml", "HDSOlog.xml")
CLOSED = "</hdsoscript>"
EVENTS = {
    *("plant_event", "write_refused", "control", "control_refused", "reply_missed"),
    *("rule_overlap", "forced_switch", "bad_command", "overrun"),
}
"""Events of Infolog.txt that follow from the equations; all others are told by people, processes or documents."""
HINTED = {"write_refused", "rule_overlap", "bad_command", "overrun"}
"""Faults that are told and end no bout; the first of each ends with a hint in parentheses."""

_ILLEGAL = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_FIELD = re.compile(r'(\w+)="([^"]*)"')


@dataclass(frozen=True, slots=True)
class Difference:
    """One thing that is not as computed: file, record (counted from 1; 0 is the whole file), engine time, column."""

    file: str
    record: int
    time_ns: int | None
    column: str
    computed: str
    found: str


class Report:
    """Differences, as many of each file as are kept, and how many there were."""

    def __init__(self) -> None:
        self.differences: list[Difference] = []
        self.counts: Counter[str] = Counter()

    def differ(self, file: str, record: int, time_ns: int | None, column: str, computed: object, found: object) -> None:
        """Note a difference."""
        self.counts[file] += 1
        if self.counts[file] <= KEPT:
            self.differences.append(Difference(file, record, time_ns, column, str(computed), str(found)))


class Lines:
    """The lines of a log, taken one after the other."""

    def __init__(self, folder: Path, name: str, report: Report) -> None:
        self.name, self.report, self.at, self.missing_ns = name, report, 0, -1
        path = folder / name
        text = path.read_bytes().decode(errors="backslashreplace") if path.is_file() else ""
        self.all = text.split("\n")
        self.torn = self.all.pop()
        """What stands behind the last line's end."""
        self.closed = name not in SCRIPTS or self.all[-1:] == [CLOSED]
        self.all = [line for line in self.all if line != CLOSED]

    def next(self, time_ns: int) -> str | None:
        """Return the next line, or None where there is none any more."""
        self.at += 1
        if self.at <= len(self.all):
            return self.all[self.at - 1]
        self.missing_ns = time_ns if self.missing_ns < 0 else self.missing_ns
        return None

    def end(self, slack_ns: int | None) -> None:
        """Note what was not asked for, and what is missing of the time before `slack_ns`, or (None) at all."""
        left, number = self.all[self.at :], len(self.all) + 1
        if left and slack_ns != 0:
            self.report.differ(self.name, self.at + 1, None, "record", "none", left[0])
        if self.missing_ns >= 0 and (slack_ns is None or self.missing_ns < slack_ns):
            self.report.differ(self.name, number, self.missing_ns, "record", f"{self.at - number + 1} more", "none")
        if (self.torn or not self.closed) and slack_ns != 0:
            self.report.differ(self.name, number, None, "record", "its end, a whole line", self.torn or "no end")


class Logs:
    """The logs of one bout. Each method is told what comes next, and notes what stands there instead.

    `until_ns`: nothing is compared from this time on. `events` are the kinds of events that are told.
    """

    def __init__(
        self, folder: Path, model: Model, name: str, report: Report, until_ns: int | None, events: Collection[str]
    ) -> None:
        self.told = [[kind] for kind in events]
        self.model, self.report, self.until_ns = model, report, until_ns
        self.lines = {file: Lines(folder, file, report) for file in (*DATA, SENSED, *SCRIPTS, "Infolog.txt")}
        self.columns = {file: ["time", *columns] for file, columns in _columns(model).items()}
        whole = {"MotorData.txt": "", "StateData.txt": ".state"}
        self.formats = {
            file: " ".join("%d" if c == "time" or c.endswith(whole.get(file, "\0")) else "%.9g" for c in columns)
            for file, columns in self.columns.items()
        }
        self.hinted: set[str] = set()
        self.moments: dict[str, tuple[int, int, str]] = {}
        self.entries: Counter[str] = Counter()
        for file in SCRIPTS:
            self._line(file, 0, '<?xml version="1.0" encoding="UTF-8"?>')
            self._line(file, 0, '<!DOCTYPE hdsoscript SYSTEM "hdsoscript.dtd">')
            kind = file.removesuffix(".xml")
            self._line(file, 0, f"<hdsoscript ScriptType={quoteattr(kind)} name={quoteattr(name)}>")

    def row(self, file: str, time_ns: int, values: Sequence[Number]) -> None:
        """Compare the next record of a data log."""
        if self.until_ns is not None and time_ns >= self.until_ns:
            return
        lines, computed = self.lines[file], self.formats[file] % (time_ns, *values)
        found = lines.next(time_ns)
        if found is None or found == computed:
            return
        words, expected = found.split(" "), computed.split(" ")
        if len(words) != len(expected):
            self.report.differ(file, lines.at, time_ns, "record", f"{len(expected)} columns", f"{len(words)} columns")
            return
        for column, value, text, word in zip(self.columns[file], (time_ns, *values), expected, words, strict=True):
            edges = () if isinstance(value, int) else (value * (1.0 - EDGE), value * (1.0 + EDGE))
            if word != text and word not in [f"{edge:.9g}" for edge in edges]:
                self.report.differ(file, lines.at, time_ns, column, text, word)

    def wrote(
        self, time_ns: int, cycle: int, number: int, values: Values, refused: str, author: str, *, lost: bool
    ) -> None:
        """Compare the entry of a write in Scriptlog.xml; `refused` is why it was not made, or nothing."""
        element = self._mod(number, values, time_ns)
        if refused:
            element = f"<!-- refused: {_comment(refused)}: {_comment(element)} -->"
        elif lost:
            element = f"<!-- replaced by a later entry: {_comment(element)} -->"
        self._entry("Scriptlog.xml", time_ns, cycle, element, author)

    def happened(self, time_ns: int, cycle: int, event: Mapping[str, object]) -> None:
        """Compare the entry of what was done to the leg by hand."""
        self._entry("Scriptlog.xml", time_ns, cycle, _by_hand(event))
        said = ", ".join(f"{key} {value}" for key, value in event.items() if key not in ("kind", "at_ns"))
        self.event(time_ns, "plant_event", f"{event['kind']} {said}")

    def answered(self, time_ns: int, cycle: int, number: int, values: Values) -> None:
        """Compare the answer to a request in HDSOlog.xml; no values for an HDSO that has none."""
        if self.model.hdsos[number].datatype == "char":
            used = max((k for k, value in enumerate(values, 1) if value), default=0)
            values = values[:used]
        self._entry("HDSOlog.xml", time_ns, cycle, self._mod(number, values, time_ns))

    def event(self, time_ns: int, kind: str, text: str, *, sure: bool = True) -> None:
        """Compare the next event of Infolog.txt that follows from the equations; one not `sure` may be missing."""
        if self.until_ns is not None and time_ns >= self.until_ns:
            return
        lines = self.lines["Infolog.txt"]
        before = lines.at, lines.missing_ns
        found = self._next_event(time_ns)
        if found is not None and kind == "reply_missed":
            # Behind it stands what was measured meanwhile.
            found = found.partition(";")[0]
        computed = f"{time_ns} {kind} {' '.join(text.split())}"
        if not sure and found != computed:
            lines.at, lines.missing_ns = before
            return
        hinted = kind in HINTED and kind not in self.hinted
        self.hinted.add(kind)
        if found is not None and hinted and found.startswith(f"{computed} (") and found.endswith(")"):
            return
        if found is not None and (hinted or found != computed):
            self.report.differ(lines.name, lines.at, time_ns, "line", computed, found)

    def _next_event(self, time_ns: int) -> str | None:
        lines = self.lines["Infolog.txt"]
        while (line := lines.next(time_ns)) is not None and line.split(" ", 2)[1:2] not in self.told:
            pass
        return line

    def _entry(self, file: str, time_ns: int, cycle: int, element: str, author: str = "") -> None:
        if self.until_ns is not None and time_ns >= self.until_ns:
            return
        if self.moments.get(file) != (time_ns, cycle, author):
            self.moments[file] = (time_ns, cycle, author)
            by = f", by {_comment(' '.join(author.split()))}" if author else ""
            self._line(file, time_ns, f"  <!-- cycle {cycle}{by} -->")
        self._line(file, time_ns, f"  {element}")
        self.entries[file] += 1

    def _line(self, file: str, time_ns: int, computed: str) -> None:
        lines = self.lines[file]
        found = lines.next(time_ns)
        if found is None or found == computed:
            return
        a, b = _fields(computed), _fields(found)
        if [name for name, _ in a] != [name for name, _ in b]:
            self.report.differ(file, lines.at, time_ns, "line", computed.strip(), found.strip())
            return
        for (name, value), (_, other) in zip(a, b, strict=True):
            if value != other:
                self.report.differ(file, lines.at, time_ns, name, value, other)

    def _mod(self, number: int, values: Values, time_ns: int) -> str:
        """Return an hdsoMod as the logs write it: rules and characters as text."""
        hdso = self.model.hdsos[number]
        seconds = f"{time_ns // 10**9}.{time_ns % 10**9:09d}".rstrip("0").rstrip(".")
        datatype, text = _text(hdso, values)
        count = len(text) if datatype == "char" else len(values)
        return (
            f'<hdsoMod idNum="{number}" name={quoteattr(hdso.name)} NumElts="{count}" datatype="{datatype}" '
            f'time="{seconds}">{escape(text)}</hdsoMod>'
        )

    def end(self, slack_ns: int | None, files: Sequence[str] = (*DATA, *SCRIPTS)) -> None:
        """Note what is left, or missing; of the time from `slack_ns` on anything may be missing, of 0 also left."""
        if self.until_ns is not None:
            return
        info = self.lines["Infolog.txt"]
        missing_ns = info.missing_ns
        if self._next_event(0) is not None and slack_ns != 0:
            self.report.differ(info.name, info.at, None, "line", "no such event", info.all[info.at - 1])
        info.missing_ns = missing_ns
        for file in (*files, SENSED, info.name):
            self.lines[file].end(slack_ns)


def _text(hdso: Hdso, values: Values) -> tuple[str, str]:
    """Return the type and the text of values: numbers with nine digits, or exactly (reading E5)."""
    if hdso.kind == "boolstring" and values:
        try:
            return "char", text_of(tree_of(values))
        except RuleFault:
            pass
    if hdso.datatype == "char":
        try:
            text = bytes(int(value) % 256 for value in values).decode()
        except UnicodeDecodeError:
            text = "\t"
        if not re.search("[\t\n\r]", text) and not _ILLEGAL.search(text):
            return "char", text
    single = hdso.datatype == "float"
    return "int" if hdso.datatype == "char" else hdso.datatype, " ".join(
        f"{value:.9g}" if single else repr(value) for value in values
    )


def _comment(text: str) -> str:
    return re.sub("-(?=-)", "- ", _ILLEGAL.sub("\ufffd", text))


def _by_hand(event: Mapping[str, object]) -> str:
    """Return what was done to a leg as a script's element (docs/readings.md, what was added)."""
    names = {"force_n": "force", "height_cm": "cm", "down_n": "newton", "joint": "joint", "present": "present"}
    given = {"time": _seconds(event["at_ns"])}
    given |= {names[key]: _said(value) for key, value in event.items() if key in names}
    if "duration_ns" in event:
        given["duration"] = _seconds(event["duration_ns"])
    return f"<{event['kind']} {' '.join(f'{name}={quoteattr(value)}' for name, value in given.items())}/>"


def _seconds(time_ns: object) -> str:
    whole, rest = divmod(int(str(time_ns)), 10**9)
    return f"{whole}.{rest:09d}".rstrip("0").rstrip(".")


def _said(value: object) -> str:
    if isinstance(value, list | tuple):
        return " ".join(_said(each) for each in value)
    return {True: "y", False: "n"}[value] if isinstance(value, bool) else str(value).removesuffix(".0")


def _fields(line: str) -> list[tuple[str, str]]:
    """Return what a line of a script log is made of, by name; "data" is an entry's content."""
    head, _, rest = line.partition(">")
    words = [("entry", re.sub(_FIELD, r"\1", head)), *_FIELD.findall(head)]
    return [*words, ("data", rest)]


def _columns(model: Model) -> dict[str, list[str]]:
    """Return the columns of the data logs behind the time, as columns.json names them (readings E2 to E4)."""
    motors = [motor.name for motor in model.motors]
    states: list[str] = []
    for joint in model.joints:
        activations = range(max(2, len(joint.muscles)))
        states += [f"{joint.name}.state", *(f"{joint.name}.activation[{k}]" for k in activations)]
    states += [f"{module.name}.state" for module in model.modules]
    return {
        "MotorData.txt": [f"{name}.{what}" for name in motors for what in ("current_raw", "position_raw")]
        + [f"{name}.{what}" for name in motors for what in ("sent_raw", "age_ns")],
        "SensData.txt": [model.hdsos[number].name for number in model.columns],
        SENSED: [model.hdsos[number].name for number in model.columns],
        "StateData.txt": states,
        "MuscleData.txt": [f"{muscle.name}.{what}" for muscle in model.muscles for what in ("force", "length")],
    }
