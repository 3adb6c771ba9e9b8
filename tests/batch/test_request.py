from __future__ import annotations

from pathlib import Path

import pytest

from nuc_engine.batch.axes import Sampling, parse_axis
from nuc_engine.batch.errors import BulkRefused
from nuc_engine.batch.plan import SweepRequest, make_plan
from nuc_engine.batch.request import KEYS, read_request
from nuc_engine.batch.task import WINDOW_COLUMNS, WatchWindow

DOCUMENT = Path(__file__).parents[2] / "docs" / "bulk.md"


def read(folder: Path, text: str) -> SweepRequest:
    path = folder / "sweep.toml"
    path.write_text(text)
    return read_request(path)


def test_the_file_in_the_documentation_is_read_and_can_be_run(tmp_path: Path) -> None:
    text = DOCUMENT.read_text().partition("```toml\n")[2].partition("```")[0]
    request = read(tmp_path, text)
    assert request == SweepRequest(
        config="lin_roach",
        script="experiment_a",
        duration_s=60.0,
        axes=(parse_axis("plant.world.friction=0.06:0.12"), parse_axis("FT_ext_FTang@20=120,130,140")),
        sampling=Sampling("latin", 50, 0),
        seeds=tuple(range(1000, 1010)),
        windows=(WatchWindow("ITF", 20.0, 40.0),),
        settle_s=3.0,
    )
    assert len(make_plan(request)) == 500


def test_the_documentation_names_every_column() -> None:
    text = DOCUMENT.read_text()
    assert [name for name in WINDOW_COLUMNS if f".{name}`" not in text] == []
    assert [name for name in KEYS if f"{name} =" not in text and f"[{name}]" not in text] == []


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "config: missing"),
        ("config = 3", "config: 3"),
        ("config = 'a'\nsed = 3", "sed: unknown"),
        ("config = 'a'\nduration = true", "duration: True"),
        ("config = 'a'\nsample = 'sobol'", "expected grid, random or latin"),
        ("config = 'a'\n[vary]\nx = '1:1:2'", "two different ends"),
        ("config = 'a'\n[windows]\nx = 3", "BEGIN:END"),
        ("config = 'a'\n[windows]\nx = '3'", "BEGIN:END"),
        ("config = 'a'\nseeds = '1'\n[vary]\nseed = '2'", "given twice"),
        ("config", "expected TOML"),
    ],
)
def test_what_is_no_sweep_is_refused_with_file_and_key(text: str, says: str, tmp_path: Path) -> None:
    with pytest.raises(BulkRefused, match=says) as caught:
        read(tmp_path, text)
    assert all(line.startswith(str(tmp_path)) for line in str(caught.value).splitlines())


def test_a_file_that_is_not_there_is_told(tmp_path: Path) -> None:
    with pytest.raises(BulkRefused, match="No such file"):
        read_request(tmp_path / "none.toml")


def test_seeds_may_stand_among_what_is_varied(tmp_path: Path) -> None:
    assert read(tmp_path, "config = 'a'\n[vary]\nseed = '5:7'").seeds == (5, 6, 7)
    assert read(tmp_path, "config = 'a'\nseeds = [4, 2]").seeds == (4, 2)
