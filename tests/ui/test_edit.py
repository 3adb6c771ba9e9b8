"""What the page does with edits and rules, against what the daemon's own code says of the same."""

from __future__ import annotations

import itertools
import json

import numpy as np
import pytest

from nuc_engine.cli.ctl.sheet import make_sheet
from nuc_engine.configurations.describe import describe_model
from nuc_engine.control.functions import bind_function
from nuc_engine.control.rulebook import Rulebook
from nuc_engine.machine.locations import find_configuration, list_configurations
from nuc_engine.model.plan import FunctionPlan, Slot
from nuc_engine.model.planning import build_plan
from nuc_engine.model.store import Store
from nuc_engine.model.values import plain_value
from sccils_schemas.model import Model, load_model
from sccils_schemas.rules import RuleError, encode_rule, parse_rule, resolve
from tests.ui.node import needs_node, run

pytestmark = needs_node


def loaded(name: str) -> Model:
    model, problems = load_model(find_configuration(name))
    assert model is not None, problems
    return model


# --- rules ---

TRUTHS = """
import { operandsIn, parseRule, truth } from "{web}/rules.js";
const [cases, floats] = given;
const isFloat = (name) => floats.includes(name);
told(cases.map(([text, held]) => truth(parseRule(text), operandsIn((name) => held[name], isFloat))));
"""


def a_rule(rng: np.random.Generator, names: list[str], depth: int = 0) -> str:
    """Return a rule's text, with parentheses where they are needed, and some where they are not."""
    kind = rng.random()
    if depth > 2 or kind < 0.4:
        left, right = rng.choice(names, 2)
        text = f"{left}{rng.choice([' < ', '>', ' > ', '<'])}{right}" if kind < 0.35 else str(left)
        return f"({text})" if rng.random() < 0.4 else text
    parts = [a_rule(rng, names, depth + 1) for _ in range(rng.integers(2, 4))]
    text = str(rng.choice([" & ", "|", " | ", "&"])).join(parts)
    return f"({text})" if rng.random() < 0.5 else text


def test_rules_are_as_true_as_the_engine_finds_them():
    rng = np.random.default_rng(7)
    plan = build_plan(loaded("lin_roach"))
    ids = {hdso.name: hdso.id_num for hdso in plan.hdsos}
    single = {hdso.name: hdso for hdso in plan.hdsos if hdso.count == 1 and hdso.kind in ("parameter", "sensor")}
    rules = [hdso for hdso in plan.hdsos if hdso.kind == "boolstring"]
    cases, expected = [], []
    while len(cases) < 400:
        store = Store(plan)
        book = Rulebook(plan, store)
        names = rng.choice([*single], 5, replace=False).tolist()
        held = {}
        for name in names:
            values = (0.0, 0.1, 1.0, 1.1) if single[name].datatype == "float" else (0, 1, 2)
            store.write(single[name].index, (rng.choice(values).item(),))
            held[name] = plain_value(single[name], store.values(single[name].index))
        truth = False
        # The second may have the first inside it, the third both.
        for rule in rules[:3]:
            text = a_rule(rng, [*names, *(inner.name for inner in rules if inner.index in book.in_force)])
            try:
                code = [number for row in encode_rule(resolve(parse_rule(text), ids), rule.dims[1]) for number in row]
                book.swap(rule.index, code, predicate := book.decode(rule.index, code))
            except RuleError:  # too long, or a rule that is compared
                continue
            held[rule.name], truth = text, predicate()
            cases.append((text, dict(held)))
            expected.append(truth)
    assert run(TRUTHS, cases, [name for name, hdso in single.items() if hdso.datatype == "float"]) == expected
    assert {True, False} == set(expected)


@pytest.mark.parametrize(
    "text", ["", "(", "a <", "a < b < c", "(a < b", "a b", "a & ", "(a & b) < c", "a)", "<", "()", None, 3]
)
def test_what_is_no_rule_has_no_tree_and_no_truth(text):
    code = """
import { parseRule, truth } from "{web}/rules.js";
const tree = parseRule(given[0]);
told([tree, truth(tree, () => 1)]);
"""
    assert run(code, text) == [None, None]


def test_of_a_rule_with_an_unknown_operand_only_what_is_decided_is_told():
    cases = [("a < b | x", {"a": 0, "b": 1}), ("a > b & x", {"a": 0, "b": 1}), ("a < b & x", {"a": 0, "b": 1})]
    assert run(TRUTHS, cases, []) == [True, False, None]


