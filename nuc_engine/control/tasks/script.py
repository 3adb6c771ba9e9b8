"""Script: applies changesets at their time, before any task of that instant (section 6.2.2)."""

from __future__ import annotations

import heapq
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import count

from drivers.port import NEVER
from nuc_engine.control.rulebook import Predicate, Rulebook
from nuc_engine.control.tasks.board import Board
from nuc_engine.model.changes import Applied, Changeset, Controlled, DataRequest, JointControl, Trigger, Write
from nuc_engine.model.plan import Plan
from nuc_engine.model.store import Store, refusal
from sccils_schemas.rules import RuleError

Decoded = Mapping[int, "Predicate | str"]
"""The rules of a changeset by their place in it; text is why one cannot be read."""


@dataclass(order=True, slots=True)
class _Due:
    """One changeset that is still to come; of equal times, the one that was loaded first comes first."""

    time_ns: int
    number: int
    changeset: Changeset = field(compare=False)
    decoded: Decoded = field(compare=False)


class Script:
    """Holds the changesets that are still to come and applies each when it is due.

    Rules are decoded when a changeset arrives (`load`) and swapped when it is due. Of several writes of one HDSO the
    last one counts, for rules as for numbers. A write that cannot be made then is refused: the others of its changeset
    stand, also an earlier one of the same HDSO, and `on_applied` is told of each in the order of the changeset.
    `control` makes a control, or returns why it cannot; `on_controlled` is told. `arm` takes triggers, of an origin.
    `on_done` follows each changeset, with how many were refused; what a later write has replaced was not.
    Requests are handed on through `requests` (origin, request) to what answers them.
    """

    def __init__(
        self,
        plan: Plan,
        store: Store,
        board: Board,
        rulebook: Rulebook,
        control: Callable[[JointControl], str],
        on_applied: Callable[[Applied], None],
        on_controlled: Callable[[Controlled], None],
        on_done: Callable[[int, Changeset, int], None],
        arm: Callable[[Trigger, int], None] | None = None,
    ) -> None:
        self._plan, self._store, self._board, self._rulebook = plan, store, board, rulebook
        self._control, self._arm = control, arm
        self._on_applied, self._on_controlled, self._on_done = on_applied, on_controlled, on_done
        self._ahead: list[_Due] = []
        self._numbers = count()
        self.requests: deque[tuple[int, DataRequest]] = deque()
        self.touched: set[int] = set()

    def __len__(self) -> int:
        """Return how many changesets are still to come."""
        return len(self._ahead)

    @property
    def due_ns(self) -> int:
        """When the next changeset is due, or NEVER."""
        return self._ahead[0].time_ns if self._ahead else NEVER

    def load(self, changesets: Sequence[Changeset]) -> None:
        """Add changesets to those that are still to come; of equal times, those loaded first come first."""
        for changeset in changesets:
            rules = ((place, write) for place, write in enumerate(changeset.writes) if self._is_rule(write))
            decoded = {place: self._decode(write) for place, write in rules}
            heapq.heappush(self._ahead, _Due(changeset.time_ns, next(self._numbers), changeset, decoded))

    def forget(self, origin: int) -> int:
        """Drop the changesets of one request, or all (-1), that are still to come; return how many those were."""
        before = len(self._ahead)
        self._ahead = [due for due in self._ahead if origin not in (-1, due.changeset.origin)]
        heapq.heapify(self._ahead)
        return before - len(self._ahead)

    def run(self, now_ns: int) -> None:
        """Apply everything that is due. `touched` then holds the HDSOs written."""
        self.touched.clear()
        while self._ahead and self._ahead[0].time_ns <= now_ns:
            due = heapq.heappop(self._ahead)
            changeset = due.changeset
            refused = self._apply(changeset, due.decoded, now_ns) + self._make_controls(changeset, now_ns)
            if self._arm is not None:
                for trigger in changeset.triggers:
                    self._arm(trigger, changeset.origin)
            self.requests.extend((changeset.origin, request) for request in changeset.requests)
            # What triggers is done when it has done all that it is to do.
            if not changeset.triggers:
                self._on_done(now_ns, changeset, refused)

    def _make_controls(self, changeset: Changeset, now_ns: int) -> int:
        reasons = [(control, self._control(control)) for control in changeset.controls]
        for control, reason in reasons:
            self._on_controlled(Controlled(now_ns, self._board.cycle, control, reason, changeset.origin))
        return sum(bool(reason) for _, reason in reasons)

    def _is_rule(self, write: Write) -> bool:
        return self._plan.hdsos[write.hdso].kind == "boolstring"

    def _decode(self, write: Write) -> Predicate | str:
        try:
            return self._rulebook.decode(write.hdso, _code(write))
        except RuleError as error:
            return str(error)

    def _apply(self, changeset: Changeset, decoded: Decoded, now_ns: int) -> int:
        writes: list[Write] = []
        reasons: list[str] = []
        for place, asked in enumerate(changeset.writes):
            write, reason = self._whole(asked)
            writes.append(write)
            reasons.append(reason)
            if place not in decoded and not reason:
                self._store.write(write.hdso, write.values)
        # Rules come after the numbers they use: within one changeset document order must not matter to them.
        if decoded:
            self._apply_rules(writes, decoded, reasons)
        replaced = _replaced(writes, reasons)
        for place, (write, reason) in enumerate(zip(writes, reasons, strict=True)):
            told = Applied(
                now_ns, self._board.cycle, write, reason, changeset.origin, place in replaced, changeset.cause
            )
            self._on_applied(told)
            if not reason:
                self.touched.add(write.hdso)
        return sum(map(bool, reasons))

    def _whole(self, write: Write) -> tuple[Write, str]:
        """Return a write as one from the first element on, over what is in the store now, and why it cannot be."""
        reason = refusal(self._plan.hdsos[write.hdso], write.values, write.element) or ""
        if write.element is None or reason:
            return write, reason
        held = self._store.values(write.hdso)
        if held is None:
            return write, f"element [{write.element}] of what has no value yet: write all of it first"
        return write.from_first(held), ""

    def _apply_rules(self, writes: Sequence[Write], decoded: Decoded, reasons: list[str]) -> None:
        for place, predicate in decoded.items():
            reasons[place] = reasons[place] or (predicate if isinstance(predicate, str) else self._lack(writes[place]))
        while last := {writes[place].hdso: place for place in decoded if not reasons[place]}:
            found = self._rulebook.refusals({hdso: _code(writes[place]) for hdso, place in last.items()})
            if not found:
                break
            # What cannot be in force replaces nothing: an earlier write of that rule counts.
            for hdso, reason in found.items():
                reasons[last[hdso]] = reason
        for hdso, place in last.items():
            write, predicate = writes[place], decoded[place]
            if not isinstance(predicate, str):
                self._store.write(hdso, write.values)
                self._rulebook.swap(hdso, _code(write), predicate)

    def _lack(self, write: Write) -> str:
        unset = self._rulebook.unset_operand(write.hdso, _code(write))
        return "" if unset is None else f"the rule uses HDSO {unset.id_num} ({unset.name}), which has no value"


def _replaced(writes: Sequence[Write], reasons: Sequence[str]) -> set[int]:
    """Return the places of writes that a later one that was made has overwritten, all of it and with something else.

    Judged by whole writes, as they are recorded, so that a repetition finds the same.
    """
    found: set[int] = set()
    later: dict[int, list[tuple[int, Write]]] = {}
    for place in reversed(range(len(writes))):
        write = writes[place]
        if reasons[place]:
            continue
        behind = later.setdefault(write.hdso, [])
        for at, other in reversed(behind):
            if other.values == write.values:
                if at in found:
                    found.add(place)
                break
            if len(other.values) >= len(write.values) and other.values[: len(write.values)] != write.values:
                found.add(place)
                break
        behind.append((place, write))
    return found


def _code(write: Write) -> list[int]:
    return [int(value) for value in write.values]
