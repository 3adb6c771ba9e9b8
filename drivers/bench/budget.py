"""How often a bus can be exchanged with: bytes on the wire, the servos' hesitation, the adapter.

Every family has forms of exchange; how many bytes each of them takes is data here, or comes with the family
(`WithForms`). A byte is ten bits. From the bytes follows the wire limit, which nothing gets past; turnarounds and the
adapter's timer are added to it.

Sources: the packet sizes of the makers' protocol documents (Dynamixel: 10 bytes read, 4 written; STS: 6 read, 2
written); FTDI application note AN232B-04 for the timer and the 62 bytes. What is assumed is marked.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Protocol, runtime_checkable

from drivers.errors import BusUrlError
from drivers.port import wire_ns
from drivers.units import NS_PER_S

FTDI_PACKET_BYTES: Final = 62
"""An FTDI adapter hands over as many bytes at once without waiting for its timer."""

AS_DELIVERED_NS: Final[Mapping[str, int]] = {"dynamixel": 500_000}
"""How much longer servos hesitate as delivered: the return delay, which the bus sets to 0 before it drives."""

WORTH_SAYING: Final = 1.1
"""Advice is given for what makes the loop at least this much faster."""


@dataclass(frozen=True, slots=True)
class LinearCount:
    """A number that grows with the number of servos."""

    fixed: int
    per_servo: int

    def of(self, servos: int) -> int:
        """Return the number for so many servos."""
        return self.fixed + self.per_servo * servos


@dataclass(frozen=True, slots=True)
class Cost:
    """What one cycle costs.

    `bytes` follow each other on the wire, `turns` is how often a servo's turnaround is waited for, `trips` how often
    the host waits for an answer before it goes on, `reply` the bytes of one such answer.
    """

    bytes: LinearCount
    turns: LinearCount
    trips: LinearCount
    reply: LinearCount


@dataclass(frozen=True, slots=True)
class Form:
    """One way a family's servos can be exchanged with.

    `option` is the option of the bus's URL that asks for it, empty for the usual form. `drive` is the cost of a cycle
    with goals, `read` of one that only asks.
    """

    family: str
    name: str
    title: str
    drive: Cost
    read: Cost
    option: str = ""


def one_by_one(drive: int, read: int, answer: int, exchanges: int = 1) -> tuple[Cost, Cost]:
    """Return the costs of forms in which each servo is asked by itself, in `exchanges` requests with goals."""
    each = LinearCount(0, 1)
    many, reply = LinearCount(0, exchanges), LinearCount(answer, 0)
    return Cost(LinearCount(0, drive), many, many, reply), Cost(LinearCount(0, read), each, each, reply)


def grouped(drive: LinearCount, read: LinearCount, turns: LinearCount, reply: LinearCount) -> tuple[Cost, Cost]:
    """Return the costs of forms in which one request is answered by everybody."""
    once = LinearCount(1, 0)
    return Cost(drive, turns, once, reply), Cost(read, turns, once, reply)


FORMS: Final = (
    Form("aimotor", "send", "position send, its reply is the measurement", *one_by_one(6, 6, 2)),
    Form(
        "aimotor",
        "sync",
        "one send for all, then a read each",
        Cost(LinearCount(4, 7), LinearCount(0, 1), LinearCount(0, 1), LinearCount(2, 0)),
        Cost(LinearCount(0, 6), LinearCount(0, 1), LinearCount(0, 1), LinearCount(2, 0)),
        option="sync",
    ),
    Form("aimotor", "ten_bit", "ten-bit move and read", *one_by_one(18, 8, 2, exchanges=2), option="ten_bit"),
    Form(
        "dynamixel",
        "sync",
        "sync write, sync read",
        *grouped(LinearCount(28, 27), LinearCount(14, 22), LinearCount(0, 1), LinearCount(0, 21)),
    ),
    Form(
        "dynamixel",
        "fast",
        "sync write, fast sync read",
        *grouped(LinearCount(36, 20), LinearCount(22, 15), LinearCount(1, 0), LinearCount(8, 14)),
        option="fast",
    ),
    Form("dynamixel", "single", "a read and a write each", *one_by_one(62, 35, 21, exchanges=2), option="single"),
    Form(
        "feetech",
        "sync",
        "sync write, sync read",
        *grouped(LinearCount(16, 16), LinearCount(8, 13), LinearCount(0, 1), LinearCount(0, 12)),
    ),
    Form("feetech", "single", "a read and a write each", *one_by_one(35, 20, 12, exchanges=2), option="single"),
)
"""The first form of a family is the one its bus takes unless its URL says otherwise."""


@dataclass(frozen=True, slots=True)
class Adapter:
    """What stands between the host and the line.

    `timer_ns` is the free-running timer after which bytes are handed over, 0 where there is none; `trip_ns` what every
    request and its answer take besides.
    """

    name: str
    title: str
    timer_ns: int
    trip_ns: int


ADAPTERS: Final[Mapping[str, Adapter]] = {
    adapter.name: adapter
    for adapter in (
        Adapter("none", "a host and a line that take no time", 0, 0),
        Adapter("pty", "a pseudo-terminal (0.1 ms a round trip, assumed)", 0, 100_000),
        Adapter("cdc", "an adapter without a timer: CDC-ACM, CH34x (0.5 ms a round trip, assumed)", 0, 500_000),
        Adapter("ftdi1", "FTDI, latency timer 1 ms", 1_000_000, 0),
        Adapter("ftdi16", "FTDI as delivered, latency timer 16 ms", 16_000_000, 0),
    )
}


@dataclass(frozen=True, slots=True)
class Budget:
    """What one cycle takes, in ns: bytes on the wire, the servos' turnarounds, the adapter and host."""

    form: Form
    servos: int
    baud: int
    bytes: int
    wire_ns: int
    turn_ns: int
    host_ns: int

    @property
    def cycle_ns(self) -> int:
        """The whole cycle."""
        return self.wire_ns + self.turn_ns + self.host_ns

    @property
    def rate_hz(self) -> float:
        """Cycles per second."""
        return NS_PER_S / self.cycle_ns

    @property
    def limit_hz(self) -> float:
        """Cycles per second if only the wire took time."""
        return NS_PER_S / self.wire_ns

    @property
    def limited_by(self) -> str:
        """What takes the most of a cycle: `wire`, `servos` or `adapter`."""
        parts = {"wire": self.wire_ns, "servos": self.turn_ns, "adapter": self.host_ns}
        return max(parts, key=lambda name: parts[name])


