"""A disk that fails for good in the middle of a bout, as the kernel does it: read-only until it is mounted anew."""

from __future__ import annotations

import subprocess
import time  # noqa: TID251  real processes live on the real clock
from pathlib import Path

import pytest

from nuc_engine.recording.recover import recover
from tests.realtime.daemon import wait_for
from tests.realtime.mounts import Mount, root
from tests.realtime.served import GAP_NS, cycles_logged, longest_gap_ns, repeat_disturbed


class FailingDisk:
    def __init__(self, folder: Path) -> None:
        self.place, self._image = folder / "disk", folder / "disk.img"
        self.place.mkdir(parents=True)
        with self._image.open("wb") as file:
            file.truncate(24 << 20)
        root("mkfs.ext4", "-q", "-F", "-m", "0", str(self._image))
        self._mounted = self._mount()

    def _mount(self) -> Mount:
        return Mount(self._image, self.place, "loop,errors=remount-ro")

    def fail(self) -> None:
        device = Path(root("findmnt", "-n", "-o", "SOURCE", str(self.place))).name
        try:
            Path(f"/sys/fs/ext4/{device}/trigger_fs_error").write_text("a test\n")
        except OSError as error:
            pytest.skip(f"no file system can be made to fail here: {error}")

    def repair(self) -> None:
        self.remove()
        subprocess.run(["fsck.ext4", "-f", "-y", str(self._image)], capture_output=True, check=False)
        self._mounted = self._mount()

    def remove(self) -> None:
        self._mounted.remove()


@pytest.fixture
def disks(tmp_path):
    made: list[FailingDisk] = []

    def make() -> FailingDisk:
        made.append(FailingDisk(tmp_path / f"disk{len(made)}"))
        return made[-1]

    yield make
    for disk in made:
        disk.remove()


def test_a_disk_that_fails_for_good_does_not_stop_the_leg_and_what_is_lost_is_said(serve, stalls, disks):
    def trial():
        disk = disks()
        leg, served = serve(data=disk.place / "data")
        served.run_bout(2.5)
        begun = time.monotonic_ns()
        disk.fail()
        wait_for(lambda: served.logged("logging_failed"), "a read-only disk to be noticed", served)
        time.sleep(0.5)
        words = served.words()
        ended = time.monotonic_ns()
        assert (words["mode"], words["logging"]["state"]) == ("RUNNING", "failing")
        assert longest_gap_ns(leg, begun, ended) < GAP_NS
        served.client.stop()
        begun = time.monotonic()
        served.end()
        assert time.monotonic() - begun < 10
        # What was never written is told, in numbers.
        (told,) = served.logged("records_lost")
        disk.repair()
        (folder,) = served.bouts()
        assert recover(folder).state == "torn"
        numbers = [cycle[1] for cycle in cycles_logged(folder)]
        assert numbers == list(range(1, len(numbers) + 1))
        assert len(numbers) > 100
        assert told["records"]["motor"] > 0
        assert len(numbers) + told["records"]["motor"] >= words["cycle"]

    repeat_disturbed(stalls, trial)
