"""One bout on the virtual clock: the composition root that chooses clock, bus and plant.

    result = run_bout(BoutSpec(config="lin_roach", script="experiment_a", duration_s=60, out=Path("data/a")))

Everything else gets its clock, its seeds and its files from here.
"""

from __future__ import annotations

import hashlib
import traceback
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from itertools import chain
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from drivers.bus import all_counts
from drivers.errors import BusError
from drivers.factory import DEFAULT_FAMILY, find_family, open_bus
from drivers.servo import PlantFault
from drivers.units import NS_PER_S
from nuc_engine.bout.prepare import Prepared, prepare_bout, prepare_spec, refusal_lines
from nuc_engine.bout.spec import DEFAULT_DURATION_S, BoutRefused, BoutSpec, spec_record
from nuc_engine.bout.stopping import LOOK_NS, StopCheck
from nuc_engine.bout.watched import CycleWatch, WatchedRecorder
from nuc_engine.control.dispatcher import Recorder
from nuc_engine.control.executive import Executive
from nuc_engine.control.faults import FAULTS, Effect, EngineFault, Process
from nuc_engine.machine.locations import PLANT_SPEC_FILE, RUN_FILE, find_configuration
from nuc_engine.model.extensions import installed
from nuc_engine.model.motors import addresses_of, families_of, family_of
from nuc_engine.model.plan import Plan
from nuc_engine.model.planning import companion_files
from nuc_engine.model.store import Store
from nuc_engine.plants import Plant, PlantKind, PlantWithoutWorldError, open_plant
from nuc_engine.plants.events import PlantEvent, find_faults, in_order
from nuc_engine.plants.scripted import events_of
from nuc_engine.plants.spec import NO_OVERRIDES, spec_file
from nuc_engine.recording.directory import make_directory
from nuc_engine.recording.files import SCRIPT_FILE
from nuc_engine.recording.manifest import Manifest, versions, write_manifest
from nuc_engine.recording.recorder import BoutRecorder
from sccils_schemas.model import MODEL_FILES, check_unscripted

__all__ = [
    "DEFAULT_DURATION_S",
    "BoutProgress",
    "BoutRefused",
    "BoutResult",
    "BoutSpec",
    "Prepared",
    "prepare_bout",
    "prepare_spec",
    "run_bout",
]


HeardAs = Callable[[Plant], Any]
"""Returns what is a plant to servos, around one that is."""

CHUNK_NS = NS_PER_S // 2
"""A bout is run in pieces of this length; what is known after each is handed on."""
_TURNAROUND_US = (200.0, 260.0)
"""Servo turnaround drawn per bout: 0.23 ms on average, the dissertation's 197 Hz for four motors at 57,600 baud."""
_TURNAROUND_SHARE = (0.8, 1.2)
"""The same for other families, as a share of what their emulators take by default. Assumed."""


@dataclass(frozen=True, slots=True)
class BoutResult:
    """What became of a bout. `state` is complete, interrupted or fault; `refused` counts writes that were refused.

    `bus` is what went wrong on the bus, by names as in `drivers.bus.COUNTS`.
    """

    folder: Path
    state: str
    reason: str
    simulated_s: float
    cycles: int
    refused: int
    warnings: tuple[str, ...]
    bus: Mapping[str, int]


class BoutProgress(Protocol):
    """Told how far a bout has come."""

    def __call__(self, simulated_s: float, duration_s: float, /) -> None:
        """Note that so many of so many seconds are done."""
        ...


class RunRecorder(Recorder, Protocol):
    """What a bout tells as it runs, besides what its executive does."""

    def plant(self, records: Iterable[Sequence[float]]) -> None:
        """The plant's own records have come."""
        ...

    def happened(self, event: PlantEvent) -> None:
        """Something was done to the leg from outside."""
        ...

    def debug(self, now_ns: int, text: str) -> None:
        """Something for the engine's makers happened."""
        ...

    def flush(self) -> None:
        """A piece of the bout is over."""
        ...


