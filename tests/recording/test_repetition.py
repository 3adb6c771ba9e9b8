"""A bout in real time again from its input record, and as a new bout."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from types import SimpleNamespace

import msgpack
import pytest

from nuc_engine.bout.replay import ReplayRefused, replay_bout, replay_inputs
from nuc_engine.bout.rerun import run_again, run_again_on
from nuc_engine.daemon.wire import RecordKind, pack
from nuc_engine.model.store import Store
from nuc_engine.recording.inputs import FILE
from nuc_engine.recording.manifest import hash_files, write_record
from tests.service.log_feed import MS, START, Bench, bout, plan, read_manifest, read_record


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    bench = Bench(tmp_path_factory.mktemp("again"))
    bench.tell("author", 11, "Ann", 2)
    bench.put(*bout(duration_ms=600))
    bench.run(bench.writer())
    return bench.folders[0]


@pytest.fixture
def folder(finished: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(finished, tmp_path / "bout"))


def forge(folder: Path, change) -> None:
    """Change the input record, and the manifest's sum with it."""
    records = change(read_record(folder))
    (folder / FILE).write_bytes(b"".join(msgpack.packb(record) for record in records))
    write_record(folder, read_manifest(folder) | {"files": hash_files(folder)})


def replies(records, what):
    return [record for record in records if record[0] == what]


def test_the_recorded_replies_give_the_same_states_and_commands(folder: Path) -> None:
    report = replay_inputs(folder)
    assert report.difference is None
    assert report.identical
    assert set(report.compared) >= {"MotorData.txt", "StateData.txt", "MuscleData.txt", "SensData.txt", "Scriptlog.xml"}


def test_another_reply_gives_other_commands(folder: Path) -> None:
    def change(records):
        replies(records, "cycle")[30][3][3] += 9
        return records

    forge(folder, change)
    difference = replay_inputs(folder).difference
    assert difference is not None
    assert difference.file in ("MotorData.txt", "SensData.txt")
    assert difference.record == 31


@pytest.mark.parametrize("what", ["start", "states"])
def test_another_order_of_the_tasks_is_another_bout(folder: Path, what: str) -> None:
    def change(records):
        # From the 40th cycle on, the exchanges begin (the rules are evaluated) without the last measurement.
        at = records.index(replies(records, "cycle")[40])
        late = next(k for k in range(at, len(records)) if records[k][:2] == ["ran", what])
        return [*records[:late], *records[late + 1 :]]

    forge(folder, change)
    assert replay_inputs(folder).difference is not None


def test_an_edit_that_is_missing_is_found(folder: Path) -> None:
    forge(folder, lambda records: [r for r in records if not (r[0] == "edit" and r[4] == [62.5])])
    difference = replay_inputs(folder).difference
    assert difference is not None
    # In the log of edits, or in what the edit changed.
    assert difference.file in ("Scriptlog.xml", "StateData.txt")


def test_a_control_is_repeated_with_its_author_or_without(folder: Path) -> None:
    forge(folder, lambda records: [r for r in records if r[0] != "control"])
    assert replay_inputs(folder).difference is not None


def test_another_store_at_the_start_is_another_bout(folder: Path) -> None:
    def change(records):
        entry = replies(records, "store")[0]
        store = Store(plan())
        store.load_bytes(entry[3])
        for state in plan().states:
            for drive in state.activations:
                for slot in drive.parameters:
                    view, at = store.locate(slot)
                    view[at] = view[at] / 2
        entry[3] = store.live_bytes()
        return records

    forge(folder, change)
    assert replay_inputs(folder).difference is not None


def test_a_store_with_a_rule_that_is_none_is_refused(folder: Path) -> None:
    def change(records):
        entry = replies(records, "store")[0]
        store = Store(plan())
        store.load_bytes(entry[3])
        rule = next(hdso for hdso in plan().hdsos if hdso.kind == "boolstring")
        store.write(rule.index, (9,) * rule.count)
        entry[3] = store.live_bytes()
        return records

    forge(folder, change)
    with pytest.raises(ReplayRefused, match="a rule in the store"):
        replay_inputs(folder)


