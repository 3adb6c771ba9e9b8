"""What is where on this machine, and what it lacks: libraries, documents, sockets.

core         whether the core is compiled, and how many processors there are
locations    where configurations, scripts and verdicts are
needs        what a command needs that may not be there
rundir       where a daemon's sockets are, and where clients look for them
"""
