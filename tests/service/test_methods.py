"""The MessagePack methods, through real sockets, against a core of paper."""

from __future__ import annotations

from array import array
from inspect import signature
from typing import get_type_hints

import msgpack
import pytest

from nuc_engine.daemon.block import Word
from nuc_engine.daemon.off_requests import Requester, pending_requesters
from nuc_engine.daemon.wire import CoreCommand, RecordKind
from nuc_engine.messages.requests import REQUESTS
from nuc_engine.service.methods import HANDLERS
from sccils_schemas.model import MODEL_FILES
from tests.sccils.small import SMALL
from tests.service.bench import HERE, Refusal, bench


def refused(talk, method, **params):
    with pytest.raises(Refusal) as caught:
        talk.ask(method, **params)
    return caught.value


def test_hello_says_what_is_there_and_who_one_is(b):
    greeting = b.client().ask("hello", name="Ann")
    assert greeting["mode"] == "CONFIGURED"
    assert greeting["configuration"] == "small"
    assert (greeting["author"], greeting["verified"], greeting["role"]) == (f"Ann {HERE}", False, "admin")
    assert greeting["control"] == ""


def test_status_of_a_daemon_that_runs(b):
    status = b.client("Ann").ask("status")
    assert status["ready"]
    assert status["buses"] == {"": "aimotor:///dev/null"}
    assert [client["name"] for client in status["clients"]] == ["Ann"]
    assert "motor_action" in " ".join(status["tasks"])


def test_status_tells_latch_reason_and_who_has_not_confirmed(b):
    b.block.words[Word.LATCHED] = 1
    b.block.words[Word.UNCONFIRMED] = 0b10
    status = b.client().ask("status")
    assert status["latched"]
    assert status["latch_reason"]
    assert status["unconfirmed"] == ["Femur_motor"]


def test_status_tells_what_the_core_has_said_of_its_buses(b):
    b.core.recorder.tell(RecordKind.REFUSALS, b.now, ["Femur_motor: another model"])
    b.core.recorder.tell(RecordKind.BUS, b.now, {"missed": 3, "restarts": 1})
    b.turn()
    status = b.client().ask("status")
    assert status["bus_counts"] == {"missed": 3, "restarts": 1}
    assert status["refusals"] == ["Femur_motor: another model"]


def test_without_a_configuration_there_is_only_what_needs_none(bare):
    talk = bare.client("Ann")
    assert talk.ask("status")["mode"] == "UNCONFIGURED"
    for method, params in (("get", {"names": ["x"]}), ("run", {}), ("model", {}), ("pose_save", {"name": "p"})):
        assert refused(talk, method, **params).kind == "refused"


def test_configure_by_documents_starts_a_core_and_gives_them_back(bare):
    talk = bare.client("Ann")
    texts = {name: (SMALL / name).read_text() for name in MODEL_FILES}
    answer = talk.ask("configure", name="mine", documents=texts)
    assert answer["name"] == "mine"
    assert talk.ask("status")["configuration"] == "mine"
    assert talk.ask("documents") == texts
    assert talk.ask("model")["counts"]["motors"] == 2


def test_configure_by_name(bare):
    talk = bare.client("Ann")
    assert "lin_roach" in [found["name"] for found in talk.ask("configurations")]
    talk.ask("configure", name="lin_roach")
    assert talk.ask("get", names=["motor_speed"])["values"] == {"motor_speed": 3}


def test_a_bad_configuration_changes_nothing_and_says_every_reason(b):
    texts = {name: (SMALL / name).read_text() for name in MODEL_FILES}
    texts["joints.xml"] = texts["joints.xml"].replace('fmax="15"', 'fmax="much"').replace('fmax="18"', "")
    error = refused(b.client("Ann"), "configure", name="bad", documents=texts)
    assert error.text.count("joints.xml") >= 2
    assert b.client().ask("status")["configuration"] == "small"


def test_configure_is_refused_while_a_bout_runs(b):
    talk = b.client("Ann")
    talk.ask("run")
    assert "stop it first" in refused(talk, "configure", name="lin_roach").text


