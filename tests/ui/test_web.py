"""The page's pure modules, against what Python says of the same; and what the page may not have in it at all."""

from __future__ import annotations

import csv
import gzip
import json
import math
import os
import re
import shlex
import shutil
import struct
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from nuc_engine.cli.ctl import command as ctl
from nuc_engine.configurations.describe import describe_model
from nuc_engine.configurations.pose import pose
from nuc_engine.machine.locations import find_configuration, list_configurations
from nuc_engine.messages.typescript import declarations
from nuc_engine.model.comparisons import terms
from nuc_engine.model.kinematics import joint_origins
from nuc_engine.model.planning import build_plan
from nuc_engine.ui.access import PageAccess
from nuc_engine.ui.server import WEB
from sccils_schemas.model import Model, load_model
from tests.configs.two_legs import write_two_legs
from tests.ui.node import needs_node, run

HERE = Path(__file__).parent
SOURCES = sorted(path for path in Path(WEB).rglob("*") if path.is_file())
MODULES = [path for path in SOURCES if path.suffix == ".js"]
HOSTILE = ["$(reboot)", "`id`", "it's", "a b", "", "-rf", "!x", "x\ny", "é漢", '"', "\\", "~", "#", "; &&", "*", "'''"]


def loaded(name: str) -> Model:
    model, problems = load_model(find_configuration(name))
    assert model is not None, problems
    return model


# --- records ---

NEWEST = """
import { Ring } from "{web}/ring.js";
const [rows, asked, most] = given;
const ring = new Ring(2, 128);
ring.push(rows.flat(), rows.length);
told(asked.map(([bout, cycle]) => ring.newest([[0, bout], [1, cycle]], most)));
"""


@needs_node
def test_a_record_is_found_by_bout_and_cycle_though_each_bout_counts_from_the_beginning():
    rows = [(bout, cycle) for bout, cycles in ((1, 90), (2, 30), (3, 20)) for cycle in range(1, cycles + 1)]
    found = run(NEWEST, rows, [(1, 85), (2, 10), (3, 10), (3, 21), (4, 1)], 4096)
    assert found == [84, 99, 129, -1, -1]
    assert run(NEWEST, rows, [(2, 10), (3, 10)], 20) == [-1, 129], "of the last 20 only"


RING = """
import { Ring } from "{web}/ring.js";
const [capacity, batches, asked] = given;
const ring = new Ring(2, capacity);
for (const batch of batches) ring.push(batch.flat(), batch.length);
told({
  begin: ring.begin, end: ring.end, capacity: ring.capacity,
  kept: Array.from({ length: ring.end - ring.begin }, (_, k) => ring.at(0, ring.begin + k)),
  extremes: asked.map(([from, to]) => ring.extremes(1, ring.begin + from, ring.begin + to)),
  found: asked.map(([from]) => ring.find(0, from + 0.5)),
});
"""


@needs_node
@pytest.mark.parametrize("total", [0, 1, 63, 64, 65, 500, 5000])
def test_a_ring_keeps_the_newest_records_and_knows_their_extremes(total):
    rng = np.random.default_rng(total)
    table = np.column_stack([np.arange(total, dtype=float), rng.normal(size=total)])
    cuts = np.sort(rng.integers(0, total + 1, 20))
    batches = [part.tolist() for part in np.split(table, cuts) if len(part)]
    spans = [sorted(map(int, rng.integers(0, max(1, min(total, 256)), 2))) for _ in range(50)]
    found = run(RING, 256, batches, spans)
    begin, end = found["begin"], found["end"]
    assert end == total
    assert end - begin <= found["capacity"]
    assert end - begin >= min(total, 256)
    assert found["kept"] == list(range(begin, end))
    for (first, last), got in zip(spans, found["extremes"], strict=True):
        part = table[begin + first : min(begin + last, end), 1]
        assert not len(part) or got == [part.min(), part.max()]
    for (first, _), got in zip(spans, found["found"], strict=True):
        assert got == min(max(begin, first + 1), end)


@needs_node
def test_a_spike_of_one_cycle_stays_visible_in_ten_minutes_of_records():
    code = """
import { Ring } from "{web}/ring.js";
import { Edges, envelope, Envelope } from "{web}/decimate.js";
const [spikes] = given;
const count = 120000, wide = 700;
const ring = new Ring(2, count);
for (let n = 0; n < count; n += 1) ring.push([n / 200, Math.sin(n / 300) + (spikes.includes(n) ? 50 : 0)], 1);
const edges = new Edges(wide), line = new Envelope(wide);
edges.cut(ring, 0, 0, 600 / wide, wide);
const all = envelope(ring, 1, edges, line);
const covered = edges.records[wide] - edges.records[0];
told({ all, high: Array.from(line.high), filled: line.filled.every(Boolean), covered });
"""
    spikes = [0, 1, 63, 64, 60_001, 119_999]
    drawn = run(code, spikes)
    assert drawn["filled"]
    assert drawn["covered"] == 120_000
    assert drawn["all"][1] > 49
    seen = [k for k, high in enumerate(drawn["high"]) if high > 40]
    assert seen == sorted({math.floor(n / 200 / 600 * 700) for n in spikes})


