"""`nuc ctl off` the short way, and what each command of `nuc ctl` may load before it does its work."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import click
import pytest

from nuc_engine.cli.ctl import command
from nuc_engine.cli.off import Wanted, hurry, read
from nuc_engine.client import offpath
from tests.cli.loading import SLOW, foreign, loaded
from tests.client.fake_daemon import FakeDaemon, Leg, serving

pytestmark = pytest.mark.timeout(120)  # seconds: nothing is judged by it

ROOT = Path(__file__).resolve().parents[2]
DOCUMENT = '<?xml version="1.0"?><sccils_commandscript><Command commandtype="stop"/></sccils_commandscript>'
DONE = b'<?xml version="1.0"?><sccils_commandscript><CommandResponse status="success"/></sccils_commandscript>'

OF_OFF = {
    *(
        "nuc_engine",
        "nuc_engine.cli",
        "nuc_engine.cli.terminal",
        "nuc_engine.cli.terminal.leaving",
        "nuc_engine.cli.off",
        "nuc_engine.cli.terminal.person",
    ),
    *("nuc_engine.client", "nuc_engine.client.offpath", "nuc_engine.messages", "nuc_engine.messages.errors"),
    *("nuc_engine.machine", "nuc_engine.machine.rundir"),
}
ELSEWHERE = {"nuc_engine.client.off"}
OF_CLIENTS = {f"nuc_engine.{part}" for part in ("cli", "client", "messages")}
OF_ALL = {
    "nuc_engine",
    *(f"nuc_engine.machine{part}" for part in ("", ".locations", ".rundir")),
    *(f"nuc_engine.model{part}" for part in ("", ".comparisons", ".decimals")),
    *(f"nuc_engine.recording{part}" for part in ("", ".formats")),
}
CHANNEL = {"click", "msgspec", "zmq"}
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
    "history": CHANNEL,
    "script experiment_a": CHANNEL,
    "pending": CHANNEL,
    "forget all": CHANNEL,
    "mode Femur-Tibia limp": CHANNEL,
    "limp --all": CHANNEL,
    "tweak Femur-Tibia 0": CHANNEL,
    "sense TC1_current off": CHANNEL,
    "pose save standing": CHANNEL,
    "pose go standing": CHANNEL,
    "pose park standing": CHANNEL,
    "pose list": CHANNEL,
    "save gentle": CHANNEL,
    "store document.xml": CHANNEL,
    "bouts": CHANNEL,
    "fetch first": CHANNEL,
    "scripts": CHANNEL,
    "validate document.xml": CHANNEL,
    "rules": CHANNEL,
    "keep A": CHANNEL,
    "kept": CHANNEL,
    "recall A": CHANNEL,
    "record start first": CHANNEL,
    "record stop": CHANNEL,
    "sccils document.xml --wait 0.1": {*LANGUAGE, "lxml"},
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


def ours(modules: set[str]) -> set[str]:
    """Return what is loaded of us beside the command line, the client and the messages."""
    mine = {name for name in modules if name.partition(".")[0] == "nuc_engine"}
    return {name for name in mine if ".".join(name.split(".")[:2]) not in OF_CLIENTS}


@pytest.mark.parametrize("line", LINES)
def test_a_command_loads_what_it_needs_and_no_more(place: Path, line: str) -> None:
    # Nobody here answers a document.
    patience_s = "1" if line.startswith("sccils") else "30"
    modules, said = loaded(place, "ctl", "-a", f"ipc://{place}/command", "--timeout", patience_s, *line.split())
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
    assert {name for name in modules if name.startswith("nuc_engine")} == OF_OFF | ELSEWHERE


LIMP = {"torque": False, "confirmed_ns": {"hip": 12_000_000, "knee": 23_400_000}, "unconfirmed": [], "latched": True}


@contextmanager
def desks(root: Path, *answers: dict[str, object] | None) -> Iterator[list[bytes]]:
    """Have daemons' sockets for torque off below `root`, each of which answers so, or never; yield what they heard."""
    received: list[bytes] = []
    with ExitStack() as stack:
        for number, answer in enumerate(answers):
            folder = root / "nuc" / f"leg{number}"
            folder.mkdir(parents=True)
            end = stack.enter_context(socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM))
            end.bind(str(folder / "off"))
            thread = threading.Thread(target=_answer, args=(end, answer, received))
            thread.start()
            stack.callback(thread.join)
            stack.callback(_tell_to_end, folder / "off")
        yield received


