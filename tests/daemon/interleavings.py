"""All orders in which several processes can touch shared words: a search through every interleaving of real code.

    ends = explore({0: 0}, {"adder": add_one, "other": add_one})

A process is a function of its words, and the same whenever it reads the same. It is stopped at each access, and run
again from its beginning with what it has read so far, so that what it does in between needs no copy. `words.note(x)`
is an access too: it appends to what happened, in order.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

HAPPENED = "happened"


class _Stop(Exception):
    """The next access: what it is to do to the memory. Returns what it reads."""


class Words:
    """Shared words as one process has them: it knows what it has read, and stops at what it does next."""

    def __init__(self, read: tuple) -> None:
        self._read, self._at = read, 0

    def _access(self, do: Callable[[dict], object]):
        if self._at == len(self._read):
            raise _Stop(do)
        self._at += 1
        return self._read[self._at - 1]

    def __getitem__(self, word):
        return self._access(lambda memory: memory.get(word, 0))

    def __setitem__(self, word, value) -> None:
        self._access(lambda memory: memory.__setitem__(word, value))

    def note(self, what: str) -> None:
        self._access(lambda memory: memory.__setitem__(HAPPENED, (*memory[HAPPENED], what)))


@dataclass(frozen=True, slots=True)
class End:
    """What the words hold when all have ended, and what was noted, in order."""

    words: Mapping[int, int]
    happened: tuple[str, ...]


def explore(memory: Mapping[int, int], processes: Mapping[str, Callable[[Words], None]]) -> list[End]:
    """Return every end that some interleaving leads to."""
    start = ({**memory, HAPPENED: ()}, dict.fromkeys(processes, ()))
    ends, seen, waiting = [], set(), [start]
    while waiting:
        words, reads = waiting.pop()
        key = (frozenset(words.items()), *reads.values())
        if key in seen:
            continue
        seen.add(key)
        over = True
        for name, process in processes.items():
            try:
                process(Words(reads[name]))
            except _Stop as stop:
                over = False
                after = dict(words)
                value = stop.args[0](after)
                waiting.append((after, {**reads, name: (*reads[name], value)}))
        if over:
            ends.append(End({k: v for k, v in words.items() if k != HAPPENED}, words[HAPPENED]))
    return ends
