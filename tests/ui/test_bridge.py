"""One daemon watched for all tabs: what is told of it, and when it is gone."""

from __future__ import annotations

import asyncio
import json
import mmap
import os
import struct
import time  # noqa: TID251  a daemon that does not answer is a matter of real time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import msgpack
import msgspec
import pytest
import zmq

from nuc_engine.client import ClientError
from nuc_engine.configurations.describe import describe_model
from nuc_engine.daemon.cyclering import CycleRing, make_file
from nuc_engine.daemon.modes import Mode
from nuc_engine.emulation.process import LIVE_COLUMNS
from nuc_engine.machine.locations import find_configuration
from nuc_engine.machine.rundir import PLANT
from nuc_engine.messages.answers import Status
from nuc_engine.model.planning import build_plan
from nuc_engine.ui.bridge import DaemonBridge, encode, pack, sampled_names
from nuc_engine.ui.stream import QUESTIONS, DaemonClock, fields_of
from nuc_engine.ui.unwatched import UnwatchedStop
from sccils_schemas.model import load_model
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


def test_the_newest_of_the_foot_of_an_emulated_leg_is_told_and_nothing_of_a_leg_without(tmp_path: Path) -> None:
    folder, ear = tmp_path / "run", Ear()

    async def work() -> None:
        bridge = DaemonBridge(f"ipc://{folder}/command", name="page")
        bridge.start()
        bridge.join(ear)
        try:
            folder.mkdir()
            await asyncio.sleep(0.3)
            assert "foot" not in ear.topics()
            fd = make_file(folder, PLANT)
            ring = CycleRing(mmap.mmap(fd, 0))
            os.close(fd)
            ring.begin("lin_roach", LIVE_COLUMNS)
            for k in range(5):
                ring.put((k, 1.0, 2.0, 3.0, float(k)))
            await until(lambda: ear.topics()[-1] == "foot" and ear.told[-1]["contact_n"] == 4.0)
            assert ear.told[-1]["at_cm"] == [1.0, 2.0, 3.0]
        finally:
            await bridge.close()

    asyncio.run(work())


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
    """A client of a daemon that is as `status` says, and notes what it is asked for."""

    def __init__(self, noted: list[str], status: dict[str, Any], before: Callable[[], object] = bool) -> None:
        self.noted, self._status, self._before = noted, status, before

    def __enter__(self) -> Ended:
        return self

    def __exit__(self, *what: object) -> None:
        pass

    def status(self) -> Status:
        self._before()
        return msgspec.convert({"mode": "STOPPED", **self._status}, Status)

    def take_control(self, *, force: bool) -> None:
        self.noted.append(f"force {force}")

    def stop(self) -> None:
        self.noted.append("stop")


RUNS, RESTS = Mode.RUNNING.name, Mode.STOPPED.name


async def looked_at(unwatched: UnwatchedStop, looks: list[dict[str, Any]], *, again: bool = False) -> None:
    """Let a tab go that had control, and go on until all of these have been looked at."""
    unwatched.gone("ann")
    if again:
        unwatched.taken()
    task = unwatched._task
    while task is not None and not task.done() and looks:
        await asyncio.sleep(0.001)
    unwatched.taken()


def unwatched_stop(
    looks: list[dict[str, Any]], noted: list[str], make: Callable[[dict[str, Any]], Any] | None = None
) -> UnwatchedStop:
    """Return one that sees these one after the other, one with each second, and whose daemon is as it saw it last."""
    seen: dict[str, Any] = {}

    async def second(_: float) -> None:
        await asyncio.sleep(0)
        seen.clear()
        seen.update(looks.pop(0) if looks else {})

    return UnwatchedStop(5.0, lambda: (make or partial(Ended, noted))(dict(seen)), lambda: seen, second)


