"""The SCCILS documents the service reads and sends (appendix 10.2)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Literal

from nuc_engine.machine.locations import list_configurations
from nuc_engine.messages.errors import Refused
from nuc_engine.service.scripts import reasons
from sccils_schemas.documents import Command, CommandResponse, CommandScript, ConfigCommand, HdsoScript
from sccils_schemas.model import Model, check_commandscript, check_script
from sccils_schemas.names import printable_lines
from sccils_schemas.parser import parse
from sccils_schemas.problems import SccilsError
from sccils_schemas.writer import write

MOST_ECHOED = 16
"""Entries of a script in a command that its answer holds too."""

DocumentStatus = Literal["success", "fail", "conditional"]


def available() -> bytes:
    """Return the list of configurations."""
    return script(*[ConfigCommand("available", name) for name in list_configurations()])


def response(
    status: DocumentStatus,
    command: Command | None = None,
    *,
    text: str = "",
    time: str | None = None,
    data: bool = False,
) -> bytes:
    """Return an answer, with the command it answers where there is one (readings D2, D4)."""
    kind = "withdata" if data else "ack_only"
    if command is not None and command.script is not None and len(command.script.entries) > MOST_ECHOED:
        command = replace(command, script=None)
    clean = printable_lines(text)
    try:
        return script(CommandResponse(status, kind, time, command, clean))
    except SccilsError:
        return script(CommandResponse(status, kind, time, None, clean))


def script(*entries: Command | CommandResponse | ConfigCommand) -> bytes:
    """Return a command script as bytes."""
    return write(CommandScript(tuple(entries)))


def data_port(urls: Sequence[str]) -> ConfigCommand:
    """Return the port that data are asked for or sent at: the first of these addresses that has one."""
    ports = [url.rpartition(":")[2] for url in urls if url.startswith("tcp://")]
    numbers = tuple(port for port in ports if port.isdecimal())[:1]
    return ConfigCommand("parameter", "dataport", numbers)


def read_message(payload: bytes, model: Model | None) -> tuple[HdsoScript | CommandScript, str]:
    """Return a document, and what is wrong with it on this model. All of it is checked before anything is done.

    Raises Refused for what is no request at all.
    """
    document, problems = parse(payload, "message")
    if document is None:
        raise Refused("bad_request", reasons(problems))
    if isinstance(document, HdsoScript):
        if model is None:
            return document, "nothing is configured"
        problems = check_script(document, model)
    elif isinstance(document, CommandScript):
        problems = check_commandscript(document, model)
    else:
        raise Refused("bad_request", "a joint list or an HDSO list is no request", "name a configuration to start")
    return document, "" if problems.ok else reasons(problems)
