"""Methods around logging on command: log and stoplog."""

from __future__ import annotations

from typing import Any

from drivers.units import NS_PER_S
from nuc_engine.messages import requests
from nuc_engine.messages.errors import Refused
from nuc_engine.service.clients import ConnectedClient
from nuc_engine.service.hub import Hub
from nuc_engine.service.method import Handlers, Noted


async def log(hub: Hub, _client: ConnectedClient, asked: requests.LogRequest) -> Any:
    """Log in a window of engine time."""
    out = asked.out or ""
    if out:
        if hub.options.logging == "always":
            raise Refused("refused", "every bout is logged whole here", "give `run` the name of its directory")
        if folder := hub.logger.status().get("folder"):
            raise Refused("refused", f"{folder} is being written to", "end it with stoplog first")
        await hub.workshop.do(lambda: hub.folders.check_free(out))
    return begin_log(hub, asked.start_s, -1.0 if asked.stop_s is None else asked.stop_s, out)


def begin_log(hub: Hub, start_s: float, stop_s: float, out: str = "") -> Any:
    """Ask the logger for a window of engine time, in a data directory of that name. Raises Refused."""
    if 0 <= stop_s <= start_s:
        raise Refused("bad_request", f"logging would stop at {stop_s:g} s and start at {start_s:g} s")
    hub.logger.tell_window(round(start_s * NS_PER_S), round(stop_s * NS_PER_S) if stop_s >= 0 else -1, out)
    return _log_status(hub)


async def stoplog(hub: Hub, _client: ConnectedClient, asked: requests.StoplogRequest) -> Any:
    """End logging on command."""
    return end_log(hub, -1.0 if asked.stop_s is None else asked.stop_s)


def end_log(hub: Hub, stop_s: float) -> Any:
    """Ask the logger to end a window, at an engine time or (negative) at once."""
    hub.logger.tell_window_end(round(stop_s * NS_PER_S) if stop_s >= 0 else -1)
    return _log_status(hub)


def _log_status(hub: Hub) -> Any:
    status = hub.logger.status()
    return Noted(status, "every bout is logged whole here") if hub.options.logging == "always" else status


HANDLERS: Handlers = {
    requests.LogRequest: log,
    requests.StoplogRequest: stoplog,
}
"""What does the requests of this part."""
