"""What can go wrong between a client and the daemon."""

from __future__ import annotations

import sys


class ClientError(Exception):
    """Root of all errors of this package."""


class NotAnswered(ClientError):
    """The daemon did not answer; the message says what to start or to look at.

    `sent` is True where the request had left this machine's hands: it may have taken effect, and is not sent again.
    """

    def __init__(self, text: str, *, sent: bool = False) -> None:
        super().__init__(text)
        self.sent = sent


class Refused(ClientError):
    """The daemon will not: `kind` for programs, `text` for people, and a `hint` where there is one.

    Kinds: bad_request, unknown_method, not_found, not_allowed (role), no_control, refused (by the mode, the model or
    the core), too_fast, core_gone, timeout, forgotten, failed.
    """

    def __init__(self, kind: str, text: str, hint: str = "") -> None:
        super().__init__(f"{text} ({hint})" if hint else text)
        self.kind, self.text, self.hint = kind, text, hint


class BadAnswer(ClientError):
    """The daemon's answer has not the form that was expected; the message names what is missing."""


class KeysError(ClientError):
    """Keys that cannot be read; the message names the file."""


def nobody(where: str, more: str = "") -> NotAnswered:
    """Return what says that no daemon is somewhere, and what to do about it on this system."""
    how = "start one: nuc serve CONFIG --bus emulated:; if it listens elsewhere, say where with --address"
    if sys.platform != "linux":
        how = "daemons run on Linux alone; say where yours listens with --address tcp://HOST:PORT"
    return NotAnswered(f"no daemon {where} ({how}{more})")
