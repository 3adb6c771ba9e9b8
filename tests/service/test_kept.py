"""What is tried for a while, kept under a name, and told of edits and rules: through real sockets."""

from __future__ import annotations

import pytest

from nuc_engine.service.methods_edits import MOST_KEPT
from tests.service.bench import Refusal


def in_a_bout(b, name="Ann"):
    talk = b.client(name)
    talk.ask("run")
    b.core.cycle()
    b.turn()
    return talk


def later(b, seconds):
    b.now += round(seconds * 1e9)
    b.core.cycle()
    b.turn(3)


def load(talk):
    return talk.ask("get", names=["pro_load"])["values"]["pro_load"]


def test_what_is_tried_goes_back_by_itself(b):
    talk = in_a_bout(b)
    before = load(talk)
    tried = talk.ask("set", changes=[["pro_load", -0.25]], back_after_s=2.0)
    assert load(talk) == -0.25
    (waiting,) = talk.ask("pending")
    assert waiting["request"] == tried["back"]
    assert waiting["author"].startswith("Ann")
    later(b, 1.9)
    assert load(talk) == -0.25
    later(b, 0.2)
    assert load(talk) == before
    assert talk.ask("pending") == []


def test_what_is_tried_stays_where_the_way_back_is_withdrawn(b):
    talk = in_a_bout(b)
    tried = talk.ask("set", changes=[["pro_load", -0.25]], back_after_s=2.0)
    talk.ask("forget", request=tried["back"])
    later(b, 3.0)
    assert load(talk) == -0.25


def test_what_is_tried_goes_back_though_the_bout_ends_before(b):
    talk = in_a_bout(b)
    before = load(talk)
    talk.ask("set", changes=[["pro_load", -0.25]], back_after_s=60.0)
    talk.ask("stop")
    b.turn(3)
    assert load(talk) == before
    assert talk.ask("history")["done"][0]["author"].startswith("Ann")


def test_what_is_tried_goes_back_though_the_core_dies_before(b):
    talk = in_a_bout(b)
    before = load(talk)
    talk.ask("set", changes=[["pro_load", -0.25]], back_after_s=60.0)
    b.core.die()
    b.core.begin(keep=True)
    b.turn(4)
    b.core.cycle()
    b.turn(4)
    assert load(talk) == before


def test_what_is_tried_goes_back_though_its_time_came_before_it_was_written(b):
    talk = in_a_bout(b)
    before = load(talk)
    b.core.mute = True  # a core that is held up takes both when their time has come
    number = talk.send("set", changes=[["pro_load", -0.25]], back_after_s=0.0)
    talk.delivered()
    b.now += 500_000_000
    b.core.mute = False
    assert talk.answer(number)["back"]
    later(b, 0.1)
    assert load(talk) == before


def test_what_was_tried_of_another_configuration_is_not_put_back_into_this_one(b):
    talk = in_a_bout(b)
    talk.ask("set", changes=[["pro_load", -0.25]], back_after_s=60.0)
    talk.ask("stop")
    b.configured()
    before = load(talk)
    b.pass_time(2.0)
    assert load(talk) == before


def test_one_element_goes_back_alone(b):
    talk = in_a_bout(b)
    talk.ask("set", changes=[["Promotor_FL[0]", 3.0]], back_after_s=1.0)
    talk.ask("set", changes=[["Promotor_FL[1]", -4.0]])
    later(b, 1.1)
    assert talk.ask("get", names=["Promotor_FL"])["values"]["Promotor_FL"] == [2.0, -4.0]


@pytest.mark.parametrize(
    ("more", "text"), [({"back_after_s": 1.0}, "no engine time"), ({"back_after_s": 1.0, "time_s": 2.0}, "one of them")]
)
def test_nothing_is_tried_where_it_could_not_go_back(b, more, text):
    talk = b.client("Ann")
    before = load(talk)
    with pytest.raises(Refusal, match=text):
        talk.ask("set", changes=[["pro_load", -0.25]], **more)
    assert load(talk) == before


def test_a_trial_that_is_refused_leaves_nothing_behind(b):
    talk = in_a_bout(b)
    b.core.obeyed.clear()
    with pytest.raises(Refusal):
        talk.ask("set", changes=[["pro_load", -0.25], ["pro_angle", 1e9]], back_after_s=1.0)
    assert talk.ask("pending") == []


