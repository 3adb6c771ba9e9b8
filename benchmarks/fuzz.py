"""Feed every decoder rubbish and write docs/fuzz.md: `python -m benchmarks.fuzz [--inputs N]`, part of `make nightly`.

Inputs are hypothesis's: random bytes, and packets that were right once, cut, doubled, and overwritten in places. A
decoder may refuse with an error of its own package and must do nothing else; an ear must raise nothing at all, and
understand what is said to it after a pause. SCCILS documents are held against two judges (`benchmarks.documents`).
"""

from __future__ import annotations

import argparse
import sys
import time  # noqa: TID251  benchmarks are about real time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from benchmarks.documents import disagreements
from drivers.aimotor import answers
from drivers.aimotor import codec as aimotor
from drivers.aimotor.table import SET_COMMANDS
from drivers.dynamixel import codec as dynamixel
from drivers.errors import BusError
from drivers.factory import find_family
from drivers.feetech import codec as feetech
from drivers.framed.packet import BROADCAST, PING, READ, SYNC_READ, SYNC_WRITE, WRITE, Dialect, Packet

INPUTS = 1_000_000
DOCUMENTS = 100_000
_BATCH = 100
_LONGEST = 48

Decode = Callable[[bytes], str]
"""Takes one input and says what became of it, in a word; raises `BusError` where it refuses."""


@dataclass(frozen=True, slots=True)
class Decoder:
    """Something that takes bytes from outside. `seeds` are inputs it understands."""

    name: str
    decode: Decode
    seeds: Sequence[bytes]


class _Ear:
    """A parser that keeps what it has half heard from one input to the next, as on a line."""

    def __init__(self, feed: Callable[[bytes], Sequence[object]]) -> None:
        self._feed = feed

    def __call__(self, data: bytes) -> str:
        whole = self._feed(data)
        step = 1 + len(data) // 256
        pieces = sum(len(self._feed(data[at : at + step])) for at in range(0, len(data), step))
        return "understood" if whole or pieces else "nothing"


def _framed(dialect: Dialect) -> Sequence[bytes]:
    wide = dialect.address_bytes
    block = (132).to_bytes(wide, "little") + (4).to_bytes(wide, "little")
    return (
        dialect.instruction(1, PING),
        dialect.instruction(1, READ, block),
        dialect.instruction(2, WRITE, b"\x74\x00\xff\xff\xfd\x00"),
        dialect.instruction(BROADCAST, SYNC_READ, block + bytes(range(4))),
        dialect.instruction(BROADCAST, SYNC_WRITE, block + b"\x01\xff\xff\xfd\xff\x02\x00\x08\x00\x00"),
    )


def _statuses(dialect: Dialect) -> Sequence[bytes]:
    some = [dialect.status(1, 0), dialect.status(2, 0x80, b"\xff\xff\xfd\xfd\x00\x00"), dialect.status(3, 0, bytes(10))]
    return some + (
        [dynamixel.fast_status([Packet(k, -1, bytes(4), 0) for k in (1, 2)])] if dialect.address_bytes == 2 else []
    )


def _decode_answer(data: bytes) -> str:
    understood = False
    readings: Sequence[Callable[[bytes], object]] = (
        aimotor.decode_reply,
        answers.decode_10bit,
        *(lambda one, row=row: answers.decode_set(row, one) for row in SET_COMMANDS.values()),
    )
    for read in readings:
        with suppress(BusError):
            read(data)
            understood = True
    return "understood" if understood else "nothing"