@needs_node
def test_columns_of_pixels_share_no_record_and_leave_none_out_however_they_are_found():
    code = """
import { Ring } from "{web}/ring.js";
import { Edges } from "{web}/decimate.js";
const [times, wides] = given;
const ring = new Ring(1, times.length);
ring.push(times, times.length);
told(wides.map((wide) => {
  const edges = new Edges(wide);
  edges.cut(ring, 0, 1, 8 / wide, wide);
  return Array.from(edges.records);
}));
"""
    times = np.sort(np.random.default_rng(3).uniform(0, 10, 3000))
    for wide, edges in zip((7, 300, 2000), run(code, times.tolist(), [7, 300, 2000]), strict=True):
        exact = np.searchsorted(times, 1 + np.arange(wide + 1) * 8 / wide)
        assert edges == exact.tolist()


STRIP = """
import { Ring } from "{web}/ring.js";
import { breaks, Edges, envelope, Envelope, strip } from "{web}/decimate.js";
const [records, wide, seconds] = given;
const ring = new Ring(3, 1000);
ring.push(records.flat(), records.length);
const edges = new Edges(wide), line = new Envelope(wide);
edges.cut(ring, 0, 0, seconds / wide, wide);
const broken = breaks(ring, 0, 1, edges);
envelope(ring, 2, edges, line);
const { pieces, marks } = strip(ring, 2, edges, line, broken);
told([pieces.map(({ begin, end, code }) => [begin, end, code]), marks, records.map((_, k) => k).filter(broken)]);
"""


@needs_node
def test_strips_end_where_records_are_missing_and_mark_each_switch_that_has_no_pixel():
    codes = [1] * 200 + [2, 1] + [1] * 98 + [2, 3] + [3] * 98
    records = [[n * 0.01, n, code] for n, code in enumerate(codes) if not 120 <= n < 180]
    pieces, marks, broken = run(STRIP, records, 40, 4)
    assert pieces == [[0, 12, 1], [18, 30, 1], [30, 40, 3]]
    assert marks == [20, 30]
    assert broken == [0, 120]


@needs_node
def test_a_strip_of_a_recorded_bout_is_drawn_from_its_switches():
    code = """
import { codeAt, stripOfSwitches } from "{web}/decimate.js";
const [switches, times] = given;
const strips = [0, 2].map((from) => stripOfSwitches(switches, 9, from, 0.1, 100));
told([...strips, times.map((time) => codeAt(switches, time))]);
"""
    switches = [[0.5, 1], [3, 2], [4, 1], [5, 3], [5.02, 1], [7, None], [8, 2]]
    whole, part, codes = run(code, switches, [0, 0.5, 3.9, 5.01, 7.5, 100])
    at = [(piece["begin"], piece["end"], piece["code"]) for piece in whole["pieces"]]
    assert at == [(5, 30, 1), (30, 40, 2), (40, 70, 1), (80, 90, 2)]
    assert whole["marks"] == [50]
    assert [(piece["begin"], piece["end"]) for piece in part["pieces"]] == [(0, 10), (10, 20), (20, 50), (60, 70)]
    assert codes == [None, 1, 2, 3, None, 2]


@needs_node
def test_sparse_records_are_joined_and_what_skips_cycles_is_not():
    assert run(STRIP, [[n, 400 * n, 1] for n in range(10)], 40, 10) == [[[0, 37, 1]], [], [0]]
    skipping = [[n * 0.01, n, 1] for n in range(100) if n not in (50, 51)]
    assert run(STRIP, skipping, 100, 1)[0] == [[0, 50, 1], [52, 100, 1]]


@needs_node
def test_a_batch_is_read_as_the_server_packs_it_and_what_is_none_is_refused():
    code = """
import { readFrame } from "{web}/frames.js";
const read = (hex) => {
  const bytes = Uint8Array.from(hex.match(/../g) ?? [], (pair) => parseInt(pair, 16));
  try {
    const frame = readFrame(bytes.buffer);
    return [frame.layout, frame.count, frame.sentUnixS, Array.from(frame.rows)];
  } catch (error) { return error.name; }
};
told(given.map(read));
"""
    whole = struct.pack("<IId6d", 7, 2, 1.5e9, *range(6))
    empty = struct.pack("<IId", 7, 0, 2.5)
    torn = [b"", whole[:15], whole[:-1], whole[:-8], struct.pack("<IIdd", 1, 0, 0.0, 1.0)]
    read = run(code, whole.hex(), empty.hex(), *(data.hex() for data in torn))
    assert read == [[7, 2, 1.5e9, [*range(6)]], [7, 0, 2.5, []], *["RangeError"] * len(torn)]


# --- the leg ---


