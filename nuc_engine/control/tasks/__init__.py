"""The five tasks of chapter 6.2 and the HDSO server: short, flat, without a clock of their own.

    acting               state transition with what SCCILS 0.2 adds to acting
    action_signals       signals about actions: which, for how long, what is left of it
    added                tasks that users have added
    blending             actions that are blended by weights instead of switched
    board                what tasks hand to each other besides the store
    drive_scale          from muscle output to a servo's own ticks and back, where a unit is not simply a tick
    dynamics             activations that reach their muscles late, and in time follow what states ask for
    followers            values that follow a control
    motor_action         one exchange per motor, servo delta control
    motor_conversion     raw replies to calibrated angles and directional filtered currents
    muscle_conversion    lengths, forces and servo deltas
    script               applies changesets at their time, before any task of that instant
    server               answers requests for HDSO data at the lowest priority
    signals              blocks of signal processing, after each exchange
    state_transition     entry rules, states and activations
    weight               gravity compensation as part of muscle conversion

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
