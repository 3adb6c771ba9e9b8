"""The daemon: an engine beside a leg, in four processes around one block of shared memory.

    block           the shared memory of the daemon
    brownout        finds out that the servos of a bus were without supply for a moment
    children        the places in the daemon that children fill
    confine         what the service may not
    core            takes what real time needs, opens its buses on the ports it was handed, and runs the engine
    cyclering       every cycle's record for other programs
    emulated        `emulated:` in the daemon
    engine          the engine in the core
    guardian        the process that takes the torque off when the core does not
    heartbeats      whose heart beats, as the main process sees it
    latch           that torque is off and stays off until somebody arms, and why
    launch          what the supervisor hands to the processes it forks
    lines           the buses of a plan on ports that are open
    live            the executive on the real clock
    modes           what a leg may do now
    monitor         what the core looks after every 4 ms, since nobody wakes it for it
    notify          what systemd is told
    off_requests    requests to take the torque off
    offsocket       torque off past the service
    orders          what the core does when the service tells it to
    peers           what the core sees of the processes around it, look by look
    ports           the ports of the main process
    release         taking the torque off every servo when nobody else may write
    report          what the main process tells people and systemd
    ring            a ring of records in shared memory
    ringrecorder    what the executive tells, as records in the ring
    spawn           children of the main process
    state           what an engine is at, and all that changes it
    supervisor      owns block and ports, forks service, guardian and core, and starts again what has died
    watch           what the guardian watches for
    wire            what the rings carry

Nothing in here imports numpy, ZeroMQ or XML: the service does (`nuc_engine.service`).
`nuc_engine.service.serve` puts it all together.
"""