@needs_node
@pytest.mark.parametrize("name", list_configurations())
def test_the_leg_stands_where_python_says(name):
    model = loaded(name)
    plan = build_plan(model)
    chain = [joint["geometry"] for joint in describe_model(model, plan)["joints"] if not joint["endpoint"]]
    poses = np.random.default_rng(1).uniform(-180, 180, (40, len(plan.joints)))
    code = """
import { jointOrigins } from "{web}/kinematics.js";
const [chain, poses] = given;
told(poses.map((angles) => jointOrigins(chain, angles)));
"""
    amatrices = [None if j.amatrix is None else np.reshape(j.amatrix, (4, 4)) for j in plan.joints]
    lines = [joint.dh_line for joint in plan.joints]
    expected = [joint_origins(amatrices, lines, angles) for angles in poses]
    np.testing.assert_allclose(run(code, chain, poses.tolist()), expected, rtol=0, atol=1e-9)


@needs_node
@pytest.mark.parametrize("name", [*list_configurations(), "two legs"])
def test_legs_are_chains_from_the_body_to_their_feet(name, tmp_path):
    model = loaded(name) if name != "two legs" else load_model(write_two_legs(tmp_path / "body"))[0]
    plan = build_plan(model)
    joints = [joint for joint in describe_model(model, plan)["joints"] if not joint["endpoint"]]
    given = {joint.name: 10.0 + 7 * joint.index for joint in plan.joints}
    code = """
import { jointOrigins } from "{web}/kinematics.js";
import { legsOf } from "{web}/model.js";
const [joints, angles] = given;
const stand = (leg) => jointOrigins(leg.map((k) => joints[k].geometry), leg.map((k) => angles[joints[k].name]));
told(legsOf(joints).map((leg) => [leg, stand(leg)]));
"""
    found = run(code, joints, given)
    assert len(found) == (2 if name == "two legs" else 1)
    stands = pose(plan, given)
    for leg, points in found:
        expected = [stands.joints[k].position_cm for k in leg]
        np.testing.assert_allclose(points[:-1], expected, rtol=0, atol=1e-9)
    np.testing.assert_allclose([points[-1] for _, points in found], [*stands.ends.values()], rtol=0, atol=1e-9)


@needs_node
def test_a_foot_that_touches_the_ground_is_not_above_it():
    code = """
import { aboveGround } from "{web}/kinematics.js";
told(given.map(([z, plant]) => aboveGround(z, plant)));
"""
    assert run(code, [-7.5, {"ground_z_cm": -8, "foot_radius_mm": 5}], [1, {"ground_z_cm": 0}], [1, None]) == [
        0,
        1,
        None,
    ]


@needs_node
@pytest.mark.parametrize("name", list_configurations())
def test_comparisons_of_rules_are_those_the_language_has(name):
    model = describe_model(loaded(name))
    rules = [state["rule"]["by_name"] for joint in model["joints"] for state in joint["states"]]
    rules = [rule for rule in rules if rule]
    code = 'import { comparisons } from "{web}/rules.js"; told(given[0].map((rule) => comparisons(rule)));'
    for rule, found in zip(rules, run(code, rules), strict=True):
        expected = [(term.left, term.op, term.right) for term in terms(rule) if term.op]
        assert list(dict.fromkeys((term["left"], term["op"], term["right"]) for term in found)) == expected


# --- lines for a shell ---


@needs_node
def test_a_line_is_taken_apart_by_a_shell_into_the_words_it_was_made_of():
    code = """
import { ctlLine } from "{web}/ctl.js";
told(given[0].map((word) => ctlLine([], "run", { note: word || "x", label: { [word.replace("=", "")]: word } })));
"""
    for word, line in zip(HOSTILE, run(code, HOSTILE), strict=True):
        words = ["nuc", "ctl", "run", "--note", word or "x", "--label", f"{word.replace('=', '')}={word}"]
        assert shlex.split(line) == words
        quoted = subprocess.run(["sh", "-c", f"printf '%s\\0' {line}"], capture_output=True, check=True).stdout
        assert quoted.decode().split("\0")[:-1] == words


@needs_node
def test_the_line_of_an_edit_says_exactly_what_was_sent():
    rng = np.random.default_rng(11)
    names = ["CTr_lev_TC1_load", "v[3]", "it's", "a b", "-x", *HOSTILE]
    edits = [(str(rng.choice(names)) or "x", float(rng.normal() * 10.0 ** rng.integers(-12, 12))) for _ in range(300)]
    code = """
import { ctlLine } from "{web}/ctl.js";
told(given[0].map(([name, value]) => ctlLine([], "set", { "back-after": 0.5 }, [`${name}=${value}`])));
"""
    for (name, value), line in zip(edits, run(code, edits), strict=True):
        *head, word = shlex.split(line)
        assert head == ["nuc", "ctl", "set", "--back-after", "0.5", *["--"] * name.startswith("-")]
        assert (word.rpartition("=")[0], float(word.rpartition("=")[2])) == (name, value)


