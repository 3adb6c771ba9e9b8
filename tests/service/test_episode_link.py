"""The process that runs a server's episodes: ended before it had begun, and given what can not be sent."""

from __future__ import annotations

import asyncio

import pytest

from nuc_engine.service.episode_link import EpisodeLink
from nuc_engine.service.episode_worker import EpisodeOrder


def test_a_worker_that_is_ended_before_it_has_begun_is_replaced_and_does_not_end_the_server() -> None:
    async def twice() -> tuple[list[Exception], int]:
        link, broke = EpisodeLink(asyncio.get_running_loop()), list[Exception]()
        link.broke = broke.append
        link.kill()
        link.kill()
        link.close()
        return broke, link.deaths

    assert asyncio.run(twice()) == ([], 2)


def test_an_order_that_can_not_be_sent_does_not_count_as_one_that_runs() -> None:
    async def ordered() -> bool:
        link = EpisodeLink(asyncio.get_running_loop())
        try:
            with pytest.raises(OverflowError):
                link.start(EpisodeOrder(1, "x", None, {"seed": 10**30}, 0.0, "", None))
            return link.running
        finally:
            link.close()

    assert asyncio.run(ordered()) is False