def test_get_reads_hdsos_by_name_and_id_and_everything_else_by_name(b):
    b.core.cycle({0: 12.5})
    names = ["Coxa_angle", 301, "301", "joint.Coxa.angle_deg", "motor.Coxa_motor.sent_raw", "rule.Retraction", "nix"]
    answer = b.client().ask("get", names=names)
    assert answer["unknown"] == ["nix"]
    values = answer["values"]
    assert values["Coxa_angle"] == values["301"] == values["joint.Coxa.angle_deg"] == 12.5
    assert values["motor.Coxa_motor.sent_raw"] == 101
    assert values["rule.Retraction"] is True  # 1.5 > 0.5
    assert answer["cycle"] == 2


def test_set_takes_effect_and_says_when(b):
    talk = b.client("Ann")
    talk.ask("run")
    b.pass_time(1.5)
    b.core.cycle()
    answer = talk.ask("set", changes=[["pro_angle", 12.5], [101, -1]])
    assert answer["applied"] == [{"name": "pro_angle", "value": 12.5}, {"name": "pro_load", "value": -1.0}]
    assert (answer["cycle"], answer["time_s"]) == (1, pytest.approx(1.5))
    assert talk.ask("get", names=["pro_angle"])["values"] == {"pro_angle": 12.5}
    assert b.logger.author(answer["request"]) == f"Ann {HERE}"


def test_set_writes_a_rule_as_text_with_names(b):
    talk = b.client("Ann")
    talk.ask("set", changes=[["Enter_Retraction", "Coxa_current > gap"], ["gap", 3.0]])
    values = talk.ask("get", names=["Enter_Retraction", "rule.Retraction"])["values"]
    assert values["Enter_Retraction"] == "Coxa_current > gap"
    b.core.cycle()
    assert talk.ask("get", names=["rule.Retraction"])["values"] == {"rule.Retraction": False}


@pytest.mark.parametrize(
    ("change", "word"),
    [
        (["nix", 1], "no HDSO"),
        (["pro_angl", 1], "pro_angle"),
        (["Coxa_angle", 1], "engine only"),
        (["one_const", 1], "constant"),
        (["Coxa_DH", [1, 2, 3, 4]], "geometry"),
        (["motor_speed", 2.5], "2.5"),
        (["motor_speed", 9], "range"),
        (["pro_angle", [1, 2]], "2 values"),
        (["pro_angle", "1"], "numbers"),
        (["Enter_Retraction", 3], "rule"),
        (["Enter_Retraction", "302 >"], "rule ends"),
        (["Enter_Retraction", "302 > nix"], "nix"),
        (["pro_angle", 1e300], "float"),
    ],
)
def test_what_can_not_be_set_is_refused_with_the_reason_and_nothing_is_set(b, change, word):
    talk = b.client("Ann")
    error = refused(talk, "set", changes=[["gap", 5.0], change])
    assert word in f"{error.text} {error.hint}"
    assert talk.ask("get", names=["gap"])["values"] == {"gap": None}


def test_what_only_the_core_can_refuse_is_in_the_answer(b):
    answer = b.client("Ann").ask("set", changes=[["Enter_Retraction", "161"], ["Enter_Protraction", "162"]])
    assert [part["name"] for part in answer["refused"]] == ["Enter_Retraction", "Enter_Protraction"]
    assert answer["applied"] == []


def test_a_timed_change_waits_is_listed_and_takes_effect(b):
    talk = b.client("Ann")
    talk.ask("run")
    answer = talk.ask("set", changes=[["gap", 5.0]], time_s=2.0)
    request = answer["pending"]
    assert talk.ask("pending") == [{"request": request, "author": f"Ann {HERE}", "time_s": 2.0, "names": ["gap"]}]
    b.pass_time(1.9)
    assert talk.ask("get", names=["gap"])["values"] == {"gap": None}
    b.pass_time(0.2)
    assert talk.ask("get", names=["gap"])["values"] == {"gap": 5.0}
    assert talk.ask("pending") == []
    done = [event for event in talk.ask("events") if event["name"] == "done"]
    assert [(event["request"], event["applied"]) for event in done] == [(request, [{"name": "gap", "value": 5.0}])]


