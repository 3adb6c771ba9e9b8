"""`nuc bus set`: what a servo is set to, looked at and changed."""

from __future__ import annotations

import shlex
import shutil
import textwrap
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

from nuc_engine.cli.bus.bench import SHARED, Bench, on_bench
from nuc_engine.cli.terminal.errors import CommandFailed
from nuc_engine.cli.terminal.output import TableColumn, is_terminal, note, table

if TYPE_CHECKING:
    from drivers.bench.settings import Setting, Settings
    from drivers.port import Port

_ID, _BAUD = "id", "baud_rate"
_UNIT_AT = 59
"""Column at which the units of a table begin."""

_LEAST_ROOM = 20
_LOST = 3
"""So many registers without an answer, and no more are asked for."""

_STOPPED = "stopped when asked to"
_COLUMNS = (
    TableColumn("register", "<22"),
    TableColumn("at", ">4"),
    TableColumn("bytes", ">5"),
    TableColumn("area", "<6"),
    TableColumn("", "<3"),
    TableColumn("value", ">7"),
    TableColumn("unit", "<4"),
)


class _Number(click.ParamType):  # pyright: ignore[reportMissingTypeArgument]
    """`-85`, `0x0c`, `0b1100`."""

    name = "VALUE"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """Return the number, or fail."""
        try:
            return value if isinstance(value, int) else int(str(value), 0)
        except ValueError:
            words = f"{value!r} is no value: expected a whole number such as 300, -85, 0x0c or 0b1100"
            raise click.UsageError(words, ctx) from None


@on_bench(
    "model",
    "yes",
    name="set",
    # A value may be negative, and is no option then.
    context_settings={"ignore_unknown_options": True},
    examples=(
        ("nuc bus set feetech:///dev/ttyACM0 3", "the registers of servo 3, and what is in them"),
        ("nuc bus set feetech:///dev/ttyACM0 3 position_offset", "one of them, with its bounds"),
        ("nuc bus set feetech:///dev/ttyACM0 3 position_offset 0", "take a position offset out, for good"),
        ("nuc bus set dynamixel:///dev/ttyUSB0 1 led 1", "which one is it? forgotten without power"),
        ("nuc bus set 'aimotor:///dev/ttyUSB0?wck=1&baud=115200' 4 position_p_gain 20", "a wCK's P gain"),
    ),
    output=(
        "To stdout: the registers as a table; or one register and its value; or what was set, as it was read back, and"
        " how to go back. rw: can be written here; rw*: by another command, which asking for it names; r: read only."
        " Listed is what is known of the model: its maker's tables have more, such as indirect addresses.",
        "Exit status 1 when nobody answers, the servo did not take the value, or it was stopped; 2 when there is no"
        " such register, it can not be set to that, or nobody was there to confirm it.",
    ),
)
@click.argument("bus_id", metavar="ID", type=click.IntRange(0))
@click.argument("register", metavar="[REGISTER", required=False)
@click.argument("value", metavar="[VALUE]]", type=_Number(), required=False)
@click.option("--assumed", is_flag=True, help="AI motors: use commands that nobody has confirmed for them.")
def command(bench: Bench, bus_id: int, register: str | None, value: int | None, yes: bool, assumed: bool) -> int:
    """Look at what a servo is set to, or set it. Without VALUE nothing is changed; without REGISTER all are listed.

    Nothing is driven: the torque is taken off before anything is written, so that what it holds up falls; goals are not
    written. What the servo is read to hold afterwards decides whether it was done. EEPROM is kept without power, and
    asked for before it is written, as is taking the torque off where it is on; RAM is forgotten with the power.

    Stopped (Ctrl-C) before it has begun to write it writes nothing; then it ends what it began.
    """
    from drivers.errors import BusError

    done: dict[str, Any] = {"id": bus_id, "errors": []}
    port = bench.port
    try:
        servo = _servo(bench, port, bus_id, assumed=assumed)
        if register is None:
            done |= _all(bench, bus_id, servo)
        elif value is None:
            done |= _one(bench, bus_id, servo, _setting(servo, bench.url, bus_id, register))
        else:
            done |= _write(bench, bus_id, servo, _setting(servo, bench.url, bus_id, register), value, yes=yes)
    except BusError as error:
        done["errors"] = [str(error)]
    said = done.get("said")
    if done["errors"]:
        done.pop("said", None)
    return bench.report(done, [said] if said else (), done["errors"])


def _servo(bench: Bench, port: Port, bus_id: int, *, assumed: bool) -> Settings:
    """Return the servo. Raises UsageError for an id or a model that the family does not have; `BusError`."""
    from drivers.bench.settings import WithSettings

    bench.check_model()
    bench.address(bus_id)
    if not isinstance(bench.family, WithSettings):
        raise CommandFailed(f"{bench.url}: nothing is known of what {bench.family.name} servos can be set to")
    model = bench.model or ""
    return bench.family.settings(port, bench.pace, bench.spec.options, bus_id, model=model, assumed=assumed)


def _setting(servo: Settings, url: str, bus_id: int, name: str) -> Setting:
    from difflib import get_close_matches

    if name in servo.settings:
        return servo.settings[name]
    if name in (_ID, _BAUD):
        raise click.UsageError(f"{name} is set by `nuc bus set-{'id' if name == _ID else 'baud'}`")
    near = get_close_matches(name, servo.settings, 3)
    hint = f"did you mean {' or '.join(near)}?" if near else f"{_this(url, bus_id)} lists them"
    raise click.UsageError(f"{servo.model} has no register {name!r}: {hint}")


