"""An oracle: a bout's data directory against the equations, by code that shares none with the engine.

bout       sums of the manifest, then everything below               logs       records compared, column by column
course     what happens when: both clocks                            leg        the equations, one method per task
documents  joints.xml, parameters.xml, sensors.xml, and the store    rules      entry rules
scripts    changesets of a script                                    servos     makers' data, units
weight     gravity compensation

It imports nothing of nuc_engine, drivers or sccils_schemas, so that no mistake of theirs can be its own.
"""
