"""How late things were."""

from nuc_engine.emulation.delays import KEPT, DelayStatistics


def test_nothing_noted_is_nothing_late():
    assert DelayStatistics(100).summary() == {"count": 0, "late": 0, "p50_us": 0.0, "p99_us": 0.0, "max_us": 0.0}


def test_the_quantiles_are_of_the_last_the_rest_is_of_all():
    lateness = DelayStatistics(100_000)
    lateness.note(5_000_000)
    for delay in range(KEPT):
        lateness.note(delay)
    assert lateness.quantiles_ns(0.0, 0.5, 1.0) == (0, KEPT // 2, KEPT - 1)
    assert (lateness.count, lateness.late, lateness.max_ns) == (KEPT + 1, 1, 5_000_000)


def test_few_are_not_mixed_with_none():
    lateness = DelayStatistics(10)
    lateness.note(10)
    lateness.note(11)
    assert lateness.quantiles_ns(0.0, 0.99) == (10, 11)
    assert lateness.late == 1
