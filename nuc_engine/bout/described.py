"""A leg's bout that a RunConfig describes (run.toml): what `nuc run` has options for, as a document.

    system = "leg"
    seed = 0

    [timing]                     duration_s
    [leg]                        configuration; script, plant_file, bus, gravity_compensation where they are wanted
    [plant]                      world.friction = 0.1: numbers in the place of those of plant.toml
    [values]                     FT_ext_FTang = 130: HDSOs, by name, written at time 0
    [limits]  [costs]            as --limit and --cost
    [random]                     "plant.world.friction" = { uniform = [0.05, 0.15] }
    [log]                        note, and labels, for the manifest; a leg's logs are always whole
    [stop]                       above, below, rule, holds_s

It is read by the reader of `nuc_engine.episode.document`, and becomes a BoutSpec: the same bout as by options.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

from drivers.errors import BusUrlError
from nuc_engine.bout.episode import document_of, run_text
from nuc_engine.bout.prepare import prepare_bout, refusal_lines
from nuc_engine.bout.spec import BoutRefused, BoutSpec, HdsoValue, StopCondition, check_spec
from nuc_engine.bout.stopping import StopCheck
from nuc_engine.control.rulebook import Rulebook
from nuc_engine.episode.document import LARGEST_SEED, RunConfigError, content_sum, resolve
from nuc_engine.episode.fields import Fields
from nuc_engine.machine.locations import PLANT_SPEC_FILE, NotFound, find_configuration, is_episode
from nuc_engine.model.motors import families_of
from nuc_engine.model.plan import Plan
from nuc_engine.model.store import Store
from nuc_engine.plants.fit import overridden
from nuc_engine.plants.spec import PlantSpecError, load_spec
from sccils_schemas.model import check_unscripted

LEG = "leg"
"""The system of such a RunConfig."""
VALUES, PLANT = "values.", "plant."
_LONGEST = 4096
_VIRTUAL = ("emulated:", "loopback:")
_NOWHERE = Path("data")


def is_leg(document: Mapping[str, Any]) -> bool:
    """Say whether a RunConfig describes a leg's bout."""
    return document.get("system") == LEG


def load_leg(file: Path, changes: Mapping[str, Any] | None = None) -> BoutSpec | None:
    """Return the bout of a run.toml, None where that describes no leg's.

    Raises RunConfigError as `read_leg` does, every line of which names the file.
    """
    try:
        text = run_text(file)
        document = document_of(text)
        return replace(read_leg(document, changes), run_text=text) if is_leg(document) else None
    except RunConfigError as error:
        raise RunConfigError([f"{file}: {problem}" for problem in error.problems]) from error


def read_leg(
    document: Mapping[str, Any], changes: Mapping[str, Any] | None = None, *, checked: bool = False
) -> BoutSpec:
    """Return the bout that a document describes, with values replaced by their dotted keys; `out` is somebody else's.

    Raises RunConfigError with everything that is wrong with it, its configuration, script and plant; where these were
    `checked` before, with the document alone.
    """
    keys = (PLANT, VALUES)

    def read(data: Mapping[str, Any], seed: int, drawn: Mapping[str, float]) -> tuple[BoutSpec | None, list[str]]:
        return _read(data, seed, drawn, checked=checked)

    return resolve(document, read, changes, drawn_from=(*keys, "leg.gravity_compensation"), adds=keys)


def _read(
    data: Mapping[str, Any], seed: int, drawn: Mapping[str, float], *, checked: bool
) -> tuple[BoutSpec | None, list[str]]:
    problems: list[str] = []
    top = Fields(data, problems)
    top.whole("seed", 0, LARGEST_SEED, 0)
    top.word("system", (LEG,))
    timing = top.table("timing")
    duration_s = timing.number("duration_s", 0.0, 1e8, above=True)
    timing.close()
    leg = top.table("leg")
    config = leg.text("configuration", _LONGEST)
    texts = {"script": None, "plant_file": PLANT_SPEC_FILE, "bus": _VIRTUAL[0]}
    given = {key: leg.text(key, _LONGEST) if leg.has(key) else default for key, default in texts.items()}
    gravity = leg.number("gravity_compensation", 0.0, 1.0, 0.0)
    leg.close()
    top.optional("random")
    log = top.optional("log") or Fields({}, [])
    labels = dict(_each(log.optional("labels"), lambda table, key: table.text(key, _LONGEST)))
    labels |= {"note": log.text("note", _LONGEST)} if log.has("note") else {}
    log.close()
    spec = BoutSpec(
        config,
        _NOWHERE,
        script=given["script"],
        duration_s=duration_s,
        seed=seed,
        bus=given["bus"] or _VIRTUAL[0],
        costs=dict(_each(top.optional("costs"), _whole)),
        limits=dict(_each(top.optional("limits"), _whole)),
        gravity_compensation=gravity,
        labels=labels,
        values=dict(_each(top.optional("values"), _value)),
        plant=dict(_numbers(top.optional("plant"))),
        plant_file=given["plant_file"] or PLANT_SPEC_FILE,
        stop=_stop(top.optional("stop")),
    )
    top.close()
    if config and not checked:
        problems += _refusals(spec)
    if problems:
        return None, problems
    run = {"resolved": data, "drawn": dict(drawn), "sha256": {"resolved": content_sum(data)}}
    return replace(spec, run=run), problems


