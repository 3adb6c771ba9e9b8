"""RunConfigs on the command line: one run, one shown."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, cast

import click

from nuc_engine.cli.terminal import wallclock
from nuc_engine.cli.terminal.errors import BAD
from nuc_engine.cli.terminal.leaving import interrupt, when_ended
from nuc_engine.cli.terminal.output import count, heading, note, say, say_json, say_wrapped

_LONGEST = 200
"""Characters of a text that are shown; weights have tens of thousands."""


def is_run(config: str) -> bool:
    """Say whether a configuration is a RunConfig; a name that is none of any is left to whoever looks for it."""
    from nuc_engine.machine.locations import NotFound, find_configuration, is_episode

    try:
        return is_episode(find_configuration(config))
    except NotFound:
        return False


def run_episode(
    config: str,
    out: Path,
    values: Sequence[tuple[str, str]],
    *,
    controller: str | None,
    seed: int | None,
    duration_s: float | None,
    labels: Mapping[str, str],
    overwrite: bool,
    as_json: bool,
) -> int:
    """Run it, say what became of it, and return the exit status."""
    from nuc_engine.bout.episode import EpisodeSpec, read_document, record_episode
    from nuc_engine.machine.locations import find_configuration

    changes: dict[str, Any] = {}
    if controller is not None:
        changes["controller"] = read_document(find_configuration(controller)).get("controller")
    changes |= {key: number(key, text) for key, text in values}
    changes |= {} if seed is None else {"seed": seed}
    changes |= {} if duration_s is None else {"timing.duration_s": duration_s}
    began_s = wallclock.seconds()
    with when_ended(interrupt):
        recorded = record_episode(EpisodeSpec(config, out, changes, overwrite, labels))
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


def show_run(config: str, *, as_json: bool) -> int:
    """Show a RunConfig as it is resolved: what its seed draws stands in its place."""
    from nuc_engine.bout.episode import load_run
    from nuc_engine.machine.locations import find_configuration

    folder = find_configuration(config)
    run = load_run(folder)
    if as_json:
        say_json(
            {"ok": True, "name": folder.resolve().name, "resolved": run.resolved, "drawn": dict(run.drawn)}
            | {"steps": run.steps, "columns": run.columns, "sha256": run.sums()}
        )
        return 0
    say(heading(folder.resolve().name))
    values = dict(_values(run.resolved))
    width = max(map(len, values)) + 2
    for key, value in values.items():
        names = [name for name in run.drawn if name == key or name.startswith(f"{key}.")]
        parts = [f" {name[len(key) + 1 :]}" if name != key else "" for name in names]
        drawn = f"  (drawn{':' * any(parts)}{','.join(parts)})" if names else ""
        told = value if not isinstance(value, str) or len(value) <= _LONGEST else f"{value[:_LONGEST]}..."
        say_wrapped(f"{key:<{width}}{told}{drawn}", " " * width)
    say_wrapped(f"{'log':<{width}}{run.steps // run.every + 1} rows of {', '.join(run.columns)}", " " * width)
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
