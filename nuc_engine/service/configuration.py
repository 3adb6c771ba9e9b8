"""The configuration in force: its documents, model and plan."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches
from pathlib import Path
from typing import NoReturn

from drivers.errors import BusUrlError
from nuc_engine.machine.locations import PLANT_SPEC_FILE
from nuc_engine.messages.errors import Refused
from nuc_engine.model import extensions
from nuc_engine.model.extensions import EXTENSIONS_FILE
from nuc_engine.model.plan import Plan
from nuc_engine.model.planning import PlanError, build_plan, companion_files
from nuc_engine.model.rulecheck import find_dead_rules
from nuc_engine.plants.gravity import read_plant, with_gravity
from nuc_engine.plants.spec import PlantSpecError, spec_file
from sccils_schemas.documents import HdsoList, JointList
from sccils_schemas.model import JOINTS_FILE, MODEL_FILES, Model, check_model
from sccils_schemas.names import shorten
from sccils_schemas.parser import read_document
from sccils_schemas.problems import Problems
from sccils_schemas.xmlread import MAX_BYTES, read_file

_MAX_REASONS = 20


@dataclass(frozen=True, slots=True)
class Configuration:
    """A checked configuration. `files` are its three documents as they came, and what belongs to them beside."""

    name: str
    model: Model
    plan: Plan
    files: Mapping[str, bytes]
    warnings: tuple[str, ...] = ()


def read_configuration(
    name: str, folder: Path, families: Mapping[str, str] | None = None, gravity: float = 0.0
) -> Configuration:
    """Return the configuration in a folder, for the families of the buses. Raises Refused with every reason."""
    return make_configuration(name, read_files(folder), families, gravity, strict=False)


def read_files(folder: Path) -> dict[str, bytes]:
    """Return the documents of a configuration by file name, and what may belong to them. Raises Refused."""
    problems, files = Problems(), dict[str, bytes]()
    for file in MODEL_FILES:
        data = read_file(folder / file, problems)
        if data is not None:
            files[file] = data
    if not problems.ok:
        raise Refused("refused", _reasons(problems))
    if (folder / PLANT_SPEC_FILE).exists():
        try:
            # What a plant shares with another configuration is said here in full: these files go elsewhere.
            files[PLANT_SPEC_FILE] = spec_file(folder / PLANT_SPEC_FILE).read_bytes()
        except (PlantSpecError, OSError) as error:
            raise Refused("refused", f"{folder / PLANT_SPEC_FILE}: {error}") from error
    for path in (*folder.glob("*.json"), *folder.glob(EXTENSIONS_FILE)):
        # Of the former it is the torque tables that are taken, once it is known which they are.
        data = read_file(path, Problems())
        if data is not None and len(data) <= MAX_BYTES:
            files[path.name] = data
    return files


def make_configuration(
    name: str,
    files: Mapping[str, bytes],
    families: Mapping[str, str] | None = None,
    gravity: float = 0.0,
    *,
    strict: bool = True,
) -> Configuration:
    """Return the configuration of three documents, for the families of the buses, with a share of its weight carried.

    plant.toml, extensions.toml and the torque tables of its motors may come with them; what else does is refused where
    it is `strict`, else left out. Raises Refused with every reason.
    """
    problems = Problems()
    model = _read_model(name, files, problems)
    if model is None:
        raise Refused("refused", _reasons(problems))
    found = _configuration_of(model, files, families, gravity, strict=strict)
    return replace(found, warnings=(*map(str, problems.warnings), *found.warnings))


def _configuration_of(
    model: Model, files: Mapping[str, bytes], families: Mapping[str, str] | None, gravity: float, *, strict: bool
) -> Configuration:
    known = {*MODEL_FILES, PLANT_SPEC_FILE, EXTENSIONS_FILE, *companion_files(model)}
    if strict and (extra := sorted(set(files) - known)):
        _refuse_files(model.name, f"has {', '.join(extra)} too")
    files = {file: data for file, data in files.items() if file in known}
    plan = _plan(model, files, families, gravity)
    return Configuration(model.name, model, plan, files, tuple(dead.text for dead in find_dead_rules(plan)))


def _read_model(name: str, files: Mapping[str, bytes], problems: Problems) -> Model | None:
    """Return the model of three documents, None with errors. Raises Refused where one is missing."""
    if missing := [file for file in MODEL_FILES if file not in files]:
        _refuse_files(name, f"lacks {', '.join(missing)}")
    joints, parameters, sensors = (
        read_document(files[file], f"{name}/{file}", problems, "jointlist" if file == JOINTS_FILE else "hdsolist")
        for file in MODEL_FILES
    )
    if not (isinstance(joints, JointList) and isinstance(parameters, HdsoList) and isinstance(sensors, HdsoList)):
        return None
    problems.extend(check_model(joints, parameters, sensors, name))
    if not problems.ok:
        return None
    sums = tuple((file, hashlib.sha256(files[file]).hexdigest()) for file in MODEL_FILES)
    return Model(name, joints, parameters, sensors, None, sums)


def check_documents(
    name: str, files: Mapping[str, bytes], problems: Problems, families: Mapping[str, str] | None = None
) -> Model | None:
    """Note all that is wrong with a configuration, and what is odd; return its model, None with errors."""
    try:
        model = _read_model(name, files, problems)
        if model is not None:
            for warning in _configuration_of(model, files, families, 0.0, strict=True).warnings:
                problems.warning(f"{name}/{JOINTS_FILE}", 0, warning)
    except Refused as error:
        problems.error(name, 0, error.text, hint=error.hint)
        return None
    return model


def bytes_of(documents: Mapping[str, str]) -> dict[str, bytes]:
    """Return documents that were sent as bytes. Raises Refused for one that is too large."""
    files = {file: content.encode("utf-8", "replace") for file, content in documents.items()}
    if large := [file for file, data in files.items() if len(data) > MAX_BYTES]:
        raise Refused("bad_request", f"{shorten(large[0])} is larger than {MAX_BYTES} bytes")
    return files


def _refuse_files(name: str, wrong: str) -> NoReturn:
    raise Refused("bad_request", f"configuration {name!r} {wrong}", f"expected {', '.join(MODEL_FILES)}")


def _plan(model: Model, files: Mapping[str, bytes], families: Mapping[str, str] | None, gravity: float) -> Plan:
    try:
        plan = build_plan(model, families, files)
        extensions.require(plan)
        if gravity == 0.0:
            return plan
        if PLANT_SPEC_FILE not in files:
            raise PlanError(
                f"{model.name}: gravity compensation needs the masses in {PLANT_SPEC_FILE}, which it does not have"
            )
        return with_gravity(plan, read_plant(files[PLANT_SPEC_FILE], PLANT_SPEC_FILE), gravity)
    except (PlanError, PlantSpecError, BusUrlError) as error:
        raise Refused("refused", str(error)) from error


def _reasons(problems: Problems) -> str:
    lines = [str(problem) for problem in problems.errors]
    more = len(lines) - _MAX_REASONS
    return "\n".join(lines[:_MAX_REASONS] + ([f"... and {more} more"] if more > 0 else []))


def check_names(option: str, given: Iterable[str], names: Sequence[str]) -> None:
    """Raise Refused where an option names something the model does not have: a limit must not be without effect."""
    for name in given:
        if name not in names:
            near = get_close_matches(name.replace("-", "_"), names, 1, 0.3)
            hint = f"did you mean {near[0]!r}?" if near else f"there are {', '.join(names)}"
            raise Refused("not_found", f"{option} {name}: the model has no such name", hint)
