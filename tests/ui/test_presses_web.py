"""What is pressed on the bench and what is kept between loads, as far as no browser is needed."""

from __future__ import annotations

from tests.ui.node import needs_node, run

pytestmark = needs_node

PRESSES = """
import { angleProblem, ModePresses, outcomeText } from "{web}/modes.js";
const settle = () => new Promise((done) => setImmediate(done));
const daemon = () => {
  const asked = [], answers = new Map();
  const ask = (joint, mode) => new Promise((good, bad) => {
    asked.push([joint, mode]);
    answers.set(joint + mode, [good, bad]);
  });
  const bad = (what, why) => answers.get(what)[1](new Error(why));
  return { asked, presses: new ModePresses(ask), good: (what) => answers.get(what)[0](), bad };
};
const joints = ["A", "B", "C"];

const one = daemon();
const hold = one.presses.press(joints, "hold");
const limp = one.presses.press(joints, "limp");
await settle();
const atOnce = one.asked.slice();
one.good("Ahold"), one.good("Alimp"), one.good("Blimp"), one.bad("Climp", "no answer in time");
const outcomes = [await hold, await limp].map(({ done, failed, left }) => [done, [...failed.keys()], left]);

const two = daemon();
const whole = two.presses.press(joints, "hold");
void two.presses.press(["B"], "limp");
two.good("Ahold");
await whole, await settle();

const three = daemon();
void three.presses.press(["A"], "hold");
const again = await three.presses.press(["A"], "hold");
void three.presses.press(["A"], "limp"), void three.presses.press(["A"], "hold");
const under = three.presses.asked.get("A").mode;
three.good("Alimp"), await settle();
const after = three.presses.asked.get("A").mode;

const four = daemon();
const stopped = four.presses.press(joints, "hold");
four.bad("Ahold", "latched");
told({
  atOnce, asked: one.asked, outcomes, mixed: two.asked, again, three: three.asked, under, after,
  stopped: outcomeText("hold", await stopped), lost: outcomeText("limp", await limp),
  typed: ["", "x", "-30.5", "60.1", "60", "1e999"].map((text) => angleProblem(text, -30, 60)),
});
"""


def test_limp_wins_at_once_and_nothing_of_a_hold_follows():
    told = run(PRESSES)
    assert told["atOnce"] == [["A", "hold"], ["A", "limp"], ["B", "limp"], ["C", "limp"]]
    assert told["asked"] == told["atOnce"]
    assert told["outcomes"] == [[["A"], [], ["B", "C"]], [["A", "B"], ["C"], []]], "each is asked, whatever fails"
    assert told["mixed"] == [["A", "hold"], ["B", "limp"]], "limp of one joint ends the hold of all"
    assert "C" in told["lost"]
    assert "Torque off" in told["lost"]
    assert "latched" in told["stopped"]
    assert "B, C" in told["stopped"]


def test_a_mode_that_is_under_way_is_not_asked_for_again_and_a_newer_one_is_what_is_waited_for():
    told = run(PRESSES)
    assert told["again"] is None
    assert told["three"] == [["A", "hold"], ["A", "limp"], ["A", "hold"]]
    assert [told["under"], told["after"]] == ["hold", "hold"], "an older answer is not taken for its"


def test_an_angle_out_of_range_is_refused_with_the_range_and_not_clamped():
    *wrong, right, endless = run(PRESSES)["typed"]
    assert all("-30 to 60 deg" in why for why in [*wrong, endless])
    assert right == ""


