"""The five tasks of the engine (chapter 6.2), in the order of the data.

motor_action      one exchange per motor: command = measured + dir x round(delta)
motor_conversion  raw replies to angles and directional filtered currents
state_transition  entry rules on one snapshot, states, activations
muscles           muscle lengths and forces to servo deltas
script            changesets at their time

A task never reads a clock and never waits: the executive calls it with the time.
"""