def test_a_bout_with_losses_is_repeated_up_to_the_first(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    records = bout(duration_ms=600)
    lost = (int(RecordKind.LOST), pack(START + 400 * MS, {int(RecordKind.MOTOR): 5, int(RecordKind.APPLIED): 1}))
    bench.put(*records[:200], lost, *records[280:])
    bench.run(bench.writer())
    report = replay_inputs(bench.folders[0])
    assert report.difference is None


def test_a_bout_in_real_time_is_not_run_again_as_it_is(folder: Path) -> None:
    with pytest.raises(ReplayRefused, match="--recorded"):
        replay_bout(folder)


def test_a_record_that_began_later_is_refused(folder: Path) -> None:
    forge(folder, lambda records: [r for r in records if r[0] != "store"])
    with pytest.raises(ReplayRefused, match="logging began later"):
        replay_inputs(folder)
    with pytest.raises(ReplayRefused, match="store at the start"):
        run_again(folder, folder.with_name("new"))


@pytest.mark.parametrize(
    "bad",
    [
        ["edit", 1, 5, 99_999, [1.0], ""],
        ["control", 1, 5, "tweak", 77, 1.0, ""],
    ],
)
def test_what_is_not_of_the_model_is_refused_by_number(folder: Path, bad: list) -> None:
    forge(folder, lambda records: [*records[:2], bad, *records[2:]])
    with pytest.raises(ReplayRefused, match="record 3 is not of lin_roach"):
        replay_inputs(folder)


@pytest.mark.parametrize("store", [b"", b"x" * 100])
def test_a_store_of_another_size_is_refused(folder: Path, store: bytes) -> None:
    def change(records):
        replies(records, "store")[0][3] = store
        return records

    forge(folder, change)
    with pytest.raises(ReplayRefused, match="store of"):
        replay_inputs(folder)


@pytest.mark.parametrize("spec", [{}, {"limits": {}}, {"limits": {"m": "x"}, "approach_deg_s": 60}, {"limits": 3}])
def test_a_manifest_without_the_daemons_settings_is_refused(folder: Path, spec: dict) -> None:
    write_record(folder, read_manifest(folder) | {"spec": spec})
    with pytest.raises(ReplayRefused, match="spec"):
        replay_inputs(folder)


def test_again_gives_a_new_bout_from_the_dumped_store_with_the_edits(folder: Path, tmp_path: Path) -> None:
    report = run_again(folder, tmp_path / "new", bus="loopback:", seed=4)
    new = tmp_path / "new"
    assert (report.state, read_manifest(new)["engine_time_s"]) == ("complete", 0.6)
    assert read_manifest(new)["clock"] == "virtual"
    script = (new / "Scriptlog.xml").read_text()
    assert 'time="0.04">61<' in script
    assert 'time="0.13">62.5<' in script
    assert "1 joint mode(s)" in report.left_out[0]
    assert replay_bout(new).identical


def test_again_begins_with_values_that_are_not_the_configurations(folder: Path, tmp_path: Path) -> None:
    def change(records):
        entry = replies(records, "store")[0]
        store = Store(plan())
        store.load_bytes(entry[3])
        store.write(plan().hdso("TC1_retLEV_FTang").index, (33.25,))
        entry[3] = store.live_bytes()
        return records

    forge(folder, change)
    run_again(folder, tmp_path / "new", bus="loopback:")
    script = (tmp_path / "new" / "Scriptlog.xml").read_text()
    assert 'time="0">33.25<' in script
    assert script.count('time="0"') == 1


def test_again_takes_the_plant_of_the_configuration_where_the_bout_has_none(folder: Path, tmp_path: Path) -> None:
    (folder / "plant.toml").unlink()
    report = run_again(folder, tmp_path / "new")
    assert report.state == "complete"
    assert report.left_out[0].startswith("the leg: it is that of ")
    assert (tmp_path / "new" / "PlantData.txt").stat().st_size


def test_again_without_a_plant_says_what_to_do(folder: Path, tmp_path: Path) -> None:
    (folder / "plant.toml").unlink()
    record = read_manifest(folder)
    write_record(folder, record | {"configuration": "of_nobody"})
    with pytest.raises(ReplayRefused, match="--bus loopback:"):
        run_again(folder, tmp_path / "new")
    assert json.loads((folder / "manifest.json").read_text())["clock"] == "real"


class Beside:
    """A daemon that takes what it is told, and ends the bout after some looks at it."""

    def __init__(self, out: Path, looks: int, ended: dict) -> None:
        self.out, self.looks, self.ended, self.told = out, looks, ended, []

    def configure(self, name, documents):
        self.told.append(("configure", name, sorted(documents)))

    def script(self, text):
        self.told.append(("script", text.count("<hdsoMod")))

    def run(self, *, stop_s, labels):
        self.told.append(("run", stop_s, labels))
        return SimpleNamespace(bout=3, folder="")

    def status(self):
        self.looks -= 1
        running = self.looks > 0
        return SimpleNamespace(
            bout=3 if running else 0,
            logging={"folder": str(self.out)},
            engine_time_s=0.1,
            mode="RUNNING" if running else "FAULT" if self.ended.get("latched") else "STOPPED",
            latched=self.ended.get("latched", False),
            latch_reason="motor_silent",
        )


def test_again_on_a_daemon_tells_it_configuration_script_and_run(folder: Path, finished: Path) -> None:
    beside, slept = Beside(finished, 4, {}), []
    report = run_again_on(folder, beside, sleep=slept.append)
    assert [told[0] for told in beside.told] == ["configure", "script", "run"]
    assert beside.told[0][1:] == ("lin_roach", ["joints.xml", "parameters.xml", "sensors.xml"])
    assert beside.told[1:] == [("script", 2), ("run", 0.6, {"again": folder.name})]
    assert (report.folder, report.state) == (finished, "complete")
    assert len(slept) == 3


def test_again_on_a_daemon_whose_folder_can_not_be_read_goes_by_what_it_says(folder: Path, tmp_path: Path) -> None:
    report = run_again_on(folder, Beside(tmp_path / "elsewhere", 2, {"latched": True}), sleep=lambda seconds: None)
    assert (report.state, report.reason, report.now) == ("fault", "motor_silent", None)
