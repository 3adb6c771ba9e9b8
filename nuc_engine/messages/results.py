"""What the daemon answers, typed. Times are seconds of engine time unless a name says otherwise.

Everything is read from plain maps by `Fields`, which names the field that is missing or of another type. Fields nobody
asked for are left alone: a newer daemon may say more.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

from nuc_engine.messages.errors import BadAnswer

Value = str | int | float | bool | list[int | float] | None
"""A value of an HDSO or of another name: a number, a list in row-major order, a text (rules), or None (no value)."""

Data = Mapping[str, Any]


class Fields:
    """Reads fields of one map of an answer. Raises BadAnswer."""

    def __init__(self, method: str, data: object) -> None:
        if not isinstance(data, Mapping):
            raise BadAnswer(f"{method}: expected a map as the result, got {type(data).__name__}")
        self.method = method
        self.data = cast(Mapping[str, Any], data)

    def text(self, name: str, default: str | None = None) -> str:
        """Return a text."""
        value = self._get(name, default)
        return "" if value is None else self._typed(name, value, str, "a text")

    def number(self, name: str, default: float | None = None) -> float:
        """Return a number."""
        value = self._get(name, default)
        return float(self._typed(name, value, (int, float), "a number"))

    def integer(self, name: str, default: int | None = None) -> int:
        """Return a whole number."""
        return int(self._typed(name, self._get(name, default), int, "a whole number"))

    def flag(self, name: str, default: bool | None = None) -> bool:
        """Return true or false; 0 and 1 are taken as such."""
        return bool(self._typed(name, self._get(name, default), (bool, int), "true or false"))

    def map(self, name: str, default: Data | None = None) -> Data:
        """Return a map."""
        value = self._get(name, default)
        return {} if value is None else self._typed(name, value, Mapping, "a map")

    def list(self, name: str, default: Sequence[Any] | None = None) -> tuple[Any, ...]:
        """Return a list, as a tuple."""
        value = self._get(name, default)
        return () if value is None else tuple(self._typed(name, value, (list, tuple), "a list"))

    def _get(self, name: str, default: Any) -> Any:
        if name in self.data:
            return self.data[name]
        if default is None:
            raise BadAnswer(f"{self.method}: the answer has no {name!r}; it has {', '.join(self.data) or 'nothing'}")
        return default

    def _typed(self, name: str, value: Any, kinds: Any, expected: str) -> Any:
        if not isinstance(value, kinds):
            raise BadAnswer(f"{self.method}: {name!r} is {value!r}; expected {expected}")
        return value


@dataclass(frozen=True, slots=True)
class Greeting:
    """Who is there, what it runs, and as whom one is known to it."""

    engine: str
    configuration: str
    mode: str
    author: str
    verified: bool
    control: str
    name: str = ""
    role: str = ""

    @classmethod
    def read(cls, data: object) -> Greeting:
        """Return it from an answer."""
        f = Fields("hello", data)
        author, verified = f.data.get("author"), f.flag("verified", False)
        if isinstance(author, Mapping):
            who = cast(Data, author)
            author, verified = who.get("name"), bool(who.get("verified"))
        return cls(
            engine=f.text("engine", ""),
            configuration=f.text("configuration", ""),
            mode=f.text("mode"),
            author=str(author or ""),
            verified=verified,
            control=_who(f.data),
            name=f.text("name", str(author or "")),
            role=f.text("role", ""),
        )


@dataclass(frozen=True, slots=True)
class Status:
    """How the daemon is. `bout` 0: none; `control` empty: nobody has it; `data` is the whole answer.

    `latched`: nothing drives before `arm`, since there was a fault (mode FAULT) or somebody asked for it
    (`latch_reason` is "off"). `refusals` say which servos can not be driven as they were given, and why; `bus_counts`
    is what went wrong on the buses since the core began, by names as in `drivers.bus.COUNTS`.
    """

    mode: str
    configuration: str
    bout: int
    engine_time_s: float | None
    cycle: int
    torque: bool
    latched: bool
    latch_reason: str
    unconfirmed: tuple[str, ...]
    refusals: tuple[str, ...]
    control: str
    clients: tuple[Data, ...]
    bus_counts: Data
    losses: Data
    deaths: Data
    logging: Data
    tasks: Data
    privileges_missing: tuple[str, ...]
    data: Data = field(repr=False)

    @classmethod
    def read(cls, data: object) -> Status:
        """Return it from an answer."""
        f = Fields("status", data)
        time_s, bout = f.data.get("engine_time_s"), f.data.get("bout")
        return cls(
            mode=f.text("mode"),
            configuration=f.text("configuration", ""),
            bout=bout if isinstance(bout, int) else int(cast(Data, bout).get("number") or 0) if _is_map(bout) else 0,
            engine_time_s=float(time_s) if isinstance(time_s, int | float) else None,
            cycle=int(f.data.get("cycle") or 0),
            torque=f.flag("torque", False),
            latched=f.flag("latched", False),
            latch_reason=f.text("latch_reason", ""),
            unconfirmed=tuple(map(str, f.list("unconfirmed", ()))),
            refusals=tuple(map(str, f.list("refusals", ()))),
            control=_who(f.data),
            clients=tuple(_client(item) for item in f.list("clients", ())),
            bus_counts=f.map("bus_counts", {}),
            losses=f.map("losses", {}),
            deaths=f.map("deaths", {}),
            logging=f.map("logging", {}),
            tasks=f.map("tasks", {}),
            privileges_missing=tuple(map(str, f.list("privileges_missing", ()))),
            data=f.data,
        )


@dataclass(frozen=True, slots=True)
class Configuration:
    """A configuration that can be chosen."""

    name: str
    fullname: str = ""
    description: str = ""

    @classmethod
    def read_all(cls, data: object) -> tuple[Configuration, ...]:
        """Return them from an answer."""
        found: list[Configuration] = []
        for item in _listed("configurations", data):
            f = Fields("configurations", item)
            found.append(cls(f.text("name"), f.text("fullname", ""), f.text("description", "")))
        return tuple(found)


@dataclass(frozen=True, slots=True)
class Reading:
    """Values of one whole cycle; a name the daemon does not know is in `unknown`, not in `values`."""

    values: Mapping[str, Value]
    cycle: int
    time_s: float | None
    unknown: tuple[str, ...] = ()

    @classmethod
    def read(cls, data: object) -> Reading:
        """Return it from an answer."""
        f = Fields("get", data)
        values = dict(f.map("values"))
        time_s = f.data.get("time_s")
        unknown = tuple(map(str, f.list("unknown", ())))
        return cls(values, f.integer("cycle", 0), None if time_s is None else float(time_s), unknown)


@dataclass(frozen=True, slots=True)
class Acknowledgement:
    """What became of an edit. `pending` is a request number while it waits for its time, 0 once it is in effect.

    `cycle` and `time_s` are when it took effect. `refused` says what was not written, and why; `replaced` what a later
    entry of the same time wrote again. A script of several times is as many requests; what of it is not yet due is in
    `requests`.
    """

    cycle: int
    time_s: float | None
    applied: tuple[Any, ...] = ()
    refused: tuple[str, ...] = ()
    pending: int = 0
    requests: tuple[int, ...] = ()
    replaced: tuple[Any, ...] = ()

    @classmethod
    def read(cls, data: object) -> Acknowledgement:
        """Return it from an answer."""
        f = Fields("edit", data)
        pending, time_s = f.data.get("pending"), f.data.get("time_s")
        return cls(
            cycle=int(f.data.get("cycle") or 0),
            time_s=None if time_s is None else float(time_s),
            applied=f.list("applied", ()),
            refused=tuple(_sentence(item) for item in f.list("refused", ())),
            pending=pending if isinstance(pending, int) else 0,
            requests=f.list("requests", (pending,) if isinstance(pending, int) else ()),
            replaced=f.list("replaced", ()),
        )


@dataclass(frozen=True, slots=True)
class Started:
    """A bout that was begun; `folder` is empty where nothing is logged yet."""

    bout: int
    folder: str

    @classmethod
    def read(cls, data: object) -> Started:
        """Return it from an answer."""
        f = Fields("run", data)
        return cls(f.integer("bout"), str(f.data.get("folder") or ""))


@dataclass(frozen=True, slots=True)
class Recipe:
    """What was subscribed to: the topic its messages carry, and per name its type and unit, or None: not found."""

    topic: str
    fields: Mapping[str, Data | None]
    address: str = ""

    @classmethod
    def read(cls, data: object) -> Recipe:
        """Return it from an answer."""
        f = Fields("subscribe", data)
        fields = {
            str(name): cast(Data, what) if isinstance(what, Mapping) else None for name, what in f.map("fields").items()
        }
        return cls(f.text("topic"), fields, f.text("address", ""))


@dataclass(frozen=True, slots=True)
class Sample:
    """One message of the telemetry: `unix_time_s` is seconds since 1970 on the daemon's clock."""

    topic: str
    values: Mapping[str, Value]
    unix_time_s: float


