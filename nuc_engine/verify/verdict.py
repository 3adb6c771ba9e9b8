"""What a verification found."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from nuc_engine.verify.logs import DATA, Difference

EPISODE = "EpisodeData.f64"
"""The log of an episode of a RunConfig."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """What was found.

    `changed_files` are not what the manifest's sums say. `records` were compared, by file, of those `present`; `counts`
    are differences by file, of which `differences` keeps some; `unchecked` says what no equation covers, or could not
    be covered here. `broken` is the error that the oracle itself ended with, of files that do not fit one another.
    """

    changed_files: tuple[str, ...]
    records: Mapping[str, int]
    counts: Mapping[str, int]
    differences: tuple[Difference, ...]
    unchecked: tuple[str, ...]
    present: Mapping[str, int] = field(default_factory=dict[str, int])
    broken: str = ""

    @property
    def unverified(self) -> tuple[str, ...]:
        """The data logs that have records of which none was compared."""
        return tuple(name for name in (*DATA, EPISODE) if self.present.get(name) and not self.records.get(name))

    @property
    def good(self) -> bool:
        """Whether every file is what the bout left and every record that was compared, some of each, as computed."""
        return not (self.changed_files or self.counts or self.unverified)
