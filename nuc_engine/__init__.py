"""The engine: from checked SCCILS documents to bouts of a leg, and back from their data.

    analysis/          what a leg did, whether it stepped, and pictures of it
    batch/             sweeps, tuning, minimising, on processes here or on a cluster
    bout/              one bout on the virtual clock
    cli/               the command line, `nuc`
    client/            a client of the daemon, blocking (`Client`) or for asyncio
    configurations/    a configuration for people
    control/           sensors, rules, muscles, guard, in a fixed order
    daemon/            an engine beside a leg, in four processes around one block of shared memory
    datalogger/        records of the core into data directories, each exactly once
    doctor/            is this machine fit to run a leg in real time? Looks, changes nothing, and says what
    emulation/         the emulated bus as a process of its own
    experiments/       the experiments of chapter 7
    figures/           everything that is drawn of bouts and of rules
    machine/           what is where on this machine, and what it lacks
    messages/          what clients and the daemon say to each other, and the keys they know each other by
    model/             a configuration as numbers
    plants/            what the servos of an emulated leg are bolted to
    realtime/          real time on this machine
    recording/         the data directory of a bout
    service/           the process of the daemon that talks to people, programs and the disk
    verify/            a bout's data directory held against the equations, by code that shares none with the engine

from nuc_engine import BoutSpec, run_bout
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
    return getattr(importlib.import_module(f"nuc_engine.{_HOMES.get(name, 'bout')}"), name)
