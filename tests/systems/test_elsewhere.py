"""Systems without POSIX: what needs no Linux works there, and what needs it says so in one line.

A stand-in for Windows hides what that lacks (`without_posix`); the type checker looks for names that are missing there
(`make types`). Nothing here was run on Windows itself.
"""

from __future__ import annotations

import ast
import json
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from nuc_engine.cli.app import COMMANDS
from nuc_engine.cli.bus import COMMANDS as BUS
from tests.client.fake_daemon import FakeDaemon, Leg, serving
from tests.systems.session import ROOT, WITHOUT_POSIX, environment, session

PACKAGES = ("sccils_schemas", "drivers", "nuc_engine")
NEEDS_LINUX = json.loads((ROOT / "pyright.elsewhere.json").read_text(encoding="utf-8"))["ignore"]
"""Files and folders that nobody else can use; all others must import everywhere."""

_IMPORT_ALL = """
import importlib, pkgutil
for root in {packages}:
    package = importlib.import_module(root)
    for found in pkgutil.walk_packages(package.__path__, root + "."):
        try:
            if not found.name.endswith("__main__"):
                importlib.import_module(found.name)
        except (ImportError, AttributeError) as error:
            print(found.name, error, sep=": ")
"""


def needs_linux(module: str) -> bool:
    place = f"{module.replace('.', '/')}.py"
    return any(place == listed or place.startswith(f"{listed}/") for listed in NEEDS_LINUX)


