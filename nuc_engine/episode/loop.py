"""The fixed-step loop: reference, control, row, step.

    t_k = k dt;  u_k = controller(x_k, r(t_k));  row k is (t_k, x_k, r(t_k), u_k);  x_{k+1} = step(x_k, u_k, dt)

The last row holds the state at the end, if that step is one that is logged, and the control that would have acted.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import isfinite

from nuc_engine.episode.document import RunConfig
from nuc_engine.episode.system import Numbers

RAN = "ran for the time asked for"
DIVERGED = "diverged"
"""The beginning of the reason of an episode whose numbers are none any more."""

STARVED = "starved"
"""The beginning of the reason of one whose pace could not be kept."""

Record = Callable[[Numbers], object]
"""Takes a row of the log."""

Watch = Callable[[int, Numbers, Numbers, Numbers], object]
"""Sees every step before it is made: k, state, reference, control. It may hold the loop up, and end it by raising."""


class EpisodeStarved(Exception):
    """Raised by a watch that cannot keep the pace it was asked for; the message says by how much."""


@dataclass(frozen=True, slots=True)
class EpisodeEnd:
    """What became of an episode: state as in a manifest, why, how many steps were made, and the last state.

    `limited` counts the controls that were limited, of all that were computed; None where nothing limits them.
    """

    state: str
    reason: str
    steps: int
    last: Numbers
    limited: int | None


def run_steps(run: RunConfig, record: Record | None = None, watch: Watch | None = None) -> EpisodeEnd:
    """Run one episode; `record` is given its rows, one of `run.every`, `watch` every step.

    It ends early where a condition says so ("complete": that is what was asked for), and where a number is none any
    more ("fault"): then the last state is the one before.
    """
    pilot = run.pilot()
    law, limits, step, program = pilot.law, pilot.limited, run.step, run.program
    dt, steps, every, stops = run.dt_s, run.steps, run.every, run.stops
    state, limited, k = run.initial, 0, 0
    outcome, reason = "complete", ""
    while True:
        t = k * dt
        reference = program(t)
        control = law(state, reference)
        if limits is not None:
            beyond = limits()
            limited += beyond
            if record is not None and k % every == 0:
                record((t, *state, *reference, *control, float(beyond)))
        elif record is not None and k % every == 0:
            record((t, *state, *reference, *control))
        if watch is not None:
            watch(k, state, reference, control)
        if reason or k == steps:
            break
        new = step(state, control, dt)
        if not isfinite(sum(new)):
            outcome, reason = "fault", f"{DIVERGED}: in the step from {t:.9g} s the state is {_told(run, new)}"
            break
        state = new
        k += 1
        for stop in stops:
            if why := stop(state):
                reason = f"stopped at {k * dt:.9g} s: {why}"
    return EpisodeEnd(outcome, reason or RAN, k, state, None if limits is None else limited)


def _told(run: RunConfig, state: Numbers) -> str:
    values = zip(run.system.state, state, strict=True)
    return ", ".join(f"{name} {value:g}" for name, value in values if not isfinite(value)) or "too large"
