"""One daemon, watched for all tabs: every cycle's record, its status, its events, whether it answers at all.

A thread asks for status and events on a client of its own (role watch). Records come from the file of cycles where the
daemon is on this machine (`nuc_engine.client.cycles`), which costs it nothing; from elsewhere, from a stream of all
values.
"""

from __future__ import annotations

import asyncio
import struct
import threading
from array import array
from collections import deque
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from functools import partial
from itertools import chain
from math import prod
from pathlib import Path
from time import monotonic, time
from typing import Any, Protocol

import msgspec

from nuc_engine.client import Client, ClientError, Keys, Refused, Subscription
from nuc_engine.client.offpath import has_off
from nuc_engine.machine.locations import PLANT_SPEC_FILE, NotFound, find_configuration
from nuc_engine.machine.rundir import CYCLES, PLANT
from nuc_engine.messages.answers import Greeting
from nuc_engine.ui.cycles import CycleFollower, Records
from nuc_engine.ui.scene import scene_of
from nuc_engine.ui.stream import DaemonClock, TelemetryStream

STATUS_S = 0.2
"""How often the daemon is asked how it is."""

SAMPLED_HZ = 5.0
"""How often it is told what stands in no record: what commands each joint, parameters, how late tasks are."""

_MOST_ELEMENTS = 16
"""Parameters that are longer lists are left out of it."""

GONE_S = 0.7
"""A daemon that has not answered for so long is gone."""

BATCH_S = 0.01
"""How often records are passed on."""

ANSWER_S = 0.4
_OF_FOOT = ["time", "foot_x", "foot_y", "foot_z", "contact"]
"""Columns of the file that tells of an emulated leg (`emulation.process.LIVE_COLUMNS`)."""
EVENTS_KEPT = 500
_MOST_RECORDS = 512
HEAD = struct.Struct("<IId")
"""Before the records of a batch: layout, number of records, seconds since 1970 when it was sent."""


class BridgeListener(Protocol):
    """A tab, as the bridge sees it; called on the event loop."""

    def put(self, message: str | bytes, records: int = 0) -> None:
        """Take a message for the page."""
        ...

    def control(self, holder: str, asked_s: float) -> None:
        """Hear who had control when the daemon was asked at `asked_s`."""
        ...


