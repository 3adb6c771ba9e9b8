"""The screen of `nuc ctl tune`: a line per rule, term and value; keys choose and turn them."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar, cast

from rich.text import Text
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal
from textual.events import Key, Resize
from textual.screen import ModalScreen
from textual.widgets import Input, OptionList, Static
from textual.widgets.option_list import Option

from nuc_engine.cli.ctl.sheet import SheetRow
from nuc_engine.cli.ctl.tuneview import LEFT, NO_ROWS, about, gap_before, head_lines, row_text
from nuc_engine.cli.ctl.tuning import Tune, nothing_to_turn
from nuc_engine.cli.terminal.fullscreen import FullScreen
from nuc_engine.cli.terminal.ink import cut

_REFRESH_S = 0.1
_BIG = 10
"""Quanta of a big step."""

_KEYS = "up/down choose  left/right step  <> ten steps  e type  u undo  r record  s save  ? help  q quit"
_SHORT_KEYS = "arrows  <> x10  e type  u undo  r rec  s save  ? help  q quit"
_PROMPT_KEYS = "enter: send   esc: leave as it was"
_HELP = """\
up, down, page up, page down   choose a line; tab: the next action
left, right   or  -  +         step the value by its quantum
shift-left, shift-right  or < > ten quanta
e or enter    type a value; on a rule: rewrite it, with names, < > & | ( )
u  U          undo the last edit (of anybody), do it again
r             begin to record edits as a timed script; r again: end and save it
s  S          save the values in force as a configuration, as a script
m             mark this moment in the logs
t             take control, if nobody has it
!             torque off at once, latched
q             quit; what was set stays set

Any key goes back."""
_STYLES = {True: "green bold", False: "red", None: ""}


class _Help(ModalScreen[None]):
    """What the keys do."""

    def compose(self) -> ComposeResult:
        """Show it."""
        yield Static(Text(_HELP), id="help")

    def on_key(self, event: Key) -> None:
        """Go back, whatever the key."""
        event.stop()
        self.dismiss()


class _Rows(OptionList):
    """The lines of the sheet."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("tab", "app.next_rule"),
        Binding("left,-", "app.step(-1)"),
        Binding("right,+", "app.step(1)"),
        Binding("shift+left,<", f"app.step({-_BIG})"),
        Binding("shift+right,>", f"app.step({_BIG})"),
        Binding("e,enter", "app.edit"),
        Binding("u", "app.do('undo')"),
        Binding("U", "app.do('redo')"),
        Binding("r", "app.record"),
        Binding("s", "app.ask('save', 'save as configuration: ')"),
        Binding("S", "app.ask('save_script', 'save as script: ')"),
        Binding("m", "app.ask('mark', 'mark this moment: ')"),
        Binding("t", "app.do('take_control')"),
        Binding("!", "app.do('off')"),
        Binding("?", "app.help"),
        Binding("q", "app.quit"),
    ]

    def watch_highlighted(self, highlighted: int | None) -> None:
        """Tell at once; a message would come behind the keys that follow."""
        super().watch_highlighted(highlighted)
        cast(TuneScreen, self.app).chosen()


