"""Reading bouts back: what a leg did, whether it stepped, and pictures of it.

    load        a data directory -> `Bout` (arrays, columns, configuration)
    kinematic   foot path of a bout from its joint angles
    tracks      the part of a bout the step detector needs, as plain arrays
    phases      swing and stance from contact; minima of an angle
    steps       `detect_steps`: every step with what changed in it
    judge       `judge`: is it stepping, and if not, what is it (criteria: docs/stepping.md)
    summary     steps per behaviour window, as data and as text
    figures     summary figures and path-state plots (needs matplotlib)
    palette     colours shared by the figures

Nothing here runs an engine, and nothing needs more than numpy, except the figures.
"""