class DaemonBridge:
    """Watches the daemon at an address and tells all listeners. To be started and closed on the event loop."""

    def __init__(self, address: str, *, name: str, keys: Keys | None = None) -> None:
        self.address, self.name, self.keys = address, name, keys
        self.status: dict[str, Any] = {}
        self.layout = 0
        self.columns: list[dict[str, str]] = []
        # A socket that was forwarded from elsewhere has no others beside it.
        self.every_cycle = address.startswith("ipc://") and (has_off(self.folder) or not self.folder.exists())
        self._model: dict[str, Any] | None = None
        self._configuration = ""
        self._plant: dict[str, float] | None = None
        self._events: deque[dict[str, Any]] = deque(maxlen=EVENTS_KEPT)
        self._gone: dict[str, Any] | None = None
        self._listeners: list[BridgeListener] = []
        self._ended, self._hurried = threading.Event(), threading.Event()
        self._model_of: tuple[str, int, int, int] | None = None
        self._cores = self._configured = 0
        self._ready = False
        self._thread = threading.Thread(target=self._watch, name="nuc-ui watch", daemon=True)
        self._loop: asyncio.AbstractEventLoop | None = None
        self._pump: asyncio.Task[None] | None = None
        self._stream: TelemetryStream | None = None
        self._clock = DaemonClock()
        self._sampled: Subscription | None = None
        self._sampled_of: Greeting | None = None
        self._sampled_names: list[str] = []
        self._sampled_asked: list[str] = []

    def start(self) -> None:
        """Begin to watch."""
        self._loop = asyncio.get_running_loop()
        self._thread.start()
        if self.every_cycle:
            self._pump = self._loop.create_task(self._read_files())

    async def close(self) -> None:
        """End, and let go of everything."""
        self._ended.set()
        self._hurried.set()
        if self._pump is not None:
            self._pump.cancel()
            with suppress(asyncio.CancelledError):
                await self._pump
        await asyncio.to_thread(self._thread.join)
        if self._stream is not None:
            await asyncio.to_thread(self._stream.close)

    @property
    def folder(self) -> Path:
        """Where the sockets of a daemon on this machine are."""
        return Path(self.address.removeprefix("ipc://")).parent

    def join(self, listener: BridgeListener) -> None:
        """Tell a newcomer how things are, and from now on whatever comes."""
        listener.put(encode("layout", **self._layout_told()))
        if self.status:
            listener.put(encode("status", status=self.status))
        if self._gone is not None:
            listener.put(encode("gone", **self._gone))
        if self._events:
            listener.put(encode("events", events=list(self._events)))
        self._listeners.append(listener)

    def part(self, listener: BridgeListener) -> None:
        """Tell a listener nothing any more."""
        with suppress(ValueError):
            self._listeners.remove(listener)

    def hurry(self) -> None:
        """Ask for the status now: something has been done."""
        self._hurried.set()

    # --- on the event loop ---

    def _tell(self, message: str | bytes, records: int = 0) -> None:
        for listener in tuple(self._listeners):
            listener.put(message, records)

    def _layout_told(self) -> dict[str, Any]:
        return {
            "layout": self.layout,
            "columns": self.columns,
            "model": self._model,
            "plant": self._plant,
            "configuration": self._configuration,
        }

    def _new_layout(self, columns: list[dict[str, str]]) -> None:
        self.layout += 1
        self.columns = columns
        self._tell(encode("layout", **self._layout_told()))
        self._hurried.set()

    def _pass_on(self, records: Records) -> None:
        for at in range(0, len(records), _MOST_RECORDS):
            part = records[at : at + _MOST_RECORDS]
            self._tell(pack(self.layout, part), len(part))

    def _heard_status(
        self, status: dict[str, Any], events: list[dict[str, Any]], sampled: dict[str, Any], asked_s: float
    ) -> None:
        self.status = status
        if self._gone is not None:
            self._gone = None
            self._tell(encode("back"))
        for listener in tuple(self._listeners):
            listener.control(str(status.get("control", "")), asked_s)
        self._tell(encode("status", status=status))
        if (stream := self._stream) is not None:  # a thread may close it
            self._tell(encode("age", age_s=stream.age_s))
        if sampled:
            self._tell(encode("sampled", values=sampled))
        if events:
            self._events.extend(events)
            self._tell(encode("events", events=events))

    def _heard_nothing(self, why: str, since_unix_s: float) -> None:
        if self._gone is None:
            self._gone = {"since_unix_s": since_unix_s, "why": why}
            self._tell(encode("gone", **self._gone))

    def _heard_model(self, configuration: str, model: dict[str, Any] | None, plant: dict[str, float] | None) -> None:
        self._configuration, self._model, self._plant = configuration, model, plant
        self._tell(encode("layout", **self._layout_told()))

    async def _read_files(self) -> None:
        cycles, plant = CycleFollower(self.folder / CYCLES), CycleFollower(self.folder / PLANT)
        columns = ()
        try:
            while True:
                await asyncio.sleep(BATCH_S)
                read = cycles.read(monotonic())
                if read.missed:
                    self._tell(encode("missed", records=read.missed))
                if read.columns and read.columns != columns:
                    columns = read.columns
                    self._new_layout([{"name": column.name, "unit": column.unit} for column in columns])
                if read.records:
                    self._pass_on(read.records)
                foot = plant.read(monotonic())
                if foot.records and [column.name for column in foot.columns] == _OF_FOOT:
                    _, x, y, z, force = foot.records[-1]
                    self._tell(encode("foot", at_cm=(x, y, z), contact_n=force))
        finally:
            cycles.close()
            plant.close()

    # --- on a thread of its own ---

    def _watch(self) -> None:
        with Client(self.address, name=self.name, role="watch", keys=self.keys, timeout_s=ANSWER_S) as client:
            since, answered_s, answered_unix_s = 0, monotonic(), time()
            while not self._ended.is_set():
                self._hurried.clear()
                asked_s = monotonic()
                try:
                    status = client.status().data
                    self._clock.heard(asked_s, monotonic(), status["unix_time_s"])
                    events = list(client.events(since))
                    self._configured += sum(event.get("name") == "configured" for event in events)
                    self._see_model(client, status)
                    sampled = self._see_sampled(client)
                except ClientError as error:
                    if monotonic() - answered_s > GONE_S:
                        self._call(self._heard_nothing, str(error), answered_unix_s)
                else:
                    answered_s, answered_unix_s = monotonic(), time()
                    since = max((int(event["seq"]) for event in events), default=since)
                    self._call(self._heard_status, status, events, sampled, asked_s)
                self._hurried.wait(STATUS_S)

    def _see_model(self, client: Client, status: dict[str, Any]) -> None:
        """Ask for the model where there may be another than before: configured again, other records, another core.

        One that was loaded again under its name may have the same columns and other rules.
        """
        configuration, ready = str(status.get("configuration", "")), bool(status.get("ready"))
        self._cores += ready and not self._ready
        self._ready = ready
        asked_for = configuration, self._configured, self._cores, self.layout if self.every_cycle else 0
        if asked_for == self._model_of:
            return
        model = client.model() if configuration else None
        self._model_of = asked_for
        self._sampled_names = [] if model is None else sampled_names(model, status.get("tasks", {}))
        if not self.every_cycle:
            self._open_stream(model)
        self._call(self._heard_model, configuration, model, self._scene(configuration, model, status))

    def _see_sampled(self, client: Client) -> dict[str, Any]:
        """Return what stands in no record, as it came last; nothing where nothing has come.

        It is asked for as a stream: answers to a question would stand in the log of the bout.
        """
        if self._sampled_of is not client.greeting or self._sampled_asked != self._sampled_names:
            with suppress(Refused):
                if self._sampled is not None:
                    self._sampled.close()
                    before, self._sampled = self._sampled, None
                    if self._sampled_of is client.greeting:
                        client.unsubscribe(before.topic)
            with suppress(Refused):
                self._sampled = client.subscribe(self._sampled_names, SAMPLED_HZ) if self._sampled_names else None
            self._sampled_of, self._sampled_asked = client.greeting, self._sampled_names
        last: dict[str, Any] = {}
        while self._sampled is not None and (sample := self._sampled.receive(0)) is not None:
            last = dict(sample.values)
        return last

    def _open_stream(self, model: dict[str, Any] | None) -> None:
        """Listen to the telemetry of another model."""
        if self._stream is not None:
            self._stream.close()
            self._stream = None
        if model is None or self._ended.is_set():
            return
        make = partial(Client, self.address, name=self.name, role="watch", keys=self.keys)
        self._stream = TelemetryStream(
            make, model, lambda: self.status, partial(self._call, self._pass_on), self._clock
        )
        columns = [{"name": name, "unit": unit} for name, unit in self._stream.columns]
        self._call(self._new_layout, columns)

    def _scene(
        self, configuration: str, model: dict[str, Any] | None, status: dict[str, Any]
    ) -> dict[str, float] | None:
        """Return what stands around the leg, where the daemon emulates it: its bus is in the daemon's own folder."""
        own = f"{self.folder}/" if self.every_cycle else "\0"
        if model is None or not any(own in str(url) for url in status.get("buses", {}).values()):
            return None
        try:
            plant = find_configuration(configuration) / PLANT_SPEC_FILE
        except NotFound:
            return None
        joints = model.get("joints") or [{}]
        amatrix = (joints[0].get("geometry") or {}).get("amatrix")
        return scene_of(plant, float(amatrix[2][3]) if amatrix else 0.0)

    def _call(self, function: Callable[..., None], *words: Any) -> None:
        if self._loop is not None:
            with suppress(RuntimeError):  # the loop has ended
                self._loop.call_soon_threadsafe(function, *words)


