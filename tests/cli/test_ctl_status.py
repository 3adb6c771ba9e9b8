"""What `nuc ctl status` says of the buses."""

from __future__ import annotations

from msgspec.structs import replace

from nuc_engine.cli.ctl.see import _status_lines
from nuc_engine.messages.answers import Status


def test_what_went_wrong_on_the_bus_is_said_where_anything_did() -> None:
    status = Status("RUNNING", bus_counts={"missed": 0, "stray_bytes": 7, "restarts": 1})
    assert "on the bus since the core began: stray bytes 7, restarts 1" in _status_lines(status)
    assert not any("bus" in line for line in _status_lines(replace(status, bus_counts={"missed": 0})))
