"""Numbers in documents: reading them exactly, and what the seven data types hold (reading B18)."""

from __future__ import annotations

import math
import re
import struct
from collections.abc import Mapping, Sequence
from decimal import ROUND_DOWN, Decimal
from types import MappingProxyType

from sccils_schemas.documents import DataType
from sccils_schemas.names import shorten

INTEGER_RANGE: Mapping[str, tuple[int, int]] = MappingProxyType(
    {
        "int": (-(2**31), 2**31 - 1),
        "lint": (-(2**31), 2**31 - 1),
        "llint": (-(2**63), 2**63 - 1),
        "char": (0, 255),
        "uchar": (0, 255),
    }
)
"""Least and greatest value of the integer types: int and lint 32 bits, llint 64; char is a byte of UTF-8."""

FLOAT_MAX = 3.4028234663852886e38
"""Greatest finite value of type float (IEEE 754, 32 bits)."""

SPACE = " \t\r\n"
"""What XML calls white space."""

_INTEGER = re.compile(r"[+-]?[0-9]+")
_NUMBER = re.compile(r"[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]{1,5})?")
_SEPARATOR = re.compile(r"[ \t\r\n]*,[ \t\r\n]*|[ \t\r\n]+")
_LONGEST = 400
_NANOSECOND = Decimal("1e-9")


class NumberError(ValueError):
    """A text that is not a number of the type asked for: what is wrong, and what was expected."""

    def __init__(self, what: str, expected: str, hint: str = "") -> None:
        super().__init__(what)
        self.what, self.expected, self.hint = what, expected, hint


def read_whole(text: str) -> int:
    """Return a whole number whose form has been checked; of 20 digits or more, 10**19 with its sign."""
    text = text.strip()
    digits = text.lstrip("+-").lstrip("0") or "0"
    size = int(digits) if len(digits) < 20 else 10**19
    return -size if text.startswith("-") else size


def split_words(text: str) -> list[str]:
    """Cut a list at white space or commas (reading B17); two commas in a row leave an empty word between them."""
    text = text.strip(SPACE)
    return _SEPARATOR.split(text) if text else []


def word_starts(text: str) -> list[int]:
    """Return where the words of `split_words` begin in a text."""
    inner = text.strip(SPACE)
    begin = len(text) - len(text.lstrip(SPACE))
    return [begin, *(begin + found.end() for found in _SEPARATOR.finditer(inner))] if inner else []


def read_number(word: str, datatype: DataType) -> int | float:
    """Return one number of a data type. Raises NumberError; nothing is rounded, wrapped or truncated."""
    return _read_integer(word, datatype) if datatype in INTEGER_RANGE else _read_float(word, datatype)


def _read_integer(word: str, datatype: DataType) -> int:
    low, high = INTEGER_RANGE[datatype]
    expected = f"a whole number from {low} to {high}"
    if not word:
        raise NumberError("nothing stands before or after a comma", expected)
    if not _INTEGER.fullmatch(word):
        hint = "give datatype='float' for a number with a fraction" if _NUMBER.fullmatch(word) else ""
        raise NumberError(f"'{shorten(word, 30)}' is not of type {datatype}", expected, hint)
    if len(word) > 24 or not low <= int(word) <= high:
        raise NumberError(f"{shorten(word, 30)} does not fit type {datatype}", expected)
    return int(word)


def _read_float(word: str, datatype: DataType) -> float:
    if not word:
        raise NumberError("nothing stands before or after a comma", "a number")
    if not _NUMBER.fullmatch(word) or len(word) > _LONGEST:
        raise NumberError(f"'{shorten(word, 30)}' is not of type {datatype}", "a finite number")
    value = float(word)
    if not math.isfinite(value) or (datatype == "float" and not fits_float(value)):
        greatest = FLOAT_MAX if datatype == "float" else 1.7976931348623157e308
        raise NumberError(f"{shorten(word, 30)} does not fit type {datatype}", f"at most {greatest:.7g} in size")
    if _INTEGER.fullmatch(word) and int(word) != value:
        raise NumberError(f"{shorten(word, 30)} cannot be held exactly by a {datatype}", "fewer digits", "use llint")
    return value


def fits_float(value: float) -> bool:
    """Whether a finite value stays finite as a 32 bit float."""
    try:
        struct.pack("<f", value)
    except OverflowError:
        return False
    return True


def exact_as_float(value: float) -> bool:
    """Whether a 32 bit float holds the value exactly."""
    return fits_float(value) and struct.unpack("<f", struct.pack("<f", value))[0] == value


def misfit(values: Sequence[int | float], sent: DataType, held: DataType) -> tuple[int, str] | None:
    """Return the place of the first value of type `sent` that an HDSO of type `held` cannot take, and what it can.

    Reading C9.
    """
    for at, value in enumerate(values):
        if held in INTEGER_RANGE:
            low, high = INTEGER_RANGE[held]
            if value != math.floor(value) or not low <= value <= high:
                return at, f"a whole number from {low} to {high}"
            if sent == "float" and not exact_as_float(value):
                return at, "datatype='llint', since a float holds whole numbers exactly only up to 16777216"
        elif sent in INTEGER_RANGE and not (exact_as_float(value) if held == "float" else float(value) == value):
            return at, f"a number that type {held} holds exactly"
        elif held == "float" and not fits_float(value):
            return at, f"at most {FLOAT_MAX:.7g} in size"
    return None


def write_number(value: int | float) -> str:
    """Return the shortest text that reads back as the same number. Raises ValueError for one that is not finite."""
    if isinstance(value, int):
        return str(value)
    if not math.isfinite(value):
        raise ValueError(f"{value} cannot be written")
    return repr(value).removesuffix(".0")


def nanoseconds(time_s: Decimal) -> int:
    """Return a time in seconds as whole nanoseconds; what is finer is cut off (reading C1)."""
    return int(time_s.quantize(_NANOSECOND, rounding=ROUND_DOWN).scaleb(9))