@needs_node
def test_every_line_is_one_that_nuc_ctl_takes():
    code = """
import { ctlLine } from "{web}/ctl.js";
told([
  ctlLine(["--address", "tcp://leg:44106", "--keys", "/home/a b/keys"], "run", {
    delay: 1.5, stop: 60, label: { surface: "carpet", a: "b c" }, note: "it's new" }),
  ctlLine([], "run", { out: "carpet_3" }),
  ctlLine([], "run", { delay: null, stop: null, label: {}, note: "", out: "" }),
  ctlLine([], "stop", { policy: "hold" }), ctlLine([], "stop", { policy: "" }), ctlLine([], "arm"), ctlLine([], "off"),
  ctlLine([], "configure", {}, ["lin_roach"]), ctlLine([], "log", { out: "x" }), ctlLine([], "stoplog"),
  ctlLine([], "take", { force: true }), ctlLine([], "take", { force: false }), ctlLine([], "release"),
  ctlLine([], "store", { overwrite: true }, ["itf.xml"]), ctlLine([], "configure", {}, ["./my_roach"]),
  ctlLine([], "script", { now: true }, ["itf.xml"]), ctlLine([], "forget", {}, ["all"]),
  ctlLine([], "pose go", { rate: 20 }, ["Femur-Tibia=-5.5"]), ctlLine([], "pose park", { rate: 20 }, ["lying"]),
  ctlLine([], "pose save", {}, ["standing"]), ctlLine([], "limp", { all: true }),
  ctlLine([], "mode", {}, ["A", "hold"]), ctlLine([], "tweak", {}, ["Femur-Tibia", "-5"]),
  ctlLine([], "shutdown", { yes: true }), ctlLine([], "mark", {}, ["-x slipped; reboot"]),
  ctlLine([], "subscribe", {}, ["CTr_angle", "FT_angle"]),
]);
"""
    lines = run(code)
    for line in lines:
        words = shlex.split(line)[2:]
        name, *rest = words[4:] if words[0] == "--address" else words
        with ctl.commands[name].make_context(name, rest):
            pass
    assert shlex.split(lines[0])[2:6] == ["--address", "tcp://leg:44106", "--keys", "/home/a b/keys"]
    assert lines[2] == "nuc ctl run"
    assert shlex.split(lines[-2]) == ["nuc", "ctl", "mark", "--", "-x slipped; reboot"]


def test_the_pages_name_no_command_and_no_option_that_nuc_ctl_has_not():
    asked = [
        (path.name, words.split(), re.findall(r"(?:^|,)\s*\"?([a-z][\w-]*)", options))
        for path in sorted(WEB.rglob("*.js"))
        for words, options in re.findall(r"\bline\(\"([a-z ]+)\"(?:, \{([^}]*)\})?", path.read_text(encoding="utf-8"))
    ]
    assert len(asked) > 35
    for page, words, options in asked:
        command = ctl
        for word in words:
            assert word in command.commands, f"{page}: nuc ctl {' '.join(words)}"
            command = command.commands[word]
        known = {name for parameter in command.params for name in parameter.opts}
        named = {f"--{option}" for option in options}
        assert named <= known, f"{page}: nuc ctl {' '.join(words)} {named - known}"


@needs_node
def test_what_has_to_be_so_for_a_line_is_nothing_to_a_shell():
    code = """
import { typedLine } from "{web}/jobs.js";
told([typedLine("a", "nuc run a_now --seed 0"), typedLine("a", "")]);
"""
    line, nothing = run(code)
    assert shlex.split(line, comments=True) == [
        *["nuc", "ctl", "save", "--overwrite", "a_now", "&&", "nuc", "run", "a_now", "--seed", "0"]
    ]
    assert line.endswith("# on the daemon's machine, in the folder it was started in")
    assert nothing == ""


# --- words ---


@needs_node
def test_times_and_numbers_are_written_for_people():
    code = """
import { bytes, clock, number } from "{web}/format.js";
const hour = clock(3725, 0);
told([clock(1.239), clock(59.94, 1), clock(59.96, 1), clock(119.999), hour, clock(-3.5, 1), clock(null), clock(NaN),
      number(-0.0001, 2), number(-1.25, 1), number(undefined), bytes(999), bytes(1500), bytes(2.5e6)]);
"""
    assert run(code) == [
        *("1.24 s", "59.9 s", "1:00.0", "2:00.00", "1:02:05", "\u22123.5 s", "\u2013", "\u2013"),
        *("0.00", "\u22121.3", "\u2013", "999 B", "1.5 kB", "2.5 MB"),
    ]


@needs_node
def test_thresholds_are_drawn_from_when_they_are_known():
    code = """
import { Steps } from "{web}/rules.js";
const steps = new Steps();
for (const [at, value] of [[5, 1], [6, 1], [8, 2]]) steps.heard("t", at, value);
told([steps.within("t", 0, 10), steps.within("t", 6, 7), steps.within("t", 0, 4), steps.within("u", 0, 9)]);
"""
    assert run(code) == [
        [{"value": 1, "from": 5, "to": 8}, {"value": 2, "from": 8, "to": 10}],
        *([{"value": 1, "from": 6, "to": 7}], [], []),
    ]


LIVE = """
globalThis.location = { host: "x" };
globalThis.WebSocket = class { static OPEN = 1; readyState = 1; send() {} };
globalThis.setInterval = globalThis.setTimeout = () => 0;
const { Live } = await import("{web}/live.js");
const live = new Live("s");
"""


