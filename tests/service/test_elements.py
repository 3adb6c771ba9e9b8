"""One element of an HDSO, and ids that stand for all: through the channel, against a core of paper."""

from __future__ import annotations

import pytest

from nuc_engine.daemon.wire import CoreCommand, RecordKind
from nuc_engine.service.mirror import Mirror
from tests.service.bench import Refusal

FL, ROW = "Promotor_FL", "pro_promotor_activation"
"""HDSOs 171, of two elements, and 141, of five."""


@pytest.fixture
def talk(b):
    talk = b.client("Ann")
    talk.ask("set", changes=[[FL, [2.0, -1.5]], [ROW, [1, 2, 3, 4, 5]]])
    return talk


def read(talk, *names):
    return list(talk.ask("get", names=list(names))["values"].values())


def test_elements_count_from_0_by_name_and_by_id(talk):
    assert read(talk, f"{FL}[0]", "171[1]", f"{ROW}[4]", "gap[0]") == [2.0, -1.5, 5.0, None]


def test_one_element_is_written_and_the_others_stay(talk):
    answer = talk.ask("set", changes=[[f"{FL}[1]", -1.25], ["141[0]", 9]])
    assert answer["applied"] == [{"name": f"{FL}[1]", "value": -1.25}, {"name": f"{ROW}[0]", "value": 9.0}]
    assert read(talk, FL, ROW) == [[2.0, -1.25], [9.0, 2.0, 3.0, 4.0, 5.0]]


def test_two_elements_of_one_hdso_are_written_together(talk):
    answer = talk.ask("set", changes=[[f"{ROW}[3]", 7], [f"{ROW}[1]", 8], [f"{ROW}[3]", 6]])
    assert [part["value"] for part in answer["applied"]] == [8.0, 6.0]
    assert answer["replaced"] == [{"name": f"{ROW}[3]", "value": 7.0}]
    assert read(talk, ROW) == [[1.0, 8.0, 3.0, 6.0, 5.0]]


def test_an_element_that_waits_for_its_time_undoes_nothing_that_was_written_meanwhile(b, talk):
    talk.ask("run")
    talk.ask("set", changes=[[f"{FL}[1]", -1.0]], time_s=2.0)
    assert [edit["names"] for edit in talk.ask("pending")] == [[f"{FL}[1]"]]
    talk.ask("set", changes=[[f"{FL}[0]", 3.0]])
    b.pass_time(2.5)
    assert read(talk, FL) == [[3.0, -1.0]]


def test_the_core_is_told_of_the_element_and_tells_all_up_to_it(b, talk):
    told = []
    b.service.hub.core.listeners.append(
        lambda kind, fields: told.append(fields) if kind == RecordKind.APPLIED else None
    )
    talk.ask("set", changes=[[f"{ROW}[2]", 7]])
    index = b.core.plan.hdso(ROW).index
    assert [items[2] for kind, items in b.core.obeyed if kind == CoreCommand.CHANGESET][-1] == [[index, [7], 2]]
    # What the logs, undo and a repetition of the bout go by is a write like any other.
    assert [fields[2:6] for fields in told] == [[index, [1.0, 2.0, 7.0], False, ""]]
    talk.ask("undo")
    assert read(talk, ROW) == [[1.0, 2.0, 3.0, 4.0, 5.0]]


@pytest.mark.parametrize(
    ("ref", "kind", "words"),
    [
        (f"{FL}[2]", "not_found", f"({FL}): there is no element [2]: it has 2, [0] to [1]"),
        (f"{FL}[-1]", "bad_request", "[-1] names no element"),
        (f"{FL}[1.0]", "bad_request", "counted from 0"),
        (f"{FL}[x]", "bad_request", "[x] names no element"),
        (f"{FL}[]", "bad_request", "[] names no element"),
        (f"{FL}[0][1]", "bad_request", "names no element"),
        (f"{FL}[\u0661]", "bad_request", "names no element"),
        (f"{FL}[99999999999999999999]", "bad_request", "names no element"),
        ("Enter_Retraction[0]", "not_found", "rules are read and written whole"),
    ],
)
def test_an_element_that_is_not_there_is_told_as_such(talk, ref, kind, words):
    for ask in (lambda: talk.ask("get", names=[FL, ref]), lambda: talk.ask("set", changes=[[FL, [5, 5]], [ref, 1]])):
        with pytest.raises(Refusal) as caught:
            ask()
        assert caught.value.kind == kind
        assert words in f"{caught.value.text} {caught.value.hint}"
    assert read(talk, FL) == [[2.0, -1.5]]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ([f"{FL}[1]", [1, 2]], "expected one number"),
        ([f"{FL}[1]", "1"], "expected one number"),
        (["one_const[0]", 2], "constant"),
        (["Coxa_DH[0]", 2], "geometry"),
        (["pro_remotor_activation[0]", 9], "range"),
        (["motor_speed[0]", 2.5], "2.5"),
        ([-1, 1], "every HDSO"),
        (["-1", 1], "every HDSO"),
        ([-3, 1], "no HDSO"),
        (["nix[0]", 1], "no HDSO"),
    ],
)
def test_what_can_not_be_written_to_an_element_is_refused(talk, change, words):
    with pytest.raises(Refusal) as caught:
        talk.ask("set", changes=[change])
    assert words in f"{caught.value.text} {caught.value.hint}"


def test_no_element_of_what_has_no_value_is_written(talk):
    answer = talk.ask("set", changes=[["gap[0]", 4.0]])
    assert answer["applied"] == []
    assert "no value yet" in answer["refused"][0]["reason"]
    assert read(talk, "gap") == [None]


def test_ids_that_stand_for_all_and_for_none(b, talk):
    everything = {hdso.name for hdso in b.core.plan.hdsos}
    for ref in (-1, "-1"):
        assert set(talk.ask("get", names=[ref])["values"]) == everything
    assert set(talk.ask("get", names=[-1, "-1"] * 2000)["values"]) == everything, (
        "told once, however often it is asked for"
    )
    assert talk.ask("get", names=[-2, "gap"])["values"] == {"gap": None}
    assert talk.ask("get", names=[-3, "-4"])["unknown"] == ["-3", "-4"]
    assert read(talk, 191) == [1.0], "a constant, by its id"


def test_an_element_can_be_streamed_and_one_that_is_not_there_is_not_found(b, talk):
    answer = talk.ask("subscribe", names=[f"{FL}[1]", f"{FL}[7]"], rate_hz=50)
    assert answer["fields"][f"{FL}[7]"] == "not found"
    assert answer["fields"][f"{FL}[1]"]["as"] == f"{FL}[1]"
    mirror: Mirror = b.service.hub.mirror
    assert mirror.field(f"{FL}[1]").read(b.service.hub.moment()) == -1.5
