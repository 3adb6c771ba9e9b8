"""Where two files first differ: every kind of difference is found, named and placed."""

import json

import msgpack
import pytest

from nuc_engine.recording.compare import compare_file
from nuc_engine.recording.files import INPUT_RECORD

NAME = "StateData.txt"
ROWS = "0 1 0.5\n25 2 0.5\n50 1 0.25\n"


@pytest.fixture
def folders(tmp_path):
    then, now = tmp_path / "then", tmp_path / "now"
    for folder in (then, now):
        folder.mkdir()
    named = [{"name": name} for name in ("time", "knee.state")]
    (then / "columns.json").write_text(json.dumps({"files": {NAME: {"columns": named}}}))
    return then, now


def compare(folders, old, new, name=NAME, **how):
    for folder, text in zip(folders, (old, new), strict=True):
        if text is not None:
            (folder / name).write_bytes(text if isinstance(text, bytes) else text.encode())
    found = compare_file(*folders, name, **how)
    return found and (found.record, found.time_ns, found.field, found.then, found.now)


def test_equal_files_and_two_missing_ones_do_not_differ(folders):
    assert compare(folders, ROWS, ROWS) is None
    assert compare_file(*folders, "Elsewhere.txt") is None


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        (ROWS, ROWS.replace("25 2", "25 3"), (2, 25, "knee.state", "2", "3")),
        (ROWS, ROWS.replace("0.25", "0.26"), (3, 50, "column 3", "0.25", "0.26")),
        (ROWS, ROWS.replace("50 1", "51 1"), (3, 50, "time", "50", "51")),
        (ROWS, ROWS.replace("25 2 0.5", "25 2 0.5 9"), (2, 25, "line", "25 2 0.5", "25 2 0.5 9")),
        (ROWS, ROWS + "75 1 0\n", (4, None, "length", "3 records", "4 records")),
        (ROWS, "0 1 0.5\n", (2, None, "length", "3 records", "1 records")),
        (ROWS, ROWS.replace("25 2", "25  2"), (2, 25, "white space", "'25 2 0.5'", "'25  2 0.5'")),
        (ROWS.replace("\n", "\r\n"), ROWS, (1, 0, "white space", "'0 1 0.5\\r'", "'0 1 0.5'")),
        (ROWS, ROWS[:-1], (0, None, "bytes", "27 bytes", "26 bytes")),
        (ROWS, None, (0, None, "file", "there", "missing")),
        (None, ROWS, (0, None, "file", "missing", "there")),
        (ROWS.encode() + b"\xfe\n", ROWS.encode() + b"\xff\n", (4, None, "time", "\\xfe", "\\xff")),
        ("", ROWS, (1, None, "length", "0 records", "3 records")),
    ],
)
def test_a_difference_is_named_and_placed(folders, old, new, expected):
    assert compare(folders, old, new) == expected


@pytest.mark.parametrize("described", [None, "{", "[]", "7", '{"files": []}', '{"files": {"StateData.txt": null}}'])
def test_without_a_description_of_columns_the_line_is_named(folders, described):
    path = folders[0] / "columns.json"
    path.unlink() if described is None else path.write_text(described)
    assert compare(folders, ROWS, ROWS.replace("25 2", "25 3")) == (2, 25, "line", "25 2 0.5", "25 3 0.5")


def test_words_that_look_like_several_lines_to_others_are_one_line_here(folders):
    assert compare(folders, "5 warning a\u2028b\n6 x\n", "5 warning a\u2028b\n6 y\n", "Infolog.txt")[0] == 2


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        (ROWS[:-4], ROWS + "75 1 0\n", None),
        (ROWS, ROWS + "75 1 0\n", None),
        (ROWS, ROWS[:-11], (3, None, "length", "3 records", "2 records")),
        (ROWS[:-4], ROWS.replace("25 2", "25 3"), (2, 25, "knee.state", "2", "3")),
        (ROWS.replace("50 1", "50 2"), ROWS, (3, 50, "knee.state", "2", "1")),
    ],
)
def test_of_a_bout_cut_off_every_whole_line_counts(folders, old, new, expected):
    assert compare(folders, old, new, whole=False) == expected


def test_lines_from_a_time_on_can_be_left_out(folders):
    assert compare(folders, ROWS, ROWS[:-11], whole=False, until_ns=50) is None
    assert compare(folders, ROWS, ROWS[:-11], whole=False, until_ns=51) is not None


def test_input_records_are_compared_record_by_record(folders):
    def stream(*records):
        return b"".join(msgpack.packb(record) for record in records)

    head, cycle = ["head", 1, 1], ["cycle", 1, 5, [101], [7], [1], [4]]
    other = ["cycle", 1, 5, [102], [7], [1], [4]]
    both = stream(head, cycle)
    assert compare(folders, both, stream(head, other), INPUT_RECORD) == (2, 5, "cycle", str(cycle), str(other))
    assert compare(folders, stream(head), stream(["head", 1, 2]), INPUT_RECORD)[:3] == (1, None, "head")
    assert compare(folders, both, stream(head), INPUT_RECORD) == (2, None, "length", "2 records", "1 records")
    assert compare(folders, stream(head), stream(head) + b"\xc1", INPUT_RECORD)[2] == "bytes"
    assert compare(folders, stream(head), stream(head) + b"\x93", INPUT_RECORD)[2] == "bytes"
