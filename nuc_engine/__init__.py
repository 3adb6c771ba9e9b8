"""The engine: from checked SCCILS documents to bouts of a leg, and back from their data.

    analysis/          a bout read back: steps, outcome, statistics; draws nothing
    batch/             many bouts: sweeps, tuning, minimising, here or on a cluster
    bout/              one bout on the virtual clock
    cli/               the command line, `nuc`
    client/            a client of the daemon, blocking (`Client`) or for asyncio
    configurations/    a configuration for people: checked, explained, compared, adapted to other servos
    control/           one tick: sensors, rules, muscles, guard, in a fixed order; the executive; the fault table
    daemon/            real time beside a leg: core, guardian and supervisor around one block of shared memory
    datalogger/        records of the core into data directories, each exactly once
    doctor/            whether this machine is fit to run a leg in real time
    emulation/         an emulated leg's bus as a process of its own, behind a pseudo-terminal
    episode/           one deterministic episode of any system under control: RunConfig and fixed-step loop
    experiments/       the experiments of chapter 7: what is done, what must be seen, verdicts and pages
    figures/           everything that is drawn: figures, path-state plots, movies, diagrams
    flight/            the flight controller of 002 appendix A and what it flies
    machine/           where documents and sockets are on this machine, and which libraries it lacks
    messages/          what clients and the daemon say to each other, and the keys they know each other by
    model/             a configuration as numbers: plan, store, changes of values
    plants/            what emulated servos move: a MuJoCo leg, or shafts without a world
    realtime/          the real clock, real-time rights, and how punctual a task is
    recording/         the data directory: logs, input record, manifest, recovery
    service/           the process of the daemon that talks to people and programs
    surrogate/         a controller learned from logs: fitted, flown, judged beside its teacher
    ui/                the workbench in the browser: its server, an ordinary client of the daemon, and its page
    verify/            the oracle of `nuc verify`: shares no code with what it checks

A bout from Python begins with `from nuc_engine import BoutSpec, run_bout`.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from nuc_engine.bout.replay import ReplayReport, replay_bout, replay_inputs
    from nuc_engine.bout.run import BoutRefused, BoutResult, BoutSpec, run_bout

__all__ = ["BoutRefused", "BoutResult", "BoutSpec", "ReplayReport", "replay_bout", "replay_inputs", "run_bout"]

_HOMES = {"ReplayReport": "replay", "replay_bout": "replay", "replay_inputs": "replay"}


def __getattr__(name: str) -> Any:
    # Loaded when asked for: the command line must start, and complete names, without numpy.
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"nuc_engine.bout.{_HOMES.get(name, 'run')}"), name)
