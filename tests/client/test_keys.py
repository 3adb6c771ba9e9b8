from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from nuc_engine.client import Client, KeysError, NotAnswered, load_keys
from nuc_engine.client.off import take_torque_off
from nuc_engine.client.sockets import telemetry_address
from nuc_engine.messages.keys import ALLOWED, SERVER, Role, allow, load_public, make_pair
from nuc_engine.messages.keys import AllowedClient as Allowed
from tests.client.fake_daemon import CONFIGS, Clock
from tests.client.test_against_service import Pumped
from tests.service.bench import bench

pytestmark = pytest.mark.timeout(60)  # seconds: nothing is judged by it


@pytest.fixture
def keys(tmp_path: Path) -> Path:
    """A folder with the daemon's pair, bench's, which is allowed to operate, and stranger's, which is not."""
    folder = tmp_path / "keys"
    make_pair(folder, SERVER)
    public, _ = make_pair(folder, "bench")
    make_pair(folder, "stranger")
    allow(folder / ALLOWED, load_public(public), Allowed("bench", Role.OPERATE))
    return folder


@pytest.fixture
def pumped(tmp_path: Path, keys: Path, clock: Clock) -> Iterator[Pumped]:
    anywhere = "tcp://0.0.0.0:*"
    with bench(tmp_path, commands=(anywhere,), telemetry=anywhere, keys=keys) as made:
        made.configured(CONFIGS / "lin_roach")
        found = Pumped(made, clock)
        try:
            yield found
        finally:
            found.stop()


def here(url: str) -> str:
    return url.replace("0.0.0.0", "127.0.0.1")


def test_keys_tell_who_one_is_and_what_one_may(pumped: Pumped, keys: Path, clock: Clock) -> None:
    sockets = pumped.bench.service.sockets
    telemetry = here(sockets._publisher.last_endpoint.decode())
    own = load_keys(keys, "bench")
    with Client(here(sockets.urls[1]), name="somebody else", keys=own, telemetry=telemetry) as leg:
        leg.take_control()
        assert leg.greeting is not None
        assert (leg.greeting.author, leg.greeting.verified, leg.greeting.role) == ("bench", True, "operate")
        assert next(iter(leg.subscribe(["CTr_angle"], 50))).values == {"CTr_angle": 12.0}


def test_keys_that_are_not_on_the_list_are_told_so_at_once(pumped: Pumped, keys: Path, clock: Clock) -> None:
    address = here(pumped.bench.service.sockets.urls[1])
    with (
        Client(address, name="stranger", keys=load_keys(keys, "stranger")) as leg,
        pytest.raises(NotAnswered, match="does not accept these keys") as caught,
    ):
        leg.status()
    assert not caught.value.sent


def test_torque_off_by_itself_uses_keys_and_tells_where_they_are_not_known(pumped: Pumped, keys: Path) -> None:
    address = here(pumped.bench.service.sockets.urls[1])
    own = load_keys(keys, "bench")
    assert take_torque_off(address, name="x", why="", timeout_s=30.0, keys=own)["torque"] is False
    for found in (None, load_keys(keys, "stranger")):
        with pytest.raises(NotAnswered, match="keys"):
            take_torque_off(address, name="x", why="", timeout_s=0.3, keys=found)


def test_without_keys_nobody_is_heard(pumped: Pumped) -> None:
    address = here(pumped.bench.service.sockets.urls[1])
    with Client(address, name="nobody", timeout_s=0.3) as leg, pytest.raises(NotAnswered) as caught:
        leg.status()
    assert "keys" in str(caught.value)


def test_a_folder_with_one_pair_needs_no_name(keys: Path, tmp_path: Path) -> None:
    mine = tmp_path / "mine"
    mine.mkdir()
    for name in ("bench.key_secret", "server.key"):
        (mine / name).write_bytes((keys / name).read_bytes())
        (mine / name).chmod(0o600)
    assert load_keys(mine) == load_keys(keys, "bench")


@pytest.mark.parametrize(
    ("name", "missing", "text"),
    [
        ("", "", "found bench.key_secret, stranger.key_secret"),
        ("bench", "server.key", "server.key"),
        ("bench", "bench.key", ""),
    ],
)
def test_what_is_missing_is_named(keys: Path, name: str, missing: str, text: str) -> None:
    if missing:
        (keys / missing).unlink()
    if not text:
        assert load_keys(keys, name).public
        return
    with pytest.raises(KeysError, match=text):
        load_keys(keys, name)


def test_a_folder_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(KeysError, match="nuc keys new"):
        load_keys(tmp_path / "none")


@pytest.mark.parametrize(
    ("commands", "told", "address"),
    [
        ("tcp://127.0.0.1:44106", "", "tcp://127.0.0.1:9872"),
        ("tcp://10.0.0.7:44106", "", "tcp://10.0.0.7:9872"),
        ("tcp://10.0.0.7:44106", "tcp://127.0.0.1:9000", "tcp://10.0.0.7:9000"),
        ("tcp://10.0.0.7:44106", "tcp://*:9000", "tcp://10.0.0.7:9000"),
        ("tcp://10.0.0.7:44106", "tcp://10.0.0.8:9000", "tcp://10.0.0.8:9000"),
        ("ipc:///run/nuc/command", "ipc:///run/nuc/telemetry", "ipc:///run/nuc/telemetry"),
        ("ipc:///run/nuc/command", "tcp://127.0.0.1:9000", "tcp://127.0.0.1:9000"),
        ("ipc:///run/nuc/command", "", "ipc:///run/nuc/telemetry"),
    ],
)
def test_telemetry_is_looked_for_where_the_daemon_is(commands: str, told: str, address: str) -> None:
    assert telemetry_address(commands, told) == address


def test_telemetry_of_a_mounted_folder_is_looked_for_in_it(tmp_path: Path) -> None:
    (tmp_path / "telemetry").touch()
    here = f"ipc://{tmp_path}/telemetry"
    assert telemetry_address(f"ipc://{tmp_path}/command", "ipc:///run/nuc/leg/telemetry") == here
