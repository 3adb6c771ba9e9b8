"""What ends a bout before its time: HDSOs above or below a number, or a rule, looked at ten times a second.

Between two looks nothing is different: a bout that was stopped is, to the byte, the one that was asked to last so long.
"""

from __future__ import annotations

from collections.abc import Callable

from drivers.units import NS_PER_S
from nuc_engine.bout.spec import BoutRefused, StopCondition
from nuc_engine.control.rulebook import Rulebook
from nuc_engine.model.plan import Plan, Slot
from nuc_engine.model.store import BufferView, Store
from sccils_schemas.names import did_you_mean
from sccils_schemas.rules import RuleError, format_rule, has_delay, parse_rule, resolve

LOOK_NS = NS_PER_S // 10
STOPPED = "stopped at"
"""The beginning of the reason of a bout that ended so, as of an episode's."""


class StopCheck:
    """A stop condition of a bout that runs. Raises BoutRefused, with every reason, where it does not fit the plan."""

    def __init__(self, stop: StopCondition, plan: Plan, store: Store, rulebook: Rulebook) -> None:
        self._conditions: list[tuple[str, Callable[[], bool]]] = []
        self._holds_ns, self._since_ns = round(stop.holds_s * NS_PER_S), -1
        problems: list[str] = []
        names = {hdso.name: hdso for hdso in plan.hdsos}
        for side, numbers in (("above", stop.above), ("below", stop.below)):
            for name, number in numbers.items():
                hdso = names.get(name)
                if hdso is None or hdso.kind == "boolstring" or hdso.datatype == "char":
                    hint = did_you_mean(name, names) if hdso is None else "it holds a rule or a text"
                    text = f"stop.{side}.{name}: no HDSO with a number; expected the name of one"
                    problems.append(f"{text} ({hint})" if hint else text)
                    continue
                view, at = store.locate(Slot(hdso.index))
                truth = _above(view, at, number) if side == "above" else _below(view, at, number)
                self._conditions.append((f"{name} {'>' if side == 'above' else '<'} {number:g}", truth))
        if stop.rule:
            try:
                tree = resolve(parse_rule(stop.rule), {name: hdso.id_num for name, hdso in names.items()})
                if has_delay(tree):
                    raise RuleError("an operand has a delay; holds_s says for how long it must be true")
                # Reads it once by ids: what is a vector, or a rule where a number is wanted, is told here.
                self._conditions.append((rulebook.shown(tree), rulebook.hold(rulebook.read(format_rule(tree)))))
            except RuleError as error:
                problems.append(f"stop.rule: {error}")
        if problems:
            raise BoutRefused("\n".join(problems))

    def __call__(self, now_ns: int) -> str:
        """Return why the bout ends now, "" where it does not."""
        true = [text for text, truth in self._conditions if truth()]
        if not true:
            self._since_ns = -1
            return ""
        if self._since_ns < 0:
            self._since_ns = now_ns
        if now_ns - self._since_ns < self._holds_ns:
            return ""
        return f"{STOPPED} {now_ns / NS_PER_S:.9g} s: {', '.join(true)}"


def _above(view: BufferView, at: int, number: float) -> Callable[[], bool]:
    return lambda: view[at] > number


def _below(view: BufferView, at: int, number: float) -> Callable[[], bool]:
    return lambda: view[at] < number