def read_map(data: object) -> Data:
    """Return an answer that is a map, as it is."""
    return Fields("answer", data).data


def read_list(data: object) -> tuple[Any, ...]:
    """Return an answer that is a list, or a map with one list in it."""
    return tuple(_listed("answer", data))


def read_nothing(data: object) -> None:
    """Take an answer in which nothing more is said."""
    del data


def _listed(method: str, data: object) -> Sequence[Any]:
    if isinstance(data, list | tuple):
        return cast(Sequence[Any], data)
    if isinstance(data, Mapping):
        lists = [item for item in cast(Data, data).values() if isinstance(item, list | tuple)]
        if len(lists) == 1:
            return cast(Sequence[Any], lists[0])
    raise BadAnswer(f"{method}: expected a list, got {type(data).__name__}")


def _who(data: Data) -> str:
    """Return who has control; a map names it."""
    who = data.get("control")
    if isinstance(who, Mapping):
        who = cast(Data, who).get("name")
    return "" if who is None else str(who)


def _client(item: Any) -> Data:
    return cast(Data, item) if isinstance(item, Mapping) else {"name": str(item)}


def _is_map(item: object) -> bool:
    return isinstance(item, Mapping)


def _sentence(item: Any) -> str:
    if isinstance(item, Mapping):
        return ": ".join(str(part) for part in cast(Data, item).values())
    if isinstance(item, list | tuple):
        return ": ".join(str(part) for part in cast(Sequence[Any], item))
    return str(item)
