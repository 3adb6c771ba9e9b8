"""What the shipped configurations do not have, or only some bouts meet: it is verified too."""

from __future__ import annotations

import json
import re
from html import escape
from pathlib import Path
from typing import Any

import pytest

from nuc_engine.daemon.block import Word
from nuc_engine.daemon.wire import CoreCommand
from nuc_engine.model.changes import Changeset, JointControl, Trigger, Write
from nuc_engine.plants.events import Kick
from nuc_engine.verify import Verdict, verify_bout
from tests.verify.variants import ZOO, Case, PaperDaemon, documents, run, writes

MS = 1_000_000
TABLE = json.dumps({"ticks": [0, 4, 20, 60, 200, 400], "torque_n_m": [0, 0, 0.05, 0.18, 0.4, 0.4]})
WITH_TABLE = (r"(<motor )", r'\1torqueTable="t.json" ')
COMMANDS = (
    r"</sensorspec>\s*</aimotor>\s*</joint>\s*<endpoint>",
    '</sensorspec><forceCommand><hdsoMod idNum="207" NumElts="1">4.5</hdsoMod></forceCommand><positionCommand>'
    '<hdsoMod idNum="208" NumElts="1">120</hdsoMod></positionCommand></aimotor></joint><endpoint>',
)
WCK = ((r'<aimotor ([^>]*)modelnum="\d+"', r'<motor \1model="wCK-1108" deltaTorque="0.05"'), (r"</aimotor", "</motor"))
COSTS = {"motor_conversion": 3 * MS, "script": 50_000, "motor_reply": 7_000, "hdso_server": 2 * MS}
ASKED = (
    '<hdsoSpec idNum="-1" time="0.3"/><hdsoSpec idNum="301" time="0.3"/><hdsoSpec idNum="142" NumElts="2" time="0.3"/>'
)
BY_HAND = (
    '<kick time="0.2"/><height time="0.3" cm="11.5"/><ground time="0.4" present="n"/><ground time="0.5" present="y"/>'
    '<load time="0.6" newton="1.5" duration="0.1"/><disconnect time="0.65" joint="Femur-Tibia" duration="0.1"/>'
    '<reconnect time="0.9" duration="0.05"/><kick time="0.6" force="1 -2 3.25" duration="0.05"/>'
)
RULES = (
    '<hdsoMod idNum="162" NumElts="9" datatype="char" time="0.2">307 &lt; 103</hdsoMod>'
    '<hdsoMod idNum="169" NumElts="13" datatype="char" time="0.3">(302&gt;106)|190</hdsoMod>'
    '<hdsoMod idNum="198" NumElts="1" time="0.2">2</hdsoMod>'
    '<hdsoMod idNum="142" NumElts="2" time="0.4">0.3 0.5</hdsoMod>'
)


BLOCKS = (
    ("raw", "rawload", "TC1_current", ""), ("printed", "lowpass", "raw", "w"), ("low", "lowpass", "raw", "tau"),
    ("high", "highpass", "low", "tau"), ("rate", "derivative", "FT_angle", "tau"), ("bare", "derivative", "low", ""),
    ("area", "integral", "high", ""), ("leaky", "integral", "FT_current", "tau"), ("late", "delay", "FT_angle", "tau"),
    ("spread", "delay", "FT_angle", "tau w"), ("white", "noise", "low", "w"), ("walk", "noise", "", "w tau"),
    ("all", "sum", "low rate walk FT_angle", ""), ("some", "sum", "low rate", "two"),
    ("both", "product", "low rate", ""),
    ("turned", "gain", "all", "tau w"), ("up", "threshold", "some", "w"), ("size", "abs", "some", ""),
    ("least", "min", "low rate tau", ""), ("most", "max", "low rate tau", ""),
    ("slow", "ratelimit", "FT_angle", "fast"),
    ("falls", "ratelimit", "FT_angle", "fast w"), ("mapped", "table", "FT_angle", "places values"),
    ("iir", "iir", "FT_angle", "values poles"),
)  # fmt: skip
"""Every block there is: name, type, inputs, parameters."""
NUMBERS = {
    "w": "0.05",
    "tau": "0.0123",
    "fast": "40",
    "two": "2 -0.5",
    "places": "60 70 90",
    "values": "0.1 0.3 -0.2",
    "poles": "2 -1.1 0.3",
}


