"""`nuc experiment` as it is typed."""

import json
from dataclasses import replace
from types import SimpleNamespace

import pytest
from click.testing import CliRunner, Result

import nuc_engine.batch.pool as pool
import nuc_engine.experiments.catalogue as catalogue
from nuc_engine.cli.many.experiment import Tally, _table, command
from nuc_engine.cli.terminal.errors import CommandFailed
from nuc_engine.experiments.course import Collected
from nuc_engine.experiments.page import write_experiment
from nuc_engine.experiments.protocol import Again
from nuc_engine.experiments.sources import find_sources
from nuc_engine.experiments.trials import Task
from nuc_engine.experiments.verdict import judge_rows
from tests.experiments import tiny

GOOD = tiny.experiment(tiny.row("T"))
TWO = tiny.experiment(tiny.row("one"), tiny.row("two", criterion=tiny.never), name="U")
BLIND = tiny.experiment(tiny.row("V", control=replace(tiny.row().control, bouts=(tiny.plan(),))), name="V")


@pytest.fixture
def nuc(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(catalogue, "EXPERIMENTS", (GOOD, TWO, BLIND))
    monkeypatch.setattr(pool, "Workers", tiny.Inline)

    def call(*words: str) -> Result:
        result = CliRunner().invoke(command, list(words), standalone_mode=False)
        if result.exception is not None:
            raise result.exception
        return result

    return call


def test_an_experiment_is_run_judged_and_written_down(nuc, tmp_path):
    result = nuc("T", "--repeat", "2", "--seed", "5")
    assert result.return_value == 0
    lines = result.stdout.splitlines()
    assert any(
        line.split() == ["T", "2", "of", "2", "100", "%", "0", "0.0", "0", "of", "2", "as", "seen"] for line in lines
    )
    assert all(len(line) <= 80 for line in lines)
    assert "tuning seeds: no verdict" in result.stdout
    parts, *_ = result.stderr.splitlines()
    assert parts == "T: repetitions, then evidence and figures; the time left is told of each"
    folder = tmp_path / "data/experiments/T"
    assert {path.name for path in folder.iterdir()} == {"page.md", "verdict.json", "T_angles.png", "T_paths.png"}
    assert "nuc experiment T --repeat 2 --seed 5\n" in (folder / "page.md").read_text()


def test_rows_of_one_name_and_one_claim_are_counted_apart():
    both = [tiny.experiment(tiny.row("FWD"), name=name) for name in ("dropout", "magnet")]
    bar = SimpleNamespace(also="")
    tally = Tally(bar, both)
    for experiment, seen in zip(both, ("as seen", "otherwise"), strict=True):
        tally.add(Task(experiment.rows[0], 5), tiny.trial(5, seen))
    assert bar.also == "dropout 1 of 1 as seen; magnet 0 of 1 as seen"


@pytest.mark.parametrize(("of", "seen", "word"), [(1000, "otherwise", "otherwise"), (100, "as seen", "no evidence")])
def test_columns_hold_as_many_repetitions_as_there_are(of, seen, word):
    row = tiny.row("ten minutes")
    experiment = tiny.experiment(row, name="muscles-forward")
    trials = {seed: tiny.trial(seed, seen) for seed in range(50001, 50001 + of)}
    control = {seed: tiny.trial(seed, seen) for seed in range(50001, 50006)}
    verdict = judge_rows(experiment, [Collected(row, trials, control)], of, 50001, find_sources(row.bouts))
    *_, line = _table([verdict])
    count = of if seen == "as seen" else 0
    assert line.split()[3:8] == [str(count), "of", str(of), f"{100 * count // of}", "%"]
    assert line.endswith(f"  {word}")
    assert len(line) <= 80


@pytest.fixture
def undrawn(monkeypatch):
    monkeypatch.setattr("nuc_engine.cli.many.experiment._can_draw", lambda: False)


def test_a_row_that_comes_out_otherwise_makes_the_exit_status_1(nuc, undrawn):
    result = nuc("U", "--repeat", "1", "--seed", "5", "--json")
    assert result.return_value == 1
    assert "figures" not in result.stderr
    record = json.loads(result.stdout)
    assert record["ok"] is False
    assert [row["word"] for row in record["experiments"][0]["rows"]] == ["as seen", "otherwise"]


def test_a_control_that_passes_makes_the_exit_status_1(nuc, undrawn):
    result = nuc("V", "--repeat", "1", "--seed", "5")
    assert result.return_value == 1
    assert "no evidence" in result.stdout


def test_pages_are_made_twice_to_the_same_bytes(nuc, tmp_path):
    words = ("T", "--repeat", "1", "--seed", "5", "--pages", "pages", "--keep")
    nuc(*words)
    first = {path.relative_to(tmp_path / "pages"): path.read_bytes() for path in (tmp_path / "pages").rglob("*.*")}
    assert {str(path) for path in first} >= {"README.md", "T/page.md", "T/verdict.json", "T/T_angles.png"}
    nuc(*words)
    again = {path.relative_to(tmp_path / "pages"): path.read_bytes() for path in (tmp_path / "pages").rglob("*.*")}
    assert first == again
    assert (tmp_path / "data/experiments/T/bouts/T/5/only/manifest.json").exists()
    assert (tmp_path / "data/experiments/T/bouts/T/5-control/only/manifest.json").exists()
    assert not (tmp_path / "data/experiments/T/page.md").exists()

    monkey = (replace(GOOD, hypothesis="Another text."), TWO)
    catalogue.EXPERIMENTS = monkey
    assert nuc("all", "--rewrite", "--pages", "pages").stdout == "1 of 2 pages written again in pages\n"
    page = (tmp_path / "pages/T/page.md").read_text()
    assert page.replace("Another text.", "Legs move.").encode() == first[next(p for p in first if p.name == "page.md")]


def test_list_tells_what_there_is(nuc, undrawn):
    nuc("T", "--repeat", "1", "--seed", "5", "--pages", "docs/experiments")
    result = nuc("list")
    assert result.return_value == 0
    assert "T                 0.0        A leg that moves" in result.stdout
    assert "[as seen, 1 of 1; tuning seeds: no verdict]" in " ".join(result.stdout.split())
    assert "  two             it moves [not judged yet]" in result.stdout
    record = json.loads(nuc("list", "--json").stdout)
    assert [each["name"] for each in record["experiments"]] == ["T", "U", "V"]
    assert record["experiments"][0]["rows"][0]["verdict"] == "as seen"
    assert record["experiments"][1]["rows"][0]["verdict"] is None


def test_list_tells_where_other_seeds_do_not_bear_a_verdict_out(nuc, undrawn, tmp_path, monkeypatch):
    files = {name: (digest,) for name, digest in find_sources(GOOD.rows[0].bouts).files.items()}
    row = replace(GOOD.rows[0], again=(Again(10, 20, 50001, files),))
    trials = {seed: tiny.trial(seed) for seed in range(20001, 20021)}
    own = Collected(row, trials, {20001: tiny.trial(20001, "otherwise")})
    experiment = tiny.experiment(row)
    verdict = judge_rows(experiment, [own], 20, 20001, find_sources(row.bouts))
    monkeypatch.setattr(catalogue, "EXPERIMENTS", (experiment,))
    write_experiment(experiment, verdict, tmp_path / "docs/experiments" / experiment.name)
    assert "[as seen, 20 of 20, but 30 of 40 with other seeds]" in " ".join(nuc("list").stdout.split())
    (listed,) = json.loads(nuc("list", "--json").stdout)["experiments"]
    assert (listed["rows"][0]["verdict"], listed["rows"][0]["in_doubt"]) == ("as seen", True)


def test_what_there_is_not_is_a_wrong_command_line(nuc):
    import click

    with pytest.raises(click.UsageError, match="no experiment 'Z'; there are T, U, V, all, list, table, bundle"):
        nuc("Z")
    with pytest.raises(click.UsageError, match="--pages"):
        nuc("T", "--rewrite")


def test_documents_are_checked_before_anything_is_run(nuc, monkeypatch):
    from nuc_engine.bout.run import BoutRefused

    broken = tiny.experiment(tiny.row("T", bouts=(tiny.plan(values={"nonsense": 1.0}),)))
    monkeypatch.setattr(catalogue, "EXPERIMENTS", (broken,))
    with pytest.raises(BoutRefused, match="nonsense"):
        nuc("T")


def test_nothing_is_run_where_its_results_can_not_be_written(nuc, monkeypatch, tmp_path):
    monkeypatch.setattr(pool, "Workers", None)
    (tmp_path / "file").write_text("")
    for words in (("--out", "file/x"), ("--pages", "file/x"), ("--pages", "there", "--keep", "--out", "file/x")):
        with pytest.raises(NotADirectoryError):
            nuc("T", "--repeat", "1", *words)


def test_a_verdict_that_can_not_be_read_is_named(nuc, tmp_path):
    (tmp_path / "docs/experiments/T").mkdir(parents=True)
    (tmp_path / "docs/experiments/T/verdict.json").write_text("{")
    with pytest.raises(CommandFailed, match=r"T/verdict\.json: cannot be read"):
        nuc("list")
