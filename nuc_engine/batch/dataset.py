"""A dataset of many episodes: one Parquet file of their logs, split by episode and reference, and a card.

    split          which episodes
    test           of the configurations named for it, and all others that follow the same reference
    validation     a share of the rest, drawn by what an episode is made of
    train          the others

Never by row: neighbouring rows of one flight are nearly the same, and a split that parts them tests nothing. Episodes
whose logs are equal come into the same split. References are the same where either their tables or the references in
the logs are: 2 and 2.0, or a default that one of two says, make no other one.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any, cast

import numpy as np

from nuc_engine.batch.episodes import BLOCK, EpisodesPlan, part_file, read_part, rows_of, run_missing
from nuc_engine.batch.errors import BulkRefused
from nuc_engine.batch.journal import RUN, Journal
from nuc_engine.batch.pool import DoneCallback
from nuc_engine.batch.sweep import PARTS
from nuc_engine.batch.task import Cell
from nuc_engine.episode.document import read_run
from nuc_engine.machine.needs import need
from nuc_engine.recording.manifest import versions
from nuc_engine.surrogate.pilot import SYSTEMS

NOTE = "nuc.dataset"
"""Key of the file's metadata under which the card stands, as JSON."""
SPLITS = ("train", "validation", "test")
EPISODE = "episode"
_FOLLOWED = ("reference", "reference_sha256")
"""Which reference an episode has: its table, and what of it is in the log."""


@dataclass(frozen=True, slots=True)
class DatasetResult:
    """What became of a dataset: its file, its card, how many episodes and rows each split has, how many differ."""

    path: Path
    card: Path
    episodes: Mapping[str, int]
    rows: Mapping[str, int]
    states: Mapping[str, int]
    different: int


def make_dataset(
    plan: EpisodesPlan,
    out: Path,
    *,
    test: Sequence[str] = (),
    validation: float = 0.1,
    jobs: int | None = None,
    force: bool = False,
    done: DoneCallback | None = None,
) -> DatasetResult:
    """Run every episode of a plan, and put their logs into one file. Goes on where it was cut off.

    Raises BulkRefused where logs do not have the same columns, or a file is there; Missing without PyArrow.
    """
    need(pyarrow="a dataset")
    columns = _columns(plan)
    if unknown := [name for name in test if name not in plan.documents]:
        raise BulkRefused(f"--test {', '.join(unknown)}: not among {', '.join(plan.documents)}")
    if out.exists() and not force:
        raise BulkRefused(f"{out}: exists; choose another file, or replace it: --force")
    parts = out.with_name(out.name + PARTS)
    asked = {**plan.describe(), "test": list(test), "validation": validation}
    with Journal(parts, asked, afresh=force) as journal:
        run_missing(plan, journal, parts=parts, jobs=jobs, done=done)
        told = split(list(rows_of(plan, journal)), test, validation)
        card = describe(plan, columns, told, asked)
        draft = out.with_name(f"{out.name}.new")
        _write(draft, columns, told, parts, card)
        draft.replace(out)
        text = out.with_name(f"{out.name}.md")
        text.write_text(card_text(out.name, card), encoding="utf-8", newline="\n")
        journal.remove()
    return DatasetResult(out, text, card["episodes"], card["rows"], card["states"], card["different"])


def split(rows: Sequence[dict[str, Cell]], test: Sequence[str], validation: float) -> list[dict[str, Cell]]:
    """Return the rows of episodes with their splits."""
    held_out = {row[key] for row in rows if row["config"] in test for key in _FOLLOWED if row.get(key)}
    contents: dict[Cell, Cell] = {}
    for row in rows:
        contents.setdefault(row.get("rows_sha256"), row.get("content"))

    def of(row: Mapping[str, Cell]) -> str:
        if row["config"] in test or not held_out.isdisjoint(row.get(key) for key in _FOLLOWED):
            return "test"
        # By the document, whose sum is the same on every machine; equal logs share that of the first.
        content = contents[row["rows_sha256"]] if row.get("rows_sha256") else row.get("content")
        share = int(hashlib.sha256(f"validation {content}".encode()).hexdigest()[:13], 16) / 16**13
        return "validation" if share < validation else "train"

    return [{**row, "split": of(row)} for row in rows]


def describe(
    plan: EpisodesPlan, columns: Sequence[str], rows: Sequence[Mapping[str, Cell]], asked: Mapping[str, Any]
) -> dict[str, Any]:
    """Return a dataset's card as plain data: what made it, what is in it, and a sum of its numbers.

    `content_sha256` is of the sums of all episodes' rows in their order, whatever the file's compression.
    """
    whole = hashlib.sha256("".join(str(row.get("rows_sha256") or "") for row in rows).encode()).hexdigest()
    return {
        "made_from": dict(asked),
        "columns": list(columns),
        "episodes": {name: sum(row["split"] == name for row in rows) for name in SPLITS},
        "rows": {name: sum(int(cast(int, row["rows"])) for row in rows if row["split"] == name) for name in SPLITS},
        "of_config": {
            name: dict(Counter(str(row["split"]) for row in rows if row["config"] == name)) for name in plan.documents
        },
        "different": len({row["rows_sha256"] for row in rows if row.get("rows_sha256")}),
        "references": len({row.get("reference") for row in rows}),
        "states": dict(Counter(str(row["state"]) for row in rows)),
        "content_sha256": whole,
        "versions": versions(),
    }