def sampled_names(model: Mapping[str, Any], tasks: Iterable[str]) -> list[str]:
    """Return names of what stands in no record.

    What commands each joint and how old its angle is, every parameter that is a number or a short list of them, and how
    late each task began in the last second.
    """
    joints = [joint for joint in model["joints"] if joint.get("motor")]
    numbers = [
        hdso["name"]
        for hdso in model["parameters"]
        if hdso["kind"] == "parameter"
        and not hdso["datatype"].endswith("char")
        and prod(hdso["dims"]) <= _MOST_ELEMENTS
    ]
    return [
        "engine.cycle",
        *(f"joint.{joint['name']}.{what}" for joint in joints for what in ("mode", "tweak")),
        *(f"motor.{joint['motor']['name']}.age_ms" for joint in joints),
        *(f"task.{task}.lateness_{which}_us" for task in tasks for which in ("p99", "max")),
        *numbers,
    ]


def encode(topic: str, **content: Any) -> str:
    """Return a message of a topic as JSON; numbers that JSON has not are null."""
    return msgspec.json.encode({"topic": topic, **content}).decode()


def pack(layout: int, records: Records) -> bytes:
    """Return a batch: HEAD, then the records row by row as little-endian doubles."""
    numbers = array("d", chain.from_iterable(records))
    return HEAD.pack(layout, len(records), time()) + numbers.tobytes()
