"""One deterministic episode of any system under control: a RunConfig, its fixed-step loop, and what became of it.

    document     a RunConfig as a document: values by dotted keys, what the seed draws, checks, sums
    fields       one table of a document being read; everything wrong in it is collected
    loop         the fixed-step loop
    system       what a system under control is to the loop: functions, and how their tables are read

It knows dynamics, controllers and references as functions only. It reads no files and writes none.
"""
