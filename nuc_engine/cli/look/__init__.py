"""Commands that look at documents, bouts and this machine.

afresh      a bout repeated in fresh processes
budget      what one tick costs, stage by stage
compare     bouts side by side
diagram     how a leg is controlled, and in which states it really was, as SVG
diff        named differences
doctor      is this machine fit for real time?
export      a bout's logs in a format other programs open
ls          which bouts there are
movie       the leg of a bout as a movie
plot        pictures of a bout
recover     mend data directories whose bout was cut off
show        a model, explained
stats       steps in numbers
validate    check documents
verify      a bout held against the equations
"""