@runtime_checkable
class WithForms(Protocol):
    """What a family that is not part of this package has besides a `drivers.family.BusFamily`, to be budgeted."""

    def forms(self) -> tuple[Form, ...]:
        """Return its forms of exchange, the one its bus takes unless its URL says otherwise first."""
        ...


def forms_of(family: str) -> tuple[Form, ...]:
    """Return a family's forms, the usual one first. Raises `BusUrlError` where none are known."""
    if forms := tuple(form for form in FORMS if form.family == family):
        return forms
    # Only where it is needed: the factory knows all families.
    from drivers.factory import find_family

    found = find_family(family)
    if isinstance(found, WithForms) and (forms := found.forms()):
        return forms
    raise BusUrlError(f"the family {family!r} does not tell its forms of exchange: expected a method `forms` of it")


def form_for(family: str, options: Mapping[str, float]) -> Form:
    """Return the form that the options of a bus's URL ask for. Raises `BusUrlError`."""
    usual, *others = forms_of(family)
    return next((form for form in others if options.get(form.option)), usual)


def predict(
    form: Form, servos: int, baud: int, *, turnaround_ns: int = 0, adapter: Adapter | None = None, reading: bool = False
) -> Budget:
    """Return what a cycle with `servos` servos takes at `baud` bit/s; `reading`: of one that only asks.

    Raises `BusUrlError` without servos or rate.
    """
    if servos < 1 or baud < 1:
        raise BusUrlError(f"{servos} servos at {baud} bit/s: expected at least one servo, and a rate")
    cost = form.read if reading else form.drive
    count = cost.bytes.of(servos)
    on_wire_ns, turn_ns = wire_ns(count, baud), cost.turns.of(servos) * turnaround_ns
    host_ns = 0 if adapter is None else _held_ns(adapter, cost, servos, baud, turn_ns)
    return Budget(form, servos, baud, count, on_wire_ns, turn_ns, host_ns)


def advise(budget: Budget, bauds: Sequence[int], *, turnaround_ns: int, adapter: Adapter | None) -> list[str]:
    """Say what would make the loop faster by a tenth or more, the most useful first. `bauds` are the family's rates."""
    name = None if adapter is None else adapter.name
    tries: list[tuple[float, str]] = []

    def weigh(words: str, form: Form, baud: int, through: Adapter | None, than_hz: float = budget.rate_hz) -> float:
        other = predict(form, budget.servos, baud, turnaround_ns=turnaround_ns, adapter=through)
        if other.rate_hz >= WORTH_SAYING * than_hz:
            tries.append((other.rate_hz, f"{words}: {other.rate_hz:.0f} Hz instead of {budget.rate_hz:.0f}"))
        return other.rate_hz

    for form in forms_of(budget.form.family):
        if form != budget.form:
            how = f"{form.option}=1 in the URL" if form.option else f"without {budget.form.option}=1 in the URL"
            weigh(f"{how} ({form.title})", form, budget.baud, adapter)
    if faster := [baud for baud in bauds if baud > budget.baud]:
        next_hz = weigh(f"{faster[0]} bit/s (nuc bus set-baud)", budget.form, faster[0], adapter)
        best_hz = max(next_hz, budget.rate_hz)
        weigh(f"{faster[-1]} bit/s, if adapter and servos do it", budget.form, faster[-1], adapter, best_hz)
    if name == "ftdi16":
        weigh("the adapter's latency timer at 1 ms (nuc doctor says how)", budget.form, budget.baud, ADAPTERS["ftdi1"])
    return [words for _, words in sorted(tries, key=lambda found: -found[0])]


def _held_ns(adapter: Adapter, cost: Cost, servos: int, baud: int, turn_ns: int) -> int:
    """Return how long a cycle's answers are held back after their last bytes."""
    trips, count = cost.trips.of(servos), cost.reply.of(servos)
    if not adapter.timer_ns:
        return trips * adapter.trip_ns
    busy_ns = (wire_ns(cost.bytes.of(servos), baud) + turn_ns) // trips
    # Servos hesitate one after the other, so that the bytes of an answer come over all that time.
    byte_ns = (wire_ns(count, baud) + turn_ns // trips) // count
    arrivals = [busy_ns - byte_ns * (count - 1 - k) for k in range(count)]
    return trips * (adapter.trip_ns + _last_handed_ns(arrivals, adapter.timer_ns) - busy_ns)


def _last_handed_ns(arrivals: Sequence[int], timer_ns: int) -> int:
    """Return when the last byte is handed over: with a full packet, or at an end of the timer.

    The timer begins anew each time. All times are since the last answer was handed over.
    """
    since_ns = taken = 0
    while taken < len(arrivals):
        full = taken + FTDI_PACKET_BYTES - 1
        full_ns = arrivals[full] if full < len(arrivals) else since_ns + timer_ns
        since_ns = min(since_ns + timer_ns, full_ns)
        taken = max(taken, bisect_right(arrivals, since_ns))
    return since_ns
