"""Subcommands about who is there and who has control; and the end of it all."""

from __future__ import annotations

from typing import Any, Final

import click

from nuc_engine.cli.ctl.base import answer, subcommand
from nuc_engine.cli.ctl.link import Target, act, daemon
from nuc_engine.cli.terminal.output import note
from nuc_engine.cli.terminal.params import as_json


@subcommand("clients", (("clients", "who is connected, and as what"),), "One line per client.")
@as_json
def clients(target: Target, as_json: bool) -> int:
    """List who is connected. One of them has control; the others watch."""
    with daemon(target) as leg:
        status = leg.status()
    lines = [_client(item, str(status.control)) for item in status.clients]
    return answer(as_json, {"clients": status.clients, "control": status.control}, *lines)


@subcommand(
    "take",
    (("take", "control, if nobody else has it"), ("take --force", "also if somebody has; it is logged")),
    "Who has control now. It ends by itself when you send nothing for a while.",
)
@click.option("--force", is_flag=True, help="Take it from whoever has it.")
@as_json
def take(target: Target, force: bool, as_json: bool) -> int:
    """Take control: the right to change things. Commands that need it take it by themselves while nobody has it."""
    with daemon(target) as leg:
        return answer(as_json, leg.take_control(force), "control is yours")


@subcommand(
    "hand-over",
    (("hand-over ritzmann@bench", "a name as `nuc ctl clients` lists it"),),
    "Who has control now.",
)
@click.argument("to", metavar="NAME")
@as_json
def hand_over(target: Target, to: str, as_json: bool) -> int:
    """Give control to another client."""
    with daemon(target) as leg:
        return answer(as_json, leg.hand_over(to), f"{to} has control")


@subcommand("release", (("release", "nobody has control then"),), "Nothing but that it was done.")
@as_json
def release(target: Target, as_json: bool) -> int:
    """Give control back."""
    with daemon(target) as leg:
        return answer(as_json, leg.release_control(), "control is free")


@subcommand(
    "shutdown",
    (("shutdown", "after a question"), ("shutdown --yes", "without")),
    "Nothing but that it was begun. Needs the role admin.",
)
@click.option("--yes", is_flag=True, help="Do not ask.")
@as_json
def shutdown(target: Target, yes: bool, as_json: bool) -> int:
    """End the daemon: the bout is stopped, the torque taken off, the data flushed."""
    if not yes and not _sure(f"End the daemon at {target.address}?"):
        note("it goes on running; --yes answers the question beforehand")
        return 1
    with daemon(target) as leg:
        return answer(as_json, act(leg, target, leg.shutdown), "ending")


def _sure(question: str) -> bool:
    try:
        return click.confirm(question, err=True)
    except click.Abort:
        return False


def _client(item: Any, control: str) -> str:
    name = str(item.get("name", ""))
    marks = [str(item["role"])] if item.get("role") else []
    marks += [] if item.get("verified", True) else ["unverified"]
    marks += ["in control"] if item.get("in_control") is True or (name and name == control) else []
    return f"{name}  {', '.join(marks)}".rstrip()


COMMANDS: Final = (clients, take, hand_over, release, shutdown)
