"""The screen of `nuc ctl tune` as lines of text."""

from __future__ import annotations

from nuc_engine.cli.ctl.rules import rule_truth, term_truth
from nuc_engine.cli.ctl.sheet import Knob, Row
from nuc_engine.cli.ctl.tuning import Screen
from nuc_engine.cli.terminal.ink import PLAIN, Ink, cut, headline, number, shown, truth, wrap

KEYS = "up/down choose  left/right step  <> ten steps  e type  u undo  r record  s save  ? help  q quit"
_SHORT_KEYS = "arrows  <> x10  e type  u undo  r rec  s save  ? help  q quit"
_HELP = (
    "up, down, page up, page down   choose a line; tab: the next action",
    "left, right   or  -  +         step the value by its quantum",
    "shift-left, shift-right  or < > ten quanta",
    "e or enter    type a value; on a rule: rewrite it, with names, < > & | ( )",
    "u  U          undo the last edit (of anybody), do it again",
    "r             begin to record edits as a timed script; r again: end and save it",
    "s  S          save the values in force as a configuration, as a script",
    "m             mark this moment in the logs",
    "t             take control, if nobody has it",
    "!             torque off at once, latched",
    "q             quit; what was set stays set",
    "",
    "A value marked * is sent and not yet in effect. Any key goes back.",
)
_LEFT = 8
_OPERAND, _VALUE, _STEP = 9, 10, 14
_WIDE = 100


def tune_lines(screen: Screen, columns: int, rows: int, ink: Ink = PLAIN) -> list[str]:
    """Return `rows` lines of at most `columns` characters (without what `ink` adds)."""
    head = _head(screen, columns, ink)
    foot = _foot(screen, columns, ink)
    room = max(1, rows - len(head) - len(foot))
    if screen.help:
        body = [cut(line, columns) for line in _HELP]
    else:
        body, chosen = _body(screen, columns, ink)
        # Half a screen around what is chosen; the last lines at the bottom.
        start = max(0, min(chosen - room // 2, len(body) - room))
        body = body[start:]
    body = [*body[:room], *[""] * (room - len(body))]
    return [*head, *body, *foot][:rows]


def _head(screen: Screen, columns: int, ink: Ink) -> list[str]:
    sheet, values, status = screen.sheet, screen.shown, screen.status
    state = sheet.configuration if status is None else headline(status)
    right = f"REC {screen.recording}" if screen.recording else ""
    title = cut(f"{sheet.joint}   {state}", columns - len(right) - 1)
    lines = [ink.title(f"{title:<{columns - len(right)}}") + ink.alarm(right)]
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
    return [*lines, ""]


def _foot(screen: Screen, columns: int, ink: Ink) -> list[str]:
    keys = ink.faint(cut(KEYS if len(KEYS) <= columns else _SHORT_KEYS, columns))
    if screen.prompt is not None:
        text = screen.prompt.asks + screen.prompt.text
        # The end of what is being typed has to be seen, not its beginning.
        return [
            "",
            text[-(columns - 1) :] + ink.chosen(" "),
            ink.faint(cut("enter: send   esc: leave as it was", columns)),
        ]
    message = cut(screen.offline or screen.message or _about(screen), columns)
    return ["", ink.alarm(message) if screen.offline else message, keys]


def _about(screen: Screen) -> str:
    """Return what is known about the chosen value."""
    row = screen.row
    if row is None or row.knob is None:
        return "" if row is None else row.rule
    knob = row.knob
    hdso = screen.sheet.hdsos[knob.hdso]
    step = f"step {shown(float(knob.quantum))}{' (none given)' if knob.guessed else ''}{_unit(knob.unit)}"
    return f"{hdso['id']} {knob.label}, {step}: {hdso['fullname'] or hdso['description']}"


def _body(screen: Screen, columns: int, ink: Ink) -> tuple[list[str], int]:
    lines: list[str] = []
    at = 0
    rows = screen.rows
    for k, row in enumerate(rows):
        chosen = k == min(screen.selected, len(rows) - 1)
        if row.kind == "rule" and lines:
            lines.append("")
        if row.kind == "muscle" and rows[k - 1].kind != "muscle":
            lines += ["", ink.faint("functions of the muscles")]
        if chosen:
            at = len(lines)
        lines += _row_lines(screen, row, columns, ink, chosen=chosen)
    return lines or ["this joint has no rules, and nothing to turn"], at


def _row_lines(screen: Screen, row: Row, columns: int, ink: Ink, *, chosen: bool) -> list[str]:
    """Return the line of a row; of a rule that is longer than the screen is wide, as many as it takes."""
    truth_now = _truth(screen, row)
    mark = truth(truth_now) if row.kind in ("rule", "term") else ""
    left = f"{'>' if chosen else ' '} "
    room = columns - _LEFT
    if row.kind == "rule":
        now = "*" if screen.shown.get(f"joint.{screen.sheet.joint}.action") == row.state else " "
        texts = wrap(f"{now}{row.label}   {screen.shown.get(row.rule) or 'no rule'}", room, "     ")
    else:
        texts = [cut(_value_text(screen, row, room), room)]
    style = ink.true if truth_now else ink.false if truth_now is False else str
    found: list[str] = []
    for text in texts:
        body = ink.chosen(f"{text:<{room}}") if chosen else ink.title(text) if row.kind == "rule" else text
        found.append(f"{left}{style(f'{mark:<5}')} {body}")
        left, mark = "  ", ""
    return found


def _value_text(screen: Screen, row: Row, columns: int) -> str:
    knob, term = row.knob, row.term
    number_now = "" if knob is None else _knob_value(screen, knob)
    step = "" if knob is None else f"step {shown(float(knob.quantum))}{'?' if knob.guessed else ''}{_unit(knob.unit)}"
    if term is None:
        return _columns(f"  {row.label}", "", number_now, "" if knob is None else knob.label, step, columns)
    values = screen.shown
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


def _knob_value(screen: Screen, knob: Knob) -> str:
    value = knob.value(screen.shown)
    sent = "*" if knob.label in screen.awaiting else ""
    low, high = knob.suggested
    odd = value is not None and ((low is not None and value < low) or (high is not None and value > high))
    return f"{sent}{shown(value)}{'!' if odd else ''}"


def _truth(screen: Screen, row: Row) -> bool | None:
    values, datatypes = screen.shown, screen.sheet.datatypes
    if row.term is not None:
        return term_truth(row.term, values, datatypes)
    if row.kind != "rule":
        return None
    # The daemon's word counts; it does not know of what is only sent.
    told = values.get(f"rule.{row.rule}")
    return told if isinstance(told, bool) else rule_truth(str(values.get(row.rule) or ""), values, datatypes)


def _unit(unit: str) -> str:
    return "" if unit in ("", "dimensionless") else f" {unit.partition(' (')[0]}"
