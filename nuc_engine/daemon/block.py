"""The shared memory of the daemon: one block that every process of it maps.

    words        named 64-bit numbers (`Word`), each written by the one process its comment names
    statistics   one `TaskStatistics` per task, written by the core
    commits      two halves in which the logger notes what is on disk
    plan         size, then the pickled plan, written by the service while no core runs
    store        the HDSOs (`nuc_engine.model.store`), written by the core
    rings        records (core to service), commands (service to core), events of guardian and supervisor, and answers
                 to clients (service to its logger)

The block is a memfd: it has no name, and is gone with the last process that maps it.
"""

from __future__ import annotations

import io
import mmap
import os
import pickle
from collections.abc import Mapping
from dataclasses import is_dataclass
from enum import IntEnum
from types import MappingProxyType
from typing import Any

from nuc_engine.control.tasks import TASKS
from nuc_engine.daemon.ring import HEADER, Ring
from nuc_engine.model import plan as plan_module
from nuc_engine.model.plan import Plan
from nuc_engine.model.store import Store
from nuc_engine.realtime.stats import TaskStatistics

WORDS = 192
_KIB, _MIB = 1 << 10, 1 << 20


class Word(IntEnum):
    """Names of the words; what is written by whom."""

    SUPERVISOR_BEAT = 0  # supervisor: CLOCK_MONOTONIC ns
    CORE_BEAT = 1  # core
    GUARDIAN_BEAT = 2  # guardian
    SERVICE_BEAT = 3  # service
    CORE_PID = 4  # supervisor: 0 while there is no core
    CORE_GENERATION = 5  # supervisor: counts the cores that were started
    GUARDIAN_WATCHES = 6  # guardian: generation of the core it holds a pidfd of; the core drives no bus before
    PLAN_GENERATION = 7  # service: counts the plans written; supervisor starts a core of the newest
    CORE_PLAN = 8  # supervisor: generation of the plan the core was started with
    BUS_OWNER = 9  # guardian: `OWNER_CORE`, or `OWNER_GUARDIAN` while it takes the torque off
    BUS_LOST = 10  # core, guardian: 1 when a port is gone; supervisor: 0 when it is back
    MODE = 11  # core: `nuc_engine.daemon.modes.Mode`
    LATCHED = 12  # core, guardian: 1 after torque was taken off for a fault or a request; core: 0 when armed
    TORQUE = 15  # core: 1 from before the first drive, 0 when all confirmed limp; guardian: 0 likewise
    CYCLE = 16  # core: completed cycles of the bout
    BOUT = 17  # core: number of the bout under way, 0 none
    BOUT_START = 18  # core: CLOCK_MONOTONIC ns of engine time 0
    SHUTDOWN = 19  # supervisor: 1 when everything is to end
    UNCONFIRMED = 20  # core, guardian: bit per motor that has not confirmed its torque is off
    SERVICE_READY = 21  # service: 1 when the channel is open
    REFUSED = 22  # service: 1 when the first configuration was refused
    CORE_READY = 23  # core: its generation when it runs its tasks
    LATCH_REASON = 24  # core, guardian: index into `LATCH_REASONS` of nuc_engine.daemon.latch
    LATCH_COUNT = 25  # core, guardian: counts latches
    GUARDIAN_ACTS = 26  # guardian: counts the times it took the torque off
    CORE_DEATHS = 27  # supervisor
    GUARDIAN_DEATHS = 28  # supervisor
    SERVICE_DEATHS = 29  # supervisor
    SERVICE_PID = 30  # supervisor
    GUARDIAN_PID = 31  # supervisor
    SUPERVISOR_PID = 32  # supervisor
    SUSPENDED_NS = 33  # core: CLOCK_BOOTTIME - CLOCK_MONOTONIC when it started
    STALL_LIMIT_MS = 34  # supervisor
    LAST_BOUT = 35  # core: number of the newest bout
    TASK_LAST = 40  # core: 40.. when each task last ran, in the order of TASKS
    LOST = 64  # core: 64.. records lost, by kind
    OFF_ASKED = 96  # each asker its own: 96.. requests to take the torque off (nuc_engine.daemon.off_requests)
    OFF_BEGUN = 100  # core: 100.. the last of each asker's that it has begun to answer
    OFF_DONE_CORE = 104  # core: 104.. the last of each asker's that it has answered: all were limp after it was asked
    OFF_DONE_GUARDIAN = 108  # guardian: 108.. likewise
    LIMP_SINCE = 128  # core, or the guardian while it has the bus: 128.. ns at which each motor confirmed, 0 not yet


OWNER_CORE, OWNER_GUARDIAN = 0, 1

REQUESTERS = 3
"""How many may ask for torque off, each with words of its own."""

COMMIT_BYTES = 64 * _KIB
"""One of the two halves in which the logger notes what is on disk."""

MOST_MOTORS = 62
"""Motors have a bit each in `Word.UNCONFIRMED`."""

