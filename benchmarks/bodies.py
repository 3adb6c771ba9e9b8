"""Synthetic bodies for scaling laws: documents of `lin_roach` with more legs side by side, more rules, more sensors.

Each leg is the whole leg with ids, names and rules of its own, to be on a line of its own in front of a MuJoCo leg of
its own. What is added to it changes nothing of how it steps: rules that never hold, sensors that nothing measures.
"""

from __future__ import annotations

import copy
import re
import xml.etree.ElementTree as ET
from pathlib import Path

from nuc_engine.machine.locations import find_configuration
from sccils_schemas.model import MODEL_FILES

CONFIG = "lin_roach"
LEG_JOINTS, LEG_RULES, LEG_SENSORS = 4, 6, 10

_APART = 10_000
"""Between the ids of two legs."""
_GLOBAL = 3
"""Ids below are of the engine: one of each, however many legs there are."""
_BODY = "0"
"""What the first joint of a leg is on."""
_MOTOR_SENSORS = 8
"""Sensors of a leg's motors, which come before all others."""
_REFERENCES = ("idNum", "parent", "start_state_idNum", "muscle", "activation_parameters", "boolstring")
_NEVER = "(307 > 105) & (307 < 103)"
_FIRST_RULE = 2000


def make_body(folder: Path, *, legs: int = 1, rules: int = 0, sensors: int = 0) -> Path:
    """Write the documents of a body into a new folder and return it; with so many rules and sensors, or its own."""
    folder.mkdir(parents=True)
    source = find_configuration(CONFIG)
    trees = {name: ET.parse(source / name) for name in MODEL_FILES}
    joints, parameters, measured = (_root(trees, kind) for kind in ("jointlist", "parameterList", "sensorList"))
    leg, values, senses = list(joints), list(parameters), list(measured)
    for k in range(1, legs):
        joints.extend(_copied(item, k) for item in leg if item.tag != "description")
        parameters.extend(_copied(item, k) for item in values if int(item.get("idNum", 0)) >= _GLOBAL)
        measured.extend(_copied(item, k) for item in senses if item.tag == "hdso")
    _motors_first(measured)
    _add_rules(joints, parameters, rules - legs * LEG_RULES)
    _add_sensors(measured, sensors - legs * LEG_SENSORS)
    for name, tree in trees.items():
        tree.write(folder / name, encoding="UTF-8", xml_declaration=True)
    (folder / "plant.toml").write_bytes((source / "plant.toml").read_bytes())
    return folder


def _root(trees: dict[str, ET.ElementTree[ET.Element]], kind: str) -> ET.Element:
    return next(
        root for root in (tree.getroot() for tree in trees.values()) if kind in (root.tag, root.get("DataSetType"))
    )


def _copied(item: ET.Element, number: int) -> ET.Element:
    """Return a part of a leg as that of another one."""

    def moved(match: re.Match[str]) -> str:
        return str(int(match.group()) + number * _APART)

    new = copy.deepcopy(item)
    for element in new.iter():
        for name in _REFERENCES:
            if (text := element.get(name)) not in (None, _BODY):
                element.set(name, re.sub(r"\d+", moved, str(text)))
        if (called := element.get("name")) is not None:
            element.set("name", f"{called}_{number}")
        if element.tag == "aimotor":
            element.set("bus", f"leg_{number}")
    return new


def _motors_first(sensors: ET.Element) -> None:
    """Put the sensors of all legs' motors before the others."""
    hdsos = sensors.findall("hdso")
    of_motors = [item for k, item in enumerate(hdsos) if k % LEG_SENSORS < _MOTOR_SENSORS]
    others = [item for k, item in enumerate(hdsos) if k % LEG_SENSORS >= _MOTOR_SENSORS]
    for item in hdsos:
        sensors.remove(item)
    sensors.extend([*of_motors, *others])


def _add_rules(joints: ET.Element, parameters: ET.Element, more: int) -> None:
    modules = [joint for joint in joints.findall("joint") if joint.find("state") is not None]
    like = next(item for item in parameters.findall("hdso") if item.get("idNum") == "161")
    for k in range(more):
        module = modules[k % len(modules)]
        state = copy.deepcopy(module.findall("state")[0])
        state.set("idNum", str(_FIRST_RULE + 2 * k))
        state.set("name", f"never_{k}")
        rule = state.find("transition_rule")
        assert rule is not None
        rule.set("boolstring", _NEVER)
        for written in rule.findall("hdsoMod"):
            rule.remove(written)
        ET.SubElement(rule, "hdsoMod", {"idNum": str(_FIRST_RULE + 2 * k + 1), "NumElts": "0"})
        module.insert(list(module).index(module.findall("state")[-1]) + 1, state)
        hdso = copy.deepcopy(like)
        hdso.set("idNum", str(_FIRST_RULE + 2 * k + 1))
        hdso.set("name", f"Enter_never_{k}")
        parameters.append(hdso)


def _add_sensors(sensors: ET.Element, more: int) -> None:
    last = sensors.findall("hdso")[-1]
    for k in range(more):
        hdso = copy.deepcopy(last)
        hdso.set("idNum", str(5000 + k))
        hdso.set("name", f"{last.get('name')}_{k}")
        sensors.append(hdso)
