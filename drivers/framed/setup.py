"""What is asked of a servo before it is driven, one register after the other: who it is, and how it is set.

Each is a generator that yields `Ask`s and gets `Answer`s, None for a write that nobody answered. What it returns says
what was found. A read that is not answered ends it: it is begun anew when the servo is there again.
"""

from __future__ import annotations

from collections.abc import Generator, Mapping
from dataclasses import dataclass
from typing import Final, NamedTuple, TypeAlias

from drivers.framed import requests
from drivers.framed.layout import (
    GAIN,
    MODEL,
    TORQUE,
    FamilyLayout,
    ModelLayout,
    positions_within,
    torque_limits,
    without_place,
    without_torque,
)
from drivers.framed.packet import Dialect, Packet
from drivers.framed.registers import Register
from drivers.framed.servo_state import Health, Readiness, ServoState
from drivers.framed.transactions import Exchange
from drivers.servo import ServoAddress

_WRITES: Final = 3
"""How often a value is written that is read back otherwise."""


@dataclass(frozen=True, slots=True)
class Ask:
    """One register of one servo: to be read, or set to `value`."""

    register: Register
    value: int | None = None


class RegisterReply(NamedTuple):
    """The value of a register that was read (0 after a write), and the error byte."""

    value: int
    error: int


@dataclass(frozen=True, slots=True)
class Identity:
    """Who a servo is.

    `refusal` says why it can not be driven, `alert` that this is because something ails it. `second` is the id beside
    its own that it obeys, -1 for none.
    """

    kind: ModelLayout
    refusal: str = ""
    alert: bool = False
    second: int = -1


@dataclass(frozen=True, slots=True)
class Setup:
    """How a servo is set: positions it takes (lowest, highest), P gain, the most its torque bound and drive may be."""

    positions: tuple[int, int] = (0, 0)
    gain: int = 0
    cap_most: int = 0
    drive_most: int = 0
    refusal: str = ""


IdentifyProcedure: TypeAlias = Generator[Ask, RegisterReply | None, Identity]
ConfigureProcedure: TypeAlias = Generator[Ask, RegisterReply | None, Setup]


def identify(layout: FamilyLayout, address: ServoAddress, state: ServoState) -> IdentifyProcedure:
    """Find out who the servo is, and what ails it if its statuses say so; its torque is all that is changed.

    That is taken off first where the `state` it was in says so.
    """
    if state.readiness is Readiness.LOOSEN:
        yield Ask(layout.register(TORQUE), 0)
    number = yield from _read(layout.register(MODEL))
    kind = layout.kinds[address.model] if address.model else layout.kind_of(number)
    found = layout.kind_of(number)
    second, known = -1, dict[str, int]()
    if layout.second_id and found is not None:
        # Before anything else: whoever is refused for something else obeys it all the same.
        held = known[layout.second_id] = yield from _read(found.table[layout.second_id])
        second = held if held <= layout.dialect.max_id and held != address.bus_id else -1
    if kind is None or kind.model.number != number:
        says = found.model.name if found is not None else "a model that is not known here"
        expected = address.model or f"one of {', '.join(layout.kinds)}"
        return Identity(
            kind or layout.first,
            f"{name_of(address)} is {says} (model number {number}), expected {expected}: "
            f"change the configuration (`nuc bus adapt` writes one for other servos) or the servo",
            second=second,
        )
    if state.health is Health.AILING:
        bits = yield from _read(layout.register(layout.alert_register))
        # Where the register does not say what the statuses said a moment ago, all is well again.
        if bits:
            words = layout.explain_alert(bits)
            why = f"{name_of(address)} has shut down: {words}; see to it, then take its supply off and on"
            return Identity(kind, why, alert=True, second=second)
    return Identity(kind, (yield from _misread(layout, address, kind, known)), second=second)


def _misread(
    layout: FamilyLayout, address: ServoAddress, kind: ModelLayout, known: Mapping[str, int]
) -> Generator[Ask, RegisterReply | None, str]:
    """Return what makes the servo mean something else by its positions than its model does, "" for nothing.

    `known` is what was read of it already.
    """
    for meaning in kind.meanings:
        register = kind.table[meaning.register]
        found = known[register.name] if register.name in known else (yield from _read(register))
        expected = meaning.expected(found, address.bus_id)
        if found != expected:
            return (
                f"{name_of(address)} holds {found} in {register.name} (address {register.address}), "
                f"expected {expected}: {meaning.otherwise}. Set it for good with "
                f"`{layout.command(address.bus_id, register.name, expected)}`"
                + (", then look whether the joint's calibration is right" if meaning.scale else "")
            )
    return ""


def twin_of(layout: FamilyLayout, address: ServoAddress, other: ServoAddress) -> str:
    """Say that a servo is not driven because another one obeys its id, and what ends that."""
    register = layout.register(layout.second_id)
    none = next((m.value for m in layout.first.meanings if m.register == register.name), register.default)
    return (
        f"{name_of(address)} is not driven: {name_of(other)} holds {address.bus_id} in {register.name} "
        f"(address {register.address}) and does what this one is told. Set it for good with "
        f"`{layout.command(other.bus_id, register.name, none)}`"
    )


