"""Every cycle's record for other programs: a file in memory that the core writes and others map and read.

The core never waits for a reader and makes no system call; a reader that is too slow misses records, and counts them.
`nuc_engine.client.Cycles` reads it, and `nuc_engine/client/nuc_cycles.h` from C. All numbers are little-endian:

    0   8 bytes   "NUCCYCLE"
    8   uint32    version of this layout: 1
    12  uint32    where the slots begin
    16  uint32    bytes of a slot
    20  uint32    number of slots
    24  uint64    written: records so far; record n is in slot n % slots
    32  uint64    layout: odd while the columns are being written; another even number when they have changed
    40  uint32    bytes of the JSON text
    48  uint64    number of the first record of this layout
    64  JSON      {"configuration": name, "columns": [{"name": ..., "unit": ..., "type": "i8" or "f8"}, ...]}

A slot is uint64 mark, uint32 crc, uint32 zero, then the columns, eight bytes each. The mark is 0 while the record is
being written and n + 1 when record n is whole; `crc` is CRC-32 (zlib's) of the mark and the columns. The core writes:
mark 0, columns, crc, mark, `written`. A reader reads `written`, mark, columns and crc, and the mark again. On machines
that keep the order of writes (x86) two equal marks suffice; on others a record may be seen before its bytes are, and
the crc tells.
"""

from __future__ import annotations

import ctypes
import json
import mmap
import os
import struct
import tempfile
import zlib
from collections.abc import Sequence
from pathlib import Path

from nuc_engine.control.tasks.board import Board
from nuc_engine.machine.rundir import CYCLES, RunDirError
from nuc_engine.model.plan import Plan

MAGIC, VERSION = b"NUCCYCLE", 1
SLOTS_AT, SLOT_HEAD, SLOTS = 65_536, 16, 4096
"""Slots for 20 s of a leg at 200 Hz."""

MOST_COLUMNS = 1024
BYTES = SLOTS_AT + SLOTS * (SLOT_HEAD + 8 * 64)
"""Of the file: wide records have fewer slots."""

TEMPORARY = Path("/dev/shm")  # noqa: S108  a file system in memory, as the folder of the sockets mostly is
_TMPFS = 0x01021994
_WRITTEN, _LAYOUT, _FIRST = 24 // 8, 32 // 8, 48 // 8
_HEAD = struct.Struct("<8sIIII")
_MARK = struct.Struct("<Q")
_TEXT_BYTES_AT, _TEXT_AT = 40, 64

Values = Sequence[int | float]


class CycleRing:
    """The core's end, over `memory` of the file's size."""

    def __init__(self, memory: mmap.mmap | memoryview) -> None:
        view = memoryview(memory)
        self._bytes, self._words = view, view.cast("Q")
        self._record = struct.Struct("<")
        self._slot_bytes = self._slots = 0

    def begin(self, configuration: str, columns: Sequence[tuple[str, str, str]]) -> None:
        """Lay the file out for records of these columns: (name, unit, "i8" or "f8"). The same are continued.

        Raises ValueError for more than fit.
        """
        described = [{"name": name, "unit": unit, "type": kind} for name, unit, kind in columns]
        text = json.dumps({"configuration": configuration, "columns": described}).encode()
        slot_bytes = SLOT_HEAD + 8 * len(columns)
        slots = (len(self._bytes) - SLOTS_AT) // slot_bytes
        if len(columns) > MOST_COLUMNS or len(text) > SLOTS_AT - _TEXT_AT:
            raise ValueError(f"{len(columns)} columns, {len(text)} bytes of names: there is room for {MOST_COLUMNS}")
        self._record = struct.Struct("<" + "".join("q" if kind == "i8" else "d" for _, _, kind in columns))
        self._slot_bytes, self._slots = slot_bytes, slots
        head = _HEAD.pack(MAGIC, VERSION, SLOTS_AT, slot_bytes, slots)
        old = bytes(self._bytes[_TEXT_AT : _TEXT_AT + len(text)])
        if (bytes(self._bytes[:24]), old) == (head, text) and not self._words[_LAYOUT] % 2:
            return
        self._words[_LAYOUT] |= 1
        self._bytes[SLOTS_AT:] = bytes(len(self._bytes) - SLOTS_AT)
        self._bytes[_TEXT_AT : _TEXT_AT + len(text)] = text
        self._bytes[_TEXT_BYTES_AT : _TEXT_BYTES_AT + 4] = len(text).to_bytes(4, "little")
        self._bytes[:24] = head
        self._words[_FIRST] = self._words[_WRITTEN]
        self._words[_LAYOUT] += 1

    def close(self) -> None:
        """Let go of the memory."""
        self._words.release()
        self._bytes.release()

    def put(self, values: Values) -> None:
        """Add a record: what the columns are called, in their order."""
        words, number = self._words, self._words[_WRITTEN]
        at = SLOTS_AT + number % self._slots * self._slot_bytes
        content = self._record.pack(*values)
        mark = _MARK.pack(number + 1)
        words[at >> 3] = 0
        self._bytes[at + SLOT_HEAD : at + self._slot_bytes] = content
        words[(at >> 3) + 1] = zlib.crc32(content, zlib.crc32(mark))
        words[at >> 3] = number + 1
        words[_WRITTEN] = number + 1


