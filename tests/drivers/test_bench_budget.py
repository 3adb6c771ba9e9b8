"""How often a bus can be exchanged with, held against the makers' packet sizes cell by cell."""

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from drivers.bench.budget import (
    ADAPTERS,
    AS_DELIVERED_NS,
    FORMS,
    WithForms,
    advise,
    form_for,
    forms_of,
    predict,
)
from drivers.errors import BusUrlError
from drivers.factory import find_family

BAUDS = (57_600, 115_200, 460_800, 1_000_000, 3_000_000)
# Milliseconds on the wire, to two digits, as the protocol documents' packet sizes give them.
TABLES = {
    4: """
        aimotor send        24    4.17   2.08  0.52  0.24 0.08
        aimotor sync        32    5.56   2.78  0.69  0.32 0.11
        aimotor ten_bit     72   12.50   6.25  1.56  0.72 0.24
        dynamixel single   248   43.06  21.53  5.38  2.48 0.83
        dynamixel sync     136   23.61  11.81  2.95  1.36 0.45
        dynamixel fast     116   20.14  10.07  2.52  1.16 0.39
        feetech single     140   24.31  12.15  3.04  1.40 0.47
        feetech sync        80   13.89   6.94  1.74  0.80 0.27
    """,
    18: """
        aimotor send       108   18.75   9.38  2.34  1.08 0.36
        aimotor sync       130   22.57  11.28  2.82  1.30 0.43
        aimotor ten_bit    324   56.25  28.12  7.03  3.24 1.08
        dynamixel single  1116  193.75  96.88 24.22 11.16 3.72
        dynamixel sync     514   89.24  44.62 11.15  5.14 1.71
        dynamixel fast     396   68.75  34.38  8.59  3.96 1.32
        feetech single     630  109.38  54.69 13.67  6.30 2.10
        feetech sync       304   52.78  26.39  6.60  3.04 1.01
    """,
}


def cells():
    found = []
    for servos, text in TABLES.items():
        for line in text.strip().splitlines():
            family, name, count, *times = line.split()
            for baud, time_ms in zip(BAUDS, times, strict=True):
                found.append((servos, family, name, int(count), baud, float(time_ms)))
    return found


def form(family, name):
    return next(form for form in forms_of(family) if form.name == name)


@pytest.mark.parametrize(("servos", "family", "name", "count", "baud", "time_ms"), cells())
def test_every_cell_of_the_table(servos, family, name, count, baud, time_ms):
    budget = predict(form(family, name), servos, baud)
    assert budget.bytes == count
    assert budget.cycle_ns / 1e6 == pytest.approx(time_ms, abs=0.0051)


def test_the_table_has_every_form():
    named = {(family, name) for _, family, name, *_ in cells()}
    assert {(found.family, found.name) for found in FORMS} == named


def test_the_dissertations_loop():
    # Four AI motors at the factory's rate made 197 Hz: 4.17 ms of wire, and about 0.23 ms of each motor.
    budget = predict(form("aimotor", "send"), 4, 57_600, turnaround_ns=230_000)
    assert budget.rate_hz == pytest.approx(197, abs=2)
    assert (budget.limited_by, budget.limit_hz > 239) == ("wire", True)