@dataclass(frozen=True, slots=True)
class Ready:
    """A bout all of whose parts are there. `events` are what the plant will meet, `url` is its bus as it was opened."""

    spec: BoutSpec
    prepared: Prepared
    plant: Plant
    bus: Any
    url: str
    events: tuple[PlantEvent, ...]
    warnings: tuple[str, ...]

    @property
    def end_ns(self) -> int:
        """When it ends."""
        return round(self.spec.duration_s * NS_PER_S)

    def executive(self, recorder: Recorder, store: Store | None = None) -> Executive:
        """Return the executive that runs it, its script loaded."""
        spec, plan = self.spec, self.prepared.plan
        limits = [spec.limits.get(motor.name) for motor in plan.motors]
        executive = Executive(plan, self.bus, recorder, store=store, costs=spec.costs, limits=limits, seed=spec.seed)
        executive.load(self.prepared.changesets)
        return executive

    def stop(self, executive: Executive) -> StopCheck | None:
        """Return what may end it before its time, None where nothing does."""
        spec, plan = self.spec, self.prepared.plan
        return None if spec.stop is None else StopCheck(spec.stop, plan, executive.store, executive.rulebook)


def set_up(spec: BoutSpec, prepared: Prepared | None = None, heard: HeardAs | None = None) -> Ready:
    """Check what a bout is made of, and open its leg. Raises BoutRefused, NotFound, PlantSpecError or BusError.

    `prepared` is what `prepare_spec` made of an equal specification; seed and events may differ. `heard` returns what
    the servos take for their leg.
    """
    if prepared is None:
        prepared = prepare_spec(spec)
    if prepared.script is None and not (problems := check_unscripted(prepared.model)).ok:
        raise BoutRefused(refusal_lines(problems))
    url = bus_url(spec.bus, spec.seed)
    folder = find_configuration(spec.config)
    plant, bus = open_leg(prepared.plan, folder, url, spec.seed, spec.plant, spec.plant_file, heard)
    scripted = () if prepared.script is None else events_of(prepared.script)
    events = schedule_events(plant, prepared.plan, (*scripted, *spec.events))
    warnings = (*prepared.warnings, *_left_over(prepared, events, round(spec.duration_s * NS_PER_S)))
    return Ready(spec, prepared, plant, bus, url, events, warnings)


def run_bout(spec: BoutSpec, progress: BoutProgress | None = None, watch: CycleWatch | None = None) -> BoutResult:
    """Run one bout on the virtual clock and leave a complete data directory behind.

    `watch` sees every cycle, and may hold the clock meanwhile.

    Raises BoutRefused, NotFound, DirectoryInUse, PlantSpecError or BusError before anything is written when the bout
    cannot start. A bout that stops early keeps what it has, and its manifest says why it stopped.
    """
    ready = set_up(spec)
    prepared, plan, bus, end_ns = ready.prepared, ready.prepared.plan, ready.bus, ready.end_ns
    copies = _read_inputs(spec, find_configuration(spec.config), prepared)
    make_directory(spec.out, overwrite=spec.overwrite)
    manifest = _manifest(spec, prepared, copies)
    # First of all: a directory with files and no manifest is nobody's bout, and is not written over.
    write_manifest(spec.out, manifest)
    for name, data in copies.items():
        (spec.out / name).write_bytes(data)
    store = Store(plan)
    recorder = BoutRecorder(spec.out, prepared.model, plan, store)
    watched = None if watch is None else WatchedRecorder(recorder, prepared.model, plan, store, ready.plant, watch)
    executive = ready.executive(watched or recorder, store)
    recorder.start(0, ready.url)
    for warning in ready.warnings:
        recorder.event(0, "warning", warning)
    state, reason = run_to(end_ns, executive, recorder, ready.plant, ready.events, progress, ready.stop(executive))
    executive.stop()
    recorder.event(executive.clock.now_ns, "engine_stop", f"{state}: {reason}")
    try:
        records = recorder.close()
    except OSError as error:
        records = {}
        state, reason = _fault(executive, "logging_failed", str(error))
    losses = {"refused_writes": len(recorder.refused), "changesets_not_reached": len(executive.script)}
    ended = replace(manifest, start_pose_deg=executive.start_pose_deg, losses=losses).ended(
        spec.out,
        state,
        reason,
        stopped=datetime.now(UTC),
        engine_time_s=executive.clock.now_ns / NS_PER_S,
        counts=executive.counts(all_counts(bus)),
        records=records,
        events=recorder.events,
    )
    write_manifest(spec.out, ended)
    return BoutResult(
        folder=spec.out,
        state=state,
        reason=reason,
        simulated_s=executive.clock.now_ns / NS_PER_S,
        cycles=executive.board.cycle,
        refused=len(recorder.refused),
        warnings=ready.warnings,
        bus=all_counts(bus),
    )


