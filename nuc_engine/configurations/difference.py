"""Named differences between two configurations, two scripts or two bouts, and the changeset that leads from A to B.

What decides a bout is compared; descriptions, comments and layout are not. Parameters and rules are matched by name,
so that two models that number their HDSOs differently can be compared.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from pathlib import Path
from typing import Any, Literal, cast

from nuc_engine.bout.episode import compare_rows
from nuc_engine.configurations.describe import Data, describe_model
from nuc_engine.machine.locations import PLANT_SPEC_FILE, is_episode
from nuc_engine.model.plan import HdsoPlan, Plan
from nuc_engine.model.planning import build_plan
from nuc_engine.model.store import refusal
from nuc_engine.model.values import Values, initial_values, plain_number, rule_tokens, value_text
from nuc_engine.plants.spec import PlantSpecError, spec_file
from nuc_engine.recording import manifest
from nuc_engine.recording.compare import compare_file
from nuc_engine.recording.files import COLUMNS_FILE, EPISODE_LOG, INPUT_RECORD, MANIFEST_FILE, SCRIPT_FILE
from sccils_schemas.documents import DataType, Gradual, HdsoMod, HdsoScript, HdsoSpec, ScriptEntry
from sccils_schemas.model import MODEL_FILES, Model
from sccils_schemas.rules import RuleError, format_rule, parse_rule, parse_tokens
from sccils_schemas.writer import write_entry

Section = Literal["value", "rule", "constant", "structure", "geometry", "plant", "script", "bout", "version", "record"]

_NOT_STRUCTURE = frozenset(
    {"description", "fullname", "label", "counts", "code", "value", "formula", "by_id", "by_name", "at_start"}
    | {"used_by", "range_deg", "position_command", "force_command"}
)
"""Parts of a description that are texts, follow from others, or are compared as values."""


@dataclass(frozen=True, slots=True)
class ConfigurationDifference:
    """One named difference: `a` and `b` as text, None where the thing is not there at all."""

    section: Section
    name: str
    a: str | None
    b: str | None
    unit: str = ""


_THERE = "there"


def compare_models(a: Model, b: Model) -> list[ConfigurationDifference]:
    """Return what differs between two configurations: values, rules, constants, structure and geometry."""
    plan_a, plan_b = build_plan(a), build_plan(b)
    return [*_compare_values(a, plan_a, b, plan_b), *_compare_structure(describe_model(a), describe_model(b))]


def compare_scripts(a: HdsoScript, b: HdsoScript) -> list[ConfigurationDifference]:
    """Return what two scripts write or ask for differently, moment by moment."""
    entries_a, entries_b = _entries(a), _entries(b)
    found: list[ConfigurationDifference] = []
    for key in sorted({**entries_a, **entries_b}, key=lambda item: item[0]):
        old, new = entries_a.get(key), entries_b.get(key)
        if old is None or new is None or old.meaning != new.meaning:
            label = next(entry.label for entry in (old, new) if entry is not None)
            a_text, b_text = (None if entry is None else entry.text for entry in (old, new))
            found.append(ConfigurationDifference("script", label, a_text, b_text))
    return found


def compare_plants(a: Path, b: Path) -> list[ConfigurationDifference]:
    """Return the keys in which two plant.toml files differ; a file that is not there has no keys.

    Raises PlantSpecError for a file that cannot be read.
    """
    keys_a, keys_b = (_plant_keys(path) for path in (a, b))
    return list(_compare_texts("plant", keys_a, keys_b))


def compare_documents(a: Mapping[str, Any], b: Mapping[str, Any]) -> list[ConfigurationDifference]:
    """Return the values in which two RunConfigs differ, by their dotted keys."""
    return list(_compare_texts("value", _dotted(a), _dotted(b)))


def compare_bouts(a: Path, b: Path) -> list[ConfigurationDifference]:
    """Return how two data directories differ: how the bouts were run, with what versions, and what was recorded.

    Of every file the first record that differs is named. Configuration, plant and script are compared by themselves.
    """
    old, new = (_manifest(folder) for folder in (a, b))
    versions = _compare_texts("version", _dotted(old.pop("versions", {})), _dotted(new.pop("versions", {})))
    told = ("state", "reason", "configuration", "script", "clock", "spec")
    runs = _compare_texts("bout", *(_dotted({key: item.get(key) for key in told}) for item in (old, new)))
    return [*runs, *versions, *_compare_records(a, b)]


def changeset(a: Model, b: Model) -> tuple[HdsoScript, tuple[str, ...]]:
    """Return a script that turns A's values and rules into B's at time 0, and what it cannot change, with the reason.

    What is left out is named: structure, geometry, constants, sensors, and values A's own ranges refuse.
    """
    plan_a, plan_b = build_plan(a), build_plan(b)
    values_a, values_b = _named_values(plan_a), _named_values(plan_b)
    by_name = {hdso.name: hdso for hdso in plan_b.hdsos}
    mods: list[HdsoMod] = []
    left_out: list[str] = []
    for difference in compare_models(a, b):
        if difference.section not in ("value", "rule"):
            left_out.append(f"{difference.name}: {_REASONS[difference.section]}")
            continue
        hdso, wanted = plan_a.hdso(difference.name), values_b[difference.name]
        mod, reason = _mod(hdso, by_name[difference.name], wanted, plan_b, values_a)
        if mod is None:
            left_out.append(f"{difference.name}: {reason}")
        else:
            mods.append(mod)
    description = f"What turns the values and rules of {a.name} into those of {b.name}."
    if left_out:
        description += f" Not complete: {len(left_out)} differences cannot be made by a script."
    script = HdsoScript(tuple(mods), f"{a.name}_to_{b.name}", f"From {a.name} to {b.name}", "LegScript", description)
    return script, tuple(left_out)


def script_changeset(a: HdsoScript, b: HdsoScript) -> tuple[HdsoScript, tuple[str, ...]]:
    """Return the entries with which script A, followed by them, does what script B does, and what they cannot undo."""
    entries_a, entries_b = _entries(a), _entries(b)
    added = [
        entry.source
        for key, entry in entries_b.items()
        if key not in entries_a or entries_a[key].meaning != entry.meaning
    ]
    left_out = tuple(
        f"{entry.label}: only the first script has it, and what is done cannot be taken back"
        for key, entry in entries_a.items()
        if key not in entries_b
    )
    name = f"{a.name or 'A'}_to_{b.name or 'B'}"
    return HdsoScript(tuple(added), name, None, b.script_type, "What the second script does otherwise."), left_out


_REASONS: Mapping[Section, str] = {
    "constant": "a constant is not changed while running",
    "structure": "structure is fixed when a model is loaded",
    "geometry": "geometry is read when a model is loaded",
}


def _compare_values(a: Model, plan_a: Plan, b: Model, plan_b: Plan) -> Iterator[ConfigurationDifference]:
    values_a, values_b = _named_values(plan_a), _named_values(plan_b)
    geometry = {name for model in (a, b) for name in _geometry_names(model)}
    others = {hdso.name: hdso for hdso in plan_b.hdsos}
    for hdso in plan_a.hdsos:
        other = others.get(hdso.name)
        if other is None or hdso.kind == "sensor" or hdso.name in geometry:
            continue
        texts = [_shown(h, v[hdso.name], p) for h, v, p in ((hdso, values_a, plan_a), (other, values_b, plan_b))]
        if texts[0] != texts[1]:
            section: Section = (
                "rule" if hdso.kind == "boolstring" else "constant" if hdso.kind == "constant" else "value"
            )
            yield ConfigurationDifference(section, hdso.name, texts[0], texts[1], hdso.units)


def _shown(hdso: HdsoPlan, values: Values | None, plan: Plan) -> str | None:
    if values is None:
        return None
    if hdso.kind == "boolstring":
        names = {other.id_num: other.name for other in plan.hdsos}
        return format_rule(parse_tokens(rule_tokens(hdso, values)), names)
    return value_text(hdso, values)


def _named_values(plan: Plan) -> dict[str, Values | None]:
    return dict(zip((hdso.name for hdso in plan.hdsos), initial_values(plan), strict=True))


def _geometry_names(model: Model) -> Iterator[str]:
    for joint in model.jointlist.joints:
        for mod in (joint.geometry.amatrix, joint.geometry.dh_line):
            if mod is not None:
                yield mod.ref if isinstance(mod.ref, str) else model.names.get(mod.ref, "")


def _mod(
    hdso: HdsoPlan, other: HdsoPlan, wanted: Values | None, plan_b: Plan, known: Mapping[str, Values | None]
) -> tuple[HdsoMod | None, str]:
    """Return the write that gives an HDSO of A the value it has in B, or why there is none."""
    if wanted is None:
        return None, "the second one gives it no value, and a value cannot be taken away"
    if hdso.kind == "boolstring":
        text = _shown(other, wanted, plan_b) or ""
        missing = [str(token.ref) for token in rule_tokens(other, wanted) if _is_unknown(token.ref, plan_b, known)]
        if missing:
            return None, f"the rule uses {', '.join(missing)}, which the first one does not have"
        return HdsoMod(hdso.id_num, len(text), text, hdso.name, datatype="char"), ""
    if hdso.datatype == "char":
        text = value_text(other, wanted)
        return HdsoMod(hdso.id_num, len(text), text, hdso.name, datatype="char"), ""
    numbers = tuple(plain_number(value, other.datatype) for value in wanted)
    reason = refusal(hdso, numbers)
    if reason is not None:
        return None, reason
    return HdsoMod(hdso.id_num, len(numbers), numbers, hdso.name, datatype=cast(DataType, hdso.datatype)), ""


def _is_unknown(ref: int | str | None, plan_b: Plan, known: Mapping[str, Values | None]) -> bool:
    return ref is not None and plan_b.hdso(ref).name not in known


def _compare_structure(a: Data, b: Data) -> Iterator[ConfigurationDifference]:
    flat_a, flat_b = _flat(_structure(a)), _flat(_structure(b))
    for difference in _compare_texts("structure", _fold(flat_a, flat_b), _fold(flat_b, flat_a)):
        geometry = ", geometry, " in difference.name
        yield ConfigurationDifference(
            "geometry" if geometry else "structure", difference.name, difference.a, difference.b
        )


def _structure(data: Data) -> Data:
    newer = {part: data[part] for part in ("scale", "muscle_period", "modules", "controls") if part in data}
    return {"joints": data["joints"], **newer, "HDSOs": [*data["parameters"], *data["sensors"]]}


def _flat(value: Any, path: str = "") -> dict[str, str]:
    """Return path -> text of everything in nested mappings; in lists of named things the name becomes part of the path.

    `joint Femur-Tibia, state FT_Flexion, activation Tibia_Flexor, function`
    """
    if _is_reference(value):
        return {path: str(value["name"])}
    if isinstance(value, list) and value and all(map(_is_reference, cast(list[Any], value))):
        return {path: " ".join(str(item["name"]) for item in cast(list[Any], value))}
    if isinstance(value, Mapping):
        flat: dict[str, str] = {}
        for key, item in cast(Mapping[str, Any], value).items():
            if key not in _NOT_STRUCTURE:
                flat |= _flat(item, path if key == "name" else _path(path, key))
        return flat
    if isinstance(value, list) and value and isinstance(value[0], Mapping):
        items = cast(list[Mapping[str, Any]], value)
        kind = path.removesuffix("s")
        flat = {}
        for item in items:
            own = f"{kind} {_item_name(item)}"
            flat |= {**_flat(item, own), own: _THERE}
        return flat
    if value is None or value == []:
        return {}
    return {path: _scalar(value)}


def _is_reference(value: Any) -> bool:
    """Say whether this names a thing that is described elsewhere: by its name it is the same, whatever its number."""
    return isinstance(value, Mapping) and set(cast(Mapping[str, Any], value)) == {"id", "name"}


def _path(path: str, key: str) -> str:
    key = key.replace("_", " ")
    return f"{path}, {key}" if path and key != "functions" else path or key


def _item_name(item: Mapping[str, Any]) -> str:
    return str(item["name"] if "name" in item else item["muscle"]["name"])


def _scalar(value: Any) -> str:
    if isinstance(value, list):
        return " ".join(_scalar(item) for item in cast(list[Any], value))
    return f"{value:.12g}" if isinstance(value, float) else str(value)


def _fold(flat: dict[str, str], other: dict[str, str]) -> dict[str, str]:
    """Leave out the parts of a thing that the other side does not have at all: that it is there says enough."""
    alone = [path for path, text in flat.items() if text == _THERE and path not in other]
    return {path: text for path, text in flat.items() if not any(path.startswith(f"{thing}, ") for thing in alone)}


def _compare_texts(section: Section, a: Mapping[str, str], b: Mapping[str, str]) -> Iterator[ConfigurationDifference]:
    for name in {**a, **b}:
        if a.get(name) != b.get(name):
            yield ConfigurationDifference(section, name, a.get(name), b.get(name))


@dataclass(frozen=True, slots=True)
class _Entry:
    label: str
    meaning: object
    text: str
    source: ScriptEntry


_Key = tuple[Decimal, str, str]


def _entries(script: HdsoScript) -> dict[_Key, _Entry]:
    """Return what a script does by time, kind and HDSO; of several writes of one moment the last one stands."""
    found: dict[_Key, _Entry] = {}
    for entry in script.entries:
        at = f"at {entry.time_s:g} s"
        if isinstance(entry, HdsoSpec):
            item = _Entry(f"{at}, request for {_name(entry)}", entry.num_elts, "asked for", entry)
            found[entry.time_s, "request", str(entry.ref)] = item
        elif isinstance(entry, HdsoMod):
            item = _Entry(f"{at}, {_name(entry)}", _meaning(entry), _data_text(entry), entry)
            found[entry.time_s, "", str(entry.ref)] = item
        elif isinstance(entry, Gradual):
            for mod in entry.mods:
                text = f"{_data_text(mod)} in {entry.steps} steps over {entry.duration_s:g} s"
                meaning = (mod.data, entry.steps, entry.duration_s)
                one = replace(entry, mods=(mod,))
                found[entry.time_s, "gradual", str(mod.ref)] = _Entry(
                    f"{at}, {_name(mod)} gradually", meaning, text, one
                )
        else:
            text = write_entry(entry).strip("</>")
            kind = text.partition(" ")[0]
            # Things done by hand have no names, but there may be several of one moment.
            count = sum(key[:2] == (entry.time_s, kind) for key in found)
            found[entry.time_s, kind, str(count)] = _Entry(f"{at}, {kind}", entry, text, entry)
    return found


def _name(entry: HdsoMod | HdsoSpec) -> str:
    return entry.name or f"HDSO {entry.id_num}"


def _meaning(mod: HdsoMod) -> object:
    if not isinstance(mod.data, str):
        return mod.data
    try:
        return parse_rule(mod.data)
    except RuleError:
        return mod.data


def _data_text(mod: HdsoMod) -> str:
    return mod.data if isinstance(mod.data, str) else " ".join(f"{number:.9g}" for number in mod.data)


def _plant_keys(path: Path) -> dict[str, str]:
    if not path.exists():
        return {}
    described = spec_file(path)
    try:
        table = tomllib.loads(described.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise PlantSpecError((f"{described}: cannot be read ({error})",)) from error
    return _dotted(table)


def _dotted(table: Mapping[str, Any], path: str = "") -> dict[str, str]:
    """Return `table.key` -> text of everything in nested tables."""
    flat: dict[str, str] = {}
    for key, item in table.items():
        if isinstance(item, Mapping):
            flat |= _dotted(cast(Mapping[str, Any], item), f"{path}{key}.")
        elif item is not None:
            flat[f"{path}{key}"] = _scalar(item)
    return flat


def _manifest(folder: Path) -> dict[str, Any]:
    try:
        return manifest.read_record(folder)
    except manifest.ManifestError:
        return {}


def _compare_records(a: Path, b: Path) -> Iterator[ConfigurationDifference]:
    given = {*MODEL_FILES, PLANT_SPEC_FILE, SCRIPT_FILE, MANIFEST_FILE, COLUMNS_FILE}
    names = {path.name for folder in (a, b) for path in folder.iterdir() if path.suffix in (".txt", ".xml")}
    episodes = is_episode(a) and is_episode(b)
    for name in [*sorted(names - given), INPUT_RECORD, *((EPISODE_LOG,) if episodes else ())]:
        found = compare_rows(a, b) if name == EPISODE_LOG else compare_file(a, b, name)
        if found is not None:
            at = "" if found.time_ns is None else f" at {found.time_ns / 1e9:.9g} s"
            where = f"{name}, record {found.record}{at}, {found.field}" if found.record else name
            yield ConfigurationDifference("record", where, found.then, found.now)


def joined(differences: Sequence[ConfigurationDifference]) -> dict[Section, list[ConfigurationDifference]]:
    """Return the differences by section, in the order in which people look at them."""
    sections: tuple[Section, ...] = (
        *("value", "rule", "constant", "structure", "geometry"),
        *("plant", "script", "bout", "version", "record"),
    )
    found: dict[Section, list[ConfigurationDifference]] = {
        name: [d for d in differences if d.section == name] for name in sections
    }
    return {section: members for section, members in found.items() if members}
