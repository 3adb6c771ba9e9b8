"""The daemon: an engine beside a leg, in four processes around one block of shared memory.

ring        records from one process to one other, in order, whole
block       the shared memory: words, store, plan, statistics, rings       launch  what the processes are handed
wire        what the rings carry: records of the core, commands to it      ringrecorder  the executive's records
cyclering   every cycle for other programs
modes       what a leg may do now: a pure machine
core        the core process: engine (the loop), orders (what commands do), live (the executive on the real clock),
            neighbours (are the other processes there?)
guardian    the process that takes the torque off when the core does not: watch (when), release (how)
offsocket   torque off past the service: who reads the datagrams           requests  who has asked, what is done
supervisor  the main process: posts and spawn (the others), ports and lines (buses), hearts and report (systemd)
emulated    an emulated leg as a process of its own                        notify  what systemd is told

Nothing in here imports numpy, ZeroMQ or XML: the service does (`nuc_engine.service`).
`nuc_engine.serve` puts it all together.
"""
