"""A session at a command line, in a process of its own: `nuc` commands from stdin, one JSON list a line.

Each is answered with a line of JSON: exit status, stdout, stderr. An error nobody explained has the status 70 and its
traceback in stderr.
"""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
import traceback
from collections.abc import Mapping, Sequence
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[2]
WITHOUT_POSIX = Path(__file__).parent / "without_posix"
CRASHED = 70


class Answer(NamedTuple):
    status: int
    out: str
    err: str


def environment(*folders: Path) -> dict[str, str]:
    """Return the environment of a process that finds modules in these folders first, and never writes into others'."""
    path = os.pathsep.join(map(str, (*folders, ROOT)))
    return {**os.environ, "PYTHONPATH": path, "PYTHONDONTWRITEBYTECODE": "1", "PYTHONIOENCODING": "cp1252"}


def session(folder: Path, commands: Sequence[Sequence[str]], environment: Mapping[str, str]) -> list[Answer]:
    """Run commands one after the other, in a folder."""
    done = subprocess.run(
        [sys.executable, "-m", "tests.systems.session"],
        cwd=folder,
        env=dict(environment),
        input="".join(json.dumps(list(words)) + "\n" for words in commands),
        capture_output=True,
        text=True,
        encoding="utf-8",
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return [Answer(*json.loads(line)) for line in done.stdout.splitlines()]


def _answer(words: list[str]) -> Answer:
    from nuc_engine.cli.app import app

    streams = [io.TextIOWrapper(io.BytesIO(), encoding="cp1252", write_through=True) for _ in range(2)]
    status: object = 0
    with redirect_stdout(streams[0]), redirect_stderr(streams[1]):
        try:
            app.main(words)
        except SystemExit as end:
            status = end.code
        except BaseException:
            traceback.print_exc()
            status = CRASHED
    out, err = (stream.buffer.getvalue().decode("cp1252") for stream in streams)  # type: ignore[attr-defined]
    return Answer(status if isinstance(status, int) else 0, out, err)


if __name__ == "__main__":
    for line in sys.stdin:
        sys.__stdout__.write(json.dumps(_answer(json.loads(line))) + "\n")
        sys.__stdout__.flush()
