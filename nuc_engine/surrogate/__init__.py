"""A controller learned from logs: what it is given, how it is fitted, how it flies, and how it is judged.

    cover        where training data end: rows that are kept, and how far from one of them a state may be
    evaluate     flights of surrogates beside their teacher's, and how far apart they come
    fit          from logged episodes to a surrogate, with episodes that begin where it went
    inputs       what a surrogate is given: numbers made of logged columns, with memory
    network      least squares, and a small multilayer perceptron in NumPy on top of it
    pilot        a fitted surrogate, as the table of a RunConfig and as a controller
    report       what came out, as a page: flights first

The teacher is a black box: its logs are read, and episodes are started with it. Neither its gains nor its limits are
looked at. It touches no files.
"""
