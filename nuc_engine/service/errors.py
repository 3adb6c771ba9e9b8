"""Errors of the service. All but `ServiceError` itself are answers to a client."""

from __future__ import annotations


class ServiceError(Exception):
    """Root of this package's errors: something the service can not be started or kept up with."""


class Refused(ServiceError):
    """A request that is not done. `kind` is for programs, `text` says what is wrong, `hint` what would help.

    Kinds: bad_request, unknown_method, not_found, not_allowed (role), no_control, refused (by the mode, the model or
    the core), too_fast, core_gone, timeout, forgotten, failed.
    """

    def __init__(self, kind: str, text: str, hint: str = "") -> None:
        super().__init__(f"{text} ({hint})" if hint else text)
        self.kind, self.text, self.hint = kind, text, hint
