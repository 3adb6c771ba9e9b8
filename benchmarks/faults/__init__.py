"""docs/faults.md and what stands behind it.

table    the rows, as data            page.md  the page around them
page     writes docs/faults.md        measure  torque-off on the wire for each row and pair, into benchmarks/FAULTS.json

    python -m benchmarks.faults page
    python -m benchmarks.faults measure --runs 20
"""
