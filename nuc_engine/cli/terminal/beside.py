"""Somebody at a terminal beside a leg: told what to do and when, answers with Enter."""

from __future__ import annotations

import select
import sys

import click

from drivers.units import NS_PER_S
from nuc_engine.cli.terminal.output import note
from nuc_engine.experiments.live import Deed
from nuc_engine.experiments.protocol import BoutPlan
from nuc_engine.plants.events import BaseHeight, Disconnect, Ground, Kick, Load, PlantEvent, Reconnect


class TerminalHand:
    """Asks on stderr, hears Enter on stdin."""

    def __init__(self) -> None:
        self._counted: tuple[Deed, int] | None = None

    def prepare(self, plan: BoutPlan, repetition: int) -> None:
        """Ask to put the leg in place; return after Enter. Raises Abort when nobody is there."""
        note(f"\n{plan.label}, repetition {repetition}: {plan.config}, {plan.duration_s:g} s")
        for name, value in plan.plant.items():
            note(f"  make {name} {value:g}")
        note("  put the leg into its starting place, hands off, then press Enter")
        if not sys.stdin.readline():
            raise click.Abort

    def soon(self, deed: Deed, left_s: float) -> None:
        """Count down whole seconds."""
        left = int(left_s) + 1
        if self._counted != (deed, left):
            self._counted = deed, left
            note(f"  in {left} s: {describe(deed.event)}{' if it does not step' if deed.offered else ''}")

    def now(self, deed: Deed, still_s: float) -> None:
        """Ask for it."""
        _forget_typed()
        if deed.offered:
            note(
                f"  NOW: kick the leg if it does not step (no action has changed for {still_s:.1f} s); Enter if you did"
            )
        else:
            note(f"  NOW: {describe(deed.event)}, then press Enter")

    def done(self, deed: Deed) -> bool:
        """Say whether Enter was pressed."""
        del deed
        return _typed()


def describe(event: PlantEvent) -> str:
    """Return what to do, in words."""
    match event:
        case Kick():
            text = "kick the leg"
        case Ground():
            text = "put the ground back" if event.present else "take the ground away"
        case BaseHeight():
            text = f"raise or lower the leg to {event.height_cm:g} cm"
        case Load():
            how = "press the foot down" if event.down_n > 0 else "unload the foot"
            text = f"{how} with {abs(event.down_n):g} N for {event.duration_ns / NS_PER_S:g} s"
        case Disconnect():
            text = f"take the leg off below {event.joint}, within {event.duration_ns / NS_PER_S:g} s"
        case Reconnect():
            text = f"put the leg together again, within {event.duration_ns / NS_PER_S:g} s"
    return text


def _typed() -> bool:
    return bool(select.select([sys.stdin], [], [], 0)[0]) and bool(sys.stdin.readline())


def _forget_typed() -> None:
    while _typed():
        pass
