"""The emulated bus as a process of its own: a leg behind a pseudo-terminal, in real time.

    errors.py     what can go wrong
    terminal.py   the pseudo-terminal, its name in the file system, unplugging it
    line.py       replies on their way, each with the instant its last byte is due
    loop.py       the loop: bytes in both directions as the wire would carry them, physics in between
    stretch.py    how late things were
    rawlog.py     the byte log's records on disk
    bytelog.py    the byte log, decoded: requests, replies, and what they say about safety
    commands.py   what may be done to a running emulator: faults, plugs, supply, what hands do
    control.py    the socket those commands arrive at
    client.py     the other end of that socket
    leg.py        configuration, plant and servos put together

Nothing here reads a clock of its own: `nuc emulate` passes one in.
"""
