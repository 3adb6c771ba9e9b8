"""The pure parts of the page of scripts: places in XML, differences of texts, scripts unfolded, checks in turn."""

from __future__ import annotations

import difflib
from pathlib import Path

import numpy as np
import pytest

from nuc_engine.model.changes import prepare
from nuc_engine.model.planning import build_plan
from nuc_engine.model.values import initial_values, plain_value
from nuc_engine.ui.scripting import schema, timeline
from sccils_schemas.model import load_script
from tests.ui.node import needs_node, run
from tests.ui.test_web import loaded

pytestmark = needs_node
SCRIPTS = Path(__file__).parents[2] / "scripts"

# --- completion ---

PLACES = """
import { offersAt, placeAt } from "{web}/xmltext.js";
const [texts, schema, names] = given;
told(texts.map((text) => {
  const caret = text.indexOf("|"), plain = text.replace("|", "");
  const place = placeAt(plain, caret);
  return [place.kind, place.tag, place.word, offersAt(place, schema, names).map((offer) => offer.text)];
}));
"""
NAMES = {
    "hdsos": [{"id": 7, "name": "CTr_load", "about": "tick"}, {"id": 42, "name": "FT_angle", "about": ""}],
    "joints": ["Femur-Tibia"],
    "states": ["FT_flexion"],
}
SCRIPT = "<hdsoscript><hdsoMod idNum='1' time='0'>"
OFFERED = [
    ("|", "none", []),
    ("<|", "element", "roots"),
    ("<hdsoscript>\n  <hd|", "element", ["hdsoMod", "hdsoSpec"]),
    ("<hdsoscript><gradual time='0'><|", "element", ["hdsoMod"]),
    ("<hdsoscript></|", "close", ["hdsoscript>"]),
    ("<hdsoscript><gradual></gradual></|", "close", ["hdsoscript>"]),
    ("<hdsoscript><hdsoMod id| NumElts='1'>", "attribute", ['idNum=""', 'idByName=""']),
    ("<hdsoscript><hdsoMod idNum='1' Num|", "attribute", ['NumElts=""']),
    ("<hdsoscript><hdsoMod idNum='|", "value", ["7", "42"]),
    ("<hdsoscript><hdsoMod idNum='4|", "value", ["42"]),
    ('<hdsoscript><hdsoMod name="ft|', "value", ["FT_angle"]),
    ("<hdsoscript><hdsoMod datatype='ll|", "value", ["llint"]),
    ("<hdsoscript><disconnect joint='|", "value", ["Femur-Tibia"]),
    (f"{SCRIPT}302 &gt; FT|", "text", ["FT_angle"]),
    (f"{SCRIPT}302 > ct|", "text", ["CTr_load"]),
    ("<hdsoscript><!-- <hdsoMod idNum='|", "none", []),
    ("<hdsoscript name='a > b' |", "attribute", ['fullname=""', 'ScriptType=""', 'version=""']),
    ('<a x="y', "none", []),
]


def test_what_is_offered_is_what_may_stand_there():
    texts = [text if "|" in text else f"{text}|" for text, _, _ in OFFERED]
    found = run(PLACES, texts, schema(), NAMES)
    for (text, kind, offers), (seen, _, _, offered) in zip(OFFERED[:-1], found[:-1], strict=True):
        assert seen == kind, text
        wanted = schema()["roots"] if offers == "roots" else offers
        assert sorted(offered) == sorted(wanted), text
    assert found[-1][3] == []


def test_completion_of_a_large_text_takes_no_while():
    code = """
import { lineStarts, placeAt } from "{web}/xmltext.js";
const [hostile, line] = given;
const times = [line.repeat(20000), hostile.repeat(100000)].map((text) => {
  const began = performance.now();
  placeAt(`${text}<hdsoMod `, text.length + 9), lineStarts(text);
  return performance.now() - began;
});
told(times);
"""
    times = run(code, '<a "', '  <hdsoMod idNum="1" NumElts="1" time="0">1</hdsoMod>\n')
    assert max(times) < 2000


def test_enter_keeps_the_margin_and_goes_deeper_after_what_opens():
    code = """
import { lineOf, lineStarts, newLine, shifted } from "{web}/xmltext.js";
const lines = ["<a>", "  <a x='/>'>", "  <a/>", "  </a>", "\\t<a b='1'>2", ""];
told([
  lines.map((text) => newLine(`x\\n${text}`, text.length + 2)),
  shifted("a\\nb\\n\\nc\\n", 2, 6, false), shifted("    a\\n b\\nc", 0, 10, true),
  [0, 1, 2, 3, 9].map((at) => lineOf(lineStarts("a\\n\\nbc"), at)),
]);
"""
    margins, deeper, out, lines = run(code)
    assert margins == ["\n  ", "\n    ", "\n  ", "\n  ", "\n\t", "\n"]
    assert deeper == {"begin": 2, "end": 6, "text": "  b\n\n  c"}
    assert out["text"] == "  a\nb\nc"
    assert lines == [1, 1, 2, 3, 3]