def card_text(name: str, card: Mapping[str, Any]) -> str:
    """Return a card as a page."""
    made = card["made_from"]
    splits = "\n".join(f"| {each} | {card['episodes'][each]} | {card['rows'][each]} |" for each in SPLITS)
    configs = "\n".join(
        f"| {config} | {', '.join(f'{number} {each}' for each, number in counts.items())} |"
        for config, counts in card["of_config"].items()
    )
    states = ", ".join(f"{number} {state}" for state, number in card["states"].items())
    return f"""# {name}

Logs of episodes, one row per logged step: {", ".join(card["columns"])}; with `{
        EPISODE
    }`, `split` and `config`. Units are in
the names. Each row has the state that the controller saw and the control that acts from there on
(docs/readings_nuc.md, N10).

| split | episodes | rows |
|---|---|---|
{splits}

{sum(card["episodes"].values())} episodes, {
        card["different"]
    } of them different: where nothing is drawn, another seed is
the same flight. Test has references that nothing else has; validation is {
        made["validation"]:g} of the rest, by episode; no split parts an episode.

| RunConfig | episodes |
|---|---|
{configs}

Seeds: {len(made["seeds"])}, from {min(made["seeds"])} to {max(made["seeds"])}. Varied: {
        ", ".join(axis["name"] for axis in made["vary"]) or "nothing"
    }. References: {card["references"]}. Ended as: {states}.

sha256 of the numbers: `{card["content_sha256"]}`. Engine {card["versions"]["engine"]}, {card["versions"]["commit"]}.

The RunConfigs themselves:

```json
{json.dumps({"runs": made["runs"], "changes": made["changes"], "vary": made["vary"]}, indent=1)}
```
"""


def _columns(plan: EpisodesPlan) -> tuple[str, ...]:
    """Return the columns that all logs have; those of a limited controller have one more, which is left out of none."""
    found = {name: read_run(document, SYSTEMS).columns for name, document in plan.documents.items()}
    first = next(iter(found.values()))
    if other := [name for name, columns in found.items() if columns != first]:
        raise BulkRefused(f"{', '.join(other)}: logs other columns than {next(iter(found))}; make two datasets")
    return first


def _write(
    path: Path, columns: Sequence[str], rows: Sequence[Mapping[str, Cell]], parts: Path, card: Mapping[str, Any]
) -> None:
    arrow, parquet = cast(Any, import_module("pyarrow")), cast(Any, import_module("pyarrow.parquet"))
    words = arrow.dictionary(arrow.int32(), arrow.string())
    fields = [arrow.field(EPISODE, arrow.int64()), arrow.field("config", words), arrow.field("split", words)]
    fields += [arrow.field(name, arrow.float64()) for name in columns]
    schema = arrow.schema(fields, metadata={NOTE: json.dumps(card)})
    with parquet.ParquetWriter(path, schema, compression="zstd") as writer:
        for block, logs in _blocks(rows, parts, len(columns)):
            counts = [int(cast(int, row["rows"])) for row in block]
            told = [
                [row[key] for row, number in zip(block, counts, strict=True) for _ in range(number)] for key in _TOLD
            ]
            arrays = [arrow.array(told[0], arrow.int64()), *(arrow.array(each).cast(words) for each in told[1:])]
            arrays += [arrow.array(np.ascontiguousarray(logs[:, k])) for k in range(len(columns))]
            writer.write_table(arrow.Table.from_arrays(arrays, schema=schema))


_TOLD = (RUN, "config", "split")


def _blocks(
    rows: Sequence[Mapping[str, Cell]], parts: Path, columns: int
) -> Iterator[tuple[Sequence[Mapping[str, Cell]], Any]]:
    for number in range((len(rows) + BLOCK - 1) // BLOCK):
        yield rows[number * BLOCK : (number + 1) * BLOCK], read_part(part_file(parts, number), columns)


@dataclass(frozen=True, slots=True)
class Dataset:
    """A dataset that was read: its card, and for each split the rows (rows, columns of the card) of its episodes."""

    path: Path
    card: Mapping[str, Any]
    episodes: Mapping[str, list[Any]]
    configs: Mapping[str, tuple[str, ...]]

    @property
    def columns(self) -> list[str]:
        """The names of what a row holds."""
        return list(self.card["columns"])


def read_dataset(path: Path) -> Dataset:
    """Return a dataset. Raises BulkRefused for a file that is none, or that is not what its card says."""
    need(pyarrow="a dataset")
    parquet = cast(Any, import_module("pyarrow.parquet"))
    try:
        table = parquet.read_table(path)
        card: dict[str, Any] = json.loads(table.schema.metadata[NOTE.encode()])
        numbers = np.column_stack([table[name].to_numpy() for name in card["columns"]]).astype("<f8")
        begins = np.flatnonzero(np.diff(table[EPISODE].to_numpy(), prepend=-1))
        splits, configs = (table[name].take(begins).to_pylist() for name in ("split", "config"))
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise BulkRefused(f"{path}: {error}; expected a dataset of `nuc dataset`") from error
    episodes = np.split(numbers, begins[1:])
    sums = "".join(hashlib.sha256(np.ascontiguousarray(episode).tobytes()).hexdigest() for episode in episodes)
    if hashlib.sha256(sums.encode()).hexdigest() != card["content_sha256"]:
        raise BulkRefused(f"{path}: its numbers are not those its card has the sum of; make it again")
    told = list(zip(splits, configs, episodes, strict=True))
    return Dataset(
        path,
        card,
        {split: [episode for each, _, episode in told if each == split] for split in SPLITS},
        {split: tuple(dict.fromkeys(name for each, name, _ in told if each == split)) for split in SPLITS},
    )
