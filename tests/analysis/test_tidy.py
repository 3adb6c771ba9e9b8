"""Tables for other programs: everything that was logged comes back, to the last digit."""

from __future__ import annotations

import csv
import json
import sys
from pathlib import Path

import numpy as np
import pytest

from nuc_engine.analysis.bout import Bout
from nuc_engine.analysis.errors import BoutError
from nuc_engine.analysis.tidy import TABLES, TidyBout, TidyTable, tidy_bout, write_csv, write_parquet
from nuc_engine.bout.run import BoutSpec, run_bout
from nuc_engine.configurations.adapt import adapt, write_adapted
from nuc_engine.machine.needs import Missing
from tests.analysis.directories import START_NS, neuromod

parquet = pytest.importorskip("pyarrow.parquet")


@pytest.fixture(scope="module")
def tables(finished_roach: Path) -> TidyBout:
    return tidy_bout(finished_roach, 0.05)


def logged(folder: Path, file: str) -> list[list[str]]:
    return [line.split() for line in (folder / file).read_text().splitlines()]


def read_csv(path: Path) -> list[list[str]]:
    with path.open(newline="") as file:
        return list(csv.reader(file))


def without_actions(names: list[str]) -> list[str]:
    return [name for name in names if not name.endswith(".action")]


def test_there_is_a_table_for_each_log(tables: TidyBout) -> None:
    # Nothing was clamped: what is sensed is what is measured.
    assert [table.name for table in tables.tables] == [
        *(name for name in TABLES.values() if name != "sensed"),
        "unified",
    ]
    for table in tables.tables[:-1]:
        assert len(table) == len(logged(tables.folder, table.source))


def test_parquet_gives_back_every_number_that_was_logged(tables: TidyBout, tmp_path: Path) -> None:
    files = write_parquet(tables, tmp_path)
    assert [path.name for path in files] == [f"{table.name}.parquet" for table in tables.tables]
    for table in tables.tables[:-1]:
        read = parquet.read_table(tmp_path / f"{table.name}.parquet")
        names = without_actions(read.column_names)
        rows = logged(tables.folder, table.source)
        for k, name in enumerate(names):
            told = read.column(name).to_pylist()
            assert told == [type(value)(row[k]) for value, row in zip(told, rows, strict=True)]
    motors = parquet.read_table(tmp_path / "motors.parquet")
    assert {str(field.type) for field in motors.schema} == {"int64"}


def test_parquet_says_what_its_columns_are(tables: TidyBout, tmp_path: Path) -> None:
    write_parquet(tables, tmp_path)
    schema = parquet.read_schema(tmp_path / "sensors.parquet")
    assert schema.field("FT_angle").metadata[b"unit"] == b"deg"
    assert b"Femur-Tibia" in schema.field("FT_angle").metadata[b"meaning"]
    assert schema.field("time_ns").metadata[b"unit"] == b"ns"
    about = json.loads(schema.metadata[b"nuc"])
    assert (about["configuration"], about["table"], about["log"]) == ("lin_roach", "sensors", "SensData.txt")
    assert about["manifest"]["spec"]["seed"] == 3


def test_actions_stand_by_name_beside_their_codes(tables: TidyBout, roach: Bout, tmp_path: Path) -> None:
    write_parquet(tables, tmp_path)
    for name in ("states", "unified"):
        read = parquet.read_table(tmp_path / f"{name}.parquet")
        pairs = zip(
            read.column("Femur-Tibia.state").to_pylist(), read.column("Femur-Tibia.action").to_pylist(), strict=True
        )
        found = {(code, action) for code, action in pairs if action is not None}
        assert found == {(4, "FT_Extension"), (5, "FT_Flexion")}


def test_csv_gives_back_every_number_and_says_what_it_is(tables: TidyBout, tmp_path: Path) -> None:
    files = write_csv(tables, tmp_path)
    assert [path.name for path in files] == [*(f"{table.name}.csv" for table in tables.tables), "columns.csv"]
    for table in tables.tables[:-1]:
        head, *rows = read_csv(tmp_path / f"{table.name}.csv")
        kept = [k for k, name in enumerate(head) if ".action" not in name]
        expected = logged(tables.folder, table.source)
        assert [[float(row[k]) for k in kept] for row in rows] == [[float(cell) for cell in row] for row in expected]
        assert [row[0] for row in rows] == [row[0] for row in expected]
    head = read_csv(tmp_path / "sensors.csv")[0]
    assert head[:2] == ["time_ns (ns)", "TC1_angle (deg)"]
    names, *rows = read_csv(tmp_path / "columns.csv")
    told = [dict(zip(names, row, strict=True)) for row in rows]
    assert [row["column"] for row in told] == [column.name for table in tables.tables for column in table.columns]
    (foot,) = [row for row in told if row["column"] == "foot_z"][:1]
    assert (foot["table"], foot["log"], foot["unit"]) == ("plant", "PlantData.txt", "cm")
    assert "up" in foot["meaning"]


