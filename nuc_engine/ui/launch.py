"""The server of one `nuc ui`: its port, its redirect file, the browser, and a daemon with an emulated leg if wanted."""

from __future__ import annotations

import asyncio
import ctypes
import logging
import os
import re
import shlex
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import webbrowser
from collections.abc import Callable, Generator, Sequence
from contextlib import AsyncExitStack, contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from time import monotonic

import uvicorn
from starlette.routing import BaseRoute

from nuc_engine.client import Client, ClientError, Keys
from nuc_engine.ui.access import TOKEN_S, PageAccess
from nuc_engine.ui.bench import BenchTools
from nuc_engine.ui.bouts import BoutPages
from nuc_engine.ui.bridge import DaemonBridge
from nuc_engine.ui.connections import MOST_CONNECTIONS, BoundedProtocol, BoundedWebSocket
from nuc_engine.ui.diagrams import DiagramPages
from nuc_engine.ui.experiments import ExperimentPages
from nuc_engine.ui.scripts import ScriptPages
from nuc_engine.ui.server import Workbench
from nuc_engine.ui.sshoff import SshOffPath, ssh_words
from nuc_engine.ui.stop import TorqueOffPath
from nuc_engine.ui.tokenfile import kept_file
from nuc_engine.ui.unwatched import UnwatchedStop
from nuc_engine.ui.virtual import VirtualPages

_HOST = "127.0.0.1"
_END_S = 12.0
_BACKLOG = 128
"""Connections that are taken at once, before anything else has its turn."""
_LONGEST_HEAD = 16_384
_LISTENS = re.compile(r"nuc serve: listens at (ipc://\S+)")
_REDIRECT = """<!doctype html><meta charset="utf-8"><title>nuc ui</title>
<meta http-equiv="refresh" content="0;url={url}"><a href="{url}">nuc ui</a>
"""


@dataclass(frozen=True, slots=True)
class WorkbenchOptions:
    """What one server is to do. `address` empty: no daemon. `author` is who the daemon is told one is; port 0: any."""

    author: str
    address: str = ""
    keys: Keys | None = None
    data: Path = Path("data")
    port: int = 0
    browser: bool = True
    stop_without_tab_s: float | None = None
    emulated: bool = False
    """The daemon at `address` was started with an emulated leg: nothing real moves."""

    way: Sequence[str] = ()
    """How `nuc ctl` is told of the same daemon: address and keys, nothing where it finds it."""

    off_by_ssh: str = ""
    """Where to log in for torque off at a daemon elsewhere: `HOST`, or `HOST:FOLDER`."""


def serve(wanted: WorkbenchOptions, say: Callable[[str], None]) -> None:
    """Serve until told to end, by a signal whose handler then raises. `say` takes lines for whoever started it."""
    # Named a TCP socket, asyncio does not let its small packets wait for each other (40 ms).
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP) as listening:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind((_HOST, wanted.port))
        listening.listen()  # a browser that is quicker than this waits
        port = listening.getsockname()[1]
        access = PageAccess(port, monotonic)
        with redirect_file(access, port) as page:
            say(f"http://{_HOST}:{port}/  (open {page}, which holds the key)")
            if not wanted.browser or "SSH_CONNECTION" in os.environ:
                say(f"from another machine: {forward_line(port, page)}; open nuc-ui.html there")
            if wanted.browser:
                threading.Thread(target=webbrowser.open, args=(page.as_uri(),), daemon=True).start()
            asyncio.run(_serve(wanted, access, listening, say))


async def _serve(
    wanted: WorkbenchOptions, access: PageAccess, listening: socket.socket, say: Callable[[str], None]
) -> None:
    async with AsyncExitStack() as stack:
        spare = stack.enter_context(tempfile.TemporaryDirectory(prefix="nuc-ui-"))
        bouts, virtual, more = pages_of(wanted.data, Path(spare), lambda: workbench.drives)
        stack.push_async_callback(bouts.close)
        stack.push_async_callback(virtual.close)
        workbench = Workbench(access, wanted.author, more=more, emulated=wanted.emulated, way=wanted.way)
        if wanted.address:
            bridge = workbench.bridge = DaemonBridge(wanted.address, name=f"{wanted.author} (nuc ui)", keys=wanted.keys)
            ssh = SshOffPath(ssh_words(wanted.off_by_ssh)) if wanted.off_by_ssh else None
            workbench.stop = TorqueOffPath(wanted.address, name=wanted.author, keys=wanted.keys, ssh=ssh)
            stack.callback(workbench.stop.close)
            bridge.start()
            stack.push_async_callback(bridge.close)
            if wanted.stop_without_tab_s is not None:
                client = partial(Client, wanted.address, name=bridge.name, keys=wanted.keys)
                unwatched = workbench.unwatched = UnwatchedStop(
                    wanted.stop_without_tab_s, client, lambda: bridge.status
                )

                async def leave() -> None:
                    for client in workbench.clients.values():
                        if client.in_control:
                            unwatched.gone(client.name)
                    if said := await unwatched.close():
                        say(said)

                stack.push_async_callback(leave)
        server = _PageServer(_config(workbench), bouts)
        if sys.platform != "win32":  # a terminal that is closed is an end like any other
            asyncio.get_running_loop().add_signal_handler(signal.SIGHUP, server.handle_exit, signal.SIGHUP, None)
        await server.serve(sockets=[listening])


