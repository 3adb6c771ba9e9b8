"""Limits follow from what the machine grants: with real-time priority a core is given 20 ms, without it more."""

import os

import pytest

from nuc_engine.daemon.launch import ServeOptions
from nuc_engine.service import serve


@pytest.fixture
def limited(monkeypatch):
    """Return a function: the limit in ms that options come to, and what is said of it, where priority is granted."""

    def limit(options: ServeOptions, *, granted: bool):
        def schedule(_pid, _policy, _param):
            if not granted:
                raise PermissionError

        said: list[str] = []
        monkeypatch.setattr(os, "sched_setscheduler", schedule)
        return serve._with_limits(options, said.append).stall_limit_ms, said

    return limit


def test_with_real_time_priority_a_core_may_stand_still_for_20_ms_and_nothing_is_said(limited):
    assert limited(ServeOptions(priority=50), granted=True) == (20, [])


@pytest.mark.parametrize(("priority", "why"), [(0, "--priority 0"), (50, "not permitted")])
def test_without_it_the_limit_is_wider_and_it_is_said_once(limited, priority, why):
    limit_ms, said = limited(ServeOptions(priority=priority), granted=False)
    assert limit_ms == 250
    (text,) = said
    assert f"no real-time priority ({why}" in text
    assert "limp after 250 ms instead of 20" in text


def test_a_limit_that_was_asked_for_is_kept(limited):
    assert limited(ServeOptions(priority=0, stall_limit_ms=40), granted=False)[0] == 40
