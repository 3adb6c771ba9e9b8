"""Records of a bout on the loopback plant, as a core would put them into the ring, and loggers to write them down."""

from __future__ import annotations

import errno
import io
import json
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any

import msgpack

from nuc_engine.bout.run import bus_url, open_leg, prepare_bout
from nuc_engine.control.clock import VirtualClock
from nuc_engine.control.executive import Executive
from nuc_engine.daemon.block import Block, Word
from nuc_engine.daemon.ring import Ring
from nuc_engine.daemon.ringrecorder import RingRecorder
from nuc_engine.daemon.wire import RecordKind, pack
from nuc_engine.datalogger.commits import inbox
from nuc_engine.datalogger.documents import DocumentStore, KeptDocuments
from nuc_engine.datalogger.events import EventLog
from nuc_engine.datalogger.keeper import LoggingSettings
from nuc_engine.datalogger.manifest import Context
from nuc_engine.datalogger.writer import LogWriter
from nuc_engine.model.changes import Changeset, JointControl, Write
from nuc_engine.model.plan import Plan
from nuc_engine.model.store import Store

CONFIG = Path("configs/lin_roach")
FILES = ("joints.xml", "parameters.xml", "sensors.xml", "plant.toml")
START = 50_000_123
MS = 1_000_000
OPTIONS = {"limits": {}, "approach_deg_s": 60.0}
WALL = datetime(2031, 5, 6, 7, 8, 9, tzinfo=UTC)

Record = tuple[int, bytes]


class Collector:
    """Stands in for the ring: keeps what is put."""

    def __init__(self) -> None:
        self.records: list[Record] = []

    def put(self, kind: int, content: bytes) -> bool:
        self.records.append((int(kind), content))
        return True


def documents() -> KeptDocuments:
    return KeptDocuments("lin_roach", {name: (CONFIG / name).read_bytes() for name in FILES})


@cache
def plan() -> Plan:
    return prepare_bout(str(CONFIG), None).plan


def edits(model: Plan) -> list[Changeset]:
    low = model.hdso("TC1_retLEV_FTang").index
    return [
        Changeset(START + 40 * MS, (Write(low, (61.0,)), Write(low, (1e6,))), origin=11),
        Changeset(START + 90 * MS, (), controls=(JointControl("tweak", 2, 3.0),), origin=12),
        Changeset(START + 130 * MS, (Write(low, (62.5,)),), origin=11),
    ]


@cache
def bout(duration_ms: int = 250, number: int = 1, seed: int = 3) -> tuple[Record, ...]:
    """All records of one bout that ran its time."""
    model, collector = plan(), Collector()
    store = Store(model)
    for write in model.initial:
        store.write(write.hdso, write.values)
    ring = RingRecorder(model, store, collector, memoryview(bytearray(8 * 128)).cast("q"), lambda: None)
    _, bus = open_leg(model, CONFIG, bus_url("loopback:", seed), seed)
    clock = VirtualClock()
    clock.wait_until(START)
    executive = Executive(model, bus, ring, store=store, clock=clock, keep_store=True, approach_deg_s=60.0)
    ring.tell(RecordKind.BOUT_BEGIN, START, number, -1)
    ring.tell(RecordKind.STORE, START, 0, store.live_bytes())
    ring.tell(RecordKind.MODE, START, 2, f"bout {number}", number)
    executive.load(edits(model))
    executive.run_until(START + duration_ms * MS)
    end = START + duration_ms * MS
    ring.event(end, "overrun", "for the test")
    ring.tell(RecordKind.POSE, end, executive.start_pose_deg)
    ring.tell(RecordKind.COUNTS, end, {"cycles": executive.board.cycle, "missed_replies": {}})
    ring.tell(RecordKind.BOUT_END, end, number, "complete", "ran for the time asked for")
    ring.tell(RecordKind.MODE, end, 3, "ran for the time asked for", 0)
    return tuple(collector.records)


def no_kernel() -> int:
    raise FileNotFoundError(errno.ENOENT, "No such file or directory")


@dataclass
class Bench:
    """A block with a data folder: put records in, make loggers, look at what they wrote."""

    data: Path
    always: bool = True
    block: Block = field(default_factory=Block.create)
    told: io.StringIO = field(default_factory=io.StringIO)
    dumps: list[int] = field(default_factory=list)
    now: int = START
    kernel: Callable[[], int] = no_kernel

    def __post_init__(self) -> None:
        self.block.words[Word.CORE_PID] = 4242
        self.block.words[Word.CORE_GENERATION] = 1
        self.documents = DocumentStore(self.data)
        self.tell("documents", self.documents.keep(documents()))

    @property
    def ring(self) -> Ring:
        return self.block.rings["records"]

    def tell(self, what: str, *fields: Any, time_ns: int | None = None) -> None:
        told_ns = self.now if time_ns is None else time_ns
        ring = self.block.rings["answers"] if what in ("answer", "left_out") else inbox(self.block)
        assert ring.put(0, pack(what, self.ring.written, told_ns, *fields))

    def put(self, *records: Record) -> None:
        for kind, content in records:
            assert self.ring.put(kind, content)

    def writer(self, documents: DocumentStore | None = None, **options: Any) -> LogWriter:
        context = Context(
            {"": "loopback:"}, OPTIONS, lambda: {"engine": "0"}, lambda: WALL, sync=False, kernel=self.kernel
        )
        setting = LoggingSettings(self.data, self.always, {"leg": "left"}, **options)
        return LogWriter(
            self.block,
            setting,
            context,
            documents or DocumentStore(self.data),
            EventLog(self.told),
            lambda: self.dumps.append(self.now),
        )

    def run(self, writer: LogWriter, seconds: float = 1.1) -> None:
        """Let time pass and the logger do all there is to do."""
        self.now += round(seconds * 1e9)
        while writer.step(self.now):
            pass

    @property
    def folders(self) -> list[Path]:
        return sorted(path for path in self.data.iterdir() if path.name != ".nuc")

    def events(self, name: str) -> list[dict[str, Any]]:
        told = [json.loads(line) for line in self.told.getvalue().splitlines()]
        return [event for event in told if event["event"] == name]


def read_manifest(folder: Path) -> dict[str, Any]:
    return json.loads((folder / "manifest.json").read_text())


def read_record(folder: Path) -> list[list[Any]]:
    with (folder / "InputRecord.msgpack").open("rb") as file:
        return list(msgpack.Unpacker(file))


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir())}
