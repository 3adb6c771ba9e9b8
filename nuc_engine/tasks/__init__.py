"""The tasks of the engine (chapter 6.2).

script            changesets at their time
motor_action      one exchange per motor: command = measured + dir x round(delta)
motor_conversion  raw replies to angles and directional filtered currents
state_transition  entry rules on one snapshot, states, activations
muscles           muscle lengths and forces to servo deltas

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
"""Names of what the executive runs, highest priority first, on a virtual clock and on a real one; keys of a table of
task costs. Rules are evaluated after every reply that has come, so that they and their muscles use the same sensors;
chapter 6.2.1 has state transition lower. The real clock makes one exception, since there tasks take time: an exchange
waits for rules that are due. Its reason, and what it wins, stand where it is made, in `nuc_engine.daemon.live`."""
