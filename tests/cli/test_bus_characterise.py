"""`nuc bus characterise`: tables of torque, on emulated servos and with somebody at the scales."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from drivers.aimotor import FAMILY
from drivers.factory import find_family
from nuc_engine.cli.app import app
from tests.cli.bench_table import FRAMED, URL, Table, data
from tests.cli.conftest import Nuc


def test_characterise_finds_the_models_table(nuc: Nuc, tmp_path: Path) -> None:
    out = tmp_path / "table.json"
    result = nuc(
        "bus", "characterise", "emulated:", "--id", "2", "--model", "1001", "--free", "--hold", "0.5", "--out", str(out)
    )
    assert result.exit_code == 0, result.output
    assert "by the model's table" in result.stdout
    found = json.loads(out.read_text())
    per_tick = 0.980665 / 41.4
    assert found["fit"]["per_tick_n_m"]["low"] <= per_tick <= found["fit"]["per_tick_n_m"]["high"]
    assert found["fit"]["per_tick_n_m"]["value"] == pytest.approx(per_tick, rel=0.06)
    assert found["fit"]["saturation_n_m"] == pytest.approx(0.32 * 0.980665, rel=0.06)
    assert found["fit"]["damping_n_m_s"]["value"] > 0
    assert (found["model"], found["gain"], found["level"]) == ("1001", 10, 3)
    assert found["ticks"][0] == found["torque_n_m"][0] == 0
    assert found["torque_n_m"] == sorted(found["torque_n_m"])


def test_a_table_can_be_read_by_the_engine(nuc: Nuc, tmp_path: Path) -> None:
    from nuc_engine.model.torque_table import read_table

    out = tmp_path / "table.json"
    words = ["--id", "2", "--model", "701", "--hold", "0.3", "--out", str(out)]
    assert nuc("bus", "characterise", "emulated:", *words).exit_code == 0
    table = read_table(out.read_bytes(), out.name)
    assert table.model == "701"
    assert table.points[0][1] == -table.points[-1][1] < 0


@pytest.mark.parametrize(("family", "model"), FRAMED)
def test_characterise_servos_with_registers(nuc: Nuc, family: str, model: str) -> None:
    words = ["--id", "2", "--model", model, "--hold", "0.3", "--rest", "0", "--steps", "6", "--free", "--json"]
    result = nuc("bus", "characterise", f"emulated:{family}?baud=1000000", *words)
    assert result.exit_code == 0, result.output
    found = data(result)
    known = find_family(family).models[model]
    fit = found["fit"]
    assert fit["per_tick_n_m"]["value"] == pytest.approx(known.tick_torque_n_m(found["gain"]), rel=0.01)
    assert fit["saturation_n_m"] == pytest.approx(0.32 * known.stall_torque_n_m, rel=0.02)
    # A duty cycle does not tell what a turning motor gives.
    assert (fit["damping_n_m_s"] is None) == (family == "feetech")
    assert ("duty cycle" in result.stderr) == (family == "feetech")


def test_characterise_by_joint_draws(nuc: Nuc, tmp_path: Path) -> None:
    figure = tmp_path / "knee.png"
    words = ["--config", "lin_roach", "--joint", "Femur-Tibia", "--hold", "0.3", "--figure", str(figure), "--json"]
    result = nuc("bus", "characterise", "emulated:", *words, "--free")
    assert result.exit_code == 0, result.output
    assert data(result)["model"] in FAMILY.models
    assert figure.read_bytes().startswith(b"\x89PNG")
    result = nuc("bus", "characterise", "emulated:", "--config", "lin_roach", "--joint", "Knee")
    assert (result.exit_code, "Femur-Tibia" in result.stderr) == (2, True)


def test_characterise_with_scales(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    words = ["bus", "characterise", "emulated:", "--id", "2", "--model", "1001", "--hold", "0.3", "--lever-cm", "10"]
    # 100 g at 10 cm are 0.0981 N m: here a tick of delta is 20 g.
    deltas = [5, 5, 10, 10, 15, 15]
    grams = "".join(f"{20 * ticks}\n" for ticks in deltas)
    result = CliRunner().invoke(app, [*words, "--largest", "15", "--steps", "3", "--json"], input=grams)
    assert result.exit_code == 0, result.output
    found = json.loads(result.stdout[result.stdout.index("{") :])
    assert found["fit"]["per_tick_n_m"]["value"] == pytest.approx(20e-3 * 9.80665 * 0.1)
    assert found["method"] == "scales under a lever of 10 cm"


def test_the_torque_is_off_between_deltas(
    nuc: Nuc, table: Callable[..., Table], monkeypatch: pytest.MonkeyPatch
) -> None:
    bench = table(3)
    bench.plant.hold(0)
    torques: list[float] = []
    plain = bench.plant.release

    def release(servo: int) -> None:
        torques.append(bench.plant.motion(servo).torque_n_m)
        plain(servo)

    monkeypatch.setattr(bench.plant, "release", release)
    words = ["--id", "3", "--model", "1001", "--steps", "4", "--hold", "0.2", "--yes"]
    assert nuc("bus", "characterise", URL, *words).exit_code == 0
    assert sum(torque != 0.0 for torque in torques) == 8
    # Whatever it is that goes wrong in the middle of it.
    wait = bench.pace.wait

    def broken(until_ns: int, filenos: Any) -> None:
        wait(until_ns, filenos)
        if bench.plant.motion(0).torque_n_m > 0.1:
            monkeypatch.setattr(bench.pace, "wait", wait)
            raise RuntimeError("in the middle of it")

    monkeypatch.setattr(bench.pace, "wait", broken)
    with pytest.raises(RuntimeError):
        nuc("bus", "characterise", URL, *words)
    assert bench.plant.motion(0).torque_n_m == 0.0


def test_nobody_to_hold_the_horn(nuc: Nuc, table: Callable[..., Table]) -> None:
    bench = table(3)
    result = nuc("bus", "characterise", URL, "--id", "3", "--model", "1001")
    assert result.exit_code == 2
    assert "say --yes" in result.stderr
    assert bench.plant.motion(0).torque_n_m == 0.0


def test_servos_that_tell_no_load_need_scales(nuc: Nuc) -> None:
    words = ["--id", "2", "--model", "wCK-1111-10bit"]
    result = nuc("bus", "characterise", "emulated:?ten_bit=1&wck=1", *words)
    assert (result.exit_code, "--lever-cm" in result.stderr) == (2, True)


def test_degrees_are_those_of_the_scale_the_line_counts_in(nuc: Nuc) -> None:
    for options, tick_deg in (("", 0.654), ("low_resolution=1", 1.307), ("ten_bit=1&wck=1", 0.654 * 254 / 1023)):
        url = f"emulated:?{options}" if options else "emulated:"
        (row,) = data(nuc("bus", "scan", url, "--ids", "3", "--json"))["found"]
        assert row["position_deg"] == pytest.approx(row["position_raw"] * tick_deg, abs=0.01)
        found = data(nuc("bus", "move", url, "--ids", "3", "--to", "90deg", "--level", "0", "--json"))["servos"][0]
        assert found["raw"] * tick_deg == pytest.approx(90.0, abs=4.5)


def interrupted_after(monkeypatch: pytest.MonkeyPatch, count: int) -> None:
    """Let somebody press Ctrl-C once so many deltas have been measured."""
    from drivers.bench.torque import Hold
    from nuc_engine.cli.bus import characterise as bus_characterise

    real, stops = Hold.row, []
    enter = bus_characterise.Stop.__enter__

    def entered(self: Any) -> Any:
        stops.append(self)
        return enter(self)

    rows: list[Any] = []

    def row(self: Hold) -> Any:
        rows.append(found := real(self))
        if len(rows) == count:
            stops[0].asked = True
        return found

    monkeypatch.setattr(bus_characterise.Stop, "__enter__", entered)
    monkeypatch.setattr(Hold, "row", row)


@pytest.mark.parametrize("count", [1, 9])
def test_stopped_it_says_how_far_it_came_and_writes_nothing(
    nuc: Nuc, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, count: int
) -> None:
    interrupted_after(monkeypatch, count)
    out = tmp_path / "table.json"
    words = ["--id", "2", "--model", "1001", "--hold", "0.2", "--steps", "6", "--out", str(out)]
    result = nuc("bus", "characterise", "emulated:", *words)
    assert result.exit_code == 1
    assert f"stopped after {count} of 12 deltas" in result.stderr
    assert "hold the horn" not in result.stderr
    assert sum("stood" in line for line in result.stdout.splitlines()) == count
    assert "torque per tick" not in result.stdout
    assert not out.exists()


@pytest.mark.parametrize(("option", "name"), [("--out", "x.json"), ("--figure", "x.png")])
def test_where_nothing_can_be_written_nothing_is_measured(
    nuc: Nuc, table: Callable[..., Table], tmp_path: Path, option: str, name: str
) -> None:
    bench = table(3)
    words = ["--id", "3", "--model", "1001", "--yes", option, str(tmp_path / "absent" / name)]
    result = nuc("bus", "characterise", URL, *words)
    assert (result.exit_code, bench.opened) == (1, [])
    assert "there is no folder" in result.stderr


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no device that is always full")
@pytest.mark.parametrize(("option", "name"), [("--out", "full.json"), ("--figure", "full.png")])
def test_a_full_disk_does_not_lose_what_was_measured(nuc: Nuc, tmp_path: Path, option: str, name: str) -> None:
    full = tmp_path / name
    full.symlink_to("/dev/full")
    words = ["bus", "characterise", "emulated:", "--id", "2", "--model", "1001", "--hold", "0.3", option, str(full)]
    result = nuc(*words)
    assert result.exit_code == 1
    assert "not written (No space left on device)" in result.stderr
    assert f"{full}: written" not in result.stderr
    assert "by the model's table" in result.stdout
    found = data(nuc(*words, "--json"))
    assert not found["ok"]
    assert found["rows"]
    assert "not written" in found["errors"][0]


def test_what_is_no_weight_is_asked_for_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    words = ["bus", "characterise", "emulated:", "--id", "2", "--model", "1001", "--hold", "0.3", "--lever-cm", "10"]
    typed = "nan\n-5\ninf\nmany\n100,5\n" + "".join(f"{20 * ticks}\n" for ticks in [5, 10, 10, 15, 15])
    result = CliRunner().invoke(app, [*words, "--largest", "15", "--steps", "3", "--json"], input=typed)
    assert result.exit_code == 0, result.output
    assert result.stderr.count("is no weight") == 4
    found = json.loads(result.stdout[result.stdout.index("{") :])
    assert found["rows"][0]["torque_n_m"] == pytest.approx(100.5e-3 * 9.80665 * 0.1)


def test_a_regulated_current_reads_what_it_gives_and_loses_to_the_delay_alone(nuc: Nuc) -> None:
    words = ["--id", "2", "--model", "XM430-W350", "--rest", "0.1", "--free", "--json"]
    result = nuc("bus", "characterise", "emulated:dynamixel?baud=1000000", *words)
    found = data(result)
    turned = [row for row in found["rows"] if not row["stood"]]
    assert max(abs(row["speed_ticks_s"]) for row in turned) > 0.9 * 276 / 0.088
    assert all(row["torque_n_m"] == pytest.approx(row["true_n_m"], abs=0.02) for row in turned)
    # Readings are 10 ms apart, and that old is the delta.
    fit = found["fit"]
    assert fit["damping_n_m_s"]["value"] == pytest.approx(0.01 * fit["per_tick_n_m"]["value"], rel=0.05)
