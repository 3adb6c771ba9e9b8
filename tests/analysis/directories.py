"""Data directories in NeuRoMod's forms, made out of this engine's (readings E1, E2, E4)."""

from __future__ import annotations

import shutil
from pathlib import Path

NEUROMOD = Path(__file__).resolve().parents[1] / "configs" / "data" / "neuromod_lin_roach"
START_NS = 1_244_910_000_123_456_789
"""A summer day in 2009."""

RULES = (
    (165, "Enter_FT_Extension", "(302 &lt; 108)&amp;(307 &gt; 107)"),
    (166, "Enter_FT_Flexion", "(302 &gt; 106)|(307 &lt; 109)"),
)
"""The two rules that make the knee flex under load."""

SCRIPT = f"""<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE hdsoscript SYSTEM "hdsoscript.dtd">
<hdsoscript name="short" ScriptType="LegScript">
  <hdsoMod idNum="103" name="TC1_retLEV_FTang" NumElts="1" datatype="float" time="0">60</hdsoMod>
  <hdsoMod idNum="103" name="TC1_retLEV_FTang" NumElts="1" datatype="float" time="0.5">61</hdsoMod>
  <hdsoMod idNum="165" name="Enter_FT_Extension" NumElts="23" datatype="char" time="1">{RULES[0][2]}</hdsoMod>
  <hdsoMod idNum="166" name="Enter_FT_Flexion" NumElts="23" datatype="char" time="1">{RULES[1][2]}</hdsoMod>
</hdsoscript>
"""


def neuromod(source: Path, target: Path, *, times: bool, padded: bool, start: bool = True) -> Path:
    """Write a directory as NeuRoMod left it.

    `times`: SensData.txt has the engine's start and stop time too. `padded`: two activations for every joint.
    `start`: the start time is in Scriptlog.xml, after some of the script's entries.
    """
    target.mkdir()
    for path in NEUROMOD.glob("*.xml"):
        shutil.copyfile(path, target / path.name)
    for name, keep in (
        ("MotorData.txt", slice(0, 8)),
        ("SensData.txt", slice(0, 8)),
        ("StateData.txt", slice(0, None)),
        ("MuscleData.txt", slice(0, None)),
    ):
        lines = [line.split() for line in (source / name).read_text().splitlines()]
        rows = [[str(START_NS + int(time)), *rest[keep]] for time, *rest in lines]
        if name == "SensData.txt" and times:
            rows = [[*row, str(START_NS), "-1"] for row in rows]
        if name == "StateData.txt" and not padded:
            rows = [[*row[:5], *row[7:]] for row in rows]
        (target / name).write_text("".join("\t".join(row) + " \n" for row in rows))
    (target / "Infolog.txt").write_text("engine started\n")
    (target / "Scriptlog.xml").write_text(script_log(start=start))
    return target


def script_log(*, start: bool) -> str:
    """Scriptlog.xml as the manual describes it: what was done, when, and, reported late, when the engine started."""
    entries = [
        _mod(103, "TC1_retLEV_FTang", "float", time, value) for time, value in (("0", "60 "), ("0.500012", "61 "))
    ]
    if start:
        entries.append(_mod(20, "engine_start_time", "llint", "0", f"{START_NS} "))
    entries += [_mod(*rule[:2], "char", "1.000015", rule[2]) for rule in RULES]
    if start:
        entries.append(_mod(21, "engine_stop_time", "llint", "2", f"{START_NS + 2_000_000_000} "))
    head = '<?xml version="1.0" encoding="UTF-8"?>\n'
    head += '<!DOCTYPE hdsoscript SYSTEM "/usr/local/src/romod_dtds/hdsoscript.dtd">\n'
    return head + '<hdsoscript ScriptType="Scriptlog" name="log">\n' + "".join(entries) + "</hdsoscript>\n"


def _mod(id_num: int, name: str, datatype: str, time: str, data: str) -> str:
    count = len(data.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&")) if datatype == "char" else 1
    head = f'<hdsoMod idNum="{id_num}" name="{name}" NumElts="{count}"'
    return f'{head} datatype="{datatype}" time="{time}">{data}</hdsoMod>\n'
