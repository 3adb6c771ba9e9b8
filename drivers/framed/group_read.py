"""Asking several servos for the same registers: in groups, and those that a group's silence hid one by one."""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from typing import Final

from drivers.framed import requests
from drivers.framed.layout import FamilyLayout
from drivers.framed.packet import SYNC_READ, Packet
from drivers.framed.registers import Register
from drivers.framed.servo_state import Contact
from drivers.framed.servos import BusServo
from drivers.framed.transactions import Exchange, LateStatuses, StatusesById, StatusQuery

LONGEST_GROUP: Final = 64
"""Servos in one packet at most: where the length is one byte, more do not fit."""

_FAST_FAILURES: Final = 3
_OFTEN: Final = 32
_GONE: Final = Contact.GONE


class GroupReader:
    """Asks on behalf of one bus; `fast` says whether many may answer in one packet, until they are found not to."""

    __slots__ = ("_failures", "_fast", "_known", "_late", "_layout")

    def __init__(self, layout: FamilyLayout, *, fast: bool, late: LateStatuses | None = None) -> None:
        self._layout, self._late = layout, late or LateStatuses()
        self._fast = layout.fast if fast else None
        self._failures = 0
        # The last request of each sort, and of whom: by address, length and instruction.
        self._known: dict[tuple[int, int, int], tuple[tuple[int, ...], bytes]] = {}

    def block(self, servos: Sequence[BusServo], take: Callable[[int, Packet, int], None], prefix: bytes) -> StatusQuery:
        """Ask for the layout's block, behind the requests in `prefix`; `take` gets each status as it comes."""
        address, length = self._layout.block
        return self._ask(servos, address, length, take, prefix, fast=True)

    def values(
        self, servos: Sequence[BusServo], register: Register, prefix: bytes = b"", *, again: bytes = b""
    ) -> Generator[Exchange, StatusesById, dict[int, int]]:
        """Ask for one register, behind the requests in `prefix`; `again` is said before those that are asked singly.

        Not before each of them where they are more than legs have: padding behind the silent ones would cost seconds.

        Return its values by the servos' numbers, of those that gave one.
        """
        found = yield from self.span(servos, register.address, register.size, prefix, again=again)
        return {number: register.decode(data) for number, data in found.items()}

    def span(
        self,
        servos: Sequence[BusServo],
        address: int,
        length: int,
        prefix: bytes = b"",
        *,
        again: bytes = b"",
        fast: bool = False,
    ) -> Generator[Exchange, StatusesById, dict[int, bytes]]:
        """Ask for `length` bytes from `address` on, as `values` does; return them by the servos' numbers."""
        answers = yield from self._ask(servos, address, length, None, prefix, again=again, fast=fast)
        found: dict[int, bytes] = {}
        for servo in servos:
            packet = answers.get(servo.bus_id)
            if packet is not None and len(packet.params) == length:
                found[servo.number] = packet.params
        return found

    def _ask(
        self,
        servos: Sequence[BusServo],
        address: int,
        length: int,
        take: Callable[[int, Packet, int], None] | None,
        prefix: bytes,
        *,
        again: bytes = b"",
        fast: bool = False,
    ) -> StatusQuery:
        gone = [servo for servo in servos if servo.state.contact is _GONE]
        here = [servo for servo in servos if servo not in gone] if gone else servos
        answers: dict[int, Packet] = {}
        hidden: list[BusServo] = []
        late = len(self._late.ids)
        for at in range(0, len(here), LONGEST_GROUP):
            group = here[at : at + LONGEST_GROUP]
            form = self._fast if fast else None
            ids = tuple([servo.bus_id for servo in group])
            request = self._request(address, length, ids, SYNC_READ if form is None else form.instruction)
            got = yield Exchange(request, ids, length, take, form, prefix=prefix, after_late=take is None)
            prefix = b""
            answers |= got
            if len(got) < len(ids):
                hidden += group if form is not None else _hidden(group, got)
        if prefix:
            yield Exchange(prefix)
        for k, servo in enumerate(hidden + gone):
            request = requests.read(self._layout.dialect, servo.bus_id, address, length)
            before = again if k < _OFTEN or k % _OFTEN == 0 else b""
            answers |= yield Exchange(request, (servo.bus_id,), length, take, prefix=before, after_late=take is None)
        # An answer of all together that came late is one.
        if fast and self._fast is not None and len(self._late.ids) == late:
            self._judge_fast(hidden)
        return answers

    def _request(self, address: int, length: int, ids: tuple[int, ...], instruction: int) -> bytes:
        key = address, length, instruction
        known_ids, request = self._known.get(key, ((), b""))
        if known_ids != ids:
            request = requests.sync_read(self._layout.dialect, ids, address, length, instruction)
            self._known[key] = ids, request
        return request

    def _judge_fast(self, hidden: Sequence[BusServo]) -> None:
        """Count how often in a row servos that were there did not answer together; at the third time, ask otherwise."""
        self._failures = self._failures + 1 if hidden else 0
        if self._failures >= _FAST_FAILURES:
            self._fast = None


def _hidden(group: Sequence[BusServo], answers: StatusesById) -> Sequence[BusServo]:
    """Return those behind the one whose silence ended the group's answers."""
    heard = [k for k, servo in enumerate(group) if servo.bus_id in answers]
    return group[heard[-1] + 2 :] if heard else group[1:]