def test_what_waits_can_be_forgotten(b):
    talk = b.client("Ann")
    talk.ask("run")
    first, second = (talk.ask("set", changes=[["gap", 5.0 + k]], time_s=2.0 + k)["pending"] for k in (1.0, 2.0))
    assert talk.ask("forget", request=first) == {"forgotten": 1}
    assert [edit["request"] for edit in talk.ask("pending")] == [second]
    assert talk.ask("forget", request="all") == {"forgotten": 1}
    assert refused(talk, "forget", request=second).kind == "not_found"


def test_what_waits_when_the_bout_ends_is_told_as_not_done(b):
    talk = b.client("Ann")
    talk.ask("run")
    talk.ask("set", changes=[["gap", 6.0]], time_s=20.0)
    talk.ask("stop")
    assert talk.ask("pending") == []
    assert "not_done" in [event["name"] for event in talk.ask("events")]


SCRIPT = """<hdsoscript name="turn"><hdsoMod idNum="104" NumElts="1" time="{0}">7</hdsoMod>
<hdsoMod idNum="101" NumElts="1" time="{1}">-3</hdsoMod></hdsoscript>"""


def test_a_script_before_the_run_is_partly_at_once_and_partly_waits(b):
    talk = b.client("Ann")
    answer = talk.ask("script", text=SCRIPT.format(0, 2))
    assert [part["name"] for part in answer["applied"]] == ["gap"]
    assert answer["pending"]
    talk.ask("run")
    b.pass_time(2.5)
    assert talk.ask("get", names=["pro_load"])["values"] == {"pro_load": -3.0}
    told = [entry for entry in b.logger.told if entry[:2] == ("script", "turn")]
    # Two times, two changesets: the logger knows which writes are the script's.
    assert [entry[3] for entry in told] == [(answer["requests"][0] - 1, answer["requests"][0])]


def test_a_script_can_count_from_now(b):
    talk = b.client("Ann")
    talk.ask("run")
    b.pass_time(5)
    answer = talk.ask("script", text=SCRIPT.format(0, 2), offset="now")
    assert [edit["time_s"] for edit in talk.ask("pending")] == [pytest.approx(7.0)]
    assert answer["applied"]


def test_a_script_that_counts_from_now_needs_a_bout(b):
    assert "no engine time" in refused(b.client("Ann"), "script", text=SCRIPT.format(0, 2), offset="now").text


def test_a_bad_script_is_refused_whole(b):
    talk = b.client("Ann")
    text = SCRIPT.format(0, 2).replace('"101"', '"13"')
    assert "13" in refused(talk, "script", text=text).text
    assert talk.ask("get", names=["gap"])["values"] == {"gap": None}


def test_run_and_stop(b):
    talk = b.client("Ann")
    answer = talk.ask("run", delay_s=0.5, stop_s=10, labels={"surface": "felt"}, notes="first")
    assert answer["bout"] == 1
    kind, items = b.core.obeyed[-1]
    assert (kind, items[1:]) == (CoreCommand.RUN, [500_000_000, 10_000_000_000, 1])
    assert ("label", "surface", "felt", f"Ann {HERE}", "once") in b.logger.told, "of this bout alone"
    assert ("note", "first", f"Ann {HERE}") in b.logger.told
    assert refused(talk, "run").kind == "refused"
    assert talk.ask("stop", policy="hold")["mode"] == "STOPPED"
    assert b.core.obeyed[-1][1][1] == "hold"
    assert talk.ask("run")["bout"] == 2


def test_a_run_whose_rules_would_read_what_has_no_value_is_refused(b):
    talk = b.client("Ann")
    talk.ask("set", changes=[["gap", 6.0]])
    talk.ask("set", changes=[["Enter_Retraction", "302 > 104"]])
    b.core.store.flags[b.core.plan.hdso("gap").index] = 0
    b.service.hub.book.known.pop(b.core.plan.hdso("gap").index)
    b.core.cycle()
    assert "gap" in refused(talk, "run").text


