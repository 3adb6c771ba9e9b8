"""Figures of a paper: what is drawn is what the table holds."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

pytest.importorskip("matplotlib")

from benchmarks.paper import draw_kicks, draw_numbers, draw_shares, read
from nuc_engine.batch.table import write_table
from nuc_engine.experiments.tidy import COLUMNS

HEAD = {"experiment": "A", "row": "A", "plant": "p@1", "commit": "c", "start_kicks": 0, "number": "FWD step period (s)"}
ROBOT = {"robot": 3, "robot_of": 3, "robot_kicked": 1, "robot_kicked_of": 3}
LINES = [
    HEAD | ROBOT | {"control": False, "seed": 1, "state": "as seen", "kicks": 1, "value": 0.5},
    HEAD | ROBOT | {"control": False, "seed": 2, "state": "otherwise", "kicks": 0, "value": 0.75},
    HEAD | ROBOT | {"control": False, "seed": 3, "state": "failed start", "kicks": 0, "number": "", "value": None},
    HEAD | ROBOT | {"control": True, "seed": 1, "state": "otherwise", "kicks": 0, "value": None},
]


@pytest.fixture(params=["csv", "parquet"])
def table(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    if request.param == "parquet":
        pytest.importorskip("pyarrow")
    path = tmp_path / f"t.{request.param}"
    write_table(path, COLUMNS, LINES, {})
    return path


def points(figure) -> list[tuple[float, float]]:
    (axes,) = figure.axes
    return [(float(line.get_xdata()[0]), round(float(line.get_ydata()[0]), 2)) for line in axes.lines]


def test_a_table_is_read_whole_and_what_is_not_valid_is_in_no_share(table):
    (row,) = read(table)
    assert row.name == "A"
    assert (row.robot, row.kicked) == ((3, 3), (1, 3))
    assert [each.seed for each in row.valid] == [1, 2]
    assert row.values("FWD step period (s)") == [0.5, 0.75]
    assert list(row.control) == [1]


def test_shares_kicks_and_numbers_stand_where_the_table_has_them(table):
    rows = read(table)
    shares = points(draw_shares(rows))
    assert (0.5, 0.15) in shares  # one of two
    assert (0.0, 0.33) in shares  # the control
    robot = draw_shares(rows).axes[0].patches[0]
    assert robot.get_x() == pytest.approx(0.025 ** (1 / 3), abs=1e-6)
    assert (1.0, 0.0) in points(draw_kicks(rows))  # of one as seen, one was kicked
    rows[0].trials[1].start_kicks = 1
    assert (0.0, 0.0) in points(draw_kicks(rows))  # it needed one to begin, which is none in the end
    drawn = draw_numbers(rows, "step period", "s").axes[0].lines
    assert list(drawn[0].get_xdata()) == [0.5, 0.75]
    assert drawn[1].get_xdata()[0] == 0.625


def test_a_row_of_which_nothing_is_valid_says_so(tmp_path):
    write_table(tmp_path / "t.csv", COLUMNS, LINES[2:3], {})
    (text,) = draw_shares(read(tmp_path / "t.csv")).axes[0].texts
    assert text.get_text() == "none valid"


def test_two_plants_in_one_table_are_two_rows(tmp_path):
    other = LINES[0] | {"plant": "p@2"}
    write_table(tmp_path / "t.csv", COLUMNS, [LINES[0], other], {})
    with (tmp_path / "t.csv").open(newline="") as file:
        assert len(list(csv.DictReader(file))) == 2
    assert [row.label for row in read(tmp_path / "t.csv")] == ["A, p@1", "A, p@2"]
