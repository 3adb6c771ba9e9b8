"""A service on its own thread of nothing: real sockets, a clock of paper, a fake core, pumped by the test."""

from __future__ import annotations

import asyncio
import io
import os
import selectors
from collections.abc import Callable
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgpack
import zmq

from nuc_engine.daemon.block import Block, Word
from nuc_engine.daemon.launch import BusLine, Launch, ServeOptions
from nuc_engine.datalogger.logger import Logger
from nuc_engine.machine.locations import find_configuration
from nuc_engine.service.configuration import read_configuration
from nuc_engine.service.folders import Folders
from nuc_engine.service.service import Service
from tests.sccils.small import SMALL
from tests.service.fake_core import FakeCore

HERE = f"(user {os.getuid()}, process {os.getpid()})"
"""What is behind the name of every client of a test: who opened its connection, as the kernel says."""


class PaperLoop(asyncio.SelectorEventLoop):
    """An asyncio loop on a clock of paper: whatever is due on that is done, and nothing is waited for."""

    def __init__(self, now_ns: Callable[[], int]) -> None:
        self._selecting = _Selector()
        super().__init__(self._selecting)
        self._now_ns = now_ns
        self._wrong: list[Any] = []
        self.set_exception_handler(lambda _, told: self._wrong.append(told))

    def time(self) -> float:
        return self._now_ns() / 1e9

    def turn(self, wait_s: float = 0.0) -> None:
        """Go round once; `wait_s` is how long something may take to come that other threads see to."""
        self._selecting.wait_s = wait_s
        self.call_soon(self.stop)
        self.run_forever()
        if self._wrong:
            told = self._wrong.pop()
            raise told.get("exception") or AssertionError(told)


class _Selector(selectors.DefaultSelector):
    wait_s = 0.0

    def select(self, timeout: float | None = None) -> Any:
        return super().select(self.wait_s)


_TIMEOUT_TURNS = 60_000
"""So many turns of a millisecond and more before what does not come is given up. Nothing is judged by it: messages come
when the threads of ZeroMQ get a processor."""


class FakeLogger:
    """Remembers what it was told; its documents outlive a service."""

    def __init__(self) -> None:
        self.told: list[tuple[Any, ...]] = []
        self.kept: tuple[str, dict[str, bytes]] | None = None
        self.folder = None

    def documents(self):
        return self.kept

    def tell_documents(self, name, files):
        self.kept = (name, dict(files))

    def status(self):
        return {"state": "off", "folder": self.folder() if callable(self.folder) else self.folder}

    def author(self, request: int) -> str:
        """Return whose an edit is, by what was told."""
        runs = [told for told in self.told if told[0] == "author" and told[1] <= request]
        return runs[-1][2] if runs else ""

    def __getattr__(self, name: str):
        if not name.startswith("tell_"):
            raise AttributeError(name)
        return lambda *args, **how: self.told.append(
            (name.removeprefix("tell_"), *args, *(word for word, said in how.items() if said))
        )


class Refusal(Exception):
    def __init__(self, error: dict[str, str]) -> None:
        super().__init__(f"{error['kind']}: {error['text']} ({error['hint']})")
        self.kind, self.text, self.hint = error["kind"], error["text"], error["hint"]


