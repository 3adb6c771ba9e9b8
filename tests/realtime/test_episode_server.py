"""A server of episodes as clients, viewers and strangers meet it: over real sockets, in a process of its own."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import socket
import statistics
import time  # noqa: TID251  real processes live on the real clock
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
import zmq
from websockets.exceptions import ConnectionClosed, InvalidHandshake
from websockets.sync.client import ClientConnection, connect

from nuc_engine.bout.episode import EpisodeSpec, record_episode
from nuc_engine.client import Client, NotAnswered, Refused
from nuc_engine.messages.episodes import EpisodeStatus, EpisodeStatusRequest, StartEpisodeRequest, StopEpisodeRequest
from nuc_engine.messages.snapshots import DONE, RUNNING, EpisodeSnapshot, read_snapshot
from nuc_engine.ui.episodes import MOST_BYTES, MOST_CONNECTIONS, MOST_SOCKETS, REFUSED
from tests.realtime.daemon import Process
from tests.realtime.daemon import wait_for as wait_until

FIRST_STEP_S = 0.05


def wait_for(condition: Callable[[], object]) -> None:
    wait_until(condition, "what has to come")


class Server:
    """`nuc episode serve`, a client of it, and a port where its datagrams arrive."""

    def __init__(self, folder: Path, timeout_s: float = 10.0) -> None:
        self.folder, self.data = folder, folder / "data"
        self.viewer = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.viewer.bind(("127.0.0.1", 0))
        self.viewer.settimeout(10.0)
        port = self.viewer.getsockname()[1]
        words = ["nuc_engine.cli", "episode", "serve", "--data", str(self.data), "--udp", f"127.0.0.1:{port}"]
        self.process = Process([*words, "--web", "0"], folder, "server")
        wait_for(lambda: "ws://" in self.process.said() or self.process.process.poll() is not None)
        self.address = f"ipc://{folder}/nuc/episodes/episodes"
        self.client = Client(self.address, name="test", timeout_s=timeout_s)

    @property
    def token_file(self) -> Path:
        return Path(self.process.said().rpartition("token in ")[2].partition(")")[0])

    @property
    def token(self) -> dict[str, str]:
        """Return a token that nobody has used, with the port's URL and origin."""
        return json.loads(self.token_file.read_text())

    def start(self, config: str = "flight_helix", **said: Any) -> Any:
        return self.client.do(StartEpisodeRequest(config, **said))

    def stop(self) -> EpisodeStatus:
        return self.client.do(StopEpisodeRequest())

    def status(self) -> EpisodeStatus:
        return self.client.do(EpisodeStatusRequest())

    def ended(self) -> EpisodeStatus:
        wait_for(lambda: self.status().state != "running")
        return self.status()

    def seen(self) -> EpisodeSnapshot:
        return read_snapshot(self.viewer.recv(8192))

    def forget(self) -> None:
        """Read what has come so far."""
        self.viewer.setblocking(False)
        try:
            while True:
                self.viewer.recv(8192)
        except BlockingIOError:
            self.viewer.settimeout(10.0)

    def pids(self) -> list[int]:
        """Return the server, and the process that runs its episodes."""
        children = Path(f"/proc/{self.server}/task/{self.server}/children").read_text().split()
        return [self.server, *map(int, children)]

    @property
    def server(self) -> int:
        """The server's own pid: what the test started may stand before it."""
        return next(
            pid for pid in family(self.process.pid) if b"episode\0serve" in Path(f"/proc/{pid}/cmdline").read_bytes()
        )

    def close(self) -> None:
        self.client.close()
        self.viewer.close()
        assert self.process.end() == 0, self.process.said()
        assert "Traceback" not in self.process.said()
        assert not list((self.folder / "nuc").iterdir())


def family(pid: int) -> list[int]:
    children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    return [pid, *(each for child in children for each in family(int(child)))]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    folder = tmp_path_factory.mktemp("e")
    one = Server(folder)
    yield one
    one.close()


@contextlib.contextmanager
def opened(server: Server, **more: Any) -> Iterator[ClientConnection]:
    token = server.token
    with connect(token["url"], origin=token["origin"], compression=None, proxy=None, **more) as connection:  # type: ignore[arg-type]
        connection.send(json.dumps({"token": token["token"]}))
        assert set(json.loads(connection.recv(10))) == {"session"}
        yield connection


def asked(connection: ClientConnection, method: str, **params: Any) -> dict[str, Any]:
    connection.send(json.dumps({"id": 7, "method": method, "params": params}))
    return json.loads(connection.recv(15))


