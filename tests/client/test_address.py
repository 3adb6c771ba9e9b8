"""Which daemon is meant when nobody says so."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from nuc_engine.client import Client, ClientError, NotAnswered
from nuc_engine.client.address import find_address, find_addresses
from nuc_engine.machine import rundir
from nuc_engine.machine.rundir import COMMAND, OFF, TELEMETRY


class Folders:
    """Folders of sockets under $XDG_RUNTIME_DIR. What is `gone` has its file still, but nobody listens."""

    def __init__(self, root: Path, ends: ExitStack) -> None:
        self.root, self._ends = root, ends

    def add(self, name: str, *names: str, gone: bool = False) -> str:
        folder = self.root / "nuc" / name
        folder.mkdir(parents=True)
        for each in names:
            made = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM if each == OFF else socket.SOCK_STREAM)
            self._ends.enter_context(made)
            made.bind(str(folder / each))
            if each != OFF:
                made.listen()
            if gone:
                made.close()
        return f"ipc://{folder}/{COMMAND}"


@pytest.fixture
def folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Folders]:
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    found = rundir.found
    monkeypatch.setattr(
        "nuc_engine.client.address.found", lambda given: found(given, system=tmp_path / "no", temporary=tmp_path)
    )
    with ExitStack() as ends:
        yield Folders(tmp_path, ends)


def test_the_one_that_lives_is_meant(folders: Folders) -> None:
    folders.add("dead", COMMAND, OFF, gone=True)
    folders.add("ears", TELEMETRY)
    here = folders.add("leg", OFF, COMMAND)
    assert find_address() == here


def test_one_whose_service_is_being_restarted_lives(folders: Folders) -> None:
    here = folders.add("leg", OFF)
    assert find_addresses() == [here]


def test_of_several_none_is_chosen_and_all_are_named(folders: Folders) -> None:
    two = [folders.add("a", COMMAND), folders.add("b", OFF)]
    assert find_addresses() == two
    with pytest.raises(ClientError, match="--address") as told:
        Client(name="x")
    assert all(address in str(told.value) for address in two)


def test_where_nobody_is_it_says_how_to_start_one(folders: Folders) -> None:
    folders.add("dead", COMMAND, gone=True)
    with pytest.raises(NotAnswered, match="nuc serve"):
        Client(name="x")


def test_one_that_may_not_be_spoken_to_is_named(folders: Folders, monkeypatch: pytest.MonkeyPatch) -> None:
    def locked(folder: Path) -> bool:
        raise PermissionError(folder)

    here = folders.add("leg", COMMAND)
    monkeypatch.setattr("nuc_engine.client.address.lives", locked)
    with pytest.raises(NotAnswered, match="group") as told:
        find_address()
    assert here in str(told.value)