def test_off_is_for_everybody_and_latches(b):
    ann, bob = b.client("Ann"), b.client("Bob")
    bob.ask("hello", name="Bob", role="watch")
    ann.ask("run")
    answer = bob.ask("off", why="smoke")
    assert answer == {"mode": "STOPPED", "torque": False, "unconfirmed": [], "confirmed_ms": {}}
    status = ann.ask("status")
    assert (status["mode"], status["latched"], status["latch_reason"]) == ("STOPPED", True, "off")
    assert b.core.obeyed[-1][1][1] == f"smoke (Bob {HERE})"
    for method, how in {"run": {}, "pose": {"angles": {"Femur": 80.0}}, "configure": {"name": "lin_roach"}}.items():
        assert "arm" in refused(ann, method, **how).text
    assert ann.ask("arm") == {"mode": "STOPPED", "latched": False}


def test_off_tells_how_long_each_servo_took_to_confirm(b):
    words = b.block.words
    coxa, femur = b.core.plan.motors
    words[Word.LIMP_SINCE + coxa.index] = b.now + 4_000_000
    words[Word.LIMP_SINCE + femur.index] = b.now - 1
    assert b.client("Ann").ask("off")["confirmed_ms"] == {coxa.name: 4.0, femur.name: 0.0}
    words[Word.UNCONFIRMED] = 1 << femur.index
    answer = b.client("Bob").ask("off")
    assert (answer["confirmed_ms"].keys(), answer["unconfirmed"]) == ({coxa.name}, [femur.name])


def test_off_asks_the_guardian_when_the_core_does_not_answer(b):
    b.block.words[Word.TORQUE] = 1
    b.core.mute = True
    talk = b.client("Ann")
    number = talk.send("off")
    talk.delivered()
    assert not pending_requesters(b.block.words)
    b.now += 16_000_000
    b.turn(2)
    assert pending_requesters(b.block.words) == (Requester.SERVICE,)
    b.now += 3_000_000_000
    assert talk.answer(number)["torque"] is True


def test_control_comes_with_the_first_change_and_keeps_others_out(b):
    ann, bob = b.client("Ann"), b.client("Bob")
    ann.ask("set", changes=[["gap", 6.0]])
    assert b.client().ask("status")["control"] == "Ann"
    error = refused(bob, "set", changes=[["gap", 2.0]])
    assert error.kind == "no_control"
    assert "Ann" in error.text
    assert bob.ask("get", names=["gap"])["values"] == {"gap": 6.0}


def test_who_gets_control_by_a_request_is_told(b):
    talk = b.client("Ann")
    answers = []
    for _ in range(2):
        talk.raw(msgpack.packb({"id": 7, "method": "set", "params": {"changes": [["gap", 6.0]]}}))
        answers.append(msgpack.unpackb(talk.recv()))
    assert "note" in answers[0]
    assert "note" not in answers[1]


def test_control_is_handed_over_taken_and_given_back(b):
    ann, bob = b.client("Ann"), b.client("Bob")
    ann.ask("take_control")
    assert refused(bob, "take_control").kind == "no_control"
    assert ann.ask("hand_over", to="Bob") == {"control": "Bob"}
    assert refused(ann, "hand_over", to="Ann").kind == "no_control"
    assert ann.ask("take_control", force=True) == {"control": "Ann"}
    assert ann.ask("release_control") == {"control": ""}
    bob.ask("set", changes=[["gap", 2.0]])


def test_control_times_out(tmp_path):
    with bench(tmp_path, control_timeout_s=5.0) as b:
        b.configured()
        ann, bob = b.client("Ann"), b.client("Bob")
        ann.ask("take_control")
        b.pass_time(4.9)
        assert refused(bob, "take_control").kind == "no_control"
        b.pass_time(0.2)
        assert bob.ask("take_control") == {"control": "Bob"}


