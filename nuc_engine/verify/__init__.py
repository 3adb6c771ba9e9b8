"""An oracle: a bout's data directory held against the equations, by code that shares none with the engine.

bout       the sums in the manifest, then everything below           logs       records compared, column by column
course     what happens when, on virtual time and in real time       scripts    changesets of a script
leg        the equations of the whole leg, one method per task       shaft      those of one motor: commands and replies
documents  joints.xml, parameters.xml, sensors.xml                   store      what HDSOs hold
rules      entry rules                                               servos     makers' data, units of muscle output
weight     gravity compensation

It imports nothing of nuc_engine, drivers or sccils_schemas, so that no mistake of theirs can be its own.
"""

from nuc_engine.verify.bout import Verdict, verify_bout
from nuc_engine.verify.logs import Difference
from nuc_engine.verify.servos import Unverifiable

__all__ = ["Difference", "Unverifiable", "Verdict", "verify_bout"]
