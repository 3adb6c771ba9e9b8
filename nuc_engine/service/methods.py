"""The methods of the daemon: every request, and what does it."""

from __future__ import annotations

from types import MappingProxyType

from nuc_engine.messages.requests import REQUESTS, OffRequest
from nuc_engine.service import (
    methods_bout,
    methods_edits,
    methods_joints,
    methods_log,
    methods_notes,
    methods_people,
    methods_rules,
    methods_stored,
    methods_streams,
    methods_values,
)
from nuc_engine.service.dispatch import MethodTable
from nuc_engine.service.method import Handlers

_GROUPS = (
    methods_people,
    methods_bout,
    methods_log,
    methods_values,
    methods_streams,
    methods_edits,
    methods_joints,
    methods_notes,
    methods_rules,
    methods_stored,
)

HANDLERS: Handlers = MappingProxyType({kind: run for group in _GROUPS for kind, run in group.HANDLERS.items()})
"""What does each request."""

METHODS = MethodTable(REQUESTS, HANDLERS, OffRequest.method)
