"""Disks that are full, read-only or slow, and a service that is killed, while a leg is driven: no record is lost.

Disks are small ones made for the test; where none may be mounted, the test is skipped. The core never waits: the
emulator's byte log shows no silence on the bus meanwhile. A window in which the machine itself stood still is repeated.
"""

from __future__ import annotations

import os
import signal
import subprocess
import time  # noqa: TID251  real processes live on the real clock
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from itertools import count, pairwise
from pathlib import Path

import pytest

from nuc_engine.bout.replay import replay_inputs
from nuc_engine.recording.recover import RecoverRefused, recover
from tests.realtime.daemon import MS, Leg, wait_for
from tests.realtime.mounts import Mount, root
from tests.realtime.served import GAP_NS, Served, cycles_logged, longest_gap_ns, manifest, repeat_disturbed


class Disk:
    """A small file system that can be filled, made read-only and stopped."""

    def __init__(self, folder: Path, mib: int) -> None:
        self._made = 0
        self.place, image = folder / "disk", folder / "disk.img"
        self.place.mkdir()
        with image.open("wb") as file:
            file.truncate(mib << 20)
        root("mkfs.ext4", "-q", "-m", "0", str(image))
        self._mount = Mount(image, self.place, "loop")

    def fresh(self) -> Path:
        """Return a data folder that is not there yet."""
        self._made += 1
        return self.place / f"data{self._made}"

    def fill(self) -> None:
        with (self.place / "ballast").open("wb", buffering=0) as file, suppress(OSError):
            while file.write(bytes(1 << 16)):
                pass
        with (self.place / "ballast").open("ab", buffering=0) as file, suppress(OSError):
            while file.write(bytes(64)):
                pass

    def empty(self) -> None:
        (self.place / "ballast").unlink()

    def read_only(self, yes: bool) -> None:
        # A file system with files open for writing is made read-only as a failing disk makes it so.
        root("mount", "-o", f"remount,{'ro' if yes else 'rw'}", str(self.place))

    @contextmanager
    def stalled(self) -> Iterator[None]:
        """Let every write wait."""
        root("fsfreeze", "-f", str(self.place))
        try:
            yield
        finally:
            subprocess.run(("fsfreeze", "-u", str(self.place)), check=True)

    def close(self) -> None:
        self._mount.remove()


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Disk]:
    found = Disk(tmp_path, 24)
    yield found
    found.close()


def whole(folder: Path) -> int:
    """Check that a bout holds every cycle once, and that its replies give its commands; return how many cycles."""
    said = manifest(folder)
    assert said["state"] == "complete", said["reason"]
    assert said["losses"]["records"] == {}
    cycles = cycles_logged(folder)
    assert [cycle[1] for cycle in cycles] == list(range(1, len(cycles) + 1))
    assert said["counts"]["cycles"] == len(cycles)
    report = replay_inputs(folder)
    assert report.difference is None
    assert report.changed_files == ()
    return len(cycles)


def service_pid(served: Served) -> int:
    wait_for(lambda: "service" in served.pids(), "a service", served)
    return served.pids()["service"]


