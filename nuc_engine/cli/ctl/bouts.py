"""Subcommands that configure the daemon, run and end bouts, log, and say what a bout was about."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import click

from nuc_engine.cli.ctl.base import answer, subcommand
from nuc_engine.cli.ctl.link import Target, act, daemon
from nuc_engine.cli.terminal.output import note
from nuc_engine.cli.terminal.params import Pair, as_json

_POLICIES = ("off", "hold", "park")
_OUT = click.option(
    "--out",
    metavar="NAME",
    help="Name of the data directory: letters, digits, _ and -; one that exists is refused.  [default: by time]",
)


@subcommand(
    "configs",
    (("configs", "which configurations this daemon can run"),),
    "One line per configuration, to stdout.",
)
@as_json
def configs(target: Target, as_json: bool) -> int:
    """List the configurations the daemon offers."""
    with daemon(target) as leg:
        found = leg.configurations()
    width = max((len(item.name) for item in found), default=0)
    return answer(as_json, {"configurations": found}, *(f"{c.name:<{width}}  {c.fullname}".rstrip() for c in found))


@subcommand(
    "configure",
    (
        ("configure lin_roach", "a configuration the daemon has"),
        ("configure ./my_roach", "a folder of yours: its documents are sent, checked, and used if they are good"),
    ),
    "What was found odd in the documents, to stderr. Needs control; no bout may be running.",
)
@click.argument("config", metavar="NAME|FOLDER")
@as_json
def configure(target: Target, config: str, as_json: bool) -> int:
    """Choose the model the daemon runs. Values that were set before are gone: save them first if you want them."""
    documents = documents_of(Path(config)) if {"/", "\\"} & set(config) or config in (".", "..") else None
    name = Path(config).resolve().name if documents else config
    with daemon(target) as leg:
        data = act(leg, target, leg.configure, name, documents)
    for warning in data.warnings:
        note(f"warning: {warning}")
    return answer(as_json, data, f"configured as {name}")


@subcommand(
    "run",
    (
        ("run", "begin a bout now; it ends with stop"),
        ("run --delay 10 --stop 60", "in ten seconds, for a minute"),
        ("run --out carpet_3", "to a directory of that name, in the daemon's data folder"),
        ("run --label surface=carpet --label repetition=3 --note 'new tarsus'", "and say what it is about"),
    ),
    "The bout's number and its data directory.",
)
@click.option("--delay", metavar="S", type=click.FloatRange(0), default=0.0, help="Wait this long first.")
@click.option("--stop", metavar="S", type=click.FloatRange(0, min_open=True), help="End at this engine time.")
@click.option("--label", "labels", type=Pair(), multiple=True, help="Label of this bout alone; repeatable.")
@click.option("--note", "notes", metavar="TEXT", help="A note for the data directory.")
@_OUT
@as_json
def run(
    target: Target,
    delay: float,
    stop: float | None,
    labels: tuple[Any, ...],
    notes: str | None,
    out: str | None,
    as_json: bool,
) -> int:
    """Begin a bout: the rules are in charge from now on. Engine time counts from here."""
    with daemon(target) as leg:
        started = act(leg, target, leg.run, delay, stop, dict(labels) or None, notes, out)
    return answer(as_json, started, f"bout {started.bout}" + (f" in {started.folder}" if started.folder else ""))


@subcommand(
    "stop",
    (
        ("stop", "as the daemon was told to stop when it was started"),
        ("stop --policy hold", "hold the pose the leg is in"),
    ),
    "Nothing but that it was done.",
)
@click.option("--policy", type=click.Choice(_POLICIES), help="What becomes of the torque.")
@as_json
def stop(target: Target, policy: Any, as_json: bool) -> int:
    """End the bout. In an emergency use off: any client may, at any time."""
    with daemon(target) as leg:
        return answer(as_json, act(leg, target, leg.stop, policy), "stopped")


@subcommand(
    "arm",
    (("arm", "after a fault was seen to, or after off"),),
    "Nothing but that it was done. Needs control.",
)
@as_json
def arm(target: Target, as_json: bool) -> int:
    """Allow driving again, after a fault or off. Joints start where they are measured to be; keep your hands clear."""
    with daemon(target) as leg:
        return answer(as_json, act(leg, target, leg.arm), "armed")


@subcommand(
    "off",
    (("off", "now"), ("off 'cable caught'", "and say why, for the log")),
    "Nothing but that it was done. Needs no control.",
)
@click.argument("why", required=False)
@click.option("--relay", "by_lines", is_flag=True, help="Do what lines of stdin ask for: for nuc ui --off-by-ssh.")
@as_json
def off(target: Target, why: str | None, by_lines: bool, as_json: bool) -> int:
    """Take the torque off at once. It stays off until arm."""
    from nuc_engine.cli import off as hurried  # typed plainly, it does not even come here

    if by_lines:
        return hurried.serve_lines(target.address)
    return hurried.off(hurried.Wanted(target.address, target.given_name, target.keys, target.timeout_s, why, as_json))


@subcommand(
    "log",
    (
        ("log", "from now on, until stoplog"),
        ("log --start 2.5 --stop 7.5", "this window of engine time, also when asked for before run"),
        ("log --out first_steps", "to a directory of that name, in the daemon's data folder"),
    ),
    "The data directory.",
)
@click.option("--start", metavar="S", type=click.FloatRange(0), default=0.0, help="Engine time to begin at.")
@click.option("--stop", metavar="S", type=click.FloatRange(0, min_open=True), help="Engine time to end at.")
@_OUT
@as_json
def log(target: Target, start: float, stop: float | None, out: str | None, as_json: bool) -> int:
    """Log, where the daemon does not log every bout by itself."""
    with daemon(target) as leg:
        data = act(leg, target, leg.log, start, stop, out)
    return answer(as_json, data, _logged(data))


@subcommand("stoplog", (("stoplog", "now"), ("stoplog --at 30", "at this engine time")), "The data directory.")
@click.option("--at", "at_s", metavar="S", type=click.FloatRange(0), help="Engine time to end at.")
@as_json
def stoplog(target: Target, at_s: float | None, as_json: bool) -> int:
    """End what log began."""
    with daemon(target) as leg:
        data = act(leg, target, leg.stoplog, at_s)
    return answer(as_json, data, _logged(data))


@subcommand("mark", (("mark foot slipped", "this moment"),), "Nothing but that it was done.")
@click.argument("text", nargs=-1, required=True)
@as_json
def mark(target: Target, text: tuple[str, ...], as_json: bool) -> int:
    """Log a remark with the time and your name."""
    with daemon(target) as leg:
        return answer(as_json, act(leg, target, leg.mark, " ".join(text)), "marked")


@subcommand("note", (("note tibia replaced this morning", "for the bout as a whole"),), "Nothing else.")
@click.argument("text", nargs=-1, required=True)
@as_json
def note_(target: Target, text: tuple[str, ...], as_json: bool) -> int:
    """Add a free note to the bout's data directory."""
    with daemon(target) as leg:
        return answer(as_json, act(leg, target, leg.notes, " ".join(text)), "noted")


