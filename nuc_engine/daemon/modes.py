"""What a leg may do now: a pure machine of five modes."""

from __future__ import annotations

from collections.abc import Mapping
from enum import IntEnum
from types import MappingProxyType


class Mode(IntEnum):
    """Modes of an engine. UNCONFIGURED: there is no model, and so no core."""

    UNCONFIGURED = 0
    CONFIGURED = 1  # a model; servos limp or in a pose; sensors live; edits take effect
    RUNNING = 2  # a bout
    STOPPED = 3  # after a bout, as the stop policy says; after off, limp and latched; otherwise as CONFIGURED
    FAULT = 4  # torque off, latched until armed; sensors live where servos answer


class Input(IntEnum):
    """What can happen to an engine."""

    CONFIGURE = 0
    RUN = 1
    STOP = 2
    FAULT = 3
    ARM = 4
    POSE = 5  # joints are to be moved by position or held while no bout runs
    OFF = 6  # somebody asks for torque off


class Refusal(Exception):
    """An input this mode does not allow; the message says why and what would help."""


_C, _R, _S, _F, _U = Mode.CONFIGURED, Mode.RUNNING, Mode.STOPPED, Mode.FAULT, Mode.UNCONFIGURED

_ARM_FIRST = "torque is off, and latched: see that the leg may move, then arm"
_DRIVES = frozenset({Input.CONFIGURE, Input.RUN, Input.POSE})
"""What leads to driving, or to an engine that has not heard of the latch yet."""

_NEXT: Mapping[tuple[Mode, Input], Mode | str] = MappingProxyType(
    {
        (_U, Input.CONFIGURE): _C,
        (_U, Input.RUN): "nothing is configured: choose a configuration first",
        (_U, Input.STOP): _U,
        (_U, Input.FAULT): _U,
        (_U, Input.ARM): _U,
        (_U, Input.POSE): "nothing is configured: choose a configuration first",
        (_U, Input.OFF): _U,
        (_C, Input.CONFIGURE): _C,
        (_C, Input.RUN): _R,
        (_C, Input.STOP): _C,
        (_C, Input.FAULT): _F,
        (_C, Input.ARM): _C,
        (_C, Input.POSE): _C,
        (_C, Input.OFF): _S,
        (_R, Input.CONFIGURE): "a bout is running: stop it first",
        (_R, Input.RUN): "a bout is running already: stop it first",
        (_R, Input.STOP): _S,
        (_R, Input.FAULT): _F,
        (_R, Input.ARM): _R,
        (_R, Input.POSE): _R,
        (_R, Input.OFF): _S,
        (_S, Input.CONFIGURE): _C,
        (_S, Input.RUN): _R,
        (_S, Input.STOP): _S,
        (_S, Input.FAULT): _F,
        (_S, Input.ARM): _S,
        (_S, Input.POSE): _S,
        (_S, Input.OFF): _S,
        (_F, Input.CONFIGURE): "a fault is latched: see to its cause, then arm",
        (_F, Input.RUN): "a fault is latched: see to its cause, then arm",
        (_F, Input.STOP): _F,
        (_F, Input.FAULT): _F,
        (_F, Input.ARM): _S,
        (_F, Input.POSE): "a fault is latched: see to its cause, then arm",
        (_F, Input.OFF): _F,
    }
)


def step(mode: Mode, what: Input, *, latched: bool) -> Mode:
    """Return the mode after `what`. Raises Refusal where it is not allowed; nothing has changed then.

    `latched`: torque was taken off, for a fault or because somebody asked, and nobody has armed since. Whatever mode
    is said then, nothing leads to driving.
    """
    if latched and what in _DRIVES and mode not in (Mode.FAULT, Mode.UNCONFIGURED):
        raise Refusal(_ARM_FIRST)
    after = _NEXT[mode, what]
    if isinstance(after, str):
        raise Refusal(after)
    return after