def schedule_events(plant: Plant, plan: Plan, events: Sequence[PlantEvent]) -> tuple[PlantEvent, ...]:
    """Let the plant know what will happen; return it in order, with what the seed decides. Raises BoutRefused."""
    faults = find_faults(events, [joint.name for joint in plan.joints])
    if faults:
        raise BoutRefused("\n".join(faults))
    try:
        return tuple(plant.schedule(event) for event in in_order(events))
    except (PlantWithoutWorldError, ValueError) as error:
        raise BoutRefused(str(error)) from error


def run_to(
    end_ns: int,
    executive: Executive,
    recorder: RunRecorder,
    plant: Plant,
    events: Sequence[PlantEvent],
    progress: BoutProgress | None = None,
    stop: StopCheck | None = None,
) -> tuple[str, str]:
    """Run a bout from its beginning to its end, or to what ends it before; return state and reason."""
    state, reason = "complete", "ran for the time asked for"
    ahead = deque(events)
    step_ns = CHUNK_NS if stop is None else LOOK_NS
    try:
        for until_ns in chain(range(step_ns, end_ns, step_ns), (end_ns,)):
            advance(executive, recorder, ahead, until_ns)
            if until_ns == end_ns or until_ns % CHUNK_NS == 0:
                recorder.plant(plant.take_records())
                recorder.flush()
                if progress is not None:
                    progress(until_ns / NS_PER_S, end_ns / NS_PER_S)
            if stop is not None and until_ns < end_ns and (why := stop(until_ns)):
                reason = why
                break
    except KeyboardInterrupt:
        state, reason = "interrupted", "stopped by the operator"
    except PlantFault as fault:
        state, reason = _fault(executive, "plant_diverged", str(fault))
    except EngineFault as fault:
        state, reason = _fault(executive, fault.name, str(fault))
    except OSError as error:
        state, reason = _fault(executive, "logging_failed", str(error))
    except Exception as error:  # whatever it is, what was measured is kept and the reason stands with it
        for line in traceback.format_exception(error):
            recorder.debug(executive.clock.now_ns, line)
        state, reason = _fault(executive, "engine_error", f"{type(error).__name__}: {error}")
    recorder.plant(plant.take_records())
    if state == "fault":
        recorder.event(executive.clock.now_ns, "fault", reason)
    return state, reason


def advance(executive: Executive, recorder: RunRecorder, events: deque[PlantEvent], until_ns: int) -> None:
    """Run everything before `until_ns`, and tell the recorder of each event, taken off the front, when it is due."""
    while events and events[0].at_ns < until_ns:
        executive.run_until(events[0].at_ns)
        recorder.happened(events.popleft())
    executive.run_until(until_ns)


def _fault(executive: Executive, name: str, text: str) -> tuple[str, str]:
    fault = FAULTS[name]
    if fault.effects[Process.BOUT] is Effect.TORQUE_OFF:
        try:
            executive.torque_off()
        except (PlantFault, BusError) as error:
            text += f"; taking the torque off failed too: {error}"
    return "fault", f"{name}: {text} ({fault.hint})"


