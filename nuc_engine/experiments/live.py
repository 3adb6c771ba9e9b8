"""The rows of an experiment on a real leg, or on an emulated one in real time: every bout is a bout of the daemon.

Somebody beside the leg (`Hand`) puts it in place before each bout, and does to it what the script lets be done by hand,
at its times. Nobody can run the same bout again with a kick in it, so a kick that may be needed is offered in the bout.
What is judged afterwards is the data directory, as always; contact with the ground is not recorded there.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Protocol

from drivers.units import NS_PER_S
from nuc_engine.batch.scratch import scratch_folder
from nuc_engine.bout.spec import BoutRefused
from nuc_engine.client import Client, ClientError, Refused
from nuc_engine.experiments.course import Collected
from nuc_engine.experiments.edits import script_of
from nuc_engine.experiments.protocol import BoutPlan, Observation, TableRow, Trial
from nuc_engine.experiments.trials import Aborted, observe, trial_of
from nuc_engine.machine.locations import find_script
from nuc_engine.plants.events import Kick, PlantEvent, in_order, kind_of
from nuc_engine.plants.scripted import events_of
from nuc_engine.recording.manifest import ManifestError, read_manifest
from sccils_schemas.by_hand import PlantEntry
from sccils_schemas.documents import HdsoScript
from sccils_schemas.parser import parse
from sccils_schemas.writer import write

COUNT_DOWN_S = 3.0
"""So long before it is due what is to be done is announced."""
CONFIRM_S = 4.0
"""So long after its time a confirmation is waited for."""
_LOOK_S = 0.05
_TIMEOUT_S = 15.0

Wait = Callable[[float], None]
"""Lets some seconds of real time pass."""


@dataclass(frozen=True, slots=True)
class Deed:
    """What is to be done to the leg at a time; an `offered` one only when the leg does not do what is wanted."""

    event: PlantEvent
    offered: bool = False

    @property
    def at_s(self) -> float:
        """Engine time at which it is due."""
        return self.event.at_ns / NS_PER_S


class Operator(Protocol):
    """Whoever does by hand what is to be done to the leg. Only `prepare` may take its time."""

    def prepare(self, plan: BoutPlan, repetition: int) -> None:
        """Put the leg in place before a bout, and make the world as the plan has it."""
        ...

    def soon(self, deed: Deed, left_s: float) -> None:
        """Hear that something will be due."""
        ...

    def now(self, deed: Deed, still_s: float) -> None:
        """Begin to do it; no joint has changed its action for `still_s`."""
        ...

    def done(self, deed: Deed) -> bool:
        """Say whether it has been done; asked again and again until it has, or until it is too late."""
        ...


class BoutRunner(Protocol):
    """Where bouts are done: begins one, and puts its data directory where it is to be."""

    def begin(self, plan: BoutPlan, repetition: int) -> Client:
        """Return a client of a daemon that runs the plan's configuration."""
        ...

    def end(self, recorded: Path | None, place: Path) -> Path:
        """End what `begin` began; bring the bout's data to a place where that can be, and return where they are."""
        ...


@dataclass(frozen=True, slots=True)
class LiveTrial:
    """A repetition with where its bouts' data are, by label."""

    trial: Trial
    folders: dict[str, Path]


def run_live(
    row: TableRow,
    repetition: int,
    stage: BoutRunner,
    hand: Operator,
    wait: Wait,
    folder: Path,
    *,
    control: bool = False,
) -> LiveTrial:
    """Do one repetition of a row, or of its control, and judge it; data go to `folder`/label where that can be.

    Raises ClientError when the daemon is lost.
    """
    plans = row.control.bouts if control else row.bouts
    seen: dict[str, Observation] = {}
    folders: dict[str, Path] = {}
    try:
        for plan in plans:
            place = folder / plan.label
            folders[plan.label], kicks_s = do_bout(plan, repetition, stage, hand, wait, place)
            seen[plan.label] = observe(plan, folders[plan.label], kicks_s)
        finding = row.criterion(seen)
    except Aborted as aborted:
        return LiveTrial(trial_of(repetition, seen, str(aborted)), folders)
    return LiveTrial(trial_of(repetition, seen, finding), folders)


