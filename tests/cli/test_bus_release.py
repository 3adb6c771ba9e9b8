"""`nuc bus release` on servos that were adapted: what has to confirm does, however many ids the family has."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from nuc_engine.bout.run import prepare_bout
from nuc_engine.machine.locations import find_configuration
from tests.cli.bench_table import FRAMED, Table, data
from tests.cli.conftest import Nuc

UNIT = Path(__file__).resolve().parents[2] / "systemd" / "nuc-engine@.service"
STOP_S = float(re.findall(r"(?m)^TimeoutStopSec=(\d+)$", UNIT.read_text())[0])
RATES = (9600, 57_600, 1_000_000)
CASES = [(family, model, baud) for family, model in FRAMED for baud in RATES if (family, baud) != ("feetech", 9600)]


@pytest.mark.parametrize(("family", "model", "baud"), CASES)
def test_all_of_a_leg_confirm_within_the_time_there_is(
    nuc: Nuc, table: Callable[..., Table], tmp_path: Path, family: str, model: str, baud: int
) -> None:
    assert nuc("bus", "adapt", "lin_roach", model, "--out", str(tmp_path / "leg")).exit_code == 0
    ids = [motor.bus_id for motor in prepare_bout(find_configuration(str(tmp_path / "leg")), None).plan.motors]
    bench = table(*ids, 200, model=model, baud=baud, family=family)
    url = f"{family}:///dev/ttyUSB0?baud={baud}"
    result = nuc("bus", "release", url, "--config", str(tmp_path / "leg"), "--json")
    assert (result.exit_code, data(result)["errors"]) == (0, [])
    assert data(result)["confirmed"][url] == sorted([*ids, 200])
    assert result.stderr == ""
    bench.emulator.unplug(1)
    begun_ns = bench.pace.now_ns
    result = nuc("bus", "release", url, "--config", str(tmp_path / "leg"), "--json")
    assert result.exit_code == 1
    # What systemd gives it, less what the interpreter takes to start.
    assert (bench.pace.now_ns - begun_ns) * 1e-9 <= STOP_S - 1.0
    (error,) = data(result)["errors"]
    assert f"(id {ids[1]})" in error
    assert f"(id {ids[0]})" not in error
    assert data(result)["confirmed"][url] == sorted({*ids, 200} - {ids[1]})


def test_without_knowing_who_should_be_there_nobody_is_said_to_be_missing_and_that_is_said(
    nuc: Nuc, table: Callable[..., Table]
) -> None:
    bench = table(1, 2, 3, model="STS3215", baud=1_000_000, family="feetech")
    bench.emulator.unplug(1)
    url = "feetech:///dev/ttyUSB0"
    result = nuc("bus", "release", url)
    assert (result.exit_code, "(ids 1, 3)" in result.stdout) == (0, True)
    assert f"{url}: without --config or --ids nobody knows who is missing" in result.stderr
    assert "nobody knows" not in nuc("bus", "release", url, "--ids", "1,3").stderr
