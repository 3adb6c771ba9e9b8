"""The sheet of `nuc ctl tune` as lines of text: on the screen, and where there is none."""

from __future__ import annotations

from typing import NamedTuple

from nuc_engine.cli.ctl.sheet import Knob, SheetRow
from nuc_engine.cli.ctl.tuning import Tune
from nuc_engine.cli.terminal.ink import cut, headline, number, shown, truth, wrap
from nuc_engine.model.comparisons import rule_truth, term_truth

LEFT = 8
_OPERAND, _VALUE, _STEP = 9, 10, 14
_WIDE = 100
_PLAIN_COLUMNS = 100


class RowText(NamedTuple):
    """A row of the sheet: whether it is true now (None: not known, or no rule), its mark, and its lines."""

    truth: bool | None
    mark: str
    lines: list[str]

    def text(self, *, chosen: bool) -> str:
        """Return all of it."""
        left = f"{'>' if chosen else ' '} {self.mark:<5} "
        return "\n".join((left if k == 0 else " " * LEFT) + line for k, line in enumerate(self.lines))


def plain_text(tune: Tune) -> str:
    """Return the sheet as it is printed once."""
    lines = [*head_lines(tune, _PLAIN_COLUMNS), ""]
    rows = tune.rows
    for k, row in enumerate(rows):
        lines += [*(gap_before(rows, k) or ()), row_text(tune, row, _PLAIN_COLUMNS).text(chosen=k == 0)]
    if not rows:
        lines.append(NO_ROWS)
    return "\n".join(line.rstrip() for line in "\n".join(lines).splitlines()).rstrip()


NO_ROWS = "this joint has no rules, and nothing to turn"


def gap_before(rows: tuple[SheetRow, ...], k: int) -> list[str]:
    """Return the lines that stand before a row and are none."""
    if rows[k].kind == "muscle" and rows[k - 1].kind != "muscle":
        return ["", "functions of the muscles"]
    return [""] if rows[k].kind == "rule" and k else []


def head_lines(tune: Tune, columns: int) -> list[str]:
    """Return what stands above the sheet: the daemon's state, the joint's sensors, and its muscles."""
    sheet, values = tune.sheet, tune.values
    right = f"REC {tune.recording}" if tune.recording else ""
    title = cut(f"{sheet.joint}   {headline(tune.status)}", columns - len(right) - 1)
    lines = [f"{title:<{columns - len(right)}}{right}"]
    action = values.get(f"joint.{sheet.joint}.action") if sheet.states else None
    parts = [f"action {action or '-'}"]
    mode = values.get(f"joint.{sheet.joint}.mode")
    parts += [f"mode {mode}"] if mode else []
    sensors = [name for name in (sheet.angle, sheet.load) if name]
    parts += [f"{name} {number(values.get(name))}{_unit(str(sheet.hdsos[name]['unit']))}" for name in sensors]
    if sheet.motor:
        parts.append(f"sent {number(values.get(f'motor.{sheet.motor}.sent_raw'))}")
    lines.append(cut("  ".join(parts), columns))
    muscles = [
        f"{name} {number(values.get(f'muscle.{name}.activation'))} ({number(values.get(f'muscle.{name}.force'))})"
        for name, _ in sheet.muscles
    ]
    lines.append(cut("activation (force): " + ", ".join(muscles), columns) if muscles else "")
    return lines


def about(tune: Tune, row: SheetRow | None) -> str:
    """Return what is known about the chosen value."""
    if row is None or row.knob is None:
        return "" if row is None else row.rule
    knob = row.knob
    hdso = tune.sheet.hdsos[knob.hdso]
    step = f"step {shown(float(knob.quantum))}{' (none given)' if knob.guessed else ''}{_unit(knob.unit)}"
    return f"{hdso['id']} {knob.label}, {step}: {hdso['fullname'] or hdso['description']}"


def row_text(tune: Tune, row: SheetRow, columns: int) -> RowText:
    """Return a row; of a rule that is longer than the screen is wide, as many lines as it takes."""
    truth_now = _truth(tune, row)
    room = columns - LEFT
    if row.kind == "rule":
        now = "*" if tune.values.get(f"joint.{tune.sheet.joint}.action") == row.state else " "
        lines = wrap(f"{now}{row.label}   {tune.values.get(row.rule) or 'no rule'}", room, "     ")
    else:
        lines = [cut(_value_text(tune, row, room), room)]
    return RowText(truth_now, truth(truth_now) if row.kind in ("rule", "term") else "", lines)


def _value_text(tune: Tune, row: SheetRow, columns: int) -> str:
    knob, term = row.knob, row.term
    number_now = "" if knob is None else _knob_value(tune, knob)
    step = "" if knob is None else f"step {shown(float(knob.quantum))}{'?' if knob.guessed else ''}{_unit(knob.unit)}"
    if term is None:
        return _columns(f"  {row.label}", "", number_now, "" if knob is None else knob.label, step, columns)
    values = tune.values
    if not term.op:
        return _columns(f"  {term.left}", number(values.get(term.left)), "", "", "", columns)
    turned_left = knob is not None and knob.hdso == term.left
    other, op = (term.right, {"<": ">", ">": "<"}[term.op]) if turned_left else (term.left, term.op)
    right = term.right if knob is None else knob.label
    return _columns(
        f"  {other}", f"{number(values.get(other))} {op}", number_now or number(values.get(right)), right, step, columns
    )


def _columns(label: str, operand: str, value: str, name: str, step: str, columns: int) -> str:
    """Return one line; where it is narrow the step goes first, then the end of the name: both stand below, too."""
    wide = max(16, min(26, columns // 4))
    # A label without an operand beside it may take that one's place.
    room = wide if operand else wide + _OPERAND + 1
    beside = f" {operand:>{_OPERAND}}" if operand else ""
    text = f"{cut(label, room):<{room}}{beside} {value:>{_VALUE}}  {name}"
    if columns < _WIDE:
        return text
    return f"{cut(text, columns - _STEP - 1):<{columns - _STEP - 1}} {cut(step, _STEP)}"


def _knob_value(tune: Tune, knob: Knob) -> str:
    value = knob.value(tune.values)
    low, high = knob.suggested
    odd = value is not None and ((low is not None and value < low) or (high is not None and value > high))
    return f"{shown(value)}{'!' if odd else ''}"


def _truth(tune: Tune, row: SheetRow) -> bool | None:
    values, datatypes = tune.values, tune.sheet.datatypes
    if row.term is not None:
        return term_truth(row.term, values, datatypes)
    if row.kind != "rule":
        return None
    # The daemon's word counts.
    told = values.get(f"rule.{row.rule}")
    return told if isinstance(told, bool) else rule_truth(str(values.get(row.rule) or ""), values, datatypes)


def _unit(unit: str) -> str:
    return "" if unit in ("", "dimensionless") else f" {unit.partition(' (')[0]}"
