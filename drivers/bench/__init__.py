"""Measuring and setting up servos at the bench.

budget      how often a bus can be exchanged with
fit         from measured rows to numbers
motion      turning servos at the bench
plant       servos on a bench
release     what one does with a bus at the bench
settings    what a servo is set to, one thing after the other
torque      holding servo deltas one after the other, and what was seen of each
"""
