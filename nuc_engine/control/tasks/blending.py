"""Actions that are blended by weights instead of switched (section 4.2.2.2, figure 4-9)."""

from __future__ import annotations

import math

from nuc_engine.control.grades import Grades
from nuc_engine.control.rulebook import Rulebook
from nuc_engine.control.tasks.state_transition import Switch
from nuc_engine.model.plan import SoftPlan
from nuc_engine.model.store import Store


class Blend:
    """How much of each action of a module is done: weights from 0 to 1 that together are 1.

    Each entry rule, as far as it is true, claims that much for its action, and weights change by no more than claims
    want; where these are more than 1 together, all are made less in proportion. So two actions with complementary rules
    have the weights that their rules have degrees (the linear switcher of figure 4-9); with thresholds apart, weights
    stay as they are in between (the bi-stable one); and with degrees of 0 and 1 alone it is the finite state switcher,
    also where several rules are true: then the first in document order that is not the leading action's has everything.
    """

    def __init__(self, store: Store, rulebook: Rulebook, switch: Switch, soft: SoftPlan) -> None:
        self._grades = Grades(store, rulebook, soft)
        self._entries = switch.entries
        self._degrees: dict[int, float] = {}
        self.weights = switch.weights
        for state, _ in self._entries:
            self.weights[state] = 0.0
        self.weights[switch.home[switch.place]] = 1.0

    def whole(self) -> list[int]:
        """Look how true the entry rules are; return the actions whose rule is wholly true, in document order."""
        self._degrees = {state: self._grades.degree(rule) for state, rule in self._entries}
        return [state for state, degree in self._degrees.items() if degree >= 1.0]

    def take(self, current: int, *, kept: bool) -> int:
        """Let entry rules have their claims; return the action that leads now, -1 where it is still `current`.

        `kept`: the leading action loses nothing, and leads on.
        """
        weights = self.weights
        claims = self._claims(current)
        if kept:
            claims[current] = max(claims[current], weights[current])
            free = 1.0 - claims[current]
            others = math.fsum(claims.values()) - claims[current]
            if others > free:
                for state in claims:
                    if state != current:
                        claims[state] *= free / others
        raised = {state: max(weights[state], claim) for state, claim in claims.items()}
        excess = math.fsum(raised.values()) - 1.0
        if excess > 0.0:
            # What lies above the claims gives way, each in proportion.
            above = math.fsum(raised.values()) - math.fsum(claims.values())
            for state, claim in claims.items():
                weights[state] = raised[state] - excess / above * (raised[state] - claim) if above > excess else claim
        if kept:
            return -1
        leading = max(weights.values())
        if weights[current] >= leading:
            return -1
        return next(state for state, weight in weights.items() if weight == leading)

    def give(self, target: int) -> None:
        """Give everything to one action."""
        for state in self.weights:
            self.weights[state] = 1.0 if state == target else 0.0

    def _claims(self, current: int) -> dict[int, float]:
        degrees = self._degrees
        whole = [state for state, degree in degrees.items() if degree >= 1.0]
        if len(whole) > 1:
            winner = whole[0] if whole[0] != current else whole[1]
            return {state: 1.0 if state == winner else 0.0 for state in degrees}
        total = max(math.fsum(degrees.values()), 1.0)
        return {state: degree / total for state, degree in degrees.items()}