# --- differences ---

DIFF = """
import { diffLines } from "{web}/linediff.js";
told(given.map(([a, b]) => diffLines(a, b, 1e9)));
"""


def test_a_difference_leads_from_one_text_to_the_other_in_few_steps():
    rng = np.random.default_rng(5)
    pairs = [["", ""], ["a", "a"], ["a", ""], ["", "a\nb"]]
    for _ in range(60):
        a = rng.choice([*"abcde"], rng.integers(30)).tolist()
        b = [line for line in a if rng.random() > 0.2]
        for _ in range(rng.integers(5)):
            b.insert(int(rng.integers(len(b) + 1)), str(rng.choice([*"abcdef"])))
        pairs.append(["\n".join(a), "\n".join(b)])
    for (a, b), hunks in zip(pairs, run(DIFF, *pairs), strict=True):
        lines = [line for hunk in hunks for line in hunk["lines"]]
        if a == b:
            assert lines == []
            continue
        assert [line["text"] for line in lines if line["sign"] != "+"] == a.split("\n")
        assert [line["text"] for line in lines if line["sign"] != "-"] == b.split("\n")
        assert [line["after"] for line in lines if line["after"]] == list(range(1, len(b.split("\n")) + 1))
        changed = sum(line["sign"] != " " for line in lines)
        theirs = sum(line[0] in "+-" for line in difflib.ndiff(a.split("\n"), b.split("\n")))
        assert changed <= theirs


def test_texts_that_are_nothing_alike_are_compared_at_once():
    code = """
import { diffLines } from "{web}/linediff.js";
const text = (sign) => Array.from({ length: 30000 }, (_, k) => `${sign}${k}`).join("\\n");
const began = performance.now();
const [hunk] = diffLines(text("a"), text("b"));
told([hunk.lines.length, performance.now() - began]);
"""
    count, took_ms = run(code)
    assert count == 60_000
    assert took_ms < 5000


def test_hunks_have_lines_around_them_and_none_twice():
    code = 'import { diffLines } from "{web}/linediff.js"; told(diffLines(...given, 1));'
    before = [str(k) for k in range(20)]
    after = [*before[:3], "x", *before[4:6], "y", *before[6:15], "z", *before[15:]]
    hunks = run(code, "\n".join(before), "\n".join(after))
    assert [[line["sign"] + line["text"] for line in hunk["lines"]] for hunk in hunks] == [
        [" 2", "-3", "+x", " 4", " 5", "+y", " 6"],
        [" 14", "+z", " 15"],
    ]


# --- scripts unfolded ---

UNFOLD = """
import { tabulate, unfold } from "{web}/timeline.js";
const [entries, hdsos, held, end] = given;
const known = new Map(hdsos.flatMap((hdso) => [[hdso.id, hdso], [hdso.name, hdso]]));
const { courses, changes } = unfold(entries, (ref) => known.get(ref), held);
const { rows, count, codes } = tabulate(courses, end);
told({ courses, changes, rows: Array.from(rows), count, codes: [...codes] });
"""


@pytest.mark.parametrize("name", ["experiment_a", "experiment_ga", "experiment_ea", "itf", "magnet_press_itb"])
def test_courses_are_the_writes_that_the_engine_makes(name: str):
    models = map(loaded, ("lin_roach", "restricted_null_stick", "lin_stickmiddle"))
    fitting = ((model, load_script(SCRIPTS / f"{name}.xml", model)[0]) for model in models)
    model, script = next((model, script) for model, script in fitting if script is not None)
    plan = build_plan(model)
    names = {hdso.id_num: hdso.name for hdso in plan.hdsos}
    held = {h.name: plain_value(h, v, names) for h, v in zip(plan.hdsos, initial_values(plan), strict=True)}
    told = timeline((SCRIPTS / f"{name}.xml").read_text(encoding="utf-8"))
    hdsos = [{"id": h.id_num, "name": h.name, "unit": h.units} for h in plan.hdsos]
    found = run(UNFOLD, told["entries"], hdsos, held, 99.0)
    courses = {course["name"]: course for course in found["courses"] if course["isNumber"]}
    made: dict[str, list[tuple[float, float]]] = {}
    for changeset in prepare(script, plan, model.ids):
        for write in changeset.writes:
            hdso = plan.hdsos[write.hdso]
            if hdso.kind != "boolstring" and hdso.count == 1:
                made.setdefault(hdso.name, []).append((changeset.time_ns / 1e9, write.values[0]))
    assert made
    for hdso_name, writes in made.items():
        steps = courses[hdso_name]["steps"]
        assert [step["at"] for step in steps] == pytest.approx([at for at, _ in writes])
        whole = plan.hdso(hdso_name).datatype != "float"
        assert [step["value"] for step in steps] == pytest.approx(
            [value for _, value in writes], abs=0.5 if whole else 1e-4
        )


