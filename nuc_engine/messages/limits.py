"""What a value in a request may be: bounds, and each with the words that say what was expected."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from typing import Annotated, Literal

from msgspec import Meta

MAX_TEXT = 4096
MAX_ITEMS = 4096
MAX_CHANGES = 1024
"""Entries of one list of changes; of these 512 may take effect together."""
MAX_TEXTS = 64
"""Labels, or documents, of one request."""
MAX_NUMBERS = 16_384
"""Numbers in one request."""
MAX_REF = 256
"""Characters of a name where one of its things is meant."""
MAX_RATE_HZ = 500.0

_LONGEST_S = 1e8
_FASTEST_DEG_S = 10_000.0
_MOST_TICKS = 65_535
"""No servo has more; how many one has is known with its model."""
_LARGEST = sys.float_info.max

RoleName = Literal["watch", "operate", "admin"]
ROLES: tuple[RoleName, ...] = ("watch", "operate", "admin")
"""From least to most; each may do what those before it may."""

Text = Annotated[str, Meta(max_length=MAX_TEXT, description=f"a text of at most {MAX_TEXT} characters")]
Document = Annotated[str, Meta(description="a text")]
Texts = Annotated[
    Mapping[str, str], Meta(max_length=MAX_TEXTS, description=f"a map from text to text, of at most {MAX_TEXTS}")
]
# Neither NaN nor infinity is within any bounds.
Number = int | Annotated[float, Meta(ge=-_LARGEST, le=_LARGEST)]
Angles = Annotated[
    Mapping[str, Number],
    Meta(min_length=1, max_length=MAX_ITEMS, description="a map from names to finite numbers, with at least one"),
]
Time = Annotated[float, Meta(ge=0, le=_LONGEST_S, description=f"a finite number from 0 to {_LONGEST_S:g}")]
End = Annotated[
    float,
    Meta(ge=-_LONGEST_S, le=_LONGEST_S, description=f"a finite number from {-_LONGEST_S:g} to {_LONGEST_S:g}"),
]
Rate = Annotated[float, Meta(ge=0.1, le=_FASTEST_DEG_S, description=f"a finite number from 0.1 to {_FASTEST_DEG_S:g}")]
Ticks = Annotated[
    float,
    Meta(ge=-_MOST_TICKS, le=_MOST_TICKS, description=f"a finite number from {-_MOST_TICKS} to {_MOST_TICKS}"),
]
SampleRate = Annotated[
    float, Meta(ge=0.01, le=MAX_RATE_HZ, description=f"a finite number from 0.01 to {MAX_RATE_HZ:g}")
]
Count = Annotated[int, Meta(ge=0, description="a whole number from 0 on")]

Ref = int | Annotated[str, Meta(max_length=MAX_REF)]
OneRef = Annotated[Ref, Meta(description="a name or an id")]
Refs = Annotated[
    Sequence[Ref],
    Meta(min_length=1, max_length=MAX_ITEMS, description=f"a list of 1 to {MAX_ITEMS} names or ids"),
]
ValueChange = tuple[Ref, Number | str | Annotated[Sequence[Number], Meta(min_length=1)]]
"""An HDSO, or one element of it, by id or name, and its new value, values, or rule text."""
Changes = Annotated[
    Sequence[ValueChange],
    Meta(
        min_length=1,
        max_length=MAX_CHANGES,
        description=f"a list of [name or id, number, list of numbers or rule text], of 1 to {MAX_CHANGES}",
    ),
]