def test_the_unified_table_is_the_grid_with_the_legs_points(tables: TidyBout, roach: Bout) -> None:
    unified = tables.tables[-1]
    grid = roach.on_grid(0.05)
    np.testing.assert_array_equal(unified.column("time_s").cells, grid.t_s)
    for name in grid.columns:
        np.testing.assert_array_equal(unified.column(name).cells, grid.column(name))
    points = roach.leg_from_angles(grid.t_s)
    np.testing.assert_array_equal(unified.column("foot_by_angles.z").cells, points[:, -1, 2])
    np.testing.assert_array_equal(unified.column("Femur-Tibia.x").cells, points[:, 3, 0])
    assert unified.column("Femur-Tibia.x").unit == "cm"
    with pytest.raises(KeyError, match="there are time_s"):
        unified.column("knee")


def test_neuromods_absolute_times_stay_exact(roach: Bout, tmp_path: Path) -> None:
    old = neuromod(roach.folder, tmp_path / "old", times=True, padded=False)
    found = tidy_bout(str(old))
    write_parquet(found, str(tmp_path / "out"))
    read = parquet.read_table(tmp_path / "out" / "sensors.parquet")
    assert read.column("time_ns").to_pylist() == [int(row[0]) for row in logged(old, "SensData.txt")]
    assert set(read.column("engine_start_time").to_pylist()) == {START_NS}
    units = [read.schema.field(name).metadata[b"unit"] for name in ("FT_angle", "FT_current")]
    assert units == [b"deg", b"tick (18.4 mA)"]
    assert found.about["engine_start_ns"] == START_NS
    states = parquet.read_table(tmp_path / "out" / "states.parquet")
    assert "FT_Flexion" in states.column("Femur-Tibia.action").to_pylist()


def test_a_code_of_no_action_has_no_name(folder: Path, tmp_path: Path) -> None:
    path = folder / "StateData.txt"
    lines = path.read_text().splitlines()
    cells = lines[0].split()
    cells[1] = "-1"
    path.write_text("\n".join([" ".join(cells), *lines[1:]]) + "\n")
    (states,) = [table for table in tidy_bout(folder).tables if table.name == "states"]
    assert states.column("Thorax-Coxa1.state").cells[0] == -1
    assert states.column("Thorax-Coxa1.action").cells[0] is None
    write_csv(tidy_bout(folder), tmp_path)
    _, first, *_ = read_csv(tmp_path / "states.csv")
    assert first[1:3] == ["-1", ""]


def test_what_is_missing_or_not_finite_is_left_open(folder: Path, tmp_path: Path) -> None:
    (folder / "MuscleData.txt").unlink()
    path = folder / "SensData.txt"
    time, _, *rest = path.read_text().split(" ", 2)
    path.write_text(f"{time} nan {rest[0]}")
    found = tidy_bout(folder)
    assert found.notes == ("MuscleData.txt: missing",)
    assert "muscles" not in [table.name for table in found.tables]
    write_csv(found, tmp_path)
    _, first, *_ = read_csv(tmp_path / "sensors.csv")
    assert first[1] == ""


def test_without_pyarrow_the_way_out_is_said(tables: TidyBout, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(Missing, match=r"needs PyArrow: .*\[lab\]"):
        write_parquet(tables, tmp_path)


@pytest.mark.parametrize(
    ("model", "bus", "unit"),
    [
        ("STS3215", "emulated:feetech", "counts of 0.1 % of the drive (duty, not torque)"),
        ("XM430-W350", "emulated:dynamixel?baud=115200", "counts of 2.69 mA"),
    ],
)
def test_loads_whose_unit_nobody_named_are_not_said_to_be_ai_motors_ticks(
    tmp_path: Path, model: str, bus: str, unit: str
) -> None:
    adapted = adapt("lin_roach", model)
    write_adapted(adapted, tmp_path / "leg")
    sensors = tmp_path / "leg" / "sensors.xml"
    sensors.write_text(sensors.read_text().replace('units="tick (18.4 mA)" ', ""))
    run_bout(BoutSpec(str(tmp_path / "leg"), tmp_path / "bout", duration_s=0.5, bus=bus))
    tables = {table.name: table for table in tidy_bout(str(tmp_path / "bout")).tables}
    said = tables["sensors"].column("FT_current").unit
    scale = adapted.motors[3].motor.current_scale
    assert scale is not None
    assert said == f"{1 / scale:.4g} {unit}"
    assert tables["sensors"].column("FT_angle").unit == "deg"


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("[]", "columns.json: holds no JSON object"),
        ("[" * 100_000, "columns.json: cannot be read"),
        ('{"files": {"SensData.txt": {"columns": ["time", "name"]}}}', "columns.json: not in the expected form"),
    ],
)
def test_a_description_of_columns_that_is_none_is_named(folder: Path, content: str, message: str) -> None:
    (folder / "columns.json").write_text(content)
    with pytest.raises(BoutError, match=message):
        tidy_bout(folder)


def test_without_a_description_columns_are_those_of_this_engine(folder: Path, tables: TidyBout) -> None:
    def explained(table: TidyTable) -> list[tuple[str, str, str]]:
        return [(column.name, column.unit, column.meaning) for column in table.columns]

    (folder / "columns.json").write_text("{}")
    named = {table.name: table for table in tables.tables}
    for table in tidy_bout(folder).tables:
        assert explained(table) == explained(named[table.name])
