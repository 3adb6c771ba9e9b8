"""Behaviour windows of a bout: from the start, or from a change of rules, to the next one, and what is meant in each.

Which behaviour is meant is read from the rules in force: what each joint does under load (section 7.4.1). Forward
stepping extends the knee and depresses the femur of a loaded roach leg; the forward-type inside turn flexes the knee
instead; the backward-type one levates the femur too. A loaded stick insect leg retracts, and flexes the knee; one whose
thorax-coxa joint is only held flexes the knee alone, and steps sideways (section 7.1.1).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from drivers.units import S_PER_NS
from nuc_engine.analysis.criteria import Behaviour
from nuc_engine.analysis.load import read_table
from nuc_engine.analysis.log_columns import model_of
from nuc_engine.analysis.scriptlog import read_script_log
from nuc_engine.analysis.tracks import joint_role
from nuc_engine.model.changes import Changeset, ScriptRefused, Write, prepare
from nuc_engine.model.plan import JointPlan, Plan
from nuc_engine.model.planning import build_plan
from nuc_engine.model.values import Values, initial_values, rule_tokens
from nuc_engine.recording.files import SENSOR_LOG
from sccils_schemas.rules import Inequality, Rule, Variable, parse_tokens

_MOVEMENTS = (("extends", r"(?i)ext"), ("flexes", r"(?i)fle?x"), ("depresses", r"(?i)dep"), ("levates", r"(?i)lev"))
_UNDER_LOAD: Mapping[tuple[str, str], Behaviour] = {
    ("extends", "depresses"): "FWD",
    ("flexes", "depresses"): "ITF",
    ("flexes", "levates"): "ITB",
}
"""Roach leg: what the femur-tibia and the coxa-trochanter joint do under load."""


@dataclass(frozen=True, slots=True)
class BehaviourWindow:
    """One window, in seconds since engine start. `behaviour` is None where the rules do not tell which one is meant."""

    name: str
    behaviour: Behaviour | None
    begin_s: float
    end_s: float


def span_name(begin_s: float, end_s: float) -> str:
    """Return what a window is called that is a span of time and no behaviour."""
    return f"{begin_s:g}-{end_s:g}s"


def windows_of_bout(folder: Path, end_s: float) -> tuple[BehaviourWindow, ...]:
    """Return the windows of a data directory: by its configuration, and what its script really did.

    Raises BoutError when the copy of the configuration cannot be used. Without a readable Scriptlog.xml there is one.
    """
    return behaviour_windows(*course_of(folder), end_s)


def course_of(folder: Path) -> tuple[Plan, tuple[Changeset, ...]]:
    """Return the plan of a data directory's bout, and what was written while it ran, by its script log and its modules.

    What a module without a motor wrote is told by a logged signal of type `action` about it. Raises BoutError when the
    copy of the configuration cannot be used; nothing was written where a log cannot.
    """
    model = model_of(folder)
    plan = build_plan(model)
    script = read_script_log(folder, model).script
    try:
        written = () if script is None else prepare(script, plan, model.ids)
    except ScriptRefused:
        written = ()
    by_modules = _written_by_modules(folder / SENSOR_LOG, plan)
    return plan, tuple(sorted((*written, *by_modules), key=lambda changeset: changeset.time_ns))


def _written_by_modules(log: Path, plan: Plan) -> list[Changeset]:
    """Return what modules wrote on entering their states, when rules saw it first."""
    about = [signal for signal in plan.action_signals if signal.type == "action" and signal.switch >= len(plan.joints)]
    if not about or not log.exists():
        return []
    table = read_table(log)
    found: list[Changeset] = []
    for signal in about:
        states = {state.id_num: state for state in plan.modules[signal.switch - len(plan.joints)].states}
        column = table.values[:, plan.sensor_columns.index(signal.output.hdso)]
        for k in np.flatnonzero(np.diff(column)) + 1:
            if (state := states.get(column[k])) is not None:
                writes = tuple(Write(write.hdso, write.values) for write in state.writes)
                found.append(Changeset(int(table.time_ns[k]), writes))
    return found


def behaviour_windows(plan: Plan, changesets: Sequence[Changeset], end_s: float) -> tuple[BehaviourWindow, ...]:
    """Return the windows of a bout of `end_s` seconds: a new one begins where a changeset writes a rule.

    A window is named after its behaviour, or `window-k`; a name that comes again gets a number.
    """
    values = list(initial_values(plan))
    begins: list[float] = [0.0]
    meant: list[Behaviour | None] = [intended_behaviour(plan, values)]
    for changeset in changesets:
        time_s = changeset.time_ns * S_PER_NS
        if time_s >= end_s:
            break
        for write in changeset.writes:
            values[write.hdso] = write.values + (values[write.hdso] or ())[len(write.values) :]
        if any(plan.hdsos[write.hdso].kind == "boolstring" for write in changeset.writes):
            if time_s > begins[-1]:
                begins.append(time_s)
                meant.append(None)
            meant[-1] = intended_behaviour(plan, values)
    names = _names(meant)
    ends = [*begins[1:], end_s]
    return tuple(BehaviourWindow(*item) for item in zip(names, meant, begins, ends, strict=True))


def intended_behaviour(plan: Plan, values: Sequence[Values | None]) -> Behaviour | None:
    """Return the behaviour these values mean, None where the joints' names and rules do not tell."""
    under_load = {
        role: _moved_under_load(plan, joint, values)
        for joint in plan.joints
        if len(joint.states) > 1 and (role := joint_role(joint.name))
    }
    thc = next((joint for joint in plan.joints if _acts(joint) and joint_role(joint.name) == "ThC"), None)
    if thc is None:
        return "sideways" if under_load.get("FTi") == "flexes" else None
    if any(plan.states[state].name.endswith("DEP") for state in thc.states):
        return _UNDER_LOAD.get((under_load.get("FTi", ""), under_load.get("CTr", "")))
    retracts = any(re.search("(?i)ret", plan.states[state].name) for state in _loaded_states(plan, thc, values))
    return "stick" if retracts and under_load.get("FTi", "flexes") == "flexes" else None


