"""How far a bout came: by whole records alone."""

from nuc_engine.recording.reach import LastRecords, find_reach


def test_the_latest_whole_record_counts_and_a_torn_one_does_not(tmp_path):
    (tmp_path / "MotorData.txt").write_text("5 1\n10 1\n150")
    (tmp_path / "StateData.txt").write_text("0 1\n7 1\n")
    assert find_reach(tmp_path) == LastRecords(10, 10, None)


def test_events_reach_further_than_data_and_the_stop_is_told_apart(tmp_path):
    (tmp_path / "MotorData.txt").write_text("10 1\n")
    (tmp_path / "Infolog.txt").write_text("0 engine_start roach\n40 overrun late\n")
    assert find_reach(tmp_path) == LastRecords(10, 40, None)
    (tmp_path / "Infolog.txt").write_text("0 engine_start roach\n40 engine_stop complete: done\n")
    assert find_reach(tmp_path) == LastRecords(10, 40, 40)
    (tmp_path / "Infolog.txt").write_text("0 engine_start roach\n40 engine_stop comp")
    assert find_reach(tmp_path) == LastRecords(10, 10, None)


def test_nothing_whole_is_nothing(tmp_path):
    assert find_reach(tmp_path) is None
    (tmp_path / "MotorData.txt").write_text("12")
    (tmp_path / "SensData.txt").write_text("words\n")
    (tmp_path / "StateData.txt").write_text("9" * 5000 + " 1\n")
    (tmp_path / "MuscleData.txt").mkdir()
    (tmp_path / "Infolog.txt").write_bytes(b"\xff\xfe\n")
    assert find_reach(tmp_path) is None


def test_only_the_end_of_a_long_log_is_read(tmp_path):
    (tmp_path / "MotorData.txt").write_text("".join(f"{k} 1 2 3\n" for k in range(20_000)))
    assert find_reach(tmp_path) == LastRecords(19_999, 19_999, None)
