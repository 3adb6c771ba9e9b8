"""How far a bout has come, on stderr: a bar on a terminal, else a line at the start and one at the end."""

from __future__ import annotations

from types import TracebackType

import click

from nuc_engine.cli.terminal import wallclock
from nuc_engine.cli.terminal.output import fitted, is_terminal, note

_WIDTH = 28
_REDRAW_S = 0.1


class Progress:
    """Told the simulated time now and then. Use as a context; `wall_s` is how long it all took."""

    def __init__(self, title: str) -> None:
        self._title = title
        self._live = is_terminal(err=True)
        self._start_s = self._drawn_s = 0.0
        self._reached_s = 0.0
        self.wall_s = 0.0

    def __enter__(self) -> Progress:
        """Begin to count."""
        self._start_s = wallclock.seconds()
        return self

    def __call__(self, simulated_s: float, duration_s: float, /) -> None:
        """Take the simulated time reached and the whole."""
        if not self._live and not self._reached_s:
            note(f"{self._title}: {duration_s:g} s of simulated time")
        self._reached_s = simulated_s
        now_s = wallclock.seconds()
        if self._live and (now_s - self._drawn_s >= _REDRAW_S or simulated_s >= duration_s):
            self._drawn_s = now_s
            done = round(_WIDTH * simulated_s / duration_s)
            bar = "#" * done + "." * (_WIDTH - done)
            rest = f"  [{bar}]  {simulated_s:.1f} of {duration_s:g} s  {self._speed(now_s)}"
            click.echo(f"\r{fitted(self._title, rest)}\x1b[K", err=True, nl=False)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """End the bar's line, or say how it went."""
        now_s = wallclock.seconds()
        self.wall_s = now_s - self._start_s
        if self._live:
            if self._reached_s:
                click.echo(err=True)
        elif kind is None and self._reached_s:
            note(f"{self._title}: {self._reached_s:g} s done in {self.wall_s:.1f} s, {self._speed(now_s)}")

    def _speed(self, now_s: float) -> str:
        passed_s = max(now_s - self._start_s, 1e-9)
        return f"{self._reached_s / passed_s:.0f} x real time"


class Counter:
    """How far it is, on a terminal's stderr; the line is taken away in the end."""

    def __init__(self) -> None:
        self._drawn_s = 0.0
        self._shown = False

    def show(self, text: str, *, always: bool = False) -> None:
        """Renew the line, at most ten times a second."""
        if is_terminal(err=True) and (always or wallclock.seconds() - self._drawn_s >= _REDRAW_S):
            self._drawn_s = wallclock.seconds()
            self._shown = True
            click.echo(f"\r{text}\x1b[K", err=True, nl=False)

    def clear(self) -> None:
        """Take the line away."""
        if self._shown:
            click.echo("\r\x1b[K", err=True, nl=False)
