"""An oracle: a bout's data directory held against the equations, by code that shares none with the engine.

bout       everything below                                      logs       records compared, column by column
files      what is there, sums; the manifest                     scripts    changesets of a script
record     entries of the input record, what was lost            shaft      equations of one motor: commands, replies
course     what happens when: what both clocks have in common    leg        those of the whole leg, a method per task
virtual    on virtual time, by computation                       store      what HDSOs hold
real       in real time, as recorded                             rules      entry rules
start      what a daemon's bout starts with                      servos     makers' data, units of muscle output
overruns   of state transition in real time                      weight     gravity compensation
documents  joints.xml, parameters.xml, sensors.xml

It imports nothing of nuc_engine, drivers or sccils_schemas, so that no mistake of theirs can be its own.
"""

from nuc_engine.verify.bout import Verdict, verify_bout
from nuc_engine.verify.logs import Difference
from nuc_engine.verify.servos import Unverifiable

__all__ = ["Difference", "Unverifiable", "Verdict", "verify_bout"]
