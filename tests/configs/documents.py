"""Loading configurations and scripts for these tests, and setting aside what only people read."""

from __future__ import annotations

from dataclasses import fields, is_dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

from sccils_schemas.documents import HdsoMod, HdsoScript, Joint, State
from sccils_schemas.model import Model, load_model
from sccils_schemas.parser import parse

ROOT = Path(__file__).parents[2]
CONFIGS = ROOT / "configs"
SCRIPTS = ROOT / "scripts"
DATA = Path(__file__).parent / "data"

SHIPPED = (
    "lin_roach",
    "nerve_roach",
    "null_roach",
    "mag_roach",
    "turn_roach",
    "lin_stickmiddle",
    "pc_stickmiddle",
    "null_stickmiddle",
    "lin_stickmiddle_minimal",
    "restricted_null_stick",
    "restricted_pc_stick",
)
TEXTS = ("description", "fullname", "units")


@cache
def model(folder: Path) -> Model:
    loaded, problems = load_model(folder)
    assert loaded is not None, "\n".join(map(str, problems))
    return loaded


def shipped(name: str) -> Model:
    return model(CONFIGS / name)


def script(path: Path) -> HdsoScript:
    document, problems = parse(path.read_bytes())
    assert isinstance(document, HdsoScript), "\n".join(map(str, problems))
    return document


def leg_of(script: Path) -> str:
    """Return the configuration that a shipped script is written for."""
    if script.stem == "touched":
        return "turn_roach"
    return "restricted_pc_stick" if script.stem.startswith("restricted_") else "lin_roach"


def without_texts(document: Any, drop: tuple[str, ...] = TEXTS) -> Any:
    """Return a copy of a document (or a tuple of them) without long names, descriptions and units."""
    if isinstance(document, tuple):
        return tuple(without_texts(part, drop) for part in document)
    if not is_dataclass(document) or isinstance(document, type):
        return document
    changes = {f.name: without_texts(getattr(document, f.name), drop) for f in fields(document) if f.init}
    changes.update({name: None for name in drop if name in changes})
    return replace(document, **changes)


def joint(of: Model, name: str) -> Joint:
    return next(j for j in of.jointlist.joints if j.name == name)


def state(of: Model, name: str) -> State:
    return next(s for j in of.jointlist.joints for s in j.states if s.name == name)


def initial_values(of: Model) -> dict[int, Any]:
    """Return what every HDSO holds at the start: initial data, then the joint list's writes in document order."""
    values: dict[int, Any] = {h.id_num: h.initial_data for h in of.hdsos if h.initial_data is not None}
    for mod in mods(of.jointlist):
        if mod.num_elts:
            values[mod.id_num] = mod.data
    for j in of.jointlist.joints:
        for s in j.states:
            values[s.rule.mods[0].id_num] = s.rule.boolstring
    return values


def scalars(of: Model) -> dict[str, float]:
    """Return the initial values of all single numbers by name."""
    return {of.names[i]: v[0] for i, v in initial_values(of).items() if isinstance(v, tuple) and len(v) == 1}


def mods(document: Any) -> list[HdsoMod]:
    """Return every hdsoMod inside a document, in document order of its fields."""
    if isinstance(document, HdsoMod):
        return [document]
    if isinstance(document, tuple):
        return [mod for part in document for mod in mods(part)]
    if is_dataclass(document) and not isinstance(document, type):
        return [mod for f in fields(document) for mod in mods(getattr(document, f.name))]
    return []
