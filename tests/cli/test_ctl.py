from __future__ import annotations

import copy
import json
from collections.abc import Callable, Iterator
from pathlib import Path

import click
import pytest
from click.testing import Result

from nuc_engine.cli.ctl import command
from nuc_engine.cli.ctl.edits import parse_assignment, parse_value
from nuc_engine.cli.ctl.link import same_person
from nuc_engine.client import Client
from tests.cli.conftest import Nuc
from tests.client.fake_daemon import CONFIGS, Clock, FakeDaemon, Leg, Refusal, Serving, serving

pytestmark = pytest.mark.timeout(60)  # seconds: nothing is judged by it

Ctl = Callable[..., Result]


@pytest.fixture(scope="module")
def any_leg() -> Leg:
    return Leg()


@pytest.fixture
def leg(any_leg: Leg) -> Leg:
    """A leg whose values are as they were, whatever another test has set."""
    return copy.deepcopy(any_leg)


@pytest.fixture
def daemon(leg: Leg) -> FakeDaemon:
    daemon = FakeDaemon(leg)
    leg.values.update({"TC1_current": -0.42, "CTr_angle": 88.4, "CTr_lev_TC1_load": 0.0})
    return daemon


@pytest.fixture
def served(daemon: FakeDaemon, tmp_path: Path) -> Iterator[Serving]:
    with serving(daemon, f"ipc://{tmp_path}/command", f"ipc://{tmp_path}/telemetry") as server:
        yield server


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    """The clock of every client: no answer is late because a machine is busy."""
    clock = Clock()
    monkeypatch.setitem(Client.__init__.__kwdefaults__, "now_s", clock)
    return clock


@pytest.fixture
def ctl(served: Serving, nuc: Nuc, tmp_path: Path, clock: Clock) -> Ctl:
    """`ctl("run")` on a daemon of paper, as alice."""
    return lambda *words: nuc("ctl", "--address", f"ipc://{tmp_path}/command", "--name", "alice", *words)


def test_status_tells_what_matters_first(ctl: Ctl, daemon: FakeDaemon) -> None:
    daemon.mode, daemon.control = "RUNNING", "bob"
    lines = ctl("status").stdout.splitlines()
    assert lines[0] == "lin_roach  RUNNING  0.50 s  cycle 100  torque on"
    assert "control: bob" in lines
    assert any(line.startswith("motor_action") and " 41 " in line for line in lines)
    assert any("privilege missing: SCHED_FIFO" in line for line in lines)


def test_a_latched_fault_is_exit_status_1(ctl: Ctl, daemon: FakeDaemon) -> None:
    daemon.mode = "FAULT"
    result = ctl("status")
    assert result.exit_code == 1
    assert "core_stalled" in result.stdout
    assert "nuc ctl arm" in result.stdout
    told = json.loads(ctl("status", "--json").stdout)
    assert (told["ok"], told["mode"]) == (False, "FAULT")


def test_torque_off_that_was_asked_for_is_told_apart_from_a_fault(ctl: Ctl) -> None:
    assert ctl("off").exit_code == 0
    result = ctl("status")
    assert result.exit_code == 0
    assert "FAULT" not in result.stdout
    assert "OFF, as somebody asked" in result.stdout
    told = json.loads(ctl("status", "--json").stdout)
    assert (told["ok"], told["mode"], told["latched"], told["latch_reason"]) == (True, "STOPPED", True, "off")
    ctl("arm")
    assert "OFF" not in ctl("status").stdout


def test_without_a_daemon_it_says_what_to_start(nuc: Nuc, tmp_path: Path, clock: Clock) -> None:
    clock.runs = True
    result = nuc("ctl", "-a", f"ipc://{tmp_path}/nobody", "--timeout", "0.02", "run", "--json")
    assert result.exit_code == 1
    assert "nuc serve" in result.stderr
    assert json.loads(result.stdout)["ok"] is False


