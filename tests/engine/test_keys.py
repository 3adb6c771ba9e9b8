from __future__ import annotations

import os
import re
from pathlib import Path

import pytest
import zmq
from hypothesis import given, settings
from hypothesis import strategies as st
from zmq.auth import load_certificate
from zmq.utils import z85

from nuc_engine.messages.keys import (
    ALLOWED,
    AllowedClient,
    KeyFileError,
    Role,
    allow,
    check_key,
    load_allowed,
    load_public,
    load_secret,
    make_pair,
    revoke,
)

# Public keys whose secret halves nobody has.
KEY = b"U5A&:PUPS<qyCG>@pfP!V@oH7vaL(gk@FhvV{&}@"
OTHER = b"@S[>ei6Z=[(mOjHHX$QYeGEbOUQOh(6}6VgstsN}"


@pytest.fixture
def clients(tmp_path: Path) -> Path:
    path = tmp_path / ALLOWED
    allow(path, KEY, AllowedClient("bench", Role.OPERATE))
    return path


def test_a_pair_is_two_files_and_only_the_owner_reads_the_secret(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        public, secret = make_pair(tmp_path / "keys", "bench")
    finally:
        os.umask(before)
    assert (public.name, secret.name) == ("bench.key", "bench.key_secret")
    assert secret.stat().st_mode & 0o777 == 0o600
    pair = load_secret(secret)
    assert load_public(public) == load_public(secret) == pair.public
    assert zmq.curve_public(pair.secret) == pair.public
    assert pair.secret not in public.read_bytes()
    assert pair.secret.decode() not in repr(pair)


def test_pyzmq_reads_the_same_keys(tmp_path: Path) -> None:
    public, secret = make_pair(tmp_path, "bench")
    pair = load_secret(secret)
    assert load_certificate(secret) == (pair.public, pair.secret)
    assert load_certificate(public) == (pair.public, None)


@pytest.mark.parametrize("which", [0, 1])
def test_an_existing_file_is_never_overwritten(tmp_path: Path, which: int) -> None:
    paths = make_pair(tmp_path, "bench")
    paths[1 - which].unlink()
    kept = paths[which].read_bytes()
    with pytest.raises(KeyFileError, match=r"bench\.key.* exists"):
        make_pair(tmp_path, "bench")
    assert paths[which].read_bytes() == kept
    assert not paths[1 - which].exists()


def test_a_secret_is_never_written_through_a_link(tmp_path: Path) -> None:
    (tmp_path / "bench.key_secret").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(KeyFileError, match="can not be made"):
        make_pair(tmp_path, "bench")
    assert not (tmp_path / "elsewhere").exists()


@pytest.mark.parametrize("name", ["", "../up", "a/b", ".hidden", "-x", "a b", "ä", "x" * 65, 'a"b', "a\n"])
def test_a_name_that_is_no_plain_word_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(KeyFileError, match="expected up to 64 letters"):
        make_pair(tmp_path / "keys", name)
    assert not (tmp_path / "keys").exists()


@pytest.mark.parametrize(
    ("mode", "good"), [(0o600, True), (0o400, True), (0o640, True), (0o604, False), (0o660, False)]
)
def test_a_secret_that_others_can_get_at_is_refused(tmp_path: Path, mode: int, good: bool) -> None:
    _, secret = make_pair(tmp_path, "bench")
    secret.chmod(mode)
    if good:
        load_secret(secret)
    else:
        with pytest.raises(KeyFileError, match=rf"mode {mode:04o}.*chmod 600"):
            load_secret(secret)


def test_a_secret_with_another_ones_public_key_is_refused(tmp_path: Path) -> None:
    _, secret = make_pair(tmp_path, "bench")
    text = re.sub(r'public-key = ".*"', lambda _: f'public-key = "{OTHER.decode()}"', secret.read_text())
    secret.write_text(text)
    with pytest.raises(KeyFileError, match="does not belong"):
        load_secret(secret)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "no line public-key"),
        ('public-key = "short"\n', "40 characters of Z85, got 5"),
        (f'public-key = "{KEY.decode()}"\n' * 2, "more than one public-key"),
        (f'public-key = "{KEY.decode()}"\n', "no line secret-key"),
    ],
)
def test_a_broken_secret_file_says_what_is_wrong(tmp_path: Path, text: str, said: str) -> None:
    path = tmp_path / "x.key_secret"
    path.write_text(text)
    path.chmod(0o600)
    with pytest.raises(KeyFileError, match=f"{path}.*{said}"):
        load_secret(path)


