"""Values that follow a control, or that a module without a motor writes: whose they are, and what they become."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence

from sccils_schemas.documents import Control, ControlMap, HdsoList, HdsoMod, JointList, Ref, UpperModule

OWNED = "one value has one writer: set the control, or what the module goes by"


def controls_of(parameters: HdsoList) -> list[Control]:
    """Return the controls of a list, in document order."""
    return [hdso for hdso in parameters.hdsos if isinstance(hdso, Control)]


def owned(jointlist: JointList | None, controls: Iterable[Control]) -> Iterator[tuple[Ref, Control | UpperModule, int]]:
    """Yield every HDSO that a control or a module writes, by whom, and in which line that stands."""
    for control in controls:
        for item in control.maps:
            yield item.hdso, control, item.line
    for module in () if jointlist is None else jointlist.modules:
        for mod in module_writes(module):
            yield mod.ref, module, mod.line


def module_writes(module: UpperModule) -> Iterator[HdsoMod]:
    """Yield what the actions of a module write."""
    yield from (mod for state in module.states if state.action is not None for mod in state.action.mods)


def owner_text(owner: Control | UpperModule) -> str:
    """Return who writes a value, in words."""
    return f"the {'control' if isinstance(owner, Control) else 'module'} {owner.name}"


def mapped(item: ControlMap | Sequence[float], value: float) -> float:
    """Return what a value becomes where its control has this one: on straight lines, level beyond the outer points."""
    points = item.points if isinstance(item, ControlMap) else item
    places, values = points[::2], points[1::2]
    at = bisect_right(places, value)
    if at == 0:
        return values[0]
    if at == len(places) or places[at - 1] == value:
        return values[at - 1]
    part = (value - places[at - 1]) / (places[at] - places[at - 1])
    return values[at - 1] + part * (values[at] - values[at - 1])
