"""A server of episodes put together: folder, sockets, signals, the loop. The only place of it that looks at clocks."""

from __future__ import annotations

import asyncio
import signal
import time  # noqa: TID251  the composition root hands the clocks out
from collections.abc import Callable, Mapping
from contextlib import AbstractAsyncContextManager, ExitStack
from datetime import datetime

from nuc_engine.machine.rundir import EPISODES, socket_path, take
from nuc_engine.service.episodes import EpisodeHub, EpisodeServerOptions, EpisodeService

Door = Callable[[EpisodeHub], AbstractAsyncContextManager[object]]
"""Another way in, open as long as the server is."""

END_SIGNALS = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)


def serve_episodes(
    options: EpisodeServerOptions,
    *,
    environment: Mapping[str, str],
    show: Callable[[str], None],
    door: Door | None = None,
) -> int:
    """Be the server until it is told to end; return the exit status.

    Raises RunDirError where there can be no socket, ServiceError for an address that cannot be opened.
    """
    with ExitStack() as stack:
        own = take(EPISODES, environment)
        stack.callback(own.remove)
        address = f"ipc://{socket_path(own.path, EPISODES)}"
        asyncio.run(_serve(options, address, show, door))
    return 0


async def _serve(options: EpisodeServerOptions, address: str, show: Callable[[str], None], door: Door | None) -> None:
    loop = asyncio.get_running_loop()
    given = EpisodeServerOptions((address, *options.commands), options.data, options.keys, options.udp)
    service = EpisodeService(
        given,
        loop,
        now_ns=time.monotonic_ns,
        unix_time_s=time.time,
        stamp=lambda: datetime.now().astimezone().strftime("%y%m%d_%H.%M.%S"),  # noqa: TID251  see above
    )
    try:
        ending = service.hub.ending
        for number in END_SIGNALS:
            loop.add_signal_handler(number, ending.set)
        service.hub.recent.journal = lambda name, text: show(f"{name}: {text}")
        service.hub.link.wait_warm()
        service.begin()
        for url in service.sockets.urls:
            show(f"listens at {url}")
        if door is None:
            await _until_over(service, ending)
        else:
            async with door(service.hub):
                await _until_over(service, ending)
    finally:
        service.close()


async def _until_over(service: EpisodeService, ending: asyncio.Event) -> None:
    end = asyncio.ensure_future(ending.wait())
    await asyncio.wait((end, service.over), return_when=asyncio.FIRST_COMPLETED)
    end.cancel()
    if service.over.done():
        service.over.result()