def test_what_can_not_be_read_is_named(tmp_path: Path) -> None:
    for load in (load_public, load_secret, load_allowed):
        with pytest.raises(KeyFileError, match=r"absent: No such file.*nuc keys"):
            load(tmp_path / "absent")
    (tmp_path / "bytes").write_bytes(b"\xff\xfe\x00")
    (tmp_path / "bytes").chmod(0o600)
    for load in (load_public, load_secret, load_allowed):
        with pytest.raises(KeyFileError, match="bytes: no text"):
            load(tmp_path / "bytes")


@given(st.binary(min_size=32, max_size=32))
@settings(deadline=None, derandomize=True, max_examples=100)
def test_every_key_goes_into_the_list_and_comes_back(raw: bytes) -> None:
    # Z85 has all sorts of characters; none of them may break the file.
    import tempfile

    key = z85.encode(raw)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / ALLOWED
        allow(path, key, AllowedClient("one", Role.WATCH))
        assert load_allowed(path) == {key: AllowedClient("one", Role.WATCH)}


@given(st.text(max_size=50) | st.text(alphabet="#$%09az", min_size=40, max_size=40))
@settings(deadline=None, derandomize=True, max_examples=200)
def test_what_is_no_key_is_refused_and_never_an_accident(text: str) -> None:
    try:
        key = check_key(text, "it")
    except KeyFileError:
        return
    assert z85.encode(z85.decode(key)) == key


def test_allowing_and_revoking(clients: Path) -> None:
    allow(clients, OTHER, AllowedClient("chief", Role.ADMIN))
    assert load_allowed(clients) == {
        KEY: AllowedClient("bench", Role.OPERATE),
        OTHER: AllowedClient("chief", Role.ADMIN),
    }
    revoke(clients, "bench")
    assert load_allowed(clients) == {OTHER: AllowedClient("chief", Role.ADMIN)}
    revoke(clients, "chief")
    assert load_allowed(clients) == {}
    assert [path.name for path in clients.parent.iterdir()] == [ALLOWED]


@pytest.mark.parametrize(
    ("key", "name", "said"),
    [(KEY, "other", "bench has that public key"), (OTHER, "bench", "a client bench already"), (b"x", "new", "Z85")],
)
def test_nobody_is_allowed_twice(clients: Path, key: bytes, name: str, said: str) -> None:
    kept = clients.read_bytes()
    with pytest.raises(KeyFileError, match=said):
        allow(clients, key, AllowedClient(name, Role.ADMIN))
    assert clients.read_bytes() == kept


def test_revoking_one_who_is_not_there_lists_who_is(clients: Path) -> None:
    with pytest.raises(KeyFileError, match="no client 'chief'; it lists bench"):
        revoke(clients, "chief")


def entry(**changes: object) -> str:
    fields: dict[str, object] = {"name": '"bench"', "role": '"watch"', "public_key": f'"{KEY.decode()}"', **changes}
    return "[[client]]\n" + "".join(f"{key} = {value}\n" for key, value in fields.items() if value is not None)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[[client]\n", "no TOML"),
        ("clients = []\n", "unexpected 'clients'"),
        ("client = 3\n", "unexpected 'client'"),
        ("client = [3]\n", "client 1: expected a table"),
        (entry(role='"root"'), "client 1: role 'root'; expected watch, operate, admin"),
        (entry(role="3"), "client 1: role = 3; expected text"),
        (entry(role=None), "client 1: no 'role'"),
        (entry(rule='"watch"'), "client 1: unknown rule"),
        (entry(name='"../x"'), "client 1: name '../x'"),
        (entry(public_key='"abc"'), "client 1: public_key is none"),
        (entry() + entry(name='"other"'), "other and bench have the same public key"),
        (entry() + entry(public_key=f'"{OTHER.decode()}"'), "two clients are named bench"),
    ],
)
def test_a_list_with_anything_wrong_allows_nobody(tmp_path: Path, text: str, said: str) -> None:
    path = tmp_path / ALLOWED
    path.write_text(text)
    with pytest.raises(KeyFileError, match=f"{path}: .*{re.escape(said)}"):
        load_allowed(path)


def test_an_empty_list_allows_nobody(tmp_path: Path) -> None:
    (tmp_path / ALLOWED).write_text("# nobody yet\n")
    assert load_allowed(tmp_path / ALLOWED) == {}


def test_each_role_may_do_what_those_below_may() -> None:
    table = {role: [needed for needed in Role if role.may(needed)] for role in Role}
    assert table == {
        Role.WATCH: [Role.WATCH],
        Role.OPERATE: [Role.WATCH, Role.OPERATE],
        Role.ADMIN: [Role.WATCH, Role.OPERATE, Role.ADMIN],
    }