def _split_fast(data: bytes) -> str:
    packet = Packet(BROADCAST, -1, data[1:], data[0] if data else 0)
    return "understood" if dynamixel.split_fast(packet, 4, max(1, len(data) // 8)) else "nothing"


def _url_of(family: str) -> Decode:
    parse_line = find_family(family).parse_line

    def parse(data: bytes) -> str:
        parse_line(data.decode("latin-1"))
        return "understood"

    return parse


def _ear_of(family: str) -> Decode:
    ear = find_family(family).sniffer()

    def listen(data: bytes) -> str:
        heard = ear.feed(data)
        for _, request in heard:
            ear.positions(request, data[::-1])
        return "understood" if heard else "nothing"

    return listen


def decoders() -> Sequence[Decoder]:
    """Return every decoder there is."""
    requests = [
        aimotor.encode_position(5, 2, 200),
        aimotor.encode_read(5),
        aimotor.encode_passive(3),
        aimotor.encode_sync(0, [100, 120, 140]),
        aimotor.encode_break(),
        bytes.fromhex("FFE0C80364040048"),
        bytes.fromhex("FFE0090A1E1D"),
    ]
    found = [
        Decoder("AI motor / wCK requests", _Ear(aimotor.RequestParser().feed), requests),
        Decoder("AI motor / wCK replies", _decode_answer, [b"\x10\x7f", b"\x00\x00"]),
        Decoder("Dynamixel fast replies", _split_fast, [bytes(16), bytes(24)]),
        Decoder(
            "bus URLs", _url_of("dynamixel"), [b"dynamixel:///dev/ttyUSB0?baud=115200", b"dynamixel:///dev/x?fast=1"]
        ),
    ]
    for dialect in (dynamixel.DIALECT, feetech.DIALECT):
        name = dialect.name.capitalize()
        found.append(Decoder(f"{name} instructions", _Ear(dialect.parser(status=False).feed), _framed(dialect)))
        found.append(Decoder(f"{name} statuses", _Ear(dialect.parser(status=True).feed), _statuses(dialect)))
        found.append(Decoder(f"{name} byte log", _ear_of(dialect.name), _framed(dialect)))
    return [*found, Decoder("AI motor / wCK byte log", _ear_of("aimotor"), requests)]


def inputs_of(entropy: bytes, seeds: Sequence[bytes]) -> list[bytes]:
    """Return a batch of inputs: every other one rubbish, the others right ones that were damaged, one of them long."""
    found: list[bytes] = []
    for k in range(_BATCH):
        piece = entropy[k * _LONGEST : (k + 1) * _LONGEST]
        if not piece:
            found.append(piece)
        elif k == _BATCH // 2:
            found.append(_long(seeds[piece[0] % len(seeds)], piece))
        elif k % 2:
            found.append(piece[: piece[0] % _LONGEST])
        else:
            found.append(_damaged(seeds[piece[0] % len(seeds)] * (1 + piece[1 % len(piece)] % 3), piece))
    return found


def _damaged(right: bytes, piece: bytes) -> bytes:
    data = bytearray(right)
    for at, value in zip(piece[2:10:2], piece[3:10:2], strict=False):
        if at & 0x80:
            data[at % len(data)] = value
    return bytes(data[: 1 + piece[-1] % len(data)]) if piece[-1] & 1 else bytes(data)


def _long(right: bytes, piece: bytes) -> bytes:
    """Return what begins like a packet, says of itself that it is any length, and is nearly or just that long."""
    length = piece[1 % len(piece)] | piece[-1] << 8
    return right[:5] + length.to_bytes(2, "little") + right[7:8] + bytes(max(0, length - 1 + piece[0] % 2))


def fuzz(decoder: Decoder, inputs: int) -> Counter[str]:
    """Feed `inputs` inputs; return what became of them. What is no `BusError` comes out."""
    became: Counter[str] = Counter()

    @settings(
        max_examples=max(1, inputs // _BATCH),
        deadline=None,
        database=None,
        derandomize=True,
        phases=(Phase.generate, Phase.shrink),
        suppress_health_check=list(HealthCheck),
    )
    @given(st.binary(min_size=_BATCH * _LONGEST // 2, max_size=_BATCH * _LONGEST))
    def feed(entropy: bytes) -> None:
        for data in inputs_of(entropy, decoder.seeds):
            try:
                became[decoder.decode(data)] += 1
            except BusError:
                became["refused"] += 1

    feed()
    return became


def main() -> None:
    """Fuzz all decoders and write the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--inputs", type=int, default=INPUTS, help=f"per decoder (default: {INPUTS:,})")
    parser.add_argument("--documents", type=int, default=DOCUMENTS, help=f"mutants (default: {DOCUMENTS:,})")
    parser.add_argument("--out", type=Path, default=Path(__file__).parents[1] / "docs" / "fuzz.md")
    arguments = parser.parse_args()
    rows: list[str] = []
    for decoder in decoders():
        begun = time.process_time()
        became = fuzz(decoder, arguments.inputs)
        took_s = time.process_time() - begun
        rows.append(_row(decoder.name, became, took_s))
        sys.stderr.write(rows[-1] + "\n")
    begun = time.process_time()
    became, differing = disagreements(range(arguments.documents))
    if differing:
        sys.exit(f"lxml and the walk along the grammar do not say the same of the mutants {differing[:20]}")
    counts = ", ".join(f"{count:,} {what}" for what, count in sorted(became.items()))
    documents = _DOCUMENTS.format(sum(became.values()), counts, time.process_time() - begun)
    arguments.out.write_text("\n".join([*_HEAD, *rows, "", documents]) + "\n")


_HEAD = (
    "# Decoders fed rubbish",
    "",
    "Made by `python -m benchmarks.fuzz`, part of `make nightly`. Half of the inputs are random bytes, half are "
    "packets that were right once, cut, doubled and overwritten in places, or, one in a hundred, up to 65,543 bytes "
    "long; hypothesis chooses. Ears keep what they have half heard from one input to the next, and hear each input "
    "whole and byte by byte (long ones in 256 pieces). *Refused* is an error of "
    "the package's own; any other exception ends the run.",
    "",
    "| decoder | inputs | understood something | nothing in it | refused | other exceptions | processor seconds |",
    "|---|---|---|---|---|---|---|",
)
_DOCUMENTS = (
    "Of {:,} SCCILS documents with up to three things in them changed at random, lxml refused exactly those in which "
    "the walk along the grammar found something: {}; {:.0f} processor seconds."
)


def _row(name: str, became: Mapping[str, int], took_s: float) -> str:
    total = sum(became.values())
    counts = " | ".join(f"{became.get(what, 0):,}" for what in ("understood", "nothing", "refused"))
    return f"| {name} | {total:,} | {counts} | 0 | {took_s:.0f} |"


if __name__ == "__main__":
    main()