def pages_of(
    data: Path, spare: Path, drives: Callable[[], bool]
) -> tuple[BoutPages, VirtualPages, Sequence[BaseRoute]]:
    """Return the pages that are to be closed, and the routes of all there are beside the workbench's own."""
    bouts = BoutPages(data, spare)
    readers, jobs = bouts.readers, bouts.jobs
    virtual = VirtualPages(readers, jobs, drives)
    experiments = ExperimentPages(readers, jobs, data, drives)
    others = (ScriptPages(readers, jobs), BenchTools(jobs), experiments, DiagramPages(readers))
    return bouts, virtual, [route for page in (bouts, *others, virtual) for route in page.routes()]


class _PageServer(uvicorn.Server):
    """Ends what reads and draws before it waits for the answers that come of it."""

    def __init__(self, config: uvicorn.Config, bouts: BoutPages) -> None:
        super().__init__(config)
        self._bouts = bouts

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Tell the world that this ends."""
        await self._bouts.close()
        await super().shutdown(sockets)


def forward_line(port: int, page: Path) -> str:
    """Return what to type on another machine for a page that is spoken to on loopback alone.

    Its ssh stays as long as the page is open there. Host is checked with its port, so that is the same.
    """
    fetch = shlex.quote(f"cat {shlex.quote(str(page))}; sleep {TOKEN_S:.0f}")
    return f"(umask 077; ssh -f -L {port}:{_HOST}:{port} {shlex.quote(socket.gethostname())} {fetch} > nuc-ui.html)"


def _worth_telling(record: logging.LogRecord) -> bool:
    """Say whether something is wrong here, and not with what a stranger has sent."""
    return not record.getMessage().startswith("Invalid UTF-8")


def _config(workbench: Workbench) -> uvicorn.Config:
    logging.getLogger("uvicorn.error").addFilter(_worth_telling)
    return uvicorn.Config(
        workbench.app(),
        http=BoundedProtocol,
        ws=BoundedWebSocket,
        ws_max_size=65_536,
        ws_per_message_deflate=False,
        ws_ping_interval=None,  # the page's own heartbeat says more
        lifespan="off",
        log_config=None,
        log_level=logging.ERROR,
        access_log=False,
        server_header=False,
        proxy_headers=False,
        limit_concurrency=MOST_CONNECTIONS,
        backlog=_BACKLOG,
        h11_max_incomplete_event_size=_LONGEST_HEAD,
        timeout_graceful_shutdown=1,
    )


@contextmanager
def redirect_file(access: PageAccess, port: int) -> Generator[Path]:
    """Keep a file that leads to the page with a token that is good, for its owner alone.

    A URL on a command line is seen by every user of the machine; this is not.
    """
    with kept_file("open.html", lambda: _REDIRECT.format(url=f"http://{_HOST}:{port}/#t={access.new_token()}")) as kept:
        yield kept.path


@contextmanager
def emulated_daemon(words: Sequence[str], say: Callable[[str], None]) -> Generator[str]:
    """Run `nuc serve WORDS` beside this process, and end it after; the value is its address.

    Raises ClientError where it does not start.
    """
    process = subprocess.Popen(
        [sys.executable, "-m", "nuc_engine.cli", "serve", *words],
        stdin=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        errors="replace",
        preexec_fn=_end_with_parent,  # noqa: PLW1509  no thread is there yet
    )
    told: list[str] = []
    listens = threading.Event()
    address: list[str] = []

    def read() -> None:
        for line in process.stderr or ():
            match = _LISTENS.search(line)
            if match:
                address.append(match[1])
                listens.set()
            elif not line.startswith("{"):
                told.append(line)
                say(line.rstrip())
        listens.set()

    reader = threading.Thread(target=read, daemon=True)
    reader.start()
    try:
        listens.wait(_END_S)
        if not address:
            raise ClientError(f"nuc serve did not start: {' '.join(told).strip() or 'it said nothing'}")
        yield address[0]
    finally:
        process.terminate()
        try:
            process.wait(_END_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        reader.join(1.0)


def _end_with_parent() -> None:
    # There are daemons on Linux alone.
    ctypes.CDLL(None).prctl(1, signal.SIGTERM, 0, 0, 0)
