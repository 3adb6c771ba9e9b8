"""Folders of sockets: one per daemon, taken over from the dead, never somebody else's."""

import os
import socket
from pathlib import Path

import pytest

from nuc_engine.machine.rundir import COMMAND, OFF, RunDirError, found, socket_path, take


def _listen(path: Path) -> None:
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as made:
        made.bind(str(path))


def test_each_daemon_has_its_own_and_all_are_found(tmp_path: Path) -> None:
    environment = {"XDG_RUNTIME_DIR": str(tmp_path)}
    one, two = take("leg", environment), take("leg", environment)
    assert [one.path.name, two.path.name] == ["leg", "leg-2"]
    assert one.path.parent == tmp_path / "nuc"
    _listen(one.path / COMMAND)
    _listen(two.path / OFF)
    (tmp_path / "nuc" / "empty").mkdir()
    assert found(environment, system=tmp_path / "none", temporary=tmp_path) == [one.path, two.path]
    one.remove()
    assert found(environment, system=tmp_path / "none", temporary=tmp_path) == [two.path]
    two.remove()


def test_what_a_dead_one_left_is_taken_over(tmp_path: Path) -> None:
    environment = {"XDG_RUNTIME_DIR": str(tmp_path)}
    dead = take("leg", environment)
    _listen(dead.path / COMMAND)
    os.close(dead.fd)
    again = take("leg", environment)
    assert again.path == dead.path
    assert not list(again.path.iterdir())
    again.remove()


def test_systemd_names_the_folder_itself_and_keeps_what_else_is_in_it(tmp_path: Path) -> None:
    environment = {"RUNTIME_DIRECTORY": f"{tmp_path / 'roach'}:{tmp_path / 'other'}", "XDG_RUNTIME_DIR": "/nowhere"}
    own = take("leg", environment)
    assert own.path == tmp_path / "roach"
    with pytest.raises(RunDirError, match="another daemon"):
        take("leg", environment)
    (own.path / "notes").touch()
    own.remove()
    assert (own.path / "notes").exists()


def test_the_order_of_places(tmp_path: Path) -> None:
    system, temporary = tmp_path / "run" / "nuc", tmp_path / "tmp"
    system.parent.mkdir()
    temporary.mkdir()
    for folder in (tmp_path / "user" / "nuc" / "b", system / "a", temporary / f"nuc-{os.getuid()}" / "c"):
        folder.mkdir(parents=True)
        _listen(folder / OFF)
    (temporary / f"nuc-{os.getuid()}").chmod(0o700)
    names = [
        folder.name for folder in found({"XDG_RUNTIME_DIR": str(tmp_path / "user")}, system=system, temporary=temporary)
    ]
    assert names == ["b", "a", "c"]
    assert take("d", {}, system=system, temporary=temporary).path == system / "d"


@pytest.mark.parametrize("made", ["open to all", "a link"])
def test_a_folder_that_anybody_may_have_made_is_not_used(tmp_path: Path, made: str) -> None:
    ours = tmp_path / f"nuc-{os.getuid()}"
    if made == "a link":
        (tmp_path / "elsewhere").mkdir(mode=0o700)
        ours.symlink_to(tmp_path / "elsewhere")
    else:
        ours.mkdir()
        ours.chmod(0o777)
    (ours / "leg").mkdir()
    _listen(ours / "leg" / OFF)
    # A folder that cannot exist, even for root: its parent is a file.
    (tmp_path / "file").touch()
    assert found({}, system=tmp_path / "file" / "nuc", temporary=tmp_path) == []


def test_paths_too_long_for_a_socket_are_refused(tmp_path: Path) -> None:
    with pytest.raises(RunDirError, match="107 bytes"):
        take("leg" * 40, {"XDG_RUNTIME_DIR": str(tmp_path)})
    folder = Path("/" + "x" * 100)
    assert len(str(socket_path(folder, OFF))) == 105
    with pytest.raises(RunDirError, match="XDG_RUNTIME_DIR"):
        socket_path(folder, COMMAND)


def test_what_cannot_be_made_says_so(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(RunDirError, match="Not a directory; set XDG_RUNTIME_DIR"):
        take("leg", {"XDG_RUNTIME_DIR": str(tmp_path / "file")})
