"""`nuc dataset`: the logs of many episodes as one file."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import click

from nuc_engine.cli.terminal.errors import CommandFailed
from nuc_engine.cli.terminal.output import count, note, say, say_json
from nuc_engine.cli.terminal.params import RUNNABLE, NucCommand, OutFile, Pair, as_json
from nuc_engine.cli.terminal.progress import ManyProgress


@click.command(
    cls=NucCommand,
    examples=(
        (
            "nuc dataset flight_random flight_circle flight_helix --test flight_helix --seeds 0:99 -o flights.parquet",
            "300 flights; what is learned from the others is tested on the helix",
        ),
        (
            "nuc dataset flight_limited -v reference.parts.0.points.1.at_s=1,2,3 --seeds 0:9 -o limited.parquet",
            "with a value of run.toml varied",
        ),
    ),
    output=(
        "FILE.parquet, one row per logged step, with episode, config and split; FILE.parquet.md, its card, which stands"
        " in the file's metadata too. Until it is whole, what is done is in FILE.parquet.parts; the command goes on"
        " from there. A summary to stdout, progress to stderr.",
    ),
)
@click.argument("configs", metavar="CONFIG...", nargs=-1, required=True, type=RUNNABLE)
@click.option("--seeds", metavar="A:B|A,B,C", default="0", help="Seeds of the episodes, A:B with both ends.")
@click.option(
    "--vary",
    "-v",
    "vary",
    metavar="KEY=VALUES",
    type=Pair(),
    multiple=True,
    help="FROM:TO:N, or A,B,C, of a value of run.toml by its dotted key; repeatable.",
)
@click.option(
    "--duration", "-d", metavar="T", type=float, help="Simulated seconds per episode.  [default: as in run.toml]"
)
@click.option("--test", metavar="CONFIG", multiple=True, help="Hold its reference out, for tests alone; repeatable.")
@click.option(
    "--validation",
    metavar="SHARE",
    type=click.FloatRange(0, 0.9),
    default=0.1,
    show_default=True,
    help="So many of the other episodes are for validation.",
)
@click.option("--out", "-o", metavar="FILE", type=OutFile(("parquet",)), required=True, help="FILE.parquet.")
@click.option("--jobs", "-j", metavar="J", type=click.IntRange(1), help="Worker processes.  [default: all processors]")
@click.option("--force", is_flag=True, help="Throw away the FILE that is there, and what was begun for it.")
@as_json
def command(
    configs: Sequence[str],
    seeds: str,
    vary: Sequence[tuple[str, str]],
    duration: float | None,
    test: Sequence[str],
    validation: float,
    out: Path,
    jobs: int | None,
    force: bool,
    as_json: bool,
) -> int:
    """Run every CONFIG (a RunConfig) with every seed, and put all logs into one file.

    Episodes are split into train, validation and test by episode and reference, never by row.
    """
    from nuc_engine.batch.axes import parse_axis, parse_seeds
    from nuc_engine.batch.dataset import make_dataset
    from nuc_engine.batch.episodes import make_episodes
    from nuc_engine.batch.errors import BulkRefused
    from nuc_engine.batch.pool import ItemFailed

    try:
        axes = [parse_axis(f"{key}={values}") for key, values in vary]
        plan = make_episodes(configs, axes, seeds=parse_seeds(seeds), duration_s=duration)
        with ManyProgress(out.name, "episodes") as progress:
            result = make_dataset(plan, out, test=test, validation=validation, jobs=jobs, force=force, done=progress)
    except (BulkRefused, ItemFailed) as refused:
        raise CommandFailed(*(f"nuc dataset: {line}" for line in str(refused).splitlines())) from refused
    except KeyboardInterrupt:
        note("nuc dataset: stopped; the same command goes on from here")
        raise
    if as_json:
        say_json({"ok": True, "wall_s": progress.wall_s, **{name: getattr(result, name) for name in result.__slots__}})
        return 0
    say(f"{result.path}: {count(sum(result.episodes.values()), 'episode')}, {count(sum(result.rows.values()), 'row')}")
    for name, number in result.episodes.items():
        say(f"  {name:<12}{count(number, 'episode')}, {count(result.rows[name], 'row')}")
    if result.different < sum(result.episodes.values()):
        say(f"  {result.different} of them different: where nothing is drawn, another seed is the same flight")
    for state, number in result.states.items():
        if state != "complete":
            say(f"  {count(number, 'episode')} ended as: {state}")
    say(f"{result.card}: its card")
    return 0
