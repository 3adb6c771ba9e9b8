from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import convert, to_builtins

from nuc_engine.cli.ctl import tuning
from nuc_engine.cli.ctl.link import Target
from nuc_engine.cli.ctl.rules import Term, rule_truth, term_truth, terms
from nuc_engine.cli.ctl.sessions import Tune
from nuc_engine.cli.ctl.sheet import make_sheet
from nuc_engine.cli.ctl.tuneview import tune_lines
from nuc_engine.cli.ctl.tuning import Screen, press
from nuc_engine.client import NotAnswered, Refused
from nuc_engine.client.methods import Methods
from nuc_engine.messages.answers import Acknowledgement, Reading, RecordedAnswer, RecordingAnswer
from nuc_engine.messages.requests import Request, SetRequest
from tests.client.fake_daemon import FakeDaemon, Leg
from tests.client.fake_daemon import Refusal as DaemonRefuses

LEV = "CTr_lev_TC1_load"


@pytest.fixture(scope="module")
def model() -> dict[str, Any]:
    return Leg().data


@pytest.fixture
def screen(model: dict[str, Any]) -> Screen:
    leg = Leg.__new__(Leg)
    leg.data = model
    hdsos = (*model["parameters"], *model["sensors"])
    values = {h["name"]: h["by_name"] if "by_name" in h else h["value"] for h in hdsos}
    values |= {"TC1_current": -0.42, "CTr_angle": 88.4, "joint.Coxa-Trochanter.action": "CTr_LevationPRO"}
    return tuning.read(Screen(make_sheet(model, "Coxa-Trochanter")), Reading(values, 100, None))


def keys(screen: Screen, *pressed: str) -> tuple[Screen, list[Request[Any]]]:
    sent: list[Request[Any]] = []
    for key in pressed:
        screen, calls = press(screen, key)
        sent += calls
    return screen, sent


def written(calls: list[Request[Any]]) -> list[Any]:
    return [[[*change] for change in call.changes] for call in calls]


def at(screen: Screen, label: str) -> Screen:
    """The screen with the first line chosen that turns this."""
    return replace(screen, selected=next(k for k, r in enumerate(screen.rows) if r.knob and r.knob.label == label))


def test_the_sheet_has_each_rule_with_its_terms_and_what_its_action_does(screen: Screen) -> None:
    shown = [(row.kind, row.state, row.knob.label if row.knob else row.label) for row in screen.rows]
    assert shown[:4] == [
        ("rule", "CTr_LevationPRO", "CTr_LevationPRO"),
        ("term", "CTr_LevationPRO", LEV),
        ("activation", "CTr_LevationPRO", "CTr_levationPRO_depressor_activation"),
        ("activation", "CTr_LevationPRO", "CTr_levationPRO_levator_activation"),
    ]
    assert ("muscle", "", "CTr_LevatorPRO_F-L_Params[1]") in shown
    # A constant dwell time, and constant functions, can not be turned.
    assert not [label for _, _, label in shown if "const" in label]


def test_arrows_step_by_the_quantum_and_shift_by_ten(screen: Screen) -> None:
    _, sent = keys(at(screen, LEV), "right", "right", "shift-right", "left", "<", "-")
    assert written(sent) == [[[LEV, value]] for value in (0.1, 0.2, 1.2, 1.1, 0.1, 0.0)]


def test_the_quantum_of_lev_comes_from_the_documents(screen: Screen) -> None:
    knob = at(screen, LEV).row.knob
    assert (str(knob.quantum), knob.guessed, knob.bounds) == ("0.1", False, (-20.0, 20.0))
    assert at(screen, "CTr_LevatorPRO_F-L_Params[1]").row.knob.guessed


def test_a_value_stops_at_its_valid_range(screen: Screen) -> None:
    near = tuning.read(at(screen, LEV), Reading({LEV: 19.95}, 101, None))
    near, sent = keys(near, "shift-right")
    assert written(sent) == [[[LEV, 20.0]]]
    near, sent = keys(near, "right")
    assert sent == []
    assert "end of its valid range" in near.message


