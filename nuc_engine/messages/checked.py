"""A request as it was sent, held against what it may be: checked as a whole before anything is done."""

from __future__ import annotations

import reprlib
from collections.abc import Mapping
from typing import Any, Literal, TypeVar, cast, get_args, get_origin

import msgspec
from msgspec.structs import fields

from nuc_engine.messages.errors import Refused
from nuc_engine.messages.requests import Request
from sccils_schemas.names import did_you_mean, printable, shorten

R = TypeVar("R", bound=Request[Any])


def check_request(kind: type[R], given: Mapping[Any, Any]) -> R:
    """Return a request; what is left out, or None, is what stands for it.

    Texts become printable, here and nowhere else, since they go to logs and terminals. Raises Refused, kind
    bad_request, with everything that does not fit.
    """
    try:
        request = msgspec.convert({name: value for name, value in given.items() if value is not None}, kind)
    except (msgspec.ValidationError, UnicodeError) as error:
        raise _refused(kind, given) or Refused("bad_request", f"{kind.method}: {error}") from error
    for name in kind.__struct_fields__:
        if name not in kind.as_sent:
            setattr(request, name, _printable(getattr(request, name)))
    return request


def _refused(kind: type[Request[Any]], given: Mapping[Any, Any]) -> Refused | None:
    known = {field.name: field for field in fields(kind)}
    unknown = [str(name) for name in given if name not in known]
    wrong = [f"{kind.method} has no parameter {shorten(name)!r}" for name in unknown]
    for name, field in known.items():
        value = given.get(name)
        if value is None:
            wrong += [f"{kind.method} lacks its parameter {name!r}"] if field.required else []
        elif not _fits(value, field.type):
            wrong.append(f"{name} of {kind.method} is {reprlib.repr(value)}; expected {expected(field.type)}")
    hint = ""
    if unknown:
        hint = did_you_mean(unknown[0], known) or f"parameters are: {', '.join(known) or 'none'}"
    return Refused("bad_request", "; ".join(wrong), hint) if wrong else None


def _fits(value: Any, kind: Any) -> bool:
    try:
        msgspec.convert(value, kind)
    except (msgspec.ValidationError, UnicodeError):
        return False
    return True


def expected(kind: Any) -> str:
    """Say what a parameter of this type is."""
    parts = [kind, *get_args(kind)]
    said = [meta.description for part in parts for meta in getattr(part, "__metadata__", ()) if meta.description]
    if said:
        return said[0]
    words = [word for part in parts if get_origin(part) is Literal for word in get_args(part)]
    if words:
        return " or ".join((["a whole number"] if int in parts else []) + words)
    return "true or false"


def _printable(value: Any) -> Any:
    match value:
        case str():
            return printable(value)
        case list():
            return [_printable(one) for one in cast(list[Any], value)]
        case dict():
            return {_printable(key): _printable(one) for key, one in cast(dict[Any, Any], value).items()}
        case _:
            return value
