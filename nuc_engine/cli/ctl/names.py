"""Completion of names: the daemon is asked, for a tenth of a second; else the configurations at hand are looked at."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import click
from click.shell_completion import CompletionItem

from nuc_engine.cli.ctl.link import Target, connect

_TIMEOUT_S = 0.1
_KINDS = ("joints", "parameters", "sensors")


class Named(click.ParamType):  # pyright: ignore[reportMissingTypeArgument]
    """A name out of what the daemon, or a configuration, knows; anything is taken, since the daemon decides."""

    def __init__(self, name: str, find: Callable[[Mapping[str, Any]], list[tuple[str, str]]], suffix: str = "") -> None:
        self.name, self._find, self._suffix = name, find, suffix

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """Return it as it is."""
        del param, ctx
        return str(value)

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        """Return the names that begin like this, each with what it means."""
        del param
        found = dict(pair for model in _models(_target(ctx)) for pair in self._find(model))
        return [
            CompletionItem(name + self._suffix, help=meaning)
            for name, meaning in found.items()
            if name.startswith(incomplete)
        ]


def _target(ctx: click.Context) -> Target:
    if isinstance(ctx.obj, Target):
        return ctx.obj
    given = (ctx.parent or ctx).params
    return Target(given.get("address") or "", given.get("name") or "", given.get("keys"))


def _models(target: Target) -> list[Mapping[str, Any]]:
    from nuc_engine.client import ClientError

    try:
        with connect(target, timeout_s=_TIMEOUT_S) as client:
            return [client.model()]
    except ClientError:
        return _models_at_hand()


def _models_at_hand() -> list[Mapping[str, Any]]:
    """Return what the documents of all configurations call their parts; read for names only, and not checked."""
    from nuc_engine.machine.locations import find_configuration, list_configurations

    return [_names_in(find_configuration(name)) for name in list_configurations()]


def _names_in(folder: Path) -> Mapping[str, Any]:
    from xml.parsers import expat

    from sccils_schemas.problems import Problems
    from sccils_schemas.xmlread import MODEL_FILES, read_file

    found: dict[str, list[dict[str, Any]]] = {kind: [] for kind in _KINDS}
    for kind, file in zip(_KINDS, MODEL_FILES, strict=True):
        parser = expat.ParserCreate()
        ends: list[str] = []

        def begin(tag: str, attributes: dict[str, str], *, kind: str = kind, ends: list[str] = ends) -> None:
            if tag == "endpoint":
                ends.append(tag)
            elif tag == "joint" or (tag == "hdso" and kind != "joints"):
                found[kind].append(
                    {
                        "name": attributes.get("name", ""),
                        "fullname": attributes.get("fullname"),
                        "endpoint": bool(ends),
                        "kind": attributes.get("abstractType"),
                    }
                )

        parser.StartElementHandler = begin
        parser.StartDoctypeDeclHandler = _no_subset
        with suppress(expat.ExpatError, ValueError):  # what is wrong with it is for `nuc validate` to say
            parser.Parse(read_file(folder / file, Problems()) or b"", True)
    return found


def _no_subset(_name: str, _system: str | None, _public: str | None, subset: bool) -> None:
    if subset:
        raise ValueError("entities of a document's own are not read")


def _joints(model: Mapping[str, Any]) -> list[tuple[str, str]]:
    return [(item["name"], item["fullname"] or "") for item in model["joints"] if not item.get("endpoint")]


def _hdsos(model: Mapping[str, Any]) -> list[tuple[str, str]]:
    return [(item["name"], item["fullname"] or "") for item in (*model["parameters"], *model["sensors"])]


def _sensors(model: Mapping[str, Any]) -> list[tuple[str, str]]:
    return [(item["name"], item["fullname"] or "") for item in model["sensors"]]


def _writable(model: Mapping[str, Any]) -> list[tuple[str, str]]:
    return [(item["name"], item["fullname"] or "") for item in model["parameters"] if item["kind"] != "constant"]


JOINT = Named("JOINT", _joints)
SENSOR = Named("SENSOR", _sensors)
HDSO = Named("NAME", _hdsos)
ASSIGNMENT = Named("NAME=VALUE", _writable, "=")
