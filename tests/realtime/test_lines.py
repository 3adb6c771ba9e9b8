"""Lines that echo and adapters that hold bytes back, on a real pseudo-terminal and in real time."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from drivers.bench.release import finish, read_all
from drivers.bus import Bus
from drivers.factory import open_bus
from drivers.servo import ReplyStatus, ServoAddress
from nuc_engine.cli.bus.lines import RealPace
from nuc_engine.emulation.rawlog import RawKind, read_records
from tests.realtime.daemon import wait_for
from tests.realtime.pty_servos import IDS, Servos

MODELS = {"aimotor": ("", 115_200), "dynamixel": ("XL330-M288", 3_000_000), "feetech": ("STS3215", 1_000_000)}
OK = [ReplyStatus.OK] * 4


@pytest.fixture(params=MODELS)
def on_line(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Callable[..., tuple[Servos, Bus]]]:
    """Return a function that makes servos of a family, and a bus on them, on a line with some options."""
    family = request.param
    model, baud = MODELS[family]
    opened: list[Callable[[], object]] = []

    def make(**options: float) -> tuple[Servos, Bus]:
        servos = Servos(family, model, tmp_path, baud=baud, **options)
        opened.append(servos.end)
        query = "&".join(f"{name}={value:g}" for name, value in options.items())
        addresses = [ServoAddress(bus_id, f"servo {bus_id}", model) for bus_id in IDS]
        bus = open_bus(f"{servos.url}&timeout_us=100000&{query}", addresses, None, seed=0)
        opened.append(bus.close)
        return servos, bus

    yield make
    for close in reversed(opened):
        close()


def settle(bus: Bus, pace: RealPace) -> None:
    for _ in range(60):
        read_all(bus, pace)
        if bus.status == OK and not bus.refusals:
            return
    raise AssertionError(f"{bus.status} {bus.refusals}")


def test_what_the_host_sends_comes_back_and_is_taken_out(on_line: Callable[..., tuple[Servos, Bus]]) -> None:
    servos, bus = on_line(echo=1)
    pace = RealPace()
    settle(bus, pace)
    for _ in range(100):
        bus.start(pace.now_ns, bus.position_raw[:])
        finish(bus, pace)
    read_all(bus, pace)
    assert (bus.status, bus.refusals) == (OK, ())

    def said() -> int:
        return sum(
            len(record.data) for record in read_records(servos.bytes.read_bytes()) if record.kind is RawKind.HOST
        )

    wait_for(lambda: servos.log().echoed == said() > 1000, "the last echo in the log", servos)
    log = servos.log()
    assert (log.unasked, log.lost) == (0, 0)


def test_an_adapter_that_holds_bytes_back_costs_its_timer_and_nothing_else(
    on_line: Callable[..., tuple[Servos, Bus]],
) -> None:
    servos, bus = on_line(latency_ms=16)
    pace = RealPace()
    settle(bus, pace)
    times: list[int] = []
    for _ in range(20):
        begun_ns = pace.now_ns
        read_all(bus, pace)
        assert bus.status == OK
        times.append(pace.now_ns - begun_ns)
    # AI motors are asked one by one, the others all at once.
    assert statistics.median(times) > (4 if servos.family == "aimotor" else 1) * 14_000_000
