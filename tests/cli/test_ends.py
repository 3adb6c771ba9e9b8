"""How the process of a command ends: quickly, and with all that was to be done by then."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

RUN = """
import atexit, sys, threading, time
from pathlib import Path
what, out = sys.argv[1], Path(sys.argv[2])
sys.argv[1:] = sys.argv[3:]
if what == "thread":
    threading.Thread(target=lambda: (time.sleep(0.3), out.write_text("done"))).start()
else:
    atexit.register(out.write_text, "done")
from nuc_engine.cli import main
main()
"""


def ended(tmp_path: Path, what: str, *words: str) -> tuple[int, str, str]:
    out = tmp_path / "out"
    done = subprocess.run([sys.executable, "-c", RUN, what, out, *words], capture_output=True, text=True, check=False)
    return done.returncode, done.stdout, out.read_text()


def test_what_was_to_be_done_at_the_end_is_done_and_the_status_stays(tmp_path: Path) -> None:
    for words, status in ((("--version",), 0), (("validate", "lin_roach"), 0), (("validate", "nix"), 2)):
        code, said, left = ended(tmp_path, "atexit", *words)
        assert (code, left) == (status, "done")
        assert status or said


def test_a_thread_that_is_at_work_is_waited_for(tmp_path: Path) -> None:
    assert ended(tmp_path, "thread", "--version")[::2] == (0, "done")


def test_what_is_said_last_and_can_not_be_written_is_no_success(tmp_path: Path) -> None:
    full = 'os.dup2(os.open("/dev/full", os.O_WRONLY), 1)'
    late = f"import os\n{RUN}".replace(
        'atexit.register(out.write_text, "done")', f"atexit.register(lambda: ({full}, print(1)))"
    )
    buffered = {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}
    status = [
        subprocess.run(
            [sys.executable, "-c", code, "atexit", tmp_path / "out", "--version"],
            env=buffered,
            capture_output=True,
            check=False,
        ).returncode
        for code in (late, late.replace(full, "0"))
    ]
    assert (status[0] != 0, status[1]) == (True, 0)
