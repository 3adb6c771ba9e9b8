"""What this machine gives: libraries, the real clock, real-time rights, folders of sockets.

    clock         CLOCK_MONOTONIC as the executive's clock, and notice of the machine having slept
    errors        what is raised here
    needs         what a command needs that may not be there
    privileges    asks the operating system for what real time needs, takes what it gets
    rundir        where a daemon's sockets are, and where clients look for them
    stats         how punctual one task is
    system        the calls of the operating system behind the privileges, each

Imports nothing that is slow to load: no numpy, no ZeroMQ.
"""

from nuc_engine.machine.clock import RealClock, SuspendWatch
from nuc_engine.machine.errors import RealtimeError
from nuc_engine.machine.privileges import RealtimePolicy, RealtimeReport, Step, acquire
from nuc_engine.machine.stats import TaskStatistics

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
