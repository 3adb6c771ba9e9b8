"""Is this machine fit to run a leg in real time? Looks, changes nothing, and says what to do about what it finds.

examine     all checks on one machine          check      what a check comes to
machine     the machine, or files that look like one
kernel      preemption, throttling, clock source, CPUs       rights     priority, memory, idle latency
buses       ports, adapters, other programs on them          storage    disk, swap, time of day
"""

from nuc_engine.doctor.check import Check, Level
from nuc_engine.doctor.examine import examine
from nuc_engine.doctor.machine import Machine

__all__ = ["Check", "Level", "Machine", "examine"]
