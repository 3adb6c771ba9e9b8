"""Asks about a leg with a sensor cut: whether it ends up where its rules alone say, and how often others' would do."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal

import numpy as np

from nuc_engine.analysis.tracks import LegTracks
from nuc_engine.batch.criterion import wilson
from nuc_engine.experiments.catalogue.asks import Found, Question, windows_of
from nuc_engine.experiments.catalogue.rules_alone import End, ends
from nuc_engine.experiments.nerves import HOLD
from nuc_engine.experiments.protocol import BoutPlan, Observation, Observations, Trial
from nuc_engine.experiments.sharing import prepared_of
from nuc_engine.figures.diagrams.wiring import Wiring, wiring_at

Lesion = tuple[str, float | Literal["hold"]]
"""A sensor, and what is sensed of it: a value, or what is sensed at the lesion."""
_HIT, _CHANCE, _ENDS = "as foretold (share)", "as foretold for another cut (share)", "ends the rules leave open"


class Foretold(Question, kw_only=True, tag="foretold"):
    """Whether each module ends with those actions that the rules say for a lesion at the beginning of the window.

    Looked at are the last `end_s` seconds. `others` are lesions whose predictions are held against the same bouts: how
    often they would be right is the chance level.
    """

    lesion: Lesion
    others: tuple[Lesion, ...] = ()
    end_s: float = 3.0

    def look(self, seen: Observations) -> Found:
        """Return a reason for every bout that ends otherwise, what is as foretold, and how many others would be."""
        numbers: dict[str, float] = {}
        reasons: list[str] = []
        for one in self.of(seen):
            (name,) = windows_of(one.plan, "final")
            at_s = next(own.begin_s for own in one.plan.windows if own.name == name)
            wiring = _wiring(one.plan, at_s)
            did = _actions(wiring, one.leg, one.plan.duration_s - self.end_s, one.plan.duration_s)
            own = foretold(wiring, one, at_s, self.lesion)
            label = one.plan.label
            numbers[f"{label}: {_HIT}"] = float(did in own)
            rest = [did in foretold(wiring, one, at_s, other) for other in self.others if other != self.lesion]
            if rest:
                numbers[f"{label}: {_CHANCE}"] = sum(rest) / len(rest)
            numbers[f"{label}: {_ENDS}"] = float(len(own))
            if did not in own:
                expected = " or ".join(_named(wiring, end) for end in own)
                reasons.append(f"{label}: {_named(wiring, did)} in the end, expected {expected}")
        return Found(tuple(reasons), numbers)


def foretold(wiring: Wiring, one: Observation, at_s: float, lesion: Lesion) -> tuple[End, ...]:
    """Return where a leg ends by the rules in force at an instant, if a sensor is cut then."""
    sensed = _sensed(wiring, one.leg, at_s)
    sensor, value = lesion
    cut = {sensor: sensed[sensor] if value == HOLD else float(value)}
    last = int(np.searchsorted(one.leg.t_state_s, at_s)) - 1
    before = tuple(next(iter(own)) for own in _taken(wiring, one.leg, last, last + 1))
    return ends(wiring, before, sensed, cut).ends


def counted(trials: Sequence[Trial]) -> Mapping[str, float]:
    """Return the share of bouts as foretold, with its interval, that for other cuts' predictions, and by bout."""
    found: dict[str, float] = {}
    for what in (_HIT, _CHANCE):
        values = [value for trial in trials for name, value in trial.numbers.items() if name.endswith(what)]
        if values:
            low, high = wilson(round(sum(values)), len(values))
            found[f"bouts {what}"] = sum(values) / len(values)
            if what == _HIT:
                found |= {"low end of its 95 % interval": low, "high end": high, "bouts": float(len(values))}
    for name in dict.fromkeys(name for trial in trials for name in trial.numbers if name.endswith(_HIT)):
        own = [trial.numbers[name] for trial in trials]
        found[f"{name}, mean"] = sum(own) / len(own)
    return found


def _wiring(plan: BoutPlan, at_s: float) -> Wiring:
    prepared = prepared_of(plan)
    return wiring_at(prepared.model, prepared.plan, prepared.changesets, at_s, plan.label)


def _sensed(wiring: Wiring, leg: LegTracks, at_s: float) -> dict[str, float]:
    """Return what rules read of a leg that is whole, just before an instant, by sensor."""
    last = int(np.searchsorted(leg.t_sensor_s, at_s)) - 1
    found: dict[str, float] = {}
    for sense in wiring.senses():
        module = next(m for m in leg.modules if m.name == wiring.plan.joints[sense.joint or 0].name)
        values = module.angle_deg if sense.what == "angle" else module.load
        if values is not None:
            found[sense.name] = float(values[last])
    return found


def _actions(wiring: Wiring, leg: LegTracks, begin_s: float, end_s: float) -> End:
    """Return the actions that each module took in [begin_s, end_s)."""
    first, last = np.searchsorted(leg.t_state_s, [begin_s, end_s])
    return _taken(wiring, leg, int(first), int(last))


def _taken(wiring: Wiring, leg: LegTracks, first: int, last: int) -> End:
    found: list[frozenset[int]] = []
    for module in wiring.modules:
        track = next(m for m in leg.modules if m.name == module.name)
        names = {track.action_name(int(code)) for code in track.action[first:last]}
        found.append(frozenset(action.index for action in module.actions if action.name in names))
    return tuple(found)


def _named(wiring: Wiring, end: End) -> str:
    return ", ".join(
        "/".join(module.action(index).short for index in sorted(own))
        for module, own in zip(wiring.modules, end, strict=True)
    )
