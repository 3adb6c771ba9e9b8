"""Where a daemon listens that was told nothing else."""

DEFAULT_ADDRESS = "tcp://127.0.0.1:44106"