FIRINGS = """
import { Firings } from "{web}/rules.js";
import { Ring } from "{web}/ring.js";
const [rows, cuts, columns, rules, held] = given;
const ring = new Ring(columns.length, rows.length + 64), index = new Map(columns.map((name, k) => [name, k]));
const joint = { name: "J", codes: new Map(rules.map(([state], code) => [code, { state, rule: `enter ${state}` }])) };
const firings = new Firings([joint], new Set(), 1e6);
const known = { ...held, ...Object.fromEntries(rules.map(([state, text]) => [`enter ${state}`, text])) };
let from = 0;
for (const to of cuts) {
  ring.push(rows.slice(from, to).flat(), to - from);
  firings.take(ring, index, from, to, (name) => known[name], () => true);
  from = to;
}
const lefts = (held) => held.map(({ leaf }) => leaf.left);
told({
  causes: firings.causes.get("J").map((cause) => [cause.record, cause.state, cause.known, lefts(cause.true)]),
  counts: Object.fromEntries(firings.counts), since: firings.since.get("J"),
});
"""


def test_every_change_of_action_is_found_with_what_let_it_happen_however_records_come():
    rng = np.random.default_rng(5)
    rules = [("A", "s > high"), ("B", "(s < low) | (t > high)"), ("C", "s < low & t > high")]
    texts = {"A": lambda s, t: ["s"] if s > 1 else [], "B": lambda s, t: ["s"] * (s < -1) + ["t"] * (t > 1)}
    texts["C"] = lambda s, t: ["s", "t"] if s < -1 and t > 1 else []
    rows, state, bout, cycle, sensed = [], 0, 1, 0, (0.0, 0.0)
    switches, gaps = [], 0
    for record in range(3000):
        cycle += 1
        if rng.random() < 0.005:  # another bout: every joint is in its first action, by no rule
            bout, cycle, state = bout + 1, 1, 0
        elif record:
            gap = rng.random() < 0.02
            cycle += 3 * gap
            fired = [k for k, (name, _) in enumerate(rules) if k != state and texts[name](*sensed)]
            if fired:
                state = fired[0]
                name = rules[state][0]
                switches.append([record, name, not gap, [] if gap else texts[name](*sensed)])
                gaps += gap
        sensed = (float(rng.normal()), float(rng.normal()))
        rows.append([record / 50, cycle, bout, state, *sensed])
    cuts = sorted({*rng.integers(1, 3000, 60).tolist(), 3000})
    columns = ["time", "cycle", "bout", "J.state", "s", "t"]
    found = run(FIRINGS, rows, cuts, columns, rules, {"low": -1, "high": 1})
    assert found["causes"][::-1] == switches
    assert gaps > 5
    for name, _ in rules:
        assert found["counts"][name] == sum(switch[1] == name for switch in switches)
    assert found["counts"]["B t > high"] == sum("t" in switch[3] for switch in switches if switch[1] == "B")
    assert len(switches) > 500


FORCED = """
import { Firings } from "{web}/rules.js";
import { Ring } from "{web}/ring.js";
const [rows, clamps] = given;
const columns = ["time", "cycle", "bout", "J.state", "s", "decay"];
const ring = new Ring(columns.length, 64), index = new Map(columns.map((name, k) => [name, k]));
const codes = new Map([[0, { state: "A", rule: "a" }], [1, { state: "B", rule: "b", central: "c" }]]);
const firings = new Firings([{ name: "J", codes }], new Set(["decay"]));
ring.push(rows.flat(), rows.length);
const held = { a: "s < low", b: "s > high", c: "decay < drive", low: 0, high: 1, drive: 0.1 };
firings.take(ring, index, 0, rows.length, (name) => held[name], () => false, clamps);
const lefts = (held) => held.map(({ leaf }) => leaf.left);
told(firings.causes.get("J").map((cause) => [cause.state, cause.known, cause.forced, lefts(cause.true)]));
"""


