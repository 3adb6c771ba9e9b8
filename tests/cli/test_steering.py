"""A bout on the virtual clock that is steered: what goes on when, and that what is recorded is the same."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pytest

from nuc_engine import BoutSpec, run_bout
from nuc_engine.cli.bout.steering import AHEAD, END, Steering, commands_of, open_ring
from nuc_engine.client.cycles import Cycles
from nuc_engine.recording.files import MANIFEST_FILE

MS = 1_000_000
COLUMNS = [("time", "ns", "i8")]


class Bench:
    """A clock that waiting moves, and commands that come at their times."""

    def __init__(self, ring: object, *commands: tuple[float, dict[str, object]]) -> None:
        self.now_s, self.commands = 100.0, [(100.0 + at_s, command) for at_s, command in commands]
        self.steering = Steering(ring, self.take, lambda: self.now_s)  # type: ignore[arg-type]
        self.steering.begin("leg", COLUMNS)

    def take(self, seconds: float | None) -> dict[str, object] | None:
        until_s = math.inf if seconds is None else self.now_s + seconds
        if self.commands and self.commands[0][0] <= until_s:
            at_s, command = self.commands.pop(0)
            self.now_s = max(self.now_s, at_s)
            return command
        assert seconds is not None, "it stands for ever"
        self.now_s = until_s
        return None

    def run(self, cycles: int, every_ns: int = 5 * MS) -> list[float]:
        """Run cycles; return when each went on, s since the beginning."""
        went = []
        for k in range(cycles):
            try:
                self.steering.cycle(k * every_ns, [k * every_ns])
            except KeyboardInterrupt:
                break
            went.append(round(self.now_s - 100.0, 6))
        return went


@pytest.fixture
def ring(tmp_path: Path):
    return open_ring(tmp_path / "cycles")


def test_nothing_goes_on_before_it_is_told_to_and_then_as_slowly_as_it_is_told(ring: object) -> None:
    bench = Bench(ring, (3.0, {"speed": 0.1}))
    assert bench.run(4) == [3.0, 3.05, 3.1, 3.15]


def test_speed_and_pause_count_from_where_they_are_said(ring: object) -> None:
    bench = Bench(ring, (0.0, {"speed": 1}), (0.012, {"pause": True}), (2.0, {"speed": 0.5}))
    assert bench.run(6) == [0.0, 0.005, 0.01, 2.0, 2.01, 2.02]


def test_so_many_cycles_and_not_one_more(ring: object) -> None:
    bench = Bench(ring, (1.0, {"step": 1}), (2.0, {"step": 3}), (9.0, END))
    assert bench.run(10) == [1.0, 2.0, 2.0, 2.0]


@pytest.mark.parametrize("how", [{"speed": 100.0}, {"step": 10_000}])
def test_nothing_is_written_over_that_a_reader_has_not_seen(ring: object, how: dict[str, object]) -> None:
    bench = Bench(ring, (0.0, {"seen": 0}), (0.0, how), (50.0, {"seen": 100}), (90.0, END))
    went = bench.run(3000)
    assert len(went) == AHEAD + 99
    assert [at < 50.0 for at in went].count(True) == AHEAD - 1


def test_what_was_held_up_is_not_caught_up_with(ring: object) -> None:
    bench = Bench(ring, (0.0, {"speed": 1}))
    assert bench.run(2) == [0.0, 0.005]
    bench.now_s += 5.0
    bench.steering.cycle(10 * MS, [0])
    bench.steering.cycle(15 * MS, [0])
    assert round(bench.now_s - 100.0, 6) == 5.01


@pytest.mark.parametrize(
    "nonsense", [{}, {"speed": 0}, {"speed": -1}, {"speed": 1e9}, {"speed": "1"}, {"step": 0}, {"step": 1e6}, {"x": 1}]
)
def test_what_is_no_command_changes_nothing(ring: object, nonsense: dict[str, object]) -> None:
    bench = Bench(ring, (0.5, nonsense), (1.0, {"step": 1}), (2.0, END))
    assert bench.run(3) == [1.0]


def test_lines_are_commands_in_their_order_and_their_end_ends_it() -> None:
    take = commands_of(['{"step": 1}', "x", "[1]", "[" * 9999, '{"pause": true}'])
    assert [take(10.0) for _ in range(3)] == [{"step": 1}, {"pause": True}, END]
    assert take(0.0) is None


def test_a_bout_that_was_watched_is_the_same_to_the_byte_and_every_cycle_was_seen(tmp_path: Path) -> None:
    spec = BoutSpec(config="lin_roach", duration_s=0.7, out=tmp_path / "alone")
    run_bout(spec)
    seen: list[list[float]] = []

    class Watch:
        names: tuple[str, ...] = ()

        def begin(self, name: str, columns: list[tuple[str, str, str]]) -> None:
            self.names = tuple(column for column, _, _ in columns)

        def cycle(self, now_ns: int, values: list[float]) -> None:
            seen.append(list(values))

    watch = Watch()
    result = run_bout(BoutSpec(config="lin_roach", duration_s=0.7, out=tmp_path / "watched"), None, watch)
    assert len(seen) == result.cycles
    assert [int(row[watch.names.index("cycle")]) for row in seen] == list(range(1, result.cycles + 1))
    assert {len(row) for row in seen} == {len(watch.names)}
    files = sorted(path.name for path in (tmp_path / "alone").iterdir())
    assert files == sorted(path.name for path in (tmp_path / "watched").iterdir())
    for name in files:
        if name != MANIFEST_FILE:
            assert (tmp_path / "watched" / name).read_bytes() == (tmp_path / "alone" / name).read_bytes(), name


def test_nuc_run_is_steered_by_its_stdin(tmp_path: Path) -> None:
    from click.testing import CliRunner

    from nuc_engine.cli.bout.run import command

    cycles = tmp_path / "cycles"
    words = ["lin_roach", "--out", str(tmp_path / "bout"), "--duration", "5", "--steered", str(cycles), "--json"]
    lines = "\n".join(map(json.dumps, ({"step": 7}, {"end": True})))
    done = CliRunner().invoke(command, words, input=lines)
    told = json.loads(done.stdout)
    assert (told["state"], told["cycles"]) == ("interrupted", 8), "seven, and the one it stood at"
    reader = Cycles(cycles, earlier=True)
    records = reader.read(100)
    assert [record[1] for record in records] == list(range(1, 9))
    names = [column.name for column in reader.columns]
    foot = [record[names.index("plant.z_cm")] for record in records]
    assert math.isfinite(foot[-1])
    reader.close()