KEPT = """
import { draftsIn, freeName, keepDrafts, staleText } from "{web}/drafts.js";
import { keep, recall } from "{web}/store.js";
const storage = (texts = {}, room = 1e9) => ({
  getItem: (name) => texts[name] ?? null,
  setItem: (name, text) => { if (text.length > room) throw new Error("QuotaExceededError"); texts[name] = text; },
});
const texts = (text) => (text === null ? null : new Map([["a.xml", text]]));
const doc = (name, text, disk) =>
  ({ kind: "script", name, files: texts(text), disk: texts(disk), replaces: name, problems: [] });
const full = storage();
const room = keepDrafts(full, [doc("same", "x", "x"), doc("edited", "y", "x"), doc("new", "é<\\u0000", null)]);
const plain = ({ name, files, disk }) => [name, [...files], disk && [...disk]];
const odd = (v, ...kept) => JSON.stringify({ v, kept });
const script = (name, text) => ({ kind: "script", name, files: [["a", text]] });
const rubbish = [
  "", "{", "null", "3", "[]", '{"v":1}', '{"v":1,"kept":7}', odd(2, script("a", "b")),
  odd(1, null, { kind: "x" }, script("../x", "b"), script("a", 1)),
];
const basis = { text: "a", values: "1", angles: { A: 1 }, model: "m" };
const changes = [
  {}, { angles: { A: 1.4 } }, { text: "b" }, { values: "2" }, { angles: { A: 3 } }, { angles: {} }, { model: "n" },
];
told({
  room, back: draftsIn(full).map(plain),
  rubbish: rubbish.map((text) => draftsIn(storage({ "nuc-drafts": text })).length),
  roomless: keepDrafts(storage({}, 10), [doc("edited", "y", "x")]),
  free: [freeName("a", () => false), freeName("a", (name) => name === "a" || name === "a_2")],
  other: recall(storage({ k: '{"v":1,"kept":5}' }), "k", 2, (kept) => kept, "nothing"),
  stale: changes.map((more) => staleText(basis, { ...basis, ...more })),
});
"""


def test_texts_that_are_not_saved_outlive_a_reload_and_rubbish_is_as_nothing():
    told = run(KEPT)
    assert told["room"] is True
    assert told["back"] == [
        ["edited", [["a.xml", "y"]], [["a.xml", "x"]]],
        ["new", [["a.xml", "é<\0"]], None],
    ]
    assert told["rubbish"] == [0] * 9
    assert told["roomless"] is False
    assert told["other"] == "nothing"
    assert told["free"] == ["a", "a_3"]


def test_a_dry_run_says_what_is_no_longer_as_it_was():
    same, noise, *changed = run(KEPT)["stale"]
    assert [same, noise] == ["", ""]
    wanted = ["the text", "values in force", "the pose", "the pose", "the model"]
    assert all(what in said for what, said in zip(wanted, changed, strict=True))


WAITS = """
import { fetchAll, fetchFile, patient } from "{web}/fetchbout.js";
import { Refused } from "{web}/session.js";
const never = new AbortController().signal;
const failure = (work) => Promise.resolve().then(work).then(() => "", (error) => error.name + error.message);
let tries = 0;
const said = [];
const flaky = async () => {
  tries += 1;
  if (tries === 2 || tries === 3) throw new Refused("gone", "no server");
  return { data: btoa("ab"), size: 4 };
};
const often = patient(flaky, ({ text }) => said.push(text), never, async () => {});
const pieces = await fetchFile(often, "b", "f.txt", () => {}, never);
const stop = new AbortController();
const forever = () => new Promise(() => {});
const cancelled = failure(() => patient(flaky, () => stop.abort(), stop.signal, forever)("fetch", {}));
tries = 1;
const silent = new AbortController();
const unanswered = failure(() => fetchFile(forever, "b", "f", () => {}, silent.signal));
silent.abort();
let size = 9;
const anew = async () => ({ data: btoa("abc"), size: size++ });
const order = [];
const files = ["manifest.json", "a.txt"].map((name) => ({ name, size: 0 }));
const empty = async (_, { file }) => (order.push(file), { data: "", size: 0 });
await fetchAll(empty, "b", files, () => {}, never);
const missing = async () => { throw new Refused("failed", "no such file"); };
told({
  got: pieces.reduce((sum, piece) => sum + piece.length, 0), said,
  cancelled: await cancelled, unanswered: await unanswered,
  refused: await failure(() => patient(missing, () => {}, never)("fetch", {})),
  anew: await failure(() => fetchFile(anew, "b", "manifest.json", () => {}, never)), order,
});
"""


def test_a_fetch_goes_on_where_it_was_can_be_cancelled_while_nobody_answers_and_mixes_no_two_files():
    told = run(WAITS)
    assert told["got"] == 4
    assert told["said"] == ["no server", "no server"]
    assert "Abort" in told["cancelled"]
    assert "Abort" in told["unanswered"]
    assert "no such file" in told["refused"]
    assert "written anew" in told["anew"]
    assert told["order"] == ["a.txt", "manifest.json"], "the manifest knows of all others"
