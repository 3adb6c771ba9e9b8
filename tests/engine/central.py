"""Central entries for every state of lin_roach, by the time its joint has been in its action."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from tests.engine.acting import case, hdso, rule
from tests.verify.variants import Case

JOINTS = {"Thorax-Coxa1": "TC1", "Coxa-Trochanter": "CTr", "Femur-Tibia": "FT"}
STATES = {163: "CTr", 164: "CTr", 161: "TC1", 162: "TC1", 165: "FT", 166: "FT"}
"""Holders of the entry rules, by joint."""
IN_THE_AIR = '<ground time="0" present="n"/>'


def patient(after_s: float, hold_ns: int | None = None, *, only: str = "", **more: object) -> Case:
    """Return a bout in which joints, or one, leave an action after this time, if no sensory event did."""
    hold = "" if hold_ns is None else ' hold="hold"'
    changes = [
        (
            rf'(?s)(<transition_rule [^>]*>(?:(?!</transition_rule>).)*idNum="{number}"[^>]*/>.*?</transition_rule>)',
            rf'\1<central rule="{name}_waited"{hold}/>',
        )
        for number, name in STATES.items()
        if name.startswith(only)
    ]
    signals = [
        f'<signal idNum="{340 + k}" name="{short}_time" type="time_in_action" of="{joint}" units="s"/>'
        for k, (joint, short) in enumerate(JOINTS.items())
    ]
    hdsos = [hdso(150, "patience", after_s), hdso(151, "hold", hold_ns or 0, "llint")]
    hdsos += [
        rule(152 + k, f"{short}_waited", f"{short}_time &gt; patience") for k, short in enumerate(JOINTS.values())
    ]
    return case(*changes, hdsos=tuple(hdsos), signals=tuple(signals), **more)


def forced(folder: Path) -> list[str]:
    """Return the events of forced switches."""
    return [line for line in (folder / "Infolog.txt").read_text().splitlines() if " forced_switch " in line]


def reach(folder: Path, after_s: float) -> float:
    """Return how far the foot went about after a time, in cm, along the axis where it was most."""
    rows = np.loadtxt(folder / "PlantData.txt")
    return float(np.ptp(rows[rows[:, 0] > after_s * 1e9][:, 1:4], axis=0).max())


def spans(folder: Path, joint: int, after_s: float) -> list[float]:
    """Return for how long, in s, each action lasted that a joint began after a time, the last one apart."""
    rows = np.loadtxt(folder / "StateData.txt")
    begun = rows[1:][np.diff(rows[:, 1 + 3 * joint]) != 0, 0] * 1e-9
    return list(np.diff(begun[begun > after_s]))
