"""`nuc ctl off` the short way, and what each command of `nuc ctl` may load before it does its work."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from nuc_engine.cli.ctl import command
from nuc_engine.cli.off import Wanted, read
from tests.client.fake_daemon import FakeDaemon, Leg, serving

pytestmark = pytest.mark.timeout(120)  # seconds: nothing is judged by it

ROOT = Path(__file__).resolve().parents[2]
RUN = """
import atexit, json, sys
told = sys.argv.pop(1)
atexit.register(lambda: open(told, "w").write(json.dumps(sorted(sys.modules))))
from nuc_engine.cli import main
main()
"""
DOCUMENT = '<?xml version="1.0"?><sccils_commandscript><Command commandtype="stop"/></sccils_commandscript>'
DONE = b'<?xml version="1.0"?><sccils_commandscript><CommandResponse status="success"/></sccils_commandscript>'

OF_OFF = {
    *("nuc_engine", "nuc_engine.cli", "nuc_engine.cli.leaving", "nuc_engine.cli.off", "nuc_engine.cli.person"),
    *("nuc_engine.client", "nuc_engine.client.address", "nuc_engine.client.errors", "nuc_engine.client.off"),
}
OF_ALL = {"nuc_engine", *(f"nuc_engine.{part}" for part in ("cli", "client", "decimals", "endings", "locations"))}
SLOW = {"asyncio", "importlib.metadata", "logging", "ssl", "tomllib", "xml"}
"""Parts of Python that cost a good part of a second on a small machine."""

CHANNEL = {"click", "msgpack", "zmq"}
LANGUAGE = {*CHANNEL, "sccils_schemas"}

LINES = {
    "status": CHANNEL,
    "tasks": CHANNEL,
    "events": CHANNEL,
    "subscribe nonsense": CHANNEL,
    "watch --plain --count 1": CHANNEL,
    "tune Coxa-Trochanter --plain": LANGUAGE,
    "configs": CHANNEL,
    "configure lin_roach": CHANNEL,
    "run": CHANNEL,
    "stop": CHANNEL,
    "arm": CHANNEL,
    "off": {"msgpack", "zmq"},
    "log": CHANNEL,
    "stoplog": CHANNEL,
    "mark slipped": CHANNEL,
    "note new": CHANNEL,
    "label a=b": CHANNEL,
    "get CTr_angle": CHANNEL,
    "set CTr_lev_TC1_load=1": CHANNEL,
    "undo": CHANNEL,
    "redo": CHANNEL,
    "script experiment_a": CHANNEL,
    "pending": CHANNEL,
    "forget all": CHANNEL,
    "mode Femur-Tibia limp": CHANNEL,
    "limp --all": CHANNEL,
    "tweak Femur-Tibia 0": CHANNEL,
    "pose save standing": CHANNEL,
    "pose go standing": CHANNEL,
    "pose park standing": CHANNEL,
    "pose list": CHANNEL,
    "save gentle": CHANNEL,
    "record start first": CHANNEL,
    "record stop": CHANNEL,
    "sccils document.xml": LANGUAGE,
    "clients": CHANNEL,
    "take": CHANNEL,
    "hand-over bob": CHANNEL,
    "release": CHANNEL,
    "shutdown --yes": CHANNEL,
}
"""Every command, and what it may load beside Python and the client."""


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A folder with a daemon's socket and a document."""
    folder = tmp_path_factory.mktemp("off")
    (folder / "document.xml").write_text(DOCUMENT)
    (folder / "scripts").symlink_to(ROOT / "scripts")
    daemon = FakeDaemon(Leg())
    daemon.sccils = [DONE]
    with serving(daemon, f"ipc://{folder}/command"):
        yield folder


def loaded(place: Path, *words: str) -> tuple[set[str], str]:
    """Return the modules that `nuc` has loaded when it ends, and what it printed."""
    done = subprocess.run(
        [sys.executable, "-c", RUN, "modules", *words], cwd=place, capture_output=True, text=True, check=False
    )
    assert "Traceback" not in done.stderr, done.stderr
    return set(json.loads((place / "modules").read_text())), done.stdout + done.stderr