def test_a_bout_is_run_labelled_and_stopped(ctl: Ctl, daemon: FakeDaemon) -> None:
    assert "bout 1 in data/bout_1" in ctl("run", "--stop", "60", "--label", "surface=carpet", "--note", "new").stdout
    assert ctl("run").exit_code == 1
    assert ctl("mark", "foot slipped").exit_code == 0
    assert ctl("label", "operator=alice", "leg=middle").exit_code == 0
    assert ctl("stop", "--policy", "hold").exit_code == 0
    assert daemon.sent == [
        ("run", {"delay_s": 0.0, "stop_s": 60.0, "labels": {"surface": "carpet"}, "notes": "new"}),
        ("run", {"delay_s": 0.0}),
        ("mark", {"text": "foot slipped"}),
        ("labels", {"labels": {"operator": "alice", "leg": "middle"}}),
        ("stop", {"policy": "hold"}),
    ]


def test_get_prints_values_and_says_what_is_unknown(ctl: Ctl) -> None:
    result = ctl("get", "CTr_angle", "102", "rule.Enter_CTr_LevationPRO", "nonsense")
    assert [line.split() for line in result.stdout.splitlines()] == [
        ["CTr_angle", "88.4"],
        ["102", "0.01"],
        ["rule.Enter_CTr_LevationPRO", "true"],
    ]
    assert "'nonsense'" in result.stderr
    assert result.exit_code == 1


def test_set_says_since_when_it_is_in_effect(ctl: Ctl, daemon: FakeDaemon) -> None:
    result = ctl("set", "CTr_lev_TC1_load=-0.2", "102=1")
    assert "CTr_lev_TC1_load = -0.2, 102 = 1: in effect since cycle 101, 0.505 s" in result.stdout
    assert daemon.sent == [("set", {"changes": [["CTr_lev_TC1_load", -0.2], ["102", 1]]})]
    assert "request 7" in ctl("set", "--at", "20", "CTr_lev_TC1_load=-0.2").stdout


def test_a_refused_value_is_exit_status_1(ctl: Ctl) -> None:
    result = ctl("set", "CTr_lev_TC1_load=99")
    assert result.exit_code == 1
    assert "CTr_lev_TC1_load: above its valid range" in result.stderr
    told = ctl("set", "CTr_lev_TC1_load=99", "--json")
    assert (told.exit_code, json.loads(told.stdout)["ok"]) == (1, False)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("-0.2", -0.2),
        ("3", 3),
        ("2 -1.5", [2, -1.5]),
        ("2,-1.5", [2, -1.5]),
        ("1e-3", 0.001),
        ("(302 > 106)&(307 > 107)", "(302 > 106)&(307 > 107)"),
        ("Enter_FT_Flexion", "Enter_FT_Flexion"),
        ("1-2", "1-2"),
        ("e", "e"),
    ],
)
def test_values_are_numbers_lists_or_rules(text: str, value: object) -> None:
    parsed = parse_value(text)
    assert parsed == value
    assert type(parsed) is type(value)


def test_a_rule_may_hold_what_it_likes_after_the_first_equals_sign() -> None:
    assert parse_assignment(" Enter = a = b ") == ("Enter", "a = b")


@pytest.mark.parametrize("words", [["set", "CTr_lev_TC1_load"], ["forget", "x"], ["limp"], ["pose", "go", "a=b"]])
def test_what_is_wrong_in_the_command_line_is_exit_status_2(ctl: Ctl, daemon: FakeDaemon, words: list[str]) -> None:
    assert ctl(*words).exit_code == 2
    assert daemon.sent == []


def test_undo_says_what_it_was(ctl: Ctl) -> None:
    ctl("set", "CTr_lev_TC1_load=-0.2")
    assert "undone CTr_lev_TC1_load = 0: in effect" in ctl("undo").stdout
    assert "done again CTr_lev_TC1_load = -0.2: in effect" in ctl("redo").stdout