def test_a_switch_is_said_to_be_forced_where_the_central_rule_held_and_the_entry_rule_did_not():
    def cause(sensor, decay, clamps=None):
        # The signal about actions stands in the record of the switch: before it was far from the drive, or below it.
        rows = [[0, 1, 1, 0, sensor, 0.5 - decay], [0.02, 2, 1, 1, 0, decay]]
        (found,) = run(FORCED, rows, clamps or {})
        return found

    assert cause(2.0, 0.5) == ["B", True, False, ["s"]]
    assert cause(0.0, 0.05) == ["B", True, True, ["decay"]]
    assert cause(2.0, 0.05) == ["B", True, False, ["s"]], "sensory entries come first"
    assert cause(0.0, 0.5) == ["B", False, False, []]
    assert cause(0.0, 0.5, {"s": 3.0}) == ["B", True, False, ["s"]], "rules go by what is sensed"


SENSES = """
import { sensesOf } from "{web}/model.js";
told([...sensesOf(given[0])]);
"""


@pytest.mark.parametrize("name", list_configurations())
def test_every_sensor_that_can_be_clamped_stands_with_one_joint(name):
    model = loaded(name)
    plan = build_plan(model)
    placed = [sensor for _, sensors in run(SENSES, describe_model(model, plan)) for sensor in sensors]
    felt = {plan.hdsos[index].name for motor in plan.motors for index in (motor.angle, motor.current)}
    felt |= {plan.hdsos[signal.output.hdso].name for signal in (*plan.signals, *plan.action_signals)}
    assert len(placed) == len(set(placed))
    assert felt <= set(placed)


# --- what may be turned, and how far ---

KNOBS = """
import { kept, knobsOf, snapped, stepped } from "{web}/edit.js";
told(given[0].map((hdso) => knobsOf(hdso).map((knob) => ({
  label: knob.label, quantum: knob.quantum, least: Number.isFinite(knob.least) ? knob.least : null,
  most: Number.isFinite(knob.most) ? knob.most : null,
  stepped: given[1].map(([value, steps]) => stepped(knob, knob.whole ? Math.round(value) : value, steps, false)),
}))));
"""


@pytest.mark.parametrize("name", list_configurations())
def test_what_can_be_turned_and_its_steps_are_those_of_nuc_ctl_tune(name):
    model = describe_model(loaded(name))
    moves = [(0.1, 3), (1, -1), (5.55, 10), (0, 7), (-3.25, 1)]
    hdsos = [*model["parameters"], *model["sensors"]]
    found = run(KNOBS, hdsos, moves)
    sheet = make_sheet(model, next(joint["name"] for joint in model["joints"] if joint["states"]))
    for hdso, knobs in zip(hdsos, found, strict=True):
        wanted = sheet._knobs(hdso["name"])  # pyright: ignore[reportPrivateUsage]
        if hdso["datatype"] in ("char", "uchar"):
            continue
        assert [knob["label"] for knob in knobs] == [knob.label for knob in wanted]
        for knob, want in zip(knobs, wanted, strict=True):
            assert knob["quantum"] == float(want.quantum)
            assert (knob["least"], knob["most"]) == want.bounds
            whole = want.datatype not in ("float", "double")
            values = [(round(value) if whole else value, steps) for value, steps in moves]
            assert knob["stepped"] == [want.stepped(value, steps) for value, steps in values]


SLIDER = """
import { snapped, stepped, typedProblem } from "{web}/edit.js";
const knob = { low: -3, high: 2, least: -20, most: 20, quantum: 0.1, whole: false, unit: "tick" };
const whole = { ...knob, whole: true, quantum: 1 };
told({
  coarse: [-3, -2.97, -0.04, 0.06, 1.99, 2].map((value) => snapped(knob, value, false)),
  quarters: snapped({ ...knob, quantum: 0.25 }, 0.3, false),
  fine: [-0.04, 0.064].map((value) => snapped(knob, value, true)),
  steps: [stepped(knob, 0.01, 1, false), stepped(knob, 0.01, -1, true), stepped(knob, 19.95, 1, false)],
  whole: [snapped(whole, 0.4, true), stepped(whole, 1, 1, true)],
  typed: ["1", "-20.5", "21", "", "x", "1e400"].map((text) => typedProblem(knob, text)),
  notWhole: typedProblem(whole, "0.5"),
});
"""


def test_a_slider_goes_in_quanta_and_in_tenths_of_them_and_what_is_typed_is_held_against_the_valid_range():
    found = run(SLIDER)
    assert found["coarse"] == [-3, -3, 0, 0.1, 2, 2]
    assert found["quarters"] == 0.25
    assert found["fine"] == [-0.04, 0.06]
    assert found["steps"] == [0.11, 0, 20]
    assert found["whole"] == [0, 2]
    assert [bool(problem) for problem in found["typed"]] == [False, True, True, True, True, True]
    assert found["notWhole"] == "0.5 is no whole number"
    assert found["typed"][1] == "-20.5 is below the least valid value, -20 tick"


