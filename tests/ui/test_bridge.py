"""One daemon watched for all tabs: what is told of it, and when it is gone."""

from __future__ import annotations

import asyncio
import json
import struct
import time  # noqa: TID251  a daemon that does not answer is a matter of real time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from nuc_engine.daemon.modes import Mode
from nuc_engine.ui.bridge import DaemonBridge, encode, pack
from nuc_engine.ui.stream import fields_of
from nuc_engine.ui.unwatched import UnwatchedStop
from tests.client.fake_daemon import FakeDaemon, Leg, serving

PATIENCE_S = 30.0


class Ear:
    """A listener that keeps what it is told."""

    def __init__(self) -> None:
        self.told: list[dict[str, Any]] = []
        self.holders: list[str] = []

    def put(self, message: str | bytes, records: int = 0) -> None:
        if isinstance(message, str):
            self.told.append(json.loads(message))

    def control(self, holder: str, asked_s: float) -> None:
        self.holders.append(holder)

    def topics(self) -> list[str]:
        return [told["topic"] for told in self.told]


async def until(condition: Callable[[], object]) -> None:
    end = time.monotonic() + PATIENCE_S
    while not condition():
        assert time.monotonic() < end
        await asyncio.sleep(0.01)


def test_a_newcomer_is_told_how_things_are_and_all_are_told_when_it_is_gone_and_back(tmp_path: Path) -> None:
    address, daemon = f"ipc://{tmp_path}/command", FakeDaemon(Leg())

    async def work() -> None:
        bridge = DaemonBridge(address, name="page")
        first, second = Ear(), Ear()
        bridge.start()
        try:
            bridge.join(first)
            with serving(daemon, address):
                await until(lambda: "status" in first.topics())
                await until(lambda: any(told.get("model") for told in first.told))
                bridge.join(second)
                assert second.topics()[:2] == ["layout", "status"]
                assert second.told[0]["configuration"] == daemon.leg.data["name"]
                bridge.part(second)
                told = len(second.told)
            begun = time.monotonic()
            await until(lambda: first.topics()[-1] == "gone")
            assert time.monotonic() - begun < 3.0
            assert first.told[-1]["why"]
            third = Ear()
            bridge.join(third)
            assert "gone" in third.topics(), "nobody is left to believe old values"
            with serving(daemon, address):
                await until(lambda: "back" in first.topics())
                await until(lambda: "status" in first.topics()[first.topics().index("back") :])
            assert len(second.told) == told, "who has gone is told nothing"
        finally:
            await bridge.close()

    asyncio.run(work())
    assert {name for name, _ in daemon.requests} <= {*("hello", "status", "events", "model", "subscribe", "leave")}
    assert all(params["role"] == "watch" for name, params in daemon.requests if name == "hello")


def test_a_batch_is_laid_out_as_the_page_reads_it() -> None:
    batch = pack(3, [(1, 2.5), (1 << 60, -1)])
    layout, count, sent = struct.unpack_from("<IId", batch)
    assert (layout, count) == (3, 2)
    assert abs(sent - time.time()) < 60
    assert struct.unpack_from("<4d", batch, 16) == (1.0, 2.5, float(1 << 60), -1.0)


def test_numbers_that_json_has_not_are_null() -> None:
    assert json.loads(encode("x", value=float("nan"), more=[float("inf")])) == {
        "topic": "x",
        "value": None,
        "more": [None],
    }


def test_a_model_gives_the_columns_that_the_file_of_cycles_has() -> None:
    from nuc_engine.bout.run import prepare_bout
    from nuc_engine.daemon.cyclering import columns_of

    columns = [name for name, _, _ in columns_of(prepare_bout("lin_roach", None).plan)]
    fields = [field.name for field in fields_of(Leg("lin_roach").data)]
    assert set(fields) - {"engine_start_time", "engine_stop_time"} <= set(columns)
    assert len(fields) == len(set(fields))
    left_out = set(columns) - set(fields) - {"time", "cycle", "bout", "mode"}
    assert all(name.endswith(".stamp") for name in left_out)


class Ended:
    """A client that notes that a bout was ended."""

    def __init__(self, noted: list[str]) -> None:
        self.noted = noted

    def __enter__(self) -> Ended:
        return self

    def __exit__(self, *what: object) -> None:
        pass

    def take_control(self, *, force: bool) -> None:
        self.noted.append(f"force {force}")

    def stop(self) -> None:
        self.noted.append("stop")


@pytest.mark.parametrize(
    ("status", "again", "stopped"),
    [
        ({"mode": Mode.RUNNING.name, "control": ""}, False, True),
        ({"mode": Mode.RUNNING.name, "control": "bob"}, False, False),
        ({"mode": Mode.STOPPED.name, "control": ""}, False, False),
        ({}, False, False),
        ({"mode": Mode.RUNNING.name, "control": ""}, True, False),
        ({"mode": Mode.RUNNING.name, "control": "ann"}, False, True),  # it is gone, and still taken to be there
    ],
)
def test_a_bout_is_ended_only_where_nobody_has_control(status: dict[str, Any], again: bool, stopped: bool) -> None:
    noted: list[str] = []

    async def work() -> None:
        unwatched = UnwatchedStop(0.05, lambda: Ended(noted), lambda: status)  # pyright: ignore[reportArgumentType]
        unwatched.gone("ann")
        if again:
            unwatched.taken()
        await asyncio.sleep(0.3)
        unwatched.taken()

    asyncio.run(work())
    assert noted == [*(["force True"] if stopped and status["control"] else []), *(["stop"] if stopped else [])]
