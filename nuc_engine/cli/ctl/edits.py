"""Subcommands that read and change values, rules, joints and poses."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

import click

from nuc_engine.cli.ctl.base import CtlGroup, answer, subcommand
from nuc_engine.cli.ctl.link import Target, act, daemon
from nuc_engine.cli.ctl.names import ASSIGNMENT, HDSO, JOINT, SENSOR
from nuc_engine.cli.terminal.errors import CommandFailed
from nuc_engine.cli.terminal.ink import edit_text, shown
from nuc_engine.cli.terminal.params import as_json

if TYPE_CHECKING:
    from nuc_engine.messages.answers import Acknowledgement, HistoryEdit

MODES = ("muscle", "force", "position", "hold", "limp")
_NUMBERS = re.compile(r"[-+0-9.eE,\s]+")
_NAMES = 3
_ACKNOWLEDGED = "Cycle and engine time since when it is in effect. Needs control; logged with your name."


def parse_value(text: str) -> Any:
    """Return a number, a list of numbers (apart by spaces or commas), or the text of a rule."""
    words = text.replace(",", " ").split()
    if not words or not _NUMBERS.fullmatch(text):
        return text.strip()
    try:
        numbers = [int(word) if re.fullmatch(r"[-+]?[0-9]+", word) else float(word) for word in words]
    except ValueError:
        return text.strip()
    return numbers[0] if len(numbers) == 1 else numbers


def parse_assignment(text: str) -> tuple[str, Any]:
    """Return name and value of NAME=VALUE. Raises click.UsageError."""
    name, equals, value = text.partition("=")
    if not equals or not name.strip() or not value.strip():
        raise click.UsageError(f"{text!r} is not of the form NAME=VALUE, as in CTr_lev_TC1_load=-0.2")
    return name.strip(), parse_value(value)


def told(as_json: bool, what: str, result: Acknowledgement) -> int:
    """Print what became of an edit. Returns 1 where something of it was refused."""
    if result.refused and not as_json:
        raise CommandFailed(*(f"nuc ctl: {line}" for line in result.refused))
    answer(as_json, {"ok": not result.refused, **_plain(result)}, edit_text(what, result))
    return 1 if result.refused else 0


def _plain(result: Acknowledgement) -> dict[str, Any]:
    names = ("cycle", "time_s", "applied", "refused", "pending", "requests", "replaced", "back")
    return {name: result[name] for name in names}


@subcommand(
    "get",
    (
        ("get CTr_angle CTr_lev_TC1_load", "a sensor and a threshold, both of the same cycle"),
        ("get Enter_CTr_LevationPRO rule.Enter_CTr_LevationPRO", "a rule, and whether it is true now"),
        ("get joint.Coxa-Trochanter.action muscle.Femur_LevatorPRO.force", "what a joint and a muscle do"),
        ("get 'CTr_LevatorPRO_F-L_Params[1]'", "one element; they count from 0"),
        ("get -- -1", "every HDSO: id -1 stands for all"),
    ),
    "One line per name. Exit status 1 when a name is unknown, or an element that is not there.",
)
@click.argument("names", nargs=-1, required=True, type=HDSO)
@as_json
def get(target: Target, names: tuple[str, ...], as_json: bool) -> int:
    """Print values by name or id, all from one whole cycle."""
    with daemon(target) as leg:
        reading = leg.get(names)
    if as_json:
        answer(True, {"ok": not reading.unknown, **{k: reading[k] for k in ("values", "cycle", "time_s", "unknown")}})
        return 1 if reading.unknown else 0
    width = max(map(len, reading.values), default=0)
    answer(False, None, *(f"{name:<{width}}  {shown(value)}" for name, value in reading.values.items()))
    if reading.unknown:
        raise CommandFailed(
            *(f"nuc ctl: nothing is called {name!r} (nuc show lists names)" for name in reading.unknown)
        )
    return 0


@subcommand(
    "set",
    (
        ("set CTr_lev_TC1_load=-0.2", "a threshold, at once"),
        ("set 101=-0.2 102=0.3", "two that take effect together, by id"),
        ("set --back-after 10 CTr_lev_TC1_load=-0.2", "try it for 10 s; `nuc ctl forget` its request to keep it"),
        ("set --at 20 'Enter_FT_Flexion=(302 > 106)|(FT_angle < 109)'", "a rule, at 20 s of engine time"),
        ("set 'CTr_LevatorPRO_F-L_Params=2 -1.5'", "all numbers of one with several"),
        ("set 'CTr_LevatorPRO_F-L_Params[1]=-1.5'", "one of them, from 0; the others stay as they are"),
    ),
    _ACKNOWLEDGED,
)
@click.argument("changes", metavar="NAME=VALUE...", nargs=-1, required=True, type=ASSIGNMENT)
@click.option("--at", "at_s", metavar="S", type=click.FloatRange(0), help="Engine time at which it is to happen.")
@click.option(
    "--back-after",
    "back_after_s",
    metavar="S",
    type=click.FloatRange(0),
    help="Put them back after so much engine time.",
)
@as_json
def set_(
    target: Target, changes: tuple[str, ...], at_s: float | None, back_after_s: float | None, as_json: bool
) -> int:
    """Write values and rules, by name or id. They are checked, and take effect together, between two cycles."""
    pairs = [parse_assignment(change) for change in changes]
    with daemon(target) as leg:
        result = act(leg, target, leg.set, pairs, at_s, back_after_s)
    what = ", ".join(f"{name} = {shown(value)}" for name, value in pairs)
    return told(as_json, f"{what} (goes back by request {result.back})" if result.back else what, result)


@subcommand("undo", (("undo", "the last edit, whoever made it"),), _ACKNOWLEDGED)
@as_json
def undo(target: Target, as_json: bool) -> int:
    """Take back the last edit, whoever made it."""
    with daemon(target) as leg:
        result = act(leg, target, leg.undo)
    return told(as_json, f"undone {_edited(result)}".strip(), result)


@subcommand("redo", (("redo", "the edit that undo took back"),), _ACKNOWLEDGED)
@as_json
def redo(target: Target, as_json: bool) -> int:
    """Make the edit again that undo took back."""
    with daemon(target) as leg:
        result = act(leg, target, leg.redo)
    return told(as_json, f"done again {_edited(result)}".strip(), result)


@subcommand("history", (("history", "what undo and redo would do, in the order of their turn"),), "One line per edit.")
@as_json
def history(target: Target, as_json: bool) -> int:
    """List the edits that can be undone and made again, and who made them."""
    with daemon(target) as leg:
        edits = leg.history()
    lines = [_made(word, edit) for word, pile in (("undo", edits.done), ("redo", edits.undone)) for edit in pile]
    return answer(as_json, {"done": edits.done, "undone": edits.undone}, *(lines or ("nothing was edited",)))


def _made(word: str, edit: HistoryEdit) -> str:
    at = "no bout" if edit["time_s"] is None else f"{edit['time_s']:.3f} s"
    parts = [
        f"{'' if part['what'] == 'write' else part['what'] + ' of '}{part['name']} "
        f"{shown(part['before'])} -> {shown(part['after'])}"
        for part in edit["changes"]
    ]
    more = f" and {edit['left_out']} more" if edit["left_out"] else ""
    return f"{word}  {at}  {edit['author']}  {', '.join(parts)}{more}"


def _edited(result: Acknowledgement) -> str:
    return ", ".join(f"{item['name']} = {shown(item['value'])}" for item in result.applied)


@subcommand(
    "script",
    (
        ("script experiment_a", "its times count from the bout's start"),
        ("script my_changes.xml --now", "its times count from now"),
    ),
    "The request number it waits under; forget takes it back. Needs control.",
)
@click.argument("script", metavar="SCRIPT")
@click.option("--now", is_flag=True, help="Times count from now, not from the bout's start.")
@as_json
def script_(target: Target, script: str, now: bool, as_json: bool) -> int:
    """Send an hdsoscript: changes that are made at their times."""
    from nuc_engine.machine.locations import find_script

    text = find_script(script).read_text(encoding="utf-8")
    with daemon(target) as leg:
        result = act(leg, target, leg.script, text, "now" if now else "start")
    return told(as_json, script, result)


@subcommand("pending", (("pending", "what is still to come"),), "One line per request.")
@as_json
def pending(target: Target, as_json: bool) -> int:
    """List the edits that wait for their time."""
    with daemon(target) as leg:
        waiting = leg.pending()
    return answer(as_json, {"pending": waiting}, *(map(_waiting, waiting) if waiting else ("nothing waits",)))


@subcommand(
    "forget",
    (("forget 7", "one request, as pending lists them"), ("forget all", "all")),
    "What was forgotten.",
)
@click.argument("request", metavar="REQUEST|all")
@as_json
def forget(target: Target, request: str, as_json: bool) -> int:
    """Withdraw edits that wait for their time."""
    if request != "all" and not request.isdecimal():
        raise click.UsageError(f"{request!r} is no request; expected a number from `nuc ctl pending`, or all")
    with daemon(target) as leg:
        data = act(leg, target, leg.forget, "all" if request == "all" else int(request))
    return answer(as_json, data, f"forgotten: {request}")


def _waiting(item: Any) -> str:
    if not isinstance(item, dict):
        return str(item)
    time_s = item.get("time_s")
    at = f"at {time_s:g} s  " if isinstance(time_s, int | float) else ""
    rest = {key: value for key, value in item.items() if key not in ("request", "time_s")}
    return f"{item.get('request', '')}  {at}" + "  ".join(f"{key} {_joined(value)}" for key, value in rest.items())


def _joined(value: Any) -> str:
    if not isinstance(value, list | tuple):
        return str(value)
    more = f" and {len(value) - _NAMES} more" if len(value) > _NAMES else ""
    return ", ".join(map(str, value[:_NAMES])) + more


@subcommand(
    "mode",
    (
        ("mode Femur-Tibia hold", "stay where it is, whatever its muscles ask for"),
        ("mode Femur-Tibia muscle", "its rules and muscles again"),
    ),
    _ACKNOWLEDGED,
)
@click.argument("joint", type=JOINT)
@click.argument("mode", type=click.Choice(MODES))
@as_json
def mode_(target: Target, joint: str, mode: Any, as_json: bool) -> int:
    """Choose what commands a joint: muscle, force, position; hold where it is; limp. Also while running."""
    with daemon(target) as leg:
        return told(as_json, f"{joint} {mode}", act(leg, target, leg.joint_mode, joint, mode))


@subcommand("limp", (("limp Femur-Tibia", "to be moved by hand"), ("limp --all", "the whole leg")), _ACKNOWLEDGED)
@click.argument("joint", type=JOINT, required=False)
@click.option("--all", "everything", is_flag=True, help="Every joint.")
@as_json
def limp(target: Target, joint: str | None, everything: bool, as_json: bool) -> int:
    """Make a joint limp: its servo is read and not driven. `nuc ctl mode JOINT muscle` ends it."""
    if (joint is None) is not everything:
        raise click.UsageError("name one joint, or give --all")
    status = 0
    with daemon(target) as leg:
        model: Any = leg.model() if everything else {}
        moved = [j["name"] for j in model.get("joints", ()) if j.get("motor")] if joint is None else [joint]
        for name in moved:
            status |= told(as_json, f"{name} limp", act(leg, target, leg.joint_mode, name, "limp"))
    return status


@subcommand(
    "tweak",
    (
        ("tweak Femur-Tibia 5", "five ticks more torque in the positive direction"),
        ("tweak Femur-Tibia 0", "no more"),
    ),
    _ACKNOWLEDGED,
)
@click.argument("joint", type=JOINT)
@click.argument("ticks", type=float)
@as_json
def tweak(target: Target, joint: str, ticks: float, as_json: bool) -> int:
    """Add a torque to what a joint's muscles ask for, in raw ticks of its servo. Logged: analysis knows of it.

    A tick is 0.654 degrees of delta on an AI motor, 0.088 degrees on most others: what it is worth differs.
    """
    with daemon(target) as leg:
        return told(as_json, f"{joint} tweak {ticks:g}", act(leg, target, leg.tweak, joint, ticks))


@subcommand(
    "sense",
    (
        ("sense TC1_current 0", "the leg feels no load: a cut nerve"),
        ("sense FT_angle hold", "it goes on feeling what it feels now"),
        ("sense TC1_current off", "it feels what is measured again"),
    ),
    _ACKNOWLEDGED,
)
@click.argument("sensor", type=SENSOR)
@click.argument("value")
@as_json
def sense(target: Target, sensor: str, value: str, as_json: bool) -> int:
    """Clamp what is sensed of a sensor: a number, hold (as now), or off (as measured).

    Rules, activations, signals and scripts read what is sensed; muscles, guard and servos what is measured. In a bout
    only, and until its end. Both are logged.
    """
    try:
        wanted: float | str = value if value in ("off", "hold") else float(value)
    except ValueError:
        raise click.BadParameter(f"{value!r}; expected a number, hold or off", param_hint="VALUE") from None
    with daemon(target) as leg:
        return told(as_json, f"{sensor} sense {value}", act(leg, target, leg.sense, sensor, wanted))


@click.group(
    name="pose",
    cls=CtlGroup,
    examples=(
        ("nuc ctl pose go Coxa-Trochanter=90 Femur-Tibia=95", "move two joints there, slowly"),
        ("nuc ctl pose save standing", "keep the pose the leg is in"),
        ("nuc ctl pose go standing --rate 20", "reach it again, at 20 degrees per second"),
    ),
    output=("Each of its commands says its own.",),
)
def pose() -> None:
    """Named poses: save the one the leg is in, reach one slowly, list them."""


@subcommand("save", (("pose save standing", "the pose the leg is in"),), "The angles that were kept.")
@click.argument("name")
@as_json
def save(target: Target, name: str, as_json: bool) -> int:
    """Save the pose the leg is in. A name that exists is written anew."""
    with daemon(target) as leg:
        data = act(leg, target, leg.pose_save, name)
    return answer(as_json, data, f"saved {name}: {_angles(data.angles)}")


@subcommand(
    "go",
    (("pose go standing", "a pose by name"), ("pose go Femur-Tibia=95 --rate 10", "one joint, at 10 deg/s")),
    "When the movement began; watch shows when it is over. Needs control.",
)
@click.argument("where", metavar="NAME | JOINT=DEG...", nargs=-1, required=True)
@click.option("--rate", "rate_deg_s", metavar="DEG/S", type=click.FloatRange(0, min_open=True), help="How fast.")
@as_json
def go(target: Target, where: tuple[str, ...], rate_deg_s: float | None, as_json: bool) -> int:
    """Move to a pose, at a bounded rate, from wherever the leg is."""
    name, angles = _where(where)
    with daemon(target) as leg:
        result = act(leg, target, leg.pose, None if name else angles, rate_deg_s, name or None)
    return told(as_json, f"moving to {' '.join(where)}", result)


@subcommand(
    "park",
    (("pose park lying --rate 20", "what `nuc ctl stop --policy park` moves to, and how fast"),),
    "Nothing but that it was done. Needs control.",
)
@click.argument("where", metavar="NAME | JOINT=DEG...", nargs=-1, required=True)
@click.option("--rate", "rate_deg_s", metavar="DEG/S", type=click.FloatRange(0, min_open=True), help="How fast.")
@as_json
def park(target: Target, where: tuple[str, ...], rate_deg_s: float | None, as_json: bool) -> int:
    """Choose the pose in which a stop with the policy park leaves the leg."""
    name, angles = _where(where)
    with daemon(target) as leg:
        data = act(leg, target, leg.park, None if name else angles, name or None, rate_deg_s)
    return answer(as_json, data, f"parks at {' '.join(where)}")


@subcommand("list", (("pose list", "all of them"),), "One line per pose.")
@as_json
def list_(target: Target, as_json: bool) -> int:
    """List the poses that were saved."""
    with daemon(target) as leg:
        found = leg.poses()
    lines = [f"{name}: {_angles(angles)}" for name, angles in found.items()]
    return answer(as_json, {"poses": found}, *(lines or ["no pose was saved for this configuration"]))


def _where(words: tuple[str, ...]) -> tuple[str, dict[str, float]]:
    """Return the name of a pose, or angles by joint."""
    if len(words) == 1 and "=" not in words[0]:
        return words[0], {}
    return "", dict(_angle(word) for word in words)


def _angle(word: str) -> tuple[str, float]:
    joint, _, text = word.partition("=")
    try:
        return joint, float(text)
    except ValueError as error:
        raise click.UsageError(f"{word!r}: expected JOINT=DEGREES, as in Femur-Tibia=95") from error


def _angles(angles: Any) -> str:
    if not isinstance(angles, dict):
        return str(angles)
    return ", ".join(f"{joint} {deg:g} deg" if isinstance(deg, int | float) else joint for joint, deg in angles.items())


for _command in (save, go, park, list_):
    pose.add_command(_command)


COMMANDS: Final = (get, set_, undo, redo, history, script_, pending, forget, mode_, limp, tweak, sense, pose)