def test_a_client_that_only_watches_changes_nothing(b):
    talk = b.client()
    talk.ask("hello", name="Eve", role="watch")
    for name, kind in REQUESTS.items():
        if kind.needs != "watch":
            needed = {key: _some(key) for key in kind.__struct_fields__}
            assert refused(talk, name, **needed).kind == "not_allowed", name
    talk.ask("get", names=["gap"])


def _some(name):
    return {
        "changes": [["gap", 6.0]],
        "labels": {"a": "b"},
        "angles": {"Coxa": 1.0},
        "documents": {"joints.xml": ""},
        "time_s": 1.0,
        "back_after_s": 1.0,
        "merge": 0,
        "delay_s": 0.0,
        "start_s": 0.0,
        "stop_s": 1.0,
        "ticks": 1,
        "value": "off",
        "rate_deg_s": 10,
        "overwrite": False,
        "force": False,
        "policy": "off",
        "kind": "script",
        "mode": "limp",
        "offset": "now",
        "request": 1,
    }.get(name, "x")


def test_every_method_refuses_parameters_it_does_not_know(b):
    talk = b.client("Ann")
    for name in REQUESTS:
        error = refused(talk, name, colour="red")
        assert (error.kind, "no parameter 'colour'" in error.text) == ("bad_request", True), name


def test_every_request_is_done_by_somebody_and_answered_with_what_it_says():
    assert set(HANDLERS) == set(REQUESTS.values())
    for kind, run in HANDLERS.items():
        assert get_type_hints(run)["asked" if "asked" in signature(run).parameters else "_asked"] is kind


def test_everything_that_does_not_fit_is_told_at_once(b):
    error = refused(b.client("Ann"), "run", delay_s=-1, stop_s="soon", lables={"a": "b"})
    assert "no parameter 'lables'" in error.text
    assert "delay_s of run is -1; expected a finite number from 0 to 1e+08" in error.text
    assert "stop_s of run is 'soon'" in error.text
    assert "labels" in error.hint
    lacking = refused(b.client("Ann"), "joint_mode", mode="jump").text
    assert "lacks its parameter 'joint'" in lacking
    assert "expected muscle or force or position or hold or limp" in lacking


@pytest.mark.parametrize(
    ("method", "params"),
    [
        ("get", {}),
        ("get", {"names": []}),
        ("get", {"names": [True]}),
        ("get", {"names": "gap"}),
        ("set", {"changes": [["gap"]]}),
        ("set", {"changes": [["gap", None]]}),
        ("set", {"changes": [["gap", float("nan")]]}),
        ("set", {"changes": [["gap", []]]}),
        ("set", {"changes": [["gap", 6.0]], "time_s": -1.0}),
        ("set", {"changes": [["gap", 6.0]], "time_s": float("inf")}),
        ("run", {"delay_s": -1}),
        ("run", {"delay_s": "1"}),
        ("run", {"labels": {"a": 1}}),
        ("stop", {"policy": "jump"}),
        ("log", {"start_s": 5.0, "stop_s": 4.0}),
        ("hello", {"name": 5}),
        ("subscribe", {"names": ["gap"], "rate_hz": 0}),
        ("tweak", {"joint": "Coxa", "ticks": 70_000}),
    ],
)
def test_parameters_are_checked(b, method, params):
    assert refused(b.client("Ann"), method, **params).kind == "bad_request"


def test_an_unknown_method_is_answered_with_the_nearest(b):
    error = refused(b.client(), "statsu")
    assert error.kind == "unknown_method"
    assert "status" in error.hint


def test_what_is_clamped_stands_in_status_and_history_until_it_is_let_go(b):
    talk = b.client("Ann")
    b.core.cycle({0: 20.0})
    sensor = b.service.hub.plan.hdsos[b.service.hub.plan.motors[0].angle].name
    assert talk.ask("status")["clamps"] == {}
    talk.ask("sense", sensor=sensor, value=33)
    index = b.core.plan.motors[0].angle
    own = memoryview(array("f", [20.0]))
    b.core.store.parted[index] = (own, 0)  # as the real core parts them
    b.core.store.write(index, (33.0,))
    b.core.recorder.sensors(b.now, b.core.store)
    b.core.store.publish(1, b.now)
    b.turn()
    assert talk.ask("status")["clamps"] == {sensor: 33.0}
    names = [sensor, f"sensor.{sensor}.measured"]
    assert list(talk.ask("get", names=names)["values"].values()) == [33.0, 20.0]
    (edit,) = talk.ask("history")["done"]
    assert edit["changes"] == [{"what": "sense", "name": sensor, "before": "off", "after": 33.0}]
    talk.ask("undo")
    assert talk.ask("status")["clamps"] == {}


