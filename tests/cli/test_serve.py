"""`nuc serve` as far as its command line goes: what it hands to the daemon, and what it refuses."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from nuc_engine.daemon.launch import ServeOptions
from nuc_engine.service import serve as daemon


@pytest.fixture
def served(monkeypatch):
    """What would have been served: (options, buses, everything else)."""
    calls = []

    def serve(options, buses, **more):
        calls.append((options, list(buses), more))
        more["show"]("configured")
        return 0

    monkeypatch.setattr(daemon, "serve", serve)
    return calls


def test_nothing_but_a_configuration_means_an_emulated_leg_and_the_defaults(nuc, served):
    result = nuc("serve", "lin_roach")
    assert result.exit_code == 0
    assert "nuc serve: configured" in result.output
    options, buses, more = served[0]
    assert options == ServeOptions(configuration="lin_roach")
    assert buses == [("", "emulated:")]
    assert more["seed"] == 0
    assert more["environment"] is os.environ


def test_a_daemon_whose_reader_is_gone_goes_on(nuc, served, monkeypatch):
    def gone(*_, **__):
        raise BrokenPipeError

    monkeypatch.setattr("click.echo", gone)
    assert nuc("serve", "lin_roach").exit_code == 0


def test_every_option_arrives(nuc, served):
    words = (
        "serve my_leg --bus left=aimotor:///dev/nuc/left?baud=115200 --bus right=emulated:?drop=0.01 --data d"
        " --command ipc:///run/a --command tcp://127.0.0.1:1 --telemetry ipc:///run/b --udp 127.0.0.1:9 --log command"
        " --mcap --on-stop park --park CT=20 --park FT=-7.5 --on-service-loss stop --approach 30 --limit TC=40"
        " --label operator=A=B --priority 20 --cpu 0 --spin 50 --stall-limit 40 --silent-cycles 3"
        " --control-timeout 5 --keys k --seed 3"
    )
    assert nuc(*words.split()).exit_code == 0
    options, buses, more = served[0]
    assert buses == [("left", "aimotor:///dev/nuc/left?baud=115200"), ("right", "emulated:?drop=0.01")]
    assert more["seed"] == 3
    assert options == ServeOptions(
        configuration="my_leg",
        data=Path("d"),
        commands=("ipc:///run/a", "tcp://127.0.0.1:1"),
        telemetry="ipc:///run/b",
        udp="127.0.0.1:9",
        logging="command",
        mcap=True,
        on_stop="park",
        on_service_loss="stop",
        park_deg={"CT": 20.0, "FT": -7.5},
        approach_deg_s=30.0,
        limits={"TC": 40},
        labels={"operator": "A=B"},
        priority=20,
        cpu=0,
        spin_us=50,
        stall_limit_ms=40,
        silent_cycles=3,
        control_timeout_s=5.0,
        keys=Path("k"),
    )


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("--bus /dev/ttyUSB0", "expected URL or NAME=URL"),
        ("--bus aimotor:///dev/a --bus b=aimotor:///dev/b", "of several buses each needs a name"),
        ("--bus b=aimotor:///dev/a --bus b=aimotor:///dev/b", "two buses are called 'b'"),
        ("--park CT=far", "--park CT=far: expected degrees"),
        ("--park CT=nan", "expected degrees"),
        ("--park CT=1 --park CT=2", "--park CT is given twice"),
        ("--on-stop park", "say where to, with --park"),
        ("--limit TC=99999", "expected whole ticks, 0 to"),
        ("--limit TC=-1", "expected whole ticks"),
        ("--cpu 4096", "this process may use"),
        ("--priority 90", "90"),
        ("--stall-limit 5", "5"),
        ("--silent-cycles 1", "silent-cycles"),
        ("--telemetry nonsense", "is no address"),
        ("--bus emulated:?drop", "expected a number"),
        ("--approach 0", "0"),
        ("--log sometimes", "sometimes"),
    ],
)
def test_what_cannot_be_is_refused_before_anything_starts(nuc, served, words, said):
    result = nuc("serve", "lin_roach", *words.split())
    assert result.exit_code == 2
    assert said in result.output
    assert served == []


def test_everything_that_is_wrong_is_said_at_once(nuc, served):
    words = (
        "serve lin_roach --bus /dev/ttyUSB0 --bus abacus:///dev/x --priority 90 --park CT=far --limit TC=99999"
        " --on-stop nowhere --command nonsense --udp 10.0.0.1:9"
    )
    result = nuc(*words.split())
    assert result.exit_code == 2
    lines = result.stderr.splitlines()
    wrong = ("/dev/ttyUSB0", "abacus", "90", "CT=far", "TC=99999", "nowhere", "nonsense", "10.0.0.1:9")
    for word in wrong:
        assert len([line for line in lines if word in line]) == 1, (word, lines)
    assert len(lines) == len(wrong)
    assert all(line.startswith("nuc serve: ") for line in lines)
    assert lines[-1].endswith("(see nuc serve --help)")
    assert served == []


def test_buses_that_cannot_be_are_refused_by_the_daemon_too(nuc):
    result = nuc("serve", "lin_roach", "--bus", "abacus:///dev/ttyUSB0")
    assert result.exit_code == 2
    assert "abacus" in result.output


def test_an_emulated_leg_needs_a_name(nuc):
    result = nuc("serve")
    assert result.exit_code == 2
    assert "which leg" in result.output


def test_an_adapter_that_is_not_there_is_said_at_once(nuc, tmp_path):
    missing = tmp_path / "ttyUSB0"
    result = nuc("serve", "lin_roach", "--bus", f"aimotor://{missing}")
    assert result.exit_code == 1
    assert "no such device" in result.output


def test_the_help_teaches(nuc):
    text = nuc("serve", "--help").output
    for word in ("Examples:", "nuc ctl arm", "SIGTERM", "--on-stop", "confirmed by every servo"):
        assert word in text