def configure(layout: FamilyLayout, address: ServoAddress, kind: ModelLayout) -> ConfigureProcedure:
    """Take the torque off and bring every register to what driving needs; only what differs is written."""
    table, model = kind.table, kind.model
    gain = model.gain_for(address.stiffness_n_m_deg)
    if why := (yield from _write_settings(layout, kind, gain)):
        return Setup(refusal=f"{name_of(address)}: {why}")
    positions = model.positions
    if kind.limits[0]:
        least = yield from _read(table[kind.limits[0]])
        most = yield from _read(table[kind.limits[1]])
        if why := without_place(kind, least, most):
            return Setup(refusal=f"{name_of(address)} {why}. {_widen(layout, address, kind)}")
        positions = positions_within(kind, least, most)
    found: dict[str, int] = {}
    for name, full in torque_limits(kind):
        register = table[name]
        held = yield from _read(register)
        if why := without_torque(kind, name, held, address.torque_limit_n_m):
            return Setup(
                refusal=f"{name_of(address)} holds {held} in {name} (address {register.address}), {why}. "
                f"`{layout.command(address.bus_id, name, register.high)}` gives it all it has"
            )
        found[name] = min(held, full)
    return Setup(positions, gain, found.get(kind.cap_limit, kind.cap[1]), found.get(kind.drive[0], 0))


def _widen(layout: FamilyLayout, address: ServoAddress, kind: ModelLayout) -> str:
    """Say how a servo is set to take all positions of its model."""
    limits = zip(kind.limits, kind.model.positions, strict=True)
    low, high = (layout.command(address.bus_id, name, value) for name, value in limits)
    return f"`{high}` and `{low}` let it take all there are"


def _write_settings(layout: FamilyLayout, kind: ModelLayout, gain: int) -> Generator[Ask, RegisterReply | None, str]:
    """Take the torque off and set everything; return what does not come to be what it should, "" when all did."""
    table = kind.table
    if why := (yield from _ensure(layout, table[TORQUE], 0)):
        return why
    if layout.watchdog:
        yield Ask(table[layout.watchdog], 0)
    for name, value in kind.settings:
        if why := (yield from _ensure(layout, table[name], value)):
            return why
    if layout.lock and (why := (yield from _ensure(layout, table[layout.lock], 1))):
        return why
    # Programs differ in the gain they want: one that is kept would be stored whenever another one has its turn.
    return (yield from _ensure(layout, table[GAIN], gain, keep=False)) if kind.model.gains[1] else ""


class NobodyAnswered(Exception):
    """Thrown out of a generator of this module by a read that was not answered."""


def _read(register: Register) -> Generator[Ask, RegisterReply | None, int]:
    answer = yield Ask(register)
    if answer is None:
        raise NobodyAnswered
    return answer.value


def _ensure(
    layout: FamilyLayout, register: Register, value: int, *, keep: bool = True
) -> Generator[Ask, RegisterReply | None, str]:
    """Bring a register to `value`; return why it did not come there, "" when it did.

    A setting behind a lock outlasts the supply if it is to be kept; otherwise the lock must be closed already.

    A write may be done though its answer is lost, and some servos are set to answer reads only: what counts is what is
    read back.
    """
    found = yield from _read(register)
    if found == value:
        return ""
    # Locked again behind the last of them.
    locked = keep and bool(layout.lock) and register.access == "eeprom"
    why: str | None = None
    for _ in range(_WRITES):
        if locked:
            yield Ask(layout.register(layout.lock), 0)
        answer = yield Ask(register, value)
        found = yield from _read(register)
        if found == value:
            return ""
        if answer is not None:
            error = answer.error & layout.refusal_mask
            why = f" ({layout.explain(error)})" if error else ""
    if why is None:
        raise NobodyAnswered
    return f"its {register.name} stays {found} where {value} was written{why}"


def name_of(address: ServoAddress) -> str:
    """Say which servo, for people."""
    return f"servo {address.name!r} (bus id {address.bus_id})"


def exchange_of(dialect: Dialect, bus_id: int, ask: Ask) -> Exchange:
    """Return the exchange that asks a servo this."""
    register, ids = ask.register, (bus_id,)
    if ask.value is None:
        request = requests.read(dialect, bus_id, register.address, register.size)
        return Exchange(request, ids, register.size, after_late=True)
    return Exchange(requests.write(dialect, bus_id, register, ask.value), ids, after_late=True)


def answer_of(ask: Ask, packet: Packet | None) -> RegisterReply | None:
    """Return what a status says to it, None where it is none or gives no value."""
    if packet is None:
        return None
    if ask.value is not None:
        return RegisterReply(0, packet.error)
    if len(packet.params) != ask.register.size:
        return None
    return RegisterReply(ask.register.decode(packet.params), packet.error)
