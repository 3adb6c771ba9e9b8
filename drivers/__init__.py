"""Serial servo buses, real or emulated. Knows nothing of joints, muscles or physics engines.

    servo.py        what a bus and the mechanics behind an emulated bus agree on
    port.py         what carries bytes: the port protocol, wire time
    serialport.py   a tty of this machine as a port; `latency` and `holders`: what to know of it
    inprocess.py    a port whose other end is an emulator in the same process
    bus.py          what every bus offers: discover, exchange all, torque off, close
    group.py        several buses as one
    family.py       what a family of servos brings with it
    factory.py      a bus from its URL
    bench.py        who is there, round trips, torque off until all confirm
    bench_*.py      turning servos at the bench, what torque they give, and a bench for emulated ones
    budget.py       how often a bus can be exchanged with, and what limits it
    faults.py       what an emulator does to a line
    errors.py       everything a driver raises
    aimotor/        AI motor and wCK: codec, tables, bus, emulator

A driver is three layers: a pure codec (bytes <-> frames), a port, and a bus that runs one exchange after the other.
Times are integer nanoseconds on the caller's clock; nothing here reads a clock or sleeps.
"""
