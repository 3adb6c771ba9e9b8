"""What servo buses raise: one root, and leaves chosen by what the caller can do about them."""


class BusError(Exception):
    """Root of everything a driver raises; raised itself for misuse, such as a cycle started within a cycle."""


class BusUrlError(BusError):
    """A bus was described wrongly (URL, option, servo list): the message says what was expected."""


class FrameError(BusError):
    """A value the wire cannot carry, or a command this family of servos does not have."""


class PortError(BusError):
    """A port cannot be opened or used: the message says what to do about it."""


class PortGoneError(PortError):
    """The device is not there, or is no longer: open the port again once it is back."""


class PortBusyError(PortError):
    """Another process holds the port: the message names it where that can be found out."""
