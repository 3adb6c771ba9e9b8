"""Triggers: changes that wait for a rule instead of a time (section 9.2.1.1)."""

from __future__ import annotations

from nuc_engine.control.rulebook import Predicate, Rulebook
from nuc_engine.model.changes import Changeset, Trigger
from sccils_schemas.rules import Rule, RuleError

MOST_ARMED = 100
"""Most triggers that wait at a time: each is looked at before the rules are."""


class Triggers:
    """The triggers that are armed, in the order in which they came.

    Each is looked at before the entry rules at each of their evaluations. One fires at the first at which its rule has
    been true for as long as it asks, and then rests, from which on the rule counts anew: for its refractory time, and
    until it has acted, so that no more is ever to come than there are triggers.
    """

    def __init__(self, rulebook: Rulebook) -> None:
        self._rulebook = rulebook
        self.armed: list[ArmedTrigger] = []
        self.spent: list[int] = []
        """The requests whose triggers have all done what they were to do; who tells of it takes them away."""

    def arm(self, trigger: Trigger, origin: int) -> None:
        """Add one; `origin` is the request it came with. Raises RuleError for a rule that cannot be, or one too many.

        An operand that has no value yet would count as 0, which nobody has said.
        """
        if len(self.armed) >= MOST_ARMED:
            raise RuleError(f"{MOST_ARMED} triggers wait already")
        tree = self._rulebook.read(trigger.rule)
        if (unset := self._rulebook.unset_in(tree)) is not None:
            raise RuleError(f"HDSO {unset.id_num} ({unset.name}) has no value")
        self.armed.append(ArmedTrigger(trigger, origin, tree, self._rulebook.hold(tree)))

    def forget(self, origin: int) -> int:
        """Take away those of one request, or all (-1); return how many those were."""
        gone = [item for item in self.armed if origin in (-1, item.origin)]
        self._drop(gone)
        return len(gone)

    def run(self, now_ns: int, start_ns: int) -> list[Changeset]:
        """Look at every trigger; return what those that fire do, and when. `time` and `until` are since the start."""
        self._rulebook.set_time(now_ns, start_ns)
        changes: list[Changeset] = []
        spent: list[ArmedTrigger] = []
        for item in self.armed:
            trigger = item.trigger
            if 0 <= trigger.until_ns <= now_ns - start_ns:
                spent.append(item)
            elif now_ns >= item.rests_until_ns:
                if not item.truth():
                    item.since_ns = -1
                    continue
                if item.since_ns < 0:
                    item.since_ns = now_ns
                if now_ns - item.since_ns >= trigger.holds_ns:
                    item.fired += 1
                    item.since_ns, item.rests_until_ns = -1, now_ns + max(trigger.refractory_ns, trigger.after_ns)
                    cause = f"when {self._rulebook.shown(item.tree)}"
                    changes.append(Changeset(now_ns + trigger.after_ns, trigger.writes, cause=cause))
                    if item.fired == trigger.times:
                        spent.append(item)
        if spent:
            self._drop(spent)
            left = {item.origin for item in self.armed}
            self.spent += [origin for origin in dict.fromkeys(item.origin for item in spent) if origin not in left]
        return changes

    def _drop(self, items: list[ArmedTrigger]) -> None:
        self.armed = [item for item in self.armed if item not in items]
        for item in items:
            self._rulebook.let_go(item.tree)


class ArmedTrigger:
    """One trigger, since when its rule has been true, until when it rests, and how often it has fired."""

    def __init__(self, trigger: Trigger, origin: int, tree: Rule, truth: Predicate) -> None:
        self.trigger, self.origin, self.tree, self.truth = trigger, origin, tree, truth
        self.since_ns, self.rests_until_ns, self.fired = -1, 0, 0
