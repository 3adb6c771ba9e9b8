"""What the main process tells people and systemd: one line of status, that all is up, and that all still live."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from nuc_engine.daemon.block import Word
from nuc_engine.daemon.modes import Mode
from nuc_engine.daemon.notify import Notifier

STARTUP_QUIET_NS = 500_000_000
"""How long a start may take before people are told what it waits for."""


class StatusReporter:
    """Tells what has changed. `configured`: there is a configuration to wait for; `show` takes a line for people."""

    def __init__(
        self,
        words: Sequence[int],
        notifier: Notifier,
        show: Callable[[str], None],
        *,
        watchdog_ns: int | None,
        configured: bool,
    ) -> None:
        self._words, self._notifier, self._show = words, notifier, show
        self._watchdog_ns, self._configured = watchdog_ns, configured
        self._shown = ""
        self._ready = False
        self._fed_ns = self._up_ns = 0

    def tell(self, now_ns: int, *, wanted: bool, up: bool, trouble: str, fresh: bool) -> None:
        """Tell how things are. `wanted`: there should be a core; `up`: it works; `fresh`: everything lives."""
        self._line(self._describe(now_ns, wanted=wanted, up=up, trouble=trouble))
        words = self._words
        there = up or not (self._configured or words[Word.PLAN_GENERATION])
        if not self._ready and words[Word.SERVICE_READY] and there:
            self._ready = True
            self._notifier.ready()
        if fresh:
            self._feed(now_ns)

    def end(self, now_ns: int, why: str) -> None:
        """Tell that everything is being ended, and why."""
        self._line(f"ending: {why}")
        self._feed(now_ns)

    def _line(self, text: str) -> None:
        if text != self._shown:
            self._shown = text
            self._show(text)
            self._notifier.status(text)

    def _feed(self, now_ns: int) -> None:
        interval_ns = self._watchdog_ns
        if interval_ns and now_ns - self._fed_ns >= interval_ns // 3:
            self._fed_ns = now_ns
            self._notifier.watchdog()

    def _describe(self, now_ns: int, *, wanted: bool, up: bool, trouble: str) -> str:
        words = self._words
        if words[Word.BUS_LOST]:
            return f"waiting for the bus; {trouble}" if trouble else "waiting for the bus"
        if not wanted:
            self._up_ns = now_ns
            return "no configuration yet" if words[Word.SERVICE_READY] and not self._configured else "starting"
        if not up:
            silent = words[Word.UNCONFIRMED].bit_count()
            long = silent and now_ns - self._up_ns > STARTUP_QUIET_NS
            return f"starting; {silent} servos have not confirmed that their torque is off" if long else "starting"
        self._up_ns = now_ns
        bout = f", bout {words[Word.BOUT]}" if words[Word.BOUT] else ""
        latched = ", latched: arm to go on" if words[Word.LATCHED] else ""
        return f"{Mode(words[Word.MODE]).name.lower()}{bout}{latched}"
