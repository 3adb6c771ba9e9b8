"""Commands that run a leg.

demo       a leg in the terminal, at real speed
emulate    a leg behind a pseudo-terminal, in real time
episode    RunConfigs: one run, one shown
replay     a bout again, and compared
run        one bout on the virtual clock
serve      the engine beside a leg, in real time, until it is told to end
steering   a bout on the virtual clock that goes on as lines say
"""
