"""Diagrams for the page, drawn in a process of its own: trees of elements, to be built without reading markup.

Every function returns JSON's own types. Raises ValueError or AnalysisError with what is in the way.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from nuc_engine.analysis.windows import windows_of_bout
from nuc_engine.figures.diagrams.events import event_diagram
from nuc_engine.figures.diagrams.flow import flow_diagram
from nuc_engine.figures.diagrams.recorded import RecordedControl, recorded_control
from nuc_engine.figures.diagrams.regions import region_diagram
from nuc_engine.figures.diagrams.seen import global_states
from nuc_engine.figures.diagrams.states import DiagramPanel, actual_diagram, nominal_diagram
from nuc_engine.figures.diagrams.wiring import Wiring, wiring_with
from nuc_engine.messages.errors import Refused
from nuc_engine.model.values import Values, initial_values
from nuc_engine.service.configuration import Configuration, make_configuration
from nuc_engine.ui.reading import loaded
from nuc_engine.ui.scripting import as_bytes, check_name_of, told_value

KINDS = ("sensory-flow", "event-space", "regions", "states")
"""As `nuc diagram --what` has them."""

RECORDED = (*KINDS, "actual")
"""Of a bout: `actual` are the global states it went through."""

MOST_BYTES = 2 << 20
"""Of a drawing: what is larger keeps the page, and the loop its torque-off buttons are on, busy for too long."""

Tree = list[Any]
"""An element: tag, attributes, then texts and elements in it."""


def in_force(name: str, documents: Mapping[str, str], values: Mapping[str, Any], what: str, joint: str) -> Any:
    """Return a diagram of a configuration with these values in force, by name; "" for all joints."""
    check_name_of(name)
    known = _configured(name, tuple(sorted(documents.items())))
    held: list[Values | None] = list(initial_values(known.plan))
    for hdso in known.plan.hdsos:
        stored = told_value(hdso, values.get(hdso.name), known.model.ids)
        if stored is not None:
            held[hdso.index] = stored
    return _told(wiring_with(known.model, known.plan, held, None, name), what, joint)


def recorded(folder: Path, at_s: float, what: str, joint: str) -> Any:
    """Return a diagram of a bout at a time, and from when to when it is the same (s; None: to the end)."""
    stamp = tuple((path.name, *_stamp(path)) for path in sorted(folder.glob("*.xml")))
    control, bout = _recorded(folder, stamp), loaded(folder) if what == "actual" else None
    begin_s, end_s = control.span(at_s)
    if bout is None:
        return {**_told(control.wiring(at_s, folder.name), what, joint), "from_s": begin_s, "until_s": end_s}
    windows = windows_of_bout(folder, bout.end_s)
    window = ([w for w in windows if w.begin_s <= at_s] or windows[:1])[-1]
    wiring = control.wiring(window.begin_s, folder.name)
    panel = DiagramPanel(window.name, wiring, global_states(bout, (window.begin_s, window.end_s)))
    drawn = {"svg": tree(actual_diagram(bout.label, [panel])), "thresholds": wiring.thresholds()}
    last = window.end_s >= bout.end_s
    return {**drawn, "from_s": window.begin_s, "until_s": None if last else window.end_s}


def tree(svg: bytes) -> Tree:
    """Return a drawing as a tree of elements. Raises ValueError for one of more than MOST_BYTES."""
    if len(svg) > MOST_BYTES:
        raise ValueError(
            f"this diagram has {len(svg) >> 20} MiB, too large for the page: nuc diagram draws it to a file"
        )
    return _element(ElementTree.fromstring(svg))  # noqa: S314  what was drawn just now


def _element(element: ElementTree.Element) -> Tree:
    texts = [element.text] if element.text and element.text.strip() else []
    return [element.tag.rpartition("}")[2], dict(element.attrib), *texts, *map(_element, element)]


def _told(wiring: Wiring, what: str, joint: str) -> dict[str, Any]:
    match what:
        case "sensory-flow":
            picture = flow_diagram(wiring)
        case "event-space":
            picture = event_diagram(wiring)
        case "regions":
            picture = region_diagram(wiring, joint or None)
        case "states":
            picture = nominal_diagram(wiring)
        case _:
            raise ValueError(f"no diagram {what!r}: there are {', '.join(RECORDED)}")
    return {"svg": tree(picture), "thresholds": wiring.thresholds()}


def _stamp(path: Path) -> tuple[int, int]:
    found = path.stat()
    return found.st_size, found.st_mtime_ns


@lru_cache(2)
def _configured(name: str, documents: tuple[tuple[str, str], ...]) -> Configuration:
    try:
        return make_configuration(name, as_bytes(dict(documents)), strict=False)
    except Refused as error:
        raise ValueError(str(error)) from error


@lru_cache(3)
def _recorded(folder: Path, stamp: object) -> RecordedControl:
    del stamp
    return recorded_control(folder)
