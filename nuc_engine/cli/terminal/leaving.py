"""How a command ends that somebody ends from outside: a closed window, a signal, a reader that has seen enough."""

from __future__ import annotations

import os
import select
import signal
import sys
from collections.abc import Callable, Generator
from contextlib import contextmanager

SIGNALS = tuple(number for name in ("SIGTERM", "SIGHUP") if (number := getattr(signal, name, None)) is not None)
"""What ends a process from outside: a request, and a terminal that is closed."""

UNREAD = 141
"""Exit status of `nuc ... | head`: 128 + SIGPIPE, as a shell has it for programs that die of it."""

_STANDARD = (1, 2)


def leave(number: int, _frame: object) -> None:
    """End by unwinding, so that terminals are given back and daemons are sent a goodbye."""
    raise SystemExit(128 + number)


def interrupt(*_: object) -> None:
    """End what runs as Ctrl-C does: what was begun is tidied up, or kept and said to be incomplete."""
    for number in SIGNALS:
        signal.signal(number, signal.SIG_IGN)
    raise KeyboardInterrupt


@contextmanager
def when_ended(handler: Callable[[int, object], object] = leave) -> Generator[None]:
    """Call the handler when the process is ended from outside. What was ignored before (nohup) stays so."""
    before = [(number, signal.getsignal(number)) for number in SIGNALS]
    taken = [(number, handled) for number, handled in before if handled is not signal.SIG_IGN]
    for number, _ in taken:
        signal.signal(number, handler)
    try:
        yield
    finally:
        for number, handled in taken:
            signal.signal(number, handled)


def unread() -> bool:
    """Say whether nobody reads stdout or stderr any more; what is still written to such a pipe is dropped from now on.

    Another pipe that broke (to a worker, to a device) is not meant by that, and is an error.
    """
    if sys.platform == "win32":  # where a pipe breaks otherwise
        return False
    poll = select.poll()
    for descriptor in _STANDARD:
        poll.register(descriptor, 0)
    broken = [descriptor for descriptor, what in poll.poll(0) if what & select.POLLERR]
    for descriptor in broken:
        # The interpreter flushes what is left when it ends.
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, descriptor)
        os.close(nowhere)
    return bool(broken)