def test_a_trigger_says_in_words_for_what_it_waits_and_what_it_writes():
    waits = {"holds_s": 0.5, "after_s": 0, "refractory_s": 2, "until_s": None, "times": 0}
    writes = [{"ref": 1, "data": [3]}, {"ref": 9, "data": "A < B"}]
    (found,) = run(
        *(UNFOLD, [entry(0, "A > x", kind="when", ref="", writes=writes, **waits)]),
        *([{"id": 1, "name": "x", "unit": "deg"}], {"x": 4}, 1.0),
    )["changes"]
    assert (found["name"], found["to"]) == ("when A > x", "x = 3, 9 = A < B")
    assert found["how"] == "waits for its rule, each time, true for 0.5 s, then rests 2 s"


def entry(at: float, data: object, **more: object) -> dict:
    base = {"time_s": at, "duration_s": 0.0, "steps": 0, "line": 1, "kind": "write", "ref": 1, "data": data}
    return {**base, **more}


def test_a_gradual_change_begins_from_what_is_in_force_then_and_goes_step_by_step():
    entries = [
        entry(1, [10]),
        entry(2, [20], kind="gradual", duration_s=2.0, steps=4, line=7),
        entry(3.2, [0], line=9),
        entry(0, "A > B", ref=2),
        entry(5, "A < B", ref=2),
        entry(6, None, kind="request", ref=-1),
        entry(7, "<kick time='7'/>", kind="by hand", ref="", duration_s=0.5),
    ]
    hdsos = [{"id": 1, "name": "x", "unit": "deg"}, {"id": 2, "name": "rule", "unit": None}]
    found = run(UNFOLD, entries, hdsos, {"x": 4, "rule": "A = B"}, 10.0)
    x, rule = found["courses"]
    assert [(s["at"], s["value"]) for s in x["steps"]] == [
        *((1, 10), (2.5, 12.5), (3, 15), (3.2, 0), (3.5, 17.5), (4, 20)),
    ]
    assert (x["start"], rule["start"]) == (4, "A = B")
    assert [(c["name"], c["from"], c["to"]) for c in found["changes"]] == [
        ("x", "4", "10"),
        ("x", "10", "20"),
        ("x", "10", "0"),
        ("rule", "A = B", "A > B"),
        ("rule", "A > B", "A < B"),
        ("every value", "", ""),
        ("by hand", "", "<kick time='7'/>"),
    ]
    table = [found["rows"][k : k + 3] for k in range(0, len(found["rows"]), 3)]
    assert [row[:2] for row in table if row[0] in (1, 3.2)] == [[1, 4], [1, 10], [3.2, 15], [3.2, 0]]
    assert table[0][0] == 0
    assert table[-1] == [10, 20, dict(found["codes"])["A < B"]]


def test_a_gradual_change_begins_from_what_is_written_at_that_very_time():
    entries = [entry(2, [20], kind="gradual", duration_s=1.0, steps=2), entry(2, [10])]
    (x,) = run(UNFOLD, entries, [], {"1": 0}, 10.0)["courses"]
    assert [(s["at"], s["value"]) for s in x["steps"]] == [(2, 10), (2.5, 15), (3, 20)]


def test_very_many_steps_are_drawn_as_far_as_somebody_sees_them():
    entries = [entry(k, [k], kind="gradual", duration_s=1.0, steps=100_000) for k in range(50)]
    found = run(UNFOLD, entries, [], {"1": 0}, 60.0)
    assert found["count"] < 10_000
    assert found["courses"][0]["steps"][-1] == {"at": 50, "value": 49}


# --- checks ---


def test_one_check_is_under_way_at_a_time_and_old_answers_are_dropped():
    code = """
import { Checks } from "{web}/checks.js";
const asked = [], told_ = [], timers = [];
globalThis.setTimeout = (act) => timers.push(act);
globalThis.clearTimeout = (k) => { timers[k - 1] = null; };
let text = "";
const checks = new Checks(() => new Promise((done) => asked.push([text, done])), (found) => told_.push(found));
const tick = () => { const due = timers.splice(0); due.forEach((act) => act?.()); };
const settle = () => new Promise((done) => setImmediate(done));
const type = (more) => { text = more; checks.want(); };
type("a"), type("ab"), tick();
type("abc"), tick();
const during = asked.map(([of]) => of);
asked[0][1]("of ab");
await settle();
const afterOld = [...told_];
tick();
asked[1][1]("of abc");
await settle(), tick();
told({ during, afterOld, asked: asked.map(([of]) => of), told: told_ });
"""
    found = run(code)
    assert found["during"] == ["ab"]
    assert found["afterOld"] == []
    assert found["asked"] == ["ab", "abc"]
    assert found["told"] == ["of abc"]
