"""What is written in a movie: which behaviour is shown, and what the script or somebody's hand did when."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from drivers.units import S_PER_NS
from nuc_engine.analysis.bout import Bout
from nuc_engine.analysis.by_hand import event_text
from nuc_engine.analysis.errors import AnalysisError, BoutError
from nuc_engine.analysis.outcome import classify
from nuc_engine.analysis.steps import Steps, detect_steps
from nuc_engine.analysis.tracks import LegTracks
from nuc_engine.analysis.windows import BehaviourWindow, course_of, windows_of_bout
from nuc_engine.model.changes import Changeset
from nuc_engine.model.plan import Plan
from nuc_engine.model.values import value_text
from nuc_engine.plants.events import PlantEvent

LONGEST = 96
"""Most characters of an event."""

MOST = 8
"""Most lines of a changeset, which are shown one after the other."""

_HEAD, _REST = "script: ", ", and 9999 more"


@dataclass(frozen=True, slots=True)
class Caption:
    """A behaviour from `begin_s` on: a name short enough for the time line, and what was seen in words."""

    begin_s: float
    end_s: float
    name: str
    text: str


@dataclass(frozen=True, slots=True)
class Captions:
    """Behaviours, and events (time, text), each in order."""

    behaviours: tuple[Caption, ...] = ()
    events: tuple[tuple[float, str], ...] = ()

    def behaviour_at(self, time_s: float) -> str:
        """Return which behaviour is shown at a time; "" where that is not known."""
        return next((shown.text for shown in reversed(self.behaviours) if shown.begin_s <= time_s), "")

    def event_at(self, time_s: float, for_s: float) -> str:
        """Return the last event, up to `for_s` after it; of several at one time, one after the other."""
        end = bisect_right(self.events, time_s, key=lambda event: event[0])
        at_s = self.events[end - 1][0] if end else 0.0
        if not end or time_s - at_s >= for_s:
            return ""
        begin = bisect_left(self.events, at_s, key=lambda event: event[0])
        return self.events[begin + int((time_s - at_s) / for_s * (end - begin))][1]


def captions_of(bout: Bout, events: Sequence[PlantEvent] = ()) -> Captions:
    """Return what is to be written beside a bout; nothing of one whose configuration can not be read any more."""
    by_hand = [(event.at_ns * S_PER_NS + bout.shifted_s, f"by hand: {event_text(event)}") for event in events]
    try:
        behaviours, changes = tuple(_behaviours(bout)), list(_changes(bout))
    except BoutError:
        behaviours, changes = (), []
    return Captions(behaviours, tuple(sorted([*changes, *by_hand], key=lambda event: event[0])))


def _behaviours(bout: Bout) -> Iterator[Caption]:
    windows = windows_of_bout(bout.folder, bout.end_s - bout.shifted_s)
    try:
        leg = bout.shifted(-bout.shifted_s).tracks()
        steps = detect_steps(leg)
    except AnalysisError:
        return
    for window in windows:
        begin_s, end_s = window.begin_s + bout.shifted_s, window.end_s + bout.shifted_s
        yield Caption(begin_s, end_s, window.behaviour or window.name, _seen(leg, steps, window))


def _seen(leg: LegTracks, steps: Steps, window: BehaviourWindow) -> str:
    """Return the outcome (docs/outcomes.md) of a window, and what was meant where that is another one."""
    try:
        kind = classify(leg, (window.begin_s, window.end_s), steps=steps).kind
    except AnalysisError:
        kind = "not judged"
    return kind if window.behaviour in (kind, None) else f"{kind} (meant: {window.behaviour})"


def _changes(bout: Bout) -> Iterator[tuple[float, str]]:
    """Yield the changesets, as the script log tells of them."""
    plan, changesets = course_of(bout.folder)
    names = {hdso.id_num: hdso.name for hdso in plan.hdsos}
    for changeset in changesets:
        for text in _change_texts(plan, changeset, names):
            yield changeset.time_ns * S_PER_NS + bout.shifted_s, text


def _change_texts(plan: Plan, changeset: Changeset, names: dict[int, str]) -> Iterator[str]:
    """Yield what a changeset writes, in as many lines as it needs; the last of MOST says how many are left out."""
    parts = [f"{plan.hdsos[w.hdso].name} = {value_text(plan.hdsos[w.hdso], w.values, names)}" for w in changeset.writes]
    for line in range(1, MOST + 1):
        if not parts:
            return
        count, room = 1, LONGEST - len(_HEAD) - (len(_REST) if line == MOST else 0)
        while count < len(parts) and len(", ".join(parts[: count + 1])) <= room:
            count += 1
        text, parts = ", ".join(parts[:count]), parts[count:]
        if len(text) > room:
            text = f"{text[: room - 3]}..."
        yield f"{_HEAD}{text}" + (f", and {len(parts)} more" if parts and line == MOST else "")
