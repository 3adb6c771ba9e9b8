"""What a script lets be done to a leg by hand, as events of the plant, and events as entries of a script."""

from __future__ import annotations

from decimal import Decimal

from drivers.units import NS_PER_S
from nuc_engine.plants.events import BaseHeight, Disconnect, Ground, Kick, Load, PlantEvent, Reconnect
from sccils_schemas.by_hand import (
    DisconnectEntry,
    GroundEntry,
    HeightEntry,
    KickEntry,
    LoadEntry,
    PlantEntry,
    ReconnectEntry,
)
from sccils_schemas.documents import HdsoScript
from sccils_schemas.numbers import nanoseconds


def events_of(script: HdsoScript) -> tuple[PlantEvent, ...]:
    """Return what a script lets happen to the leg, in document order."""
    return tuple(_event(entry) for entry in script.entries if isinstance(entry, PlantEntry))


def _event(entry: PlantEntry) -> PlantEvent:
    at_ns = nanoseconds(entry.time_s)
    match entry:
        case KickEntry():
            duration_ns = None if entry.duration_s is None else nanoseconds(entry.duration_s)
            event = Kick(at_ns, entry.force_n, duration_ns)
        case GroundEntry():
            event = Ground(at_ns, entry.present)
        case HeightEntry():
            event = BaseHeight(at_ns, entry.cm)
        case LoadEntry():
            event = Load(at_ns, entry.newton, nanoseconds(entry.duration_s))
        case DisconnectEntry():
            event = Disconnect(at_ns, entry.joint, nanoseconds(entry.duration_s))
        case ReconnectEntry():
            event = Reconnect(at_ns, nanoseconds(entry.duration_s))
    return event


def entry_of(event: PlantEvent) -> PlantEntry:
    """Return an event as the entry of a script."""
    time_s = _seconds(event.at_ns)
    match event:
        case Kick():
            duration_s = None if event.duration_ns is None else _seconds(event.duration_ns)
            entry = KickEntry(time_s, event.force_n, duration_s)
        case Ground():
            entry = GroundEntry(time_s, event.present)
        case BaseHeight():
            entry = HeightEntry(time_s, event.height_cm)
        case Load():
            entry = LoadEntry(time_s, event.down_n, _seconds(event.duration_ns))
        case Disconnect():
            entry = DisconnectEntry(time_s, event.joint, _seconds(event.duration_ns))
        case Reconnect():
            entry = ReconnectEntry(time_s, _seconds(event.duration_ns))
    return entry


def _seconds(time_ns: int) -> Decimal:
    whole, rest = divmod(time_ns, NS_PER_S)
    return Decimal(f"{whole}.{rest:09d}".rstrip("0").rstrip("."))
