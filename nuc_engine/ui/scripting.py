"""What is worked out of documents that somebody edits, in a process of its own: nothing of it reaches a daemon.

Every function takes texts and returns JSON's own types, or bytes of files. Raises ValueError with what is wrong.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import msgspec

from nuc_engine.configurations.difference import compare_models, compare_plants
from nuc_engine.configurations.validation import as_data
from nuc_engine.machine.locations import PLANT_SPEC_FILE
from nuc_engine.messages.answers import Value
from nuc_engine.messages.errors import Refused
from nuc_engine.model.plan import HdsoPlan
from nuc_engine.model.planning import PlanError, stored_values
from nuc_engine.model.values import Values, initial_values, plain_value, same_value
from nuc_engine.plants.spec import PlantSpecError, toml_table
from nuc_engine.service.configuration import Configuration, make_configuration
from nuc_engine.service.folders import check_name
from nuc_engine.service.save import configuration_files
from nuc_engine.ui.scene import scene_of
from sccils_schemas.documents import Gradual, HdsoMod, HdsoScript, HdsoSpec, ScriptEntry, SenseClamp, When
from sccils_schemas.grammar import load_grammar
from sccils_schemas.model import Model, load_model
from sccils_schemas.names import printable
from sccils_schemas.parser import parse
from sccils_schemas.problems import SccilsError
from sccils_schemas.writer import write_entry
from sccils_schemas.xmlread import GRAMMAR_OF_ROOT

MOST_ENTRIES = 5000
"""Entries of a script that are told, and differences."""

SCRIPT = "script.xml"
"""What the script of a bout is called in its job's folder."""

_MOST_NUMBERS = 16
_LONGEST = 400
_LONGEST_NAME = 100
_SENSED = {"off": "as measured", "hold": "as it is then"}
"""What a clamp without a value is."""

Texts = Mapping[str, str]


def schema() -> dict[str, Any]:
    """Return every element of SCCILS: its attributes, each with what it may be, and what may stand in it."""
    grammars = [load_grammar(name) for name in sorted(set(GRAMMAR_OF_ROOT.values()))]
    rules = {tag: rule for grammar in grammars for tag, rule in grammar.elements.items()}
    elements = {
        tag: {
            "children": list(rule.child_names),
            "attributes": {
                name: {"required": attribute.required, "values": list(attribute.value.values)}
                for name, attribute in rule.attributes.items()
            },
        }
        for tag, rule in rules.items()
    }
    return {"roots": sorted(GRAMMAR_OF_ROOT), "elements": elements}


def saved_values(documents: Texts) -> dict[str, Value]:
    """Return what documents say that each HDSO holds at the start, by its name."""
    try:
        plan = make_configuration("saved", as_bytes(documents), strict=False).plan
    except Refused as error:
        raise ValueError(str(error)) from error
    names = {hdso.id_num: hdso.name for hdso in plan.hdsos}
    held = zip(plan.hdsos, initial_values(plan), strict=True)
    return {hdso.name: plain_value(hdso, values, names) for hdso, values in held}


def timeline(text: str) -> dict[str, Any]:
    """Return what a script does, entry by entry in order of time, or its problems where it is none."""
    document, problems = parse(text.encode("utf-8", "replace"), "script")
    found = [as_data(problem) for problem in problems]
    if not isinstance(document, HdsoScript):
        return {"problems": found or [_no_script()], "entries": [], "left_out": 0, "end_s": 0.0, "name": ""}
    entries = sorted((told for entry in document.entries for told in _told(entry)), key=lambda told: told["time_s"])
    end_s = max((told["time_s"] + told["duration_s"] for told in entries), default=0.0)
    left_out = max(0, len(entries) - MOST_ENTRIES)
    name = printable(document.fullname or document.name or "")
    return {"problems": [], "entries": entries[:MOST_ENTRIES], "left_out": left_out, "end_s": end_s, "name": name}


def _no_script() -> dict[str, Any]:
    what = "this is a document, but no hdsoscript"
    return {"file": "script", "line": 1, "severity": "error", "what": what, "expected": "<hdsoscript>", "hint": ""}


def _told(entry: ScriptEntry) -> Iterator[dict[str, Any]]:
    time_s = float(entry.time_s)
    told: dict[str, Any] = {"time_s": time_s, "duration_s": 0.0, "steps": 0, "line": int(entry.line)}
    if isinstance(entry, HdsoMod):
        if entry.data:
            yield {**told, "kind": "write", **_data(entry)}
    elif isinstance(entry, Gradual):
        told |= {"duration_s": float(entry.duration_s), "steps": entry.steps}
        for mod in entry.mods:
            yield {**told, "kind": "gradual", "line": int(mod.line), **_data(mod)}
    elif isinstance(entry, HdsoSpec):
        yield {**told, "kind": "request", "ref": entry.ref, "data": None}
    elif isinstance(entry, SenseClamp):
        yield {**told, "kind": "sense", "ref": entry.sensor, "data": _SENSED.get(entry.mode) or f"{entry.value:g}"}
    elif isinstance(entry, When):
        waits: dict[str, Any] = {part: float(getattr(entry, part)) for part in ("holds_s", "after_s", "refractory_s")}
        waits |= {"until_s": None if entry.until_s is None else float(entry.until_s), "times": entry.times}
        waits["writes"] = [_data(mod) for mod in entry.mods[:_MOST_NUMBERS]]
        yield {**told, "kind": "when", "ref": "", "data": entry.rule[:_LONGEST], **waits}
    else:
        # What is done to the leg by hand, as the script has it.
        lasts = getattr(entry, "duration_s", None)
        text = write_entry(entry).strip()[:_LONGEST]
        yield {**told, "kind": "by hand", "duration_s": float(lasts or 0), "ref": "", "data": text}