@pytest.mark.parametrize(
    ("looks", "again", "noted"),
    [
        ([{"mode": RUNS, "control": ""}], False, ["stop"]),
        ([{"mode": RUNS, "control": "bob"}], False, []),
        ([{"mode": RESTS, "control": ""}], False, []),
        ([{}], False, []),
        ([{"mode": RUNS, "control": ""}], True, []),
        ([{"mode": RUNS, "control": "ann"}], False, ["force True", "stop"]),  # it is gone, and taken to be there yet
        # A run that was given a delay begins when nobody is there any more.
        ([{"mode": RESTS, "control": ""}] * 3 + [{"mode": RUNS, "control": ""}], False, ["stop"]),
        # Somebody else's bout is not ended, though he leaves it too.
        ([{"mode": RESTS, "control": "bob"}, {"mode": RUNS, "control": ""}], False, []),
        # Once the dead tab has lost control, whoever has it under that name is another.
        ([{"mode": RESTS, "control": ""}, {"mode": RUNS, "control": "ann"}], False, []),
    ],
)
def test_a_bout_is_ended_only_where_nobody_has_control(
    looks: list[dict[str, Any]], again: bool, noted: list[str]
) -> None:
    said: list[str] = []
    left = [*looks]
    asyncio.run(looked_at(unwatched_stop(left, said), left, again=again))
    assert said == noted


def test_who_comes_while_the_bout_is_being_ended_keeps_it() -> None:
    noted: list[str] = []
    looks = [{"mode": RUNS, "control": "ann"}]
    made: list[UnwatchedStop] = []

    def make(status: dict[str, Any]) -> Ended:
        return Ended(noted, status, lambda: setattr(made[0], "_times", made[0]._times + 1))  # as `taken` does

    made.append(unwatched_stop(looks, noted, make))
    asyncio.run(looked_at(made[0], looks))
    assert noted == []


@pytest.mark.parametrize(
    ("status", "stopped"),
    [
        ({"mode": RUNS, "control": "ann"}, True),
        ({"mode": RUNS, "control": "bob"}, False),
        ({"mode": RESTS, "control": ""}, False),
    ],
)
@pytest.mark.parametrize("answers", [True, False])
def test_with_the_server_ends_what_its_tab_has_left_and_it_is_said(
    status: dict[str, Any], stopped: bool, answers: bool
) -> None:
    noted: list[str] = []

    def make() -> Any:
        if not answers:
            raise ClientError("nobody answers")
        return Ended(noted, status)

    async def work() -> tuple[str, str]:
        # What was heard of the daemon last is from before the bout began.
        unwatched = UnwatchedStop(3600.0, make, lambda: {"mode": RESTS})
        nobody_left = await unwatched.close()
        unwatched.gone("ann")
        return nobody_left, await unwatched.close()

    nobody_left, said = asyncio.run(work())
    assert nobody_left == ""
    assert noted == (["force True", "stop"] if stopped and answers else [])
    assert bool(said) is (stopped or not answers)
    assert ("MAY GO ON" in said) is (not answers)


# --- how old what comes from elsewhere is ---


def ask(clock: DaemonClock, at_s: float, ahead_s: float, there_s: float, back_s: float) -> None:
    """Let a question be asked: so long on its way, and its answer."""
    clock.heard(at_s, at_s + there_s + back_s, at_s + there_s + ahead_s)


@pytest.mark.parametrize("ahead_s", [0.0, 1.7e9, -3600.0])
def test_records_that_come_late_are_as_old_as_they_are_whatever_the_clocks_say(ahead_s: float) -> None:
    clock = DaemonClock()
    assert clock.age_s(100.0, 100.0) is None, "nothing is known of a clock that was not asked"
    clock.heard(99.0, 99.1, 0.0)
    assert clock.age_s(100.0, 100.0) is None, "nor of one that does not tell"
    for at_s, there_s, back_s in ((100.0, 0.3, 0.002), (101.0, 0.004, 0.002), (102.0, 0.01, 0.9)):
        ask(clock, at_s, ahead_s, there_s, back_s)
    for late_s in (0.0, 0.05, 3.2):
        age_s = clock.age_s(110.0 + ahead_s, 110.0 + late_s)
        assert age_s == pytest.approx(late_s, abs=0.004), "the quickest question was on its way for 6 ms"