def _write(bench: Bench, bus_id: int, servo: Settings, setting: Setting, value: int, *, yes: bool) -> dict[str, Any]:
    """Set it; return what it was and is, what to say, and why it was not done. Raises UsageError for a wrong value."""
    from drivers.errors import BusError

    name = setting.name
    before = servo.read(name)
    done: dict[str, Any] = {"register": name, "value": value, "before": before}
    if before is None:
        return done | {"errors": [f"{_without(bus_id, name)}: nothing was changed"]}
    try:
        servo.check(name, value, before)
    except BusError as error:
        raise click.UsageError(str(error)) from error
    if servo.already(name, value, before):
        return done | {"said": f"id {bus_id}: {name} is {value} already: nothing was written"}
    if (what := _warning(bus_id, servo, setting, value, before)) and not bench.confirmed(value, what, yes=yes):
        return done | {"errors": ["not confirmed"]}
    stop = bench.stop.noting()
    if not servo.write(name, value, stop):
        return done | {"errors": [f"{_STOPPED}: its torque is off, {name} of id {bus_id} stays {before}"]}
    lasts = "kept without power" if setting.kept else "until its power goes"
    said = f"id {bus_id}: {name} is {value} now (was {before}), {lasts}"
    if before != value and setting.low <= before <= setting.high:
        said += f"; back again: {_this(bench.url, bus_id)} {name} {before}"
    if remark := servo.remark(name):
        note(f"{bench.url}: {remark}")
    return done | ({"errors": [f"{_STOPPED}, too late: {said}"]} if stop() else {"said": said})


def _warning(bus_id: int, servo: Settings, setting: Setting, value: int, before: int) -> str:
    """Return what somebody has to confirm, "" for nothing."""
    what = f"{setting.name} of the servo of id {bus_id} will be {value} (is {before})"
    if setting.kept:
        what += f" for good; {SHARED}"
    torque = servo.torque
    if torque:
        what += "; its torque is on and will be taken off: what it holds up falls"
    elif torque is None:
        what += "; its torque will be taken off"
    if objection := servo.objection(setting.name, value):
        what += f"; {objection}"
    weaker = servo.weakens(setting.name, value, before)
    if weaker:
        what += f"; {weaker}"
    return what if setting.kept or weaker or torque is not False else ""


def _without(bus_id: int, name: str) -> str:
    return f"id {bus_id} answers, but does not say its {name}: it has none, or the line loses answers (nuc bus ping)"


def _this(url: str, bus_id: int) -> str:
    """Return the command for this servo."""
    return f"nuc bus set {shlex.quote(url)} {bus_id}"


def _row(servo: Settings, setting: Setting, value: int | None) -> dict[str, Any]:
    bounds = {"low": setting.low, "high": setting.high} if setting.writable else {}
    return {
        "register": setting.name,
        "at": setting.where,
        "bytes": setting.size,
        "area": _area(setting),
        "access": _access(setting),
        "value": value,
        **bounds,
        "unit": setting.unit,
        "objection": "" if value is None else servo.objection(setting.name, value),
    }


def _area(setting: Setting) -> str:
    return "EEPROM" if setting.kept else "RAM"


def _access(setting: Setting) -> str:
    return ("rw*" if setting.instead else "rw") if setting.writable else "r"


def _one(bench: Bench, bus_id: int, servo: Settings, setting: Setting) -> dict[str, Any]:
    """Return one register, and what to say of it."""
    value = servo.read(setting.name)
    done = {"model": servo.model, **_row(servo, setting, value)}
    if value is None:
        return done | {"errors": [_without(bus_id, setting.name)]}
    bytes_ = "1 byte" if setting.size == 1 else f"{setting.size} bytes"
    bounds = f"{setting.low} to {setting.high}" if setting.writable else "read only"
    lines = [
        f"{setting.name} = {value}  {setting.unit}".rstrip(),
        f"at {setting.where}, {bytes_}, {_area(setting)}, {bounds}",
        *filter(None, (setting.instead, servo.remark(setting.name))),
    ]
    _object(bench.url, bus_id, [done])
    return done | {"said": "\n".join(lines)}


def _all(bench: Bench, bus_id: int, servo: Settings) -> dict[str, Any]:
    """Return all registers, a table of them, and which could not be read; a servo that is silent is not asked again."""
    from drivers.errors import BusError

    rows: list[dict[str, Any]] = []
    errors: list[str] = []
    for name, setting in servo.settings.items():
        value = None
        if len(errors) < _LOST:
            try:
                value = servo.read(name)
            except BusError as error:
                errors.append(str(error))
        rows.append(_row(servo, setting, value))
    done = {"model": servo.model, "registers": rows, "errors": errors}
    if not errors and all(row["value"] is None for row in rows):
        return done | {"errors": [f"id {bus_id} answers, but to none of the commands that read its parameters"]}
    lines = table(
        _COLUMNS,
        [
            (*(row[key] for key in ("register", "at", "bytes", "area", "access", "value")), _wrapped(row["unit"]))
            for row in rows
        ],
    )
    lines = [f"id {bus_id}: {servo.model}", *map(str.rstrip, lines)]
    _object(bench.url, bus_id, rows)
    return done | {"said": "\n".join(lines)}


def _wrapped(text: str) -> str:
    """Return a unit in lines that fit beside the rest of its row on a terminal; whole where it is none."""
    if not is_terminal():
        return text
    room = max(shutil.get_terminal_size().columns - _UNIT_AT, _LEAST_ROOM)
    return f"\n{'':<{_UNIT_AT}}".join(textwrap.wrap(text, room))


def _object(url: str, bus_id: int, rows: Sequence[dict[str, Any]]) -> None:
    """Say what keeps the servo from being driven."""
    for row in rows:
        if row["objection"]:
            note(f"{url}: id {bus_id}: {row['objection']}")
