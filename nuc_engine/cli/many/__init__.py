"""Commands that run many bouts.

dataset       the logs of many episodes as one file, with a card
experiment    the experiments of chapter 7, run, judged, drawn
minimise      what a changeset needs, and which changesets commute
surrogate     controllers learned from datasets: fitted, flown, judged
sweep         many bouts over parameters, seeds and plants, one row each
tune          values found by an optimiser, against a criterion
"""
