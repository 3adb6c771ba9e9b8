"""Serial servo buses, real or emulated. Knows nothing of joints, muscles or physics engines.

    aimotor/      AI motors (AI-601, 701, 1001) and their successor, the wCK, which shares their framing
    bench/        measuring and setting up servos at the bench
    bus           what every servo bus offers, whatever its servos and wherever they are
    clock         time as a parameter: what gives it and what waits
    dynamixel/    Dynamixel X servos
    errors        what servo buses raise
    factory       a bus from its URL
    family        what a family of servos brings with it
    feetech/      tables, codec, emulator
    framed/       what servo protocols with framed packets share
    group         several buses as one
    injection     faults of a serial line, drawn from a seeded stream
    inprocess     ports without a device
    owed          bytes that are still owed on a line whose replies have no names
    port          what carries bytes between a bus and its servos, on a virtual clock or a real one
    serial/       serial ports and the adapters behind them
    servo         what a servo bus and the thing on its other end agree on
    units         what nanoseconds are of a second
    url           `SCHEME:[FAMILY][?OPTION=NUMBER&...]`, checked strictly

A driver is three layers: a pure codec (bytes <-> frames), a port, and a bus that runs one exchange after the other.
Times are integer nanoseconds on the caller's clock; nothing here reads a clock or sleeps.
"""
