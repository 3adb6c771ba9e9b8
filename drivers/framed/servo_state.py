"""What a bus knows of a servo, and what each event makes of it: a pure table.

A state has six parts, each of a few values. An event changes what `MOVES` names for it, and leaves the rest as it is.
With those in `DROPS` the goal that waits, and a set-up that is half done, are dropped. The tables of docs/packet_bus.md
are made from here.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from functools import cache
from types import MappingProxyType
from typing import Final, NamedTuple, TypeAlias


class Readiness(Enum):
    """How far a servo is from being driven."""

    NEW = "nothing is known of it yet, or nothing any more"
    LOOSEN = "as NEW, and its torque is taken off before it is asked anything"
    KNOWN = "it is the model it should be"
    READY = "it is set up"
    REFUSED = "it cannot be driven as it is"
    FAULT = "it has shut down"


class Torque(Enum):
    """What is known of its torque."""

    UNKNOWN = "nothing is known of its torque"
    OFF = "its torque was read as off"
    ON = "its torque was read as on"


class Contact(Enum):
    """Whether it answers."""

    GONE = "it did not answer last time"
    BACK = "it answers again, and nobody has looked what it still holds"
    HERE = "it answers"


class DriveSettings(Enum):
    """What was seen of what it was told with its torque: gain, bound, watchdog."""

    NOTHING = "it is to be looked at; a bound that it does not hold is only told again"
    CHECK = "it is to be looked at; whatever it does not hold, it has started anew"
    BOUND = "it was told a new bound, which is not looked at yet"
    HELD = "it was seen to hold it all"


class Health(Enum):
    """What its last status said of itself."""

    WELL = "it says that all is well"
    AILING = "it says that something ails it"


class ReplyTiming(Enum):
    """Whether an answer to an earlier question may still be under way while it is set up."""

    PROMPT = "it answers what it was asked"
    LATE = "an answer may be that to an earlier question: values count that come twice"


class ServoState(NamedTuple):
    """All that decides what may be done with a servo."""

    readiness: Readiness = Readiness.NEW
    torque: Torque = Torque.UNKNOWN
    contact: Contact = Contact.HERE
    told: DriveSettings = DriveSettings.NOTHING
    health: Health = Health.WELL
    replies: ReplyTiming = ReplyTiming.PROMPT

    @property
    def drivable(self) -> bool:
        """Whether it is set up, there, and well, as far as that is known."""
        ready = self.readiness is Readiness.READY
        return ready and self.contact is Contact.HERE and self.health is Health.WELL

    @property
    def driven(self) -> bool:
        """Whether all is as it should be, and its torque is on."""
        return self.torque is Torque.ON and self.drivable

    @property
    def settled(self) -> bool:
        """Whether it is driven, and there is nothing to be looked at."""
        return self.driven and self.told in (DriveSettings.BOUND, DriveSettings.HELD)

    @property
    def unknown(self) -> bool:
        """Whether it is there and nobody knows yet who it is."""
        return self.readiness in (Readiness.NEW, Readiness.LOOSEN) and self.contact is not Contact.GONE

    @property
    def armed(self) -> bool:
        """Whether it is there and its torque is on."""
        return self.torque is Torque.ON and self.contact is not Contact.GONE

    @property
    def suspect(self) -> bool:
        """Whether it is armed, and to be looked at."""
        return self.armed and (
            self.contact is Contact.BACK or self.told in (DriveSettings.NOTHING, DriveSettings.CHECK)
        )

    @property
    def stale(self) -> bool:
        """Whether it came back without torque: what it keeps while powered may be gone, and nothing shows it."""
        ready = self.readiness is Readiness.READY
        return ready and self.contact is Contact.BACK and self.torque is not Torque.ON


class ServoEvent(Enum):
    """What happens to a servo, in words."""

    MISSED = "no status of it came in a cycle"
    SEEN = "a status of it came"
    DISOBEYED = "it refused a goal"
    TORQUE_UNKNOWN = "its torque was changed, and not read back"
    TORQUE_OFF = "its torque was read as off"
    TORQUE_ON = "its torque was read as on"
    HOLDS = "it was seen to hold all it was told"
    LEVEL = "another bound of the torque is in force"
    LOOK = "it is time to look at what it holds, or a look found something else"
    RESTARTED = "it has started anew, or must be set up anew"
    LOOSENED = "the same, and its torque must come off"
    AILS = "its status says that something ails it, without torque"
    AILS_ON = "the same, under torque"
    WELL = "its status says so no more"
    ASKED = "it is asked who it is"
    UNANSWERED = "a question of its set-up was not answered"
    SILENT = "one exchange of its set-up had no answer"
    IDENTIFIED = "it said who it is"
    CONFIGURED = "it is set up"
    REFUSE = "it cannot be driven as it is"
    SHUT_DOWN = "and that is because it has shut down"
    RELEASE = "torque off is sent to everybody on the line"


Part: TypeAlias = Readiness | Torque | Contact | DriveSettings | Health | ReplyTiming

_N, _L, _K, _R = Readiness.NEW, Readiness.LOOSEN, Readiness.KNOWN, Readiness.READY
_X, _F = Readiness.REFUSED, Readiness.FAULT
_OFF, _ON, _UNKNOWN = Torque.OFF, Torque.ON, Torque.UNKNOWN
_GONE, _BACK, _HERE = Contact.GONE, Contact.BACK, Contact.HERE


def _anew(readiness: Readiness) -> dict[Part, Part]:
    """Return what becomes of a servo that is set up anew."""
    return {**dict.fromkeys(Readiness, readiness), _OFF: _UNKNOWN, _ON: _UNKNOWN, _BACK: _HERE}


MOVES: Final[Mapping[ServoEvent, Mapping[Part, Part]]] = MappingProxyType(
    {
        ServoEvent.MISSED: {
            _K: _N, _X: _N, _F: _N, _OFF: _UNKNOWN, _HERE: _GONE, _BACK: _GONE, ReplyTiming.PROMPT: ReplyTiming.LATE,
        },
        ServoEvent.SEEN: {_GONE: _BACK},
        ServoEvent.DISOBEYED: {_HERE: _BACK},
        ServoEvent.TORQUE_UNKNOWN: {_OFF: _UNKNOWN, _ON: _UNKNOWN},
        ServoEvent.TORQUE_OFF: {_UNKNOWN: _OFF, _ON: _OFF},
        ServoEvent.TORQUE_ON: {_UNKNOWN: _ON, _OFF: _ON},
        ServoEvent.HOLDS: {
            _BACK: _HERE,
            **dict.fromkeys((DriveSettings.NOTHING, DriveSettings.CHECK, DriveSettings.BOUND), DriveSettings.HELD),
        },
        ServoEvent.LEVEL: {DriveSettings.HELD: DriveSettings.BOUND, DriveSettings.CHECK: DriveSettings.NOTHING},
        ServoEvent.LOOK: {DriveSettings.HELD: DriveSettings.CHECK, DriveSettings.BOUND: DriveSettings.NOTHING},
        ServoEvent.RESTARTED: {**_anew(_N), _L: _L},
        ServoEvent.LOOSENED: _anew(_L),
        ServoEvent.AILS: {**_anew(_N), Health.WELL: Health.AILING},
        ServoEvent.AILS_ON: {**_anew(_L), Health.WELL: Health.AILING},
        ServoEvent.WELL: {Health.AILING: Health.WELL},
        ServoEvent.ASKED: {_L: _N},
        ServoEvent.UNANSWERED: {_K: _N},
        ServoEvent.SILENT: {ReplyTiming.PROMPT: ReplyTiming.LATE},
        ServoEvent.IDENTIFIED: {_N: _K},
        ServoEvent.CONFIGURED: {_K: _R, _UNKNOWN: _OFF, _ON: _OFF, _BACK: _HERE, ReplyTiming.LATE: ReplyTiming.PROMPT},
        ServoEvent.REFUSE: {_N: _X, _K: _X, _R: _X},
        ServoEvent.SHUT_DOWN: {_X: _F},
        ServoEvent.RELEASE: {_OFF: _UNKNOWN, _ON: _UNKNOWN},
    }
)  # fmt: skip

DROPS: Final = frozenset(
    {
        ServoEvent.MISSED, ServoEvent.RESTARTED, ServoEvent.LOOSENED, ServoEvent.AILS, ServoEvent.AILS_ON,
        ServoEvent.REFUSE, ServoEvent.RELEASE,
    }
)  # fmt: skip


@cache
def step(state: ServoState, event: ServoEvent) -> ServoState:
    """Return the state after `event`."""
    moves = MOVES[event]
    return ServoState._make(moves.get(part, part) for part in state)