# --- what is sent ---

SENDER = """
import { dropWishes, EVERY_MS, Sender } from "{web}/edit.js";
const [events, takesMs, refusedAbove] = given;
let now = 0, number = 0;
const timers = [], sent = [], heard = [];
const later = (work, ms) => timers.push([now + ms, work]);
const sender = new Sender({
  now: () => now, later,
  ask: (value, merge) => new Promise((resolve, reject) => {
    sent.push([now, value, merge]);
    later(() => {
      if (value > refusedAbove + 100) resolve({ applied: [], refused: [{ name: "x", reason: "later" }] });
      else if (value > refusedAbove) reject(new Error("too large"));
      else resolve({ applied: [{}], refused: [], request: (number += 1) });
    }, takesMs);
  }),
  told: (answer, value, more) => heard.push([value, answer.request, more]),
  refused: (error, value, more) => heard.push([value, error.message, more]),
  dropped: () => heard.push(["dropped"]),
});
const happens = (value) => (value === null ? sender.end() : value === "drop" ? dropWishes() : sender.want(value));
for (const [at, value] of events) later(() => happens(value), at);
const breathe = () => new Promise((resolve) => setImmediate(resolve));
while (timers.length) {
  timers.sort(([a], [b]) => a - b);
  const [at, work] = timers.shift();
  now = at;
  work();
  await breathe();
}
told({ sent, heard, active: sender.active, every: EVERY_MS });
"""


