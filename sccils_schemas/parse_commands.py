"""Building command scripts from a checked tree."""

from __future__ import annotations

from typing import Literal

from sccils_schemas.documents import Command, CommandResponse, CommandScript, ConfigCommand
from sccils_schemas.parse_scripts import build_hdsoscript
from sccils_schemas.reader import Reader
from sccils_schemas.xmlread import Node

CONFIG_TYPES: tuple[Literal["available", "start", "parameter"], ...] = ("available", "start", "parameter")
COMMAND_TYPES: tuple[Literal["run", "stop", "log", "stoplog", "extended"], ...] = (
    "stop",
    "run",
    "log",
    "stoplog",
    "extended",
)
STATUSES: tuple[Literal["success", "fail", "conditional", "other"], ...] = ("other", "success", "fail", "conditional")


def build_commandscript(node: Node, reader: Reader, file: str) -> CommandScript:
    """Return a command script; a lone command, response or configuration command becomes a script of one entry."""
    if node.tag != "sccils_commandscript":
        return CommandScript((_entry(node, reader, file),), source=file)
    entries = tuple(_entry(child, reader, file) for child in node.children)
    return CommandScript(entries, reader.optional(node, "ScriptType"), source=file)


def _entry(node: Node, reader: Reader, file: str) -> Command | CommandResponse | ConfigCommand:
    if node.tag == "sccils_command":
        return _command(node, reader, file)
    if node.tag == "sccils_command_response":
        return _response(node, reader, file)
    return ConfigCommand(
        config_type=reader.word(node, "configtype", CONFIG_TYPES),
        config_name=node.attributes.get("configname", ""),
        parameters=tuple(reader.text(child) for child in node.children),
        text=reader.text(node),
        line=node.line,
    )


def _command(node: Node, reader: Reader, file: str) -> Command:
    scripts = [build_hdsoscript(child, reader, file) for child in node.children]
    for extra in node.children[1:]:
        reader.error(extra, "a second <hdsoscript> in one command", "at most one", "send two commands")
    return Command(
        command_type=reader.word(node, "commandtype", COMMAND_TYPES),
        extended_command=reader.optional(node, "extendedcommand"),
        start_time_s=reader.seconds(node, "starttime"),
        stop_time_s=reader.seconds(node, "stoptime"),
        data_destination=reader.word(node, "data_destination", ("network", "local")),
        script=scripts[0] if scripts else None,
        text=reader.text(node),
        line=node.line,
    )


def _response(node: Node, reader: Reader, file: str) -> CommandResponse:
    commands = [_command(child, reader, file) for child in node.children]
    for extra in node.children[1:]:
        reader.error(extra, "a second <sccils_command> in one response", "at most one")
    return CommandResponse(
        status=reader.word(node, "responsestatus", STATUSES),
        response_type=reader.word(node, "responsetype", ("ack_only", "withdata")),
        response_time=reader.optional(node, "responsetime"),
        command=commands[0] if commands else None,
        text=reader.text(node),
        line=node.line,
    )
