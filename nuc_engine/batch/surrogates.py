"""Surrogates from datasets and RunConfigs, into folders: one that was fitted is a RunConfig that flies it."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, cast

import numpy as np

from nuc_engine.batch.axes import SEED
from nuc_engine.batch.dataset import Dataset, read_dataset
from nuc_engine.batch.errors import BulkRefused
from nuc_engine.bout.episode import RUN_FILE, read_document
from nuc_engine.episode.document import RunConfigError, content_sum
from nuc_engine.episode.fields import Fields
from nuc_engine.machine.locations import find_configuration
from nuc_engine.surrogate.evaluate import BASELINE, Flown, Trace, evaluate, one_step
from nuc_engine.surrogate.fit import Aggregation, FitOptions, Lessons, aggregate
from nuc_engine.surrogate.inputs import LOGGED, Array
from nuc_engine.surrogate.pilot import KIND, Surrogate, surrogate_of

_FIRST_SEED = 1_000_000
"""Seeds of the flights of aggregation begin so far above those of the dataset."""


@dataclass(frozen=True, slots=True)
class FitResult:
    """What became of a fit: its folder, the surrogate, what it learned from, and R2 one step ahead, by control."""

    folder: Path
    surrogate: Surrogate
    episodes: int
    started: int
    rows: int
    one_step: Sequence[float] | None


def fit_dataset(
    path: Path, out: Path, options: FitOptions, rounds: Aggregation, done: Callable[[int, int], object]
) -> FitResult:
    """Fit a surrogate to the episodes of a dataset that are for training, and leave a RunConfig that flies it.

    Raises BulkRefused for a dataset it cannot learn from, or a folder that is not empty.
    """
    if out.exists() and any(out.iterdir()):
        raise BulkRefused(f"{out}: is not empty; expected a new folder")
    dataset = read_dataset(path)
    documents = _documents(dataset)
    try:
        lessons = _lessons(dataset, documents)
        first = _FIRST_SEED + max(dataset.card["made_from"]["seeds"])
        surrogate, learned = aggregate(lessons, options, rounds, documents, first, done)
    except ValueError as error:
        raise BulkRefused(f"{path}: {error}") from error
    document = {**documents[0], "controller": surrogate.table(), "random": _free(documents[0])}
    out.mkdir(parents=True, exist_ok=True)
    (out / RUN_FILE).write_text(toml(document), encoding="utf-8", newline="\n")
    held = _rows(dataset, "validation")
    told = [float(share) for share in one_step(surrogate, held)] if held else None
    return FitResult(out, surrogate, len(lessons.episodes), learned.started, learned.rows, told)


def _free(document: Mapping[str, Any]) -> dict[str, Any]:
    """Return what is drawn of a document, its controller's values apart."""
    return {key: value for key, value in document.get("random", {}).items() if not key.startswith("controller.")}


def _documents(dataset: Dataset) -> list[dict[str, Any]]:
    """Return the RunConfigs of the episodes for training. Raises BulkRefused where they are of several kinds."""
    made = dataset.card["made_from"]
    if made["vary"] or any(key != SEED for key in made["changes"]):
        raise BulkRefused(f"{dataset.path}: was made with values replaced; expected RunConfigs that say all themselves")
    documents = [cast(dict[str, Any], made["runs"][name]) for name in dataset.configs["train"]]
    for key, of in (("controller", "one teacher"), ("timing", "one dt")):
        values = [document[key] if key == "controller" else document[key]["dt_s"] for document in documents]
        if not values or any(value != values[0] for value in values):
            raise BulkRefused(f"{dataset.path}: {len(values)} RunConfigs for training; expected some, of {of}")
    return documents


def _rows(dataset: Dataset, split: str) -> list[Array]:
    """Return the columns that are learned from. Raises BulkRefused where some are not there."""
    if lacking := [name for name in LOGGED if name not in dataset.columns]:
        raise BulkRefused(f"{dataset.path}: has no {', '.join(lacking)}; expected the logs of flights")
    at = [dataset.columns.index(name) for name in LOGGED]
    return [episode[:, at] for episode in dataset.episodes[split]]


