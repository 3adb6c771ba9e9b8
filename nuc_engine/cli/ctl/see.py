"""Subcommands that look: state, statistics, events, streams, and the two screens."""

from __future__ import annotations

import itertools
import json
from collections.abc import Generator, Sequence
from contextlib import contextmanager, suppress
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final

import click

from nuc_engine.cli.ctl.base import answer, subcommand
from nuc_engine.cli.ctl.link import Target, connect, daemon
from nuc_engine.cli.ctl.names import HDSO, JOINT
from nuc_engine.cli.terminal import wallclock
from nuc_engine.cli.terminal.errors import CommandFailed
from nuc_engine.cli.terminal.ink import TASK_HEAD, alarms, counted, headline, shown, table, task_rows
from nuc_engine.cli.terminal.output import counts_text, note, plain, say, takes_keys
from nuc_engine.cli.terminal.params import as_json

if TYPE_CHECKING:
    from nuc_engine.cli.ctl.watching import Watch
    from nuc_engine.messages.answers import RuleAnswer, Sample, Status

_FOLLOW_S = 0.3
_SCREEN_TIMEOUT_S = 1.0
"""A screen would rather say that nothing answers than stand still for longer."""


@subcommand(
    "status",
    (("status", "mode, bout, torque, control, losses, tasks"), ("status --json | jq .mode", "for a program")),
    "Text or JSON, to stdout. Exit status 1 in mode FAULT.",
)
@as_json
def status_(target: Target, as_json: bool) -> int:
    """Print how the daemon is."""
    with daemon(target) as leg:
        status = leg.status()
    good = status.mode != "FAULT"
    answer(as_json, {**status.data, "ok": good}, *_status_lines(status))
    return int(not good)


@subcommand(
    "tasks",
    (("tasks", "are the tasks in time?"),),
    "A table: microseconds, over the last second; the largest values since the start.",
)
@as_json
def tasks(target: Target, as_json: bool) -> int:
    """Print per task: period, how late it wakes up, how long it takes, overruns and skipped periods."""
    with daemon(target) as leg:
        data = leg.tasks()
    return answer(as_json, {"tasks": data}, *table([TASK_HEAD, *task_rows(dict(data))]))


@subcommand(
    "events",
    (("events", "the last ones"), ("events --follow", "and those that come, until Ctrl-C")),
    "One line per event: engine time, name, text; repeats in one line, with how often. With --json, every one.",
)
@click.option("--follow", "-f", is_flag=True, help="Go on until Ctrl-C.")
@click.option("--last", metavar="N", type=click.IntRange(0), default=30, show_default=True, help="How many.")
@as_json
def events(target: Target, follow: bool, last: int, as_json: bool) -> int:
    """Print what happened: faults, overlapping rules, losses, who edited what."""
    from nuc_engine.cli.ctl.watching import event_lines

    last_seen = 0

    def lines(told: Sequence[Any]) -> list[str]:
        return [json.dumps(plain(event)) for event in told] if as_json else event_lines(told)

    with daemon(target) as leg:
        told = leg.events()
        if as_json and not follow:
            return answer(True, {"events": told[len(told) - min(last, len(told)) :]})
        with _until_interrupted():
            # The last lines, however often each of them was.
            shown = lines(told)[-last:] if last else []
            while True:
                for line in shown:
                    say(line)
                if not follow:
                    return 0
                last_seen = max((int(event.get("seq", 0)) for event in told), default=last_seen)
                wallclock.sleep(_FOLLOW_S)
                told = leg.events(last_seen)
                shown = lines(told)
    return 0


@subcommand(
    "subscribe",
    (
        ("subscribe CTr_angle CTr_current --rate 50", "two sensors, fifty times a second, until Ctrl-C"),
        ("subscribe CTr_angle --count 100 --json > angles.jsonl", "a hundred samples, one JSON object a line"),
    ),
    "One line per sample: seconds since 1970, then the values. What is not found goes to stderr.",
)
@click.argument("names", nargs=-1, required=True, type=HDSO)
@click.option(
    "--rate", "rate_hz", metavar="HZ", type=click.FloatRange(0, min_open=True), default=10.0, show_default=True
)
@click.option("--count", metavar="N", type=click.IntRange(1), help="End after N samples.")
@as_json
def subscribe(target: Target, names: tuple[str, ...], rate_hz: float, count: int | None, as_json: bool) -> int:
    """Print a stream of values, at a rate of your own."""
    with daemon(target) as leg:
        stream = leg.subscribe(names, rate_hz)
        missing = [name for name, found in stream.fields.items() if found is None]
        for name in missing:
            note(f"not found: {name}")
        if len(missing) == len(stream.fields):
            raise CommandFailed("nuc ctl: nothing of it was found (nuc show lists names)")
        with _until_interrupted():
            for sample in itertools.islice(stream, count):
                say(_sample_line(sample, as_json=as_json))
    return 0


@contextmanager
def _until_interrupted() -> Generator[None]:
    """Take Ctrl-C as the end that was meant."""
    with suppress(KeyboardInterrupt):
        yield


def _sample_line(sample: Sample, *, as_json: bool) -> str:
    if as_json:
        return json.dumps({"unix_time_s": sample.unix_time_s, **plain(sample.values)})
    return f"{sample.unix_time_s:.4f} " + " ".join(f"{name}={shown(value)}" for name, value in sample.values.items())