def _each(table: Fields | None, read: Callable[[Fields, str], Any]) -> Iterator[tuple[str, Any]]:
    if table is not None:
        yield from ((key, read(table, key)) for key in table.data)


def _whole(table: Fields, key: str) -> int:
    return table.whole(key, 0, 10**12, 0)


def _value(table: Fields, key: str) -> HdsoValue:
    """Return a number as it is, numbers, or a text: what becomes of it is the HDSO's."""
    value = table.data[key]
    if isinstance(value, str):
        return table.text(key, _LONGEST)
    if isinstance(value, list):
        return table.vector(key, -1e300, 1e300, size=len(cast(list[Any], value)))
    number = table.number(key, -1e300, 1e300)
    return value if isinstance(value, int) and number == value else number


def _numbers(table: Fields | None, path: str = "") -> Iterator[tuple[str, float]]:
    """Yield the numbers of tables within each other, by their dotted keys."""
    if table is None:
        return
    for key, value in table.data.items():
        if isinstance(value, dict):
            yield from _numbers(table.table(key), f"{path}{key}.")
        else:
            yield f"{path}{key}", table.number(key, -1e12, 1e12)


def _stop(table: Fields | None) -> StopCondition | None:
    if table is None:
        return None
    sides = [dict(_each(table.optional(side), lambda of, key: of.number(key, -1e12, 1e12))) for side in _SIDES]
    rule = table.text("rule", _LONGEST) if table.has("rule") else ""
    stop = StopCondition(*sides, rule=rule, holds_s=table.number("holds_s", 0.0, 1e8, 0.0))
    table.close()
    return stop


_SIDES = ("above", "below")


def _refusals(spec: BoutSpec) -> Iterator[str]:
    """Yield what keeps the bout from being run, one part after the other: what one needs of another is asked first."""
    try:
        folder = find_configuration(spec.config)
        if is_episode(folder):
            raise NotFound(f"{spec.config} is a RunConfig itself; expected a folder with joints.xml")
        families = families_of([("", spec.bus)])
        if not spec.bus.startswith(_VIRTUAL):
            raise BusUrlError(f"{spec.bus}: expected emulated:... or loopback:, since time is simulated")
    except NotFound as error:
        yield f"leg.configuration: {error}"
        return
    except BusUrlError as error:
        yield f"leg.bus: {error}"
        return
    try:
        prepared = prepare_bout(spec.config, None, families=families)
    except BoutRefused as error:
        yield from (f"leg.configuration: {line}" for line in str(error).splitlines())
        return
    plan = prepared.plan
    if spec.script is None:
        yield from (
            f"leg.script: missing; {line}" for line in refusal_lines(check_unscripted(prepared.model)).splitlines()
        )
    else:
        yield from _told("leg.script", lambda: prepare_bout(spec.config, spec.script, families=families))
    if spec.values:
        yield from _told("values", lambda: prepare_bout(spec.config, None, values=spec.values, families=families))
    yield from _told("leg", lambda: check_spec(spec, plan))
    yield from _told("", lambda: _check_stop(spec.stop, plan))
    if spec.bus.startswith("emulated:"):
        yield from _told("plant", lambda: overridden(plan, load_spec(folder / spec.plant_file, spec.plant)))


def _check_stop(stop: StopCondition | None, plan: Plan) -> None:
    if stop is not None:
        store = Store(plan)
        StopCheck(stop, plan, store, Rulebook(plan, store))


def _told(key: str, check: Callable[[], object]) -> Iterator[str]:
    """Yield what a check refuses, line by line, behind the key of what was checked."""
    try:
        check()
    except (BoutRefused, NotFound) as error:
        lines = str(error).splitlines()
    except PlantSpecError as error:
        lines = list(error.problems)
    else:
        return
    yield from (f"{key}: {line}" if key else line for line in lines)