def columns_of(plan: Plan) -> list[tuple[str, str, str]]:
    """Return the columns of a model's records: (name, unit, type).

    `time` is when the cycle was complete. States are numbers of the configuration's states, -1 none; `sent_raw` -1:
    read only, -2: torque off.
    """
    motors = [motor.name for motor in plan.motors]
    whole = [(f"{name}.{what}", unit) for what, unit in _OF_A_MOTOR for name in motors]
    whole += [(f"{owner.name}.state", "state") for owner in (*plan.joints, *plan.modules)]
    sensors = [(plan.hdsos[index].name, plan.hdsos[index].units) for index in plan.sensor_columns]
    parts = [(f"{muscle.name}.{what}", unit) for what, unit in _OF_A_MUSCLE for muscle in plan.muscles]
    return [
        *[(name, unit, "i8") for name, unit in (*_OF_A_CYCLE, *whole)],
        *[(name, unit, "f8") for name, unit in (*sensors, *parts)],
    ]


def values_of(board: Board, sensors: Values) -> Values:
    """Return the numbers of a record behind time, cycle, bout and mode, in the order of `columns_of`."""
    return [
        *board.position_raw,
        *board.current_raw,
        *board.status,
        *board.sent_raw,
        *board.stamp_ns,
        *board.states,
        *sensors,
        *board.activations,
        *board.forces,
        *board.lengths,
    ]


_OF_A_CYCLE = (("time", "ns, CLOCK_MONOTONIC"), ("cycle", "1"), ("bout", "1"), ("mode", "nuc_engine.daemon.modes.Mode"))
_OF_A_MOTOR = (
    ("position_raw", "tick"),
    ("current_raw", "count"),
    ("status", "1: answered"),
    ("sent_raw", "tick"),
    ("stamp", "ns, CLOCK_MONOTONIC"),
)
_OF_A_MUSCLE = (("activation", "1"), ("force", "units of muscle output"), ("length", "rest lengths"))


def make_file(folder: Path, name: str = CYCLES) -> int:
    """Return the descriptor of a new file of records in a folder, or in memory elsewhere with a link to it there.

    Pages of a file on a disk may not be written to while the kernel writes them back. All of it is taken at once: in a
    full file system the core would be killed. Raises RunDirError.
    """
    path = folder / name
    try:
        if in_memory(folder):
            fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC)
        else:
            fd, there = tempfile.mkstemp(prefix="nuc-", dir=TEMPORARY)
            path.symlink_to(there)
        os.fchmod(fd, 0o640)
        os.posix_fallocate(fd, 0, BYTES)
    except OSError as error:
        raise RunDirError(f"{path}: {error.strerror}") from error
    return fd


def in_memory(folder: Path) -> bool:
    """Say whether files of a folder lie in memory (tmpfs): statfs(2), which Python does not have."""
    held = ctypes.create_string_buffer(256)
    if ctypes.CDLL(None).statfs(os.fsencode(folder), held):
        return False
    return ctypes.c_long.from_buffer(held).value == _TMPFS
