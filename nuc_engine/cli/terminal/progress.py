"""How far it is, on stderr: a line that is written over on a terminal, else a line now and then.

By hand: the library that would draw it takes longer to load than a short command runs.
"""

from __future__ import annotations

import shutil
from types import TracebackType
from typing import Self

import click

from nuc_engine.cli.terminal import wallclock
from nuc_engine.cli.terminal.output import is_terminal, note

_WIDTH = 28
_REDRAW_S = 0.1
_LINE_S = 30.0


class Counter:
    """A line on a terminal's stderr that is written over, at most ten times a second; nothing elsewhere."""

    def __init__(self) -> None:
        self.live = is_terminal(err=True)
        self._drawn_s = 0.0
        self._shown = False

    def show(self, text: str, *, always: bool = False) -> None:
        """Renew the line."""
        if self.live and (always or wallclock.seconds() - self._drawn_s >= _REDRAW_S):
            self._drawn_s, self._shown = wallclock.seconds(), True
            click.echo(f"\r{text}\x1b[K", err=True, nl=False)

    def bar(self, title: str, share: float, text: str, *, always: bool) -> None:
        """Renew the line with a bar; of a title that is too long for the terminal, its end is shown.

        A line that the terminal parts cannot be written over: each time, it would leave a row of itself.
        """
        done = round(_WIDTH * share)
        rest = f"  [{'#' * done}{'.' * (_WIDTH - done)}]  {text}"
        room = shutil.get_terminal_size().columns - 1 - len(rest)
        fitted = title if len(title) <= room else f"...{title[max(0, len(title) - max(room, 3) + 3) :]}"
        self.show(fitted + rest, always=always)

    def clear(self) -> None:
        """Take the line away."""
        if self._shown:
            click.echo("\r\x1b[K", err=True, nl=False)

    def end(self) -> None:
        """Leave the line as it is, and go on below it."""
        if self._shown:
            click.echo(err=True)


class _Timed:
    """A context that counts seconds: `wall_s` is how long it all took."""

    def __init__(self, title: str) -> None:
        self._title = title
        self._line = Counter()
        self._start_s = self.wall_s = 0.0

    def __enter__(self) -> Self:
        """Begin to count."""
        self._start_s = wallclock.seconds()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """End the line."""
        self.wall_s = self._passed_s()
        self._line.end()

    def _passed_s(self) -> float:
        return max(wallclock.seconds() - self._start_s, 1e-9)


class ProgressLine(_Timed):
    """Told how much of a bout's simulated time has passed."""

    _reached_s = 0.0

    def __call__(self, simulated_s: float, duration_s: float, /) -> None:
        """Take the simulated time reached and the whole."""
        if not self._line.live and not self._reached_s:
            note(f"{self._title}: {duration_s:g} s of simulated time")
        self._reached_s = simulated_s
        text = f"{simulated_s:.1f} of {duration_s:g} s  {self._speed()}"
        self._line.bar(self._title, simulated_s / duration_s, text, always=simulated_s >= duration_s)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """End the bar's line, or say how it went."""
        super().__exit__(kind, error, trace)
        if not self._line.live and kind is None and self._reached_s:
            note(f"{self._title}: {self._reached_s:g} s done in {self.wall_s:.1f} s, {self._speed()}")

    def _speed(self) -> str:
        return f"{self._reached_s / self._passed_s():.0f} x real time"


class ManyProgress(_Timed):
    """Told how many of how many are finished.

    It says how many a second, a minute or an hour, and what time is left. What was there before the first call counts
    as done, not as speed. Where items take very different time, the share of the whole's work that is done may be told,
    too: the time that is left follows from it then. `also` is told behind.
    """

    also = ""

    def __init__(self, title: str, what: str = "bouts") -> None:
        super().__init__(title)
        self._what = what
        self._said_s = wallclock.seconds()
        self._before: int | None = None

    def __call__(self, finished: int, total: int, share: float | None = None, /) -> None:
        """Take how many are finished, of how many, and what share of the work these are. Called once per item."""
        if self._before is None:
            self._before = finished - 1
        last, now_s = finished >= total, wallclock.seconds()
        text = self._text(finished, total, share)
        self._line.bar(self._title, finished / total if share is None else share, text, always=last)
        if not self._line.live and (last or now_s - self._said_s >= _LINE_S):
            self._said_s = now_s
            note(f"{self._title}: {text}")

    def note(self, text: str) -> None:
        """Write a line of its own; the bar comes again below it."""
        self._line.clear()
        note(text)

    def _text(self, finished: int, total: int, share: float | None) -> str:
        passed_s = self._passed_s()
        here = (finished - (self._before or 0)) / total if share is None else max(share, 1e-9)
        left_s = passed_s / here * (1 - (finished / total if share is None else share))
        left = f"about {_span(left_s)} left" if finished < total else f"in {_span(passed_s)}"
        rate = _rate((finished - (self._before or 0)) / passed_s)
        return f"{finished} of {total} {self._what}, {rate}, {left}" + (f"; {self.also}" if self.also else "")


def _rate(per_s: float) -> str:
    return f"{per_s:.1f}/s" if per_s >= 1 else f"{60 * per_s:.1f}/min" if per_s >= 1 / 60 else f"{3600 * per_s:.1f}/h"


def _span(seconds: float) -> str:
    if seconds < 90:
        return f"{seconds:.0f} s"
    if seconds < 5400:
        return f"{seconds / 60:.0f} min"
    return f"{seconds / 3600:.1f} h"