def port_of(token: dict[str, str]) -> int:
    return int(token["url"].rpartition(":")[2].partition("/")[0])


# --- what it is for ---


def test_a_flight_is_the_same_to_the_byte_as_without_a_server_whoever_looks_on(server: Server, tmp_path: Path) -> None:
    record_episode(EpisodeSpec("flight_limited", tmp_path / "alone"))
    begun = server.start("flight_limited", out="seen")
    status = server.ended()
    assert (status.state, status.reason, status.t_s) == ("done", "ran for the time asked for", status.of_s)
    seen, alone = (folder / "EpisodeData.f64" for folder in (Path(begun.folder), tmp_path / "alone"))
    assert seen.read_bytes() == alone.read_bytes()
    assert status.columns == begun.columns
    assert len(status.columns) == 20


def test_a_status_says_how_far_it_is_and_a_stop_ends_it_where_it_was(server: Server) -> None:
    server.start("flight_hover", speed=1.0, log=False, changes={"timing.duration_s": 1000})
    first = server.status()
    assert (first.state, first.of_s, first.speed, first.folder) == ("running", 1000.0, 1.0, "")
    wait_for(lambda: server.status().t_s > first.t_s + 0.2)
    with pytest.raises(Refused, match="runs"):
        server.start()
    stopped = server.stop()
    assert (stopped.state, stopped.reason) == ("done", "stopped by the operator")
    assert first.t_s < stopped.t_s < 1000
    assert server.stop().state == "done"


def test_what_cannot_be_run_is_refused_with_everything_that_is_wrong_and_leaves_nothing(server: Server) -> None:
    before = sorted(server.data.glob("*"))
    with pytest.raises(Refused) as refused:
        server.start(changes={"dynamics.mass_kg": -1, "timing.dt_s": 0}, out="wrong")
    assert "dynamics.mass_kg: -1" in refused.value.text
    assert "timing.dt_s: 0" in refused.value.text
    assert sorted(server.data.glob("*")) == before
    server.start("flight_circle", changes={"dynamics.tau_roll_s": 0.001}, log=False)
    failed = server.ended()
    assert (failed.state, failed.reason.partition(":")[0]) == ("failed", "diverged")


def test_the_first_step_is_made_within_50_ms_of_the_request(server: Server) -> None:
    """Half of twenty: an odd one on a busy machine says nothing."""
    took: list[float] = []
    for _ in range(20):
        begun = time.monotonic()
        server.start(log=True, speed=1.0)
        took.append(time.monotonic() - begun)
        server.stop()
    assert statistics.median(took) < FIRST_STEP_S, took


def test_datagrams_are_the_newest_state_in_their_order_and_the_last_says_that_it_is_over(server: Server) -> None:
    server.forget()
    server.start("flight_helix", speed=10.0, log=False, changes={"timing.duration_s": 2})
    seen = [server.seen()]
    while seen[-1].phase == RUNNING:
        seen.append(server.seen())
    status = server.ended()
    assert seen[-1].phase == DONE
    assert seen[-1].time_s == 2.0
    assert {each.episode for each in seen} == {status.episode}
    assert [each.sequence for each in seen] == list(range(1, status.snapshots + 1))
    assert [each.time_s for each in seen] == sorted(each.time_s for each in seen)
    assert (len(seen[0].state), len(seen[0].reference), len(seen[0].control)) == (9, 7, 4)


# --- who looks on changes nothing ---


def test_a_viewer_that_stalls_floods_or_is_gone_changes_no_byte(server: Server, tmp_path: Path) -> None:
    """It does not read, it sends rubbish to where the datagrams come from, it closes its port."""
    record_episode(EpisodeSpec("flight_helix", tmp_path / "alone"))
    alone = (tmp_path / "alone" / "EpisodeData.f64").read_bytes()
    flood = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    for name in ("stalls", "floods"):
        server.forget()
        begun = server.start(speed=40.0, out=name)
        _, sender = server.viewer.recvfrom(8192)
        assert sender[0] == "127.0.0.1"
        while server.status().state == "running":
            for _ in range(200 if name == "floods" else 0):
                flood.sendto(os.urandom(1400), sender)
        assert (Path(begun.folder) / "EpisodeData.f64").read_bytes() == alone
    flood.close()
    at = server.viewer.getsockname()
    server.viewer.close()
    begun = server.start(speed=40.0, out="gone")
    status = server.ended()
    assert (Path(begun.folder) / "EpisodeData.f64").read_bytes() == alone
    assert status.snapshots > 10
    server.viewer = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    server.viewer.bind(at)
    server.viewer.settimeout(10.0)


