"""Is this machine fit to run a leg in real time? Looks, changes nothing, and says what to do about what it finds.

buses      adapters of servo buses
check      what a check comes to
examine    all checks on one machine
kernel     what the kernel and the CPUs do to punctuality
machine    the machine as files under a root, so that it can be another one
rights     what this user, or the engine's unit, may do
storage    where data go, and what day it is
"""

from nuc_engine.doctor.check import Check, CheckLevel
from nuc_engine.doctor.examine import examine
from nuc_engine.doctor.machine import Machine

__all__ = ["Check", "CheckLevel", "Machine", "examine"]