@needs_node
def test_records_are_kept_only_for_the_same_model():
    code = (
        LIVE
        + """
const columns = ["time", "cycle"].map((name) => ({ name, unit: "" }));
const seen = [];
for (const [configuration, model] of given) {
  const before = live.ring;
  live.take({ topic: "layout", layout: 1, columns, configuration, model });
  seen.push(live.ring === before);
}
told(seen);
"""
    )
    one, other = {"name": "a", "parameters": []}, {"name": "a", "parameters": [1]}
    assert run(code, ["a", one], ["a", one], ["a", other], ["b", other]) == [False, True, False, False]


@needs_node
def test_records_that_come_late_are_not_live():
    code = (
        LIVE
        + """
live.take({ topic: "welcome" });
live.take({ topic: "layout", layout: 1, columns: [{ name: "time", unit: "ns" }] });
told(given.map((age_s) => {
  live.take({ topic: "age", age_s });
  return live.liveness(performance.now()).live;
}));
"""
    )
    assert run(code, 0.02, 1.5, None, 0.9) == [True, False, True, True]


@needs_node
def test_a_page_that_is_held_up_shows_nothing_as_live_whatever_two_clocks_say():
    code = (
        LIVE
        + """
live.take({ topic: "welcome" });
live.take({ topic: "layout", layout: 1, columns: [{ name: "time", unit: "ns" }] });
const frame = new DataView(new ArrayBuffer(24));
frame.setUint32(0, 1, true);
frame.setUint32(4, 1, true);
told(given.map((ageS, k) => {
  frame.setFloat64(8, Date.now() / 1000 - ageS, true);
  frame.setFloat64(16, 1e7 * k, true);
  live.takeRecords(frame.buffer);
  return live.liveness(performance.now()).live;
}));
"""
    )
    assert run(code, 3600.01, 3600.5, 3603, 3600.02) == [True, True, False, True]


@needs_node
def test_what_bouts_began_is_forgotten_when_another_daemon_counts_them():
    code = LIVE + "live.starts.set(7, 3.5); live.takeStatus({ bout: 2 }); told([...live.starts]);"
    assert run(code) == []


@needs_node
def test_the_answer_to_torque_off_says_who_has_not_confirmed():
    code = """
import { offText } from "{web}/stop.js";
told([
  offText({ torque: false, confirmed_ns: { a: 8.5e6, b: 1.2e7 }, unconfirmed: [], latched: true, took_ms: 20 }),
  offText({ torque: false, confirmed_ns: { a: 8.5e6 }, unconfirmed: ["b"], latched: true }),
  offText({ torque: true, confirmed_ns: {}, unconfirmed: ["a", "b"], latched: true }),
  offText({ torque: true, confirmed_ns: { a: 8.5e6 }, unconfirmed: [], latched: true }),
]);
"""
    assert run(code) == [
        "off, confirmed by 2 of 2 servos in 12 ms",
        "NOT CONFIRMED by b (1 of 2 confirmed): cut the supply",
        "NOT CONFIRMED by a, b (0 of 2 confirmed): cut the supply",
        "asked; torque still on: cut the supply",
    ]


@needs_node
def test_the_answer_to_torque_off_stays_until_somebody_has_armed_and_a_failure_until_the_next_press():
    code = """
import { Verdict } from "{web}/stop.js";
told(given.map(([kind, ...latched]) => {
  const verdict = new Verdict();
  verdict.asked();
  verdict.tell(kind, 0);
  return latched.map((each, k) => verdict.over(each, 3000 * (k + 1)));
}));
"""
    seen = run(code, ["failed", False, True, False], ["done", False, False], ["done", False, True, False])
    assert seen == [[False] * 3, [False] * 2, [False, False, True]]


@needs_node
def test_each_press_of_the_red_button_counts_once_and_none_is_swallowed():
    code = """
import { onPress } from "{web}/stop.js";
const button = new EventTarget(), asked = [];
onPress(button, (by) => asked.push(by));
const send = (name, more) => button.dispatchEvent(Object.assign(new Event(name), more));
send("pointerdown", { button: 0 });            // and drawn off the button: no click
send("click", { detail: 0 });                  // Enter
send("pointerdown", { button: 0 }), send("click", { detail: 1 });
send("pointerdown", { button: 2 });
told(asked);
"""
    assert run(code) == ["pointer", "key", "pointer"]


@needs_node
@pytest.mark.parametrize(
    ("torque", "heard"), [("false", ["done", "off (over the channel)"]), ("true", ["failed", "asked; torque still on"])]
)
def test_a_press_without_any_answer_is_told_soon_and_a_later_answer_replaces_that(torque, heard):
    code = """
globalThis.location = { host: "x" };
globalThis.WebSocket = class { static OPEN = 1; readyState = 1; send() {} };
const { StopLine } = await import("{web}/stop.js");
const timers = [], seen = [];
globalThis.setTimeout = () => 0;
const line = new StopLine("s");
globalThis.setTimeout = (work, ms) => timers.push([ms, work]);
line.socket = new WebSocket();
let answer;
const other = () => new Promise((resolve) => { answer = resolve; });
line.off("why", other, (text, kind) => seen.push([kind, text.split(":")[0]]));
for (const [, work] of timers.sort(([a], [b]) => a - b)) work();
answer({ off: { torque: TORQUE, unconfirmed: [] } });
await new Promise((resolve) => setImmediate(resolve));
told([timers.map(([ms]) => ms), seen]);
""".replace("TORQUE", torque)
    assert run(code) == [[600, 2000], [["failed", "NOT HEARD"], heard]]


