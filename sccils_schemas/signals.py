"""Blocks of signal processing (section 9.2.2.8): what each type takes, and the order in which they are computed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from graphlib import CycleError, TopologicalSorter
from types import MappingProxyType

from sccils_schemas.documents import HdsoList, Ref, Signal, SignalType
from sccils_schemas.ranges import Bounds

LONGEST_S = 60.0
"""How far back a signal can reach: a delay of more has no history."""
_TIME: Bounds = (0.0, None)
_DELAY: Bounds = (0.0, LONGEST_S)
_ANY: Bounds = (None, None)


@dataclass(frozen=True, slots=True)
class SignalParameter:
    """A parameter of a block: what it is called, what values it may have, and whether it is a list of numbers."""

    name: str
    bounds: Bounds = _ANY
    several: bool = False


@dataclass(frozen=True, slots=True)
class SignalForm:
    """What a block takes: how many inputs, which parameters, and how many of these must be there."""

    inputs: tuple[int, int]
    parameters: tuple[SignalParameter, ...] = ()
    needed: int = 0


_TAU = SignalParameter("time constant in s", _TIME)
_MANY = (1, 64)
FORMS: Mapping[SignalType, SignalForm] = MappingProxyType(
    {
        "sum": SignalForm(_MANY, (SignalParameter("weights", several=True),)),
        "product": SignalForm(_MANY),
        "gain": SignalForm((1, 1), (SignalParameter("gain"), SignalParameter("offset")), 1),
        "threshold": SignalForm((1, 1), (SignalParameter("threshold"),), 1),
        "abs": SignalForm((1, 1)),
        "min": SignalForm(_MANY),
        "max": SignalForm(_MANY),
        "derivative": SignalForm((1, 1), (_TAU,)),
        "integral": SignalForm((1, 1), (_TAU,)),
        "lowpass": SignalForm((1, 1), (_TAU,), 1),
        "highpass": SignalForm((1, 1), (_TAU,), 1),
        "iir": SignalForm(
            (1, 1), (SignalParameter("numerator", several=True), SignalParameter("denominator", several=True)), 2
        ),
        "ratelimit": SignalForm(
            (1, 1), (SignalParameter("rise per s", (0.0, None)), SignalParameter("fall per s", (0.0, None))), 1
        ),
        "noise": SignalForm((0, 1), (SignalParameter("standard deviation", (0.0, None)), _TAU), 1),
        "delay": SignalForm((1, 1), (SignalParameter("delay in s", _DELAY), SignalParameter("jitter in s", _DELAY)), 1),
        "table": SignalForm(
            (1, 1), (SignalParameter("places", several=True), SignalParameter("values", several=True)), 2
        ),
        "rawload": SignalForm((1, 1)),
        "state": SignalForm((0, 0)),
        "action": SignalForm((0, 0)),
        "time_in_action": SignalForm((0, 0)),
        "decay": SignalForm((0, 1), (_TAU, SignalParameter("exponent", (0.0, None))), 1),
        "switching": SignalForm((0, 0), (_TAU,), 1),
        "weight": SignalForm((0, 0)),
        "other": SignalForm((0, 64), tuple(SignalParameter("parameter", several=True) for _ in range(64))),
    }
)
"""What the blocks of each type take. `other` is a block that was added to the engine."""
ACTING: frozenset[SignalType] = frozenset(("state", "action", "time_in_action", "decay", "switching", "weight"))
"""The types that are about actions, and are computed when rules are evaluated."""
WEIGHT = SignalForm((1, 1), (SignalParameter("weight of a new sample", (0.0, 1.0)),), 1)
"""What a low-pass takes that counts samples."""
PER_SAMPLE: Mapping[SignalType, SignalForm] = MappingProxyType({"lowpass": WEIGHT, "iir": FORMS["iir"]})
"""The types that can count samples; `iir` does nothing else."""


def form_of(signal: Signal) -> SignalForm:
    """Return what a block takes."""
    return PER_SAMPLE.get(signal.type, FORMS[signal.type]) if signal.per_sample else FORMS[signal.type]


def signals_of(sensors: HdsoList) -> list[Signal]:
    """Return the signals of a list, in document order."""
    return [hdso for hdso in sensors.hdsos if isinstance(hdso, Signal)]


def parameter_bounds(signals: Iterable[Signal]) -> list[tuple[Ref, Bounds]]:
    """Return what the parameters of blocks may be, whatever their ranges say."""
    return [
        (ref, parameter.bounds)
        for signal in signals
        for ref, parameter in zip(signal.parameters, form_of(signal).parameters, strict=False)
    ]


def in_order(signals: Iterable[Signal]) -> tuple[list[Signal], list[list[Signal]]]:
    """Return signals so that each comes after those that it takes, and the circles in which that cannot be."""
    by_ref: dict[Ref, Signal] = {}
    for signal in signals:
        by_ref[signal.id_num] = by_ref[signal.name] = signal
    left = {signal.id_num: signal for signal in by_ref.values()}
    circles: list[list[Signal]] = []
    while True:
        graph = {
            number: [by_ref[ref].id_num for ref in signal.inputs if ref in by_ref and by_ref[ref].id_num in left]
            for number, signal in left.items()
        }
        try:
            return [left[number] for number in TopologicalSorter(graph).static_order()], circles
        except CycleError as error:
            # The sorter names the first one twice, and after each one that takes it.
            circle: list[int] = error.args[1][:0:-1]
            circles.append([left[number] for number in circle])
            left = {number: signal for number, signal in left.items() if number not in circle}
