"""The daemon with a service of a page, so that its other processes can be tested by themselves.

It writes the plan, beats, keeps what comes through the rings, and obeys one JSON line per datagram: a command of
`nuc_engine.daemon.wire` (its name, then its items without the request), `words`, `kinds`, or `events`.

    python -m tests.realtime.plain_service FOLDER OPTIONS-AS-JSON [NAME=]URL...
"""

from __future__ import annotations

import contextlib
import json
import os
import select
import signal
import socket
import sys
import time  # noqa: TID251  a service of the real clock
from collections import Counter
from pathlib import Path

from nuc_engine.daemon.block import Word
from nuc_engine.daemon.launch import Launch, ServeOptions
from nuc_engine.daemon.off_requests import Requester, pending_requesters, request_off
from nuc_engine.daemon.spawn import END_SIGNAL
from nuc_engine.daemon.wire import CoreCommand, RecordKind, pack, unpack
from nuc_engine.service.serve import DaemonPrograms, serve


class PlainService:
    def __init__(self, launch: Launch, folder: Path) -> None:
        self.launch, self.block, self.words = launch, launch.block, launch.block.words
        self.events: list[list] = []
        self.kinds: Counter[str] = Counter()
        self.requests = 0
        path = folder / f"service.{os.getpid()}"
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.socket.bind(str(path))
        path.replace(folder / "service")

    def run(self) -> int:
        ended = []
        signal.signal(END_SIGNAL, lambda *_: ended.append(1))
        if not self.words[Word.PLAN_GENERATION]:
            self.configure(self.launch.options.configuration)
        self.words[Word.SERVICE_READY] = 1
        while not ended:
            self.words[Word.SERVICE_BEAT] = time.monotonic_ns()
            ready = select.select([self.socket, self.launch.to_service], [], [], 0.02)[0]
            with contextlib.suppress(BlockingIOError):
                os.eventfd_read(self.launch.to_service)
            self.drain()
            if self.socket in ready:
                self.answer()
        self.drain()
        return 0

    def configure(self, name: str) -> None:
        from nuc_engine.bout.run import prepare_bout

        self.block.write_plan(prepare_bout(name, None).plan)
        os.eventfd_write(self.launch.to_supervisor, 1)

    def drain(self) -> None:
        for name in ("records", "guardian", "supervisor"):
            for kind, content in self.block.rings[name].take():
                self.kinds[RecordKind(kind).name] += 1
                if kind in (
                    RecordKind.EVENT,
                    RecordKind.MODE,
                    RecordKind.ACK,
                    RecordKind.BOUT_BEGIN,
                    RecordKind.BOUT_END,
                ):
                    self.events.append([RecordKind(kind).name, *unpack(content)])

    def answer(self) -> None:
        line, sender = self.socket.recvfrom(65536)
        what, *items = json.loads(line)
        answer = None
        if what == "words":
            answer = {word.name: self.words[word] for word in Word} | {"OFF_OPEN": len(pending_requesters(self.words))}
        elif what == "events":
            answer = self.events
        elif what == "kinds":
            answer = dict(self.kinds)
        elif what == "configure":
            self.configure(*items)
        elif what == "off":
            request_off(self.words, Requester.SERVICE)
        else:
            self.requests += 1
            answer = self.requests
            self.block.rings["commands"].put(CoreCommand[what], pack(self.requests, *items))
            os.eventfd_write(self.launch.to_core, 1)
        with contextlib.suppress(OSError):
            # Whoever asked may have stopped waiting.
            self.socket.sendto(json.dumps(answer).encode(), sender)


class Programs(DaemonPrograms):
    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def service(self, launch: Launch) -> int:
        return PlainService(launch, self.folder).run()


def main(folder: str, options: str, *buses: str) -> int:
    pairs = [(name, url) for name, _, url in (bus.rpartition("@") for bus in buses)]
    return serve(
        ServeOptions(**json.loads(options)),
        pairs,
        environment=os.environ,
        programs=Programs(Path(folder)),
        show=lambda text: os.write(2, f"{text}\n".encode()),
    )


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