def test_what_is_tried_for_a_while_says_what_puts_it_back(ctl: Ctl, daemon: FakeDaemon) -> None:
    told = ctl("set", "--back-after", "10", "CTr_lev_TC1_load=-0.2").stdout
    assert "CTr_lev_TC1_load = -0.2 (goes back by request 9): in effect" in told
    assert daemon.sent[-1][1]["back_after_s"] == 10


def test_the_history_says_who_changed_what_and_what_was_undone(ctl: Ctl) -> None:
    assert ctl("history").stdout.strip() == "nothing was edited"
    ctl("set", "CTr_lev_TC1_load=-0.2")
    assert ctl("history").stdout.split() == ["undo", "no", "bout", "bob", "CTr_lev_TC1_load", "0", "->", "-0.2"]
    ctl("undo")
    assert ctl("history").stdout.split() == ["redo", "no", "bout", "bob", "CTr_lev_TC1_load", "0", "->", "-0.2"]
    assert json.loads(ctl("history", "--json").stdout)["undone"][0]["author"] == "bob"


def test_values_are_kept_under_a_name_and_recalled(ctl: Ctl, leg: Leg) -> None:
    assert "nothing is kept" in ctl("kept").stdout
    assert ctl("keep", "A").stdout.strip() == "kept A"
    ctl("set", "CTr_lev_TC1_load=-0.2")
    assert ctl("kept").stdout.split() == ["A", "by", "bob", "unlike:", "CTr_lev_TC1_load"]
    assert "recalled A: in effect" in ctl("recall", "A").stdout
    assert leg.values["CTr_lev_TC1_load"] == 0
    assert ctl("recall", "B").exit_code == 1


def test_scripts_are_sent_as_they_are(ctl: Ctl, daemon: FakeDaemon, script: Path) -> None:
    assert "request 8" in ctl("script", str(script), "--now").stdout
    assert daemon.sent == [("script", {"text": script.read_text(), "offset": "now"})]
    assert ctl("pending").stdout.split() == ["7", "at", "12.5", "s", "author", "alice", "names", "CTr_lev_TC1_load"]
    ctl("forget", "7")
    ctl("forget", "all")
    assert [params for _, params in daemon.sent[-2:]] == [{"request": 7}, {"request": "all"}]


def test_a_folder_is_sent_a_name_is_chosen(ctl: Ctl, daemon: FakeDaemon, roach: Path) -> None:
    result = ctl("configure", "./my_roach")
    assert "configured as my_roach" in result.stdout
    assert "joints.xml:3: a remark" in result.stderr
    ctl("configure", "lin_roach")
    (_, sent), (_, chosen) = daemon.sent
    assert sorted(sent["documents"]) == ["joints.xml", "parameters.xml", "sensors.xml"]
    assert sent["documents"]["joints.xml"] == (roach / "joints.xml").read_text()
    assert chosen == {"name": "lin_roach"}


def test_limp_for_the_whole_leg_is_a_mode_for_every_motor(ctl: Ctl, daemon: FakeDaemon) -> None:
    assert ctl("limp", "--all").exit_code == 0
    joints = ["Thorax-Coxa1", "Thorax-Coxa2", "Coxa-Trochanter", "Femur-Tibia"]
    assert [params for method, params in daemon.sent if method == "joint_mode"] == [
        {"joint": joint, "mode": "limp"} for joint in joints
    ]


def test_poses_are_saved_reached_and_listed(ctl: Ctl, daemon: FakeDaemon) -> None:
    assert "Femur-Tibia 90 deg" in ctl("pose", "save", "standing").stdout
    ctl("pose", "go", "standing", "--rate", "20")
    ctl("pose", "go", "Femur-Tibia=95", "Coxa-Trochanter=80")
    ctl("pose", "park", "standing")
    assert ctl("pose", "list").stdout == "standing: Femur-Tibia 90 deg\n"
    assert [params for method, params in daemon.sent if method in ("pose", "park")] == [
        {"name": "standing", "rate_deg_s": 20.0},
        {"angles": {"Femur-Tibia": 95.0, "Coxa-Trochanter": 80.0}},
        {"name": "standing"},
    ]


