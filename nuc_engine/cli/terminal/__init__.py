"""What commands share: arguments, output, endings, errors, screens.

beside        somebody at a terminal beside a leg
collected     options that are wrong are all said at once
completion    what a shell needs to complete commands, options, configurations and scripts
errors        errors a person can do something about, as lines and an exit status
fullscreen    screens that take the whole terminal, on textual
ink           words and numbers that several screens and commands print alike
leaving       how a command ends that somebody ends from outside
legscreen     the screen of `nuc demo`
legview       a leg drawn with characters
listed        groups of commands that are known by a table
live          a leg that runs without leaving files
output        text, JSON and colour on their way out
params        arguments and options that several commands share
person        the name a daemon is told, and its logs keep
progress      how far it is, on stderr
seen          what was seen in a bout, and its pictures, as the commands report them
wallclock     wall-clock time for people who wait
"""
