"""Torque off at a daemon elsewhere over ssh, and over the channel where that does not answer."""

from __future__ import annotations

import io
import json
import sys
import time  # noqa: TID251  processes live on the real clock
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from nuc_engine.client import ClientError
from nuc_engine.client.offrelay import relay
from nuc_engine.daemon.block import Word
from nuc_engine.daemon.off_requests import pending_requesters
from nuc_engine.ui import sshoff, stop
from nuc_engine.ui.sshoff import SshOffPath, ssh_words
from nuc_engine.ui.stop import TorqueOffPath
from tests.client.test_offpath import reading

FAR = "tcp://127.0.0.1:9"
LONG_S = 20.0
ODD = """
import json, sys
print('{"relay": "there"}', flush=True)
for line in sys.stdin:
    number = json.loads(line)["id"]
    print(json.dumps({"id": [number], "answer": {}}), flush=True)
    print(json.dumps({"id": number, "answer": ANSWER}), flush=True)
"""
RELAY = """
import sys
from pathlib import Path
from nuc_engine.client.offrelay import relay
print("Welcome to this machine", flush=True)
relay(Path(sys.argv[1]), sys.stdin, lambda line: (sys.stdout.write(line), sys.stdout.flush()))
"""
SILENT = 'print(\'{"relay": "there"}\', flush=True)\nimport sys\nsys.stdin.read()'


def far(program: str, *words: object) -> SshOffPath:
    """Return a log-in at a program that answers as ssh would."""
    return SshOffPath([sys.executable, "-c", program, *map(str, words)])


def until(found: Callable[[], Any]) -> Any:
    end_s = time.monotonic() + LONG_S
    while (value := found()) is None or isinstance(value, str):
        assert time.monotonic() < end_s, value
        time.sleep(0.01)
    return value


