"""What an emulator process raises."""


class EmulationError(Exception):
    """Root: the emulator cannot be started, or not do what it was told; the message says why and what helps."""


class ControlError(EmulationError):
    """A command to a running emulator was refused, or nobody answered."""


class ByteLogError(EmulationError):
    """A file is no byte log, or one of another version."""
