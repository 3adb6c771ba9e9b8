"""The five tasks of the engine (chapter 6.2), in the order of the data.

motor_action      one exchange per motor: command = measured + dir x round(delta)
motor_conversion  raw replies to angles and directional filtered currents
state_transition  entry rules on one snapshot, states, activations
muscles           muscle lengths and forces to servo deltas
script            changesets at their time

A task never reads a clock and never waits: the executive calls it with the time.
"""

TASKS = (
    "script",
    "motor_reply",
    "motor_action",
    "motor_conversion",
    "state_transition",
    "muscle_conversion",
    "hdso_server",
)
"""Names of what the executive runs, highest priority first; keys of a table of task costs."""
