"""Letters that look like others: names that a reader takes for one and a program for two.

A few dozen pairs that are alike in every font are known here, not all of Unicode's (UTS 39): what somebody may type or
paste without seeing it.
"""

from __future__ import annotations

import unicodedata

_CYRILLIC = (
    "\u0430\u0435\u043e\u0440\u0441\u0443\u0445\u0456\u0458\u0455\u0501\u051b\u051d\u04bb"
    "\u0410\u0412\u0415\u041a\u041c\u041d\u041e\u0420\u0421\u0422\u0423\u0425\u0406\u0408\u0405"
)
_GREEK = "\u03bf\u03bd\u0391\u0392\u0395\u0396\u0397\u0399\u039a\u039c\u039d\u039f\u03a1\u03a4\u03a5\u03a7"
_OTHER = "\u0251\u0261\u0131\u0269\u028b\u04cf\u04c0\u0475\u0578\u057d\u0585"
_LATIN = "aeopcyxijsdqwhABEKMHOPCTYXIJSovABEZHIKMNOPTYXagiivllvnuo"
_FOREIGN = dict(zip(map(ord, _CYRILLIC + _GREEK + _OTHER), _LATIN, strict=True))
_SMALL_GREEK = dict(zip(map(ord, "\u03b1\u03b3\u03b9\u03ba\u03c1\u03c5\u03c9"), "ayikpuw", strict=True))
"""Alike enough to be taken for the Latin ones, but somebody's own symbols: alone they are not odd."""

_SHAPES = str.maketrans("1I0", "llO")


def skeleton(name: str) -> str:
    """Return what is left of a name for the eye: names that look the same have the same one."""
    plain = unicodedata.normalize("NFKC", name)
    seen = "".join(letter for letter in plain if unicodedata.category(letter) != "Cf")
    return seen.translate(_FOREIGN | _SMALL_GREEK).translate(_SHAPES)


def odd_letters(name: str) -> str:
    """Return which letters of a name cannot be told by eye: of another script than the rest, invisible, of a width."""
    latin = any(letter.isascii() and letter.isalpha() for letter in name)
    odd = [
        letter
        for letter in dict.fromkeys(name)
        if (latin and ord(letter) in _FOREIGN)
        or unicodedata.category(letter) == "Cf"
        or unicodedata.normalize("NFKC", letter) in _ASCII.difference(letter)
    ]
    return ", ".join(f"U+{ord(letter):04X} {unicodedata.name(letter, '')}".strip() for letter in odd)


_ASCII = frozenset(map(chr, range(33, 127)))
