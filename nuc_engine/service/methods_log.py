"""Methods around logging on command: log and stoplog."""

from __future__ import annotations

from typing import Any

from nuc_engine.service.clients import Client
from nuc_engine.service.errors import Refused
from nuc_engine.service.hub import Hub
from nuc_engine.service.method import Method
from nuc_engine.service.params import START_TIME, STOP_TIME, Param, text

_NS = 1_000_000_000


async def log(hub: Hub, _client: Client, params: dict[str, Any]) -> Any:
    """Log in a window of engine time."""
    if params["out"]:
        if hub.options.logging == "always":
            raise Refused("refused", "every bout is logged whole here", "give `run` the name of its directory")
        if folder := hub.logger.status().get("folder"):
            raise Refused("refused", f"{folder} is being written to", "end it with stoplog first")
        await hub.workshop.do(lambda: hub.folders.check_free(params["out"]))
    return begin_log(hub, params["start_s"], params["stop_s"], params["out"])


def begin_log(hub: Hub, start_s: float, stop_s: float, out: str = "") -> dict[str, Any]:
    """Ask the logger for a window of engine time, in a data directory of that name. Raises Refused."""
    if 0 <= stop_s <= start_s:
        raise Refused("bad_request", f"logging would stop at {stop_s:g} s and start at {start_s:g} s")
    hub.logger.tell_window(round(start_s * _NS), round(stop_s * _NS) if stop_s >= 0 else -1, out)
    return _log_status(hub)


async def stoplog(hub: Hub, _client: Client, params: dict[str, Any]) -> Any:
    """End logging on command."""
    return end_log(hub, params["stop_s"])


def end_log(hub: Hub, stop_s: float) -> dict[str, Any]:
    """Ask the logger to end a window, at an engine time or (negative) at once."""
    hub.logger.tell_window_end(round(stop_s * _NS) if stop_s >= 0 else -1)
    return _log_status(hub)


def _log_status(hub: Hub) -> dict[str, Any]:
    note = {"note": "every bout is logged whole here"} if hub.options.logging == "always" else {}
    return dict(hub.logger.status()) | note


METHODS = (
    Method("log", log, "operate", True, {"start_s": START_TIME, "stop_s": STOP_TIME, "out": Param(text, "")}),
    Method("stoplog", stoplog, "operate", True, {"stop_s": STOP_TIME}),
)
"""The methods of this part."""
