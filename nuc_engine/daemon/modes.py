"""What a leg may do now, and what the engine does at each event: a pure machine of five modes."""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum, IntEnum
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
    SHUT_DOWN = 7  # everything is to end


class EngineAction(Enum):
    """What the engine does besides entering the mode that follows."""

    NONE = ""
    BEGIN = "the bout begins"
    REST = "the bout ends, the motors do what the stop policy says"
    LATCH = "torque off, latched; the bout ends"
    CLOSE = "torque off; the bout ends"
    UNLATCH = "the latch is undone"


class Refusal(Exception):
    """An input this mode does not allow; the message says why and what would help."""


_C, _R, _S, _F, _U = Mode.CONFIGURED, Mode.RUNNING, Mode.STOPPED, Mode.FAULT, Mode.UNCONFIGURED

_ARM_FIRST = "torque is off, and latched: see that the leg may move, then arm"
_ARM_AGAIN = "a fault is latched: see to its cause, then arm"
_CONFIGURE_FIRST = "nothing is configured: choose a configuration first"
_DRIVES = frozenset({Input.CONFIGURE, Input.RUN, Input.POSE})
"""What leads to driving, or to an engine that has not heard of the latch yet."""

TRANSITIONS: Mapping[tuple[Mode, Input], tuple[Mode, EngineAction] | str] = MappingProxyType(
    {
        (_U, Input.CONFIGURE): (_C, EngineAction.NONE),
        (_U, Input.RUN): _CONFIGURE_FIRST,
        (_U, Input.STOP): (_U, EngineAction.NONE),
        (_U, Input.FAULT): (_U, EngineAction.NONE),
        (_U, Input.ARM): (_U, EngineAction.NONE),
        (_U, Input.POSE): _CONFIGURE_FIRST,
        (_U, Input.OFF): (_U, EngineAction.NONE),
        (_U, Input.SHUT_DOWN): (_U, EngineAction.NONE),
        (_C, Input.CONFIGURE): (_C, EngineAction.NONE),
        (_C, Input.RUN): (_R, EngineAction.BEGIN),
        (_C, Input.STOP): (_C, EngineAction.REST),
        (_C, Input.FAULT): (_F, EngineAction.LATCH),
        (_C, Input.ARM): (_C, EngineAction.UNLATCH),
        (_C, Input.POSE): (_C, EngineAction.NONE),
        (_C, Input.OFF): (_S, EngineAction.LATCH),
        (_C, Input.SHUT_DOWN): (_S, EngineAction.CLOSE),
        (_R, Input.CONFIGURE): "a bout is running: stop it first",
        (_R, Input.RUN): "a bout is running already: stop it first",
        (_R, Input.STOP): (_S, EngineAction.REST),
        (_R, Input.FAULT): (_F, EngineAction.LATCH),
        (_R, Input.ARM): (_R, EngineAction.UNLATCH),
        (_R, Input.POSE): (_R, EngineAction.NONE),
        (_R, Input.OFF): (_S, EngineAction.LATCH),
        (_R, Input.SHUT_DOWN): (_S, EngineAction.CLOSE),
        (_S, Input.CONFIGURE): (_C, EngineAction.NONE),
        (_S, Input.RUN): (_R, EngineAction.BEGIN),
        (_S, Input.STOP): (_S, EngineAction.REST),
        (_S, Input.FAULT): (_F, EngineAction.LATCH),
        (_S, Input.ARM): (_S, EngineAction.UNLATCH),
        (_S, Input.POSE): (_S, EngineAction.NONE),
        (_S, Input.OFF): (_S, EngineAction.LATCH),
        (_S, Input.SHUT_DOWN): (_S, EngineAction.CLOSE),
        (_F, Input.CONFIGURE): _ARM_AGAIN,
        (_F, Input.RUN): _ARM_AGAIN,
        (_F, Input.STOP): (_F, EngineAction.NONE),
        (_F, Input.FAULT): (_F, EngineAction.LATCH),
        (_F, Input.ARM): (_S, EngineAction.UNLATCH),
        (_F, Input.POSE): _ARM_AGAIN,
        (_F, Input.OFF): (_F, EngineAction.LATCH),
        (_F, Input.SHUT_DOWN): (_F, EngineAction.CLOSE),
    }
)
"""The mode that follows and what is done, or why it is refused."""


def transition(mode: Mode, what: Input, *, latched: bool) -> tuple[Mode, EngineAction]:
    """Return the mode after `what`, and what is done. Raises Refusal where it is not allowed; nothing has changed then.

    `latched`: torque was taken off, for a fault or because somebody asked, and nobody has armed since. Whatever mode
    is said then, nothing leads to driving, and a stop finds nothing to do.
    """
    if latched and what in _DRIVES and mode not in (Mode.FAULT, Mode.UNCONFIGURED):
        raise Refusal(_ARM_FIRST)
    if latched and what is Input.STOP:
        return mode, EngineAction.NONE
    after = TRANSITIONS[mode, what]
    if isinstance(after, str):
        raise Refusal(after)
    return after


def step(mode: Mode, what: Input, *, latched: bool) -> Mode:
    """Return the mode after `what`, as `transition` does."""
    return transition(mode, what, latched=latched)[0]
