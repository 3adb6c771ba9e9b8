"""The data directory of a bout: live logs, column descriptions, input record, manifest.

columns       what every column of the data logs means, so that no reader has to guess
compare       where a file of one data directory first differs from its namesake in another
digits        numbers as the logs give them back, without writing and reading a log
directory     making the data directory
files         what the files of a data directory are called
formats       files by their names' endings, which appear only when they are whole
growing       files that grow by whole pieces
inputs        everything that entered the tasks, by cycle, so that a bout on hardware can be repeated too
lock          one process at a time in a folder
logs          the text logs: one whole line per record
manifest      what makes a bout a witness of itself
mcap          the text logs of a bout as MCAP messages
playback      what an input record holds, as the tasks take it
reach         how far a bout came, by its own records
recorder      the recorder of a bout
recover       mending a data directory whose bout was cut off
repetition    a bout in real time again, from its input record
rows          the log of an episode: doubles in rows
scriptlog     SCCILS scripts of what was really done and answered
"""
