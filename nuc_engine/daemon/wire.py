"""What the rings carry: records of the core for the service, commands of the service for the core.

Times are CLOCK_MONOTONIC nanoseconds (`time_ns`); the service subtracts the bout's start where files and people want
engine time. Records that come with every cycle are packed with fixed formats that follow from the plan; the others are
MessagePack arrays. The order in the ring is the order in which things happened.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import Any

import msgpack

from nuc_engine.control.bus_tap import ExchangeReplies
from nuc_engine.control.tasks.board import Board
from nuc_engine.model.plan import Plan

_MSGPACK: Any = msgpack
"""Has no types of its own."""

MOST_AT_ONCE = 512
"""Changes in one changeset: they take effect together, and nothing else happens meanwhile (about 5 ms)."""

MOST_WAITING = 10_000
"""Changesets that may wait for their time."""


class RecordKind(IntEnum):
    """Kinds of records, core (or, for EVENT, guardian and supervisor) to service."""

    MOTOR = 0  # a cycle is complete: fixed format
    SENSORS = 1  # sensors are converted: fixed format
    STATES = 2  # states and activations are set: fixed format
    MUSCLES = 3  # forces and lengths are computed: fixed format
    # [time_ns, cycle, hdso index, values, replaced by a later one, refused, request]: the writes, then DONE; behind it
    # the cause of what a trigger did
    APPLIED = 4
    EVENT = 6  # [time_ns, name, text]
    # [time_ns, cycle, what, joint or (sense) HDSO index, value, refused, request]: see nuc_engine.control.controls
    CONTROL = 7
    ACK = 8  # [request, ok, time_ns, cycle, detail]: what became of a command
    MODE = 9  # [time_ns, mode, why, bout number]
    BOUT_BEGIN = 10  # [time_ns = engine time 0, bout number, stop time ns after it or -1]
    BOUT_END = 11  # [time_ns, bout number, state (complete, interrupted, fault), reason]
    STORE = 12  # [time_ns, cycle, bytes of the live area]: the whole store, at the start of a bout and on `dump`
    LOST = 13  # [time_ns, {kind: count}]: records that found no room since the last LOST
    POSE = 14  # [time_ns, {joint name: degrees}]: where the leg was at the first exchange of a bout
    DONE = 15  # [request, time_ns, cycle, refused count]: a changeset has taken effect
    COUNTS = 16  # [time_ns, {...}]: the counters of a bout, before its BOUT_END
    START = 17  # motor action began an exchange, [time_ns, level, goals]: fixed format; so the order of tasks is kept
    REFUSALS = 18  # [time_ns, [texts]]: servos that cannot be driven as they were given; empty when all can
    SENSED = 20  # what is sensed of each sensor, where it is not all as measured, before SENSORS: the same format
    BUS = 19  # [time_ns, {name: count}]: what the buses have counted since the core began, when it has changed


@dataclass(slots=True)
class MotorRecord:
    """One completed cycle; lists in the order of the plan's motors, raw units. `sent` -1: read, -2: torque off."""

    time_ns: int
    cycle: int
    position_raw: list[int]
    current_raw: list[int]
    status: list[int]
    sent_raw: list[int]
    stamp_ns: list[int]


@dataclass(slots=True)
class NumbersRecord:
    """Sensors (plan.sensor_columns), or muscles (all forces, then all lengths)."""

    time_ns: int
    numbers: list[float]


@dataclass(slots=True)
class StatesRecord:
    """State index per joint (-1: none) and per module without a motor, and activation per muscle."""

    time_ns: int
    states: list[int]
    activations: list[float]


