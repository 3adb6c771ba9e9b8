"""When a SCCILS dialogue is over: which document is the final answer to the one that was sent."""

from __future__ import annotations

import re

_RESPONSE = re.compile(rb"<sccils_command_response\b[^>]*\bresponsestatus\s*=\s*[\"'](\w+)[\"']")


def is_last(document: bytes) -> bool:
    """Say whether a document holds an answer that is no longer conditional (appendix 10.2; success or fail)."""
    return any(status != b"conditional" for status in _RESPONSE.findall(document))