def test_what_was_found_is_saved_and_recorded(ctl: Ctl, daemon: FakeDaemon) -> None:
    assert ctl("save", "gentle").stdout == "saved configs/gentle\n"
    assert ctl("save", "gentle", "--as", "script", "--overwrite").stdout == "saved scripts/gentle.xml\n"
    assert ctl("record", "stop").exit_code == 1
    ctl("record", "start", "first")
    assert ctl("record", "stop").stdout == "recorded scripts/first.xml\n"
    assert daemon.sent[1][1] == {"name": "gentle", "kind": "script", "overwrite": True}


def test_a_script_and_a_configuration_of_ones_own_are_kept_beside_the_daemon(
    ctl: Ctl, daemon: FakeDaemon, tmp_path: Path
) -> None:
    kept = {"path": "there", "kind": "any"}
    daemon.answers |= {"store_script": lambda **_: kept, "store_configuration": lambda **_: kept}
    (tmp_path / "mine.xml").write_text("<hdsoscript/>")
    assert ctl("store", str(tmp_path / "mine.xml")).stdout == "stored there\n"
    assert daemon.sent[-1] == ("store_script", {"name": "mine", "text": "<hdsoscript/>"})
    assert ctl("store", str(CONFIGS / "null_roach"), "--overwrite").exit_code == 0
    method, params = daemon.sent[-1]
    assert (method, params["name"], params["overwrite"]) == ("store_configuration", "null_roach", True)
    assert set(params["documents"]) == {"joints.xml", "parameters.xml", "sensors.xml", "plant.toml"}
    assert "same_as" not in params["documents"]["plant.toml"], "the plant itself goes with it"
    for what in ("nothing.xml", "nothing/"):
        result = ctl("store", str(tmp_path / what))
        assert result.exit_code == 1
        assert "nothing" in result.stderr


def test_off_that_is_not_confirmed_is_no_success(ctl: Ctl, daemon: FakeDaemon) -> None:
    assert ctl("off").exit_code == 0
    daemon.answers["off"] = lambda why="": {"mode": "FAULT", "torque": True, "unconfirmed": ["Femur-Tibia_motor"]}
    result = ctl("off", "cable caught")
    assert result.exit_code == 1
    assert "Femur-Tibia_motor" in result.stderr
    assert daemon.sent[-1] == ("off", {"why": "cable caught"})
    assert json.loads(ctl("off", "--json").stdout)["ok"] is False


@pytest.fixture
def senders(daemon: FakeDaemon, monkeypatch: pytest.MonkeyPatch) -> set[bytes]:
    """Who the daemon has heard so far, by identity."""
    senders: set[bytes] = set()
    replies = daemon.replies

    def noted(sender: bytes, payload: bytes) -> list[bytes]:
        senders.add(sender)
        return replies(sender, payload)

    monkeypatch.setattr(daemon, "replies", noted)
    return senders


def test_commands_that_follow_one_another_are_one_client(ctl: Ctl, daemon: FakeDaemon, senders: set[bytes]) -> None:
    ctl("take")
    ctl("set", "CTr_lev_TC1_load=-0.2")
    assert len(senders) == 1
    assert daemon.greeted == ["alice", "alice"]


def test_off_is_a_client_of_its_own_and_waits_for_no_other_command(ctl: Ctl, senders: set[bytes]) -> None:
    ctl("configure", "lin_roach")
    ctl("off")
    assert len(senders) == 2


