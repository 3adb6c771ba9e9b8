"""A tab's client: its requests reach the daemon as they are, and control is never implied."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

from nuc_engine.client import Client, ClientError, Refused
from nuc_engine.messages.requests import REQUESTS
from nuc_engine.ui.tab import MOST_WAITING, TabClient, error_of, read_message
from tests.client.fake_daemon import FakeDaemon, Leg, Serving, serving

PATIENCE_S = 30.0
GATED = [*sorted(name for name, kind in REQUESTS.items() if kind.control), "script", "shutdown"]


@pytest.fixture
def daemon() -> FakeDaemon:
    return FakeDaemon(Leg())


@pytest.fixture
def served(daemon: FakeDaemon, tmp_path: Path) -> Iterator[Serving]:
    with serving(daemon, f"ipc://{tmp_path}/command") as server:
        yield server


@asynccontextmanager
async def client(
    tmp_path: Path,
    done: list[str] | None = None,
    took: list[str] | None = None,
    off: Callable[[str], dict[str, Any]] | None = None,
) -> AsyncIterator[TabClient]:
    told, taken = done if done is not None else [], took if took is not None else []
    made = TabClient(
        lambda: Client(f"ipc://{tmp_path}/command", name="ann (page)", timeout_s=PATIENCE_S),
        lambda: told.append("done"),
        lambda: taken.append("took"),
        off,
    )
    try:
        yield made
    finally:
        made.leave()


def run(work: Callable[[], Awaitable[Any]]) -> Any:
    return asyncio.run(work())  # pyright: ignore[reportArgumentType]


PARAMS: dict[str, dict[str, Any]] = {
    "configure": {"name": "x"},
    "set": {"changes": [["FT_flux_FTang", 65]]},
    "forget": {"request": "all"},
    "joint_mode": {"joint": "Femur-Tibia", "mode": "limp"},
    "tweak": {"joint": "Femur-Tibia", "ticks": 1},
    "sense": {"sensor": "TC1_current", "value": "off"},
    "pose_save": {"name": "x"},
    "save": {"name": "x"},
    "record_start": {"name": "x"},
    "labels": {"labels": {}},
    "script": {"text": "<hdsoscript/>"},
    "store_script": {"name": "x", "text": "<hdsoscript/>"},
    "store_configuration": {"name": "x", "documents": {}},
    "keep_values": {"name": "x"},
    "recall_values": {"name": "x"},
}


@pytest.mark.parametrize("method", GATED)
def test_what_needs_control_is_refused_before_the_daemon_hears_of_it(
    daemon: FakeDaemon, served: Serving, tmp_path: Path, method: str
) -> None:
    async def work() -> None:
        async with client(tmp_path) as tab:
            await tab.greet()
            with pytest.raises(Refused, match="does not have control") as refused:
                await tab.ask(method, PARAMS.get(method, {}))
            assert error_of(refused.value) == {
                "kind": "no_control",
                "text": "this tab does not have control",
                "hint": "take control first",
            }

    run(work)
    assert [name for name, _ in daemon.requests if name not in ("hello", "leave")] == []


@pytest.mark.parametrize("method", ["hello", "leave", "subscribe", "unsubscribe", "nonsense", "", "__init__"])
def test_what_is_not_a_pages_is_unknown(daemon: FakeDaemon, served: Serving, tmp_path: Path, method: str) -> None:
    async def work() -> None:
        async with client(tmp_path) as tab:
            with pytest.raises(Refused) as refused:
                await tab.ask(method, {})
            assert refused.value.kind == "unknown_method"

    run(work)
    assert daemon.requests == []


def test_after_taking_control_edits_reach_the_daemon_until_it_is_given_back(
    daemon: FakeDaemon, served: Serving, tmp_path: Path
) -> None:
    done: list[str] = []
    took: list[str] = []

    async def work() -> None:
        async with client(tmp_path, done, took) as tab:
            await tab.ask("take_control", {})
            assert (tab.in_control, took) == (True, ["took"])
            answer = await tab.ask("set", {"changes": [["FT_flux_FTang", 65]]})
            assert answer.applied
            await tab.ask("release_control", {})
            assert not tab.in_control
            with pytest.raises(Refused):
                await tab.ask("set", {"changes": [["FT_flux_FTang", 66]]})

    run(work)
    assert [name for name, _ in daemon.requests if name == "set"] == ["set"]
    assert len(done) == 3


def test_control_that_others_took_is_no_longer_this_tabs_but_old_news_changes_nothing(
    daemon: FakeDaemon, served: Serving, tmp_path: Path
) -> None:
    async def work() -> None:
        async with client(tmp_path) as tab:
            await tab.ask("take_control", {})
            tab.control("", 0.0)
            assert tab.in_control, "that was asked before it was taken"
            tab.control(tab.name, 1e9)
            assert tab.in_control
            tab.control("somebody", 1e9)
            assert not tab.in_control

    run(work)


def test_parameters_are_checked_here(daemon: FakeDaemon, served: Serving, tmp_path: Path) -> None:
    async def work() -> None:
        async with client(tmp_path) as tab:
            for params in ({}, {"names": 7}, {"names": ["x"], "more": 1}, {"names": ["x"] * 5000}):
                with pytest.raises(Refused) as refused:
                    await tab.ask("get", params)
                assert refused.value.kind == "bad_request"

    run(work)
    assert [name for name, _ in daemon.requests if name == "get"] == []


def test_so_many_may_wait(daemon: FakeDaemon, served: Serving, tmp_path: Path) -> None:
    async def work() -> list[object]:
        async with client(tmp_path) as tab:
            asked = (tab.ask("status", {}) for _ in range(MOST_WAITING + 5))
            return await asyncio.gather(*asked, return_exceptions=True)

    refused = [answer for answer in run(work) if isinstance(answer, ClientError)]
    assert [error_of(error)["kind"] for error in refused] == ["too_fast"] * 5


def test_leaving_says_goodbye_which_gives_control_back(daemon: FakeDaemon, served: Serving, tmp_path: Path) -> None:
    async def work() -> TabClient:
        async with client(tmp_path) as tab:
            await tab.ask("take_control", {})
            return tab

    tab = run(work)
    daemon.wait_for("leave")
    tab.control("", 1e9)
    assert tab.in_control, "what it was when it went"


def test_a_daemon_that_is_not_there_is_an_answer(tmp_path: Path) -> None:
    async def work() -> None:
        made = TabClient(lambda: Client(f"ipc://{tmp_path}/none", name="x", timeout_s=0.02), lambda: None, lambda: None)
        await made.greet()
        assert (made.name, made.author) == ("", "")
        with pytest.raises(ClientError) as caught:
            await made.ask("status", {})
        assert error_of(caught.value)["kind"] == "not_answered"
        made.leave()

    run(work)


@pytest.mark.parametrize(
    "text", ["", "x", "[]", "7", "null", '{"id": 1.5}', '{"params": []}', '{"x": 1}', "{" * 9999, "\udcff"]
)
def test_what_is_no_message_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="no message"):
        read_message(text)


def test_torque_off_waits_for_nothing_that_the_tab_does(tmp_path: Path) -> None:
    said: list[str] = []
    asked = threading.Event()

    def off(why: str) -> dict[str, Any]:
        asked.set()
        said.append(why)
        return {"off": {"torque": False}}

    async def work() -> None:
        async with client(tmp_path, off=off) as tab:
            tab._thread.submit(asked.wait)  # something that does not end before torque off was asked for
            assert await tab.ask("off", {"why": "smoke"}) == {"torque": False}

    run(work)
    assert said == ["smoke"]


def test_torque_off_that_failed_is_an_error(tmp_path: Path) -> None:
    async def work() -> None:
        async with client(tmp_path, off=lambda _: {"off_failed": "no daemon is there any more"}) as tab:
            with pytest.raises(Refused, match="no daemon is there any more"):
                await tab.ask("off", {})

    run(work)


def test_control_of_a_daemon_that_was_started_anew_is_to_be_taken_again(
    daemon: FakeDaemon, served: Serving, tmp_path: Path
) -> None:
    async def work() -> None:
        async with client(tmp_path) as tab:
            await tab.ask("take_control", {})
            made = tab._client
            assert made is not None
            made._talk._greeted = False  # the connection is another one
            daemon.requests.clear()
            with pytest.raises(Refused, match="does not have control"):
                await tab.ask("set", {"changes": [["FT_flux_FTang", 65]]})
            assert not tab.in_control

    run(work)
    assert [name for name, _ in daemon.requests if name not in ("hello", "leave")] == []


def test_what_takes_long_is_asked_beside_what_drives(daemon: FakeDaemon, served: Serving, tmp_path: Path) -> None:
    slow = threading.Event()

    async def work() -> None:
        async with client(tmp_path) as tab:
            tab._looking.submit(slow.wait)  # bouts of a slow disk, or a watcher's documents
            listing = asyncio.ensure_future(tab.ask("scripts", {}))
            await tab.ask("take_control", {})
            await tab.ask("joint_mode", {"joint": "Femur-Tibia", "mode": "limp"})
            assert not listing.done()
            slow.set()
            with suppress(ClientError):
                await listing

    run(work)
    assert "joint_mode" in [name for name, _ in daemon.requests]


def test_what_a_tab_that_is_gone_still_had_to_ask_is_not_done(
    daemon: FakeDaemon, served: Serving, tmp_path: Path
) -> None:
    stall = threading.Event()
    took: list[str] = []

    async def work() -> None:
        async with client(tmp_path, took=took) as tab:
            await tab.ask("status", {})
            tab._thread.submit(stall.wait)
            asked = [asyncio.ensure_future(tab.ask(name, {})) for name in ("take_control", "run")]
            await asyncio.sleep(0)
            tab.leave()
            stall.set()
            for one in asked:
                with pytest.raises(Refused, match="this tab is gone"):
                    await one
            with pytest.raises(Refused, match="this tab is gone"):
                await tab.ask("status", {})

    with suppress(RuntimeError):  # it leaves once more
        run(work)
    assert {"take_control", "run"}.isdisjoint(name for name, _ in daemon.requests)
    assert took == []


def test_torque_off_is_asked_for_once_however_often_it_is_pressed_meanwhile(tmp_path: Path) -> None:
    said: list[str] = []
    done = threading.Event()

    def off(why: str) -> dict[str, Any]:
        said.append(why)
        done.wait()
        return {"off": {"torque": False}}

    async def work() -> list[Any]:
        async with client(tmp_path, off=off) as tab:
            asked = [asyncio.ensure_future(tab.ask("off", {"why": str(k)})) for k in range(50)]
            await asyncio.sleep(0)
            done.set()
            return await asyncio.gather(*asked)

    assert run(work) == [{"torque": False}] * 50
    assert len(said) == 1
