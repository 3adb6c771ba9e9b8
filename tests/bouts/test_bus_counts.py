"""What went wrong on the bus stands in the manifest, and in the words at the end where it was anything."""

from __future__ import annotations

import json

from click.testing import CliRunner

from nuc_engine.cli.app import app
from nuc_engine.configurations.adapt import adapt, write_adapted


def ran(folder, config, bus):
    words = ["run", config, "--bus", bus, "--duration", "2", "--out", str(folder)]
    told = CliRunner().invoke(app, words)
    assert told.exit_code == 0, told.output
    return told.stdout, json.loads((folder / "manifest.json").read_text())["counts"]["bus"]


def test_a_good_line_counts_nothing_and_says_nothing(tmp_path):
    text, counts = ran(tmp_path / "bout", "lin_roach", "emulated:")
    assert counts == {"missed": 0, "implausible": 0, "stray_bytes": 0}
    assert "\nbus " not in text


def test_on_a_bad_line_the_sum_stands_in_the_manifest_and_is_said(tmp_path):
    text, counts = ran(tmp_path / "bout", "lin_roach", "emulated:?echo=1&drop=0.002")
    assert counts["missed"] > 0
    assert counts["echo_errors"] == 0
    (line,) = [line for line in text.splitlines() if line.startswith("bus ")]
    assert f"missed {counts['missed']}" in line
    assert "echo" not in line


def test_counts_of_the_family_go_the_same_way(tmp_path):
    write_adapted(adapt("lin_roach", "XL430-W250"), tmp_path / "leg")
    bus = "emulated:dynamixel?baud=1000000&flip=0.004"
    text, counts = ran(tmp_path / "bout", str(tmp_path / "leg"), bus)
    assert counts["bad_checksums"] > 0
    assert {"restarts", "trips"} <= set(counts)
    assert f"bad checksums {counts['bad_checksums']}" in text
