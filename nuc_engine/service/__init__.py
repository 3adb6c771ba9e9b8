"""The service: the process of the daemon that talks to people, programs and the disk.

    access              who may reach the daemon from where
    authors             whose edits are whose, as the log has it
    channel             commands (ROUTER), telemetry (XPUB), keys
    channel_hub         what every server of the channel has: clients, control, happenings
    clients             one entry per identity of the command socket, with name, role and budget
    configuration       the configuration in force
    connections         bounds on how many connections there are and what each may cost
    control             who is in control
    core_link           the service's end of the rings
    data_requests       requests for data
    datagrams           the newest state as datagrams, to one address
    desk                messages taken from clients to what does them
    dispatch            a request checked, carried out and answered, in MessagePack or JSON
    edits               edits that took effect
    elements            `NAME[k]`: one element of an HDSO, by name
    episode_link        the server's end of the process that runs its episodes
    episode_serve       a server of episodes put together
    episode_worker      the process that runs episodes, and sends the newest step of one
    episodes            a server of episodes: START, STOP, STATUS
    errors              errors of the service
    folders             where names in requests lead
    hub                 what every method of the channel works with: core, clients, control, logger
    log_quota           how much of what clients are answered may be logged
    main                the process: sockets, logger and loop put together, and how it ends
    method              what a handler is called with
    methods             every request of the daemon, and what does it
    methods_bout        run, stop, arm, off, configure, status, clients
    methods_edits       undo, redo, their history, kept values, saving what is in force, recording
    methods_joints      modes of joints, tweak torques, poses
    methods_log         logging on command
    methods_notes       labels, notes, marks
    methods_people      who is there, and who has control
    methods_rules       entry rules taken apart
    methods_stored      what lies on the disk: scripts, configurations, bouts
    methods_streams     subscriptions to streams
    methods_values      get, set, scripts and what waits for its time
    mirror              named values of the last cycle
    pack                MessagePack of answers and telemetry
    reads               requests for data that wait for their time
    recent              what happened lately, numbered, for clients that ask and for the telemetry's event topic
    save                values in force as documents
    sccils              the SCCILS dialogue
    sccils_documents    the SCCILS documents the service reads and sends
    scripts             scripts on their way to the core
    serve               the daemon put together: processes forked, ports opened
    service             one turn of the loop: core, keys, messages, telemetry
    streams             whose streams are whose
    telemetry           named values on a publishing socket
    turns               turns of a server on an asyncio loop
    values_in           values in force, read without hurry
    waiting             what requests wait for, on asyncio; work beside the loop

It may end and come back at any moment: what must survive stands in the block, in the rings or in a file.
"""