def _left_over(prepared: Prepared, events: Sequence[PlantEvent], end_ns: int) -> list[str]:
    late = {
        "changeset(s) of the script": [
            item.time_ns / NS_PER_S for item in prepared.changesets if item.time_ns >= end_ns
        ],
        "event(s) of the plant": [item.at_ns / NS_PER_S for item in events if item.at_ns >= end_ns],
    }
    return [
        f"the bout ends at {end_ns / NS_PER_S:g} s, "
        f"before {len(times)} {what} (at {', '.join(f'{t:g}' for t in times)} s)"
        for what, times in late.items()
        if times
    ]


def bus_url(bus: str, seed: int) -> str:
    """Return the bus with its turnaround: drawn from the seed unless it is given."""
    if "turnaround_us" in bus:
        return bus
    span, family = _TURNAROUND_US, family_of(bus)
    if family != DEFAULT_FAMILY:
        usual_us = find_family(family).emulator_options.get("turnaround_us")
        if not usual_us:
            return bus
        span = (usual_us * _TURNAROUND_SHARE[0], usual_us * _TURNAROUND_SHARE[1])
    stream = np.random.SeedSequence(seed).spawn(3)[2]
    drawn = np.random.Generator(np.random.PCG64(stream)).uniform(*span)
    return f"{bus}{'&' if '?' in bus else '?'}turnaround_us={drawn:.1f}"


def open_leg(
    plan: Plan,
    folder: Path,
    bus: str,
    seed: int,
    overrides: Mapping[str, float] = NO_OVERRIDES,
    plant_file: str = PLANT_SPEC_FILE,
    heard: HeardAs | None = None,
) -> tuple[Plant, Any]:
    """Open plant and bus; noise and start pose each get a random stream of their own from the seed.

    `overrides` replaces numbers of the folder's description of the leg by their dotted keys.
    """
    kind: PlantKind = "loopback" if bus.startswith("loopback:") else "mujoco"
    url = "emulated:" + bus.removeprefix("loopback:") if kind == "loopback" else bus
    plant_seed, bus_seed, _ = np.random.SeedSequence(seed).spawn(3)
    spec_path = folder / plant_file if kind == "mujoco" else None
    given = (overrides,) if overrides else ()
    plant = open_plant(plan, spec_path, kind, int(plant_seed.generate_state(1)[0]), *given)
    moved = plant if heard is None else heard(plant)
    return plant, open_bus(url, addresses_of(plan.motors), moved, seed=int(bus_seed.generate_state(1)[0]))


def _read_inputs(spec: BoutSpec, folder: Path, prepared: Prepared) -> dict[str, bytes]:
    """Return the files the data directory keeps a copy of. Raises BoutRefused when making it would destroy them."""
    sources = {name: folder / name for name in MODEL_FILES}
    sources |= {name: folder / name for name in companion_files(prepared.model)}
    if (folder / spec.plant_file).exists():
        sources[PLANT_SPEC_FILE] = spec_file(folder / spec.plant_file)
    if prepared.script_path is not None:
        sources[SCRIPT_FILE] = prepared.script_path
    for path in sources.values():
        if path.resolve().is_relative_to(spec.out.resolve()):
            raise BoutRefused(f"{path} lies in {spec.out}, which the bout would write to; choose another directory")
    copies = {name: path.read_bytes() for name, path in sources.items()}
    copies |= {} if spec.run_text is None else {RUN_FILE: spec.run_text}
    for name, expected in prepared.model.files:
        if hashlib.sha256(copies[name]).hexdigest() != expected:
            raise BoutRefused(f"{folder / name} changed while it was being read; try again")
    return copies


def _manifest(spec: BoutSpec, prepared: Prepared, copies: Mapping[str, bytes]) -> Manifest:
    return Manifest(
        configuration=prepared.model.name,
        script=None if prepared.script_path is None else prepared.script_path.name,
        clock="virtual",
        bus=bus_url(spec.bus, spec.seed),
        families=families_of([("", spec.bus)]),
        spec=spec_record(spec),
        inputs={name: hashlib.sha256(data).hexdigest() for name, data in sorted(copies.items())},
        versions=versions(),
        extensions=installed(prepared.plan.extensions),
        started=datetime.now(UTC).isoformat(timespec="seconds"),
    )
