"""What documents must be to work together, beyond their grammar. `sccils_schemas.model` calls these.

    acting        what 0.2 adds to states, muscles and activations, and modules without a motor
    controls      values that follow a control, and values with two writers
    course        following a script through time
    geometry      an A-matrix must be a rigid transform, a DH line four numbers
    hdso_table    the HDSOs of a configuration as the checks see them
    hdsos         HDSO lists: ids, names, kinds, ranges, initial data
    joints        checking a joint list
    motors        checking the motors of a joint list
    rules         checking entry rules against the HDSOs they name
    scope         what the checks of one document share
    scripts       checking HDSO scripts and command scripts (readings C1-C10, D1-D12)
    senses        clamps of sensors, and writes that wait for rules
    signals       signals: what blocks take, and that none depends on itself
    states        states: activations, dwell times, entry rules
    writes        checking one write against the HDSO it goes to

All of them note problems and go on; none raises.
"""
