"""What a process needs to keep time on Linux: rights, a clock, and numbers on how well it did.

    privileges  scheduling, memory, timers, collector: what was reached, what is missing, how to grant it
    system      the calls of the operating system behind it
    clock       CLOCK_MONOTONIC as the executive's clock; suspend of the machine, noticed
    stats       period, lateness and execution time of one task, in memory that may be shared
    errors      what is raised here

Imports nothing that is slow to load: no numpy, no ZeroMQ.
"""

from nuc_engine.realtime.clock import RealClock, SuspendWatch
from nuc_engine.realtime.errors import RealtimeError
from nuc_engine.realtime.privileges import RealtimePolicy, RealtimeReport, Step, acquire
from nuc_engine.realtime.stats import TaskStatistics

__all__ = [
    "RealClock",
    "RealtimeError",
    "RealtimePolicy",
    "RealtimeReport",
    "Step",
    "SuspendWatch",
    "TaskStatistics",
    "acquire",
]