class Formats:
    """The fixed formats of one plan: `pack_*` in the core, `unpack` in the service."""

    def __init__(self, plan: Plan) -> None:
        n, states, muscles = len(plan.motors), len(plan.joints) + len(plan.modules), len(plan.muscles)
        self._n, self._switches = n, states
        self._motor = struct.Struct(f"=qq{4 * n}h{n}q")
        self._sensors = struct.Struct(f"=q{len(plan.sensor_columns)}d")
        self._states = struct.Struct(f"=q{states}h{muscles}d")
        self._muscles = struct.Struct(f"=q{2 * muscles}d")
        self._start = struct.Struct(f"=qb{n}h")

    def pack_motor(self, now_ns: int, board: Board, replies: ExchangeReplies) -> bytes:
        """Return a MOTOR record: replies as the bus gave them, and what motor action says was sent."""
        return self._motor.pack(
            now_ns,
            board.cycle,
            *replies.position_raw,
            *replies.current_raw,
            *replies.status,
            *board.sent_raw,
            *replies.stamp_ns,
        )

    def pack_start(self, now_ns: int, level: int, goals: Sequence[int]) -> bytes:
        """Return a START record."""
        return self._start.pack(now_ns, level, *goals)

    def pack_sensors(self, now_ns: int, numbers: Sequence[float]) -> bytes:
        """Return a SENSORS record, or a SENSED one."""
        return self._sensors.pack(now_ns, *numbers)

    def pack_states(self, now_ns: int, board: Board) -> bytes:
        """Return a STATES record."""
        return self._states.pack(now_ns, *board.states, *board.activations)

    def pack_muscles(self, now_ns: int, board: Board) -> bytes:
        """Return a MUSCLES record."""
        return self._muscles.pack(now_ns, *board.forces, *board.lengths)

    def unpack(self, kind: int, content: bytes) -> MotorRecord | NumbersRecord | StatesRecord | list[Any]:
        """Return a record of any kind: the classes above for those of every cycle, else its array."""
        if kind == RecordKind.MOTOR:
            time_ns, cycle, *rest = self._motor.unpack(content)
            n = self._n
            return MotorRecord(time_ns, cycle, *(rest[k * n : (k + 1) * n] for k in range(5)))
        if kind == RecordKind.START:
            time_ns, level, *goals = self._start.unpack(content)
            return [time_ns, level, goals]
        if kind in (RecordKind.SENSORS, RecordKind.SENSED, RecordKind.MUSCLES):
            time_ns, *numbers = (self._muscles if kind == RecordKind.MUSCLES else self._sensors).unpack(content)
            return NumbersRecord(time_ns, numbers)
        if kind == RecordKind.STATES:
            time_ns, *rest = self._states.unpack(content)
            return StatesRecord(time_ns, rest[: self._switches], rest[self._switches :])
        return unpack(content)


def pack(*items: Any) -> bytes:
    """Return a record or a command that is a MessagePack array."""
    content: bytes = _MSGPACK.packb(items)
    return content


def unpack(content: bytes) -> list[Any]:
    """Return the array of a record or a command."""
    items: list[Any] = _MSGPACK.unpackb(content, strict_map_key=False)
    return items


class CoreCommand(IntEnum):
    """Commands of the service for the core: MessagePack arrays that begin with the request's number.

    Every one is answered by an ACK; a changeset in addition by APPLIED, CONTROL and, last, DONE, with the same
    request number. Requests for data are none of them: the service answers those from the store. Engine times are ns
    since the bout's start; -1 stands for "at once".
    """

    # [request, engine time or -1, [[hdso, [values]] or [hdso, [value], element]...], [[what, joint index, value]...],
    #  [[rule, holds ns, after ns, until ns or -1, times, refractory ns, [[hdso, [values]]...]]...]]
    CHANGESET = 0
    RUN = 1  # [request, delay ns, stop at engine time ns or -1, bout number]
    STOP = 2  # [request, policy "" (the configured one), "off", "hold" or "park"]
    ARM = 3  # [request]
    OFF = 4  # [request, why]: torque off, latched
    DUMP = 5  # [request]: a STORE record
    FORGET = 6  # [request, request that is to be forgotten or -1 for all]: timed changesets not yet due
    PARK = 7  # [request, {joint index: degrees}, rate deg/s]: the pose a stop parks in
    LIMITS = 8  # [request, [ticks or -1 per motor]]: the guard's limits