def test_control_comes_back_from_ones_own_other_terminal_only(ctl: Ctl, daemon: FakeDaemon) -> None:
    set_values = daemon.do_set

    def guarded(**params: object) -> object:
        if daemon.control not in ("", "alice"):
            raise Refusal("no_control", f"{daemon.control} has control", "ask for it")
        return set_values(**params)

    daemon.answers["set"] = guarded
    daemon.control = "bob"
    assert "bob has control" in ctl("set", "CTr_lev_TC1_load=-0.2").stderr
    assert daemon.control == "bob"
    daemon.control = "alice#2"
    assert ctl("set", "CTr_lev_TC1_load=-0.2").exit_code == 0
    assert daemon.control == "alice"
    assert ("take_control", {"force": True}) in daemon.sent


@pytest.mark.parametrize(
    ("who", "same"),
    [
        ("alice", True),
        ("alice#3", True),
        ("alice (unverified)", True),
        ("alice#2 (user 1000, process 77)", True),
        ("alice (user x)", False),
        ("", False),
        ("alice2", False),
        ("bob#2", False),
    ],
)
def test_who_is_the_same_person(who: str, same: bool) -> None:
    assert same_person(who, "alice") is same


@pytest.mark.parametrize(
    ("words", "line"),
    [((), "1234.5000 CTr_angle=88.5\n"), (("--json",), '{"unix_time_s": 1234.5, "CTr_angle": 88.5}\n')],
)
def test_a_stream_is_printed_line_by_line(
    ctl: Ctl, served: Serving, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...], line: str
) -> None:
    subscribe = served.daemon.do_subscribe
    from nuc_engine.client import Subscription

    receive = Subscription.receive

    def published(self: Subscription, timeout_s: float | None = None) -> object:
        served.publish("recipe.1", {"CTr_angle": 88.5}, 1234.5)
        return receive(self, timeout_s)

    monkeypatch.setattr(Subscription, "receive", published)
    served.daemon.answers["subscribe"] = subscribe
    result = ctl("subscribe", "CTr_angle", "nonsense", "--count", "1", *words)
    assert result.stdout == line
    assert "not found: nonsense" in result.stderr
    assert ctl("subscribe", "nonsense").exit_code == 1


def test_sccils_answers_are_printed_and_fail_is_exit_status_1(ctl: Ctl, daemon: FakeDaemon, script: Path) -> None:
    response = '<sccils_commandscript><sccils_command_response responsestatus="{}"/></sccils_commandscript>'
    daemon.sccils = [response.format("conditional").encode(), response.format("fail").encode()]
    result = ctl("sccils", str(script))
    assert result.exit_code == 1
    assert result.stdout.count("<sccils_commandscript>") == 2
    daemon.sccils = [response.format("success").encode()]
    assert ctl("sccils", str(script)).exit_code == 0
    script.write_text("no document")
    assert "does not begin with '<'" in ctl("sccils", str(script)).stderr