def test_two_sets_of_values(b):
    talk = b.client("Ann")
    talk.ask("keep_values", name="A")
    talk.ask("set", changes=[["pro_load", -0.25], ["Promotor_FL", [1.0, 1.5]]])
    kept = talk.ask("keep_values", name="B")
    assert kept["differing"] == []
    assert {one["name"]: one["differing"] for one in talk.ask("kept_values")}["A"] == ["pro_load", "Promotor_FL"]
    told = talk.ask("recall_values", name="A")
    assert {part["name"] for part in told["applied"]} == {"pro_load", "Promotor_FL"}
    assert talk.ask("get", names=["Promotor_FL"])["values"]["Promotor_FL"] == [2.0, -1.5]
    talk.ask("undo")
    assert load(talk) == -0.25, "all of it is one edit"
    with pytest.raises(Refusal, match="already"):
        talk.ask("recall_values", name="B")


def test_kept_values_are_of_one_configuration_and_few(b):
    talk = b.client("Ann")
    for k in range(MOST_KEPT):
        talk.ask("keep_values", name=f"set{k}")
    with pytest.raises(Refusal, match="are kept"):
        talk.ask("keep_values", name="one_more")
    talk.ask("keep_values", name="set3")
    with pytest.raises(Refusal, match="set3"):
        talk.ask("recall_values", name="set33")
    b.configured()
    assert talk.ask("kept_values") == []


def test_the_history_has_authors_and_values(b):
    ann, ben = b.client("Ann"), b.client("Ben")
    ann.ask("set", changes=[["pro_load", -0.25]])
    ann.ask("release_control")
    ben.ask("set", changes=[["pro_load", -0.75]])
    ben.ask("joint_mode", joint="Coxa", mode="hold")
    told = ben.ask("history")
    assert [edit["author"].split()[0] for edit in told["done"]] == ["Ben", "Ben", "Ann"]
    (mode,), (write,) = (edit["changes"] for edit in told["done"][:2])
    assert (mode["what"], mode["name"], mode["after"]) == ("mode", "Coxa", "hold")
    assert (write["name"], write["before"], write["after"]) == ("pro_load", -0.25, -0.75)
    ben.ask("undo")
    assert len(ben.ask("history")["undone"]) == 1
    assert ben.ask("status")["edits"] == 4


def test_an_edit_of_an_earlier_bout_has_no_engine_time_of_this_one(b):
    talk = in_a_bout(b)
    talk.ask("set", changes=[["pro_load", -0.25]])
    assert talk.ask("history")["done"][0]["time_s"] >= 0
    talk.ask("stop")
    later(b, 5.0)
    talk.ask("run")
    assert talk.ask("history")["done"][0]["time_s"] is None


def test_a_drag_of_many_edits_is_one_of_the_history(b):
    talk = b.client("Ann")
    before = load(talk)
    request = 0
    for value in (-0.25, -0.125, -0.75):
        request = talk.ask("set", changes=[["pro_load", value]], merge=request)["request"]
    (edit,) = talk.ask("history")["done"]
    assert [edit["changes"][0][key] for key in ("before", "after")] == [before, -0.75]


def test_a_joint_that_is_moved_through_many_angles_is_put_back_by_one_undo(b):
    talk = in_a_bout(b)
    request = 0
    for angle in (10.0, 20.0, 30.0):
        request = talk.ask("pose", angles={"Coxa": angle}, rate_deg_s=30, merge=request)["request"]
    talk.ask("pose", angles={"Coxa": 40.0})
    assert len(talk.ask("history")["done"]) == 2
    talk.ask("undo")
    talk.ask("undo")
    assert talk.ask("history")["done"] == []
    assert talk.ask("get", names=["joint.Coxa.mode"])["values"] == {"joint.Coxa.mode": "muscle"}


def test_rules_are_told_with_their_comparisons_and_how_far_they_are_from_turning(b):
    talk = b.client("Ann")
    b.core.cycle({0: 25.0})
    b.turn()
    told = {rule["rule"]: rule for rule in talk.ask("rules", joint="Coxa")}
    values = talk.ask("get", names=[*told, *(f"rule.{name}" for name in told)])["values"]
    for name, rule in told.items():
        assert rule["text"] == values[name]
        assert rule["true"] == values[f"rule.{name}"]
        for part in rule["comparisons"]:
            if part["op"]:
                distance = part["left_value"] - part["right_value"]
                assert part["distance"] == pytest.approx(distance if part["op"] == ">" else -distance)
                assert part["true"] == (part["distance"] > 0)
    assert {rule["joint"] for rule in talk.ask("rules")} == {"Coxa"}, "the other joint has no actions"
    with pytest.raises(Refusal, match="joint"):
        talk.ask("rules", joint="Coxe")
