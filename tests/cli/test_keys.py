from __future__ import annotations

import json
from pathlib import Path

import pytest

from nuc_engine.cli.keys import ROLES
from nuc_engine.messages.keys import AllowedClient, Role, load_allowed, load_public, load_secret
from tests.cli.conftest import Nuc


def test_the_way_from_two_machines_to_a_list(nuc: Nuc, tmp_path: Path) -> None:
    leg, mine = str(tmp_path / "etc"), str(tmp_path / "mine")
    assert nuc("keys", "server", "--folder", leg).exit_code == 0
    assert nuc("keys", "new", "bench", "--folder", mine).exit_code == 0
    load_secret(tmp_path / "etc" / "server.key_secret")
    result = nuc("keys", "allow", f"{mine}/bench.key", "--role", "operate", "--folder", leg)
    assert result.exit_code == 0
    public = load_public(tmp_path / "mine" / "bench.key")
    assert load_allowed(tmp_path / "etc" / "clients.toml") == {public: AllowedClient("bench", Role.OPERATE)}
    assert nuc("keys", "list", "--folder", leg).stdout.split() == ["bench", "operate", public.decode()]
    assert nuc("keys", "revoke", "bench", "--folder", leg).exit_code == 0
    assert nuc("keys", "list", "--folder", leg).stdout.startswith("nobody")


def test_json_says_the_same(nuc: Nuc, tmp_path: Path) -> None:
    made = json.loads(nuc("keys", "new", "bench", "--role", "watch", "--folder", "k", "--json").stdout)
    assert (made["ok"], made["role"]) == (True, "watch")
    public = load_public(Path(made["public"])).decode()
    listed = json.loads(nuc("keys", "list", "--folder", "k", "--json").stdout)
    assert listed["clients"] == [{"name": "bench", "role": "watch", "public_key": public}]
    gone = json.loads(nuc("keys", "revoke", "bench", "--folder", "k", "--json").stdout)
    assert gone["name"] == "bench"


def test_a_key_by_itself_needs_a_name(nuc: Nuc, tmp_path: Path) -> None:
    nuc("keys", "new", "bench", "--folder", "mine")
    public = load_public(tmp_path / "mine" / "bench.key").decode()
    words = ("keys", "allow", "--folder", "k", "--role", "admin")
    assert nuc(*words, "--", public).exit_code == 2
    assert nuc(*words, "--name", "chief", "--", public).exit_code == 0
    assert [*load_allowed(tmp_path / "k" / "clients.toml").values()] == [AllowedClient("chief", Role.ADMIN)]


@pytest.mark.parametrize(
    ("words", "status", "said"),
    [
        (("keys", "new", "server"), 2, "nuc keys server"),
        (("keys", "new", "../x", "--folder", "k"), 1, "expected up to 64 letters"),
        (("keys", "list", "--folder", "k"), 1, "No such file"),
        (("keys", "allow", "nothing", "--role", "watch", "--folder", "k"), 2, "is no file"),
        (("keys", "allow", "nothing", "--name", "x", "--role", "watch", "--folder", "k"), 1, "40 characters of Z85"),
        (("keys", "allow", "nothing", "--role", "root", "--folder", "k"), 2, "root"),
    ],
)
def test_what_is_wrong_is_said_in_one_line(nuc: Nuc, words: tuple[str, ...], status: int, said: str) -> None:
    result = nuc(*words)
    assert result.exit_code == status
    assert said in result.stderr
    assert len(result.stderr.splitlines()) == 1


def test_a_name_that_is_taken_makes_no_files(nuc: Nuc, tmp_path: Path) -> None:
    nuc("keys", "new", "bench", "--role", "watch", "--folder", "k")
    for name in ("bench.key", "bench.key_secret"):
        (tmp_path / "k" / name).unlink()
    assert nuc("keys", "new", "bench", "--role", "admin", "--folder", "k").exit_code == 1
    assert [path.name for path in (tmp_path / "k").iterdir()] == ["clients.toml"]


def test_the_roles_of_the_command_line_are_those_there_are() -> None:
    assert tuple(Role) == ROLES


@pytest.mark.parametrize("name", ["new", "server", "allow", "list", "revoke"])
def test_help_of_each_command_teaches(nuc: Nuc, name: str) -> None:
    text = nuc("keys", name, "--help").stdout
    assert f"nuc keys {name}" in text.partition("Examples:")[2]
    assert "Output:" in text