def test_the_way_back_to_what_was_held_is_the_number_held(b):
    talk = b.client("Ann")
    b.core.cycle({0: 20.0})
    index = b.core.plan.motors[0].angle
    sensor = b.core.plan.hdsos[index].name
    own = memoryview(array("f", [20.0]))
    b.core.store.parted[index] = (own, 0)  # as the real core parts them
    talk.ask("sense", sensor=sensor, value="hold")
    b.core.store.write(index, (33.0,))
    b.core.recorder.sensors(b.now + 1, b.core.store)
    b.turn()
    talk.ask("sense", sensor=sensor, value="off")
    (released, _) = talk.ask("history")["done"]
    assert released["changes"] == [{"what": "sense", "name": sensor, "before": 33.0, "after": "off"}]
    talk.ask("undo")
    made = [items[3] for kind, items in b.core.obeyed if kind == CoreCommand.CHANGESET]
    assert made[-1] == [["sense", index, 33.0]]
    b.now += 2
    # Nothing was sensed since it was held again: what there was before says nothing of it.
    talk.ask("sense", sensor=sensor, value="hold")
    talk.ask("sense", sensor=sensor, value="off")
    assert talk.ask("history")["done"][0]["changes"][0]["before"] == "hold"


def test_joint_modes_tweaks_and_poses_go_to_the_core(b):
    talk = b.client("Ann")
    answer = talk.ask("joint_mode", joint="Coxa", mode="limp")
    assert answer["applied"] == [{"name": "mode of Coxa", "value": "limp"}]
    talk.ask("tweak", joint=1, ticks=-3)
    assert talk.ask("get", names=["joint.Coxa.tweak"])["values"] == {"joint.Coxa.tweak": -3.0}
    talk.ask("pose", angles={"Coxa": 20.0}, rate_deg_s=30)
    controls = [items[3] for kind, items in b.core.obeyed if kind == CoreCommand.CHANGESET]
    assert controls[-1] == [["rate", 0, 30.0], ["target", 0, 20.0]]
    assert talk.ask("get", names=["joint.Coxa.mode"])["values"] == {"joint.Coxa.mode": "hold"}
    assert refused(talk, "joint_mode", joint="Coxa", mode="dance").kind == "bad_request"
    assert refused(talk, "joint_mode", joint="Elbow", mode="limp").kind == "not_found"
    assert refused(talk, "pose", angles={"Coxa": 1e6}).kind == "refused"


def test_poses_are_saved_listed_and_reached(b):
    talk = b.client("Ann")
    b.core.cycle({0: 11.0, 1: 22.0})
    assert talk.ask("pose_save", name="rest")["angles"] == {"Coxa": 11.0, "Femur": 22.0}
    assert talk.ask("poses") == {"rest": {"Coxa": 11.0, "Femur": 22.0}}
    talk.ask("pose", name="rest")
    assert b.core.obeyed[-1][1][3] == [["target", 0, 11.0], ["target", 1, 22.0]]
    assert refused(talk, "pose", name="nix").kind == "not_found"
    assert refused(talk, "pose").kind == "bad_request"
    assert talk.ask("park", name="rest")["rate_deg_s"] == 20.0
    assert b.core.parked == ({0: 11.0, 1: 22.0}, 20.0)


def test_a_position_command_may_be_written_once_its_joint_is_in_position_mode(b):
    talk = b.client("Ann")
    assert b.core.plan.joints[1].control_mode == "position"
    talk.ask("set", changes=[["Femur_position", 130.0]])
    assert "force mode" in refused(talk, "set", changes=[["Femur_force", 3.0]]).text
    talk.ask("joint_mode", joint="Femur", mode="force")
    talk.ask("set", changes=[["Femur_force", 3.0]])


