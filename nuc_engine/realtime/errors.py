"""What is raised here; a missing privilege is no error, it is reported."""


class RealtimeError(Exception):
    """Something was asked for that no machine can give: the message says what was expected."""
