"""`nuc ctl tune`: what a joint's sheet shows, and what keys do to it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from textual.pilot import Pilot

from nuc_engine.cli.ctl.link import Target
from nuc_engine.cli.ctl.sheet import make_sheet
from nuc_engine.cli.ctl.tunescreen import TuneScreen
from nuc_engine.cli.ctl.tuneview import row_text
from nuc_engine.cli.ctl.tuning import Tune
from nuc_engine.client import Refused
from nuc_engine.model.comparisons import Term, rule_truth, term_truth, terms
from tests.cli.screens import Paper, play, settle, shown
from tests.client.fake_daemon import FakeDaemon, Leg

JOINT = "Coxa-Trochanter"
LEV = "CTr_lev_TC1_load"
FL = "CTr_LevatorPRO_F-L_Params"
READS = ("get", "status", "model")


@pytest.fixture
def daemon() -> FakeDaemon:
    daemon = FakeDaemon(Leg())
    daemon.leg.values |= {"TC1_current": -0.42, "CTr_angle": 88.4}
    return daemon


@pytest.fixture
def client(daemon: FakeDaemon) -> Paper:
    return Paper(daemon)


@pytest.fixture
def tune(client: Paper) -> Tune:
    return Tune(client, Target(given_name="alice"), JOINT)


def row(tune: Tune, label: str) -> Any:
    """The first row that turns this."""
    return next(row for row in tune.rows if row.knob is not None and row.knob.label == label)


def asked(client: Paper) -> list[tuple[str, dict[str, Any]]]:
    return [(method, params) for method, params in client.sent if method not in READS]


def screen_of(
    tune: Tune, *pressed: str, columns: int = 80, rows: int = 24, seen: list[list[str]] | None = None
) -> list[str]:
    """Press keys, and return what is shown in the end; in `seen` after each of them."""
    app = TuneScreen(tune)
    lines: list[str] = []

    async def drive(pilot: Pilot[Any]) -> None:
        for key in pressed:
            await pilot.press(key)
            await settle(pilot)
            if seen is not None:
                seen.append(shown(app))
        lines.extend(shown(app))

    play(app, drive, columns, rows)
    return lines


def test_the_sheet_has_each_rule_with_its_terms_and_what_its_action_does(tune: Tune) -> None:
    rows = [(row.kind, row.state, row.knob.label if row.knob else row.label) for row in tune.rows]
    assert rows[:4] == [
        ("rule", "CTr_LevationPRO", "CTr_LevationPRO"),
        ("term", "CTr_LevationPRO", LEV),
        ("activation", "CTr_LevationPRO", "CTr_levationPRO_depressor_activation"),
        ("activation", "CTr_LevationPRO", "CTr_levationPRO_levator_activation"),
    ]
    assert ("muscle", "", f"{FL}[1]") in rows
    # A constant dwell time, and constant functions, cannot be turned.
    assert not [label for _, _, label in rows if "const" in label]


@pytest.mark.parametrize(("columns", "rows"), [(80, 24), (120, 40)])
def test_the_screen_shows_the_leg_the_rules_that_are_true_and_the_keys(tune: Tune, columns: int, rows: int) -> None:
    lines = screen_of(tune, columns=columns, rows=rows)
    text = "\n".join(lines)
    assert lines[0].startswith("Coxa-Trochanter   lin_roach  CONFIGURED")
    assert "CTr_angle 88.40 deg" in lines[1]
    assert "activation (force): Femur_DepressorRET 0.01" in lines[2]
    assert "> true  *CTr_LevationPRO   (TC1_current < CTr_lev_TC1_load)" in text
    assert "  false  CTr_DepressionRET   TC1_current > CTr_dep_TC1_load" in text
    assert "functions of the muscles" in text
    assert "q quit" in lines[-1]
    assert ("step 0.1 tick" in text) == (columns >= 100)


def test_rules_and_thresholds_follow_the_leg(tune: Tune, daemon: FakeDaemon) -> None:
    app = TuneScreen(tune)

    async def drive(pilot: Pilot[Any]) -> None:
        for load, lev, dep in ((0.3, "false", "true"), (-0.42, "true", "false")):
            daemon.leg.values["TC1_current"] = load
            app.action_refresh()
            await settle(pilot)
            rules = [line[2:].split()[0] for line in shown(app) if "PRO   (" in line or "RET   TC" in line]
            assert rules == [lev, dep]

    play(app, drive)
    tune.values = {**tune.values, "TC1_current": None, "rule.Enter_CTr_LevationPRO": None}
    assert [row_text(tune, row, 80).truth for row in tune.rows[:2]] == [None, None]
    # The daemon's word on a whole rule counts.
    tune.values = {**tune.values, "rule.Enter_CTr_LevationPRO": False}
    assert row_text(tune, tune.rows[0], 80).truth is False


def test_arrows_step_by_the_quantum_and_shift_by_ten_and_u_takes_it_back(tune: Tune, daemon: FakeDaemon) -> None:
    for pressed, value in (
        (["down", "right"], 0.1),
        (["down", "right", "shift+right"], 1.2),
        (["down", "left", "<", "-"], 0.0),
        (["down", "+", ">"], 1.1),
    ):
        seen: list[list[str]] = []
        lines = screen_of(tune, *pressed, seen=seen)
        assert daemon.leg.values[LEV] == value
        assert f"{LEV} = {value if value else '0'}: in effect since cycle" in lines[-2]
        assert f"{value:>10g}"[2:] in next(line for line in lines if line.startswith(">"))
    lines = screen_of(tune, "u")
    assert "undone CTr_lev_TC1_load = 0.1: in effect" in lines[-2]
    assert daemon.leg.values[LEV] == 0.1


def test_the_quantum_of_lev_comes_from_the_documents(tune: Tune) -> None:
    knob = row(tune, LEV).knob
    assert (str(knob.quantum), knob.guessed, knob.bounds) == ("0.1", False, (-20.0, 20.0))
    assert row(tune, f"{FL}[1]").knob.guessed


def test_a_value_stops_at_its_valid_range(tune: Tune, client: Paper, daemon: FakeDaemon) -> None:
    daemon.leg.values[LEV] = 19.95
    tune.refresh()
    tune.step(row(tune, LEV), 10)
    assert daemon.leg.values[LEV] == 20.0
    before = len(asked(client))
    tune.step(row(tune, LEV), 1)
    assert len(asked(client)) == before
    assert "end of its valid range" in tune.message


def test_one_element_is_written_and_its_neighbour_is_left_to_others(tune: Tune, client: Paper) -> None:
    client.daemon.answers["set"] = lambda **_: {"cycle": 7, "time_s": 0.1, "applied": [], "refused": []}
    tune.step(row(tune, f"{FL}[1]"), 1)
    assert asked(client)[-1][1]["changes"] == [(f"{FL}[1]", -1.49)]
    assert tune.values[FL] == [2.0, -1.49]


@pytest.mark.parametrize(
    ("text", "why"), [("abc", "no number"), ("99", "ends at 20"), ("nan", "no number"), ("inf", "no number")]
)
def test_what_is_typed_wrong_is_not_sent(tune: Tune, client: Paper, text: str, why: str) -> None:
    lines = screen_of(tune, "down", "e", *text, "enter")
    assert asked(client) == []
    assert why in lines[-2]


def test_a_value_is_typed_and_letters_that_are_typed_are_no_commands(tune: Tune, daemon: FakeDaemon) -> None:
    seen: list[list[str]] = []
    screen_of(tune, "down", "e", *"q!-0.37x", *["backspace"], "home", "delete", "delete", "enter", seen=seen)
    assert f"{LEV} = q!" in seen[3][-2]
    assert "esc: leave as it was" in seen[3][-1]
    assert daemon.leg.values[LEV] == -0.37


@pytest.mark.parametrize("pressed", [["5", "escape"], ["5", "backspace", "enter"]])
def test_escape_and_an_empty_line_leave_it_as_it_was(tune: Tune, client: Paper, pressed: Sequence[str]) -> None:
    lines = screen_of(tune, "down", "e", *pressed)
    assert asked(client) == []
    assert lines[-1].startswith("arrows")


def test_a_rule_is_rewritten_from_what_it_says(tune: Tune, daemon: FakeDaemon) -> None:
    lines = screen_of(tune, "e", *"|(CTr_angle > TC1_retLEV_CTang)", "enter", columns=120, rows=40)
    rule = "(TC1_current < CTr_lev_TC1_load)|(CTr_angle > TC1_retLEV_CTang)"
    assert daemon.leg.values["Enter_CTr_LevationPRO"] == rule
    assert "in effect since" in lines[-2]
    # Its new term is on the sheet at once, and its value is asked for.
    assert Term("CTr_angle", ">", "TC1_retLEV_CTang") in [row.term for row in tune.rows]
    assert any("88.40 >" in line and "TC1_retLEV_CTang" in line for line in lines)


def test_what_is_refused_is_said_and_shown_as_it_was(tune: Tune, daemon: FakeDaemon) -> None:
    daemon.answers["set"] = lambda **_: {
        "cycle": 7,
        "time_s": 0.1,
        "applied": [],
        "refused": [{"name": "LEV", "reason": "no"}],
    }
    lines = screen_of(tune, "down", "right")
    assert "refused: LEV: no" in lines[-2]
    assert tune.values[LEV] == 0.0


@pytest.mark.parametrize(
    ("pressed", "method", "params"),
    [
        (["u"], "undo", {}),
        (["U"], "redo", {}),
        (["s", *"calm", "enter"], "save", {"name": "calm"}),
        (["S", *"calm", "enter"], "save", {"name": "calm", "kind": "script"}),
        (["m", *"slip", "enter"], "mark", {"text": "slip"}),
        (["!"], "off", {"why": "from nuc ctl tune"}),
        (["t"], "take_control", {}),
    ],
)
def test_other_keys_ask_for_what_they_say(
    tune: Tune, client: Paper, pressed: list[str], method: str, params: dict[str, Any]
) -> None:
    client.daemon.undone.append((LEV, 0.3))
    screen_of(tune, *pressed)
    assert asked(client) == [(method, params)]
    assert tune.message


def test_r_begins_a_recording_and_ends_it(tune: Tune, client: Paper) -> None:
    lines = screen_of(tune, "r", "o", "enter")
    assert lines[0].endswith("REC o")
    lines = screen_of(tune, "r")
    assert [method for method, _ in asked(client)] == ["record_start", "record_stop"]
    assert "REC" not in lines[0]
    assert "recorded: scripts/o.xml" in lines[-2]


def test_tab_chooses_the_next_rule_and_help_says_what_keys_do(tune: Tune) -> None:
    seen: list[list[str]] = []
    screen_of(tune, "tab", "tab", "?", "x", seen=seen)
    chosen = [next(line for line in lines if line.startswith(">")) for lines in (seen[0], seen[1])]
    assert ["CTr_DepressionRET" in chosen[0], "CTr_LevationPRO" in chosen[1]] == [True, True]
    assert "torque off at once, latched" in "\n".join(seen[2])
    assert "torque off at once" not in "\n".join(seen[3])


def test_q_ends_it(tune: Tune) -> None:
    app = TuneScreen(tune)

    async def drive(pilot: Pilot[Any]) -> None:
        await pilot.press("q")
        await settle(pilot)
        assert not app.is_running

    play(app, drive)


KEYS = (
    *("up", "down", "left", "right", "tab", "pageup", "pagedown", "shift+left", "shift+right", "enter", "escape"),
    *("backspace", "ctrl+u", "f1", "é", *"euUrsSmt!?1-.x<>"),
)


@settings(max_examples=8, deadline=None, derandomize=True, phases=[Phase.generate])
@given(st.lists(st.sampled_from(KEYS), max_size=12), st.integers(30, 120), st.integers(8, 40))
def test_no_keys_in_any_order_break_it(pressed: list[str], columns: int, rows: int) -> None:
    daemon = FakeDaemon(Leg())
    daemon.undone += [(LEV, 0.3)] * len(pressed)
    tune = Tune(Paper(daemon), Target(given_name="alice"), JOINT)
    lines = screen_of(tune, *pressed, columns=columns, rows=rows)
    assert len(lines) == rows
    for found in tune.rows:
        value = None if found.knob is None else found.knob.value(tune.values)
        if found.knob is not None and value is not None:
            assert found.knob.kept(value) == value


def test_the_chosen_line_is_always_on_the_screen(tune: Tune) -> None:
    seen: list[list[str]] = []
    screen_of(tune, *["down"] * (len(tune.rows) - 1), rows=12, seen=seen)
    for row, lines in zip(tune.rows[1:], seen, strict=True):
        (marked,) = [line for line in lines if line.startswith(">")]
        assert (row.knob.label[:12] if row.knob else row.label) in marked


def test_a_rule_that_is_longer_than_the_screen_is_wide_goes_on_below(tune: Tune) -> None:
    rule = " | ".join(f"((CTr_angle < {k}.5) & (TC1_current > CTr_dep_TC1_load))" for k in range(4))
    tune.values = {**tune.values, tune.rows[0].rule: rule}
    lines = row_text(tune, tune.rows[0], 80).text(chosen=True).splitlines()
    assert rule in " ".join(" ".join(lines).split())
    assert max(map(len, lines)) <= 80
    assert len([line for line in lines if line.startswith(">")]) == 1


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


def test_it_goes_away_comes_back_and_may_have_changed(daemon: FakeDaemon, client: Paper) -> None:
    tune = Tune(client, Target(given_name="alice"), "3")
    assert tune.sheet == make_sheet(daemon.leg.data, JOINT)
    client.away = True
    tune.refresh()
    tune.step(row(tune, LEV), 1)
    assert daemon.leg.values[LEV] == 0.0
    lines = screen_of(tune, "down", "right")
    assert "nobody there" in lines[-2]
    assert "not sent" in tune.message
    client.away = False
    daemon.leg = Leg("lin_stickmiddle")
    tune.refresh()
    # The joint numbered 3 of the other model, since the model is another.
    assert tune.sheet.configuration == "lin_stickmiddle"
    assert tune.offline == ""


def test_it_works_before_the_engine_runs_and_says_when_it_can_not(daemon: FakeDaemon, client: Paper) -> None:
    daemon.mode = "UNCONFIGURED"
    with pytest.raises(Refused, match="configure"):
        Tune(client, Target(given_name="alice"), JOINT)
    daemon.mode = "CONFIGURED"
    with pytest.raises(KeyError, match="Thorax-Coxa1"):
        Tune(client, Target(given_name="alice"), "knee")
