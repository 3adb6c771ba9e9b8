"""The page's bench, as far as it is pure: why something can not be done, and what went wrong."""

from __future__ import annotations

import base64
import io
import os
import tarfile

from drivers.bus import COUNTS
from nuc_engine.control.faults import FAULTS
from nuc_engine.ui.bench import faults, refusals
from tests.ui.node import needs_node, run

BENCH = """
import { ageOf, troubles, unfit, whyNot, whyStill } from "{web}/pages/bench.js";
import { matching } from "{web}/pages/benchtools.js";
const [known, registers] = given;
const status = { mode: "CONFIGURED", ready: true };
const live = (more) => ({ inControl: true, mayBegin: true, model: {}, status, ...more });
const latched = (mode) => live({ status: { mode, ready: true, latched: true } });
const aged = (stamp, told) => {
  const now = (name) => ({ "M.stamp": stamp, time: 2.5 })[name] ?? NaN;
  return { now, originNs: 7e9, joints: { "motor.M.age_ms": told } };
};
const hindered = [{ inControl: false }, { mayBegin: false }, { model: null }, { status: { ready: false } }].map(live);
const cases = [
  [[], null, "muscle"], [[1], null, "muscle"], [[1], null, "force"], [[], {}, "force"], [[], null, "limp"],
];
const bad = {
  mode: "FAULT", latched: true, latch_reason: "motor_silent", unconfirmed: ["M"], refusals: ["M is no AI-1001"],
  bus_counts: { missed: 3, odd: 1 }, losses: { motor: 2 }, deaths: { core: 1, guardian: 0 }, bus_lost: true,
};
const joint = (muscles, force_command) => ({ muscles, motor: { force_command } });
told({
  not: [live({}), ...hindered].map(whyNot),
  still: [live({}), latched("STOPPED"), latched("FAULT"), hindered[0]].map((each) => whyStill(each, known.refused)),
  unfit: cases.map(([muscles, force, mode]) => unfit(joint(muscles, force), mode)),
  ages: [aged(9.49e9, 3), aged(-1, 3), aged(NaN, 3), aged(NaN, undefined)].map((each) => ageOf(each, "M")),
  calm: troubles({ mode: "STOPPED", bus_counts: { missed: 0 }, losses: {} }, known),
  troubles: troubles(bad, known),
  matching: ["", "OFF eeprom", "ram", "x"].map((text) => matching(registers, text).map((row) => row.register)),
});
"""


@needs_node
def test_the_bench_says_why_something_can_not_be_done_and_what_went_wrong_in_the_engines_words():
    known = {"faults": faults(), "counts": {**COUNTS}, "refused": refusals()}
    registers = [
        {"register": "position_offset", "area": "EEPROM", "unit": "tick"},
        {"register": "led", "area": "RAM", "unit": ""},
    ]
    told = run(BENCH, known, registers)
    assert told["not"][0] == ""
    assert all(told["not"][1:])
    assert told["still"][0] == ""
    assert told["still"][1:3] == [known["refused"]["latched"], known["refused"]["FAULT"]]
    assert "control" in told["still"][3]
    assert [bool(why) for why in told["unfit"]] == [True, False, True, False, False]
    assert told["ages"] == [10, None, 3, None], "by the record's own stamp: it was there 10 ms before"
    assert told["calm"] == []
    rows = {what: (often, meaning) for what, often, meaning in told["troubles"]}
    assert rows["\u26a0 latched: motor_silent"][1] == FAULTS["motor_silent"].hint
    assert rows["\u26a0 bus lost"][1] == FAULTS["bus_lost"].hint
    assert FAULTS["servo_refused"].hint in rows["servo refused"][1]
    assert rows["bus: missed"] == ("3", COUNTS["missed"])
    assert rows["bus: odd"] == ("1", ""), "a family of somebody else's may count more"
    assert rows["core was started anew"][1] == FAULTS["core_dead"].hint
    assert not [what for what in rows if "guardian" in what]
    assert told["matching"] == [["position_offset", "led"], ["position_offset"], ["led"], []]


ODD = ["../x", "/x", "a/../../x", "a\\x", "a\nx", "", "."]
FETCH = """
import { fetchAll, fetchFile, tarHead } from "{web}/fetchbout.js";
const [files, grows, names, odd] = given;
const asked = [];
const ask = async (method, { bout, file, offset }) => {
  asked.push([bout, file, offset]);
  const data = Buffer.from(files[file], "base64");
  return { data: data.subarray(offset, offset + 700).toString("base64"), size: data.length - (file === grows ? 5 : 0) };
};
const list = Object.entries(files).map(([name]) => ({ name, size: 0 }));
let got = 0;
const stop = new AbortController();
const tar = Buffer.concat(await fetchAll(ask, "a/bout", list, (count) => { got += count; }, stop.signal));
const failure = (work) => Promise.resolve().then(work).then(() => "", (error) => error.name + error.message);
const emptied = async () => ({ data: "", size: 9 });
told({
  tar: tar.toString("base64"), got, asked,
  long: await Promise.all(names.map((name) => failure(async () => tarHead(name, 0)))),
  odd: await Promise.all(odd.map((name) => failure(() => fetchAll(ask, "b", [{ name }], () => {}, stop.signal)))),
  stopped: await failure(() => fetchFile(ask, "b", "big", () => stop.abort(), stop.signal)),
  shorter: await failure(() => fetchFile(emptied, "b", "f", () => {}, new AbortController().signal)),
});
"""


@needs_node
def test_a_bout_is_fetched_in_pieces_into_an_archive_that_others_can_read():
    files = {
        "manifest.json": b"{}",
        "sub/empty": b"",
        "big": os.urandom(3001),
        f"{'d' * 90}/{'é' * 20}.txt": b"x" * 512,
    }
    names = ["a" * 100, "a" * 101, f"{'p' * 155}/{'n' * 100}", f"{'p' * 156}/{'n' * 100}"]
    told = run(FETCH, {name: base64.b64encode(data).decode() for name, data in files.items()}, "big", names, ODD)
    with tarfile.open(fileobj=io.BytesIO(base64.b64decode(told["tar"]))) as tar:
        there = {member.name: tar.extractfile(member).read() for member in tar.getmembers()}  # pyright: ignore
    files["big"] = files["big"][:-5]  # what grew meanwhile ends where it was
    assert there == {f"bout/{name}": data for name, data in files.items()}
    assert all("no name of a file for an archive" in why for why in told["odd"]), "what unpacks it writes nowhere else"
    assert told["got"] == sum(map(len, files.values()))
    assert [offset for _, name, offset in told["asked"] if name == "big"][:5] == [0, 700, 1400, 2100, 2800]
    assert [bool(why) for why in told["long"]] == [False, True, False, True]
    assert "Abort" in told["stopped"]
    assert "shorter" in told["shorter"]