@needs_node
def test_a_picture_that_fails_is_told_and_the_next_one_is_drawn_all_the_same():
    code = """
import { everyFrame } from "{web}/dom.js";
const frames = [], seen = [];
globalThis.requestAnimationFrame = (next) => frames.push(next);
everyFrame((now) => { if (now === 1) throw new Error("bad"); seen.push(now); }, (error) => seen.push(error.message));
for (let now = 0; now < 3; now += 1) frames.shift()(now);
told(seen);
"""
    assert run(code) == [0, "bad", 2]


@needs_node
def test_repeats_stand_in_one_line_and_labels_are_read_as_typed():
    code = """
import { collapsed } from "{web}/pages/events.js";
import { labelsIn } from "{web}/pages/engine.js";
const event = (seq, name, text, author) => ({ seq, name, text, author, unix_time_s: seq });
const twice = [event(1, "a", "x"), event(2, "a", "x")];
const lines = collapsed([...twice, event(3, "a", "y"), event(4, "a", "x"), event(5, "a", "x", "me")]);
told([lines.map(({ first, last, count }) => [first.seq, last.seq, count]), labelsIn("a=1, b = c d ,, =x, e=f=g\\nh=")]);
"""
    lines, labels = run(code)
    assert lines == [[1, 2, 2], [3, 3, 1], [4, 4, 1], [5, 5, 1]]
    assert labels == {"a": "1", "b": "c d", "e": "f=g", "h": ""}


# --- a server that was put in place of the page's own ---


@needs_node
def test_a_server_proves_that_it_knows_the_session_to_the_page():
    access = PageAccess(1, lambda: 0.0)
    secret = access.exchange(access.new_token())
    code = """
import { Proof } from "{web}/prove.js";
const [secret, nonces] = given;
const asked = [];
for (const nonce of nonces) {
  const proof = new Proof(secret);
  proof.nonce = Uint8Array.from(nonce);
  asked.push(JSON.parse(await proof.question()));
}
const proof = new Proof(secret);
proof.nonce = Uint8Array.from(nonces[0]);
const answers = given[2] ?? [];
told([asked, await Promise.all(answers.map((answer) => proof.isGood(answer)))]);
"""
    nonces = [list(range(32)), [7] * 32]
    asked, _ = run(code, secret, nonces)
    proofs = [access.proof(each["hello"], each["nonce"]) for each in asked]
    assert secret not in json.dumps(asked)
    answers = [json.dumps({"proof": proof}) for proof in (*proofs, None, "", "00")]
    answers += ["", "x", "[]", "null", json.dumps({"session": proofs[0]})]
    assert run(code, secret, nonces, answers)[1] == [True, *[False] * 9]
    numbers = 'import { Proof } from "{web}/prove.js"; told([1, 2].map(() => Array.from(new Proof("s").nonce)));'
    first, second = run(numbers)
    assert first != second, "an answer that was heard once is no good twice"


SOCKET = """
import { provenSocket } from "{web}/prove.js";
globalThis.location = { host: "x" };
const sockets = [], heard = [];
globalThis.WebSocket = class {
  static OPEN = 1; readyState = 1; sent = [];
  constructor() { sockets.push(this); }
  send(text) { this.sent.push(JSON.parse(text)); }
  close() { this.readyState = 3; this.onclose({ code: 1000 }); }
};
const hears = {
  proven: () => heard.push("proven"),
  message: ({ data }) => heard.push(data),
  closed: (code, stranger) => heard.push(stranger),
};
provenSocket("/live", given[0], hears);
const [socket] = sockets;
await socket.onopen();
const [{ hello, nonce }] = socket.sent;
const late = () => new Promise((done) => setTimeout(done, 20));
"""


@needs_node
def test_a_stranger_is_told_nothing_and_not_heard():
    code = (
        SOCKET
        + """
socket.onmessage({ data: JSON.stringify({ topic: "welcome" }) });
socket.onmessage({ data: JSON.stringify({ ready_ms: 1 }) });
await late();
told([heard, socket.sent.map(Object.keys)]);
"""
    )
    heard, sent = run(code, "secret")
    assert set(heard) == {True}
    assert sent == [["hello", "nonce"]]


@needs_node
def test_a_server_that_has_proved_itself_is_told_the_session_and_heard():
    code = (
        SOCKET
        + """
const { createHash, createHmac } = await import("node:crypto");
const key = createHash("sha256").update("prove:secret").digest();
const proof = createHmac("sha256", key).update(Buffer.from(nonce, "hex")).digest("hex");
socket.onmessage({ data: JSON.stringify({ proof }) });
await late();
socket.onmessage({ data: "welcome" });
socket.close();
told([heard, socket.sent.slice(1)]);
"""
    )
    assert run(code, "secret") == [["proven", "welcome", False], [{"session": "secret"}]]


