"""A server of episodes: START, STOP and STATUS over the channel; one at a time, in a process beside this one."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from nuc_engine.bout.episode import MOST_BYTES
from nuc_engine.messages.answers import ShutdownAnswer
from nuc_engine.messages.episodes import (
    EPISODE_REQUESTS,
    EpisodeStarted,
    EpisodeStatus,
    EpisodeStatusRequest,
    StartEpisodeRequest,
    StopEpisodeRequest,
)
from nuc_engine.messages.errors import Refused
from nuc_engine.messages.requests import ShutdownRequest
from nuc_engine.recording.directory import free_name
from nuc_engine.service import methods_people
from nuc_engine.service.access import Access, read_datagram_address
from nuc_engine.service.channel import ReadySockets, Sockets
from nuc_engine.service.channel_hub import ChannelHub
from nuc_engine.service.clients import Clients, ConnectedClient
from nuc_engine.service.control import ControlLease
from nuc_engine.service.desk import MESSAGES_NS, Desk
from nuc_engine.service.dispatch import MethodTable
from nuc_engine.service.episode_link import EpisodeLink, EpisodeProgress
from nuc_engine.service.episode_worker import EpisodeOrder
from nuc_engine.service.folders import Folders, check_name
from nuc_engine.service.method import Handlers
from nuc_engine.service.methods_people import about_client
from nuc_engine.service.recent import Recent
from nuc_engine.service.turns import Turns
from nuc_engine.service.waiting import Waiting

BEGIN_S, STOP_S = 10.0, 2.0
"""How long a worker may take to make the first step, and to end; then it is ended, and another one begins."""

CONTROL_S = 60.0
"""How long a client may be silent and still have control."""

_HOUSEKEEPING_NS = 1_000_000_000
_WAIT_MS = 1000


@dataclass(frozen=True, slots=True)
class EpisodeServerOptions:
    """Where a server of episodes listens, logs, and sends snapshots to. `udp` empty: nowhere."""

    commands: Sequence[str]
    data: Path = Path("data")
    keys: Path | None = None
    udp: str = ""


@dataclass(slots=True)
class EpisodeHub(ChannelHub):
    """What the methods of a server of episodes share."""

    link: EpisodeLink
    folders: Folders
    stamp: Callable[[], str]
    udp: tuple[str, int] | None
    connections: Callable[[], dict[str, int]]
    ending: asyncio.Event
    starting: bool = False

    def standing(self) -> tuple[str, str]:
        """Return the name of the newest episode, and its state."""
        newest = self.link.newest
        return ("", "idle") if newest is None else (newest.order.config, newest.state)

    def note_end(self, progress: EpisodeProgress) -> None:
        """Note how an episode ended."""
        self.recent.add(
            "episode_end", progress.reason, episode=progress.order.episode, state=progress.state, step=progress.step
        )


async def status(hub: EpisodeHub, _client: ConnectedClient, _asked: EpisodeStatusRequest) -> EpisodeStatus:
    """Say what runs, and what became of it."""
    return status_of(hub)


def status_of(hub: EpisodeHub) -> EpisodeStatus:
    """Return the status of a server."""
    told = EpisodeStatus(
        "idle",
        telemetry="" if hub.udp is None else "{}:{}".format(*hub.udp),
        control=hub.in_control,
        clients=tuple(about_client(hub, other) for other in hub.clients),
        connections=hub.connections(),
    )
    progress = hub.link.progress()
    if progress is None:
        return told
    order, begun = progress.order, progress.begun
    told.state, told.reason, told.episode, told.name = progress.state, progress.reason, order.episode, order.config
    told.step, told.late, told.speed, told.folder = progress.step, progress.late, order.speed, order.out
    told.snapshots, told.unsent = progress.snapshots, progress.unsent
    if begun is not None:
        told.t_s, told.of_s = progress.step * begun.dt_s, begun.steps * begun.dt_s
        told.steps, told.columns = begun.steps, begun.columns
    return told


async def start(hub: EpisodeHub, client: ConnectedClient, asked: StartEpisodeRequest) -> EpisodeStarted:
    """Begin an episode. Raises Refused."""
    if hub.starting or hub.link.running:
        raise Refused("refused", f"episode {hub.link.number} runs", "stop it first")
    if asked.config is None and asked.run is None:
        raise Refused("bad_request", "start lacks config and run", "name a configuration, or send a run.toml")
    if asked.out is not None and not asked.log:
        raise Refused("bad_request", "out names a directory, and nothing is to be logged", "leave one of them out")
    name = check_name(asked.config or "sent")
    text = None if asked.run is None else asked.run.encode("utf-8", "surrogatepass")
    if text is not None and len(text) > MOST_BYTES:
        raise Refused("bad_request", f"run has {len(text):,} bytes", f"expected a run.toml of at most {MOST_BYTES:,}")
    out = ""
    if asked.log:
        chosen = free_name(hub.folders.data, f"{hub.stamp()}_{name}") if asked.out is None else asked.out
        out = str(hub.folders.data / (chosen if asked.out is None else hub.folders.check_free(chosen)))
    hub.link.number += 1
    order = EpisodeOrder(hub.link.number, name, text, dict(asked.changes or {}), asked.speed, out, hub.udp)
    hub.starting = True
    try:
        late = Refused("timeout", f"no step was made within {BEGIN_S:g} s", "see whether it is too large")
        begun = await hub.waiting.within(hub.link.start(order), BEGIN_S, late)
    except Refused as error:
        if error.kind == "timeout":
            hub.link.kill()
        raise
    finally:
        hub.starting = False
    hub.recent.add("episode_begin", name, episode=order.episode, author=client.author)
    return EpisodeStarted(order.episode, out, begun.steps * begun.dt_s, begun.columns)


async def stop(hub: EpisodeHub, _client: ConnectedClient, _asked: StopEpisodeRequest) -> EpisodeStatus:
    """End the episode that runs."""
    try:
        late = Refused("timeout", f"the episode has not ended after {STOP_S:g} s")
        await hub.waiting.within(hub.link.stop(), STOP_S, late)
    except Refused:
        hub.link.kill()
    return status_of(hub)


async def shutdown(hub: EpisodeHub, client: ConnectedClient, _asked: ShutdownRequest) -> ShutdownAnswer:
    """End the server, and what it runs."""
    hub.recent.add("shutdown", f"asked for by {client.author}", author=client.author)
    hub.ending.set()
    return ShutdownAnswer(hub.standing()[1])


_OWN: Handlers = {
    EpisodeStatusRequest: status,
    StartEpisodeRequest: start,
    StopEpisodeRequest: stop,
    ShutdownRequest: shutdown,
}
EPISODE_METHODS = MethodTable(EPISODE_REQUESTS, {**methods_people.HANDLERS, **_OWN})
"""What a server of episodes answers."""


class EpisodeService(Turns):
    """Answers clients of a server of episodes. Raises ServiceError when it cannot be opened.

    `now_ns` is CLOCK_MONOTONIC, `unix_time_s` seconds since 1970, `stamp` the beginning of a new directory's name.
    """

    def __init__(
        self,
        options: EpisodeServerOptions,
        loop: asyncio.AbstractEventLoop,
        *,
        now_ns: Callable[[], int],
        unix_time_s: Callable[[], float],
        stamp: Callable[[], str],
    ) -> None:
        udp = read_datagram_address(options.udp) if options.udp else None
        access = Access(options.keys)
        super().__init__(loop, Sockets(options.commands, (), access))
        self._housekeeping_ns = 0
        try:
            link = EpisodeLink(loop)
        except BaseException:
            self.sockets.close()
            raise
        self.hub = hub = EpisodeHub(
            waiting=Waiting(loop, now_ns),
            clients=Clients(),
            control=ControlLease(CONTROL_S),
            recent=Recent(unix_time_s),
            link=link,
            folders=Folders(options.data),
            stamp=stamp,
            udp=udp,
            connections=self._connections,
            ending=asyncio.Event(),
        )
        link.ended, link.broke = hub.note_end, self.fail
        hub.clients.spares, hub.clients.forgotten = hub.spares, hub.on_client_gone
        self._desk = Desk(hub, EPISODE_METHODS, self.sockets, access)

    def step(self) -> ReadySockets:
        """Do everything that there is to do now; return the sockets that were read."""
        ready = self.sockets.ready()
        self.sockets.step(ready)
        self._desk.see_to_keys()
        self._desk.take_messages(ready, self.hub.now_ns + MESSAGES_NS)
        if self.hub.now_ns - self._housekeeping_ns >= _HOUSEKEEPING_NS:
            self._housekeeping_ns = self.hub.now_ns
            self.hub.clients.forget_idle(self.hub.now_ns)
        return ready

    def wait_ms(self) -> int:
        """Return how long nothing is due for."""
        return _WAIT_MS

    def close(self) -> None:
        """End the episode and the worker, and close the sockets."""
        super().close()
        self.hub.link.close()

    def _connections(self) -> dict[str, int]:
        return {**self._desk.connections(), "workers_died": self.hub.link.deaths}
