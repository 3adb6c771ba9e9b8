"""Script: applies changesets at their time, before any task of that instant (section 6.2.2)."""

from __future__ import annotations

from bisect import bisect_right
from collections import deque
from collections.abc import Callable, Sequence

from drivers.port import NEVER
from nuc_engine.changes import Applied, Changeset, Control, Controlled, Request, Write
from nuc_engine.plan import Plan
from nuc_engine.rulebook import Predicate, Rulebook
from nuc_engine.store import Store, refusal
from nuc_engine.tasks.board import Board
from sccils_schemas.rules import RuleError


class Script:
    """Holds the changesets that are still to come and applies each when it is due.

    Rules are decoded when a changeset arrives (`load`) and swapped when it is due. A write that can not be made then
    is refused: the others of its changeset stand, and `on_applied` is told either way. `control` makes a control, or
    returns why it can not; `on_controlled` is told. `on_done` follows each changeset, with how many were refused.
    Requests are handed on through `requests` (origin, request) to whoever answers them.
    """

    def __init__(
        self,
        plan: Plan,
        store: Store,
        board: Board,
        rulebook: Rulebook,
        control: Callable[[Control], str],
        on_applied: Callable[[Applied], None],
        on_controlled: Callable[[Controlled], None],
        on_done: Callable[[int, Changeset, int], None],
    ) -> None:
        self._plan, self._store, self._board, self._rulebook = plan, store, board, rulebook
        self._control = control
        self._on_applied, self._on_controlled, self._on_done = on_applied, on_controlled, on_done
        self._ahead: deque[tuple[Changeset, dict[Write, Predicate | str]]] = deque()
        self.requests: deque[tuple[int, Request]] = deque()
        self.touched: set[int] = set()

    def __len__(self) -> int:
        """Return how many changesets are still to come."""
        return len(self._ahead)

    @property
    def due_ns(self) -> int:
        """When the next changeset is due, or NEVER."""
        return self._ahead[0][0].time_ns if self._ahead else NEVER

    def load(self, changesets: Sequence[Changeset]) -> None:
        """Add changesets to those that are still to come; of equal times, those loaded first come first."""
        for changeset in changesets:
            decoded = {write: self._decode(write) for write in changeset.writes if self._is_rule(write)}
            place = bisect_right(self._ahead, changeset.time_ns, key=_time_ns)
            self._ahead.insert(place, (changeset, decoded))

    def forget(self, origin: int) -> int:
        """Drop the changesets of one request, or all (-1), that are still to come; return how many those were."""
        before = len(self._ahead)
        self._ahead = deque(item for item in self._ahead if origin not in (-1, item[0].origin))
        return before - len(self._ahead)

    def run(self, now_ns: int) -> None:
        """Apply everything that is due. `touched` then holds the HDSOs written."""
        self.touched.clear()
        while self._ahead and self._ahead[0][0].time_ns <= now_ns:
            changeset, decoded = self._ahead.popleft()
            refused = self._apply(changeset, decoded, now_ns) + self._make_controls(changeset, now_ns)
            self.requests.extend((changeset.origin, request) for request in changeset.requests)
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

    def _apply(self, changeset: Changeset, decoded: dict[Write, Predicate | str], now_ns: int) -> int:
        refused: dict[Write, str] = {}
        writes: list[Write] = []
        for asked in changeset.writes:
            write, reason = self._whole(asked)
            writes.append(write)
            if reason is not None:
                refused[write] = reason
            elif write not in decoded:
                self._store.write(write.hdso, write.values)
        # Rules come after the numbers they use: within one changeset document order must not matter to them.
        if decoded:
            self._apply_rules({w: p for w, p in decoded.items() if w not in refused}, refused)
        for write in writes:
            reason = refused.get(write, "")
            self._on_applied(Applied(now_ns, self._board.cycle, write, reason, changeset.origin))
            if not reason:
                self.touched.add(write.hdso)
        return len(refused)

    def _whole(self, write: Write) -> tuple[Write, str | None]:
        """Return a write as one from the first element on, over what is in the store now, and why it can not be."""
        reason = refusal(self._plan.hdsos[write.hdso], write.values, write.element)
        if write.element is None or reason is not None:
            return write, reason
        held = self._store.values(write.hdso)
        if held is None:
            return write, f"element [{write.element}] of what has no value yet: write all of it first"
        return write.from_first(held), None

    def _apply_rules(self, decoded: dict[Write, Predicate | str], refused: dict[Write, str]) -> None:
        sound: dict[int, tuple[Write, Predicate]] = {}
        for write, predicate in decoded.items():
            if isinstance(predicate, str):
                refused[write] = predicate
            elif (unset := self._rulebook.unset_operand(write.hdso, _code(write))) is not None:
                refused[write] = f"the rule uses HDSO {unset.id_num} ({unset.name}), which has no value"
            else:
                if write.hdso in sound:
                    refused[sound[write.hdso][0]] = "a later entry of the same time writes this rule again"
                sound[write.hdso] = (write, predicate)
        for index, reason in self._rulebook.refusals({i: _code(write) for i, (write, _) in sound.items()}).items():
            refused[sound.pop(index)[0]] = reason
        for index, (write, predicate) in sound.items():
            self._store.write(index, write.values)
            self._rulebook.swap(index, _code(write), predicate)


def _time_ns(item: tuple[Changeset, object]) -> int:
    return item[0].time_ns


def _code(write: Write) -> list[int]:
    return [int(value) for value in write.values]
