"""Real time on this machine: clock, rights, and how punctual a task is.

    clock         CLOCK_MONOTONIC as the executive's clock, and notice of the machine having slept
    errors        what is raised here
    lineworkers   kernel threads that carry what came over a line, raised above ordinary programs
    privileges    asks the operating system for what real time needs, takes what it gets
    stats         how punctual one task is
    system        the calls of the operating system behind the privileges, each alone

Imports nothing that is slow to load: no numpy, no ZeroMQ.
"""

from nuc_engine.realtime.clock import RealClock, SuspendWatch
from nuc_engine.realtime.errors import RealtimeError
from nuc_engine.realtime.lineworkers import LineWorkers
from nuc_engine.realtime.privileges import Grant, RealtimePolicy, RealtimeReport, acquire
from nuc_engine.realtime.stats import TaskStatistics

__all__ = [
    "Grant",
    "LineWorkers",
    "RealClock",
    "RealtimeError",
    "RealtimePolicy",
    "RealtimeReport",
    "SuspendWatch",
    "TaskStatistics",
    "acquire",
]