@subcommand(
    "label",
    (
        ("label operator=rutter leg=middle-left surface=carpet", "who, which leg, on what"),
        ("label body_height=12cm supply_voltage=9.6 repetition=4", "and under which conditions"),
    ),
    "All labels as they are now. They stay for the bouts that follow, until they are given anew.",
)
@click.argument("labels", nargs=-1, required=True, type=Pair())
@as_json
def label(target: Target, labels: tuple[tuple[str, str], ...], as_json: bool) -> int:
    """Say what a bout is about, for its manifest."""
    with daemon(target) as leg:
        data = act(leg, target, leg.labels, dict(labels))
    return answer(as_json, data, *(f"{key} = {text}" for key, text in data.labels.items()))


def documents_of(folder: Path) -> dict[str, str]:
    """Return the documents in a folder as texts, to be sent."""
    from sccils_schemas.model import JOINTS_FILE, MODEL_FILES

    found = {name: folder / name for name in MODEL_FILES if (folder / name).is_file()}
    if JOINTS_FILE not in found:
        raise click.UsageError(f"{folder}: no joints.xml there; expected a folder with {', '.join(MODEL_FILES)}")
    return {name: path.read_text(encoding="utf-8") for name, path in found.items()}


def _logged(data: Mapping[str, Any]) -> str:
    note = f" ({data['note']})" if data.get("note") else ""
    return f"log {data.get('state', '')} {data.get('folder') or ''}".rstrip() + note


COMMANDS: Final = (configs, configure, run, stop, arm, off, log, stoplog, mark, note_, label)