def test_turnarounds_and_timers():
    # Four single exchanges through a timer of 16 ms: each answer waits for its end.
    slow = predict(form("aimotor", "send"), 4, 57_600, turnaround_ns=230_000, adapter=ADAPTERS["ftdi16"])
    assert slow.cycle_ns == pytest.approx(4 * 16_000_000, abs=10)
    assert slow.limited_by == "adapter"
    eighteen = predict(form("aimotor", "send"), 18, 115_200, adapter=ADAPTERS["ftdi16"])
    assert eighteen.cycle_ns == pytest.approx(288_000_000, abs=40)
    quick = predict(form("aimotor", "send"), 4, 57_600, turnaround_ns=230_000, adapter=ADAPTERS["ftdi1"])
    assert quick.cycle_ns == pytest.approx(4 * 2_000_000, abs=10)
    # One request for all waits once.
    sync = predict(form("feetech", "sync"), 4, 1_000_000, turnaround_ns=20_000, adapter=ADAPTERS["ftdi1"])
    assert (sync.turn_ns, sync.cycle_ns) == (80_000, 1_000_000)
    # An answer of more than 62 bytes starts the timer anew when its first part is handed over: 84 bytes leave 22.
    long = predict(form("dynamixel", "sync"), 4, 1_000_000, adapter=ADAPTERS["ftdi16"])
    assert long.host_ns == 16_000_000 - 22 * 10_000
    exact = predict(form("feetech", "sync"), 31, 1_000_000, adapter=ADAPTERS["ftdi16"])
    assert (31 * 12 % 62, exact.host_ns) == (0, 0)
    # Where 62 bytes take longer than the timer, its ends come first: 6.94 ms take two of 4 ms.
    slow = predict(form("feetech", "sync"), 4, 115_200, adapter=replace(ADAPTERS["ftdi1"], timer_ns=4_000_000))
    assert slow.cycle_ns == 8_000_000
    assert predict(form("dynamixel", "single"), 3, 1_000_000, turnaround_ns=500_000).turn_ns == 6 * 500_000


@pytest.mark.parametrize(("adapter", "trip_ns"), [("none", 0), ("pty", 100_000), ("cdc", 500_000)])
def test_an_adapter_without_a_timer_costs_the_same_for_every_answer_that_is_waited_for(adapter, trip_ns):
    # What a round trip takes is assumed: it is printed as such.
    assert trip_ns == 0 or "assumed" in ADAPTERS[adapter].title
    for family, name, trips in (
        ("aimotor", "send", 4),
        ("aimotor", "sync", 4),
        ("aimotor", "ten_bit", 8),
        ("dynamixel", "sync", 1),
        ("dynamixel", "single", 8),
        ("feetech", "sync", 1),
    ):
        apart = predict(form(family, name), 4, 57_600, turnaround_ns=1000)
        budget = predict(form(family, name), 4, 57_600, turnaround_ns=1000, adapter=ADAPTERS[adapter])
        assert budget.host_ns == trips * trip_ns, name
        assert (budget.wire_ns, budget.turn_ns) == (apart.wire_ns, apart.turn_ns), name


def test_bytes_of_a_long_answer_come_over_the_time_servos_hesitate_too():
    # 84 bytes in 0.84 ms of wire and four hesitations of 0.5 ms; the first 62 are handed over, the timer begins anew.
    late = predict(form("dynamixel", "sync"), 4, 1_000_000, turnaround_ns=500_000, adapter=ADAPTERS["ftdi16"])
    assert late.host_ns == pytest.approx(16_000_000 - 22 * (840_000 + 2_000_000) / 84, abs=100)


def test_a_dynamixel_is_delivered_with_a_return_delay_of_half_a_millisecond():
    # Return Delay Time is 250 when it is delivered, in units of 2 microseconds.
    assert dict(AS_DELIVERED_NS) == {"dynamixel": 250 * 2_000}


def test_the_highest_rate_is_advised_only_where_it_is_worth_more_than_the_next():
    bauds = (57_600, 115_200, 230_400)
    for turnaround_ns, rates in ((1_000_000, ["230400", "115200"]), (3_000_000, ["115200"]), (9_000_000, [])):
        budget = predict(form("aimotor", "send"), 4, 57_600, turnaround_ns=turnaround_ns)
        found = advise(budget, bauds, turnaround_ns=turnaround_ns, adapter=None)
        assert [words.split()[0] for words in found if "bit/s" in words] == rates


def test_only_reading_costs_less_where_nothing_is_written():
    for found in FORMS:
        drive, read = predict(found, 6, 115_200), predict(found, 6, 115_200, reading=True)
        assert read.bytes <= drive.bytes
    assert predict(form("dynamixel", "sync"), 4, 57_600, reading=True).bytes == 18 + 4 * 21
    assert predict(form("feetech", "sync"), 4, 57_600, reading=True).bytes == 12 + 4 * 12


