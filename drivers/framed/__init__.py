"""What servo protocols with framed packets share (Dynamixel, Feetech).

    packet.py      a packet, and what a dialect of the wire is
    listener.py    a servo's ear
    registers.py   control tables as data
    layout.py      what a family tells the bus about itself, as data
    requests.py    requests, to bytes
    talk.py        exchanges on a half-duplex line, one after the other
    asker.py       the same registers of several servos
    search.py      who is there
    setup.py       what is asked and set before a servo is driven
    slots.py       what a bus knows of each servo
    readings.py    what it believes of where they are
    cycle.py       what is said in a cycle
    bus.py         the bus
    ear.py         what hosts say, for byte logs
    burning.py     another id or rate for good
    family.py      a family: URLs, and all of the above
    emulator*.py   the servos' side, in front of a plant
    emulated.py    the servos of a family, powered up

A family adds its codec, its tables, a `Layout`, what its emulated servos do with their registers, and a `FramedFamily`
that an entry point names.
"""
