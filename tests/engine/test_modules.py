"""Modules without a motor: their states write values of others; depth three works; off is nothing."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from nuc_engine.bout.run import BoutRefused
from nuc_engine.model.planning import build_plan
from nuc_engine.model.rulecheck import find_dead_rules
from sccils_schemas.model import load_model
from tests.engine.acting import bout, case, hdso, motor_log, rule
from tests.verify.variants import documents

TURNING = "307 &lt; 107"
"""What FTi extension waits for in the turn, in place of `(302 > 106)&amp;(307 > 107)`."""


def state(number: int, name: str, holder: int, action: str) -> str:
    inside = f"<action>{action}</action>" if action else ""
    return (
        f'<state name="{name}" idNum="{number}">{inside}<transition_rule representation_type="HDSO">'
        f'<hdsoMod idNum="{holder}" NumElts="0"/></transition_rule></state>'
    )


def mod(number: int, value: object) -> str:
    text = isinstance(value, str)
    count = len(value.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&")) if text else 1
    return f'<hdsoMod idNum="{number}" NumElts="{count}" datatype="{"char" if text else "double"}">{value}</hdsoMod>'


def behaviour(*, turn: str, walk: str) -> tuple[str, str]:
    """Return the change that puts a module of two states above the leg, which walks at first."""
    states = state(801, "Walk", 150, walk) + state(802, "Turn", 151, turn)
    module = f'<module name="Behaviour" idNum="1" start_state_idNum="801">{states}</module>'
    return r"(?=</jointlist>)", module


RULES = (rule(150, "Enter_Walk", "wants &lt; half"), rule(151, "Enter_Turn", "wants &gt; half"))
WANTS = (hdso(152, "wants", 0), hdso(153, "half", 0.5))
SIGNALS = ('<signal idNum="340" name="turning" type="state" of="Turn"/>',)


def ask(value: float, at_s: float, number: int = 152) -> str:
    return f'<hdsoMod idNum="{number}" NumElts="1" datatype="double" time="{at_s}">{value}</hdsoMod>'


WALK = mod(107, 90) + mod(165, "(302 &gt; 106)&amp;(307 &gt; 107)")
TURN = mod(107, 70) + mod(165, TURNING)


@pytest.mark.parametrize("clock", ["virtual", "real"])
def test_one_that_never_switches_is_nothing(clock: str, tmp_path: Path) -> None:
    above = case(behaviour(turn=TURN, walk=WALK), hdsos=(*RULES, *WANTS), signals=SIGNALS)
    assert motor_log(bout(above, tmp_path / "above", clock)) == motor_log(bout(case(), tmp_path / "without", clock))


def test_its_switch_is_what_a_script_would_write_by_hand(tmp_path: Path) -> None:
    above = case(
        behaviour(turn=TURN, walk=WALK), hdsos=(*RULES, *WANTS), script=ask(1, 0.9995) + ask(0, 1.9995), seconds=3.0
    )
    written = "".join(
        each.replace("<hdsoMod ", f'<hdsoMod time="{time}" ').replace("</hdsoMod><", "</hdsoMod>\n<")
        for time, each in ((1.0001, mod(107, 70)), (1.0001, mod(165, TURNING)))
    )
    back = "".join(
        each.replace("<hdsoMod ", '<hdsoMod time="2.0001" ')
        for each in (mod(107, 90), mod(165, "(302 &gt; 106)&amp;(307 &gt; 107)"))
    )
    by_hand = motor_log(bout(case(script=written + back, seconds=3.0), tmp_path / "by_hand"))
    # What a module writes rules see from the next evaluation on.
    assert motor_log(bout(above, tmp_path / "above")) == by_hand


def test_depth_three(tmp_path: Path) -> None:
    """A module writes what a second one goes by, which writes what a third goes by, which writes a threshold."""
    modules, hdsos = "", [hdso(153, "half", 0.5)]
    for depth in range(3):
        target, on, off = (107, 70, 90) if depth == 2 else (161 + 40 + depth, 1, 0)
        rest, act = 210 + 2 * depth, 211 + 2 * depth
        wants = 200 + depth
        hdsos += [hdso(wants + 20, f"wants{depth}", 0)]
        hdsos += [rule(rest + 30, f"Rest{depth}", f"wants{depth} &lt; half")]
        hdsos += [rule(act + 30, f"Act{depth}", f"wants{depth} &gt; half")]
        target = target if depth == 2 else 221 + depth
        states = state(800 + 2 * depth, f"R{depth}", rest + 30, mod(target, off))
        states += state(801 + 2 * depth, f"A{depth}", act + 30, mod(target, on))
        modules += (
            f'<module name="M{depth}" idNum="{depth + 1}" start_state_idNum="{800 + 2 * depth}">{states}</module>'
        )
    signals = tuple(
        f'<signal idNum="{340 + depth}" name="in{depth}" type="state" of="A{depth}"/>' for depth in range(3)
    )
    given = case(
        (r"(?=</jointlist>)", modules), hdsos=tuple(hdsos), signals=signals, script=ask(1, 0.9995, 220), seconds=2.0
    )
    folder = bout(given, tmp_path)
    rows = [line.split() for line in (folder / "SensData.txt").read_text().splitlines()]
    begun = [next(int(row[0]) for row in rows if float(row[-3 + depth]) == 1.0) for depth in range(3)]
    # Each level costs an evaluation, of 25 ms, and what is logged is what rules saw.
    assert [round((time - 1_000_000_000) / 25e6) for time in begun] == [1, 2, 3]


def test_a_value_of_a_module_is_written_by_nobody_else(tmp_path: Path) -> None:
    above = case(behaviour(turn=TURN, walk=WALK), hdsos=(*RULES, *WANTS), script=ask(60, 1, 107))
    with pytest.raises(BoutRefused, match="written by the module Behaviour"):
        bout(above, tmp_path)


@pytest.mark.parametrize(
    ("turn", "words"),
    [
        (mod(302, 1), "HDSO 302 (TC1_current) is a sensor and stands as what is written"),
        ('<hdsoMod idNum="107" NumElts="0"/>', "and writes nothing, expected data to write"),
        (mod(165, "307 &lt;"), "rule '307 <'"),
        (mod(999, 1), "HDSO 999 is not declared"),
        (
            mod(165, "(302 &gt; 106)&amp;Enter_FT_Flexion") + mod(166, "Enter_FT_Extension"),
            "would go round in a circle",
        ),
    ],
)
def test_what_cannot_be_written_is_told(turn: str, words: str, tmp_path: Path) -> None:
    config, _ = documents(case(behaviour(turn=turn, walk=""), hdsos=(*RULES, *WANTS)), tmp_path)
    model, problems = load_model(config)
    assert model is None
    assert words in str(problems)


def test_no_rule_is_called_never_true_by_what_modules_change(tmp_path: Path) -> None:
    """`wants` is 0 at the start, and Enter_High asks for more than half: the first module writes 1."""
    above = behaviour(turn=mod(152, 1) + mod(165, TURNING), walk=mod(152, 0))
    second = state(803, "Low", 154, "") + state(804, "High", 155, "")
    module = f'<module name="Second" idNum="2" start_state_idNum="803">{second}</module>'
    rules = (rule(150, "Enter_Walk", "307 &lt; 107"), rule(151, "Enter_Turn", "307 &gt; 107"))
    more = (rule(154, "Enter_Low", "wants &lt; half"), rule(155, "Enter_High", "wants &gt; half"))
    never = (rule(156, "Enter_Never", "wants &gt; two"), hdso(157, "two", 2))
    config, _ = documents(case(above, (above[0], module), hdsos=(*rules, *more, *never, *WANTS)), tmp_path)
    model, problems = load_model(config)
    assert model is not None, problems
    plan = build_plan(model)
    assert find_dead_rules(plan) == []
    dead = find_dead_rules(replace(plan, states=(replace(plan.states[0], rule=plan.hdso(156).index), *plan.states[1:])))
    assert [item.text for item in dead] == [
        "Enter_Never can never be true: wants > two, where wants can be 0 to 1, two is 2"
    ]


def test_an_action_in_a_joints_state_is_told(tmp_path: Path) -> None:
    config, _ = documents(case((r"(<transition_rule )", rf"<action>{mod(107, 1)}</action>\1")), tmp_path)
    assert "of a joint has an <action>, expected one in a state of a <module>" in str(load_model(config)[1])
