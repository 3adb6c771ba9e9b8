"""The data directory of a bout: live logs, column descriptions, input record, manifest.

growing.py    files that grow by whole pieces and can be continued
logs.py       the text files of appendix 10.4, chapter 3.1, row by row
digits.py     numbers as those files give them back
columns.py    columns.json: what every column means
scriptlog.py  Scriptlog.xml and HDSOlog.xml, entry by entry
inputs.py     the input record: raw replies and edits by cycle
manifest.py   manifest.json: what makes the bout a witness
compare.py    where two data directories first differ
lock.py       one process at a time in a folder
reach.py      how far a bout came, by its own records
recover.py    mending a directory whose bout was cut off
playback.py   the input record as the tasks take it
repetition.py a bout in real time again, from its input record
directory.py  making, overwriting and finishing a data directory
"""
