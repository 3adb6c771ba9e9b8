"""What a method's parameters must be: checked as a whole before anything is done, unknown ones are errors."""

from __future__ import annotations

import math
import reprlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

from nuc_engine.service.errors import Refused
from sccils_schemas.names import MAX_NAME_BYTES, did_you_mean, printable, shorten

REQUIRED = object()
"""Default of a parameter that has none."""

MAX_TEXT = 4096
MAX_ITEMS = 4096
MAX_CHANGES = 1024
"""Entries of one list of changes; of these 512 may take effect together."""
MAX_TEXTS = 64
"""Labels, or documents, of one request."""
MAX_NUMBERS = 16_384
"""Numbers in one request."""

Check = Callable[[Any], str]
"""Says what was expected when a value does not fit, else nothing."""


@dataclass(frozen=True, slots=True)
class Param:
    """One parameter: its check, and what stands for it when it is left out or null.

    Texts become printable, here and nowhere else, since they go to logs and terminals; not where they are `raw`:
    documents and values, which are read and checked before anything shows them.
    """

    check: Check
    default: Any = REQUIRED
    raw: bool = False


Params = Mapping[str, Param]


def check_params(method: str, params: Params, given: Mapping[Any, Any]) -> dict[str, Any]:
    """Return the parameters with defaults filled in. Raises Refused, kind bad_request."""
    for name in given:
        if name not in params:
            known = ", ".join(params) or "none"
            hint = did_you_mean(str(name), params) or f"parameters are: {known}"
            raise Refused("bad_request", f"{method} has no parameter {shorten(str(name))!r}", hint)
    checked: dict[str, Any] = {}
    for name, param in params.items():
        value = given.get(name)
        if value is None:
            if param.default is REQUIRED:
                raise Refused("bad_request", f"{method} lacks its parameter {name!r}")
            checked[name] = param.default
            continue
        if expected := param.check(value):
            raise Refused("bad_request", f"{name} of {method} is {reprlib.repr(value)}; expected {expected}")
        checked[name] = value if param.raw else _printable(value)
    return checked


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


def text(value: Any) -> str:
    """Expect a text of moderate length."""
    if isinstance(value, str) and len(value) <= MAX_TEXT:
        return ""
    return f"a text of at most {MAX_TEXT} characters"


def name_of_client(value: Any) -> str:
    """Expect what a client may be called."""
    if isinstance(value, str) and len(printable(value).encode()) <= MAX_NAME_BYTES:
        return ""
    return f"a name of at most {MAX_NAME_BYTES} bytes"


def long_text(value: Any) -> str:
    """Expect a text."""
    return "" if isinstance(value, str) else "a text"


def flag(value: Any) -> str:
    """Expect true or false."""
    return "" if isinstance(value, bool) else "true or false"


def number(low: float = -math.inf, high: float = math.inf) -> Check:
    """Expect a finite number in a range."""

    def check(value: Any) -> str:
        if is_number(value) and low <= value <= high:
            return ""
        bounds = "" if math.isinf(low) and math.isinf(high) else f" from {low:g} to {high:g}"
        return f"a finite number{bounds}"

    return check


def one_of(*words: str) -> Check:
    """Expect one of some words."""
    return lambda value: "" if value in words else " or ".join(words)


def refs(value: Any) -> str:
    """Expect a list of names or ids."""
    if isinstance(value, list) and 0 < len(cast(list[Any], value)) <= MAX_ITEMS and all(map(is_ref, cast(Any, value))):
        return ""
    return f"a list of 1 to {MAX_ITEMS} names or ids"


def ref(value: Any) -> str:
    """Expect a name or an id."""
    return "" if is_ref(value) else "a name or an id"


def texts(value: Any) -> str:
    """Expect a map from text to text."""
    if isinstance(value, dict) and len(cast(dict[Any, Any], value)) <= MAX_TEXTS:
        pairs = cast(dict[Any, Any], value).items()
        if all(isinstance(key, str) and isinstance(held, str) for key, held in pairs):
            return ""
    return f"a map from text to text, of at most {MAX_TEXTS}"


def numbers(value: Any) -> str:
    """Expect a map from text to finite numbers."""
    if isinstance(value, dict) and 0 < len(cast(dict[Any, Any], value)) <= MAX_ITEMS:
        pairs = cast(dict[Any, Any], value).items()
        if all(isinstance(key, str) and is_number(held) for key, held in pairs):
            return ""
    return "a map from names to finite numbers, with at least one"


def changes(value: Any) -> str:
    """Expect a list of [name or id, value], where a value is a number, a list of numbers or a text."""
    expected = "a list of [name or id, number, list of numbers or rule text]"
    if not isinstance(value, list) or not 0 < len(cast(list[Any], value)) <= MAX_CHANGES:
        return f"{expected}, of 1 to {MAX_CHANGES}"
    if sum(map(_length, cast(list[Any], value))) > MAX_NUMBERS:
        return f"{expected}, of at most {MAX_NUMBERS} numbers in all"
    return "" if all(map(_is_change, cast(list[Any], value))) else expected


def _length(item: Any) -> int:
    is_pair = isinstance(item, list) and len(cast(list[Any], item)) == 2
    value: Any = cast(list[Any], item)[1] if is_pair else None
    return len(cast(list[Any], value)) if isinstance(value, list) else 0


def _is_change(item: Any) -> bool:
    if not isinstance(item, list) or len(cast(list[Any], item)) != 2 or not is_ref(cast(list[Any], item)[0]):
        return False
    value = cast(list[Any], item)[1]
    if isinstance(value, list):
        return len(cast(list[Any], value)) > 0 and all(map(is_number, cast(Sequence[Any], value)))
    return isinstance(value, str) or is_number(value)


def is_ref(value: Any) -> bool:
    """Say whether this is a name or an id."""
    return (isinstance(value, str) and len(value) <= 256) or is_whole(value)


def is_whole(value: Any) -> bool:
    """Say whether this is a whole number; true and false are none."""
    return isinstance(value, int) and not isinstance(value, bool)


def is_number(value: Any) -> bool:
    """Say whether this is a finite number; true and false are none."""
    return is_whole(value) or (isinstance(value, float) and math.isfinite(value))


_LONGEST_S = 1e8
START_TIME = Param(number(0, _LONGEST_S), 0.0)
"""Engine time of a beginning, or a delay, in s."""
STOP_TIME = Param(number(-_LONGEST_S, _LONGEST_S), -1.0)
"""Engine time of an end, in s; negative: none."""
