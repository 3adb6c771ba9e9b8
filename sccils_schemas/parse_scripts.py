"""Building HDSO scripts from a checked tree: writes, requests, gradual changes, and what is done to a leg by hand."""

from __future__ import annotations

from sccils_schemas.by_hand import (
    DisconnectEntry,
    GroundEntry,
    HeightEntry,
    KickEntry,
    LoadEntry,
    PlantEntry,
    ReconnectEntry,
)
from sccils_schemas.documents import Gradual, HdsoScript, ScriptEntry
from sccils_schemas.lines import attribute_line
from sccils_schemas.numbers import split_words
from sccils_schemas.reader import Reader
from sccils_schemas.xmlread import Node


def build_hdsoscript(node: Node, reader: Reader, file: str) -> HdsoScript:
    """Return an HDSO script."""
    return HdsoScript(
        entries=tuple(_entry(child, reader) for child in node.children if child.tag != "description"),
        name=reader.optional(node, "name"),
        fullname=reader.optional(node, "fullname"),
        script_type=reader.optional(node, "ScriptType"),
        description=reader.description(node),
        source=file,
        line=node.line,
    )


def _entry(node: Node, reader: Reader) -> ScriptEntry:
    match node.tag:
        case "hdsoMod":
            return reader.mod(node)
        case "hdsoSpec":
            return reader.spec(node)
        case "gradual":
            return _gradual(node, reader)
        case _:
            return _by_hand(node, reader)


def _gradual(node: Node, reader: Reader) -> Gradual:
    for child in node.children:
        if child.attributes.pop("time", None) is not None:
            hint = "the times of its steps follow from time, duration and steps"
            reader.attribute_error(child, "time", "an hdsoMod inside <gradual> has a time", "no time", hint)
    return Gradual(
        time_s=reader.seconds(node, "time"),
        duration_s=reader.seconds(node, "duration"),
        steps=reader.integer(node, "steps", 1),
        mods=reader.mods(node),
        line=node.line,
    )


def _by_hand(node: Node, reader: Reader) -> PlantEntry:
    time_s = reader.seconds(node, "time")
    match node.tag:
        case "kick":
            duration = reader.seconds(node, "duration") if "duration" in node.attributes else None
            return KickEntry(time_s, _force(node, reader), duration, line=node.line)
        case "ground":
            return GroundEntry(time_s, reader.word(node, "present", ("y", "n")) == "y", line=node.line)
        case "height":
            return HeightEntry(time_s, reader.number(node, "cm"), line=node.line)
        case "load":
            return LoadEntry(time_s, reader.number(node, "newton"), reader.seconds(node, "duration"), line=node.line)
        case "disconnect":
            return DisconnectEntry(
                time_s, node.attributes.get("joint", ""), reader.seconds(node, "duration"), line=node.line
            )
        case _:
            return ReconnectEntry(time_s, reader.seconds(node, "duration"), line=node.line)


def _force(node: Node, reader: Reader) -> tuple[float, float, float] | None:
    words = split_words(node.attributes.get("force", ""))
    if len(words) != 3:
        return None
    line = attribute_line(node.line, "force")
    x, y, z = (reader.finite(line, word, "force") for word in words)
    return x, y, z
