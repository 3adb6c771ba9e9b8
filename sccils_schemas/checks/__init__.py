"""What documents must be to work together, beyond their grammar. `sccils_schemas.model` calls these.

    hdso_table  the HDSOs of a configuration, and what they hold at the start
    hdsos       parameters.xml and sensors.xml      scripts    HDSO scripts and command scripts
    joints      joints.xml as a whole               course     a script followed through time
    muscles     muscles and their functions         writes     one write against its HDSO
    motors      motors, of one joint and of all
    states      activations, dwell times, rules     rules      one rule; circles of rules
    looks       what names look like
    geometry    A-matrices and DH lines             scope      what the checks of one document share

All of them note problems and go on; none raises.
"""
