"""Files that appear only when they are whole, with and without a name until then."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from nuc_engine.recording import formats
from nuc_engine.recording.formats import appearing


@pytest.fixture(params=["nameless", "named"])
def ways(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Both ways of writing: as this system does it, and as one does that has no files without names."""
    if request.param == "named":
        monkeypatch.setattr(formats, "_nameless", lambda folder: None)
    return request.param


def test_it_takes_the_place_of_the_old_one_when_it_is_done(ways: str, tmp_path: Path) -> None:
    path, plain = tmp_path / "a.txt", tmp_path / "plain"
    path.write_text("the old one")
    plain.touch()
    # What an earlier one left that was killed.
    (tmp_path / ".a.part.txt").write_text("torn")
    with appearing(path) as part:
        # Another program may write it.
        subprocess.run([sys.executable, "-c", "import sys; open(sys.argv[1], 'w').write('new')", part], check=True)
        assert path.read_text() == "the old one"
    assert path.read_text() == "new"
    assert path.stat().st_mode == plain.stat().st_mode
    assert {file.name for file in tmp_path.iterdir()} == {"a.txt", "plain"}


def test_what_fails_leaves_the_old_one_and_no_open_file(ways: str, tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_text("the old one")
    before = sorted(os.listdir("/proc/self/fd"))
    with pytest.raises(KeyboardInterrupt), appearing(path) as part:
        part.write_text("half")
        raise KeyboardInterrupt
    assert path.read_text() == "the old one"
    assert list(tmp_path.iterdir()) == [path]
    assert sorted(os.listdir("/proc/self/fd")) == before


def test_a_folder_that_is_not_there_is_an_error_once_it_is_written_to(ways: str, tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError), appearing(tmp_path / "nowhere" / "a.txt") as part:
        part.write_text("x")


def test_what_is_killed_leaves_nothing(tmp_path: Path) -> None:
    code = (
        "import os, signal, sys\n"
        "from pathlib import Path\n"
        "from nuc_engine.recording.formats import appearing\n"
        "with appearing(Path(sys.argv[1])) as part:\n"
        "    part.write_text('half')\n"
        "    os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    done = subprocess.run([sys.executable, "-c", code, str(tmp_path / "a.txt")], check=False)
    assert done.returncode == -9
    assert list(tmp_path.iterdir()) == []