def test_a_flood_of_requests_costs_the_flooder_its_answers_and_the_episode_nothing(
    server: Server, tmp_path: Path
) -> None:
    record_episode(EpisodeSpec("flight_helix", tmp_path / "alone"))
    begun = server.start(speed=20.0, out="flooded")
    context = zmq.Context()
    flooder = context.socket(zmq.DEALER)
    flooder.linger = 0
    flooder.connect(server.address)
    params = {"config": "flight_hover", "run": "#" * 3000}
    start = msgspec.msgpack.encode({"id": 1, "method": "start", "params": params})
    for _ in range(10_000):
        if flooder.poll(1000, zmq.POLLOUT):
            flooder.send(start, zmq.DONTWAIT)
    wait_for(lambda: server.status().state == "done")
    assert flooder.poll(1000)
    assert b"no_control" in flooder.recv()
    assert sum(client["too_fast"] for client in server.status().clients) > 1000
    flooder.close()
    context.term()
    log = (Path(begun.folder) / "EpisodeData.f64").read_bytes()
    assert log == (tmp_path / "alone" / "EpisodeData.f64").read_bytes()


# --- over a WebSocket ---


def test_over_a_websocket_the_same_is_asked_in_json(server: Server) -> None:
    server.client.release_control()
    with opened(server) as page:
        assert asked(page, "hello", name="unity")["result"]["role"] == "admin"
        begun = asked(page, "start", config="flight_hover", speed=1.0, log=False)
        assert begun["ok"]
        assert begun["note"] == "you have control now"
        status = asked(page, "status")["result"]
        assert (status["state"], status["control"]) == ("running", "unity")
        with pytest.raises(Refused, match="has control"):
            server.stop()
        assert asked(page, "stop")["result"]["state"] == "done"
    wait_for(lambda: server.status().control == "")


@pytest.mark.parametrize(
    "headers",
    [
        {"origin": "http://evil.example"},
        {"origin": None},
        {"origin": "null"},
        {"host": "evil.example"},
        {"origin": "http://127.0.0.1:1"},
    ],
)
def test_pages_of_others_are_refused_before_it_is_a_websocket(server: Server, headers: dict[str, str | None]) -> None:
    token = server.token
    said: dict[str, Any] = {"origin": token["origin"], **headers}
    host = said.pop("host", None)
    port = port_of(token)
    with pytest.raises(InvalidHandshake, match="403"):
        url, line = token["url"], None
        if host is not None:
            url, line = f"ws://{host}:{port}/episodes", socket.create_connection(("127.0.0.1", port))
        with connect(url, proxy=None, sock=line, **said):
            pass


