"""A bout nobody keeps shows, to the last bit, what the same bout shows when it is written and read."""

from __future__ import annotations

from dataclasses import fields, is_dataclass, replace
from pathlib import Path

import numpy as np
import pytest

from nuc_engine.analysis.errors import AnalysisError
from nuc_engine.analysis.load import load_bout
from nuc_engine.batch import watch
from nuc_engine.batch.watch import watch_bout
from nuc_engine.bout.run import BoutRefused, BoutSpec, prepare_spec, run_bout
from nuc_engine.plants.events import Kick

KICKED = (Kick(1_000_000_000),)
SPECS = {
    "as configured": {"config": "lin_roach"},
    "scripted and kicked": {"config": "lin_roach", "script": "itf", "events": KICKED, "seed": 4},
    "with values and another plant": {
        "config": "null_roach",
        "values": {"TC1_retLEV_FTang": 110.0},
        "plant": {"world.friction": 0.3},
    },
    "another leg": {"config": "lin_stickmiddle", "seed": 9},
    "no world": {"config": "lin_roach", "bus": "loopback:"},
    "shorter than a state": {"config": "lin_roach", "duration_s": 0.01},
    "over before anything is there": {"config": "lin_roach", "duration_s": 1e-6},
}


def differences(one: object, other: object, name: str = "leg") -> list[str]:
    """Return where two values differ, arrays by type, shape and bits."""
    if isinstance(one, np.ndarray):
        alike = isinstance(other, np.ndarray) and (one.dtype, one.shape) == (other.dtype, other.shape)
        return [] if alike and one.tobytes() == other.tobytes() else [name]
    if is_dataclass(one):
        pairs = [(field.name, getattr(one, field.name), getattr(other, field.name)) for field in fields(one)]
        return [found for part, *pair in pairs for found in differences(*pair, f"{name}.{part}")]
    if isinstance(one, tuple):
        if len(one) != len(other):
            return [f"length of {name}"]
        pairs = zip(one, other, strict=True)
        return [found for k, pair in enumerate(pairs) for found in differences(*pair, f"{name}[{k}]")]
    return [] if one == other else [name]


@pytest.mark.parametrize("given", SPECS.values(), ids=SPECS)
def test_it_shows_what_a_data_directory_tells(given: dict, tmp_path: Path) -> None:
    spec = BoutSpec(**{"duration_s": 3.0, "out": tmp_path / "bout", **given})
    result = run_bout(spec)
    watched = watch_bout(spec)
    assert (watched.state, watched.simulated_s) == (result.state, result.simulated_s)
    assert differences(load_bout(result.folder).tracks(), watched.read().tracks()) == []


@pytest.mark.parametrize("until_s", [0.5, 1.5, 2.0])
def test_its_first_part_is_the_bout_that_ends_then(until_s: float, tmp_path: Path) -> None:
    spec = BoutSpec("lin_roach", tmp_path, duration_s=2.0, events=KICKED, seed=3)
    whole = watch_bout(replace(spec, duration_s=until_s)).read().tracks()
    part = watch_bout(spec).read(round(until_s * 1e9)).tracks()
    assert differences(whole, part) == []


@pytest.mark.parametrize("until_ns", [0, 250_000_000, 1_500_000_000])
def test_it_can_be_cut_only_where_a_bout_would_be_in_the_same_state(until_ns: int, tmp_path: Path) -> None:
    watched = watch_bout(BoutSpec("lin_roach", tmp_path, duration_s=1.0))
    with pytest.raises(ValueError, match="2 pieces"):
        watched.read(until_ns)


def test_what_it_is_made_of_may_be_given(tmp_path: Path) -> None:
    spec = BoutSpec("lin_roach", tmp_path, script="itf", duration_s=0.5, seed=3)
    prepared = prepare_spec(replace(spec, seed=1))
    assert differences(watch_bout(spec).read().tracks(), watch_bout(spec, prepared).read().tracks()) == []


def test_differences_are_found(tmp_path: Path) -> None:
    legs = [watch_bout(BoutSpec("lin_roach", tmp_path, duration_s=0.5, seed=seed)).read().tracks() for seed in (1, 2)]
    assert {"leg.foot_cm", "leg.modules[0].angle_deg"} <= set(differences(*legs))


def test_nothing_is_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    watch_bout(BoutSpec("lin_roach", tmp_path / "bout", duration_s=0.5))
    assert list(tmp_path.iterdir()) == []


def test_a_bout_that_can_not_start_is_refused(tmp_path: Path) -> None:
    with pytest.raises(BoutRefused, match="no_such_name"):
        watch_bout(BoutSpec("lin_roach", tmp_path, values={"no_such_name": 1.0}))


def test_a_bout_that_breaks_off_says_why_as_one_that_is_written(tmp_path: Path) -> None:
    # Without servos that answer, and with the same words.
    spec = BoutSpec("lin_roach", tmp_path / "bout", duration_s=1.0, bus="emulated:?drop=1.0")
    result, watched = run_bout(spec), watch_bout(spec)
    assert watched.state == "fault"
    assert (watched.state, watched.reason, watched.simulated_s) == (result.state, result.reason, result.simulated_s)


def test_a_model_that_can_not_be_read_is_told_when_it_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def no_chain(plan: object, model: object) -> None:
        raise AnalysisError("no chain")

    monkeypatch.setattr(watch, "joints_of", no_chain)
    watched = watch_bout(BoutSpec("lin_roach", tmp_path, duration_s=0.1))
    with pytest.raises(AnalysisError, match="no chain"):
        watched.read()