def do_bout(
    plan: BoutPlan, repetition: int, stage: BoutRunner, hand: Operator, wait: Wait, place: Path
) -> tuple[Path, tuple[float, ...]]:
    """Do one bout; return its data directory and when the leg was kicked because it was offered.

    Raises Aborted for one that did not run to its end, or in which something was not done that had to be.
    """
    script = _script(plan)
    hand.prepare(plan, repetition)
    recorded: Path | None = None
    beside = _Beside(_deeds(plan, script), hand)
    try:
        client = stage.begin(plan, repetition)
        free(client)
        _hand_over(client, plan, script)
        recorded = _begin(client, plan, wait)
        _accompany(client, beside, wait)
        _await_end(recorded, wait)
    finally:
        folder = stage.end(recorded, place)
    try:
        witness = read_manifest(folder)
    except ManifestError as error:
        raise Aborted(f"{plan.label}: {error}") from error
    if witness.state != "complete":
        raise Aborted(f"{plan.label}: {witness.state}: {witness.reason}")
    if beside.undone:
        raise Aborted(f"{plan.label}: not done by hand: {', '.join(beside.undone)}")
    return folder, tuple(beside.kicks_s)


def _script(plan: BoutPlan) -> HdsoScript:
    with scratch_folder() as folder:
        try:
            name = script_of(plan, folder)
        except BoutRefused as error:
            raise Aborted(str(error)) from error
        if name is None:
            return HdsoScript(())
        document, problems = parse(find_script(name).read_bytes(), name)
    if not isinstance(document, HdsoScript):
        raise Aborted(f"{plan.label}: {next(iter(problems.errors), 'it is no hdsoscript')}")
    return document


def _deeds(plan: BoutPlan, script: HdsoScript) -> deque[Deed]:
    offered = [Kick(round(time * NS_PER_S)) for time in (plan.start_kick_s, *plan.kicks_s) if time is not None]
    return deque(Deed(event, event in offered) for event in in_order([*events_of(script), *offered]))


def _hand_over(client: Client, plan: BoutPlan, script: HdsoScript) -> None:
    """Give the daemon values and script, what is done by hand left out."""
    if plan.values:
        client.set(dict(plan.values))
    entries = tuple(entry for entry in script.entries if not isinstance(entry, PlantEntry))
    if entries:
        client.script(write(replace(script, entries=entries)).decode())


class _Beside:
    """What is to be done to the leg during one bout: what is due, what has been done, and what has not."""

    def __init__(self, deeds: deque[Deed], hand: Operator) -> None:
        self._deeds, self._hand = deeds, hand
        self._begun: Deed | None = None
        self._seen: Any = None
        self._changed_s = 0.0
        self.kicks_s: list[float] = []
        self.undone: list[str] = []

    def look(self, now_s: float, actions: Sequence[Any], mark: Callable[[str], object]) -> None:
        """Take the engine time and the joints' actions; have done what is due, and marked in the bout's log."""
        if actions != self._seen:
            self._seen, self._changed_s = actions, now_s
        if self._begun is not None:
            self._finish(self._begun, now_s, mark)
        if self._begun is None and self._deeds:
            left_s = self._deeds[0].at_s - now_s
            if left_s <= 0:
                self._begun = self._deeds.popleft()
                self._hand.now(self._begun, now_s - self._changed_s)
                self._finish(self._begun, now_s, mark)
            elif left_s <= COUNT_DOWN_S:
                self._hand.soon(self._deeds[0], left_s)

    def end(self) -> None:
        """Note what was never done."""
        self._deeds.extendleft(() if self._begun is None else (self._begun,))
        self.undone += [_told(deed) for deed in self._deeds if not deed.offered]

    def _finish(self, deed: Deed, now_s: float, mark: Callable[[str], object]) -> None:
        if self._hand.done(deed):
            mark(f"{kind_of(deed.event)} by hand")
            self.kicks_s += [now_s] if deed.offered else []
            self._begun = None
        elif now_s > deed.at_s + CONFIRM_S:
            self.undone += [] if deed.offered else [_told(deed)]
            self._begun = None


def _told(deed: Deed) -> str:
    return f"{kind_of(deed.event)} at {deed.at_s:g} s"


