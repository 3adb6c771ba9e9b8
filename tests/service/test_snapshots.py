"""Snapshots of an episode as datagrams: what goes in comes out, and whatever else comes is refused with a reason."""

from __future__ import annotations

import re
import struct
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nuc_engine.messages import snapshots
from nuc_engine.messages.snapshots import EpisodeSnapshot, SnapshotError, pack_snapshot, read_snapshot

NUMBERS = st.lists(st.floats(allow_nan=False), max_size=30).map(tuple)
SNAPSHOTS = st.builds(
    EpisodeSnapshot,
    episode=st.integers(0, 2**32 - 1),
    sequence=st.integers(0, 2**64 - 1),
    time_s=st.floats(allow_nan=False),
    state=NUMBERS,
    reference=NUMBERS,
    control=NUMBERS,
    phase=st.integers(0, 2),
)
PAGE = Path(__file__).parents[2] / "docs" / "nuc.md"


@given(SNAPSHOTS)
def test_what_is_packed_is_read_again(snapshot: EpisodeSnapshot) -> None:
    assert read_snapshot(pack_snapshot(snapshot)) == snapshot


@given(SNAPSHOTS, st.data())
def test_a_datagram_of_another_length_is_none(snapshot: EpisodeSnapshot, data: st.DataObject) -> None:
    datagram = pack_snapshot(snapshot)
    cut = data.draw(st.integers(0, len(datagram) - 1))
    for wrong in (datagram[:cut], datagram + b"\0" * (1 + cut)):
        with pytest.raises(SnapshotError, match="expected"):
            read_snapshot(wrong)


@given(st.binary(max_size=400) | st.binary(max_size=400).map(lambda rest: b"NUCS" + rest))
def test_whatever_comes_it_is_a_snapshot_or_refused(datagram: bytes) -> None:
    try:
        read = read_snapshot(datagram)
    except SnapshotError:
        return
    again = read_snapshot(pack_snapshot(read))
    assert again.order == read.order
    assert pack_snapshot(again) == datagram


@pytest.mark.parametrize("at", [0, 4, 5, 6, 7, 8, 9])
def test_each_byte_of_the_head_counts(at: int) -> None:
    datagram = bytearray(pack_snapshot(EpisodeSnapshot(1, 2, 3.0, (4.0,), (5.0,), (6.0,))))
    datagram[at] ^= 0x40
    with pytest.raises(SnapshotError):
        read_snapshot(bytes(datagram))


def test_what_does_not_fit_is_refused() -> None:
    with pytest.raises(SnapshotError, match="at most 255"):
        pack_snapshot(EpisodeSnapshot(1, 1, 0.0, (0.0,) * 256, (), ()))
    with pytest.raises(SnapshotError):
        pack_snapshot(EpisodeSnapshot(-1, 1, 0.0, (), (), ()))


def test_the_page_tells_where_each_part_is() -> None:
    """By the table in docs/nuc.md alone, as a program in another language would."""
    rows = re.findall(r"^\| (\d+) \| `(\w+)` \| (.*?) \|$", PAGE.read_text(), re.MULTILINE)
    kinds = {"4s": "4s", "u8": "B", "3x": "3x", "u32": "I", "u64": "Q", "f64": "d"}
    head = struct.Struct("<" + "".join(kinds[kind] for _, kind, _ in rows[:-1]))
    offsets = [struct.calcsize("<" + "".join(kinds[kind] for _, kind, _ in rows[:k])) for k in range(len(rows))]
    assert [int(at) for at, _, _ in rows] == offsets
    datagram = pack_snapshot(EpisodeSnapshot(7, 9, 1.5, (1.0, 2.0), (3.0,), (4.0,), snapshots.DONE))
    assert head.unpack_from(datagram) == (b"NUCS", 1, snapshots.DONE, 2, 1, 1, 7, 9, 1.5)
    assert struct.unpack_from("<4d", datagram, head.size) == (1.0, 2.0, 3.0, 4.0)
