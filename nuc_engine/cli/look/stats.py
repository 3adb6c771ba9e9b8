"""`nuc stats`: steps in numbers."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from nuc_engine.cli.terminal.errors import BAD
from nuc_engine.cli.terminal.output import heading, note, say, say_json, say_wrapped
from nuc_engine.cli.terminal.params import NucCommand, SpanParam, as_json, settling, whose_time

if TYPE_CHECKING:
    from nuc_engine.analysis.bout import Bout
    from nuc_engine.analysis.stepstats import WindowStats
    from nuc_engine.analysis.windows import BehaviourWindow


@click.command(
    cls=NucCommand,
    examples=(
        ("nuc stats data/experiment_a", "step period, stance, swing, stride, joint ranges of each behaviour"),
        ("nuc stats data/monday --window 20:40 --settle 0", "of 20 s to 40 s, with nothing left out"),
        ("nuc stats data/a data/b --json", "several bouts, with medians and coefficients of variation"),
    ),
    output=(
        "For each bout a table with one column for each window: what the leg does, and its steps as mean +- standard"
        " deviation. The lift-off spread is the mean deviation of the differences of successive minima of"
        " the thorax-coxa angle. --json adds medians, extremes, coefficients of variation and the reasons.",
        "Exit status 1 when a bout could not be read; the others are told all the same.",
    ),
)
@click.argument(
    "folders", metavar="DIR...", nargs=-1, required=True, type=click.Path(exists=True, file_okay=False, path_type=Path)
)
@click.option(
    "--window", "-w", metavar="A:B", type=SpanParam(), multiple=True, help="Only this span of time, in s; repeatable."
)
@settling
@whose_time
@as_json
def command(
    folders: tuple[Path, ...], window: tuple[tuple[float, float], ...], settle: float, whose_time: str, as_json: bool
) -> int:
    """Step statistics of the bouts in DIR..., window by window; from one change of rules to the next by default."""
    from nuc_engine.analysis.errors import AnalysisError

    bouts: list[dict[str, Any]] = []
    errors: list[str] = []
    for folder in folders:
        try:
            bout, windows = _measure(folder, window, settle, whose_time)
        except AnalysisError as error:
            errors.append(str(error))
            continue
        bouts.append(_data(bout, windows))
        if not as_json:
            _print(bout, windows)
    if as_json:
        say_json({"ok": not errors, "settle_s": settle, "bouts": bouts, "errors": errors})
    for error in errors:
        note(error)
    return BAD if errors else 0


def _measure(
    folder: Path, spans: tuple[tuple[float, float], ...], settle_s: float, whose_time: str
) -> tuple[Bout, tuple[WindowStats, ...]]:
    from nuc_engine.analysis.load import load_bout
    from nuc_engine.analysis.stepstats import bout_stats, in_seconds_of
    from nuc_engine.analysis.summary import span_window
    from nuc_engine.analysis.windows import windows_of_bout

    bout = load_bout(folder)
    if whose_time == "animal":
        bout = bout.in_animal_time()
    spans = tuple((begin * bout.second_s, end * bout.second_s) for begin, end in spans)
    windows: tuple[BehaviourWindow, ...] = windows_of_bout(folder, bout.end_s)
    if spans:
        for begin, end in spans:
            bout.subset(begin, end)
        windows = tuple(span_window(windows, (begin, min(end, bout.end_s))) for begin, end in spans)
    stats = bout_stats(bout, windows, settle_s)
    if bout.second_s != 1.0:
        stats = tuple(in_seconds_of(each, bout.second_s) for each in stats)
    return bout, stats


def _data(bout: Bout, windows: tuple[WindowStats, ...]) -> dict[str, Any]:
    return {
        "folder": bout.folder,
        "configuration": bout.label,
        "notes": bout.notes,
        **({} if bout.second_s == 1.0 else {"time": "animal", "leg_s_per_s": bout.second_s}),
        "windows": [stats.data() for stats in windows],
    }


def _print(bout: Bout, windows: tuple[WindowStats, ...]) -> None:
    from nuc_engine.analysis.stepstats import table_lines

    say(heading(f"{bout.folder}, {bout.label}"))
    for line in bout.notes:
        say(f"note: {line}")
    for line in table_lines([(stats.window.name, stats) for stats in windows], second=bout.second):
        say(line)
    if any(stats.steps and not stats.contact_known for stats in windows):
        say("note: contact was not recorded; swing and stance are taken from the actions")
    for stats in windows:
        reasons = stats.outcome.reasons if stats.outcome is not None else (stats.why_not,)
        for reason in reasons[:3]:
            say_wrapped(f"- {stats.window.name}: {reason}", "  ")
    say()