def foreign(modules: set[str]) -> set[str]:
    tops = {name.partition(".")[0] for name in modules} - {"__main__", "nuc_engine"}
    return {name for name in tops - sys.stdlib_module_names if "cython" not in name and not name.startswith("_")}


def ours(modules: set[str]) -> set[str]:
    return {".".join(name.split(".")[:2]) for name in modules if name.partition(".")[0] == "nuc_engine"}


@pytest.mark.parametrize("line", LINES)
def test_a_command_loads_what_it_needs_and_no_more(place: Path, line: str) -> None:
    modules, said = loaded(place, "ctl", "-a", f"ipc://{place}/command", "--timeout", "30", *line.split())
    assert foreign(modules) == LINES[line], said
    assert ours(modules) <= OF_ALL
    if LINES[line] <= CHANNEL:
        assert modules.isdisjoint(SLOW)


def test_every_command_has_its_list() -> None:
    def leaves(group: click.Group, path: str) -> set[str]:
        found: set[str] = set()
        for name, item in group.commands.items():
            found |= leaves(item, f"{path}{name} ") if isinstance(item, click.Group) else {f"{path}{name}"}
        return found

    assert isinstance(command, click.Group)
    every = leaves(command, "")
    assert every == {next(name for name in every if f"{line} ".startswith(f"{name} ")) for line in LINES}
    assert len(every) == len(LINES)


def test_torque_off_loads_a_named_few_of_ours(place: Path) -> None:
    modules, said = loaded(place, "ctl", "-a", f"ipc://{place}/command", "off", "cable caught")
    assert said == "torque is off; nuc ctl arm takes it back\n"
    assert {name for name in modules if name.startswith("nuc_engine")} == OF_OFF


@pytest.mark.parametrize(
    ("words", "most"), [(["--version"], {"click"}), (["--help"], {"click"}), (["ctl", "--help"], {"click"})]
)
def test_what_is_told_without_a_daemon_loads_no_channel(place: Path, words: list[str], most: set[str]) -> None:
    modules, _ = loaded(place, *words)
    assert foreign(modules) <= most


def test_a_shell_completes_commands_without_loading_them(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for words, index, name in (("nuc ", 1, "validate"), ("nuc ctl ", 2, "hand-over"), ("nuc bus ", 2, "scan")):
        for variable, value in {"_NUC_COMPLETE": "zsh_complete", "COMP_WORDS": words, "COMP_CWORD": str(index)}.items():
            monkeypatch.setenv(variable, value)
        modules, said = loaded(place)
        assert name in said.splitlines()
        assert foreign(modules) == {"click"}
        assert ours(modules) <= OF_ALL


@pytest.mark.parametrize(
    ("words", "wanted"),
    [
        ("off", Wanted()),
        ("off caught", Wanted(why="caught")),
        ("-a ipc:///x off --json", Wanted(address="ipc:///x", as_json=True)),
        (
            "--name al --keys k --timeout 0.5 off --json why",
            Wanted("tcp://127.0.0.1:44106", "al", "k", 0.5, "why", True),
        ),
        ("-n off off", Wanted(name="off")),
    ],
)
def test_what_is_plainly_off_is_done_the_short_way(words: str, wanted: Wanted) -> None:
    assert read(words.split()) == wanted


@pytest.mark.parametrize(
    "words",
    ["", "-a off", "mark off", "off --help", "off a b", "-x off", "--timeout x off", "--timeout nan off", "off -a b"],
)
def test_everything_else_is_for_the_whole_command_line(words: str) -> None:
    assert read(words.split()) is None


def test_both_ways_say_the_same(place: Path) -> None:
    for words in (["off", "--json"], ["off"]):
        short = loaded(place, "ctl", "-a", f"ipc://{place}/command", "--timeout", "30", *words)
        whole = loaded(place, "ctl", f"--address=ipc://{place}/command", "--timeout", "30", *words)
        assert short[1] == whole[1]
        assert "click" not in short[0]
        assert "click" in whole[0]


def test_a_wrong_word_is_explained_as_for_every_command(place: Path) -> None:
    _, said = loaded(place, "ctl", "off", "--nope")
    assert said.startswith("nuc ctl off: No such option")