def _status_lines(status: Status) -> list[str]:
    lines = [headline(status), f"control: {status.control or 'nobody'}"]
    lines += alarms(status)
    if wrong := counts_text(counted(status.bus_counts)):
        lines.append(f"on the bus since the core began: {wrong}")
    logging = status.logging
    if logging:
        lines.append(f"log: {logging.get('state') or ''} {logging.get('folder') or ''}".rstrip())
    lines += [f"privilege missing: {text}" for text in status.privileges_missing]
    if status.clients:
        lines.append(f"clients: {', '.join(str(client.get('name')) for client in status.clients)}")
    if status.recording:
        lines.append(f"recording edits as {status.recording}")
    rows = task_rows(dict(status.tasks))
    return [*lines, "", *table([TASK_HEAD, *rows])] if rows else lines


@subcommand(
    "watch",
    (
        ("watch", "a table that is always up to date; q ends it"),
        ("watch --plain", "a line per second instead, as where stdout is no terminal"),
    ),
    "Per joint: action, angle, load, what was sent, activations, whether each rule is true (T) or false (f).",
    "The table waits when the daemon goes away, and goes on when it is back.",
)
@click.option("--plain", is_flag=True, help="Lines instead of a table.")
@click.option("--count", metavar="N", type=click.IntRange(1), help="End after N lines (with --plain).")
def watch(target: Target, plain: bool, count: int | None) -> int:
    """Watch the leg: mode, joints, rules, tasks, losses, faults, events."""
    from nuc_engine.cli.ctl.watching import Watch
    from nuc_engine.client import ClientError

    try:
        with connect(target, timeout_s=_SCREEN_TIMEOUT_S) as client:
            session = Watch(client)
            if plain or not takes_keys():
                with _until_interrupted():
                    _tell(session, count)
                return 1 if session.view.offline else 0
            from nuc_engine.cli.ctl.watchscreen import WatchScreen

            WatchScreen(session).run_whole()
    except ClientError as error:
        raise CommandFailed(f"nuc ctl watch: {error}") from error
    return 0


@subcommand(
    "tune",
    (
        ("tune Coxa-Trochanter", "its rules, thresholds, activations and sensors; ? explains the keys"),
        ("tune Coxa-Trochanter --plain", "print them once"),
    ),
    "A screen; or, with --plain or where stdout is no terminal, its lines once. Works before the engine runs.",
)
@click.argument("joint", type=JOINT)
@click.option("--plain", is_flag=True, help="Print the sheet once, without the screen.")
def tune(target: Target, joint: str, plain: bool) -> int:
    """Tune a joint: choose a value with up and down, step it by its quantum with left and right.

    Each step is sent at once, checked, and acknowledged with the cycle and time since when it is in effect.
    """
    from nuc_engine.cli.ctl.tuneview import plain_text
    from nuc_engine.cli.ctl.tuning import Tune
    from nuc_engine.client import ClientError

    try:
        with connect(target, timeout_s=_SCREEN_TIMEOUT_S) as client:
            session = Tune(client, target, joint)
            if plain or not takes_keys():
                say(plain_text(session))
                return 0
            from nuc_engine.cli.ctl.tunescreen import TuneScreen

            TuneScreen(session).run_whole()
    except KeyError as error:
        raise click.UsageError(str(error.args[0])) from error
    except ClientError as error:
        raise CommandFailed(f"nuc ctl tune: {error}") from error
    return 0


def _tell(session: Watch, count: int | None) -> None:
    from nuc_engine.cli.ctl.watchview import plain_line

    for k in itertools.count(1):
        session.refresh()
        say(plain_line(session.view))
        if k == count:
            return
        wallclock.sleep(1.0)


@subcommand(
    "rules",
    (("rules", "every entry rule, and which of its comparisons are true"), ("rules Femur-Tibia", "of one joint")),
    "Per action its rule; below it each comparison, true or not, and how far it is from where it turns.",
)
@click.argument("joint", type=JOINT, required=False)
@as_json
def rules(target: Target, joint: str | None, as_json: bool) -> int:
    """Print the entry rules taken apart, with the values of one cycle. `*`: what the joint does now."""
    with daemon(target) as leg:
        found = leg.rules(joint)
    lines = [line for rule in found for line in _rule_lines(rule)]
    return answer(as_json, {"rules": found}, *(lines or ["no joint has rules"]))


def _rule_lines(rule: RuleAnswer) -> list[str]:
    lines = [f"{_TRUTH[rule.true]} {'*' if rule.inside else ' '}{rule.action}  {rule.joint}  {rule.text}"]
    for part in rule.comparisons:
        right = f" {part['op']} {part['right']} {shown(part['right_value'])}" if part["op"] else ""
        distance = "" if part["distance"] is None else f"  ({part['distance']:+.4g})"
        lines.append(f"  {_TRUTH[part['true']]}  {part['left']} {shown(part['left_value'])}{right}{distance}")
    return lines


_TRUTH: Final = MappingProxyType({True: "true ", False: "false", None: "?    "})

COMMANDS: Final = (status_, tasks, events, rules, subscribe, watch, tune)
