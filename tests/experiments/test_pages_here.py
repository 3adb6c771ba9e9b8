"""The pages in docs/experiments, as they are in the repository."""

import re
from pathlib import Path

import pytest

from nuc_engine.experiments.catalogue import EXPERIMENTS
from nuc_engine.experiments.page import page, write_index
from nuc_engine.experiments.record import read_verdict
from nuc_engine.experiments.verdict import ENOUGH, in_need_of_reasons, other_runs

ROOT = Path(__file__).resolve().parents[2]
PAGES = ROOT / "docs/experiments"
NAMES = [experiment.name for experiment in EXPERIMENTS if (PAGES / experiment.name).is_dir()]
MOST_BYTES, MOST_BYTES_IN_ALL = 200_000, 16_000_000


def links(path: Path) -> list[Path]:
    """Return where the links of a page lead."""
    found = re.findall(r"\]\(([^)]+)\)", path.read_text())
    return [(path.parent / link.partition("#")[0]).resolve() for link in found if "://" not in link]


def test_the_table_over_all_names_every_row():
    text = (PAGES / "README.md").read_text()
    for experiment in EXPERIMENTS:
        for row in experiment.rows:
            assert re.search(rf"\| \[?{experiment.name}\b.*\| {re.escape(row.name)} \|", text), (
                experiment.name,
                row.name,
            )
    assert [link for link in links(PAGES / "README.md") if not link.exists()] == []


def test_the_table_over_all_is_what_the_verdicts_make(tmp_path):
    for path in PAGES.glob("*/verdict.json"):
        (tmp_path / path.parent.name).mkdir()
        (tmp_path / path.parent.name / path.name).write_bytes(path.read_bytes())
    assert write_index(EXPERIMENTS, tmp_path).read_text() == (PAGES / "README.md").read_text()


def test_pages_are_small_enough_for_a_repository():
    sizes = {path: path.stat().st_size for path in PAGES.rglob("*") if path.is_file()}
    pictures = {path.name: size for path, size in sizes.items() if path.suffix in (".png", ".svg")}
    assert {name: size for name, size in pictures.items() if size >= MOST_BYTES} == {}
    assert sum(sizes.values()) < MOST_BYTES_IN_ALL


@pytest.mark.parametrize("name", NAMES)
def test_a_page_its_verdict_and_its_figures_belong_together(name):
    folder = PAGES / name
    verdict = read_verdict(folder)
    assert verdict is not None
    drawn = [figures for row in verdict.rows for figures in (row.figures, *(one.figures for one in row.evidence))]
    figures = {figure.file for own in drawn for figure in own}
    assert {path.name for path in folder.iterdir()} == figures | {"page.md", "verdict.json"}
    assert [link for link in links(folder / "page.md") if not link.exists()] == []
    assert [row.name for row in verdict.rows] == [
        row.name for experiment in EXPERIMENTS if experiment.name == name for row in experiment.rows
    ]


@pytest.mark.parametrize("name", NAMES)
def test_a_page_is_what_its_verdict_and_the_texts_of_now_make(name):
    verdict = read_verdict(PAGES / name)
    assert verdict is not None
    (experiment,) = [each for each in EXPERIMENTS if each.name == name]
    assert verdict.seed == experiment.seed
    command = f"nuc experiment {name} --repeat {verdict.repetitions} --seed {verdict.seed} --pages docs/experiments"
    text = (PAGES / name / "page.md").read_text()
    assert text == page(experiment, verdict, root="../../..", command=command, indexed=True)


@pytest.mark.parametrize("name", NAMES)
def test_what_came_out_otherwise_or_not_firmly_is_explained_with_evidence(name):
    verdict = read_verdict(PAGES / name)
    assert verdict is not None
    (experiment,) = [each for each in EXPERIMENTS if each.name == name]
    for row, seen in zip(experiment.rows, verdict.rows, strict=True):
        if in_need_of_reasons(row, seen, verdict):
            assert row.explanation, row.name
            assert bool(seen.evidence) == bool(row.probes), row.name
            assert all(one.figures for one in seen.evidence), row.name


def test_the_page_about_other_seeds_is_what_pages_say_of_them():
    lines = re.findall(
        r"^\| ([^|]+?) \|((?: (?:-|\d+ of \d+) \|){3}) (\d+) of (\d+) \((\d+) %\) \| (yes|no) \|$",
        (PAGES.parent / "replication.md").read_text(),
        re.M,
    )
    rows = [(experiment.name, row) for experiment in EXPERIMENTS for row in experiment.rows if row.again]
    for (name, row), (told_of, single, count, of, per_cent, word) in zip(rows, lines, strict=True):
        assert told_of == (name if name == row.name else f"{name} {row.name}")
        told = [tuple(map(int, pair)) for pair in re.findall(r"(\d+) of (\d+)", single)]
        verdict = read_verdict(PAGES / name)
        assert verdict is not None
        seen = next(seen for seen in verdict.rows if seen.name == row.name)
        # A page judged on another plant is no run of the legs that this page is about.
        page_s = [(seen.as_seen.count, seen.as_seen.of)] if other_runs(row, seen, verdict) else []
        runs = [*page_s, *((again.count, again.of) for again in row.again)]
        assert told == runs, told_of
        whole = tuple(map(sum, zip(*runs, strict=True)))
        assert (int(count), int(of)) == whole, told_of
        assert per_cent == f"{100 * whole[0] / whole[1]:.0f}", told_of
        assert word == ("yes" if whole[0] / whole[1] >= ENOUGH else "no"), told_of