def with_blocks() -> tuple[tuple[str, str], ...]:
    """Return what adds all blocks to a configuration."""
    signals = "".join(
        f'<signal idNum="{900 + k}" name="b_{name}" type="{kind}" inputs="{_prefixed(inputs)}" '
        f'parameters="{parameters}" per_sample="{"y" if name in ("printed", "iir") else "n"}"/>'
        for k, (name, kind, inputs, parameters) in reversed([*enumerate(BLOCKS)])
    )
    numbers = "".join(
        f'<hdso idNum="{960 + k}" name="{name}" datatype="{"double" if k else "float"}" numdims="1">'
        f'<dimsize dimNr="1">{len(text.split())}</dimsize><initial_data>{text}</initial_data></hdso>'
        for k, (name, text) in enumerate(NUMBERS.items())
    )
    return (
        ("<hdsolist ", '<hdsolist version="0.2" '),
        (r'(name="engine_stop_time"(?:.|\n)*)</hdsolist>', rf"\1{signals}</hdsolist>"),
        (r'(name="motor_speed"(?:.|\n)*)</hdsolist>', rf"\1{numbers}</hdsolist>"),
    )


def _prefixed(inputs: str) -> str:
    own = {name for name, *_ in BLOCKS}
    return " ".join(f"b_{word}" if word in own else word for word in inputs.split())


TUNED = (
    '<hdsoMod idNum="961" NumElts="1" datatype="double" time="0.3">0.05</hdsoMod>'
    '<hdsoMod idNum="960" NumElts="1" time="0.5">0</hdsoMod><hdsoMod idNum="964" NumElts="1" time="0.5">65</hdsoMod>'
    '<hdsoMod idNum="961" NumElts="1" datatype="double" time="0.6">0</hdsoMod>'
)


def rule(number: int, text: str, time_s: float) -> str:
    return f'<hdsoMod idNum="{number}" NumElts="{len(text)}" datatype="char" time="{time_s}">{escape(text)}</hdsoMod>'


LATE = (
    (r'activation_sensors="(\w+)', r'activation_sensors="\1@0.0213'),
    ("<jointlist ", '<jointlist version="0.2" '),
)
"""Every first sensor of an activation is late."""
LATE_RULES = (
    rule(162, "307@0.05 < 103", 0.1)
    + rule(169, "(302@0.02 > 106@0.1)|190@0.2", 0.15)
    + rule(163, "162@0.03 | (307@0.3 < 103)", 0.2)
    + rule(162, "307@0.01 < 103@60", 0.5)
    + rule(163, "162 | (302 > 101)", 0.7)
    + '<hdsoMod idNum="103" NumElts="1" time="0.41">90</hdsoMod>'
)


CLAMPS = (
    '<sense time="0" sensor="307" mode="hold"/><sense time="0.1" sensor="TC1_current" mode="value" value="0.25"/>'
    '<sense time="0.2" sensor="307" mode="off"/><sense time="0.3" sensor="CTr_angle" mode="hold"/>'
    '<sense time="0.35" sensor="TC1_current" mode="hold"/>'
    '<sense time="0.5" sensor="CTr_angle" mode="value" value="-7"/>'
    '<sense time="0.6" sensor="TC1_current" mode="off"/><sense time="0.6" sensor="FT_angle" mode="off"/>'
)


def renamed(old: int, new: int) -> tuple[str, str]:
    """Let motors name other sensors: `old` and the next one become `new` and the next one."""
    named = rf'(then current. -->\s*<hdsoMod idNum="){old}("[^>]*>\s*<hdsoMod idNum="){old + 1}'
    return named, rf"\g<1>{new}\g<2>{new + 1}"


SWAPPED = (renamed(301, 309), renamed(303, 301), renamed(309, 303))


def mode(joint: str, how: str) -> tuple[str, str]:
    return rf'(<joint name="{joint}"[^>]*?)(start_state_idNum)', rf'\1control_mode="{how}" \2'


