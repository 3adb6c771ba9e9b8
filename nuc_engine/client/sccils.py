"""The client's part of a SCCILS dialogue (appendix 10.2): what to acknowledge, and when everything is answered.

Each command, configuration command and hdsoscript gets one final answer, success or fail; a list of configurations is
an answer by itself. While a configuration is being started the daemon sends the names of its documents, then the
documents, and waits for each to be acknowledged.
"""

from __future__ import annotations

from sccils_schemas.documents import CommandResponse, CommandScript, ConfigCommand, HdsoList, JointList
from sccils_schemas.parser import parse
from sccils_schemas.writer import write

_DATA = ("dataport", "datatopic")
"""What `parameter` tells of streams; under any other name it lists documents."""


class Dialogue:
    """One document that was sent, and how much of it is not yet answered."""

    def __init__(self, sent: bytes) -> None:
        document, _ = parse(sent)
        self._left = 1
        # What is no document here is none to the daemon either, and is answered with fail.
        if isinstance(document, CommandScript) and document.entries:
            self._left = sum(not isinstance(entry, CommandResponse) for entry in document.entries)

    @property
    def over(self) -> bool:
        """Whether everything has its final answer; data may follow the last one."""
        return self._left <= 0

    def take(self, answer: bytes) -> bytes | None:
        """Take one document of the daemon; return what has to be sent back, if anything."""
        document, _ = parse(answer)
        if isinstance(document, JointList | HdsoList):
            return _ACKNOWLEDGEMENT
        if not isinstance(document, CommandScript):
            return None
        entries = document.entries
        offers = not entries or any(isinstance(e, ConfigCommand) and e.config_type == "available" for e in entries)
        self._left -= offers + sum(isinstance(e, CommandResponse) and e.status != "conditional" for e in entries)
        wanted = any(
            isinstance(e, ConfigCommand) and e.config_type == "parameter" and e.config_name not in _DATA
            for e in entries
        )
        return _ACKNOWLEDGEMENT if wanted else None


def failed(answer: bytes) -> bool:
    """Say whether a document of the daemon holds an answer that is fail."""
    document, _ = parse(answer)
    entries = document.entries if isinstance(document, CommandScript) else ()
    return any(isinstance(entry, CommandResponse) and entry.status == "fail" for entry in entries)


_ACKNOWLEDGEMENT = write(CommandScript((CommandResponse("success"),)))
