"""One tick: sensors, rules, muscles, guard, in a fixed order; the executive that calls them; the fault table.

blocks        blocks of signal processing: what each computes at its samples
bus_tap       the border between motor action and its bus
clamps        what is sensed where it is not what was measured
clock         time as a parameter
controls      what a motor is commanded by
delay_line    what a value was some time ago
delays        operands of some time ago
dispatcher    what every executive has
executive     the executive on the virtual clock
faults        faults of a running engine, as data
functions     generic functions of one argument and muscle activations, bound to the store once
grades        how true entry rules are, for modules whose actions are blended
guard         the last step before the codec
rulebook      entry rules at run time
tasks/        the five tasks of chapter 6.2 and the HDSO server
triggers      changes that wait for a rule
"""