def test_what_was_always_late_is_old_too() -> None:
    """The least delay seen among records alone would make these young."""
    clock = DaemonClock()
    for k in range(50):
        ask(clock, 100.0 + k / 5, 1.7e9, 0.02, 0.02)
        assert clock.age_s(1.7e9 + 100.0 + k / 5, 105.0 + k / 5) == pytest.approx(5.0, abs=0.021)


def test_a_clock_that_is_set_is_learnt_anew_and_one_that_drifts_is_followed() -> None:
    clock = DaemonClock()
    for k in range(20):
        ask(clock, 100.0 + k, 5.0, 0.001, 0.001)
    ask(clock, 120.0, 65.0, 0.05, 0.05)
    assert clock.age_s(185.0, 120.0) == pytest.approx(0.0, abs=0.051)
    for k in range(2 * QUESTIONS):
        ask(clock, 200.0 + k, 65.0 + k * 1e-4, 0.01 + 0.005 * (k % 2), 0.01)
    age_s = clock.age_s(200.0 + k + 65.0 + k * 1e-4, 200.0 + k)
    assert age_s == pytest.approx(0.0, abs=QUESTIONS * 1e-4 + 0.01)


def test_every_parameter_that_is_a_number_is_sampled_and_how_late_tasks_are() -> None:
    model, _ = load_model(find_configuration("lin_roach"))
    assert model is not None
    told = describe_model(model, build_plan(model))
    names = sampled_names(told, ["motor_reply"])
    kinds = {hdso["name"]: hdso["kind"] for hdso in told["parameters"]}
    sampled = {name for name in names if name in kinds}
    assert {name for name, kind in kinds.items() if kind == "parameter"} == sampled
    assert {"engine.cycle", "joint.Femur-Tibia.mode", "task.motor_reply.lateness_p99_us"} <= set(names)
    told["parameters"][0] |= {"kind": "parameter", "dims": [4, 5]}
    assert told["parameters"][0]["name"] not in sampled_names(told, [])


def test_of_a_daemon_elsewhere_the_age_is_told_and_of_every_one_what_commands_its_joints(tmp_path: Path) -> None:
    address, telemetry = f"ipc://{tmp_path}/command", f"ipc://{tmp_path}/telemetry"
    daemon = FakeDaemon(Leg())
    daemon.telemetry = telemetry
    status = daemon.do_status()
    ahead_s = 1000.0
    daemon.answers["status"] = lambda: {**status, "unix_time_s": time.time() + ahead_s}
    ear = Ear()

    def publish(socket: zmq.Socket, count: int) -> None:
        """Say what a daemon says whose clock is ahead, and whose records are on their way for 2 s."""
        values = {"engine.cycle": count, "joint.Femur-Tibia.mode": "limp", "joint.Femur-Tibia.tweak": 0}
        stamp = f"{time.time() + ahead_s - 2:.6f}"
        socket.send_multipart([b"recipe.1", msgpack.packb(values), stamp.encode()])

    async def work() -> None:
        bridge = DaemonBridge(address, name="page")
        assert not bridge.every_cycle
        with zmq.Context() as context, context.socket(zmq.PUB) as socket, serving(daemon, address):
            socket.bind(telemetry)
            bridge.start()
            bridge.join(ear)
            try:
                end = time.monotonic() + PATIENCE_S
                told: dict[str, Any] = {}
                while time.monotonic() < end and not (told.get("age") and told.get("sampled")):
                    publish(socket, round(1000 * (end - time.monotonic())))
                    await asyncio.sleep(0.02)
                    told = {
                        kind: [t for t in ear.told if t["topic"] == kind and t.get("age_s", 1)]
                        for kind in ("age", "sampled")
                    }
            finally:
                await bridge.close()
        assert told["age"][-1]["age_s"] == pytest.approx(2.0, abs=1.0)
        assert told["sampled"][-1]["values"]["joint.Femur-Tibia.mode"] == "limp"

    asyncio.run(work())
