"""The engine: from checked SCCILS documents to bouts of a leg, and back from their data.

bout          one bout on the virtual clock (the composition root)      replay      the same again, and compare
planning      a checked model -> `plan`, the tables the engine runs on  changes     scripts -> timed changesets
executive     the dispatcher that calls the tasks with the time         tasks/      the five tasks
store         all HDSOs in one block of memory                          rulebook    entry rules at run time
functions     muscle functions and activations                          guard       last step before the wire
faults        what each fault does                                      rulecheck   rules that can never be true
plants/       what an emulated servo bus moves                          recording/  the data directory
analysis/     reading bouts: steps, verdicts, figures                   cli/        the `nuc` command
describe      a model, explained                                        difference  what two things differ in
validation    everything wrong with a file or a folder                  values      an HDSO's values as text
decimals      numbers as their shortest decimals
kinematics    where the leg is; `pose`: for given angles                locations   finding configurations

serve         the daemon, put together                                  daemon/     its processes but the service
service/      commands, documents, telemetry, logger                    client/     how programs talk to it
emulation/    a leg's servo bus on a pseudo-terminal                    realtime/   rights, clock, statistics
controls      what drives a motor, changed while running                doctor/     is this machine fit
dispatcher    what the executives on either clock share                 keys        who may talk to the daemon

from nuc_engine import BoutSpec, run_bout
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from nuc_engine.bout import BoutRefused, BoutResult, BoutSpec, run_bout
    from nuc_engine.replay import ReplayReport, replay_bout, replay_inputs

__all__ = ["BoutRefused", "BoutResult", "BoutSpec", "ReplayReport", "replay_bout", "replay_inputs", "run_bout"]

_HOMES = {"ReplayReport": "replay", "replay_bout": "replay", "replay_inputs": "replay"}


def __getattr__(name: str) -> Any:
    # Loaded when asked for: the command line must start, and complete names, without numpy.
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"nuc_engine.{_HOMES.get(name, 'bout')}"), name)
