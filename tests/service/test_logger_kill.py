"""A logger that is killed anywhere, as often as one likes: the next one leaves the very bytes of one that lived."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

import nuc_engine.datalogger.directory as bouts_module
import nuc_engine.datalogger.writer as logwriter_module
from nuc_engine.daemon.ring import Ring
from nuc_engine.datalogger.keeper import BoutKeeper
from nuc_engine.datalogger.writer import LogWriter
from nuc_engine.recording import manifest
from tests.service.log_feed import START, Bench, bout, contents


class Killed(BaseException):
    """The process is gone at this very point."""


class Reaper:
    """Counts the points at which a kill makes a difference, and kills at one of them."""

    def __init__(self, at: int) -> None:
        self.at, self.seen = at, 0

    def __call__(self) -> bool:
        self.seen += 1
        return self.seen == self.at

    def point(self) -> None:
        if self():
            raise Killed


@contextmanager
def reaping(reaper: Reaper) -> Iterator[None]:
    """Every write, truncation, renaming and commit asks the reaper first, and half of a write may be done."""
    with pytest.MonkeyPatch.context() as patch:
        _half_writes(patch, reaper)
        _points(patch, reaper)
        yield


def _half_writes(patch: pytest.MonkeyPatch, reaper: Reaper) -> None:
    pwrite, write_commit = os.pwrite, logwriter_module.write_commit

    def half_pwrite(fd: int, data: Any, at: int) -> int:
        if reaper():
            pwrite(fd, bytes(data)[: len(data) // 2], at)
            raise Killed
        return pwrite(fd, data, at)

    def half_commit(block: Any, commit: Any) -> None:
        half = block.commits[commit.number % 2]
        before = bytes(half[:4096])
        write_commit(block, commit)
        if reaper():
            half[:40] = before[:40]
            raise Killed

    patch.setattr(os, "pwrite", half_pwrite)
    patch.setattr(logwriter_module, "write_commit", half_commit)


def _points(patch: pytest.MonkeyPatch, reaper: Reaper) -> None:
    def before(owner: Any, name: str) -> None:
        real = getattr(owner, name)

        def call(*args: Any, **kwargs: Any) -> Any:
            reaper.point()
            return real(*args, **kwargs)

        patch.setattr(owner, name, call)

    before(os, "ftruncate")
    before(Path, "replace")
    before(Path, "mkdir")
    before(Path, "write_text")
    before(Ring, "keep")
    before(bouts_module, "_put_file")
    before(manifest, "write_manifest")


def drop(writer: LogWriter) -> None:
    """What the kernel does when a process is gone: its descriptors are closed, nothing of it is written."""
    bout_log = writer._keeper.bout
    if bout_log is not None and not bout_log._recorder._logs.files[0].closed:
        bout_log.abandon()


def script() -> list[Any]:
    """What happens in a bout: records in portions, and between them what the service tells."""
    records = bout()
    cuts = [0, 3, 40, 41, 90, 140, len(records) - 4, len(records)]
    doings: list[Any] = [
        ("name", 1, "mine"),
        ("author", 11, "Ann", 2),
        ("note", "label surface", "felt", "Ann", False),
    ]
    for k, (begin, end) in enumerate(pairwise(cuts)):
        doings.append(records[begin:end])
        if k in (1, 3):
            doings.append(("note", "mark", f"mark {k}", "Bob", True))
            doings.append(("answer", 8 + k, "Bob", {k: [1.5 + k]}, {"joint.Coxa.action": "Swing"}))
            doings.append(("left_out", "Bob", 40 + k))
        if k == 2:
            doings.append(("note", "label voltage", "9.6", "Bob", True))
    return doings


def play(bench: Bench, reaper: Reaper) -> int:
    """Let it all happen to loggers that follow one another; return how many were killed."""
    killed = 0
    with reaping(reaper):
        writer = _born(bench)
        for number, doing in enumerate([*script(), []]):
            if isinstance(doing, tuple) and isinstance(doing[0], str):
                bench.tell(*doing, time_ns=START + number * 10_000_000)
            else:
                bench.put(*doing)
            while True:
                try:
                    bench.run(writer)
                    break
                except Killed:
                    killed += 1
                    drop(writer)
                    writer = _born(bench)
        drop(writer)
    return killed


def _born(bench: Bench) -> LogWriter:
    return bench.writer()


def untouched(tmp_path: Path) -> tuple[dict[str, bytes], int]:
    bench, reaper = Bench(tmp_path), Reaper(0)
    assert play(bench, reaper) == 0
    (folder,) = bench.folders
    return contents(folder), reaper.seen


@pytest.fixture(scope="module")
def reference(tmp_path_factory: pytest.TempPathFactory) -> tuple[dict[str, bytes], int]:
    return untouched(tmp_path_factory.mktemp("whole"))


def test_the_reference_holds_what_happened(reference: tuple[dict[str, bytes], int]) -> None:
    files, points = reference
    assert files["Notes.jsonl"].count(b"\n") == 3
    assert files["Scriptlog.xml"].count(b"by Ann") == 2
    assert files["HDSOlog.xml"].count(b"by Bob") == 2
    assert files["HDSOlog.xml"].count(b"left out: 84 values answered to Bob") == 1
    assert len(files["MotorData.txt"].splitlines()) == 50
    assert points > 100


def check(tmp_path: Path, at: int, expected: dict[str, bytes]) -> int:
    bench, reaper = Bench(tmp_path), Reaper(at)
    killed = play(bench, reaper)
    (folder,) = bench.folders
    found = contents(folder)
    assert sorted(found) == sorted(expected)
    for name, content in expected.items():
        assert found[name] == content, name
    rings = bench.block.rings
    assert rings["records"].kept == rings["records"].written
    return killed


def test_killed_at_any_point_it_leaves_the_same_bytes(tmp_path: Path, reference: tuple[dict[str, bytes], int]) -> None:
    expected, points = reference
    for at in range(1, points + 1, 3):
        assert check(tmp_path / str(at), at, expected) == 1, at


class Again(Reaper):
    """Kills every logger after some more points than the last one had."""

    def __init__(self, every: int) -> None:
        super().__init__(every)
        self.next = every

    def __call__(self) -> bool:
        self.seen += 1
        if self.seen < self.next:
            return False
        self.at += 3
        self.next = self.seen + self.at
        return True


def test_killed_again_and_again_it_still_leaves_the_same_bytes(
    tmp_path: Path, reference: tuple[dict[str, bytes], int]
) -> None:
    bench, reaper = Bench(tmp_path), Again(2)
    assert play(bench, reaper) >= 8
    (folder,) = bench.folders
    assert contents(folder) == reference[0]


@pytest.mark.parametrize("at", [1, 30, 150])
def test_a_record_there_was_no_memory_for_is_not_left_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, at: int
) -> None:
    """The logger ends over it, and the next one takes it up again."""
    written = []
    for name, fails_at in (("lived", None), ("ended", at)):
        bench = Bench(tmp_path / name)
        bench.put(*bout())
        with monkeypatch.context() as patch:
            seen, real = [0], BoutKeeper.take

            def take(keeper: BoutKeeper, kind: int, content: bytes, fails_at=fails_at, seen=seen, real=real) -> None:
                seen[0] += 1
                if seen[0] == fails_at:
                    raise MemoryError
                real(keeper, kind, content)

            patch.setattr(BoutKeeper, "take", take)
            writer = bench.writer()
            if fails_at is not None:
                with pytest.raises(MemoryError):
                    bench.run(writer)
                drop(writer)
                writer = bench.writer()
            bench.run(writer)
        assert bench.events("log_error") == []
        written.append(contents(bench.folders[0]))
    assert written[0] == written[1]