@pytest.mark.parametrize(
    ("what", "more"),
    [
        ("functions, kernels, dwell, rules inside rules, readings that wrap", {"changes": ZOO, "seconds": 1.5}),
        ("the same with missed replies", {"changes": ZOO, "shake": "missed", "script": RULES}),
        ("the same by the daemon", {"changes": ZOO, "clock": "real", "script": RULES, "shake": "missed"}),
        ("requests, tasks that take time", {"changes": ZOO, "script": ASKED, "more": {"costs": COSTS}}),
        ("rules that are late", {"more": {"costs": {"state_transition": 30 * MS}}, "shake": "periods"}),
        ("rules that are late by one period", {"more": {"costs": {"state_transition": 25 * MS}}}),
        ("done by hand", {"script": BY_HAND, "more": {"events": (Kick(123_456_789, (1.0, 0.0, 0.0), 5 * MS),)}}),
        ("values given", {"changes": ZOO, "more": {"values": {"109": 61.5, "k1": (0.2, 0.1), "162": "307 < 103"}}}),
        ("torque levels", {"script": '<hdsoMod idNum="0" NumElts="1" datatype="int" time="0.4">1</hdsoMod>'}),
        ("limits", {"more": {"limits": {"Femur_Tibia_motor": 3}}}),
        ("gravity", {"more": {"gravity_compensation": 0.7}}),
        ("gravity, torques by a table", {
            "servo": "fast", "changes": (WITH_TABLE,), "files": {"t.json": TABLE}, "seconds": 0.5,
            "more": {"gravity_compensation": 0.7, "limits": {"Femur_Tibia_motor": 30}},
        }),
        ("position commands", {
            "changes": (mode("Femur-Tibia", "position"), COMMANDS),
            "script": writes(208, [100 + 3 * k for k in range(9)]),
        }),
        ("force commands of either sign", {
            "changes": (mode("Femur-Tibia", "force"), COMMANDS),
            "script": writes(207, [(-1) ** k * k / 2 for k in range(14)]),
        }),
        ("sensors in another order than motors", {"changes": SWAPPED}),
        ("no sensors named", {"changes": ((r"<sensorspec>(?:.|\n)*?</sensorspec>", ""),)}),
        ("every block", {"changes": with_blocks(), "script": TUNED, "more": {"seed": 5}}),
        ("every block with missed replies", {"changes": with_blocks(), "script": TUNED, "shake": "missed"}),
        ("every block by the daemon", {"changes": with_blocks(), "script": TUNED, "shake": "missed", "clock": "real"}),
        ("delays", {"changes": (*ZOO, *LATE), "script": LATE_RULES}),
        ("delays with missed replies", {"changes": (*ZOO, *LATE), "script": LATE_RULES, "shake": "missed"}),
        ("delays by the daemon", {"changes": (*ZOO, *LATE), "script": LATE_RULES, "clock": "real"}),
        ("clamps", {"changes": ZOO, "script": CLAMPS}),
        ("clamps, blocks and weight", {
            "changes": with_blocks(),
            "script": CLAMPS + '<sense time="0.2" sensor="b_low" mode="value" value="3"/>',
            "more": {"gravity_compensation": 0.7},
        }),
        ("no control", {"changes": ((r'control_mode="position"', 'control_mode="none"'),)}),
        ("another unit of output, on AI framing", {"bus": "emulated:?wck=1&baud=115200", "changes": WCK}),
        ("uneven exchanges", {"bus": "emulated:?jitter_us=300"}),
        ("a form of exchange that is not even", {"bus": "emulated:?sync=1"}),
    ],
)  # fmt: skip
def test_is_as_computed(what: str, more: dict[str, Any], tmp_path: Path) -> None:
    verdict = verify_bout(run(Case("lin_roach", **{"seconds": 1.0, **more}), tmp_path))
    assert verdict.good, (what, verdict.differences[:5])


def test_a_bout_that_ends_since_a_motor_fell_silent_is_computed_to_its_end(tmp_path: Path) -> None:
    folder = run(Case("lin_roach", bus="emulated:?drop=0.5"), tmp_path)
    assert json.loads((folder / "manifest.json").read_text())["reason"].startswith("motor_silent")
    assert verify_bout(folder).good


def clamps(daemon: PaperDaemon) -> None:
    """Change what is sensed, also to what is refused."""
    load, angle = daemon.hdso("TC1_current"), daemon.hdso("FT_angle")
    for time_ms, index, value in (
        *((100, load, 0.0), (150, angle, "hold"), (300, load, "off"), (350, angle, 77.7), (400, angle, "odd")),
        *((420, daemon.hdso("motor_speed"), 1.0), (500, angle, "off"), (510, load, "hold")),
    ):
        daemon.edit(Changeset(0, (), controls=(JointControl("sense", index, value),)), time_ms * MS)
    daemon.run(0.8)


def triggered(daemon: PaperDaemon) -> None:
    """Let rules wait for what happens: what they do is as recorded."""
    made = (Write(daemon.hdso(109), (63.5,)),)
    rules = (("302@0.02 > 101", 0, 0), ("(307 > 109) & (time > 194)", 10 * MS, 33 * MS), ("191", 0, 50 * MS))
    for rule, holds_ns, after_ns in rules:
        daemon.trigger(Trigger(rule, made, holds_ns, after_ns, -1, 2, 60 * MS), 50 * MS)
    daemon.run(0.8)


