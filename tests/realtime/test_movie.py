"""What is left when a process that makes a movie is ended from outside."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from nuc_engine.bout.run import BoutSpec, run_bout
from nuc_engine.figures.movie.file import write_movie
from tests.realtime.ends import have_ended, wait_until

OLD = b"the movie that was there before"
ORDERLY = [signal.SIGINT, signal.SIGTERM, signal.SIGHUP]
# Whoever runs the tests in the background may have switched Ctrl-C off.
NUC = "import signal; signal.signal(signal.SIGINT, signal.default_int_handler);from nuc_engine.cli import main; main()"


@pytest.fixture(scope="module")
def bout(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return run_bout(BoutSpec("lin_roach", tmp_path_factory.mktemp("bout") / "data", duration_s=2.0)).folder


@pytest.fixture(scope="module")
def film(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("film") / "camera.mp4"
    write_movie(path, (np.full((48, 64, 3), k, dtype=np.uint8) for k in range(200)), (64, 48), 25.0)
    return path


def children_of(pid: int) -> list[int]:
    return [int(word) for word in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


@pytest.mark.parametrize("blow", [*ORDERLY, signal.SIGKILL])
def test_a_movie_that_is_not_finished_leaves_nothing_behind(
    bout: Path, film: Path, tmp_path: Path, blow: signal.Signals
) -> None:
    out = tmp_path / "leg.mp4"
    out.write_bytes(OLD)
    # So slow that it would take minutes.
    words = ["movie", str(bout), "--speed", "0.005", "--camera", str(film), "--out", str(out)]
    before = {path.name for path in bout.iterdir()}
    maker = subprocess.Popen([sys.executable, "-c", NUC, *words], stderr=subprocess.PIPE, text=True)
    try:
        part = tmp_path / ".leg.part.mp4"
        wait_until(lambda: part.exists() and part.stat().st_size > 0)
        handles = [os.pidfd_open(pid) for pid in children_of(maker.pid)]
        assert len(handles) == 2, "one that writes the movie, one that reads the camera's film"
    except BaseException:
        maker.kill()
        maker.communicate()
        raise
    maker.send_signal(blow)
    _, said = maker.communicate(timeout=60)
    assert have_ended(handles)
    assert out.read_bytes() == OLD
    assert {path.name for path in bout.iterdir()} == before
    left = {path.name for path in tmp_path.iterdir()}
    if blow in ORDERLY:
        assert (maker.returncode, left) == (1, {"leg.mp4"})
        assert said.splitlines()[-1].endswith("nuc: stopped")
    else:
        # What nobody could tidy up, the next run does.
        assert (maker.returncode, left) == (-blow, {"leg.mp4", ".leg.part.mp4"})
        again = ["movie", str(bout), "--end", "0.2", "--fps", "10", "--views", "side", "--out", str(out)]
        done = subprocess.run([sys.executable, "-c", NUC, *again], capture_output=True, text=True, check=False)
        assert (done.returncode, [path.name for path in tmp_path.iterdir()]) == (0, ["leg.mp4"]), done.stderr
        assert out.read_bytes() != OLD
