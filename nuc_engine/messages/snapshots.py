"""Snapshots of an episode as datagrams: the newest state, reference and control, for whoever looks on.

One datagram is one snapshot, little-endian:

    offset  type   what
    0       4s     b"NUCS"
    4       u8     version: 1
    5       u8     phase: 0 running, 1 done, 2 failed
    6       u8     how many numbers the state has: S
    7       u8     the reference: R
    8       u8     the control: C
    9       3x     zeros
    12      u32    number of the episode, of this server
    16      u64    sequence: 1, 2, 3, ... within the episode
    24      f64    time, s
    32      f64    S + R + C numbers, in the order of the columns that `status` names

Datagrams may be lost, doubled or come late: who looks on takes the one with the largest (episode, sequence).
"""

from __future__ import annotations

import struct
from dataclasses import dataclass

MAGIC, VERSION = b"NUCS", 1
RUNNING, DONE, FAILED = 0, 1, 2
MOST_NUMBERS = 255
"""Of a state, a reference or a control."""

_HEAD = struct.Struct("<4sBBBBB3xIQd")


class SnapshotError(ValueError):
    """A datagram that is no snapshot; the message says what was found and what was expected."""


@dataclass(frozen=True, slots=True)
class EpisodeSnapshot:
    """The state at an instant, the reference at it, and the control that acts from there on."""

    episode: int
    sequence: int
    time_s: float
    state: tuple[float, ...]
    reference: tuple[float, ...]
    control: tuple[float, ...]
    phase: int = RUNNING

    @property
    def order(self) -> tuple[int, int]:
        """What is larger is newer."""
        return self.episode, self.sequence


def pack_snapshot(snapshot: EpisodeSnapshot) -> bytes:
    """Return the datagram of a snapshot. Raises SnapshotError where it does not fit into one."""
    parts = (snapshot.state, snapshot.reference, snapshot.control)
    try:
        head = _HEAD.pack(
            MAGIC, VERSION, snapshot.phase, *map(len, parts), snapshot.episode, snapshot.sequence, snapshot.time_s
        )
        return head + struct.pack(f"<{sum(map(len, parts))}d", *parts[0], *parts[1], *parts[2])
    except struct.error as error:
        raise SnapshotError(f"{error}; expected at most {MOST_NUMBERS} numbers of each kind") from error


def read_snapshot(datagram: bytes) -> EpisodeSnapshot:
    """Return the snapshot in a datagram. Raises SnapshotError for anything else."""
    if len(datagram) < _HEAD.size or datagram[:4] != MAGIC:
        raise SnapshotError(f"{len(datagram)} bytes that begin with {datagram[:4]!r}; expected {MAGIC!r}")
    _, version, phase, states, references, controls, episode, sequence, time_s = _HEAD.unpack_from(datagram)
    if version != VERSION or phase > FAILED:
        raise SnapshotError(f"version {version}, phase {phase}; expected version {VERSION} and a phase up to {FAILED}")
    count = states + references + controls
    if len(datagram) != _HEAD.size + 8 * count or any(datagram[9:12]):
        raise SnapshotError(f"{len(datagram)} bytes; expected {_HEAD.size + 8 * count} for {count} numbers")
    numbers = struct.unpack_from(f"<{count}d", datagram, _HEAD.size)
    return EpisodeSnapshot(
        episode,
        sequence,
        time_s,
        numbers[:states],
        numbers[states : states + references],
        numbers[states + references :],
        phase,
    )