def test_another_path_and_a_token_that_is_none_or_used_get_nothing(server: Server) -> None:
    token = server.token
    with (
        pytest.raises(InvalidHandshake, match="404"),
        connect(token["url"] + "/..", origin=token["origin"], proxy=None),
    ):
        pass
    with connect(token["url"], origin=token["origin"], proxy=None) as first:
        first.send(json.dumps({"token": token["token"]}))
        secret = json.loads(first.recv(10))
    with connect(token["url"], origin=token["origin"], proxy=None) as again:
        again.send(json.dumps(secret))
        assert json.loads(again.recv(10)) == secret
    used = json.dumps({"token": token["token"]})
    for first_words in (used, "{}", "[1]", "{", '{"token": 3}', "[" * 100_000, b"\xff\xfe", '{"session": "x", "a": 1}'):
        with connect(token["url"], origin=token["origin"], proxy=None) as stranger:
            stranger.send(first_words)
            with pytest.raises(ConnectionClosed) as closed:
                stranger.recv(10)
            assert closed.value.rcvd.code == REFUSED
    assert server.token_file.stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize(
    ("message", "kind"),
    [
        ("{", "bad_request"),
        ("[]", "bad_request"),
        ('{"id": 1, "method": "start", "params": {"config": "flight_hover", "speed": NaN}}', "bad_request"),
        ('{"id": 1, "method": "start", "params": {"config": "flight_hover", "speed": 1e400}}', "bad_request"),
        ('{"id": 1, "method": "start", "params": {"config": "flight_hover", "speed": -1}}', "bad_request"),
        ('{"id": 1, "method": "start", "params": {}}', "bad_request"),
        (
            '{"id": 1, "method": "start", "params": {"config": "flight_hover", "changes": {"seed": 1'
            + "0" * 30
            + "}}}",
            "bad_request",
        ),
        ('{"id": 1, "method": "start", "params": {"config": "flight_hover", "out": "link"}}', "refused"),
        ('{"id": 1, "method": "start", "params": {"config": "../../etc"}}', "bad_request"),
        ('{"id": 1, "method": "start", "params": {"config": "flight_hover", "out": "../x"}}', "bad_request"),
        ('{"id": 1, "method": "start", "params": {"config": "flight_hover", "out": "/tmp/x"}}', "bad_request"),
        ('{"id": 1, "method": "start", "params": {"config": "flight_hover", "rm": 1}}', "bad_request"),
        ('{"id": 1, "method": "start", "params": {"run": "' + "x = 1\\n" * 50_000 + '"}}', "bad_request"),
        ('{"id": 1, "method": "start", "params": {"run": "x = ' + "[" * 100_000 + '"}}', "refused"),
        ('{"id": 1, "method": "arm", "params": {}}', "unknown_method"),
        ('{"id": null, "method": "status"}', "bad_request"),
        ("[" * 200_000, "bad_request"),
        (b"\xff\x00\xfe", "bad_request"),
    ],
    ids=lambda value: str(value)[:60],
)
def test_what_is_no_request_is_answered_and_nothing_else_happens(server: Server, message: Any, kind: str) -> None:
    server.data.mkdir(exist_ok=True)
    if not (server.data / "link").is_symlink():
        (server.data / "link").symlink_to(server.folder / "elsewhere")
    before = sorted(server.data.glob("*"))
    with opened(server) as page:
        page.send(message)
        answer = json.loads(page.recv(15))
        assert answer["ok"] is False
        assert answer["error"]["kind"] == kind
        assert asked(page, "status")["ok"]
    assert sorted(server.data.glob("*")) == before
    assert not (server.folder / "elsewhere").exists()


def test_a_message_that_is_too_long_costs_its_connection(server: Server) -> None:
    with opened(server, max_size=None) as page:
        page.send("x" * (MOST_BYTES + 1))
        with pytest.raises(ConnectionClosed) as closed:
            page.recv(10)
        assert closed.value.rcvd.code == 1009
    assert server.status().state in ("idle", "done", "failed")


def test_a_websocket_that_never_reads_is_ended_and_others_notice_nothing(server: Server) -> None:
    async def flood() -> bool:
        from websockets.asyncio.client import connect as open_it

        token = server.token
        line = socket.socket()
        line.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        line.connect(("127.0.0.1", port_of(token)))
        how = {"origin": token["origin"], "compression": None, "proxy": None, "ping_interval": None, "sock": line}
        async with open_it(token["url"], max_queue=1, **how) as page:
            await page.send(json.dumps({"token": token["token"]}))
            await page.recv()
            try:
                async with asyncio.timeout(60):
                    while True:
                        await page.send(json.dumps({"id": 1, "method": "status"}))
                        await asyncio.sleep(0.0002)
            except ConnectionClosed:
                return True
            return False

    server.client.take_control(force=True)
    server.start("flight_hover", speed=1.0, log=False, changes={"timing.duration_s": 1000})
    at = server.status().t_s
    assert asyncio.run(flood())
    assert server.status().t_s > at
    assert server.stop().reason == "stopped by the operator"


# --- strangers ---


def raw(port: int, content: bytes) -> bytes:
    with socket.create_connection(("127.0.0.1", port)) as line:
        line.settimeout(10.0)
        line.sendall(content)
        answer = b""
        try:
            while part := line.recv(4096):
                answer += part
        except OSError:
            pass
        return answer


def test_plain_http_does_nothing(server: Server) -> None:
    """A body that holds a request is none: no page's form begins or ends an episode."""
    port = port_of(server.token)
    number = server.status().episode
    body = b'{"id": 1, "method": "start", "params": {"config": "flight_hover"}}'
    for head in (b"POST /episodes", b"GET /episodes", b"GET /", b"START flight_hover"):
        content = head + b" HTTP/1.1\r\nHost: 127.0.0.1:%d\r\nContent-Length: %d\r\n\r\n" % (port, len(body)) + body
        assert b" 101 " not in raw(port, content)
    assert raw(port, body + b"\n") is not None
    assert raw(port, os.urandom(5000)) is not None
    with socket.socket(socket.AF_UNIX) as line:
        line.connect(server.address.removeprefix("ipc://"))
        line.sendall(b"POST / HTTP/1.1\r\nHost: x\r\n\r\n" + body * 10)
        line.settimeout(10.0)
        with contextlib.suppress(OSError):
            assert not line.recv(4096).startswith(b"HTTP")
    assert server.status().episode == number


