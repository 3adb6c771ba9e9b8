"""What a command may load: who types it waits for that. `nuc ctl` is in test_off, `nuc bus` in test_bus."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.loading import SLOW, foreign, loaded

LANGUAGE = {"click", "drivers", "lxml", "sccils_schemas"}
TABLES = LANGUAGE | {"numpy"}
BOUT = TABLES | {"msgpack"}
PICTURES = {
    "PIL",
    "cycler",
    "dateutil",
    "fontTools",
    "kiwisolver",
    "matplotlib",
    "mpl_toolkits",
    "packaging",
    "pyparsing",
}

LINES = {
    "--version": {"click", "drivers"},
    "completion bash": {"click"},
    "show lin_roach": LANGUAGE,
    "show lin_roach --script experiment_a": LANGUAGE,
    "show lin_roach --angles 20,2.3,90,90": TABLES,
    "validate lin_roach experiment_a": LANGUAGE,
    "validate flight_hover": BOUT - {"lxml"},
    "run lin_roach --duration 0.1 --bus loopback: --scratch still": BOUT,
    "run lin_roach --duration 0.1 --scratch moving": BOUT | {"mujoco"},
    "ls bout": {"click", "numpy", "sccils_schemas"},
    "stats bout": TABLES,
    "compare bout bout": BOUT,
    "diff bout bout": BOUT,
    "recover bout": BOUT - {"lxml", "numpy"},
    "export bout --csv": TABLES,
    "plot bout --what motors": TABLES | PICTURES,
    "replay bout": BOUT | {"mujoco"},
    "verify bout": {"click", "msgpack", "numpy"},
}
"""Commands, and what they load beside Python and this project."""


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a bout in it."""
    folder = tmp_path_factory.mktemp("loaded")
    loaded(folder, "run", "lin_roach", "--duration", "1", "--scratch", "bout")
    return folder


@pytest.mark.parametrize("line", LINES)
def test_a_command_loads_what_it_needs_and_no_more(place: Path, line: str) -> None:
    modules, said = loaded(place, *line.split())
    assert foreign(modules) == LINES[line], said
    if LINES[line] <= LANGUAGE - {"drivers"} or line.startswith(("show", "validate lin")):
        assert modules.isdisjoint(SLOW - {"tomllib", "xml"})