def _acts(joint: JointPlan) -> bool:
    """Say whether a joint has actions that move it: in position mode, its motor holds it whatever they are."""
    return len(joint.states) > 1 and joint.control_mode != "position"


def _moved_under_load(plan: Plan, joint: JointPlan, values: Sequence[Values | None]) -> str:
    """Return what a joint does under load, "" where its rules or the names of its actions do not tell."""
    found = {
        movement
        for state in _loaded_states(plan, joint, values)
        for movement, pattern in _MOVEMENTS
        if re.search(pattern, plan.states[state].name.rpartition("_")[2])
    }
    return found.pop() if len(found) == 1 else ""


def _loaded_states(plan: Plan, joint: JointPlan, values: Sequence[Values | None]) -> list[int]:
    """Return the actions whose entry rule asks for a load above a threshold."""
    loads = {plan.hdsos[motor.current].id_num for motor in plan.motors}
    found: list[int] = []
    for state in joint.states:
        rule = plan.hdsos[plan.states[state].rule]
        code = values[rule.index]
        terms = () if code is None else _comparisons(parse_tokens(rule_tokens(rule, code)))
        if any((term.left if term.op == ">" else term.right).ref in loads for term in terms):
            found.append(state)
    return found


def _comparisons(rule: Rule) -> Iterator[Inequality]:
    if isinstance(rule, Inequality):
        yield rule
    elif not isinstance(rule, Variable):
        for term in rule.terms:
            yield from _comparisons(term)


def _names(meant: Sequence[Behaviour | None]) -> list[str]:
    names: list[str] = []
    for k, behaviour in enumerate(meant):
        earlier = sum(other == behaviour for other in meant[:k])
        if behaviour is None:
            names.append(f"window-{k + 1}")
        else:
            names.append(f"{behaviour}-{earlier + 1}" if earlier else behaviour)
    return names
