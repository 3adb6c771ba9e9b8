"""Room in the ring to the core that is kept for changes is nobody else's until they are sent or given up."""

from __future__ import annotations

import pytest

from nuc_engine.messages.errors import Refused
from nuc_engine.model.changes import Write
from nuc_engine.service.core_link import AT_ONCE, ChangeParts, ScheduledChange, admit
from tests.service.bench import bench

MANY = 10_000


def test_room_that_is_kept_is_nobody_elses_until_it_is_given_up(tmp_path):
    with bench(tmp_path) as b:
        b.configured()
        core = b.service.hub.core
        write = Write(b.service.hub.need_plan().hdsos[0].index, (1.0,))
        admitted = admit([ScheduledChange(AT_ONCE, ("gap",), ChangeParts((write,)))] * 50)
        kept = []
        with pytest.raises(Refused, match="too many wait"):
            kept.extend(core.reserve("Ann (user 0, process 1)", admitted) for _ in range(MANY))
        assert len(kept) > 2
        for first in kept[1:]:
            core.release(first, admitted)
        for _ in kept[1:]:
            core.reserve("Ann (user 0, process 1)", admitted)
        with pytest.raises(Refused, match="too many wait"):
            core.reserve("Ann (user 0, process 1)", admitted)
