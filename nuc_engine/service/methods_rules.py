"""Entry rules taken apart: which comparisons are true now, and how nearly."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from nuc_engine.messages import requests
from nuc_engine.messages.answers import RuleAnswer, RuleComparison
from nuc_engine.model.comparisons import Term, term_truth, terms
from nuc_engine.model.plan import StatePlan
from nuc_engine.model.values import plain_value
from nuc_engine.service.clients import ConnectedClient
from nuc_engine.service.hub import Hub
from nuc_engine.service.method import Handlers
from nuc_engine.service.mirror import Mirror, Moment


async def rules(hub: Hub, _client: ConnectedClient, asked: requests.RulesRequest) -> list[RuleAnswer]:
    """Give every entry rule, or those of one joint, with the values of one cycle."""
    plan, mirror, moment = hub.need_plan(), hub.need_mirror(), hub.moment()
    joints = plan.joints if asked.joint is None else (plan.joints[hub.need_joint(asked.joint)],)
    taker = _RuleTaker(mirror, moment)
    return [taker.take(joint.name, plan.states[k]) for joint in joints for k in joint.states]


class _RuleTaker:
    """Takes rules apart at one moment."""

    def __init__(self, mirror: Mirror, moment: Moment) -> None:
        self._mirror, self._moment, self._plan = mirror, moment, mirror.plan
        self._datatypes = {hdso.name: hdso.datatype for hdso in mirror.plan.hdsos}
        self._inside = () if moment.states is None else tuple(moment.states.states)

    def take(self, joint: str, state: StatePlan) -> RuleAnswer:
        """Return the entry rule of a state, taken apart."""
        hdso = self._plan.hdsos[state.rule]
        text = str(plain_value(hdso, self._moment.values(state.rule), self._mirror.names) or "")
        return RuleAnswer(
            joint=joint,
            action=state.name,
            inside=state.index in self._inside,
            rule=hdso.name,
            text=text,
            true=self._moment.rules(state.rule),
            comparisons=tuple(self._comparison(term) for term in terms(text)),
        )

    def _comparison(self, term: Term) -> RuleComparison:
        values = self._values(term)
        left, right = values.get(term.left), values.get(term.right)
        return {
            "left": term.left,
            "op": term.op,
            "right": term.right,
            "left_value": left,
            "right_value": right,
            "true": term_truth(term, values, self._datatypes),
            "distance": _distance(term.op, left, right),
        }

    def _values(self, term: Term) -> Mapping[str, Any]:
        found: dict[str, Any] = {}
        for name in filter(None, (term.left, term.right)):
            hdso = self._mirror.hdso(name)
            if hdso is None:
                continue
            if hdso.kind == "boolstring":
                found[name] = self._moment.rules(hdso.index)
            else:
                found[name] = plain_value(hdso, self._moment.values(hdso.index))
        return found


def _distance(op: str, left: Any, right: Any) -> float | None:
    if not op or not isinstance(left, int | float) or not isinstance(right, int | float):
        return None
    return right - left if op == "<" else left - right


HANDLERS: Handlers = {requests.RulesRequest: rules}
"""What does the requests of this part."""
