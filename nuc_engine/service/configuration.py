"""The configuration in force: its documents, model and plan."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path

from nuc_engine.plan import Plan
from nuc_engine.planning import PlanError, build_plan
from nuc_engine.plants.spec import PlantSpecError, spec_file
from nuc_engine.rulecheck import find_dead_rules
from nuc_engine.service.errors import Refused
from sccils_schemas.documents import HdsoList, JointList
from sccils_schemas.model import MODEL_FILES, Model, check_model
from sccils_schemas.parser import read_document
from sccils_schemas.problems import Problems
from sccils_schemas.xmlread import read_file

PLANT = "plant.toml"
_MAX_REASONS = 20


@dataclass(frozen=True, slots=True)
class Configuration:
    """A checked configuration. `files` are its three documents as they came, and plant.toml where there is one."""

    name: str
    model: Model
    plan: Plan
    files: Mapping[str, bytes]
    warnings: tuple[str, ...] = ()


def read_configuration(name: str, folder: Path) -> Configuration:
    """Return the configuration in a folder. Raises Refused with every reason."""
    problems = Problems()
    files: dict[str, bytes] = {}
    for file in MODEL_FILES:
        data = read_file(folder / file, problems)
        if data is not None:
            files[file] = data
    if not problems.ok:
        raise Refused("refused", _reasons(problems))
    if (folder / PLANT).exists():
        try:
            # What a plant shares with another configuration is said here in full: these files go elsewhere.
            files[PLANT] = spec_file(folder / PLANT).read_bytes()
        except (PlantSpecError, OSError) as error:
            raise Refused("refused", f"{folder / PLANT}: {error}") from error
    return make_configuration(name, files)


def make_configuration(name: str, files: Mapping[str, bytes]) -> Configuration:
    """Return the configuration of three documents (plant.toml may come with them). Raises Refused with every reason."""
    missing = [file for file in MODEL_FILES if file not in files]
    extra = sorted(set(files) - {*MODEL_FILES, PLANT})
    if missing or extra:
        wrong = f"lacks {', '.join(missing)}" if missing else f"has {', '.join(extra)} too"
        raise Refused("bad_request", f"configuration {name!r} {wrong}", f"expected {', '.join(MODEL_FILES)}")
    problems = Problems()
    joints, parameters, sensors = (
        read_document(files[file], f"{name}/{file}", problems, "jointlist" if file == "joints.xml" else "hdsolist")
        for file in MODEL_FILES
    )
    if not (isinstance(joints, JointList) and isinstance(parameters, HdsoList) and isinstance(sensors, HdsoList)):
        raise Refused("refused", _reasons(problems))
    problems.extend(check_model(joints, parameters, sensors, name))
    if not problems.ok:
        raise Refused("refused", _reasons(problems))
    sums = tuple((file, hashlib.sha256(files[file]).hexdigest()) for file in MODEL_FILES)
    model = Model(name, joints, parameters, sensors, None, sums)
    try:
        plan = build_plan(model)
    except PlanError as error:
        raise Refused("refused", str(error)) from error
    warnings = [str(problem) for problem in problems.warnings]
    warnings += [dead.text for dead in find_dead_rules(plan)]
    return Configuration(name, model, plan, dict(files), tuple(warnings))


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
