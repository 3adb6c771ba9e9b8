"""`nuc diagram`: how a leg is controlled, and in which states it really was, as SVG."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from nuc_engine.cli.terminal.output import note_warnings, say, say_json
from nuc_engine.cli.terminal.params import CONFIGURATION, SCRIPT, NucCommand, OutFile, as_json
from nuc_engine.recording.files import MANIFEST_FILE, MOTOR_LOG

if TYPE_CHECKING:
    from nuc_engine.figures.diagrams.states import DiagramPanel
    from nuc_engine.figures.diagrams.wiring import Wiring

KINDS = ("sensory-flow", "event-space", "regions", "states")
_LOGS = (MANIFEST_FILE, MOTOR_LOG)


@dataclass(frozen=True, slots=True)
class _Source:
    """What is drawn: a configuration with a script, or the data directory `bout`."""

    wiring: Wiring
    bout: Path | None
    warnings: tuple[str, ...] = ()


@click.command(
    cls=NucCommand,
    examples=(
        ("nuc diagram lin_roach --what event-space", "which sensory events switch what, in forward stepping"),
        (
            "nuc diagram lin_roach -s experiment_a --at 20 --against 0 --what event-space",
            "the same 20 s into the script, with what is different from its start highlighted",
        ),
        (
            "nuc diagram pc_stickmiddle --what regions --joint FTi",
            "the sensor space of one joint's rules, overlaps marked",
        ),
        ("nuc diagram data/experiment_a --what states", "the global states that were really passed through"),
    ),
    output=(
        "One SVG file; its path to stdout. The same input gives the same bytes.",
        "regions also lists overlaps of rules; of a bout, it draws over them what its sensors did in that behaviour."
        " --json tells the states and how often they followed each other.",
    ),
)
@click.argument("source", metavar="CONFIG|DIR", type=CONFIGURATION)
@click.option("--what", "-w", type=click.Choice(KINDS), required=True, help="Which diagram.")
@click.option("--script", "-s", metavar="SCRIPT", type=SCRIPT, help="With a configuration: a script that changes it.")
@click.option("--at", metavar="T", type=click.FloatRange(0), help="Seconds after the start.  [default: 0]")
@click.option(
    "--against",
    metavar="T|CONFIG",
    help="event-space: highlight what is different from this time of the same script, or from this configuration.",
)
@click.option("--joint", metavar="NAME", help="regions: only this joint.  [default: all]")
@click.option("--begin", metavar="T", type=click.FloatRange(0), help="A bout's states or tracks: only from here on.")
@click.option("--end", metavar="T", type=click.FloatRange(0), help="A bout's states or tracks: only up to here.")
@click.option("--out", "-o", metavar="FILE", type=OutFile(["svg"]), help="Where to put it.")
@as_json
def command(
    source: str,
    what: str,
    script: str | None,
    at: float | None,
    against: str | None,
    joint: str | None,
    begin: float | None,
    end: float | None,
    out: Path | None,
    as_json: bool,
) -> int:
    """Draw a diagram of the configuration CONFIG, or of the bout in the data directory DIR.

    sensory-flow: which sensors each joint listens to. event-space: which sensory events promote which actions.
    regions: where in sensor space each entry rule holds. states: which global states follow which; of a configuration
    by its rules (nominal), of a bout as recorded (actual), one panel for each behaviour.
    """
    from nuc_engine.figures.diagrams.events import event_diagram
    from nuc_engine.figures.diagrams.flow import flow_diagram
    from nuc_engine.figures.diagrams.grid import sensor_space
    from nuc_engine.figures.diagrams.regions import overlap_lines, region_diagram
    from nuc_engine.figures.diagrams.states import actual_data, actual_diagram, nominal_data, nominal_diagram

    _check_options(what, against, joint, (begin, end))
    found = _open(source, script, at or 0.0)
    note_warnings(source, found.warnings)
    told: dict[str, Any] = {}
    if what == "sensory-flow":
        picture = flow_diagram(found.wiring)
    elif what == "event-space":
        picture = event_diagram(found.wiring, None if against is None else _other(source, script, against))
    elif what == "regions":
        tracks = None if found.bout is None else _tracks(found.bout, at or 0.0, (begin, end))
        picture = region_diagram(found.wiring, joint, tracks)
        told["overlaps"] = [
            f"{module.name}: {line}"
            for module in found.wiring.modules
            if joint in (None, module.name, module.role)
            for line in overlap_lines(sensor_space(module))
        ]
    elif found.bout is None:
        picture, told = nominal_diagram(found.wiring), nominal_data(found.wiring)
    else:
        windows = _windows(found.bout, begin, end)
        picture = actual_diagram(found.wiring.label, windows)
        told["windows"] = [actual_data(window) for window in windows]
    target = out or Path(f"{Path(source).name}_{what}.svg")
    target.write_bytes(picture)
    if as_json:
        say_json({"ok": True, "file": target, **told})
    else:
        say(str(target))
        for line in told.get("overlaps", ()):
            say(f"both rules hold: {line}")
    return 0


def _check_options(what: str, against: str | None, joint: str | None, span: tuple[float | None, float | None]) -> None:
    if against is not None and what != "event-space":
        raise click.UsageError("--against needs --what event-space")
    if joint is not None and what != "regions":
        raise click.UsageError("--joint needs --what regions")
    begin, end = span
    if begin is not None and end is not None and begin >= end:
        raise click.UsageError(f"--begin {begin:g} must be before --end {end:g}")


def _open(source: str, script: str | None, at: float) -> _Source:
    folder = Path(source)
    if any((folder / name).exists() for name in _LOGS):
        if script is not None:
            raise click.UsageError("--script goes with a configuration; a bout has its own script")
        return _Source(replace(_wiring_of_bout(folder, at), label=_label_of_bout(folder)), folder)
    from nuc_engine.bout.run import prepare_bout
    from nuc_engine.figures.diagrams.wiring import wiring_at

    prepared = prepare_bout(source, script)
    label = folder.name if script is None else f"{folder.name} with {Path(script).stem}"
    wiring = wiring_at(prepared.model, prepared.plan, prepared.changesets, at, label)
    return _Source(wiring, None, prepared.warnings)


def _wiring_of_bout(folder: Path, at: float) -> Wiring:
    """Return the control system of a bout at a time, by what its script really did."""
    from nuc_engine.figures.diagrams.recorded import recorded_control

    return recorded_control(folder).wiring(at, folder.name)


def _label_of_bout(folder: Path) -> str:
    from nuc_engine.analysis.load import load_bout

    return load_bout(folder).label


def _other(source: str, script: str | None, against: str) -> Wiring:
    try:
        time_s = float(against)
    except ValueError:
        return _open(against, None, 0.0).wiring
    if time_s < 0:
        raise click.UsageError(f"--against {against}: expected a time of at least 0 s, or a configuration")
    return _open(source, script, time_s).wiring


def _windows(folder: Path, begin: float | None, end: float | None) -> list[DiagramPanel]:
    """Return the panels of an actual diagram: one for each behaviour, or one for the span asked for."""
    from nuc_engine.analysis.load import load_bout
    from nuc_engine.analysis.windows import windows_of_bout
    from nuc_engine.figures.diagrams.seen import global_states
    from nuc_engine.figures.diagrams.states import DiagramPanel

    bout = load_bout(folder)
    spans = [(window.name, window.begin_s, window.end_s) for window in windows_of_bout(folder, bout.end_s)]
    if begin is not None or end is not None:
        spans = [("", begin or 0.0, bout.end_s if end is None else end)]
    return [DiagramPanel(name, _wiring_of_bout(folder, a), global_states(bout, (a, b))) for name, a, b in spans]


def _tracks(folder: Path, at: float, span: tuple[float | None, float | None]) -> dict[str, Any]:
    """Return the sensors' values in a span of time, by default in the behaviour that is in force at a time."""
    from nuc_engine.analysis.load import load_bout
    from nuc_engine.analysis.windows import windows_of_bout

    bout = load_bout(folder)
    window = [w for w in windows_of_bout(folder, bout.end_s) if w.begin_s <= at][-1]
    begin = window.begin_s if span[0] is None else span[0]
    sensors = bout.sensors.between(begin, window.end_s if span[1] is None else span[1])
    return {name: sensors.column(name)[::2] for name in sensors.columns}