def _accompany(client: Client, beside: _Beside, wait: Wait) -> None:
    """Look on until the bout ends by itself, by a fault, or because somebody asked for torque off."""
    actions = [f"joint.{name}.action" for name in _joints(client)]

    def begun() -> bool:
        status = client.status()
        return status.mode == "RUNNING" or status.latched

    if not wait_until(begun, wait):
        raise Aborted("the bout did not begin")
    while client.status().mode == "RUNNING":
        seen = client.get(actions)
        if seen.time_s is not None:
            beside.look(seen.time_s, [seen.values.get(name) for name in actions], client.mark)
        wait(_LOOK_S)
    beside.end()


def _joints(client: Client) -> Sequence[str]:
    joints: Any = client.model().get("joints", ())
    return [str(joint["name"]) for joint in joints]


def _begin(client: Client, plan: BoutPlan, wait: Wait) -> Path:
    """Begin the bout; return its data directory, which may come a little later than the answer."""
    before = client.status().logging.get("folder")
    found = [_insist(client.run, wait, stop_s=plan.duration_s).folder]

    def told() -> bool:
        status = client.status()
        if not found[-1] and status.latched:
            raise Aborted(f"{plan.label}: {status.latch_reason}")
        folder = status.logging.get("folder")
        found.append(found[-1] or ("" if folder in (None, before) else str(folder)))
        return bool(found[-1])

    if not wait_until(told, wait):
        raise Aborted(f"{plan.label}: the daemon does not log")
    return Path(found[-1])


def _insist(ask: Callable[..., Any], wait: Wait, **words: Any) -> Any:
    """Ask until it is granted: an engine that has just begun has not had an answer of every servo yet."""
    for _ in range(round(_TIMEOUT_S / 0.1)):
        try:
            return ask(**words)
        except Refused:
            wait(0.1)
    return ask(**words)


def _await_end(folder: Path, wait: Wait) -> None:
    """Wait until the data directory is whole. Raises Aborted when it does not become so."""
    if not folder.is_dir():
        raise Aborted(f"{folder}: the daemon's data directory is not on this machine")

    def whole() -> bool:
        try:
            return read_manifest(folder).state != "running"
        except ManifestError:
            return False

    if not wait_until(whole, wait):
        raise Aborted(f"{folder}: not whole {_TIMEOUT_S:g} s after the bout")


def free(client: Client) -> None:
    """Take back a fault that is latched, so that the daemon can be configured and begin a bout.

    Raises Aborted where somebody has taken the torque off: that is for them to take back.
    """
    status = client.status()
    if status.mode == "FAULT":
        client.arm()
    elif status.latched:
        raise Aborted("somebody has taken the torque off: see that the leg may move, then nuc ctl arm")


def await_ready(client: Client, wait: Wait, alive: Callable[[], bool]) -> None:
    """Wait until a daemon runs its configuration. Raises Aborted when it is not `alive` any more, or takes too long."""

    def ready() -> bool:
        try:
            return bool(client.status().data.get("ready"))
        except ClientError:
            return False

    if not wait_until(ready, wait, alive):
        raise Aborted("the daemon did not become ready")


def wait_until(condition: Callable[[], bool], wait: Wait, alive: Callable[[], bool] = lambda: True) -> bool:
    """Wait for a condition, for a while and as long as something is alive; say whether it holds."""
    for _ in range(round(2 * _TIMEOUT_S / _LOOK_S)):
        if condition():
            return True
        if not alive():
            return False
        wait(_LOOK_S)
    return condition()


def collect_live(
    row: TableRow, repetitions: int, first: int, stage: BoutRunner, hand: Operator, wait: Wait, folder: Path
) -> tuple[Collected, list[LiveTrial]]:
    """Do the repetitions of a row and of its control, one after the other; numbers count from `first`.

    As with `run_rows`, failed starts are made up for, up to twice as many repetitions in all.
    """
    collected = Collected(row)
    done: list[LiveTrial] = []
    while collected.missing(repetitions):
        number = first + len(collected.trials)
        done.append(run_live(row, number, stage, hand, wait, folder / str(number)))
        collected.trials[number] = done[-1].trial
    for number in range(first, first + min(repetitions, row.control.repetitions)):
        place = folder / f"{number}-control"
        collected.control[number] = run_live(row, number, stage, hand, wait, place, control=True).trial
    return collected, done
