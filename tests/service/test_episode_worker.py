"""What runs a server's episodes, on a clock of paper: its pace, its end, what it refuses, and what is seen of it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from nuc_engine.bout import episode
from nuc_engine.bout.episode import EpisodeSpec, record_episode, replay_episode
from nuc_engine.machine.locations import find_configuration
from nuc_engine.messages.snapshots import EpisodeSnapshot, read_snapshot
from nuc_engine.recording.manifest import Manifest
from nuc_engine.service import episode_worker
from nuc_engine.service.episode_worker import (
    LATE,
    STEP,
    STOP,
    EpisodeBegun,
    EpisodeEnded,
    EpisodeOrder,
    EpisodeRefused,
    EpisodeWork,
    SnapshotSampler,
)
from nuc_engine.verify import verify_bout

MS = 1_000_000


class Paper:
    """A worker with shared memory of its own and a clock that goes on when somebody sleeps, or where it is told to."""

    def __init__(self) -> None:
        self.words = memoryview(bytearray(64)).cast("Q")
        self.now = 5_000 * MS
        self.told: list[Any] = []
        self.held_up: dict[int, int] = {}
        self.slept: list[float] = []
        self.work = EpisodeWork(self.words, self.told.append, self.now_ns, self.sleep)

    def now_ns(self) -> int:
        self.now += self.held_up.pop(self.words[STEP], 0)
        return self.now

    def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.now += round(seconds * 1e9)

    def run(self, out: Path | None = None, **said: Any) -> Any:
        order = {"episode": 1, "config": "flight_helix", "text": None, "changes": {}, "speed": 0.0, "udp": None}
        self.work.run(EpisodeOrder(**{**order, "out": "" if out is None else str(out), **said}))
        return self.told[-1]


def log_of(folder: Path) -> bytes:
    return (folder / "EpisodeData.f64").read_bytes()


def manifest_of(folder: Path) -> dict[str, Any]:
    return json.loads((folder / "manifest.json").read_text())


@pytest.fixture
def paper() -> Paper:
    return Paper()


SECOND = {"timing.duration_s": 1.0}


@pytest.mark.parametrize("speed", [0.0, 1.0, 0.3, 1e5])
def test_the_same_bytes_at_any_speed_as_nuc_run_leaves(paper: Paper, tmp_path: Path, speed: float) -> None:
    record_episode(EpisodeSpec("flight_helix", tmp_path / "a", SECOND))
    begun = paper.now
    ended = paper.run(tmp_path / "b", speed=speed, changes=SECOND)
    assert log_of(tmp_path / "a") == log_of(tmp_path / "b")
    assert (ended.state, ended.reason, ended.step) == ("complete", "ran for the time asked for", 100)
    assert paper.now - begun == (round(1e9 / speed) if speed else 0)
    assert [type(told) for told in paper.told] == [EpisodeBegun, EpisodeEnded]
    assert manifest_of(tmp_path / "b")["counts"].get("late_steps") == (0 if speed else None)


def test_it_begins_to_tell_with_the_first_step_made(paper: Paper) -> None:
    seen: list[int] = []
    paper.work = EpisodeWork(paper.words, lambda _: seen.append(paper.words[STEP]), paper.now_ns, paper.sleep)
    paper.work.run(EpisodeOrder(1, "flight_hover", None, {}, 0.0, "", None))
    assert seen == [1, 1000]


def test_a_step_that_is_late_is_counted_and_what_was_held_up_long_is_not_caught_up_with(
    paper: Paper, tmp_path: Path
) -> None:
    paper.held_up = {20: 25 * MS, 50: 410 * MS}
    begun = paper.now
    paper.run(tmp_path / "a", speed=1.0, changes=SECOND)
    # 15 ms behind its time: the next step has begun in time again. 400 ms: everything behind it is as much later.
    assert paper.words[LATE] == 2
    assert paper.now - begun == 1400 * MS
    assert manifest_of(tmp_path / "a")["counts"]["late_steps"] == 2
    record_episode(EpisodeSpec("flight_helix", tmp_path / "b", SECOND))
    assert log_of(tmp_path / "a") == log_of(tmp_path / "b")


def test_a_flight_that_is_starved_is_ended_and_its_log_is_good_as_far_as_it_goes(paper: Paper, tmp_path: Path) -> None:
    # Each step takes 12 ms of the 10 it has. 0.1 s behind, it goes on from there: not every step is late.
    paper.held_up = dict.fromkeys(range(1, 1000), 12 * MS)
    changes = {"timing.duration_s": 5.0}
    ended = paper.run(tmp_path / "a", speed=1.0, changes=changes)
    assert ended.state == "fault"
    assert ended.reason.startswith("starved: at step 125 100 more steps had come late than in time; 1 s of such are")
    assert paper.words[LATE] == 110
    record = manifest_of(tmp_path / "a")
    assert (record["state"], record["reason"], record["counts"]["late_steps"]) == ("fault", ended.reason, 110)
    record_episode(EpisodeSpec("flight_helix", tmp_path / "b", changes))
    assert log_of(tmp_path / "b").startswith(log_of(tmp_path / "a"))
    assert replay_episode(tmp_path / "a").identical
    assert verify_bout(tmp_path / "a").good
    assert paper.run(speed=1.0, changes=changes, episode=2).state == "fault"


def test_a_flight_that_was_held_up_as_a_whole_is_ended_at_once_and_faster_than_real_time_is_not(
    paper: Paper, tmp_path: Path
) -> None:
    paper.held_up = {50: 1011 * MS}
    ended = paper.run(tmp_path / "a", speed=1.0, changes=SECOND)
    assert (ended.state, ended.step) == ("fault", 50)
    assert ended.reason == "starved: step 50 came 1 s late; at most 1 s are borne"
    text = (find_configuration("flight_helix") / "run.toml").read_bytes()
    borne, never = (text.replace(b"[timing]", b"[timing]\nstarved_s = " + at) for at in (b"2.0", b"0"))
    for speed, said, late_ms in ((1.5, text, 1011), (1.0, borne, 1011), (1.0, never, 90_000)):
        paper.held_up = {60: late_ms * MS}  # the word of the step still says 50 where it begins
        assert paper.run(text=said, speed=speed, changes=SECOND).state == "complete"
        assert paper.words[LATE] >= 1


def test_it_ends_where_it_is_told_to_while_it_waits_and_keeps_what_it_has(paper: Paper, tmp_path: Path) -> None:
    slept = paper.sleep

    def sleep(seconds: float) -> None:
        assert seconds <= 0.02
        if paper.words[STEP] == 30 and len(paper.slept) > 200:
            paper.words[STOP] = 1
        slept(seconds)

    paper.work = EpisodeWork(paper.words, paper.told.append, paper.now_ns, sleep)
    ended = paper.run(tmp_path / "a", speed=0.01, changes=SECOND)
    assert (ended.state, ended.step) == ("interrupted", 30)
    record = manifest_of(tmp_path / "a")
    assert (record["state"], record["counts"]["records"]["EpisodeData.f64"]) == ("interrupted", 31)
    assert paper.run(episode=2, changes=SECOND).state == "complete"


@pytest.mark.parametrize(
    ("said", "told"),
    [
        ({"config": "nothing_of_that_name"}, "nothing_of_that_name"),
        ({"config": "lin_roach"}, "expected a RunConfig"),
        ({"text": b"[[[["}, "expected TOML"),
        ({"text": b"\xff\xfe"}, "expected TOML"),
        ({"text": b"x = " + b"[" * 100_000}, "expected TOML"),
        ({"text": b".".join([b"a"] * 5000) + b" = 1"}, "nested deeper; expected at most 32 tables"),
        ({"text": b"x = 0x" + b"f" * 20_000}, "x: a whole number of 80000 bits"),
        ({"text": b"system = 'flight'\n[timing]\ndt_s = 1" + b"0" * 400}, "timing.dt_s: a whole number of 1329 bits"),
        ({"changes": {"seed": 10**30}}, "seed: a whole number of 100 bits"),
        ({"text": b"#" * (1 << 20)}, "more than 262,144 bytes"),
        ({"text": b"system = 'flight'\n[timing]\ndt_s = nan\nduration_s = inf"}, "timing.dt_s: nan"),
        ({"changes": {"dynamics.mass_kg": -1}}, "dynamics.mass_kg: -1"),
        ({"changes": {"timing.duration_s": 1e8}}, "steps; expected at most"),
    ],
)
def test_what_cannot_be_run_is_refused_and_leaves_nothing(
    paper: Paper, tmp_path: Path, said: dict[str, Any], told: str
) -> None:
    refused = paper.run(tmp_path / "a", **said)
    assert isinstance(refused, EpisodeRefused)
    assert told in "\n".join(refused.problems)
    assert not (tmp_path / "a").exists()


def test_a_log_that_would_fill_a_disk_is_refused_and_the_same_without_one_is_not(
    paper: Paper, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(episode_worker, "MOST_ROWS", 50)
    refused = paper.run(tmp_path / "a", changes=SECOND)
    assert refused.problems == ("log.every: 101 rows; expected at most 50: log one of so many steps",)
    assert paper.run(changes=SECOND).state == "complete"


def test_a_log_that_the_disk_has_no_room_for_is_refused(
    paper: Paper, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def no_more(_folder: Path) -> int:
        return 16_967

    monkeypatch.setattr(episode_worker, "free_bytes", no_more)
    refused = paper.run(tmp_path / "a" / "b", changes=SECOND)
    (problem,) = refused.problems
    assert problem == "log.every: 16,968 bytes; the disk has 16,967: free some, or log one of more steps"
    assert not (tmp_path / "a").exists()
    assert paper.run(changes=SECOND).state == "complete"
    monkeypatch.undo()
    assert 0 < episode_worker.free_bytes(tmp_path / "a" / "b") < 1 << 60


def test_where_the_disk_is_full_at_the_end_it_has_failed_and_is_not_taken_for_refused(
    paper: Paper, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    written = episode.write_manifest

    def write(folder: Path, record: Manifest) -> None:
        if record.state != "running":
            raise OSError(28, "No space left on device")
        written(folder, record)

    monkeypatch.setattr(episode, "write_manifest", write)
    ended = paper.run(tmp_path / "a", changes=SECOND)
    assert [type(told) for told in paper.told] == [EpisodeBegun, EpisodeEnded]
    assert (ended.state, ended.step) == ("fault", 100)
    assert ended.reason == "logging_failed: [Errno 28] No space left on device"


def test_however_slow_it_waits_and_can_be_stopped(paper: Paper) -> None:
    def sleep(_seconds: float) -> None:
        paper.words[STOP] = 1

    paper.work = EpisodeWork(paper.words, paper.told.append, paper.now_ns, sleep)
    assert paper.run(speed=5e-324).state == "interrupted"


def test_a_text_is_what_is_run_and_kept(paper: Paper, tmp_path: Path) -> None:
    text = (find_configuration("flight_hover") / "run.toml").read_bytes()
    assert paper.run(tmp_path / "a", config="mine", text=text, changes=SECOND).state == "complete"
    assert (tmp_path / "a" / "run.toml").read_bytes() == text
    assert manifest_of(tmp_path / "a")["configuration"] == "mine"


def test_a_flight_that_diverges_has_failed_and_says_why(paper: Paper) -> None:
    ended = paper.run(config="flight_circle", changes={"dynamics.tau_roll_s": 0.001})
    assert (ended.state, ended.reason.partition(":")[0]) == ("fault", "diverged")


def test_sampling_takes_the_newest_at_its_own_pace_and_makes_up_for_nothing() -> None:
    sent: list[EpisodeSnapshot] = []
    now = 0.0
    newest = None
    sampler = SnapshotSampler(3, 0.01, 100.0, lambda: newest, lambda content: sent.append(read_snapshot(content)))
    delays = iter([0.0, 0.0, 0.5, 0.0, 0.0])
    waits: list[float] = []

    def ended(wait_s: float) -> bool:
        nonlocal now, newest
        waits.append(wait_s)
        now += wait_s + next(delays)
        newest = (round(now * 1000), (now,), (0.0,), (1.0,))
        return len(waits) == 5

    sampler.run(lambda: now, ended)
    assert waits == pytest.approx([0.01, 0.01, 0.01, 0.0, 0.01])
    assert [(each.episode, each.sequence) for each in sent] == [(3, 1), (3, 2), (3, 3), (3, 4)]
    assert [each.state[0] for each in sent] == pytest.approx([0.01, 0.02, 0.53, 0.53])
    assert sent[0].time_s == pytest.approx(0.1)
