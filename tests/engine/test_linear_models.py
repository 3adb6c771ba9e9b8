"""Checking configurations: twice the joints, rules, numbers or mistakes in them are twice the work, and not more."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from decimal import Decimal

import pytest

from nuc_engine.configurations.describe import describe_changes
from nuc_engine.model.changes import prepare
from nuc_engine.model.planning import build_plan
from nuc_engine.model.rulecheck import find_dead_rules
from sccils_schemas.documents import Gradual, HdsoList, HdsoMod, HdsoScript, JointList
from sccils_schemas.model import Model, check_model, check_script
from sccils_schemas.parser import read_document
from sccils_schemas.problems import Problems
from tests.sccils.small import SMALL, small_model
from tests.work import bytecodes, growth

J, P, S = "joints.xml", "parameters.xml", "sensors.xml"
TEXTS = {name: (SMALL / name).read_text() for name in (J, P, S)}
MODEL = small_model()


def hdso(number: int, more: str = "", inner: str = "", name: str = "") -> str:
    head = f'<hdso idNum="{number}" name="{name or f"h{number}"}" numdims="1" {more}>'
    return f'{head}<dimsize dimNr="1">1</dimsize>{inner}</hdso>\n'


def rule(number: int, text: str, width: int = 30) -> str:
    return (
        f'<hdso idNum="{number}" name="h{number}" numdims="2" abstractType="boolstring" datatype="int">'
        '<dimsize dimNr="1">2</dimsize><dimsize dimNr="2">' + f"{width}</dimsize>"
        f"<initial_data>{text}</initial_data></hdso>\n"
    )


def joint(number: int, parent: int, inner: str = "", muscles: str = "", start: int = -1) -> str:
    head = (
        f'<joint name="j{number}" idNum="{number}" parent="{parent}" control_mode="none" start_state_idNum="{start}">'
    )
    return f"{head}{muscles}<geometry/>{inner}</joint>\n"


def state(number: int, text: str, holder: int) -> str:
    return (
        f'<state name="s{number}" idNum="{number}"><transition_rule boolstring="{text}">'
        f'<hdsoMod idNum="{holder}" NumElts="0"/></transition_rule></state>'
    )


def organ(mods: str) -> str:
    return f'<sense_organ name="o" idNum="599">{mods}</sense_organ>'


def muscle(functions: str) -> str:
    return f'<muscle name="m" idNum="499" Lnaught="1" r="1" alpha="1" fmax="1">{functions}</muscle>'


FUNCTION = '<function_spec type="linear" use="force-length"><hdsoMod idNum="171" NumElts="0"/></function_spec>\n'
RANGE = '<range type="invalid"><bound type="lower">5</bound><bound type="upper">6</bound></range>\n'
END = {P: '  <hdso idNum="171"', S: "</hdsolist>", J: "  <endpoint>"}


def many(made: Callable[[int], str]) -> Callable[[int], str]:
    return lambda n: "".join(map(made, range(n)))


Texts = Callable[[int], dict[str, str]]


def one(file: str, made: Callable[[int], str]) -> Texts:
    return lambda n: {file: made(n)}


DOCUMENTS: dict[str, Texts] = {
    "numbers": one(P, many(lambda k: hdso(2000 + k, inner="<initial_data>1</initial_data>"))),
    "one id": one(P, many(lambda k: hdso(2000, name=f"n{k}"))),
    "one name": one(P, many(lambda k: hdso(2000 + k, name="same"))),
    "unknown kinds": one(P, many(lambda k: hdso(2000 + k, 'abstractType="parametr"'))),
    "unknown elements": one(P, many(lambda k: f"<hdsso{k}/>")),
    "ranges": one(P, lambda n: hdso(2000, inner=RANGE * n)),
    "sizes": one(P, lambda n: hdso(2000, inner='<dimsize dimNr="1">1</dimsize>\n' * n)),
    "rules, each in the next": one(
        P, lambda n: "".join(rule(2000 + k, str(2001 + k) if k < n - 1 else "191") for k in range(n))
    ),
    "rules in a ring": one(P, lambda n: "".join(rule(2000 + k, str(2000 + (k + 1) % n)) for k in range(n))),
    "rings with one rule in common": one(
        P,
        lambda n: (
            rule(1999, "|".join(str(2000 + k) for k in range(n)), 2 * n)
            + "".join(rule(2000 + k, "1999") for k in range(n))
        ),
    ),
    "rules between two rings": one(
        P,
        lambda n: rule(2998, "2998|2000") + "".join(rule(2000 + k, str(2000 + min(k + 1, n - 1))) for k in range(n)),
    ),
    "rules of nothing": one(P, many(lambda k: rule(2000 + k, f"x{k} &gt; y{k}"))),
    "sensors": one(S, many(lambda k: hdso(2000 + k))),
    "joints, each on the last": one(J, many(lambda k: joint(10 + k, 9 + k if k else 1))),
    "joints in a ring": one(J, lambda n: "".join(joint(10 + k, 10 + (k + 1) % n) for k in range(n))),
    "joints on nothing": one(J, many(lambda k: joint(10 + k, 9000 + k))),
    "states": lambda n: {
        J: "".join(joint(10 + k, 1, state(900 + k, "191", 2000 + k), start=900 + k) for k in range(n)),
        P: "".join(rule(2000 + k, "191") for k in range(n)),
    },
    "functions": one(J, lambda n: joint(10, 1, muscles=muscle(FUNCTION * n))),
    "organs": one(J, lambda n: joint(10, 1, organ('<hdsoMod idNum="301" NumElts="0"/>\n' * n))),
    "first numbers of a list": one(
        J, lambda n: joint(10, 1, organ('<hdsoMod idNum="142" NumElts="1">1</hdsoMod>\n' * n))
    ),
}


def made(texts: dict[str, str]) -> dict[str, str]:
    """Return the small configuration with more in it."""
    return TEXTS | {file: TEXTS[file].replace(END[file], text + END[file], 1) for file, text in texts.items()}


def loaded(texts: dict[str, str]) -> None:
    """Read and check three documents, and make a plan of them where they are good."""
    problems = Problems()
    parts = [read_document(text.encode(), name, problems) for name, text in texts.items()]
    joints, parameters, sensors = parts
    assert isinstance(joints, JointList)
    assert isinstance(parameters, HdsoList)
    assert isinstance(sensors, HdsoList)
    if check_model(joints, parameters, sensors, "x").ok and problems.ok:
        find_dead_rules(build_plan(Model("x", joints, parameters, sensors)))


@pytest.mark.parametrize("texts", DOCUMENTS.values(), ids=DOCUMENTS.keys())
def test_a_document_with_twice_as_much_is_twice_the_work(texts: Texts) -> None:
    def deed(count: int) -> Callable[[], None]:
        whole = made(texts(count))
        return lambda: loaded(whole)

    assert growth(deed, 20) < 1.02


def test_what_an_entry_of_a_script_costs_does_not_depend_on_the_size_of_the_model() -> None:
    def slope(model: Model) -> int:
        plan = build_plan(model)

        def work(count: int) -> int:
            mods = [HdsoMod(101, 1, (3.0,), time_s=Decimal(k)) for k in range(count)]
            step = Gradual(Decimal(1000), Decimal(1), count, (HdsoMod(102, 1, (3.0,)),))
            script = HdsoScript((*mods, step))

            def deed() -> None:
                assert check_script(script, model).ok
                changesets = prepare(script, plan, model.ids)
                find_dead_rules(plan, changesets)
                describe_changes(plan, changesets)

            return bytecodes(deed)

        return work(60) - work(30)

    larger = [
        replace(MODEL.parameters.hdsos[-1], id_num=5000 + k, name=f"more{k}", initial_data=None) for k in range(500)
    ]
    parameters = replace(MODEL.parameters, hdsos=(*larger, *MODEL.parameters.hdsos))
    assert slope(replace(MODEL, parameters=parameters)) < 1.2 * slope(MODEL)
