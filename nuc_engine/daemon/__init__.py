"""The daemon: an engine beside a leg, in four processes around one block of shared memory.

ring        records from one process to one other, in order, whole
block       the shared memory: words, store, plan, statistics, rings
wire        what the rings carry: records of the core, commands to it
modes       what a leg may do now: a pure machine
live        the executive on the real clock
core        the core process        guardian    the process that takes the torque off when the core does not
supervisor  the main process        notify      what systemd is told

Nothing in here imports numpy, ZeroMQ or XML: the service does (`nuc_engine.service`).
"""
