"""Completion of names: the daemon is asked, for a tenth of a second; else the configurations at hand are looked at."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import click
from click.shell_completion import CompletionItem

from nuc_engine.cli.ctl.link import Target, connect

_TIMEOUT_S = 0.1


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
    from nuc_engine.bout.run import BoutRefused, prepare_bout
    from nuc_engine.configurations.describe import describe_model
    from nuc_engine.machine.locations import NotFound, list_configurations
    from sccils_schemas.problems import SccilsError

    models: list[Mapping[str, Any]] = []
    for name in list_configurations():
        try:
            models.append(describe_model(prepare_bout(name, None).model))
        except (BoutRefused, NotFound, SccilsError):
            continue  # what is wrong with it is for `nuc validate` to say
    return models


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
