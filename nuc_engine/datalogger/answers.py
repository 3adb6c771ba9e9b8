"""What clients were answered, in HDSOlog.xml: every answer that their rations allow, and a count of the others.

They are weighed before they go to the logger (`Hub.note_answer`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from nuc_engine.datalogger.commits import OpenBout
from nuc_engine.recording.recorder import BoutRecorder

EVERY_NS = 1_000_000_000
"""How often it is told what was left out."""

MOST_NAMES, LONGEST_NAME = 16, 80
"""Clients that are told apart in a count; more are one."""

_OTHERS = "others"


class Answers:
    """Writes the answers of one bout. What is left out stands in `state` until it is told, for another logger too."""

    def __init__(self, recorder: BoutRecorder, state: OpenBout) -> None:
        self._recorder, self._state = recorder, state

    def take(self, now_ns: int, what: str, fields: Sequence[Any]) -> None:
        """Log what the service tells of an answer of its own, or (`left_out`) that one is not to be logged."""
        if what == "left_out":
            self.left_out(now_ns, *fields)
        else:
            self._of_service(now_ns, *fields)

    def _of_service(
        self, now_ns: int, cycle: int, author: str, held: Mapping[int, Sequence[Any]], said: Mapping[str, Any]
    ) -> None:
        self._recorder.answered(now_ns, cycle, {index: tuple(values) for index, values in held.items()}, said, author)

    def left_out(self, now_ns: int, author: str, count: int) -> None:
        """Count values that a client was answered with and that are not logged."""
        known = self._state.left_out.setdefault(_named(author, self._state.left_out), [0, now_ns, now_ns])
        known[0] += count
        known[2] = max(known[2], now_ns)
        self._state.unlogged_answers += count

    def count_lost(self, lost: int) -> None:
        """Tell how many answers found no room on their way here: `lost` in all, less those that were told of."""
        if new := max(0, lost - self._state.answers_lost):
            self._recorder.left_out(f"{new} answers that found no room on their way here")
            self._state.answers_lost = lost

    def tell(self, now_ns: int, *, at_once: bool = False) -> None:
        """Log what was left out, once a second."""
        left_out = self._state.left_out
        if not left_out or not (at_once or now_ns - min(first for _, first, _ in left_out.values()) >= EVERY_NS):
            return
        for author, (count, first_ns, last_ns) in left_out.items():
            span = f"{first_ns / 1e9:.3f} to {last_ns / 1e9:.3f} s"
            self._recorder.left_out(f"{count} values answered to {author or 'nobody known'}, {span}")
        left_out.clear()


def _named(author: str, known: Mapping[str, Any]) -> str:
    name = author[:LONGEST_NAME]
    return name if name in known or len(known) < MOST_NAMES else _OTHERS
