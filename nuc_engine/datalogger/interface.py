"""What the service asks of its data logger (`nuc_engine.datalogger.logger`)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol


class DataLogger(Protocol):
    """What the channel tells the data logger (`nuc_engine.datalogger.logger`); `tell_...` may raise its LogRefused."""

    def documents(self) -> tuple[str, dict[str, bytes]] | None:
        """Return name and files of the configuration as an earlier service told them, None when none did."""
        ...

    def tell_documents(self, name: str, files: Mapping[str, bytes]) -> None:
        """Give the documents of the configuration that is about to be in force."""
        ...

    def tell_script(self, name: str, text: bytes, requests: tuple[int, int] = (0, -1)) -> None:
        """Give the text of a script, before the core can do it; `requests` are its first and its last changeset."""
        ...

    def tell_author(self, first: int, author: str, oldest: int) -> None:
        """Say whose edits are from a request's number on, before the core can do it.

        Nothing is to come of what is before `oldest`.
        """
        ...

    def tell_answer(
        self, author: str, time_ns: int, cycle: int, held: Mapping[int, Sequence[Any]], said: Mapping[str, Any]
    ) -> None:
        """Tell what a client was answered: HDSOs by index, and other names."""
        ...

    def tell_left_out(self, author: str, time_ns: int, count: int) -> None:
        """Tell that a client was answered with so many values that are not to be logged."""
        ...

    def tell_label(self, key: str, value: str, author: str, *, once: bool = False) -> None:
        """Set a label of this bout and those that follow, or with `once` of this (or the next) one only."""
        ...

    def tell_note(self, text: str, author: str) -> None:
        """Add a note."""
        ...

    def tell_mark(self, text: str, author: str) -> None:
        """Mark this moment."""
        ...

    def tell_name(self, bout: int, name: str) -> None:
        """Give the directory of a bout a name, before it begins; empty: it is called by time and configuration."""
        ...

    def tell_window(self, start_ns: int, stop_ns: int = -1, name: str = "") -> None:
        """Log from one engine time to another (-1: the end of the bout), to a directory of that name."""
        ...

    def tell_window_end(self, stop_ns: int = -1) -> None:
        """End what `tell_window` began, at an engine time or (-1) at once."""
        ...

    def status(self) -> Mapping[str, object]:
        """Return folder, state and failure."""
        ...
