"""One bout on the virtual clock: specified, prepared, run, replayed, run anew.

against      two machines' witnesses of the same bout: how far they agree
animal_time  a bout whose seconds are the animal's, made one in the leg's time
budget       what one tick of a leg or an episode costs, stage by stage
described    a leg's bout that a RunConfig describes
episode      one episode of a RunConfig into a data directory, and again
prepare      what a bout is made of, loaded and checked as a whole
replay       repeating a bout from its own data directory, and saying where the repetition differs
rerun        a recorded bout as a new one
run          one bout on the virtual clock
spec         what decides a bout, how it stands in manifest.json, and the values a bout is given
stopping     what ends a bout before its time
watched      a bout that somebody watches cycle by cycle
"""