def test_every_module_that_is_not_listed_as_needing_linux_imports_without_posix() -> None:
    code = _IMPORT_ALL.format(packages=PACKAGES)
    done = subprocess.run(
        [sys.executable, "-c", code], env=environment(WITHOUT_POSIX), capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    failed = done.stdout.splitlines()
    assert [line for line in failed if not needs_linux(line.partition(":")[0])] == []
    # The stand-in does hide something.
    assert any(line.startswith("drivers.serial.port: No module named") for line in failed)


def test_what_is_listed_as_needing_linux_is_there_and_none_of_it_is_for_clients() -> None:
    assert all((ROOT / listed).exists() for listed in NEEDS_LINUX)
    clients = ("client", "bulk", "analysis", "diagrams", "experiments", "recording", "plants", "tasks", "bout.py")
    assert not [listed for listed in NEEDS_LINUX if listed.removeprefix("nuc_engine/").startswith(clients)]


def text_without(node: ast.Call) -> list[str]:
    """Return which of encoding and newline a call that opens a text file leaves to the system."""
    name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
    given = {keyword.arg for keyword in node.keywords}
    position = 0 if isinstance(node.func, ast.Attribute) else 1
    mode = next((k.value for k in node.keywords if k.arg == "mode"), dict(enumerate(node.args)).get(position))
    if name == "open" and (mode is None or isinstance(mode, ast.Constant)):
        word = "r" if mode is None else mode.value
        wanted = set() if "b" in word else {"encoding"} if word == "r" else {"encoding", "newline"}
        of_a_file = bool(node.args or node.keywords) and not (mode is None and isinstance(node.func, ast.Attribute))
        return sorted(wanted - given) if of_a_file else []
    return sorted({"read_text": {"encoding"}, "write_text": {"encoding", "newline"}}.get(name, set()) - given)


def calls() -> Iterator[tuple[str, ast.Call]]:
    for package in PACKAGES:
        for path in sorted((ROOT / package).rglob("*.py")):
            place = str(path.relative_to(ROOT))
            if not needs_linux(place.removesuffix(".py").replace("/", ".")):
                for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
                    if isinstance(node, ast.Call):
                        yield place, node


def test_every_text_file_has_its_encoding_and_what_is_written_its_line_ends() -> None:
    # of click and importlib: no files of ours
    others = ("formatter.write_text", "distribution(DISTRIBUTION).read_text")
    found = [(place, call) for place, call in calls() if not ast.unparse(call.func).endswith(others)]
    assert [f"{place}:{call.lineno}: {text_without(call)}" for place, call in found if text_without(call)] == []


@pytest.mark.parametrize(
    ("call", "lacks"),
    [
        ('open(p, "w")', ["encoding", "newline"]),
        ('p.open("a", encoding="utf-8")', ["newline"]),
        ("open(p)", ["encoding"]),
        ("p.read_text()", ["encoding"]),
        ('p.open("r+b")', []),
        ('open(p, "x", encoding="utf-8", newline="\\n")', []),
        ("port.open()", []),
    ],
)
def test_the_look_at_text_files_sees_what_is_left_to_the_system(call: str, lacks: list[str]) -> None:
    node = ast.parse(call, mode="eval").body
    assert isinstance(node, ast.Call)
    assert text_without(node) == lacks


WITH_A_BOUT = """
run lin_roach --duration 6 --out a --script experiment_a
run null_roach --duration 1 --bus loopback: --out b
replay a
replay a --recorded
verify a
stats a
plot a --what path --out figures
compare a b
ls .
show lin_roach
validate lin_roach experiment_a
diff lin_roach lin_roach
diagram lin_roach -w event-space
export a --csv
export a --parquet
export a --mcap
recover a
movie a --begin 4 --end 4.4 --fps 5 --speed 1 --views side --out leg.gif
"""

WITH_NONE = """
sweep lin_roach --vary FT_flux_FTang=50,70 -d 4 --settle 1 --out sweep.csv -j 1
tune lin_roach --vary FT_flux_FTang=50:70 -d 4 --settle 1 -c FWD -n 1 --seeds 1 --fresh 2 --out t.xml -j 1
dataset flight_hover -d 1 --seeds 0:2 -o flights.parquet -j 1
budget flight_hover --ticks 10 --rate 1
experiment list
keys new ann --folder keys
demo --seconds 0.1
completion bash
bus scan emulated: --ids 1,2
bus budget lin_roach emulated:
bus adapt lin_roach XL430-W250 --out my
ctl --address {daemon} --name ann status
ctl --address {daemon} --name ann set FT_flux_FTang=61
ctl --address {daemon} --name ann watch --count 1
ctl --address {daemon} --name ann tune Femur-Tibia
"""

WORK = WITH_A_BOUT.strip() + WITH_NONE

NO_WORK = """
serve lin_roach
ui --emulated lin_roach
episode serve
emulate lin_roach --pty leg
doctor
experiment A --bus emulated:
experiment A --address tcp://127.0.0.1:44106
bus scan aimotor:///dev/ttyUSB0
bus release aimotor:///dev/ttyUSB0
bus move dynamixel:///dev/ttyUSB0 --ids 1 --to 90deg
bus ping aimotor:///dev/ttyUSB0
bus latency aimotor:///dev/ttyUSB0
bus monitor aimotor:///dev/ttyUSB0 --ids 1
bus force aimotor:///dev/ttyUSB0 --id 1 --torque 0.1
bus characterise aimotor:///dev/ttyUSB0 --id 1 --model 1001
bus set feetech:///dev/ttyACM0 3
bus set-id dynamixel:///dev/ttyUSB0 --id 1 --to 12 --yes
bus set-baud dynamixel:///dev/ttyUSB0 --id 1 --to 1000000 --yes
"""


def of(text: str) -> list[list[str]]:
    return [line.split() for line in text.strip().splitlines()]


def test_a_bout_and_what_is_done_with_it_work_without_posix_and_leave_the_same_bytes(tmp_path: Path) -> None:
    folder, here = tmp_path / "elsewhere", tmp_path / "here"
    folder.mkdir()
    here.mkdir()
    commands = of(WITH_A_BOUT)
    answers = session(folder, commands, environment(WITHOUT_POSIX))
    assert [(words, answer) for words, answer in zip(commands, answers, strict=True) if answer.status != 0] == []
    assert session(here, commands[:1], environment())[0].status == 0
    files = [json.loads((place / "a" / "manifest.json").read_bytes())["files"] for place in (folder, here)]
    assert files[0] == files[1]


def test_whatever_else_needs_no_linux_works_without_posix(tmp_path: Path) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        address = f"tcp://127.0.0.1:{free.getsockname()[1]}"
    commands = of(WITH_NONE.format(daemon=address))
    with serving(FakeDaemon(Leg()), address):
        answers = session(tmp_path, commands, environment(WITHOUT_POSIX))
    assert [(words, answer) for words, answer in zip(commands, answers, strict=True) if answer.status != 0] == []
    assert sorted(path.name for path in tmp_path.glob("sweep*")) == ["sweep.csv", "sweep.csv.json"]
    assert (tmp_path / "sweep.csv").read_bytes().count(b"\n") == 3


def test_a_client_has_keys_where_files_have_no_modes(tmp_path: Path) -> None:
    made = session(tmp_path, of("keys server --folder k\nkeys new ann --folder k"), environment(WITHOUT_POSIX))
    assert [answer.status for answer in made] == [0, 0]
    code = "from pathlib import Path; from nuc_engine.client import load_keys; load_keys(Path('k'), 'ann')"
    subprocess.run([sys.executable, "-c", code], cwd=tmp_path, env=environment(WITHOUT_POSIX), check=True)


_LOCKS = """
from pathlib import Path
from nuc_engine.recording.lock import FolderLock, FolderLocked
folder = Path("f")
folder.mkdir()
with FolderLock(folder):
    assert list(folder.iterdir()) == []
    try:
        FolderLock(folder)
    except FolderLocked:
        print("locked")
FolderLock(folder).release()
"""


def test_a_folder_is_locked_by_a_file_beside_it_where_folders_can_not_be_opened(tmp_path: Path) -> None:
    words = [sys.executable, "-c", _LOCKS]
    done = subprocess.run(words, cwd=tmp_path, env=environment(WITHOUT_POSIX), capture_output=True, check=True)
    assert done.stdout.strip() == b"locked"
    assert [path.name for path in tmp_path.iterdir()] == ["f"]


def test_what_needs_linux_says_so_in_one_line_and_touches_nothing(tmp_path: Path) -> None:
    for words, answer in zip(of(NO_WORK), session(tmp_path, of(NO_WORK), environment(WITHOUT_POSIX)), strict=True):
        assert answer.status == 1, (words, answer)
        assert len(answer.err.splitlines()) == 1, (words, answer)
        assert "needs Linux" in answer.err, (words, answer)
    assert list(tmp_path.iterdir()) == []


def test_every_command_has_help_and_is_one_of_those_that_work_or_say_what_they_need(tmp_path: Path) -> None:
    helps = [[name, "--help"] for name in COMMANDS]
    for words, answer in zip(helps, session(tmp_path, helps, environment(WITHOUT_POSIX)), strict=True):
        assert (answer.status, answer.err) == (0, ""), words
    tried = {words[0] for words in of(WORK) + of(NO_WORK)}
    assert set(COMMANDS) - tried == {
        "minimise",
        "surrogate",
    }  # a minute of bouts, on the same workers as sweep; NumPy alone
    assert {words[1] for words in of(WORK) + of(NO_WORK) if words[0] == "bus"} == set(BUS)


def test_who_finds_no_daemon_is_not_told_to_start_one_where_none_can_run(tmp_path: Path) -> None:
    lines = of("ctl status\nctl --address tcp://127.0.0.1:9 --timeout 0.05 status\nctl off")
    for words, answer in zip(lines, session(tmp_path, lines, environment(WITHOUT_POSIX)), strict=True):
        assert (answer.status, answer.out, len(answer.err.splitlines())) == (1, "", 1), words
        assert "--address" in answer.err, words
        assert "nuc serve" not in answer.err, words