def test_a_sccils_dialogue_is_a_client_of_its_own_and_says_at_once_what_comes(
    ctl: Ctl, daemon: FakeDaemon, script: Path, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    def say(document: str) -> None:
        click.echo(document)
        clock.runs = True

    monkeypatch.setattr("nuc_engine.cli.ctl.keep.say", say)
    response = '<sccils_commandscript><sccils_command_response responsestatus="{}"/></sccils_commandscript>'
    senders: list[bytes] = []
    replies = daemon.replies
    daemon.replies = lambda sender, payload: senders.append(sender) or replies(sender, payload)  # type: ignore[method-assign]
    ctl("get", "CTr_angle")
    same = set(senders)
    senders.clear()
    daemon.control = "alice (unverified)"
    daemon.sccils = [response.format("conditional").encode()]
    result = ctl("sccils", str(script), "--wait", "0")
    assert result.exit_code == 1
    assert "conditional" in result.stdout, "it came, whatever became of the rest"
    assert "did not answer" in result.stderr
    assert ("take_control", {"force": True}) in daemon.sent, "the other terminal is one's own"
    assert len(set(senders)) == 1
    assert not same & set(senders), "late answers of this one must not reach the next"
    daemon.wait_for("leave")


def test_events_are_one_line_each(ctl: Ctl) -> None:
    assert ctl("events").stdout == "    1.250 s  rule_overlap: two rules of Coxa-Trochanter were true\n"
    assert ctl("events", "--last", "0").stdout == ""


def test_events_that_repeat_leave_room_for_the_others(ctl: Ctl, daemon: FakeDaemon) -> None:
    told = [{"seq": k, "name": "reply_missed", "text": "servo 1", "time_s": k / 10} for k in range(1, 100)]
    daemon.answers["events"] = lambda since=None: [{"seq": 0, "name": "mark", "text": "before"}, *told]
    lines = ctl("events", "--last", "2").stdout.splitlines()
    assert [line[13:] for line in lines] == ["mark: before", "reply_missed: servo 1  (99 times, until 9.900 s)"]
    assert len(json.loads(ctl("events", "--last", "50", "--json").stdout)["events"]) == 50


def test_watch_and_tune_print_where_there_is_no_terminal(ctl: Ctl) -> None:
    watched = ctl("watch", "--count", "1").stdout
    assert watched.count("\n") == 1
    assert "Coxa-Trochanter CTr_LevationPRO 88.4 deg" in watched
    tuned = ctl("tune", "Coxa-Trochanter").stdout
    assert "CTr_lev_TC1_load" in tuned
    assert "\x1b" not in watched + tuned
    assert "there are: Thorax-Coxa1" in ctl("tune", "knee").stderr
    assert ctl("tune", "knee").exit_code == 2


# --- what lies beside the daemon ---


def test_bouts_scripts_and_rules_are_listed(ctl: Ctl, daemon: FakeDaemon) -> None:
    bout = {"name": "a/b", "configuration": "lin_roach", "script": "", "started": "", "duration_s": 60.0, "problem": ""}
    daemon.answers["bouts"] = lambda: [{**bout, "state": "complete", "labels": {"surface": "carpet"}}]
    assert ctl("bouts").stdout.splitlines()[-1].split() == ["a/b", "lin_roach", "60.0", "complete", "surface=carpet"]
    daemon.answers["scripts"] = lambda: [
        {"name": "itf", "description": "inside turn", "duration_s": 30.0},
        {"name": "bad", "description": "", "duration_s": None, "problem": "no hdsoscript"},
    ]
    assert ctl("scripts").stdout.splitlines() == ["itf  inside turn", "bad  no hdsoscript"]
    comparison = {"left": "A", "op": "<", "right": "B", "left_value": 1.5, "right_value": 2.0, "distance": 0.5}
    rule = {"joint": "J", "action": "Flex", "inside": True, "rule": "R", "text": "A < B", "true": True}
    daemon.answers["rules"] = lambda joint=None: [{**rule, "comparisons": [{**comparison, "true": True}]}]
    assert ctl("rules", "J").stdout.splitlines() == ["true  *Flex  J  A < B", "  true   A 1.5 < B 2  (+0.5)"]
    assert daemon.sent[-1] == ("rules", {"joint": "J"})
    assert json.loads(ctl("rules", "--json").stdout)["rules"][0]["comparisons"][0]["distance"] == 0.5


def test_documents_are_checked_where_the_daemon_is(ctl: Ctl, daemon: FakeDaemon, tmp_path: Path) -> None:
    script = tmp_path / "mine.xml"
    script.write_text("<sccils/>")
    found = {"severity": "error", "file": "", "line": 3, "what": "odd", "expected": "even", "hint": "halve it"}
    daemon.answers["validate"] = lambda text=None, documents=None: [found] if text == "<sccils/>" else []
    result = ctl("validate", str(script))
    assert result.exit_code == 1
    assert result.stdout == "script:3: error: odd, expected even (halve it)\n"
    assert ctl("validate", str(CONFIGS / "lin_roach")).stdout == "nothing is wrong\n"
    assert "joints.xml" in daemon.sent[-1][1]["documents"]


class Shelf:
    """Files of a bout, given in pieces of three bytes."""

    def __init__(self, daemon: FakeDaemon, **files: bytes) -> None:
        self.files, self.asked = (
            {name.replace("__", "/"): data for name, data in files.items()},
            list[tuple[str, int]](),
        )
        daemon.answers["bout_files"] = lambda bout: [{"name": n, "size": len(d)} for n, d in self.files.items()]
        daemon.answers["fetch"] = self.fetch

    def fetch(self, bout: str, file: str, offset: int = 0) -> dict[str, object]:
        self.asked.append((file, offset))
        return {"data": self.files[file][offset : offset + 3], "size": len(self.files[file])}


def test_a_bout_is_fetched_whole_and_gone_on_with_where_it_was_left(
    ctl: Ctl, daemon: FakeDaemon, tmp_path: Path
) -> None:
    shelf = Shelf(daemon, sub__b=b"", c=b"xyz", d=b"new")
    shelf.files = {"a.txt": b"12345678", "x.xml": b"whole", "manifest.json": b"complete", **shelf.files}
    to = tmp_path / "out"
    to.mkdir()
    (to / "a.txt.part").write_bytes(b"1234")
    (to / "x.xml.part").write_bytes(b"wr")  # of a file that is written anew as a whole
    (to / "manifest.json").write_bytes(b"running!")  # as it was when the bout ran
    (to / "c").write_bytes(b"xyz")
    (to / "d").write_bytes(b"longer than that")
    assert ctl("fetch", "x/bout", "--to", str(to)).stdout == f"6 files in {to}\n"
    assert {
        path.relative_to(to).as_posix(): path.read_bytes() for path in to.rglob("*") if path.is_file()
    } == shelf.files
    assert shelf.asked[:2] == [("a.txt", 4), ("a.txt", 7)]
    assert "c" not in [name for name, _ in shelf.asked]


@pytest.mark.parametrize(
    "name", ["../x", "/etc/x", "a/../../x", "", "a\\x", "..", "x\0y", "C:evil", "a:stream", "sub/NUL"]
)
def test_a_daemon_that_names_files_elsewhere_is_not_believed(
    ctl: Ctl, daemon: FakeDaemon, tmp_path: Path, name: str
) -> None:
    shelf = Shelf(daemon)
    shelf.files = {"good": b"1", name: b"1"}
    result = ctl("fetch", "bout", "--to", str(tmp_path / "deep" / "out"))
    assert result.exit_code != 0
    assert "nothing was fetched" in result.stderr
    assert not (tmp_path / "deep").exists()


def test_every_subcommand_says_how_and_where(nuc: Nuc) -> None:
    def walk(words: tuple[str, ...], group: object) -> Iterator[tuple[str, ...]]:
        for name, sub in group.commands.items():
            if hasattr(sub, "commands"):
                yield from walk((*words, name), sub)
            else:
                yield (*words, name)

    names = list(walk(("ctl",), command))
    assert len(names) > 35
    for words in names:
        text = nuc(*words, "--help").stdout
        assert f"nuc {' '.join(words)}" in text.split("Examples:")[1], words
        assert text.split("Examples:")[0].count("\n\n") >= 2, words


def test_joints_and_values_complete_from_the_daemon(served: Serving, tmp_path: Path, clock: Clock) -> None:
    from click.shell_completion import ShellComplete

    from nuc_engine.cli.app import app

    words = ["ctl", "-a", f"ipc://{tmp_path}/command"]
    complete = ShellComplete(app, {}, "nuc", "_NUC_COMPLETE")
    assert [item.value for item in complete.get_completions([*words, "tune"], "Cox")] == ["Coxa-Trochanter"]
    assert [item.value for item in complete.get_completions([*words, "set"], "CTr_lev_")] == ["CTr_lev_TC1_load="]
    clock.runs = True
    without = ["ctl", "-a", f"ipc://{tmp_path}/nobody"]
    assert "Coxa-Trochanter" in [item.value for item in complete.get_completions([*without, "tune"], "Cox")]
