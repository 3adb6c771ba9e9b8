"""Whose streams are whose: each belongs to the client that asked for it, and ends with it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from nuc_engine.messages.errors import Refused
from nuc_engine.service.clients import ConnectedClient
from nuc_engine.service.mirror import Mirror
from nuc_engine.service.telemetry import MAX_VALUES_HZ, Recipes, TelemetryTopic

MOST_STREAMS = 16
"""Streams of one client: a quarter of all that there may be."""


class Streams:
    """Who has asked for which recipes, and how many values a second these are."""

    def __init__(self, recipes: Recipes) -> None:
        self._recipes = recipes
        self._of: dict[bytes, Counter[str]] = {}
        self._values_hz: dict[str, float] = {}

    def subscribe(
        self,
        client: ConnectedClient,
        mirror: Mirror | None,
        names: Sequence[int | str],
        rate_hz: float,
        now_ns: int,
        window_s: tuple[float, float] = (0.0, -1.0),
    ) -> TelemetryTopic:
        """Return a recipe for a client. Raises Refused."""
        mine = self._of.get(client.key, Counter())
        if mine.total() >= MOST_STREAMS:
            raise Refused("refused", f"you have {MOST_STREAMS} streams already", "unsubscribe from some")
        # A list of numbers is as many values as it has elements.
        hdsos = [None if mirror is None else mirror.hdso(name) for name in names]
        values_hz = sum(1 if hdso is None else hdso.count for hdso in hdsos) * rate_hz
        if sum(self._values_hz.values()) + values_hz > MAX_VALUES_HZ:
            hint = f"together streams may have {MAX_VALUES_HZ:g} values a second"
            raise Refused("refused", f"{values_hz:g} values a second are too many", hint)
        recipe = self._recipes.subscribe(names, rate_hz, now_ns, window_s)
        self._of.setdefault(client.key, Counter())[recipe.topic] += 1
        self._values_hz[recipe.topic] = values_hz
        return recipe

    def unsubscribe(self, client: ConnectedClient, topic: str) -> None:
        """End a stream of a client. Raises Refused for one that is not its own."""
        mine = self._of.get(client.key, Counter())
        if topic not in mine:
            raise Refused(
                "not_found", f"there is no topic {topic!r} of yours", f"yours are: {', '.join(mine) or 'none'}"
            )
        self._end(client.key, topic)

    def has(self, key: bytes) -> bool:
        """Say whether a client has any."""
        return key in self._of

    def drop(self, key: bytes) -> None:
        """End all streams of a client that is gone."""
        for topic in list(self._of.get(key, Counter()).elements()):
            self._end(key, topic)

    def forget_unheard(self) -> None:
        """Forget those that have ended because nobody listened."""
        for key, mine in list(self._of.items()):
            for topic in [topic for topic in mine if topic not in self._recipes]:
                for _ in range(mine[topic]):
                    self._end(key, topic)

    def _end(self, key: bytes, topic: str) -> None:
        mine = self._of[key]
        mine[topic] -= 1
        if not mine[topic]:
            del mine[topic]
        if not mine:
            del self._of[key]
        if topic in self._recipes:
            self._recipes.unsubscribe(topic)
        if topic not in self._recipes:
            self._values_hz.pop(topic, None)
