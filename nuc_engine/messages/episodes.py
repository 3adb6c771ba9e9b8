"""Requests of a server of episodes (`nuc episode serve`): START, STOP, STATUS, and those about people and control."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from types import MappingProxyType
from typing import Annotated, Any, ClassVar, Literal

from msgspec import Meta

from nuc_engine.messages.answers import Answer, Connected
from nuc_engine.messages.limits import MAX_ITEMS, Document, RoleName, Text
from nuc_engine.messages.requests import (
    EventsRequest,
    HandOverRequest,
    HelloRequest,
    LeaveRequest,
    ReleaseControlRequest,
    Request,
    ShutdownRequest,
    TakeControlRequest,
)

MOST_SPEED = 1e6
_LARGEST = sys.float_info.max

Values = Annotated[
    Mapping[str, Annotated[int, Meta(ge=-(2**63), le=2**63 - 1)] | Annotated[float, Meta(ge=-_LARGEST, le=_LARGEST)]],
    Meta(max_length=MAX_ITEMS, description=f"a map from dotted keys to finite numbers, of at most {MAX_ITEMS}"),
]
Speed = Annotated[float, Meta(ge=0, le=MOST_SPEED, description=f"a finite number from 0 to {MOST_SPEED:g}")]


class EpisodeStatus(Answer):
    """What became of the newest episode: idle (there was none), running, done or failed, and why.

    Times are simulated seconds: `t_s` of `of_s`. `late` counts the steps that began after the one behind them was due,
    where a speed was asked for; `snapshots` the datagrams that were sent, `unsent` those that could not be. `columns`
    are what a snapshot's numbers are. `folder` is empty where nothing is logged.
    """

    state: Literal["idle", "running", "done", "failed"]
    reason: str = ""
    episode: int = 0
    name: str = ""
    t_s: float = 0.0
    of_s: float = 0.0
    step: int = 0
    steps: int = 0
    speed: float = 0.0
    late: int = 0
    folder: str = ""
    columns: tuple[str, ...] = ()
    snapshots: int = 0
    unsent: int = 0
    telemetry: str = ""
    control: str = ""
    clients: tuple[Connected, ...] = ()
    connections: Mapping[str, int] = MappingProxyType({})


class EpisodeStarted(Answer):
    """An episode whose first step has been made, and its data directory."""

    episode: int
    folder: str
    of_s: float
    columns: tuple[str, ...]


class EpisodeStatusRequest(Request[EpisodeStatus]):
    """Ask what runs, how far it is, and what became of it."""

    method = "status"


class StartEpisodeRequest(Request[EpisodeStarted]):
    """Begin an episode: of a configuration by name (`config`), or of a RunConfig that is sent, the text of a run.toml.

    A text is called `config` too, where that is given. `changes` replaces numbers by their dotted keys. `speed` is in
    times real time; 0: as fast as possible. `out` names its directory in the data folder; without `log` there is none.
    Answered once its first step has been made, or refused with everything that is wrong.
    """

    method = "start"
    needs: ClassVar[RoleName] = "operate"
    control: ClassVar[bool] = True
    at_least_s: ClassVar[float] = 12.0
    as_sent: ClassVar[frozenset[str]] = frozenset({"run"})

    config: Text | None = None
    run: Document | None = None
    changes: Values | None = None
    speed: Speed = 0.0
    out: Text | None = None
    log: bool = True


class StopEpisodeRequest(Request[EpisodeStatus]):
    """End the episode that runs; answered once it has ended. Where none runs there is nothing to do."""

    method = "stop"
    needs: ClassVar[RoleName] = "operate"
    control: ClassVar[bool] = True
    at_least_s: ClassVar[float] = 6.0


EPISODE_REQUESTS: Mapping[str, type[Request[Any]]] = MappingProxyType(
    {
        kind.method: kind
        for kind in (
            HelloRequest,
            EpisodeStatusRequest,
            StartEpisodeRequest,
            StopEpisodeRequest,
            EventsRequest,
            TakeControlRequest,
            HandOverRequest,
            ReleaseControlRequest,
            LeaveRequest,
            ShutdownRequest,
        )
    }
)
"""Every request by the name of its method."""