# --- what is laid beside a bout, and what is taken out of it ---


@needs_node
def test_records_are_exported_so_that_they_are_read_back_as_the_same():
    code = """
import { Ring } from "{web}/ring.js";
import { csvOf } from "{web}/export.js";
const ring = new Ring(4, 128);
const odd = [0.1, 1e-300, NaN, -0, 123456789.123, Math.fround(0.1)];
odd.forEach((value, k) => ring.push([10 + k / 4, 7 + k, value, k], 1));
const index = new Map([["time", 0], ["cycle", 1], ['a "b", c', 2], ["d", 3]]);
const source = { ring, time: 0, index, unit: (name) => (name === "d" ? "deg" : ""), label: "" };
const file = (from, to) => csvOf(source, ['a "b", c', "gone", "d"], from, to, 10);
told([file(0, 99), file(10.25, 10.75)].map(({ parts, count }) => [parts.join(""), count]));
"""
    (text, count), (part, some) = run(code)
    head, *rows = csv.reader(text.splitlines())
    assert head == ["time_s", "cycle", 'a "b", c', "d (deg)"]
    assert [float(row[2]) for row in rows if row[2]] == [0.1, 1e-300, 0.0, 123456789.123, float(np.float32(0.1))]
    assert [row[2] for row in rows].count("") == 1
    assert [float(row[0]) for row in rows] == [0, 0.25, 0.5, 0.75, 1.0, 1.25]
    assert (count, some) == (6, 2)
    assert len(part.splitlines()) == 3


@needs_node
def test_what_was_sampled_is_exported_as_it_was_at_each_record():
    code = """
import { Ring } from "{web}/ring.js";
import { csvOf } from "{web}/export.js";
const ring = new Ring(2, 128), slow = new Ring(2, 64);
for (let k = 0; k < 6; k += 1) ring.push([k, 10 * k], 1);
for (const [at, value] of [[1.5, 7], [3, 8]]) slow.push([at, value], 1);
const from = (ring, name) => ({ ring, time: 0, index: new Map([["time", 0], [name, 1]]), unit: () => "", label: "" });
const [source, sampled] = [from(ring, "a"), from(slow, "p")];
told(csvOf(source, ["p", "a"], 0, 99, 0, sampled).parts.join(""));
"""
    head, *rows = csv.reader(run(code).splitlines())
    assert head == ["time_s", "a", "p"]
    assert [row[2] for row in rows] == ["", "", "7", "8", "8", "8"]


@needs_node
def test_what_is_sampled_stands_at_its_cycle_and_stays_when_more_comes_to_be_sampled():
    code = """
globalThis.localStorage = globalThis.sessionStorage = { getItem: () => null, setItem: () => {} };
const { Live } = await import("{web}/live.js");
const { Ring } = await import("{web}/ring.js");
const ring = new Ring(2, 128);
for (let k = 0; k < 20; k += 1) ring.push([k / 10, 100 + k], 1);
const heard = [];
const live = { ring, timeColumn: 0, index: new Map([["time", 0], ["cycle", 1]]), tell: (name) => heard.push(name) };
live.sampled = { ring: new Ring(0, 0), index: new Map() };
const take = (values) => Live.prototype.takeSampled.call(live, values);
take({ "engine.cycle": 103, "joint.J.tweak": 3, "motor.M.age_ms": 2, p: 1 });
take({ "engine.cycle": 108, p: 2 });
take({ "engine.cycle": 115, p: 2, "q[1]": 5, rule: "a < b" });
take({ "engine.cycle": 116, "q[1]": 6 });
const rows = [], { ring: slow, index } = live.sampled;
for (let n = slow.begin; n < slow.end; n += 1) rows.push([...index.values()].map((column) => slow.at(column, n)));
told([[...index.keys()], rows, heard]);
"""
    names, rows, heard = run(code)
    assert names == ["time", "p", "q[1]"]
    assert rows == [[0.3, 1, None], [0.8, 2, None], [1.5, 2, 5], [1.6, None, 6]]
    assert heard == ["newly sampled"] * 2


@needs_node
def test_numbers_that_run_are_written_ten_times_a_second_and_those_that_stand_are_the_last():
    code = """
globalThis.addEventListener = () => {};
globalThis.Text = class {};
globalThis.document = {};
globalThis.getComputedStyle = () => ({ getPropertyValue: () => "black" });
const { Lanes } = await import("{web}/lanes.js");
const pen = new Proxy({}, { get: () => () => ({ width: 1 }), set: () => true });
let written = 0;
const canvas = { getAttribute: () => "", setAttribute: () => { written += 1; } };
const axis = { version: 0, width: 900, begin: () => pen, canvas };
const lanes = Object.create(Lanes.prototype);
Object.assign(lanes, { lanes: [], sources: [], drawn: "", told: true, toldAt: -Infinity, axis, where: {} });
const view = { from: 0, levels: () => [], marks: [], start: 0, axis: String };
const found = given.map(([to, cursor, now]) => {
  lanes.draw({ ...view, to, cursor: cursor ?? NaN, where: `at ${to}` }, now);
  return lanes.where.textContent;
});
told([found, written]);
"""
    runs = [[1, None, 0], [2, None, 50], [3, None, 99], [4, None, 101], [5, None, 150]]
    stands = [[5, None, 190], [5, None, 202], [5, None, 400]]
    at_the_cursor = [[6, 3, 410], [7, 3, 411], [7, 3, 412]]
    found, written = run(code, *runs, *stands, *at_the_cursor)
    assert found == ["at 1", "at 1", "at 1", "at 4", "at 4", "at 4", "at 5", "at 5", "at 6", "at 7", "at 7"]
    assert written == 5, "what stands is written once"