def test_one_element_is_written_and_its_neighbour_is_left_to_others(screen: Screen) -> None:
    name = "CTr_LevatorPRO_F-L_Params"
    after, (call,) = keys(at(screen, f"{name}[1]"), "right")
    assert written([call]) == [[[f"{name}[1]", -1.49]]]
    assert after.shown[name] == [2.0, -1.49]
    # Somebody else has written the other one meanwhile.
    seen = tuning.read(after, Reading({name: [3.0, -1.5]}, 102, None))
    assert seen.shown[name] == [3.0, -1.49]
    done = tuning.acknowledged(seen, call, Acknowledgement(103, 1.0, (), ()))
    assert (done.shown[name], dict(done.awaiting)) == ([3.0, -1.49], {})


def test_a_value_is_typed(screen: Screen) -> None:
    after, sent = keys(at(screen, LEV), "e", *"-0.37x", "backspace", "enter")
    assert written(sent) == [[[LEV, -0.37]]]
    assert after.prompt is None


@pytest.mark.parametrize(
    ("text", "why"), [("abc", "no number"), ("99", "ends at 20"), ("nan", "no number"), ("inf", "no number")]
)
def test_what_is_typed_wrong_is_not_sent(screen: Screen, text: str, why: str) -> None:
    after, sent = keys(at(screen, LEV), "e", *text, "enter")
    assert sent == []
    assert why in after.message


def test_escape_and_an_empty_line_leave_it_as_it_was(screen: Screen) -> None:
    assert keys(at(screen, LEV), "e", "5", "escape")[1] == []
    assert keys(at(screen, LEV), "e", "5", "backspace", "enter")[1] == []


def test_a_rule_is_rewritten_from_what_it_says(screen: Screen) -> None:
    first = replace(screen, selected=0)
    typing, _ = keys(first, "e")
    assert typing.prompt.text == "(TC1_current < CTr_lev_TC1_load)"
    after, sent = keys(first, "e", *"|(CTr_angle > TC1_retLEV_CTang)", "enter")
    rule = "(TC1_current < CTr_lev_TC1_load)|(CTr_angle > TC1_retLEV_CTang)"
    assert written(sent) == [[["Enter_CTr_LevationPRO", rule]]]
    # Its new term is on the sheet at once, and its value is asked for.
    assert Term("CTr_angle", ">", "TC1_retLEV_CTang") in [row.term for row in after.rows]
    assert "TC1_retLEV_CTang" in after.sheet.names(after.shown)


def test_an_acknowledgement_says_since_when(screen: Screen) -> None:
    sent_screen, (call,) = keys(at(screen, LEV), "right")
    assert "*0.1" in "\n".join(tune_lines(sent_screen, 80, 24))
    after = tuning.acknowledged(sent_screen, call, Acknowledgement(2411, 12.055, (), ()))
    assert after.message == f"{LEV} = 0.1: in effect since cycle 2411, 12.055 s"
    assert after.awaiting == {}
    assert after.values[LEV] == 0.1


def test_a_late_acknowledgement_does_not_hide_a_newer_step(screen: Screen) -> None:
    two, (first, second) = keys(at(screen, LEV), "right", "right")
    after = tuning.acknowledged(two, first, Acknowledgement(1, None, (), ()))
    assert after.shown[LEV] == 0.2
    assert tuning.acknowledged(after, second, Acknowledgement(2, None, (), ())).awaiting == {}


@pytest.mark.parametrize("how", ["refused", "error"])
def test_what_is_refused_is_shown_as_it_was(screen: Screen, how: str) -> None:
    sent_screen, (call,) = keys(at(screen, LEV), "right")
    if how == "refused":
        after = tuning.acknowledged(sent_screen, call, Acknowledgement(1, None, (), ({"name": "LEV", "reason": "no"},)))
    else:
        after = tuning.not_done(sent_screen, call, "LEV: no")
    assert after.shown[LEV] == 0.0
    assert "LEV: no" in after.message


def test_nothing_is_sent_while_the_daemon_is_away(screen: Screen) -> None:
    away = tuning.lost(at(screen, LEV), "nobody there")
    after, sent = keys(away, "right")
    assert sent == []
    assert "not sent" in after.message
    assert "nobody there" in "\n".join(tune_lines(away, 80, 24))


