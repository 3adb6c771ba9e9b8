"""Bouts that are run with each mutant: a few that together reach nearly all of the tasks."""

from __future__ import annotations

import json

from tests.verify.acting import everything
from tests.verify.variants import ZOO, Case

TABLE = json.dumps({"ticks": [0, 4, 20, 60, 200, 400], "torque_n_m": [0, 0, 0.05, 0.18, 0.4, 0.4]})
_WITH_TABLE = (r"(<motor )", r'\1torqueTable="t.json" ')
_COMMANDS = (
    r"</sensorspec>\s*</aimotor>\s*</joint>\s*<endpoint>",
    '</sensorspec><forceCommand><hdsoMod idNum="207" NumElts="1">4.5</hdsoMod></forceCommand><positionCommand>'
    '<hdsoMod idNum="208" NumElts="1">120</hdsoMod></positionCommand></aimotor></joint><endpoint>',
)


def _mode(joint: str, mode: str) -> tuple[str, str]:
    return rf'(<joint name="{joint}"[^>]*?)(start_state_idNum)', rf'\1control_mode="{mode}" \2'


def _writes(number: int, values: list[float], begin: float = 0.3, step: float = 0.05) -> str:
    return "".join(
        f'<hdsoMod idNum="{number}" NumElts="1" time="{begin + step * k:.3f}">{value}</hdsoMod>'
        for k, value in enumerate(values)
    )


_ASKED = '<hdsoSpec idNum="-1" time="0.3"/><hdsoSpec idNum="301" time="0.3"/><hdsoSpec idNum="205" time="0.4"/>'
_LEVELS = (
    '<hdsoMod idNum="0" NumElts="1" datatype="int" time="0">1</hdsoMod>'
    '<hdsoMod idNum="0" NumElts="1" datatype="int" time="0.6">4</hdsoMod>'
)
_BY_HAND = '<kick time="0.2"/><ground time="0.5" present="n"/><ground time="0.7" present="y"/>'
_RULES = (
    '<hdsoMod idNum="162" NumElts="9" datatype="char" time="0.5">307 &lt; 103</hdsoMod>'
    '<hdsoMod idNum="169" NumElts="13" datatype="char" time="0.6">(302&gt;106)|190</hdsoMod>'
)

_CONTROLS = (
    *((0.1, "mode", 2, "hold"), (0.15, "tweak", 3, 4.4), (0.2, "target", 2, 75.0), (0.3, "rate", 2, 20.0)),
    *((0.35, "target", 2, 95.0), (0.4, "mode", 1, "muscle"), (0.5, "mode", 3, "limp"), (0.6, "mode", 2, "muscle")),
    *((0.9, "mode", 3, "muscle"), (1.0, "mode", 1, "position"), (1.1, "mode", 1, "force"), (1.2, "target", 2, 1e6)),
)

MUTANT_CASES = {
    "plain": Case("lin_roach", seconds=1.0),
    "everything": Case("lin_roach", pause_ns=1, shake="gradual", changes=ZOO, script=_ASKED + _RULES, seconds=1.2),
    "missed": Case("lin_roach", shake="missed", changes=ZOO, seconds=1.0),
    "fast": Case(
        "lin_roach",
        servo="fast",
        shake="missed",
        changes=(_WITH_TABLE,),
        files={"t.json": TABLE},
        more={"gravity_compensation": 0.7},
        seconds=0.4,
    ),
    "late": Case(
        "lin_roach",
        shake="periods",
        script=_ASKED + _BY_HAND + _LEVELS,
        more={
            "costs": {"state_transition": 2_000_000, "motor_conversion": 300_000, "hdso_server": 40_000_000},
            "limits": {"Femur_Tibia_motor": 3},
        },
        seconds=1.0,
    ),
    "forced": Case(
        "lin_roach",
        changes=(_mode("Femur-Tibia", "force"), _COMMANDS),
        script=_writes(207, [k / 2 for k in range(9)]),
        seconds=0.8,
    ),
    "silent": Case("lin_roach", bus="emulated:?drop=0.5", seconds=0.6),
    "acting": everything(seconds=2.5),
    "acting daemon": everything(seconds=2.0, clock="real"),
    "daemon": Case("lin_roach", clock="real", shake="missed", changes=ZOO, seconds=1.3, controls=_CONTROLS),
}
"""By name."""
