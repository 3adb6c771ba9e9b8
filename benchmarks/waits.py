"""What one waits for at the command line: `python -m benchmarks.waits [--rounds N] [--before CHECKOUT]`.

Each command in a process of its own, from its start to its end, first and last round in turn; with `--before` another
checkout of the project in turn with this one. Wall-clock time is what one waits for, and is longer on a busy machine:
compare processor time, which other programs change less, and ratios. The bare interpreter is measured beside.
"""

from __future__ import annotations

import argparse
import os
import platform
import statistics
import subprocess
import sys
import tempfile
import time  # noqa: TID251  benchmarks are about real time
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from benchmarks.realtime.children import ROOT
from benchmarks.realtime.report import table, verdict
from benchmarks.realtime.served import Leg, Served
from benchmarks.realtime.wakeup import BAUD

CTL_S, TAB_S = 0.25, 0.15
FILM_S = 20

CTL = (
    *("status", "tasks", "rules", "configs", "clients", "take", "arm", "run", "get CTr_angle", "set motor_speed=2"),
    *("undo", "redo", "history", "pending", "mark here", "note hm", "label a=b", "sense TC1_current off"),
    *(
        "limp Femur-Tibia",
        "mode Femur-Tibia muscle",
        "pose save here",
        "pose list",
        "keep now",
        "set motor_speed=3",
        "kept",
        "recall now",
    ),
    *("bouts", "scripts", "stop", "release"),
)
"""Commands below `nuc ctl` that end by themselves, in an order in which each is allowed."""

_NUC = ("-c", "from nuc_engine.cli import main; main()")
_BARE = {"a bare interpreter": "pass", "numpy": "import numpy", "click": "import click", "ZeroMQ": "import zmq"}


class Wait(NamedTuple):
    """One command, how long it may take, and which words a shell wants completed (Tab) in place of running it."""

    words: str
    most_s: float | None = None
    tab: bool = False

    @property
    def name(self) -> str:
        return f"`nuc {self.words}` Tab" if self.tab else f"`nuc {self.words}`"


class Took(NamedTuple):
    """Seconds of one process: on the wall, and of a processor, with those of the processes it began."""

    wall_s: float
    busy_s: float


ALONE = (
    Wait("", TAB_S, tab=True),
    Wait("sh", TAB_S, tab=True),
    Wait("show lin", TAB_S, tab=True),
    Wait("run lin_roach --sc", TAB_S, tab=True),
    Wait("ctl se", TAB_S, tab=True),
    Wait("--version"),
    Wait("validate lin_roach", 0.3),
    Wait("show lin_roach", 0.3),
    Wait("run lin_roach --duration 1 --scratch OUT/new", 0.5),
    Wait("stats OUT/bout"),
    Wait("plot OUT/bout --out OUT/figures", 2.2),
    Wait(f"movie OUT/bout --begin 0 --end {FILM_S} --speed 1 --views side --out OUT/film.mp4", FILM_S / 2),
)
"""Commands that need no daemon. OUT is a folder, with a bout of experiment A in it."""