class TuneScreen(FullScreen):
    """One joint, its values looked at ten times a second."""

    CSS = (
        FullScreen.CSS
        + """
        #rows { height: 1fr; border: none; padding: 0; margin-top: 1; background: ansi_default; text-wrap: nowrap; }
        #rows { scrollbar-size-vertical: 1; }
        #rows > .option-list--option { padding: 0; }
        #rows > .option-list--option-disabled { color: $text-muted; }
        #rows > .option-list--option-highlighted { text-style: none; background: ansi_default; color: ansi_default; }
        #title { text-style: bold; }
        #keys, #message { height: 1; }
        #keys { text-style: dim; }
        #prompt { height: 1; display: none; }
        #asks { width: auto; }
        Input { width: 1fr; }
        _Help { align: left top; }
        #help { margin: 4 0 0 0; }
        """
    )

    def __init__(self, tune: Tune) -> None:
        super().__init__("title", "head", "message", "asks", "keys")
        self._tune = tune
        self._list, self._entry = _Rows(id="rows"), Input(compact=True, select_on_focus=False)
        self._prompt = Horizontal(self.texts["asks"], self._entry, id="prompt")
        self._rows: tuple[SheetRow, ...] = ()
        self._before = 0
        self._send: Callable[[str], None] | None = None

    def compose(self) -> ComposeResult:
        """Lay it out."""
        yield self.texts["title"]
        yield self.texts["head"]
        yield self._list
        yield self.texts["message"]
        yield self._prompt
        yield self.texts["keys"]

    def on_mount(self) -> None:
        """Begin to look at the leg."""
        self._list.focus()
        self.set_interval(_REFRESH_S, self.action_refresh)

    def on_resize(self, event: Resize) -> None:
        """Set the lines anew."""
        del event
        self._show()

    def chosen(self) -> None:
        """Forget what came of the line before."""
        if self._chosen != self._before:
            self._before = self._chosen
            self._tune.message = ""
            self._show()

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """Send what was typed, if anything was."""
        text, send = event.value.strip(), self._send
        self._leave()
        if text and send is not None:
            send(text)
        self._show()

    def on_key(self, event: Key) -> None:
        """Take what was typed before the line to type in was there."""
        if self._send is not None and event.is_printable and event.character:
            self._entry.insert_text_at_cursor(event.character)

    def key_escape(self) -> None:
        """Leave what was being typed as it was."""
        if self._send is not None:
            self._leave()
            self._tune.message = "left as it was"
            self._show()

    def action_step(self, steps: int) -> None:
        """Turn what is chosen."""
        self._tune.step(self._row, steps)
        self._show()

    def action_next_rule(self) -> None:
        """Choose the next action's rule."""
        heads = [k for k, row in enumerate(self._rows) if row.kind == "rule"]
        if heads:
            now = self._chosen
            self._choose(next((k for k in heads if k > now), heads[0]))

    def action_edit(self) -> None:
        """Type a value, or rewrite a rule."""
        row = self._row
        if row is None or (row.knob is None and row.kind != "rule"):
            self._tune.message = nothing_to_turn(row)
            self._show()
            return
        rule = str(self._tune.values.get(row.rule) or "") if row.knob is None else ""
        name = row.rule if row.knob is None else row.knob.label
        self._ask(f"{name} = ", lambda text: self._tune.enter(row, text), rule)

    def action_record(self) -> None:
        """Begin to record edits, or end it."""
        if self._tune.recording:
            self._tune.record("")
            self._show()
        else:
            self.action_ask("record", "record edits as script: ")

    def action_ask(self, what: str, asks: str) -> None:
        """Ask for a text to do something with."""
        self._ask(asks, getattr(self._tune, what))

    def action_do(self, what: str) -> None:
        """Do something at once."""
        getattr(self._tune, what)()
        self._show()

    def action_help(self) -> None:
        """Say what the keys do."""
        self.push_screen(_Help())

    @property
    def _chosen(self) -> int:
        option = self._list.highlighted_option
        return min(int(option.id or 0), len(self._rows) - 1) if option is not None else 0

    @property
    def _row(self) -> SheetRow | None:
        return self._rows[self._chosen] if self._rows else None

    def _choose(self, row: int) -> None:
        self._list.highlighted = self._list.get_option_index(str(row))

    def _ask(self, asks: str, send: Callable[[str], None], text: str = "") -> None:
        self._send = send
        self.put("asks", asks)
        self._typing(True)
        self._entry.value = text
        self._entry.cursor_position = len(text)
        self._show()

    def _leave(self) -> None:
        self._send = None
        self._typing(False)

    def _typing(self, on: bool) -> None:
        self._prompt.display = on
        self.texts["message"].display = not on
        self._list.can_focus = not on
        # At once: keys may be on their way.
        self.screen.set_focus(self._entry if on else self._list)

    def action_refresh(self) -> None:
        """Look at the leg again."""
        self._tune.refresh()
        self._show()

    def _show(self) -> None:
        """Show what is known now."""
        tune, columns = self._tune, self.size.width
        title, *more = head_lines(tune, columns)
        state = Text(title)
        if tune.recording:
            state.stylize("red bold", -len(f"REC {tune.recording}"))
        self.put("title", state)
        self.put("head", "\n".join(more))
        self._show_rows(columns - 1)
        message = cut(tune.offline or tune.message or about(tune, self._row), columns)
        self.put("message", Text(message, "red bold" if tune.offline else ""))
        keys = _KEYS if len(_KEYS) <= columns else _SHORT_KEYS
        self.put("keys", cut(_PROMPT_KEYS if self._send is not None else keys, columns))

    def _show_rows(self, columns: int) -> None:
        tune, rows, options = self._tune, self._tune.rows, self._list
        if rows != self._rows or not options.option_count:
            chosen, self._rows = self._chosen, rows
            options.set_options(_options(rows))
            if rows:
                self._choose(min(chosen, len(rows) - 1))
        for k, row in enumerate(rows):
            text = _styled(tune, row, columns, chosen=k == self._chosen)
            if options.get_option(str(k)).prompt != text:
                options.replace_option_prompt(str(k), text)


def _options(rows: tuple[SheetRow, ...]) -> list[Option]:
    options: list[Option] = []
    for k in range(len(rows)):
        options += [Option(gap, disabled=True) for gap in gap_before(rows, k)]
        options.append(Option("", id=str(k)))
    return options or [Option(NO_ROWS, disabled=True)]


def _styled(tune: Tune, row: SheetRow, columns: int, *, chosen: bool) -> Text:
    found = row_text(tune, row, columns)
    text = Text(found.text(chosen=chosen), "bold" if row.kind == "rule" else "")
    text.stylize(_STYLES[found.truth], 2, 2 + len(found.mark))
    if chosen:
        text.stylize("reverse", LEFT)
    return text
