"""The daemon in real time, measured beside what the machine itself can do: `make bench-daemon` writes ../DAEMON.md.

wakeup      lateness of the 1 kHz state transition beside cyclictest, idle and under loads
exchange    rounds of servo exchanges beside a bare loop on the same emulated line
roundtrip   commands through the whole daemon beside a ZeroMQ echo
startup     from the start of `nuc serve` to the first motor command
deaths      hundreds of random deaths of its processes
edits       skipped periods with edits and without
cycles      the core with and without every cycle for other programs
workers     replies on a busy machine, with kernel workers raised and as they are
endurance   many minutes under load: lost records, overruns, memory

served      a daemon under test: emulated leg, client, its shared memory; may be halted whole
children    processes that are started, watched and ended        loads       what else the machine is given to do
cyclictest  the yardstick of the machine                         histogram   lateness counted, quantiles
bare_line   the bare loop     bare_wake   a bare periodic loop in Python     bare_echo   the bare echo
audience    clients that listen and ask                          report      Markdown

Everything is compared inside one run, in alternating windows: the machine may be shared and its speed may drift.
"""
