"""Commands that run many bouts.

experiment    the experiments of chapter 7, run, judged, drawn
minimise      what a changeset needs, and which changesets commute
sweep         many bouts over parameters, seeds and plants, one row each
tune          values found by an optimiser, against a criterion
"""
