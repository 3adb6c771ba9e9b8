from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nuc_engine.realtime import RealtimeError, TaskStatistics
from nuc_engine.realtime.stats import bucket_middle, bucket_of

MS, S = 1_000_000, 1_000_000_000
START = 7_000 * S


def words() -> memoryview:
    return memoryview(bytearray(8 * TaskStatistics.WORDS)).cast("q")


@given(st.integers(min_value=1000, max_value=16 * S))
@settings(deadline=None, derandomize=True, max_examples=300)
def test_a_bucket_stands_for_its_times_within_five_percent(time_ns: int) -> None:
    assert bucket_middle(bucket_of(time_ns)) == pytest.approx(time_ns, rel=0.05)


def test_buckets_are_in_order_without_gaps() -> None:
    edges = [n for base in range(34) for n in range(1 << base, 2 << base, max(1, (1 << base) // 64))]
    buckets = [bucket_of(time) for time in edges]
    assert buckets == sorted(buckets)
    assert set(range(buckets[-1] + 1)) == set(buckets)


@pytest.mark.parametrize("time_ns", [-5, 0])
def test_what_is_early_counts_as_punctual(time_ns: int) -> None:
    assert bucket_of(time_ns) == 0


def test_beyond_the_last_bucket_only_the_maximum_is_exact() -> None:
    statistics = TaskStatistics(words())
    statistics.record(START, START + 100 * S, START + 300 * S)
    found = since_start(statistics)
    assert found["lateness_ns"]["max"] == 100 * S
    assert found["execution_ns"]["max"] == 200 * S
    assert found["execution_ns"]["p50"] > 15 * S
    assert found["lateness_ns"]["p50"] > 15 * S


def since_start(statistics: TaskStatistics, now_ns: int = START) -> Any:
    return statistics.summary(now_ns)["since_start"]


def test_a_task_that_never_ran() -> None:
    found = TaskStatistics(words()).summary(START)
    assert found["runs"] == 0
    assert found["period_ns"] is found["since_start"] is found["last_second"] is None


def test_quantiles_are_those_of_the_samples() -> None:
    source = np.random.default_rng(4)
    statistics = TaskStatistics(words())
    late = [int(source.lognormal(10, 1)) for _ in range(5000)]
    took = [int(source.uniform(1000, 300_000)) for _ in range(5000)]
    for index, (wait, work) in enumerate(zip(late, took, strict=True)):
        release = START + index * MS
        statistics.record(release, release + wait, release + wait + work)
    for samples, name in ((sorted(late), "lateness_ns"), (sorted(took), "execution_ns")):
        found = since_start(statistics)[name]
        assert found["max"] == samples[-1]
        assert found["p50"] == pytest.approx(samples[2499], rel=0.05)
        assert found["p99"] == pytest.approx(samples[4949], rel=0.05)


def test_a_quantile_is_never_above_the_maximum() -> None:
    statistics = TaskStatistics(words())
    statistics.record(START, START + 1_000_001, START + 2_000_000)
    found = since_start(statistics)["lateness_ns"]
    assert found == {"p50": 1_000_001, "p99": 1_000_001, "max": 1_000_001}


def test_periods() -> None:
    statistics = TaskStatistics(words())
    for at in (0, 10, 25, 33):
        statistics.record(START + at * MS, START + at * MS, START + at * MS + 5)
    assert statistics.summary(START)["period_ns"] == {"last": 8 * MS, "min": 8 * MS, "max": 15 * MS, "mean": 11 * MS}


def test_overruns_and_what_they_skipped() -> None:
    statistics = TaskStatistics(words())
    statistics.overrun(1)
    statistics.overrun(4)
    found = statistics.summary(START)
    assert (found["overruns"], found["skipped"]) == (2, 5)


def run_second(statistics: TaskStatistics, second: int, late_ns: int, runs: int = 10) -> None:
    for index in range(runs):
        release = START + second * S + index * MS
        statistics.record(release, release + late_ns, release + late_ns + 1000)


def test_the_last_second_is_the_last_whole_one() -> None:
    statistics = TaskStatistics(words())
    for second, late in enumerate((10_000, 500_000, 20_000, 80_000)):
        run_second(statistics, second, late, 10 + second)
        last: Any = statistics.summary(START + second * S + 900 * MS)["last_second"]
        if second == 0:
            assert last is None
        else:
            assert last["runs"] == 9 + second
            assert last["lateness_ns"]["max"] == (10_000, 500_000, 20_000)[second - 1]
    assert since_start(statistics)["lateness_ns"]["max"] == 500_000
    assert statistics.summary(START)["runs"] == 46


def test_a_task_that_did_not_run_in_the_last_second_says_nothing_of_it() -> None:
    statistics = TaskStatistics(words())
    run_second(statistics, 0, 10_000)
    assert statistics.summary(START + 1 * S)["last_second"] is not None
    assert statistics.summary(START + 2 * S)["last_second"] is None
    run_second(statistics, 4, 10_000)
    assert statistics.summary(START + 4 * S)["last_second"] is None


def test_another_reader_of_the_same_words_sees_the_same() -> None:
    shared = words()
    statistics = TaskStatistics(shared)
    run_second(statistics, 0, 30_000)
    assert TaskStatistics(shared).summary(START + S) == statistics.summary(START + S)


def test_a_writer_that_takes_over_goes_on() -> None:
    one, two = words(), words()
    whole, heir = TaskStatistics(one), TaskStatistics(two)
    for second in (0, 1, 1):
        run_second(whole, second, 30_000 + second)
    run_second(TaskStatistics(two), 0, 30_000)
    # Made before the other wrote, as a child is that was forked from the same parent.
    run_second(heir, 1, 30_001)
    run_second(TaskStatistics(two), 1, 30_001)
    assert one == two


def test_a_process_that_clears_first_begins_anew_whatever_stood_there() -> None:
    shared, fresh = words(), words()
    inherited = TaskStatistics(shared)
    run_second(TaskStatistics(shared), 0, 900_000)
    inherited.clear()
    run_second(inherited, 0, 20_000)
    run_second(TaskStatistics(fresh), 0, 20_000)
    assert shared == fresh


@pytest.mark.parametrize("memory", [memoryview(bytearray(8 * TaskStatistics.WORDS)), words()[1:]])
def test_other_memory_is_refused(memory: memoryview) -> None:
    with pytest.raises(RealtimeError, match="words of format 'q'"):
        TaskStatistics(memory)
