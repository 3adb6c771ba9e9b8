"""What waits for a tab is bounded, and what it missed is counted."""

from __future__ import annotations

import asyncio

from hypothesis import given
from hypothesis import strategies as st

from nuc_engine.ui.outbox import Outbox

PUTS = st.lists(st.tuples(st.binary(max_size=40), st.integers(0, 5)), max_size=60)


def test_messages_come_in_their_order() -> None:
    async def go() -> list[object]:
        box = Outbox()
        taking = [asyncio.create_task(box.take()) for _ in range(2)]
        await asyncio.sleep(0)
        box.put("a")
        box.put(b"b", 3)
        return [await task for task in taking]

    assert asyncio.run(go()) == ["a", b"b"]


@given(PUTS)
def test_it_holds_no_more_than_it_may_and_counts_every_record_that_it_drops(puts: list[tuple[bytes, int]]) -> None:
    async def go() -> None:
        box, taken = Outbox(100, 10), 0
        for number, (message, records) in enumerate(puts):
            box.put(message, records)
            assert len(box) <= 10
            if number % 3 == 0 and not box.full and len(box):
                before = sum(held for _, held in box._waiting)
                await box.take()
                taken += before - sum(held for _, held in box._waiting)
        left = sum(held for _, held in box._waiting)
        assert taken + left + box.missed == sum(records for _, records in puts)
        if box.full:
            assert await box.take() is None

    asyncio.run(go())
