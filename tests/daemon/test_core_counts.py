"""What buses count reaches the service while it changes, and the bout when it ends."""

from __future__ import annotations

from nuc_engine.bout.run import BoutSpec, run_bout
from nuc_engine.daemon.wire import RecordKind
from nuc_engine.recording.manifest import read_record
from tests.daemon.cores import Bench, silence


def told(records, what=RecordKind.BUS):
    return [content[1] for kind, content in records if kind is what]


def test_the_service_is_told_of_missed_replies_since_the_core_began():
    bench = Bench()
    bench.run(0.1)
    silence(bench, seconds=1.0)
    first = told(bench.records())[-1]
    bench.run(1.0)
    later = told(bench.records())[-1]
    assert 0 < first["missed"] < later["missed"] <= bench.bus.missed
    assert set(later) >= {"missed", "implausible", "stray_bytes"}


def test_a_service_that_began_anew_is_told_what_has_not_changed_and_not_often():
    bench = Bench()
    bench.run(0.1)
    bench.records()
    bench.run(8.0)
    assert 3 <= len(told(bench.records())) <= 4


def test_what_a_family_adds_goes_the_same_way():
    bench = Bench(config="lin_roach")
    bench.run(0.1)
    bench.bus.bus._port.__class__ = type(
        "Counting", (type(bench.bus.bus._port),), {"__slots__": (), "counts": {"x": 7}}
    )
    bench.run(1.0)
    assert told(bench.records())[-1]["x"] == 7


def test_a_bout_counts_from_its_own_start_and_says_at_its_end_what_went_wrong():
    bench = Bench()
    bench.run(0.1)
    silence(bench, seconds=0.5)
    bench.plug(1)
    bench.run(0.5)
    before = bench.bus.missed
    bench.start(0.2)
    bench.records()
    bench.unplug(1)
    bench.run(0.5)
    records = bench.records()
    (counts,) = told(records, RecordKind.COUNTS)
    assert 0 < counts["bus"]["missed"] < before
    (text,) = [content[2] for kind, content in records if kind is RecordKind.EVENT and content[1] == "bus_counts"]
    assert f"missed {counts['bus']['missed']}" in text
    assert "stray" not in text


def test_of_a_good_line_nothing_is_said():
    bench = Bench()
    bench.run(0.1)
    bench.start(0.2, stop_ns=100_000_000)
    bench.run(0.2)
    records = bench.records()
    assert not any(told(records, RecordKind.COUNTS)[0]["bus"].values())
    assert "bus_counts" not in [content[1] for kind, content in records if kind is RecordKind.EVENT]


def test_a_bout_beside_a_leg_counts_what_one_on_the_virtual_clock_counts(tmp_path):
    bench = Bench()
    bench.run(0.1)
    bench.start(0.2, stop_ns=100_000_000)
    bench.run(0.2)
    (counts,) = told(bench.records(), RecordKind.COUNTS)
    run_bout(BoutSpec("lin_roach", tmp_path / "bout", duration_s=0.1, bus="loopback:"))
    virtual = read_record(tmp_path / "bout")["counts"]
    assert virtual.keys() - counts.keys() == {"records", "events"}
    assert not counts.keys() - virtual.keys()
