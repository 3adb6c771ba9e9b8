"""Surrogates in flight: near a limited, delayed teacher on references nobody learned from, or called."""

from __future__ import annotations

import json
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from nuc_engine.bout.episode import EpisodeSpec, read_document, record_episode, replay_episode
from nuc_engine.episode.document import read_run
from nuc_engine.surrogate.evaluate import TEACHER, evaluate, one_step
from nuc_engine.surrogate.fit import (
    REACH,
    Aggregation,
    FitOptions,
    Lessons,
    aggregate,
    fit_surrogate,
    flown,
    start_from,
)
from nuc_engine.surrogate.inputs import errors
from nuc_engine.surrogate.pilot import SYSTEMS, Surrogate, fly
from nuc_engine.surrogate.report import outcomes, report_text
from nuc_engine.verify import verify_bout
from tests.flight.runs import CONFIGS
from tests.verify.seal import sealed

PRACTICE = read_document(CONFIGS / "flight_practice")
TESTS = {name: read_document(CONFIGS / f"flight_limited_{name}") for name in ("circle", "eight", "helix")}
OPTIONS = FitOptions(steps=4000, cover=300)


def lessons(count: int) -> Lessons:
    episodes = [flown(read_run(PRACTICE, SYSTEMS, {"seed": seed})) for seed in range(count)]
    return Lessons(episodes, 0.01, "0" * 64, "flight_practice")


@pytest.fixture(scope="module")
def good() -> Surrogate:
    return fit_surrogate(lessons(80), OPTIONS)


@pytest.fixture(scope="module")
def poor() -> Surrogate:
    return fit_surrogate(lessons(4), OPTIONS)


def test_circle_eight_and_helix_are_flown_near_the_teacher_and_not_by_least_squares(good: Surrogate) -> None:
    found = [one for flights, _ in evaluate({"good": good, "line": good.baseline()}, TESTS, [0, 1]) for one in flights]
    for one in outcomes(found):
        if one.who == "good":
            assert one.near == one.flights, one
            assert one.worst_m < 0.08
        elif one.who == "line":
            assert one.near == 0
            assert one.median_m > 0.25


def test_one_step_ahead_least_squares_are_as_good_as_perfect(good: Surrogate) -> None:
    rows = [trace.logged for _, trace in evaluate({}, TESTS, [0])]
    assert (one_step(good.baseline(), rows) > 0.99).all()


def test_what_fails_is_called_before_it_is_lost(poor: Surrogate) -> None:
    found = [one for flights, _ in evaluate({"poor": poor}, TESTS, [0, 1]) for one in flights if one.who != TEACHER]
    lost = [one for one in found if not one.near]
    assert len(lost) >= 4
    assert [one for one in lost if not one.called] == []


def test_episodes_are_started_where_the_surrogate_was_and_not_too_far_out(poor: Surrogate) -> None:
    _, learned = aggregate(lessons(4), OPTIONS, Aggregation(1, 8, 5), [PRACTICE], 1000)
    assert learned.started > 5
    starts = np.array([episode[0] for episode in learned.episodes[4:]])
    assert max(poor.cover.distance(one) for one in errors(starts)) <= REACH * poor.cover.radius


def test_aggregation_gains() -> None:
    few, options = lessons(8), FitOptions(steps=2000, cover=300)
    gained, _ = aggregate(few, options, Aggregation(1, 10, 5), [PRACTICE], 10**6)
    both = {"few": fit_surrogate(few, options), "gained": gained}
    found = outcomes([one for flights, _ in evaluate(both, TESTS, [0, 1]) for one in flights])
    medians = {who: np.median([one.median_m for one in found if one.who == who]) for who in both}
    assert medians["gained"] < 0.5 * medians["few"]


def test_an_episode_is_started_against_the_reference_of_its_instant() -> None:
    run = read_run(TESTS["helix"], SYSTEMS, {"seed": 2})
    rows = flown(run)
    later = start_from(run, rows[300, :9], 300)
    assert later.initial == tuple(rows[300, :9])
    assert np.allclose(flown(later)[:100, 9:16], rows[300:400, 9:16], atol=1e-12)


