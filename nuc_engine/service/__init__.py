"""The service: the process of the daemon that talks to people, programs and the disk.

    access              who may reach the daemon from where
    asking              requests for data
    authors             whose edits are whose, as the log has it
    channel             commands (ROUTER), telemetry (XPUB), keys
    clients             one entry per identity of the command socket, with name, role and budget
    configuration       the configuration in force
    connections         connections to the sockets
    control             who is in control
    core_link           the service's end of the rings
    edits               edits that took effect
    elements            names of single elements
    errors              errors of the service
    folders             where names in requests lead
    hub                 what every method works with
    main                everything put together
    method              what a method of the channel is, and who may use it
    methods             one table, and how a request is checked, carried out and answered
    methods_bout        who is there, status, configuration, run, stop, arm, off
    methods_edits       undo, redo, saving what is in force, recording
    methods_joints      what drives them, tweak torques, poses
    methods_log         methods around logging on command
    methods_notes       methods that say something about a bout
    methods_streams     methods around what is sent unasked
    methods_values      get, set, scripts and what waits for its time
    mirror              named values of the last cycle
    pack                messagePack of answers and telemetry
    ration              how much of what clients are answered may be logged
    reads               requests for data that wait for their time, each for the first snapshot found to be of
    recent              what happened lately, numbered, for clients that ask and for the telemetry's event topic
    save                values in force as documents
    sccils              the SCCILS dialogue
    sccils_documents    the SCCILS documents the service reads and sends
    scripts             scripts on their way to the core
    serve               the daemon put together
    service             the loop of the service
    streams             whose streams are whose
    telemetry           named values on a publishing socket, and the newest of them as datagrams
    values_in           the values in force, to look at without hurry
    waiting             what requests wait for

It may die and come back at any moment: what must survive stands in the block, in the rings or in a file.
"""