def test_notes_marks_and_labels_reach_the_logger(b):
    talk = b.client("Ann")
    talk.ask("mark", text="slipped")
    talk.ask("notes", text="left leg")
    talk.ask("labels", labels={"operator": "Ann", "surface": "sand"})
    assert [entry[0] for entry in b.logger.told] == ["mark", "note", "label", "label"]
    assert b.logger.told[-1] == ("label", "surface", "sand", f"Ann {HERE}")


def test_log_and_stoplog_reach_the_logger(b):
    talk = b.client("Ann")
    talk.ask("log", start_s=2.5, stop_s=7.5)
    talk.ask("log")
    talk.ask("stoplog")
    assert b.logger.told == [
        ("window", 2_500_000_000, 7_500_000_000, ""),
        ("window", 0, -1, ""),
        ("window_end", -1),
    ]


def test_the_logger_gets_its_dump(b):
    b.dump = True
    b.turn(2)
    assert b.core.obeyed[-1][0] == CoreCommand.DUMP


def test_shutdown_needs_the_role_and_reaches_the_supervisor(b):
    talk = b.client("Ann")
    talk.ask("shutdown")
    assert b.block.words[Word.SHUTDOWN] == 1


GRADUAL = """<hdsoscript name="slowly"><gradual time="2" duration="4" steps="2">
<hdsoMod idNum="101" NumElts="1">3</hdsoMod></gradual></hdsoscript>"""


def test_a_gradual_change_starts_from_the_value_in_force(b):
    talk = b.client("Ann")
    talk.ask("set", changes=[["pro_load", -1.0]])
    talk.ask("script", text=GRADUAL)
    waiting = talk.ask("pending")
    assert [(entry["names"], entry["time_s"]) for entry in waiting] == [(["pro_load"], 4.0), (["pro_load"], 6.0)]
    talk.ask("run")
    b.pass_time(4.5)
    assert talk.ask("get", names=["pro_load"])["values"] == {"pro_load": 1.0}
    b.pass_time(2)
    assert talk.ask("get", names=["pro_load"])["values"] == {"pro_load": 3.0}


def test_what_is_done_to_a_leg_by_hand_is_refused_with_what_would_help(b):
    text = GRADUAL.replace("</hdsoscript>", '<kick time="3"/></hdsoscript>')
    refusal = refused(b.client("Ann"), "script", text=text)
    assert refusal.kind == "refused"
    assert "by hand (line 2)" in refusal.text
    assert "nuc experiment --bus" in refusal.hint
    assert b.client("Bob").ask("pending") == []


def named_times(answer):
    """Return (name, value) of everything in an answer whose name speaks of a time."""
    items = answer.items() if isinstance(answer, dict) else enumerate(answer) if isinstance(answer, list) else ()
    found = []
    for key, value in items:
        if isinstance(value, int | float) and {"time", "wall", "unix", "since", "stamp"} & set(str(key).split("_")):
            found.append((key, value))
        found += named_times(value)
    return found


def test_a_time_has_one_meaning_wherever_it_stands(b):
    subscriber = b.listener("nuc.event")
    talk = b.client("Ann")
    talk.ask("run")
    b.pass_time(0.5)
    asked = [
        *(talk.ask("mark", text="slipped"), talk.ask("get", names=["gap"]), talk.ask("set", changes=[["gap", 6.0]])),
        *(talk.ask("set", changes=[["gap", 6.5]], time_s=900.0), talk.ask("pending"), talk.ask("status")),
        *(talk.ask("tasks"), talk.ask("events"), msgpack.unpackb(subscriber.recv_multipart()[1])),
    ]
    times = [pair for answer in asked for pair in named_times(answer)]
    assert {name for name, _ in times} == {"time_s", "engine_time_s", "unix_time_s"}
    assert all((value > 1_700_000_000) == (name == "unix_time_s") for name, value in times), times