def _data(mod: HdsoMod) -> dict[str, Any]:
    data = mod.data[:_LONGEST] if isinstance(mod.data, str) else list(mod.data[:_MOST_NUMBERS])
    return {"ref": mod.ref, "data": data}


def differences(name: str, before: Texts, values: Mapping[str, Any] | None, after: Texts) -> dict[str, Any]:
    """Return by name what differs from one configuration to another; with `values`, from one with these in force."""
    check_name_of(name)
    files = in_force(name, before, values) if values is not None else as_bytes(before)
    with TemporaryDirectory() as place:
        folders = Path(place, "before", name), Path(place, "after", name)
        for folder, content in zip(folders, (files, as_bytes(after)), strict=True):
            write_files(folder, content)
        try:
            found = compare_models(*map(_model, folders))
            if all((folder / PLANT_SPEC_FILE).exists() for folder in folders):
                found += compare_plants(*(folder / PLANT_SPEC_FILE for folder in folders))
        except (PlanError, PlantSpecError, SccilsError) as error:
            raise ValueError(str(error).replace(f"{place}/", "")) from error
    told = msgspec.to_builtins(found[:MOST_ENTRIES])
    for item in told:
        item.update({side: item[side] and item[side][:_LONGEST] for side in ("a", "b")})
    return {"differences": told, "left_out": max(0, len(found) - MOST_ENTRIES)}


def _model(folder: Path) -> Model:
    model, problems = load_model(folder)
    if model is None:
        raise ValueError("\n".join(str(problem).replace(f"{folder.parent}/", "") for problem in problems.errors[:5]))
    return model


def in_force(name: str, documents: Texts, values: Mapping[str, Any]) -> dict[str, bytes]:
    """Return a configuration's files with values, by name, as initial data: as `nuc ctl save` writes them."""
    try:
        configuration = make_configuration(name, as_bytes(documents), strict=False)
        held = dict(_held(configuration, values))
        return {**configuration.files, **configuration_files(configuration, held)}
    except (Refused, SccilsError, OverflowError) as error:
        raise ValueError(str(error)) from error


def _held(configuration: Configuration, values: Mapping[str, Any]) -> Iterator[tuple[int, Values]]:
    """Yield what is not what a bout begins with anyway: that stays as it is written, to the last digit."""
    ids = configuration.model.ids
    for hdso, initial in zip(configuration.plan.hdsos, initial_values(configuration.plan), strict=True):
        stored = told_value(hdso, values.get(hdso.name), ids)
        if stored is not None and not same_value(hdso, stored, initial):
            yield hdso.index, stored


def told_value(hdso: HdsoPlan, value: Any, ids: Mapping[str, int]) -> Values | None:
    """Return a value as the store holds it, None where there is none to hold. Raises ValueError."""
    if value is None or hdso.kind == "sensor":
        return None
    data: Any = value if isinstance(value, str | list) else [value]
    is_text = hdso.kind == "boolstring" or hdso.datatype.endswith("char")
    if not is_text if isinstance(data, str) else not all(isinstance(number, int | float) for number in data):
        raise ValueError(f"HDSO {hdso.id_num} ({hdso.name}): expected numbers")
    return stored_values(hdso, data, ids)


def trial_files(
    name: str, documents: Texts, values: Mapping[str, Any], angles: Mapping[str, float], script: str | None
) -> tuple[dict[str, bytes], dict[str, float]]:
    """Return the files of a bout of an emulated leg, by their paths in a folder, and the numbers of its plant.toml.

    They are the configuration with values in force, and the script if there is one; with the numbers it starts at these
    joint angles, and at no others.
    """
    check_name_of(name)
    files = in_force(name, documents, values)
    if PLANT_SPEC_FILE not in files:
        raise ValueError(f"{name} has no {PLANT_SPEC_FILE}: there is no emulated leg of it")
    written = {f"{name}/{file}": content for file, content in files.items()}
    if script is not None:
        written[SCRIPT] = script.encode("utf-8", "replace")
    joints: Any = toml_table(files[PLANT_SPEC_FILE], PLANT_SPEC_FILE).get("joint")
    joints = joints if isinstance(joints, dict) else {}
    known = {f"joint.{joint}.start_deg": angle for joint, angle in angles.items() if joint in joints}
    return written, {"variation.start_pose_deg": 0.0, **known}


def scene(name: str, documents: Texts) -> dict[str, float] | None:
    """Return what stands around an emulated leg (`nuc_engine.ui.scene`); None where no document tells."""
    try:
        joints = make_configuration(name, as_bytes(documents), strict=False).plan.joints
    except Refused as error:
        raise ValueError(str(error)) from error
    amatrix = joints[0].amatrix if joints else None
    with TemporaryDirectory() as place:
        plant = Path(place, PLANT_SPEC_FILE)
        plant.write_bytes(as_bytes(documents).get(PLANT_SPEC_FILE, b""))
        return scene_of(plant, 0.0 if amatrix is None else float(amatrix[11]))


def check_name_of(name: str) -> None:
    """Raise ValueError for what may not become a folder's name."""
    try:
        check_name(name)
    except Refused as error:
        raise ValueError(str(error)) from error


def as_bytes(documents: Texts) -> dict[str, bytes]:
    """Return documents as files. Raises ValueError where a name is none of a file."""
    for name in documents:
        if not name or name.startswith(".") or len(name) > _LONGEST_NAME or not set(name).isdisjoint("/\\\0"):
            raise ValueError(f"{printable(name[:_LONGEST_NAME])!r} is no name of a document")
    return {name: text.encode("utf-8", "replace") for name, text in documents.items()}


def write_files(folder: Path, files: Mapping[str, bytes]) -> None:
    """Write files below a new folder."""
    folder.mkdir(parents=True)
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(content)