@needs_node
def test_marks_of_which_there_are_too_many_are_counted():
    code = """
globalThis.addEventListener = () => {};
const { uncrowded } = await import("{web}/lanes.js");
const marks = [{ at: 1, text: "bout 1" }, ...Array.from({ length: 9 }, (_, k) => ({ at: k, text: "forced" }))];
told([[...uncrowded(marks, 9)[0]].length, ...[uncrowded(marks, 8)].map(([drawn, crowds]) => [drawn, [...crowds]])]);
"""
    assert run(code) == [10, [[{"at": 1, "text": "bout 1"}], [["forced", 9]]]]


@needs_node
def test_a_video_is_set_only_where_it_is_off_and_its_offset_is_kept_by_bout():
    code = """
const kept = new Map();
globalThis.localStorage = { getItem: (key) => kept.get(key) ?? null, setItem: (key, text) => kept.set(key, text) };
const { settingOf, offsetOf, keepOffset } = await import("{web}/camera.js");
const settings = given.map((words) => settingOf(...words));
const before = offsetOf("a");
keepOffset("a", -1.5);
for (let k = 0; k < 250; k += 1) keepOffset(`b${k}`, k);
keepOffset("b249", 7);
kept.set("nuc-x", 1);
const names = Object.keys(JSON.parse(kept.get("nuc-video-offsets")).kept);
const found = [before, offsetOf("a"), offsetOf("b249"), names.length];
kept.set("nuc-video-offsets", "rubbish");
told([settings, found, offsetOf("b249")]);
"""
    asked = [
        *([2.0, 1.0, 1.0, 9.0, True], [2.1, 1.0, 1.0, 9.0, True], [2.1, 1.0, 1.0, 9.0, False]),
        *([2.2, 1.0, 1.0, 9.0, True], [5.0, 1.0, -3.0, 9.0, False], [0.0, 20.0, 0.0, 9.0, True]),
    ]
    settings, found, rubbish = run(code, *asked)
    assert settings == [None, None, 2.0, 2.0, 0.0, 9.0]
    assert found == [0, 0, 7, 200], "of more than so many bouts the oldest goes"
    assert rubbish == 0


# --- what is in it, and what is not ---


def test_the_types_of_messages_are_those_of_the_code():
    assert (Path(WEB) / "messages.d.ts").read_text(encoding="utf-8") == declarations()


@pytest.mark.parametrize("path", MODULES, ids=lambda path: path.name)
def test_nothing_is_ever_read_as_markup_or_code(path):
    text = path.read_text(encoding="utf-8")
    sinks = r"innerHTML|outerHTML|insertAdjacent|document\.write|srcdoc|\beval\b|new Function|createContextual"
    assert re.findall(sinks, text) == []
    assert re.findall(r"set(?:Timeout|Interval)\(\s*[\"'`]", text) == []


def test_nothing_comes_from_elsewhere_and_no_style_or_script_is_inline():
    for path in SOURCES:
        text = path.read_text(encoding="utf-8")
        addresses = set(re.findall(r"(?:https?|wss?)://[\w.-]+", text)) - {"http://www.w3.org"}
        assert addresses == set(), path
    page = (Path(WEB) / "index.html").read_text(encoding="utf-8")
    assert re.findall(r"\son\w+=|\sstyle=|<style|<script(?![^>]*\ssrc=)", page) == []


def test_all_modules_are_asked_for_at_once():
    page = (Path(WEB) / "index.html").read_text(encoding="utf-8")
    asked = re.findall(r'(?:modulepreload" href|script src)="([^"]+)"', page)
    assert sorted(asked) == sorted(path.relative_to(WEB).as_posix() for path in MODULES)


def test_the_page_is_small():
    sent = [path for path in SOURCES if path.suffix in {".html", ".js", ".css", ".svg"}]
    assert sum(len(gzip.compress(path.read_bytes())) for path in sent) < 600_000


TSC = shutil.which("tsc", path=f"{sys.prefix}/node_modules/.bin:{os.environ['PATH']}")


@pytest.mark.skipif(TSC is None, reason="NO TYPESCRIPT: the page's types were not checked (make types gets it)")
def test_types_fit():
    done = subprocess.run([str(TSC), "-p", str(HERE / "tsconfig.json")], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout


def test_what_stands_in_the_package_is_known():
    told = json.loads((Path(WEB) / "package.json").read_text())
    assert told["type"] == "module"
    assert "dependencies" not in told