def _lessons(dataset: Dataset, documents: Sequence[Mapping[str, Any]]) -> Lessons:
    dt_s = float(documents[0]["timing"]["dt_s"])
    at = dataset.columns.index("t_s")
    for episode in dataset.episodes["train"]:
        if np.abs(np.diff(episode[:, at]) - dt_s).max(initial=0.0) > 1e-9:
            raise BulkRefused(f"{dataset.path}: some steps are not logged; expected log.every = 1, for its memory")
    names = ", ".join(dataset.configs["train"])
    episodes = _rows(dataset, "train")
    told = f"{len(episodes)} episodes of {names}, of the dataset {dataset.card['content_sha256']}"
    return Lessons(episodes, dt_s, content_sum(documents[0]["controller"]), told)


def toml(document: Mapping[str, Any]) -> str:
    """Return a RunConfig as TOML: each table of it, and what is in these inline."""
    plain = {key: value for key, value in document.items() if not isinstance(value, dict)}
    tables = {key: cast(dict[str, Any], value) for key, value in document.items() if isinstance(value, dict)}
    lines = [f"{key} = {_value(value)}" for key, value in plain.items()]
    for name, table in tables.items():
        lines += ["", f"[{name}]", *(f"{_key(key)} = {_value(value)}" for key, value in table.items())]
    return "\n".join(lines) + "\n"


def _key(key: str) -> str:
    return key if key.replace("_", "").isalnum() and key.isascii() else json.dumps(key)


def _value(value: Any) -> str:
    if isinstance(value, dict):
        inside = (f"{_key(key)} = {_value(each)}" for key, each in cast(dict[str, Any], value).items())
        return f"{{ {', '.join(inside)} }}"
    if isinstance(value, list):
        return f"[{', '.join(_value(each) for each in cast(list[Any], value))}]"
    return json.dumps(value)


def read_surrogate_of(folder: str) -> Surrogate:
    """Return the surrogate that a RunConfig flies with. Raises BulkRefused, RunConfigError or NotFound."""
    document = read_document(find_configuration(folder))
    table = document.get("controller")
    if not isinstance(table, dict) or cast(dict[str, Any], table).get("kind") != KIND:
        raise BulkRefused(f"{folder}: is not flown by a surrogate; expected a folder of `nuc surrogate fit`")
    fields = Fields(cast(dict[str, Any], table), [], "controller")
    surrogate = surrogate_of(fields)
    if surrogate is None:
        raise RunConfigError([f"{folder}: {problem}" for problem in fields.problems])
    return surrogate


@dataclass(frozen=True, slots=True)
class Evaluation:
    """What came out: every flight, the paths of the first seed of each RunConfig, and R2 one step ahead on its rows.

    `other_teacher` names the RunConfigs that somebody else flies than the surrogates learned from.
    """

    surrogates: Mapping[str, Surrogate]
    flights: Sequence[Flown]
    traces: Sequence[Trace]
    one_step: Mapping[str, Array]
    other_teacher: Sequence[str]


def evaluate_configs(
    folders: Sequence[str], configs: Sequence[str], seeds: Sequence[int], done: Callable[[int, int], object]
) -> Evaluation:
    """Fly the RunConfigs as they are, with each surrogate, and with least squares on what the first one learned from.

    Raises BulkRefused, RunConfigError or NotFound.
    """
    surrogates = {Path(folder).name: read_surrogate_of(folder) for folder in folders}
    if len(surrogates) < len(folders):
        raise BulkRefused(f"{', '.join(folders)}: some are called the same; expected folders of different names")
    first = next(iter(surrogates.values()))
    everybody = {**surrogates, BASELINE: first.baseline()}
    documents = {Path(config).name: read_document(find_configuration(config)) for config in configs}
    others = [
        name
        for name, document in documents.items()
        if any(content_sum(document["controller"]) != each.teacher_sha256 for each in surrogates.values())
    ]
    flights: list[Flown] = []
    traces: list[Trace] = []
    logged: list[Array] = []
    try:
        for number, (found, trace) in enumerate(evaluate(everybody, documents, seeds), 1):
            flights += found
            logged.append(trace.logged)
            if trace.seed == seeds[0]:
                traces.append(replace(trace, logged=trace.logged[:0]))
            done(number, len(documents) * len(seeds))
    except RunConfigError:
        raise
    except ValueError as error:
        raise BulkRefused(str(error)) from error
    ahead = {name: one_step(each, logged) for name, each in everybody.items()}
    return Evaluation(everybody, flights, traces, ahead, others)