def _answer(end: socket.socket, answer: dict[str, object] | None, received: list[bytes]) -> None:
    while (datagram := end.recvfrom(4096))[0] != b"END":
        received.append(datagram[0])
        if answer is not None:
            end.sendto(json.dumps(answer).encode(), datagram[1])


def _tell_to_end(path: Path) -> None:
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as end:
        end.sendto(b"END", str(path))


def test_on_this_machine_it_loads_sockets_and_json_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    with desks(tmp_path, LIMP) as received:
        modules, said = loaded(tmp_path, "ctl", "off", "cable caught")
        beside, _ = loaded(tmp_path, "ctl", "-a", f"ipc://{tmp_path}/nuc/leg0/command", "off")
    assert said == "torque is off (2 servos have confirmed, within 23 ms); nuc ctl arm takes it back\n"
    assert {name for name in modules if name.startswith("nuc_engine")} == OF_OFF
    assert foreign(modules) == foreign(beside) == set()
    assert modules.isdisjoint(SLOW)
    assert received[0].startswith(b"cable caught (")


def test_without_an_address_it_goes_to_every_daemon_and_says_of_each(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    bad = {**LIMP, "torque": True, "unconfirmed": ["knee"]}
    with desks(tmp_path, LIMP, bad, None) as received:
        answers = offpath.take_torque_off_in(sorted((tmp_path / "nuc").iterdir()), "why", 0.7)
        assert len(received) == 5, "who does not answer is asked again"
    assert [*answers.values()] == [LIMP, bad, "no answer: it may or may not have taken effect"]


@pytest.mark.parametrize(("answer", "status"), [(LIMP, 0), ({**LIMP, "torque": True, "unconfirmed": ["knee"]}, 1)])
@pytest.mark.parametrize("how", [[], ["--json"]])
def test_its_status_says_whether_every_servo_has_confirmed(tmp_path, monkeypatch, capsys, answer, status, how) -> None:
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    with desks(tmp_path, answer, LIMP):
        assert hurry(["off", *how]) == status
    told = capsys.readouterr()
    assert ("knee" in told.err) == bool(status)
    if how:
        assert json.loads(told.out)["daemons"][f"{tmp_path}/nuc/leg0"] == answer
        assert json.loads(told.out)["ok"] is not bool(status)


def test_where_no_daemon_lives_it_is_said_that_nothing_was_asked_for(tmp_path, monkeypatch, capsys) -> None:
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    monkeypatch.setattr("nuc_engine.machine.rundir.found", lambda environment: [*(tmp_path / "nuc").glob("*")])
    assert hurry(["off"]) == 1
    assert "NOT asked for" in capsys.readouterr().err
    with desks(tmp_path):
        (tmp_path / "nuc" / "dead").mkdir(parents=True)
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as end:
            end.bind(str(tmp_path / "nuc" / "dead" / "off"))
        assert hurry(["off"]) == 1
    assert "no daemon is there any more; cut the power" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "most"), [(["--version"], {"click", "drivers"}), (["--help"], {"click"}), (["ctl", "--help"], {"click"})]
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


def test_a_shell_completes_names_without_a_daemon_from_the_documents_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    for variable, value in {
        "_NUC_COMPLETE": "zsh_complete",
        "COMP_WORDS": "nuc ctl get TC1_a",
        "COMP_CWORD": "3",
    }.items():
        monkeypatch.setenv(variable, value)
    modules, said = loaded(tmp_path)
    assert "TC1_angle" in said.splitlines()
    assert not foreign(modules) & {"lxml", "numpy"}
    assert not [name for name in modules if name.startswith(("nuc_engine.bout", "nuc_engine.configurations"))]


@pytest.mark.parametrize(
    ("words", "wanted"),
    [
        ("off", Wanted()),
        ("-a tcp://[::1]:1 off", Wanted("tcp://[::1]:1")),
        ("off caught", Wanted(why="caught")),
        ("-a ipc:///x off --json", Wanted(address="ipc:///x", as_json=True)),
        (
            "--name al --keys k --timeout 0.5 off --json why",
            Wanted("", "al", "k", 0.5, "why", True),
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
