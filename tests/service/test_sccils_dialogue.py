"""The SCCILS dialogue of appendix 10.2 and its readings D1 to D12, through real sockets."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nuc_engine.daemon.block import Word
from nuc_engine.daemon.wire import CoreCommand as Order
from nuc_engine.service.sccils import ACK_S, MAX_QUEUED
from sccils_schemas.documents import Command, CommandResponse, CommandScript, ConfigCommand, HdsoScript
from sccils_schemas.parser import parse
from tests.service.bench import bench

ACK = b'<sccils_commandscript><sccils_command_response responsestatus="success"/></sccils_commandscript>'


def script(inner: str) -> bytes:
    return f"<sccils_commandscript>{inner}</sccils_commandscript>".encode()


def command(kind: str, inner: str = "", **attributes: str) -> bytes:
    words = "".join(f' {name}="{value}"' for name, value in attributes.items())
    return script(f'<sccils_command commandtype="{kind}"{words}>{inner}</sccils_command>')


def start(name: str) -> bytes:
    return script(f'<sccils_config_command configtype="start" configname="{name}"/>')


def change(*mods: tuple[int, float, str]) -> bytes:
    inner = "".join(f'<hdsoMod time="{t}" idNum="{i}" NumElts="1" datatype="float">{v}</hdsoMod>' for i, v, t in mods)
    return f"<hdsoscript>{inner}</hdsoscript>".encode()


class Interface:
    """What a SCCILS client does."""

    def __init__(self, b) -> None:
        self.b, self.talk = b, b.client()

    def say(self, document: bytes) -> None:
        self.talk.raw(document)

    def hear(self):
        payload = self.talk.recv()
        document, problems = parse(payload)
        assert document is not None, (payload, str(problems))
        assert not list(problems), str(problems)
        return document

    def status(self) -> CommandResponse:
        document = self.hear()
        assert isinstance(document, CommandScript)
        (answer,) = document.entries
        assert isinstance(answer, CommandResponse), answer
        return answer

    def do(self, document: bytes) -> CommandResponse:
        self.say(document)
        return self.status()


@pytest.fixture
def i(b):
    return Interface(b)


def test_the_complete_dialogue_of_the_appendix(bare):
    i = Interface(bare)
    i.say(b"<sccils_commandscript/>")
    offered = i.hear().entries
    assert {entry.config_type for entry in offered} == {"available"}
    assert "lin_roach" in [entry.config_name for entry in offered]
    i.say(ACK)
    assert i.do(start("lin_roach")).status == "conditional"
    (described,) = i.hear().entries
    assert described == ConfigCommand("parameter", "lin_roach", ("joints.xml", "parameters.xml", "sensors.xml"))
    for _ in range(3):
        i.say(ACK)
        i.hear()
    i.say(ACK)
    assert i.status().status == "success"
    bare.core.cycle()
    answer = i.do(command("run"))
    assert (answer.status, answer.command) == ("success", Command("run"))
    assert i.do(change((101, 3.0, "0"))).status == "conditional"
    assert i.status().status == "success"
    answer = i.do(command("log", extendedcommand="pollingmode"))
    assert (answer.status, answer.command.extended_command) == ("success", "pollingmode")
    (port,) = i.hear().entries
    assert (port.config_type, port.config_name) == ("parameter", "dataport")
    i.say(ACK)
    poll = '<hdsoscript><hdsoMod time="0" idNum="101" NumElts="1" datatype="float">9.0</hdsoMod></hdsoscript>'
    assert i.do(command("log", poll, extendedcommand="poll")).status == "success"
    values = i.hear()
    assert isinstance(values, HdsoScript)
    assert [(mod.id_num, mod.data) for mod in values.entries] == [(101, (3.0,))]
    i.say(ACK)
    assert i.do(command("stop")).status == "success"
    assert bare.core.store.values(bare.core.plan.hdso(101).index) == (3.0,)


def test_the_documents_sent_are_those_of_the_configuration(b):
    i = Interface(b)
    i.do(start("lin_stickmiddle"))
    i.hear()
    from nuc_engine.machine.locations import find_configuration

    for name in ("joints.xml", "parameters.xml", "sensors.xml"):
        i.say(ACK)
        assert i.talk.recv() == (find_configuration("lin_stickmiddle") / name).read_bytes()
    assert b.service.hub.configuration.name == "small"
    i.say(ACK)
    assert i.status().status == "success"
    assert b.service.hub.configuration.name == "lin_stickmiddle"


def test_a_client_that_refuses_a_document_keeps_the_configuration_that_was(i, b):
    i.do(start("lin_roach"))
    i.hear()
    i.say(ACK.replace(b"success", b"fail"))
    assert i.status().status == "fail"
    assert b.service.hub.configuration.name == "small"
    assert i.do(command("run")).status == "success"


def test_a_client_that_never_acknowledges_is_refused_in_time(i, b):
    i.do(start("lin_roach"))
    i.hear()
    b.pass_time(ACK_S + 0.1)
    answer = i.status()
    assert answer.status == "fail"
    assert "acknowledged" in answer.text
    assert i.do(command("run")).status == "success"


def test_what_is_sent_while_documents_are_sent_waits_for_its_turn(i, b):
    i.do(start("lin_roach"))
    i.hear()
    i.say(command("run"))
    assert i.talk.silent()
    for _ in range(3):
        i.say(ACK)
        i.talk.recv()
    i.say(ACK)
    assert i.status().command is None
    b.core.cycle()
    assert i.status().command == Command("run")


def test_start_of_what_is_not_there_fails_at_once(i):
    answer = i.do(start("nix"))
    assert answer.status == "fail"
    assert "nix" in answer.text
    assert i.do(start("../../etc")).status == "fail"


def test_start_while_a_bout_runs_fails_without_effect(i, b):
    i.do(command("run"))
    answer = i.do(start("lin_roach"))
    assert (answer.status, "stop it first" in answer.text) == ("fail", True)
    assert b.service.hub.mode.name == "RUNNING"


def test_run_with_delay_and_stop_time(i, b):
    assert i.do(command("run", starttime="10", stoptime="10")).status == "success"
    assert b.core.obeyed[-1] == (Order.RUN, [1, 10_000_000_000, 10_000_000_000, 1])


def test_repetitions_stop_succeeds_run_fails(i):
    assert i.do(command("stop")).status == "success"
    assert i.do(command("run")).status == "success"
    answer = i.do(command("run"))
    assert answer.status == "fail"
    assert answer.command == Command("run")
    assert i.do(command("stop")).status == "success"
    assert i.do(command("stop")).status == "success"


@pytest.mark.parametrize(
    ("attributes", "word"),
    [({"starttime": "-1"}, "starttime"), ({"starttime": "nan"}, "nan"), ({"extendedcommand": "x"}, "extendedcommand")],
)
def test_bad_times_and_words_fail(i, b, attributes, word):
    answer = i.do(command("run", **attributes))
    assert answer.status == "fail"
    assert word in answer.text
    assert b.core.obeyed == []


def test_a_run_without_a_configuration_fails(bare):
    i = Interface(bare)
    assert i.do(command("run")).status == "fail"
    assert i.do(command("stop")).status == "success"
    assert i.do(change((101, 1.0, "0"))).status == "fail"


def test_two_commands_in_one_document_get_one_answer_each_in_order(i, b):
    i.say(
        script(
            '<sccils_command commandtype="run" starttime="10" stoptime="10"/>'
            '<sccils_command commandtype="log" starttime="2.5" stoptime="7.5" data_destination="local"/>'
        )
    )
    assert [i.status().command.command_type for _ in range(2)] == ["run", "log"]
    assert b.logger.told[-1] == ("window", 2_500_000_000, 7_500_000_000, "")


def test_nothing_of_a_document_is_done_when_a_part_of_it_is_wrong(i, b):
    i.say(script('<sccils_command commandtype="run"/><sccils_command commandtype="log" starttime="5" stoptime="4"/>'))
    assert [i.status().status for _ in range(2)] == ["fail", "fail"]
    assert b.core.obeyed == []


def test_log_and_stoplog(i, b):
    assert i.do(command("log", data_destination="local")).status == "success"
    assert i.do(command("stoplog")).status == "success"
    assert b.logger.told[-2:] == [("window", 0, -1, ""), ("window_end", -1)]


def test_log_to_the_network_names_port_and_topic_and_sends(tmp_path):
    with bench(tmp_path, telemetry="tcp://127.0.0.1:*") as b:
        b.configured()
        i = Interface(b)
        assert i.do(command("log", '<hdsoscript><hdsoSpec idNum="301"/></hdsoscript>')).status == "success"
        port, topic = i.hear().entries[0], i.hear().entries[0]
        assert port.config_name == "dataport"
        assert topic.config_name == "datatopic"
        assert topic.parameters == ("nuc.1",)
        assert i.do(command("stoplog")).status == "success"


def test_an_hdsoscript_with_immediate_and_timed_changes_in_a_bout(i, b):
    i.do(command("run"))
    assert i.do(change((104, 5.0, "0"), (104, 7.0, "2"))).status == "conditional"
    assert b.core.store.values(b.core.plan.hdso(104).index) == (5.0,)
    assert i.talk.silent()
    b.pass_time(2.5)
    answer = i.status()
    assert answer.status == "success"
    assert float(answer.response_time) == pytest.approx(2.5)
    assert b.core.store.values(b.core.plan.hdso(104).index) == (7.0,)


def test_what_follows_a_timed_script_is_done_at_once_and_answered_in_order(i, b):
    i.do(command("run"))
    i.do(change((104, 7.0, "20")))
    i.say(command("stop"))
    script_end, stop = i.status(), i.status()
    assert (script_end.status, script_end.command) == ("fail", None)
    assert "ended" in script_end.text
    assert (stop.status, stop.command) == ("success", Command("stop"))


def test_a_script_before_the_run_does_not_wait_for_a_run_that_would_wait_for_it(i, b):
    assert i.do(change((104, 5.0, "0"), (104, 7.0, "2"))).status == "conditional"
    answer = i.status()
    assert (answer.status, answer.response_type) == ("success", "withdata")
    assert "1 changeset" in answer.text
    i.do(command("run"))
    b.pass_time(2.5)
    assert b.core.store.values(b.core.plan.hdso(104).index) == (7.0,)


def test_hdso_13_of_the_printed_dialogue_fails(i, b):
    answer = i.do(change((13, 3.0, "0")))
    assert answer.status == "fail"
    assert "13" in answer.text
    poll = '<hdsoscript><hdsoMod time="0" idNum="13" NumElts="1" datatype="float">3.0</hdsoMod></hdsoscript>'
    assert i.do(command("log", poll, extendedcommand="poll")).status == "fail"


def test_a_poll_never_writes_and_knows_both_forms_and_all(i, b):
    poll = (
        '<hdsoscript><hdsoMod idNum="102" NumElts="1">-3</hdsoMod><hdsoSpec idNum="-4" idByName="y" name="Coxa_angle"/>'
    )
    i.do(command("log", poll + "</hdsoscript>", extendedcommand="poll"))
    assert [(mod.id_num, mod.data) for mod in i.hear().entries] == [(102, (10.0,)), (301, (10.0,))]
    i.do(command("log", '<hdsoscript><hdsoSpec idNum="-1"/></hdsoscript>', extendedcommand="poll"))
    entries = {mod.id_num: mod for mod in i.hear().entries}
    assert len(entries) == len(b.core.plan.hdsos)
    assert entries[104].data == ()  # it has no value
    assert entries[162].data == "302 > 103"
    assert [order for order, _ in b.core.obeyed if order == Order.CHANGESET] == []


def test_requests_in_a_script_are_answered_after_it(i, b):
    text = '<hdsoMod idNum="104" NumElts="1">5</hdsoMod><hdsoSpec idNum="104"/><hdsoSpec idNum="102"/>'
    assert i.do(f"<hdsoscript>{text}</hdsoscript>".encode()).status == "conditional"
    assert i.status().response_type == "withdata"
    assert [(mod.id_num, mod.data) for mod in i.hear().entries] == [(104, (5.0,)), (102, (10.0,))]


def test_extended_commands(i, b):
    b.core._off(0, "test")
    assert i.do(command("extended", extendedcommand="arm")).status == "success"
    assert b.block.words[Word.LATCHED] == 0
    assert i.do(command("extended", "smoke", extendedcommand="off")).status == "success"
    assert b.core.obeyed[-1][1][1].startswith("smoke")
    assert i.do(command("extended", extendedcommand="dance")).status == "fail"


def test_only_one_client_changes_things(i, b):
    b.client("Ann").ask("take_control")
    answer = i.do(command("run"))
    assert answer.status == "fail"
    assert "Ann" in answer.text
    poll = '<hdsoscript><hdsoSpec idNum="102"/></hdsoscript>'
    assert i.do(command("log", poll, extendedcommand="poll")).status == "success"
    i.hear()
    # To read, and to take the torque off, nobody needs control.
    assert i.do(poll.encode()).status == "conditional"
    assert i.status().response_type == "withdata"
    assert [mod.id_num for mod in i.hear().entries] == [102]
    assert i.do(command("extended", "smoke", extendedcommand="off")).status == "success"
    assert b.core.obeyed[-1][1][1].startswith("smoke")
    assert i.do(command("stop")).status == "fail"


@pytest.mark.parametrize(
    "rubbish",
    [
        b"<",
        b"<hdsoscript>",
        b"<hdsoscript/><hdsoscript/>",
        b"<jointlist name='x'/>",
        b"<!DOCTYPE a [<!ENTITY x 'y'>]><hdsoscript/>",
        b"<html/>",
        b"\xef\xbb\xbf<html/>",
        b"<hdsoscript>\xff</hdsoscript>",
        b"<sccils_commandscript><sccils_command/></sccils_commandscript>",
    ],
)
def test_rubbish_is_answered_with_fail_and_the_next_request_works(i, rubbish):
    assert i.do(rubbish).status == "fail"
    assert i.do(command("stop")).status == "success"


def test_a_document_with_doctype_and_declaration_is_taken(i):
    head = b'<?xml version="1.0"?>\n<!DOCTYPE sccils_command SYSTEM "sccils_commandscript.dtd">\n'
    assert i.do(head + b'<sccils_command commandtype="stop"/>').status == "success"


def test_a_large_document_is_read_beside_the_loop(i, b):
    mods = [(104, 5.0 + k % 3, f"{k}.5") for k in range(1, 100)]
    assert len(change(*mods)) > 4096
    assert i.do(change(*mods)).status == "conditional"
    assert i.status().status == "success"
    assert len(b.client().ask("pending")) == 99


def test_a_client_that_sends_more_than_may_wait_gets_an_answer_to_each(i, b):
    i.do(start("lin_roach"))
    i.hear()
    for _ in range(MAX_QUEUED + 5):
        i.say(command("stop"))
    i.talk.delivered()
    for _ in range(3):
        i.say(ACK)
        i.talk.recv()
    i.say(ACK)
    assert i.status().status == "success"
    assert [i.status().status for _ in range(MAX_QUEUED + 5)] == ["success"] * MAX_QUEUED + ["fail"] * 5


def test_acknowledgements_nobody_waits_for_are_not_answered(i):
    i.say(ACK)
    assert i.talk.silent()


WORDS = st.sampled_from(
    [
        "<sccils_commandscript>",
        "</sccils_commandscript>",
        '<sccils_command commandtype="run"/>',
        '<sccils_command commandtype="stop"/>',
        '<sccils_command commandtype="log" extendedcommand="poll">',
        "</sccils_command>",
        "<hdsoscript>",
        "</hdsoscript>",
        '<hdsoMod idNum="104" NumElts="1" time="0">5</hdsoMod>',
        '<hdsoSpec idNum="-1"/>',
        '<sccils_command_response responsestatus="success"/>',
        '<sccils_config_command configtype="available" configname="x"/>',
        "text",
        "&amp;",
        "\0",
    ]
)


def test_no_document_made_of_pieces_stops_the_service(b):
    talk = b.client()
    sent = []

    @settings(max_examples=150, deadline=None, derandomize=True)
    @given(st.lists(WORDS, min_size=1, max_size=6))
    def attack(words):
        sent.append("".join(words))
        talk.raw(("<" + "".join(words).lstrip("<")).encode())
        b.turn()

    attack()
    talk.delivered()
    assert b.client("Ann").ask("status")["mode"] in ("CONFIGURED", "RUNNING", "STOPPED")
    assert "service_error" not in [event["name"] for event in b.client().ask("events")]
