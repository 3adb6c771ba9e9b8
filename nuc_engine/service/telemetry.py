"""Telemetry: named values on a publishing socket, and the newest of them as datagrams.

Each message has three frames: topic, a MessagePack map from name to value, and seconds since 1970 in ASCII, which
PlotJuggler reads as it is. A recipe is a list of names and a rate; the same recipe has the same topic. Nothing is put
together for a topic nobody listens to, and nothing here ever waits.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from drivers.units import NS_PER_S
from nuc_engine.messages.errors import Refused
from nuc_engine.service.datagrams import Datagrams
from nuc_engine.service.mirror import Field, Mirror, Moment
from nuc_engine.service.pack import pack_map
from nuc_engine.service.recent import Happening

TOPIC, EVENTS = "nuc", "nuc.event"
MAX_RECIPES = 64
MAX_NAMES = 512
MAX_VALUES_HZ = 100_000.0
UNLISTENED_NS = 300_000_000_000
"""A recipe that nobody has listened to for this long is forgotten."""

_ALWAYS = (0.0, -1.0)


class Publisher(Protocol):
    """A socket that sends to every listener, and never waits."""

    def listened(self, topic: str) -> bool:
        """Say whether any client listens to a topic."""
        ...

    def publish(self, frames: Sequence[bytes]) -> None:
        """Send to all who listen."""
        ...


@dataclass(slots=True)
class TelemetryTopic:
    """Names and a rate. `fields` are those that the model in force has; `window_s` is engine time from and to.

    A window that begins at 0 and does not end (negative) is always open.
    """

    topic: str
    names: tuple[int | str, ...]
    period_ns: int
    due_ns: int = 0
    listened_ns: int = 0
    users: int = 1
    window_s: tuple[float, float] = _ALWAYS
    fields: tuple[Field, ...] = ()


@dataclass(slots=True)
class Recipes:
    """All recipes; `step` sends what is due. `unix_time_s` is seconds since 1970."""

    publisher: Publisher
    unix_time_s: Callable[[], float]
    rate_hz: float
    datagrams: Datagrams | None = None
    _recipes: dict[str, TelemetryTopic] = field(default_factory=dict[str, TelemetryTopic])
    _default: TelemetryTopic = field(init=False)
    _mirror: Mirror | None = None
    _number: int = 0

    def __post_init__(self) -> None:
        """Make the recipe that is always there."""
        self._default = TelemetryTopic(TOPIC, (), _period(self.rate_hz))

    def open(self, mirror: Mirror) -> None:
        """Take over the names of a model."""
        self._mirror = mirror
        self._default.fields = mirror.default_recipe()
        for recipe in self._recipes.values():
            recipe.fields = _found(mirror, recipe.names)

    def subscribe(
        self, names: Sequence[int | str], rate_hz: float, now_ns: int, window_s: tuple[float, float] = _ALWAYS
    ) -> TelemetryTopic:
        """Return the recipe of these names and this rate, a new one if need be. Raises Refused."""
        if len(names) > MAX_NAMES:
            raise Refused("bad_request", f"{len(names)} names", f"at most {MAX_NAMES} in one recipe")
        period_ns = _period(rate_hz)
        for recipe in self._recipes.values():
            if (recipe.names, recipe.period_ns, recipe.window_s) == (tuple(names), period_ns, window_s):
                recipe.listened_ns = now_ns
                recipe.users += 1
                return recipe
        values = sum(len(other.names) * NS_PER_S / other.period_ns for other in self._recipes.values())
        if values + len(names) * rate_hz > MAX_VALUES_HZ:
            hint = f"together recipes may ask for {MAX_VALUES_HZ:g} values a second"
            raise Refused("refused", f"{len(names)} names at {rate_hz:g} Hz are too many", hint)
        if len(self._recipes) >= MAX_RECIPES:
            raise Refused("refused", f"there are {MAX_RECIPES} recipes already", "unsubscribe from some")
        self._number += 1
        recipe = TelemetryTopic(f"{TOPIC}.{self._number}", tuple(names), period_ns, now_ns, now_ns, window_s=window_s)
        if self._mirror is not None:
            recipe.fields = _found(self._mirror, names)
        self._recipes[recipe.topic] = recipe
        return recipe

    def __contains__(self, topic: str) -> bool:
        """Say whether there is a recipe of this topic."""
        return topic in self._recipes

    def unsubscribe(self, topic: str) -> None:
        """Forget a recipe once its last subscriber is gone. Raises Refused."""
        recipe = self._recipes.get(topic)
        if recipe is None:
            known = ", ".join(self._recipes) or "none"
            raise Refused("not_found", f"there is no topic {topic!r}", f"there are: {known}")
        recipe.users -= 1
        if recipe.users <= 0:
            del self._recipes[topic]

    def next_ns(self) -> int:
        """Return when the next message is due."""
        return min((recipe.due_ns for recipe in self._all()), default=self._default.due_ns)

    def step(self, moment: Moment, now_ns: int) -> None:
        """Send what is due and listened to."""
        for recipe in self._all():
            if recipe.due_ns > now_ns:
                continue
            # Late is late: no burst follows.
            recipe.due_ns = max(recipe.due_ns + recipe.period_ns, now_ns + recipe.period_ns // 2)
            if self.publisher.listened(recipe.topic):
                recipe.listened_ns = now_ns
                self._send(recipe, moment)
            elif recipe is not self._default and now_ns - recipe.listened_ns > UNLISTENED_NS:
                del self._recipes[recipe.topic]
            if recipe is self._default and self.datagrams is not None:
                self.datagrams.send(pack_map({**read(recipe.fields, moment), "unix_time_s": self.unix_time_s()}))

    def happened(self, happening: Happening) -> None:
        """Send something that happened on the event topic."""
        if self.publisher.listened(EVENTS):
            self.publisher.publish([EVENTS.encode(), pack_map(happening), _stamp(happening["unix_time_s"])])

    def _send(self, recipe: TelemetryTopic, moment: Moment) -> None:
        start_s, stop_s = recipe.window_s
        if start_s > 0 or stop_s >= 0:
            time_s = moment.engine_time_s
            if time_s is None or time_s < start_s or 0 <= stop_s <= time_s:
                return
        values = read(recipe.fields, moment)
        if values:
            self.publisher.publish([recipe.topic.encode(), pack_map(values), _stamp(self.unix_time_s())])

    def _all(self) -> tuple[TelemetryTopic, ...]:
        return (self._default, *self._recipes.values())


def read(fields: Sequence[Field], moment: Moment) -> dict[str, Any]:
    """Return name and value of each field that has one now; lists are spread over NAME[k]."""
    values: dict[str, Any] = {}
    for item in fields:
        value = item.read(moment)
        if isinstance(value, list):
            values.update({f"{item.name}[{k}]": number for k, number in enumerate(value)})
        elif value is not None:
            values[item.name] = value
    return values


def describe(recipe: TelemetryTopic, mirror: Mirror | None) -> Mapping[str, Any]:
    """Return what a recipe's fields are: type and unit by name, or "not found"."""
    answer: dict[str, Any] = {}
    for name in recipe.names:
        found = None if mirror is None else _field(mirror, name)
        answer[str(name)] = "not found" if found is None else {"type": found.type, "unit": found.unit, "as": found.name}
    return answer


def _found(mirror: Mirror, names: Sequence[int | str]) -> tuple[Field, ...]:
    return tuple(found for name in names if (found := _field(mirror, name)) is not None)


def _field(mirror: Mirror, name: int | str) -> Field | None:
    try:
        return mirror.field(name)
    except Refused:
        return None  # An element that this configuration does not have.


def _period(rate_hz: float) -> int:
    return round(NS_PER_S / rate_hz)


def _stamp(unix_time_s: float) -> bytes:
    return f"{unix_time_s:.6f}".encode()