def main() -> None:
    """Measure all that is asked for and write the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--before", type=Path, help="another checkout, whose commands are timed in turn")
    parser.add_argument("--only", nargs="*", default=[""], help="commands that begin like this, such as ctl")
    parser.add_argument("--out", type=Path, default=Path(__file__).with_name("WAITS.md"))
    arguments = parser.parse_args()
    homes = [ROOT] if arguments.before is None else [arguments.before.resolve(), ROOT]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        bout = ("run", "lin_roach", "--script", "experiment_a", "--duration", "60", "--scratch", str(folder / "bout"))
        _run(_nuc(bout), ROOT, {})
        lines = [
            *_heading(arguments.rounds, homes),
            *_bare(arguments.rounds),
            *_section("Alone", ALONE, homes, arguments, folder),
            *_with_daemon(homes, arguments, folder),
        ]
    arguments.out.write_text("\n".join(lines) + "\n")
    sys.stdout.write("\n".join(lines) + "\n")


def _heading(rounds: int, homes: Sequence[Path]) -> list[str]:
    pair = "; *before* is another checkout, in turn with this one" if len(homes) > 1 else ""
    return [
        "# What one waits for",
        "",
        f"Made by `python -m benchmarks.waits --rounds {rounds}`; Python {platform.python_version()}, "
        f"{platform.machine()}, {os.cpu_count()} cores, load average {os.getloadavg()[0]:.1f}. Milliseconds from the "
        f"start of a process to its end, medians; *wall* on the clock, *CPU* of a processor, with those of its "
        f"children{pair}.",
        "",
    ]


def _bare(rounds: int) -> list[str]:
    rows = []
    for name, code in _BARE.items():
        took = [_run(("-c", code), ROOT, {}) for _ in range(rounds)]
        rows.append([name, *_medians(took)])
    return ["## Beside: what an interpreter needs to start and load", "", *table(["", "wall", "CPU"], rows)]


def _with_daemon(homes: Sequence[Path], arguments: argparse.Namespace, folder: Path) -> list[str]:
    waits = [
        Wait("ctl set TC1", TAB_S, tab=True),
        *(Wait(f"ctl {words}", CTL_S) for words in CTL),
        Wait("ctl off", 0.2),
    ]
    if not any(wait.words.startswith(tuple(arguments.only)) for wait in waits):
        return []
    with Leg(folder, BAUD) as leg, Served(folder, leg) as served:
        served.await_client()
        os.environ["XDG_RUNTIME_DIR"] = str(folder)
        return _section("Beside a daemon with an emulated leg", waits, homes, arguments, folder)


def _section(
    title: str, waits: Iterable[Wait], homes: Sequence[Path], arguments: argparse.Namespace, folder: Path
) -> list[str]:
    waits = [wait for wait in waits if wait.words.startswith(tuple(arguments.only))]
    took: dict[tuple[Wait, Path], list[Took]] = {(wait, home): [] for wait in waits for home in homes}
    for _ in range(arguments.rounds):
        for wait in waits:
            for home in homes:
                took[wait, home].append(_once(wait, home, folder))
    rows = []
    for wait in waits:
        found = [took[wait, home] for home in homes]
        goal, kept = "", ""
        if wait.most_s is not None:
            goal = f"{1000 * wait.most_s:.0f}"
            kept = verdict(statistics.median(one.wall_s for one in found[-1]) <= wait.most_s)
        rows.append([wait.name.replace("OUT/", ""), *(cell for each in found for cell in _medians(each)), goal, kept])
    head = ["wall", "CPU"] if len(homes) == 1 else ["wall before", "CPU before", "wall", "CPU"]
    return [f"## {title}", "", *table(["", *head, "wall at most", ""], rows)]


def _medians(took: Sequence[Took]) -> list[str]:
    numbers: list[Callable[[Took], float]] = [lambda one: one.wall_s, lambda one: one.busy_s]
    return [f"{1000 * statistics.median(map(of, took)):.0f}" for of in numbers]


def _once(wait: Wait, home: Path, folder: Path) -> Took:
    if wait.tab:
        words = f"nuc {wait.words}"
        return _run(_NUC, home, {"_NUC_COMPLETE": "bash_complete", "COMP_WORDS": words, "COMP_CWORD": _which(words)})
    subprocess.run(["rm", "-rf", folder / "new", folder / "figures", folder / "film.mp4"], check=True)
    return _run(_nuc(wait.words.replace("OUT", str(folder)).split()), home, {})


def _which(words: str) -> str:
    return str(len(words.split(" ")) - 1)


def _nuc(words: Sequence[str]) -> tuple[str, ...]:
    return (*_NUC, *words)


def _run(words: Sequence[str], home: Path, environment: Mapping[str, str]) -> Took:
    begun = time.perf_counter()
    process = subprocess.Popen(
        [sys.executable, *words],
        cwd=home,  # where `-c` looks for modules first
        env={**os.environ, "PYTHONPATH": str(home), **environment},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
    )
    said = process.stderr.read() if process.stderr else b""
    _, status, usage = os.wait4(process.pid, 0)
    wall_s = time.perf_counter() - begun
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(f"{' '.join(words[2:])}: {said.decode(errors='replace')}")
    return Took(wall_s, usage.ru_utime + usage.ru_stime)


if __name__ == "__main__":
    main()