class Bench:
    def __init__(self, tmp_path: Path, *, logged: bool = False, **options: Any) -> None:
        self.tmp = tmp_path
        self.now = 5_000_000_000
        self.block = Block.create()
        given = {
            "data": tmp_path / "data",
            **options,
        }
        self.command, self.telemetry = f"ipc://{tmp_path}/command", f"ipc://{tmp_path}/telemetry"
        fds = [os.eventfd(0, os.EFD_NONBLOCK | os.EFD_CLOEXEC) for _ in range(3)]
        self.fds = fds
        buses = (BusLine("", "aimotor:///dev/null", -1),)
        self.launch = Launch(self.block, *fds, -1, buses, ServeOptions(**given), run_dir=tmp_path)
        self.folders = Folders(tmp_path / "data", tmp_path / "configs", tmp_path / "scripts")
        self.core = FakeCore(self.block, self.now_ns)
        self.journal = io.StringIO()
        self.logger: Any = self._real_logger() if logged else FakeLogger()
        if not logged:
            self.logger.folder = lambda: f"data/{self.block.words[Word.BOUT]}" if self.block.words[Word.BOUT] else None
        self.logs = logged
        self.sockets: list[Any] = []
        self.dump = False
        self.sent = self.received = 0
        self.loop = PaperLoop(self.now_ns)
        asyncio.set_event_loop(self.loop)
        try:
            self.service = self.open()
        except Exception:
            self._close_loop()
            raise
        self.context = zmq.Context()

    def _real_logger(self) -> Logger:
        return Logger(
            self.launch,
            wall=lambda: datetime(2031, 5, 6, tzinfo=UTC),
            now_ns=self.now_ns,
            request_dump=lambda: setattr(self, "dump", True),
            stream=self.journal,
            sync=False,
        )

    def write_logs(self) -> None:
        """Let the real logger do what there is to do."""
        while self.logger._writer.step(self.now):
            pass
        self.logger._status = self.logger._describe()

    def now_ns(self) -> int:
        return self.now

    def open(self) -> Service:
        service = Service(
            self.launch,
            self.logger,
            self.loop,
            now_ns=self.now_ns,
            unix_time_s=lambda: 1_700_000_000.0 + self.now / 1e9,
            folders=self.folders,
            dump_wanted=self._dump_wanted,
        )
        messages = service.sockets.messages

        def counted(ready):
            for message in messages(ready):
                self.received += 1
                yield message

        service.sockets.messages = counted
        return service

    def _dump_wanted(self) -> bool:
        wanted, self.dump = self.dump, False
        return wanted

    def restart(self) -> None:
        """Let the service die and a new one come."""
        self.service.close()
        self.block.words[Word.SERVICE_DEATHS] += 1
        self.service = self.open()

    def close(self) -> None:
        for socket in self.sockets:
            socket.close(0)
        self.service.close()
        self.context.term()
        self._close_loop()

    def _close_loop(self) -> None:
        self.loop.close()
        asyncio.set_event_loop(None)
        for fd in self.fds:
            os.close(fd)

    def turn(self, times: int = 1) -> None:
        for _ in range(times):
            self.loop.call_soon(self.service.step)
            for _ in range(3):  # what was waited for, and who waited
                self.loop.turn()
            self.core.step()
            if self.logs:
                self.write_logs()

    def until(self, condition: Callable[[], Any]) -> None:
        """Turn until something is so that the threads of ZeroMQ, or the workshop's, bring about in their own time."""
        for _ in range(_TIMEOUT_TURNS):
            self.turn()
            if condition():
                return
            self.loop.turn(0.001)
        raise AssertionError("it never was so")

    def knows(self, identity: bytes) -> bool:
        """Say whether the service still has a connection of this identity: as long as it has, it hears no other."""
        return any(_routes(router, identity) for router in self.service.sockets._routers)

    def pass_time(self, seconds: float) -> None:
        self.now += round(seconds * 1e9)
        self.turn(3)

    def configured(self, folder: Path | str = SMALL) -> Bench:
        folder = find_configuration(str(folder))
        self.service.hub.install(read_configuration(folder.name, folder))
        self.turn(4)
        self.core.cycle()
        self.turn(2)
        return self

    def client(self, name: str | None = None, *, kind: int = zmq.DEALER, address: str | None = None) -> Talker:
        socket = self.context.socket(kind)
        socket.linger = 0
        self.sockets.append(socket)
        socket.connect(address or self.command)
        talker = Talker(self, socket)
        if name is not None:
            talker.ask("hello", name=name)
        return talker

    def listener(self, topic: str = "", address: str | None = None) -> Any:
        socket = self.context.socket(zmq.SUB)
        socket.linger = 0
        self.sockets.append(socket)
        socket.connect(address or self.telemetry)
        socket.subscribe(topic)
        self.until(lambda: self.service.sockets.listened(topic or "nuc"))
        return socket


def _routes(router: Any, identity: bytes) -> bool:
    router.router_mandatory = True
    try:
        router.send_multipart([identity, b""], zmq.NOBLOCK)
    except zmq.ZMQError as error:
        return error.errno != zmq.EHOSTUNREACH
    finally:
        router.router_mandatory = False
    return True


def send(bench: Bench, socket: Any, *frames: bytes) -> None:
    """Send a message; where queues are full the service has its turn: it runs in this thread, and nobody else would."""
    for _ in range(_TIMEOUT_TURNS):
        try:
            return socket.send_multipart(frames, zmq.NOBLOCK)
        except zmq.Again:
            bench.turn()
            socket.poll(1, zmq.POLLOUT)
    raise AssertionError("no room to send")


class Talker:
    """One client of the command socket."""

    def __init__(self, bench: Bench, socket: Any) -> None:
        self.bench, self.socket = bench, socket
        self.number = 0
        self.answers: dict[Any, dict[str, Any]] = {}

    def send(self, method: str, **params: Any) -> int:
        self.number += 1
        self.raw(msgpack.packb({"id": self.number, "method": method, "params": params}))
        return self.number

    def raw(self, *frames: bytes) -> None:
        send(self.bench, self.socket, *frames)
        self.bench.sent += 1

    def delivered(self) -> None:
        """Turn until the service has heard all that was sent to it: by this client and by every other."""
        self.bench.until(lambda: self.bench.received >= self.bench.sent)

    def recv(self) -> bytes:
        return self.frames()[-1]

    def frames(self) -> list[bytes]:
        for _ in range(_TIMEOUT_TURNS):
            self.bench.turn()
            if self.socket.poll(1):
                return self.socket.recv_multipart()
        raise AssertionError("no answer")

    def answer(self, number: Any) -> Any:
        while number not in self.answers:
            found = msgpack.unpackb(self.recv(), strict_map_key=False)
            self.answers[found["id"]] = found
        found = self.answers.pop(number)
        if not found["ok"]:
            raise Refusal(found["error"])
        return found["result"]

    def ask(self, method: str, **params: Any) -> Any:
        return self.answer(self.send(method, **params))

    def silent(self, turns: int = 20, *, received: bool = True) -> bool:
        """Say whether nothing is answered to what the service has heard; or to what it does not hear at all."""
        if received:
            self.delivered()
        for _ in range(turns):
            self.bench.turn()
            if self.socket.poll(1):
                return False
        return True


@contextmanager
def bench(tmp_path: Path, **options: Any):
    made = Bench(tmp_path, **options)
    try:
        yield made
    finally:
        made.close()


__all__ = ["Bench", "Refusal", "Talker", "bench", "send"]