def controls(daemon: PaperDaemon) -> None:
    """Change what drives the joints, also to what is refused."""
    for time_ms, *control in (
        *((100, "mode", 2, "hold"), (100, "tweak", 3, 4.4), (200, "target", 2, 75.0), (300, "rate", 2, 20.0)),
        *((350, "target", 2, 95.0), (500, "mode", 1, "position"), (500, "rate", 1, 200.0), (550, "mode", 2, "muscle")),
        *((550, "mode", 3, "limp"), (900, "mode", 3, "muscle"), (950, "mode", 3, "position"), (999, "mode", 3, "odd")),
        *((999, "mode", 1, "muscle"), (999, "target", 2, 1e6), (999, "tweak", 0, "x"), (999, "rate", 0, 0.0)),
        *((1000, "mode", 1, "force"), (1100, "mode", 2, "force"), (1150, "mode", 0, "hold"), (1150, "mode", 2, "limp")),
    ):
        daemon.edit(Changeset(0, (), controls=(JointControl(*control),)), time_ms * MS)
    daemon.run(2.3)


def edits(daemon: PaperDaemon) -> None:
    """Write values and rules of which some are refused when they are due."""
    for time_ms, *pairs in (
        (100, (109, 61.5), (109, 62.5), (161, "307 > 105"), (161, "307 < 105")),
        (130, (162, "161"), (161, "162")),
        (131, (161, "161 & 191")),
        (150, (163, "201 > 302")),
        (160, (201, 3.5), (163, "201 > 302")),
        (170, (198, 1.0), (163, "302 < 101")),
        (180, (2, 10 * MS)),
        (200, (2, 40 * MS)),
        (210, (1, 500_000)),
    ):
        made = tuple(Write(daemon.hdso(number), daemon.stored(number, value)) for number, value in pairs)
        daemon.edit(Changeset(0, made), time_ms * MS)
    daemon.edit(Changeset(0, (Write(daemon.hdso(109), (63.5,)),)), -1)
    daemon.run(0.5)


def unplugged(daemon: PaperDaemon) -> None:
    daemon.run(0.2)
    daemon.unplug(2)
    daemon.run(0.012)
    daemon.plug(2)
    daemon.run(0.3)
    daemon.unplug(1)
    daemon.run(0.3)


def dumped(daemon: PaperDaemon) -> None:
    daemon.run(0.3)
    daemon.order(CoreCommand.DUMP)
    daemon.run(0.2)


def latched(daemon: PaperDaemon) -> None:
    daemon.run(0.3)
    daemon.words[Word.LATCHED] = 1


def told_off(daemon: PaperDaemon) -> None:
    daemon.run(0.3)
    daemon.order(CoreCommand.OFF, "by hand")


def served(tmp_path: Path, course: Any, case: Case, **options: Any) -> tuple[Path, Verdict]:
    config, _ = documents(case, tmp_path)
    daemon = PaperDaemon(config, case.url, tmp_path / "data", **options)
    daemon.begin()
    course(daemon)
    folder = daemon.end()
    return folder, verify_bout(folder)


@pytest.mark.parametrize(
    "course", [controls, edits, clamps, triggered, unplugged, dumped, latched, told_off], ids=lambda f: f.__name__
)
@pytest.mark.parametrize("cost_ns", [0, 3000], ids=["at once", "taking time"])
def test_a_daemons_bout_is_as_computed(course: Any, cost_ns: int, tmp_path: Path) -> None:
    folder, verdict = served(tmp_path, course, Case("lin_roach", changes=ZOO), cost_ns=cost_ns)
    assert verdict.good, verdict.differences[:5]
    if course is edits:
        assert len(re.findall("refused|replaced by a later entry", (folder / "Scriptlog.xml").read_text())) >= 4


def crowded(daemon: PaperDaemon) -> None:
    """Let rules be due more often than there is time for."""
    daemon.edit(Changeset(0, (Write(daemon.hdso(2), (100_000,)),)), 100 * MS)
    daemon.edit(Changeset(0, (Write(daemon.hdso(2), (25 * MS,)),)), 150 * MS)
    daemon.run(0.3)


@pytest.mark.parametrize("cost_ns", [20_000, 45_000, 110_000])
def test_overruns_of_a_daemons_rules_are_counted_as_far_as_the_record_tells(cost_ns: int, tmp_path: Path) -> None:
    folder, verdict = served(tmp_path, crowded, Case("lin_roach"), cost_ns=cost_ns)
    counts = json.loads((folder / "manifest.json").read_text())["counts"]
    assert verdict.good, verdict.differences[:5]
    assert counts["tasks"]["state_transition"]["overruns"] > 10
    assert counts["events"]["overrun"] == 1


def test_controls_of_servos_in_other_units_are_as_computed(tmp_path: Path) -> None:
    _, verdict = served(tmp_path, controls, Case("lin_roach", servo="fast", shake="missed"))
    assert verdict.good, verdict.differences[:5]
