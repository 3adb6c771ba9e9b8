"""Records of a daemon elsewhere, from its telemetry: all values of a leg, as often as they are sent.

They have the names that records of the file of cycles have, but `time`, which is seconds since 1970 on the daemon's
clock, in ns. Telemetry may miss cycles; `cycle` says which a record is of.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from time import monotonic
from typing import Any, NamedTuple

from nuc_engine.client import Client, ClientError, Sample
from nuc_engine.daemon.modes import Mode

RATE_HZ = 500.0
"""The most there is; what is sent is a value for each cycle."""

QUESTIONS = 256
"""Answers that say what the daemon's clock shows, of which the quickest counts: the last minute's."""

_WAIT_S = 0.1
_BATCH_S = 0.01
_NOTHING = float("nan")
_REAL = ("float", "double")

Row = tuple[int | float, ...]


class StreamField(NamedTuple):
    """A column: what it is called, its unit, and what the daemon calls it."""

    name: str
    unit: str
    asked: str


def fields_of(model: Mapping[str, Any]) -> list[StreamField]:
    """Return the columns of a model, as the channel explains it."""
    joints = [joint for joint in model.get("joints", ()) if not joint.get("endpoint")]
    motors = [joint["motor"]["name"] for joint in joints if joint.get("motor")]
    muscles = [muscle["name"] for joint in joints for muscle in joint.get("muscles", ())]
    parts = [("position_raw", "tick"), ("current_raw", "count"), ("status", "1: answered"), ("sent_raw", "tick")]
    found = [StreamField(f"{motor}.{part}", unit, f"motor.{motor}.{part}") for part, unit in parts for motor in motors]
    found += [StreamField(f"{joint['name']}.state", "state", f"joint.{joint['name']}.state") for joint in joints]
    # What is sensed where it was clamped stands in the status: records have what was measured, as the file of cycles.
    found += [
        StreamField(name, sensor.get("unit") or "", f"sensor.{name}.measured" if sensor["datatype"] in _REAL else name)
        for sensor in model["sensors"]
        for name in (sensor["name"],)
    ]
    of_muscles = [("activation", "1"), ("force", "units of muscle output"), ("length", "rest lengths")]
    return found + [
        StreamField(f"{muscle}.{part}", unit, f"muscle.{muscle}.{part}")
        for part, unit in of_muscles
        for muscle in muscles
    ]


class DaemonClock:
    """What a daemon's clock shows, in terms of one that only moves forward here, from its answers to questions.

    A question tells it to half of the time it took; that of the quickest is kept. One that no such time explains tells
    that a clock was set: what was heard before counts no more.
    """

    def __init__(self) -> None:
        self._heard: deque[tuple[float, float]] = deque(maxlen=QUESTIONS)
        self._ahead_s: float | None = None

    def heard(self, asked_s: float, answered_s: float, unix_s: float) -> None:
        """Hear what it showed at some moment between question and answer; 0: it does not tell."""
        if not unix_s:
            return
        doubt_s, ahead_s = (answered_s - asked_s) / 2, unix_s - (asked_s + answered_s) / 2
        if self._heard:
            least_s, before_s = min(self._heard)
            if abs(ahead_s - before_s) > least_s + doubt_s:
                self._heard.clear()
        self._heard.append((doubt_s, ahead_s))
        self._ahead_s = min(self._heard)[1]

    def age_s(self, unix_s: float, now_s: float) -> float | None:
        """Return how old what it stamped is now; None where nothing was heard of it."""
        return None if self._ahead_s is None else max(0.0, now_s + self._ahead_s - unix_s)


class TelemetryStream:
    """One subscription, on a thread of its own. `hear` gets batches of rows; `status` returns the daemon's last one.

    `columns` are those of the rows, name and unit; `age_s` is how old the newest row was when it came, by `clock`.
    """

    def __init__(
        self,
        make: Callable[[], Client],
        model: Mapping[str, Any],
        status: Callable[[], Mapping[str, Any]],
        hear: Callable[[Sequence[Row]], None],
        clock: DaemonClock,
    ) -> None:
        self._make, self._status, self._hear, self._clock = make, status, hear, clock
        self.age_s: float | None = None
        self._fields = fields_of(model)
        head = [("time", "ns since 1970, UTC"), ("cycle", "1"), ("bout", "1"), ("mode", "nuc_engine.daemon.modes.Mode")]
        self.columns = [*head, *((field.name, field.unit) for field in self._fields)]
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run, name="nuc-ui stream", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """End it; nothing is heard any more."""
        self._ended.set()
        self._thread.join()

    def _run(self) -> None:
        while not self._ended.is_set():
            try:
                with self._make() as client:
                    self._listen(client)
            except ClientError:
                self._ended.wait(_WAIT_S)

    def _listen(self, client: Client) -> None:
        stream = client.subscribe(["engine.cycle", *(field.asked for field in self._fields)], RATE_HZ)
        rows: list[Row] = []
        due_s, before, asked_s = monotonic(), -1, monotonic()
        while not self._ended.is_set():
            sample = stream.receive(_WAIT_S if not rows else _BATCH_S)
            if sample is not None and (cycle := sample.values.get("engine.cycle")) != before:
                before = cycle
                rows.append(self._row(sample))
                self.age_s = self._clock.age_s(sample.unix_time_s, monotonic())
            if rows and monotonic() >= due_s:
                self._hear(rows)
                rows, due_s = [], monotonic() + _BATCH_S
            if monotonic() - asked_s > 5.0:
                asked_s = monotonic()
                client.status()  # who says nothing for long is forgotten, and its stream with it

    def _row(self, sample: Sample) -> Row:
        values, status = sample.values, self._status()
        head = (
            round(sample.unix_time_s * 1e9),
            _number(values.get("engine.cycle")),
            int(status.get("bout", 0)),
            Mode[str(status.get("mode", "UNCONFIGURED"))].value,
        )
        return (*head, *(_number(values.get(field.asked)) for field in self._fields))


def _number(value: object) -> float:
    return float(value) if isinstance(value, int | float) else _NOTHING
