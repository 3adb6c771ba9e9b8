"""Checking configurations and documents as far as can be seen without a bout: what is wrong, and what would be refused.

Beside what the language itself asks for (`sccils_schemas.model`), a configuration is built into a plan, its plant.toml
is read and held against it, and its rules are looked through for ones that can never be true.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from drivers.errors import BusUrlError
from drivers.factory import family_names, find_family
from nuc_engine.machine.locations import PLANT_SPEC_FILE, RUN_FILE, is_episode
from nuc_engine.model import extensions
from nuc_engine.model.changes import ScriptRefused, prepare
from nuc_engine.model.extensions import EXTENSIONS_FILE
from nuc_engine.model.motors import serves
from nuc_engine.model.plan import Plan
from nuc_engine.model.planning import PlanError, build_plan
from nuc_engine.model.rulecheck import find_dead_rules, find_dead_triggers
from nuc_engine.plants.fit import overridden
from nuc_engine.plants.spec import PlantSpecError, load_spec
from sccils_schemas.documents import CommandScript, Document, HdsoList, HdsoMod, HdsoScript, JointList, When
from sccils_schemas.lines import attribute_line
from sccils_schemas.model import JOINTS_FILE, Model, load_any, load_model
from sccils_schemas.names import did_you_mean
from sccils_schemas.numbers import nanoseconds
from sccils_schemas.problems import Problem, Problems


@dataclass(frozen=True, slots=True)
class Checked:
    """What was found in one place. `kind` says what it is; `against` names the model it was checked against."""

    path: Path
    kind: str
    problems: Problems
    against: str | None = None


def check_path(path: Path, model: Model | None = None) -> Checked:
    """Check a configuration folder or a single file, whatever kind it is; documents against a model if there is one."""
    if path.is_dir():
        return _check_run(path / RUN_FILE, path) if is_episode(path) else _check_configuration(path)
    if path.name == RUN_FILE:
        return _check_run(path, path.parent)
    if path.suffix == ".toml":
        problems = Problems()
        _load_plant(path, None if model is None else _build(model, problems), problems)
        return Checked(path, "plant", problems, None if model is None else model.name)
    document, problems = load_any(path, model)
    if isinstance(document, HdsoScript) and model is not None:
        _check_script(document, path, model, problems)
    return Checked(path, _kind(document), problems, None if model is None else model.name)


def _check_run(path: Path, folder: Path) -> Checked:
    # A leg's documents are checked without what flies.
    from nuc_engine.bout.described import is_leg, read_leg
    from nuc_engine.bout.episode import document_of, run_text
    from nuc_engine.episode.document import RunConfigError, read_run
    from nuc_engine.surrogate.pilot import SYSTEMS

    problems = Problems()
    try:
        document = document_of(run_text(path))
        if is_leg(document):
            read_leg(document)
        else:
            read_run(document, SYSTEMS)
    except RunConfigError as error:
        for problem in error.problems:
            what, _, expected = problem.partition("; expected ")
            problems.error(str(path), 0, what, expected)
    return Checked(folder, "RunConfig", problems, folder.name)


def _check_configuration(folder: Path) -> Checked:
    model, problems = load_model(folder)
    plan = None if model is None else _build(model, problems)
    if (folder / PLANT_SPEC_FILE).exists():
        _load_plant(folder / PLANT_SPEC_FILE, plan, problems)
    else:
        problems.warning(
            str(folder), 0, f"no {PLANT_SPEC_FILE}, so there is no emulated leg", hint="--bus loopback: needs none"
        )
    if model is not None and plan is not None:
        lines = _rule_lines(model, plan)
        for dead in find_dead_rules(plan):
            problems.warning(str(folder / JOINTS_FILE), lines.get(dead.hdso, 0), dead.text)
    return Checked(folder, "configuration", problems)


def _build(model: Model, problems: Problems) -> Plan | None:
    """Return the plan of a model, for every family it has motors of; None, reported, where it cannot be built."""
    file = str((model.folder or Path(model.name)) / JOINTS_FILE)
    found: Plan | None = None
    for families in (None, *({"": family} for family in _families(model, file, problems))):
        try:
            plan = build_plan(model, families)
            extensions.require(plan)
        except PlanError as error:
            # What is said of extensions.toml begins with its name.
            what = str(error).removeprefix(f"{EXTENSIONS_FILE}: ")
            other = str(Path(file).with_name(EXTENSIONS_FILE))
            problems.error(file if what == str(error) else other, error.line, what)
            return None
        except BusUrlError as error:
            problems.error(file, 0, str(error))
            return None
        found = found or plan
    return found


def _families(model: Model, file: str, problems: Problems) -> list[str]:
    """Return the families that all joints have a motor of, where there are motors beside AI motors.

    What stands beside them and could not be driven is reported.
    """
    joints = [joint for joint in model.jointlist.joints if joint.servos]
    if not any(joint.motors for joint in joints):
        return []
    names = family_names()
    for motor in (motor for joint in joints for motor in joint.motors):
        if not any(motor.model in find_family(name).models for name in names):
            known = sorted(known for name in names for known in find_family(name).models)
            hint = did_you_mean(motor.model, known) or f"known are {', '.join(known)}"
            problems.warning(file, motor.line, f"model={motor.model!r} is of no family there is", hint=hint)
    complete: list[str] = []
    for name in names:
        without = [joint for joint in joints if not serves(joint, name)]
        if not without:
            complete.append(name)
        elif len(without) < len(joints):
            what = f"joint {without[0].id_num} ({without[0].name}) has no motor of the family {name}, others have"
            problems.warning(file, without[0].line, what, hint="so a bus of that family cannot drive this leg")
    return complete


def _load_plant(path: Path, plan: Plan | None, problems: Problems) -> None:
    try:
        spec = load_spec(path)
        if plan is not None:
            overridden(plan, spec)
    except PlantSpecError as error:
        for text in error.problems:
            file, _, what = text.partition(": ")
            if not file.endswith(".toml"):
                file, what = str(path), text
            problems.error(file, _key_line(Path(file), what.partition(":")[0]), what)


def _key_line(path: Path, key: str) -> int:
    """Return the line of a dotted key in a TOML file, or of the nearest table around it; 0 where there is neither."""
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError):
        return 0
    found, table = 0, ""
    for number, line in enumerate(lines, 1):
        text = line.partition("#")[0].strip()
        if text.startswith("["):
            table = text.strip("[]").replace('"', "")
            here = table
        else:
            here = f"{table}.{text.partition('=')[0].strip()}".strip(".")
        if here == key:
            return number
        if here == table and key.startswith(f"{table}."):
            found = number
    return found


def _check_script(document: HdsoScript, path: Path, model: Model, problems: Problems) -> None:
    plan = _build(model, problems)
    if plan is None:
        return
    try:
        changesets = prepare(document, plan, model.ids)
    except ScriptRefused as refused:
        for reason in refused.reasons:
            line, _, what = reason.removeprefix(f"{document.source}:").partition(": ")
            problems.error(str(path), int(line) if line.isdecimal() else 0, what)
        return
    known = {dead.hdso for dead in find_dead_rules(plan)}
    causes = _causes(document, plan)
    for dead in find_dead_rules(plan, changesets):
        if dead.time_ns or dead.hdso not in known:
            line = causes.get((dead.time_ns, dead.hdso)) or causes.get((dead.time_ns, -1), 0)
            problems.warning(str(path), line, f"from {dead.time_ns / 1e9:g} s on, {dead.text}")
    whens = sorted((e for e in document.entries if isinstance(e, When)), key=lambda entry: entry.time_s)
    for place, text in find_dead_triggers(plan, changesets).items():
        problems.warning(str(path), attribute_line(whens[place].line, "rule"), text)


def _causes(document: HdsoScript, plan: Plan) -> dict[tuple[int, int], int]:
    """Return the lines of what writes an HDSO at a time (ns, index), and of the first entry of each time (index -1)."""
    found: dict[tuple[int, int], int] = {}
    for entry in document.entries:
        time_ns = nanoseconds(entry.time_s)
        found.setdefault((time_ns, -1), entry.line)
        if isinstance(entry, HdsoMod):
            found[time_ns, plan.hdso(entry.ref).index] = entry.line
    return found


def _rule_lines(model: Model, plan: Plan) -> dict[int, int]:
    states = {state.id_num: state for joint in model.jointlist.joints for state in joint.states}
    return {state.rule: states[state.id_num].rule.line for state in plan.states}


def _kind(document: Document | None) -> str:
    match document:
        case JointList():
            return "joint list"
        case HdsoList():
            return "HDSO list"
        case HdsoScript():
            return "script"
        case CommandScript():
            return "command script"
        case None:
            return "file"


def as_data(problem: Problem) -> dict[str, str | int]:
    """Return a problem in JSON's own types."""
    return {
        "file": problem.file,
        "line": problem.line,
        "severity": problem.severity,
        "what": problem.what,
        "expected": problem.expected,
        "hint": problem.hint,
    }
