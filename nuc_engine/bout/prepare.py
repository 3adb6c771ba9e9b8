"""What a bout is made of, loaded and checked as a whole: configuration, script, values, for the buses it runs on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from drivers.units import NS_PER_S
from nuc_engine.bout.spec import NO_VALUES, BoutRefused, BoutSpec, HdsoValue, check_spec, value_mods
from nuc_engine.bout.stopping import StopCheck
from nuc_engine.control.rulebook import Rulebook
from nuc_engine.machine.locations import find_configuration, find_script
from nuc_engine.model import extensions
from nuc_engine.model.changes import Changeset, ScriptRefused, prepare
from nuc_engine.model.motors import families_of
from nuc_engine.model.plan import Plan
from nuc_engine.model.planning import PlanError, build_plan
from nuc_engine.model.rulecheck import find_dead_rules, find_dead_triggers
from nuc_engine.model.store import Store
from nuc_engine.recording.files import SCRIPT_FILE
from sccils_schemas.documents import HdsoScript
from sccils_schemas.model import Model, check_script, load_model, load_script
from sccils_schemas.problems import Problems

_VALUES = "values"


@dataclass(frozen=True, slots=True)
class Prepared:
    """A checked model with its plan and script."""

    model: Model
    plan: Plan
    script: HdsoScript | None
    script_path: Path | None
    changesets: tuple[Changeset, ...]
    warnings: tuple[str, ...]


def prepare_bout(
    config: str,
    script: str | None,
    name: str | None = None,
    values: Mapping[str, HdsoValue] = NO_VALUES,
    families: Mapping[str, str] | None = None,
) -> Prepared:
    """Load and check a configuration, a script and the values written before it, as a whole.

    `families` has the family of servos of each bus by its name (`nuc_engine.model.motors.families_of`); without it the
    plan is for looking at: it drives the first motor of each joint, whatever its family. Raises BoutRefused with every
    reason, NotFound, or BusUrlError for a family there is not.
    """
    folder = find_configuration(config)
    model, problems = load_model(folder)
    if model is None:
        raise BoutRefused(refusal_lines(problems))
    if name is not None:
        model = replace(model, name=name)
    warnings = _warnings(problems)
    try:
        plan = build_plan(model, families)
        extensions.require(plan)
    except PlanError as error:
        raise BoutRefused(str(error)) from error
    mods = value_mods(values)
    path = None if script is None else find_script(script)
    document = HdsoScript(mods, source=_VALUES) if mods else None
    changesets = ()
    if path is not None:
        document, problems = load_script(path, model, mods)
        if document is None:
            raise BoutRefused(refusal_lines(problems, list(values)))
        # The name it has in the data directory, so that a repetition from there logs the same bytes.
        warnings += _warnings(problems, SCRIPT_FILE)
    elif document is not None and not (problems := check_script(document, model)).ok:
        raise BoutRefused(refusal_lines(problems, list(values)))
    if document is not None:
        try:
            changesets = prepare(document, plan, model.ids)
        except ScriptRefused as refused:
            raise BoutRefused("\n".join(refused.reasons)) from refused
    for dead in find_dead_rules(plan, changesets):
        since = f"from {dead.time_ns / NS_PER_S:g} s on, " if dead.time_ns else ""
        warnings.append(since + dead.text)
    warnings += find_dead_triggers(plan, changesets).values()
    return Prepared(model, plan, document, path, changesets, tuple(warnings))


def prepare_spec(spec: BoutSpec, *, scripted: bool = True) -> Prepared:
    """Load and check what a bout is made of, for its bus and with its weight carried; `scripted`: with its script.

    Raises BoutRefused, NotFound, PlantSpecError, or BusUrlError for an invalid bus URL.
    """
    families = families_of([("", spec.bus)])
    script, values = (spec.script, spec.values) if scripted else (None, NO_VALUES)
    prepared = prepare_bout(spec.config, script, spec.name, values, families)
    check_spec(spec, prepared.plan)
    if spec.stop is not None:
        store = Store(prepared.plan)
        StopCheck(spec.stop, prepared.plan, store, Rulebook(prepared.plan, store))
    plant = find_configuration(spec.config) / spec.plant_file
    if not spec.gravity_compensation:
        return prepared
    from nuc_engine.plants.gravity import compensated  # which needs numpy

    try:
        plan = compensated(prepared.plan, plant, spec.gravity_compensation, spec.plant)
    except PlanError as error:
        raise BoutRefused(str(error)) from error
    return replace(prepared, plan=plan)


def refusal_lines(problems: Problems, values: Sequence[str] = ()) -> str:
    """Return errors one per line; those in lines below 0 are of the values the bout is given."""
    return "\n".join(
        str(problem).replace(f"{problem.file}:1: error:", f"value {values[-problem.line - 1]}:", 1)
        if problem.line < 0
        else str(problem)
        for problem in problems.errors
    )


def _warnings(problems: Problems, file: str | None = None) -> list[str]:
    # Only the file's name: the data directory's bytes must not depend on where the files were.
    return [str(replace(problem, file=file or Path(problem.file).name)) for problem in problems.warnings]