_PLAN_BYTES = 8 * _MIB
_STORE_BYTES = 4 * _MIB
RING_BYTES: Mapping[str, int] = MappingProxyType(
    {"records": 32 * _MIB, "commands": 4 * _MIB, "guardian": 64 * _KIB, "supervisor": 64 * _KIB, "answers": _MIB}
)
"""Data bytes of each ring. Four motors at 200 Hz write about 0.2 MiB/s; 24 at 200 Hz, with rules at 1 kHz, about 3."""

_PLAN_CLASSES = frozenset(name for name, thing in vars(plan_module).items() if is_dataclass(thing))


class BlockError(Exception):
    """A block that can not be made or does not hold what is asked for; the message says what to do."""


class Block:
    """One process's view of the shared memory.

    `words` is indexed by `Word`; `rings` by the names in RING_BYTES; `statistics` has one entry per task. The
    supervisor makes the block with `Block.create()`; forked processes use the object they inherit.
    """

    def __init__(self, fd: int) -> None:
        self._map = mmap.mmap(fd, os.fstat(fd).st_size, mmap.MAP_SHARED, mmap.PROT_READ | mmap.PROT_WRITE)
        view = memoryview(self._map)
        places = _layout()
        self.words = _part(view, places["words"]).cast("q")
        numbers = _part(view, places["statistics"]).cast("q")
        each = TaskStatistics.WORDS
        self.statistics = {name: TaskStatistics(numbers[k * each : (k + 1) * each]) for k, name in enumerate(TASKS)}
        self.commits = (_part(view, places["commit 0"]), _part(view, places["commit 1"]))
        self._plan = _part(view, places["plan"])
        self._store = _part(view, places["store"])
        self.rings = {name: Ring(_part(view, places[name])) for name in RING_BYTES}

    @classmethod
    def create(cls) -> Block:
        """Make a new block, all zero."""
        fd = memory()
        try:
            return cls(fd)
        finally:
            os.close(fd)  # the mapping stays

    def write_plan(self, plan: Plan) -> None:
        """Put a plan where the next core finds it, and say so. Raises BlockError when it is too large."""
        data = pickle.dumps(plan)
        if len(plan.motors) > MOST_MOTORS:
            raise BlockError(f"{plan.name}: {len(plan.motors)} motors; there is room for {MOST_MOTORS}")
        if len(data) + 8 > _PLAN_BYTES or Store.size(plan) > _STORE_BYTES:
            raise BlockError(
                f"{plan.name}: the plan takes {len(data)} and its store {Store.size(plan)} bytes; there is room for "
                f"{_PLAN_BYTES - 8} and {_STORE_BYTES}"
            )
        self._plan[:8] = len(data).to_bytes(8, "little")
        self._plan[8 : 8 + len(data)] = data
        self.words[Word.PLAN_GENERATION] += 1

    def read_plan(self) -> Plan:
        """Return the plan. Raises BlockError when there is none."""
        size = int.from_bytes(self._plan[:8], "little")
        if not 0 < size <= _PLAN_BYTES - 8:
            raise BlockError("no plan has been written: configure the daemon first")
        return _PlanReader(io.BytesIO(bytes(self._plan[8 : 8 + size]))).load()

    def clear_store(self) -> None:
        """Forget the store of an earlier plan."""
        self._store[:] = bytes(len(self._store))

    def store(self, plan: Plan) -> Store:
        """Return the plan's store in the block. Raises StoreError when the block holds another model's."""
        return Store(plan, self._store)


def memory() -> int:
    """Return the descriptor of new shared memory for a block, all zero."""
    fd = os.memfd_create("nuc-block", os.MFD_CLOEXEC)
    os.ftruncate(fd, sum(size for _, size in _layout().values()))
    return fd


class _PlanReader(pickle.Unpickler):
    """Makes plans and nothing else: what stands in the block was written by a process that talks to the network."""

    def find_class(self, module_name: str, global_name: str, /) -> Any:
        if module_name == "nuc_engine.model.plan" and global_name in _PLAN_CLASSES:
            return super().find_class(module_name, global_name)
        raise BlockError(f"the plan names {module_name}.{global_name}; expected classes of nuc_engine.model.plan only")


def _layout() -> dict[str, tuple[int, int]]:
    sizes = {
        "words": WORDS * 8,
        "statistics": len(TASKS) * TaskStatistics.WORDS * 8,
        "commit 0": COMMIT_BYTES,
        "commit 1": COMMIT_BYTES,
        "plan": _PLAN_BYTES,
        "store": _STORE_BYTES,
        **{name: HEADER + size for name, size in RING_BYTES.items()},
    }
    places: dict[str, tuple[int, int]] = {}
    at = 0
    for name, size in sizes.items():
        places[name] = (at, size + -size % 64)
        at = sum(places[name])
    return places


def _part(view: memoryview, place: tuple[int, int]) -> memoryview:
    start, size = place
    return view[start : start + size]
