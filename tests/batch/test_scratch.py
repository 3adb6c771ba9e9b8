from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from nuc_engine.batch.scratch import clear_left_over, scratch_folder, scratch_root


def test_a_scratch_folder_goes_with_everything_in_it(tmp_path: Path) -> None:
    with scratch_folder(tmp_path) as folder:
        (folder / "bout").mkdir()
        (folder / "bout" / "MotorData.txt").write_text("0")
        assert folder.parent == tmp_path
    assert not list(tmp_path.iterdir())


def test_what_a_killed_process_left_is_cleared_and_nothing_else(tmp_path: Path) -> None:
    leave = (
        "import os, pathlib\n"
        "from nuc_engine.batch.scratch import scratch_folder\n"
        f"with scratch_folder(pathlib.Path({str(tmp_path)!r})) as folder:\n"
        "    (folder / 'bout').mkdir()\n"
        "    os._exit(9)\n"
    )
    assert subprocess.run([sys.executable, "-c", leave], check=False).returncode == 9
    (tmp_path / "somebody else's").mkdir()
    with scratch_folder(tmp_path) as mine:
        assert len(list(tmp_path.iterdir())) == 3
        assert clear_left_over(tmp_path) == 1
        assert mine.exists()
    assert [path.name for path in tmp_path.iterdir()] == ["somebody else's"]


def test_there_is_a_place_for_scratch_folders() -> None:
    assert scratch_root().is_dir()
