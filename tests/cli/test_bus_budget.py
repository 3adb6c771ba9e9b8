"""`nuc bus budget`: what is predicted, and what was measured."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.bench_table import URL, data
from tests.cli.conftest import Nuc


def test_budget_of_a_configuration(nuc: Nuc) -> None:
    result = nuc("bus", "budget", "lin_roach", URL, "--adapter", "none", "--turnaround-us", "230", "--json")
    assert result.exit_code == 0
    found = data(result)
    assert (found["servos"], found["bytes"], found["form"]) == (4, 24, "send")
    assert found["rate_hz"] == pytest.approx(197, abs=2)
    assert found["limit_hz"] == pytest.approx(240)
    assert any("115200 bit/s" in words for words in found["advice"])
    text = nuc("bus", "budget", "18", "aimotor:///dev/ttyUSB0?baud=115200", "--adapter", "ftdi16").stdout
    assert "Most of a cycle is the adapter's." in text
    assert "latency timer at 1 ms" in text
    assert "288.000" in text


def test_budget_knows_adapters_by_their_devices(nuc: Nuc) -> None:
    for device, adapter in (("ttyUSB0", "ftdi1"), ("ttyACM0", "cdc"), ("ttyAMA0", "none"), ("nuc/left", "ftdi1")):
        assert data(nuc("bus", "budget", "4", f"aimotor:///dev/{device}", "--json"))["adapter"] == adapter


def test_budget_looks_where_a_link_leads(nuc: Nuc, tmp_path: Path) -> None:
    link = tmp_path / "left"
    for device, adapter in (("ttyACM3", "cdc"), ("ttyS1", "none"), ("ttyUSB0", "ftdi1")):
        link.unlink(missing_ok=True)
        link.symlink_to(f"/dev/{device}")
        assert data(nuc("bus", "budget", "4", f"aimotor://{link}", "--json"))["adapter"] == adapter


def test_budget_measures_what_a_bus_does(nuc: Nuc) -> None:
    for config in ("lin_roach", "4"):
        url = "emulated:?turnaround_us=230"
        found = data(nuc("bus", "budget", config, url, "--measure", "2", "--json"))
        (measured,) = found["measured"]
        assert measured["missed"] == 0
        assert measured["cycle_ms"] == pytest.approx(found["cycle_ms"], rel=0.001)
        assert measured["of_prediction"] == pytest.approx(1.0, rel=0.001)
        assert measured["wire_efficiency"] == pytest.approx(found["wire_ms"] / found["cycle_ms"], rel=0.001)


def test_budget_measures_every_form_as_it_is_predicted(nuc: Nuc) -> None:
    forms = (
        "aimotor?sync=1",
        "aimotor?wck=1&ten_bit=1",
        "dynamixel?single=1",
        "dynamixel?fast=1",
        "feetech?baud=115200",
    )
    held = ("dynamixel?baud=1000000&latency_ms=16", "feetech?latency_ms=1", "aimotor?latency_ms=4")
    for form in (*forms, *held):
        # A servo as delivered answers 0.5 ms late: reading does not change that.
        late = ["--turnaround-us", "540"] if form.startswith("dynamixel") else []
        found = data(nuc("bus", "budget", "4", f"emulated:{form}", "--measure", "3", "--json", *late))
        (measured,) = found["measured"]
        assert measured["of_prediction"] == pytest.approx(1.0, abs=0.02), form
    found = data(nuc("bus", "budget", "4", "emulated:dynamixel?baud=1000000", "--measure", "1", "--json"))
    assert "answer 0.5 ms late" in found["measured"][0]["hint"]
    assert found["measured"][0]["of_prediction"] < 0.5


def test_budget_of_a_bout(nuc: Nuc, bout: Path) -> None:
    result = nuc("bus", "budget", "lin_roach", "emulated:", "--bout", str(bout), "--json")
    (measured,) = data(result)["measured"]
    assert measured["cycles"] > 300
    assert 0.9 < measured["of_prediction"] < 1.1


def test_the_bout_of_another_leg_or_bus_is_refused_with_what_differs(nuc: Nuc, bout: Path, roach: Path) -> None:
    words = ("bus", "budget")
    for config, url, said in (
        (str(roach), "emulated:", "it is one of lin_roach, not my_roach"),
        ("3", "emulated:", "it drove 4 servos and not 3"),
        ("lin_roach", "emulated:?baud=115200", "at 57600 bit/s, this one is at 115200"),
        ("lin_roach", "emulated:?sync=1", "of the form send, here they are"),
        ("lin_roach", URL, "its servos were emulated"),
        ("4", "emulated:feetech", "of the family aimotor and not feetech"),
    ):
        result = nuc(*words, config, url, "--bout", str(bout))
        assert (result.exit_code, said in result.stderr) == (1, True), (said, result.output)
        assert result.stdout == ""
    assert nuc(*words, "4", "emulated:?turnaround_us=90", "--bout", str(bout)).exit_code == 0


def test_a_bout_of_the_leg_as_it_was_before_is_refused(nuc: Nuc, roach: Path) -> None:
    assert nuc("run", str(roach), "--duration", "0.5", "--out", "bout").exit_code == 0
    words = ("bus", "budget", str(roach), "emulated:", "--bout", "bout")
    assert nuc(*words).exit_code == 0
    parameters = roach / "parameters.xml"
    text = parameters.read_text()
    at = text.index("<initial_data>", text.index("motor_control_delay_ns")) + len("<initial_data>")
    parameters.write_text(text[:at] + "4000000" + text[text.index("</initial_data>", at) :])
    result = nuc(*words)
    assert (result.exit_code, "motor_control_delay_ns in ms: 0 there, 4 in my_roach" in result.stderr) == (1, True)


def test_of_a_bout_with_several_buses_the_one_of_that_name_counts(nuc: Nuc, bout: Path) -> None:
    manifest = bout / "manifest.json"
    told = json.loads(manifest.read_text())
    manifest.write_text(json.dumps(told | {"bus": {"left": "emulated:", "right": "emulated:?baud=115200"}}))
    result = nuc("bus", "budget", "lin_roach", "emulated:", "--bout", str(bout))
    assert (result.exit_code, "its buses were left, right" in result.stderr) == (1, True)
    result = nuc("bus", "budget", "4", "right=emulated:", "--bout", str(bout))
    assert (result.exit_code, "at 115200 bit/s" in result.stderr) == (1, True)
    manifest.unlink()
    result = nuc("bus", "budget", "lin_roach", "emulated:", "--bout", str(bout))
    assert (result.exit_code, "no manifest says" in result.stderr) == (0, True)


def test_a_pause_between_cycles_is_no_fault_of_the_bus(nuc: Nuc, roach: Path) -> None:
    parameters = roach / "parameters.xml"
    text = parameters.read_text()
    at = text.index("<initial_data>", text.index("motor_control_delay_ns")) + len("<initial_data>")
    parameters.write_text(text[:at] + "4000000" + text[text.index("</initial_data>", at) :])
    assert (
        nuc("run", str(roach), "--duration", "1", "--bus", "emulated:?turnaround_us=230", "--out", "bout").exit_code
        == 0
    )
    found = data(nuc("bus", "budget", str(roach), "emulated:?turnaround_us=230", "--bout", "bout", "--json"))
    assert found["pause_ms"] == 4.0
    assert found["loop_hz"] == pytest.approx(1000 / (found["cycle_ms"] + 4.0))
    (measured,) = found["measured"]
    assert measured["cycle_ms"] == pytest.approx(found["cycle_ms"] + 4.0, rel=0.01)
    assert measured["of_prediction"] == pytest.approx(1.0, abs=0.01)
    assert measured["wire_efficiency"] == pytest.approx(found["wire_ms"] / found["cycle_ms"], abs=0.01)
    assert "motor_control_delay_ns" in nuc("bus", "budget", str(roach), "emulated:").stdout


def test_budget_of_a_bus_by_name(nuc: Nuc, roach: Path) -> None:
    joints = roach / "joints.xml"
    head, *motors = joints.read_text().split("<aimotor ")
    motors = [f'bus="{"left" if k < 1 else "right"}" {text}' for k, text in enumerate(motors)]
    joints.write_text("<aimotor ".join([head, *motors]))
    seen = data(nuc("bus", "scan", "right=emulated:", "-c", str(roach), "--json"))["found"]
    assert [row["id"] for row in seen] == [1, 2, 3]
    assert nuc("bus", "scan", "up=emulated:", "-c", str(roach)).exit_code == 2
    for name, number in (("left", 1), ("right", 3)):
        assert data(nuc("bus", "budget", str(roach), f"{name}={URL}", "--json"))["servos"] == number
        found = data(nuc("bus", "budget", str(roach), f"{name}=emulated:", "--measure", "1", "--json"))
        assert found["measured"][0]["predicted"]["servos"] == number
    result = nuc("bus", "budget", str(roach), f"middle={URL}")
    assert (result.exit_code, "there are left, right" in result.stderr) == (2, True)


def test_a_bout_that_waits_for_cycle_min_shows_nothing_of_its_bus(nuc: Nuc) -> None:
    """Not even where the bus takes far longer than predicted: what is left of the wait is not its doing."""
    assert nuc("bus", "adapt", "lin_roach", "STS3215", "--out", "sts").exit_code == 0
    for k, turnaround_us in enumerate((30, 500)):
        url = f"emulated:feetech?turnaround_us={turnaround_us}"
        assert nuc("run", "sts", "--duration", "1", "--bus", url, "--out", f"bout{k}").exit_code == 0
        words = ("bus", "budget", "sts", "emulated:feetech?turnaround_us=30", "--bout", f"bout{k}")
        (measured,) = data(nuc(*words, "--json"))["measured"]
        assert measured["cycle_ms"] == pytest.approx(measured["waits_for_cycle_min_ms"], rel=0.02)
        assert (measured["of_prediction"], measured["wire_efficiency"]) == (None, None)
        text = nuc(*words).stdout
        assert "waits for its motors' cycleMin" in text
        assert "wire efficiency" not in text


def test_a_bus_that_is_slower_than_cycle_min_shows(nuc: Nuc) -> None:
    assert nuc("bus", "adapt", "lin_roach", "STS3215", "--out", "sts").exit_code == 0
    slow = "emulated:feetech?turnaround_us=3000"
    assert nuc("run", "sts", "--duration", "1", "--bus", slow, "--out", "bout").exit_code == 0
    (measured,) = data(nuc("bus", "budget", "sts", slow, "--bout", "bout", "--json"))["measured"]
    assert measured["of_prediction"] == pytest.approx(1.0, abs=0.02)
    quick = "emulated:feetech?turnaround_us=30"
    (measured,) = data(nuc("bus", "budget", "sts", quick, "--bout", "bout", "--json"))["measured"]
    assert measured["of_prediction"] < 0.2