@pytest.fixture
def channel(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What is asked of the channel of a daemon elsewhere; it answers."""
    asked: list[str] = []

    def take(address: str, *, name: str, why: str, keys: object) -> dict[str, Any]:
        asked.append(why)
        return {"torque": False, "confirmed_ns": {"a": 5}, "unconfirmed": []}

    monkeypatch.setattr(stop, "take_torque_off", take)
    monkeypatch.setattr(TorqueOffPath, "_probe_channel", lambda _: "")
    return asked


def test_it_is_logged_in_as_in_docs_and_a_host_is_no_option() -> None:
    words = ssh_words("bench@leg:/run/nuc/lin roach/")
    assert words[:2] == ["ssh", "-T"]
    assert words[-3:] == [
        "--",
        "bench@leg",
        "nuc ctl --address 'ipc:///run/nuc/lin roach/command' off --relay",
    ]
    assert "BatchMode=yes" in words, "nobody is there to type a password"
    assert "ControlPath=none" in words, "no connection is shared with what is copied"
    assert ssh_words("leg")[-1] == "nuc ctl off --relay"
    for bad in ("", ":", "-oProxyCommand=id", "a b", "a\nb", ":/run"):
        with pytest.raises(ValueError, match="expected HOST"):
            ssh_words(bad)


def test_lines_are_answered_by_their_numbers_and_nonsense_is_told(tmp_path: Path) -> None:
    said = io.StringIO()
    with reading(tmp_path) as reader:
        asked = ['{"id": 1, "probe": true}', '{"id": 2}', "x", "[]", "[" * 5000, '{"id": 3, "off": 7}']
        relay(tmp_path, asked, said.write)
        assert not pending_requesters(reader.words)
        relay(tmp_path, ['{"id": 4, "off": "caught"}'], said.write)
        assert pending_requesters(reader.words)
    told = [json.loads(line) for line in said.getvalue().splitlines()]
    assert told[0] == {"relay": str(tmp_path)}
    answers = {each.get("id"): each for each in told if "answer" in each}
    assert answers[1]["answer"]["heard_by"] == "guardian"
    assert answers[4]["answer"]["unconfirmed"] == []
    assert [each.get("id") for each in told if "error" in each] == [2, None, None, None, 3]


def test_it_goes_over_ssh_past_the_service_and_says_so(tmp_path: Path, channel: list[str]) -> None:
    with reading(tmp_path) as reader:
        reader.words[Word.TORQUE] = 1
        line = TorqueOffPath(FAR, name="tester", ssh=far(RELAY, tmp_path))
        try:
            assert line.path == "channel", "not logged in yet"
            until(lambda: None if line.probe()["path"] == "channel" else True)
            told = line.probe()
            assert (told["path"], line.path) == ("ssh", "ssh")
            assert told["ready_ms"] >= 0
            assert not pending_requesters(reader.words), "a question takes nothing off"
            assert line.off("caught")["off"]["unconfirmed"] == []
            assert pending_requesters(reader.words)
            assert channel == []
        finally:
            line.close()


def test_without_ssh_the_channel_stays_and_is_what_it_is_called(channel: list[str]) -> None:
    line = TorqueOffPath(FAR, name="tester", ssh=far("print('Permission denied (publickey).')"))
    try:
        for _ in range(3):
            assert line.probe() == {"ready_ms": pytest.approx(0, abs=500), "path": "channel"}
        assert line.off("x")["off"]["unconfirmed"] == []
        assert channel == ["x (tester)"]
    finally:
        line.close()


def test_an_ssh_that_says_nothing_any_more_is_not_waited_for(
    channel: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stop, "SSH_S", 0.05)
    ssh = far(SILENT)
    line = TorqueOffPath(FAR, name="tester", ssh=ssh)
    try:
        until(lambda: None if "not logged in" in str(ssh.probe(0.01)) else True)
        assert line.off("x")["off"]["unconfirmed"] == []
        assert channel == ["x (tester)"]
        assert line.probe()["path"] == "channel"
    finally:
        line.close()


def test_where_neither_way_answers_both_reasons_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    def none(*_: object, **__: object) -> dict[str, Any]:
        raise ClientError("nobody there")

    monkeypatch.setattr(stop, "take_torque_off", none)
    monkeypatch.setattr(stop, "SSH_S", 0.05)
    monkeypatch.setattr(stop, "ANSWER_S", 0.05)
    line = TorqueOffPath(FAR, name="tester", ssh=far("print('Permission denied (publickey).')"))
    try:
        failed = line.off("x")["off_failed"]
        assert "nobody there" in failed
        assert "ssh" in failed
        assert "cut the power" in failed
    finally:
        line.close()


def test_it_is_logged_in_again_once_it_has_ended(
    tmp_path: Path, channel: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sshoff, "AGAIN_S", 0.05)
    once = tmp_path / "once"
    program = (
        f"from pathlib import Path\nif not Path({str(once)!r}).exists():\n    Path({str(once)!r}).touch()\n    exit()\n"
    )
    with reading(tmp_path):
        ssh = far(program + RELAY, tmp_path)
        try:
            assert until(lambda: ssh.probe(1.0))["heard_by"] == "guardian"
            assert once.exists()
        finally:
            ssh.close()
    assert isinstance(ssh.probe(1.0), str), "closed for good"


@pytest.mark.parametrize(("answer", "torque"), [("{}", True), ("5", False), ("None", False)])
def test_an_answer_that_does_not_say_that_the_torque_is_off_is_not_taken_for_one(
    channel: list[str], answer: str, torque: bool
) -> None:
    ssh = far(ODD.replace("ANSWER", answer))
    line = TorqueOffPath(FAR, name="tester", ssh=ssh)
    try:
        until(lambda: None if "not logged in" in str(ssh.probe(LONG_S)) else True)
        told = line.off("x")
        assert told["off"]["torque"] is torque, "of what is no answer at all the channel is asked"
        assert len(channel) == (not torque)
    finally:
        line.close()
