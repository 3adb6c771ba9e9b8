"""RunConfigs on the command line: one run, one shown."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, cast

import click

from nuc_engine.cli.terminal import wallclock
from nuc_engine.cli.terminal.errors import BAD
from nuc_engine.cli.terminal.leaving import interrupt, when_ended
from nuc_engine.cli.terminal.output import count, heading, note, say, say_json, say_wrapped

_LONGEST = 200
_INDENT = 36
"""Characters of a text that are shown; weights have tens of thousands."""


def run_episode(
    file: Path,
    out: Path,
    changes: Mapping[str, Any],
    *,
    controller: str | None,
    labels: Mapping[str, str],
    overwrite: bool,
    as_json: bool,
) -> int:
    """Run it, say what became of it, and return the exit status."""
    from nuc_engine.bout.episode import EpisodeSpec, read_document, record_episode
    from nuc_engine.machine.locations import find_configuration

    if controller is not None:
        changes = {"controller": read_document(find_configuration(controller)).get("controller"), **changes}
    began_s = wallclock.seconds()
    with when_ended(interrupt):
        recorded = record_episode(EpisodeSpec(str(file.parent), out, changes, overwrite, labels))
    wall_s = max(wallclock.seconds() - began_s, 1e-9)
    end, run = recorded.end, recorded.run
    good = end.state == "complete"
    if as_json:
        say_json(
            {
                "ok": good,
                "state": end.state,
                "reason": end.reason,
                "folder": recorded.folder,
                "simulated_s": end.steps * run.dt_s,
                "wall_s": wall_s,
                "steps": end.steps,
                "limited": end.limited,
                "drawn": dict(run.drawn),
                "last": dict(zip(run.system.state, end.last, strict=True)),
            }
        )
        return 0 if good else BAD
    say(f"{'data':<10}{recorded.folder}")
    say(f"{'episode':<10}{end.steps * run.dt_s:g} s, {count(end.steps, 'step')} of {run.dt_s:g} s: {end.reason}")
    for name, value in run.drawn.items():
        say(f"{'drawn':<10}{name} = {value:.6g}")
    if end.limited:
        marks = run.columns[-1]
        what = "limited" if marks == "limited" else "of states beyond the training data"
        note(f"warning: {count(end.limited, 'control')} {what}; see the column {marks}")
    if not good:
        note(f"nuc run: {end.state}: {end.reason}")
    return 0 if good else BAD


def show_run(file: Path, *, as_json: bool) -> int:
    """Show a RunConfig as it is resolved: what its seed draws stands in its place."""
    from nuc_engine.bout.described import load_leg
    from nuc_engine.bout.episode import load_run

    name = file.resolve().parent.name
    spec = load_leg(file)
    if spec is not None:
        script = f" with {spec.script}" if spec.script else ""
        return _show(name, spec.run, {"bout": f"{spec.duration_s:g} s of {spec.config}{script}"}, {}, as_json=as_json)
    run = load_run(file.parent)
    told = {"resolved": run.resolved, "drawn": dict(run.drawn), "sha256": run.sums()}
    rows = {"log": f"{run.steps // run.every + 1} rows of {', '.join(run.columns)}"}
    return _show(name, told, rows, {"steps": run.steps, "columns": run.columns}, as_json=as_json)


def _show(
    name: str, told: Mapping[str, Any], rows: Mapping[str, str], more: Mapping[str, Any], *, as_json: bool
) -> int:
    if as_json:
        say_json({"ok": True, "name": name, **told, **more})
        return 0
    say(heading(name))
    values, drawn_keys = dict(_values(told["resolved"])), told["drawn"]
    width = min(max(map(len, values)) + 2, _INDENT)
    for key, value in values.items():
        parts = [name.removeprefix(f"{key}.") for name in drawn_keys if name.startswith(f"{key}.")]
        drawn = "  (drawn)" if key in drawn_keys else f"  (drawn: {', '.join(parts)})" if parts else ""
        text = value if not isinstance(value, str) or len(value) <= _LONGEST else f"{value[:_LONGEST]}..."
        say_wrapped(f"{key:<{width - 1}} {text}{drawn}", " " * width)
    for key, text in rows.items():
        say_wrapped(f"{key:<{width}}{text}", " " * width)
    return 0


def _values(value: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """Yield dotted key and value of everything; a list of plain values is one, whose parts are `key.0` and so on."""
    items: list[tuple[Any, Any]] = []
    if isinstance(value, Mapping):
        items = list(cast(Mapping[str, Any], value).items())
    elif isinstance(value, list) and any(isinstance(item, dict) for item in cast(list[Any], value)):
        items = list(enumerate(cast(list[Any], value)))
    else:
        yield path, value
    for key, item in items:
        yield from _values(item, f"{path}.{key}" if path else str(key))


def number(key: str, text: str) -> float | int:
    """Return the number of KEY=NUMBER. Raises UsageError."""
    try:
        return int(text) if text.lstrip("+-").isdecimal() else float(text)
    except ValueError as error:
        raise click.UsageError(f"--set {key}={text}: expected a number") from error
