"""`nuc compare`: bouts side by side."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from nuc_engine.cli.terminal.errors import BAD, CommandFailed
from nuc_engine.cli.terminal.output import count, heading, note, say, say_json
from nuc_engine.cli.terminal.params import NucCommand, OutFile, SpanParam, as_json, settling
from nuc_engine.machine.needs import need
from nuc_engine.recording.formats import FIGURES

if TYPE_CHECKING:
    from nuc_engine.analysis.bout import Bout
    from nuc_engine.analysis.compare import Comparison
    from nuc_engine.analysis.windows import BehaviourWindow
    from nuc_engine.configurations.difference import ConfigurationDifference

_SHOWN = 12
"""Differences of one kind that are shown as text."""


@click.command(
    cls=NucCommand,
    examples=(
        ("nuc compare data/monday data/tuesday", "what was different, and what it made of the steps"),
        ("nuc compare data/null data/pc data/lin --figure steps.png", "three bouts, and their mean steps drawn"),
    ),
    output=(
        "What differs in configuration, plant, script and edits from the first bout; then for each window the step"
        " statistics side by side, and by how many degrees (root mean square) the mean steps are apart. The figure has"
        " mean joint angles over the step, with one standard deviation of the steps.",
        "Exit status 1 when a bout could not be read; differences are no error.",
    ),
)
@click.argument(
    "folders", metavar="DIR...", nargs=-1, required=True, type=click.Path(exists=True, file_okay=False, path_type=Path)
)
@click.option(
    "--window", "-w", metavar="A:B", type=SpanParam(), multiple=True, help="Only this span of time, in s; repeatable."
)
@settling
@click.option(
    "--figure",
    "-f",
    metavar="FILE",
    type=OutFile(FIGURES),
    help="Draw the mean steps: .png, .svg or .pdf.",
)
@as_json
def command(
    folders: tuple[Path, ...],
    window: tuple[tuple[float, float], ...],
    settle: float,
    figure: Path | None,
    as_json: bool,
) -> int:
    """Compare the bouts in DIR... with the first of them: what was set otherwise, and what the leg did otherwise."""
    from nuc_engine.analysis.compare import compare_bouts

    if figure is not None:
        need(matplotlib="--figure")
    if len(folders) < 2:
        raise click.UsageError("expected two or more data directories")
    bouts, errors = _load(folders)
    if len(bouts) < 2:
        raise CommandFailed(*errors, "nuc compare: fewer than two bouts can be read")
    windows = _windows(bouts, window)
    differences = {name: _differences(bouts[0][1].folder, bout.folder) for name, bout in bouts[1:]}
    comparison = compare_bouts(bouts, windows, settle)
    if figure is not None:
        _draw(comparison, figure)
    if as_json:
        result: dict[str, Any] = {"ok": not errors, "settle_s": settle, "figure": figure, "errors": errors}
        say_json(result | {"differences": differences} | comparison.data())
    else:
        _print(comparison, differences)
        if figure is not None:
            say(f"figure  {figure}")
    for error in errors:
        note(error)
    return BAD if errors else 0


def _load(folders: Sequence[Path]) -> tuple[list[tuple[str, Bout]], list[str]]:
    """Return the bouts that can be read, each with a name of its own, and what is wrong with the others."""
    from nuc_engine.analysis.errors import AnalysisError
    from nuc_engine.analysis.load import load_bout

    bouts: list[tuple[str, Bout]] = []
    errors: list[str] = []
    for folder, name in zip(folders, _names(folders), strict=True):
        try:
            bouts.append((name, load_bout(folder)))
        except AnalysisError as error:
            errors.append(str(error))
    return bouts, errors


def _names(folders: Sequence[Path]) -> list[str]:
    """Return the shortest ends of the paths that tell them apart; the same folder twice is numbered."""
    paths = [folder.resolve().parts for folder in folders]
    for length in range(1, max(map(len, paths)) + 1):
        names = ["/".join(parts[-length:]) for parts in paths]
        if len(set(names)) == len(names):
            return names
    return [f"{folder.name} ({k})" for k, folder in enumerate(folders, 1)]


def _windows(bouts: Sequence[tuple[str, Bout]], spans: Sequence[tuple[float, float]]) -> list[BehaviourWindow] | None:
    from nuc_engine.analysis.summary import span_window
    from nuc_engine.analysis.windows import windows_of_bout

    if not spans:
        return None
    _, first = bouts[0]
    for begin, end in spans:
        for _, bout in bouts:
            bout.subset(begin, end)
    end_s = min(bout.end_s for _, bout in bouts)
    known = windows_of_bout(first.folder, first.end_s)
    return [span_window(known, (begin, min(end, end_s))) for begin, end in spans]


def _differences(a: Path, b: Path) -> list[ConfigurationDifference]:
    """Return what was set otherwise: configuration, plant, how the bout was run, and what was really written."""
    from nuc_engine.analysis.log_columns import model_of
    from nuc_engine.analysis.scriptlog import read_script_log
    from nuc_engine.configurations import difference
    from nuc_engine.machine.locations import PLANT_SPEC_FILE

    models = [model_of(folder) for folder in (a, b)]
    found = difference.compare_models(*models)
    found += difference.compare_plants(a / PLANT_SPEC_FILE, b / PLANT_SPEC_FILE)
    logs = [read_script_log(folder, model).script for folder, model in zip((a, b), models, strict=True)]
    if logs[0] is not None and logs[1] is not None:
        found += difference.compare_scripts(logs[0], logs[1])
    return found + [item for item in difference.compare_bouts(a, b) if item.section in ("bout", "version")]


def _draw(comparison: Comparison, path: Path) -> None:
    from nuc_engine.figures.canvas import house_style, save_figure
    from nuc_engine.figures.compare_figure import compare_figure

    with house_style():
        save_figure(compare_figure(comparison), path)


def _print(comparison: Comparison, differences: dict[str, list[ConfigurationDifference]]) -> None:
    from nuc_engine.cli.look.diff import difference_lines, section_title
    from nuc_engine.configurations.difference import joined

    first = comparison.sides[0]
    say(f"{first.name}: {first.bout.folder}, {first.bout.label}")
    for side in comparison.sides[1:]:
        say(f"{side.name}: {side.bout.folder}, {side.bout.label}")
    for side in comparison.sides:
        for line in side.bout.notes:
            say(f"note: {side.name}: {line}")
    for name, found in differences.items():
        say()
        say(heading(f"{first.name} -> {name}: {count(len(found), 'difference')}"))
        for section, members in joined(found).items():
            say(f"  {section_title(section)}  ({len(members)})")
            for member in members[:_SHOWN]:
                for line in difference_lines(member):
                    say(f"  {line}")
            if len(members) > _SHOWN:
                say(f"    and {len(members) - _SHOWN} more (nuc diff tells all)")
    say()
    for line in comparison.lines():
        say(line)
