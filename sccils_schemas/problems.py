"""What is wrong with a document, collected so that everything is reported in one go."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Literal, SupportsInt

Severity = Literal["error", "warning"]

MAX_KEPT = 1000
"""Problems kept per collector; further ones are only counted, so a hostile file cannot fill the memory."""
MAX_GUESSED = 100
"""Errors after which no more guesses at what was meant are made; each costs a look at every known word."""


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing wrong: where (line 0 is the whole file), what, what was expected instead, what to do about it."""

    file: str
    line: int
    severity: Severity
    what: str
    expected: str = ""
    hint: str = ""

    def __str__(self) -> str:
        """Return `file:line: error: what, expected ... (hint)`. What concerns the whole file is on line 1."""
        place = f"{self.file}:{max(self.line, 1)}"
        expected = f", expected {self.expected}" if self.expected else ""
        hint = f" ({self.hint})" if self.hint else ""
        return f"{place}: {self.severity}: {' '.join(f'{self.what}{expected}{hint}'.splitlines())}"


class Problems:
    """A collector of problems: iterates sorted by file and line, and counts."""

    def __init__(self, problems: Iterable[Problem] = ()) -> None:
        self._kept: dict[Problem, None] = {}
        self._reported = 0
        self.error_count = 0
        self.warning_count = 0
        self.extend(problems)

    def add(self, problem: Problem) -> None:
        """Take one problem; the same one twice counts once."""
        self._reported += problem.severity == "error"
        if problem in self._kept:
            return
        if problem.severity == "error":
            self.error_count += 1
        else:
            self.warning_count += 1
        if len(self._kept) < MAX_KEPT:
            self._kept[problem] = None

    def extend(self, problems: Iterable[Problem]) -> None:
        """Take several problems."""
        for problem in problems:
            self.add(problem)

    def error(self, file: str, line: SupportsInt, what: str, expected: str = "", hint: str = "") -> None:
        """Note an error: the document must not be used."""
        self.add(Problem(file, int(line), "error", what, expected, hint))

    def warning(self, file: str, line: SupportsInt, what: str, expected: str = "", hint: str = "") -> None:
        """Note a warning: the document can be used."""
        self.add(Problem(file, int(line), "warning", what, expected, hint))

    @property
    def ok(self) -> bool:
        """Whether there is no error; warnings are allowed."""
        return self.error_count == 0

    @property
    def guessing(self) -> bool:
        """Whether hints that cost time are still worth it."""
        return self._reported < MAX_GUESSED

    @property
    def errors(self) -> tuple[Problem, ...]:
        """Return the errors, sorted."""
        return tuple(problem for problem in self if problem.severity == "error")

    @property
    def warnings(self) -> tuple[Problem, ...]:
        """Return the warnings, sorted."""
        return tuple(problem for problem in self if problem.severity == "warning")

    @property
    def dropped(self) -> int:
        """How many problems were counted but not kept."""
        return self.error_count + self.warning_count - len(self._kept)

    def __iter__(self) -> Iterator[Problem]:
        """Iterate by file and line, in the order found within a line."""
        return iter(sorted(self._kept, key=lambda problem: (problem.file, problem.line)))

    def __len__(self) -> int:
        """Return how many problems there are, kept or not."""
        return self.error_count + self.warning_count

    def __str__(self) -> str:
        """Return one line per problem, and a last one when some were not kept."""
        lines = [str(problem) for problem in self]
        if self.dropped:
            worst = "warning" if self.ok else "error"
            lines.append(f"{worst}: ... and {self.dropped} more")
        return "\n".join(lines)


class SccilsError(Exception):
    """Root of this package's errors. `problems` says what is wrong, where and what to do."""

    def __init__(self, message: str = "", problems: Iterable[Problem] = ()) -> None:
        self.problems = tuple(problems)
        super().__init__(message or "\n".join(str(problem) for problem in self.problems))