@pytest.mark.parametrize(
    ("pressed", "method", "params"),
    [
        (["u"], "undo", {}),
        (["U"], "redo", {}),
        (["s", *"calm", "enter"], "save", {"name": "calm"}),
        (["S", *"calm", "enter"], "save", {"name": "calm", "kind": "script"}),
        (["r", *"one", "enter"], "record_start", {"name": "one"}),
        (["m", *"slip", "enter"], "mark", {"text": "slip"}),
        (["!"], "off", {"why": "from nuc ctl tune"}),
        (["t"], "take_control", {}),
    ],
)
def test_other_keys_ask_for_what_they_say(
    screen: Screen, pressed: list[str], method: str, params: dict[str, Any]
) -> None:
    _, (call,) = keys(screen, *pressed)
    assert (call.method, to_builtins(call)) == (method, params)


def test_r_ends_a_recording_that_is_on(screen: Screen) -> None:
    begun, (start,) = keys(screen, "r", "o", "enter")
    on = tuning.acknowledged(begun, start, RecordingAnswer("o"))
    assert "REC o" in tune_lines(on, 80, 24)[0]
    _, (stop,) = keys(on, "r")
    assert stop.method == "record_stop"
    off = tuning.acknowledged(on, stop, RecordedAnswer("scripts/o.xml", 3, 0))
    assert off.recording == ""
    assert "scripts/o.xml" in off.message


def test_letters_that_are_typed_are_no_commands(screen: Screen) -> None:
    typing, sent = keys(screen, "s", "q", "u", "!")
    assert sent == []
    assert not typing.over
    assert typing.prompt.text == "qu!"
    assert keys(screen, "q")[0].over


KEYS = (
    *("up", "down", "left", "right", "tab", "page-up", "page-down", "shift-left", "shift-right", "enter", "escape"),
    *("backspace", "clear", "f1", "\u00e9", *"euUrsSmt!?1-.x<>"),
)


@settings(max_examples=60, deadline=None, derandomize=True)
@given(st.lists(st.sampled_from(KEYS), max_size=40), st.integers(30, 120), st.integers(6, 40))
def test_no_keys_in_any_order_break_it(pressed: list[str], columns: int, rows: int) -> None:
    screen = _SCREEN
    for key in pressed:
        screen, calls = press(screen, key)
        for call in calls:
            screen = tuning.acknowledged(
                screen, call, Acknowledgement(1, 0.5, (), ()) if isinstance(call, SetRequest) else None
            )
        lines = tune_lines(screen, columns, rows)
        assert len(lines) == rows
        assert max(map(len, lines)) <= columns
    knob_rows = [row for row in screen.rows if row.knob is not None]
    for row in knob_rows:
        low, high = row.knob.bounds
        value = row.knob.value(screen.shown)
        assert value is None or ((low is None or value >= low) and (high is None or value <= high))


def _make_screen() -> Screen:
    leg = Leg()
    return tuning.read(Screen(make_sheet(leg.data, "Coxa-Trochanter")), Reading(leg.values, 1, None))


_SCREEN = _make_screen()


def test_the_chosen_line_is_always_on_the_screen(screen: Screen) -> None:
    for k, row in enumerate(screen.rows):
        lines = tune_lines(replace(screen, selected=k), 80, 12)
        marked = [line for line in lines if line.startswith(">")]
        assert len(marked) == 1
        assert (row.knob.label[:12] if row.knob else row.label) in marked[0]


def test_a_rule_that_is_longer_than_the_screen_is_wide_goes_on_below(screen: Screen) -> None:
    rule = " | ".join(f"((CTr_angle < {k}.5) & (TC1_current > CTr_dep_TC1_load))" for k in range(4))
    name = screen.rows[0].rule
    now = tuning.read(screen, Reading({name: rule}, 1, None))
    for chosen in (0, 1):
        lines = tune_lines(replace(now, selected=chosen), 80, 40)
        assert rule in " ".join(" ".join(line.split()) for line in lines)
        assert max(map(len, lines)) <= 80
        assert len([line for line in lines if line.startswith(">")]) == 1


def test_each_term_and_the_whole_rule_say_true_or_false(screen: Screen) -> None:
    for load, lev, dep in ((-0.42, "true", "false"), (0.3, "false", "true")):
        now = tuning.read(screen, Reading({"TC1_current": load}, 1, None))
        rules = [line for line in tune_lines(now, 80, 24)[3:] if "PRO   (" in line or "RET   TC" in line]
        assert [line[2:].split()[0] for line in rules] == [lev, dep]
    unknown = tuning.read(screen, Reading({"TC1_current": None}, 1, None))
    assert sum(line[2:].startswith("?") for line in tune_lines(unknown, 80, 24)) == 4