def test_a_service_killed_again_and_again_loses_no_record_and_writes_none_twice(serve, stalls) -> None:
    def trial() -> None:
        _, served = serve()
        served.run_bout(0.5)
        for k in range(4):
            before = service_pid(served)
            served.kill("service")
            wait_for(lambda before=before: served.pids().get("service", before) != before, "a new service", served)
            if k % 2:
                # Sooner or later after it was born: with the bout open again, or before.
                wait_for(lambda k=k: len(served.logged("logging_resumed")) > k // 2, "logging to go on", served)
                time.sleep(0.4)
        served.await_ready()
        folder = served.finish_bout()
        assert len(served.bouts()) == 1
        assert whole(folder) > 300
        assert len(served.logged("logging_resumed")) >= 2

    repeat_disturbed(stalls, trial)


def say_to_kernel(text: str) -> bool:
    """Say whether the kernel's messages can be read here; where they can, and may be written, add one."""
    try:
        os.close(os.open("/dev/kmsg", os.O_RDONLY | os.O_NONBLOCK))
        Path("/dev/kmsg").write_text(f"<4>{text}\n")
    except OSError:
        return False
    return True


def test_answers_and_the_words_of_the_kernel_are_logged_once_whoever_reads_them(serve, stalls) -> None:
    trials = count(1)

    def trial() -> None:
        _, served = serve()
        served.await_ready()
        number = next(trials)
        name, asked = f"named_{number}", "CTr_lev_TC1_load"
        served.insist(lambda: served.client.run(out=name))
        received = [say_to_kernel(f"nuc: before {name}")]
        for _ in range(3):
            served.client.get([asked])
        before = service_pid(served)
        served.kill("service")
        wait_for(lambda: served.pids().get("service", before) != before, "a new service", served)
        served.await_ready()
        received.append(say_to_kernel(f"nuc: after {name}"))
        for _ in range(2):
            served.client.get([asked, "joint.Coxa-Trochanter.action"])
        served.client.stop()
        folder = served.await_whole(served.data / name)
        log = (folder / "HDSOlog.xml").read_text()
        values = [block.count(f'name="{asked}"') for block in log.split("<!-- cycle ")[1:] if "bench (" in block]
        assert sum(values) == 5
        assert log.count("answered: joint.Coxa-Trochanter.action = ") == 2
        said = (folder / "dmesglog.txt").read_text()
        if all(received):
            assert [said.count(f"nuc: {when} {name}\n") for when in ("before", "after")] == [1, 1]
        else:
            assert " begin " in said or " unreadable " in said
        whole(folder)

    repeat_disturbed(stalls, trial)


def while_it(
    serve: Callable[..., tuple[Leg, Served]], disk: Disk, stalls, trouble: Callable[[Served], None], says: str
) -> None:
    """Let trouble come over the disk within a bout: the bus is not silent for it, and no record is missing."""

    def trial() -> None:
        leg, served = serve(data=disk.fresh())
        served.run_bout(1.5)
        begun = time.monotonic_ns()
        trouble(served)
        ended = time.monotonic_ns()
        time.sleep(1.5)
        gap_ns = longest_gap_ns(leg, begun, ended)
        folder = served.finish_bout()
        whole(folder)
        if says:
            assert served.logged("logging_failed"), served.said()
            assert says in served.logged("logging_failed")[0]["text"]
            assert served.logged("logging_recovered")
        stamps = [cycle[2] for cycle in cycles_logged(folder)]
        assert max(b - a for a, b in pairwise(stamps)) < 10 * GAP_NS
        assert gap_ns < GAP_NS, f"the bus was silent for {gap_ns / MS:.1f} ms"

    repeat_disturbed(stalls, trial)


def test_a_disk_that_is_full_for_a_while(serve, disk: Disk, stalls) -> None:
    def trouble(served: Served) -> None:
        disk.fill()
        wait_for(lambda: served.logged("logging_failed"), "a full disk to be noticed", served)
        time.sleep(1.0)
        assert served.words()["logging"]["state"] == "failing"
        disk.empty()
        wait_for(lambda: served.words()["logging"]["state"] == "logging", "logging to go on", served)

    while_it(serve, disk, stalls, trouble, "No space left")


def test_a_disk_that_stalls_for_2_s(serve, disk: Disk, stalls) -> None:
    def trouble(served: Served) -> None:
        with disk.stalled():
            time.sleep(2.0)
            # The service answers as ever: only the logger waits.
            asked = time.monotonic()
            assert served.status() is not None
            assert time.monotonic() - asked < 1.0

    while_it(serve, disk, stalls, trouble, "")


def test_a_disk_that_refuses_the_first_directory(serve, disk: Disk, stalls) -> None:
    def trial() -> None:
        _, served = serve(data=disk.fresh())
        served.await_ready()
        disk.read_only(True)
        served.run_bout(1.5)
        wait_for(lambda: served.logged("logging_failed"), "a read-only disk to be noticed", served)
        disk.read_only(False)
        wait_for(lambda: served.words()["logging"]["state"] == "logging", "logging to go on", served)
        folder = served.finish_bout()
        assert "Read-only" in served.logged("logging_failed")[0]["text"]
        whole(folder)

    repeat_disturbed(stalls, trial)


def test_a_disk_full_for_longer_than_the_ring_lasts_is_a_counted_loss(serve, disk: Disk, stalls) -> None:
    def trial() -> None:
        # A ring of 64 KiB instead of 32 MiB: full within half a second rather than in minutes.
        leg, served = serve(data=disk.fresh(), odd={"records_kib": 64})
        served.run_bout(1.5)
        begun = time.monotonic_ns()
        disk.fill()
        wait_for(lambda: served.words()["logging"]["lost"] > 100, "the ring to overflow", served)
        ended = time.monotonic_ns()
        disk.empty()
        wait_for(lambda: served.logged("records_lost"), "the loss to be told", served)
        folder = served.finish_bout()
        said = manifest(folder)
        lost = said["losses"]["records"]
        cycles = [cycle[1] for cycle in cycles_logged(folder)]
        missing = said["counts"]["cycles"] - len(cycles)
        assert missing == lost["motor"]["count"] > 0
        assert sum(kind["count"] for kind in lost.values()) == served.words()["logging"]["lost"] > 100
        assert "lost " in (folder / "Infolog.txt").read_text()
        assert replay_inputs(folder).difference is None
        assert longest_gap_ns(leg, begun, ended) < 10 * GAP_NS

    repeat_disturbed(stalls, trial)


def test_a_daemon_that_is_killed_as_a_whole_leaves_a_bout_that_recover_mends(serve, stalls) -> None:
    def trial() -> None:
        _, served = serve()
        served.await_ready()
        served.run_bout(2.5)
        folder = served.bouts()[-1]
        assert "being written" in _refused(folder)
        # Known before: nobody says who they are once the supervisor is dead.
        everybody = [served.process.pid, *served.pids().values()]
        for pid in everybody:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        wait_for(lambda: not any(_alive(pid) for pid in everybody[1:]), "the end of all")
        # A dead process whose threads are still ending holds its files a little longer.
        wait_for(lambda: not _refused(folder), "the end of their threads")
        assert manifest(folder)["state"] == "torn"
        assert replay_inputs(folder).difference is None
        # Flushed every second: of 2.5 s, the last one may be missing.
        assert manifest(folder)["engine_time_s"] > 1.0

    repeat_disturbed(stalls, trial)


def _refused(folder: Path) -> str:
    """Mend a bout; return why that is refused, nothing where it is not."""
    try:
        recover(folder)
    except RecoverRefused as error:
        return str(error)
    return ""


def _alive(pid: int) -> bool:
    with suppress(OSError):
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    return False


def test_what_is_told_to_be_on_disk_is_on_disk(serve, stalls) -> None:
    def trial() -> None:
        _, served = serve()
        served.run_bout(0.1)
        wait_for(served.bouts, "a data directory", served)
        log = served.bouts()[-1] / "MotorData.txt"
        sizes: list[int] = []

        def grows() -> bool:
            size = log.stat().st_size
            if size > (sizes[-1] if sizes else 0):
                sizes.append(size)
                assert log.read_bytes()[:size].endswith(b"\n")
            return len(sizes) > 3

        # While the bout runs the file grows about once a second, by whole lines.
        wait_for(grows, "three more portions on disk", served)
        served.finish_bout()

    repeat_disturbed(stalls, trial)
