"""The emulated bus as a process of its own: a leg behind a pseudo-terminal, in real time.

    bytelog            the byte log, decoded
    client             speaks to a running emulator
    commands           what may be done to a running emulator, by name
    control            the socket at which a running emulator is told things
    delays             how late things were
    errors             what an emulator process raises
    leg                the leg behind the terminal
    line               replies on their way to the host
    loop               the loop of an emulator process
    process            the emulator process put together
    pseudo_terminal    the pseudo-terminal a host opens in place of a serial adapter, and the name it finds it by
    rawlog             the byte log's records on disk

Nothing here reads a clock of its own: `nuc emulate` passes one in.
"""