def test_the_daemons_word_on_a_rule_counts(screen: Screen) -> None:
    told = tuning.read(screen, Reading({"rule.Enter_CTr_LevationPRO": False}, 1, None))
    assert tune_lines(told, 80, 24)[4].startswith("> false *CTr_LevationPRO")


def test_comparisons_are_those_of_the_engines_floats() -> None:
    floats = {"a": "float", "b": "float"}
    values = {"a": 0.1, "b": 0.1}
    assert term_truth(Term("a", "<", "b"), values, floats) is False
    # 0.1 as a 32-bit float is larger than 0.1 as a 64-bit one.
    assert term_truth(Term("a", ">", "b"), values, {"a": "float", "b": "double"}) is True
    assert term_truth(Term("a", "<", "c"), values, floats) is None


@pytest.mark.parametrize(
    ("rule", "truth"),
    [
        ("(a < b)&(c > b)", True),
        ("(a > b)|(c > b)", True),
        ("(a > b)&(d > b)", False),
        ("(a < b)&(d > b)", None),
        ("", None),
    ],
)
def test_a_rule_is_true_false_or_not_known(rule: str, truth: bool | None) -> None:
    values = {"a": 1, "b": 2, "c": 3, "d": None}
    assert rule_truth(rule, values, dict.fromkeys("abcd", "int")) is truth


def test_terms_of_a_rule_come_once_and_in_order() -> None:
    assert terms("(a < b)&((c > d)|(a < b))|e") == (Term("a", "<", "b"), Term("c", ">", "d"), Term("e"))
    assert terms("a <") == ()


class Paper:
    """A client of a daemon of paper, without sockets."""

    def __init__(self, daemon: FakeDaemon) -> None:
        self.daemon, self.away = daemon, False

    def do(self, call: Request[Any]) -> Any:
        if self.away:
            raise NotAnswered("nobody there")
        try:
            handler = self.daemon.answers.get(call.method, getattr(self.daemon, f"do_{call.method}"))
            return convert(handler(**to_builtins(call)), call.answer)
        except DaemonRefuses as error:
            raise Refused(error.kind, str(error), error.hint) from error

    def __getattr__(self, name: str) -> Any:
        return lambda *args, **kwargs: self.do(getattr(Methods, name).build(*args, **kwargs))


def test_it_goes_away_comes_back_and_may_have_changed() -> None:
    daemon = FakeDaemon(Leg())
    client = Paper(daemon)
    tune = Tune(client, Target(given_name="alice"), "3")
    assert tune.screen.sheet.joint == "Coxa-Trochanter"
    client.away = True
    tune.refresh()
    tune.key("down")
    tune.key("right")
    assert tune.screen.offline == "nobody there"
    assert daemon.leg.values[LEV] == 0.0
    client.away = False
    daemon.leg = Leg("lin_stickmiddle")
    tune.refresh()
    # The joint numbered 3 of the other model, since the model is another.
    assert tune.screen.sheet.configuration == "lin_stickmiddle"
    assert tune.screen.offline == ""


def test_a_step_goes_all_the_way_and_back() -> None:
    daemon = FakeDaemon(Leg())
    tune = Tune(Paper(daemon), Target(given_name="alice"), "Coxa-Trochanter")
    for key in ("down", "right", "right"):
        tune.key(key)
    assert daemon.leg.values[LEV] == 0.2
    assert "in effect since cycle 102" in tune.screen.message
    tune.key("u")
    assert tune.screen.message.startswith(f"undone {LEV} = 0.1")
    tune.refresh()
    assert tune.screen.shown[LEV] == 0.1


def test_it_works_before_the_engine_runs_and_says_when_it_can_not() -> None:
    daemon = FakeDaemon(Leg())
    daemon.mode = "UNCONFIGURED"
    with pytest.raises(Refused, match="configure"):
        Tune(Paper(daemon), Target(given_name="alice"), "Coxa-Trochanter")
    daemon.mode = "CONFIGURED"
    with pytest.raises(KeyError, match="Thorax-Coxa1"):
        Tune(Paper(daemon), Target(given_name="alice"), "knee")
