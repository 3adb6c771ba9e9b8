"""`nuc episode watch`: what is shown of snapshots, in whatever order they come; and the commands without a server."""

from __future__ import annotations

import socket

from nuc_engine.cli.episode.watch import SnapshotReceiver
from nuc_engine.cli.episode.watchview import FlightView, plain_line
from nuc_engine.messages.snapshots import DONE, EpisodeSnapshot, pack_snapshot
from tests.cli.conftest import Nuc


def snapshot(sequence: int, x: float = 0.0, episode: int = 1, phase: int = 0) -> EpisodeSnapshot:
    state = (x, 0.0, 1.0, *[0.0] * 6)
    return EpisodeSnapshot(
        episode, sequence, sequence / 100, state, (x, 0.3, 1.4, *[0.0] * 4), (0.0, 0.0, 9.8, 0.0), phase
    )


def view() -> FlightView:
    return FlightView(lambda text, _: text)


def test_what_was_missed_and_what_came_late_is_counted() -> None:
    shown = view()
    for sequence in (1, 2, 6, 5, 6, 7):
        shown.take(snapshot(sequence))
    assert (shown.missed, shown.stale) == (3, 2)
    assert shown.newest is not None
    assert shown.newest.sequence == 7
    shown.take(snapshot(1, episode=2))
    assert (shown.missed, shown.stale) == (0, 0)
    shown.take(snapshot(9, episode=1))
    assert shown.newest.order == (2, 1)


def test_the_age_of_what_is_shown_is_told() -> None:
    shown = view()
    assert shown.lines(80, 24, 3.0) == ["no snapshot yet; a server sends them with --udp"]
    shown.take(snapshot(1))
    assert "0 missed, 0 came late; the newest is 3.2 s old" in shown.lines(80, 24, 3.2)


def test_it_fits_the_terminal_and_has_the_numbers() -> None:
    shown = view()
    for k in range(200):
        shown.take(snapshot(k + 1, x=k / 50))
    for columns, rows in ((60, 14), (80, 24), (200, 60), (20, 3), (10, 1)):
        lines = shown.lines(columns, rows, 0.0)
        assert len(lines) <= rows
        assert max(map(len, lines)) <= columns
    lines = shown.lines(80, 24, 0.0)
    assert "episode 1, runs, 2.00 s; 0.500 m from its reference" in lines
    assert sum(any("\u2800" < letter <= "\u28ff" for letter in line) for line in lines) > 1
    assert (
        plain_line(snapshot(4, phase=DONE))
        == "episode 1, done, 0.04 s: at 0.000, 0.000, 1.000 m, 0.500 m from its reference"
    )


def test_another_system_is_shown_in_numbers() -> None:
    shown = view()
    shown.take(EpisodeSnapshot(1, 1, 0.5, (1.5, 2.5), (), ()))
    assert shown.lines(80, 24, 0.0)[0] == "episode 1, runs, 0.50 s: 1.5, 2.5"


def test_what_is_no_snapshot_is_counted_and_nothing_else() -> None:
    receiver, shown = SnapshotReceiver("127.0.0.1", 0), view()
    try:
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
            for content in (b"", b"NUCS", b"x" * 5000, pack_snapshot(snapshot(3))):
                sender.sendto(content, receiver.address)
        receiver.take(shown)
    finally:
        receiver.close()
    assert receiver.rubbish == 3
    assert shown.newest == snapshot(3)


def test_without_a_server_it_is_said_how_to_start_one(nuc: Nuc, monkeypatch, tmp_path) -> None:
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    for words in (("status",), ("stop",), ("start", "flight_hover")):
        result = nuc("episode", *words)
        assert result.exit_code == 1
        assert "start one: nuc episode serve" in result.stderr
    assert nuc("episode", "watch", "10.0.0.1:9870").exit_code == 1
    assert nuc("episode", "start", "flight_hover", "--speed", "nan").exit_code == 2