def test_the_socket_is_for_its_user_and_group(server: Server) -> None:
    path = Path(server.address.removeprefix("ipc://"))
    assert path.stat().st_mode & 0o777 == 0o660
    assert path.parent.stat().st_mode & 0o777 == 0o750


def test_connections_without_end_keep_nobody_out(server: Server) -> None:
    port = port_of(server.token)
    lines = [socket.create_connection(("127.0.0.1", port)) for _ in range(MOST_CONNECTIONS + 40)]
    try:
        assert server.status().control is not None
        # Who says nothing is put out, and then there is room again.
        wait_for(lambda: _may_open(server))
    finally:
        for line in lines:
            line.close()
    with contextlib.ExitStack() as stack:
        for _ in range(MOST_SOCKETS):
            stack.enter_context(opened(server))
        crowd(server)


def crowd(server: Server) -> None:
    token = server.token
    with connect(token["url"], origin=token["origin"], proxy=None) as crowded, pytest.raises(ConnectionClosed):
        crowded.recv(10)


def _may_open(server: Server) -> bool:
    try:
        with opened(server):
            return True
    except (OSError, InvalidHandshake, ConnectionClosed, EOFError, TimeoutError):
        return False


# --- it stays as it was ---


def used(pid: int) -> tuple[int, int, int]:
    """Return descriptors, threads and KiB of private memory of a process."""
    status = Path(f"/proc/{pid}/status").read_text()
    found = dict(line.split(":", 1) for line in status.splitlines() if ":" in line)
    rollup = Path(f"/proc/{pid}/smaps_rollup").read_text()
    private = sum(int(line.split()[1]) for line in rollup.splitlines() if line.startswith("Private_"))
    return len(os.listdir(f"/proc/{pid}/fd")), int(found["Threads"]), private


def at_rest(server: Server) -> list[tuple[int, int, int]]:
    """Return what is used once the kernel has let go of the thread of an episode that has ended."""
    wait_for(lambda: used(server.pids()[1])[1] == 1)
    return [used(pid) for pid in server.pids()]


def test_a_thousand_starts_and_stops_leave_nothing_behind(server: Server) -> None:
    server.client.take_control(force=True)
    files = sorted(server.data.glob("*"))
    for _ in range(100):
        server.start("flight_random", speed=1.0, log=False)
        server.stop()
    before = at_rest(server)
    for k in range(1000):
        server.start("flight_random", speed=1.0, log=False, changes={"seed": k})
        assert server.stop().state == "done"
    after = at_rest(server)
    assert [each[:2] for each in after] == [each[:2] for each in before]
    assert all(now[2] - then[2] < 1024 for now, then in zip(after, before, strict=True)), (before, after)
    assert sorted(server.data.glob("*")) == files
    assert server.status().connections["workers_died"] == 0


def test_a_worker_that_is_killed_is_told_of_and_replaced(server: Server) -> None:
    begun = server.start("flight_hover", speed=1.0, out="killed")
    (worker,) = server.pids()[1:]
    os.kill(worker, 9)
    failed = server.ended()
    assert (failed.state, failed.reason) == ("failed", "the process that ran it ended by SIGKILL")
    assert json.loads((Path(begun.folder) / "manifest.json").read_text())["state"] == "running"
    assert server.start("flight_hover", log=False).episode == failed.episode + 1
    assert server.ended().state == "done"


def test_a_server_that_is_killed_takes_its_episode_with_it_and_the_log_is_whole(tmp_path: Path) -> None:
    one = Server(tmp_path, 1.0)
    begun = one.start("flight_hover", speed=1.0, changes={"timing.duration_s": 1000})
    server, worker = one.pids()
    os.kill(server, 9)
    wait_for(lambda: not Path(f"/proc/{worker}/cmdline").exists() or not Path(f"/proc/{worker}/cmdline").read_bytes())
    record = json.loads((Path(begun.folder) / "manifest.json").read_text())
    assert (record["state"], record["reason"]) == ("interrupted", "stopped by the operator")
    with pytest.raises(NotAnswered):
        one.status()
    one.client.close()
    one.viewer.close()
    one.process.ended()
    again = Server(tmp_path)  # over the socket and the lock that it left
    assert again.start("flight_hover", log=False).episode == 1
    assert again.ended().state == "done"
    again.close()
