"""The server of episodes: START to first step, and what datagrams cost: `python -m benchmarks.server [--rounds 15]`.

Paired: rounds with and without datagrams follow each other on one server, and ratios are told.
"""

from __future__ import annotations

import argparse
import os
import platform
import socket
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from time import monotonic, sleep  # noqa: TID251  benchmarks are about real time

from nuc_engine.client import Client, NotAnswered
from nuc_engine.messages.episodes import EpisodeStatusRequest, StartEpisodeRequest, StopEpisodeRequest

RATE_ROWS = 400_000


class Server:
    def __init__(self, folder: Path, *words: str) -> None:
        folder.mkdir()
        environment = {**os.environ, "XDG_RUNTIME_DIR": str(folder)}
        serve = [sys.executable, "-m", "nuc_engine.cli", "episode", "serve", "--data", str(folder / "data"), *words]
        self.process = subprocess.Popen(serve, env=environment, stderr=subprocess.DEVNULL)
        self.client = Client(f"ipc://{folder}/nuc/episodes/episodes", name="benchmark", timeout_s=5.0)
        for _ in range(20):
            try:
                self.client.do(EpisodeStatusRequest())
            except NotAnswered:
                continue
            break

    def start_ms(self) -> float:
        begun = monotonic()
        self.client.do(StartEpisodeRequest("flight_helix", speed=1.0))
        took = monotonic() - begun
        self.client.do(StopEpisodeRequest())
        return took * 1e3

    def worked_s(self) -> float:
        """Return processor time of the process that runs episodes, all threads."""
        server = self.process.pid
        (worker,) = Path(f"/proc/{server}/task/{server}/children").read_text().split()
        # Fields 14 and 15 of proc_pid_stat(5), which threads that have ended are part of.
        told = Path(f"/proc/{worker}/stat").read_text().rpartition(")")[2].split()
        return (int(told[11]) + int(told[12])) / os.sysconf("SC_CLK_TCK")

    def rows_per_s(self) -> float:
        """Return rows logged in a second of processor time, as fast as possible; the sampling thread's included."""
        values = {"timing.duration_s": RATE_ROWS / 100, "stop.distance_m": 1e6}
        begun_s = self.worked_s()
        self.client.do(StartEpisodeRequest("flight_helix", changes=values))
        while self.client.do(EpisodeStatusRequest()).state == "running":
            sleep(0.005)
        return RATE_ROWS / (self.worked_s() - begun_s)

    def close(self) -> None:
        self.client.close()
        self.process.terminate()
        self.process.wait()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=15)
    rounds = parser.parse_args().rounds
    with tempfile.TemporaryDirectory() as place, socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as viewer:
        viewer.bind(("127.0.0.1", 0))
        plain = Server(Path(place) / "a")
        sending = Server(Path(place) / "b", "--udp", f"127.0.0.1:{viewer.getsockname()[1]}")
        starts = [sending.start_ms() for _ in range(200)]
        pairs = [(plain.rows_per_s(), sending.rows_per_s()) for _ in range(rounds)]
        same = [(plain.rows_per_s(), plain.rows_per_s()) for _ in range(rounds)]
        plain.close()
        sending.close()
    print("# The server of episodes\n")
    print(
        f"Made by `python -m benchmarks.server --rounds {rounds}`; load average {os.getloadavg()[0]:.1f},"
        f" {os.cpu_count()} CPUs. Python {platform.python_version()}, {platform.system()} {platform.machine()}.\n"
    )
    starts.sort()
    print(
        f"START to its answer, which comes with the first step made, 200 times: median {starts[100]:.1f} ms,"
        f" 1 % more than {starts[198]:.1f} ms, at most {starts[-1]:.1f} ms.\n"
    )
    print(f"Rows per second of the worker's processor time, all threads, {RATE_ROWS:,} rows, {rounds} pairs in turn:\n")
    print("| pair | ratio, median | quartiles | rows per second, median |\n|---|---|---|---|")
    for name, found in (("with datagrams at 100 Hz / without", pairs), ("without / without (the noise)", same)):
        ratios = sorted(other / one for one, other in found)
        low, _, high = statistics.quantiles(ratios, n=4)
        most = statistics.median(other for _, other in found)
        print(f"| {name} | {statistics.median(ratios):.3f} | {low:.3f} to {high:.3f} | {most:,.0f} |")


if __name__ == "__main__":
    main()
