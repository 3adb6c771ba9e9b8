"""What the core looks after every 4 ms, since nobody wakes it for it.

Its neighbours, requests and latches in the block, torque that has gone off, and whether the machine slept.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from drivers.bus import all_counts
from drivers.servo import ReplyStatus
from nuc_engine.control.faults import FAULTS, OFF
from nuc_engine.daemon.block import Word
from nuc_engine.daemon.latch import latched
from nuc_engine.daemon.modes import Mode
from nuc_engine.daemon.orders import try_again
from nuc_engine.daemon.requests import asked, begun, confirm, still_open
from nuc_engine.daemon.wire import Kind

if TYPE_CHECKING:
    from nuc_engine.daemon.engine import Engine

AGAIN_NS = 2_000_000_000
"""How often what can not be driven, and what was counted, is told again."""

COUNTS_NS = 500_000_000
"""How often what the buses count is told while it changes."""


def look_around(core: Engine, now: int, *, on_time: bool) -> None:
    """Look once, and do what has to be done. A look that is not `on_time` blames nobody for standing still."""
    words = core.words
    core.neighbours.look(on_time=on_time)
    if core.neighbours.guardian_lost and core.mode is not Mode.FAULT:
        core.fault("guardian_lost", "the guardian's heart stands still")
    _heed_requests(core, now)
    if words[Word.LATCHED] and not core.latched:
        _heed_latch(core, latched(words))
    slept = core.slept()
    if slept:
        core.fault("suspended", f"the machine was suspended for {slept / 1e9:.1f} s")
    _note_torque(core)
    try_again(core)
    _note_refusals(core, now)
    _note_counts(core, now)
    _miss_service(core, now)


def _heed_requests(core: Engine, now: int) -> None:
    words = core.words
    before = asked(words)
    if all(begun(words, asker) for asker in still_open(words)):
        return
    confirm(words, Word.OFF_BEGUN, before)
    if words[Word.SHUTDOWN]:
        core.shut_down(now)
    else:
        core.off("torque off was asked for")


def _heed_latch(core: Engine, reason: str) -> None:
    if reason == OFF:
        core.off("the guardian has latched it")
    else:
        core.take_off(reason, "the guardian has latched it")


def _note_torque(core: Engine) -> None:
    words, limp = core.words, core.live.limp
    if words[Word.TORQUE] and limp:
        words[Word.TORQUE] = 0
    if limp and still_open(words):
        # No more than was begun: what was asked since has not been looked at.
        confirm(words, Word.OFF_DONE_CORE, asked(words, Word.OFF_BEGUN))
    bits = 0
    for motor, status in enumerate(core.bus.status):
        if status != ReplyStatus.OK:
            bits |= 1 << motor
    words[Word.UNCONFIRMED] = bits


def _note_refusals(core: Engine, now: int) -> None:
    """Tell the service what servos can not be driven: what is new as events, and all of it again and again.

    A service that was started anew has not heard it.
    """
    refusals = core.bus.refusals
    if refusals == core.refusals and (not refusals or now - core.refusals_told_ns < AGAIN_NS):
        return
    for text in refusals:
        if text not in core.refusals:
            core.event("servo_refused", text)
    core.refusals, core.refusals_told_ns = refusals, now
    core.recorder.tell(Kind.REFUSALS, now, list(refusals))


def _note_counts(core: Engine, now: int) -> None:
    """Tell the service what the buses have counted: what is new, not too often, and all of it again and again."""
    waited_ns = now - core.counts_told_ns
    if waited_ns < COUNTS_NS:
        return
    counts = all_counts(core.bus)
    if counts != core.counts or waited_ns >= AGAIN_NS:
        core.counts, core.counts_told_ns = counts, now
        core.recorder.tell(Kind.BUS, now, counts)


def _miss_service(core: Engine, now: int) -> None:
    silent = core.neighbours.service_silent_ns(now)
    lost = silent > FAULTS["service_lost"].delay_ns and core.options.on_service_loss == "stop"
    if lost and core.mode is Mode.RUNNING:
        core.fault("service_lost", f"the service has been silent for {silent / 1e9:.1f} s")