def test_the_loop_flies_what_was_fitted_and_marks_what_is_beyond(good: Surrogate) -> None:
    far = {**PRACTICE, "controller": good.table(), "initial": {"position_m": [9.0, 0.0, 3.0]}}
    far = {key: value for key, value in far.items() if key != "random"}
    run = read_run(far, SYSTEMS)
    assert run.columns[-1] == "beyond"
    pilot = run.pilot()
    assert pilot.limited is not None
    pilot.law(run.initial, run.program(0.0))
    assert pilot.limited()
    pilot.law((0.1, 0, 3, 0, 0, 0, 0, 0, 0), run.program(0.0))
    assert not pilot.limited()


def recorded(folder: Path, good: Surrogate, **more: object) -> Path:
    changes = {"controller": good.table(), "timing.duration_s": 3.0, **more}
    return record_episode(EpisodeSpec(str(CONFIGS / "flight_limited_helix"), folder, changes)).folder


def test_a_flight_of_a_surrogate_is_verified_by_other_code(tmp_path: Path, good: Surrogate) -> None:
    folder = recorded(tmp_path / "a", good)
    verdict = verify_bout(folder)
    assert verdict.good, verdict.differences
    rows = np.fromfile(folder / "EpisodeData.f64", "<f8").reshape(-1, 22)
    rows[50, 17] += 1e-9
    rows.tofile(folder / "EpisodeData.f64")
    found = verify_bout(folder)
    assert not found.good
    assert "roll_cmd_rad" in str(found.differences)


def test_a_manifest_names_the_weights_and_one_that_holds_them_is_verified_and_repeated_too(
    tmp_path: Path, good: Surrogate
) -> None:
    folder = recorded(tmp_path / "a", good)
    path = folder / "manifest.json"
    assert path.stat().st_size < 8000
    record = json.loads(path.read_text())
    named = {"file": "weights.f4", "sha256": good.table()["weights_sha256"]}
    for table in (record["spec"]["resolved"]["controller"], record["spec"]["changes"]["controller"]):
        assert table["weights"] == named
        table["weights"] = good.table()["weights"]
    assert record["inputs"]["weights.f4"] == named["sha256"]
    assert replay_episode(folder).identical
    weights = (folder / "weights.f4").read_bytes()
    (folder / "weights.f4").write_bytes(weights[:-4] + b"\0\0\0\0")
    assert not verify_bout(folder).good
    assert replay_episode(folder).changed_files == ("weights.f4",)
    # As they were before: the weights stand in the manifest, and there is no file of them.
    (folder / "weights.f4").unlink()
    del record["inputs"]["weights.f4"], record["files"]["weights.f4"]
    path.write_text(json.dumps(record))
    sealed(folder)
    assert verify_bout(folder).good
    assert replay_episode(folder).identical


def test_a_report_leads_with_flights_and_ends_with_one_step(good: Surrogate, poor: Surrogate) -> None:
    both = {"good": good, "poor": poor}
    flights = [one for found, _ in evaluate(both, {"helix": TESTS["helix"]}, [0]) for one in found]
    text = report_text("Flights", both, flights, {"good": np.ones(4)}, ["helix"], "paths.png")
    heads = [text.index(part) for part in ("from teacher's", "## Beyond", "turn_rad", "## One step ahead")]
    assert heads == sorted(heads)
    assert "| helix | poor |" in text
    assert "**Another teacher**" in text


def test_a_surrogate_of_another_dt_is_refused(good: Surrogate) -> None:
    with pytest.raises(ValueError, match=r"expected one of 0\.02 s"):
        list(evaluate({"slow": replace(good, dt_s=0.02)}, TESTS, [0]))


def test_a_pilot_has_a_memory_of_one_episode(good: Surrogate) -> None:
    run = replace(read_run(TESTS["circle"], SYSTEMS), pilot=partial(fly, good), steps=50)
    assert np.array_equal(flown(run), flown(run))
