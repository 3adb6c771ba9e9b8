"""How many of many bouts are done, on stderr: a bar and the time left on a terminal, else a line now and then."""

from __future__ import annotations

from types import TracebackType

import click

from nuc_engine.cli.terminal import wallclock
from nuc_engine.cli.terminal.output import fitted, is_terminal, note

_WIDTH = 28
_REDRAW_S = 0.1
_LINE_S = 30.0


class ManyProgress:
    """Told how many of how many are finished. Use as a context; `wall_s` is how long it all took.

    What was there before the first call counts as done, not as speed. Where items take very different time, the share
    of the whole's work that is done may be told, too: the time that is left follows from it then.
    """

    def __init__(self, title: str, what: str = "bouts") -> None:
        self._title, self._what = title, what
        self._live = is_terminal(err=True)
        self._start_s = self._shown_s = 0.0
        self._before: int | None = None
        self._shown = False
        self.wall_s = 0.0

    def __enter__(self) -> ManyProgress:
        """Begin to count."""
        self._start_s = self._shown_s = wallclock.seconds()
        return self

    def __call__(self, finished: int, total: int, share: float | None = None, /) -> None:
        """Take how many are finished, of how many, and what share of the work these are. Called once per item."""
        now_s = wallclock.seconds()
        if self._before is None:
            self._before = finished - 1
        last = finished >= total
        if self._live and (last or now_s - self._shown_s >= _REDRAW_S):
            self._shown_s, self._shown = now_s, True
            done = round(_WIDTH * (finished / total if share is None else share))
            bar = "#" * done + "." * (_WIDTH - done)
            rest = f"  [{bar}]  {self._text(finished, total, share, now_s)}"
            click.echo(f"\r{fitted(self._title, rest)}\x1b[K", err=True, nl=False)
        elif not self._live and (last or now_s - self._shown_s >= _LINE_S):
            self._shown_s = now_s
            note(f"{self._title}: {self._text(finished, total, share, now_s)}")

    def note(self, text: str) -> None:
        """Write a line of its own; the bar comes again below it."""
        if self._shown:
            click.echo("\r\x1b[K", err=True, nl=False)
        note(text)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """End the bar's line."""
        self.wall_s = wallclock.seconds() - self._start_s
        if self._shown:
            click.echo(err=True)

    def _text(self, finished: int, total: int, share: float | None, now_s: float) -> str:
        passed_s = max(now_s - self._start_s, 1e-9)
        here = (finished - (self._before or 0)) / total if share is None else max(share, 1e-9)
        left_s = passed_s / here * (1 - (finished / total if share is None else share))
        left = f"about {_span(left_s)} left" if finished < total else f"in {_span(passed_s)}"
        return f"{finished} of {total} {self._what}, {left}"


def _span(seconds: float) -> str:
    if seconds < 90:
        return f"{seconds:.0f} s"
    if seconds < 5400:
        return f"{seconds / 60:.0f} min"
    return f"{seconds / 3600:.1f} h"
