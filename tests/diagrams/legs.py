"""Control systems to draw: the shipped ones, and the same with some rules and numbers changed."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path

from nuc_engine.figures.diagrams.wiring import Wiring, wiring_at
from nuc_engine.model.changes import Changeset, Write, prepare
from nuc_engine.model.plan import Plan
from nuc_engine.model.planning import build_plan, stored_values
from sccils_schemas.model import Model, load_model, load_script

ROOT = Path(__file__).resolve().parents[2]
FWD_S, ITF_S, ITB_S = 0.0, 20.0, 40.0
"""When experiment A is in which behaviour."""


@cache
def model_and_plan(config: str) -> tuple[Model, Plan]:
    model, problems = load_model(ROOT / "configs" / config)
    assert model is not None, problems
    return model, build_plan(model)


@cache
def leg(config: str, script: str | None = None, at_s: float = 0.0) -> Wiring:
    """A shipped configuration, so long into a shipped script."""
    model, plan = model_and_plan(config)
    changesets: tuple[Changeset, ...] = ()
    if script is not None:
        document, problems = load_script(ROOT / "scripts" / f"{script}.xml", model)
        assert document is not None, problems
        changesets = prepare(document, plan, model.ids)
    return wiring_at(model, plan, changesets, at_s, config)


def changed(config: str, changes: Mapping[int | str, str | float]) -> Wiring:
    """A shipped configuration with other rules (as text) and numbers."""
    model, plan = model_and_plan(config)
    writes: list[Write] = []
    for ref, value in changes.items():
        hdso = plan.hdso(ref)
        data = value if isinstance(value, str) else (value,)
        writes.append(Write(hdso.index, stored_values(hdso, data, model.ids)))
    return wiring_at(model, plan, (Changeset(0, tuple(writes)),), 0.0, config)


def names(wiring: Wiring, state: tuple[int, ...]) -> tuple[str, ...]:
    """The short names of a global state's actions."""
    return tuple(module.action(code).short for module, code in zip(wiring.modules, state, strict=True))
