"""Commits of the data logger: what is on disk, and which records of the rings that covers, noted in the block.

Two halves are written in turn, each with a checksum and a number, so that a logger that is killed while it writes one
leaves the other. What follows the commits in the block is the logger's inbox: a ring in which the service tells it what
no record says (documents, authors, labels, marks, log windows). Both outlive the service.
"""

from __future__ import annotations

import struct
import zlib
from dataclasses import asdict, dataclass, field
from typing import Any, cast

import msgpack

from nuc_engine.daemon.block import COMMIT_BYTES, Block
from nuc_engine.daemon.ring import Ring
from nuc_engine.recording.growing import Mark

_HEAD = struct.Struct("=IIQ")  # size, crc, number
_ROOM = COMMIT_BYTES // 2
MOST_AUTHORS = 128
"""Runs of edits by one author that are remembered; of more, those of earlier services are forgotten first."""


class CommitTooLarge(Exception):
    """A commit that has no room in the block; the message says how large it is."""


@dataclass(slots=True)
class OpenBout:
    """A data directory that is being written: its name, the bout's number, and how far each file is whole.

    `documents` and `script` are names under which the service keeps them. Engine time 0 is at `begin_ns`; data of
    engine times `from_ns` to `until_ns` (-1: no end) belong here, until the bout has `ended`; the last came at
    `taken_ns`.
    `losses` are [count, first ns, last ns] by kind. `deaths` are those of cores, up to the start. `script_writes`
    counts writes of scripts that took effect, `written_before` all writes that did before the start. `left_out` are
    [count, first ns, last ns] of the values answered to each author that were not logged, until they are told of;
    `unlogged_answers` counts all of those, `answers_lost` the answers that the ring had no room for, as far as they are
    told of.
    `kernel_number` is that of the kernel's last message looked at (None: they are not read), `kernel_delay_ns` the
    least time after its stamp at which one was, `kernel_left_out` how many were not written down.
    """

    folder: str
    number: int
    documents: str
    begin_ns: int
    from_ns: int
    until_ns: int
    started: str
    labels: dict[str, str]
    script: str = ""
    script_writes: int = 0
    written_before: int = 0
    marks: dict[str, Mark] = field(default_factory=dict[str, Mark])
    cycle: int = 0
    taken_ns: int = 0
    ended: bool = False
    refused: int = 0
    deaths: int = 0
    events: dict[str, int] = field(default_factory=dict[str, int])
    losses: dict[str, list[int]] = field(default_factory=dict[str, list[int]])
    left_out: dict[str, list[int]] = field(default_factory=dict[str, list[int]])
    unlogged_answers: int = 0
    answers_lost: int = 0
    kernel_number: int | None = None
    kernel_delay_ns: int | None = None
    kernel_left_out: int = 0
    pose_deg: dict[str, float] | None = None
    counts: dict[str, Any] = field(default_factory=dict[str, Any])


@dataclass(slots=True)
class Running:
    """The bout under way, logged or not: its number, CLOCK_MONOTONIC ns of engine time 0, stop time, core, folders."""

    number: int
    start_ns: int
    stop_ns: int
    generation: int
    folders: int = 0


@dataclass(slots=True)
class Commit:
    """Everything a new logger must know to go on where this one was.

    `places` are cursors by ring; `planned` the name of a directory about to be made; `window` [start, stop, name of its
    directory or ""] in engine time (stop -1: until the end) when logging was asked for; `named` [number, name] of the
    bout whose directory was given a name last; `authors` are [first, name]: whose edits are from that request's number
    on. `labels` stay, those in `once` and `notes` are for the next bout, and so are `script` and
    the `script_writes` that took effect before it; `script_requests` are [first, last] of the scripts sent last.
    `written` counts all writes that took effect, or were lost, since other documents were told of.
    """

    number: int = 0
    places: dict[str, int] = field(default_factory=dict[str, int])
    documents: str = ""
    script: str = ""
    script_writes: int = 0
    script_requests: list[list[int]] = field(default_factory=list[list[int]])
    written: int = 0
    running: Running | None = None
    bout: OpenBout | None = None
    planned: str = ""
    window: list[Any] | None = None
    named: list[Any] = field(default_factory=list[Any])
    labels: dict[str, str] = field(default_factory=dict[str, str])
    once: dict[str, str] = field(default_factory=dict[str, str])
    notes: list[list[Any]] = field(default_factory=list[list[Any]])
    authors: list[tuple[int, str]] = field(default_factory=list[tuple[int, str]])

    def shed(self) -> bool:
        """Drop what can best be done without: notes that wait for a bout, then authors; False when there is neither."""
        if self.notes:
            del self.notes[0]
            return True
        if self.authors:
            del self.authors[: len(self.authors) // 2 + 1]
            return True
        return False

    def end_window(self, time_ns: int, stop_ns: int) -> None:
        """End the window that was asked for, at an engine time or (-1) at `time_ns`."""
        if self.window is None:
            return
        if stop_ns < 0:
            stop_ns = 0 if self.running is None else max(0, time_ns - self.running.start_ns)
        if self.bout is None and (self.running is None or stop_ns <= self.window[0]):
            self.window = None
            return
        self.window[1] = stop_ns
        if self.bout is not None:
            self.bout.until_ns = stop_ns


def inbox(block: Block) -> Ring:
    """Return the ring from the service to its logger."""
    return Ring(block.commits[0][_ROOM:])


def read_commit(block: Block) -> Commit | None:
    """Return the newest whole commit, None when nothing was ever committed."""
    found = [commit for commit in map(_unpack, block.commits) if commit is not None]
    return max(found, key=lambda commit: commit.number, default=None)


def write_commit(block: Block, commit: Commit) -> None:
    """Put a commit in the half that does not hold the newest one. Raises CommitTooLarge."""
    half = block.commits[commit.number % 2]
    data: bytes = msgpack.packb(asdict(commit)) or b""
    if len(data) > _ROOM - _HEAD.size:
        raise CommitTooLarge(f"the logger's commit takes {len(data)} bytes; there is room for {_ROOM - _HEAD.size}")
    half[_HEAD.size : _HEAD.size + len(data)] = data
    # Last, so that a half that was being written is not taken for a whole one.
    half[: _HEAD.size] = _HEAD.pack(len(data), zlib.crc32(data, commit.number & 0xFFFFFFFF), commit.number)


def _unpack(half: memoryview) -> Commit | None:
    size, crc, number = _HEAD.unpack_from(half)
    data = bytes(half[_HEAD.size : _HEAD.size + size])
    if not 0 < size <= _ROOM - _HEAD.size or zlib.crc32(data, number & 0xFFFFFFFF) != crc:
        return None
    fields = cast(dict[str, Any], msgpack.unpackb(data, strict_map_key=False))
    if fields["running"] is not None:
        fields["running"] = Running(**fields["running"])
    if fields["bout"] is not None:
        bout = fields["bout"]
        bout["marks"] = {name: _mark(mark) for name, mark in bout["marks"].items()}
        fields["bout"] = OpenBout(**bout)
    return Commit(**fields)


def _mark(fields: dict[str, Any]) -> Mark:
    moment = fields["moment"]
    return Mark(fields["size"], fields["records"], None if moment is None else tuple(moment))