@pytest.mark.parametrize("takes_ms", [1, 30, 120])
def test_a_drag_sends_at_most_twenty_edits_a_second_the_newest_wins_and_the_last_always_goes(takes_ms):
    events = [(k * 7, k) for k in range(200)] + [(1400, None)]
    found = run(SENDER, events, takes_ms, 1e9)
    times = [at for at, _, _ in found["sent"]]
    assert all(b - a >= found["every"] for a, b in itertools.pairwise(times)), "at most 20 a second"
    assert len(times) == pytest.approx(1400 / max(found["every"], takes_ms), rel=0.15)
    values = [value for _, value, _ in found["sent"]]
    assert values == sorted(set(values))
    assert values[-1] == 199
    for at, value, _ in found["sent"][:-1]:
        assert value == int(at // 7) if at % 7 else value in (at // 7, at // 7 - 1), "the newest there was"
    assert not found["active"]


def test_a_drag_is_one_step_of_undo_and_the_next_one_is_another_though_the_last_value_still_waits():
    events = [(0, 1), (20, 2), (25, None), (26, 10), (40, 11), (300, None), (400, 20)]
    found = run(SENDER, events, 5, 1e9)
    assert [(value, merge) for _, value, merge in found["sent"]] == [(1, 0), (2, 1), (11, 0), (20, 0)]


def test_what_waits_does_not_come_after_what_was_asked_for_instead():
    events = [(0, 1), (10, 2), (15, None), (20, 3), (30, "drop"), (200, 7)]
    found = run(SENDER, events, 5, 1e9)
    assert [value for _, value, _ in found["sent"]] == [1, 7], "a limp joint is not driven on by where a slider was"
    assert found["heard"] == [[1, 1, False], ["dropped"], [7, 2, False]], "nor shown by its slider as if it were"
    assert not found["active"]


def test_what_waited_too_long_is_not_sent_when_nobody_expects_it_any_more():
    events = [(0, 1), (20, 2), (40, 3), (50, None), (60, 4)]
    found = run(SENDER, events, 3000, 1e9)
    assert [value for _, value, _ in found["sent"]] == [1]
    assert found["heard"][-1] == [4, "not sent: it waited too long", False]
    assert not found["active"]


def test_a_refusal_is_told_and_what_is_newer_is_sent_all_the_same_as_part_of_the_drag():
    events = [(0, 1), (60, 50), (120, 200), (180, 2), (250, None)]
    found = run(SENDER, events, 5, 10)
    assert [(value, merge) for _, value, merge in found["sent"]] == [(1, 0), (50, 1), (200, 1), (2, 1)]
    assert found["heard"] == [[1, 1, False], [50, "too large", False], [200, "later", False], [2, 2, False]]


def test_what_was_dropped_meanwhile_is_not_gone_on_with_as_the_same_step():
    events = [(0, 1), (60, 2), (120, "drop"), (130, 3), (190, 4)]
    found = run(SENDER, events, 5, 1e9)
    assert [(value, merge) for _, value, merge in found["sent"]] == [(1, 0), (2, 1), (3, 0), (4, 3)]


SENDERS = """
import { EVERY_MS, Sender } from "{web}/edit.js";
const [events, takes] = given;
let now = 0, asked = 0;
const timers = [], sent = [], refusals = [], pace = { sentAt: -Infinity };
const later = (work, ms) => timers.push([now + ms, work]);
const senders = [0, 1, 2].map((which) => new Sender({
  now: () => now, later, pace,
  ask: (value) => new Promise((resolve) => {
    sent.push([now, which, value]);
    later(() => resolve({ applied: [{}], refused: [], request: asked }), takes[(asked += 1) % takes.length]);
  }),
  told: () => {},
  refused: (error, value) => refusals.push([which, value]),
}));
for (const [at, which, value] of events) later(() => senders[which].want(value), at);
while (timers.length) {
  timers.sort(([a], [b]) => a - b);
  const [at, work] = timers.shift();
  now = at;
  work();
  await new Promise((resolve) => setImmediate(resolve));
}
told({ sent, refusals, every: EVERY_MS, active: senders.some((sender) => sender.active) });
"""


@pytest.mark.parametrize("seed", range(6))
def test_all_controls_of_a_page_share_the_pace_and_the_last_of_each_arrives_or_is_refused_aloud(seed):
    rng = np.random.default_rng(seed)
    slowest = (40, 400, 3000)[seed % 3]
    times = np.sort(rng.integers(0, 3000, 300)).tolist()
    events = [(at, int(rng.integers(3)), k) for k, at in enumerate(times)]
    found = run(SENDERS, events, rng.integers(1, slowest + 1, 50).tolist())
    assert all(b[0] - a[0] >= found["every"] for a, b in itertools.pairwise(found["sent"])), "at most 20 a second"
    for which in range(3):
        last = max(value for _, each, value in events if each == which)
        arrived = max(value for _, each, value in found["sent"] if each == which)
        assert arrived == last or [which, last] in found["refusals"]
    assert slowest > 400 or not found["refusals"]
    assert not found["active"]


DESK = """
globalThis.addEventListener = () => {};
globalThis.localStorage = { getItem: () => null };
const looks = [];
globalThis.setInterval = (work) => looks.push(work);
const { Desk } = await import("{web}/desk.js");
const { wishNumber } = await import("{web}/edit.js");
const answers = [];
class Live extends EventTarget {
  open = true; model = {}; status = {}; configuration = "x"; inControl = true; mayBegin = true; bout = 0;
  ask(method, params) { return new Promise((resolve) => answers.push([method, params, resolve])); }
}
const live = new Live(), desk = new Desk(live);
const answer = (method, result) => answers.splice(answers.findIndex(([each]) => each === method), 1)[0][2](result);
const breathe = () => new Promise((resolve) => setImmediate(resolve));
"""


def test_a_reading_that_was_asked_for_before_an_edit_does_not_bring_the_old_value_back():
    code = """
desk.watch(["a", "b", "v"]);
void desk.read(0);
void desk.set("a", 2);
void desk.set("v[1]", 9);
answer("set", { applied: [{ name: "a", value: 2 }], refused: [] });
answer("set", { applied: [{ name: "v[1]", value: 9 }], refused: [] });
await breathe();
answer("get", { values: { a: 1, b: 5, v: [1, 2] } });
await breathe();
const then = Object.fromEntries(desk.values);
answer("history", { done: [], undone: [] });
await breathe();
answer("kept_values", []);
await breathe();
desk.values.set("v", [1, 9]);
void desk.read(1000);
answer("get", { values: { a: 3, b: 6, v: [1, 7] } });
await breathe();
told([then, Object.fromEntries(desk.values)]);
"""
    assert run(DESK + code) == [{"a": 2, "b": 5}, {"a": 3, "b": 6, "v": [1, 7]}]


def test_nothing_is_sent_nor_wanted_any_more_once_it_can_not_be_edited():
    code = """
const heard = [], wished = [];
const note = () => wished.push(wishNumber());
for (const look of looks) look();
note();
live.mayBegin = false;
for (const look of looks) look();
note();
await desk.set("a", 1).catch((error) => heard.push(error.message));
await desk.attempt("a", 1, 0, 5).catch((error) => heard.push(error.message));
live.mayBegin = true;
for (const event of ["gone", "closed", "layout"]) { live.dispatchEvent(new Event(event)); note(); }
told({ heard, wished, asked: answers.length });
"""
    found = run(DESK + code)
    assert found["heard"] == ["not sent: what is shown is not live"] * 2
    assert found["wished"] == [0, 1, 2, 3, 4]
    assert found["asked"] == 0


def test_whose_edit_an_undo_took_back_is_said_if_it_is_known_and_what_was_refused_of_a_set():
    code = """
import { outcomeOf, takenBackOf } from "{web}/changes.js";
const edit = { author: "Ann", changes: [{ what: "write", name: "a", before: 1, after: 2 }] };
const answer = (value) => ({ applied: [{ name: "a", value }], refused: [] });
told([
  takenBackOf(answer(1), edit), takenBackOf(answer(7), edit), takenBackOf({ applied: [] }, edit),
  takenBackOf(answer(1)),
  outcomeOf({ applied: [{ name: "a", value: 1 }], refused: [{ name: "gone", reason: "no such HDSO" }] }),
]);
"""
    assert run(code) == ["Ann", "", "", "", "a = 1; NOT gone: no such HDSO"]


WRITES = """
import { write, heldBy, sameValue, numbersIn } from "{web}/edit.js";
const values = new Map(Object.entries(given[0]));
write(values, given[1]);
told([
  Object.fromEntries(values), heldBy({ count: 2, element: 1 }, values.get("v")),
  sameValue(0.1, 0.10000000149, "float"), sameValue(0.1, 0.10000000149, "double"),
  sameValue([1, 2], [1, 2], "int"), sameValue(null, 0, "int"), numbersIn("1, -2e1 3"), numbersIn("1 x"),
]);
"""


def test_what_an_edit_wrote_is_known_at_once_whole_in_part_or_one_element():
    written = [{"name": "a", "value": 2}, {"name": "v[1]", "value": 9}, {"name": "w", "value": [7]}]
    found = run(WRITES, {"a": 1, "v": [1, 2], "w": [1, 2, 3]}, written)
    assert found == [{"a": 2, "v": [1, 9], "w": [7, 2, 3]}, 9, True, False, True, False, [1, -20, 3], None]


# --- functions of muscles ---


def test_functions_are_those_of_the_engine():
    rng = np.random.default_rng(2)
    plan = build_plan(loaded("lin_roach"))
    hdso = next(hdso for hdso in plan.hdsos if hdso.count == 16)
    cases, expected = [], []
    for kind, count in (("constant", 1), ("linear", 2), ("parabolic", 3), ("hyperbolic", 3)):
        for _ in range(20):
            numbers = np.float32(rng.normal(size=count)).tolist()
            store = Store(plan)
            store.write(hdso.index, (*numbers, *[0.0] * (16 - count)))
            function = bind_function(FunctionPlan(kind, tuple(Slot(hdso.index, k) for k in range(count))), store)
            x = float(rng.normal())
            cases.append((kind, numbers, x))
            expected.append(function(x))
    code = """
import { functionOf } from "{web}/curves.js";
told(given[0].map(([kind, numbers, x]) => functionOf(kind, numbers)?.(x) ?? null));
"""
    assert run(code, cases) == pytest.approx(expected, rel=1e-6, abs=1e-9)
    assert run(code, [("linear", [1], 0), ("x:y", [1], 0), ("toString", [], 0)]) == [None, None, None]


@pytest.mark.parametrize("name", list_configurations())
def test_each_value_that_is_used_belongs_to_the_joints_that_use_it(name):
    model = describe_model(loaded(name))
    code = """
import { jointsOf } from "{web}/model.js";
told([...jointsOf(given[0])].map(([name, joints]) => [name, [...joints]]));
"""
    found = dict(run(code, json.loads(json.dumps(model))))
    for joint in model["joints"]:
        for state in joint["states"]:
            assert joint["name"] in found[state["rule"]["name"]]
            for activation in state["activations"]:
                assert all(joint["name"] in found[each["name"]] for each in activation["parameters"])
        for muscle in joint["muscles"]:
            for function in muscle["functions"].values():
                assert all(joint["name"] in found[each["name"]] for each in function["parameters"])
        if joint["motor"]:
            assert joint["name"] in found[joint["motor"]["angle_sensor"]["name"]]
