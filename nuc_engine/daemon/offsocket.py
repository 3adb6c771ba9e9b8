"""Torque off past the service: a socket of datagrams that the main process opens before all else.

Whatever comes, of whatever content, takes the torque off; its text is why. There is nothing to parse and no descriptor
per client, and what waits is bounded by the kernel (net.unix.max_dgram_qlen). Main process and guardian both read it at
each of their looks, so that either may stand still or be dead: whoever reads a datagram asks and answers.

The answer goes to the sender's address, once every servo has confirmed or ANSWER_NS after it was read, as JSON:

    {"torque": false, "confirmed_ns": {"Femur_motor": 21000000, ...}, "unconfirmed": [], "latched": true}

`confirmed_ns` counts from the instant the datagram was read. Only abstract addresses (unix(7)) are answered: a path may
lead to the socket of another program.

Whether it would be heard is asked at another socket, `probe`, which the same processes read in the same look, after the
first. What comes there is never a request, and what comes at the first always is, whoever speaks to whichever version:

    {"heard_by": "guardian", "torque": true, "latched": false}
"""

from __future__ import annotations

import json
import os
import socket
import struct
from collections.abc import Callable, MutableSequence, Sequence
from contextlib import suppress
from pathlib import Path

from nuc_engine.daemon.block import Block, Word
from nuc_engine.daemon.off_requests import Requester, is_done, request_off
from nuc_engine.machine.rundir import RunDirError

READS = 16
"""Datagrams that are read in one look at most."""

ANSWER_NS = 1_000_000_000
"""How long servos have to confirm before the answer names those that have not."""

QUESTIONS = 4
"""Questions that are answered in one look at most."""

MOST_WAITING = 32
"""Senders that may wait for an answer; who comes beside them has to ask again."""

LINES = 16
"""How many requests a second are told with who has asked; of the others, how many there were."""

LONGEST = 256
_CREDENTIALS = struct.Struct("=iII")

Words = MutableSequence[int] | memoryview


def open_off(path: Path) -> socket.socket:
    """Return a new socket at `path`, for its user and group. Raises RunDirError."""
    made = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC | socket.SOCK_NONBLOCK)
    try:
        made.setsockopt(socket.SOL_SOCKET, socket.SO_PASSCRED, 1)
        before = os.umask(0o117)
        try:
            made.bind(str(path))
        finally:
            os.umask(before)
    except OSError as error:
        made.close()
        raise RunDirError(f"{path}: {error.strerror}") from error
    return made


class MotorNames:
    """Names of the motors of the plan that the core runs, none before there is one; None while it can not be read."""

    def __init__(self, block: Block) -> None:
        self._block = block
        self._generation, self._names = 0, tuple[str, ...]()

    def __call__(self) -> Sequence[str] | None:
        """Return them in the order of the plan."""
        generation = self._block.words[Word.CORE_PLAN]
        if generation != self._generation:
            try:
                plan = self._block.read_plan()
            except Exception:  # the service is at writing another one: in a moment it is whole
                return None
            self._generation, self._names = generation, tuple(motor.name for motor in plan.motors)
        return self._names


class OffServer:
    """Reads the socket for one process, the `asker`. `motors` returns the names of the plan's motors in their order.

    `tell` takes (name, text) of an event. `probe` is where it is asked whether it listens.
    """

    def __init__(
        self,
        words: Words,
        receiver: socket.socket,
        asker: Requester,
        motors: Callable[[], Sequence[str] | None],
        tell: Callable[[str, str], None],
        probe: socket.socket | None = None,
    ) -> None:
        self._words, self._socket, self._asker, self._motors, self._tell = words, receiver, asker, motors, tell
        self._probe = probe
        self._waiting: list[tuple[bytes, int, int]] = []
        self._second = self._lines = self._untold = 0

    def look(self, now_ns: int) -> None:
        """Take the torque off if somebody asks for it, and answer those for whom it is off, or who waited long."""
        for _ in range(READS):
            try:
                why, credentials, _, sender = self._socket.recvmsg(LONGEST, socket.CMSG_SPACE(_CREDENTIALS.size))
            except OSError:
                break
            number = request_off(self._words, self._asker)
            self._note(now_ns, why, credentials)
            if isinstance(sender, bytes) and sender.startswith(b"\0") and len(self._waiting) < MOST_WAITING:
                self._waiting.append((sender, now_ns, number))
        if self._waiting:
            self._answer(now_ns, everybody=False)
        if self._probe is not None:
            self._say_it_is_heard(self._probe)

    def leave(self, now_ns: int) -> None:
        """Read once more, and answer all: this process ends."""
        self.look(now_ns)
        self._answer(now_ns, everybody=True)

    def _answer(self, now_ns: int, *, everybody: bool) -> None:
        motors = self._motors()
        if motors is None:
            return
        since = [self._words[Word.LIMP_SINCE + k] for k in range(len(motors))]
        keep: list[tuple[bytes, int, int]] = []
        for sender, asked_ns, number in self._waiting:
            off = not motors or (all(since) and is_done(self._words, self._asker, number))
            if not (off or everybody or now_ns - asked_ns >= ANSWER_NS):
                keep.append((sender, asked_ns, number))
                continue
            confirmed = {name: max(0, at - asked_ns) for name, at in zip(motors, since, strict=True) if at}
            answer = {
                "torque": bool(self._words[Word.TORQUE]),
                "confirmed_ns": confirmed,
                "unconfirmed": [name for name in motors if name not in confirmed],
                "latched": bool(self._words[Word.LATCHED]),
            }
            with suppress(OSError):
                self._socket.sendto(json.dumps(answer).encode(), sender)
        self._waiting = keep

    def _say_it_is_heard(self, probe: socket.socket) -> None:
        for _ in range(QUESTIONS):
            try:
                _, sender = probe.recvfrom(1)
            except OSError:
                break
            if isinstance(sender, bytes) and sender.startswith(b"\0"):
                answer = {
                    "heard_by": self._asker.name.lower(),
                    "torque": bool(self._words[Word.TORQUE]),
                    "latched": bool(self._words[Word.LATCHED]),
                }
                with suppress(OSError):
                    probe.sendto(json.dumps(answer).encode(), sender)

    def _note(self, now_ns: int, why: bytes, credentials: Sequence[tuple[int, int, bytes]]) -> None:
        """Tell who asks, or count who is not told."""
        if now_ns // 1_000_000_000 != self._second:
            self._second, self._lines = now_ns // 1_000_000_000, 0
        self._lines += 1
        if self._lines > LINES:
            self._untold += 1
            return
        who = "somebody"
        for level, kind, data in credentials:
            if (level, kind, len(data)) == (socket.SOL_SOCKET, socket.SCM_CREDENTIALS, _CREDENTIALS.size):
                pid, uid, _ = _CREDENTIALS.unpack(data)
                who = f"process {pid} of user {uid}"
        text = "".join(letter if letter.isprintable() else "?" for letter in why.decode(errors="replace"))
        more = f" ({self._untold} more before that are not told)" if self._untold else ""
        self._tell("off_asked", f"torque off was asked for by {who}: {text}{more}")
        self._untold = 0