@settings(derandomize=True, deadline=None, max_examples=60)
@given(
    st.sampled_from(FORMS),
    st.integers(1, 31),
    st.sampled_from(BAUDS),
    st.integers(0, 500_000),
    st.sampled_from(sorted(ADAPTERS)),
)
def test_a_prediction_is_the_sum_of_its_parts_and_never_beats_the_wire(form, servos, baud, turnaround_ns, adapter):
    budget = predict(form, servos, baud, turnaround_ns=turnaround_ns, adapter=ADAPTERS[adapter])
    assert budget.cycle_ns == budget.wire_ns + budget.turn_ns + budget.host_ns
    assert budget.rate_hz <= budget.limit_hz
    more = predict(form, servos + 1, baud, turnaround_ns=turnaround_ns, adapter=ADAPTERS[adapter])
    assert more.cycle_ns >= budget.cycle_ns
    if ADAPTERS[adapter].timer_ns and form.drive.trips.per_servo:
        assert budget.cycle_ns % ADAPTERS[adapter].timer_ns in range(budget.servos * 2 + 1)


@pytest.mark.parametrize("family", ["dynamixel", "feetech"])
def test_what_a_framed_family_works_out_is_what_the_makers_sizes_give(family):
    found = find_family(family)
    assert isinstance(found, WithForms)
    assert found.forms() == forms_of(family)


class Hobby:
    """A family of somebody else's."""

    def __init__(self, *forms):
        self.brought = forms

    def forms(self):
        return self.brought


def test_a_family_of_somebody_elses_brings_its_forms(monkeypatch):
    its = replace(form("feetech", "single"), family="hobby", option="")
    quick = replace(form("feetech", "sync"), family="hobby", option="quick")
    monkeypatch.setattr("drivers.factory.find_family", lambda name: Hobby(its, quick))
    assert form_for("hobby", {"baud": 1e6}) == its
    assert form_for("hobby", {"quick": 1.0}) == quick
    budget = predict(its, 4, 57_600)
    assert budget.bytes == 140
    (words,) = advise(budget, (57_600,), turnaround_ns=0, adapter=None)
    assert words.startswith("quick=1 in the URL")
    for without in (Hobby(), object()):
        monkeypatch.setattr("drivers.factory.find_family", lambda name, found=without: found)
        with pytest.raises(BusUrlError, match="expected a method `forms`"):
            forms_of("hobby")


def test_forms_by_the_options_of_a_url():
    assert form_for("aimotor", {}).name == "send"
    assert form_for("aimotor", {"sync": 1.0, "timeout_us": 4000.0}).name == "sync"
    assert form_for("dynamixel", {"fast": 0.0}).name == "sync"
    assert form_for("dynamixel", {"fast": 1.0}).name == "fast"
    with pytest.raises(BusUrlError, match="expected aimotor, dynamixel, feetech"):
        form_for("hobby", {})
    with pytest.raises(BusUrlError, match="at least one servo"):
        predict(forms_of("feetech")[0], 0, 57_600)


def test_advice_is_what_helps_most_first_and_nothing_that_does_not():
    bauds = (57_600, 115_200, 921_600)
    budget = predict(form("aimotor", "send"), 4, 57_600, turnaround_ns=230_000, adapter=ADAPTERS["ftdi16"])
    found = advise(budget, bauds, turnaround_ns=230_000, adapter=ADAPTERS["ftdi16"])
    assert "latency timer at 1 ms" in found[0]
    assert all("instead of 16" in words for words in found)
    assert not any("ten_bit" in words or "115200" in words for words in found)
    budget = predict(form("aimotor", "send"), 4, 57_600, turnaround_ns=230_000)
    found = advise(budget, bauds, turnaround_ns=230_000, adapter=None)
    assert found[0].startswith("921600 bit/s")
    assert not any("timer" in words for words in found)
    assert not any(words.startswith("sync=1") for words in found)
    fastest = predict(form("aimotor", "send"), 4, 921_600, turnaround_ns=0)
    assert advise(fastest, bauds, turnaround_ns=0, adapter=None) == []
