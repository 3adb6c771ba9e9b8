"""The screen of `nuc ctl watch`: the whole leg in a table that is always up to date."""

from __future__ import annotations

from typing import ClassVar

from rich.table import Table
from rich.text import Text
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.widgets import Static

from nuc_engine.cli.ctl.watching import Watch
from nuc_engine.cli.ctl.watchview import WatchState, head_lines, joint_cells
from nuc_engine.cli.terminal.fullscreen import FullScreen
from nuc_engine.cli.terminal.ink import TASK_HEAD, table, task_rows

_REFRESH_S = 0.2
_TITLES = ("joint", "action", "angle", "load", "sent", "activations", "rules")
_MARKS = {True: ("T", "green bold"), False: ("f", "red"), None: ("?", "")}


class WatchScreen(FullScreen):
    """The leg, looked at five times a second. Where it is low, events give way first, then tasks; alarms stay."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("q,escape", "quit")]
    CSS = (
        FullScreen.CSS
        + """
        Screen { overflow: hidden; }
        #title { text-style: bold; }
        #wrong { color: ansi_red; text-style: bold; }
        #joints { margin-top: 1; }
        #tasks { margin-top: 1; }
        #told { height: 1fr; margin-top: 1; content-align: left top; }
        #keys { dock: bottom; text-style: dim; }
        """
    )

    def __init__(self, watch: Watch) -> None:
        super().__init__("title", "wrong", "control", "joints", "tasks", "told")
        self._watch = watch

    def compose(self) -> ComposeResult:
        """Lay it out."""
        yield from self.texts.values()
        yield Static("q quits", id="keys")

    def on_mount(self) -> None:
        """Begin to look at the leg."""
        self.call_after_refresh(self.action_refresh)
        self.set_interval(_REFRESH_S, self.action_refresh)

    def action_refresh(self) -> None:
        """Look at the leg again."""
        self._watch.refresh()
        view = self._watch.view
        title, wrong, control = head_lines(view)
        # The newest are at the end, and stay where not all have room.
        newest = view.told[-max(1, self.texts["told"].size.height) :]
        for name, lines in (("title", [title]), ("wrong", wrong), ("control", control), ("told", newest)):
            self.put(name, Text("\n".join(lines), no_wrap=True, overflow="ellipsis"))
            self.texts[name].display = any(lines)
        self.texts["joints"].update(_joints(view))
        rows = task_rows({} if view.status is None else view.status.tasks)
        head, *tasks = table([TASK_HEAD, *rows]) if rows else [""]
        self.put("tasks", Text.assemble((head, "dim"), "\n", "\n".join(tasks), no_wrap=True))
        self.texts["tasks"].display = bool(rows)


def _joints(view: WatchState) -> Table:
    found = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False, header_style="", expand=False)
    for k, title in enumerate(_TITLES):
        # Names give way first: the numbers are what is watched.
        numeric = 2 <= k <= 4
        found.add_column(title, justify="right" if numeric else "left", no_wrap=k < 6, min_width=8 if k < 2 else None)
    for cells, truths in joint_cells(view) if view.joints else ():
        marks = Text(" ").join(Text(*_MARKS[truth]) for truth in truths)
        found.add_row(*cells, marks)
    return found
